"""Launches over a caller's grid: their shape (grid, block, shared memory) is checked once each, and
they share blocks of parameters.
"""

from __future__ import annotations

import struct
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from marshal import dumps
from typing import Any

import numpy as np

from kerneltk.backends.base import Backend, Function, GridLimits, LaunchCall
from kerneltk.core.records import BoundedTable
from kerneltk.errors import ArgumentTypeError, ArgumentValueError

_MAX_SHAPES = 4096

GridShape = tuple[int, int, int, int, int, int, int]
"""Extents of the grid and of a block, and bytes of shared memory."""


def is_size(value: object) -> bool:
    """Whether a value is an integer, which True is not."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def _is_plain(value: Any) -> bool:
    if type(value) in (tuple, list):
        return all(map(_is_plain, value))
    return value is None or type(value) is int


def plain_key(value: Any) -> bytes | None:
    """A key that no other value has, as ``dumps(value, 2)`` makes it; None where there may be one:
    of all but ints, None, and tuples and lists of those.
    """
    return dumps(value, 2) if _is_plain(value) else None


def covering_grid(threads: Iterable[int], block: Iterable[int]) -> tuple[int, ...]:
    """The grid whose blocks have at least so many threads, along each axis."""
    return tuple(-(-want // have) for want, have in zip(threads, block, strict=True))


def unchanging(extents: Any) -> Any:
    """A grid or a block that its caller cannot change any more: a tuple in place of a list."""
    return tuple(extents) if isinstance(extents, list) else extents


def as_extents(value: Any, what: str, kernel: str, least: int = 1) -> tuple[int, int, int]:
    """A grid or a block, an int or a tuple of up to three, as three extents; messages call it
    `what`.

    Raises ArgumentTypeError for what is neither, and ArgumentValueError for more than three
    extents, or none, or one below `least`.
    """
    extents = (value,) if is_size(value) else value
    if not isinstance(extents, tuple | list) or not all(map(is_size, extents)):
        raise ArgumentTypeError(
            f"The {what} of kernel '{kernel}' must be an int or a tuple of up to three ints, not "
            f"{value!r}."
        )
    if not 1 <= len(extents) <= 3:
        raise ArgumentValueError(
            f"The {what} of kernel '{kernel}' has one to three extents, not {len(extents)}."
        )
    x, y, z = (*map(int, extents), 1, 1)[:3]
    if min(x, y, z) < 0:
        raise ArgumentValueError(f"The {what} of kernel '{kernel}' has a negative extent: {value}.")
    if min(x, y, z) < least:
        raise ArgumentValueError(
            f"The {what} of kernel '{kernel}' has an extent of 0: {value}.\n"
            "  Hint: every extent is at least 1; where there is nothing to do, launch nothing."
        )
    return x, y, z


def launch_extents(value: Any, what: str, kernel: str) -> tuple[int, int, int]:
    """The grid or the block of a launch as three extents; raises as `as_extents`. An extent of 0
    counts as 1, as with CuPy: a kernel compares its index with the length of an empty array.
    """
    x, y, z = as_extents(value, what, kernel, 0)
    return max(x, 1), max(y, 1), max(z, 1)


def is_beyond_32bit(grid: Any, block: Any, kernel: str) -> bool:
    """Whether a grid has more threads along an axis than 32 bits count; raises as `as_extents`."""
    threads = launch_extents(block, "block", kernel)
    blocks = launch_extents(grid, "grid", kernel)
    return any(own * many >= 2**31 for own, many in zip(threads, blocks, strict=True))


class GridShapes:
    """The launch shapes of a loaded kernel that were checked already.

    Parameters
    ----------
    kernel : str
        Its name in messages.
    backend : Backend
    function : Function
    limits : GridLimits
    wanted : tuple of int, optional
        The shape that blocks must have.
    is_32bit : bool
        Whether it is for grids whose threads 32 bits count along each axis.

    Attributes
    ----------
    last : tuple
        Grid, block and shared memory as a caller gave them when they were last checked, and their
        `GridShape`. Launchers look here first, by identity.
    known : dict
        `GridShape` by `plain_key`, where they look next. Values that are equal do not do for a key:
        1.0 and True equal 1 and are no extents.
    """

    __slots__ = (
        "_is_32bit", "_kernel", "_limits", "_wanted", "backend", "function", "known", "last",
    )  # fmt: skip

    def __init__(
        self,
        kernel: str,
        backend: Backend,
        function: Function,
        limits: GridLimits,
        wanted: tuple[int, int, int] | None = None,
        is_32bit: bool = False,
    ) -> None:
        self.backend, self.function = backend, function
        self._kernel, self._limits = kernel, limits
        self._wanted, self._is_32bit = wanted, is_32bit
        self.known: BoundedTable[bytes, GridShape] = BoundedTable(_MAX_SHAPES)
        self.last: tuple[Any, ...] = (object(), None, None, 0, 0, 0, 0, 0, 0, 0)

    def configure(self, grid: Any, block: Any, shared: Any) -> GridShape | None:
        """Check a launch's shape that is not known; None for a grid that needs another kernel.

        Raises as `as_extents`, and ArgumentValueError for more than the device has.
        """
        shape = self._checked(grid, block, shared)
        if self._is_32bit and is_beyond_32bit(shape[:3], shape[3:6], self._kernel):
            return None
        given = (grid, block, shared)
        key = plain_key(given)
        if key is not None:
            self.known[key] = shape
        if not isinstance(grid, list) and not isinstance(block, list):
            self.last = (*given, *shape)
        return shape

    def _checked(self, grid: Any, block: Any, shared: Any) -> GridShape:
        kernel, limits = self._kernel, self._limits
        block_shape = launch_extents(block, "block", kernel)
        if self._wanted is not None and block_shape != self._wanted:
            raise ArgumentValueError(
                f"Kernel '{kernel}' has a collective for blocks of {self._wanted} threads, and is "
                f"launched with blocks of {block_shape}.\n"
                "  Hint: name the block's own shape in the brackets of the collective."
            )
        grid_shape = launch_extents(grid, "grid", kernel)
        gx, gy, gz = grid_shape
        bx, by, bz = block_shape
        if not is_size(shared) or shared < 0:
            raise ArgumentValueError(
                f"'shared_mem' of kernel '{kernel}' must be a number of bytes, not {shared!r}."
            )
        threads = bx * by * bz
        if threads > limits.threads:
            raise ArgumentValueError(
                f"A block of kernel '{kernel}' can have {limits.threads} threads, and "
                f"{block_shape} is {threads}.\n  Hint: use a smaller block and a larger grid."
            )
        for what, extents, most in (
            ("block", block_shape, limits.block),
            ("grid", grid_shape, limits.grid),
        ):
            for axis, extent, limit in zip("xyz", extents, most, strict=True):
                if extent > limit:
                    raise ArgumentValueError(
                        f"The {what} of kernel '{kernel}' can have {limit} along {axis}, not "
                        f"{extent}."
                    )
        if shared > limits.shared:
            raise ArgumentValueError(
                f"Kernel '{kernel}' can have {limits.shared} bytes of dynamic shared memory, and "
                f"{shared} were asked for."
            )
        self.backend.allow_shared(self.function, int(shared))
        return gx, gy, gz, bx, by, bz, int(shared)


class GridLaunches(ABC):
    """What all launches of a kernel share, and what launchers ask off their fast path.

    Parameters
    ----------
    shapes : GridShapes
    call : LaunchCall
    layout : str
        The ``struct`` format of the parameters.
    size : int
        Bytes of the parameters.
    offsets : sequence of int
        Where each of them lies (bytes).

    Attributes
    ----------
    note : callable or None
        What ``call.note`` returned.
    """

    def __init__(
        self, shapes: GridShapes, call: LaunchCall, layout: str, size: int, offsets: Sequence[int]
    ) -> None:
        head = struct.calcsize("<" + call.head_format)
        self.shapes, self.call, self.backend = shapes, call, shapes.backend
        self.size, self._offsets = head + size, [head + offset for offset in offsets]
        self.note: Callable[[int, Any], None] | None = None
        self._buffers: list[Any] = []
        self._pack_into = struct.Struct(f"<{call.head_format}{layout}").pack_into

    def row(self, run: Callable[..., None] | None, *numbers: int) -> tuple[Any, ...]:
        """Return a plan: the launcher that it is for, the kernel's handle, checked shapes, blocks
        of parameters that no launch uses, ``pack_into``, this object, and the arrays' extents.
        """
        handle = self.shapes.function.handle
        return run, handle, self.shapes, self._buffers, self._pack_into, self, *numbers

    def new_buffer(self) -> Any:
        """Return a block of parameters."""
        return self.backend.make_parameters(self.size, self._offsets)

    @abstractmethod
    def check(self, args: Sequence[Any]) -> None:
        """Raise for an array or a record that cannot be passed, after one failed a guard."""

    @abstractmethod
    def refuse_number(self, args: Sequence[Any]) -> None:
        """Raise for the first number that ``struct`` does not pack."""

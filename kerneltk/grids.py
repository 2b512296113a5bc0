"""The shape of a launch: its grid, its block and its shared memory, checked once each."""

from __future__ import annotations

from typing import Any

import numpy as np

from kerneltk.backends.base import Backend, Function, GridLimits
from kerneltk.errors import ArgumentTypeError, ArgumentValueError

__all__ = ["GridShape", "GridShapes", "as_extents"]

_MAX_SHAPES = 4096

GridShape = tuple[int, int, int, int, int, int, int, bool]
"""Extents of the grid and of a block, bytes of shared memory, and whether there are no threads."""


def as_extents(value: Any, what: str, kernel: str) -> tuple[int, int, int]:
    """Return a grid or a block, an int or a tuple of up to three, as three extents.

    Raises
    ------
    ArgumentTypeError
        It is neither.
    ArgumentValueError
        It has more than three extents, or none, or a negative one.
    """
    extents = (value,) if isinstance(value, int | np.integer) else value
    if not isinstance(extents, tuple | list) or not all(
        isinstance(extent, int | np.integer) and not isinstance(extent, bool) for extent in extents
    ):
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
    return x, y, z


class GridShapes:
    """The launch shapes of a loaded kernel that were checked already.

    Parameters
    ----------
    kernel : str
        Its name in messages.
    backend : Backend
    function : Function
    limits : GridLimits

    Attributes
    ----------
    known : dict
        `GridShape` by grid, block and shared memory as a caller gives them; launchers look here.
    """

    __slots__ = ("_backend", "_function", "_kernel", "_limits", "known")

    def __init__(
        self, kernel: str, backend: Backend, function: Function, limits: GridLimits
    ) -> None:
        self._kernel, self._backend = kernel, backend
        self._function, self._limits = function, limits
        self.known: dict[Any, GridShape] = {}

    def configure(self, grid: Any, block: Any, shared: Any) -> GridShape:
        """Check a launch's shape that is not known yet; raises as `as_extents`, and
        ArgumentValueError for more than the device has.
        """
        shape = self.checked(grid, block, shared)
        if len(self.known) >= _MAX_SHAPES:
            self.known.clear()
        if not isinstance(grid, list) and not isinstance(block, list):
            self.known[grid, block, shared] = shape
        return shape

    def checked(self, grid: Any, block: Any, shared: Any) -> GridShape:
        """Check a launch's shape as `configure` does, and forget it."""
        kernel, limits = self._kernel, self._limits
        grid_extents = as_extents(grid, "grid", kernel)
        block_extents = as_extents(block, "block", kernel)
        gx, gy, gz = grid_extents
        bx, by, bz = block_extents
        if not isinstance(shared, int | np.integer) or isinstance(shared, bool) or shared < 0:
            raise ArgumentValueError(
                f"'shared_mem' of kernel '{kernel}' must be a number of bytes, not {shared!r}."
            )
        threads = bx * by * bz
        if threads > limits.threads:
            raise ArgumentValueError(
                f"A block of kernel '{kernel}' can have {limits.threads} threads, and "
                f"{block_extents} is {threads}.\n  Hint: use a smaller block and a larger grid."
            )
        for what, extents, most in (
            ("block", block_extents, limits.block),
            ("grid", grid_extents, limits.grid),
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
        self._backend.allow_shared(self._function, int(shared))
        return gx, gy, gz, bx, by, bz, int(shared), gx * gy * gz * threads == 0

"""Launchers of raw kernels: what a repeated launch touches, and nothing else.

For each combination of argument types a launcher is written as Python text, with one variable an
argument and no loops, and compiled once. The checks that a launch needs are in it: types, dtypes,
density, place. An argument that looks doubtful is looked at closely, off the fast path.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from types import CodeType
from typing import Any

import numpy as np

from kerneltk.backends.base import Backend, Function, GridDialect, GridLimits, LaunchMode
from kerneltk.errors import ArgumentTypeError, ArgumentValueError
from kerneltk.raw_arguments import Passing, check_array, check_values, doubts_of
from kerneltk.raw_signature import KernelSignature

__all__ = ["LoadedKernel", "as_extents", "make_launcher"]

_MAX_SHAPES = 4096
_Shape = tuple[int, int, int, int, int, int, int, bool]


@dataclass(frozen=True, slots=True)
class LoadedKernel:
    """A raw kernel on one device.

    Parameters
    ----------
    backend : Backend
    device : int
    function : Function
    signature : KernelSignature
    limits : GridLimits
    """

    backend: Backend
    device: int
    function: Function
    signature: KernelSignature
    limits: GridLimits


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


def _configure(loaded: LoadedKernel, grid: Any, block: Any, shared: Any) -> _Shape:
    """Check a launch's shape; return its extents and whether it has no threads at all."""
    kernel, limits = loaded.signature.kernel, loaded.limits
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
            f"A block of kernel '{kernel}' can have {limits.threads} threads, and {block_extents} "
            f"is {threads}.\n  Hint: use a smaller block and a larger grid."
        )
    for what, extents, most in (
        ("block", block_extents, limits.block),
        ("grid", grid_extents, limits.grid),
    ):
        for axis, extent, limit in zip("xyz", extents, most, strict=True):
            if extent > limit:
                raise ArgumentValueError(
                    f"The {what} of kernel '{kernel}' can have {limit} along {axis}, not {extent}."
                )
    if shared > limits.shared:
        raise ArgumentValueError(
            f"Kernel '{kernel}' can have {limits.shared} bytes of dynamic shared memory, and "
            f"{shared} were asked for."
        )
    loaded.backend.allow_shared(loaded.function, int(shared))
    return gx, gy, gz, bx, by, bz, int(shared), gx * gy * gz * threads == 0


def _indent(lines: Sequence[str]) -> str:
    return "\n".join("    " + line for line in lines)


def _launcher_text(
    passings: Sequence[Passing],
    written: Sequence[bool],
    further_doubts: Sequence[Sequence[str]],
    dialect: GridDialect,
    checks: bool,
) -> str:
    count = len(passings)
    arguments = ", ".join(f"a{k}" for k in range(count)) + ("," if count else "")
    arrays = [k for k in range(count) if passings[k].is_array]
    other = "return mistyped(grid, block, args, shared, stream)"
    lines = ["try:", f"    ({arguments}) = args" if count else "    () = args"]
    lines += ["except (ValueError, TypeError):", f"    {other}"]
    wrong = [f"type(a{k}) is not type{k}" for k in range(count)]
    wrong += ["device() != own_device"] if "device" in dialect.names else []
    if wrong:
        lines += [f"if {' or '.join(wrong)}:", f"    {other}"]
    lines += [dialect.read.format(a=f"a{k}", p=f"p{k}") for k in arrays]
    if checks and arrays:
        doubts = []
        for k in arrays:
            doubts.append(f"a{k}.dtype is not dtype{k}")
            pieces = [dialect.doubtful, *further_doubts[k]]
            doubts += [piece.format(a=f"a{k}", p=f"p{k}") for piece in pieces]
            if written[k] and dialect.doubtful_if_written:
                doubts.append(dialect.doubtful_if_written.format(a=f"a{k}", p=f"p{k}"))
        pairs = "".join(f"({k}, a{k}, p{k}), " for k in arrays)
        lines += [f"if {' or '.join(doubts)}:", f"    look_closely({pairs})"]
    values = [dialect.head_values] if dialect.head_values else []
    for k, passing in enumerate(passings):
        if passing.is_array:
            values.append(f"p{k}")
        else:
            values.append(f"a{k}" if passing.convert is None else f"*convert{k}(a{k})")
    lines += [
        "try:",
        "    gx, gy, gz, bx, by, bz, shared, empty = shapes[grid, block, shared]",
        "except (KeyError, TypeError):",
        "    gx, gy, gz, bx, by, bz, shared, empty = configure(grid, block, shared)",
        "try:",
        "    buffer = buffers.pop()",
        "except IndexError:",
        "    buffer = new_buffer()",
        "try:",
        f"    pack_into({', '.join(['buffer[0]', '0', *values])})",
        "except PackErrors:",
        f"    refused(args, {arguments})" if count else "    raise",
        "    raise",
        # Numbers are checked also where nothing is computed with them.
        "if empty:",
        "    buffers.append(buffer)",
        "    return",
        *([f"note(buffer[1], [{', '.join(f'a{k}' for k in arrays)}])"] if dialect.note else []),
        *(["if stream is None:", f"    stream = {dialect.stream}"] if dialect.stream else []),
        "try:",
        f"    failure = launch({dialect.launch})",
        "except LaunchErrors as error:",
        "    failure = error",
        "if failure:",
        f"    launch_failed(failure, launch, ({dialect.launch}))",
        "buffers.append(buffer)",
    ]
    return f"def run(grid, block, args, shared=0, stream=None):\n{_indent(lines)}\n"


@lru_cache(maxsize=512)
def _compiled(text: str) -> CodeType:
    return compile(text, "<launcher>", "exec")


def make_launcher(
    loaded: LoadedKernel,
    passings: Sequence[Passing],
    types: Sequence[type],
    mode: LaunchMode,
    checks: bool,
    mistyped: Callable[..., Any],
) -> Callable[..., None]:
    """Return ``run(grid, block, args, shared=0, stream=None)`` for arguments of these types.

    Parameters
    ----------
    loaded : LoadedKernel
    passings : sequence of Passing
        One a parameter.
    types : sequence of type
        The arguments', which the launcher checks.
    mode : LaunchMode
    checks : bool
        Whether arrays are checked.
    mistyped : callable
        Called with the launcher's arguments where their number, a type or the device differs.
    """
    signature, backend = loaded.signature, loaded.backend
    dialect = backend.grid_dialect(mode, signature.kernel)
    pack, end = f"<{dialect.head_format}", dialect.head_size
    for parameter, passing in zip(signature.parameters, passings, strict=True):
        place = dialect.head_size + parameter.offset
        pack += f"{place - end}x{passing.format}"
        end = place + struct.calcsize("<" + passing.format)
    size = dialect.head_size + signature.size
    offsets = [dialect.head_size + parameter.offset for parameter in signature.parameters]
    shapes: dict[Any, _Shape] = {}

    def configure(grid: Any, block: Any, shared: Any) -> _Shape:
        shape = _configure(loaded, grid, block, shared)
        if len(shapes) >= _MAX_SHAPES:
            shapes.clear()
        if not isinstance(grid, list) and not isinstance(block, list):
            shapes[grid, block, shared] = shape
        return shape

    def look_closely(*found: tuple[int, Any, int]) -> None:
        for k, array, address in found:
            parameter = signature.parameters[k]
            check_array(signature, parameter, array, address)
            backend.check_usable(array, parameter.name or f"#{k + 1}", False)
            names[f"dtype{k}"] = array.dtype

    def refused(args: tuple[Any, ...], *values: Any) -> None:
        check_values(signature, tuple(passings), values)

    kinds = [parameter.type for parameter in signature.parameters]
    written = [
        kind is not None and kind.kind == "pointer" and not kind.pointee_const for kind in kinds
    ]
    further_doubts = [doubts_of(parameter) for parameter in signature.parameters]
    names: dict[str, Any] = {
        **dialect.names,
        "shapes": shapes,
        "configure": configure,
        "look_closely": look_closely,
        "refused": refused,
        "mistyped": mistyped,
        "own_device": loaded.device,
        "function": loaded.function.handle,
        "pack_into": struct.Struct(pack).pack_into,
        "buffers": [],
        "new_buffer": lambda: backend.make_parameters(size, offsets),
        "launch_failed": backend.launch_failed,
        "LaunchErrors": dialect.errors,
        "PackErrors": (struct.error, OverflowError, TypeError, ValueError),
        **{f"type{k}": kind for k, kind in enumerate(types)},
        **{f"dtype{k}": None for k in range(len(types))},
        **{f"convert{k}": passing.convert for k, passing in enumerate(passings)},
    }
    if dialect.note is not None:
        pairs = zip(signature.parameters, passings, strict=True)
        taken = [
            (parameter.name or f"#{k + 1}", written[k])
            for k, (parameter, passing) in enumerate(pairs)
            if passing.is_array
        ]
        names["note"] = dialect.note(size, taken)
    text = _launcher_text(passings, written, further_doubts, dialect, checks)
    exec(_compiled(text), names)
    launcher: Callable[..., None] = names["run"]
    return launcher

"""Launchers of raw kernels: what a repeated launch touches, and nothing else.

For each combination of argument types a launcher is written as Python text, with one variable an
argument and no loops, and compiled once. The checks that a launch needs are in it: types, dtypes,
density, place. An argument that looks doubtful is looked at closely, off the fast path.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from marshal import dumps
from typing import Any

from kerneltk.backends.base import Backend, Function, GridDialect, GridLimits, LaunchMode
from kerneltk.cuda_cpp.arguments import Passing, check_array, check_values, doubts_of
from kerneltk.cuda_cpp.signature import KernelSignature
from kerneltk.launch.launch_config import GridShapes
from kerneltk.launch.launcher_source import (
    compiled,
    function_text,
    known_shape,
    launch_lines,
    take_buffer,
)

__all__ = ["LoadedKernel", "make_launcher"]


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
        *known_shape(),
        "        gx, gy, gz, bx, by, bz, size, empty = shapes.configure(grid, block, shared)",
        "shared = size",
        *take_buffer(),
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
        *launch_lines(dialect.launch),
    ]
    return function_text("run(grid, block, args, shared=0, stream=None)", lines)


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
    shapes = GridShapes(signature.kernel, backend, loaded.function, loaded.limits)

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
        "look_closely": look_closely,
        "refused": refused,
        "mistyped": mistyped,
        "own_device": loaded.device,
        "function": loaded.function.handle,
        "pack_into": struct.Struct(pack).pack_into,
        "buffers": [],
        "new_buffer": lambda: backend.make_parameters(size, offsets),
        "dumps": dumps,
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
    exec(compiled(text), names)
    launcher: Callable[..., None] = names["run"]
    return launcher

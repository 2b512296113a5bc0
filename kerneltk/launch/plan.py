"""Launch plans: what a repeated call touches, and nothing else.

For each combination of argument types a launcher is written as Python text, with one variable an
argument and no loops, and compiled once. It builds the plan's key from the arrays' dtypes, shapes,
strides and addresses modulo 16, checks that no output overlaps an input in another way than
exactly, packs addresses and scalars, and launches. Everything else is in the plan.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from kerneltk.backends.base import Backend, LaunchDialect
from kerneltk.launch.launcher_source import compiled, function_text, launch_lines, take_buffer

__all__ = ["MAX_PLANS", "Pattern", "Plan", "make_launcher"]

MAX_PLANS = 4096
"""Plans that one launcher keeps; past that it forgets them all, which costs time, not results."""


@dataclass(frozen=True, slots=True)
class Pattern:
    """The kinds of a call's arguments: what a launcher's text depends on.

    Parameters
    ----------
    arrays : tuple of bool
        One an argument that is given, inputs first: whether it is an array.
    raw, written : tuple of bool
        One a parameter.
    nin, nout : int
    outputs_given : bool
    returns : {"none", "one", "tuple"}
    has_scratch : bool
        Whether launches may need memory of their own.
    in_place : bool
        Whether an element is read before it is written; raw inputs are the body's affair then.
    """

    arrays: tuple[bool, ...]
    raw: tuple[bool, ...]
    written: tuple[bool, ...]
    nin: int
    nout: int
    outputs_given: bool
    returns: str
    has_scratch: bool = False
    in_place: bool = True


@dataclass(frozen=True, slots=True)
class Plan:
    """Everything that one specialization and one set of shapes need at a launch.

    Parameters
    ----------
    function : object
        The backend's handle.
    grid, grain, block : int
        See `LaunchGeometry`; a grid of 0 launches nothing. The grain is negative where it may last.
    pack_into, pack_checked : callable
        Pack the dynamic part of the argument block: by ``struct`` alone, and after converting the
        scalars, which raises for those that do not fit.
    new_buffer : callable
        Makes an argument buffer with the constant part filled in.
    shape : tuple of int
        Of the outputs that are allocated.
    dtypes : tuple of np.dtype
        One an output.
    order : {"C", "F"}
    raw_geometry : tuple of tuple of int
    limits : tuple of tuple
        For each pair of an input and an output, the difference of addresses between which they
        overlap, and whether they do at the same address.
    scratch : int
        Bytes that a launch needs for itself; they lie behind the argument block, or where the
        dialect says.
    """

    function: Any
    grid: int
    grain: int
    block: int
    pack_into: Callable[..., object]
    pack_checked: Callable[..., object]
    new_buffer: Callable[[], Any]
    shape: tuple[int, ...]
    dtypes: tuple[Any, ...]
    order: str
    raw_geometry: tuple[tuple[int, ...], ...]
    limits: tuple[tuple[int, int, bool], ...]
    scratch: int = 0

    def row(self) -> tuple[Any, ...]:
        """Return what the launcher unpacks, in its order."""
        elements = math.prod(self.shape)
        flat = [value for pair in self.limits for value in pair]
        return (
            self.function,
            self.grid,
            self.grain,
            self.block,
            self.pack_into,
            self.pack_checked,
            self.new_buffer,
            [],
            self.shape,
            self.order,
            self.scratch,
            *(part for dtype in self.dtypes for part in (dtype, elements * dtype.itemsize)),
            *self.raw_geometry,
            *flat,
        )


def overlap_pairs(pattern: Pattern) -> list[tuple[int, int]]:
    """Return the pairs (input, output) of given arrays whose overlap is checked.

    An input that the body may write counts as an output too.
    """
    given = [
        k
        for k, is_array in enumerate(pattern.arrays)
        if is_array and not (pattern.raw[k] and pattern.in_place)
    ]
    return [
        (k, j)
        for k in given
        for j in given
        if k != j and k < pattern.nin and pattern.written[j] and not pattern.written[k]
    ]


def _launcher_text(pattern: Pattern, dialect: LaunchDialect) -> str:
    count = len(pattern.arrays)
    arrays = [k for k in range(count) if pattern.arrays[k]]
    arguments = ", ".join(f"a{k}" for k in range(count))
    mistyped = " or ".join(f"type(a{k}) is not type{k}" for k in range(count))
    call = f"({arguments}{',' if arguments else ''})"
    lines = ["global last"]
    if mistyped:
        lines += [f"if {mistyped}:", f"    return mistyped({call}, stream, extra)"]
    lines += [dialect.read.format(a=f"a{k}", p=f"p{k}") for k in arrays]
    key = [dialect.array_key.format(a=f"a{k}") for k in arrays]
    if dialect.output_key:
        key += [dialect.output_key.format(a=f"a{k}") for k in arrays if pattern.written[k]]
    key += [dialect.call_key] if dialect.call_key else []
    key.append("extra")
    if arrays:
        every = " | ".join(f"p{k}" for k in arrays)
        each = ", ".join(f"p{k} & 15" for k in arrays)
        key.append(f"({every}) & 15 and ({each},)")
    total = pattern.nin + pattern.nout
    is_array = [*pattern.arrays, *([True] * (total - count))]
    raws = [k for k, raw in enumerate(pattern.raw) if raw and is_array[k]]
    pairs = overlap_pairs(pattern)
    names = [
        *("function", "grid", "grain", "block", "pack_into", "pack_checked"),
        *("new_buffer", "buffers", "shape", "order", "scratch"),
    ]
    names += [f"{name}{j}" for j in range(pattern.nout) for name in ("dtype", "size")]
    names += [f"g{k}" for k in raws]
    names += [f"{name}{k}_{j}" for k, j in pairs for name in ("low", "high", "same")]
    lines += [
        f"key = ({', '.join(key)},)",
        # Calls repeat: comparing with the last key is cheaper than hashing.
        "last_key, plan = last",
        "if key != last_key:",
        "    plan = plans.get(key)",
        "    if plan is None:",
        f"        return missed(run, {call}, stream, extra, key)",
        "    last = (key, plan)",
        f"{', '.join(names)} = plan",
    ]
    for k, j in pairs:
        lines += [
            f"if low{k}_{j} < p{j} - p{k} < high{k}_{j} and (same{k}_{j} or p{j} != p{k}):",
            f"    return overlapped(run, {call}, stream, extra)",
        ]
    outputs = [pattern.nin + j for j in range(pattern.nout)]
    if not pattern.outputs_given:
        for j, k in enumerate(outputs):
            lines.append(
                dialect.allocate.format(a=f"a{k}", p=f"p{k}", dtype=f"dtype{j}", size=f"size{j}")
            )
    values = [f"p{k}, *g{k}" for k in raws]
    values += [f"p{k}" for k in range(total) if is_array[k] and not pattern.raw[k]]
    scalars = [f"a{k}" for k in range(pattern.nin) if not is_array[k]]
    takes_scratch = pattern.has_scratch and bool(dialect.scratch)
    packed = ", ".join([*(["room"] if takes_scratch else []), *values, *scalars])
    stream = ["if stream is None:", f"    stream = {dialect.stream}"]
    result = {
        "none": "None",
        "one": f"a{outputs[0]}" if outputs else "None",
        "tuple": f"({', '.join(f'a{k}' for k in outputs)}{',' if outputs else ''})",
    }[pattern.returns]
    lines += [
        "if not grid:",
        # Numbers are checked also where nothing is computed with them.
        *([f"    pack_checked({', '.join(scalars)})"] if scalars else []),
        f"    return {result}",
        *([*stream, f"room = {dialect.scratch} if scratch else 0"] if takes_scratch else []),
        *take_buffer(),
    ]
    if scalars:
        lines += [
            "try:",
            f"    pack_into(buffer[0], 0, {packed})",
            "except PackErrors:",
            f"    pack_checked(buffer[0], 0, {packed})",
        ]
    else:
        lines.append(f"pack_into(buffer[0], 0, {packed})")
    lines += [
        *([] if takes_scratch else stream),
        *launch_lines(dialect.launch),
        f"return {result}",
    ]
    head = f"run({arguments}{', ' if arguments else ''}stream=None, extra=None)"
    return function_text(head, lines)


def _made_late(names: dict[str, Any], name: str, make: Callable[[], Any]) -> Callable[..., Any]:
    """Return a function that puts the real one in its own place when it is first called."""

    def first(*arguments: Any) -> Any:
        names[name] = make()
        return names[name](*arguments)

    return first


def make_launcher(
    pattern: Pattern,
    backend: Backend,
    plans: dict[Any, tuple[Any, ...]],
    types: Sequence[type],
    missed: Callable[..., Any],
    overlapped: Callable[..., Any],
    mistyped: Callable[..., Any],
) -> Callable[..., Any]:
    """Return the launcher of a pattern: ``run(*arguments, stream=None, extra=None)``.

    Parameters
    ----------
    pattern : Pattern
    backend : Backend
    plans : dict
        Rows of plans by key; filled by the caller when `missed` is called.
    types : sequence of type
        The arguments' types, which the launcher checks.
    missed : callable
        Called with the launcher, the arguments (a tuple), the stream, the extra key and the plan's
        key when no plan fits; its result is the call's result.
    overlapped : callable
        Called with the launcher, the arguments, the stream and the extra key when an output
        overlaps an input.
    mistyped : callable
        Called with the arguments, the stream and the extra key when one is of another type.
    """
    dialect = backend.dialect
    names: dict[str, Any] = {
        **dialect.names,
        "plans": plans,
        "last": (None, None),
        **{f"type{k}": kind for k, kind in enumerate(types)},
        "missed": missed,
        "overlapped": overlapped,
        "mistyped": mistyped,
        "launch_failed": backend.launch_failed,
        "LaunchErrors": dialect.errors,
        "PackErrors": (struct.error, OverflowError, TypeError),
    }
    for name, make in dialect.late.items():
        names[name] = _made_late(names, name, make)
    exec(compiled(_launcher_text(pattern, dialect)), names)
    launcher: Callable[..., Any] = names["run"]
    return launcher

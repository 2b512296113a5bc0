"""What a repeated call of a fused function touches."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from operator import attrgetter, itemgetter
from typing import Any

import numpy as np

from kerneltk.backends.base import Backend
from kerneltk.fusion.memory import extent_in_memory
from kerneltk.fusion.plan.kernels import FusedElementwise
from kerneltk.fusion.plan.planner import reachable
from kerneltk.fusion.plan.program import Program, Result
from kerneltk.fusion.trace.constants import constant_kind, objects_in
from kerneltk.fusion.trace.graph import Apply, Cast, Load, Scalar
from kerneltk.launch.shortcuts import MISSING, Kind, shortcut_of

_OF_ONE_DTYPE = (np.number, np.bool_)  # NumPy's numbers whose types are dtypes
_Test = Callable[..., object]  # of a call's arguments


def make_shortcut(
    program: Program, args: Sequence[Any], backend: Backend, otherwise: Callable[..., Any]
) -> Callable[..., Any] | None:
    """``call(*arguments)`` for arguments of these types and numbers of dimensions, which launches.
    Where the program is one kernel of its arguments as they are, it calls the launcher of that, and
    shapes may be any; otherwise they are these. None where an argument has to be looked at.

    Arrays that the program writes to are those that can be written, and overlap no others.
    """
    arrays: list[Any] = [value for value in args if type(value) is backend.array_type]
    is_direct = _is_direct(program) and all(
        value.ndim < 2 or _is_contiguous(value, backend) for value in arrays
    )
    reads, in_host_memory = program.trace.reads, backend.capabilities.in_host_memory
    written = {program.argument(array) for array in program.written}
    kinds: list[Kind] = []
    tests: list[_Test] = []
    for k, value in enumerate(args):
        if type(value) is backend.array_type:
            array: Any = value
            # Transposing, and the user's own decisions, may do nothing for these dimensions alone.
            shape = ("ndim", array.ndim) if is_direct else ("shape", array.shape)
            asked = [shape]
            is_written = k in written
            if array.ndim > 1 or is_written or (written and not in_host_memory):
                asked.append(_layout(array, backend))  # as results
            if is_written and backend.arrays.writable:
                asked.append((backend.arrays.writable, True))
            kinds.append(Kind(type(value), array.dtype, tuple(asked)))
            continue
        is_number = type(value) in (int, float, complex) or isinstance(value, _OF_ONE_DTYPE)
        is_itself = value is None or type(value) is bool
        kinds.append(Kind(type(value), None, (), value if is_itself else MISSING))
        if not is_number and not is_itself:
            test = _constant_test(k, value)
            if test is None:
                return None
            tests.append(test)
    if program.written:
        apart = _tests_of_writes(program, args, backend)
        if apart is None:
            return None
        tests += apart
    if reads.has_others:
        tests.append(lambda *args: reads.others_hold(args))
    typed: Any
    passed: Sequence[int] = range(len(args))
    if is_direct:
        (step,) = program.plan.steps
        passed = [program.argument(leaf.array) for leaf in step.leaves()]
        passed += [symbol.expression[1] for symbol in step.operands.scalars.values()]
        typed = step.kernel._inline_cache
    else:
        typed = program.run_for(args)
    return shortcut_of(
        kinds,
        passed,
        typed,
        otherwise,
        None if backend.arrays.layout is None else backend.arrays.layout(),
        tests[0] if len(tests) == 1 else _all_of(tests) if tests else None,
        names=reads.names,
    )


def _all_of(tests: Sequence[_Test]) -> _Test:
    return lambda *args: all(test(*args) for test in tests)


def _contiguous(backend: Backend) -> str:
    return backend.arrays.contiguous or "flags.c_contiguous"


def _is_contiguous(array: Any, backend: Backend) -> bool:
    return bool(attrgetter(_contiguous(backend))(array))


def _layout(array: Any, backend: Backend) -> tuple[str, Any]:
    """What is asked of arrays of one shape, so that their elements lie as in this one."""
    if _is_contiguous(array, backend):
        return _contiguous(backend), True
    return "strides", array.strides


def _tests_of_writes(program: Program, args: Sequence[Any], backend: Backend) -> list[_Test] | None:
    """What is asked of arrays that a program writes to, of these shapes and strides: they share no
    memory with others, nor do captured arrays change; None where that takes longer to ask.
    """
    in_host_memory = backend.capabilities.in_host_memory
    values = program.array_arguments(args)
    read: dict[int, Callable[[Any], Any]] = {}
    tests: list[_Test] = []
    for number, value in values.items():
        captured = program.trace.sources[number].captured is not None
        if type(value) is not backend.array_type or (captured and number in program.written):
            return None
        read[number] = _captured(value) if captured else itemgetter(program.argument(number))
        if captured and not in_host_memory:
            tests.append(_has(value, *_layout(value, backend)))
    for position, k in enumerate(program.written):
        for other in read:
            if other == k or other in program.written[:position]:
                continue
            if in_host_memory:
                tests.append(_shares_no_memory(_both(read[k], read[other])))
                continue
            extent, near = _extent(values[k], backend), _extent(values[other], backend)
            limits = near[0] - extent[1], near[1] - extent[0]
            address = attrgetter(f"{backend.arrays.memory}.{backend.arrays.address}")
            tests.append(_is_apart(read[k], read[other], address, limits))
    return tests


def _captured(value: Any) -> Callable[[Any], Any]:
    return lambda args: value


def _has(array: Any, name: str, value: Any) -> _Test:
    attribute = attrgetter(name)
    return lambda *args: attribute(array) == value


def _both(one: Callable[[Any], Any], other: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """What reads two arrays; at once, if both are arguments."""
    if isinstance(one, itemgetter) and isinstance(other, itemgetter):
        return itemgetter(*(read.__reduce__()[1][0] for read in (one, other)))
    return lambda args: (one(args), other(args))


def _shares_no_memory(both: Callable[[Any], Any]) -> _Test:
    share = np.may_share_memory
    return lambda *args: not share(*both(args))


def _is_apart(
    one: Callable[[Any], Any],
    other: Callable[[Any], Any],
    address: Callable[[Any], int],
    limits: tuple[int, int],
) -> _Test:
    low, high = limits
    return lambda *args: not low < address(one(args)) - address(other(args)) < high


def _constant_test(index: int, value: Any) -> _Test | None:
    """How to ask whether an argument is a constant; None where that takes long. Other objects that
    are equal to it have other ways.
    """
    if type(value) is str:
        return lambda *args: args[index] == value
    key = constant_kind(value)
    if len(key) == 2 and type(key[1]) is weakref.ref:
        referred = key[1]
        return lambda *args: referred() is args[index]
    if any(True for _ in objects_in(key)):
        return None  # which the shortcut would keep alive
    return lambda *args: args[index] is value


def _extent(array: Any, backend: Backend) -> tuple[int, int]:
    """Where an array's memory begins and ends, from its first element on (bytes)."""
    _, address = backend.describe(array)
    begin, end = extent_in_memory(array, backend)
    return begin - address, end - address


def _is_direct(program: Program) -> bool:
    """Whether all shapes have this program: one kernel, each of whose results depends on all
    arrays, and is broadcast as the kernel broadcasts.
    """
    plan, trace = program.plan, program.trace
    if not trace.guards.only_broadcast:
        return False
    if len(plan.steps) != 1 or not isinstance(plan.steps[0].kernel, FusedElementwise):
        return False
    step = plan.steps[0]
    if not step.allocates or any(leaf.steps for leaf in step.leaves()):
        return False
    if any(source.captured is not None or source.is_local for source in trace.sources):
        return False
    if any(symbol.expression[0] != "argument" for symbol in step.operands.scalars.values()):
        return False
    arrays = {leaf.array for leaf in step.leaves()}
    for node in step.nodes:
        below = reachable([node])
        if not all(isinstance(n, Apply | Cast | Load | Scalar) for n in below):
            return False
        if {n.array for n in below if isinstance(n, Load)} != arrays:
            return False
    result = program.result if len(step.nodes) > 1 else (program.result,)
    if type(result) is not tuple or len(result) != len(step.targets):
        return False
    return all(
        isinstance(item, Result)
        and item.leaf is not None
        and (item.leaf.array, item.leaf.steps) == (target.array, ())
        for item, target in zip(result, step.targets, strict=True)
    )

"""What a repeated call of a fused function touches."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Any

import numpy as np

from kerneltk.backends.base import Backend
from kerneltk.fusion.plan.program import Program, Result, extent_in_memory
from kerneltk.fusion.trace.graph import Apply, Cast, Load, Scalar, reachable
from kerneltk.fusion.trace.kinds import constant_kind, objects_in
from kerneltk.interop import exchange
from kerneltk.launch import compiled
from kerneltk.launch.shortcuts import MISSING, Distance, Kind, Steps, shortcut_of

_OF_ONE_DTYPE = (np.number, np.bool_)  # NumPy's numbers whose types are dtypes
_Test = Callable[..., object]  # of a call's arguments


def shortcut_maker(
    program: Program, given: Sequence[Any], args: Sequence[Any], backend: Backend
) -> Callable[[Callable[..., Any]], Callable[..., Any]] | None:
    """Makes ``call(*arguments)`` for arguments of these types and numbers of dimensions, which
    launches; it takes what is called with all others. Where the program is one kernel of its
    arguments as they are, it calls the launcher of that, and shapes may be any; otherwise they are
    these. None where it takes long to ask whether arrays overlap, and where arrays that are given
    are other libraries', but not such that launchers take them as they are, or several libraries';
    `args` are those as the backend's own.

    Arrays that the program writes to are those that can be written, and overlap no others.
    """
    memory: dict[int, tuple[int, int]] = {}  # of other libraries' arrays
    library: exchange.ExchangeLibrary | None = None
    for k, (value, own) in enumerate(zip(given, args, strict=True)):
        if value is not own and type(own) is backend.array_type:
            found, of = compiled.dlpack_device(value), exchange.library_of(type(value))
            if found is None or (memory and of is not library):
                return None
            memory[k], library = found, of
    arrays: list[Any] = [value for value in args if type(value) is backend.array_type]
    is_direct = _is_direct(program) and all(
        value.ndim < 2 or _is_contiguous(value, backend) for value in arrays
    )
    reads = program.trace.reads
    written = {program.argument(array) for array in program.written}
    kinds: list[Kind] = []
    tests: list[_Test] = []
    for k, value in enumerate(args):
        if type(value) is backend.array_type:
            array: Any = value
            # Transposing, and the user's own decisions, may do nothing for these dimensions alone.
            shape = ("ndim", array.ndim) if is_direct else ("shape", array.shape)
            layout = None
            if array.ndim > 1 or written or (k in memory and not is_direct):
                layout = _layout(array, backend)  # as results
            if k in memory:
                kinds.append(Kind(type(given[k]), array.dtype, foreign=(
                    *memory[k], k in written, array.ndim, None if is_direct else array.shape,
                    _foreign_layout(layout, array.dtype.itemsize),
                )))  # fmt: skip
                continue
            asked = [shape] if layout is None else [shape, layout]
            if k in written and backend.arrays.writable:
                asked.append((backend.arrays.writable, True))
            kinds.append(Kind(type(value), array.dtype, tuple(asked)))
            continue
        if value is not given[k]:
            return None  # a number, as tensors of the host are beside those on a GPU
        is_number = type(value) in (int, float, complex) or isinstance(value, _OF_ONE_DTYPE)
        is_itself = value is None or type(value) is bool
        kinds.append(Kind(type(value), None, (), value if is_itself else MISSING))
        if not is_number and not is_itself:
            tests.append(_constant_test(k, value))
    apart = _distances(program, args, backend)
    if apart is None:
        return None
    if program.depends_on_numbers:
        tests.append(program.numbers_test(args))
    if reads.has_others:
        tests.append(lambda *args: reads.others_hold(args))
    typed: Any
    passed: Sequence[int] = range(len(args))
    if is_direct:
        (step,) = program.plan.steps
        passed = [program.argument(leaf.array) for leaf in step.leaves()]
        passed += [symbol.expression[1] for symbol in step.operands.scalars.values()]
        typed = step.kernel._inline_cache  # type: ignore[union-attr]
    else:
        typed = program.steps_for(args, library, [*memory])
        if library is not None and not (isinstance(typed, Steps) and typed.fits):
            return None
    guard = tests[0] if len(tests) == 1 else _all_of(tests) if tests else None
    return lambda otherwise: shortcut_of(
        kinds, passed, typed, otherwise, backend.arrays, guard, names=reads.names, apart=apart
    )


def _all_of(tests: Sequence[_Test]) -> _Test:
    return lambda *args: all(test(*args) for test in tests)


def _contiguous(backend: Backend) -> str:
    return backend.arrays.contiguous or "flags.c_contiguous"


def _is_contiguous(array: Any, backend: Backend) -> bool:
    return bool(attrgetter(_contiguous(backend))(array))


def _foreign_layout(layout: tuple[str, Any] | None, itemsize: int) -> Any:
    """What `_layout` asks of an array, asked of another library's: see `Kind`."""
    if layout is None or layout[0] != "strides":
        return None if layout is None else True
    return tuple(step // itemsize for step in layout[1])


def _layout(array: Any, backend: Backend) -> tuple[str, Any]:
    """What is asked of arrays of one shape, so that their elements lie as in this one."""
    if _is_contiguous(array, backend):
        return _contiguous(backend), True
    return "strides", array.strides


def _distances(program: Program, args: Sequence[Any], backend: Backend) -> list[Distance] | None:
    """What is asked of arrays that a program writes to, of these shapes and strides: they share no
    memory with others; None where that takes longer to ask.
    """
    if not program.written:
        return []
    values = program.array_arguments(args)
    places: dict[int, Any] = {}
    for number, value in values.items():
        captured = program.trace.sources[number].captured is not None
        if type(value) is not backend.array_type or (captured and number in program.written):
            return None
        places[number] = value if captured else program.argument(number)
    found = []
    for position, k in enumerate(program.written):
        begin, end = _extent(values[k], backend)
        for other in places:
            if other != k and other not in program.written[:position]:
                low, high = _extent(values[other], backend)
                found.append(Distance(places[k], places[other], low - end, high - begin))
    return found


def _constant_test(index: int, value: Any) -> _Test:
    """How to ask whether an argument is a constant. Other objects that are equal to it have other
    ways.
    """
    if type(value) is str:
        return lambda *args: args[index] == value
    key = constant_kind(value)
    if len(key) == 2 and type(key[1]) is weakref.ref:
        referred = key[1]
        return lambda *args: referred() is args[index]
    if any(True for _ in objects_in(key)):
        return lambda *args: constant_kind(args[index]) == key  # the value would keep them alive
    return lambda *args: args[index] is value or constant_kind(args[index]) == key


def _extent(array: Any, backend: Backend) -> tuple[int, int]:
    """Where an array's memory begins and ends, from its first element on (bytes)."""
    _, address = backend.describe(array)
    begin, end = extent_in_memory(array, backend)
    return begin - address, end - address


def _is_result(result: Any, array: int) -> bool:
    return (
        isinstance(result, Result)
        and result.leaf is not None
        and (result.leaf.array, result.leaf.steps) == (array, ())
    )


def _is_direct(program: Program) -> bool:
    """Whether all shapes have this program: one kernel, each of whose results depends on all
    arrays, and is broadcast as the kernel broadcasts.
    """
    plan, trace = program.plan, program.trace
    if not trace.guards.only_broadcast:
        return False
    if len(plan.steps) != 1 or plan.steps[0].kind != "elementwise":
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
    targets = [target.array for target in step.targets]
    return all(map(_is_result, result, targets))

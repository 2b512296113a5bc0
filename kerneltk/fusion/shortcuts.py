"""What a repeated call of a fused function touches."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from functools import lru_cache
from operator import attrgetter
from types import CodeType
from typing import Any

import numpy as np

from kerneltk.backends.base import Backend
from kerneltk.fusion.memory import extent_in_memory
from kerneltk.fusion.plan.kernels import FusedElementwise
from kerneltk.fusion.plan.planner import reachable
from kerneltk.fusion.plan.program import Program
from kerneltk.fusion.trace.constants import constant_kind, objects_in
from kerneltk.fusion.trace.graph import Apply, Cast, Load, Node, Scalar

_OF_ONE_DTYPE = (np.number, np.bool_)  # NumPy's numbers whose types are dtypes


@lru_cache(maxsize=512)
def _compiled(source: str) -> CodeType:
    return compile(source, "<fused shortcut>", "exec")


def make_shortcut(
    program: Program, args: Sequence[Any], backend: Backend, otherwise: Callable[..., Any]
) -> Callable[..., Any] | None:
    """``call(*arguments)`` for arguments of these types and numbers of dimensions, which launches.
    Where the program is one kernel of its arguments as they are, it calls the launcher of that, and
    shapes may be any; otherwise they are these. None where an argument has to be looked at.

    Arrays that the program writes to are those that can be written, and overlap no others.
    """
    trace = program.trace
    given = "".join(f"a{k}, " for k in range(len(args)))
    arrays = [value for value in args if type(value) is backend.array_type]
    is_direct = _is_direct(program) and all(
        value.ndim < 2 or _is_contiguous(value, backend)  # type: ignore[attr-defined]
        for value in arrays
    )
    tests = []
    names: dict[str, Any] = {"otherwise": otherwise, "missing": object()}
    for k, value in enumerate(args):
        tests.append(f"type(a{k}) is type{k}")
        names[f"type{k}"] = type(value)
        if type(value) is backend.array_type:
            tests.append(f"a{k}.dtype is dtype{k}")
            names[f"dtype{k}"] = value.dtype  # type: ignore[attr-defined]
            # Transposing, and the user's own decisions, may do nothing for these dimensions alone.
            if is_direct:
                tests.append(f"a{k}.ndim == {value.ndim}")  # type: ignore[attr-defined]
            else:
                tests.append(f"a{k}.shape == shape{k}")
                names[f"shape{k}"] = value.shape  # type: ignore[attr-defined]
            if value.ndim > 1:  # type: ignore[attr-defined]
                tests.append(_test_of_strides(f"a{k}", value, backend, names))  # as results
        elif value is None or type(value) is bool:
            tests.append(f"a{k} is {value}")
        elif type(value) not in (int, float, complex) and not isinstance(value, _OF_ONE_DTYPE):
            test = _constant_test(value)
            if test is None:
                return None
            written, names[f"value_of{k}"] = test
            tests.append(written.format(k))
    if program.written:
        apart = _tests_of_writes(program, args, backend, names)
        if apart is None:
            return None
        tests += [test for test in apart if test not in tests]
    if is_direct:
        (step,) = program.plan.steps
        passed = [program.leaf(leaf) for leaf in step.leaves()]
        passed += [program.expression(s.expression) for s in step.operands.scalars.values()]
        names["launchers"] = step.kernel._inline_cache
        launched = f"launchers[{len(passed)}]({', '.join(passed)})"
    else:
        names["run"] = program.run
        launched = f"run({', '.join(f'a{k}' for k in range(len(args)))})"
    parameters = "".join(f"a{k}=missing, " for k in range(len(args)))
    tests.append("not others")
    tests += trace.reads.tests
    names |= {**trace.reads.names, "ERRORS": trace.reads.ERRORS}
    source = "\n".join(
        [
            f"def call({parameters}*others):",
            "    try:",
            f"        is_same = {' and '.join(tests)}",
            "    except ERRORS:",
            "        is_same = False",
            "    if is_same:",
            f"        return {launched}",
            f"    return otherwise(*(a for a in ({given}) if a is not missing), *others)",
        ]
    )
    exec(_compiled(source), names)
    made: Callable[..., Any] = names["call"]
    return made


def _contiguous(backend: Backend) -> str:
    return backend.arrays.contiguous or "flags.c_contiguous"


def _is_contiguous(array: Any, backend: Backend) -> bool:
    return bool(attrgetter(_contiguous(backend))(array))


def _test_of_strides(name: str, array: Any, backend: Backend, names: dict[str, Any]) -> str:
    """What is asked of arrays of one shape, so that their elements lie as in this one."""
    if _is_contiguous(array, backend):
        return f"{name}.{_contiguous(backend)}"
    names[f"strides_{name}"] = array.strides
    return f"{name}.strides == strides_{name}"


def _tests_of_writes(
    program: Program, args: Sequence[Any], backend: Backend, names: dict[str, Any]
) -> list[str] | None:
    """What is asked of arrays that a program writes to, of these shapes: they can be written, and
    share no memory with others, nor with themselves, as these do not; None where that takes longer
    to ask.
    """
    access, in_host_memory = backend.arrays, backend.capabilities.in_host_memory
    values = program.array_arguments(args)
    arrays: dict[int, str] = {}
    for number, value in values.items():
        captured = program.trace.sources[number].captured is not None
        if type(value) is not backend.array_type or (captured and number in program.written):
            return None
        arrays[number] = f"captured{number}" if captured else f"a{program.argument(number)}"
        if captured:
            names[arrays[number]] = value
    asked = program.written if in_host_memory else arrays
    tests = [_test_of_strides(arrays[k], values[k], backend, names) for k in asked]
    if access.writable:
        tests += [f"{arrays[k]}.{access.writable}" for k in program.written]
    for position, k in enumerate(program.written):
        name, extent = arrays[k], _extent(values[k], backend)
        for other, beside in arrays.items():
            if other == k or other in program.written[:position]:
                continue
            if in_host_memory:
                names["may_share"] = np.may_share_memory
                tests.append(f"not may_share({name}, {beside})")
                continue
            near = _extent(values[other], backend)
            distance = " - ".join(f"{x}.{access.memory}.{access.address}" for x in (name, beside))
            tests.append(f"not {near[0] - extent[1]} < {distance} < {near[1] - extent[0]}")
    return tests


def _constant_test(value: Any) -> tuple[str, Any] | None:
    """How to ask whether an argument is a constant, and what with; None where that takes long.
    Other objects that are equal to it have other ways.
    """
    if type(value) is str:
        return "a{0} == value_of{0}", value
    key = constant_kind(value)
    if len(key) == 2 and type(key[1]) is weakref.ref:
        return "value_of{0}() is a{0}", key[1]
    if any(True for _ in objects_in(key)):
        return None  # which the shortcut would keep alive
    return "a{0} is value_of{0}", value


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
    targets = [target.array for target in step.targets]
    expected = "return " + program.returned(targets)
    return program.source.endswith(expected) and _one_or_tuple(step.nodes, program)


def _one_or_tuple(nodes: Sequence[Node], program: Program) -> bool:
    if len(nodes) == 1:
        return not isinstance(program.result, tuple)
    return isinstance(program.result, tuple) and not hasattr(program.result, "_fields")

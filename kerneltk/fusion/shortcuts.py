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
from kerneltk.fusion.plan.kernels import FusedElementwise
from kerneltk.fusion.plan.planner import reachable
from kerneltk.fusion.plan.program import Program
from kerneltk.fusion.trace.graph import Apply, Cast, Load, Node, Scalar
from kerneltk.fusion.trace.outside import CodeOf
from kerneltk.fusion.trace.watched import MISSING, constant_kind, is_plain

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
    is_direct = _is_direct(program)
    trace = program.trace
    given = "".join(f"a{k}, " for k in range(len(args)))
    contiguous = backend.arrays.contiguous or "flags.c_contiguous"
    is_contiguous = attrgetter(contiguous)
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
                if not is_contiguous(value):
                    return None
                tests.append(f"a{k}.{contiguous}")  # as results, then
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
        tests += apart
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
    if trace.outside:
        plain = trace.outside.plain_tests
        if plain is None:
            tests.append(f"is_current(({given}))")
            names["is_current"] = trace.is_current
        for k, (read, value) in enumerate(plain or ()):
            names[f"value{k}"] = value
            if isinstance(read, CodeOf):
                tests.append(f"function{k}.__code__ is value{k}")
                names[f"function{k}"] = read.function
            else:
                tests.append(f"names{k}.get({read.name!r}, unset) is value{k}")
                names[f"names{k}"], names["unset"] = read.names, MISSING
    source = "\n".join(
        [
            f"def call({parameters}*others):",
            f"    if {' and '.join(tests)}:",
            f"        return {launched}",
            f"    return otherwise(*(a for a in ({given}) if a is not missing), *others)",
        ]
    )
    exec(_compiled(source), names)
    made: Callable[..., Any] = names["call"]
    return made


def _tests_of_writes(
    program: Program, args: Sequence[Any], backend: Backend, names: dict[str, Any]
) -> list[str] | None:
    """What is asked of arrays that a program writes to: they can be written, and share no memory
    with themselves nor with others; None where that takes longer to ask.
    """
    access = backend.arrays
    arrays: dict[int, str] = {}
    for number, value in program.array_arguments(args).items():
        captured = program.trace.sources[number].captured is not None
        if type(value) is not backend.array_type or (captured and number in program.written):
            return None
        arrays[number] = f"captured{number}" if captured else f"a{program.argument(number)}"
        if captured:
            names[arrays[number]] = value
    written = [arrays[number] for number in program.written]
    # Without gaps, an array does not overlap itself, and ends behind its bytes.
    dense = access.contiguous or "flags.c_contiguous"
    whole = written if backend.capabilities.in_host_memory else list(arrays.values())
    tests = [f"{name}.{dense}" for name in whole]
    if access.writable:
        tests += [f"{name}.{access.writable}" for name in written]
    for k, name in enumerate(written):
        for other in arrays.values():
            if other == name or other in written[:k]:
                continue
            if backend.capabilities.in_host_memory:
                names["may_share"] = np.may_share_memory
                tests.append(f"not may_share({name}, {other})")
            else:
                begin, start = (f"{x}.{access.memory}.{access.address}" for x in (name, other))
                ends_before = f"{begin} + {name}.nbytes <= {start}"
                tests.append(f"({ends_before} or {start} + {other}.nbytes <= {begin})")
    return tests


def _constant_test(value: Any) -> tuple[str, Any] | None:
    """How to ask whether an argument is a constant, and what with; None where that takes long."""
    if type(value) is str:
        return "a{0} == value_of{0}", value
    kind, *known = constant_kind(value)
    if len(known) == 1 and type(known[0]) is weakref.ref:
        return "value_of{0}() is a{0}", known[0]
    if kind is tuple and all(map(is_plain, value)):
        return "a{0} is value_of{0}", value
    return None


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

"""What a program does to its arguments, and what it wants from a launch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kerneltk.jit import ir


def _roots(node: Any, sources: dict[str, set[str]]) -> set[str]:
    """Return the parameters whose memory an array, or an lvalue in one, may belong to."""
    found: set[str] = set()
    for item in ir.walk(node):
        if isinstance(item, ir.Local):
            found |= sources.get(item.name, set())
    return found


def _array_of(lvalue: Any) -> Any:
    """Return the array that an lvalue is an element of, however deep the field."""
    base = ir.base_of(lvalue)
    return base.array if isinstance(base, ir.Element) else base


def written_parameters(program: ir.Program) -> frozenset[str]:
    """Return the names of the kernel's parameters whose arrays may be written to.

    A view counts as what it is a view of; it is not followed which of several.
    """
    by_name = {f.name: f for f in program.functions}
    summaries: dict[str, frozenset[str]] = dict.fromkeys(by_name, frozenset())
    is_settled = False
    while not is_settled:
        before = dict(summaries)
        for function in program.functions:
            summaries[function.name] = _written(function, by_name, summaries)
        is_settled = before == summaries or not any(f.is_recursive for f in program.functions)
    return summaries[program.kernel.name]


def _written(
    function: ir.Function,
    by_name: Mapping[str, ir.Function],
    summaries: Mapping[str, frozenset[str]],
) -> frozenset[str]:
    """Return a function's parameters that it writes to, from what those do that it calls."""
    sources: dict[str, set[str]] = {p.name: {p.name} for p in function.parameters}
    changed = True
    while changed:
        changed = False
        for node in ir.walk(*function.body):
            if isinstance(node, ir.Store) and isinstance(node.target, ir.Local):
                found = _roots(node.value, sources)
                known = sources.setdefault(node.target.name, set())
                if not found <= known:
                    known |= found
                    changed = True
    written: set[str] = set()
    for node in ir.walk(*function.body):
        if isinstance(node, ir.Store | ir.Update) and not isinstance(node.target, ir.Local):
            written |= _roots(_array_of(node.target), sources)
        elif isinstance(node, ir.Call):
            for k in node.operation.writes:
                written |= _roots(_array_of(node.arguments[k]), sources)
        elif isinstance(node, ir.Invoke):
            callee = by_name[node.function]
            for parameter, argument in zip(callee.parameters, node.arguments, strict=True):
                if parameter.name in summaries[node.function]:
                    written |= _roots(argument, sources)
    return frozenset(written & {parameter.name for parameter in function.parameters})


def needs_grid(program: ir.Program) -> bool:
    """Whether blocks wait for each other: all of them must be resident."""
    return any(
        isinstance(node, ir.Call) and ir.Effect.GRID in node.operation.effects
        for function in program.functions
        for node in ir.walk(*function.body)
    )


def required_block(program: ir.Program) -> tuple[int, int, int] | None:
    """Return the shape that the blocks of a kernel must have, whatever its arguments are; None if
    it may depend on them.

    It is that of collectives which every thread comes to: those that stand in no branch or loop,
    and before anything that may end the kernel.
    """
    for statement in program.kernel.body:
        if isinstance(statement, ir.If | ir.While | ir.For | ir.Return):
            if any(isinstance(inside, ir.Return) for inside in ir.statements((statement,))):
                return None
            continue
        for node in ir.walk(statement):
            if isinstance(node, ir.Call):
                for fact in node.static:
                    found: tuple[int, int, int] | None = getattr(fact, "required_block", None)
                    if found is not None:
                        return found
    return None

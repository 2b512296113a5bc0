"""Variables under other names, and expressions instead of variables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from kerneltk.jit import ir
from kerneltk.jit.ir.types import Type
from kerneltk.jit.passes.uniformity import assignments


def with_expressions(node: Any, known: Mapping[str, ir.Expression]) -> Any:
    """Return an expression with others instead of variables."""

    def change(inner: Any) -> Any:
        return known.get(inner.name, inner) if isinstance(inner, ir.Local) else inner

    return ir.rebuilt(node, change)


def _with_names(nodes: Any, names: Mapping[str, str]) -> Any:
    if not names:
        return nodes

    def change(node: Any) -> Any:
        if isinstance(node, ir.Local) and node.name in names:
            return replace(node, name=names[node.name])
        return node

    return ir.rebuilt(nodes, change)


class Names:
    """Makes names that a function does not have."""

    def __init__(self, function: ir.Function) -> None:
        self._taken = ir.declared_names(function)

    def fresh(self, stem: str) -> str:
        """Return `stem`, or what is made of it where that is taken."""
        name, number = stem, 1
        while name in self._taken:
            number += 1
            name = f"{stem}{number}"
        self._taken.add(name)
        return name


def with_unique_names(function: ir.Function) -> ir.Function:
    """Return a function that assigns to no parameter, in which each private loop variable has a
    name of its own.
    """
    names = Names(function)
    used: set[str] = set()

    def change(node: ir.Statement) -> ir.Statement:
        if not isinstance(node, ir.For) or not node.private:
            return node
        name = node.variable.name
        if name not in used:
            used.add(name)
            return node
        new = names.fresh(name)
        used.add(new)
        body = _with_names(node.body, {name: new})
        return replace(node, variable=replace(node.variable, name=new), body=body)

    body = ir.with_statements(function.body, change)
    assigned = set(assignments(*body))
    copies: list[ir.Statement] = []
    own: dict[str, str] = {}
    declared: list[tuple[str, Type]] = []
    for parameter in function.parameters:
        if parameter.name not in assigned:
            continue
        own[parameter.name] = names.fresh(f"own_{parameter.name}")
        declared.append((own[parameter.name], parameter.type))
        source = ir.Local(parameter.name, parameter.type, parameter.span)
        target = replace(source, name=own[parameter.name])
        copies.append(ir.Store(target, source, parameter.span))
    body = (*copies, *_with_names(body, own))
    locals_ = tuple(item for item in function.locals if item[0] not in own)
    return replace(function, body=body, locals=(*declared, *locals_))

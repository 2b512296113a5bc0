"""Rematerialization: a cheap value is computed again where it is read, instead of being stored.

After Briggs, Cooper and Torczon, PLDI 1992: there to spare registers, here memory for each thread.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from kerneltk.jit import ir
from kerneltk.jit.passes.liveness import live_in, mentioned
from kerneltk.jit.passes.thread_loops import thread_loops
from kerneltk.jit.passes.uniformity import assignments

_MOST_NODES = 24  # of an expression that is computed again in each loop
_CHEAP_OPERATIONS = ("+", "-", "*", "/", "<<", ">>", "&", "|", "^")


def is_cheap(node: Any) -> bool:
    """Whether an operation may be done again at any time, and costs little."""
    if isinstance(node, ir.Binary):
        by_literal = isinstance(node.right, ir.Literal_) and bool(node.right.value)
        return node.op in _CHEAP_OPERATIONS or (node.op in ("//", "%") and by_literal)
    if isinstance(node, ir.Call):
        operation = node.operation
        is_register = not node.arguments
        return operation.is_repeatable and (is_register or operation.arithmetic is not None)
    return not isinstance(node, ir.Element | ir.Invoke | ir.Construct)


def rematerialized(body: tuple[ir.Statement, ...], own: set[str]) -> tuple[ir.Statement, ...]:
    """Return statements in which cheap variables, of those that differ between threads, are
    computed in each loop that reads them.
    """
    counts = Counter(assignments(*body))
    found = {
        site.name: site
        for site in _sites(body)
        if counts[site.name] == 1 and site.name in own and _is_stable(site, body)
    }
    sizes: dict[str, int] = {}
    for name, site in list(found.items()):  # what one is computed from comes before it
        operands = site.operands & own
        size = sum(1 for _ in ir.walk(site.store.value))
        size += sum(sizes.get(operand, _MOST_NODES) for operand in operands)
        if size > _MOST_NODES:
            del found[name]
        else:
            sizes[name] = size

    def change(node: ir.Statement) -> ir.Statement:
        if not isinstance(node, ir.ThreadLoop):
            return node
        wanted = live_in(node.body) & set(found)
        while True:
            more = {o for n in wanted for o in found[n].operands & set(found)} - wanted
            here = more.intersection(assignments(*node.body)) if more else more
            if not more - here:
                break
            wanted |= more - here
        stores = [found[name].store for name in found if name in wanted]
        return replace(node, body=(*stores, *node.body))

    return ir.with_statements(body, change) if found else body


def _is_stable(site: _Site, body: tuple[ir.Statement, ...]) -> bool:
    """Whether a variable can be computed again wherever it is read."""
    later = (ir.ThreadLoop(site.behind, site.store.span), *site.after)
    inside = {id(loop) for loop in thread_loops(later)} | {id(site.loop)}
    for loop in thread_loops(body):
        if id(loop) not in inside and site.name in mentioned(loop.body):
            return False
    if site.name in live_in(site.loop.body):
        return False
    return site.operands.isdisjoint(assignments(*later)) and all(
        is_cheap(node) for node in ir.walk(site.store.value)
    )


@dataclass(frozen=True, slots=True)
class _Site:
    """An assignment that all threads pass together, and what comes behind it.

    `after` are the statements behind its thread loop, `behind` those inside of it.
    """

    store: ir.Store
    name: str
    operands: frozenset[str]
    loop: ir.ThreadLoop
    behind: tuple[ir.Statement, ...]
    after: tuple[ir.Statement, ...]


def _sites(body: tuple[ir.Statement, ...]) -> Iterator[_Site]:
    for k, statement in enumerate(body):
        if not isinstance(statement, ir.ThreadLoop):
            for part in ir.bodies(statement):
                yield from _sites(part)
            continue
        for j, inner in enumerate(statement.body):
            if isinstance(inner, ir.Store) and isinstance(inner.target, ir.Local):
                operands = frozenset(mentioned([inner.value]))
                behind, after = statement.body[j + 1 :], body[k + 1 :]
                yield _Site(inner, inner.target.name, operands, statement, behind, after)


def without_idle_loops(body: tuple[ir.Statement, ...], own: set[str]) -> tuple[ir.Statement, ...]:
    """Leave out assignments that are never read, and loops that do nothing."""
    live = {name for loop in thread_loops(body) for name in live_in(loop.body)}

    def rest(statements: tuple[ir.Statement, ...]) -> tuple[ir.Statement, ...]:
        result: list[ir.Statement] = []
        for statement in statements:
            if isinstance(statement, ir.ThreadLoop):
                inside = _without_dead_stores(statement.body, own - live)
                if inside:
                    result.append(replace(statement, body=inside))
            else:
                result.append(ir.with_bodies(statement, rest))
        return tuple(result)

    return rest(body)


def _without_dead_stores(
    body: tuple[ir.Statement, ...], local: set[str]
) -> tuple[ir.Statement, ...]:
    """Return the statements of a thread loop without assignments to `local` that it never reads."""
    while True:
        read: set[str] = set()
        for node in ir.walk(*body):
            if isinstance(node, ir.Store) and isinstance(node.target, ir.Local):
                read |= mentioned([node.value])
            elif not isinstance(node, ir.Local | ir.Store):
                read |= {c.name for c in ir.children(node) if isinstance(c, ir.Local)}
            elif isinstance(node, ir.Store):
                read |= mentioned([node])
        less = tuple(
            statement
            for statement in body
            if not (
                isinstance(statement, ir.Store)
                and isinstance(statement.target, ir.Local)
                and statement.target.name in local - read
                and all(is_cheap(node) for node in ir.walk(statement.value))
            )
        )
        if len(less) == len(body):
            return body
        body = less

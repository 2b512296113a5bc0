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

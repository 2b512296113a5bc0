"""Live variables: what statements may read of what others have assigned.

The upward-exposed uses of data-flow analysis (Aho, Lam, Sethi, Ullman, Compilers, section 9.2.5).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from kerneltk.jit import ir


def mentioned(nodes: Iterable[Any]) -> set[str]:
    """Return the variables that are read or assigned."""
    return {node.name for node in ir.walk(*nodes) if isinstance(node, ir.Local | ir.Declare)}


def live_in(body: tuple[ir.Statement, ...]) -> set[str]:
    """Return the variables that may be read before these statements have assigned them."""
    found: set[str] = set()
    _flow(body, set(), found)
    return found


def _reads(nodes: Iterable[Any], assigned: set[str], found: set[str]) -> None:
    found |= {n.name for n in ir.walk(*nodes) if isinstance(n, ir.Local)} - assigned


def _flow(body: tuple[ir.Statement, ...], assigned: set[str], found: set[str]) -> bool:
    """Add to `assigned` what is certainly assigned behind `body`, to `found` what was read before;
    return whether the end is reached at all.
    """
    for statement in body:
        if isinstance(statement, ir.Store) and isinstance(statement.target, ir.Local):
            _reads([statement.value], assigned, found)
            assigned.add(statement.target.name)
        elif isinstance(statement, ir.Update):
            _reads([statement.target], assigned, found)
            _reads([statement.value], assigned | {statement.name}, found)
        elif isinstance(statement, ir.Declare):
            assigned.add(statement.name)
        elif isinstance(statement, ir.If):
            _reads([statement.condition], assigned, found)
            ends = []
            for part in (statement.body, statement.orelse):
                inside = set(assigned)
                if _flow(part, inside, found):
                    ends.append(inside)
            if not ends:
                return False
            assigned |= set.intersection(*ends)
        elif isinstance(statement, ir.For | ir.While):
            _reads(ir.controls(statement), assigned, found)
            counters = {statement.variable.name} if isinstance(statement, ir.For) else set()
            _flow(statement.body, assigned | counters, found)
        else:
            _reads([statement], assigned, found)
            if isinstance(statement, ir.Break | ir.Continue | ir.Return):
                return False
    return True

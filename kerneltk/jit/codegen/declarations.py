"""The names that generated functions declare, and where."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kerneltk.jit import ir


def declaration_sites(function: ir.Function) -> tuple[set[int], set[str], list[str]]:
    """Return the stores at which variables are declared, the variables that are stored to once,
    and those that have to be declared at the top.

    A variable is declared where it is first assigned if everything else that mentions it stands
    behind that, in the same block or inside of what follows.
    """
    names = {name for name, _ in function.locals}
    stores: dict[str, int] = dict.fromkeys(names, 0)
    homes: dict[str, tuple[int, int, int]] = {}  # block, index in it, the store
    outside: set[str] = set()
    open_blocks: set[int] = set()
    counter = 0

    def mention(name: str) -> None:
        if name not in names:
            return
        home = homes.get(name)
        if home is None or home[0] not in open_blocks:
            outside.add(name)

    def read(node: Any) -> None:
        for item in ir.walk(node):
            if isinstance(item, ir.Local):
                mention(item.name)

    def block(statements: Sequence[Any]) -> None:
        nonlocal counter
        counter += 1
        number = counter
        open_blocks.add(number)
        for index, statement in enumerate(statements):
            visit(statement, number, index)
        open_blocks.discard(number)

    def visit(statement: Any, number: int, index: int) -> None:
        if isinstance(statement, ir.Store) and isinstance(statement.target, ir.Local):
            read(statement.value)
            name = statement.target.name
            if name in names:
                stores[name] += 1
                if name not in homes and name not in outside:
                    homes[name] = (number, index, id(statement))
                else:
                    mention(name)
            return
        if not isinstance(statement, ir.If | ir.While | ir.For | ir.ThreadLoop):
            read(statement)
            return
        if not isinstance(statement, ir.ThreadLoop):
            for part in ir.controls(statement):
                read(part)
        if isinstance(statement, ir.For):
            mention(statement.variable.name)
        for body in ir.bodies(statement):
            block(body)

    block(function.body)
    inner = {name: home for name, home in homes.items() if name not in outside}
    first = {home[2] for home in inner.values()}
    once = {name for name in inner if stores[name] == 1}
    return first, once, [name for name, _ in function.locals if name not in inner]

"""A name of its own for each value that a variable has one after the other, as in numba's SSA form.

In ``t = index[i]; t = x[t]`` the two values have one name, and need no common type. A value ends at
the next assignment in the same block. The last one of a block keeps its name where it may be read
behind the block.
"""

from __future__ import annotations

import ast
import copy
import functools
from collections.abc import Iterable
from typing import Any

from kerneltk.jit.source.scope import parameters_of
from kerneltk.jit.source.text import FunctionNode

# Names in these are left alone: nested functions may be called later, annotations name a type.
_KEEPING = (ast.FunctionDef, ast.Lambda, ast.GeneratorExp, ast.ListComp, ast.AnnAssign)
_JUMPS = (ast.Break, ast.Continue)


@functools.lru_cache(maxsize=64)
def with_versions(node: FunctionNode) -> FunctionNode:
    """Return a copy of a function whose variables are assigned as rarely as can be."""
    node = copy.deepcopy(node)
    if isinstance(node, ast.Lambda):
        return node
    for part in _nodes(node.body, ast.Assert):  # which shows the user's names
        shown = ast.Constant(ast.unparse(part.test))
        part.msg = part.msg or ast.copy_location(shown, part.test)
    kept = {name.id for part in _nodes(node.body, _KEEPING) for name in _nodes([part], ast.Name)}
    kept |= {part.name for part in _nodes(node.body, (ast.MatchAs, ast.FunctionDef))}
    given = {argument.arg for argument in parameters_of(node)}
    taken = given | {name.id for name in _nodes(node.body, ast.Name)}
    blocks: list[Any] = [node.body]
    for part in _nodes(node.body, ast.stmt):
        blocks += [b for b in (getattr(part, "body", ()), getattr(part, "orelse", ())) if b]
    for block in reversed(blocks):
        for name in sorted({n.id for n in _nodes(block, ast.Name)} - kept):
            _split_block(block, name, node.body, name in given, taken)
    return node


def _split_block(
    block: list[Any], name: str, body: list[Any], is_given: bool, taken: set[str]
) -> None:
    """Rename all but one of the values that the statements of a block assign to a name; all where
    only these and what follows them use it.
    """
    begins = [k for k, statement in enumerate(block) if _assigns(statement, name)]
    if not begins:
        return
    own = _uses([*block[begins[0]].targets, *block[begins[0] + 1 :]], name)
    is_whole = block is body or len(own) == len(_uses(body, name))
    values = list(zip(begins, [*begins[1:], len(block)], strict=True))
    if is_whole:  # nothing reads what is behind; a parameter keeps its name
        values = values[not (is_given or _uses(block[: begins[0]], name)) :]
    for begin, end in values if is_whole else values[:-1]:
        inside = block[begin + 1 : end]
        if not is_whole and any(_nodes(inside, _JUMPS)):
            continue
        new = next(n for k in range(1, 10**6) if (n := f"{name}_{k}") not in taken)
        taken.add(new)
        read = [block[end].value] if end < len(block) else []
        for found in _uses([*block[begin].targets, *inside, *read], name):
            found.id = new


def _assigns(statement: ast.stmt, name: str) -> bool:
    """Whether a statement is ``name = ...`` or ``name, other = ...``."""
    found = _uses(statement.targets, name) if isinstance(statement, ast.Assign) else []
    return len(found) == 1 and isinstance(found[0].ctx, ast.Store)


def _nodes(parts: Iterable[ast.AST], kind: Any) -> list[Any]:
    return [node for part in parts for node in ast.walk(part) if isinstance(node, kind)]


def _uses(parts: Iterable[ast.AST], name: str) -> list[ast.Name]:
    return [node for node in _nodes(parts, ast.Name) if node.id == name]

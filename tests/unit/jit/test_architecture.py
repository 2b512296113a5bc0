"""What an operation means is in its fields: its name is printed, and nothing else."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from kerneltk import jit

from ..test_architecture import tree_of

FILES = sorted(Path(jit.__file__).parent.rglob("*.py"))
# What else has a name that is compared with words: dtypes, backends, kernels and their sources.
OTHERS = {"backend", "dtype", "later", "left", "owner", "right", "self", "source"}


def last_word(node: ast.expr) -> str:
    """The name of a variable or an attribute."""
    return getattr(node, "attr", getattr(node, "id", ""))


def is_words(node: ast.expr) -> bool:
    """Whether an expression is a string, a collection of strings, or a constant's name."""
    if isinstance(node, ast.Tuple | ast.List | ast.Set | ast.Dict):
        return True
    return (isinstance(node, ast.Constant) and isinstance(node.value, str)) or (
        isinstance(node, ast.Name) and node.id.isupper()
    )


def names_with_a_meaning(tree: ast.AST) -> Iterator[ast.Attribute]:
    """Yield each ``x.name`` of an operation that is not printed, and each that is compared with
    words, or taken apart, whatever `x` is called.
    """
    nodes = list(ast.walk(tree))
    printed = {id(node.value) for node in nodes if isinstance(node, ast.FormattedValue)}
    for node in nodes:
        suspects: list[ast.expr] = []
        if isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            suspects = sides if any(map(is_words, sides)) else []
        elif isinstance(node, ast.Attribute):
            is_operation = last_word(node.value).lower().endswith("operation")
            if node.attr == "name" and is_operation and id(node) not in printed:
                yield node
            suspects = [node.value]
        elif isinstance(node, ast.Match):
            suspects = [node.subject]
        elif isinstance(node, ast.Subscript):
            suspects = [node.slice] if is_words(node.value) else []
        for suspect in suspects:
            is_name = isinstance(suspect, ast.Attribute) and suspect.attr == "name"
            if is_name and last_word(suspect.value) not in OTHERS:
                yield suspect


def test_nothing_is_read_out_of_an_operations_name() -> None:
    for path in FILES:
        found = names_with_a_meaning(tree_of(path))
        assert [f"{path}:{node.lineno}: {ast.unparse(node)}" for node in found] == []


def test_such_a_use_is_found() -> None:
    for source in (
        "operation.name == 'nanosleep'",
        "name = node.operation.name",
        "'atomic' in node.operation.name",
        "_BARRIER_OPERATION.name in KNOWN",
        "known.name in ('min', 'max')",
        "known.name not in _EXTREMES",
        "known.name.startswith('threadIdx')",
        "_CALLS[known.name]",
        "match known.name:\n    case 'min': pass",
    ):
        assert list(names_with_a_meaning(ast.parse(source))), source
    for source in ("f\"'{operation.name}' waits\"", "dtype.name == 'a'", "name in known.locals"):
        assert not list(names_with_a_meaning(ast.parse(source))), source

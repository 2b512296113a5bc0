"""The syntax tree of a source, and where its nodes are in it."""

from __future__ import annotations

import pytest

from kerneltk.cuda_cpp.syntax.preprocess import prepare
from kerneltk.cuda_cpp.syntax.tree import (
    Scope,
    SourceTree,
)


def tree_of(source: str) -> SourceTree:
    prepared = prepare(source)
    ((plain, words),) = prepared.variants()
    return SourceTree(prepared, plain, words)


SOURCE = """namespace a { inline namespace v1 {
extern "C" {
__global__ void kernel() { auto g = [](int x) { return x; }; g(1); }
}
namespace { struct S { void member() { int inside; } }; }
extern "C++" { int plain; }
} }
namespace b::c { int last; }
"""


@pytest.mark.parametrize(("word", "names", "is_extern_c", "functions", "is_outside"), [
    ("kernel", ("a", "v1"), True, 1, False),
    ("inside", ("a", "v1", ""), False, 1, False),
    ("plain", ("a", "v1"), False, 0, True),
    ("last", ("b", "c"), False, 0, True),
    ("namespace b", ("b", "c"), False, 0, True),
])  # fmt: skip
def test_scopes(
    word: str, names: tuple[str, ...], is_extern_c: bool, functions: int, is_outside: bool
) -> None:
    tree = tree_of(SOURCE)
    position = tree.plain.index(word)
    scope, found = tree.scope_at(position)
    assert (scope.names, scope.is_extern_c, len(found)) == (names, is_extern_c, functions)
    assert tree.is_outside(position) is is_outside


def test_names_with_their_namespaces() -> None:
    assert Scope().qualified("f") == "f"
    assert Scope(("a", "", "b")).qualified("f") == "a::b::f"

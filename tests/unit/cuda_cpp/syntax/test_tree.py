"""The syntax tree of a source, and where its nodes are in it."""

from __future__ import annotations

import pytest

from kerneltk.cuda_cpp.syntax.preprocess import prepare
from kerneltk.cuda_cpp.syntax.tree import (
    Scope,
    SourceTree,
    declared_name,
    function_declarator,
    inner_declarator,
    parse,
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


@pytest.mark.parametrize(
    ("word", "names", "is_extern_c", "functions", "is_outside"),
    [
        ("kernel", ("a", "v1"), True, 1, False),
        ("inside", ("a", "v1", ""), False, 1, False),
        ("plain", ("a", "v1"), False, 0, True),
        ("last", ("b", "c"), False, 0, True),
        ("namespace b", ("b", "c"), False, 0, True),
    ],
)
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


def test_declarations_begin_with_their_attributes() -> None:
    source = "int x; __global__ __launch_bounds__(32) void f() {} struct S {} ; int y;"
    tree = tree_of(source)
    _, function, struct, *_ = tree.root.named_children
    assert source[tree.head_start(function) :].startswith("__global__")
    begin, end = tree.span(function, Scope())
    assert source[begin:end] == "__global__ __launch_bounds__(32) void f() {}"
    begin, end = tree.span(struct, Scope())
    assert source[begin:end] == "struct S {} ;"
    words = tree.words_between(tree.head_start(function), function.end_byte)
    assert [word.name for word in words] == ["__global__", "__launch_bounds__"]
    assert tree.words_between(0, 3) == []


@pytest.mark.parametrize(
    ("declaration", "name", "is_function"),
    [
        ("int f(int);", "f", True),
        ("int* f(int);", "f", True),
        ("int& (f)(int);", "f", True),
        ("int (*f(int))[3];", "f", True),
        ("int (*p)(int);", "p", True),
        ("int a::f(int);", "a::f", True),
        ("int x;", "x", False),
        ("int* x[3];", "x", False),
        ("const int& x = y;", "x", False),
    ],
)
def test_declared_names(declaration: str, name: str, is_function: bool) -> None:
    (node,) = parse(declaration).named_children
    declarator = node.child_by_field_name("declarator")
    assert declarator is not None
    found = declared_name(declarator)
    assert found is not None
    assert (found.text or b"").decode() == name
    assert (function_declarator(node) is not None) is is_function


def test_what_declares_no_name() -> None:
    (node,) = parse("int f(int*);").named_children
    declarator = function_declarator(node)
    assert declarator is not None
    (parameter,) = declarator.children_by_field_name("parameters")[0].named_children
    abstract = parameter.child_by_field_name("declarator")
    assert abstract is not None
    assert declared_name(abstract) is None
    assert inner_declarator(abstract) is None

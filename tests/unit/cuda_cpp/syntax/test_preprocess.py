"""Macros and conditionals, as the reader follows them."""

from __future__ import annotations

import pytest

from kerneltk.cuda_cpp.syntax.declarations import DeclaredKernel
from kerneltk.cuda_cpp.syntax.preprocess import included_name, prepare
from kerneltk.cuda_cpp.syntax.reader import read_source


def only_kernel(text: str) -> DeclaredKernel:
    (kernel,) = read_source(text).kernels
    return kernel


@pytest.mark.parametrize(("definitions", "use"), [
    ('#define KERNEL extern "C" __global__ void', "KERNEL f(float* x) {}"),
    ("#define GLOBAL __global__\n#define K(name) GLOBAL void name", "K(f)(float* x) {}"),
    ("#define ADD(T) \\\n  __global__ void f##T(T* x) { \\\n  x[0] += T(1); }", "ADD(loat)"),
    ("#define R __restrict__\n#define EMPTY", "EMPTY __global__ void f(float* R x) {}"),
    ("#ifdef X\n#define G\n#else\n#define G __global__\n#endif", "G void f(float* x) {}"),
    ("#define NS_(n) namespace n {\n#define E_ }", "NS_(ns) __global__ void f(float* x) {} E_"),
    ("#define ALL(X) X(f, +)\n#define K(n, o) __global__ void n(float* x) { *x o##= 1; }",
     "ALL(K)"),
    ("#define P_(a, b) a##b\n#define P(a, b) P_(a, b)\n#define S at\n#define N(a) P(a, S)",
     "__global__ void N(flo)(float* x) {}"),
])  # fmt: skip
def test_macros_of_the_same_text(definitions: str, use: str) -> None:
    kernel = only_kernel(f"{definitions}\n{use}\n")
    assert kernel.name.removeprefix("ns::") in ("f", "float")
    assert kernel.parameters[0].name == "x"
    assert kernel.is_extern_c == ("extern" in definitions)
    assert kernel.name.startswith("ns::") == ("NS_" in use)


@pytest.mark.parametrize("text", [
    "#define A B\n#define B A __global__\nA x",
    "#define A A __global__ A\nA void f() {}",
    "".join(f"#define A{k} A{k + 1} A{k + 1} __global__\n" for k in range(40)) + "A0",
])  # fmt: skip
def test_macros_that_grow_without_end(text: str) -> None:
    read_source(text)


def test_branches() -> None:
    text = """
#ifndef GUARD_H
#define GUARD_H
#if defined(A) && B > 3 // odd
__global__ void f(int a)
#elif C
__global__ void f(float a)
#else
__global__ void f(double a)
#endif
{ }
#if 0
__global__ void dead() {}
#endif
__global__ void last() {}
#endif
"""
    kernels = read_source(text).kernels
    assert [k.name for k in kernels] == ["f", "f", "f", "last"]
    assert [k.parameters[0].type for k in kernels[:3]] == ["int", "float", "double"]
    assert [k.guard for k in kernels] == [
        "(defined(A) && B > 3)",
        "!(defined(A) && B > 3) && (C)",
        "!(defined(A) && B > 3) && !(C)",
        "",
    ]


# -- the steps themselves -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("source", "code"),
    [
        ("", ""),
        ("a // b\nc", "a     \nc"),
        ("a /* b\n */ c", "a     \n    c"),
        ("a // b \\\n c\nd", "a       \n  \nd"),
        ('f("a\\"b", x)', 'f("    ", x)'),
        ("f('\"', '\\'')", "f(0  , 0   )"),
        ("1'000'000", "000000000"),
        ('R"x(a)" // "b)x" c', '""' + " " * 15 + "c"),
        ('extern "C" f', 'extern "C" f'),
        ("#define A 1\nb", "           \nb"),
        ("#define A \\\n 1\nb", "           \n  \nb"),
        ("/* open", "       "),
        ('"open', "     "),
        ("a \\\n b", "a  \n b"),
    ],
)
def test_what_is_no_code_is_blank(source: str, code: str) -> None:
    found = prepare(source)
    assert found.code == code
    assert len(found.code) == len(source)


@pytest.mark.parametrize(
    ("source", "name", "argument"),
    [
        ("#include <a.h>", "include", "<a.h>"),
        ("  #  define  A(x)   x  + 1 // of A", "define", "A(x) x + 1"),
        ("%:define A", "define", "A"),
        ("#define A \\\n  1 /* one */ \\\r\n  + 2", "define", "A 1 + 2"),
        ("#", "", ""),
        ('#line 3 "a//b"', "line", '3 "a//b"'),
        ("#if /* when */ A", "if", "A"),
    ],
)
def test_directives(source: str, name: str, argument: str) -> None:
    (found,) = prepare(f"int x;\n{source}\nint y;").directives
    assert (found.name, found.argument) == (name, argument)
    assert (found.start, found.end) == (7, 7 + len(source))


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("#include <a/b.h>", ("a/b.h", False)),
        ('#include "a.h" // x', ("a.h", True)),
        ("#include_next <a.h>", ("a.h", False)),
        ("#include MACRO", None),
        ("#include", None),
        ('#define A "a.h"', None),
    ],
)
def test_included_names(source: str, name: tuple[str, bool] | None) -> None:
    (directive,) = prepare(source).directives
    assert included_name(directive) == name


def test_positions_lead_back_to_the_source() -> None:
    source = "#define K(name) __global__ void name\nint a; K(f)(int x) {} int b;\n"
    found = prepare(source)
    assert "__global__ void f (int x)" in found.shown
    for word in ("int a", "(int x)", "int b"):
        position = found.shown.index(word)
        assert source[found.start_of(position) :].startswith(word)
        assert source[: found.end_of(position + len(word))].endswith(word)
    # Within an expansion, it is the whole use.
    inside = found.shown.index("void f")
    assert source[found.start_of(inside) :].startswith("K(f)")
    assert source[: found.end_of(inside + 6)].endswith("K(f)")
    assert [found.line_of(source.index(word)) for word in ("#define", "int a", "int b")] == [
        1,
        2,
        2,
    ]


def test_attributes_are_found_and_blank() -> None:
    source = (
        "__global__ [[nodiscard]] void __launch_bounds__(f(1), 2) k(); int a[[] { return 1; }()];"
    )
    found = prepare(source)
    assert [source[word.start : word.end] for word in found.words] == [
        "__global__",
        "[[nodiscard]]",
        "__launch_bounds__(f(1), 2)",
    ]
    assert found.plain.split() == ["void", "k();", "int", "a[[]", "{", "return", "1;", "}()];"]
    assert len(found.plain) == len(found.shown)
    assert prepare("größe __global__").plain.isascii()


CONDITIONS = """#ifndef OWN_H
#define OWN_H
#ifdef A
1
#elifndef B
2
#elif C > 1
3
#else
4
#endif
#if 0
5
#elif 1
6
#else
7
#endif
8
#endif
9
"""


def test_conditions() -> None:
    found = prepare(CONDITIONS)
    positions = {digit: CONDITIONS.index(f"\n{digit}\n") + 1 for digit in "123456789"}
    assert {digit: found.guard_of(at) for digit, at in positions.items()} == {
        "1": "(defined(A))",
        "2": "!(defined(A)) && (!defined(B))",
        "3": "!(defined(A)) && !(!defined(B)) && (C > 1)",
        "4": "!(defined(A)) && !(!defined(B)) && !(C > 1)",
        "5": "(0)",
        "6": "",
        "7": "!(1)",
        "8": "",
        "9": "",
    }
    assert {digit for digit, at in positions.items() if found.is_dead(at)} == {"5", "7"}


@pytest.mark.parametrize(
    "source", ["#endif", "#else\n#endif\n#elif", "#if A", "#if\n#if\n#else", "#ifdef\n#endif"]
)
def test_conditionals_that_do_not_match(source: str) -> None:
    found = prepare(source)
    assert len(list(found.variants())) >= 1
    assert all(0 <= region.start <= region.end <= len(source) for region in found.regions)

"""What nvcc takes and NVRTC does not."""

from __future__ import annotations

import pytest

from kerneltk.cuda_cpp.nvrtc.dialect import for_nvrtc, has_designated_initializers, with_constexpr


@pytest.mark.parametrize(
    ("source", "wanted"),
    [
        ("x = ({ f(); 3; });", "x = ([&] { f(); return 3; }());"),
        ("({ int a = 1; if (a) g(a); })", "([&] { int a = 1; if (a) g(a); }())"),
        ("({ g(); { h(); } })", "([&] { g(); { h(); } }())"),
        ("({ int a = ({ 1; }); a; })", "([&] { int a = ([&] { return 1; }()); return a; }())"),
        (
            "({ for (;;) { if (x) break; } x; })",
            "([&] { for (;;) { if (x) break; } return x; }())",
        ),
        # Neither statements, nor what a function of its own can do.
        ("f({1, 2}); g({});", "f({1, 2}); g({});"),
        ("({ return 3; });", "({ return 3; });"),
        ("while (1) ({ if (x) break; 1; });", "while (1) ({ if (x) break; 1; });"),
        ('s = "({ a; })"; // ({ b; })', 's = "({ a; })"; // ({ b; })'),
        ("({ a; ", "({ a; "),
        ('extern "C"__global__ void f();', 'extern "C" __global__ void f();'),
        ('printf("%"PRIu64"\\n", x);', 'printf("%" PRIu64"\\n", x);'),
    ],
)
def test_source_for_nvrtc(source: str, wanted: str) -> None:
    assert for_nvrtc(source) == wanted


def test_macros_have_statement_expressions_too() -> None:
    source = "#define MIN(x, y) ({ \\\n    int a = x; \\\n    a < y ? a : y; \\\n})\n"
    found = for_nvrtc(source)
    assert found.count("\n") == source.count("\n")
    assert "int a = x; \\\n    return a < y" in found
    assert found.endswith("}())\n")


def test_constants() -> None:
    source = "const float a = 1, b = a;\nconst float c = 2;"
    assert with_constexpr(source, (0, 26)) == source.replace("const", "constexpr")


@pytest.mark.parametrize(
    ("source", "is_one"),
    [
        ("S s = {.a = 1, .b = 2};", True),
        ("S s = {1,\n    .b = {2}};", True),
        ("#define S_OF(x) (S){1, .a = x}", True),
        ("f(x, .5f); g(s.a == 1); {s.a = 1;}", False),
        ("// {.a = 1}", False),
        ('f("{.a = 1}");', False),
    ],
)
def test_designated_initializers(source: str, is_one: bool) -> None:
    assert has_designated_initializers(source) is is_one

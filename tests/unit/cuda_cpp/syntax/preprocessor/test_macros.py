"""Macros that are expanded in a source mean there what the preprocessor makes of them."""

from __future__ import annotations

import pytest

from kerneltk.cuda_cpp.syntax.preprocessor.line_numbers import with_numbers_behind_branches
from kerneltk.cuda_cpp.syntax.preprocessor.macros import with_expanded_macros

_PASTE = "#define PASTE_(a, b) a##b\n#define PASTE(a, b) PASTE_(a, b)\n"


@pytest.mark.parametrize(
    ("directives", "use", "expanded"),
    [
        (_PASTE + "#define T int\n", "PASTE(get_, T)", "get_int"),
        (_PASTE + "#define T int\n", "PASTE_(get_, T)", "get_T"),
        (_PASTE + "#define N 4\n", "PASTE(x, N)[0]", "x4[0]"),
        (_PASTE + "#define N 4\n#define X PASTE(x, N)[0]\n", "X", "x4[0]"),
        (_PASTE + "#define N 4\n", "PASTE(PASTE(x, N), PASTE_(N, 1))", "x4N1"),
        (
            _PASTE + "#ifdef Q\n#define N 4\n#else\n#define N 8\n#endif\n",
            "PASTE(x, N) PASTE(x, 2)",
            "PASTE(x, N) x2",
        ),
        (_PASTE, "PASTE(, s) PASTE(s, )", "s s"),
        ("#define S(i) s[i]\n", "S(S(1))", "s[s[1]]"),
        ("#define X s[1]\n#ifndef X\n#define X t[1]\n#endif\n", "X", "s[1]"),
        ("#define X 4\n#ifndef X\n#define X t[1]\n#endif\n", "X", "X"),
        (
            "#define Q 1\n#define X s\n#ifndef Q\n#define Q 2\n#undef X\n#define X t\n#endif\n",
            "X",
            "s",
        ),
        ("#ifndef X\n#define X t[1]\n#endif\n", "X", "t[1]"),
        ("#ifndef S\n#define S(i) s[i]\n#endif\n", "S(1)", "s[1]"),
        ("#ifdef Q\n#define X s\n#endif\n#ifndef X\n#define X t[1]\n#endif\n", "X", "X"),
        ("#define TEXT(x) #x\n#define X s[1]\n", "TEXT(X) X", "TEXT(X) s[1]"),
        ('#define X s[1]\n#pragma push_macro("X")\n', "X", "X"),
        ("#define X s[1]\n#undef X\n#define X t[1]\n", "X", "t[1]"),
    ],
)
def test_a_use_is_what_the_preprocessor_makes_of_it(
    directives: str, use: str, expanded: str
) -> None:
    assert with_expanded_macros(directives + use).source == directives + expanded


def test_a_macro_that_stays_is_reported() -> None:
    directives = "#define TEXT(x) #x\n#define X s[1]\n"
    assert "X" in with_expanded_macros(f"{directives}TEXT(X)").left
    assert with_expanded_macros(f"{directives}X").left.keys() == {"TEXT"}


@pytest.mark.parametrize(
    ("source", "wanted"),
    [
        ("#if A\n#endif\nint a;\n", "#if A\n#endif\nint a;\n"),
        (
            '#if A\n#line 1 "a.h"\n#line 3 "m.cu"\n#elif \\\nB\n#else\n#endif\n',
            '#if A\n#line 1 "a.h"\n#line 3 "m.cu"\n#elif \\\nB\n#line 5 "m.cu"\n'
            '#else\n#line 6 "m.cu"\n#endif\n#line 7 "m.cu"\n',
        ),
        # Those that the user wrote may mean another file.
        ('#if A\n#line 9 "b.y"\n#endif\n', '#if A\n#line 9 "b.y"\n#endif\n'),
        ("#if A\n#line 9\n#endif\n", "#if A\n#line 9\n#endif\n"),
    ],
)
def test_numbers_behind_branches(source: str, wanted: str) -> None:
    assert with_numbers_behind_branches(source, "m.cu") == wanted

"""Sources in which macros are replaced by what they stand for."""

from __future__ import annotations

import pytest

from kerneltk.cuda_cpp.syntax.preprocessor.macros import with_expanded_macros

# A source, its last line expanded, and the macros that stay.
CASES = {
    "#define STEP(n) s[t] += s[t + n];\nSTEP(2)": ("s[t] += s[t + 2];", set()),
    "#define A x[0]\n#define B(n) A + n\nB(B(1))": ("x[0] + x[0] + 1", set()),
    "#define A x\n#undef A\nA": ("A", set()),
    "#define A x\n#undef A\n#define A y\nA": ("y", set()),
    "#define N 32\nx[N]": ("x[N]", set()),  # a number says no more
    "#define S(a) #a\nS(x)": ("S(x)", {"S"}),
    "#define A A + x\nA": ("A", {"A"}),
    "#if C\n#define A x\n#endif\nA": ("A", {"A"}),
    '#define A x\n"A"; A // A': ('"A"; x // A', set()),
}


@pytest.mark.parametrize("source", CASES)
def test_expanded(source: str) -> None:
    line, left = CASES[source]
    expanded = with_expanded_macros(source)
    assert expanded.source.splitlines()[-1] == line
    assert expanded.left.keys() == left
    assert expanded.source.count("\n") == source.count("\n")

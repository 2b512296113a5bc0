"""Functions of `cmath`."""

from __future__ import annotations

import cmath
from typing import Any

import pytest

from ...lowering.showing import refused, value_of

VALUES = [
    (lambda c: cmath.sqrt(c), "sqrt(c)"),
    (lambda i: cmath.exp(i), "exp(complex(i))"),
    (lambda z: cmath.sin(z[0]), "sin(z[0])"),
    (lambda c: cmath.log(c), "log(c)"),
    (lambda c: cmath.log(c, 2), "log(c) / (0.6931471805599453+0j)"),
    (lambda c: cmath.phase(c), "angle(c)"),
    (lambda f: cmath.phase(f), "atan2(0.0, f)"),
    (lambda c: cmath.polar(c)[0], "t: complex = c; return abs(t)"),
    (lambda f: cmath.rect(f, 2.0), "rect(f, 2.0)"),
    (lambda c: cmath.isnan(c), "isnan(c)"),
    (lambda c: cmath.isfinite(c), "isfinite(c)"),
    (lambda c: cmath.isclose(c, 1), "isclose(c, (1+0j), 1e-09, 0.0)"),
    (lambda: cmath.sqrt(-1), "1j"),
    (lambda: cmath.polar(1j)[1], "1.5707963267948966"),
    (lambda: cmath.isinf(1j), "False"),
    (lambda: cmath.isclose(1, 1 + 1e-12), "isclose((1+0j), (1.000000000001+0j), 1e-09, 0.0)"),
]


@pytest.mark.parametrize("case", VALUES, ids=range(len(VALUES)))
def test_what_is_computed(case: Any) -> None:
    *given, expected = case
    assert value_of(*given) == expected


REFUSED = [
    (lambda c: cmath.sqrt(), "'cmath.sqrt' needs a value for 'z'."),
    (lambda c: cmath.sqrt(c, c), "'cmath.sqrt' takes 1 argument, and 2 were given."),
    (
        lambda x: cmath.sqrt(x),
        (
            "A value of type '1-d array of float32' was given, and a number is needed. Hint: "
            "index it, for example 'x[i]'."
        ),
    ),
    (lambda c: cmath.rect(c, 1), "'cmath.rect' cannot be computed for 'complex'."),
    (
        lambda c, f: cmath.isclose(c, 1, rel_tol=c),
        "A tolerance of 'cmath.isclose' is a real number.",
    ),
    (lambda: cmath.log(0), "This expression cannot be computed: math domain error."),
]


@pytest.mark.parametrize(("function", "expected"), REFUSED, ids=range(len(REFUSED)))
def test_what_is_refused(function: Any, expected: str) -> None:
    assert refused(function) == expected

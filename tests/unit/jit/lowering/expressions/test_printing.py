"""``print``: which formats of printf Python's become, and which have none."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ..showing import body_of, refused

NAME = "a'b"
EMPTY = ""
COUNT = np.int64(1234)

BODIES = [
    (
        lambda x: print(x[0]),
        "print('%g' of float(x[0]), '\\n')",
    ),
    (
        lambda y: print(y[0], y[1]),
        "print('%lld' of int(y[0]), ' ', '%lld' of int(y[1]), '\\n')",
    ),
    (
        lambda b: print(b[0]),
        "print('%s' of b[0], '\\n')",
    ),
    (
        lambda u: print(u[0]),
        "print('%llu' of u[0], '\\n')",
    ),
    (
        lambda u1: print(u1[0]),
        "print('%lld' of int(u1[0]), '\\n')",
    ),
    (
        lambda z: print(z[0]),
        "t: complex = complex(z[0]); print('(', '%g' of real(t), '%+g' of imag(t), 'j)', '\\n')",
    ),
    (
        lambda t, none: print(t, (), (t[0],), none, NAME),
        (
            "print('(', '%lld' of t[0], ', ', '%g' of t[1], ')', ' ', '()', ' ', '(', '%lld' "
            "of t[0], ',)', ' ', 'None', ' ', \"a'b\", '\\n')"
        ),
    ),
    (
        lambda t: print(*t),
        "print('%lld' of t[0], ' ', '%g' of t[1], '\\n')",
    ),
    (
        lambda y: print(y[0], 2.5, "a%", sep="", end=None),
        "print('%lld' of int(y[0]), '', '2.5', '', 'a%', '\\n')",
    ),
    (
        lambda: print(),
        "print('\\n')",
    ),
    (
        lambda: print(sep="-", end=""),
        "print('')",
    ),
    # Formats.
    (
        lambda x: print(f"{x[0]:8.3f}|{x[0]:+e}|{x[0]:.3}|{x[0]:<9}"),
        (
            "print('%8.3f' of float(x[0]), '|', '%+e' of float(x[0]), '|', '%.3g' of "
            "float(x[0]), '|', '%-9g' of float(x[0]), '\\n')"
        ),
    ),
    (
        lambda y: print(f"{y[0]:05d}|{y[0]:>5}|{y[0]:<5}|{y[0]: d}"),
        (
            "print('%05lld' of int(y[0]), '|', '%5lld' of int(y[0]), '|', '%-5lld' of "
            "int(y[0]), '|', '% lld' of int(y[0]), '\\n')"
        ),
    ),
    (
        lambda y: print(f"{y[0]:X}|{y[0]:8.2f}|{y[0]:g}"),
        "print('%llX' of int(y[0]), '|', '%8.2f' of float(y[0]), '|', '%g' of float(y[0]), '\\n')",
    ),
    (
        lambda u: print(f"{u[0]:d}|{u[0]:o}|{u[0]:3}"),
        "print('%llu' of u[0], '|', '%llo' of u[0], '|', '%3llu' of u[0], '\\n')",
    ),
    (
        lambda b: print(f"{b[0]:5}|{b[0]:<5}|{b[0]:d}"),
        "print('%5lld' of int(b[0]), '|', '%-5lld' of int(b[0]), '|', '%lld' of int(b[0]), '\\n')",
    ),
    (
        lambda y: print(f"{y[0]}{{}}{y[0]!r}"),
        "print('%lld' of int(y[0]), '{}', '%lld' of int(y[0]), '\\n')",
    ),
    # What is known is formatted by Python.
    (
        lambda: print(f"{NAME} {NAME!r} {NAME!a:>8} {NAME:<5}|"),
        "print(\"a'b\", ' ', '\"a\\'b\"', ' ', '   \"a\\'b\"', ' ', \"a'b  \", '|', '\\n')",
    ),
    (
        lambda: print(f"{3:03d} {True:5} {None} {-7:x} {7:<05d}"),
        "print('003', ' ', '    1', ' ', 'None', ' ', '-7', ' ', '70000', '\\n')",
    ),
    (
        lambda m: print(f"{m.ndim:2d} {m.ndim!r}"),
        "print(' 2', ' ', '2', '\\n')",
    ),
    (
        lambda: print(EMPTY),
        "print('', '\\n')",
    ),
]


@pytest.mark.parametrize(("function", "expected"), BODIES, ids=range(len(BODIES)))
def test_what_is_printed(function: Any, expected: str) -> None:
    assert body_of(function) == expected


REFUSED = [
    (lambda y: print(f"{y[0]:.2d}"), "The format '.2d' needs an integer, not 'int64'."),
    (lambda x: print(f"{x[0]:d}"), "The format 'd' needs an integer, not 'float32'."),
    (
        lambda x: print(f"{x[0]:%}"),
        (
            "The format '%' cannot be used in a kernel. Hint: formats have a width, a "
            "precision and one of the letters d, x, o, e, f, g."
        ),
    ),
    (
        lambda x: print(f"{x[0]:^9}"),
        (
            "The format '^9' cannot be used in a kernel. Hint: formats have a width, a "
            "precision and one of the letters d, x, o, e, f, g."
        ),
    ),
    (
        lambda y: print(f"{y[0]:,}"),
        (
            "The format ',' cannot be used in a kernel. Hint: formats have a width, a "
            "precision and one of the letters d, x, o, e, f, g."
        ),
    ),
    (
        lambda y: print(f"{y[0]:s}"),
        (
            "The format 's' cannot be used in a kernel. Hint: formats have a width, a "
            "precision and one of the letters d, x, o, e, f, g."
        ),
    ),
    *(
        (
            function,
            (
                f"The format '{letters}' cannot be used in a kernel. Hint: formats have a width, a "
                "precision and one of the letters d, x, o, e, f, g."
            ),
        )
        for function, letters in (
            (lambda y: print(f"{y[0]:n}"), "n"),
            # Of what is known, too: its groups of digits are the locale's.
            (lambda: print(f"{1234:n}"), "n"),
            (lambda: print(f"{1.5:8.3n}"), "8.3n"),
            (lambda: print(f"{True:n}"), "n"),
            (lambda: print(f"{COUNT:n}"), "n"),
        )
    ),
    (
        lambda y: print(f"{y[0]!r:5}"),
        (
            "The format '!r:5' cannot be used in a kernel. Hint: formats have a width, a "
            "precision and one of the letters d, x, o, e, f, g."
        ),
    ),
    (
        lambda y: print(f"{y[0]:<05d}"),
        (
            "The format '<05d' cannot be used in a kernel. Hint: formats have a width, a "
            "precision and one of the letters d, x, o, e, f, g."
        ),
    ),
    (
        lambda z: print(f"{z[0]:g}"),
        (
            "The format 'g' cannot be used in a kernel. Hint: formats have a width, a "
            "precision and one of the letters d, x, o, e, f, g."
        ),
    ),
    (
        lambda y, i: print(f"{y[0]:{i}}"),
        (
            "A format that is computed cannot be used in a kernel. Hint: write the number of "
            "digits as a constant."
        ),
    ),
    (
        lambda: print(f"{NAME:d}"),
        "This expression cannot be computed: Unknown format code 'd' for object of type 'str'.",
    ),
    (
        lambda x: print(x),
        (
            "What is printed must be a number, not a value of type '1-d array of float32'. "
            "Hint: index it, for example 'x[i]'."
        ),
    ),
    (
        lambda y: print(y[0], file=None),
        "'print' takes no keyword 'file' in a kernel. Hint: it takes 'sep' and 'end'.",
    ),
    (lambda y: print(y[0], sep=y[0]), "'sep' of 'print' must be a constant."),
    (lambda: print("\0"), "A null character cannot be printed in a kernel."),
]


@pytest.mark.parametrize(("function", "expected"), REFUSED, ids=range(len(REFUSED)))
def test_what_is_refused(function: Any, expected: str) -> None:
    assert refused(function) == expected

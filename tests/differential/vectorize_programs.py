"""Programs for `kerneltk.vectorize`, against `numpy.vectorize` of the same functions.

A program is a function with the options of both; its calls share its kernels where dtypes and
layouts allow.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

Call = tuple[Sequence[Any], Mapping[str, Any]]


class Program(NamedTuple):
    """A function and how it is called."""

    function: Callable[..., Any]
    calls: Sequence[Call]
    options: Mapping[str, Any] = {}

    @property
    def name(self) -> str:
        """Its function's name, and the options."""
        # The order of a set is another one in each process.
        shown = ",".join(
            f"{key}={sorted(map(str, value)) if isinstance(value, set) else value}"
            for key, value in self.options.items()
        )
        return self.function.__name__ + (f"[{shown}]" if shown else "")


def call(*args: Any, **named: Any) -> Call:
    """The arguments of a call."""
    return args, named


X = np.linspace(-2, 3, 24).reshape(4, 6)
F = X.astype(np.float32)
I = np.arange(-12, 12, dtype=np.int32).reshape(4, 6)  # noqa: E741
U = np.arange(24, dtype=np.uint8).reshape(4, 6)
B = X > 0.5
C = X + 1j * X[::-1]
ROW, COLUMN = X[1], X[:, 2:3]


# -- functions of numbers --------------------------------------------------------------------------


def arithmetic(x, y):
    return x - y, x / 3, abs(x), x > y


def total(x, y):
    return x + 2 * y


def branches(x, low, high):
    if x < low:
        return low
    return high if x > high else x


def functions(x):
    return np.sin(x), np.exp(x), np.sqrt(np.abs(x)), np.floor(x), np.hypot(x, 2.0), np.sign(x)


def of_integers(x, y):
    return x // y, x % y, x & y, x | y, x ^ y, x << 2, x >> 1, ~x, divmod(x, y)[0]


def iterations(x, y):
    z, c = 0j, complex(x, y)
    for k in range(20):
        z = z * z + c
        if z.real * z.real + z.imag * z.imag > 4:
            return k
    return 20


def with_defaults(x, a=2, *, b=0.5):
    return a * x + b


def assigned(x, scale=3):
    scale = scale + 1
    while scale > 10:
        scale -= 1
    return x * scale


def modes(x, mode="double", shift=None):
    if mode == "double":
        x = x * 2
    elif mode == "square":
        x = x * x
    return x if shift is None else x + shift


def horner(p, x):
    total = 0 * x
    for coefficient in p:
        total = total * x + coefficient
    return total


def looked_up(table, index):
    return table[index]


def scaled(x, factor, exact):
    return x * factor if exact else x * factor + 1


def nothing_special(x):
    return x


def of_parts(z):
    return z.real, z.imag, abs(z), z.conjugate()


def logistic(x):
    return 1 / (1 + math.exp(-x))


def helped(x):
    def square(value):
        return value * value

    return square(x) + square(x + 1)


TABLE = np.array([3.5, -1.0, 2.0, 8.0])
NUMBERS: list[Program] = [
    Program(arithmetic, [call(X, X[::-1]), call(2.0, 3)]),
    Program(
        total,
        [
            call(X, X[::-1]), call(X, ROW), call(COLUMN, ROW), call(X, 2.5), call(3, X),
            call(X[::2, ::3], X[1::2, 1::3]), call(X.T, X.T), call(X[..., None], ROW),
            call(2, 3.5), call(2.0, 3), call(np.float32(2), 3.5), call([1.0, 2.0], [[3.0], [4.0]]),
            call(X[:0], X[:0]), call(X[:, :0], 1.0), call(np.array(2.0), np.array(3.0)),
            call(F, 2.5), call(F, np.float32(2.5)), call(F, I), call(I, 2), call(I, U),
            call(I, 2.5), call(C, X), call(y=X, x=ROW), call(X, y=ROW),
        ],
    ),
    Program(branches, [call(X, 0.0, 1.0), call(X, ROW, COLUMN), call(X, -1.0, X), call(I, -3, 4)]),
    Program(functions, [call(X), call(X[:, ::-1]), call(F), call(0.25), call([0.5, 1.5])]),
    Program(of_integers, [call(I, np.int32(5)), call(I[0], U[1:2, :1].astype(np.int32) + 1)]),
    Program(iterations, [call(ROW, COLUMN), call(0.25, 0.1)]),
    Program(
        with_defaults,
        [call(X), call(X, 3), call(X, a=3), call(F), call(x=I), call(X, 3, b=X)],
    ),
    Program(assigned, [call(X), call(I), call(X, 40.0), call(F, scale=I)]),
    Program(of_parts, [call(C), call(C.astype(np.complex64))]),
    Program(logistic, [call(X)]),
    Program(helped, [call(X), call(I)]),
    Program(nothing_special, [call(B), call(U), call(X.astype(np.float16)), call(True)]),
    # -- otypes
    Program(with_defaults, [call(X), call(2.75)], {"otypes": "i"}),
    Program(arithmetic, [call(X, ROW), call(X[:0], 1.0)], {"otypes": "dfib"}),
    Program(nothing_special, [call(X)], {"otypes": [bool]}),
    # -- excluded
    Program(modes, [call(X, "square"), call(X, "double"), call(X)], {"excluded": {1}}),
    Program(
        modes,
        [call(X, mode="square", shift=2.0), call(F, mode="none", shift=2.5), call(X, shift=None)],
        {"excluded": {"mode", "shift"}},
    ),
    Program(
        horner,
        [call([1, 2, 3], X), call((0.5, 2), F), call(np.array([1.0, 2.0, 3.0]), X),
         call(np.array([2.0, 3.0]), 4.0), call([1, 2], x=X)],
        {"excluded": {0}},
    ),
    Program(horner, [call(p=[1.5, 2], x=X), call(x=F, p=(1, 2))], {"excluded": {"p"}}),
    Program(
        looked_up,
        [call(TABLE, I % 4), call(TABLE[::-1], I % 4), call(TABLE, 2), call(TABLE, np.array(1)),
         call(TABLE.astype(np.int16), U % 4), call(TABLE, [1, 2])],
        {"excluded": {0}},
    ),
    Program(
        scaled,
        [call(F, 2.5, True), call(F, 2.5, False), call(F, 7, True), call(F, np.float64(2.5), True),
         call(I, 2, True), call(X, factor=3.5, exact=False)],
        {"excluded": {1, 2, "factor", "exact"}},
    ),
]  # fmt: skip


# -- functions of small arrays ---------------------------------------------------------------------


def dot(x, y):
    total = 0.0
    for k in range(x.size):
        total += x[k] * y[k]
    return total


def extremes(x):
    low = high = x[0]
    for value in x:
        low, high = min(low, value), max(high, value)
    return low, high


def trace(a):
    total = 0 * a[0, 0]
    for k in range(a.shape[0]):
        total += a[k, k]
    return total


def weighted(x, w, y):
    total = 0.0
    for k in range(len(x)):
        total += w * (x[k] - y[k])
    return total


def interpolated(x, xs, ys):
    k = 1
    while k < len(xs) - 1 and xs[k] < x:
        k += 1
    return ys[k - 1] + (ys[k] - ys[k - 1]) * (x - xs[k - 1]) / (xs[k] - xs[k - 1])


def raised(x, power, offset):
    total = offset
    for value in x:
        total += value**power
    return total


def counted(x):
    found = 0
    for value in x:
        if value > 0:
            found += 1
    return found


M = np.arange(60.0).reshape(3, 4, 5) % 7
CORES: list[Program] = [
    Program(
        dot,
        [call(X, X[::-1]), call(X, ROW), call(X[:, None], X), call(X.T, X.T), call(ROW, ROW),
         call(X[:, ::2], X[:, 1::2]), call(F, F), call(X[:0], ROW), call([1.0, 2.0], [3.0, 4.0]),
         call(np.broadcast_to(ROW, (3, 6)), X[:3]), call(np.asfortranarray(X), X), call(y=X, x=X)],
        {"signature": "(n),(n)->()"},
    ),
    Program(extremes, [call(X), call(I), call(X[::2, ::-1])], {"signature": "(n)->(),()"}),
    Program(trace, [call(M[:, :, 1:]), call(I[:, :4]), call(M[0, :, :4].T)],
            {"signature": "(n,n)->()"}),
    Program(weighted, [call(X, COLUMN[:, 0], X + 1), call(X, 2.0, ROW), call(X, ROW[:4], X)],
            {"signature": "(n),(),(n)->()"}),
    Program(interpolated, [call(X, np.array([-2.0, 0, 1, 4]), np.array([1.0, 3, 2, 8])),
                           call(0.5, np.array([-2.0, 0, 4]), M[0, :, :3])],
            {"signature": "(),(n),(n)->()"}),
    Program(raised, [call(X, 2, 1.0), call(X, 3, 0.5), call(F, 2, np.float32(0.25))],
            {"signature": "(n)->()", "excluded": {1, 2}}),
    Program(counted, [call(X), call(I.T)], {"signature": "(n)->()"}),
]  # fmt: skip

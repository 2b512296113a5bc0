"""Arrays and numbers without values."""

from __future__ import annotations

import copy
import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import kerneltk
from kerneltk.errors import UnsupportedError
from kerneltk.fusion.start import HANDLERS
from kerneltk.fusion.trace.lazy import LazyArray, LazyNumber
from kerneltk.fusion.trace.state import ArraySource, Trace
from kerneltk.fusion.trace.symbols import Symbol
from tests.sampling import but_for
from tests.unit.fusion.array_support import check_calls


@pytest.fixture
def trace() -> Trace:
    return Trace(HANDLERS)


@pytest.fixture
def x(trace: Trace) -> LazyArray:
    shape = tuple(Symbol(("extent", 0, axis), n) for axis, n in enumerate((4, 1, 3)))
    return LazyArray(trace, trace.add_source(ArraySource(np.dtype("f4"), shape, "x")))


def test_numbers_stay_numbers(trace: Trace) -> None:
    k = LazyNumber(trace, Symbol(("argument", 0), 3))
    for function in (operator.add, operator.mul, operator.truediv, operator.mod):
        found = function(k, 2)
        assert isinstance(found, LazyNumber)
        assert found.symbol.value == function(3, 2)
        assert function(2, k).symbol.value == function(2, 3)
    assert (-k).symbol.value == -3
    assert abs(-k).symbol.value == 3
    assert np.sqrt(k).symbol.value == math.sqrt(3)
    assert (k**2).symbol.value == 9
    assert not trace.guards.conditions
    assert (2**k).symbol.value == 8  # an int; 2**-1 is a float, and another trace
    assert trace.guards.conditions


def test_views_see_what_is_written(x: LazyArray) -> None:
    view = x[1:]
    before = view.node
    x += 1
    assert view.node is not before
    assert repr(x) == "<traced array of float32, shape (4, 1, 3)>"


def _divmods(x: Any, k: Any) -> Any:
    (a, b), (c, d) = divmod(k, 3), divmod(40, k)
    return x * a, x + b, x * c, x - d, *divmod(k, x)


def _copies(x: Any, k: Any) -> Any:
    one, other = copy.copy(x), copy.deepcopy([x[1:], k])
    x += 1
    one *= 2
    return one, other[0] * copy.copy(other[1])


def _views_of_a_scalar(x: Any) -> Any:
    s = x.sum()
    u, v, w = s[None], s[...], np.expand_dims(s, 0)
    u *= 2
    v += 1
    w -= 1
    return s, u, v, w, s[()]


def _conversions(x: Any, n: Any) -> Any:
    w = np.zeros(2, np.int16)
    w[0] = n
    return x * pow(n, 2, 7), x * complex(n), x * w[0], f"{n:4d}", pow(n, -1, 7)


def _split(x: Any, y: Any) -> Any:
    np.modf(x, out=(y[0], y[1]))
    return y * 1


def guarded(key: Any) -> Callable[[Any], Any]:
    """Return a program that catches that an index is none."""

    def program(x: Any) -> Any:
        try:
            return x[key]
        except IndexError:
            return x * 2

    return program


# Programs, and the arguments of their calls.
PROGRAMS: dict[str, tuple[Callable[..., Any], list[tuple[Any, ...]]]] = {
    "a progression": (lambda x: x + np.arange(6), [(np.arange(6.0),)]),
    "sizes": (lambda x: x * x.nbytes + x.itemsize, [(np.ones(3),), (np.ones(4),)]),
    "divmod": (_divmods, [(np.array([1, 2, -3], np.int8), k) for k in (7, 2.5, np.int16(9))]),
    "copies": (_copies, [(np.arange(3.0), 3)]),
    "round": (lambda x: (round(x.sum(), 1), round(x[0], 0)), [(np.array([0.26, 1.5]),)]),
    "views of a scalar": (_views_of_a_scalar, [(np.ones(3),)]),
    "conversions": (_conversions, [(np.ones(2), 3)]),
    "results in elements": (_split, [(np.array([1.5, -2.25]), np.zeros((2, 2)))]),
    **{
        f"index {key!r}": (guarded(key), [(np.arange(3.0),)])
        for key in ((0, 0), (slice(None), 0), 7, 1.5, "name", (..., ...), (..., 0, 0))
    },
    **{
        f"power {e}": (lambda x, k, e=e: x * k**e, [(np.ones(2), k) for k in (4.0, 0.25)])
        for e in (float("nan"), float("inf"), 0.5, 2.0, -1, 1 + 1j)
    },
    "a huge power": (lambda x, k: x * (k > 0) ** 10**400, [(np.ones(2), k) for k in (4.0, 0.25)]),
}
LEFT_OUT = [
    "views of a scalar", "results in elements", "power inf", "power 0.5", "power 2.0", "power -1",
    "a huge power",
]  # fmt: skip


@pytest.mark.parametrize("name", but_for(PROGRAMS, *LEFT_OUT))
def test_programs(name: str) -> None:
    program, calls = PROGRAMS[name]
    check_calls(program, *calls)


def test_a_number_that_is_made_one_of_numpys() -> None:
    fused = kerneltk.fuse(lambda x, k: x * np.float32(k))
    with pytest.raises(kerneltk.UnsupportedError, match=r"write 'np\.asarray\(k, np\.float32\)'"):
        fused(np.ones(3), 2.5)
    found = kerneltk.fuse(lambda x, k: x * np.asarray(k, np.float32))(np.ones(3), 0.1)
    assert found[0] == np.float32(0.1)


@pytest.mark.parametrize("name", ["shape", "strides", "dtype", "real", "imag", "flat"])
def test_what_is_not_assigned(name: str) -> None:
    with pytest.raises(UnsupportedError, match=f"'{name}' of an array is not assigned"):
        kerneltk.fuse(lambda x: setattr(x, name, 0))(np.ones(4))


def test_what_python_asks_of_arrays_and_numbers() -> None:
    x = np.array([0.26, 1.5])
    for wrong, args, error, message in (
        (lambda x: round(x, 1), (), UnsupportedError, "'round' of an array"),
        (lambda x: round(x[0]), (), UnsupportedError, "'round' of an array"),
        (lambda x: x[:, None].trace(), (), UnsupportedError, "'trace' of an array"),
        (lambda x, n: x * complex(n), (1 + 2j,), UnsupportedError, "no value while"),
        (lambda x, n: [*n], (3,), TypeError, "not iterable"),
    ):
        with pytest.raises(error, match=message):
            kerneltk.fuse(wrong)(x, *args)


@pytest.mark.parametrize(
    "kind", [np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64]
)
def test_a_number_that_a_type_of_numpys_does_not_hold(kind: Any) -> None:
    fused = kerneltk.fuse(lambda x, n: x + kind(n))
    np.testing.assert_array_equal(fused(np.zeros(2), 100), [100, 100])
    for number in (int(np.iinfo(kind).max) + 1, int(np.iinfo(kind).min) - 1):
        with pytest.raises(kerneltk.ScalarOverflowError):
            fused(np.zeros(2), number)


def test_transpositions_of_transpositions_are_one(x: LazyArray) -> None:
    assert len(x.T.swapaxes(0, 1).T.transpose(1, 2, 0).steps) == 1

    def turned(x: Any, y: Any) -> Any:
        for _ in range(60):
            x = x.transpose(1, 2, 0)[::-1].swapaxes(0, 1).T
            y = y * 0.5 + x
        x.T[0] += 1
        return y, x

    a, y = np.arange(27.0).reshape(3, 3, 3), np.zeros((3, 3, 3))
    for one, other in zip(turned(a.copy(), y), kerneltk.fuse(turned)(a, y), strict=True):
        np.testing.assert_array_equal(other, one)

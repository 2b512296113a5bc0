"""Ufuncs and assignments of traced values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import scipy.special

import kerneltk
from kerneltk.fusion.trace.operations import function_key
from kerneltk.jit.intrinsics.registry import rule_of
from tests.sampling import but_for
from tests.unit.fusion.array_support import check_calls


def run(function: Any, *args: Any) -> Any:
    return kerneltk.fuse(function)(*args)


U8, SMALL = np.array([0, 7, 255], np.uint8), np.array([1, 200], np.uint8)
INTS, X3 = np.array([5, -7, 0, -(2**31)], np.int32), np.arange(3.0)


def _assigned(x: Any) -> None:
    x[1:] = x[:-1] + 0.75


def _from_parts(x: Any) -> None:
    y = x * 2
    y[1:] = 0
    x[...] = y


def _copied_from_parts(x: Any) -> Any:
    y = x * 2
    y[1:] = 0
    np.copyto(x, y)
    y += 1
    return y


def _replaced(x: Any) -> Any:
    y = x * 2
    y[1:] = 0
    y[...] = x
    y[:1] = 5
    return y


def _of_complex_numbers(x: Any) -> Any:
    real, rest = x.real, np.imag(x)[1:]
    x += 1 + 2j
    before = real * 1
    x[1:] = 5j
    return before, real * 1, rest * 1


def _another(x: Any, y: Any) -> None:
    x[...] = y


def _with_leading_axes(x: Any) -> None:
    x[...] = 2 * x[None]
    x[1:] = x[None, None, 1:] + 1
    np.copyto(x, x[None] + 1)


# Programs, and the arguments of their calls.
PROGRAMS: dict[str, tuple[Callable[..., Any], list[tuple[Any, ...]]]] = {
    "comparisons beyond the dtype": (
        lambda x: (x < 300, x > -1, x == 300, x != -1, x <= -1, x > 300, x >= -1), [(U8,)],
    ),
    "comparisons at its ends": (lambda x: (x < 255, x >= 0, x == 7), [(U8,)]),
    "arguments beyond the dtype": (lambda x, k: x < k, [(U8, k) for k in (8, 300, -5, 0)]),
    "division of integers": (
        lambda x, y: (x // y, x % y, *np.divmod(x, y), np.fmod(x, y), x // 2),
        [(INTS, np.array([0, 2, 0, -1], np.int32))],
    ),
    "an assignment converts": (_assigned, [(np.arange(4),)]),
    "assigned from parts": (_from_parts, [(X3 + 1,)]),
    "copied from parts": (_copied_from_parts, [(X3 + 1,)]),
    "replaced": (_replaced, [(X3 + 1,)]),
    "parts of complex numbers follow": (_of_complex_numbers, [(np.arange(3) + 0j,)]),
    "without dimensions": (_another, [(np.array(1.0), np.array(2.0))]),
    "leading axes of one element": (_with_leading_axes, [(X3,)]),
    "casts of numbers": (
        lambda x, k: (
            np.count_nonzero(k) + x, np.array(k).astype(np.bool_) * x,
            np.array(k).astype(np.int64).astype(np.uint8) + x,
            np.add(np.array(k).astype(np.float32), np.float64(0)),
        ),
        [(np.array([1, 2]), k)
         for k in (np.float16(2.5), np.int64(300), 300, 2.7, True, 1e9, -129)],
    ),
    "the truth of a number": (
        lambda x, k: (np.logical_and(x, k), np.logical_or(k, x), np.logical_xor(x, k)),
        [(SMALL, k) for k in (1j, 0.5, 3, 0, float("nan"))],
    ),
    "scalars can be indexed": (
        lambda x, k: (x + k[...], x + k[()], k[None]), [(SMALL, np.float32(1.5))],
    ),
}  # fmt: skip
LEFT_OUT = [
    "comparisons beyond the dtype", "comparisons at its ends", "arguments beyond the dtype",
    "an assignment converts", "assigned from parts", "copied from parts", "replaced",
    "parts of complex numbers follow",
]  # fmt: skip


@pytest.mark.parametrize("name", but_for(PROGRAMS, *LEFT_OUT))
def test_programs(name: str) -> None:
    program, calls = PROGRAMS[name]
    check_calls(program, *calls)


REFUSED: list[tuple[Callable[..., Any], tuple[Any, ...], type[Exception], str | None]] = [
    (lambda x, k: x + k, (U8, 300), OverflowError, None),
    (lambda x, k: x + k[...], (U8, 2), TypeError, "'int' object is not subscriptable"),
    (
        lambda x, y: np.add(x[None], 1, out=y), (X3, X3), ValueError,
        "cannot be written to one of shape",
    ),
    (
        lambda x: np.std(x, dtype=np.int64), (SMALL.astype(ml_dtypes.bfloat16),),
        kerneltk.ArgumentTypeError, "'bfloat16' and 'int64' have no common",
    ),
]  # fmt: skip


def test_what_is_refused() -> None:
    for program, args, error, message in REFUSED:
        with pytest.raises(error, match=message):
            run(program, *args)


def test_out_and_where() -> None:
    x, y = np.arange(4.0), np.zeros(4)
    assert run(lambda x, y: np.add(x, 1, out=y, where=x > 1), x, y) is y
    np.testing.assert_array_equal(y, [0, 0, 3, 4])


def test_functions_of_scipy() -> None:
    assert function_key(scipy.special.erf) is not None
    assert function_key(scipy.special.jv) is None
    x, y = np.array([0.0, 0.5, 2.0, -3.0]), np.array([0.0, 1.0, 3.0, 0.5])
    for function, args in (
        (scipy.special.expit, (x,)), (scipy.special.xlogy, (x, y)), (scipy.special.xlog1py, (x, y)),
    ):  # fmt: skip
        np.testing.assert_allclose(run(function, *args), function(*args), rtol=1e-14)


@pytest.mark.one_in(4)
@pytest.mark.parametrize("name", sorted(name for name in dir(np) if isinstance(
    getattr(np, name), np.ufunc)))  # fmt: skip
def test_kernels_have_numpys_ufuncs(name: str) -> None:
    """Traces take each of NumPy's; the rules of kernels are found where a plan is made."""
    products = {"matmul", "matvec", "vecdot", "vecmat", "isnat"}
    assert (function_key(getattr(np, name)) is None) == (name in products)
    assert (rule_of(getattr(np, name)) is None) == (name in products)

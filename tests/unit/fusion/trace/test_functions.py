"""Reductions and other functions of arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import kerneltk
from tests.sampling import but_for, half
from tests.unit.fusion.array_support import check, check_calls

NAN = np.array([[1, np.nan, 3], [np.nan, 2, np.nan], [4, 5, 6.0]])
X, U8 = np.arange(4.0), np.array([1, 200], np.uint8)


def _masked_by_numbers(x: Any, k: Any) -> Any:
    small = x * 1
    np.add(small, 1, out=small, where=k < 3)
    return x.sum(where=k < 3), x.mean(where=k > 0), small, x.min(where=k > -9)


# Programs, and the arguments of their calls.
PROGRAMS: dict[str, tuple[Callable[..., Any], list[tuple[Any, ...]]]] = {
    "not a number": (
        lambda x: (
            x.max(axis=1), x.min(), x.argmax(axis=1), x.argmin(axis=0), x.argmax(),
            np.nansum(x, axis=0), np.nanprod(x), np.fmax(x, 2), x.clip(2, 4), np.nan_to_num(x),
        ),
        [(NAN,)],
    ),
    "progressions": (
        lambda x, k: (
            np.arange(x.shape[0]) + x, np.arange(1, 8, 2), np.arange(0.1, 1.0, 0.3) * k,
            np.arange(k), np.arange(5, -1, -2)[::-1], np.arange(x.size, dtype=np.float32)[1:],
        ),
        [(np.ones(size), k) for size, k in ((3, 4), (3, 7), (9, 2))],
    ),
    "nothing, and an initial value": (
        lambda x: (x.max(axis=1, initial=-1), x.min(initial=3, axis=0), x.max(initial=5)),
        [(np.ones(shape),) for shape in ((3, 0), (0, 3), (2, 2))],
    ),
    "reductions of numbers": (
        lambda x, k: (
            np.sum(k, dtype=np.float32), np.sum(k, initial=3), x + np.max(k), np.min(k),
            np.prod(k, where=k > 9),
        ),
        [(np.array([1, 2], np.int8), k) for k in (7, np.float16(2.5))],
    ),
    "bounds that the dtype does not hold": (
        lambda x, k: (
            x.clip(-1, 300), x.clip(k, 100), np.clip(x, 5, 999), x.clip(-1, 300, dtype=np.int32),
            np.clip(np.uint8(k + 9), -1, x), np.clip(np.array([3, 100], np.uint8), k, x),
        ),
        [(U8, k) for k in (-5, 7, 0)],
    ),
    "methods of numbers take arrays": (
        lambda x, k: (k.clip(x, 3), k.round(), np.clip(k, x, 5), k.sum(where=x[0] > 2)),
        [(X, k) for k in (np.float32(2.5), np.float32(1))],
    ),
    "masks that are numbers": (_masked_by_numbers, [(X, k) for k in (2, 5, 1)]),
    **{
        f"rounding to {digits} digits": (
            lambda x, digits=digits: np.round(x, digits), [(np.array([1.0, 0.0, -2.5]),)],
        )
        for digits in (22, 300, 308, 309, 400, -400)
    },
}  # fmt: skip
LEFT_OUT = [
    "progressions", "nothing, and an initial value", "masks that are numbers",
    *(name for name in PROGRAMS if name.startswith("rounding")),
]  # fmt: skip


@pytest.mark.parametrize("name", but_for(PROGRAMS, *LEFT_OUT))
def test_programs(name: str) -> None:
    program, calls = PROGRAMS[name]
    check_calls(program, *calls)


def test_bfloat16() -> None:
    def program(x: Any) -> Any:
        return (
            x * 2, x + 1.0, x + 1, np.exp(x), x.sum(axis=1), x.max(axis=0), x.mean(axis=1),
            x.std(axis=1), np.sinc(x), np.ldexp(x, 2),
        )  # fmt: skip

    x = np.arange(6).reshape(2, 3).astype(ml_dtypes.bfloat16)
    check(program, x, tolerance=1e-2)


@pytest.mark.exhaustive
@pytest.mark.parametrize("dtype", ["u2", "i1", "f8", "f2", "f4"])
def test_means_and_variances(dtype: str) -> None:
    def program(x: Any) -> Any:
        return (
            x.mean(axis=0, where=x > 2), np.mean(x, axis=1, keepdims=True, where=x[0] > 1),
            np.var(x, where=x > 2), x.std(axis=1, where=x > 0, ddof=1),
            x.max(axis=1, where=x > 2, initial=1), x.sum(where=x > 2, initial=2),
            x.sum(initial=1.5), x.max(initial=2.5), x.var(dtype=np.float32, axis=0),
            x.mean(dtype=np.int64, axis=0), x.var(dtype=np.int64, axis=0), x.std(dtype=np.int64),
            x.var(dtype=np.complex64), x.std(dtype=np.complex128, axis=1),
        )  # fmt: skip

    x = np.array([[1, 0, 3], [4, 5, 6], [2, 9, 1]]).astype(dtype)
    check(program, x, tolerance=2e-3 if dtype == "f2" else 1e-6)


def test_reductions_without_dimensions_take_the_first_and_the_last_axis() -> None:
    def program(x: Any) -> Any:
        return (
            x.sum(axis=0), x.max(axis=-1), x.argmin(axis=0), np.add.reduce(x), np.all(x, axis=0),
            np.count_nonzero(x, axis=-1),
        )  # fmt: skip

    x = np.array(4.0)
    check(program, x)
    assert kerneltk.fuse(lambda x: x.std(keepdims=True, dtype=np.int16))(x) == 0
    for wrong in (lambda x: x.sum(axis=1), lambda x: x.mean(axis=0), lambda x: x.sum(axis=(0,))):
        with pytest.raises(kerneltk.AxisError):
            kerneltk.fuse(wrong)(x)


M23, EMPTY = np.arange(6.0).reshape(2, 3), np.zeros((0, 0, 3))
REFUSED: list[tuple[Callable[..., Any], tuple[Any, ...], type[Exception], str | None]] = [
    (lambda x: x.std(axis=0, dtype=int), (M23,), TypeError, "square root"),
    (lambda x: x.var(dtype=bool), (M23 > 1,), TypeError, "cannot be computed in 'bool'"),
    (lambda x, out: x.argmax(axis=0, out=out), (M23, np.zeros(3)), TypeError, "must hold indices"),
    (lambda x: x.max(axis=0), (EMPTY,), ValueError, "of no elements is not defined"),
    (lambda x: x.argmin(axis=1), (EMPTY,), ValueError, "of no elements is not defined"),
    (lambda x: x.clip(300), (U8,), OverflowError, None),
    (lambda x: np.round(x, 2**31), (X,), OverflowError, None),
    (lambda x: np.round(x, -(2**31)), (X,), OverflowError, None),
    (lambda x: np.round(x, 10**30), (X,), OverflowError, None),
]


def test_what_is_refused() -> None:
    for program, args, error, message in REFUSED:
        with pytest.raises(error, match=message):
            kerneltk.fuse(program)(*args)
    assert kerneltk.fuse(lambda x: x.max(axis=2))(EMPTY).shape == (0, 0)


@pytest.mark.parametrize(
    "program",
    [
        lambda x, m: x[:1].sum(axis=0, where=m[:, :1]),
        lambda x, m: x[0].max(where=m, initial=0),
        lambda x, m: x[0].mean(where=m),
        lambda x, m: np.add(x[0], 1, out=x[0], where=m),
        lambda x, m: x.sum(initial=x[0]),
    ],
)
def test_masks_and_initial_values_make_no_reduction_wider(program: Any) -> None:
    x, mask = np.ones((3, 4)), np.ones((3, 4), bool)
    with pytest.raises(ValueError):  # noqa: PT011 (NumPy's)
        program(x.copy(), mask)
    with pytest.raises(kerneltk.ArgumentValueError):
        kerneltk.fuse(program)(x, mask)


@pytest.mark.parametrize(
    "program",
    [
        lambda x, m: x.sum(axis=0, where=m),
        lambda x, m: x.mean(where=m),
        lambda x, m: np.add(x, 1, out=x, where=m),
        lambda x, m: np.copyto(x, 5, where=m),
    ],
)
def test_masks_are_bools(program: Any) -> None:
    x, mask = np.ones(3), np.array([0, 1, 2])
    with pytest.raises(TypeError):
        program(x.copy(), mask)
    refused = "must be an array of bools, not of 'int64'"
    with pytest.raises(kerneltk.ArgumentTypeError, match=refused):
        kerneltk.fuse(program)(x, mask)


@pytest.mark.parametrize("name", ["sum", "prod", "max", "min", "argmax", "mean"])
@pytest.mark.parametrize("dtype", [object, "M8[s]", "S3", "U2", "V4", ">f4", [("a", "f4")]])
def test_totals_of_what_no_kernel_takes_are_refused(dtype: Any, name: str) -> None:
    total = kerneltk.fuse(lambda x: getattr(x, name)())
    with pytest.raises(kerneltk.ArgumentTypeError, match=r"dtype|cannot be computed"):
        total(np.zeros(3, dtype))


def test_result_type_of_arrays_numbers_and_dtypes() -> None:
    functions: list[Any] = [
        lambda x, n: np.result_type(x, np.float32),
        lambda x, n: np.result_type("complex64", x, n),
        lambda x, n: np.result_type(x, np.dtype("int64"), 2.5),
        lambda x, n: np.result_type(n, np.int8),
        lambda x, n: np.result_type(x, n),
    ]
    arrays = [np.ones(3, dtype) for dtype in ("bool", "int8", "float32", "float64")]
    calls = [(x, n) for x in arrays for n in (2, 2.5, np.float64(1))]
    for function in functions:
        check_calls(function, *calls)


@pytest.mark.parametrize("kind", half(["sum", "prod", "max", "min", "mean"]))
def test_totals_of_one_element_take_no_kernel(kind: str) -> None:
    def program(x: Any) -> Any:
        return x - getattr(x, kind)(1, keepdims=True), getattr(x, kind)(1)

    x = np.random.default_rng(1).random((30, 1, 5)).astype(np.float32)
    check_calls(program, (x,), (x.transpose(2, 1, 0),), (x.repeat(3, 1),), tolerance=1e-6)
    fused = kerneltk.fuse(program)
    assert {kernel.kind for kernel in fused.explain(x).kernels} == {"elementwise"}
    zero = -np.zeros((2, 1, 3))
    for found, wanted in zip(fused(zero), program(zero), strict=True):
        np.testing.assert_array_equal(np.signbit(found), np.signbit(wanted))

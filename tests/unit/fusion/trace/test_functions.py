"""Reductions and other functions of arrays."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import kerneltk
from kerneltk.fusion.trace.functions import _arange_size
from tests.sampling import half

NAN = np.array([[1, np.nan, 3], [np.nan, 2, np.nan], [4, 5, 6.0]])


@pytest.mark.exhaustive
@pytest.mark.parametrize("dtype", ["?", "i1", "u8", "u2", "i4", "f8", "f2", "f4", "c8"])
def test_reductions_have_numpys_dtypes(dtype: str) -> None:
    x = np.array([[1, 0, 3], [4, 5, 6]]).astype(dtype)

    def program(x: Any) -> Any:
        return (
            x.sum(axis=1), x.prod(axis=0), x.mean(axis=0), x.any(axis=1), x.all(),
            x.var(axis=1), x.std(), np.count_nonzero(x), x.sum(dtype=np.complex128),
        )  # fmt: skip

    for found, wanted in zip(kerneltk.fuse(program)(x), program(x), strict=True):
        assert found.dtype == wanted.dtype
        np.testing.assert_allclose(found, wanted, rtol=2e-3)


def test_nan() -> None:
    def program(x: Any) -> Any:
        return (
            x.max(axis=1), x.min(), x.argmax(axis=1), x.argmin(axis=0), x.argmax(),
            np.nansum(x, axis=0), np.nanprod(x), np.fmax(x, 2), x.clip(2, 4), np.nan_to_num(x),
        )  # fmt: skip

    for found, wanted in zip(kerneltk.fuse(program)(NAN), program(NAN), strict=True):
        np.testing.assert_array_equal(found, wanted)


def test_bfloat16() -> None:
    x = np.arange(6).reshape(2, 3).astype(ml_dtypes.bfloat16)

    def program(x: Any) -> Any:
        return (
            x * 2, x + 1.0, x + 1, np.exp(x), x.sum(axis=1), x.max(axis=0), x.mean(axis=1),
            x.std(axis=1), np.sinc(x), np.ldexp(x, 2),
        )  # fmt: skip

    for found, wanted in zip(kerneltk.fuse(program)(x), program(x), strict=True):
        assert found.dtype == np.asarray(wanted).dtype
        np.testing.assert_allclose(
            found.astype(np.float32), np.asarray(wanted).astype(np.float32), rtol=1e-2
        )


@pytest.mark.exhaustive
def test_arange_goes_on_as_numpys() -> None:
    def program(x: Any, k: Any) -> Any:
        return (
            np.arange(x.shape[0]) + x, np.arange(1, 8, 2), np.arange(0.1, 1.0, 0.3) * k,
            np.arange(k), np.arange(5, -1, -2)[::-1], np.arange(x.size, dtype=np.float32)[1:],
        )  # fmt: skip

    fused = kerneltk.fuse(program)
    for size, k in ((3, 4), (3, 7), (9, 2)):
        x = np.ones(size)
        for found, wanted in zip(fused(x, k), program(x, k), strict=True):
            assert found.dtype == wanted.dtype
            np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("numbers", [(0, 5, 1), (0, 5, 2), (5, 0, -1), (0.0, 1.0, 0.1), (3, 1, 1)])
def test_arange_has_numpys_size(numbers: tuple[float, float, float]) -> None:
    assert _arange_size(*numbers) == len(np.arange(*numbers))


MEANS: list[Any] = [
    lambda x: x.mean(axis=0, where=x > 2),
    lambda x: np.mean(x, axis=1, keepdims=True, where=x[0] > 1),
    lambda x: np.var(x, where=x > 2),
    lambda x: x.std(axis=1, where=x > 0, ddof=1),
    lambda x: x.max(axis=1, where=x > 2, initial=1),
    lambda x: x.sum(where=x > 2, initial=2),
    lambda x: x.sum(initial=1.5),
    lambda x: x.max(initial=2.5),
    lambda x: x.var(dtype=np.float32, axis=0),
    lambda x: x.mean(dtype=np.int64, axis=0),
    lambda x: x.var(dtype=np.int64, axis=0),
    lambda x: x.std(dtype=np.int64),
    lambda x: x.var(dtype=np.complex64),
    lambda x: x.std(dtype=np.complex128, axis=1),
]


@pytest.mark.exhaustive
@pytest.mark.parametrize("dtype", ["u2", "i1", "f8", "f2", "f4"])
def test_means_and_variances(dtype: str) -> None:
    x = np.array([[1, 0, 3], [4, 5, 6], [2, 9, 1]]).astype(dtype)

    def program(x: Any) -> Any:
        return [mean(x) for mean in MEANS]

    for found, wanted in zip(kerneltk.fuse(program)(x), program(x), strict=True):
        assert found.dtype == wanted.dtype
        np.testing.assert_allclose(found, wanted, rtol=2e-3 if dtype == "f2" else 1e-6)


@pytest.mark.exhaustive
def test_reductions_of_nothing_with_an_initial_value() -> None:
    def program(x: Any) -> Any:
        return x.max(axis=1, initial=-1), x.min(initial=3, axis=0), x.max(initial=5)

    fused = kerneltk.fuse(program)
    for shape in ((3, 0), (0, 3), (2, 2)):
        x = np.ones(shape)
        for found, wanted in zip(fused(x), program(x), strict=True):
            np.testing.assert_array_equal(found, wanted)


def test_wrong_dtypes_of_reductions() -> None:
    x = np.arange(6.0).reshape(2, 3)
    with pytest.raises(TypeError, match="square root"):
        kerneltk.fuse(lambda x: x.std(axis=0, dtype=int))(x)
    with pytest.raises(TypeError, match="cannot be computed in 'bool'"):
        kerneltk.fuse(lambda x: x.var(dtype=bool))(x > 1)
    with pytest.raises(TypeError, match="must hold indices"):
        kerneltk.fuse(lambda x, out: x.argmax(axis=0, out=out))(x, np.zeros(3))


def test_reductions_without_dimensions_take_the_first_and_the_last_axis() -> None:
    def program(x: Any) -> Any:
        return (
            x.sum(axis=0), x.max(axis=-1), x.argmin(axis=0), np.add.reduce(x), np.all(x, axis=0),
            np.count_nonzero(x, axis=-1),
        )  # fmt: skip

    x = np.array(4.0)
    assert kerneltk.fuse(lambda x: x.std(keepdims=True, dtype=np.int16))(x) == 0
    assert [float(v) for v in kerneltk.fuse(program)(x)] == [float(v) for v in program(x)]
    for wrong in (lambda x: x.sum(axis=1), lambda x: x.mean(axis=0), lambda x: x.sum(axis=(0,))):
        with pytest.raises(kerneltk.AxisError):
            kerneltk.fuse(wrong)(x)


def test_reductions_of_numbers() -> None:
    def program(x: Any, k: Any) -> Any:
        return (
            np.sum(k, dtype=np.float32), np.sum(k, initial=3), x + np.max(k), np.min(k),
            np.prod(k, where=k > 9),
        )  # fmt: skip

    x = np.array([1, 2], np.int8)
    for k in (7, np.float16(2.5)):
        for found, wanted in zip(kerneltk.fuse(program)(x, k), program(x, k), strict=True):
            np.testing.assert_array_equal(found, wanted)
            assert found.dtype == wanted.dtype


def test_extremes_of_no_elements_also_where_there_are_no_results() -> None:
    x = np.zeros((0, 0, 3))
    for wrong in (lambda x: x.max(axis=0), lambda x: x.argmin(axis=1)):
        with pytest.raises(ValueError, match="of no elements is not defined"):
            kerneltk.fuse(wrong)(x)
    assert kerneltk.fuse(lambda x: x.max(axis=2))(x).shape == (0, 0)


def test_bounds_that_the_dtype_does_not_hold_are_none() -> None:
    small = np.array([3, 100], np.uint8)
    x = np.array([1, 200], np.uint8)

    def program(x: Any, k: Any) -> Any:
        return (
            x.clip(-1, 300), x.clip(k, 100), np.clip(x, 5, 999), x.clip(-1, 300, dtype=np.int32),
            np.clip(np.uint8(k + 9), -1, x), np.clip(small, k, x),
        )  # fmt: skip

    fused = kerneltk.fuse(program)
    for k in (-5, 7, 0):
        for found, wanted in zip(fused(x, k), program(x, k), strict=True):
            np.testing.assert_array_equal(found, wanted)
            assert found.dtype == wanted.dtype
    with pytest.raises(OverflowError):
        kerneltk.fuse(lambda x: x.clip(300))(x)


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
    with pytest.raises(
        kerneltk.ArgumentTypeError, match="must be an array of bools, not of 'int64'"
    ):
        kerneltk.fuse(program)(x, mask)


def test_methods_of_numbers_take_arrays() -> None:
    def program(x: Any, k: Any) -> Any:
        return k.clip(x, 3), k.round(), np.clip(k, x, 5), k.sum(where=x[0] > 2)

    fused = kerneltk.fuse(program)
    x = np.arange(4.0)
    for k in (np.float32(2.5), np.float32(1)):
        for found, wanted in zip(fused(x, k), program(x, k), strict=True):
            np.testing.assert_array_equal(found, wanted)


@pytest.mark.exhaustive
def test_masks_that_are_numbers() -> None:
    def program(x: Any, k: Any) -> Any:
        small = x * 1
        np.add(small, 1, out=small, where=k < 3)
        return x.sum(where=k < 3), x.mean(where=k > 0), small, x.min(where=k > -9)

    fused = kerneltk.fuse(program)
    x = np.arange(4.0)
    for k in (2, 5, 1):
        for found, wanted in zip(fused(x, k), program(x, k), strict=True):
            np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("name", ["sum", "prod", "max", "min", "argmax", "mean"])
@pytest.mark.parametrize("dtype", [object, "M8[s]", "S3", "U2", "V4", ">f4", [("a", "f4")]])
def test_totals_of_what_no_kernel_takes_are_refused(dtype: Any, name: str) -> None:
    total = kerneltk.fuse(lambda x: getattr(x, name)())
    with pytest.raises(kerneltk.ArgumentTypeError, match=r"dtype|cannot be computed"):
        total(np.zeros(3, dtype))


@pytest.mark.exhaustive
def test_rounding_to_many_digits() -> None:
    x = np.array([1.0, 0.0, -2.5])
    for digits in (22, 300, 308, 309, 400, -400):
        with np.errstate(all="ignore"):
            wanted = np.round(x, digits)
        fused = kerneltk.fuse(lambda x: np.round(x, digits))  # noqa: B023
        np.testing.assert_array_equal(fused(x), wanted)
    for digits in (2**31, -(2**31), 10**30):
        with pytest.raises(OverflowError):
            kerneltk.fuse(lambda x: np.round(x, digits))(x)  # noqa: B023


def test_result_type_of_arrays_numbers_and_dtypes() -> None:
    functions: list[Any] = [
        lambda x, n: np.result_type(x, np.float32),
        lambda x, n: np.result_type("complex64", x, n),
        lambda x, n: np.result_type(x, np.dtype("int64"), 2.5),
        lambda x, n: np.result_type(n, np.int8),
        lambda x, n: np.result_type(x, n),
    ]
    for function in functions:
        fused = kerneltk.fuse(function)
        for dtype in ("bool", "int8", "float32", "float64"):
            for n in (2, 2.5, np.float64(1)):
                x = np.ones(3, dtype)
                assert fused(x, n) == function(x, n)


@pytest.mark.exhaustive
@pytest.mark.parametrize("kind", half(["sum", "prod", "max", "min", "mean"]))
def test_totals_of_one_element_take_no_kernel(kind: str) -> None:
    def fused(x: Any) -> Any:
        return x - getattr(x, kind)(1, keepdims=True), getattr(x, kind)(1)

    x = np.random.default_rng(1).random((30, 1, 5)).astype(np.float32)
    made = kerneltk.fuse(fused)
    for array in (x, x.transpose(2, 1, 0), x.repeat(3, 1)):
        for found, wanted in zip(made(array), fused(array), strict=True):
            assert found.dtype == wanted.dtype
            np.testing.assert_allclose(found, wanted, rtol=1e-6)
    kinds = [kernel.kind for kernel in made.explain(x).kernels]
    assert set(kinds) == {"elementwise"}
    zero = -np.zeros((2, 1, 3))
    for found, wanted in zip(made(zero), fused(zero), strict=True):
        np.testing.assert_array_equal(np.signbit(found), np.signbit(wanted))

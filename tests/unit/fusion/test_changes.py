"""What changes between calls: each call is what plain NumPy makes of its arguments."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import kerneltk
from tests.unit.fusion.array_support import check_calls as is_same


def ones(*shape: int, dtype: Any = np.float64) -> Any:
    return np.arange(1, 1 + np.prod(shape)).reshape(shape).astype(dtype)


def test_decisions_by_shapes_and_dimensions() -> None:
    is_same(lambda x: x + 1 if x.shape[0] > 3 else x * 2, [ones(5)], [ones(2)], [ones(7)])
    is_same(lambda x: x + 1 if x.ndim == 1 else x * 2, [ones(5)], [ones(2, 2)], [ones(2)])
    is_same(lambda x: x * len(x), [ones(5)], [ones(3)])
    is_same(lambda x: x.T + 1, [ones(5)], [ones(2, 3)])
    is_same(lambda x: x.squeeze() * 2, [ones(3, 3)], [ones(1, 3)])


def test_a_write_of_another_shape_raises_also_later() -> None:
    @kerneltk.fuse
    def added(x: Any, y: Any) -> Any:
        z = x * 1
        z += y
        return z

    np.testing.assert_array_equal(added(ones(3), ones(3)), 2 * ones(3))
    with pytest.raises(kerneltk.ArgumentValueError, match="cannot be written"):
        added(ones(1), ones(3))


@pytest.mark.exhaustive
def test_numbers_whose_types_depend_on_values() -> None:
    x = ones(3, dtype=np.int64)
    is_same(lambda x, k: x * 2**k, [x, 2], [x, -1], [x, 3])
    is_same(lambda x, k: x * k**0.5, [x, 4.0], [x, -1.0])


def test_windows_that_overlap_are_written_in_order() -> None:
    @kerneltk.fuse
    def raised(x: Any) -> None:
        x += 1

    memory, plain = ones(6), ones(6)
    raised(np.lib.stride_tricks.as_strided(memory, (4, 3), (8, 8)))
    raised.__wrapped__(np.lib.stride_tricks.as_strided(plain, (4, 3), (8, 8)))
    np.testing.assert_array_equal(memory, plain)


def test_variance_in_another_dtype() -> None:
    x = np.array([1e6 + 0.125, 1e6 + 0.25])
    is_same(lambda x: x.var(axis=-1, dtype=np.float32), [x])
    with pytest.raises(kerneltk.UnsupportedError, match="complex"):
        kerneltk.fuse(lambda x: x.std(dtype=np.float64))(x + 1j)


def test_results_are_no_views_where_numpy_copies() -> None:
    def assigned(x: Any) -> Any:
        made = np.empty_like(x)
        made[...] = x
        return made

    functions: list[Any] = [
        lambda x: x.copy(),
        lambda x: np.copy(x),
        lambda x: np.array(x),
        lambda x: x.astype(np.float64),
        lambda x: x.round() if x.dtype.kind == "i" else x.copy(),
        lambda x: x.sum(axis=()),
        lambda x: np.full_like(x, x),
        lambda x: x[0, 0],
        lambda x: +x,
        assigned,
    ]
    for function in functions:
        for x in (ones(3, 4), ones(3, 4, dtype=np.int64)):
            found, wanted = kerneltk.fuse(function)(x), function(x)
            assert not np.shares_memory(found, x)
            assert found.dtype == wanted.dtype
            np.testing.assert_array_equal(found, wanted)
    views: list[Any] = [
        lambda x: x,
        lambda x: x.conj(),
        lambda x: x.real,
        lambda x: np.asarray(x),
        lambda x: x.astype(x.dtype, copy=False),
        lambda x: x[0],
        lambda x: x[0, 0, ...],
    ]
    for function in views:
        x = ones(3, 4)
        assert np.shares_memory(kerneltk.fuse(function)(x), x)


def test_writes_to_what_numpy_does_not_write_to() -> None:
    def broadcast(x: Any) -> None:
        y = np.broadcast_to(x, (3, 4))
        y += 1

    def parts(x: Any) -> None:
        x.real[0] = 1

    with pytest.raises(ValueError, match="read-only"):
        kerneltk.fuse(broadcast)(ones(3, 4))
    with pytest.raises(kerneltk.UnsupportedError, match="imaginary parts"):
        kerneltk.fuse(parts)(ones(3) + 1j)
    x = ones(3)
    kerneltk.fuse(parts)(x)
    assert x[0] == 1
    with pytest.raises(kerneltk.UnsupportedError, match="x is None"):
        kerneltk.fuse(lambda x: x == None)(x)  # noqa: E711


def test_powers_are_the_operators() -> None:
    x = np.array([-np.inf, -0.0, 2.0])
    is_same(lambda x, k: x**k, [x, 0.5], [x, 3.0], [x > 0, 2], [x > 0, 3], [x + 1j, 2])
    is_same(lambda x: x**0.5, [x])
    is_same(lambda x: x**2, [x > 0], [x])


def test_constants_that_are_numpys_and_no_numbers() -> None:
    x = ones(3)
    is_same(lambda x, k: x * (2 if k == "a" else 3), [x, np.str_("a")], [x, np.str_("b")], [x, "a"])
    years = np.datetime64("2020"), np.datetime64("2021")
    is_same(lambda x, k: x * (2 if k == years[0] else 3), *([x, year] for year in years))
    is_same(lambda x, k: x * k[0], [x, (2,)], [x, (2.5,)], [x, (3,)], [x, (2,)])
    is_same(lambda x, k: x * (2 if k is None else 3), [x, None], [x, ()], [x, "a"], [x, None])


def test_arrays_of_numbers_that_a_dtype_does_not_hold() -> None:
    """Also where the call that was traced had a number that fits."""
    x = ones(3)
    for dtype in (np.uint8, np.int8, np.int64, np.float16, np.bool_):
        fused = kerneltk.fuse(lambda x, k, dtype=dtype: x + np.asarray(k, dtype))
        for k in (3, 300, -1, 2.5, 300.7, 2**70, np.nan, np.int64(300), np.float64(300.5), 1j):
            with np.errstate(all="ignore"):
                try:
                    wanted = x + np.asarray(k, dtype)
                except (OverflowError, ValueError, TypeError) as error:
                    with pytest.raises((type(error), OverflowError)):
                        fused(x, k)
                    continue
            np.testing.assert_array_equal(fused(x, k), wanted)

    def assigned(x: Any, k: Any) -> Any:
        y = x.astype(np.int8)
        y[1:] = k
        return y

    fused = kerneltk.fuse(assigned)
    for k in (3, np.int64(4), np.float64(2.5), True):
        np.testing.assert_array_equal(fused(x, k), assigned(x, k))
    for k in (300, np.int64(300), np.float64(300.5), 1e10):
        with pytest.raises(OverflowError):
            fused(x, k)
    largest = kerneltk.fuse(lambda x, k: x.astype(np.uint8).max(initial=k))
    assert largest(x, 7) == 7
    with pytest.raises(OverflowError):
        largest(x, 300)
    with pytest.raises(OverflowError):
        kerneltk.fuse(lambda x: x.astype(np.uint8).max(initial=-1))(x)


def test_integers_that_are_close() -> None:
    for dtype in (np.int8, np.uint8, np.bool_):
        x = np.array([100, 0, 1, 127]).astype(dtype)
        others: list[Any] = [np.array([-100, 1, 1, -1], np.int8), 3, 2.5, np.uint8(255)]
        is_same(lambda x, y: np.isclose(x, y, rtol=0.5, atol=1), *([x, other] for other in others))


def test_outputs_that_numpy_refuses() -> None:
    x = ones(3, 2)
    total = kerneltk.fuse(lambda x, out: np.add.reduce(x, axis=0, out=out))
    np.testing.assert_array_equal(total(x, np.zeros(2)), [9, 12])
    for shape in ((1, 2), (1,), (3, 2)):
        with pytest.raises(ValueError, match="'out=' has the shape"):
            total(x, np.zeros(shape))

    def into_a_number(x: Any) -> Any:
        whole = x.sum()
        np.add(whole, 1, out=whole)
        return whole

    with pytest.raises(TypeError, match="'out=' must be an array"):
        kerneltk.fuse(into_a_number)(x)
    with pytest.raises(TypeError, match="Bools are not rounded"):
        kerneltk.fuse(lambda x: np.round(x > 2, 1))(x)


def test_functions_that_bear_the_names_of_scipys() -> None:
    def expit(x: Any) -> Any:
        return x * 2

    named: Any = np.frompyfunc(expit, 1, 1)
    with pytest.raises(kerneltk.UnsupportedError):
        kerneltk.fuse(lambda x: named(x))(ones(3))


def test_axes_that_numpy_refuses() -> None:
    functions: list[Any] = [
        lambda x: x.sum(axis=[0]),
        lambda x: np.max(x, axis=True),
        lambda x: x.mean(axis=[0, 1]),
    ]
    for function in functions:
        with pytest.raises(TypeError):
            function(ones(2, 2))
        with pytest.raises(TypeError, match="An axis cannot be of type"):
            kerneltk.fuse(function)(ones(2, 2))

    def copied(x: Any) -> None:
        np.copyto(x, 2.5, casting="equiv")

    with pytest.raises(TypeError):
        kerneltk.fuse(copied)(ones(2, dtype=np.float32))

"""Ufuncs and assignments of traced values."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
import scipy.special

import kerneltk
from kerneltk.fusion.trace.operations import function_key, resolved_loop
from kerneltk.jit.intrinsics.registry import rule_of


def run(function: Any, *args: Any) -> Any:
    return kerneltk.fuse(function)(*args)


BEYOND = [
    lambda x: (x < 300, x > -1, x == 300, x != -1, x <= -1, x > 300, x >= -1),
    lambda x: (x < 255, x >= 0, x == 7),
]


@pytest.mark.exhaustive
@pytest.mark.parametrize("program", BEYOND)
def test_comparisons_with_numbers_beyond_the_dtype(program: Any) -> None:
    x = np.array([0, 7, 255], np.uint8)
    for found, wanted in zip(run(program, x), program(x), strict=True):
        np.testing.assert_array_equal(found, wanted)


@pytest.mark.exhaustive
def test_a_number_beyond_the_dtype_as_an_argument() -> None:
    fused = kerneltk.fuse(lambda x, k: x < k)
    x = np.array([0, 7, 255], np.uint8)
    for k in (8, 300, -5, 0):
        np.testing.assert_array_equal(fused(x, k), x < k)
    with pytest.raises(OverflowError):
        run(lambda x, k: x + k, x, 300)


def test_division_of_integers() -> None:
    x = np.array([5, -7, 0, -(2**31)], np.int32)
    y = np.array([0, 2, 0, -1], np.int32)
    with np.errstate(all="ignore"):
        program = lambda x, y: (x // y, x % y, *np.divmod(x, y), np.fmod(x, y), x // 2)  # noqa: E731
        for found, wanted in zip(run(program, x, y), program(x, y), strict=True):
            np.testing.assert_array_equal(found, wanted)


def test_out_and_where() -> None:
    def program(x: Any, y: Any) -> Any:
        return np.add(x, 1, out=y, where=x > 1)

    x, y = np.arange(4.0), np.zeros(4)
    assert run(program, x, y) is y
    np.testing.assert_array_equal(y, [0, 0, 3, 4])


@pytest.mark.exhaustive
def test_an_assignment_converts_to_any_dtype() -> None:
    def program(x: Any) -> None:
        x[1:] = x[:-1] + 0.75

    x = np.arange(4)
    run(program, x)
    np.testing.assert_array_equal(x, [0, 0, 1, 2])


@pytest.mark.exhaustive
def test_captured_arrays_are_read_at_each_call() -> None:
    weights = np.ones(3)
    fused = kerneltk.fuse(lambda x: x * weights)
    np.testing.assert_array_equal(fused(np.arange(3.0)), [0, 1, 2])
    weights[:] = 2
    np.testing.assert_array_equal(fused(np.arange(3.0)), [0, 2, 4])


def test_functions_of_scipy_that_are_composed() -> None:
    special = pytest.importorskip("scipy.special")
    x = np.array([0.0, 0.5, 2.0, -3.0])
    y = np.array([0.0, 1.0, 3.0, 0.5])
    np.testing.assert_allclose(run(special.expit, x), special.expit(x), rtol=1e-15)
    np.testing.assert_allclose(run(special.xlogy, x, y), special.xlogy(x, y), rtol=1e-14)
    np.testing.assert_allclose(run(special.xlog1py, x, y), special.xlog1py(x, y), rtol=1e-14)


def same_as_plain(program: Any, *args: Any) -> None:
    """A fused program gives what the plain one gives, and leaves its arguments as that one does."""
    plain = [a.copy() if isinstance(a, np.ndarray) else a for a in args]
    found, wanted = run(program, *args), program(*plain)
    for one, other in [
        *zip(found or (), wanted or (), strict=True),
        *zip(args, plain, strict=True),
    ]:
        np.testing.assert_array_equal(one, other)
        assert np.asarray(one).dtype == np.asarray(other).dtype


def _from_parts(x: Any) -> None:
    y = x * 2
    y[1:] = 0
    x[...] = y


def _copied_from_parts(x: Any) -> Any:
    y = x * 2
    y[1:] = 0
    np.copyto(x, y)
    y += 1
    return (y,)


def _replaced(x: Any) -> Any:
    y = x * 2
    y[1:] = 0
    y[...] = x
    y[:1] = 5
    return (y,)


@pytest.mark.exhaustive
@pytest.mark.parametrize("program", [_from_parts, _copied_from_parts, _replaced])
def test_an_array_is_assigned_a_value_that_is_in_memory(program: Any) -> None:
    same_as_plain(program, np.array([1.0, 2.0, 3.0]))


@pytest.mark.exhaustive
def test_what_is_assigned_a_value_in_memory_is_no_view_of_it() -> None:
    def program(x: Any) -> Any:
        y, z = x * 2, x * 3
        y[1:], z[1:] = 0, 1
        z[...] = y
        y[...] = x
        return y, z

    x = np.arange(3.0)
    y, z = run(program, x)
    np.testing.assert_array_equal(y, x)
    np.testing.assert_array_equal(z, [0, 0, 0])
    assert not np.shares_memory(x, y)
    assert not np.shares_memory(y, z)


@pytest.mark.exhaustive
def test_parts_of_complex_numbers_follow_the_array() -> None:
    def program(x: Any) -> Any:
        real, rest = x.real, np.imag(x)[1:]
        x += 1 + 2j
        before = real * 1
        x[1:] = 5j
        return before, real * 1, rest * 1

    same_as_plain(program, np.arange(3) + 0j)


def test_an_argument_without_dimensions_is_assigned_another() -> None:
    def program(x: Any, y: Any) -> None:
        x[...] = y

    same_as_plain(program, np.array(1.0), np.array(2.0))


def test_leading_axes_of_one_element_are_left_out_by_assignments() -> None:
    def program(x: Any) -> None:
        x[...] = 2 * x[None]
        x[1:] = x[None, None, 1:] + 1
        np.copyto(x, x[None] + 1)

    same_as_plain(program, np.arange(3.0))
    with pytest.raises(ValueError, match="cannot be written to one of shape"):
        run(lambda x, y: np.add(x[None], 1, out=y), np.ones(3), np.ones(3))


@pytest.mark.one_in(4)
@pytest.mark.parametrize("value", [np.float16(2.5), np.int64(300), 300, 2.7, True, 1e9, -129])
def test_a_number_is_cast_by_way_of_every_dtype(value: Any) -> None:
    def program(x: Any, k: Any) -> Any:
        whole = np.array(k).astype(np.int64)
        return (
            np.count_nonzero(k) + x, np.array(k).astype(np.bool_) * x,
            whole.astype(np.uint8) + x, np.add(np.array(k).astype(np.float32), np.float64(0)),
        )  # fmt: skip

    same_as_plain(program, np.array([1, 2]), value)


@pytest.mark.exhaustive
@pytest.mark.parametrize("value", [300, -1])
def test_where_takes_pythons_integers_as_this_numpy_does(value: int) -> None:
    # They wrap around before NumPy 2.5, and are refused since.
    for program in (
        lambda x, k: (np.where(x > 1, x, value),),
        lambda x, k: (np.where(x > 1, x, k),),
    ):
        try:
            program(U8, value)
        except OverflowError:
            with pytest.raises(OverflowError, match=f"integer {value} is out of bounds for uint8"):
                run(program, U8, value)
        else:
            same_as_plain(program, U8, value)


U8 = np.array([1, 200], np.uint8)


@pytest.mark.one_in(4)
@pytest.mark.parametrize("value", [1j, 0.5, 3, 0, float("nan")])
def test_the_truth_of_a_number(value: Any) -> None:
    same_as_plain(
        lambda x, k: (np.logical_and(x, k), np.logical_or(k, x), np.logical_xor(x, value)),
        U8,
        value,
    )


def test_numpys_scalars_can_be_indexed() -> None:
    same_as_plain(lambda x, k: (x + k[...], x + k[()], k[None]), U8, np.float32(1.5))
    with pytest.raises(TypeError, match="'int' object is not subscriptable"):
        run(lambda x, k: x + k[...], U8, 2)


def test_dtypes_without_a_common_one() -> None:
    small = U8.astype(ml_dtypes.bfloat16)
    with pytest.raises(kerneltk.ArgumentTypeError, match="'bfloat16' and 'int64' have no common"):
        run(lambda x: np.std(x, dtype=np.int64), small)


# -- what NumPy computes an operation in ---------------------------------------------------------

F4, F8, I1, C8 = map(np.dtype, ("f4", "f8", "i1", "c8"))


@pytest.mark.parametrize(
    ("ufunc", "operands"),
    [
        (np.add, (F4, float)),
        (np.add, (I1, int)),
        (np.add, (I1, float)),
        (np.true_divide, (I1, I1)),
        (np.sin, (I1,)),
        (np.less, (F4, int)),
        (np.power, (F8, int)),
        (np.multiply, (F4, complex)),
        (np.divmod, (F4, F4)),
        (np.frexp, (F4,)),
        (np.add, (np.dtype(ml_dtypes.bfloat16), int)),
        (np.add, (np.dtype(ml_dtypes.bfloat16), float)),
        (np.logical_and, (np.dtype(bool), F4)),
    ],
)
def test_results_have_numpys_dtypes(ufunc: np.ufunc, operands: tuple[object, ...]) -> None:
    values = [o(1) if isinstance(o, type) else np.ones(2, o) for o in operands]
    found = ufunc(*values)
    found = found if isinstance(found, tuple) else (found,)
    assert resolved_loop(ufunc, operands, None, "same_kind")[1] == tuple(f.dtype for f in found)


def test_a_dtype_may_be_asked_for() -> None:
    assert resolved_loop(np.add, (F4, F4), F8, "same_kind") == ((F8, F8), (F8,))


@pytest.mark.one_in(4)
@pytest.mark.parametrize("name", sorted(name for name in dir(np) if isinstance(
    getattr(np, name), np.ufunc)))  # fmt: skip
def test_kernels_have_numpys_ufuncs(name: str) -> None:
    """Traces take each of NumPy's; the rules of kernels are found where a plan is made."""
    products = {"matmul", "matvec", "vecdot", "vecmat", "isnat"}
    assert (function_key(getattr(np, name)) is None) == (name in products)
    assert (rule_of(getattr(np, name)) is None) == (name in products)


def test_functions_of_scipy() -> None:
    assert function_key(scipy.special.erf) is not None
    assert function_key(scipy.special.jv) is None

"""Functions of one element, or of one index, against NumPy."""

# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

import dataclasses
import math
from collections import namedtuple
from typing import Any

import numpy as np
import pytest

from kerneltk import ArraySpec, ElementwiseKernel, jit
from kerneltk.errors import (
    ArgumentTypeError,
    ArgumentValueError,
    ScalarOverflowError,
    TypingError,
)

from ..sampling import half
from .support import BFLOAT16, COMPLEX, DTYPES, FLOATS, INTEGERS, TOLERANCE, values

Pair = namedtuple("Pair", "total product")


@dataclasses.dataclass
class Polar:
    radius: Any
    angle: Any


def same(backend: Any, result: Any, expected: Any, rtol: float = 0.0) -> None:
    """Compare dtype, shape and values; no tolerance asks for equal ones."""
    expected = np.asarray(expected)
    found = backend.asnumpy(result)
    assert found.dtype == expected.dtype
    assert found.shape == expected.shape
    if found.dtype == BFLOAT16:
        found, expected = found.astype(np.float32), expected.astype(np.float32)
    if rtol:
        np.testing.assert_allclose(found, expected, rtol=rtol, atol=rtol)
    else:
        np.testing.assert_array_equal(found, expected)


# -- kernels --------------------------------------------------------------------------------------


@jit.kernel
def twice(x):
    return x * 2


@jit.kernel
def add(x, y):
    return x + y


@jit.kernel
def combined(a, x, b):
    return a * x + b


@jit.kernel
def both(x, y):
    return x + y, x * y


@jit.kernel
def named(x, y):
    return Pair(x + y, x * y)


@jit.kernel
def polar(x, y):
    return Polar(math.hypot(x, y), math.atan2(y, x))


@jit.kernel
def with_defaults(x, a=2, *, b=3):
    return x * a + b


@jit.kernel
def masked(x, mask=None, fill=0):
    if mask is None:
        return x
    return x if mask else fill


@jit.kernel
def smooth(x):
    i = jit.index(1)
    return (x[max(i - 1, 0)] + x[i] + x[min(i + 1, x.size - 1)]) / 3


@jit.kernel
def transposed(x):
    i, j = jit.index(2)
    return x[j, i]


@jit.kernel
def laplacian(x):
    i, j = jit.index(2)
    if i == 0 or j == 0 or i == x.shape[0] - 1 or j == x.shape[1] - 1:
        return 0.0
    return x[i - 1, j] + x[i + 1, j] + x[i, j - 1] + x[i, j + 1] - 4 * x[i, j]


@jit.kernel
def histogram(x, counts):
    jit.atomic_add(counts, x, 1)


# -- CUDA -----------------------------------------------------------------------------------------

F32, I32 = ArraySpec.make("float32", (8, 9)), ArraySpec.make("int32", (8, 9))
STEPS = ArraySpec.make("float32", (8, 9), strides=(200, 8))


@pytest.mark.parametrize(
    ("kernel", "arguments"),
    [
        (named, (F32, I32)),
        (combined, (float, STEPS, F32)),
        (masked, (F32, ArraySpec.make("bool", (8, 9)))),
        (laplacian, (STEPS,)),
        (histogram, (ArraySpec.make("int32", 100),) * 2),
    ],
    ids=lambda value: getattr(value, "name", ""),
)
def test_compiles_for_cuda(kernel: Any, arguments: tuple[Any, ...]) -> None:
    assert ".visible .entry" in kernel.inspect(*arguments, target="compute_90")


# -- dtypes ---------------------------------------------------------------------------------------


@pytest.mark.one_in(12)
@pytest.mark.parametrize("dtype", half(DTYPES), ids=str)
def test_every_dtype(backend: Any, dtype: np.dtype[Any]) -> None:
    x = values(dtype, 1000)
    expected = x.astype(int) + x if dtype == np.bool_ else x + x  # as Python's True + True
    same(backend, add(*map(backend.asarray, (x, x))), expected)
    same(backend, twice(backend.asarray(x)), x * 2)


@pytest.mark.one_in(12)
@pytest.mark.parametrize("dtype", half([*INTEGERS, *FLOATS, *COMPLEX]), ids=str)
def test_weak_numbers_take_the_dtype_of_the_array(backend: Any, dtype: np.dtype[Any]) -> None:
    x = values(dtype, 257)
    expected = 2 * x + 1
    same(backend, combined(2, backend.asarray(x), 1), expected, TOLERANCE.get(dtype, 0))


OTHERS = tuple(map(np.dtype, ("int8", "uint64", "float32", "complex64")))


@pytest.mark.one_in(36)
@pytest.mark.parametrize("first", half(DTYPES), ids=str)
@pytest.mark.parametrize("second", half(OTHERS), ids=str)
def test_two_dtypes_meet_as_in_numpy(
    backend: Any, first: np.dtype[Any], second: np.dtype[Any]
) -> None:
    x, y = values(first, 33), values(second, 33, 1)
    same(backend, add(*map(backend.asarray, (x, y))), x + y)


@pytest.mark.one_in(12)
@pytest.mark.parametrize(
    ("x", "number", "dtype"),
    [
        ("int32", 1.5, "float64"),
        ("int8", 2, "int8"),
        ("float16", 1.5, "float16"),
        ("float32", 1j, "complex64"),
        ("int16", True, "int16"),
        ("float32", np.float64(1.5), "float64"),
        ("float64", np.float32(1.5), "float64"),
        ("int8", np.int16(3), "int16"),
        ("bool", 2, "int64"),
        ("uint8", np.uint8(3), "uint8"),
    ],
)
def test_arrays_and_numbers(backend: Any, x: str, number: Any, dtype: str) -> None:
    array = values(x, 65)
    expected = array + number
    assert expected.dtype == dtype
    same(backend, add(backend.asarray(array), number), expected)
    same(backend, add(number, backend.asarray(array)), expected)


def test_the_value_of_a_number_compiles_nothing(backend: Any) -> None:
    kernel = jit.kernel(add.__wrapped__)
    x = values("int64", 20)
    for number in (1, -3, 2**40):
        same(backend, kernel(backend.asarray(x), number), x + number)
    assert len(kernel.kernels) == 1


# -- shapes and layouts ---------------------------------------------------------------------------

BASE = np.arange(48, dtype=np.float32).reshape(6, 8)
LAYOUTS = {
    "C": BASE,
    "F": np.asfortranarray(BASE),
    "transposed": BASE.T,
    "every second": BASE[::2, ::3],
    "backward": BASE[::-1, ::-2],
    "a column": BASE[:, 3],
    "broadcast": np.broadcast_to(BASE[0], (5, 8)),
    "three dimensions": BASE.reshape(2, 3, 8).transpose(2, 0, 1),
    "four dimensions": BASE.reshape(2, 3, 2, 4)[:, ::-1, :, 1:],
    "offset": BASE.ravel()[1:],
    "no elements": BASE[:0],
    "no columns": BASE[:, :0],
    "one element": BASE[:1, :1],
    "no dimensions": BASE[3, 4, ...],
}


@pytest.mark.one_in(12)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_layouts_by_element(backend: Any, layout: str) -> None:
    x = LAYOUTS[layout]
    same(backend, twice(backend.asarray(x)), x * 2)
    same(backend, add(backend.asarray(x), backend.asarray(BASE[3, 4, ...])), x + BASE[3, 4])


@pytest.mark.one_in(4)
@pytest.mark.parametrize(
    ("first", "second"),
    [
        ((6, 8), (8,)),
        ((6, 1), (8,)),
        ((6, 8), (6, 1)),
        ((6, 8), ()),
        ((1, 1), (6, 8)),
        ((4, 1, 8), (6, 1)),
        ((0, 8), (8,)),
        ((2, 3, 1, 5), (3, 4, 1)),
    ],
)
def test_broadcasting(backend: Any, first: tuple[int, ...], second: tuple[int, ...]) -> None:
    x, y = values("float32", first), values("int16", second, 2)
    same(backend, add(*map(backend.asarray, (x, y))), x + y)
    same(backend, add(*map(backend.asarray, (y, x))), y + x)


# -- results --------------------------------------------------------------------------------------


def test_several_results(backend: Any) -> None:
    x, y = values("float32", 100), values("int8", 100, 1)
    total, product = both(*map(backend.asarray, (x, y)))
    same(backend, total, x + y)
    same(backend, product, x * y)


@pytest.mark.exhaustive
def test_named_tuples_and_dataclasses_of_results(backend: Any) -> None:
    x, y = abs(values("float64", 100)) + 1, values("float64", 100, 1)
    pair = named(*map(backend.asarray, (x, y)))
    assert type(pair) is Pair
    same(backend, pair.total, x + y)
    same(backend, pair.product, x * y)
    found = polar(*map(backend.asarray, (x, y)))
    assert type(found) is Polar
    same(backend, found.radius, np.hypot(x, y), 1e-14)
    same(backend, found.angle, np.arctan2(y, x), 1e-14)


def test_a_tuple_of_one_result(backend: Any) -> None:
    one = jit.kernel(lambda x: (x + 1,))
    x = values("int32", 10)
    result = one(backend.asarray(x))
    assert type(result) is tuple
    same(backend, result[0], x + 1)


def test_no_result(backend: Any) -> None:
    x = values("uint8", 1000) % 8
    counts = backend.asarray(np.zeros(8, np.int32))
    assert histogram(backend.asarray(x), counts) is None
    same(backend, counts, np.bincount(x, minlength=8).astype(np.int32))


@pytest.mark.exhaustive
def test_out(backend: Any) -> None:
    x, y = values("float32", (4, 6)), values("float32", (4, 6), 1)
    a, b = map(backend.asarray, (x, y))
    out = backend.asarray(np.zeros((4, 6), np.float32))
    assert add(a, b, out=out) is out
    same(backend, out, x + y)
    assert add(a, b, out=(out,)) is out
    pair = tuple(backend.asarray(np.zeros((4, 6), np.float32)) for _ in range(2))
    found = both(a, b, out=pair)
    assert found[0] is pair[0]
    assert found[1] is pair[1]
    same(backend, pair[1], x * y)
    made = named(a, b, out=pair)
    assert type(made) is Pair
    assert made.total is pair[0]


def test_out_that_arguments_are_broadcast_to(backend: Any) -> None:
    x = values("float32", 6)
    out = backend.asarray(np.zeros((4, 6), np.float32))
    twice(backend.asarray(x), out=out)
    same(backend, out, np.broadcast_to(x * 2, (4, 6)))


def test_out_that_is_an_argument(backend: Any) -> None:
    x = values("int32", 1000)
    array = backend.asarray(x)
    add(array, array, out=array)
    same(backend, array, x + x)


@pytest.mark.parametrize(
    "steps", [(slice(1, None), slice(None, -1)), (slice(None), slice(None, None, -1))]
)
def test_out_that_overlaps_an_argument(backend: Any, steps: tuple[slice, slice]) -> None:
    x = values("float32", 5000)
    to, source = steps
    expected = x[source] * 2
    array = backend.asarray(x)
    twice(array[source], out=array[to])
    same(backend, array[to], expected)


# -- arguments ------------------------------------------------------------------------------------


def test_defaults_and_keywords(backend: Any) -> None:
    x = values("float32", 20)
    array = backend.asarray(x)
    same(backend, with_defaults(array), x * 2 + 3)
    same(backend, with_defaults(array, 4), x * 4 + 3)
    same(backend, with_defaults(array, b=np.float64(1)), x * 2 + np.float64(1))
    same(backend, with_defaults(a=array, x=2, b=array), 2 * x + x)


@pytest.mark.exhaustive
def test_arguments_that_are_none(backend: Any) -> None:
    x, mask = values("float32", 20), values("bool", 20)
    array = backend.asarray(x)
    same(backend, masked(array), x)
    same(backend, masked(array, None), x)
    same(backend, masked(array, backend.asarray(mask)), np.where(mask, x, np.float64(0)))
    same(backend, masked(array, backend.asarray(mask), 7), np.where(mask, x, np.float64(7)))


def test_local_memory_is_of_each_element(backend: Any) -> None:
    @jit.kernel
    def scaled(x, k):
        found = jit.local_memory(np.float32, 4)
        for j in range(4):
            found[j] = x * (j + 1)
        return found[k]

    x = np.arange(1000, dtype=np.float32)
    k = (np.arange(1000) * 7 // 3 % 4).astype(np.int32)
    same(backend, scaled(backend.asarray(x), backend.asarray(k)), x * (k + 1).astype(np.float32))


# -- indices and whole arrays ---------------------------------------------------------------------


def test_a_shape_that_is_given(backend: Any) -> None:
    x = values("int32", (5, 9))
    same(backend, transposed(backend.asarray(x), shape=(9, 5)), x.T)
    out = backend.asarray(np.zeros((9, 5), np.int32))
    assert transposed(backend.asarray(x), out=out) is out
    same(backend, out, x.T)


@pytest.mark.one_in(4)
@pytest.mark.parametrize("ndim", [1, 2, 3, 4])
def test_the_index_of_every_dimension(backend: Any, ndim: int) -> None:
    @jit.kernel
    def one(x):
        return x[jit.index(1)] * 1000 + jit.index(1)

    @jit.kernel
    def two(x):
        i, j = jit.index(2)
        return x[i, j] * 1000 + i * 10 + j

    @jit.kernel
    def three(x):
        i, j, k = jit.index(3)
        return x[i, j, k] * 1000 + i * 100 + j * 10 + k

    @jit.kernel
    def four(x):
        where = jit.index(4)
        i, j, k, m = where
        return x[where] * 1000 + i * 100 + j * 10 + k - m

    shape = (3, 4, 2, 5)[:ndim]
    x = values("int64", shape)
    places = np.indices(shape)
    factors = ((1,), (10, 1), (100, 10, 1), (100, 10, 1, -1))[ndim - 1]
    expected = x * 1000 + sum(f * p for f, p in zip(factors, places, strict=True))
    same(backend, (one, two, three, four)[ndim - 1](backend.asarray(x)), expected)


@pytest.mark.exhaustive
def test_indices_without_arrays() -> None:
    @jit.kernel
    def table(n):
        i, j = jit.index(2)
        return (i + 1) * (j + 1) * n

    result = table(2.5, shape=(3, 4), backend="host")
    np.testing.assert_array_equal(result, np.multiply.outer(np.arange(1, 4), np.arange(1, 5)) * 2.5)
    count = jit.kernel(lambda n: jit.index(1) * n)
    np.testing.assert_array_equal(count(2, size=5, backend="host"), np.arange(5) * 2)


def test_a_loop_that_returns_nothing(backend: Any) -> None:
    @jit.kernel
    def count(hits):
        jit.atomic_add(hits, 0, jit.index(1) + 1)

    hits = backend.asarray(np.zeros(1, np.int64))
    count(hits, shape=(np.uint64(3), 2))
    assert backend.asnumpy(hits).tolist() == [21]


def test_an_index_beside_elements(backend: Any) -> None:
    weighted = jit.kernel(lambda x: x * jit.index(1))
    x = values("float32", (3, 5))
    same(backend, weighted(backend.asarray(x)), x * np.arange(15, dtype=np.float32).reshape(3, 5))


@pytest.mark.exhaustive
def test_arrays_without_dimensions_beside_whole_ones(backend: Any) -> None:
    @jit.kernel
    def shifted(x, shift):
        i = jit.index(1)
        return x[x.size - 1 - i] + shift

    x = values("float32", 10)
    for _ in range(2):
        shift = backend.asarray(np.array(2, np.float32))
        same(backend, shifted(backend.asarray(x), shift), x[::-1] + 2)
        same(backend, shifted(backend.asarray(x), np.float32(3)), x[::-1] + 3)
        wide = values("float32", 10, 1)
        same(backend, shifted(*map(backend.asarray, (x, wide))), x[::-1] + wide)


def test_parameters_that_are_said_to_be_whole(backend: Any) -> None:
    def first(x):
        return x[0]

    @jit.kernel(raw=("table",))
    def kernel(x, table):
        return x * first(table)

    assert kernel.raw == {"table"}
    x, table = values("float32", 10), np.array([3, 4], np.float32)
    same(backend, kernel(*map(backend.asarray, (x, table))), x * 3)


def test_what_shows_that_a_parameter_is_whole() -> None:
    @jit.kernel
    def kernel(a, b, c, d, e, f, g):
        total = a + len(b) + c.size + d.shape[0] + e[0]
        for value in f:
            total += value
        jit.atomic_add(g, 0, 1)
        return total

    assert kernel.raw == {"b", "c", "d", "e", "f", "g"}


def test_atomics_into_whole_arrays(backend: Any) -> None:
    @jit.kernel
    def extremes(x, low, high, total):
        jit.atomic_min(low, 0, x)
        jit.atomic_max(high, 0, x)
        return jit.atomic_add(total, 0, 1)

    x = values("int32", 3000)
    low, high, total = (backend.asarray(np.zeros(1, np.int32)) for _ in range(3))
    tickets = extremes(backend.asarray(x), low, high, total)
    same(backend, low, [x.min()])
    same(backend, high, [x.max()])
    np.testing.assert_array_equal(np.sort(backend.asnumpy(tickets)), np.arange(3000))


def test_other_libraries_arrays() -> None:
    class Foreign:
        def __init__(self, array: np.ndarray[Any, Any]) -> None:
            self._array = array
            self.shape = array.shape

        def __dlpack__(self, **options: Any) -> Any:
            return self._array.__dlpack__(**options)

        def __dlpack_device__(self) -> tuple[int, int]:
            return self._array.__dlpack_device__()

    x = values("float32", 30)
    expected = ElementwiseKernel("T x", "T y", "y = x * 2", "doubled")(Foreign(x))
    result = twice(Foreign(x))
    assert type(result) is type(expected)
    np.testing.assert_array_equal(np.from_dlpack(result), x * 2)


# -- errors ---------------------------------------------------------------------------------------

F4, TABLE = values("float32", 4), values("float32", (4, 5))


@jit.kernel
def in_place(x):
    i, j = jit.index(2)
    x[i, j] = i + j


by_rows = jit.kernel(lambda x, y: x * y * jit.index(2)[0])


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: twice(F4, out=TABLE[0]), ArgumentValueError, (
            r"Out shape is mismatched\. Output 'out' has shape \(5,\), but the arguments broadcast "
            r"to \(4,\)\.\n.*: def twice\(x\):"
        )),
        (lambda: twice(F4, out=values("int32", 4)), ArgumentTypeError, (
            "Result 1 of kernel 'twice' has dtype 'float32', and the array that was given for it "
            "has 'int32'.\n  Hint: convert the value in the kernel."
        )),
        (lambda: both(F4, F4, out=(F4,)), ArgumentValueError, "returns 2 values, and 1 arrays"),
        (lambda: both(F4, F4, out=(F4,) * 3), ArgumentValueError, "returns 2 values, and 3 arrays"),
        (lambda: by_rows(F4, F4), ArgumentValueError, (
            r"asks for 'jit.index\(2\)', and its results have 1 dimension\."
        )),
        (lambda: in_place(TABLE.copy()), ArgumentValueError, (
            r"asks for 'jit.index\(2\)', returns nothing, and takes no array by element"
        )),
        (lambda: by_rows(TABLE, TABLE.T), ArgumentValueError, (
            r"\(4, 5\) and \(5, 4\) cannot be broadcast"
        )),
        (lambda: by_rows(TABLE.T, 1, out=TABLE), ArgumentValueError, r"'out' has shape \(4, 5\)"),
        (lambda: add(F4, (1, 2)), ArgumentTypeError, (
            r"Parameter 'y' of kernel 'add' was given a tuple\.\n(?s:.*)\n  Hint: pass an array, "
            r"'np\.array\(y\)'; '@jit\.rawkernel' takes tuples\."
        )),
        (lambda: add(F4, "a"), ArgumentTypeError, "cannot take an object of type 'str'"),
        (lambda: add(F4, None), TypingError, "None has no value to compute with"),
        (lambda: add(F4, 2**70), ScalarOverflowError, "is out of range for dtype 'int64'"),
        (lambda: twice(F4, shape=(4,)), ArgumentValueError, (
            "takes no 'shape' here: the shape of its results is that of its arguments."
        )),
        (lambda: twice(3), ArgumentValueError, "has no array among its arguments"),
        (lambda: smooth(F4, shape=(-1,)), ArgumentValueError, "'shape' must be a tuple of integ"),
        (lambda: twice(F4, out=3), ArgumentTypeError, "'out' of kernel 'twice' must be an array"),
        (lambda: jit.kernel(raw="z")(add.__wrapped__)(F4, 1), ArgumentValueError, (
            "has no parameter 'z' that could be raw"
        )),
    ],
)  # fmt: skip
def test_calls_that_are_refused(call: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call()


def test_arrays_that_are_read_only() -> None:
    x = values("int32", 5)
    x.flags.writeable = False
    same_values = twice(x)
    np.testing.assert_array_equal(same_values, x * 2)
    counts = np.zeros(5, np.int32)
    counts.flags.writeable = False
    with pytest.raises((ArgumentTypeError, ArgumentValueError), match="read-only"):
        histogram(np.zeros(3, np.int32), counts)
    with pytest.raises((ArgumentTypeError, ArgumentValueError), match="read-only"):
        twice(x, out=x)

"""Programs in which the order of effects, copies of records, or what is a block's decide."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np
import pytest

from kerneltk import jit, vectorize
from kerneltk.errors import LaunchError, TypingError

from ..sampling import half
from . import jit_reference
from .jit_programs_support import assert_same

PACKED = np.dtype([("tag", np.int8), ("count", np.int32), ("place", np.float64, 3)])


def assert_as_in_python(function: Any, block: int, *arguments: Any) -> None:
    found = [a.copy() if isinstance(a, np.ndarray) else a for a in arguments]
    wanted = [a.copy() if isinstance(a, np.ndarray) else a for a in arguments]
    jit.rawkernel(mode="numpy")(function)[1, block](*found)
    jit_reference.run(function, 1, block, tuple(wanted))
    for a, b in zip(found, wanted, strict=True):
        if isinstance(a, np.ndarray):
            np.testing.assert_array_equal(a, b)


def tuple_is_made_before_its_loop(y: Any) -> None:
    for e in (y[0], y[1], y[0] + y[1]):
        y[1] = 10 * y[1] + e
        y[0] = 7
    for k, e in enumerate((y[0], y[1], y[2])):
        y[2] = y[2] * 3 + e + k
    for a, b in zip((y[0], y[1]), (y[2], y[0]), strict=True):
        y[0] += a
        y[3] += b
    low, high = 1.0, 2.0
    for low, high in zip((high,), (low,), strict=True):  # noqa: B020
        y[4] = low + 10 * high


def test_items_are_evaluated_before_the_loop_over_them() -> None:
    assert_as_in_python(tuple_is_made_before_its_loop, 1, np.arange(1.0, 9))


def whole_numbers(x: Any, y: Any) -> None:
    i = jit.grid(1)
    y[i, 0] = float(math.ceil(x[i]))
    y[i, 1] = np.float32(round(x[i]))
    value = x[i]
    if i > 0:
        value = round(x[i])
    y[i, 2] = value
    y[i, 3] = -i
    y[i, 3] = np.uint64(y[i, 3] * 0.0)
    y[i, 4] = np.float16(int(np.floor(-x[i])))


def test_zeros_of_integers_have_no_sign() -> None:
    """What is a whole number already is no reason to leave out the integer."""
    x = np.array([-0.25, -0.5, -0.0, 0.0, 0.25, -0.375] * 4)
    found, wanted = np.ones((x.size, 5)), np.ones((x.size, 5))
    jit.rawkernel(mode="numpy")(whole_numbers)[1, x.size](x, found)
    jit_reference.run(whole_numbers, 1, x.size, (x, wanted))
    assert_same(found, wanted, 0, "")


@pytest.mark.one_in(4)
@pytest.mark.parametrize("dtype", ["float64", "float32", "float16"])
@pytest.mark.parametrize("out", half(["float64", "float32", "float16", "complex64", "complex128"]))
def test_zeros_of_integers_have_no_sign_in_results_of_another_dtype(dtype: str, out: str) -> None:
    x = np.array([-0.25, -0.5, -0.0, 0.0, 0.25, -0.375] * 4, dtype)
    results = tuple(np.ones(x.size, out) for _ in range(4))
    jit.kernel(integers_of_a_float)(x, out=results)
    for result in results:
        assert not result.any()
        assert not np.signbit([result.real, result.imag]).any()


def integers_of_a_float(x: Any) -> Any:
    return int(np.rint(x)), round(x), int(np.trunc(x)), np.int32(x)


def test_fields_of_copies_are_not_assigned_to() -> None:
    def change(p: Any) -> None:
        p.count = 3

    @jit.rawkernel
    def by_function(r: Any) -> None:
        change(r[0].copy())

    @jit.rawkernel
    def by_branch(r: Any) -> None:
        p = r[0].copy()
        if r[1].tag > 0:
            p = r[1].copy()
        p.count = 3

    @jit.kernel
    def by_element(p: Any) -> Any:
        change(p)
        return p.count

    r = np.zeros(3, PACKED)
    for launch in (lambda: by_function[1, 1](r), lambda: by_branch[1, 1](r), lambda: by_element(r)):
        with pytest.raises(TypingError, match="a copy of a record"):
            launch()


def test_the_smallest_int16_is_its_own_negative_also_when_it_is_widened(backend: Any) -> None:
    @jit.kernel
    def widened(x):
        return (
            np.int32(-x),
            np.int32(0 - x),
            np.int64(abs(x)),
            np.float32(np.negative(x)),
            np.int32(np.absolute(x)),
            -x > 3,
        )

    x = np.array([-32768, -32767, -3, 0, 5, 32767], np.int16)
    found = widened(backend.asarray(x))
    for ours, wanted in zip(found, (-x, -x, abs(x), -x, abs(x), -x > 3), strict=True):
        np.testing.assert_array_equal(backend.asnumpy(ours), wanted)


def unpacked(x: Any, rows: Any, y: Any) -> None:
    first, second = x
    y[0], y[1] = second, first
    for a, b in rows:
        y[2] += a * b


@pytest.mark.parametrize("lengths", [(1, 2), (3, 2), (2, 1), (2, 3)])
def test_an_array_of_another_length_is_not_unpacked(lengths: tuple[int, int]) -> None:
    """What lies behind it is not read, and no item is left out."""
    x, rows = np.ones(lengths[0]), np.ones((2, lengths[1]))
    with pytest.raises(LaunchError, match="assigned to 2 names is as long"):
        jit.rawkernel(unpacked)[1, 1](x, rows, np.zeros(3))


def shifted(x: Any, by: int, n: int) -> None:
    x[:, by : by + n] = x[:, :n]


@pytest.mark.parametrize(("by", "n"), [(1, 1), (2, 2), (3, 2), (0, 5)])
def test_parts_of_one_array_that_do_not_overlap_are_copied(by: int, n: int) -> None:
    assert_as_in_python(shifted, 1, np.arange(15.0).reshape(3, 5), by, n)


@pytest.mark.parametrize(("by", "n"), [(1, 2), (1, 4), (2, 3)])
def test_parts_that_overlap_are_not_copied(by: int, n: int) -> None:
    with pytest.raises(LaunchError, match="is read overlaps none that is stored to"):
        jit.rawkernel(shifted)[1, 1](np.arange(15.0).reshape(3, 5), by, n)


def test_an_element_as_an_array_without_dimensions_is_read_once() -> None:
    x = np.array([1.0, 2.0, 3.0])

    @jit.rawkernel
    def tripled(x: Any, first: Any) -> None:
        x += first
        np.add(x, first, out=x)

    tripled[1, 1](x, x[:1].reshape(()))
    assert x.tolist() == [4, 5, 6]


CONSTANT = np.array([1.0, 2.0, 4.0])


def with_constants(x: Any) -> None:
    x += CONSTANT
    np.multiply(x, CONSTANT, x)


def test_constant_arrays_are_read_by_stores_to_arrays() -> None:
    assert_as_in_python(with_constants, 1, np.arange(3.0))


def without_dimensions(x: Any, y: Any) -> None:
    (a,) = x
    y[0] = a


def test_an_array_without_dimensions_is_not_unpacked() -> None:
    with pytest.raises(TypingError, match="An array without dimensions cannot be unpacked"):
        jit.rawkernel(without_dimensions)[1, 1](np.array(3.0), np.zeros(1))


def stepped(x, y):
    for _ in range(x[0], x[1], x[2]):
        y[0] += 1


@pytest.mark.parametrize("bounds", [(0, 5, 0), (5, 0, 0), (0, 5, 2), (5, 0, -2), (5, 0, 2)])
def test_a_computed_step(backend: Any, bounds: tuple[int, int, int]) -> None:
    y = backend.asarray(np.zeros(1))
    jit.rawkernel(stepped)[1, 1](backend.asarray(np.array(bounds)), y)
    assert backend.asnumpy(y)[0] == (len(range(*bounds)) if bounds[2] else 0)


def formats(numbers, flags, reals):
    print(f"{numbers[0]:5d}|{numbers[0]:<5}|{numbers[0]:05}|{numbers[0]:+d}|{numbers[0]:>4}|")
    print(f"{numbers[1]:5d}|{numbers[1]:08X}|{numbers[1]:x}|{numbers[1]:o}|{-numbers[1]:05d}|")
    print(f"{flags[0]:5d}|{flags[1]:05d}|{flags[0]:<5}|{flags[0]:>5}|{flags[1]:3}|{flags[0]}|")
    print(f"{reals[0]:10.3f}|{reals[0]:<10.2e}|{reals[0]:g}|{reals[0]:+.0f}|{reals[0]:010.3f}|")


def test_formats_are_those_of_python(backend: Any, capfd: Any) -> None:
    given = np.array([-7, 48879]), np.array([True, False]), np.array([1234.5678])
    formats(*(array.tolist() for array in given))
    expected = capfd.readouterr().out
    arrays = [backend.asarray(array) for array in given]
    jit.rawkernel(formats)[1, 1](*arrays)
    backend.asnumpy(arrays[0])
    assert capfd.readouterr().out == expected


def test_memory_of_complex_numbers_is_aligned_as_is_asked() -> None:
    """On a CPU a complex number is aligned as its parts are."""

    def kernel(y: Any) -> None:
        kept = jit.shared_memory(np.complex128, 4, alignment=16)
        kept[jit.threadIdx.x] = y[0]
        y[0] = kept[0]

    for target in ("host", "cuda"):
        text = jit.rawkernel(kernel).inspect(np.zeros(1, complex), target=target)
        assert "alignas(16) __shared__" in text


def squares_and_negatives(x: Any) -> Any:
    square, negative = np.square(int(x)), np.negative(int(x))
    return square >= 0, square, negative >= 0, negative


def test_numpys_integers_of_pythons_wrap_around(backend: Any) -> None:
    x = np.array([2**32 - 2, 3037000500, -(2**63), 5], np.int64)
    found = jit.kernel(squares_and_negatives)(backend.asarray(x))
    with np.errstate(over="ignore"):
        wanted = np.square(x) >= 0, np.square(x), np.negative(x) >= 0, np.negative(x)
    for got, want in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(backend.asnumpy(got), want)


def twice(function: Any) -> Any:
    factor = 2

    @functools.wraps(function)
    def wrapper(x: Any) -> Any:
        return factor * function(x)

    return wrapper


def plus_one(x: Any) -> Any:
    return x + 1


wrapped = twice(plus_one)


def stores_a_wrapped_functions_result(x: Any, y: Any) -> None:
    i = jit.grid(1)
    y[i] = wrapped(x[i])


@pytest.mark.exhaustive
def test_functions_that_wrap_others_run_their_own_code(backend: Any) -> None:
    x = np.array([1, 2, 3], np.float32)
    wanted = wrapped(x)
    for decorate in (jit.kernel, vectorize):
        found = decorate(wrapped)(backend.asarray(x))
        np.testing.assert_array_equal(backend.asnumpy(found), wanted)
    y = backend.asarray(np.zeros_like(x))
    jit.rawkernel(stores_a_wrapped_functions_result)[1, 3](backend.asarray(x), y)
    np.testing.assert_array_equal(backend.asnumpy(y), wanted)


def depth_of(n: Any) -> Any:
    """Return `n`, with 800 bytes of local memory a call."""
    squares = jit.local_memory("float64", 100)
    for k in range(100):
        squares[k] = n * n + k
    return 0.0 if n == 0 else depth_of(n - 1) + squares[n % 100] - (n * n + n % 100) + 1


def depths(n: Any, y: Any) -> None:
    i = jit.grid(1)
    y[i] = depth_of(n[i])
    jit.syncthreads()
    y[i] += depth_of(n[i])


@pytest.mark.exhaustive
def test_a_recursion_that_fills_the_stack(capfd: pytest.CaptureFixture[str]) -> None:
    """On CPU cores: a GPU's own limit ends the process's context."""
    of_elements, kernel = jit.kernel(depth_of), jit.rawkernel(depths)
    n, deep, y = np.array([3, 5, 200]), np.array([3, 5, 10**6]), np.zeros(3)
    np.testing.assert_array_equal(of_elements(n), n)
    kernel[1, 3](n, y)
    np.testing.assert_array_equal(y, 2 * n)
    with pytest.raises(LaunchError, match="its stack is full"):
        kernel[1, 3](deep, y)
    with pytest.raises(LaunchError, match="trapped"):
        of_elements(deep)
    assert "'depth_of' calls itself within 512 KiB of stack" in capfd.readouterr().out

"""Shapes of launches and their options: what is refused the first time is refused every time."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import kerneltk
from kerneltk import ArgumentTypeError, ArgumentValueError, KernelToolkitError, jit
from kerneltk.backends.base import Function, GridLimits
from kerneltk.jit import cuda
from kerneltk.launch.launch_config import GridShapes, covering_grid, plain_key

RAW = kerneltk.RawKernel(
    'extern "C" __global__ void one(float* x) { if (!threadIdx.x) x[0] += 1; }', "one"
)


@jit.rawkernel()
def from_python(x):  # type: ignore[no-untyped-def]
    if jit.threadIdx.x == 0:
        x[0] += 1


@cuda.jit
def as_in_numba(x):  # type: ignore[no-untyped-def]
    if cuda.threadIdx.x == 0:
        x[0] += 1


X = np.zeros(1, np.float32)

# What equals an extent that was used before, and is none.
EQUAL_TO_ONE = (
    1.0, True, np.True_, np.float64(1), np.float32(1), Decimal(1), Fraction(1), 1 + 0j,
    (1.0,), (True,), (np.True_,), (1, 1.0), (1, 1, True), (Fraction(1), 1, 1),
)  # fmt: skip
NO_EXTENTS = (
    *(-1, (-1,), (1, -1, 1), 10**30, (10**30,), -(10**30)),
    *(float("nan"), float("inf"), (float("nan"),), "1", b"1", None, (), [], (1, 1, 1, 1), [1.0]),
    *({1}, {1: 1}, np.array([1]), np.array(1.0), (None,), ((1,),), range(1, 2)),
)
ZERO = (0, (0,), (1, 0), (1, 1, 0), np.int32(0))  # 1, as with CuPy
WAYS: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "RawKernel(...)": (lambda g: RAW(g, 1, (X,)), lambda b: RAW(1, b, (X,))),
    "RawKernel[...]": (lambda g: RAW[g, 1](X), lambda b: RAW[1, b](X)),
    "rawkernel(...)": (lambda g: from_python(g, 1, (X,)), lambda b: from_python(1, b, (X,))),
    "rawkernel[...]": (lambda g: from_python[g, 1](X), lambda b: from_python[1, b](X)),
    "cuda.jit[...]": (lambda g: as_in_numba[g, 1](X), lambda b: as_in_numba[1, b](X)),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("which", ["grid", "block"])
def test_what_is_no_shape_is_refused_before_and_after_its_equals(way: str, which: str) -> None:
    launch = WAYS[way][which == "block"]
    shapes = (1, (1,), (1, 1), (1, 1, 1), [1], np.int64(1), (np.int8(1),), 2, (2, 1), (2,))
    for _ in range(2):
        for wrong in (*EQUAL_TO_ONE, *NO_EXTENTS):
            X[0] = 0
            with pytest.raises(KernelToolkitError):
                launch(wrong)
            assert X[0] == 0, wrong
        for right in shapes:
            X[0] = 0
            launch(right)
            assert X[0] > 0, right


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("which", ["grid", "block"])
def test_an_extent_of_0_counts_as_1(way: str, which: str) -> None:
    launch = WAYS[way][which == "block"]
    for extents in (1, *ZERO, 1, *ZERO):
        X[0] = 0
        if way == "cuda.jit[...]" and extents != 1:  # the driver's error to numba's users
            with pytest.raises(ArgumentValueError, match="an extent of 0"):
                launch(extents)
        else:
            launch(extents)
            assert X[0] == 1


def test_a_list_is_looked_at_again() -> None:
    shape = [1]
    for launch in (way[0] for way in WAYS.values()):
        shape[0] = 1
        launch(shape)
        shape[0] = -1
        with pytest.raises(ArgumentValueError, match="negative extent"):
            launch(shape)


@pytest.mark.parametrize("shared", [0.0, False, 1.0, -1, 10**30, "1", np.False_, (0,), Decimal(0)])
def test_shared_memory_is_a_number_of_bytes(shared: Any) -> None:
    for _ in range(2):
        for launch in (
            lambda: RAW(1, 1, (X,), shared_mem=shared),
            lambda: from_python(1, 1, (X,), shared),
            lambda: from_python[1, 1, shared](X),
            lambda: as_in_numba[1, 1, 0, shared](X),
        ):
            with pytest.raises(KernelToolkitError):
                launch()
        RAW(1, 1, (X,), shared_mem=0)
        RAW(1, 1, (X,), shared_mem=1)
        from_python(1, 1, (X,), 0)
        from_python[1, 1, 0](X)
        as_in_numba[1, 1, 0, 0](X)


@pytest.mark.parametrize(
    ("word", "wrong"),
    [
        ("cluster", (0, False, True, 1.0, (1.0,), -1, "1", (0,), (1, 1, 1, 1), 10**30)),
        ("checks", ("no", 1, 0, None, 1.0, np.int8(1))),
        ("cooperative", ("no", 1, 0, None, 1.0)),
        ("programmatic", ("no", 1, 0, None)),
        ("exited_arrive", ("no", 1, 0, None)),
        ("backend", ("gpu", 1, 0, True)),
    ],
)
def test_options_of_a_launch(word: str, wrong: tuple[Any, ...]) -> None:
    right = {"cluster": (None, 1, (1, 1, 1)), "backend": (None, "host")}.get(word, (True, False))
    for _ in range(2):
        for value in wrong:
            with pytest.raises(KernelToolkitError):
                RAW(1, 1, (X,), **{word: value})
        for value in right:
            RAW(1, 1, (X,), **{word: value})


def test_checks_are_a_bool() -> None:
    kernel = kerneltk.RawKernel(RAW.code or "", "one")
    for value in ("no", 0):
        with pytest.raises(ArgumentTypeError, match="'checks' of kernel 'one' must be True or Fal"):
            kernel.checks = value  # type: ignore[assignment]
        with pytest.raises(ArgumentTypeError, match="'checks' of kernel 'one' must be True or Fal"):
            kerneltk.RawKernel(RAW.code or "", "one", checks=value)  # type: ignore[arg-type]
    kernel.checks = np.False_  # type: ignore[assignment]
    assert kernel.checks is False
    kernel.checks = None  # `raw_checks` decides
    assert kernel.checks is None


@pytest.mark.parametrize("value", [1, -1, 2**40, True, 0.0, 10**30, np.int64(1)])
def test_a_pointer_is_no_number(value: Any) -> None:
    with pytest.raises(KernelToolkitError):
        RAW(1, 1, (value,))


ELEMENTWISE = kerneltk.ElementwiseKernel("raw float32 x", "raw float32 y", "y[i] = x[i]")


@jit.kernel
def indexed(x):  # type: ignore[no-untyped-def]
    return x[jit.index(1)]


@pytest.mark.one_in(4)
@pytest.mark.parametrize("word", ["size", "block_size", "shape"])
@pytest.mark.parametrize(
    "wrong", [1.0, True, np.True_, -2, 10**30, float("nan"), "1", Decimal(1), (1.0,), (True,), {1}]
)
def test_sizes_of_loops(word: str, wrong: Any) -> None:
    x, y = np.arange(4, dtype=np.float32), np.zeros(4, np.float32)
    for _ in range(2):
        if word != "shape":
            with pytest.raises(KernelToolkitError):
                ELEMENTWISE(x, y, **{"size": 1, word: wrong})
        with pytest.raises(KernelToolkitError):
            indexed(x, **{word: wrong})
        ELEMENTWISE(x, y, size=1, block_size=1)
        ELEMENTWISE(x, y, size=0)
        indexed(x, size=1)
        indexed(x, shape=(1,), block_size=1)


@pytest.mark.parametrize("wrong", [1.0, 1.5, True, -1, float("nan"), "1", (1,), None])
def test_numbers_of_tasks(wrong: Any) -> None:
    with pytest.raises(ArgumentValueError, match="cannot be launched for"):
        as_in_numba.forall(wrong)
    with pytest.raises(ArgumentValueError, match="'tpb' of kernel"):
        as_in_numba.forall(1, wrong)
    X[0] = 0
    as_in_numba.forall(0)(X)
    assert X[0] == 0
    as_in_numba.forall(np.int16(1))(X)
    assert X[0] == 1


def test_keys_tell_equal_values_apart() -> None:
    plain = [1, (1,), [1], (1, 1), ((1,), 1, 0), None]
    assert len({plain_key(value) for value in plain} - {None}) == len(plain)
    for other in (1.0, True, np.int64(1), (True,), ((1.0,), 1, 0), Fraction(1)):
        assert plain_key(other) is None


def test_a_covering_grid_has_blocks_enough() -> None:
    assert covering_grid((100, 3), (32, 3)) == (4, 1)
    assert covering_grid((0, 3), (32, 3)) == (0, 1)


def shapes_of(**options: Any) -> GridShapes:
    limits = GridLimits(1024, (1024, 1024, 64), (2**31 - 1, 65535, 65535), 48 << 10)
    backend: Any = SimpleNamespace(allow_shared=lambda function, size: None)
    return GridShapes("k", backend, Function(0), limits, **options)


@pytest.mark.parametrize(
    ("grid", "block", "shared"),
    [
        ((1,), (41, 25), 0), ((1,), (1, 1, 65), 0), ((1, 65536), (1,), 0), ((1,), (1,), 49153),
        ((1, -1), (1,), 0), ((1,), (1, 1, -1), 0), ((1,), (1,), -1), ((1,), (1,), True),
    ],
)  # fmt: skip
def test_what_a_device_does_not_have(grid: Any, block: Any, shared: Any) -> None:
    with pytest.raises((ArgumentValueError, ArgumentTypeError)):
        shapes_of().configure(grid, block, shared)
    assert shapes_of().configure((1, 65535), (32, 32), 49152) == (1, 65535, 1, 32, 32, 1, 49152)


def test_blocks_of_a_shape_that_is_wanted() -> None:
    shapes = shapes_of(wanted=(32, 2, 1))
    assert shapes.configure((1,), (32, 2), 0) == (1, 1, 1, 32, 2, 1, 0)
    with pytest.raises(ArgumentValueError, match="has a collective for blocks of"):
        shapes.configure((1,), (32, 1), 0)


def test_a_grid_that_32_bits_do_not_count_needs_another_kernel() -> None:
    shapes = shapes_of(is_32bit=True)
    assert shapes.configure((2**23 - 1,), (256,), 0) == (2**23 - 1, 1, 1, 256, 1, 1, 0)
    assert shapes.configure((2**23,), (256,), 0) is None
    known = shapes.last
    changing = [4]
    assert shapes.configure((1,), changing, 0) == (1, 1, 1, 4, 1, 1, 0)
    assert shapes.last is known  # the caller may change the list

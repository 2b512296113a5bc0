"""`jit.cub`: against NumPy, the messages of it and of `jit.cg`, and that NVRTC compiles them."""

# ruff: noqa: N806
from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest

from kerneltk import jit, pipeline
from kerneltk.backends.base import capabilities_of
from kerneltk.errors import ArgumentValueError, KernelToolkitError
from kerneltk.jit import cg, cub
from kerneltk.jit.frontends.rawkernel import Definition
from kerneltk.jit.launch.marshalling import type_of

from ...lowering.showing import check_table
from .launching import GPU, launch, same, values

# -- operations that are Python functions ---------------------------------------------------------


class Moments(NamedTuple):
    count: int
    mean: np.float64
    square: np.float64


def joined(a, b):
    n = a.count + b.count
    d = b.mean - a.mean
    return Moments(n, a.mean + d * b.count / n, a.square + b.square + d * d * a.count * b.count / n)


POINT = np.dtype([("a", "f4"), ("b", "i4")])


@dataclass(frozen=True)
class Range:
    low: np.float32
    high: np.float32


def test_structures_are_combined(backend: Any) -> None:
    pair = (np.int64, np.float32)

    def kernel(x, points, y, places):
        i = jit.grid(1)
        stats = cub.BlockReduce[Moments, 48]().ReduceAll(
            Moments(1, np.float64(x[i]), np.float64(0)), joined
        )
        y[0, i] = stats.mean
        y[1, i] = stats.square / stats.count
        at, high = cub.BlockReduce[pair, 48]().ReduceAll((i, x[i]), cub.ArgMax())
        places[0, i] = at
        y[2, i] = high
        places[1, i] = cub.BlockReduce[pair, 48]().ReduceAll((i, x[i]), cub.ArgMin)[0]
        both = cub.BlockReduce[Range, 48]().ReduceAll(
            Range(x[i], x[i]), lambda a, b: Range(min(a.low, b.low), max(a.high, b.high))
        )
        y[3, i] = both.high - both.low
        lane = cub.WarpReduce[np.int64, np.float32]().ReduceAll((i, x[i]), cub.ArgMin())
        places[2, i] = lane[0]
        best = cub.BlockReduce[POINT, 48]().ReduceAll(points[i], lambda a, b: a if a.b > b.b else b)
        places[3, i] = best.b

    x = np.random.default_rng(4).normal(size=48).astype("f4")
    x[7] = x[31] = 10
    points = np.zeros(48, POINT)
    points["b"] = np.random.default_rng(5).permutation(48)
    arrays = (x, points, np.zeros((4, 48)), np.zeros((4, 48), "i8"))
    _, _, y, places = launch(backend, kernel, 1, 48, *arrays)
    np.testing.assert_allclose(y[0], x.astype("f8").mean(), 1e-13)
    np.testing.assert_allclose(y[1], x.astype("f8").var(), 1e-12)
    same(places[0], np.full(48, 7))
    same(y[2], np.full(48, 10))
    same(places[1], np.full(48, x.argmin()))
    same(y[3], np.full(48, x.max() - x.min()))
    same(places[2, :32], np.full(32, x[:32].argmin()))
    same(places[3], np.full(48, 47))


# -- storage and classes --------------------------------------------------------------------------


def total_in(reduce, value):
    return reduce.SumAll(value)


def total_of(temp, value):
    return cub.BlockReduce[np.int32, 64](temp).SumAll(value)


def test_storage_and_collectives_are_passed_and_chosen(backend: Any) -> None:
    def kernel(x, which, y):
        i = jit.grid(1)
        Reduce = cub.BlockReduce[np.int32, 64]
        temp = jit.shared_memory(Reduce.TempStorage, (3,))
        reduce = Reduce(temp[0])
        y[0, i] = total_in(reduce, x[i])
        y[1, i] = total_of(temp[1], x[i])
        jit.syncthreads()
        y[2, i] = Reduce(temp[which]).SumAll(x[i] + 1)
        own = Reduce()
        total = 0
        for k in range(3):
            total += own.SumAll(x[i] * k)
        y[3, i] = total
        chosen = reduce
        if which > 5:
            chosen = Reduce(temp[1])
        jit.syncthreads()
        y[4, i] = chosen.SumAll(x[i])
        few = jit.shared_memory(jit.cub.BlockReduce[np.int32, 64].TempStorage, size=1)
        y[5, i] = Reduce(temp_storage=few[which * 0]).SumAll(x[i])

    x = values("i4", 64)
    total = x.sum()
    _, y = launch(backend, kernel, 1, 64, x, 2, np.zeros((6, 64), "i4"))
    same(y[:, 0], [total, total, total + 64, 3 * total, total, total])
    assert (y == y[:, :1]).all()


@pytest.mark.exhaustive
def test_a_block_of_another_shape_is_refused() -> None:
    def always(x):
        x[0] = cub.BlockReduce[np.int32, 8, 2]().Sum(x[0])

    with pytest.raises(ArgumentValueError, match=r"blocks of \(8, 2, 1\) threads, and is launched"):
        jit.rawkernel(always)[1, 16](np.zeros(1, "i4"))
    jit.rawkernel(always)[1, (8, 2)](np.zeros(1, "i4"))

    def by_size(x):
        if jit.blockDim.x == 16:
            x[0] = cub.BlockReduce[np.int32, 16]().SumAll(x[0])
        else:
            x[0] = cub.BlockReduce[np.int32, 8]().SumAll(x[0])

    kernel = jit.rawkernel(by_size)
    x = np.ones(1, "i4")
    kernel[1, 16](x)
    kernel[1, 8](x)
    with pytest.raises(KernelToolkitError, match="the shape that its collective was made for"):
        kernel[1, 4](x)


# -- messages -------------------------------------------------------------------------------------


def test_table() -> None:
    names = {
        "cg": cg,
        "cub": cub,
        "Floats": cub.BlockReduce[np.float32, 64],
        "Pairs": cub.BlockReduce[(np.int64, np.float32), 64],
        "Keys": cub.BlockSort[np.float32, 64, 2],
    }
    check_table(__file__, names)


# -- compilers ------------------------------------------------------------------------------------


@pytest.mark.parametrize("architecture", ["sm_75", "sm_120"])
def test_text_compiles_for_other_gpus(architecture: str) -> None:
    def kernel(x, y):
        i = jit.grid(1)
        assert x[i] >= 0, "no root"
        y[i] = cub.BlockScan[np.float64, 64]().InclusiveSum(x[i])
        y[i] = cub.BlockSort[np.float64, 64]().Sort(y[i])
        y[i] += cub.WarpReduce[np.float64]().Reduce(x[i], lambda a, b: max(a, b))
        cg.this_grid().sync()

    for options in ((), ("--device-debug",)):
        definition = Definition(kernel, options=options)  # type: ignore[arg-type]
        program = definition.program([type_of(np.zeros(64), np.ndarray)] * 2, GPU)
        assert pipeline.compile_ahead(
            definition.unit(program, capabilities_of("cuda")), architecture
        ).code


@pytest.mark.one_in(2)
@pytest.mark.parametrize("dtype", ["float16", "complex64"])
def test_sums_of_16_bits_are_rounded_once_and_complex_numbers_ordered(
    backend: Any, dtype: str
) -> None:
    blocks, warps = jit.cub.BlockReduce[np.dtype(dtype), 64], jit.cub.WarpReduce[np.dtype(dtype)]

    @jit.rawkernel()
    def kernel(x, y):
        value, i = x[jit.blockIdx.x, jit.threadIdx.x], jit.blockIdx.x
        found = (
            blocks().Sum(value), blocks().SumAll(value), warps().Sum(value),
            blocks().Reduce(value, jit.cub.Max()), blocks().ReduceAll(value, np.fmin),
        )  # fmt: skip
        if jit.threadIdx.x == 0:
            for k in range(5):
                y[i, k] = found[k]

    rng = np.random.default_rng(3)
    given = 10 * rng.random((16, 64)) + 1j * rng.integers(0, 4, (16, 64))
    given = np.round(given if dtype[0] == "c" else given.real * 8) / 8
    x, y = backend.asarrays(given.astype(dtype), np.zeros((16, 5), dtype))
    kernel[16, 64](x, y)
    x = backend.asnumpy(x)
    expected = [x.sum(1), x.sum(1), x[:, :32].sum(1), x.max(1), x.min(1)]
    np.testing.assert_array_equal(backend.asnumpy(y), np.stack(expected, axis=1))
    assert kernel.inspect(x, np.zeros((16, 5), dtype), target="compute_75")

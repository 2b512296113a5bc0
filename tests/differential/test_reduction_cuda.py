"""Reductions whose blocks share outputs, in all the ways that a program launches them on a GPU."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from kerneltk import ReductionKernel

pytestmark = pytest.mark.gpu

SUM = ReductionKernel("T x", "T y", "x", "a + b", "y = a", "0", "total")
SHAPES = [((3_000_017,), None), ((7, 400_009), 1), ((200_003, 9), 0), ((100_003, 65), 0)]


def numbers(cupy: Any, shape: tuple[int, ...]) -> Any:
    """Return numbers whose sum depends on the order in which they are added."""
    return cupy.asarray(np.random.default_rng(1).random(shape, np.float32) - 0.3)


@pytest.mark.parametrize(("shape", "axis"), SHAPES)
def test_same_bits_on_every_run_and_stream(
    cupy: Any, shape: tuple[int, ...], axis: int | None
) -> None:
    x = numbers(cupy, shape)
    want = SUM(x, axis=axis).get().tobytes()
    streams = [cupy.cuda.Stream(non_blocking=True) for _ in range(4)]
    cupy.cuda.Device().synchronize()
    found = []
    for run in range(100):
        with streams[run % 4]:
            found.append(SUM(x, axis=axis))
    cupy.cuda.Device().synchronize()
    assert {y.get().tobytes() for y in found} == {want}


def captured(cupy: Any, stream: Any, call: Callable[[], Any], times: int = 1) -> Any:
    with stream:
        stream.begin_capture()
        for _ in range(times):
            call()
        return stream.end_capture()


def test_graphs_and_calls_at_the_same_time(cupy: Any) -> None:
    # Two graphs that were captured on one stream run on others, and calls on that one.
    first, second, eager = (cupy.full((1 << 21,), k, np.int64) for k in (1, 2, 3))
    outs = [cupy.zeros((), np.int64) for _ in range(3)]
    capturing, left, right = (cupy.cuda.Stream(non_blocking=True) for _ in range(3))
    SUM(eager, out=outs[2])
    cupy.cuda.Device().synchronize()
    graphs = [
        captured(cupy, capturing, lambda x=x, y=y: SUM(x, out=y), times=10)
        for x, y in ((first, outs[0]), (second, outs[1]))
    ]
    for _ in range(20):
        graphs[0].launch(left)
        graphs[1].launch(right)
        SUM(eager, out=outs[2], stream=capturing)
    cupy.cuda.Device().synchronize()
    assert [int(y) for y in outs] == [1 << 21, 2 << 21, 3 << 21]


def test_scratch_memory_grows_within_a_capture(cupy: Any) -> None:
    wide = ReductionKernel(
        "T x", "T y", "x", "a + b", "y = a.a", "W()", "wide", "W",
        preamble="struct W { double a, b, c, d; __device__ W(double x = 0) : a(x), b(0), c(0), "
        "d(0) {} };\n__device__ W operator+(const W& l, const W& r) { return W(l.a + r.a); }",
    )  # fmt: skip
    small, large = cupy.ones((1 << 21,), np.float32), cupy.ones((60_000, 1000), np.float32)
    y, z = cupy.zeros((), np.float32), cupy.zeros((1000,), np.float32)
    stream = cupy.cuda.Stream(non_blocking=True)
    cupy.cuda.Device().synchronize()

    def both() -> None:
        wide(small, out=y)
        wide(large, out=z, axis=0)

    graph = captured(cupy, stream, both)
    for _ in range(3):
        graph.launch(stream)
    stream.synchronize()
    assert float(y) == 1 << 21
    assert bool((z == 60_000).all())


def test_streams_of_threads(cupy: Any) -> None:
    # The per-thread default stream has one handle in all threads.
    x = [cupy.full((1 << 21,), k, np.int64) for k in range(6)]
    cupy.cuda.Device().synchronize()

    def work(number: int) -> int:
        with cupy.cuda.Stream.ptds:
            results = [SUM(x[number]) for _ in range(50)]
            cupy.cuda.Stream.ptds.synchronize()
            assert len({int(y) for y in results}) == 1
            return int(results[-1])

    with ThreadPoolExecutor(6) as pool:
        assert list(pool.map(work, range(6))) == [k << 21 for k in range(6)]


def test_cupy_gives_the_same(cupy: Any) -> None:
    text = ("T x, T c", "T y", "c * x * x", "a + b", "y = sqrt(a)", "0", "norm2")
    x = cupy.arange(600, dtype=np.float64).reshape(20, 30)
    for axis in (None, 0, 1, (0, 1)):
        for keepdims in (False, True):
            ours = ReductionKernel(*text)(x, 2.0, axis=axis, keepdims=keepdims)
            theirs = cupy.ReductionKernel(*text)(x, 2.0, axis=axis, keepdims=keepdims)
            assert ours.shape == theirs.shape
            assert ours.dtype == theirs.dtype
            cupy.testing.assert_allclose(ours, theirs, rtol=1e-14)

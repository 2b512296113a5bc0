"""Graphs of launches, on both backends: a launch of a graph is as the calls one after another."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from typing import Any

import numpy as np
import pytest

import kerneltk
from kerneltk import ElementwiseKernel, RawKernel, ReductionKernel, jit
from kerneltk.jit import cuda

from ..conftest import Backend

N = 1000
SCALE = ElementwiseKernel("T x, T a", "T y", "y = a * x", "scale")
TOTAL = ReductionKernel("T v", "T s", "v", "a + b", "s = a", "0", "total")
CODE = r"""
extern "C" __global__ void add(float* p, const float* q, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) p[i] += q[i];
}
"""
ADD = RawKernel(CODE, "add")


@jit.rawkernel
def shift(z, b):
    i = jit.grid(1)
    if i < z.size:
        z[i] += b


@jit.kernel
def mixed(u, w):
    return u - w / 2


@jit.kernel
def index_of(r):
    i = jit.index(1)
    return r[i] + i


@cuda.jit
def negate(m):
    i = cuda.grid(1)
    if i < m.size:
        m[i] = -m[i]


GRID, BLOCK = 8, 128


def program(x: Any, out: Any, a: float = 3.0, b: float = 1.5) -> tuple[Any, ...]:
    """A call of each front-end, each of which reads what those before it wrote."""
    y = SCALE(x, a)
    ADD(GRID, BLOCK, (y, x, N))
    shift[GRID, BLOCK](y, b)
    u = mixed(y, x)
    negate[GRID, BLOCK](u)
    v = index_of(u)
    total = TOTAL(v)
    rows = TOTAL(v.reshape(10, 100), axis=1)
    SCALE(v, 2.0, out)
    return y, u, v, total, rows


def values(seed: int, n: int = N) -> Any:
    return np.random.default_rng(seed).integers(-9, 9, n).astype(np.float32)


def eager(backend: Backend, x: Any, *scalars: float) -> list[Any]:
    out = backend.xp.empty_like(x)
    results = program(x, out, *scalars)
    return [backend.asnumpy(array).copy() for array in (*results, out)]


def assert_same(backend: Backend, results: Any, want: list[Any]) -> None:
    for array, expected in zip(results, want, strict=True):
        np.testing.assert_array_equal(backend.asnumpy(array), expected)


@pytest.fixture
def recorded(backend: Backend) -> Any:
    """A graph of the program: its input, which is declared, itself, and its results."""
    x = backend.asarray(values(1))
    out = backend.xp.empty_like(x)
    with kerneltk.graph(x=x) as g:
        results = (*program(x, out), out)
    return x, g, results


def test_a_graph_is_as_its_calls(backend: Backend, recorded: Any) -> None:
    x, g, results = recorded
    want = eager(backend, x)
    for _ in range(3):
        g.launch()
        assert_same(backend, results, want)
    x += 1
    g.launch()
    assert_same(backend, results, eager(backend, x))


def test_nothing_runs_while_it_is_recorded(backend: Backend) -> None:
    x = backend.asarray(values(2))
    before = backend.asnumpy(x).copy()
    with kerneltk.graph() as g:
        shift[GRID, BLOCK](x, 1.0)
        ADD(GRID, BLOCK, (x, x, N))
    np.testing.assert_array_equal(backend.asnumpy(x), before)
    g.launch()
    np.testing.assert_array_equal(backend.asnumpy(x), 2 * (before + 1))


def test_replaced_arrays_are_for_one_launch(backend: Backend, recorded: Any) -> None:
    x, g, results = recorded
    want = eager(backend, x)
    for seed in (3, 4):
        other = backend.asarray(values(seed))
        g.launch(x=other)
        assert_same(backend, results, eager(backend, other))
    g.launch()
    assert_same(backend, results, want)


def test_numbers_of_arrays_are_as_they_were_recorded(backend: Backend) -> None:
    kernel = RawKernel(
        "struct P { double a, b; };"
        'extern "C" __global__ void by_value(P p, double2 d, int n, const double *x, double *y) {'
        "  if (threadIdx.x < n) y[threadIdx.x] = p.a * d.x * x[threadIdx.x]; }",
        "by_value",
    )
    x, y = backend.asarray(np.ones(4)), backend.asarray(np.zeros(4))
    record, n = np.array([(2, 1)], [("a", "f8"), ("b", "f8")])[0], np.array(4)
    with kerneltk.graph() as g:
        kernel((1,), (4,), (record, (1.0, 1.0), n, x, y))
    record["a"], n[...] = 7, 0
    g.launch(x=backend.asarray(np.full(4, 3.0)))
    np.testing.assert_array_equal(backend.asnumpy(y), 6)
    for value in (5, 6):
        record["a"] = value
        g.launch(p=record)
        np.testing.assert_array_equal(backend.asnumpy(y), value)


def test_a_result_is_replaced_wherever_it_is_used(backend: Backend) -> None:
    x, other = backend.asarrays(values(6), values(7))
    with kerneltk.graph() as g:
        y = SCALE(x, 2.0)
        shift[GRID, BLOCK](y, 1.0)
        s = TOTAL(y)
    g.launch()
    y[:] = 0
    g.launch(y=other)
    want = 2 * backend.asnumpy(x) + 1
    np.testing.assert_array_equal(backend.asnumpy(other), want)
    np.testing.assert_array_equal(backend.asnumpy(y), 0)
    assert float(s) == want.sum()


@pytest.mark.parametrize("offset", [1, 2, 3])
def test_other_alignment(backend: Backend, recorded: Any, offset: int) -> None:
    """What is recorded for arrays at multiples of 16 bytes assumes that of them."""
    x, g, results = recorded
    other = backend.xp.zeros(N + offset, np.float32)[offset:]
    other[:] = backend.asarray(values(8))
    g.launch(x=other)
    assert_same(backend, results, eager(backend, other))
    g.launch()
    assert_same(backend, results, eager(backend, x))


@pytest.mark.exhaustive
def test_unaligned_inputs_are_copied_at_each_launch(backend: Backend) -> None:
    kernel = ElementwiseKernel("raw T x", "T y", "y = x[n - 1 - i]", "reversed")
    x, y = backend.asarray(values(9)), backend.xp.empty(N, np.float32)
    with kerneltk.graph(x=x) as g:
        kernel(x, y)
    memory = backend.xp.zeros(4 * N + 1, np.uint8)
    odd = memory[1:].view(np.float32)
    for seed in (10, 11):
        given = values(seed)
        memory[1:] = backend.xp.asarray(given.view(np.uint8))
        g.launch(x=odd)
        np.testing.assert_array_equal(backend.asnumpy(y), given[::-1])
    g.launch()
    np.testing.assert_array_equal(backend.asnumpy(y), values(9)[::-1])


def test_overlaps_are_copied_at_each_launch(backend: Backend) -> None:
    memory = backend.asarray(values(12, N + 1))
    x, y = memory[:-1], memory[1:]
    with kerneltk.graph() as g:
        SCALE(x, 2.0, y)
    for _ in range(2):
        want = 2 * backend.asnumpy(memory)[:-1]
        g.launch()
        np.testing.assert_array_equal(backend.asnumpy(memory)[1:], want)
    # With arrays that do not overlap nothing is copied, and with others it is.
    free = backend.asarray(values(13))
    g.launch(x=free, y=backend.xp.empty(N, np.float32), a=1.0)
    again = backend.asarray(values(14, N + 1))
    want = 3 * backend.asnumpy(again)[:-1]
    g.launch(x=again[:-1], y=again[1:], a=3.0)
    np.testing.assert_array_equal(backend.asnumpy(again)[1:], want)


def test_results_and_temporaries_are_the_graphs(backend: Backend) -> None:
    x = backend.asarray(values(16))
    with kerneltk.graph() as g:
        y = SCALE(SCALE(x, 2.0), 3.0)
    want = 6 * backend.asnumpy(x)
    gc.collect()
    kept = [SCALE(x, float(k)) for k in range(20)]  # whose memory is not the graph's
    copies = [backend.asnumpy(array).copy() for array in kept]
    g.launch()
    np.testing.assert_array_equal(backend.asnumpy(y), want)
    del g, x
    gc.collect()
    np.testing.assert_array_equal(backend.asnumpy(y), want)
    for array, copy in zip(kept, copies, strict=True):
        np.testing.assert_array_equal(backend.asnumpy(array), copy)


LARGE = 1 << 20


@pytest.mark.exhaustive
def test_launches_of_two_threads_follow_each_other(backend: Backend) -> None:
    x = backend.asarray(np.ones(LARGE, np.float32))
    with kerneltk.graph() as g:
        shift[LARGE // 128, 128](x, 1.0)
        s = TOTAL(x)

    def work(number: int) -> None:
        stream = nullcontext()
        if backend.name == "cuda":
            stream = backend.xp.cuda.Stream(non_blocking=True)
        with stream:
            for _ in range(5):
                g.launch()
        if backend.name == "cuda":
            stream.synchronize()

    with ThreadPoolExecutor(3) as pool:
        list(pool.map(work, range(3)))
    assert float(s) == 16 * LARGE


def test_another_thread_is_not_recorded(backend: Backend) -> None:
    x = backend.asarray(values(17))
    with kerneltk.graph() as g, ThreadPoolExecutor(1) as pool:
        SCALE(x, 2.0)
        found = pool.submit(lambda: backend.asnumpy(SCALE(x, 3.0))).result()
    assert repr(g) == "<Graph of 1 calls, 1 launches>"
    np.testing.assert_array_equal(found, 3 * backend.asnumpy(x))


@pytest.mark.exhaustive
def test_masks_defaults_and_several_outputs(backend: Backend) -> None:
    both = ElementwiseKernel("T x, T w = 2", "T y, T z", "y = x + w; z = x - w", "both")
    x = backend.asarray(values(20))
    mask = x > 0
    with kerneltk.graph() as g:
        y, z = both(x)
        s = TOTAL(x, where=mask)
        empty = both(x[:0])
    assert len(empty) == 2
    g.launch(w=3.0)
    given = backend.asnumpy(x)
    np.testing.assert_array_equal(backend.asnumpy(y), given + 3)
    np.testing.assert_array_equal(backend.asnumpy(z), given - 3)
    assert float(s) == given[given > 0].sum()
    g.launch(where=~mask)
    assert float(s) == given[given <= 0].sum()


@pytest.mark.exhaustive
def test_a_cooperative_launch(backend: Backend) -> None:
    kernel = RawKernel(
        r"""
        #include <cooperative_groups.h>
        extern "C" __global__ void steps(int* x) {
            int i = blockIdx.x;
            x[i] += 1;
            cooperative_groups::this_grid().sync();
            if (i == 0) x[4] = x[0] + x[1] + x[2] + x[3];
        }
        """,
        "steps",
        enable_cooperative_groups=True,
    )
    x, other = backend.xp.zeros(5, np.int32), backend.xp.ones(5, np.int32)
    with kerneltk.graph() as g:
        kernel(4, 1, (x,))
        kernel(4, 1, (x,))
    g.launch()
    assert backend.asnumpy(x).tolist() == [2, 2, 2, 2, 8]
    g.launch(x=other)
    assert backend.asnumpy(other).tolist() == [3, 3, 3, 3, 12]


def test_a_call_that_fails_is_not_recorded(backend: Backend) -> None:
    x = backend.asarray(values(21))
    with kerneltk.graph() as g:
        y = SCALE(x, 2.0)
        with pytest.raises(kerneltk.ArgumentValueError):
            SCALE(x, 2.0, backend.xp.empty(3, np.float32))
        with pytest.raises(kerneltk.ArgumentTypeError):
            ADD(1, 1, (y, x))
    assert repr(g) == "<Graph of 1 calls, 1 launches>"
    g.launch()
    np.testing.assert_array_equal(backend.asnumpy(y), 2 * backend.asnumpy(x))


def functions_called(action: Callable[[], object]) -> int:
    """Return how many functions an action calls, in Python or by Python's code."""
    called = 0

    def note(frame: Any, event: str, argument: Any) -> None:
        nonlocal called
        called += event in ("call", "c_call")

    sys.setprofile(note)
    try:
        action()
    finally:
        sys.setprofile(None)
    return called


def test_a_launch_calls_no_function_of_python_for_each_kernel(backend: Backend) -> None:
    x, y = backend.asarray(values(22)), backend.xp.empty(N, np.float32)
    counts = []
    for launches in (1, 100):
        SCALE(x, 2.0, y)
        with kerneltk.graph() as g:
            for _ in range(launches):
                SCALE(x, 2.0, y)
        g.launch()
        counts.append(functions_called(g.launch))
    assert counts[0] == counts[1]

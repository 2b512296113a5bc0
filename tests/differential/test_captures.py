"""Launches that other libraries capture into their graphs, and graphs of our own on a GPU."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

import kerneltk
from kerneltk import ElementwiseKernel, LaunchError, ReductionKernel, jit, pipeline

from ..unit.front_ends import each_front_end, size_of_output
from .interop_cases import cuda_core, imported
from .test_foreign_streams import busy

pytestmark = pytest.mark.gpu

Captured = Callable[[Callable[[Any], object]], Callable[[], None]]
"""Captures what a function launches on the stream that it is given, and returns what launches that
and waits for it.
"""


def by_cupy(mode: str) -> Captured:
    import cupy

    def capture(work: Callable[[Any], object]) -> Callable[[], None]:
        stream = cupy.cuda.Stream(non_blocking=True)
        with stream:
            stream.begin_capture(getattr(cupy.cuda.runtime, f"streamCaptureMode{mode}"))
            try:
                work(None)
            finally:
                graph = stream.end_capture()

        def launch() -> None:
            graph.launch(stream)
            stream.synchronize()

        return launch

    return capture


def by_torch(mode: str) -> Captured:
    torch = imported("torch")

    def capture(work: Callable[[Any], object]) -> Callable[[], None]:
        graph, stream = torch.cuda.CUDAGraph(), torch.cuda.Stream()
        with torch.cuda.graph(graph, stream=stream, capture_error_mode=mode):
            work(stream)

        def launch() -> None:
            graph.replay()
            torch.cuda.synchronize()

        return launch

    return capture


def by_cuda_core(mode: str) -> Captured:
    core = cuda_core()

    def capture(work: Callable[[Any], object]) -> Callable[[], None]:
        device = core.Device()
        device.set_current()
        stream = device.create_stream()
        builder = stream.create_graph_builder().begin_building(mode)
        try:
            work(builder.stream)
        finally:
            builder.end_building()
        graph = builder.complete()

        def launch() -> None:
            graph.launch(stream)
            stream.sync()

        return launch

    return capture


each_capture = pytest.mark.parametrize(("by", "mode"), [
    (by_cupy, "Global"), (by_cupy, "ThreadLocal"), (by_cupy, "Relaxed"), (by_torch, "global"),
    (by_torch, "relaxed"), (by_cuda_core, "global"), (by_cuda_core, "relaxed"),
])  # fmt: skip


def settled() -> None:
    import cupy

    cupy.cuda.Device().synchronize()


@each_front_end
@each_capture
@pytest.mark.parametrize("warm", [False, True], ids=["first call", "later call"])
def test_launches_in_a_capture(
    make: Any, by: Any, mode: str, warm: bool, cupy: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    for known in ("_functions", "_modules"):  # what a first call finds, it has to load
        monkeypatch.setattr(pipeline, known, {})
    captured = by(mode)
    launch, size = make(), size_of_output(make)
    x, y = cupy.ones(4, "f"), cupy.zeros(size, "f")
    if warm:
        launch(x, y)
        y.fill(0)
    settled()
    replay = captured(lambda stream: launch(x, y, stream=stream))
    settled()
    assert not y.any()  # it was captured, and not run
    for value in (1, 3):
        x.fill(value)
        settled()
        replay()
        want = cupy.zeros_like(y)
        launch(x, want)
        assert want.any()
        np.testing.assert_array_equal(cupy.asnumpy(y), cupy.asnumpy(want))


@each_capture
def test_a_graph_in_a_capture(by: Any, mode: str, cupy: Any) -> None:
    """Its launches become part of the other graph, with the arguments of that launch."""
    scale = ElementwiseKernel("T x, T a", "T y", "y = a * x", "scale")
    total = ReductionKernel("T v", "T s", "v", "a + b", "s = a", "0", "total")
    captured = by(mode)
    x, other = cupy.arange(1 << 20, dtype="d"), cupy.ones(1 << 20, "d")
    with kerneltk.graph(x=x) as g:
        y = scale(x, 2.0)
        s = total(y)
    g.launch()
    settled()
    replay = captured(lambda stream: g.launch(x=other, stream=stream))
    g.launch()
    settled()
    assert float(s) == 2 * float(x.sum())
    replay()
    assert float(s) == 2 * (1 << 20)
    g.launch()
    settled()
    assert float(s) == 2 * float(x.sum())


# -- our own graphs ------------------------------------------------------------------------------

SCALE = ElementwiseKernel("T x, T a", "T y", "y = a * x", "scale")
TOTAL = ReductionKernel("T v", "T s", "v", "a + b", "s = a", "0", "total")


def recorded(*calls: Callable[[], object]) -> None:
    with kerneltk.graph():
        for call in calls:
            call()


def test_cupys_own_work_is_refused(cupy: Any) -> None:
    x, found = cupy.ones(1000, "f"), []

    def call() -> None:
        found.append(SCALE(x, 2.0))

    current = cupy.cuda.get_current_stream()
    for work in (
        lambda: found[-1] + 1,
        lambda: found[-1].get(),
        lambda: float(found[-1].sum()),
        lambda: cupy.cuda.get_current_stream().synchronize(),
        lambda: cupy.zeros(3),
    ):
        with pytest.raises(LaunchError, match="while a graph was recorded: results have no values"):
            recorded(call, work)
        assert cupy.cuda.get_current_stream() == current
        assert float(SCALE(x, 2.0).sum()) == 2000
    with pytest.raises(ZeroDivisionError):
        recorded(call, lambda: 1 // 0)
    recorded(call, lambda: found[-1].reshape(10, 100)[1:], lambda: cupy.empty(4))


def test_a_graph_is_not_recorded_in_a_capture(cupy: Any) -> None:
    x = cupy.ones(8, "f")
    stream = cupy.cuda.Stream(non_blocking=True)
    with stream:
        stream.begin_capture()
        try:
            with pytest.raises(LaunchError, match="cannot be recorded while the current stream"):
                recorded(lambda: SCALE(x, 2.0))
        finally:
            stream.end_capture()
    assert float(SCALE(x, 2.0).sum()) == 16


@contextmanager
def sleeping(torch: Any, cupy: Any) -> Iterator[Any]:
    """A stream of CuPy's that has work to do."""
    stream = cupy.cuda.Stream(non_blocking=True)
    with busy(torch, torch.cuda.ExternalStream(stream.ptr)), stream:
        yield stream


def test_launches_on_two_streams_follow_each_other(torch: Any, cupy: Any) -> None:
    """The second one, on a stream that has nothing else to do, waits for the first."""

    @jit.rawkernel
    def add(z, b):
        i = jit.grid(1)
        if i < z.size:
            z[i] += b

    x = cupy.zeros(1 << 20, "d")
    with kerneltk.graph() as g:
        add[1 << 12, 256](x, 1.0)
        s = TOTAL(x)
    settled()
    with sleeping(torch, cupy):
        g.launch()
    with cupy.cuda.Stream(non_blocking=True) as other:
        g.launch()
        g.launch(b=2.0)
        other.synchronize()
    assert float(s) == 4 * (1 << 20)


def test_another_executable_waits_for_the_last(torch: Any, cupy: Any) -> None:
    """Overlapping arguments take one launch more, and so another executable."""
    memory, y = cupy.ones(1001, "f"), cupy.zeros(1000, "f")
    x = cupy.ones(1000, "f")
    with kerneltk.graph(x=x, y=y) as g:
        SCALE(x, 2.0, y)
    settled()
    with sleeping(torch, cupy):
        g.launch(x=memory[:-1], a=5.0)
    with cupy.cuda.Stream(non_blocking=True) as other:
        g.launch(x=memory[:-1], y=memory[1:], a=3.0)
        other.synchronize()
    assert float(y.sum()) == 5000  # it had read before the other one wrote
    assert float(memory.sum()) == 3001


def test_a_graph_that_is_gone_while_it_runs(torch: Any, cupy: Any) -> None:
    x = cupy.ones(1 << 20, "d")
    with kerneltk.graph() as g:
        s = TOTAL(SCALE(SCALE(x, 2.0), 3.0))
    settled()
    with sleeping(torch, cupy) as stream:
        g.launch()
    del g
    gc.collect()
    others = [cupy.full(1 << 20, k, "d") for k in range(8)]
    stream.synchronize()
    assert float(s) == 6 * (1 << 20)
    assert all(float(other.sum()) == k * (1 << 20) for k, other in enumerate(others))


def test_tensors(torch: Any) -> None:
    x = torch.arange(1 << 16, device="cuda", dtype=torch.float64)
    out = torch.zeros_like(x)
    torch.cuda.synchronize()
    with kerneltk.graph(x=x) as g:
        y = SCALE(x, 2.0)
        s = TOTAL(y)
        SCALE(y, 3.0, out)
    assert isinstance(y, torch.Tensor)
    version = out._version
    side = torch.cuda.Stream()
    late = torch.zeros_like(x)
    torch.cuda.synchronize()
    with busy(torch, side):
        late.copy_(x + 1)
        g.launch(x=late)
        copy = out.clone()
    torch.cuda.synchronize()
    assert out._version > version
    assert torch.equal(copy, 6 * (x + 1))
    assert s.item() == 2 * (x + 1).sum().item()
    g.launch()
    torch.cuda.synchronize()
    assert torch.equal(out, 6 * x)
    del g
    gc.collect()
    others = [torch.full_like(x, k) for k in range(8)]
    torch.cuda.synchronize()
    assert torch.equal(y, 2 * x)
    assert all((other == k).all() for k, other in enumerate(others))


def test_shared_memory_and_programmatic_launches(cupy: Any) -> None:
    kernel = kerneltk.RawKernel(
        r"""
        extern "C" __global__ void rotate(int* p) {
            extern __shared__ int held[];
            held[threadIdx.x] = p[threadIdx.x];
            __syncthreads();
            p[threadIdx.x] = held[(threadIdx.x + 1) % blockDim.x];
        }
        """,
        "rotate",
    )
    p, q, other = (cupy.arange(k, k + 64, dtype="i") for k in range(3))
    with kerneltk.graph(p=p, q=q) as g:
        kernel(1, 64, (p,), shared_mem=256)
        kernel(1, 64, (q,), shared_mem=256, programmatic=True)
    g.launch()
    want = [np.roll(np.arange(k, k + 64), -1) for k in range(3)]
    for array, expected in zip((p, q), want, strict=False):
        np.testing.assert_array_equal(cupy.asnumpy(array), expected)
    g.launch(q=other)
    np.testing.assert_array_equal(cupy.asnumpy(other), want[2])
    np.testing.assert_array_equal(cupy.asnumpy(q), want[1])

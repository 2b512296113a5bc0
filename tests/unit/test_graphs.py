"""Graphs: names, what replaced arguments cost, and the way to the driver's graphs on a dry GPU."""

from __future__ import annotations

import copy
import ctypes
import enum
import gc
import pickle
from itertools import count
from typing import Any, NamedTuple

import numpy as np
import pytest

import kerneltk
from kerneltk import ElementwiseKernel, RawKernel, ReductionKernel, jit
from kerneltk.backends.base import Function
from kerneltk.backends.host.graphs import HostLaunches
from kerneltk.core.recorders import recorders
from kerneltk.errors import ArgumentTypeError, ArgumentValueError, LaunchError, UnsupportedError
from kerneltk.launch.recording import Recorder

from .dry_gpu import CUPY, TORCH, DryGpu
from .dry_gpu import gpu as gpu
from .fake_graphs import FakeGraphs
from .fake_graphs import driver as driver
from .front_ends import each_front_end, size_of_output

SIDE = 77
X = np.arange(6, dtype=np.float32)


def scale() -> ElementwiseKernel:
    return ElementwiseKernel("T x, T a", "T y", "y = a * x", "scale")


def total() -> ReductionKernel:
    return ReductionKernel("T v", "T s", "v", "a + b", "s = a", "0", "total")


# -- names ---------------------------------------------------------------------------------------


def test_names() -> None:
    kernel, y = scale(), np.empty_like(X)
    graph = kerneltk.graph(w=X)
    assert graph.names == ("w",)
    with graph as g:
        kernel(X, 2.0, y)
        kernel(y, 3.0)
    assert g.names == ("w",)  # what x, a and y are is different in the two calls
    other = X + 1
    g.launch(w=other)
    np.testing.assert_array_equal(y, 2 * other)


def test_results_of_functions_of_elements_are_called_out() -> None:
    @jit.kernel
    def halves(u):
        return u / 2, -u

    with kerneltk.graph() as g:
        a, b = halves(X)
    assert g.names == ("u",)
    g.launch()
    np.testing.assert_array_equal(a, X / 2)
    np.testing.assert_array_equal(b, -X)
    with kerneltk.graph() as g:
        halves(X, out=(a, b))
    assert g.names == ("u",)  # 'out' stands for two arrays

    @jit.kernel
    def half(u):
        return u / 2

    with kerneltk.graph() as g:
        half(X, out=a)
    assert g.names == ("out", "u")


def test_a_shape_that_a_call_names() -> None:
    @jit.kernel
    def ramp(step):
        return jit.index(1) * step

    with kerneltk.graph() as g:
        y = ramp(2.0, shape=(5,), backend="host")
    for step in (2.0, 3.0):
        g.launch(step=step)
        np.testing.assert_array_equal(y, np.arange(5) * step)


class _Struct(ctypes.Structure):
    _fields_ = (("a", ctypes.c_double), ("b", ctypes.c_double))


def test_what_goes_by_value_is_as_it_was_recorded() -> None:
    kernel = RawKernel(
        "struct P { double a, b; };"
        'extern "C" __global__ void by_value(P p, double2 d, int n, const double *x, double *y) {'
        "  if (threadIdx.x < n) y[threadIdx.x] = p.a * d.x * x[threadIdx.x]; }",
        "by_value",
    )
    x, y = np.ones(4), np.zeros(4)
    records = np.array([(2, 1)], [("a", "f8"), ("b", "f8")])
    structs: list[Any] = [records[0], records.reshape(())]
    structs += [_Struct(2, 1), bytearray(_Struct(2, 1)), memoryview(bytearray(_Struct(2, 1)))]
    for struct in structs:
        records["a"] = 2
        grid, n, pair = [1], np.array(4), np.ones(2)
        with kerneltk.graph() as g:
            kernel(grid, [4], (struct, pair, n, x, y))
        grid[0], n[...], pair[:] = 0, 0, 7
        if isinstance(struct, _Struct):
            struct.a = 7
        elif isinstance(struct, bytearray | memoryview):
            struct[:] = bytes(_Struct(7, 1))
        else:
            struct["a"] = 7
        for replaced in ({}, {"x": x + 1}, {"n": 4}):  # also where the call is bound again
            g.launch(**replaced)
            np.testing.assert_array_equal(y, 4 if "x" in replaced else 2)
            y[:] = 0
    record = records.copy()[0]
    for value in (5, 6):  # the same object, with other numbers
        record["a"] = value
        g.launch(p=record)
        np.testing.assert_array_equal(y, value)


def test_no_copies() -> None:
    with kerneltk.graph() as g:
        scale()(X, 2.0)
    for copied in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError, match="A graph cannot be copied or pickled"):
            copied(g)


def test_a_launch_in_the_midst_of_a_launch(monkeypatch: pytest.MonkeyPatch) -> None:
    with kerneltk.graph() as g:
        y = scale()(X, 2.0)
    launch = HostLaunches.launch

    def interrupted(self: HostLaunches, stream: int | None) -> None:
        launch(self, stream)
        g.launch(a=3.0)  # as a signal's handler may

    with monkeypatch.context() as patch:
        patch.setattr(HostLaunches, "launch", interrupted)
        with pytest.raises(LaunchError, match="while this thread launches it"):
            g.launch()
    g.launch()
    np.testing.assert_array_equal(y, 2 * X)


# -- what a launch costs -------------------------------------------------------------------------


def test_only_calls_that_change_are_bound_again(monkeypatch: pytest.MonkeyPatch) -> None:
    bound: list[str] = []
    own = Recorder.bind

    def bind(self: Any, call: Any, values: Any) -> Any:
        bound.append(call.recordable.kernel)
        return own(self, call, values)

    monkeypatch.setattr(Recorder, "bind", bind)
    kernel, sums = scale(), total()
    with kerneltk.graph(x=X) as g:
        sums(kernel(X, 2.0))
    other = X + 1
    for arguments, want in (({}, 0), ({"x": other}, 1), ({"x": other}, 0), ({}, 0), ({}, 0)):
        bound.clear()
        g.launch(**arguments)
        assert bound == ["scale"] * want


def test_a_launch_that_is_refused_changes_nothing() -> None:
    kernel, other = scale(), X + 1
    with kerneltk.graph(x=X) as g:
        y = kernel(X, 2.0)
    with pytest.raises(kerneltk.KernelToolkitError):
        g.launch(x=other, a="two")
    g.launch()
    np.testing.assert_array_equal(y, 2 * X)
    assert not recorders


# -- tensors -------------------------------------------------------------------------------------


def test_tensors_on_the_host() -> None:
    torch = pytest.importorskip("torch")
    x, weight = torch.arange(4.0), torch.ones(4, requires_grad=True)
    kernel = ElementwiseKernel("T x, T w", "T y", "y = x * w", "product")
    out = torch.zeros(4)
    with kerneltk.graph(weight=weight) as g:
        y = kernel(x, weight)
        kernel(y, x, out)
    assert isinstance(y, torch.Tensor)
    version = out._version
    g.launch()
    assert y.tolist() == x.tolist()
    assert out.tolist() == (x * x).tolist()
    assert out._version > version
    other = torch.full((4,), 2.0)
    g.launch(weight=other)
    assert y.tolist() == (2 * x).tolist()
    x.set_(torch.ones(4).untyped_storage(), 0, (4,))
    with pytest.raises(ArgumentValueError, match="A tensor of the graph has other memory"):
        g.launch()


@each_front_end
def test_permission_to_write_is_asked_at_each_launch(make: Any) -> None:
    """Also of arrays that are known, of NumPy, of subclasses, of torch and behind protocols."""
    torch = pytest.importorskip("torch")
    launch, size = make(), size_of_output(make)

    class Own(np.ndarray):  # type: ignore[type-arg]
        pass

    class ByDlpack:
        def __init__(self, array: Any) -> None:
            self.__dlpack__, self.__dlpack_device__ = array.__dlpack__, array.__dlpack_device__

    plain, numpy = np.ones(4, np.float32), np.zeros(size, np.float32)
    own, memory = np.zeros(size, np.float32).view(Own), np.zeros(size, np.float32)
    tensor = torch.zeros(size)
    rows: list[tuple[Any, Any, Any, str]] = [
        (plain, numpy, numpy, "read-only"),
        (plain, own, own, "read-only"),
        (plain, ByDlpack(memory), memory, "read-only"),
        (torch.ones(4), tensor, tensor, "requires a gradient"),
    ]

    def allow(array: Any, is_allowed: bool) -> None:
        if array is tensor:
            tensor.requires_grad_(not is_allowed)
        else:
            array.flags.writeable = is_allowed

    for x, y, array, reason in rows:
        with kerneltk.graph(x=x) as g:
            launch(x, y)
        g.launch()
        first = array.tolist()
        assert first[0] != 0
        allow(array, True)
        if array is tensor:
            tensor.zero_()
        else:
            array[...] = 0
        for arguments in ({}, {"x": x}, {"x": copy.copy(x)}):
            allow(array, False)
            with pytest.raises(ArgumentValueError, match=f"(?s)'(y|out)'.*{reason}"):
                g.launch(**arguments)
            assert array.tolist() == [0] * size
            allow(array, True)
        g.launch()
        assert array.tolist() == first


def test_structures_of_a_graph() -> None:
    """Arrays in them are written to, and a named tuple is not made by its own constructor."""

    class Pair(NamedTuple):
        x: Any
        y: Any

    class Checked(Pair):
        def __new__(cls, x: Any, y: Any, *more: Any) -> Any:
            raise AssertionError

    class Weight(enum.Enum):
        DOUBLE = 2

    @jit.rawkernel
    def fill(pair, a, weight):
        pair.y[0] = pair.x[0] * a * weight.value

    x, y = np.full(1, 2.0), np.zeros(1)
    for kind in (Pair, Checked):
        pair = tuple.__new__(kind, (x, y))
        y.flags.writeable = True
        with kerneltk.graph() as g:
            fill[1, 1](pair, 3.0, Weight.DOUBLE)
        g.launch(a=4.0)
        assert y[0] == 16
        y.flags.writeable = False
        with pytest.raises(ArgumentValueError, match="read-only"):
            g.launch()
    with pytest.raises(ArgumentTypeError, match="'pair' is a structure, which cannot be replaced"):
        g.launch(pair=pair)


def test_lazy_tensors() -> None:
    torch = pytest.importorskip("torch")
    z = torch.ones(4, dtype=torch.complex64)
    with (
        pytest.raises(UnsupportedError, match="has its numbers in new memory each time"),
        kerneltk.graph(),
    ):
        scale()(z.conj(), 2.0)


# -- a dry GPU -----------------------------------------------------------------------------------


@each_front_end
def test_every_front_end_is_recorded(make: Any, gpu: DryGpu, driver: FakeGraphs) -> None:
    launch, size = make(), size_of_output(make)
    x, y, other = gpu.array(4), gpu.array(size), gpu.array(4)
    with kerneltk.graph(x=x, y=y) as g:
        launch(x, y)
        assert not gpu.launches
    assert len(gpu.launches) == 1  # in the capture
    assert gpu.launches[0][8] in driver.captured
    assert driver.log == [("destroy graph",), ("instantiate", 1), ("settle", CUPY)]
    driver.log.clear()
    g.launch()
    g.launch(stream=SIDE_STREAM)
    assert driver.log == [("launch", CUPY), ("launch", SIDE), ("record", SIDE)]
    driver.log.clear()
    g.launch(x=other)
    g.launch(x=other)
    g.launch()
    kinds = [entry[:2] for entry in driver.log]
    assert kinds == [
        ("set", 0), ("launch", CUPY), ("launch", CUPY), ("set", 0), ("launch", CUPY),
    ]  # fmt: skip
    assert len(gpu.launches) == 1


class _Stream:
    cuda_stream = SIDE


_Stream.__module__ = "kerneltk.tests"  # whose handles are taken as they are
SIDE_STREAM = _Stream()


def addresses_in(parameters: Any, size: int) -> bytes:
    """The first parameter's bytes, of a node's parameters."""
    first = ctypes.c_void_p.from_address(parameters.kernelParams).value
    assert first
    return ctypes.string_at(first, size)


def test_a_replaced_array_reaches_the_node(gpu: DryGpu, driver: FakeGraphs) -> None:
    @jit.rawkernel
    def fill(z, value):
        z[0] = value

    x, y = gpu.array(4), gpu.array(4)
    with kerneltk.graph() as g:
        fill[3, 32](x, 1.0)
    g.launch(z=y)
    (_, _, parameters), *_ = [entry for entry in driver.log if entry[0] == "set"]
    assert addresses_in(parameters, 8) == y.data.ptr.to_bytes(8, "little")
    assert (parameters.gridDimX, parameters.gridDimY, parameters.blockDimX) == (3, 1, 32)
    g.launch()
    parameters = driver.log[-2][2]
    assert addresses_in(parameters, 8) == x.data.ptr.to_bytes(8, "little")


def test_another_alignment_takes_another_function(
    gpu: DryGpu, driver: FakeGraphs, monkeypatch: pytest.MonkeyPatch
) -> None:
    from kerneltk.backends.cuda.backend import CudaBackend

    numbers = count(1)
    monkeypatch.setattr(CudaBackend, "load", lambda own, code: Function(next(numbers)))
    kernel = scale()
    x, y, memory = gpu.array(4096), gpu.array(4096), gpu.array(4097)
    with kerneltk.graph(x=x) as g:
        kernel(x, 2.0, y)
    assert gpu.launches[-1][0] == 1
    g.launch(x=memory[1:])
    assert [int(entry[2].func) for entry in driver.log if entry[0] == "set"] == [2]
    g.launch()
    assert [int(entry[2].func) for entry in driver.log if entry[0] == "set"] == [2, 1]


def test_more_launches_take_another_executable(gpu: DryGpu, driver: FakeGraphs) -> None:
    kernel, memory = scale(), gpu.array(101)
    x, y = gpu.array(100), gpu.array(100)
    with kerneltk.graph() as g:
        kernel(x, 2.0, y)
    g.launch(stream=SIDE_STREAM)
    driver.log.clear()
    front, behind = memory[:-1], memory[1:]
    g.launch(x=front, y=behind)  # overlap: the input is copied first
    assert driver.log == [
        ("settle", CUPY),
        ("instantiate", 2),
        ("destroy",),
        ("destroy graph",),
        ("wait", CUPY),
        ("launch", CUPY),
    ]
    driver.log.clear()
    g.launch(x=front, y=behind)
    assert driver.log == [("launch", CUPY)]
    g.launch()
    assert ("instantiate", 1) in driver.log


def test_scratch_memory_is_the_graphs(gpu: DryGpu, driver: FakeGraphs) -> None:
    kernel, x = total(), gpu.array(1 << 20)
    with kerneltk.graph(x=x) as g:
        kernel(x)
        kernel(x)
    assert [entry[0] for entry in driver.log].count("scratch") == 1
    assert ("scratch", CUPY) not in gpu.log
    driver.log.clear()
    g.launch(x=gpu.array(1 << 20))
    assert [entry[0] for entry in driver.log] == ["set", "set", "launch"]


def test_tensors_on_a_gpu(gpu: DryGpu, driver: FakeGraphs) -> None:
    kernel, x = scale(), gpu.tensor(100)
    with kerneltk.graph() as g:
        y = kernel(x, 2.0)
    assert ("allocate", "torch", TORCH) in gpu.log
    assert type(y) is type(x)
    driver.log.clear()
    g.launch()
    assert driver.log == [("launch", TORCH), ("record", TORCH)]
    driver.log.clear()
    g.launch(x=gpu.array(100))  # the result is still torch's
    assert ("launch", CUPY) in driver.log or ("launch", TORCH) in driver.log
    out = gpu.tensor(100)
    with kerneltk.graph() as g:
        kernel(x, 2.0, out)
    assert out.version == 0
    g.launch()
    g.launch()
    assert out.version == 2


def test_a_launch_in_a_capture(gpu: DryGpu, driver: FakeGraphs) -> None:
    """Its launches become part of what is captured."""
    kernel, x, y = scale(), gpu.array(4), gpu.array(4)
    with kerneltk.graph(x=x) as g:
        kernel(x, 2.0, y)
        kernel(x, 3.0, y)
    gpu.launches.clear()
    driver.log.clear()
    gpu.capturing.add(CUPY)
    g.launch()
    assert [arguments[8] for arguments in gpu.launches] == [CUPY, CUPY]
    assert driver.log == []
    memory = gpu.array(5)
    with pytest.raises(LaunchError, match="must not be allocated while its stream is captured"):
        g.launch(x=memory[:-1], y=memory[1:])
    with pytest.raises(LaunchError, match="cannot be recorded while the current stream is"):
        kerneltk.graph().__enter__()
    assert not recorders


def recorded(*calls: Any) -> None:
    with kerneltk.graph():
        for call in calls:
            call()


def test_work_of_cupys_own(gpu: DryGpu, driver: FakeGraphs) -> None:
    kernel, x = scale(), gpu.array(4)
    streams = []

    def call() -> None:
        kernel(x, 2.0)
        streams.append(gpu.current["cupy"])

    def synchronize() -> None:
        raise RuntimeError("operation not permitted when stream is capturing")

    driver.own_work = 1
    with pytest.raises(LaunchError, match="CuPy did work of its own while a graph was recorded"):
        recorded(call)
    assert streams[0] in driver.captured
    assert gpu.current["cupy"] == CUPY
    driver.is_broken = True
    with pytest.raises(LaunchError, match="or a result was read, while a graph") as caught:
        recorded(call, synchronize)
    assert isinstance(caught.value.__cause__, RuntimeError)
    driver.is_broken = False
    with pytest.raises(LaunchError, match="or a result was read, while a graph"):
        recorded(call, synchronize)
    with pytest.raises(ZeroDivisionError):  # which is not about streams
        recorded(call, lambda: 1 // 0)
    with pytest.raises(ArgumentTypeError):  # what is wrong with a call comes first
        recorded(lambda: kernel("x", 2.0))
    assert gpu.current["cupy"] == CUPY


def test_mixed_backends(gpu: DryGpu, driver: FakeGraphs) -> None:
    kernel, x = scale(), gpu.array(6)
    with pytest.raises(ArgumentTypeError, match=r"A graph's launches are on one backend: this one"):
        recorded(lambda: kernel(x, 2.0), lambda: kernel(X, 2.0))
    with kerneltk.graph(x=x) as g:
        kernel(x, 2.0)
    with pytest.raises(ArgumentTypeError, match=r"\A'x' was recorded in .*, and the array that"):
        g.launch(x=X)


def test_the_current_device(
    gpu: DryGpu, driver: FakeGraphs, monkeypatch: pytest.MonkeyPatch
) -> None:
    from kerneltk.backends.cuda.backend import CudaBackend

    kernel, x = scale(), gpu.array(6)
    with kerneltk.graph() as g:
        kernel(x, 2.0)
    monkeypatch.setattr(CudaBackend, "device_key", lambda own: 1)
    with pytest.raises(LaunchError, match=r"recorded on device 0, and the current device is 1\."):
        g.launch()


def test_memory_waits_for_launches_on_other_streams(gpu: DryGpu, driver: FakeGraphs) -> None:
    kernel, x = scale(), gpu.array(6)
    for stream, drained in ((None, False), (SIDE_STREAM, True)):
        gc.collect()  # graphs of other tests
        with kerneltk.graph() as g:
            kernel(x, 2.0)
        g.launch(stream=stream)
        driver.log.clear()
        del g
        gc.collect()
        assert (("drain",) in driver.log) is drained


def test_arrays_of_a_graph_keep_their_memory() -> None:
    scale = kerneltk.ElementwiseKernel("T x, T a", "T y", "y = a * x")
    x, whole = np.ones(100_000), np.zeros(200_000)
    with kerneltk.graph() as recorded:
        scale(x, 2.0, whole[:100_000])
        result = scale(x, 3.0)
    for array in (x, whole, result):
        with pytest.raises(ValueError, match="cannot resize"):
            array.resize(10, refcheck=False)
    recorded.launch()
    assert (whole[0], result[0]) == (2, 3)
    del recorded
    gc.collect()
    x.resize(10, refcheck=False)
    assert x.shape == (10,)

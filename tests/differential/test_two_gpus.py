"""Two GPUs: kernels of every kind, and arrays of torch, JAX and numba, whichever is current."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

import kerneltk
from kerneltk import ElementwiseKernel, ReductionKernel
from kerneltk.errors import ArgumentTypeError, ArgumentValueError

from ..unit.front_ends import each_front_end, size_of_output
from .interop_cases import imported, results

pytestmark = [
    pytest.mark.gpu(2),
    # CuPy's own word for what peer access costs.
    pytest.mark.filterwarnings("ignore:A kernel on device"),
]

VALUES = np.arange(1, 401, dtype=np.float32)


@pytest.fixture(scope="module")
def jax() -> Any:
    found = imported("jax")
    if len([one for one in found.devices() if one.platform == "gpu"]) < 2:
        pytest.skip("JAX has no two GPUs")
    return found


@pytest.fixture(params=[(0, 0), (0, 1), (1, 0), (1, 1)], ids=lambda pair: f"{pair[0]} to {pair[1]}")
def devices(request: Any) -> Any:
    """The current device, and the arrays'."""
    import cupy

    with cupy.cuda.Device(request.param[0]):
        yield request.param


@contextmanager
def same_device() -> Iterator[None]:
    """Check that a call leaves the current device as it was. Asked right before and after it: JAX
    makes other devices current where its arrays are read or freed.
    """
    import cupy

    before = cupy.cuda.runtime.getDevice()
    yield
    assert cupy.cuda.runtime.getDevice() == before


def of_torch(array: Any, device: int) -> Any:
    import torch

    return torch.tensor(array, device=f"cuda:{device}")


def of_numba(array: Any, device: int) -> Any:
    import cupy

    cuda = imported("numba.cuda")
    with cupy.cuda.Device(device):
        return cuda.to_device(array)


def of_cupy(array: Any, device: int) -> Any:
    import cupy

    with cupy.cuda.Device(device):
        return cupy.asarray(array)


def of_jax(array: Any, device: int) -> Any:
    import jax

    return jax.device_put(array, jax.devices("gpu")[device])


def on_host(array: Any) -> Any:
    if hasattr(array, "copy_to_host"):
        return array.copy_to_host()
    return array.cpu().numpy() if hasattr(array, "cpu") else np.asarray(array)


def device_of(array: Any) -> int:
    """The device of an array's memory, as CUDA knows it."""
    import cupy

    if hasattr(array, "devices"):  # JAX's
        (device,) = array.devices()
        return int(device.local_hardware_id)
    address = array.__cuda_array_interface__["data"][0]
    return int(cupy.cuda.runtime.pointerGetAttributes(address).device)


def input_of(name: str) -> Any:
    """Return an array that a call of `results` takes. It has its shape before it is copied to a
    device: JAX's own functions make other devices current.
    """
    return VALUES.reshape(20, 20).copy() if name in ("rows", "columns") else VALUES.copy()


each_result = pytest.mark.parametrize("name", results())
each_library = pytest.mark.parametrize("library", [of_torch, of_numba], ids=["torch", "numba"])


@each_front_end
@each_library
def test_launches(make: Any, library: Any, devices: tuple[int, int], torch: Any) -> None:
    launch, size = make(), size_of_output(make)
    wanted = np.zeros(size, np.float32)
    launch(VALUES[:4].copy(), wanted)
    for _ in range(3):  # the first, and repeated ones
        x = library(VALUES[:4], devices[1])
        y = library(np.zeros(size, np.float32), devices[1])
        with same_device():
            launch(x, y)
        np.testing.assert_array_equal(on_host(y), wanted)


@each_result
@pytest.mark.parametrize("library", [of_torch, of_numba, of_jax], ids=["torch", "numba", "jax"])
def test_results(name: str, library: Any, devices: tuple[int, int], request: Any) -> None:
    module = library.__name__.removeprefix("of_")
    if module != "numba":
        request.getfixturevalue(module)
    call = results()[name]
    wanted = np.asarray(call(input_of(name)))
    for _ in range(3):
        x = library(input_of(name), devices[1])
        with same_device():
            found = call(x)
        assert type(found).__module__.partition(".")[0] == type(x).__module__.partition(".")[0]
        assert device_of(found) == devices[1]
        np.testing.assert_allclose(on_host(found), wanted, rtol=1e-5)


@each_result
def test_cupys_results_follow_the_current_device(
    name: str, devices: tuple[int, int], cupy: Any
) -> None:
    if devices[0] != devices[1] and not cupy.cuda.runtime.deviceCanAccessPeer(*devices):
        pytest.skip("no peer access")
    call = results()[name]
    found = call(of_cupy(input_of(name), devices[0]))
    assert found.data.device_id == devices[0]
    np.testing.assert_allclose(found.get(), np.asarray(call(input_of(name))), rtol=1e-5)


@each_front_end
def test_tensors_of_two_devices(make: Any, torch: Any) -> None:
    launch, size = make(), size_of_output(make)
    x, y = of_torch(VALUES[:4], 0), of_torch(np.zeros(size, np.float32), 1)
    said = r"is on device 0, and the one for .* is on device 1\."
    launch(x, y.to("cuda:0"))  # launchers are known now
    for out in (y, of_cupy(np.zeros(size, np.float32), 1), of_numba(np.zeros(size, "f"), 1)):
        with pytest.raises(ArgumentValueError, match=said):
            launch(x, out)
        assert not on_host(y).any()


ADD = ElementwiseKernel("T x, T w", "T y", "y = x + w", "sum_of")


def test_mixed_arguments(torch: Any) -> None:
    x = of_torch(VALUES, 1)
    for w in (
        2.0,
        np.float64(2),
        of_torch(np.full(400, 2, "f"), 1),
        of_cupy(np.full(400, 2, "f"), 1),
    ):
        found = ADD(x, w)
        assert found.device.index == 1
        np.testing.assert_array_equal(on_host(found), VALUES + 2)
    for w in (torch.tensor(2.0, device="cuda:0"), of_torch(VALUES, 0)):
        with pytest.raises(ArgumentValueError, match="is on device"):
            ADD(x, w)
    for w in (torch.ones(400), VALUES, torch.ones(1)):
        with pytest.raises(ArgumentTypeError, match="host memory"):
            ADD(x, w)


def test_the_current_streams_of_torch(torch: Any) -> None:
    total = ReductionKernel("T x", "T y", "x", "a + b", "y = a", "0", "total")
    z = torch.zeros(1 << 20, device="cuda:1")
    for call in (lambda: ADD(z, 1.0), lambda: total(z)):
        call()  # scratch memory is there
        torch.cuda.synchronize(1)
        side = torch.cuda.Stream(device="cuda:1")
        with torch.cuda.device(0):
            with torch.cuda.device(1), torch.cuda.stream(side):
                z.zero_()
                torch.cuda._sleep(200_000_000)
                z.fill_(3.0)
            # `torch.cuda.stream` makes its device current; its stream stays that of the device.
            torch.cuda.set_stream(side)
            torch.cuda.set_device(0)
            try:
                found = call()
                assert torch.cuda.current_device() == 0
            finally:
                torch.cuda.set_stream(torch.cuda.default_stream(1))
                torch.cuda.set_device(0)
        side.synchronize()
        assert float(found.reshape(-1)[0]) == (4.0 if found.ndim else 3.0 * (1 << 20))


def test_recorded_graphs(devices: tuple[int, int], torch: Any) -> None:
    total = ReductionKernel("T x", "T y", "x", "a + b", "y = a", "0", "total")
    x = of_torch(VALUES, devices[1])
    with kerneltk.graph(x=x) as graph:
        y = ADD(x, 1.0)
        s = total(y)
    graph.launch()
    assert (device_of(y), device_of(s)) == (devices[1], devices[1])
    np.testing.assert_array_equal(on_host(y), VALUES + 1)
    assert float(s) == float((VALUES + 1).sum())
    graph.launch(w=3.0)
    np.testing.assert_array_equal(on_host(y), VALUES + 3)
    graph.launch(x=of_torch(2 * VALUES, devices[1]))
    np.testing.assert_array_equal(on_host(y), 2 * VALUES + 1)
    other = of_torch(VALUES, 1 - devices[1])
    with pytest.raises(ArgumentTypeError, match="was recorded on device"):
        graph.launch(x=other)


def test_an_error_restores_the_device(torch: Any, cupy: Any) -> None:
    x = of_torch(VALUES, 1)
    fails = ElementwiseKernel("T x", "T y", "y = undeclared(x)", "fails")
    for call in (lambda: fails(x), lambda: ADD(x, of_torch(VALUES[:3], 1))):
        with pytest.raises(kerneltk.errors.KernelToolkitError):
            call()
        assert cupy.cuda.runtime.getDevice() == torch.cuda.current_device() == 0


def test_a_jax_array_of_both_devices(jax: Any) -> None:
    from jax.sharding import Mesh, NamedSharding, PartitionSpec

    mesh = Mesh(np.array(jax.devices("gpu")[:2]), "x")
    array = jax.device_put(VALUES, NamedSharding(mesh, PartitionSpec("x")))
    with pytest.raises(ArgumentTypeError, match="cannot be read"):
        ADD(array, 1.0)


# -- arrays of CuPy --

AXPY = r"""
__device__ int launches;
extern "C" __global__ void axpy(int n, float a, const float* x, float* y) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i == 0) atomicAdd(&launches, 1);
    if (i < n) y[i] = a * x[i] + y[i];
}
"""


def on(device: int, n: int = 1000) -> tuple[Any, Any]:
    import cupy

    with cupy.cuda.Device(device):
        return cupy.arange(n, dtype=np.float32), cupy.ones(n, np.float32)


def test_each_device_has_a_module_of_its_own(cupy: Any) -> None:
    module = kerneltk.RawModule(code=AXPY)
    kernel = module.get_function("axpy")
    for device in (0, 1, 0, 1, 1):
        x, y = on(device)
        with cupy.cuda.Device(device):
            kernel(4, 256, (1000, 2, x, y))
            np.testing.assert_array_equal(y.get(), 2 * np.arange(1000) + 1)
    for device, count in ((0, 2), (1, 3)):
        with cupy.cuda.Device(device):
            launches = module.get_array("launches")
            assert launches.data.device_id == device
            assert launches.item() == count


def test_an_array_of_another_device(cupy: Any) -> None:
    kernel = kerneltk.RawKernel(AXPY, "axpy")
    far, y = on(1)[0], on(0)[1]
    reachable = cupy.cuda.runtime.deviceCanAccessPeer(0, 1)
    with cupy.cuda.Device(0):
        if reachable:
            kernel(4, 256, (1000, 2, far, y))
            np.testing.assert_array_equal(y.get(), 2 * np.arange(1000) + 1)
        else:
            with pytest.raises(ArgumentValueError, match="'x' is on device 1"):
                kernel(4, 256, (1000, 2, far, y))
            np.testing.assert_array_equal(y.get(), 1)


def test_expression_kernels(cupy: Any) -> None:
    axpb = kerneltk.ElementwiseKernel("T x, T a, T b", "T y", "y = a * x + b")
    total = kerneltk.ReductionKernel("T x", "T y", "x", "a + b", "y = a", "0")
    for device in (1, 0, 1):
        x, _ = on(device, 100000)
        with cupy.cuda.Device(device):
            y = axpb(x, 2, 1)
            assert y.data.device_id == device
            np.testing.assert_array_equal(y.get(), 2 * x.get() + 1)
            assert total(x).item() == pytest.approx(float(x.get().sum(dtype=np.float64)), rel=1e-6)


def test_threads_on_their_own_devices(cupy: Any) -> None:
    kernel = kerneltk.RawKernel(AXPY, "axpy")

    def work(device: int) -> bool:
        with cupy.cuda.Device(device):
            x = cupy.arange(1000, dtype=np.float32)
            ys = [cupy.zeros(1000, np.float32) for _ in range(200)]
            for y in ys:
                kernel(4, 256, (1000, device + 1, x, y))
            return all((y == (device + 1) * x).all() for y in ys)

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(work, (0, 1, 0, 1)))


def test_a_stream_of_another_device_is_refused_by_name(cupy: Any) -> None:
    axpb = kerneltk.ElementwiseKernel("T x, T a, T b", "T y", "y = a * x + b")
    raw = kerneltk.RawKernel(AXPY, "axpy")
    with cupy.cuda.Device(1):
        stream = cupy.cuda.Stream(non_blocking=True)
    x, y = on(0)
    said = r"'stream' is a stream of device 1, and the kernel is launched on device 0\."
    with cupy.cuda.Device(0):
        for given in (stream, stream.ptr):
            with pytest.raises(ArgumentValueError, match=said):
                axpb(x, 2, 1, y, stream=given)
            with pytest.raises(ArgumentValueError, match=said):
                raw(4, 256, (1000, 2, x, y), stream=given)
        raw(4, 256, (1000, 2, x, y))
        np.testing.assert_array_equal(y.get(), 2 * x.get() + 1)

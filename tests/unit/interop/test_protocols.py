"""Arrays that break their protocols: whatever their classes do, errors are this package's own."""

from __future__ import annotations

import mmap
import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

from kerneltk import ArgumentTypeError, ArgumentValueError, KernelToolkitError
from kerneltk.interop.protocols import cuda_memory, dlpack_memory, is_mapped

from .. import fake_torch
from ..dry_gpu import DryGpu, gpu  # noqa: F401 (a fixture)
from ..fake_torch import Tensor
from ..front_ends import each_front_end, size_of_output


class Fault(Exception):  # noqa: N818 (somebody else's)
    pass


def having(**members: Any) -> Any:
    """Return an object of a class whose attributes are these; exceptions among them are raised."""

    def raising(error: Exception) -> property:
        def get(self: Any) -> Any:
            raise error

        return property(get)

    found = {
        name: raising(member) if isinstance(member, Exception) else member
        for name, member in members.items()
    }
    return type("Foreign", (), found)()


def calling(result: Any) -> Any:
    """Return a method that returns, or raises, this."""

    def method(self: Any, *args: Any, **options: Any) -> Any:
        if isinstance(result, Exception):
            raise result
        return result

    return method


MEMORY = np.zeros(4, np.float32)
RIGHT = {
    "version": 3,
    "shape": (4,),
    "typestr": "<f4",
    "data": (MEMORY.ctypes.data, False),
}


def without(*keys: str) -> dict[str, Any]:
    return {key: value for key, value in RIGHT.items() if key not in keys}


WRONG: dict[str, Any] = {
    "raising": Fault("in the property"),
    "none": None,
    "empty": {},
    "no shape": without("shape"),
    "no typestr": without("typestr"),
    "shape a number": {**RIGHT, "shape": 4},
    "shape negative": {**RIGHT, "shape": (-4,)},
    "shape endless": {**RIGHT, "shape": (2**70,)},
    "typestr a number": {**RIGHT, "typestr": 4},
    "typestr unknown": {**RIGHT, "typestr": "<q9"},
    "typestr of objects": {**RIGHT, "typestr": "|O"},
    "data a pair of texts": {**RIGHT, "data": ("here", False)},
    "data beyond": {**RIGHT, "data": (2**80, False)},
    "data negative": {**RIGHT, "data": (-4096, False)},
    "no memory": {**RIGHT, "data": (0, False)},
    "strides a number": {**RIGHT, "strides": 4},
    "strides too many": {**RIGHT, "strides": (4, 4)},
    "strides endless": {**RIGHT, "strides": (2**62,)},
}
ON_HOST: dict[str, Any] = {
    **{f"interface: {name}": having(__array_interface__=wrong) for name, wrong in WRONG.items()},
    # Where no memory is, a read ends the process.
    "interface: nothing there": having(__array_interface__={**RIGHT, "data": (4096, False)}),
    "interface: ends beyond": having(__array_interface__={**RIGHT, "shape": (2**44,)}),
    "interface: a mask": having(__array_interface__={**RIGHT, "mask": MEMORY}),
}
_DLPACK: dict[str, dict[str, Any]] = {
    "device raising": {"__dlpack_device__": Fault("in the property")},
    "device's call raising": {"__dlpack_device__": calling(Fault("in the method"))},
    "device none": {"__dlpack_device__": calling(None)},
    "device of texts": {"__dlpack_device__": calling(("cpu", 0))},
    "device unknown": {"__dlpack_device__": calling((99, 0))},
    "raising": {"__dlpack__": Fault("in the property")},
    "call raising": {"__dlpack__": calling(Fault("in the method"))},
    "no method": {"__dlpack__": 5},
    "no capsule": {"__dlpack__": calling(5)},
}
ON_HOST |= {
    f"dlpack: {name}": having(
        **{"__dlpack__": calling(None), "__dlpack_device__": calling((1, 0)), **members}
    )
    for name, members in _DLPACK.items()
}
ON_GPU: dict[str, Any] = {
    f"interface: {name}": having(__cuda_array_interface__=wrong) for name, wrong in WRONG.items()
}
ON_GPU |= {
    "interface: no data": having(__cuda_array_interface__=without("data")),
    "interface: data of three": having(__cuda_array_interface__={**RIGHT, "data": (1, 2, 3)}),
    "interface: a mask": having(__cuda_array_interface__={**RIGHT, "mask": MEMORY}),
    "interface: stream a text": having(__cuda_array_interface__={**RIGHT, "stream": "s"}),
    "interface: stream negative": having(__cuda_array_interface__={**RIGHT, "stream": -1}),
    "interface: dtype raising": having(
        __cuda_array_interface__={**RIGHT, "typestr": "|V2"}, dtype=Fault("in the property")
    ),
    "interface: descr unknown": having(
        __cuda_array_interface__={**RIGHT, "typestr": "|V2", "descr": [("x", "<q9")]}
    ),
}


def assert_own(launch: Any, size: int, name: str, given: Any) -> None:
    """Assert that a launch refuses an array, as an input and as an output."""
    right = np.zeros(4, np.float32), np.zeros(size, np.float32)
    for args in ((given, right[1]), (right[0], given)):
        with pytest.raises(KernelToolkitError) as caught:
            launch(*args)
        error: BaseException | None = caught.value
        if any(isinstance(member, Fault) for member in vars(type(given)).values()):
            assert isinstance(error, ArgumentTypeError), name
        while error is not None and not isinstance(error, Fault):
            error = error.__cause__
        if "Fault" in str(caught.value):
            assert isinstance(error, Fault), name


@each_front_end
def test_in_host_memory(make: Any) -> None:
    launch, size = make(), size_of_output(make)
    for name, given in ON_HOST.items():
        assert_own(launch, size, name, given)


@each_front_end
def test_on_a_gpu(make: Any, gpu: DryGpu) -> None:  # noqa: F811
    launch, size = make(), size_of_output(make)
    for name, given in ON_GPU.items():
        for args in ((given, gpu.array(size)), (gpu.array(4), given)):
            gpu.log.append(("try", name))  # which one it was, where it does not raise
            with pytest.raises(KernelToolkitError):
                launch(*args)
    assert not [entry for entry in gpu.log if entry[0] == "launch"]


def test_memory_that_no_gpu_reaches(gpu: DryGpu, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: F811
    import cupy

    from kerneltk.backends import foreign_arrays

    nowhere = SimpleNamespace(type=0, device=-2)
    monkeypatch.setattr(cupy.cuda.runtime, "pointerGetAttributes", lambda address: nowhere)
    attributes = {"PageableMemoryAccess": 0}
    monkeypatch.setattr(cupy.cuda, "Device", lambda: SimpleNamespace(attributes=attributes))
    given = having(__cuda_array_interface__=RIGHT)
    with pytest.raises(ArgumentValueError, match="where there is no memory that a GPU reaches"):
        foreign_arrays.own_array(given)
    # Where it reaches what the process has, that is enough.
    attributes["PageableMemoryAccess"] = 1
    assert foreign_arrays.own_array(given)[1].shape == (4,)
    with pytest.raises(ArgumentValueError, match="lie at 0x1000, where there is no memory"):
        foreign_arrays.own_array(having(__cuda_array_interface__={**RIGHT, "data": (4096, False)}))


@each_front_end
def test_causes_are_kept(make: Any) -> None:
    for name in ("__array_interface__", "__dlpack_device__", "__dlpack__"):
        members: dict[str, Any] = {name: Fault("of the class")}
        if name == "__dlpack_device__":
            members["__dlpack__"] = calling(None)
        said = f"'{name}'.* cannot be read: Fault: of the class"
        with pytest.raises(ArgumentTypeError, match=said) as caught:
            make()(having(**members), np.zeros(size_of_output(make), np.float32))
        assert isinstance(caught.value.__cause__, Fault)


# -- what is right -------------------------------------------------------------------------------


def test_an_interface_says_where_elements_lie() -> None:
    memory, stream = cuda_memory(None, {**RIGHT, "shape": (2, 2), "stream": 7})
    assert (memory.shape, memory.strides, memory.dtype, stream) == ((2, 2), (8, 4), np.float32, 7)
    memory, stream = cuda_memory(None, {**RIGHT, "strides": (-4,), "stream": None})
    assert (memory.strides, memory.extent, stream) == ((-4,), (-12, 4), None)
    record = [("x", "<i2"), ("y", "<f2")]
    memory, _ = cuda_memory(None, {**RIGHT, "typestr": "|V4", "descr": record})
    assert memory.dtype == np.dtype(record)
    memory, _ = cuda_memory(None, {**RIGHT, "typestr": "|V4", "descr": [("", "|V4")]})
    assert memory.dtype == np.dtype("V4")
    empty, _ = cuda_memory(None, {**RIGHT, "shape": (0, 3), "data": (0, False)})
    assert empty.extent == (0, 0)


def test_a_dtype_that_the_protocol_has_no_name_for() -> None:
    import ml_dtypes

    wanted = np.dtype(ml_dtypes.bfloat16)
    memory, _ = cuda_memory(having(dtype=wanted), {**RIGHT, "typestr": "<V2"})
    assert memory.dtype == wanted


def test_where_elements_lie_that_dlpack_describes() -> None:
    whole = np.arange(24.0).reshape(4, 6)
    for array in (whole[::-2, 1::3], whole.T, whole[:0], whole > 2, np.array(2j)):
        given = having(__dlpack__=lambda self, array=array, **options: array.__dlpack__())
        memory = dlpack_memory(given, 1)
        assert (memory.dtype, memory.shape) == (array.dtype, array.shape)
        assert memory.strides == array.strides or not array.size
        assert memory.address == array.ctypes.data


# -- torch's tensors, by a class that has their attributes ---------------------------------------


@pytest.fixture
def torch(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    module = fake_torch.module()
    monkeypatch.setitem(sys.modules, "torch", module)
    return module


def changed(**members: Any) -> Tensor:
    tensor = Tensor(np.zeros(4, np.float32))
    for name, member in members.items():
        setattr(tensor, name, member)
    return tensor


def raising(*args: Any) -> Any:
    raise Fault("in the method")


TENSORS: dict[str, tuple[dict[str, Any], str]] = {
    "sparse": ({"layout": "torch.sparse_coo"}, "layout 'torch.sparse_coo' cannot be passed"),
    "quantized": ({"dtype": fake_torch.Dtype("quint8")}, "dtype 'torch.quint8' cannot be passed"),
    "unknown": ({"dtype": fake_torch.Dtype("float8_none")}, "'torch.float8_none' needs"),
    "on meta": ({"device": SimpleNamespace(type="meta", index=None)}, "kernels do not reach"),
    "wrapped": ({"data_ptr": raising}, "cannot be read: Fault: in the method"),
    "freed": ({"data_ptr": lambda: 0}, "has no memory: its address is zero"),
    "no device": ({"device": None}, "'device' of an object of type 'Tensor' cannot be read"),
}


@each_front_end
def test_tensors_that_cannot_be_taken(make: Any, torch: ModuleType) -> None:
    launch, y = make(), np.zeros(size_of_output(make), np.float32)
    for members, said in TENSORS.values():
        with pytest.raises(KernelToolkitError, match=said):
            launch(changed(**members), y)


@pytest.mark.one_in(4)
@each_front_end
def test_gradients_on_the_host(make: Any, torch: Any) -> None:
    x = Tensor(np.ones(4, np.float32), requires_grad=True)
    y = Tensor(np.zeros(size_of_output(make), np.float32))
    launch = make()
    launch(x, y)
    assert y.array.any()
    assert y.version == 1
    y.requires_grad = True
    with pytest.raises(ArgumentValueError, match=r"requires a gradient(.|\n)*'y\.detach\(\)'"):
        launch(x, y)
    torch.is_grad_enabled = lambda: False
    launch(x, y)


def test_bfloat16_and_float8(torch: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    import ml_dtypes

    from kerneltk import ElementwiseKernel, RawKernel

    twice = ElementwiseKernel("T x", "T y", "y = x + x", "twice")
    x = Tensor(np.ones(3, np.uint16), "bfloat16")
    x.array[:] = np.ones(3, ml_dtypes.bfloat16).view("u2")
    y = twice(x)
    assert type(y) is Tensor
    assert y.dtype.name == "bfloat16"
    assert y.array.astype(float).tolist() == [2, 2, 2]
    small = Tensor(np.zeros(3, np.uint8), "float8_e4m3fn")
    with pytest.raises(ArgumentTypeError, match="dtype 'float8_e4m3fn' has no C type"):
        twice(small)
    code = 'extern "C" __global__ void f(unsigned char* x) { x[0] = 7; }'
    RawKernel(code, "f")(1, 1, (small,))
    assert small.array[0] == 7
    monkeypatch.setitem(sys.modules, "ml_dtypes", None)
    for tensor, name in ((x, "bfloat16"), (small, "float8_e4m3fn")):
        with pytest.raises(ArgumentTypeError, match=rf"{name}'(.|\n)*Hint: install 'ml_dtypes'"):
            twice(tensor)


def test_lazy_views_are_read_as_what_they_stand_for(torch: ModuleType) -> None:
    from kerneltk import ElementwiseKernel

    same = ElementwiseKernel("T x", "T y", "y = x", "same")
    x = Tensor(np.array([1 + 2j], np.complex64))
    x.is_lazy = True
    assert same(x).array.tolist() == [1 - 2j]
    with pytest.raises(ArgumentValueError, match="it is a lazy view of other numbers"):
        same(np.ones(1, np.complex64), x)


def test_results_that_torch_has_no_dtype_for(torch: ModuleType) -> None:
    from kerneltk import ElementwiseKernel

    pair = np.dtype([("a", "<f4"), ("b", "<f4")], align=True)
    kernel = ElementwiseKernel("raw T pairs, float32 x", "T y", "y = pairs[0]", "first")
    with pytest.raises(ArgumentTypeError, match=r"(?s)cannot be given back.*Hint: give the output"):
        kernel(np.zeros(1, pair), Tensor(np.zeros(2, np.float32)))


# -- memory of this process, and other addresses --------------------------------------------------


def test_what_is_no_memory() -> None:
    for address in (0, 1, -1, -mmap.PAGESIZE, 2**64 - 1, 2**64, 2**70):
        assert not is_mapped(address, 8)
    assert not is_mapped(2**64 - 8, 16)


def test_the_last_byte_is_looked_at() -> None:
    with mmap.mmap(-1, 4 * mmap.PAGESIZE) as memory:
        view = np.frombuffer(memory, np.uint8)
        begin = view.ctypes.data
        end = begin + len(view)
        del view
        assert is_mapped(begin, 4 * mmap.PAGESIZE)
        assert is_mapped(end - 1, 1)
    assert not is_mapped(begin, 1)
    assert not is_mapped(end - 1, 1)

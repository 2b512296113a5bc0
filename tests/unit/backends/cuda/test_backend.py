"""The CUDA backend, as far as it needs no GPU."""

from __future__ import annotations

import ctypes
import threading
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import cupy
import numpy as np
import pytest
from cuda.bindings import driver

from kerneltk.backends.cuda import backend as backend_module
from kerneltk.backends.cuda.backend import CudaBackend, CudaLaunchError
from kerneltk.core.artifacts import TranslationUnit
from kerneltk.errors import ArgumentTypeError


def test_the_driver_is_given_a_pointer_to_the_block() -> None:
    backend = CudaBackend.__new__(CudaBackend)  # made whole, it would ask for a GPU
    memory, pointers, _owner, offsets = backend.make_buffer(64, 32, b"constants")
    assert offsets == (0,)
    memory[:5] = b"front"
    address = ctypes.c_void_p.from_address(pointers).value
    assert address is not None
    assert ctypes.string_at(address, 64)[:5] == b"front"
    assert ctypes.string_at(address, 64)[32:41] == b"constants"
    with pytest.raises(ArgumentTypeError, match="take 4112 bytes; a launch can pass 4096"):
        backend.make_buffer(4112, 0, b"")


def test_parameters_of_raw_kernels_have_their_addresses() -> None:
    backend = CudaBackend.__new__(CudaBackend)
    for size, offsets in ((24, [0, 8, 16]), (0, []), (1, [0])):
        memory, pointers, _owner, known = backend.make_parameters(size, offsets)
        assert known == (tuple(offsets) or (0,))
        found = (ctypes.c_void_p * max(len(offsets), 1)).from_address(pointers)
        for k, offset in enumerate(offsets):
            memory[offset] = 7 + k
            assert ctypes.c_ubyte.from_address(found[k] or 0).value == 7 + k
    with pytest.raises(ArgumentTypeError, match="take 32768 bytes; a launch can pass 32764"):
        backend.make_parameters(32768, [0])


# -- errors ---------------------------------------------------------------------------------------


@pytest.mark.gpu
def test_what_the_driver_says_is_told() -> None:
    backend_module.check(driver.CUresult.CUDA_SUCCESS, "Nothing")
    with pytest.raises(
        CudaLaunchError, match=r"\ALoading failed: CUDA_ERROR_INVALID_IMAGE, .*\.\Z"
    ):
        backend_module.check(driver.CUresult.CUDA_ERROR_INVALID_IMAGE, "Loading")


class FailureError(cupy.cuda.driver.CUDADriverError):  # type: ignore[misc]
    """An error of the driver; CuPy's own asks the driver for its name."""

    def __init__(self, status: int) -> None:
        RuntimeError.__init__(self, f"error {status}")
        self.status = status


def failed(*statuses: int) -> list[int]:
    """Let launches fail with these statuses one after the other; return what was launched."""
    backend = CudaBackend.__new__(CudaBackend)
    launched: list[int] = []
    left = list(statuses[1:])

    def launch(number: int) -> None:
        launched.append(number)
        if left:
            raise FailureError(left.pop(0))

    backend.launch_failed(FailureError(statuses[0]), launch, (5,))
    return launched


@pytest.fixture
def bound(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How often a context was made current."""
    found: list[int] = []
    monkeypatch.setattr(backend_module, "_bind_context", lambda: found.append(1))
    return found


@pytest.mark.parametrize("status", [3, 201, 709])
def test_a_launch_without_a_context_is_made_again(status: int, bound: list[int]) -> None:
    assert failed(status) == [5]
    assert bound == [1]
    with pytest.raises(CudaLaunchError, match=r"The launch failed: error \d+\.") as caught:
        failed(status, 700)
    assert caught.value.status == 700


def test_other_failures_are_told(bound: list[int]) -> None:
    with pytest.raises(CudaLaunchError, match=r"The launch failed: error \d+\.") as caught:
        failed(719)
    assert caught.value.status == 719
    own = CudaLaunchError("own", 1)
    with pytest.raises(CudaLaunchError) as caught:
        CudaBackend.__new__(CudaBackend).launch_failed(own, None, ())
    assert caught.value is own
    assert bound == []


# -- scratch memory --------------------------------------------------------------------------------


class Memory:
    """Allocates by counting."""

    def __init__(self) -> None:
        self.sizes: list[int] = []

    def allocate(self, size: int) -> Any:
        self.sizes.append(size)
        return SimpleNamespace(ptr=len(self.sizes) << 30, memset_async=lambda *args: None)


@pytest.fixture
def scratch(monkeypatch: pytest.MonkeyPatch) -> Memory:
    made = Memory()
    monkeypatch.setattr(backend_module, "_scratch", {})
    monkeypatch.setattr(backend_module.streams, "lasting_memory", made.allocate)
    monkeypatch.setattr(backend_module, "stream_of", lambda stream: nullcontext())
    monkeypatch.setattr(cupy.cuda.runtime, "getDevice", lambda: 0)
    monkeypatch.setattr(backend_module, "is_capturing", lambda stream: False)
    return made


STEP = backend_module._SCRATCH_STEP


def test_launches_of_a_stream_share_memory(scratch: Memory) -> None:
    take = backend_module._scratch_for
    first = take(7, 10)
    assert take(7, 1) == take(7, STEP) == first
    assert scratch.sizes == [STEP]
    other = take(8, 10)
    assert other != first
    larger = take(7, STEP + 1)
    assert scratch.sizes == [STEP, STEP, 2 * STEP]
    assert take(7, 10) == take(7, 2 * STEP) == larger
    assert take(8, 10) == other
    take(7, 9 * STEP + 1)
    assert scratch.sizes[-1] == 10 * STEP


def test_devices_have_memory_of_their_own(scratch: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    first = backend_module._scratch_for(7, 10)
    monkeypatch.setattr(cupy.cuda.runtime, "getDevice", lambda: 1)
    assert backend_module._scratch_for(7, 10) != first


def test_each_thread_has_memory_for_its_own_default_stream(scratch: Memory) -> None:
    found: list[int] = []
    threads = [
        threading.Thread(target=lambda: found.append(backend_module._scratch_for(2, 10)))
        for _ in range(3)
    ]
    for thread in threads:
        thread.start()
        thread.join()
    assert len(set(found)) == 3
    assert backend_module._scratch_for(2, 10) == backend_module._scratch_for(2, 10)
    one = threading.Thread(target=lambda: found.append(backend_module._scratch_for(7, 10)))
    one.start()
    one.join()
    assert found[-1] == backend_module._scratch_for(7, 10)


# -- on a GPU --------------------------------------------------------------------------------------

CODE = """
__constant__ int table[3];
extern "C" __global__ void __launch_bounds__(128) f(float* x, char c, double d) {
    __shared__ float s[64];
    s[threadIdx.x % 64] = c;
    __syncthreads();
    x[threadIdx.x] = s[0] + d + table[1];
}
"""


@pytest.fixture
def loaded() -> Any:
    """A backend, a module of `CODE` and its kernel."""
    backend = CudaBackend()
    unit = TranslationUnit("cuda", CODE, "f", raw=True)
    module = backend.load_module(backend.compile(unit, backend.target(unit)))
    return backend, module, module.function("f")


@pytest.mark.gpu
def test_what_the_driver_tells_of_a_function(loaded: Any) -> None:
    backend, _, function = loaded
    assert backend.parameter_places(function) in (((0, 8), (8, 1), (16, 8)), None)
    limits = backend.limits(function)
    assert limits.threads == 128
    assert limits.block[2] == 64
    assert limits.grid[1:] == (65535, 65535)
    assert limits.shared >= (48 << 10) - 256
    assert 0 < backend.suggest_block(function, 0) <= 128
    assert backend.attributes(function)["shared_size_bytes"] >= 256
    backend.allow_shared(function, 0)
    before = backend.attributes(function)["max_dynamic_shared_size_bytes"]
    backend.allow_shared(function, 16)
    assert backend.attributes(function)["max_dynamic_shared_size_bytes"] == before
    backend.allow_shared(function, limits.shared)
    assert backend.attributes(function)["max_dynamic_shared_size_bytes"] == limits.shared
    with pytest.raises(CudaLaunchError, match="Setting 'max_dynamic_shared_size_bytes'"):
        backend.set_attribute(function, "max_dynamic_shared_size_bytes", 1 << 30)


@pytest.mark.gpu
def test_variables_of_a_module(loaded: Any) -> None:
    backend, module, _ = loaded
    address, size = module.variable("table")
    assert size == 12
    table = backend.variable_array(address, np.dtype("i4"), (3,), module)
    table[...] = cupy.arange(3, dtype=np.int32)
    assert table.get().tolist() == [0, 1, 2]
    with pytest.raises(CudaLaunchError, match="Finding the variable 'none'"):
        module.variable("none")
    with pytest.raises(CudaLaunchError, match="Finding the kernel 'none'"):
        module.function("none")
    assert backend.check_address(address) == ""
    assert backend.check_address(8) != ""


@pytest.mark.gpu
def test_arrays_are_described() -> None:
    backend = CudaBackend()
    base = cupy.zeros(64, np.uint8)
    array = base[4:36].view(np.float32)[::-2]
    spec, address = backend.describe(array)
    assert address == base.data.ptr + 4 + 28
    assert (spec.dtype, spec.shape, spec.strides) == (np.dtype("f4"), (4,), (-8,))
    assert spec.offset == address % 16
    record = np.array([(1, 2.0)], [("a", "i4"), ("b", "f4")])[0]
    lent = backend.lend(record, 16, None)
    assert lent.get().tobytes() == record.tobytes()
    lent[:4] = 0
    backend.take_back(lent, record, None)
    assert record.tolist() == (0, 2.0)

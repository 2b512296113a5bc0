"""A GPU that runs nothing: launches, events and allocations are written down in order.

Arrays are CuPy's around host memory that nobody reads, kernels are compiled by NVRTC for real and
loaded by nobody. So a call's whole way to its launch is tested without a device.
"""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from functools import lru_cache
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from kerneltk import pipeline
from kerneltk.backends import base
from kerneltk.backends.base import Function, GridLimits
from kerneltk.launch import loops

from . import fake_torch

CUPY, TORCH = 11, 22  # the libraries' current streams
ON_OTHER = 100  # what the second device's are more


class DryGpu:
    """What was asked of the device.

    Attributes
    ----------
    log : list of tuple
        ``("launch", stream)``, ``("record", stream)``, ``("wait", stream)``,
        ``("allocate", library, stream)``, where `stream` is the library's current one.
    launches : list of tuple
        The arguments of ``cuLaunchKernel``.
    at_launch : callable
        Given these arguments at the launch: the parameters may be on a stack.
    capturing : set of int
        Streams that are captured.
    device : int
        The current one.
    used : list of tuple
        ``("launch", device)`` and ``("scratch", device)``, with the current one.
    torch : module
    stream_function : int
        The address of what returns CuPy's current stream; 0 for none.
    """

    stream_function = 0

    def __init__(self, patch: pytest.MonkeyPatch, devices: int = 1) -> None:
        import cupy

        from kerneltk.backends.cuda import backend, streams

        self.log: list[tuple[Any, ...]] = []
        self.launches: list[tuple[Any, ...]] = []
        self.at_launch: Callable[[tuple[Any, ...]], object] = lambda arguments: None
        self.capturing: set[int] = set()
        self.current: dict[Any, int] = {"cupy": CUPY, "torch": TORCH}
        for device in range(1, devices):
            self.current["cupy", device] = CUPY + ON_OTHER * device
            self.current["torch", device] = TORCH + ON_OTHER * device
        self.device = 0
        self.used: list[tuple[str, int]] = []
        self.kept: list[Any] = []
        self._cupy = cupy
        runtime = cupy.cuda.runtime
        patch.setattr(runtime, "getDeviceCount", lambda: devices)
        patch.setattr(runtime, "getDevice", lambda: self.device)
        patch.setattr(runtime, "eventRecord", lambda event, stream: self._note("record", stream))
        patch.setattr(runtime, "streamWaitEvent", lambda stream, event: self._note("wait", stream))
        patch.setattr(runtime, "streamIsCapturing", lambda stream: stream in self.capturing)
        where = SimpleNamespace(type=2, device=0)
        patch.setattr(runtime, "pointerGetAttributes", lambda address: where)
        patch.setattr(cupy.cuda, "Device", self._device)
        patch.setattr(cupy.cuda, "Event", lambda **options: SimpleNamespace(ptr=1, done=True))
        patch.setattr(cupy.cuda, "get_current_stream", self._current_stream)
        patch.setattr(backend, "current_stream_function", lambda: self.stream_function)
        patch.setattr(cupy.cuda.driver, "launchKernel", self._launch)
        patch.setattr(streams, "stream_of", self._within)
        patch.setattr(streams, "_kept", deque())
        patch.setattr(streams, "relaxed_capture", nullcontext)
        # Launchers that are written hold what launches, and the kernel that copies has launchers.
        patch.setattr(loops, "_loop_launcher", lru_cache(loops._loop_launcher.__wrapped__))
        patch.setattr(loops, "_copier", lru_cache(loops._copier.__wrapped__))
        for known in ("_functions", "_modules"):  # what is loaded here is loaded nowhere
            patch.setattr(pipeline, known, {})
        patch.setattr(backend, "stream_of", self._within)
        patch.setattr(backend, "_architecture_of", lambda device: "sm_90")
        patch.setattr(backend, "_multiprocessors", lambda device: 132)
        patch.setattr(backend, "_is_cooperative", lambda device: True)
        patch.setattr(backend, "_scratch_for", lambda stream, size: self._scratch(stream) or 64)
        backend = backend.CudaBackend
        patch.setattr(backend, "load", lambda own, code: Function(1))
        module = SimpleNamespace(function=lambda symbol: Function(1))
        patch.setattr(backend, "load_module", lambda own, code, is_private=True: module)
        limits = GridLimits(1024, (1024, 1024, 64), (2**31 - 1, 65535, 65535), 227 << 10)
        patch.setattr(backend, "limits", lambda own, function: limits)
        patch.setattr(backend, "parameter_places", lambda own, function: None)
        patch.setattr(backend, "allow_shared", lambda own, function, size: None)
        made = backend()
        patch.setitem(base._loaded, "cuda", made)
        self.torch = fake_torch.module()
        self.torch.cuda = SimpleNamespace(
            current_stream=lambda device: SimpleNamespace(
                cuda_stream=self.current[_key("torch", device)]
            ),
            default_stream=lambda device: 0,
            ExternalStream=lambda stream, device: stream,
            stream=lambda stream: self._on("torch", stream),
        )
        self.torch.device = lambda kind, index: f"{kind}:{index}" if index else kind
        self.torch.empty = self._empty_tensor
        patch.setitem(sys.modules, "torch", self.torch)

    def _note(self, *entry: Any) -> None:
        self.log.append(entry)

    def _launch(self, *arguments: Any) -> None:
        self.launches.append(arguments)
        self.at_launch(arguments)
        self.used.append(("launch", self.device))
        self._note("launch", arguments[8])

    def _scratch(self, stream: int) -> None:
        self.used.append(("scratch", self.device))
        self._note("scratch", stream)

    @contextmanager
    def _device(self, number: int = 0) -> Iterator[None]:
        before, self.device = self.device, number
        try:
            yield
        finally:
            self.device = before

    def _current_stream(self, device: int | None = None) -> Any:
        return SimpleNamespace(ptr=self.current[_key("cupy", self.device, device)])

    @contextmanager
    def _on(self, library: str, stream: int) -> Iterator[Any]:
        key = _key(library, self.device)
        before = self.current[key]
        self.current[key] = stream
        try:
            yield SimpleNamespace(ptr=stream)
        finally:
            self.current[key] = before

    def _within(self, handle: int) -> Any:
        return self._on("cupy", handle)

    def _empty_tensor(self, size: int, dtype: Any, device: str) -> Any:
        number = int(device.partition(":")[2] or 0)
        self._note("allocate", "torch", self.current[_key("torch", number)])
        return fake_torch.Tensor(np.zeros(size, np.uint8), device=device)

    def _allocate(self, size: int) -> Any:
        self._note("allocate", "cupy", self.current[_key("cupy", self.device)])
        memory = np.zeros(size, np.uint8)
        self.kept.append(memory)
        block = self._cupy.cuda.UnownedMemory(memory.ctypes.data, size, memory, self.device)
        return self._cupy.cuda.MemoryPointer(block, 0)

    @contextmanager
    def allocating(self) -> Iterator[None]:
        """Let CuPy allocate here."""
        with self._cupy.cuda.using_allocator(self._allocate):
            yield

    def array(self, *shape: int, dtype: Any = np.float32, device: int = 0) -> Any:
        """Return an array of CuPy's."""
        with self._device(device), self.allocating():
            made = self._cupy.ndarray(shape, dtype)
        self.log.clear()
        return made

    def tensor(self, *shape: int, dtype: Any = np.float32, device: int = 0, **options: Any) -> Any:
        """Return a tensor of torch's."""
        where = f"cuda:{device}" if device else "cuda"
        return fake_torch.Tensor(np.zeros(shape, dtype), device=where, **options)


def _key(library: str, *devices: int | None) -> Any:
    """The key of a library's current stream on the last of these devices that is none."""
    *_, device = (found for found in devices if found is not None)
    return (library, device) if device else library


@pytest.fixture
def two_gpus(monkeypatch: pytest.MonkeyPatch) -> Iterator[DryGpu]:
    """Return two devices, the first of which is current."""
    made = DryGpu(monkeypatch, 2)
    with made.allocating():
        yield made


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> Iterator[DryGpu]:
    """Return the device, which every kernel's launch goes to."""
    made = DryGpu(monkeypatch)
    with made.allocating():
        yield made

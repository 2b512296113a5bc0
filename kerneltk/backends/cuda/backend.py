"""The CUDA backend: CuPy arrays, NVRTC, and the driver's launch call.

Beside it only `device_arrays` and `streams` import CuPy, and compilers the CUDA driver's kin.
"""

from __future__ import annotations

import ctypes
import itertools
import math
import threading
import warnings
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import cache, partial
from pathlib import Path
from types import ModuleType
from typing import Any

import cupy
import numpy as np
from cuda.bindings import driver

from kerneltk.backends.base import (
    ArrayAccess,
    Executable,
    Function,
    GridLimits,
    LaunchCall,
    LaunchMode,
    LaunchValue,
    ParameterBlock,
    RecordedLaunch,
    capabilities_of,
    make_block,
    record_bytes,
)
from kerneltk.backends.cuda import compilers, nvrtc, streams
from kerneltk.backends.cuda.architectures import has_clusters
from kerneltk.backends.cuda.array_layout import array_layout
from kerneltk.backends.cuda.cupy_functions import current_stream_function, new_array_function
from kerneltk.backends.cuda.graphs import CaptureGuard, GraphLaunches
from kerneltk.backends.cuda.status import CudaCompileError, CudaLaunchError, as_cupys, check
from kerneltk.backends.cuda.streams import is_capturing, relaxed_capture, stream_of
from kerneltk.core.arrays import ArraySpec
from kerneltk.core.artifacts import COUNTERS, ObjectCode, Target, TranslationUnit
from kerneltk.errors import (
    ArgumentTypeError,
    ArgumentValueError,
    BackendUnavailableError,
    CompileError,
    KernelToolkitError,
    LaunchError,
)
from kerneltk.interop.exchange import ImportFunctions
from kerneltk.interop.protocols import Memory, is_mapped
from kerneltk.interop.streams import Home
from kerneltk.interop.texture_objects import What


@cache
def _architecture_of(device: int) -> str:
    return f"sm_{cupy.cuda.Device(device).compute_capability}"


@cache
def _multiprocessors(device: int) -> int:
    return int(cupy.cuda.Device(device).attributes["MultiProcessorCount"])


_WAITING_SHARED = 112 << 10
"""Shared memory (bytes) of a block that waits for others, two of which are resident at a time."""
_RESERVED_SHARED = 1 << 10  # of each block, by the driver


@cache
def _is_cooperative(device: int) -> bool:
    """Whether blocks can wait for each other there; not all that have clusters have the memory."""
    found = cupy.cuda.Device(device).attributes
    largest = int(found["MaxSharedMemoryPerBlockOptin"])
    together = int(found["MaxSharedMemoryPerMultiprocessor"])
    has_memory = largest >= _WAITING_SHARED and together >= 2 * (_WAITING_SHARED + _RESERVED_SHARED)
    return bool(found["CooperativeLaunch"]) and has_memory


class CudaBackend:
    """CuPy arrays on GPUs; implements `kerneltk.backends.base.Backend`."""

    capabilities = capabilities_of("cuda")
    name = capabilities.name
    array_type: type = cupy.ndarray
    array_library = cupy

    def __init__(self) -> None:
        try:
            several = cupy.cuda.runtime.getDeviceCount() > 1
        except cupy.cuda.runtime.CUDARuntimeError as error:
            raise BackendUnavailableError(f"CuPy finds no GPU that it can use: {error}.") from error
        # CuPy keeps whether an array is C-contiguous; then its strides follow from its shape.
        contiguous = "_c_contiguous" if hasattr(cupy.ndarray, "_c_contiguous") else ""
        self.arrays = ArrayAccess(
            "ptr",
            contiguous or "flags.forc",
            cupy.ndarray,
            self.lend,
            self.take_back,
            contiguous,
            memory="data",
            device="device_id" if several else "",
            allocate_memory=cupy.cuda.alloc,
            layout=array_layout,
            new_array_function=new_array_function,
            dlpack_devices=(2, 13),  # kDLCUDA, kDLCUDAManaged
        )
        self._device = cupy.cuda.runtime.getDevice if several else None
        self.loop_call = self._loop_call(cupy.cuda.driver.launchKernel, 0, 0)
        self._waiting_calls: dict[int, LaunchCall] = {}

    def _loop_call(self, function: Callable[..., Any], shared: int, *behind: int) -> LaunchCall:
        extents: tuple[LaunchValue, ...] = ("grid", "chunk", 1, "block", 1, 1, shared)
        return LaunchCall(
            function,
            ("function", *extents, "stream", "parameters", *behind),
            self.launch_failed,
            errors=(cupy.cuda.driver.CUDADriverError,),
            current_stream=cupy.cuda.get_current_stream,
            stream_function=current_stream_function,
            current_device=self._device,
            scratch_for=_scratch_for,
            native=_driver_function,
        )

    def own_error(self, error: KernelToolkitError) -> KernelToolkitError:
        """Return an error, of a class that callers of CuPy catch as well."""
        return as_cupys(error)

    def waiting_call(self, shared: int) -> LaunchCall:
        """Return how loops are launched whose blocks wait for each other."""
        call = self._waiting_calls.get(shared)
        if call is None:
            call = self._loop_call(cupy.cuda.driver.launchCooperativeKernel, shared)
            call = self._waiting_calls.setdefault(shared, call)
        return call

    def target(self, unit: TranslationUnit | None = None) -> Target:
        """Return the current device's target, for a unit's own compiler if one is given."""
        architecture = _architecture_of(self.device_key())
        if unit is None:
            return nvrtc.target_for(architecture)
        return compilers.target_for(architecture, unit)

    def backend_options(self, unit: TranslationUnit) -> tuple[str, ...]:
        """Return the compile options that a unit gets beside its own."""
        return compilers.backend_options(unit)

    def include_directories(self, unit: TranslationUnit) -> tuple[Path, ...]:
        """Return where a unit's compiler looks for its headers."""
        return compilers.include_directories(unit)

    def compile(self, unit: TranslationUnit, target: Target) -> ObjectCode:
        """Compile a unit; raises CudaCompileError."""
        try:
            return compilers.compile(unit, target)
        except CompileError as error:
            raise CudaCompileError(error, unit) from None

    def load(self, code: ObjectCode) -> Function:
        """Load object code into the current device's context.

        Loading may happen while a stream is being captured into a graph: the calling thread is
        put into relaxed mode meanwhile, since loading is no part of the graph.
        """
        with relaxed_capture():
            return self._load(code, "the compiled kernel").function(code.entry)

    def load_module(self, code: ObjectCode, is_private: bool = True) -> CudaModule:
        """Load object code with several entry points into the current device's context."""
        return self._load(code, "the module")

    def _load(self, code: ObjectCode, what: str) -> CudaModule:
        loadable = compilers.executable(code, _architecture_of(self.device_key()))
        _bind_context()
        with relaxed_capture():
            result, module = driver.cuModuleLoadData(loadable)
            check(result, f"Loading {what}")
        return CudaModule(module)

    def device_key(self) -> int:
        """Return the number of the current device."""
        return int(cupy.cuda.runtime.getDevice())

    def multiprocessors(self) -> int:
        """Return how many multiprocessors the current device has."""
        return _multiprocessors(self.device_key())

    def largest_cluster(self) -> int:
        """Return how many blocks a cluster has at most on every device: 8 where all have them."""
        count = cupy.cuda.runtime.getDeviceCount()
        return 8 if all(has_clusters(_architecture_of(device)) for device in range(count)) else 1

    def waiting_multiprocessors(self) -> int:
        """Return how many multiprocessors every device has for blocks that wait for each other."""
        devices = range(cupy.cuda.runtime.getDeviceCount())
        if self.largest_cluster() == 1 or not all(map(_is_cooperative, devices)):
            return 0
        return min(map(_multiprocessors, devices))

    def describe(self, array: Any) -> tuple[ArraySpec, int]:
        """Return an array's description and its address."""
        address = array.data.ptr
        return ArraySpec(array.dtype, array.shape, array.strides, address % 16), address

    def check_usable(self, array: Any, name: str, written: bool) -> None:
        """Raise ArgumentValueError for an array of another device that cannot be reached.

        As CuPy does, peer access is switched on where the devices have it, with a warning.
        """
        own, current = array.data.device_id, self.device_key()
        if own == current or self.device_of(array) is None:
            return
        if not _reaches(current, own):
            raise ArgumentValueError(
                f"The array for parameter '{name}' is on device {own}, but the current device is "
                f"{current}, which cannot reach it.\n"
                f"  Hint: call inside 'with cupy.cuda.Device({own}):', or copy the array."
            )

    def import_functions(self) -> tuple[Callable[[list[Any]], None], ImportFunctions]:
        """Return the `keep` and the functions of a `kerneltk.interop.exchange.Importer`."""
        attribute = _driver_symbol("cuPointerGetAttribute")
        read, make_current = 0, 0
        if self._device is not None:
            read, make_current = map(_driver_symbol, ("cuCtxGetCurrent", "cuCtxSetCurrent"))
        functions = current_stream_function(), attribute, self._device, read, make_current
        return partial(streams.keep, stream=0), functions

    def importing_stream(self, device: int) -> int:
        """Return the handle of CuPy's current stream on a device. Raises LaunchError while that is
        captured: a graph cannot wait for what another library has done.
        """
        stream = streams.current_stream(device)
        if is_capturing(stream):
            raise LaunchError(
                "An array that is taken by '__dlpack__' cannot be captured into a graph: its "
                "library makes CuPy's current stream wait for it.\n"
                "  Hint: pass 'cupy.asarray(x)', made before the capture and kept as long as the "
                "graph."
            )
        return stream

    def wrap(self, memory: Memory, device: int = 0) -> Any:
        """Another library's memory on a device as an array."""
        low, high = memory.extent
        block = streams.Block(memory.address + low, high - low, memory.owner, device)
        pointer = cupy.cuda.MemoryPointer(block, -low)
        return cupy.ndarray(memory.shape, memory.dtype, pointer, memory.strides)

    def place_of(self, memory: Memory) -> tuple[int, bool]:
        """The device that memory is on, and whether it is that device's alone; raises
        ArgumentValueError if no GPU reaches it.
        """
        known = _pointer_attributes(memory.address) if memory.address else None
        if known is not None:
            return int(known.device), known.type == cupy.cuda.runtime.memoryTypeDevice
        # Where pages move by themselves, a GPU reaches all memory of the process.
        if memory.address and not (
            cupy.cuda.Device().attributes.get("PageableMemoryAccess")
            and is_mapped(memory.address, 1)
        ):
            raise ArgumentValueError(
                f"An array of type '{type(memory.owner).__name__}' says that its elements lie at "
                f"{memory.address:#x}, where there is no memory that a GPU reaches."
            )
        return self.device_key(), False

    def owner_of(self, array: Any) -> Any:
        """Return the owner of the memory of an array that another library allocated; None for
        CuPy's own.
        """
        return getattr(array.data.mem, "owner", None)

    def device_of(self, array: Any) -> int | None:
        """Return the number of the device whose memory an array is in; None for memory of all
        devices: managed, pinned, or none.
        """
        known = _pointer_attributes(array.data.ptr) if array.data.ptr else None
        is_its_own = known is not None and known.type == cupy.cuda.runtime.memoryTypeDevice
        return int(array.data.device_id) if is_its_own else None

    def on_device(self, device: int) -> AbstractContextManager[Any]:
        """Return a context in which a device is the current one."""
        is_current = self._device is None or self._device() == device
        return nullcontext() if is_current else cupy.cuda.Device(device)

    def home(self, array: Any) -> Home:
        """Return CuPy's current stream on an array's device."""
        device = int(array.data.device_id)
        return Home(streams.current_stream(device), device)

    def ordered(
        self, homes: Sequence[Home], stream: int | None
    ) -> AbstractContextManager[int | None]:
        """Return a context for a launch on arrays of other libraries: see `streams`."""
        return streams.ordered(homes, stream)

    def empty(self, shape: Sequence[int], dtype: np.dtype[Any], order: str) -> Any:
        """Allocate an array from CuPy's memory pool."""
        return _empty(shape, dtype, order)

    def stream_context(self, stream: int | None) -> AbstractContextManager[Any]:
        """Return a context in which memory is allocated and used in a stream's order."""
        return nullcontext() if stream is None else stream_of(stream)

    def retain(self, array: Any, stream: int | None) -> None:
        """Keep an array for good if a stream is captured: the graph may be launched at any time.

        Otherwise its memory goes to others in the stream's order.
        """
        if is_capturing(_named_or_current(stream)):
            _retained.append(array)

    def lend(self, record: np.void, alignment: int, stream: int | None) -> Any:
        """Return a copy of a structured scalar's bytes; raises LaunchError while the stream is
        captured, since the scalar has its value at each launch.
        """
        if is_capturing(_named_or_current(stream)):
            raise LaunchError(
                "A record that a kernel takes by its address cannot be captured into a graph.\n"
                "  Hint: pass an array of one record, 'cupy.array([record])'."
            )
        with self.stream_context(stream):
            return cupy.array(record_bytes(record))

    def take_back(self, memory: Any, record: np.void, stream: int | None) -> None:
        """Put a kernel's copy into the structured scalar, once the kernel is done."""
        with self.stream_context(stream):
            record_bytes(record)[:] = memory.get()

    def make_buffer(self, size: int, offset: int, constants: bytes) -> ParameterBlock:
        """Return an argument buffer whose constant part is filled in."""
        if size > _MAX_PARAMETER_BYTES:
            raise ArgumentTypeError(
                f"The kernel's arguments take {size} bytes; a launch can pass "
                f"{_MAX_PARAMETER_BYTES}.\n  Hint: put some of the arguments into an array."
            )
        return _with_pointers(make_block(size, offset, constants), (0,))

    # -- graphs --------------------------------------------------------------------------------

    def graph_scratch(self, size: int) -> tuple[int, Any]:
        """Return the address of memory for the launches of one graph, and its owner."""
        memory = _cleared_memory(size)
        return int(memory.ptr), memory

    def guard(self) -> CaptureGuard:
        """Return a context that keeps CuPy's own work out of a recording."""
        _bind_context()
        return CaptureGuard()

    def executable(
        self, launches: Sequence[RecordedLaunch], before: Executable | None
    ) -> GraphLaunches:
        """Return a graph's launches as an executable graph of the driver's."""
        _bind_context()
        return GraphLaunches(launches, before)

    def current_handle(self) -> int:
        """Return the handle of CuPy's current stream."""
        return int(cupy.cuda.get_current_stream().ptr)

    def settle(self, handles: Iterable[int]) -> None:
        """Wait for all work of these streams."""
        for handle in handles:
            if is_capturing(handle):
                raise LaunchError(
                    "The graph needs memory, which must not be allocated while its stream is "
                    "captured.\n  Hint: record it, and launch it once so, before the capture."
                )
            with relaxed_capture():
                cupy.cuda.runtime.streamSynchronize(handle)

    # -- raw kernels ---------------------------------------------------------------------------

    def grid_call(self, mode: LaunchMode, kernel: str) -> LaunchCall:
        """Return how a kernel is launched over a caller's grid."""
        extents: tuple[LaunchValue, ...] = ("gx", "gy", "gz", "bx", "by", "bz")
        arguments = ("function", *extents, "shared", "stream", "parameters")
        if mode.cluster or mode.programmatic:
            function = partial(_launch_extended, mode)
        elif mode.cooperative:
            function = cupy.cuda.driver.launchCooperativeKernel
        else:
            function = cupy.cuda.driver.launchKernel
            arguments += (0,)
        return LaunchCall(
            function,
            arguments,
            self.launch_failed,
            errors=(cupy.cuda.driver.CUDADriverError, LaunchError),
            current_stream=cupy.cuda.get_current_stream,
            stream_function=current_stream_function,
            current_device=self._device,
            native=_driver_function,
        )

    def make_parameters(self, size: int, offsets: Sequence[int]) -> ParameterBlock:
        """Return a block of parameters and the address of the array of their addresses."""
        if size > _MOST_RAW_PARAMETER_BYTES:
            raise ArgumentTypeError(
                f"The kernel's parameters take {size} bytes; a launch can pass "
                f"{_MOST_RAW_PARAMETER_BYTES}.\n  Hint: put some of them into an array."
            )
        return _with_pointers(make_block(max(size, 1), 0, b""), tuple(offsets))

    def limits(self, function: Function) -> GridLimits:
        """Return the limits of a raw kernel's launch: block, grid and shared memory."""
        attributes = cupy.cuda.Device().attributes
        static = _attribute_of(function, "shared_size_bytes")
        return GridLimits(
            _attribute_of(function, "max_threads_per_block"),
            tuple(attributes[f"MaxBlockDim{axis}"] for axis in "XYZ"),
            tuple(attributes[f"MaxGridDim{axis}"] for axis in "XYZ"),
            int(attributes["MaxSharedMemoryPerBlockOptin"]) - static,
        )

    def allow_shared(self, function: Function, size: int) -> None:
        """Raise the kernel's own limit of dynamic shared memory to `size` bytes if it is lower."""
        name = "max_dynamic_shared_size_bytes"
        if size and size > _attribute_of(function, name):
            self.set_attribute(function, name, size)

    def attributes(self, function: Function) -> dict[str, int]:
        """Return a raw kernel's attributes by CuPy's names."""
        return {name: _attribute_of(function, name) for name in _ATTRIBUTES}

    def set_attribute(self, function: Function, name: str, value: int) -> None:
        """Set an attribute; raises LaunchError where the driver refuses it."""
        (result,) = driver.cuFuncSetAttribute(function.handle, _ATTRIBUTES[name], value)
        check(result, f"Setting '{name}' to {value}")

    def parameter_places(self, function: Function) -> tuple[tuple[int, int], ...] | None:
        """Return offset and size (bytes) of each parameter; None where the driver is older than
        CUDA 12.4.
        """
        ask = getattr(driver, "cuFuncGetParamInfo", None)
        places: list[tuple[int, int]] = []
        while ask is not None:
            result, offset, size = ask(function.handle, len(places))
            if result == driver.CUresult.CUDA_ERROR_INVALID_VALUE:
                return tuple(places)
            if result != driver.CUresult.CUDA_SUCCESS:
                break
            places.append((int(offset), int(size)))
        return None

    def suggest_block(self, function: Function, shared: int) -> int:
        """Return the block for which most threads are resident (the occupancy calculator's)."""
        result, _, block = driver.cuOccupancyMaxPotentialBlockSize(function.handle, None, shared, 0)
        check(result, "Asking for the occupancy")
        return int(block)

    def check_address(self, address: int) -> str:
        """Return why a kernel cannot use an address, or an empty string."""
        kind = driver.CUpointer_attribute.CU_POINTER_ATTRIBUTE_MEMORY_TYPE
        result, _ = driver.cuPointerGetAttribute(kind, address)
        known = result == driver.CUresult.CUDA_SUCCESS
        return "" if known else "no memory of the device lies at that address"

    def texture_classes(self) -> ModuleType:
        """Return CuPy's module of textures."""
        module: ModuleType = cupy.cuda.texture
        return module

    def is_live(self, handle: int, what: What) -> bool:
        """Return True: the driver does not tell which handles there are."""
        return True

    def variable_array(
        self, address: int, dtype: np.dtype[Any], shape: tuple[int, ...], owner: object
    ) -> Any:
        """Return a module's variable as an array."""
        size = dtype.itemsize * math.prod(shape)
        return cupy.ndarray(shape, dtype, self.variable_pointer(address, size, owner))

    def variable_pointer(self, address: int, size: int, owner: object) -> Any:
        """Return a pointer to a module's variable."""
        memory = cupy.cuda.UnownedMemory(address, size, owner, self.device_key())
        return cupy.cuda.MemoryPointer(memory, 0)

    def launch_failed(self, failure: Any, launch: Any, arguments: tuple[Any, ...]) -> None:
        """Retry once where this thread has no context yet; raise otherwise.

        A stream of another device is found here, so that launches do not ask for it.
        """
        if getattr(failure, "status", None) in _NO_CONTEXT:
            _bind_context()
            try:
                launch(*arguments)
                return
            except cupy.cuda.driver.CUDADriverError as second:
                failure = second
        if getattr(failure, "status", None) in _WRONG_CONTEXT:
            self._check_stream(arguments[_STREAM], failure)
        if isinstance(failure, LaunchError):
            raise failure
        status = int(getattr(failure, "status", 0))
        raise CudaLaunchError(f"The launch failed: {failure}.", status) from failure

    def _check_stream(self, stream: int, failure: BaseException) -> None:
        """Raise ArgumentValueError for a stream of another device than the current one."""
        device, current = streams.device_of(stream), self.device_key()
        if device not in (None, current):
            raise ArgumentValueError(
                f"'stream' is a stream of device {device}, and the kernel is launched on device "
                f"{current}.\n  Hint: call inside 'with cupy.cuda.Device({device}):', or pass a "
                f"stream of device {current}."
            ) from failure


class CudaModule:
    """A module in a device's context; implements `kerneltk.backends.base.Module`."""

    def __init__(self, handle: Any) -> None:
        self._handle = handle

    def function(self, symbol: str) -> Function:
        """Return an entry point."""
        result, function = driver.cuModuleGetFunction(self._handle, symbol.encode())
        check(result, f"Finding the kernel '{symbol}' in its module")
        return Function(int(function), self._handle)

    def variable(self, symbol: str) -> tuple[int, int]:
        """Return a variable's address and size (bytes)."""
        result, address, size = driver.cuModuleGetGlobal(self._handle, symbol.encode())
        check(result, f"Finding the variable '{symbol}' in its module")
        return int(address), int(size)


_Attribute = driver.CUfunction_attribute
_ATTRIBUTES = {
    "max_threads_per_block": _Attribute.CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK,
    "shared_size_bytes": _Attribute.CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES,
    "const_size_bytes": _Attribute.CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES,
    "local_size_bytes": _Attribute.CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES,
    "num_regs": _Attribute.CU_FUNC_ATTRIBUTE_NUM_REGS,
    "ptx_version": _Attribute.CU_FUNC_ATTRIBUTE_PTX_VERSION,
    "binary_version": _Attribute.CU_FUNC_ATTRIBUTE_BINARY_VERSION,
    "cache_mode_ca": _Attribute.CU_FUNC_ATTRIBUTE_CACHE_MODE_CA,
    "max_dynamic_shared_size_bytes": (_Attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES),
    "preferred_shared_memory_carveout": (
        _Attribute.CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT
    ),
}


def _attribute_of(function: Function, name: str) -> int:
    """Return one attribute of a raw kernel; -1 where there is no such attribute."""
    result, value = driver.cuFuncGetAttribute(_ATTRIBUTES[name], function.handle)
    return int(value) if result == driver.CUresult.CUDA_SUCCESS else -1


def _with_pointers(block: ParameterBlock, offsets: tuple[int, ...]) -> ParameterBlock:
    """A block for a launch, which takes the address of an array of the parameters' addresses."""
    addresses = (block.address + offset for offset in offsets)
    pointers = (ctypes.c_void_p * max(len(offsets), 1))(*addresses)
    return ParameterBlock(
        block.memory, ctypes.addressof(pointers), (block.owner, pointers), offsets or (0,)
    )


def _driver_function(function: Any) -> int:
    """The address of the driver's function that one of CuPy's calls; 0 where it is not found."""
    name = _DRIVER_FUNCTIONS.get(getattr(function, "__name__", ""))
    return 0 if name is None else _driver_symbol(name)


_DRIVER_FUNCTIONS = {
    "launchKernel": "cuLaunchKernel",
    "launchCooperativeKernel": "cuLaunchCooperativeKernel",
}


@cache
def _driver_symbol(name: str) -> int:
    try:
        library = ctypes.CDLL("libcuda.so.1")
    except OSError:  # CuPy found the driver elsewhere
        return 0
    return ctypes.cast(getattr(library, name), ctypes.c_void_p).value or 0


def _launch_extended(
    mode: LaunchMode,
    function: int,
    gx: int, gy: int, gz: int, bx: int, by: int, bz: int,
    shared: int,
    stream: int,
    parameters: int,
) -> None:  # fmt: skip
    """Launch with the attributes that the plain calls do not take."""
    kinds = driver.CUlaunchAttributeID
    attributes: list[Any] = []

    def add(kind: Any) -> Any:
        attributes.append(driver.CUlaunchAttribute())
        attributes[-1].id = kind
        return attributes[-1].value

    if mode.cluster:
        cluster = add(kinds.CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION).clusterDim
        cluster.x, cluster.y, cluster.z = mode.cluster
    if mode.programmatic:
        value = add(kinds.CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION)
        value.programmaticStreamSerializationAllowed = 1
    if mode.cooperative:
        add(kinds.CU_LAUNCH_ATTRIBUTE_COOPERATIVE).cooperative = 1
    config = driver.CUlaunchConfig()
    config.gridDimX, config.gridDimY, config.gridDimZ = gx, gy, gz
    config.blockDimX, config.blockDimY, config.blockDimZ = bx, by, bz
    config.sharedMemBytes = shared
    config.hStream = stream
    config.attrs = attributes
    config.numAttrs = len(attributes)
    (result,) = driver.cuLaunchKernelEx(config, function, parameters, 0)
    check(result, "The launch")


_UNREGISTERED = 0  # cudaMemoryTypeUnregistered


def _pointer_attributes(address: int) -> Any:
    """What the runtime knows of an address; None where that is nothing."""
    try:
        known = cupy.cuda.runtime.pointerGetAttributes(address)
    except cupy.cuda.runtime.CUDARuntimeError:
        return None
    return known if known.type != _UNREGISTERED else None


# Not initialized, invalid context, context is destroyed: the thread has made no call yet that
# makes the device's context current.
_NO_CONTEXT = (3, 201, 709)

# Invalid context, invalid handle: the stream may be one of another device.
_WRONG_CONTEXT = (201, 400)
_STREAM = 8  # the stream's index in the values of a launch, of each call


# A kernel's parameters may take 4 KiB on every architecture, and more since Volta (CUDA 12.1).
_MAX_PARAMETER_BYTES = 4096
_MOST_RAW_PARAMETER_BYTES = 32764


def _empty(shape: Sequence[int], dtype: np.dtype[Any], order: str) -> Any:
    return cupy.ndarray(tuple(shape), dtype, order=order)


def _named_or_current(stream: int | None) -> int:
    return int(cupy.cuda.get_current_stream().ptr) if stream is None else stream


_retained: list[Any] = []  # what graphs alone hold


# Scratch memory by device, stream and, for launches that are captured into a graph, the capture.
# Launches on one stream follow one another, and every launch leaves the counters at zero, so that
# they share it. What a graph uses is never freed: it may be launched at any time.
_scratch: dict[tuple[int, ...], tuple[int, int, Any]] = {}
_PER_THREAD_STREAM = 2  # the handle of a stream that is another one in each thread


def _scratch_for(stream: int, size: int) -> int:
    """Return the address of `size` bytes for a launch on a stream; the counters in it are zero."""
    device = cupy.cuda.runtime.getDevice()
    key: tuple[int, ...] = (device, stream)
    if stream == _PER_THREAD_STREAM:
        key = (device, stream, _thread_number())
    capture = 0
    if is_capturing(stream):
        capture = _capture_number(stream)
        key = (*key, -capture)
    address, capacity, _ = _scratch.get(key, _NO_SCRATCH)
    return address if size <= capacity else _new_scratch(key, stream, size, capture > 0)


_NO_SCRATCH: tuple[int, int, Any] = (0, 0, None)


_threads = itertools.count(1)
_thread = threading.local()


def _thread_number() -> int:
    """Return this thread's number, which no other has; the system's are used again."""
    number: int = getattr(_thread, "number", 0)
    if not number:
        number = _thread.number = next(_threads)
    return number


def _new_scratch(key: tuple[int, ...], stream: int, size: int, captured: bool) -> int:
    older = _scratch.get(key)
    if captured:
        memory = _cleared_memory(size)  # now, not by the graph
    else:
        # Twice as much as before, for what comes next, too.
        size = max(-(-size // _SCRATCH_STEP) * _SCRATCH_STEP, 2 * older[1] if older else 0)
        external = stream_of(stream)
        with external:  # in the stream's own order, also with respect to who has it next
            memory = streams.lasting_memory(size)
            memory.memset_async(0, 4 * COUNTERS, external)
    # What was there before stays: another thread may be about to launch with it, or a graph.
    _scratch[key] = (memory.ptr, size, (memory, older))
    return int(memory.ptr)


_SCRATCH_STEP = 1 << 20


def _cleared_memory(size: int) -> Any:
    """Memory whose counters are zero already, whatever is captured meanwhile."""
    with relaxed_capture(), cupy.cuda.Stream(non_blocking=True) as other:
        memory = streams.lasting_memory(size)
        memory.memset_async(0, 4 * COUNTERS, other)
        other.synchronize()
    return memory


def _capture_number(stream: int) -> int:
    """Return the number of the capture that a stream takes part in."""
    result, _, number, *_ = driver.cuStreamGetCaptureInfo(stream)
    check(result, "Asking a stream for its capture")
    return int(number)


def _bind_context() -> None:
    """Make the current device's primary context current in this thread.

    The runtime does that by itself, but only in a call that needs a context.
    """
    cupy.cuda.runtime.setDevice(cupy.cuda.runtime.getDevice())
    with relaxed_capture():
        cupy.cuda.runtime.free(0)


@cache
def _reaches(device: int, peer: int) -> bool:
    if not cupy.cuda.runtime.deviceCanAccessPeer(device, peer):
        return False
    try:
        cupy.cuda.runtime.deviceEnablePeerAccess(peer)
    except cupy.cuda.runtime.CUDARuntimeError as error:
        if "PeerAccessAlreadyEnabled" not in str(error):
            raise BackendUnavailableError(f"Peer access failed: {error}.") from error
    warnings.warn(
        f"A kernel on device {device} reads an array of device {peer} through peer access.",
        cupy._util.PerformanceWarning,
        stacklevel=6,
    )
    return True

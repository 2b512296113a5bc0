"""The host backend: NumPy arrays, this machine's compiler, all cores."""

from __future__ import annotations

import ctypes
import math
import sys
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, Never

import numpy as np

from kerneltk.backends.base import (
    ArrayAccess,
    BlocksOf,
    Bound,
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
from kerneltk.backends.host import runtime, toolchain
from kerneltk.core.arrays import ArraySpec
from kerneltk.core.artifacts import BOUNDS_SUFFIX, ObjectCode, Target, TranslationUnit
from kerneltk.core.lexer import foreign_headers
from kerneltk.core.records import cached_property
from kerneltk.core.settings import get_settings
from kerneltk.errors import ArgumentValueError, DivisionError, KernelToolkitError, LaunchError
from kerneltk.interop.protocols import Memory, viewed
from kerneltk.interop.texture_objects import What

if TYPE_CHECKING:
    from kerneltk.backends.host.graphs import HostLaunches

# The address is the first member after the object's head in NumPy's public structs, of arrays and
# of structured scalars. Reading it there takes 0.15 us, `__array_interface__` 1 us.
_DATA_OFFSET = object.__basicsize__
_RECORD_OFFSET = tuple.__basicsize__  # a head with a size
_pointer_at = ctypes.c_void_p.from_address


def _address_by_struct(array: Any) -> int:
    return _pointer_at(id(array) + _DATA_OFFSET).value or 0


def _address_by_interface(array: Any) -> int:
    address: int = array.__array_interface__["data"][0]
    return address


def _record_address_by_struct(record: Any) -> int:
    return _pointer_at(id(record) + _RECORD_OFFSET).value or 0


def _record_address_by_buffer(record: Any) -> int:
    return record_bytes(record).ctypes.data


def _choose(fast: Any, sure: Any, probes: Sequence[Any]) -> Any:
    """Return the fast way, if this interpreter and this NumPy agree with it."""
    if sys.implementation.name == "cpython" and all(fast(p) == sure(p) for p in probes):
        return fast
    return sure


_numbers = np.arange(8, dtype=np.int64)
_records = _numbers.view([("a", np.int64)])
address_of = _choose(
    _address_by_struct, _address_by_interface, (_numbers, _numbers[3:], _numbers[::-2])
)
record_address = _choose(
    _record_address_by_struct,
    _record_address_by_buffer,
    (_records[0], _records[3], np.void((1,), _records.dtype)),
)


def _address_of_function(function: Any) -> int:
    """The address of a foreign function; 0 of any other."""
    if not isinstance(function, ctypes._CFuncPtr):  # type: ignore[attr-defined]
        return 0
    return ctypes.cast(function, ctypes.c_void_p).value or 0


_DIVISION, _TRAP, _FAULT, _TOO_LARGE, _INTERRUPTED = 1, 2, 3, 4, 5  # what launches return then
_EXITED_ARRIVE, _COOPERATIVE = 1, 2  # flags of a grid
_SHARED = 227 << 10
_MOST_THREADS = 1024  # of a block
_GRAIN_THREADS = 1024  # fewer than these are not worth another thread of the pool
_ATTRIBUTES = (
    "max_threads_per_block", "shared_size_bytes", "const_size_bytes", "local_size_bytes",
    "num_regs", "ptx_version", "binary_version", "cache_mode_ca", "max_dynamic_shared_size_bytes",
    "preferred_shared_memory_carveout",
)  # fmt: skip


def _grid_failure(failure: int) -> LaunchError:
    """Return the error for a grid that failed."""
    if failure == _TOO_LARGE:
        return LaunchError(
            f"A cooperative launch on the host can have {runtime.cooperative_limit()} blocks: each "
            "has a thread of its own.\n  Hint: use fewer blocks and a loop over the rest."
        )
    message = runtime.last_fault()
    if failure == _DIVISION:
        return DivisionError(
            f"In {message}.\n  Hint: guard the division: on a GPU its result is undefined."
        )
    hint = ""
    if " has left the kernel" in message:
        hint = (
            "\n  Hint: let all threads reach the barrier. Threads of a kernel in Python that leave "
            "by 'return' count as arrived; so do all of a raw kernel, with "
            "'exited_threads=\"arrive\"' where it is made, 'exited_arrive=True' at a launch or "
            "KERNELTK_HOST_EXITED_THREADS=arrive for a program."
        )
    elif "of which the launch has 0 bytes" in message:
        hint = (
            "\n  Hint: launch it with as many bytes of shared memory as its arrays need: their "
            "size is 'shared_mem', or an item of 'kernel[grid, block, ...]'."
        )
    elif "cannot run on CPU cores" in message:
        hint = (
            "\n  Hint: run this kernel on a GPU, or give CPU cores another way under "
            "'#ifdef __KERNELTK_HOST__'."
        )
    elif "which only the host has" in message:
        hint = (
            "\n  Hint: leave the kernel by 'return', or end it by '__trap()' or by an assertion "
            "that fails."
        )
    elif "did not end within" in message:
        hint = "\n  Hint: KERNELTK_HOST_TIME_LIMIT sets the limit in seconds; 0 is none."
        if not get_settings().host_debug:
            hint += " With KERNELTK_HOST_DEBUG=symbols the source line is reported, too."
        hint += " Blocks of a raw kernel that wait for each other need 'cooperative=True'."
    end = "" if message.endswith(".") else "."
    return LaunchError(f"In {message}{end}{hint}")


def _most_threads(function: Function) -> int:
    module = function.keep
    return module.most_threads(function.handle) if isinstance(module, HostModule) else _MOST_THREADS


class HostModule:
    """A loaded library; implements `kerneltk.backends.base.Module`."""

    def __init__(self, code: ObjectCode, is_private: bool) -> None:
        self._library = (
            runtime.load_private(code, self) if is_private else runtime.load_library(code)
        )
        self._bounds: dict[int, int] = {}  # the kernels' own, by their addresses

    def function(self, symbol: str) -> Function:
        """Return an entry point."""
        function = Function(self._library.address(symbol), self)
        bound = self._library.find(symbol + BOUNDS_SUFFIX)
        if bound is not None:
            self._bounds[function.handle] = ctypes.c_uint.from_address(bound).value
        return function

    def most_threads(self, handle: int) -> int:
        """Return how many threads a block of an entry point can have."""
        return min(self._bounds.get(handle, _MOST_THREADS), _MOST_THREADS)

    def variable(self, symbol: str) -> tuple[int, int]:
        """Return a variable's address; its size is not known here."""
        # The symbol is a pointer to it.
        return int(ctypes.c_void_p.from_address(self._library.address(symbol)).value or 0), 0


class HostBackend:
    """NumPy arrays on CPU cores; implements `kerneltk.backends.base.Backend`."""

    capabilities = capabilities_of("host")
    name = capabilities.name
    array_type: type = np.ndarray
    array_library = np

    def __init__(self) -> None:
        reads_records = record_address is _record_address_by_struct
        self.arrays = ArrayAccess(
            _DATA_OFFSET if address_of is _address_by_struct else address_of,
            "flags.forc",
            np.empty,
            self.lend,
            self.take_back,
            writable="flags.writeable",
            record=_RECORD_OFFSET if reads_records else record_address,
            dlpack_devices=(1, 3),  # kDLCPU, kDLCUDAHost
        )

    @cached_property
    def loop_call(self) -> LaunchCall:
        """How loops over elements are launched; the runtime is loaded by the first launch."""
        threads = Bound(runtime.num_threads())
        return LaunchCall(
            lambda: runtime.launch,
            ("function", "parameters", "grid", "chunk", threads),
            self.launch_failed,
            is_late=True,
            native=_address_of_function,
        )

    def own_error(self, error: KernelToolkitError) -> KernelToolkitError:
        """Return the error: NumPy has no class for any."""
        return error

    def target(self, unit: TranslationUnit | None = None) -> Target:
        """Return this machine's target."""
        return toolchain.target()

    def backend_options(self, unit: TranslationUnit) -> tuple[str, ...]:
        """Return the compile options that a unit gets beside its own."""
        return toolchain.backend_options(unit)

    def include_directories(self, unit: TranslationUnit) -> tuple[Path, ...]:
        """Return where the compiler finds headers of other packages by itself, for a unit that may
        ask for one; its own headers change with its version.
        """
        system = toolchain.SYSTEM_DIRECTORIES if foreign_headers(unit.source) else ()
        return (*system, *toolchain.cuda_directories(unit))

    def compile(self, unit: TranslationUnit, target: Target) -> ObjectCode:
        """Compile for this machine; raises CompileError or BackendUnavailableError."""
        runtime.prepare()
        return toolchain.compile_unit(unit)

    def load(self, code: ObjectCode) -> Function:
        """Load object code into this process."""
        return Function(runtime.load(code))

    def load_module(self, code: ObjectCode, is_private: bool = True) -> HostModule:
        """Load object code with several entry points into this process."""
        return HostModule(code, is_private)

    def device_key(self) -> int:
        """Return 0: there is one host."""
        return 0

    def multiprocessors(self) -> int:
        """Return 1: how a loop is shared on the host does not depend on its cores."""
        return 1

    def largest_cluster(self) -> int:
        """Return 1: there are no clusters of blocks."""
        return 1

    def waiting_multiprocessors(self) -> int:
        """Return 0: no plan has blocks that wait for each other."""
        return 0

    def describe(self, array: Any) -> tuple[ArraySpec, int]:
        """Return an array's description and its address."""
        address = address_of(array)
        return ArraySpec(array.dtype, array.shape, array.strides, address % 16), address

    def check_usable(self, array: Any, name: str, written: bool) -> None:
        """Raise ArgumentValueError if a written array is read-only."""
        if written and not array.flags.writeable:
            raise ArgumentValueError(
                f"The array for parameter '{name}' is written, but it is read-only.\n"
                "  Hint: pass a copy, or set 'array.flags.writeable = True' if you own it."
            )

    def wrap(self, memory: Memory, device: int = 0) -> Any:
        """Return an array in memory of another library."""
        return viewed(memory)

    def empty(self, shape: Sequence[int], dtype: np.dtype[Any], order: str) -> Any:
        """Allocate an array."""
        return np.empty(tuple(shape), dtype, order="F" if order == "F" else "C")

    def stream_context(self, stream: int | None) -> AbstractContextManager[Any]:
        """Return a context that does nothing: the host runs in order."""
        return nullcontext()

    def retain(self, array: Any, stream: int | None) -> None:
        """Do nothing: launches are done when they return."""

    def lend(self, record: np.void, alignment: int, stream: int | None) -> Any:
        """Return a copy of a structured scalar's bytes that is aligned."""
        memory = np.empty(record.nbytes + alignment, np.uint8)
        start = -memory.ctypes.data % alignment
        memory = memory[start : start + record.nbytes]
        memory[:] = record_bytes(record)
        return memory

    def take_back(self, memory: Any, record: np.void, stream: int | None) -> None:
        """Put a copy into the structured scalar."""
        record_bytes(record)[:] = memory

    def make_buffer(self, size: int, offset: int, constants: bytes) -> ParameterBlock:
        """Return an argument buffer whose constant part is filled in."""
        return make_block(size, offset, constants)

    def executable(
        self, launches: Sequence[RecordedLaunch], before: Executable | None
    ) -> HostLaunches:
        """Return the launches of a graph."""
        from kerneltk.backends.host.graphs import HostLaunches  # only who makes graphs needs it

        return HostLaunches(launches)

    # -- raw kernels ---------------------------------------------------------------------------

    def grid_call(self, mode: LaunchMode, kernel: str) -> LaunchCall:
        """Return how a kernel is launched over a caller's grid. Raises LaunchError where `mode`
        asks for clusters, which CPU cores do not have.
        """
        if mode.cluster:
            raise LaunchError(
                f"Kernel '{kernel}' cannot be launched in clusters of {mode.cluster} on the host: "
                "only GPUs since Hopper have them."
            )
        runtime.set_time_limit(round(1000 * get_settings().host_time_limit))
        name = ctypes.create_string_buffer(kernel.encode())
        arrive = mode.exited_arrive or get_settings().host_exited_threads == "arrive"
        flags = (_EXITED_ARRIVE if arrive else 0) | (_COOPERATIVE if mode.cooperative else 0)
        constants = (flags, runtime.grid_table(), ctypes.addressof(name))
        function: Callable[..., int] = runtime.launch_cooperative
        arguments: tuple[LaunchValue, ...] = ("function", "parameters", "blocks")
        if not mode.cooperative:
            function = runtime.launch_grid
            arguments += (BlocksOf(_GRAIN_THREADS), Bound(runtime.num_threads()))
        note = None
        if "memory" in get_settings().host_debug:
            from kerneltk.backends.host.memory_check import ArrayNotes

            note = partial(ArrayNotes, runtime.note_arrays())
        extents: tuple[LaunchValue, ...] = ("gx", "gy", "gz", "bx", "by", "bz", "shared")
        return LaunchCall(
            function,
            arguments,
            self.launch_failed,
            head_format="8I2Q",
            head_values=(*extents, *map(Bound, constants)),
            note=note,
            native=_address_of_function,
            kept=name,
        )

    def make_parameters(self, size: int, offsets: Sequence[int]) -> ParameterBlock:
        """Return a block of a head and parameters."""
        return make_block(size, 0, b"")

    def limits(self, function: Function) -> GridLimits:
        """Return the limits of a raw kernel's launch, which are those of GPUs since Volta."""
        return GridLimits(
            _most_threads(function), (1024, 1024, 64), (2**31 - 1, 65535, 65535), _SHARED
        )

    def allow_shared(self, function: Function, size: int) -> None:
        """Do nothing: every kernel has as much as it may ask for."""

    def attributes(self, function: Function) -> dict[str, int]:
        """Return the attributes that mean something on the host; -1 for the others."""
        found = dict.fromkeys(_ATTRIBUTES, -1)
        found["max_threads_per_block"] = _most_threads(function)
        return {**found, "max_dynamic_shared_size_bytes": _SHARED}

    def set_attribute(self, function: Function, name: str, value: int) -> None:
        """Do nothing: the attributes that can be set guide a GPU's caches."""

    def parameter_places(self, function: Function) -> tuple[tuple[int, int], ...] | None:
        """Return None: only the compiler knows."""
        return None

    def suggest_block(self, function: Function, shared: int) -> int:
        """Return 256 threads, if it can have them: enough for a loop, little enough to share a grid
        among cores.
        """
        return min(256, _most_threads(function))

    def check_address(self, address: int) -> str:
        """Return why what is at an address is unknown."""
        return "what lies at an address of host memory is unknown"

    def texture_classes(self) -> ModuleType:
        """Return the module of textures in host memory."""
        from kerneltk.backends.host import textures  # only who makes textures needs it

        return textures

    def is_live(self, handle: int, what: What) -> bool:
        """Return whether there is a texture or a surface object of that handle."""
        textures = sys.modules.get("kerneltk.backends.host.textures")
        return textures is not None and bool(textures.is_live(handle, what))

    def variable_array(
        self, address: int, dtype: np.dtype[Any], shape: tuple[int, ...], owner: object
    ) -> Any:
        """Return a module's variable as an array."""
        size = dtype.itemsize * math.prod(shape)
        memory = (ctypes.c_ubyte * size).from_address(address)
        memory.owner = owner  # type: ignore[attr-defined]  # its memory is used again after it
        return np.ndarray(shape, dtype, memoryview(memory))

    def variable_pointer(self, address: int, size: int, owner: object) -> Any:
        """Return the address."""
        return address

    def launch_failed(self, failure: Any, launch: Any, arguments: tuple[Any, ...]) -> Never:
        """Raise: a host launch that fails once fails again."""
        runtime.raise_interrupt()
        if launch is not runtime.launch:
            raise _grid_failure(failure)
        if failure == _INTERRUPTED:
            raise LaunchError("The launch was interrupted; not all of its results were written.")
        if failure == _FAULT:
            raise LaunchError(f"The kernel cannot run: {runtime.last_fault()}.")
        if failure == _TRAP:
            textures = sys.modules.get("kerneltk.backends.host.textures")
            if textures is not None and (message := textures.table.take_fault()):
                raise LaunchError(
                    f"The kernel failed in {message}; not all of its results were written."
                )
            raise LaunchError(
                "The kernel trapped: an assertion failed, or it called '__trap' or a function that "
                "ends a process; not all of its results were written."
            )
        raise DivisionError(
            "The kernel divided an integer by zero, or the most negative one by -1; not all of its "
            "results were written.\n  Hint: guard the division: on a GPU its result is undefined."
        )

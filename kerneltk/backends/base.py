"""Backends: what each offers to the pipeline and to the plans, which there are, whose arrays they
take, and how each is loaded when it is needed.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import field
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, Literal, NamedTuple, Protocol

import numpy as np

from kerneltk.core.arrays import ArraySpec
from kerneltk.core.artifacts import BackendName, Capabilities, ObjectCode, Target, TranslationUnit
from kerneltk.core.records import record
from kerneltk.errors import ArgumentValueError, BackendUnavailableError, KernelToolkitError
from kerneltk.interop.exchange import ImportFunctions
from kerneltk.interop.protocols import Memory
from kerneltk.interop.streams import Home
from kerneltk.interop.texture_objects import What


def record_bytes(record: np.void) -> np.ndarray[Any, np.dtype[np.uint8]]:
    """Return the bytes of a structured scalar, which can be written to: the memory of the array
    that it is an element of, or its own.
    """
    address = np.frombuffer(record, np.uint8).ctypes.data  # may be read there, it says
    memory = (ctypes.c_ubyte * record.nbytes).from_address(address)
    memory.kept = record  # type: ignore[attr-defined]
    return np.frombuffer(memoryview(memory), np.uint8)


@record
class Function:
    """A loaded entry point.

    Parameters
    ----------
    handle : object
        What the launch call takes: a driver function or an address.
    keep : object
        What must live as long as the handle.
    """

    handle: Any
    keep: Any = field(default=None, repr=False)


class Module(Protocol):
    """Loaded object code with entry points and variables."""

    def function(self, symbol: str) -> Function:
        """Return an entry point; raises LaunchError if there is none of that name."""

    def variable(self, symbol: str) -> tuple[int, int]:
        """Return the address of a variable and its size (bytes; 0 if that is not known)."""


# -- how arrays are read and kernels are launched --------------------------------------------------


QUIET = 1 << 62
"""Added to the chunk size of a loop on the host in which a CPU raises no signal."""

Access = str | int | Callable[[Any], Any]
"""What is read from an object: an attribute, the pointer so many bytes behind its ``id``, or what
a function returns for it.
"""


class ArrayLayout(NamedTuple):
    """Where arrays of one type, of which there are no others, keep what is read of them.

    Parameters
    ----------
    kind, memory_kind : type
        Of the arrays; of the object that has the address.
    dtype, shape, strides, memory, address, contiguous : int
        Bytes behind the object's ``id``: a pointer to the dtype, pointers to the begin and the end
        of the extents and of the strides, a pointer to the object with the address; in that, the
        address; a byte that says whether elements lie in C's order without gaps.
    """

    kind: type
    memory_kind: type
    dtype: int
    shape: int
    strides: int
    memory: int
    address: int
    contiguous: int


@record(eq=False)
class ArrayAccess:
    """How launchers read and make a backend's arrays and the structured scalars for its kernels.

    Arrays have ``dtype``, ``shape``, ``strides`` and ``nbytes``. Strings name other attributes,
    with dots between those of attributes.

    Parameters
    ----------
    address : Access
        The address of the first element, or 0 where there is no memory.
    dense : str
        Whether the elements fill their memory, in the order of C or Fortran.
    contiguous : str
        Where it is true, the shape tells the strides, and it is read sooner than they are; or "".
    writable : str
        Whether the memory can be written; "" where all can.
    memory : str
        The object that `address` and `device` are read from; "" if that is the array.
    device : str
        The number of the array's device; "" where there is one device.
    allocate : callable
        Makes an array of a shape, a dtype and an order; behind `allocate_memory` of a shape, a
        dtype, the memory and, if the order is not C's, None and the order.
    allocate_memory : callable or None
        Takes a number of bytes.
    record : Access or None
        The address of a structured scalar; None if kernels cannot use that memory.
    layout : callable or None
        Returns where all that is in memory, or None where that is not known.
    new_array_function : callable or None
        Returns the address of a C function that makes arrays in the order of C, of their class, a
        C++ vector of extents, a dtype and None; or 0.
    dlpack_devices : (int, int)
        DLPack's numbers of the kinds of memory that the backend's arrays are in; 0 for none.
    lend : callable
        Takes a structured scalar, an alignment (bytes) and a stream or None; returns an array with
        a copy of its bytes, for a kernel on that stream, by default the current one.
    take_back : callable
        Takes that array, the scalar and the stream; copies the bytes back once the kernel is done.
    wrote : callable or None
        Takes a tuple of the arrays that a launch writes to, before it; None if unneeded.
    """

    address: Access
    dense: str
    allocate: Callable[..., Any]
    lend: Callable[[Any, int, int | None], Any]
    take_back: Callable[[Any, Any, int | None], None]
    contiguous: str = ""
    writable: str = ""
    memory: str = ""
    device: str = ""
    allocate_memory: Callable[[int], Any] | None = None
    record: Access | None = None
    layout: Callable[[], ArrayLayout | None] | None = None
    new_array_function: Callable[[], int] | None = None
    dlpack_devices: tuple[int, int] = (0, 0)
    wrote: Callable[[tuple[Any, ...]], object] | None = None


class Bound(NamedTuple):
    """An object that a launcher refers to by a name; launchers for other objects share its code."""

    value: Any


class BlocksOf(NamedTuple):
    """As many blocks as have `threads` threads together, at least one."""

    threads: int


LaunchValue = (
    Literal["function", "stream", "parameters", "grid", "chunk", "block"]
    | Literal["gx", "gy", "gz", "bx", "by", "bz", "blocks", "shared"]
    | int
    | Bound
    | BlocksOf
)
"""A value of a launch: the kernel's handle, the stream's, the address of the block of parameters;
the grid, chunk size and block of a plan; the extents that a caller gives, the number of blocks, and
the bytes of shared memory.
"""


@record(eq=False)
class LaunchCall:
    """How a kernel is launched: the call, and what it needs beside the kernel's parameters.

    Parameters
    ----------
    launch : callable
        Raises one of `errors` or returns what is true if it failed.
    arguments : tuple of LaunchValue
    launch_failed : callable
        Called with the failure, `launch` and its arguments; returns if it has launched.
    is_late : bool
        Whether `launch`, without arguments, makes the function to call.
    errors : tuple of exception types
    current_stream : callable or None
        Returns the stream where a call names none; its handle is ``ptr``. None where there are no
        streams.
    stream_function : callable or None
        Returns the address of ``intptr_t f(void)``, which returns that handle, or 0.
    current_device : callable or None
        Returns the current device's number; None where there is one.
    scratch_for : callable or None
        Takes a stream's handle and a number of bytes; returns the address of as much memory that a
        launch on the stream may use, the counters in front being zero. If None, it lies behind the
        block of parameters.
    head_format, head_values
        What lies before the parameters in their block: its ``struct`` format, of a multiple of 16
        bytes, and its values.
    note : callable or None
        Takes the bytes of the whole block and, for each argument that is an array, the parameter's
        name and whether it may be written. What it returns is called before each launch, with the
        block's address and the arrays.
    native : callable or None
        Takes the function that launches; returns the address of the C function that it calls with
        these arguments, which returns 0 if it has launched, or 0 if that is not known. If None,
        launchers are in Python.
    kept : object
        What must live as long as the call.
    """

    launch: Callable[..., Any]
    arguments: tuple[LaunchValue, ...]
    launch_failed: Callable[[Any, Any, tuple[Any, ...]], None]
    is_late: bool = False
    errors: tuple[type[Exception], ...] = ()
    current_stream: Callable[[], Any] | None = None
    stream_function: Callable[[], int] | None = None
    current_device: Callable[[], int] | None = None
    scratch_for: Callable[[int, int], int] | None = None
    head_format: str = ""
    head_values: tuple[LaunchValue, ...] = ()
    note: Callable[[int, Sequence[tuple[str, bool]]], Callable[[int, Any], None]] | None = None
    native: Callable[[Callable[..., Any]], int] | None = None
    kept: Any = None


class RecordedLaunch(NamedTuple):
    """A launch that is part of a graph.

    Parameters
    ----------
    call : LaunchCall
        How the kernel is launched.
    launch : callable
        What `call` launches by.
    values : tuple
        The values of the launch, those of the call's arguments; the stream's is not its own.
    block : ParameterBlock
        The block of parameters, which no other launch has.
    note : callable or None
        Called before each launch.
    """

    call: LaunchCall
    launch: Callable[..., Any]
    values: tuple[Any, ...]
    block: ParameterBlock
    note: Callable[[], None] | None


class Executable(Protocol):
    """The launches of a graph, which are launched together."""

    def update(self, index: int, launch: RecordedLaunch) -> bool:
        """Replace a launch; False where that takes a new executable."""

    def launch(self, stream: int | None) -> None:
        """Launch all, in order, behind earlier launches of this executable and its predecessors.
        Raises LaunchError.
        """

    @property
    def drain(self) -> Callable[[], None]:
        """A function that waits for the launches of this executable and its predecessors, and does
        not refer to one.
        """


@record
class LaunchMode:
    """How a grid is launched, beside its shape.

    Parameters
    ----------
    cooperative : bool
        Whether all blocks are resident at once, so that they can wait for each other.
    cluster : tuple of int
        Blocks of a cluster; empty where there are none.
    programmatic : bool
        Whether the grid may begin while the one before it in the stream ends (programmatic
        dependent launch).
    exited_arrive : bool
        Whether a thread that has left counts as arrived at the barriers of its block.
    """

    cooperative: bool = False
    cluster: tuple[int, ...] = ()
    programmatic: bool = False
    exited_arrive: bool = False


@record
class GridLimits:
    """What a launch may ask for at most.

    Parameters
    ----------
    threads : int
        Threads of a block.
    block, grid : tuple of int
        Extents along x, y and z (threads; blocks).
    shared : int
        Dynamic shared memory of a block (bytes).
    """

    threads: int
    block: tuple[int, int, int]
    grid: tuple[int, int, int]
    shared: int


class ParameterBlock(NamedTuple):
    """A block of parameters.

    Parameters
    ----------
    memory : memoryview
        Its bytes, which can be written.
    address : int
        What launches take: where it lies, or where an array with the parameters' addresses does.
    owner : object
        What must stay alive.
    offsets : tuple of int
        Of the parameters whose addresses are in that array (bytes); empty where there is none.
    """

    memory: Any
    address: Any
    owner: Any
    offsets: tuple[int, ...] = ()


def make_block(size: int, offset: int, constants: bytes) -> ParameterBlock:
    """Return zeroed memory of `size` bytes at a multiple of 16, with `constants` at `offset`."""
    owner = ctypes.create_string_buffer(size + 16)
    start = -ctypes.addressof(owner) % 16
    memory = memoryview(owner)[start : start + size].cast("B")
    memory[offset : offset + len(constants)] = constants
    return ParameterBlock(memory, ctypes.addressof(owner) + start, owner)


class Compiler(Protocol):
    """What turns a unit into object code."""

    def backend_options(self, unit: TranslationUnit) -> tuple[str, ...]:
        """Return the compile options that a unit gets beside its own."""

    def include_directories(self, unit: TranslationUnit) -> tuple[Path, ...]:
        """Return where the compiler looks for a unit's headers, beside the package's own."""

    def compile(self, unit: TranslationUnit, target: Target) -> ObjectCode:
        """Compile; raises CompileError."""


class Backend(Compiler, Protocol):
    """What loads and launches kernels."""

    @property
    def capabilities(self) -> Capabilities:
        """What code relies on there."""

    @property
    def name(self) -> BackendName:
        """That of its capabilities."""

    def own_error(self, error: KernelToolkitError) -> KernelToolkitError:
        """Return an error, of a class that callers of the array library catch as well."""

    @property
    def array_type(self) -> type:
        """The type of the arrays that it takes."""

    @property
    def array_library(self) -> Any:
        """The module whose functions take its arrays."""

    @property
    def arrays(self) -> ArrayAccess:
        """How launchers read and make its arrays."""

    @property
    def loop_call(self) -> LaunchCall:
        """How loops over elements are launched: by a plan's grid, chunk size and block."""

    def target(self, unit: TranslationUnit | None = None) -> Target:
        """Return the target of the current device, for a unit's own compiler if one is given."""

    def load(self, code: ObjectCode) -> Function:
        """Load object code on the current device."""

    def load_module(self, code: ObjectCode, is_private: bool = True) -> Module:
        """Load object code with several entry points on the current device; where that is private,
        its variables are no other module's.
        """

    def device_key(self) -> int:
        """Return the number of the current device."""

    def multiprocessors(self) -> int:
        """Return how many multiprocessors the current device has; 1 on the host."""

    def largest_cluster(self) -> int:
        """Return how many blocks a cluster has at most on every device; 1 where there are none."""

    def waiting_multiprocessors(self) -> int:
        """Return how many multiprocessors every device has for blocks that wait for each other; 0
        where there are devices without clusters, or without cooperative launches.
        """

    def describe(self, array: Any) -> tuple[ArraySpec, int]:
        """Return an array's description and its address."""

    def check_usable(self, array: Any, name: str, written: bool) -> None:
        """Raise ArgumentValueError if `array` cannot be used on the current device."""

    def wrap(self, memory: Memory, device: int = 0) -> Any:
        """Return memory of another library, on a device, as one of this backend's arrays, without a
        copy.
        """

    def empty(self, shape: Sequence[int], dtype: np.dtype[Any], order: str) -> Any:
        """Allocate an array."""

    def stream_context(self, stream: int | None) -> AbstractContextManager[Any]:
        """Return a context in which memory is allocated and used in a stream's order."""

    def retain(self, array: Any, stream: int | None) -> None:
        """Keep an array that a call has made for itself until no launch on a stream (None is the
        current one) reads it any more, where dropping it is too early.
        """

    def make_buffer(self, size: int, offset: int, constants: bytes) -> ParameterBlock:
        """Return an argument buffer whose constant part is filled in."""

    def grid_call(self, mode: LaunchMode, kernel: str) -> LaunchCall:
        """Return how a kernel is launched over a caller's grid; raises LaunchError for a mode that
        this backend does not have.
        """

    def make_parameters(self, size: int, offsets: Sequence[int]) -> ParameterBlock:
        """Return a block of parameters, each at its offset (bytes)."""

    def limits(self, function: Function) -> GridLimits:
        """Return the limits of a raw kernel's launch: block, grid and shared memory."""

    def allow_shared(self, function: Function, size: int) -> None:
        """Prepare a raw kernel for `size` bytes of dynamic shared memory."""

    def attributes(self, function: Function) -> dict[str, int]:
        """Return a raw kernel's attributes by CuPy's names."""

    def set_attribute(self, function: Function, name: str, value: int) -> None:
        """Set one of the attributes that can be set; raises LaunchError for another."""

    def parameter_places(self, function: Function) -> tuple[tuple[int, int], ...] | None:
        """Return offset and size (bytes) of each parameter; None if the backend cannot tell."""

    def suggest_block(self, function: Function, shared: int) -> int:
        """Return a number of threads of a block that keeps the device busy."""

    def check_address(self, address: int) -> str:
        """Return why a kernel cannot use an address, or an empty string."""

    def texture_classes(self) -> ModuleType:
        """Return the module with the classes of its texture and surface objects, named as those of
        ``cupy.cuda.texture``.
        """

    def is_live(self, handle: int, what: What) -> bool:
        """Return whether there may be a texture or a surface object of that handle."""

    def variable_array(
        self, address: int, dtype: np.dtype[Any], shape: tuple[int, ...], owner: object
    ) -> Any:
        """Return a module's variable as one of this backend's arrays, which shares its memory."""

    def variable_pointer(self, address: int, size: int, owner: object) -> Any:
        """Return a pointer to a module's variable of `size` bytes, in the array library's own
        way.
        """

    def executable(
        self, launches: Sequence[RecordedLaunch], before: Executable | None
    ) -> Executable:
        """Return an executable of a graph's launches; what was launched `before` comes first."""

    def launch_failed(self, failure: Any, launch: Any, arguments: tuple[Any, ...]) -> None:
        """Handle a launch that raised or returned `failure`: repeat it where that helps, or raise
        LaunchError.
        """


class Guard(Protocol):
    """Keeps a library's own work out of a recording: it cannot be part of the graph, and would read
    results that have no values yet.
    """

    def begin(self) -> None:
        """From now on the library's work on its current stream is an error. Raises LaunchError
        where that stream is captured already.
        """

    def paused(self) -> AbstractContextManager[Any]:
        """Return a context in which the library's current stream is what it was."""

    def end(self, error: BaseException | None) -> str:
        """End it. Returns what was wrong, as a sentence without its end; an empty string if nothing
        was, or if it is `error`, which was raised, that tells.
        """


class DeviceBackend(Backend, Protocol):
    """A backend whose work is queued on streams."""

    def home(self, array: Any) -> Home:
        """Return where the work of this backend's own library on an array is queued."""

    def import_functions(self) -> tuple[Callable[[list[Any]], None], ImportFunctions]:
        """Return the `keep` and the functions of a `kerneltk.interop.exchange.Importer`."""

    def importing_stream(self, device: int) -> int:
        """Return the handle of the library's current stream on a device, for an array that is
        taken by DLPack. Raises LaunchError while that is captured: a graph cannot wait for what
        another library has done.
        """

    def place_of(self, memory: Memory) -> tuple[int, bool]:
        """Return the number of the device that another library's memory is on, and whether it is
        that device's alone: not managed, pinned, or none. Raises ArgumentValueError if no GPU
        reaches it.
        """

    def device_of(self, array: Any) -> int | None:
        """Return the number of the device whose memory an array is in; None for memory of all
        devices: managed, pinned, or none.
        """

    def on_device(self, device: int) -> AbstractContextManager[Any]:
        """Return a context in which a device is the current one."""

    def ordered(
        self, homes: Sequence[Home], stream: int | None
    ) -> AbstractContextManager[int | None]:
        """Return a context for a launch on arrays of other libraries, which has the handle of the
        stream that it goes to; `stream` is the one that a call names. In it, memory is allocated
        in that stream's order, and from torch where an array is torch's.
        """

    def owner_of(self, array: Any) -> Any:
        """Return the owner of the memory of an array that was allocated in such a context."""

    def waiting_call(self, shared: int) -> LaunchCall:
        """Return how loops over elements are launched whose blocks wait for each other and have
        `shared` bytes of dynamic shared memory.
        """

    def graph_scratch(self, size: int) -> tuple[int, Any]:
        """Return the address of `size` bytes for the launches of one graph, the counters in front
        being zero, and their owner.
        """

    def guard(self) -> Guard:
        """Return a context that keeps the library's own work out of a recording."""

    def current_handle(self) -> int:
        """Return the handle of the library's current stream."""

    def settle(self, streams: Iterable[int]) -> None:
        """Wait for all work of these streams, by their handles: memory that is allocated in their
        order belongs to no one else afterwards. Raises LaunchError where one is captured.
        """


# -- which backends there are ----------------------------------------------------------------------


class Registration(NamedTuple):
    """A backend that can be loaded.

    Parameters
    ----------
    capabilities : Capabilities
    library, array_type : str
        The module of its arrays, and their class in it. There are none before it is imported.
    load : callable
        Makes the backend, as `loading` does; raises BackendUnavailableError.
    compiler : callable
        ``compiler(unit, target)`` returns what compiles a unit and the `Target`, needing no
        device; raises ValueError for a target that it does not know.
    array_library : callable
        Returns the module whose functions make its arrays; raises BackendUnavailableError where
        this machine cannot run it.
    """

    capabilities: Capabilities
    library: str
    array_type: str
    load: Callable[[], Backend]
    compiler: Callable[[TranslationUnit, str], tuple[Compiler, Target]]
    array_library: Callable[[], ModuleType]

    def owns(self, value: object) -> bool:
        """Return whether a value is one of its arrays."""
        # A library that another thread is importing, or a stub of it, may lack the class.
        kind = getattr(sys.modules.get(self.library), self.array_type, None)
        return isinstance(kind, type) and isinstance(value, kind)


def loading(module: str, backend: str) -> Callable[[], Backend]:
    """Return what makes a backend of a class, whose module is imported then."""
    return lambda: getattr(import_module(module), backend)()


_registered: list[Registration] = []  # in the order in which they are asked
_loaded: dict[BackendName, Backend] = {}


def register(registration: Registration) -> None:
    """Add a backend. Of two that take an array, the one that was registered later gets it; the
    fallback comes last.
    """
    _registered[:] = sorted([registration, *_registered], key=lambda r: r.capabilities.is_fallback)


def names() -> tuple[BackendName, ...]:
    """Return the backends' names, the fallback's first."""
    return tuple(one.capabilities.name for one in reversed(_registered))


def _registration(name: BackendName) -> Registration:
    for one in _registered:
        if one.capabilities.name == name:
            return one
    *others, last = map(repr, names())
    raise ArgumentValueError(f"'backend' must be {', '.join(others)} or {last}, not {name!r}.")


def capabilities_of(name: BackendName) -> Capabilities:
    """Return a backend's capabilities; raises ArgumentValueError for a name that none has."""
    return _registration(name).capabilities


def capabilities_of_target(target: str) -> Capabilities:
    """Return the capabilities of the backend that a target is one of: a backend's name, or an
    architecture such as ``"sm_90"``.
    """
    known = [one.capabilities for one in _registered]
    own = (c for c in known if c.name == target)
    return next(own, None) or next(c for c in known if c.has_architectures)


def compiler_for(unit: TranslationUnit, target: str) -> tuple[Compiler, Target]:
    """The compiler of a unit, which needs no device, and the target in full. Raises ValueError for
    a target that it does not know, and BackendUnavailableError if it is not installed.
    """
    return _registration(unit.backend).compiler(unit, target)


def array_library(name: BackendName) -> ModuleType:
    """Return the library whose arrays a backend takes: NumPy for the host, CuPy for CUDA. Raises
    BackendUnavailableError where the library, its driver or a device is missing.
    """
    return _registration(name).array_library()


def backend_named(name: BackendName | None) -> Backend:
    """The backend of a name, loaded once, or :func:`default_backend`. Raises
    BackendUnavailableError if what it needs is not installed.
    """
    if name is None:
        return default_backend()
    found = _loaded.get(name)
    return found if found is not None else _loaded.setdefault(name, _registration(name).load())


def default_backend() -> Backend:
    """Return where a kernel without any array argument runs.

    That is the GPU in a program that has imported CuPy and has one, as CuPy's own kernels would,
    and the host elsewhere.
    """
    for one in _registered:
        if one.library in sys.modules and not one.capabilities.is_fallback:
            with suppress(BackendUnavailableError):
                return backend_named(one.capabilities.name)
    return backend_named(names()[0])


def backend_of(value: Any) -> Backend | None:
    """Return the backend whose own arrays `value` is one of, or None."""
    for one in _registered:
        if one.owns(value):
            return backend_named(one.capabilities.name)
    return None

"""What a backend offers to the pipeline and to the plans."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from kerneltk.core.arrays import ArraySpec
from kerneltk.core.artifacts import BackendName, ObjectCode, Target, TranslationUnit
from kerneltk.core.capabilities import Capabilities
from kerneltk.interop.protocols import Memory
from kerneltk.interop.streams import Home

__all__ = [
    "Backend",
    "Compiler",
    "DeviceBackend",
    "Function",
    "GridDialect",
    "GridLimits",
    "LaunchDialect",
    "LaunchMode",
    "Module",
    "make_block",
    "record_bytes",
]


def record_bytes(record: np.void) -> np.ndarray[Any, np.dtype[np.uint8]]:
    """Return the bytes of a structured scalar, which can be written to: the memory of the array
    that it is an element of, or its own.
    """
    address = np.frombuffer(record, np.uint8).ctypes.data  # may be read there, it says
    memory = (ctypes.c_ubyte * record.nbytes).from_address(address)
    memory.kept = record  # type: ignore[attr-defined]
    return np.frombuffer(memoryview(memory), np.uint8)


@dataclass(frozen=True, slots=True)
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


@dataclass(frozen=True, slots=True)
class LaunchDialect:
    """The pieces of Python text that a plan's launcher is assembled from.

    ``{a}`` stands for the array's variable, ``{p}`` for its address.

    Parameters
    ----------
    names : dict
        Names that the pieces use.
    read : str
        Statement that sets ``{p}`` from ``{a}``.
    array_key : str
        Expression of what a plan depends on for one array, comma separated.
    output_key : str
        The same for an array that is written, in addition.
    call_key : str
        Expression of what a plan depends on beside its arguments.
    stream : str
        Expression of the stream's handle where the caller gives none.
    allocate : str
        Statements that make an output ``{a}`` at ``{p}`` from ``shape``, ``{dtype}``, ``order``
        and ``{size}`` (bytes).
    launch : str
        The arguments of the name ``launch``, out of ``function``, ``grid``, ``grain``, ``block``,
        ``buffer`` and ``stream``. A call that fails raises one of `errors`, or does not return
        zero or None.
    scratch : str
        Expression of the address of ``scratch`` bytes that the launch on ``stream`` may use, the
        counters in front being zero; empty where they lie behind the argument block.
    errors : tuple of exception types
    late : dict
        Names whose values are made when they are first called, by a function without arguments.
    """

    names: dict[str, Any]
    read: str
    array_key: str
    output_key: str
    call_key: str
    stream: str
    allocate: str
    launch: str
    scratch: str = ""
    errors: tuple[type[Exception], ...] = ()
    late: dict[str, Callable[[], Any]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
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


@dataclass(frozen=True, slots=True)
class GridDialect:
    """The pieces of Python text that the launcher of a raw kernel is assembled from.

    As in `LaunchDialect`, ``{a}`` stands for an array's variable and ``{p}`` for its address.

    Parameters
    ----------
    names : dict
        Names that the pieces use.
    read : str
        Statement that sets ``{p}`` from ``{a}``.
    doubtful : str
        Expression that is true of an array that needs a closer look: one with gaps or of another
        device.
    doubtful_if_written : str
        The same for an array that may be written, in addition.
    head_format, head_values : str
        What lies before the parameters in their block: its ``struct`` format, and expressions of
        its values.
    head_size : int
        Bytes of that; a multiple of 16.
    launch : str
        The arguments of the name ``launch``, out of ``function``, ``gx`` to ``bz``, ``shared``,
        ``stream`` and ``buffer``.
    stream : str
        Expression of the stream's handle where the caller gives none.
    errors : tuple of exception types
    record : str
        Expression of the address of a structured scalar ``{a}``; empty where kernels cannot use it.
    note : callable or None
        Takes the bytes of the whole block and, for each argument that is an array, the parameter's
        name and whether it may be written. What it returns is called before each launch, with the
        block's address and the arrays.
    """

    names: dict[str, Any]
    read: str
    doubtful: str
    doubtful_if_written: str
    head_format: str
    head_values: str
    head_size: int
    launch: str
    stream: str
    errors: tuple[type[Exception], ...] = ()
    record: str = ""
    note: Callable[[int, Sequence[tuple[str, bool]]], Callable[[int, Any], None]] | None = None


@dataclass(frozen=True, slots=True)
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


def make_block(size: int, offset: int, constants: bytes) -> tuple[Any, int, Any]:
    """Return zeroed memory of `size` bytes at a multiple of 16, with `constants` at `offset`: a
    writable view of it, its address, and the object that owns it.
    """
    owner = ctypes.create_string_buffer(size + 16)
    start = -ctypes.addressof(owner) % 16
    memory = memoryview(owner)[start : start + size].cast("B")
    memory[offset : offset + len(constants)] = constants
    return memory, ctypes.addressof(owner) + start, owner


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

    @property
    def array_type(self) -> type:
        """The type of the arrays that it takes."""

    @property
    def dialect(self) -> LaunchDialect:
        """How launchers are written."""

    def target(self, unit: TranslationUnit | None = None) -> Target:
        """Return the target of the current device, for a unit's own compiler if one is given."""

    def load(self, code: ObjectCode) -> Function:
        """Load object code on the current device."""

    def load_module(self, code: ObjectCode) -> Module:
        """Load object code with several entry points on the current device."""

    def device_key(self) -> int:
        """Return the number of the current device."""

    def multiprocessors(self) -> int:
        """Return how many multiprocessors the current device has; 1 on the host."""

    def describe(self, array: Any) -> tuple[ArraySpec, int]:
        """Return an array's description and its address."""

    def check_usable(self, array: Any, name: str, written: bool) -> None:
        """Raise ArgumentValueError if `array` cannot be used on the current device."""

    def from_dlpack(self, value: Any) -> Any:
        """Return another library's array as one of this backend's, by DLPack, without a copy."""

    def wrap(self, memory: Memory, device: int | None = None) -> Any:
        """Return memory of another library as one of this backend's arrays, without a copy; raises
        ArgumentValueError for what the backend does not reach. `device` is the memory's, if that
        is known.
        """

    def empty(self, shape: Sequence[int], dtype: np.dtype[Any], order: str) -> Any:
        """Allocate an array."""

    def lend(self, record: np.void, alignment: int, stream: int | None) -> Any:
        """Return a copy of a structured scalar's bytes at a multiple of `alignment`, for a kernel
        on `stream`, by default the current one.
        """

    def take_back(self, memory: Any, record: np.void, stream: int | None) -> None:
        """Put the copy that `lend` returned into the structured scalar, once the kernel is done."""

    def stream_context(self, stream: int | None) -> AbstractContextManager[Any]:
        """Return a context in which memory is allocated and used in a stream's order."""

    def make_buffer(self, size: int, offset: int, constants: bytes) -> Any:
        """Return an argument buffer whose constant part is filled in: a tuple of its writable
        memory, the address that `launch` takes, and what must stay alive.
        """

    def grid_dialect(self, mode: LaunchMode, kernel: str) -> GridDialect:
        """Return how launchers of raw kernels are written; raises LaunchError for a mode that
        this backend does not have.
        """

    def make_parameters(self, size: int, offsets: Sequence[int]) -> tuple[Any, int, Any]:
        """Return a block of parameters, each at its offset (bytes): its writable memory, the
        address that a grid's launch takes, and what must stay alive.
        """

    def limits(self, function: Function) -> GridLimits:
        """Return what a launch of a raw kernel may ask for."""

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

    def variable_array(
        self, address: int, dtype: np.dtype[Any], shape: tuple[int, ...], owner: object
    ) -> Any:
        """Return a module's variable as one of this backend's arrays, which shares its memory."""

    def variable_pointer(self, address: int, size: int, owner: object) -> Any:
        """Return a pointer to a module's variable of `size` bytes, in the array library's own
        way.
        """

    def launch_failed(self, failure: Any, launch: Any, arguments: tuple[Any, ...]) -> None:
        """Handle a launch that raised or returned `failure`: repeat it where that helps, or raise
        LaunchError.
        """


class DeviceBackend(Backend, Protocol):
    """A backend whose work is queued on streams."""

    def home(self, array: Any) -> Home:
        """Return where the work of this backend's own library on an array is queued."""

    def ordered(
        self, homes: Sequence[Home], stream: int | None
    ) -> AbstractContextManager[int | None]:
        """Return a context for a launch on arrays of other libraries, which has the handle of the
        stream that it goes to; `stream` is the one that a call names. In it, memory is allocated
        in that stream's order, and from torch where an array is torch's.
        """

    def owner_of(self, array: Any) -> Any:
        """Return what owns the memory of an array that was allocated in such a context."""

"""Launchers by their specs: those of the extension module where it is there, or in Python.

The module interprets launchers' descriptions. It does by itself what a call whose plan is known
needs, and calls the launcher in Python for all else; so results and messages are the same
(``_launcher.c``). It is built with the package where a C compiler is there, else once by the host's
toolchain, and cached.
"""

from __future__ import annotations

import os
import re
import struct
import sys
import threading
from array import array
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from itertools import count
from operator import attrgetter
from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from kerneltk.backends.base import (
    ArrayAccess,
    ArrayLayout,
    BlocksOf,
    Bound,
    LaunchCall,
    LaunchValue,
)
from kerneltk.core.records import cached_property
from kerneltk.core.settings import get_settings
from kerneltk.errors import BackendUnavailableError, CompileError
from kerneltk.interop import exchange
from kerneltk.launch import launcher_sources
from kerneltk.launch.called import built_module
from kerneltk.launch.launcher_spec import (
    GRID_COLUMNS,
    LOOP_COLUMNS,
    Argument,
    LauncherSpec,
    MultipleOf,
    Structure,
)

if TYPE_CHECKING:
    from kerneltk.launch.interpreter import Interpreter

_NAME = "kerneltk.launch._launcher"
# The order of the enumerations in the C source.
_MARSHALS = ("address", "number", "converted", "float32", "bytes", "nothing")
_GUARDS = ("dtype", "dense", "memory", "device", "writable")
_VALUES = (
    "function", "stream", "parameters", "grid", "chunk", "block",
    "gx", "gy", "gz", "bx", "by", "bz", "shared", "blocks",
)  # fmt: skip
_CONSTANT, _BLOCKS_OF = len(_VALUES), len(_VALUES) + 1
_MOST_LEAVES, _MOST_VALUES = 64, 16
_NUMBERS = (int, float, complex, np.generic)
_STACK_BLOCK = 1024  # bytes of a block that no memory is allocated for
_64_BITS = 2**64 - 1
_NUMPY = "2."  # the versions whose arrays and scalars in memory C knows: the ABI has both
_CODE = re.compile(r"(\d*)([a-zA-Z?])")
# Scalars of NumPy that have their value behind the object's head, by the letter of ``struct``.
_SCALARS: dict[type, str] = {
    kind: np.dtype(kind).char.translate({ord("l"): "q", ord("L"): "Q"})
    for kind in (
        *(np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64),
        *(np.float32, np.float64),
    )
}


class _Loader:
    """The extension module, which a thread may still be compiling."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._is_asked = False
        self._module: ModuleType | None = None
        self._done = threading.Event()

    @property
    def is_done(self) -> bool:
        """Whether it is known if there is one."""
        return self._done.is_set()

    def module(self) -> ModuleType | None:
        """The module; None where there is none, or not yet."""
        if not self.is_done:
            self._ask()
            if get_settings().launcher == "compiled":
                self._done.wait()
        return self._module

    def _ask(self) -> None:
        with self._lock:
            if self._is_asked:
                return
            self._is_asked = True
        if self._load(only_made=True):
            return
        settings = get_settings()
        if settings.cache_directory is None and settings.launcher != "compiled":
            self._done.set()  # each process would compile it anew
            return
        try:
            threading.Thread(target=self._load, name="kerneltk-launcher").start()
        except RuntimeError:  # no more threads, or the interpreter is ending
            self._done.set()

    def _load(self, only_made: bool = False) -> bool:
        """Take the module that is there, or make it. Whether no more is to be done."""
        try:
            found = _built() or _compiled_here(only_made)
            if found is None and only_made:
                return False
            if found is not None and np.__version__.startswith(_NUMPY):
                add_library, add_importer = found.add_library, found.add_importer
                exchange.read_by(
                    lambda one: (
                        add_importer(*one)
                        if isinstance(one, exchange.Importer)
                        else add_library(*one[:-2])  # the rest is Python's
                    )
                )
                self._module = found
        except (BackendUnavailableError, CompileError):  # launchers are written in Python then
            pass
        except BaseException:
            self._done.set()  # no thread waits for what failed
            raise
        self._done.set()
        return True


def _built() -> ModuleType | None:
    """The module that was built with the package, of the same sources."""
    if get_settings().host_sanitizers:
        return None
    return built_module()


def _compiled_here(only_made: bool) -> ModuleType | None:
    """The module as the host's toolchain makes it; None if `only_made` and it is not in the cache.
    Raises BackendUnavailableError.
    """
    from kerneltk.backends.host import extension

    source, *headers = launcher_sources.paths()
    return extension.load(_NAME, source, headers, only_made)


_loader = _Loader()


def _after_fork() -> None:
    global _loader
    if not _loader.is_done:  # the thread that worked on it is gone
        _loader = _Loader()


os.register_at_fork(after_in_child=_after_fork)


def is_awaited() -> bool:
    """Whether launchers in Python are for the time until the module is there."""
    return get_settings().launcher != "python" and not _loader.is_done


def launcher_class() -> Any:
    """The class of compiled launchers; None where launchers are to be in Python."""
    if get_settings().launcher == "python":
        return None
    module = _loader.module()
    return None if module is None else module.Launcher


def extension_module() -> Any:
    """The extension module; None where there is none, or not yet."""
    return _loader.module()


def dlpack_device(given: Any, own_kind: type) -> tuple[int, int] | None:
    """DLPack's numbers of an array's memory, where the extension module reads arrays of its
    library, or zeros where it imports them as a backend's arrays; else None.
    """
    found: tuple[int, int] | None = None
    if launcher_class() is not None:
        found = _loader.module().dlpack_device(given)  # type: ignore[union-attr]
        if found is None and exchange.is_imported(type(given), own_kind):
            return 0, 0
    return found


# -- descriptions ----------------------------------------------------------------------------------


class _NotDescribedError(Exception):
    """Compiled launchers do not know something in a spec."""


def reader_of(names: str) -> Callable[[Any], Any] | None:
    """The function that reads an attribute, with dots between those of attributes."""
    return attrgetter(names) if names else None


def _values(values: tuple[LaunchValue, ...]) -> tuple[int, bytes]:
    if len(values) > _MOST_VALUES:
        raise _NotDescribedError
    return len(values), as_bytes([number for value in values for number in _value(value)])


def _value(value: LaunchValue) -> tuple[int, int]:
    if isinstance(value, str):
        return _VALUES.index(value), 0
    if isinstance(value, BlocksOf):
        return _BLOCKS_OF, value.threads
    number = value.value if isinstance(value, Bound) else value
    if not isinstance(number, int):
        raise _NotDescribedError
    return _CONSTANT, number


def counted(numbers: Sequence[int]) -> tuple[int, bytes]:
    """How many ints of C there are, and they."""
    return len(numbers), array("i", numbers).tobytes()


def as_bytes(numbers: Sequence[int]) -> bytes:
    """Numbers of 64 bits."""
    return array("Q", [number & _64_BITS for number in numbers]).tobytes()


def _leaf(argument: Argument) -> tuple[Any, ...]:
    if argument.marshal not in _MARSHALS:
        raise _NotDescribedError
    converts_itself = argument.marshal == "number" or hasattr(argument.type, "__index__")
    if (
        argument.marshal != "address"
        and converts_itself
        and not issubclass(argument.type, _NUMBERS)
    ):
        raise _NotDescribedError  # what raises in it would be called a second time
    guards, units = 0, {"address": 1, "nbytes": 1}
    for guard in argument.guards:
        if isinstance(guard, MultipleOf):
            units[guard.what] = guard.number
        else:
            guards |= 1 << _GUARDS.index(guard)
    return (
        argument.type,
        _MARSHALS.index(argument.marshal),
        argument.is_given,
        argument.written,
        guards,
        units["address"] - 1,
        units["nbytes"] - 1,
        argument.dtype,
        argument.convert,
        ord(_SCALARS.get(argument.type, "\0")),
    )


def _form(argument: Argument | Structure, leaves: list[Argument], numbers: Iterator[int]) -> Any:
    """An argument's form: the index of a leaf, or a structure's type, fields and items' forms."""
    if isinstance(argument, Argument):
        leaves.append(argument)
        return next(numbers)
    items = tuple(_form(item, leaves, numbers) for item in argument.items)
    fields = None if issubclass(argument.type, tuple) else tuple(argument.fields)
    return argument.type, fields, items


def _is_numpy(arrays: ArrayAccess) -> bool:
    """Whether what is asked of arrays is what the module reads of NumPy's by itself."""
    return (arrays.address, arrays.dense, arrays.writable, arrays.memory) == (
        object.__basicsize__, "flags.forc", "flags.writeable", "",
    )  # fmt: skip


def _layout(arrays: ArrayAccess, kinds: set[type]) -> ArrayLayout | None:
    """Where arrays keep what is read of them, if there are no others among the arguments."""
    layout = None if arrays.layout is None else arrays.layout()
    return layout if layout is not None and kinds <= {layout.kind} else None


def _description(spec: LauncherSpec) -> tuple[Any, ...]:
    """What a compiled launcher does, beside what it is bound to. Raises _NotDescribedError."""
    arrays, call = spec.arrays, spec.call
    launching = _Launching(call)
    is_noted = call.note is not None or arrays.wrote is not None
    if call.native is None or is_noted or sys.byteorder != "little":
        raise _NotDescribedError
    leaves: list[Argument] = []
    numbers = count()
    nodes = tuple(
        form
        for argument in spec.arguments
        for form in (_form(argument, leaves, numbers),)
        if isinstance(argument, Structure) or argument.is_given
    )
    if len(leaves) > _MOST_LEAVES:
        raise _NotDescribedError
    kinds = {leaf.type for leaf in leaves if leaf.marshal == "address"}
    is_numpy = all(issubclass(kind, np.ndarray) for kind in kinds) and _is_numpy(arrays)
    layout = _layout(arrays, kinds)
    if kinds and not is_numpy and layout is None:  # only by their attributes
        raise _NotDescribedError
    overlaps = [k for pair in spec.overlaps for k in pair]
    return (
        spec.entry == "grid",
        spec.has_scratch and call.scratch_for is not None,
        spec.entry == "loop" and call.current_device is not None,
        -1 if spec.device is None or call.current_device is None else spec.device,
        arrays.dlpack_devices,
        spec.returns == "none",
        spec.returns == "tuple",
        tuple(map(_leaf, leaves)),
        nodes,
        *counted(spec.packed or range(len(leaves))),
        *_values(call.head_values),
        *_values(call.arguments),
        len(spec.overlaps),
        counted(overlaps)[1],
        *counted(spec.outputs),
        reader_of(arrays.dense),
        reader_of(arrays.device),
        layout,
        None if call.current_stream is None else launching.current_handle,
        call.current_device,
        call.scratch_for,
        launching.native,
        0 if call.stream_function is None else call.stream_function(),
        0 if arrays.new_array_function is None else arrays.new_array_function(),
        arrays.allocate,
        arrays.allocate_memory,
        launching.launch,
        launching.failed,
        RowReader(spec, leaves),
    )


def description_of(spec: LauncherSpec) -> tuple[Any, ...] | None:
    """What a compiled launcher does, beside what it is bound to.

    None where launchers in Python are needed: for records that are lent, notes of arrays, objects
    that convert themselves to numbers, or more arguments than it has capacity for.
    """
    try:
        return _description(spec)
    except _NotDescribedError:
        return None


@lru_cache
def _codes(layout: str) -> tuple[int, bytes, int]:
    """Where a ``struct`` format without alignment has its values: how many there are, each one's
    letter, offset and size as three ints of C, and the size of them all.
    """
    codes = array("i")
    offset = 0
    for repeats, letter in _CODE.findall(layout):
        number, size = int(repeats or 1), struct.calcsize(f"<{letter}")
        if letter == "s":
            codes.extend((ord(letter), offset, number))
        elif letter != "x":
            for k in range(number):
                codes.extend((ord(letter), offset + k * size, size))
        offset += number * size
    return len(codes) // 3, codes.tobytes(), offset


class RowReader:
    """Makes what a compiled launcher launches by of a plan's row: once, and not at each launch.

    Parameters
    ----------
    spec : LauncherSpec
    leaves : sequence of Argument
    """

    def __init__(self, spec: LauncherSpec, leaves: Sequence[Argument]) -> None:
        self._is_grid, self._extents = spec.entry == "grid", [leaf.extents for leaf in leaves]
        self._first = GRID_COLUMNS if self._is_grid else LOOP_COLUMNS + 2 * len(spec.outputs)
        self._limits = 3 * len(spec.overlaps)

    def __call__(self, row: tuple[Any, ...]) -> tuple[Any, ...] | None:
        """What ``take_row`` takes; None where Python has to launch."""
        numbers: list[int] = []
        shape: tuple[int, ...] = ()
        grid = chunk = block = scratch = 0
        order, shapes = "", None
        if self._is_grid:
            _, function, shapes, _, pack, launches = row[:GRID_COLUMNS]
            buffer = launches.new_buffer()
        else:
            function, grid, chunk, block, pack, _, new_buffer, _, shape, order, scratch = row[
                :LOOP_COLUMNS
            ]
            if not grid:  # nothing is launched
                return None
            buffer = new_buffer()
        packer = getattr(pack, "__self__", None)
        if type(packer) is not struct.Struct:  # what packs converts numbers before
            return None
        content = bytes(memoryview(buffer.memory))
        *codes, end = _codes(packer.format)
        if end > len(content):
            return None
        at, starts = self._first, array("i", [0])
        for extents in self._extents:
            numbers += row[at] if extents is None else row[at : at + extents]
            at += 1 if extents is None else extents
            starts.append(len(numbers))
        numbers += row[at : at + self._limits]
        return (
            int(function or 0) & _64_BITS, grid, chunk, block, scratch, len(content),
            content.rstrip(b"\0") if len(content) > _STACK_BLOCK else content,
            *codes, *counted(buffer.offsets), as_bytes(numbers), starts.tobytes(),
            len(shape), as_bytes(shape), shapes, shape, order,
        )  # fmt: skip


class _Launching:
    """What a launcher launches by, which is found by the first launch."""

    def __init__(self, call: LaunchCall) -> None:
        self._call = call

    @cached_property
    def _function(self) -> Callable[..., Any]:
        function: Callable[..., Any] = self._call.launch
        return function() if self._call.is_late else function

    def current_handle(self) -> int:
        """The handle of the stream that launches are queued on."""
        handle: int = self._call.current_stream().ptr  # type: ignore[misc]
        return handle

    def native(self) -> int:
        """The address of the C function that launches; 0 if there is none."""
        assert self._call.native is not None  # else it would not be described
        return self._call.native(self._function)

    def launch(self, values: tuple[int, ...]) -> None:
        """Launch by the function in Python."""
        call, function = self._call, self._function
        try:
            failure = function(*values)
        except call.errors as error:
            failure = error
        if failure:
            call.launch_failed(failure, function, values)

    def failed(self, status: int, values: tuple[int, ...]) -> None:
        """Handle what the C function returned; where the one in Python raises, that tells more."""
        if self._call.errors:
            self.launch(values)
        else:
            self._call.launch_failed(status, self._function, values)


# -- launchers of kernels --------------------------------------------------------------------------


def is_outdated(run: object) -> bool:
    """Whether a launcher was bound before the extension module was there, and it is now: another
    one is to be bound in its place. All calls of this one are dispatched.
    """
    return getattr(run, "is_outdated", False)


class BoundLauncher(NamedTuple):
    """A launcher of one kernel.

    Parameters
    ----------
    run : callable
        Called as its spec's entry says.
    key_of : callable
        Takes a tuple of arguments of the spec's types, and for a loop `extra`; returns the key of
        their plan. None if there are no plans.
    forget : callable
        Called when the table of plans was cleared.
    """

    run: Callable[..., Any]
    key_of: Any
    forget: Callable[[], object]


class LauncherTemplate:
    """All launchers of one spec, each of which is bound to a kernel.

    Parameters
    ----------
    spec : LauncherSpec
    """

    def __init__(self, spec: LauncherSpec) -> None:
        self.spec = spec

    @cached_property
    def _interpreter(self) -> Interpreter:
        from kerneltk.launch.interpreter import interpreter_of  # most processes need none

        return interpreter_of(self.spec)

    @cached_property
    def _description(self) -> tuple[Any, ...] | None:
        return description_of(self.spec)

    def bind(
        self,
        dispatch: Callable[..., Any] | None = None,
        plans: dict[Any, tuple[Any, ...]] | None = None,
        unplanned: Callable[..., Any] | None = None,
    ) -> BoundLauncher:
        """Bind a launcher to a kernel; the parameters are those of `Interpreter.bind`."""
        awaited = is_awaited()  # asked first: the module may be there behind that
        kind = launcher_class()
        if kind is None or self._description is None:
            is_interim = awaited and self._description is not None
            later = (lambda: launcher_class() is not None) if is_interim else None
            run: Any = self._interpreter.bind(dispatch, plans, unplanned, is_outdated=later)
            return BoundLauncher(run, run.key_of if self.spec.bound is None else None, lambda: None)

        def in_python() -> tuple[Callable[..., Any], Any]:
            run: Any = self._interpreter.bind(dispatch, plans, unplanned, launcher)
            return run, run.key_of

        bound = self.spec.bound
        launcher = kind(
            *self._description,
            None if bound is None else bound.row(None),
            plans,
            dispatch,
            unplanned,
            in_python,
        )
        return BoundLauncher(launcher, launcher.key_of, launcher.forget)

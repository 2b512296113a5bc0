"""Launches that are recorded: a backend whose launch calls go to the thread's recorder.

Launchers are written from descriptions of how a backend launches and allocates. Those for
`RecordingBackend` do all that an eager call does: they check, find plans, copy what overlaps, and
marshal. Then they launch nothing: the recorder takes the values and the block of parameters.
"""

from __future__ import annotations

import ctypes
import dataclasses
import functools
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from types import SimpleNamespace
from typing import Any, NamedTuple, Never, cast

import numpy as np

from kerneltk.backends.base import (
    Backend,
    DeviceBackend,
    LaunchCall,
    LaunchMode,
    ParameterBlock,
    RecordedLaunch,
)
from kerneltk.core.arrays import pinned
from kerneltk.core.recorders import Recordable, current_recorder, recording_by
from kerneltk.core.records import Memo, cached_property
from kerneltk.core.structures import is_structure, items_of, rebuilt
from kerneltk.errors import ArgumentTypeError, LaunchError, UnsupportedError
from kerneltk.launch.called import by_methods


class Binding(NamedTuple):
    """A recorded call with some arguments.

    Parameters
    ----------
    values : tuple
        The arguments and results.
    launches : list of RecordedLaunch
        What it launches, copies included; none where there are no elements.
    kept : list
        What must live as long.
    notes : list of callable
        What tells other libraries that their arrays were written to.
    written : list of array
        The backend's arrays that the launches write to.
    checks : list of callable
        Raise where arrays of other libraries must not be written to.
    """

    values: tuple[Any, ...]
    launches: list[RecordedLaunch]
    kept: list[Any]
    notes: list[Callable[[], None]]
    written: list[Any]
    checks: list[Callable[[], None]]

    @classmethod
    def of(cls, values: tuple[Any, ...]) -> Binding:
        """A binding that launches nothing yet."""
        return cls(values, [], [], [], [], [])


def _leaves(values: Iterable[Any]) -> Iterator[Any]:
    """Yield values, and the items of those that are structures."""
    for value in values:
        if is_structure(value):
            yield from _leaves(items_of(value))
        else:
            yield value


class RecordedCall:
    """A call of a kernel that is part of a graph.

    Attributes
    ----------
    recordable : Recordable
    memory : list
        What it allocated beside its results, behind shape, dtype and order: it is used again by
        another binding, since launches of one graph follow each other.
    recorded : Binding
        The call with the arguments of the recording.
    """

    __slots__ = ("memory", "recordable", "recorded")

    def __init__(self, recordable: Recordable) -> None:
        self.recordable = recordable
        self.memory: list[tuple[tuple[Any, ...], Any]] = []
        self.recorded = Binding.of(())

    def name_of(self, index: int) -> str:
        """The name of a value; empty where there is none."""
        names = self.recordable.names
        return names[index] if index < len(names) else "out"


class Recorder:
    """Takes the calls of one thread; implements `kerneltk.core.recorders.Recorder`.

    Parameters
    ----------
    accept : callable
        Called with each call that was recorded; raises for one that cannot be in a graph.

    Attributes
    ----------
    calls : list of RecordedCall
    functions : list of (range, list)
        The numbers of calls that are one function's, and the arrays that it writes to.
    backend : Backend or None
        That of all launches, once there is one.
    device : int
        The number of the device, once there is a backend.
    has_allocated : bool
        Whether the last call took memory that no call before had.
    undisturbed : callable
        Returns a context for what a call does beside launches.
    """

    def __init__(self, accept: Callable[[RecordedCall], None]) -> None:
        self._accept = accept
        self.calls: list[RecordedCall] = []
        self.functions: list[tuple[range, list[Any]]] = []
        self.backend: Backend | None = None
        self.device = 0
        self.has_allocated = False
        self._call: RecordedCall | None = None
        self._binding = Binding.of(())
        self._free: list[tuple[tuple[Any, ...], Any]] = []  # of the call's memory
        self._scratch: list[tuple[int, int, Any]] = []
        self._note: Callable[[ParameterBlock], None] | None = None
        self.undisturbed: Callable[[], AbstractContextManager[Any]] = nullcontext

    @contextmanager
    def recording(self) -> Iterator[None]:
        """A context in which this thread's calls come here. Raises LaunchError in another's."""
        if current_recorder() is not None:
            raise LaunchError("This thread records a graph already.\n  Hint: graphs do not nest.")
        with by_methods(), recording_by(self):  # methods ask who records
            yield

    # -- calls ---------------------------------------------------------------------------------

    def call(self, recordable: Recordable) -> Any:
        """Record a call, and return its result, which has no values yet."""
        if self._call is not None:  # of a kernel that is made of others
            return recordable.run(recordable.values)
        values = recordable.values
        if recordable.by_value is not None:
            with self.undisturbed():
                values = recordable.by_value(values)
        recordable = recordable._replace(values=tuple(map(settled, values)))
        call = RecordedCall(recordable)
        backend, device = self.backend, self.device
        try:
            binding, result = self._run(call, recordable.values)
            if result is not None and len(binding.values) <= recordable.inputs:
                results = items_of(result) if is_structure(result) else (result,)
                binding = binding._replace(values=(*binding.values, *results))
                binding.kept.extend(pinned(_leaves(results)))
            call.recorded = binding
            with self.undisturbed():
                self._accept(call)
        except BaseException:
            self.backend, self.device = backend, device
            raise
        self.calls.append(call)
        return result

    def together(self, record: Callable[[], Any], written: Sequence[Any]) -> Any:
        """Record the calls of one function, which writes to these arrays."""
        first = len(self.calls)
        result = record()
        calls = range(first, len(self.calls))
        if written and len(calls) > 1:  # one alone copies what it reads and writes
            self.functions.append((calls, list(written)))
        return result

    def bind(self, call: RecordedCall, values: tuple[Any, ...]) -> Binding:
        """A recorded call with other arguments; raises as the call itself does."""
        with self.recording():
            return self._run(call, values)[0]

    def _run(self, call: RecordedCall, values: tuple[Any, ...]) -> tuple[Binding, Any]:
        binding = self._binding = Binding.of(values)
        binding.kept.extend(pinned(_leaves(values)))
        self._call, self._note, self.has_allocated = call, None, False
        self._free = list(call.memory)
        try:
            with self.undisturbed():
                result = call.recordable.run(values)
        finally:
            self._call = None
        return binding, result

    def adopted(
        self,
        arrays: Sequence[Any],
        notes: Sequence[Callable[[], None]],
        checks: Sequence[Callable[[], None]],
    ) -> None:
        """Hold what a launch made of other libraries' arrays, and notes and checks for them."""
        self._binding.kept.extend(arrays)
        self._binding.notes.extend(notes)
        self._binding.checks.extend(checks)

    def wrote(self, arrays: tuple[Any, ...]) -> None:
        """Take the arrays that the next launch writes to."""
        self._binding.written.extend(arrays)

    # -- launches ------------------------------------------------------------------------------

    def _use(self, backend: Backend) -> None:
        device = backend.device_key()
        if self.backend is None:
            self.backend, self.device = backend, device
        elif self.backend is not backend:
            raise ArgumentTypeError(
                f"A graph's launches are on one backend: this one is in "
                f"{backend.capabilities.location}, those before are in "
                f"{self.backend.capabilities.location}."
            )
        elif self.device != device:
            raise LaunchError(
                f"A graph's launches are on one device: the current one is {device}, those before "
                f"are on {self.device}."
            )

    def add(self, backend: Backend, call: LaunchCall, values: tuple[Any, ...]) -> None:
        """Take a launch: its values, where the block of parameters is a `_Draft`."""
        self._use(backend)
        index = call.arguments.index("parameters")
        block = values[index].finished()
        note, self._note = self._note, None
        launch = call.launch() if call.is_late else call.launch
        values = (*values[:index], block.address, *values[index + 1 :])
        noted = None if note is None else functools.partial(note, block)
        self._binding.launches.append(RecordedLaunch(call, launch, values, block, noted))

    def note_arrays(self, note: Callable[[int, Any], None], arrays: Any) -> None:
        """Take a function that describes the arrays of the next launch to the runtime."""
        self._note = lambda block: note(block.address, arrays)

    def allocate(self, backend: Backend, shape: Any, dtype: Any, order: str) -> Any:
        """Memory of the call that is recorded: where it is bound again, what it had before."""
        assert self._call is not None  # launchers run in calls
        self._use(backend)
        key = (tuple(shape), dtype, order)
        at = next((at for at, (known, _) in enumerate(self._free) if known == key), None)
        if at is not None:
            return self._free.pop(at)[1]
        array = backend.empty(shape, dtype, order)
        if backend.capabilities.in_host_memory and dtype.kind in "fc":
            # Whoever reads a result before the graph's launch sees it. Large ones are left to
            # the threads that will write them.
            array.ravel("K")[:_SPOILED] = np.nan
        self._call.memory.append((key, array))
        self.has_allocated = True
        return array

    def scratch(self, backend: Backend, size: int) -> int:
        """The address of scratch memory of the graph's own: its launches follow each other."""
        self._use(backend)
        for address, capacity, _ in self._scratch:
            if size <= capacity:
                return address
        address, owner = cast(DeviceBackend, backend).graph_scratch(size)
        self._scratch.append((address, size, owner))
        self.has_allocated = True
        return address


def settled(value: Any) -> Any:
    """An argument that the caller cannot change any more, arrays excepted: what a kernel takes by
    value has to be the same whenever the call is bound.
    """
    if isinstance(value, np.void):
        return value.copy()
    if isinstance(value, bytearray | memoryview):
        return bytes(value)
    if isinstance(value, ctypes.Structure | ctypes._SimpleCData):
        return type(value).from_buffer_copy(value)
    if isinstance(value, list):
        return [settled(item) for item in value]
    if not is_structure(value):
        return value
    given = items_of(value)
    items = tuple(map(settled, given))
    is_same = all(item is before for item, before in zip(items, given, strict=True))
    return value if is_same and isinstance(value, tuple) else rebuilt(value, items)


# -- the backend that launchers are written for ----------------------------------------------------


_SPOILED = 1024  # elements


class _Draft(NamedTuple):
    """Stands for the address of a block of parameters: other launches will write into the block."""

    memory: Any
    make: Callable[[], ParameterBlock]

    def finished(self) -> ParameterBlock:
        """A block of the same bytes, which no one else has."""
        block = self.make()
        block.memory[:] = self.memory
        return block


def _own_recorder() -> Recorder:
    recorder = current_recorder()
    assert isinstance(recorder, Recorder)  # only who records runs these launchers
    return recorder


def _wrote(arrays: tuple[Any, ...]) -> None:
    _own_recorder().wrote(arrays)


class RecordingBackend:
    """A backend whose launches are recorded; all else is the backend's own.

    Implements `kerneltk.backends.base.Backend`.
    """

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._waiting_calls = Memo()  # by the bytes of shared memory
        self.arrays = dataclasses.replace(
            backend.arrays,
            allocate=self._allocate,
            allocate_memory=None,
            lend=_refuse_record,
            record=None,
            layout=None,
            new_array_function=None,
            wrote=_wrote if backend.arrays.writable else None,
        )

    def __getattr__(self, name: str) -> Any:
        return getattr(self._backend, name)

    def _allocate(self, shape: Any, dtype: Any, order: str) -> Any:
        return _own_recorder().allocate(self._backend, shape, np.dtype(dtype), order)

    @cached_property
    def loop_call(self) -> LaunchCall:
        """How loops over elements are recorded."""
        return self._recorded(self._backend.loop_call)

    def waiting_call(self, shared: int) -> LaunchCall:
        """Return how a loop is recorded whose blocks wait for each other."""
        own = cast(DeviceBackend, self._backend)
        call: LaunchCall = self._waiting_calls.of(
            shared, lambda: self._recorded(own.waiting_call(shared))
        )
        return call

    def grid_call(self, mode: LaunchMode, kernel: str) -> LaunchCall:
        """Return how a launch over a caller's grid is recorded."""
        return self._recorded(self._backend.grid_call(mode, kernel))

    def _recorded(self, call: LaunchCall) -> LaunchCall:
        backend = self._backend

        def launch(*values: Any) -> None:
            _own_recorder().add(backend, call, values)

        def scratch_for(stream: int, size: int) -> int:
            return _own_recorder().scratch(backend, size)

        return dataclasses.replace(
            call,
            launch=launch,
            is_late=False,
            errors=(),
            current_stream=None if call.current_stream is None else _no_stream,
            scratch_for=None if call.scratch_for is None else scratch_for,
            note=None if call.note is None else functools.partial(_recorded_note, call.note),
            native=None,
            stream_function=None,
        )

    def make_buffer(self, size: int, offset: int, constants: bytes) -> ParameterBlock:
        """Return a draft of an argument buffer."""
        block = self._backend.make_buffer(size, offset, constants)
        make = functools.partial(self._backend.make_buffer, size, 0, b"")
        return block._replace(address=_Draft(block.memory, make))

    def make_parameters(self, size: int, offsets: Sequence[int]) -> ParameterBlock:
        """Return a draft of a block of parameters."""
        block = self._backend.make_parameters(size, offsets)
        make = functools.partial(self._backend.make_parameters, size, offsets)
        return block._replace(address=_Draft(block.memory, make))


@functools.lru_cache(maxsize=8)
def _recording_backend(backend: Any) -> Any:
    return RecordingBackend(backend)


def recording_backend(backend: Backend) -> Backend:
    """The backend that records what would be launched on `backend`."""
    return cast(Backend, _recording_backend(cast(Any, backend)))


_STREAM = SimpleNamespace(ptr=0)  # a graph's launch says which it is


def _no_stream() -> Any:
    return _STREAM


def _recorded_note(make: Callable[..., Any], *arguments: Any) -> Callable[[Any, Any], None]:
    note = make(*arguments)

    def noted(draft: Any, arrays: Any) -> None:
        _own_recorder().note_arrays(note, arrays)

    return noted


def _refuse_record(record: Any, alignment: int, stream: int | None) -> Never:
    raise UnsupportedError(
        "A record whose address a kernel takes cannot be recorded: the kernel has a copy of it.\n"
        "  Hint: pass an array of one, 'x[:1]'."
    )

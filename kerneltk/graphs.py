"""Graphs: launches that are recorded once, and launched together again and again."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from itertools import islice
from operator import attrgetter
from types import TracebackType
from typing import Any, Literal, NamedTuple, Never, cast

import numpy as np

from kerneltk.backends.base import Backend, DeviceBackend, Executable, Guard
from kerneltk.backends.foreign_arrays import Adoption, default_backend, own_array
from kerneltk.core.arrays import ArraySpec, byte_extent
from kerneltk.core.recorders import current_recorder, recorders
from kerneltk.core.records import Memo
from kerneltk.core.structures import is_structure, items_of
from kerneltk.errors import (
    ArgumentTypeError,
    ArgumentValueError,
    KernelToolkitError,
    LaunchError,
    UnsupportedError,
)
from kerneltk.interop import torch_tensors
from kerneltk.interop.streams import stream_handle
from kerneltk.launch.recording import Binding, RecordedCall, Recorder, settled
from kerneltk.signature.resolve import share_memory

__all__ = ["Graph", "graph"]


class _Memory(NamedTuple):
    """What an array is to a kernel: two arrays of which all of this is equal are the same."""

    backend: Backend
    device: int
    address: int
    spec: ArraySpec

    @property
    def extent(self) -> tuple[int, int]:
        """The addresses of its first byte and of the one past its last."""
        low, high = byte_extent(self.spec.shape, self.spec.strides, self.spec.dtype.itemsize)
        return self.address + low, self.address + high

    def shares(self, other: _Memory) -> bool:
        """Whether another array has an element in common with this one."""
        distance = other.address - self.address
        return self.overlaps(other) and share_memory(self.spec, other.spec, distance)

    def overlaps(self, other: _Memory) -> bool:
        """Whether another array has bytes of this one's."""
        (low, high), (other_low, other_high) = self.extent, other.extent
        return (
            self.backend is other.backend
            and self.device == other.device
            and low < other_high
            and other_low < high
        )


def _memory_of(value: Any) -> _Memory | None:
    """What an array is to a kernel; None for what is no array."""
    own, array = own_array(value)
    return None if own is None else _memory(own, array)


def _memory(own: Backend, array: Any) -> _Memory:
    spec, address = own.describe(array)
    on_device = not own.capabilities.in_host_memory
    device = cast(DeviceBackend, own).home(array).device if on_device else 0
    return _Memory(own, device, address, spec)


def _is_foreign(value: Any, memory: _Memory) -> bool:
    return not isinstance(value, memory.backend.array_type)


def _inside(value: Any) -> Iterator[tuple[Any, _Memory]]:
    """The arrays in a structure, and what they are to a kernel."""
    for item in items_of(value):
        memory = _memory_of(item)
        if memory is not None:
            yield item, memory
        else:
            yield from _inside(item)


def _check(call: RecordedCall) -> None:
    """Raise UnsupportedError for a call that was recorded and cannot be launched again."""
    recordable, values = call.recordable, call.recorded.values
    for index, value in enumerate(values):
        shown = _shown(call, index)
        memory = _memory_of(value)
        _check_lasting(shown, value)
        if memory is None:
            for item, _ in _inside(value):
                _check_lasting(shown, item)
            if index >= recordable.inputs and not is_structure(value):
                raise UnsupportedError(
                    f"{shown} is of type '{type(value).__name__}', which cannot be part of a graph."
                )
        elif index >= recordable.inputs:  # a result is the caller's
            describe = memory.backend.describe
            call.memory[:] = [own for own in call.memory if describe(own[1])[1] != memory.address]


def _check_lasting(shown: str, value: Any) -> None:
    """Raise UnsupportedError for an array that is not in the same memory, or not with the same
    numbers, at each launch.
    """
    if type(value).__module__.partition(".")[0] in ("jax", "jaxlib"):
        raise UnsupportedError(
            f"{shown} is JAX's, whose arrays never change: it cannot be part of a graph.\n"
            "  Hint: pass a copy, as an array of NumPy or CuPy."
        )
    own, array = own_array(value)
    if own is None or isinstance(value, own.array_type):
        return
    _, again = own_array(value)  # while the first is there: memory would be used again
    if _memory(own, again) != _memory(own, array):
        raise UnsupportedError(
            f"{shown} is of type '{type(value).__name__}' and has its numbers in new memory each "
            "time: a graph would launch with old ones.\n  Hint: pass a copy."
        )


def _shown(call: RecordedCall, index: int) -> str:
    name = call.name_of(index)
    what = f"'{name}'" if name else f"#{index + 1}"
    return f"The argument for {what} of kernel '{call.recordable.kernel}'"


def _same_value(a: Any, b: Any) -> bool:
    if a is b:
        return True
    return type(a) is type(b) and isinstance(a, int | float | complex | np.generic) and a == b


class _Use(NamedTuple):
    """A value of a call, by their indices."""

    call: int
    value: int


class _Values(NamedTuple):
    """The values of a recording's calls, and which calls have them."""

    named: dict[str, list[_Use]]  # by the parameters' names
    arrays: dict[_Memory, list[_Use]]
    inside: list[tuple[_Memory, _Use]]  # arrays in structures
    # Of fused functions: an array that one writes to, and another that it does not overlap.
    apart: list[tuple[_Memory, _Memory]]

    @classmethod
    def of(cls, recorder: Recorder) -> _Values:
        """Those of the recorded calls."""
        calls, found = recorder.calls, cls({}, {}, [], [])
        for number, call in enumerate(calls):
            for index, value in enumerate(call.recorded.values):
                use = _Use(number, index)
                name = call.name_of(index)
                if name:
                    found.named.setdefault(name, []).append(use)
                memory = _memory_of(value)
                if memory is not None:
                    found.arrays.setdefault(memory, []).append(use)
                else:
                    found.inside.extend((inner, use) for _, inner in _inside(value))
        for numbers, written in recorder.functions:
            values = (value for n in numbers for value in calls[n].recorded.values)
            own = {memory: None for memory in map(_memory_of, values) if memory is not None}
            into = [memory for memory in map(_memory_of, written) if memory is not None]
            stores = [one for one in own if any(one.overlaps(memory) for memory in into)]
            pairs = ((a, b) for a in stores for b in own if a != b and not a.shares(b))
            found.apart.extend(pairs)
        return found

    def overlapping(self, memory: _Memory) -> list[tuple[_Memory | None, _Use]]:
        """The other arrays that have memory of this one, each with a use; None for one in a
        structure.
        """
        return [
            *(
                (other, uses[0])
                for other, uses in self.arrays.items()
                if other != memory and other.overlaps(memory)
            ),
            *((None, use) for other, use in self.inside if other.overlaps(memory)),
        ]


def _declared(arrays: Mapping[str, Any]) -> dict[str, _Memory]:
    """What is named by a caller, by its names."""
    found: dict[_Memory, str] = {}
    for name, value in arrays.items():
        memory = _memory_of(value)
        if name == "stream":
            raise ArgumentValueError(
                "'stream' cannot be the name of an array: 'launch' takes a stream by it."
            )
        if memory is None:
            raise ArgumentTypeError(
                f"'{name}' must be an array, not an object of type '{type(value).__name__}'.\n"
                "  Hint: numbers are replaced by the names of their parameters."
            )
        other = found.setdefault(memory, name)
        if other != name:
            raise ArgumentValueError(f"'{other}' and '{name}' name the same array.")
    return {name: memory for memory, name in found.items()}


# -- the graph -------------------------------------------------------------------------------------


class Graph:
    """Launches that were recorded, which :meth:`launch` makes together.

    Made by :func:`graph`, and recorded in its ``with`` block.
    """

    def __init__(self, declared: Mapping[str, Any]) -> None:
        self._kept = declared  # an address is not another array's while they live
        self._declared = _declared(declared)
        self._state: Literal["new", "recording", "failed", "recorded"] = "new"
        self._recorder = Recorder(_check)
        self._thread = 0
        self._guard: Guard | None = None
        self._entered: Any = None
        self._lock = threading.RLock()  # signals' handlers run in the midst of a launch
        self._is_launching = False
        self._values = _Values({}, {}, [], [])
        self._known = Memo()  # by names their uses, by arrays those that overlap
        # What is launched now.
        self._bound: list[Binding] = []
        self._memories: dict[int, tuple[_Memory | None, ...]] = {}
        self._executable: Executable | None = None
        self._is_stale = False
        self._others: list[list[tuple[Any, int]]] = []  # by call
        self._foreign: list[Any] = []
        self._addresses: list[tuple[Any, int]] = []
        self._notes: list[Callable[[], None]] = []
        self._written: list[tuple[Any, Callable[[], str]]] = []
        self._checks: list[Callable[[], None]] = []

    # -- recording -----------------------------------------------------------------------------

    def __enter__(self) -> Graph:
        """Begin to record this thread's launches."""
        if self._state != "new":
            raise LaunchError("A graph is recorded once.\n  Hint: make another one.")
        backend = default_backend()
        entered = self._recorder.recording()
        entered.__enter__()
        try:
            if not backend.capabilities.in_host_memory:
                self._guard = cast(DeviceBackend, backend).guard()
                self._guard.begin()
                self._recorder.undisturbed = self._guard.paused
        except BaseException:
            entered.__exit__(None, None, None)
            raise
        self._entered, self._thread = entered, threading.get_ident()
        self._state = "recording"
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """End the recording, and make it ready to be launched."""
        if self._state != "recording" or threading.get_ident() != self._thread:
            raise LaunchError("A graph's recording ends in the thread in which it began.")
        self._state = "failed"
        self._entered.__exit__(None, None, None)
        self._recorder.undisturbed = nullcontext
        problem = "" if self._guard is None else self._guard.end(error)
        if problem:
            raise LaunchError(
                f"{problem} while a graph was recorded: results have no values before the graph's "
                "launch.\n  Hint: inside of the 'with' block leave nothing but launches of kernels."
            ) from error
        if error is not None:
            return
        self._finish()
        self._state = "recorded"

    def _finish(self) -> None:
        calls = self._recorder.calls
        if not calls:
            raise LaunchError(
                "The graph is empty: no kernel was called in its 'with' block, by this thread."
            )
        self._values = _Values.of(self._recorder)
        for name, memory in self._declared.items():
            if memory not in self._values.arrays:
                raise self._unused(name, memory)
        self._bound = [call.recorded for call in calls]
        self._build()
        self._others = [[] for _ in calls]
        self._note_others(range(len(calls)))
        if not self._is_on_host:
            self._settle()

    def _unused(self, name: str, memory: _Memory) -> ArgumentValueError:
        other = self._overlapping(memory)
        if other is None:
            return ArgumentValueError(f"No recorded launch has the array '{name}'.")
        return ArgumentValueError(
            f"No recorded launch has the array '{name}', but {self._described(other)} is another "
            "view of its memory.\n  Hint: declare that view."
        )

    def _overlapping(
        self, memory: _Memory, but: Mapping[_Memory, Any] | None = None
    ) -> _Use | None:
        """A use of another array that has memory of this one, if there is one."""
        found = self._known.of(memory, partial(self._values.overlapping, memory))
        return next(
            (use for other, use in found if other is None or other not in (but or {})), None
        )

    def _described(self, use: _Use) -> str:
        text = _shown(self._recorder.calls[use.call], use.value)
        return text[0].lower() + text[1:]

    # -- what is launched ----------------------------------------------------------------------

    @property
    def _backend(self) -> Backend | None:
        return self._recorder.backend

    def _build(self) -> None:
        """Make what launches the bound calls."""
        launches = [launch for binding in self._bound for launch in binding.launches]
        backend = self._backend
        if not launches or backend is None:
            self._executable = None
        else:
            with self._on_device():
                made = backend.executable(launches, self._executable)
            if self._executable is None:
                # Memory that goes with the graph may be of another stream than the launches.
                weakref.finalize(self, made.drain).atexit = False
            self._executable = made

    def _note_others(self, numbers: Iterable[int]) -> None:
        """List the arrays of other libraries in these calls, and in all: their streams are asked at
        each launch, and tensors whether they still have their memory.
        """
        for number in numbers:
            self._others[number] = []
            for value in self._bound[number].values:
                memory = _memory_of(value)
                if memory is not None and _is_foreign(value, memory):
                    self._others[number].append((value, memory.address))
        self._notes = [note for binding in self._bound for note in binding.notes]
        written = {
            id(array): (array, partial(self._name_of, number, array))
            for number, binding in enumerate(self._bound)
            for array in binding.written
        }
        self._written = list(written.values())
        self._checks = [check for binding in self._bound for check in binding.checks]
        others = [pair for pairs in self._others for pair in pairs]
        self._addresses = [pair for pair in others if torch_tensors.is_tensor(pair[0])]
        self._foreign = []
        if others and not self._is_on_host:
            # One tensor tells torch's stream, one array CuPy's.
            kinds: dict[Any, Any] = {}
            for value, _ in others:
                key = type(value) if torch_tensors.is_tensor(value) else id(value)
                kinds.setdefault(key, value)
            own = (value for binding in self._bound for value in binding.values)
            plain = (value for value in own if isinstance(value, self._array_type))
            self._foreign = [*kinds.values(), *islice(plain, 1)]

    @property
    def _array_type(self) -> type:
        assert self._backend is not None
        return self._backend.array_type

    def _settle(self) -> None:
        backend = cast(DeviceBackend, self._backend)
        with self._on_device():
            backend.settle({backend.current_handle(), *self._adoption().streams})

    def _on_device(self) -> AbstractContextManager[Any]:
        """A context in which the device of the recorded launches is the current one."""
        if self._is_on_host:
            return nullcontext()
        return cast(DeviceBackend, self._backend).on_device(self._recorder.device)

    def _adoption(self) -> Adoption:
        adoption = Adoption()
        for value in self._foreign:
            adoption.take(value, None)
        return adoption

    # -- launching -----------------------------------------------------------------------------

    @property
    def names(self) -> tuple[str, ...]:
        """The names by which :meth:`launch` replaces something, in alphabetical order; before that
        is recorded, the declared ones.
        """
        if self._state != "recorded":
            return tuple(sorted(self._declared))
        found = []
        for name in {*self._declared, *self._values.named} - {"stream"}:  # names the stream
            try:
                self._uses_of(name)
            except KernelToolkitError:
                continue
            found.append(name)
        return tuple(sorted(found))

    def launch(self, /, *, stream: Any = None, **arguments: Any) -> None:
        """Make all launches, in the order in which they were recorded.

        Parameters
        ----------
        stream : optional
            A stream of CuPy, torch or numba, or a handle; if not given, the current one of the
            library whose arrays they are. The host has none.
        **arguments : array or number
            What replaces recorded arguments in this launch, by name: an array of the same dtype,
            shape, strides and device, or any number that the kernels take. What is not named is as
            it was recorded.

        Raises
        ------
        ArgumentTypeError
            A name that the graph does not have; an array for a number, another dtype, backend or
            device.
        ArgumentValueError
            A name that stands for several things; another shape or other strides; an array of which
            a recorded launch uses another view; a tensor that has got other memory; an array that
            is written and is read-only by now.
        LaunchError
            The graph was not recorded, or this thread records one; a launch failed.
        """
        if recorders and current_recorder() is not None:
            raise LaunchError(
                "A graph cannot be launched while this thread records one.\n"
                "  Hint: call the kernels themselves; they are recorded again."
            )
        if self._state != "recorded":
            reason = {
                "new": "nothing was recorded: use it in a 'with' block",
                "recording": "another thread is recording it",
                "failed": "its recording failed",
            }[self._state]
            raise LaunchError(f"The graph cannot be launched: {reason}.")
        handle = None if stream is None else stream_handle(stream)
        with self._lock:
            if self._is_launching:
                raise LaunchError(
                    "A graph cannot be launched while this thread launches it.\n"
                    "  Hint: a signal's handler or a finalizer did: launch it after that."
                )
            self._is_launching = True
            try:
                # Arrays of other libraries decide the device, as those of a call.
                with self._on_device() if self._foreign else nullcontext():
                    self._launch_with(arguments, handle)
            finally:
                self._is_launching = False

    def _launch_with(self, arguments: Mapping[str, Any], handle: int | None) -> None:
        if arguments or self._memories or self._is_stale:
            self._rebind(arguments)
        for tensor, address in self._addresses:
            if tensor.data_ptr() != address:
                raise ArgumentValueError(
                    "A tensor of the graph has other memory than when it was recorded."
                )
        self._check_writes()
        if self._executable is not None:
            self._launch(self._executable, handle)
        for note in self._notes:
            note()

    def _check_writes(self) -> None:
        """Raise ArgumentValueError for an array that must not be written to by now."""
        if self._written:  # of a backend whose arrays can be read-only
            assert self._backend is not None
            is_writable = attrgetter(self._backend.arrays.writable)
            for array, named in self._written:
                if not is_writable(array):
                    self._backend.check_usable(array, named(), True)
        for check in self._checks:
            check()

    def _name_of(self, call: int, array: Any) -> str:
        """The name of the parameter that an array of a call is for."""
        memory = _memory_of(array)
        for index, value in enumerate(self._bound[call].values):
            if memory in (_memory_of(value), *(inner for _, inner in _inside(value))):
                return self._recorder.calls[call].name_of(index) or f"#{index + 1}"
        return "out"

    def _launch(self, executable: Executable, handle: int | None) -> None:
        backend = self._backend
        assert backend is not None  # there are launches
        if backend.capabilities.in_host_memory:
            try:
                executable.launch(None)
            except BaseException:
                self._is_stale = True  # what a launch left behind is not what it began with
                raise
            return
        device = backend.device_key()
        if device != self._recorder.device:
            raise LaunchError(
                f"The graph was recorded on device {self._recorder.device}, and the current device "
                f"is {device}."
            )
        own = cast(DeviceBackend, backend)
        if not self._foreign:
            executable.launch(own.current_handle() if handle is None else handle)
            return
        with self._adoption().launching(handle) as chosen:
            assert chosen is not None  # the arrays tell
            executable.launch(chosen)

    # -- other arguments -----------------------------------------------------------------------

    def _uses_of(self, name: str) -> tuple[_Memory | None, list[_Use]]:
        """The array that a name stands for, and its uses; None for a number."""
        found: tuple[_Memory | None, list[_Use]]
        found = self._known.of(name, partial(self._looked_up, name))
        return found

    def _looked_up(self, name: str) -> tuple[_Memory | None, list[_Use]]:
        if name in self._declared:
            memory = self._declared[name]
            return memory, self._values.arrays[memory]
        uses = self._values.named.get(name)
        if not uses:
            known = ", ".join(map(repr, self.names)) or "none"
            raise ArgumentTypeError(
                f"The graph has no argument '{name}'.\n  Hint: its names are {known}."
            )
        calls = self._recorder.calls
        values = [calls[use.call].recorded.values[use.value] for use in uses]
        first = values[0]
        found = _memory_of(first)
        others = values[1:]
        if is_structure(first) and found is None:
            raise ArgumentTypeError(
                f"'{name}' is a structure, which cannot be replaced.\n"
                "  Hint: declare the arrays in it as arguments of their own."
            )
        if found is not None:
            if all(_memory_of(other) == found for other in others):
                return found, self._values.arrays[found]
        elif all(_same_value(first, other) for other in others):
            return None, uses
        what = "several arrays" if found is not None else "several values"
        hint = (
            f"name the one that is meant: 'kerneltk.graph({name}=...)'."
            if found is not None
            else "give the parameters of the kernels different names."
        )
        raise ArgumentValueError(
            f"'{name}' stands for {what}: {len(uses)} recorded launches have a parameter of that "
            f"name.\n  Hint: {hint}"
        )

    def _rebind(self, arguments: Mapping[str, Any]) -> None:
        """Bind the calls to these arguments, and all others to those of the recording."""
        recorder, calls = self._recorder, self._recorder.calls
        wanted, memories = self._wanted(arguments)
        has_allocated = False
        if self._is_stale:
            for call in calls:
                call.recorded = recorder.bind(call, call.recorded.values)
                has_allocated |= recorder.has_allocated
            self._bound, self._memories = [call.recorded for call in calls], {}
            self._build()
            self._note_others(range(len(calls)))
            self._is_stale = False
        bound = {}
        for number in {*wanted, *self._memories}:
            if number not in wanted:
                bound[number] = calls[number].recorded
                continue
            values = wanted[number]
            pairs = zip(values, self._bound[number].values, strict=True)
            is_bound = all(new is old for new, old in pairs)
            if not is_bound or self._memories.get(number) != memories[number]:
                bound[number] = recorder.bind(calls[number], values)
                has_allocated |= recorder.has_allocated
        if has_allocated and not self._is_on_host:
            self._settle()
        self._is_stale = True  # if this is interrupted
        self._take(bound)
        self._memories = memories
        self._is_stale = False

    @property
    def _is_on_host(self) -> bool:
        return self._backend is None or self._backend.capabilities.in_host_memory

    def _take(self, bound: Mapping[int, Binding]) -> None:
        """Launch other bindings from now on."""
        if not bound:
            return
        before = self._bound
        self._bound = [bound.get(number, old) for number, old in enumerate(before)]
        counts = [len(binding.launches) for binding in before]
        is_updated = self._executable is not None
        for number, binding in sorted(bound.items()):
            if not is_updated or len(binding.launches) != counts[number]:
                is_updated = False
                break
            first = sum(counts[:number])
            assert self._executable is not None
            for index, launch in enumerate(binding.launches, first):
                is_updated = is_updated and self._executable.update(index, launch)
        if not is_updated:
            self._build()
        self._note_others(bound)

    def _wanted(
        self, arguments: Mapping[str, Any]
    ) -> tuple[dict[int, tuple[Any, ...]], dict[int, tuple[_Memory | None, ...]]]:
        """The values of the calls that these arguments change, and what the replacements are."""
        replaced: dict[_Memory, tuple[str, Any]] = {}
        changes: dict[int, dict[int, tuple[Any, _Memory | None]]] = {}
        for name, value in arguments.items():
            memory, uses = self._uses_of(name)
            new = _memory_of(value)
            if memory is None:
                self._check_number(name, value, new)
            else:
                self._check_array(name, memory, value, new)
                if memory in replaced:
                    raise ArgumentValueError(
                        f"'{replaced[memory][0]}' and '{name}' name the same array of the graph."
                    )
                replaced[memory] = name, value
            own = settled(value)  # another object where the caller can change it
            for use in uses:
                changes.setdefault(use.call, {})[use.value] = own, new
        for old, (name, _) in replaced.items():
            other = self._overlapping(old, replaced)
            if other is not None:
                raise ArgumentValueError(
                    f"'{name}' cannot be replaced: {self._described(other)} is another view of its "
                    "memory, which would stay.\n  Hint: declare the view, and replace both."
                )
        for pair in self._values.apart:
            if replaced.keys().isdisjoint(pair):
                continue
            now = [_memory_of(replaced[m][1]) if m in replaced else m for m in pair]
            if now[0] is not None and now[1] is not None and now[0].shares(now[1]):
                name = next(replaced[m][0] for m in pair if m in replaced)
                raise ArgumentValueError(
                    f"The array for '{name}' overlaps another array of a fused function that "
                    "writes to one of them.\n"
                    "  Hint: give arrays that do not overlap, or call the function itself."
                )
        wanted, memories = {}, {}
        for number, changed in changes.items():
            values = list(self._recorder.calls[number].recorded.values)
            for index, (value, _) in changed.items():
                values[index] = value
            wanted[number] = tuple(values)
            memories[number] = tuple(new for _, (_, new) in sorted(changed.items()))
        return wanted, memories

    @staticmethod
    def _check_number(name: str, value: Any, memory: _Memory | None) -> None:
        if memory is not None or is_structure(value):
            raise ArgumentTypeError(
                f"'{name}' was recorded as a number, and an object of type "
                f"'{type(value).__name__}' was given."
            )

    @staticmethod
    def _check_array(name: str, old: _Memory, value: Any, new: _Memory | None) -> None:
        kind = type(value)
        if new is None:
            raise ArgumentTypeError(
                f"'{name}' was recorded as an array, and an object of type '{kind.__name__}' was "
                "given."
            )
        _check_lasting(f"The argument '{name}'", value)
        if new.backend is not old.backend:
            raise ArgumentTypeError(
                f"'{name}' was recorded in {old.backend.capabilities.location}, and the array that "
                f"was given is in {new.backend.capabilities.location}."
            )
        if new.device != old.device:
            raise ArgumentTypeError(
                f"'{name}' was recorded on device {old.device}, and the array that was given is on "
                f"device {new.device}."
            )
        if new.spec.dtype != old.spec.dtype:
            raise ArgumentTypeError(
                f"'{name}' was recorded with dtype '{old.spec.dtype}', and the array that was "
                f"given has '{new.spec.dtype}'."
            )
        for what in ("shape", "strides"):
            was, is_now = getattr(old.spec, what), getattr(new.spec, what)
            if was != is_now:
                hint = "" if what == "shape" else "\n  Hint: copy it into the recorded order."
                raise ArgumentValueError(
                    f"'{name}' was recorded with {what} {was}, and the array that was given has "
                    f"{is_now}.{hint}"
                )

    def __reduce__(self) -> Never:
        """Raise TypeError: a copy would launch what the other one's arguments changed."""
        raise TypeError("A graph cannot be copied or pickled: record another one.")

    def __repr__(self) -> str:
        if self._state != "recorded":
            return f"<Graph, {'not recorded' if self._state == 'new' else self._state}>"
        launches = sum(len(binding.launches) for binding in self._bound)
        return f"<Graph of {len(self._bound)} calls, {launches} launches>"


def graph(**arrays: Any) -> Graph:
    """Record launches, to launch them together again and again.

    In the ``with`` block nothing runs: each call of a kernel is checked, compiled if need be, and
    recorded. Results are arrays that have values after :meth:`Graph.launch`, which writes to the
    same ones each time. The graph keeps all arrays of its launches.

    Parameters
    ----------
    **arrays : array
        Names of arrays, by which :meth:`Graph.launch` replaces them. An argument that is not named
        has its parameter's name, if all recorded launches with such a parameter have the same.

    Returns
    -------
    Graph

    Raises
    ------
    ArgumentTypeError, ArgumentValueError
        What is named is no array, or an array has two names.
    LaunchError
        In the ``with`` statement: the thread records already, or the stream is captured; at its
        end: nothing was recorded, or something else than launches was done.
    UnsupportedError
        A call cannot be recorded: arrays of JAX, arrays whose memory is new each time, records by
        address.

    Examples
    --------
    >>> import numpy as np
    >>> import kerneltk
    >>> scale = kerneltk.ElementwiseKernel("T x, T a", "T y", "y = a * x", "scale")
    >>> total = kerneltk.ReductionKernel("T y", "T s", "y", "a + b", "s = a", "0", "total")
    >>> x = np.arange(4.0)
    >>> with kerneltk.graph() as g:
    ...     y = scale(x, 2.0)
    ...     s = total(y)
    >>> g.launch()
    >>> s
    array(12.)
    >>> x[:] = 1
    >>> g.launch(a=3.0)
    >>> s
    array(12.)
    >>> g.launch(x=np.full(4, 10.0))
    >>> y
    array([20., 20., 20., 20.])
    """
    return Graph(arrays)

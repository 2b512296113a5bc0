"""What a function does to its arguments, and which functions it calls, while it is traced.

The classes of the arguments have methods for a while that report which attributes are read, and
refuse that one is assigned. Only the thread that traces is looked at, and only these objects.
"""

from __future__ import annotations

import functools
import os
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import CodeType, FrameType, FunctionType, WrapperDescriptorType
from typing import Any, NamedTuple

from kerneltk.fusion.trace.state import unsupported

_HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_NAMES = ("__getattribute__", "__setattr__", "__delattr__")
_ABSENT = object()


class Watch(NamedTuple):
    """What is done with what is seen in one trace.

    Attributes
    ----------
    objects : sequence
        Those whose attributes are looked at: arguments, and what is found (`watch_also`).
    read : callable
        Takes such an object, the name of an attribute that the function has read, and what it is;
        returns what the function gets.
    store : callable
        Takes the name of an attribute of such an object before it is assigned; raises.
    call : callable
        Takes the frame of a function in Python that begins, and the globals that it stands for.
    names : callable
        The globals in whose place a function that is traced has others; None for all others.
    """

    objects: Sequence[Any]
    read: Callable[[Any, str, Any], Any]
    store: Callable[[str], None]
    call: Callable[[FrameType, dict[str, Any]], None]
    names: Callable[[dict[str, Any]], dict[str, Any] | None]


class _State(threading.local):
    """The traces of a thread, the innermost one last."""

    def __init__(self) -> None:
        # With the addresses of their objects, and the classes that are watched for each.
        self.watches: list[tuple[Watch, set[int], list[type]]] = []
        self.is_busy = False  # whether what was seen is being looked at
        self.install: Callable[[], None] = lambda: None  # has calls reported


_state = _State()
_lock = threading.Lock()
_counts: dict[type, int] = {}  # of the traces that watch a class
_before: dict[type, dict[str, Any]] = {}


def can_watch(kind: type) -> bool:
    """Whether a class takes other methods for a while."""
    if not kind.__flags__ & _IS_HEAP_TYPE or kind.__flags__ & _IS_IMMUTABLE:
        return False
    return all(isinstance(_entry(kind, n), FunctionType | WrapperDescriptorType) for n in _NAMES)


_IS_HEAP_TYPE, _IS_IMMUTABLE = 1 << 9, 1 << 8


def _entry(kind: type, name: str) -> Any:
    return next(vars(base)[name] for base in kind.__mro__ if name in vars(base))


@contextmanager
def watching(watch: Watch) -> Iterator[None]:
    """Report what this thread does within."""
    _state.watches.append((watch, set(), []))
    try:
        for value in watch.objects:
            watch_also(value)
        with _calls_reported():
            yield
    finally:
        for kind in _state.watches.pop()[2]:
            _restore(kind)


def watch_also(value: Any) -> None:
    """Look at the attributes of another object, in the innermost trace; it stays alive."""
    _, objects, kinds = _state.watches[-1]
    objects.add(id(value))
    if type(value) not in kinds:
        _install(type(value))
        kinds.append(type(value))


def _install(kind: type) -> None:
    with _lock:
        _counts[kind] = _counts.get(kind, 0) + 1
        if _counts[kind] > 1:
            return
        made = _methods(*(_entry(kind, name) for name in _NAMES))
        _before[kind] = {name: vars(kind).get(name, _ABSENT) for name in _NAMES}
        for name, method in zip(_NAMES, made, strict=True):
            type.__setattr__(kind, name, method)


def _restore(kind: type) -> None:
    with _lock:
        _counts[kind] -= 1
        if _counts[kind]:
            return
        del _counts[kind]
        for name, value in _before.pop(kind).items():
            if value is _ABSENT:
                type.__delattr__(kind, name)
            else:
                type.__setattr__(kind, name, value)


def _methods(
    read: Callable[..., Any], store: Callable[..., Any], delete: Callable[..., Any]
) -> tuple[Callable[..., Any], ...]:
    """Methods in place of a class's own ones."""

    def reading(self: Any, name: str) -> Any:
        if not _state.watches or _state.is_busy:
            return read(self, name)
        if is_own(sys._getframe(1).f_code):
            return read(self, name)
        found: Any = None
        try:
            found = read(self, name)
        finally:  # a cached property has its value by now
            for watch in _watches_of(self):
                found = _undisturbed(watch.read, self, name, found)
        return found

    def storing(self: Any, name: str, value: Any) -> None:
        for watch in _watches_of(self):
            _undisturbed(watch.store, name)
        store(self, name, value)

    def deleting(self: Any, name: str) -> None:
        for watch in _watches_of(self):
            _undisturbed(watch.store, name)
        delete(self, name)

    return reading, storing, deleting


def _watches_of(value: Any) -> list[Watch]:
    return [watch for watch, objects, _ in _state.watches if id(value) in objects]


def _undisturbed(report: Callable[..., Any], *seen: Any) -> Any:
    """Report what was seen; what that does itself is not."""
    before, _state.is_busy = _state.is_busy, True
    try:
        return report(*seen)
    finally:
        _state.is_busy = before


# -- calls -----------------------------------------------------------------------------------------


@contextmanager
def _calls_reported() -> Iterator[None]:
    """Report calls of functions in Python, by what a debugger or a profiler does not use, or
    together with the debugger.
    """
    if len(_state.watches) > 1:
        try:
            yield
        finally:  # an error that is raised in a hook ends it
            _state.install()
        return
    is_profile = sys.gettrace() is not None and sys.getprofile() is None
    get: Callable[[], Any] = sys.getprofile if is_profile else sys.gettrace
    put: Callable[[Any], None] = sys.setprofile if is_profile else sys.settrace
    before = get()

    def with_debugger(frame: FrameType, event: Any, argument: Any) -> Any:
        _on_call(frame, event, argument)
        return before(frame, event, argument)

    hook = _on_call if before is None else with_debugger
    _state.install = functools.partial(put, hook)
    _state.install()
    try:
        yield
        if get() is not hook:
            raise unsupported(
                "A debugger or a profiler has ended what follows the calls of a fused function.",
                "trace it without one of them.",
            )
    finally:
        put(before)


def _on_call(frame: FrameType, event: str, _: Any) -> None:
    if event != "call" or _state.is_busy or is_own(frame.f_code):
        return
    if frame.f_globals.get("__name__", "").startswith("namedtuple_"):
        return  # the constructor of a named tuple's class
    watches = [watch for watch, _, _ in _state.watches]
    found = (watch.names(frame.f_globals) for watch in watches)
    names = next((names for names in found if names is not None), frame.f_globals)
    for watch in watches:
        _undisturbed(watch.call, frame, names)


def is_own(code: CodeType) -> bool:
    """Whether code is kerneltk's."""
    return code.co_filename.startswith(_HERE)

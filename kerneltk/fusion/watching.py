"""What a function does to objects from outside, and which functions it calls, while it is traced.

The classes of these objects have methods for a while that report which attributes are read, and
refuse that one is assigned. Only the thread that traces is looked at, and only these objects.
"""

from __future__ import annotations

import functools
import os
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import CodeType, FrameType, FunctionType, WrapperDescriptorType
from typing import Any, NamedTuple

from kerneltk.core.records import lasting_lock
from kerneltk.fusion.trace.state import unsupported

_HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_NAMES = ("__getattribute__", "__setattr__", "__delattr__")
_IS_HEAP_TYPE, _IS_IMMUTABLE = 1 << 9, 1 << 8


class Watch(NamedTuple):
    """What is done with what is seen in one trace.

    Attributes
    ----------
    read : callable
        Takes an object that is watched, the name of an attribute that the function has read, and
        what it is; returns what the function gets.
    call : callable
        Takes the frame of a function in Python that begins.
    objects : dict
        The objects that are watched (`watch_also`), by their addresses.
    kinds : set
        Their classes.
    """

    read: Callable[[Any, str, Any], Any]
    call: Callable[[FrameType], None]
    objects: dict[int, Any]
    kinds: set[type]


class _State(threading.local):
    """The traces of a thread, the innermost one last."""

    def __init__(self) -> None:
        self.watches: list[Watch] = []
        self.is_busy = False  # whether what was seen is being looked at
        self.install: Callable[[], None] = lambda: None  # has calls reported


_state = _State()
_lock = lasting_lock()
_counts: Counter[type] = Counter()  # of the traces that watch a class
_before: dict[type, dict[str, Any]] = {}  # the methods of its own


def can_watch(kind: type) -> bool:
    """Whether a class takes other methods for a while."""
    if not kind.__flags__ & _IS_HEAP_TYPE or kind.__flags__ & _IS_IMMUTABLE:
        return False
    return all(isinstance(getattr(kind, n), FunctionType | WrapperDescriptorType) for n in _NAMES)


@contextmanager
def watching(watch: Watch) -> Iterator[None]:
    """Report what this thread does within."""
    objects = [*watch.objects.values()]
    _state.watches.append(watch)
    try:
        for value in objects:
            watch_also(value)
        with _calls_reported():
            yield
    finally:
        _state.watches.pop()
        for kind in watch.kinds:
            _restore(kind)


def watch_also(value: Any) -> None:
    """Look at the attributes of another object, in the innermost trace; it stays alive."""
    watch = _state.watches[-1]
    watch.objects[id(value)] = value
    kind = type(value)
    if kind not in watch.kinds:
        watch.kinds.add(kind)
        with _lock:
            _counts[kind] += 1
            if _counts[kind] == 1:
                _before[kind] = {name: vars(kind)[name] for name in _NAMES if name in vars(kind)}
                for name, method in _methods(*(getattr(kind, name) for name in _NAMES)).items():
                    type.__setattr__(kind, name, method)


def _restore(kind: type) -> None:
    with _lock:
        _counts[kind] -= 1
        if not _counts[kind]:
            del _counts[kind]
            for name in _NAMES:
                type.__delattr__(kind, name)
            for name, value in _before.pop(kind).items():
                type.__setattr__(kind, name, value)


def _methods(
    read: Callable[..., Any], store: Callable[..., Any], delete: Callable[..., Any]
) -> dict[str, Callable[..., Any]]:
    """Methods in place of a class's own ones."""

    def reading(self: Any, name: str) -> Any:
        if not _state.watches or _state.is_busy or is_own(sys._getframe(1).f_code):
            return read(self, name)
        found: Any = None
        try:
            found = read(self, name)
        finally:  # a cached property has its value by now
            for watch in _watches_of(self):
                found = _undisturbed(watch.read, self, name, found)
        return found

    def storing(self: Any, name: str, value: Any) -> None:
        _refuse(self, name)
        store(self, name, value)

    def deleting(self: Any, name: str) -> None:
        _refuse(self, name)
        delete(self, name)

    return dict(zip(_NAMES, (reading, storing, deleting), strict=True))


def _refuse(value: Any, name: str) -> None:
    """Refuse that an attribute of a watched object is assigned."""
    if _watches_of(value):
        raise _undisturbed(
            unsupported,
            f"The attribute '{name}' of an object from outside is assigned in a fused function.",
            "return the new value, and assign it outside of the function.",
        )


def _watches_of(value: Any) -> list[Watch]:
    return [watch for watch in _state.watches if id(value) in watch.objects]


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
    for watch in list(_state.watches):
        _undisturbed(watch.call, frame)


def is_own(code: CodeType) -> bool:
    """Whether code is kerneltk's."""
    return code.co_filename.startswith(_HERE)

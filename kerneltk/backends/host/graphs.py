"""The launches of a graph on the host: one call of the runtime makes them all."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence

from kerneltk.backends.base import RecordedLaunch
from kerneltk.backends.host import runtime


class _Entry(ctypes.Structure):
    """``struct recorded_launch`` of ``launches.c``."""

    _fields_ = (
        ("function", ctypes.c_void_p),
        ("args", ctypes.c_void_p),
        ("total", ctypes.c_longlong),
        ("grain", ctypes.c_longlong),
        ("threads", ctypes.c_int),
        ("kind", ctypes.c_int),
    )


_KINDS = ("launch", "launch_grid", "launch_cooperative")  # the order of the enumeration in C


class HostLaunches:
    """Launches one after another; implements `kerneltk.backends.base.Executable`.

    Where memory is checked each launch is a call of its own: its arrays are noted before.
    """

    def __init__(self, launches: Sequence[RecordedLaunch]) -> None:
        self._launches = list(launches)
        self._entries = (_Entry * len(self._launches))()
        self._failure = ctypes.c_int()
        self._failure_address = ctypes.addressof(self._failure)
        self._has_notes = any(launch.note is not None for launch in launches)
        self._functions = [getattr(runtime, name) for name in _KINDS]
        for index, launch in enumerate(self._launches):
            self._enter(index, launch)

    def _enter(self, index: int, launch: RecordedLaunch) -> None:
        function, args, total, grain, threads = (*launch.values, 0, 0)[:5]
        kind = next(k for k, known in enumerate(self._functions) if known is launch.launch)
        self._entries[index] = _Entry(function, args, total, grain, threads, kind)

    def update(self, index: int, launch: RecordedLaunch) -> bool:
        """Replace a launch."""
        self._launches[index] = launch
        self._enter(index, launch)
        return True

    def launch(self, stream: int | None) -> None:
        """Launch all, in order; raises LaunchError."""
        if self._has_notes:
            self._launch_singly()
            return
        count, index = len(self._launches), 0
        launch = runtime.launch_recorded()
        while index < count:  # signals' handlers run in between
            index = launch(ctypes.addressof(self._entries), index, count, self._failure_address)
            if self._failure.value:
                failed = self._launches[index]
                failed.call.launch_failed(self._failure.value, failed.launch, failed.values)

    def _launch_singly(self) -> None:
        for call, launch, values, _, note in self._launches:
            if note is not None:
                note()
            failure = launch(*values)
            if failure:
                call.launch_failed(failure, launch, values)

    @property
    def drain(self) -> Callable[[], None]:
        """A function that does nothing: a launch has ended when it returns."""
        return _nothing


def _nothing() -> None:
    """Wait for nothing."""

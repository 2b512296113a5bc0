"""Which threads record their launches into a graph, and how a call is recorded.

A call of any front-end begins with ``if recorders and ...``: while nothing is recorded, that tests
an empty dict.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple, Protocol


class Recordable(NamedTuple):
    """A call of a kernel, which can be made again with other arguments.

    Parameters
    ----------
    kernel : str
        The kernel's name, for messages.
    names : tuple of str
        Its parameters, in the order of the values; values beyond them are called 'out'.
    values : tuple
        The arguments that are given.
    inputs : int
        How many of them there are without outputs.
    run : callable
        Takes such values, or the inputs and the results behind them, and makes the call: its
        launches go to the thread's recorder instead of the device. Returns what the call returns.
    by_value : callable or None
        Takes the values, and returns them with numbers in place of NumPy's arrays that the kernel
        takes for numbers. Raises as the call.
    """

    kernel: str
    names: tuple[str, ...]
    values: tuple[Any, ...]
    inputs: int
    run: Callable[[tuple[Any, ...]], Any]
    by_value: Callable[[tuple[Any, ...]], tuple[Any, ...]] | None = None


class Recorder(Protocol):
    """What a thread records with."""

    def call(self, recordable: Recordable) -> Any:
        """Record a call, and return its result, which has no values yet."""

    def together(self, record: Callable[[], Any], written: Sequence[Any]) -> Any:
        """Record several calls that are one function's, which writes to these arrays, and return
        its result: in no launch may they overlap its other arrays.
        """

    def adopted(
        self,
        arrays: Sequence[Any],
        notes: Sequence[Callable[[], None]],
        checks: Sequence[Callable[[], None]],
    ) -> None:
        """Keep what a launch made of other libraries' arrays, what tells those that they were
        written to, and what raises where they must not be: every launch of the graph is to do both.
        """


# A thread that ends before its recording does leaves its number to another thread, but not this.
_own = threading.local()

recorders: dict[int, Recorder] = {}
"""The recorders by the numbers of their threads. While there is one, calls are not made by the
extension module: `kerneltk.launch.called.by_methods`.
"""


def current_recorder() -> Recorder | None:
    """The calling thread's recorder, if it records."""
    recorder: Recorder | None = getattr(_own, "recorder", None)
    return recorder if recorders.get(threading.get_ident()) is recorder else None


@contextmanager
def recording_by(recorder: Recorder) -> Iterator[None]:
    """A context in which the calling thread, which records nothing yet, has a recorder."""
    thread = threading.get_ident()
    _own.recorder = recorders[thread] = recorder
    try:
        yield
    finally:
        # Another thread may run this, which drops what was never ended.
        if recorders.get(thread) is recorder:
            del recorders[thread]
        if getattr(_own, "recorder", None) is recorder:
            _own.recorder = None

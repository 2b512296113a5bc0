"""Which threads record their launches into a graph, and how a call is recorded.

A call of any front-end begins with ``if recorders and ...``: while nobody records, that tests an
empty dict.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from threading import get_ident
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
    """

    kernel: str
    names: tuple[str, ...]
    values: tuple[Any, ...]
    inputs: int
    run: Callable[[tuple[Any, ...]], Any]


class Recorder(Protocol):
    """What a thread records with."""

    def call(self, recordable: Recordable) -> Any:
        """Record a call, and return its result, which has no values yet."""

    def adopted(self, arrays: Sequence[Any], notes: Sequence[Callable[[], None]]) -> None:
        """Keep what a launch made of other libraries' arrays, and what tells those that they were
        written to, which every launch of the graph is to do.
        """


recorders: dict[int, Recorder] = {}
"""The recorders by the numbers of their threads. While there is one, calls are not made by the
extension module: `kerneltk.launch.called.by_methods`.
"""


def current_recorder() -> Recorder | None:
    """The calling thread's recorder, if it records."""
    return recorders.get(get_ident())

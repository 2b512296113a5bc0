"""Rows measured in another process: one that dies or hangs costs only what it was at.

A kernel that reads where it must not ends its process's use of the GPU, and one that waits for
ever ends nothing at all. So the process that measures tells what it begins; where it is lost, the
next one leaves that entrant out of that row and goes on.
"""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection

from common import Cell

_LOST_ROWS = 3  # as many in a row, and no further process is started


@dataclass(frozen=True, slots=True)
class Task:
    """One row of a table."""

    table: str
    row: int


@dataclass(frozen=True, slots=True)
class Row:
    """The cells of the task at hand: the task is done."""

    cells: tuple[Cell, ...]


@dataclass(frozen=True, slots=True)
class Begun:
    """The entrant that is about to be run for the first time in this row."""

    entrant: str


@dataclass(frozen=True, slots=True)
class Dead:
    """The entrant after which the device answers no more."""

    entrant: str
    why: str


@dataclass(frozen=True, slots=True)
class Note:
    """Something to be said about the run; `head` names what it is about."""

    head: str
    text: str


Message = Row | Begun | Dead | Note
Tell = Callable[[Message], None]
Work = Callable[[Tell, Sequence[Task], Mapping[str, str]], None]
"""Does tasks in their order, and leaves entrants (with the reason) out of the first of them."""


def _serve(
    connection: Connection, work: Work, tasks: Sequence[Task], excluded: Mapping[str, str]
) -> None:
    try:
        work(connection.send, tasks, excluded)
    finally:
        connection.close()


class _Worker:
    """A process with a connection to it."""

    def __init__(self, work: Work, tasks: Sequence[Task], excluded: Mapping[str, str]) -> None:
        context = multiprocessing.get_context("spawn")
        self._connection, theirs = context.Pipe(duplex=False)
        self._process = context.Process(target=_serve, args=(theirs, work, tasks, excluded))
        self._process.start()
        theirs.close()

    def answer(self, limit: float) -> Message | str:
        """Return its next message, or why there is none within `limit` seconds."""
        if not self._connection.poll(limit):
            return f"no answer for {limit:.0f} s"
        try:
            message: Message = self._connection.recv()
        except (EOFError, ConnectionResetError):
            self._process.join(10)
            return f"the process ended with code {self._process.exitcode}"
        return message

    def end(self) -> None:
        self._process.join(0.5)
        self._process.kill()
        self._process.join()
        self._connection.close()


def rows(
    work: Work, tasks: Sequence[Task], limit: float, note: Callable[[Note], None]
) -> Iterator[tuple[Task, tuple[Cell, ...] | str]]:
    """Yield each task with its row's cells, or with why there are none.

    Parameters
    ----------
    work : callable
        A function of a module, run in another process.
    tasks : sequence of Task
    limit : float
        Seconds without a message after which the process counts as hung.
    note : callable
        Takes what the process has to say besides rows.
    """
    place, lost = 0, 0
    excluded: dict[str, str] = {}
    while place < len(tasks):
        worker = _Worker(work, tasks[place:], excluded)
        entrant, why = "", ""
        try:
            while place < len(tasks) and not why:
                match worker.answer(limit):
                    case Row(cells):
                        yield tasks[place], cells
                        place, lost, entrant, excluded = place + 1, 0, "", {}
                    case Begun(entrant):
                        pass
                    case Dead(entrant, why):
                        pass
                    case Note() as message:
                        note(message)
                    case str(why):
                        pass
        finally:
            worker.end()
        if why and entrant and entrant not in excluded:
            excluded[entrant] = why
        elif why:
            lost += 1
            count = len(tasks) - place if lost == _LOST_ROWS else 1
            for task in tasks[place : place + count]:
                yield task, why
            place, excluded = place + count, {}

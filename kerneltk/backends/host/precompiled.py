"""Precompiled headers: g++ reads the package's headers once instead of once for each unit.

A short unit spends a quarter to a third of its compilation in the headers that it begins with. The
:data:`AFTER`-th unit of a process that begins with the same ones, under the same options, starts
another g++ that precompiles them. No call waits for it: a later unit, or the end of the process,
collects what it wrote. That becomes an entry of the compile cache like any other, keyed by the
headers' content. Units give the same code with and without it: g++ checks that compiler and options
fit and reads the headers themselves where they do not ("Using Precompiled Headers" in its manual).

That g++ reads and writes files in memory. So one that outlives its process (a fork that ends by
``os._exit``) leaves nothing behind.
"""

from __future__ import annotations

import atexit
import os
import re
import signal
import threading
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from kerneltk.backends import processes
from kerneltk.cache import stand_ins
from kerneltk.cache.derived import Entry
from kerneltk.cache.fingerprint import trace
from kerneltk.core.artifacts import Target, TranslationUnit
from kerneltk.core.lexer import includes_by_option

AFTER = 3
"""The number of units without it after which a header is precompiled."""

_TIME_LIMIT = 60.0  # seconds
_PRELUDE = re.compile(r"(?:#define KERNELTK_DYNAMIC\n)?(?:#include <kerneltk/[\w.]+>\n)+")
_HEADER = "prelude.hpp"
# Handed on to the linker, such an option would be linked, and nothing else.
_FOR_LINKER = "-Wl,"


@dataclass(frozen=True, slots=True)
class _Job:
    """A g++ that precompiles a prelude into a file in memory."""

    process: int
    output: int
    begun: float
    unit: TranslationUnit
    target: Target


_lock = threading.Lock()
_seen: Counter[str] = Counter()
_jobs: dict[str, _Job] = {}
_refused: set[str] = set()


def prelude_of(source: str) -> str:
    """Return the lines that include this package's headers before anything else is said."""
    match = _PRELUDE.match(source)
    return match[0] if match else ""


def options_for(
    prelude: str,
    command: Sequence[str],
    options: Sequence[str],
    target: Target,
    directory: Path,
    unset: Sequence[str] = (),
) -> tuple[str, ...]:
    """The options by which g++ (`command`) takes a prelude precompiled; none as long as it is not.

    `options` are those of the unit, `directory` is where g++ will run and the header is put, and
    `unset` are variables that g++ shall not see.
    """
    if not prelude or includes_by_option(options):  # what is included first could change the rest
        return ()
    unit = _unit_of(prelude, options)
    key = trace(unit, target).key
    with _lock:
        if key in _refused:
            return ()
        _collect(key)
        data = _entry_of(key).get()
        if data is None:
            _seen[key] += 1
            if _seen[key] == AFTER:
                _start(key, unit, target, command, unset)
            return ()
    (directory / _HEADER).write_text(prelude)
    (directory / f"{_HEADER}.gch").write_bytes(data)
    return ("-include", _HEADER)


def refuse(prelude: str, options: Sequence[str], target: Target) -> None:
    """Take a prelude precompiled no more in this process: g++ failed with it, and only with it."""
    with _lock:
        _refused.add(trace(_unit_of(prelude, options), target).key)


def _unit_of(prelude: str, options: Sequence[str]) -> TranslationUnit:
    """Return a prelude as a unit: the same one for files in different directories."""
    if not any(option.startswith("-idirafter") for option in options):  # else stand-ins come last
        options = [option for option in options if not _is_for_others(option)]
    return TranslationUnit("host", prelude, f"{_HEADER}.gch", tuple(options))


def _is_for_others(option: str) -> bool:
    """Whether an option names a directory in which no header of a prelude is found."""
    path = option.removeprefix("-I")
    return path != option and not (
        os.path.isdir(f"{path}/kerneltk") or stand_ins.is_stand_in(f"{path}/")
    )


def _entry_of(key: str) -> Entry:
    return Entry("host compiler", "header", key)


def _start(
    key: str, unit: TranslationUnit, target: Target, command: Sequence[str], unset: Sequence[str]
) -> None:
    arguments = [option for option in unit.options if not option.startswith(_FOR_LINKER)]
    files = ("-x", "c++-header", "/proc/self/fd/0", "-o", "/proc/self/fd/1")
    # Units compile without it: what goes wrong here is reported when it goes wrong there.
    with suppress(OSError):
        given = os.memfd_create("kerneltk-prelude", os.MFD_CLOEXEC)
        try:
            os.write(given, unit.source.encode())
            taken = os.memfd_create("kerneltk-precompiled", os.MFD_CLOEXEC)
            try:
                process = processes.start((*command, *arguments, *files), given, taken, unset=unset)
            except BaseException:
                os.close(taken)
                raise
        finally:
            os.close(given)
        _jobs[key] = _Job(process, taken, time.monotonic(), unit, target)


def _collect(key: str, *, is_last: bool = False) -> None:
    """Put what a job has written into the cache, if it has ended; end it if it takes too long, or
    if this is the last chance.
    """
    job = _jobs.get(key)
    if job is None:
        return
    try:
        process, status = os.waitpid(job.process, os.WNOHANG)
    except ChildProcessError:  # another thread waited for it: its exit status is lost
        process, status = job.process, -1
    if process == 0:
        if is_last or time.monotonic() - job.begun > _TIME_LIMIT:
            # g++ removes its temporary files then, as it would not if it were killed.
            os.killpg(job.process, signal.SIGTERM)
        return
    del _jobs[key]
    with suppress(OSError), open(job.output, "rb") as file:
        # Headers may have changed between the key and the time when g++ read them.
        if status == 0 and trace(job.unit, job.target).key == key and (data := file.read()):
            _entry_of(key).put(data)


def _after_fork_in_child() -> None:
    global _lock
    _lock = threading.Lock()
    for job in _jobs.values():  # the parent's
        os.close(job.output)
    _jobs.clear()


@atexit.register
def _at_exit() -> None:
    with _lock:
        for key in list(_jobs):
            _collect(key, is_last=True)


os.register_at_fork(after_in_child=_after_fork_in_child)

"""Runs compilers and the like, and ends those that take too long."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

# What these name would change the result and stand in no key.
_IGNORED = ("CPATH", "C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH", "GCC_EXEC_PREFIX")


@contextmanager
def _interrupts_held() -> Iterator[None]:
    """Return a context that an interrupt (Ctrl-C) does not leave before its end.

    Inside of `subprocess.Popen` one would leave pipes open and a process that never ends.
    """
    import signal

    handler = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(handler):
        yield  # other threads are not interrupted
        return
    held: list[Any] = []
    signal.signal(signal.SIGINT, lambda *given: held.append(given))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
    if held:
        handler(*held[0])


def _in_environment(
    command: Sequence[str], unset: Sequence[str], variables: Sequence[str]
) -> list[str]:
    # Messages are read by patterns, so they must not be translated.
    changes = [part for name in (*_IGNORED, *unset) for part in ("-u", name)]
    return ["/usr/bin/env", *changes, "LC_ALL=C", *variables, *command]


def start(command: Sequence[str], given: int, taken: int, *, unset: Sequence[str] = ()) -> int:
    """Start a program without waiting for it; return its process number, which leads a group.

    The open files `given` and `taken` become its stdin and its stdout; its messages are dropped.
    `unset` is as in :func:`run`. Raises OSError if it cannot be started.
    """
    import signal

    arguments = _in_environment(command, unset, ())
    files = (
        (os.POSIX_SPAWN_DUP2, given, 0),
        (os.POSIX_SPAWN_DUP2, taken, 1),
        (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0),
    )
    # Python ignores these two signals, and a child would go on doing so.
    ignored = (signal.SIGPIPE, signal.SIGXFSZ)
    return os.posix_spawn(
        arguments[0], arguments, os.environ, file_actions=files, setsid=True, setsigdef=ignored
    )


def run(
    command: Sequence[str],
    directory: str,
    time_limit: float,
    *,
    unset: Sequence[str] = (),
    variables: Sequence[str] = (),
    merged: bool = False,
) -> tuple[int, str, str]:
    """Run a program in `directory`; return its exit status and what it printed to stdout and to
    stderr.

    `unset` are names of variables that it shall not see, and `variables` ``"NAME=value"`` of
    further ones. `merged` puts what it prints to stderr behind the rest, in the order of printing.
    Raises OSError if it cannot be started, and TimeoutError after `time_limit` seconds; it is ended
    with its children then.
    """
    import signal
    import subprocess  # a process whose kernels are all cached needs neither

    process = None
    try:
        with _interrupts_held():
            process = subprocess.Popen(
                _in_environment(command, unset, variables),
                cwd=directory,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT if merged else subprocess.PIPE,
                start_new_session=True,
            )
        output, messages = process.communicate(timeout=time_limit)
    except BaseException as error:
        # One that has been waited for is gone, and its number may be another's.
        if process is not None and process.returncode is None:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
        if isinstance(error, subprocess.TimeoutExpired):
            raise TimeoutError(f"no end after {time_limit:g} s") from error
        raise
    if process.returncode in (126, 127) and (messages or output).startswith(b"/usr/bin/env: "):
        raise OSError((messages or output).decode(errors="replace").strip())
    printed = [part.decode(errors="replace") for part in (output, messages or b"")]
    return process.returncode, printed[0], printed[1]

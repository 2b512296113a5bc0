"""The logs of compilers: warnings, errors, and what options make them print."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TextIO

from kerneltk.errors import CompileError

_stream: ContextVar[TextIO | None] = ContextVar("kerneltk_compile_log", default=None)


@contextmanager
def written_to(stream: TextIO | None) -> Iterator[None]:
    """Return a context in which this thread's compilers write their logs to `stream`, if any.

    Object code that comes from a cache has no log.
    """
    token = _stream.set(stream)
    try:
        yield
    except CompileError as error:
        if stream is not None:
            stream.write(error.log)
        raise
    finally:
        _stream.reset(token)


def report(log: str) -> None:
    """Write a compiler's log to where the caller wants it, if anywhere."""
    stream = _stream.get()
    log = log.strip("\0\n")
    if stream is not None and log:
        stream.write(log + "\n")

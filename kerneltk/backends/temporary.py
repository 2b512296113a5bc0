"""Directories for the files of compilers, and what is said where those cannot be written."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from kerneltk.core.patterns import pattern
from kerneltk.errors import BackendUnavailableError, render_message

# How tools report that they could not write, or that they were ended. Lines of the user's source
# that a message quotes stand behind a number and a bar.
_NOT_WRITTEN = pattern(
    r"^(?!\s*\d*\s*\|).*?(No space left on device|File too large|Disk quota exceeded"
    r"|Read-only file system)['\".]*\s*$",
    re.MULTILINE,
)
_ENDED = pattern(
    r"^(?!\s*\d*\s*\|).*?(?:: ([^:\n]*) signal terminated program"
    r"|terminated with signal \d+ \[([^\]\n]*)\])",
    re.MULTILINE,
)


def _not_written(reason: str, path: str | None = None) -> BackendUnavailableError:
    if path is None:
        import tempfile

        try:
            path = tempfile.gettempdir()
        except OSError:
            path = os.environ.get("TMPDIR", "/tmp")
    return BackendUnavailableError(
        render_message(
            f"A compiler's temporary files cannot be written: {reason}.",
            hint=f"free space in '{path}' or allow writing there; or name another directory by "
            "the environment variable TMPDIR.",
        )
    )


@contextmanager
def directory(prefix: str = "kerneltk-") -> Iterator[Path]:
    """Give a directory of its own to a compiler, and remove it afterwards.

    Raises BackendUnavailableError where it cannot be made or written: a full disk, a limit on
    sizes, a directory that is missing or read-only.
    """
    import tempfile

    try:
        with tempfile.TemporaryDirectory(prefix=prefix, ignore_cleanup_errors=True) as path:
            yield Path(path)
    except OSError as error:
        raise _not_written(error.strerror or str(error)) from error


def check_finished(what: str, status: int, log: str) -> None:
    """Raise BackendUnavailableError if a compiler, which messages name `what`, failed for another
    reason than its source: it could not write its files, or a signal ended it or one of its
    programs. A negative exit status is a signal's number; `log` is what it printed.
    """
    if status == 0:
        return
    found = _NOT_WRITTEN.search(log)
    if found is not None:
        raise _not_written(found[1])
    ended = _ENDED.search(log)
    signal_name = (ended[1] or ended[2]) if ended is not None else ""
    if status < 0:
        import signal

        signal_name = signal.strsignal(-status) or f"signal {-status}"
    if not signal_name:
        return
    if "File size limit" in signal_name:
        raise _not_written(f"{signal_name[0].lower()}{signal_name[1:]}")
    raise BackendUnavailableError(
        render_message(
            f"{what} was ended by a signal: {signal_name}.",
            hint="machines and containers that are short of memory do this: free some, or compile "
            "less at a time.",
        )
    )

"""Directories for the files of compilers, and what is said where those cannot be written."""

from __future__ import annotations

import errno
import fcntl
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from kerneltk.core.records import pattern
from kerneltk.errors import BackendUnavailableError, render_message

_MOST_TRIES = 8  # of making a directory that no other process removes at once

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


def _prefix() -> str:
    """What the names of this user's directories begin with."""
    return f"kerneltk-compile-{os.getuid()}-"


def _locked(path: str, *, waits: bool) -> int | None:
    """Lock a directory; return the file descriptor that holds the lock, or None where the directory
    is gone, its file system has no locks, or another process holds it and this one does not wait.

    The kernel releases the lock with the last process that has the descriptor, whatever ends it.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX if waits else fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.path.samestat(os.stat(path), os.fstat(descriptor)):
            return descriptor
    except OSError:
        pass  # it is in use, it is gone, or its file system has no locks
    os.close(descriptor)
    return None


def remove_abandoned(root: str) -> None:
    """Remove the directories in `root` that processes of this user left when they were killed."""
    prefix = _prefix()
    with suppress(OSError), os.scandir(root) as entries:
        for entry in entries:
            if not entry.name.startswith(prefix) or not entry.is_dir(follow_symlinks=False):
                continue
            if entry.stat(follow_symlinks=False).st_uid != os.getuid():
                continue
            descriptor = _locked(entry.path, waits=False)
            if descriptor is not None:
                shutil.rmtree(entry.path, ignore_errors=True)
                os.close(descriptor)


_cleaned: set[str] = set()  # the directories that this process has looked at


@contextmanager
def directory() -> Iterator[Path]:
    """Give a directory of its own to a compiler, and remove it afterwards. One that a killed
    process left is removed by the next process that compiles.

    Raises BackendUnavailableError where it cannot be made or written: a full disk, a limit on
    sizes, a directory that is missing or read-only.
    """
    try:
        root = tempfile.gettempdir()
        if root not in _cleaned:
            _cleaned.add(root)
            remove_abandoned(root)
        prefix = _prefix()
        for _ in range(_MOST_TRIES):
            with tempfile.TemporaryDirectory(prefix=prefix, ignore_cleanup_errors=True) as path:
                # Another process may have locked it before, taking it for abandoned: wait until
                # that one has removed it, since it would do so while a compiler writes here.
                descriptor = _locked(path, waits=True)
                if descriptor is None and not os.path.isdir(path):
                    continue
                try:
                    yield Path(path)
                finally:
                    if descriptor is not None:
                        os.close(descriptor)
                return
        raise OSError(errno.EEXIST, "Temporary directories are removed while they are made")
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

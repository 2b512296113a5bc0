"""Who could have written a file: what is loaded as machine code must be this user's or root's."""

from __future__ import annotations

import errno
import os
import stat
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from kerneltk.core.settings import get_settings


def check_directory(path: str | os.PathLike[str], *, by_path: bool = False) -> None:
    """Raise unless only this user, or root, decides what a directory holds.

    Parameters
    ----------
    path : str or path
    by_path : bool
        Whether files in it are loaded by their paths. Then its group must not write there either:
        another file may take the place of one that was checked. Files that are read once and
        checked with :func:`is_ours` may lie in a directory that its owner shares with a group.

    Raises
    ------
    NotADirectoryError
        It is none.
    PermissionError
        Another user owns it, or may write there.
    FileNotFoundError
        There is nothing of that name.
    """
    status = os.stat(path)
    if not stat.S_ISDIR(status.st_mode):
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))
    if os.name != "posix":
        return
    if status.st_uid not in (os.geteuid(), 0):
        raise PermissionError(
            errno.EPERM, f"it belongs to user {status.st_uid}, whose code would be run"
        )
    if status.st_mode & stat.S_IWOTH:
        raise PermissionError(errno.EPERM, "everybody may write code into it")
    if by_path and status.st_mode & stat.S_IWGRP:
        raise PermissionError(errno.EPERM, "a group may write code into it")


def is_ours(status: os.stat_result) -> bool:
    """Return whether a file can only have been written by this user or by root."""
    if not stat.S_ISREG(status.st_mode):
        return False
    if os.name != "posix":
        return True
    writable_by_others = status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    return status.st_uid in (os.geteuid(), 0) and not writable_by_others


@cache
def _absolute(path: Path) -> str:
    """The path as it was in the working directory in which it was first asked for."""
    return os.path.abspath(path)


def _shared_directories(name: str) -> Iterator[tuple[str, str]]:
    """Yield paths that all processes of this user share, each with the directory around it if
    others could put another in its place.
    """
    configured = get_settings().cache_directory
    if configured is not None:
        cached = _absolute(configured)
        yield f"{cached}/{name}", cached
    yield f"{tempfile.gettempdir()}/kerneltk-{name}-{os.getuid()}", ""


@cache
def _own_directory(name: str, process: int) -> str:
    return tempfile.mkdtemp(prefix=f"kerneltk-own-{name}-")


def private_directory(name: str, holding: str = "") -> str:
    """Return a directory, which is there, in which this user alone can write: in the compile
    cache's, else in the directory for temporary files, else one of this process. Raises OSError
    where none can be made.

    Parameters
    ----------
    name : str
        What the directory is for.
    holding : str
        What need not be written, and the directory neither, where it is there.
    """
    for shared, around in _shared_directories(name):
        try:
            try:
                check_directory(shared, by_path=True)
            except FileNotFoundError:
                if around:
                    os.makedirs(around, 0o700, exist_ok=True)
                os.makedirs(shared, 0o700, exist_ok=True)
                check_directory(shared, by_path=True)
            if around:
                check_directory(around, by_path=True)
            if holding and os.path.exists(f"{shared}/{holding}"):
                return shared
            if os.access(shared, os.W_OK | os.X_OK):
                return shared
        except OSError:  # another user's, a file, or on a disk that cannot be written
            continue
    return _own_directory(name, os.getpid())

"""Who could have written a file: what is loaded as machine code must be this user's or root's."""

from __future__ import annotations

import errno
import os
import stat


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

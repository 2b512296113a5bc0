"""Files that a debugger reads: the sources of kernels that are in no file, and compiled kernels.

They lie beside the compile cache, or in the directory for temporary files. A compiled kernel is
loaded from there, by its path: a directory in which others may write is left alone, and one of this
process's own is made.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from functools import cache
from pathlib import Path

from kerneltk.core.ownership import check_directory, is_ours
from kerneltk.core.settings import get_settings
from kerneltk.errors import BackendUnavailableError


def _shared_directory() -> Path:
    kept = get_settings().cache_directory
    if kept is not None:
        return kept / "debug"
    return Path(tempfile.gettempdir()) / f"kerneltk-debug-{os.getuid()}"


@cache
def _own_directory(process: int) -> Path:
    return Path(tempfile.mkdtemp(prefix="kerneltk-own-debug-"))


def _directory() -> Path:
    """Return a directory, which is there, in which this user alone can write."""
    shared = _shared_directory()
    try:
        shared.mkdir(mode=0o700, parents=True, exist_ok=True)
        check_directory(shared, by_path=True)
        if shared.name == "debug":  # else others could put another in its place
            check_directory(shared.parent, by_path=True)
        if os.access(shared, os.W_OK | os.X_OK):
            return shared
    except OSError:  # another user's, a file, or on a disk that cannot be written
        pass
    return _own_directory(os.getpid())


def keep(content: bytes, name: str) -> str:
    """Write a file, if it is not there yet, and return its path. Raises BackendUnavailableError
    where the file cannot be written.

    Parameters
    ----------
    content : bytes
    name : str
        What its name ends in; a name of its own goes into a directory of its own: ``"code.cu"``,
        ``".so"``.
    """
    digest = hashlib.sha256(content).hexdigest()[:16]
    try:
        directory = _directory()
        path = directory / (digest + name if name.startswith(".") else f"{digest}/{name}")
        if path.is_file() and is_ours(os.lstat(path)) and path.read_bytes() == content:
            return str(path)
        path.parent.mkdir(mode=0o700, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as file:
            file.write(content)
        os.replace(file.name, path)  # another process may be reading
    except OSError as error:
        raise BackendUnavailableError(
            f"A file for the debugger cannot be written: {error}.\n"
            "  Hint: set KERNELTK_CACHE_DIR or TMPDIR to a directory that can be written."
        ) from error
    return str(path)

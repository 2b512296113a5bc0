"""Files that a debugger reads: the sources of kernels that are in no file, and compiled kernels.

They lie beside the compile cache, or in the directory for temporary files. A compiled kernel is
loaded from there, by its path: a directory in which others may write is left alone, and one of this
process's own is made.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from pathlib import Path

from kerneltk.cache.store import is_ours, private_directory
from kerneltk.errors import BackendUnavailableError


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
        directory = Path(private_directory("debug"))
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

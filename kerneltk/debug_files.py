"""Files that a debugger reads: the texts of kernels that are in no file, and compiled kernels."""

from __future__ import annotations

import hashlib
import os
import tempfile
from pathlib import Path

from kerneltk.settings import get_settings

__all__ = ["keep"]


def _directory() -> Path:
    cache = get_settings().cache_directory
    if cache is not None:
        return cache / "debug"
    return Path(tempfile.gettempdir()) / f"kerneltk-debug-{os.getuid()}"


def keep(content: bytes, name: str) -> str:
    """Write a file, if it is not there yet, and return its path.

    Parameters
    ----------
    content : bytes
    name : str
        What its name ends in; a name of its own goes into a directory of its own: ``"code.cu"``,
        ``".so"``.
    """
    digest = hashlib.sha256(content).hexdigest()[:16]
    directory = _directory()
    path = directory / (digest + name if name.startswith(".") else f"{digest}/{name}")
    if path.is_file() and path.read_bytes() == content:
        return str(path)
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as file:
        file.write(content)
    os.replace(file.name, path)  # another process may be reading
    return str(path)

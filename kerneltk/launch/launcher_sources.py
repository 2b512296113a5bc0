"""The extension module's sources, and a digest by which a module says what it was built from.

The build (``setup.py``) runs this file by itself: it imports nothing of the package.
"""

from __future__ import annotations

import hashlib
from pathlib import Path


def paths() -> list[Path]:
    """The C source, and behind it the headers that it includes."""
    directory = Path(__file__).parent
    return [directory / "_launcher.c", *sorted(directory.glob("launcher_*.h"))]


def digest() -> str:
    """The digest of the sources, as hexadecimal digits. Raises OSError where they are not there."""
    found = hashlib.sha256()
    for path in paths():
        content = path.read_bytes()
        found.update(f"{path.name} {len(content)}\n".encode())
        found.update(content)
    return found.hexdigest()

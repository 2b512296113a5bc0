"""What tells code of this package from any other, for keys of the cache."""

from __future__ import annotations

import functools
import hashlib
import operator
import os
import sys
import time
from collections.abc import Iterator, Sequence
from importlib.util import find_spec

import numpy as np

from kerneltk.cache.fingerprint import file_stamp

_LOADED_NS = time.time_ns()
_TICK_NS = 20_000_000  # by which a file's times may be behind the clock


def code_files(names: Sequence[str]) -> Iterator[str]:
    """The source files of modules, and of packages with all that is in them."""
    for name in names:
        spec = find_spec(name)
        assert spec is not None
        if spec.submodule_search_locations is None:
            assert spec.origin is not None
            yield spec.origin
        for directory in spec.submodule_search_locations or ():
            yield from _files_in(directory)


def _files_in(directory: str) -> Iterator[str]:
    with os.scandir(directory) as entries:
        found = sorted(entries, key=operator.attrgetter("name"))
    for entry in found:
        if entry.name.endswith(".py"):
            yield entry.path
        elif "." not in entry.name and entry.name != "__pycache__" and entry.is_dir():
            yield from _files_in(entry.path)


@functools.cache
def code_digest(names: tuple[str, ...]) -> str:
    """A hash of modules and packages, and of the Python and the NumPy that execute them. Where a
    file has changed since this process began to load them, the hash is nobody else's: what the
    process executes is not what lies there.
    """
    import kerneltk

    stamps = [file_stamp(path) for path in code_files(names)]
    own = os.urandom(16) if _has_changed(stamps) else b""
    found = repr((kerneltk.__version__, sys.version, sys.flags, np.__version__, stamps, own))
    return hashlib.sha256(found.encode("utf-8", "surrogateescape")).hexdigest()


def _has_changed(stamps: Sequence[tuple[object, ...]]) -> bool:
    """Whether one of some files was written, or put into its place, after this was loaded."""
    latest = _LOADED_NS - _TICK_NS
    return any(isinstance(changed, int) and changed > latest for _, _, changed, *_ in stamps)

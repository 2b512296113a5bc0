"""Stand-ins for headers of CUDA, its libraries and the C++ library, which compilers lack.

They are in tables: those in `templates/stand_ins/TREE` are of one tree, those beside it of all but
``"cupy"``, which has CuPy's names for headers of the package. A table is C++ in sections. Lines of
``////`` name the headers of a section, and what is below is the source of each, with
``#pragma once`` in front::

    //// cuda/std/array cuda/std/tuple
    #include <@BASE@>
    namespace cuda::std {
    using namespace ::std;
    }  // namespace cuda::std

``@NAME@`` stands for a header's name, ``@BASE@`` for the part of it behind the last slash, and
``@VALUE@`` for what follows a name in the line of ``////``: ``list=24`` is the header ``list``. A
header whose name has a ``*`` in front is read each time that it is included. What is in front of
the first section says what the table is.

Lines between ``@EACH`` and ``@END`` are repeated for each item, whose parts are ``@1@``, ``@2@``::

    @EACH u_int=int u_long=long
    typedef unsigned @2@ @1@;
    @END

Compilers find the headers of a tree as files, by ``-I``. These are written once, for all processes,
to a directory beside the compile cache whose name has the digest of their content. NVRTC gets them
there, too, and not from memory: it prefers a header in memory to those in the directories that the
user's options name (12.9).
"""

from __future__ import annotations

import hashlib
import os
import posixpath
import re
import shutil
import tempfile
import time
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Literal, NamedTuple

from kerneltk.cache.store import private_directory
from kerneltk.core.artifacts import INCLUDE_DIRECTORY
from kerneltk.core.records import pattern
from kerneltk.errors import BackendUnavailableError

Tree = Literal["cupy", "host", "nvrtc", "nvrtc_fallback"]

_TABLES = INCLUDE_DIRECTORY.parent / "stand_ins"
_PLACE = pattern(r"headers(?:-\d+)?/(?:cupy|host|nvrtc|nvrtc_fallback)-[0-9a-f]{16}/")
_EACH = pattern(rb"(?ms)^((?:@EACH .*?\n)+)(.*?)^@END\n")
_SUFFIX = ".headers"
_TOUCH_INTERVAL = 86400.0  # seconds between two updates of a directory's time of last use
_UNUSED_AGE = 30 * 86400.0  # seconds after its last use when a directory is removed

given: dict[str, Tree] = {}
"""The directories that this process has given to compilers, with their trees."""


class Section(NamedTuple):
    """What a table says of a header."""

    title: str  # of the table
    is_once: bool
    body: bytes
    value: bytes = b""

    def header(self, name: str) -> bytes:
        """Return the source of the header of a name."""
        once = "#pragma once" if self.is_once else ""
        head = f"{once}  // kerneltk/templates/stand_ins/{self.title}\n".encode()
        body = self.body.rstrip() + b"\n"
        if b"@EACH" in body:
            body = _EACH.sub(_repeated, body)
        body = body.replace(b"@NAME@", name.encode()).replace(b"@VALUE@", self.value)
        return head + body.replace(b"@BASE@", name.rpartition("/")[2].encode())


def _repeated(found: re.Match[bytes]) -> bytes:
    repeated = b""
    for item in found[1].replace(b"@EACH ", b"").split():
        one = found[2]
        for k, part in enumerate(item.split(b"="), start=1):
            one = one.replace(b"@%d@" % k, part)
        repeated += one
    return repeated


def read_table(source: bytes, title: str) -> dict[str, Section]:
    """Return the sections of a table by the headers' names. Raises ValueError where a name is in
    two.
    """
    sections: dict[str, Section] = {}
    names: list[str] = []
    for part in (b"\n" + source).split(b"\n//// ")[1:]:
        line, is_whole, body = part.partition(b"\n")
        names += line.decode().split()
        if not is_whole:
            continue  # the next line names more
        for entry in names:
            name, _, value = entry.removeprefix("*").partition("=")
            if name in sections:
                raise ValueError(f"'{title}' has two headers '{name}'.")
            sections[name] = Section(title, not entry.startswith("*"), body, value.encode())
        names = []
    return sections


@cache
def tables(tree: Tree) -> Mapping[str, bytes]:
    """Return the tables of a tree by their names, ``"host/cuda.headers"``."""
    found = {}
    for inner in (f"{tree}/", *([""] if tree != "cupy" else [])):
        for name in sorted(os.listdir(f"{_TABLES}/{inner}")):
            if name.endswith(_SUFFIX):
                with open(f"{_TABLES}/{inner}{name}", "rb") as file:
                    found[f"{inner}{name}"] = file.read()
    return found


@cache
def _sections(tree: Tree) -> Mapping[str, Section]:
    found: dict[str, Section] = {}
    for title, source in tables(tree).items():
        found |= read_table(source, title)
    return found


def headers(tree: Tree) -> dict[str, bytes]:
    """Return the headers of a tree by their names, ``"cub/block/block_load.cuh"``."""
    return {name: section.header(name) for name, section in _sections(tree).items()}


@cache
def _directory_name(tree: Tree) -> str:
    # Of the tables and of what is made of them, not of the headers, which take 1 ms to make.
    example = read_table(b"//// *a/b\n<@NAME@> @BASE@\n\n//// c\n//// d\n", "")
    made = sorted((name, section.header(name)) for name, section in example.items())
    digest = hashlib.sha256(repr(made).encode())
    for title, source in tables(tree).items():
        digest.update(b"%s\0%d\0%s" % (title.encode(), len(source), source))
    return f"{tree}-{digest.hexdigest()[:16]}"


def has_header(name: str, *trees: Tree) -> bool:
    """Return whether one of the trees has a header of that name."""
    name = posixpath.normpath(name)
    return any(name in _sections(tree) for tree in trees)


def directory(tree: Tree) -> Path:
    """Return the directory that has the headers of a tree. It is made where there is none; raises
    BackendUnavailableError where it cannot be.
    """
    name = _directory_name(tree)
    try:
        root = private_directory("headers", name)
        path = f"{root}/{name}"
        try:
            last_used = os.stat(path).st_mtime
        except FileNotFoundError:
            _write_tree(root, path, tree)
        else:
            if time.time() - last_used > _TOUCH_INTERVAL:
                with suppress(OSError):  # a read-only cache has no times of last use
                    os.utime(path)
    except OSError as error:
        raise _not_written(error) from error
    given[path] = tree
    return Path(path)


def is_stand_in(path: str) -> bool:
    """Return whether a file is one of the headers, of this process or another."""
    return _PLACE.search(path) is not None


def restore(directory: str, name: str, digest: bytes | None) -> bool:
    """Write a header of a directory in `given` anew if its file has not the content that it should
    have, and return whether that was so. Raises BackendUnavailableError where it cannot be written.

    Parameters
    ----------
    directory, name : str
    digest : bytes or None
        SHA-256 of the file; None where there is none.
    """
    name = posixpath.normpath(name)
    section = _sections(given[directory]).get(name)
    if section is None:
        return False
    source = section.header(name)
    if digest == hashlib.sha256(source).digest():
        return False
    path = f"{directory}/{name}"
    try:
        os.makedirs(os.path.dirname(path), 0o700, exist_ok=True)
        _replace(path, source)
    except OSError as error:
        raise _not_written(error) from error
    return True


def _replace(path: str, source: bytes) -> None:
    descriptor, temporary = tempfile.mkstemp(dir=os.path.dirname(path))
    try:
        with open(descriptor, "wb") as file:
            file.write(source)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


def _write_tree(root: str, path: str, tree: Tree) -> None:
    """Write all headers of a tree, and publish their directory whole."""
    _remove_unused(root)
    sources = headers(tree)
    temporary = tempfile.mkdtemp(prefix=".", suffix=".tmp", dir=root)
    try:
        for inner in sorted({os.path.dirname(name) for name in sources} - {""}):
            os.makedirs(f"{temporary}/{inner}", 0o700, exist_ok=True)
        for name, source in sources.items():
            with open(f"{temporary}/{name}", "xb", buffering=0) as file:
                file.write(source)
        try:
            os.rename(temporary, path)
        except OSError:
            if not os.path.isdir(path):  # else another process was first
                raise
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _remove_unused(root: str) -> None:
    """Remove directories of other versions, and of processes that were killed."""
    oldest = time.time() - _UNUSED_AGE
    with suppress(OSError), os.scandir(root) as entries:
        for entry in entries:
            if entry.stat(follow_symlinks=False).st_mtime < oldest:
                shutil.rmtree(entry.path, ignore_errors=True)


def _not_written(error: OSError) -> BackendUnavailableError:
    return BackendUnavailableError(
        f"The headers for compilers cannot be written: {error}.\n"
        "  Hint: set KERNELTK_CACHE_DIR or TMPDIR to a directory that can be written."
    )

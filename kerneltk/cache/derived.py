"""Results of the package's code and of compilers in the compile cache.

A derivation has a stage (a row of `_CODE`) and inputs (strings). Its key is a hash of both and of
the code that computes it: a process whose inputs and code are the same reads the result instead of
computing it. There is one rule for code that changes on disk while a process runs. The code of a
stage is known by the stamps of its files, and only as long as these show that the files are what
this process imports: none was changed or moved since the import of the package began, and all are
the same after a computation as before the first one. Otherwise the process may execute older code
than the files have, or a mixture of both, and what it derives stays in its memory.

Records are plain data as JSON, behind a digest of the entry's key and of themselves. Whatever else
lies there (of another entry, of another version, damaged) is a cache miss.
"""

from __future__ import annotations

import errno
import functools
import hashlib
import json
import operator
import os
import stat
import sys
from collections.abc import Callable, Iterator, Sequence
from importlib.util import find_spec
from types import UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

import numpy as np

import kerneltk
from kerneltk.cache.fingerprint import file_stamp, string_key
from kerneltk.cache.store import Cache, get_cache

T = TypeVar("T")

Stage = Literal[
    "object code", "host compiler", "source", "launch", "plan", "analysis", "CUDA C++ source"
]

_CODEGEN = ("codegen", "core", "schedule", "signature", "templates")
_FUNCTIONS = (*_CODEGEN, "elementwise.py", "errors.py", "interop", "jit")

# Of each stage, the files and directories whose code computes it, in this package or, where it has
# none of that name, in a package of that name. What compilers write depends on none of them: the
# key of object code (`fingerprint`) has all that a compiler is given.
_CODE: dict[Stage, tuple[str, ...]] = {
    "object code": (),
    "host compiler": (),
    "source": ("codegen/render.py", "templates"),
    "launch": (*_CODEGEN, "backends/base.py", "cache", "launch", "pipeline.py"),
    "analysis": _FUNCTIONS,
    "plan": (
        *(*_FUNCTIONS, "cache", "fusion", "launch", "reduction.py"),
        *("backends/base.py", "backends/foreign_arrays.py"),
    ),
    "CUDA C++ source": (
        *("backends", "cache", "codegen/real_overloads.py", "core", "cuda_cpp", "errors.py"),
        *("interop", "object_code", "pipeline.py", "tree_sitter", "tree_sitter_cuda"),
    ),
}

_SUFFIXES = (".py", ".j2", ".so")
_NO_CODE = ("__pycache__", "include", "stand_ins")  # the key of object code has the headers
_TICK_NS = 20_000_000  # by which a file's times may be behind the clock
_DIGEST_SIZE = 32  # bytes
_MOST_RECORDS = 8  # of one entry
_MOST_BYTES = 1 << 18  # of an entry with several records


# -- the code of a stage ---------------------------------------------------------------------------


def code_files(stage: Stage) -> Iterator[str]:
    """Yield the paths of the code that computes a stage. Raises OSError where one is gone."""
    for name in _CODE[stage]:
        yield from (path for path, _ in _walk(name) if path.endswith(_SUFFIXES))


def _walk(name: str) -> Iterator[tuple[str, int]]:
    """Yield the files and directories of a name of `_CODE`, and when each got its name (ns): 0
    where that is no later than its own last change.
    """
    path = f"{kerneltk.__path__[0]}/{name}"
    if os.path.exists(path):
        yield path, _named_ns(path)
        if not name.endswith(".py"):
            yield from _walk_directory(path)
    else:
        spec = find_spec(name)
        for path in (spec and spec.submodule_search_locations) or ():
            yield path, _named_ns(path)
            yield from _walk_directory(path)


def _walk_directory(directory: str) -> Iterator[tuple[str, int]]:
    with os.scandir(directory) as entries:
        found = sorted(entries, key=operator.attrgetter("name"))
    for entry in found:
        is_code = entry.name.endswith(_SUFFIXES) and not entry.name.startswith(".")
        if is_code and not entry.is_symlink():
            yield entry.path, 0
        elif is_code:
            yield entry.path, _named_ns(entry.path)
        elif "." not in entry.name and entry.name not in _NO_CODE and entry.is_dir():
            yield entry.path, _named_ns(entry.path)
            yield from _walk_directory(entry.path)


def _named_ns(path: str) -> int:
    """When a directory was moved or a link was made (ns), as far as its times show it. What is
    written into a directory changes both of its times.
    """
    status = os.lstat(path)
    is_written = stat.S_ISDIR(status.st_mode) and status.st_ctime_ns == status.st_mtime_ns
    return 0 if is_written else status.st_ctime_ns


class _Code:
    """The code of one name of `_CODE`, as this process imports it."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._identity: list[tuple[object, ...]] = []
        self.digest: str | None = None
        try:
            stamps, changed = self._look()
        except OSError:
            return
        if changed < kerneltk._import_began - _TICK_NS:
            found = repr(stamps).encode("utf-8", "surrogateescape")
            self.digest = hashlib.sha256(found).hexdigest()

    def _look(self) -> tuple[list[tuple[object, ...]], int]:
        """Return the stamps of the files, and when the last of them was changed (ns). Raises
        OSError where one is gone, or the package lies elsewhere than it did.
        """
        if not os.path.samestat(os.stat(kerneltk.__path__[0]), kerneltk._home):
            raise FileNotFoundError(errno.ENOENT, "The package has been moved.")
        stamps, changed = [], 0
        self._identity = []
        for path, named in _walk(self._name):
            changed = max(changed, named)
            if path.endswith(_SUFFIXES):
                stamp = file_stamp(path)
                stamps.append(stamp)
                # Later a stamp may lack the digest of the content: the file has settled.
                self._identity.append(stamp[:5])
                changed = max(changed, stamp[2])
            else:
                self._identity.append((path, os.stat(path).st_ino))
        return stamps, changed

    def check(self) -> bool:
        """Whether the files are still what this process imports."""
        if self.digest is not None:
            before = self._identity
            try:
                self._look()
            except OSError:
                self._identity = []
            if self._identity != before:
                self.digest = None
        return self.digest is not None


_code_of = functools.cache(_Code)


@functools.cache
def _interpreter() -> str:
    return repr((kerneltk.__version__, sys.version, sys.flags, np.__version__))


def code_digest(stage: Stage) -> str | None:
    """Return a hash of the code that computes a stage, and of the Python and the NumPy that execute
    it. None where the files are not known to be what this process imports.
    """
    digests = [_code_of(name).digest for name in _CODE[stage]]
    known = [digest for digest in digests if digest is not None]
    return string_key(_interpreter(), *known) if len(known) == len(digests) else None


def _is_unchanged(stage: Stage) -> bool:
    return all(_code_of(name).check() for name in _CODE[stage])


@functools.cache
def _own_cache() -> Cache:
    """The results of a process whose code is not known."""
    return Cache(None)


NOT_READ = (
    TypeError, ValueError, LookupError, AttributeError, OverflowError, RecursionError
)  # fmt: skip
"""What reading a record raises where it is not of the reader's kind."""


@functools.cache
def reader_of(kind: Any) -> Callable[[Any], Any]:
    """Return a reader of a type's values from plain data: a named tuple, a tuple, or what JSON has
    itself. It raises TypeError or ValueError for data of no such value.

    >>> reader_of(tuple[int, tuple[str, ...]])([1, ["a", "b"]])
    (1, ('a', 'b'))
    """
    origin, arguments = get_origin(kind), get_args(kind)
    if origin is Literal:
        return lambda value: _checked(value, value in arguments)
    if origin in (Union, UnionType):
        (some,) = (reader_of(each) for each in arguments if each is not type(None))
        return lambda value: None if value is None else some(value)
    if origin is tuple and arguments[-1] is Ellipsis:
        each = reader_of(arguments[0])
        return lambda values: tuple(map(each, _checked(values, isinstance(values, list))))
    if origin is None and not issubclass(kind, tuple):
        return lambda value: _checked(value, isinstance(value, kind))
    if origin is None:
        readers = [reader_of(field) for field in get_type_hints(kind).values()]
        make: Callable[..., Any] = kind._make
    else:
        readers, make = [reader_of(field) for field in arguments], tuple

    def read(values: Any) -> Any:
        _checked(values, isinstance(values, list))
        return make([read(value) for read, value in zip(readers, values, strict=True)])

    return read


def _checked(value: Any, is_right: bool) -> Any:
    if not is_right:
        raise TypeError(f"{value!r} is of another type.")
    return value


# -- entries ---------------------------------------------------------------------------------------


class Entry:
    """One derivation's entry in the cache.

    Parameters
    ----------
    stage : Stage
    *inputs : str
        All that decides the result, but for the code.
    """

    def __init__(self, stage: Stage, *inputs: str) -> None:
        self._stage = stage
        code = code_digest(stage) if _CODE[stage] else ""
        self._is_shared = code is not None
        self.key = string_key("derived 1", stage, code or "", *inputs)

    @property
    def _cache(self) -> Cache:
        return get_cache() if self._is_shared else _own_cache()

    def get(self) -> bytes | None:
        """Return the bytes of this entry; None for nothing."""
        return self._cache.get(self.key)

    def put(self, data: bytes) -> None:
        """Write the bytes of this entry; for this process only where the code has changed."""
        self._is_shared = self._is_shared and _is_unchanged(self._stage)
        self._cache.put(self.key, data)

    def read(self, read: Callable[[Any], T]) -> T | None:
        """Return `read` of the record; None where there is none, or one of another stage, for which
        `read` raises one of `NOT_READ`.
        """
        data = self.get()
        if data is None or data[:_DIGEST_SIZE] != self._digest(data[_DIGEST_SIZE:]):
            return None
        try:
            return read(json.loads(data[_DIGEST_SIZE:]))
        except NOT_READ:
            return None

    def write(self, value: object, most: int | None = None) -> bool:
        """Write a record: plain data, named tuples among it. Return whether it has no more bytes
        than `most`; else nothing is written.
        """
        data = json.dumps(value).encode()
        is_written = most is None or len(data) <= most
        if is_written:
            self.put(self._digest(data) + data)
        return is_written

    def _digest(self, data: bytes) -> bytes:
        return hashlib.sha256(self.key.encode() + data).digest()


def derive(
    stage: Stage, inputs: Sequence[str], compute: Callable[[], T], read: Callable[[Any], T]
) -> T:
    """Return the result of `compute`, or `read` of its record if the cache has one."""
    entry = Entry(stage, *inputs)
    found = entry.read(read)
    if found is None:
        found = compute()
        entry.write(found)
    return found


class Records:
    """A few records of one entry, for what its key leaves open, such as the shapes of a call.

    Parameters
    ----------
    stage : Stage
    size : int
        The number of a record's items.
    *inputs : str

    Attributes
    ----------
    found : list of list
        The records, the latest first.
    """

    def __init__(self, stage: Stage, size: int, *inputs: str) -> None:
        self._entry, self._size = Entry(stage, *inputs), size
        self.found: list[list[Any]] = self._entry.read(self._checked) or []

    def _checked(self, found: Any) -> list[list[Any]]:
        if not all(isinstance(record, list) and len(record) == self._size for record in found):
            raise TypeError("These are no records.")
        return list(found)

    def add(self, record: Sequence[object], named_by: int) -> None:
        """Add a record in the place of one with the same first items, so many. The oldest records
        are dropped where there are more than eight, or more than 256 KiB on disk.
        """
        # JSON makes lists of tuples: they are compared as it reads them.
        made = json.loads(json.dumps(record))
        others = [other for other in self.found if other[:named_by] != made[:named_by]]
        self.found = [made, *others[: _MOST_RECORDS - 1]]
        for count in range(len(self.found), 0, -1):
            if self._entry.write(self.found[:count], _MOST_BYTES):
                return

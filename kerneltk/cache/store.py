"""Compiled bytes by key, in memory and on disk.

The cache knows bytes and keys, and nothing of what they mean. On disk an entry is one immutable
file, written under a temporary name and published by an atomic rename, so that a reader sees a
whole entry or none::

    directory/CACHEDIR.TAG      tells backup tools what this is; its mtime is the last scan's time
    directory/ab/abcd....ktk    an entry: header, checksum, payload; its mtime is the last use
    directory/ab/.abcd-*.tmp    an entry being written

Who may write an entry decides what this user runs, because entries are loaded as machine code and
a checksum tells accidents from entries, not forgeries. So a directory that another user owns or
that everybody may write is refused, and a file counts only when this user or root owns it and
no other user may write it.
"""

from __future__ import annotations

import errno
import functools
import hashlib
import os
import stat
import struct
import tempfile
import time
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from kerneltk.core.records import lasting_lock, pattern
from kerneltk.core.settings import get_settings

_MAGIC = b"KTKCACHE"
_VERSION = 1
_FIELDS = struct.Struct("<8sI32sQ")  # magic, version, key, length of the payload
_DIGEST_SIZE = 32
_HEADER_SIZE = _FIELDS.size + _DIGEST_SIZE

_KEY = pattern(r"[0-9a-f]{64}")
_SHARD = pattern(r"[0-9a-f]{2}")
_ENTRY_FILE = pattern(r"([0-9a-f]{64})\.ktk")
_TEMPORARY_FILE = pattern(r"\.[0-9a-f]{16}-[0-9a-f]{16}\.tmp")
_TAG_NAME = "CACHEDIR.TAG"
_TAG_TEXT = b"Signature: 8a477f597d28d172789f06886806bc55\n# Compiled kernels of kerneltk.\n"

_TOUCH_INTERVAL = 3600.0  # seconds between two updates of one entry's time of last use
_SCAN_INTERVAL = 3600.0  # seconds between two scans of one directory, whoever does them
_STALE_AGE = 3600.0  # seconds after which a temporary file's writer counts as dead
_ATTEMPTS = 4  # publications tried while somebody else removes directories

# A file that is a link, a pipe or a device in an entry's place must neither be followed nor block.
_READ_FLAGS = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
_CREATE_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
_ABSENT = frozenset({errno.ENOENT, errno.ELOOP, errno.ENXIO, errno.ESTALE})


class Entry(NamedTuple):
    """One entry of a cache: 64 hexadecimal digits; bytes of its file on disk, or of its payload in
    memory; seconds since the epoch, on disk up to an hour too early.
    """

    key: str
    size: int
    last_used: float


class CacheInfo(NamedTuple):
    """Totals of a cache; all sizes are bytes.

    Without a `directory` the cache is in memory only. `writable` says whether the next
    :meth:`Cache.put` can be expected to reach the disk, `problem` why the directory is not, or not
    fully, in use. Above `size_limit` the least recently used entries on disk are removed.
    """

    directory: Path | None
    writable: bool
    problem: str | None
    entries: int
    size: int
    size_limit: int
    memory_entries: int
    memory_size: int


class Cache:
    """Bytes by key: a dictionary in memory in front of files on disk.

    Every method may be called from any thread, and any number of processes may share a directory.
    No state of the disk raises: what cannot be read is a miss, what cannot be written stays in
    memory, and :meth:`info` says why. Raises ValueError where a limit is negative.

    Parameters
    ----------
    directory : Path or None
        The directory of the entries, created (mode 0700) when first needed; None holds them in
        memory only.
    size_limit : int
        Above this total on disk (bytes) the least recently used entries are removed. It is
        enforced by scans, one an hour for a directory and one for each sixteenth of the limit
        that a process writes; in between the total may exceed it. Larger entries stay in memory.
    memory_limit : int
        Above this total in memory (bytes) the least recently used entries are dropped there.
    """

    def __init__(
        self,
        directory: Path | None,
        *,
        size_limit: int = 2 << 30,
        memory_limit: int = 256 << 20,
    ) -> None:
        if size_limit < 0 or memory_limit < 0:
            raise ValueError("A cache's limits must not be negative.")
        self._directory: Path | None = None
        self._root = ""
        if directory is not None:
            root = os.fspath(directory)
            # A working directory that was removed leaves the path relative, and then unusable.
            with suppress(OSError):
                root = os.path.abspath(root)
            self._directory = Path(root)
            self._root = root
        self._size_limit = size_limit
        self._memory_limit = memory_limit
        self._memory: OrderedDict[str, tuple[bytes, float]] = OrderedDict()
        self._memory_size = 0
        self._unscanned = 0  # bytes published by this process since its last scan
        self._problem: str | None = None
        self._lock = lasting_lock()

    def get(self, key: str) -> bytes | None:
        """Return the bytes that were put under `key` (64 lower-case hexadecimal digits), or None.
        Raises ValueError for what is no key.
        """
        with self._lock:
            hit = self._memory.get(key)
            if hit is not None:
                self._memory[key] = (hit[0], time.time())
                self._memory.move_to_end(key)
                return hit[0]
        _check_key(key)
        if self._directory is None:
            return None
        try:
            data = self._read(key)
        except OSError as error:
            if error.errno not in _ABSENT:
                self._note("read", error)
            return None
        if data is not None:
            self._remember(key, data)
        return data

    def put(self, key: str, data: bytes) -> None:
        """Keep `data`, or a copy if it is mutable, under `key` in place of whatever was there.
        Raises ValueError for what is no key.
        """
        _check_key(key)
        data = bytes(data)
        self._remember(key, data)
        if self._directory is None or _HEADER_SIZE + len(data) > self._size_limit:
            return
        try:
            self._publish(key, data)
        except OSError as error:
            self._note("written", error)
            return
        with self._lock:
            self._problem = None
        try:
            if self._scan_is_due(len(data)):
                self._evict(self._size_limit, self._size_limit // 8 * 7, keep=key)
        except OSError as error:
            self._note_unless_absent("scanned", error)

    def clear(self) -> int:
        """Remove every entry, in memory and on disk, and return how many are gone.

        Temporary files that dead processes left behind are removed too.
        """
        with self._lock:
            removed = set(self._memory)
            self._memory.clear()
            self._memory_size = 0
        shards = set()
        try:
            for path, key, status in self._walk():
                shards.add(os.path.dirname(path))
                if key is None:
                    self._sweep(path, status)
                elif self._remove(path):
                    removed.add(key)
                else:
                    removed.discard(key)
        except OSError as error:
            self._note_unless_absent("scanned", error)
        for shard in shards:
            with suppress(OSError):  # another process has just published an entry here
                os.rmdir(shard)
        return len(removed)

    def prune(self, size_limit: int | None = None) -> int:
        """Remove the least recently used entries on disk down to a total (bytes), by default the
        cache's limit; return how many were removed. Raises ValueError for a negative one.
        """
        limit = self._size_limit if size_limit is None else size_limit
        if limit < 0:
            raise ValueError("A cache's limits must not be negative.")
        try:
            return self._evict(limit, limit)
        except OSError as error:
            self._note_unless_absent("scanned", error)
            return 0

    def entries(self) -> list[Entry]:
        """Return the entries, on disk or in memory only, least recently used first.

        Files are listed, not read: a damaged one is listed until it is replaced.
        """
        found = {entry.key: entry for entry in self._entries_on_disk()}
        with self._lock:
            for key, (data, last_used) in self._memory.items():
                found.setdefault(key, Entry(key, len(data), last_used))
        return sorted(found.values(), key=lambda entry: (entry.last_used, entry.key))

    def info(self) -> CacheInfo:
        """Return the totals of the cache and the state of its directory."""
        on_disk = self._entries_on_disk()
        writable, probed = self._probe()
        with self._lock:
            return CacheInfo(
                directory=self._directory,
                writable=writable,
                problem=probed or self._problem,
                entries=len(on_disk),
                size=sum(entry.size for entry in on_disk),
                size_limit=self._size_limit,
                memory_entries=len(self._memory),
                memory_size=self._memory_size,
            )

    # Memory.

    def _remember(self, key: str, data: bytes) -> None:
        with self._lock:
            old = self._memory.pop(key, None)
            if old is not None:
                self._memory_size -= len(old[0])
            if len(data) > self._memory_limit:
                return
            self._memory[key] = (data, time.time())
            self._memory_size += len(data)
            while self._memory_size > self._memory_limit:
                _, (dropped, _) = self._memory.popitem(last=False)
                self._memory_size -= len(dropped)

    # One file.

    def _entry_path(self, key: str) -> str:
        return f"{self._root}/{key[:2]}/{key}.ktk"

    def _read(self, key: str) -> bytes | None:
        # A group that may write was named by the owner; its files still fail is_ours.
        check_directory(self._root)
        path = self._entry_path(key)
        descriptor = os.open(path, _READ_FLAGS)
        try:
            status = os.fstat(descriptor)
            length = status.st_size - _HEADER_SIZE
            if length < 0 or not is_ours(status):
                return None
            header = _read_exactly(descriptor, _HEADER_SIZE)
            fields = _pack_fields(key, length)
            # Before the payload is read, so that a large foreign file costs nothing.
            if header[: _FIELDS.size] != fields:
                return None
            data = _read_exactly(descriptor, length)
        finally:
            os.close(descriptor)
        if header[_FIELDS.size :] != _digest(fields, data):
            return None
        if time.time() - status.st_mtime > _TOUCH_INTERVAL:
            with suppress(OSError):  # a read-only cache has no times of last use
                os.utime(path)
        return data

    def _publish(self, key: str, data: bytes) -> None:
        final = self._entry_path(key)
        shard = os.path.dirname(final)
        fields = _pack_fields(key, len(data))
        content = b"".join((fields, _digest(fields, data), data))
        for attempt in range(_ATTEMPTS):
            try:
                if attempt:
                    os.makedirs(self._root, 0o700, exist_ok=True)
                check_directory(self._root)
                if attempt:
                    with suppress(FileExistsError):
                        os.mkdir(shard, 0o700)
                _write_file(shard, final, content)
                return
            except FileNotFoundError:  # not created yet, or removed by somebody in between
                if attempt == _ATTEMPTS - 1:
                    raise

    # All files.

    def _walk(self) -> Iterator[tuple[str, str | None, os.stat_result]]:
        """Yield path, key (None for a temporary file) and status of each file of this cache."""
        if self._directory is None:
            return
        check_directory(self._root)
        with os.scandir(self._root) as found:
            shards = [
                item.path
                for item in found
                if _SHARD.fullmatch(item.name) and item.is_dir(follow_symlinks=False)
            ]
        for shard in sorted(shards):
            try:
                with os.scandir(shard) as found:
                    items = list(found)
            except OSError as error:  # the other shards still count
                self._note_unless_absent("scanned", error)
                continue
            for item in items:
                entry = _ENTRY_FILE.fullmatch(item.name)
                if entry is None and not _TEMPORARY_FILE.fullmatch(item.name):
                    continue
                try:
                    status = item.stat(follow_symlinks=False)
                except FileNotFoundError:
                    continue
                if stat.S_ISREG(status.st_mode):
                    yield item.path, entry and entry[1], status

    def _entries_on_disk(self) -> list[Entry]:
        found = []
        try:
            for _, key, status in self._walk():
                if key is not None:
                    found.append(Entry(key, status.st_size, status.st_mtime))
        except OSError as error:
            self._note_unless_absent("scanned", error)
        return found

    def _scan_is_due(self, written: int) -> bool:
        """Count the bytes written, and say whether this put pays for a scan.

        The tag's time is shared by all processes, so that many short ones scan once an hour
        together; the count catches one process that writes much.
        """
        with self._lock:
            self._unscanned += written
            due = self._unscanned >= self._size_limit // 16
        tag = f"{self._root}/{_TAG_NAME}"
        now = time.time()
        try:
            due = due or abs(now - os.stat(tag).st_mtime) > _SCAN_INTERVAL
        except FileNotFoundError:
            with suppress(FileExistsError):
                descriptor = os.open(tag, _CREATE_FLAGS, 0o600)
                try:
                    os.write(descriptor, _TAG_TEXT)
                finally:
                    os.close(descriptor)
            due = True
        if due:
            with self._lock:
                self._unscanned = 0
            with suppress(OSError):  # somebody else's tag: better a scan too many than none
                os.utime(tag, (now, now))  # by this clock: a file server's own may differ
        return due

    def _evict(self, limit: int, target: int, *, keep: str | None = None) -> int:
        """Remove old entries down to `target` bytes if there are more than `limit`."""
        total = 0
        candidates = []
        for path, key, status in self._walk():
            if key is None:
                self._sweep(path, status)
                continue
            total += status.st_size
            if key != keep:
                candidates.append((status.st_mtime_ns, path, status.st_size))
        if total <= limit:
            return 0
        removed = 0
        for _, path, size in sorted(candidates):
            if total <= target:
                break
            if self._remove(path):
                total -= size
                removed += 1
        return removed

    def _sweep(self, path: str, status: os.stat_result) -> None:
        if time.time() - status.st_mtime > _STALE_AGE:
            self._remove(path)

    def _remove(self, path: str) -> bool:
        """Remove a file, and return whether it is gone."""
        try:
            os.unlink(path)
        except FileNotFoundError:
            return True
        except OSError as error:
            self._note("written", error)
            return False
        return True

    # Problems.

    def _note(self, action: str, error: OSError) -> None:
        with self._lock:
            self._problem = self._describe(action, error)

    def _note_unless_absent(self, action: str, error: OSError) -> None:
        if error.errno not in _ABSENT:
            self._note(action, error)

    def _describe(self, action: str, error: OSError) -> str:
        reason = error.strerror or str(error)
        return f"The cache directory '{self._root}' cannot be {action}: {reason}."

    def _probe(self) -> tuple[bool, str | None]:
        """Return whether the directory can be written, without writing to it, and why not."""
        if self._directory is None:
            return False, None
        path, action = self._root, "written"
        try:
            check_directory(self._root)
        except FileNotFoundError:
            action = "created"
            while not os.path.lexists(path):
                path = os.path.dirname(path) or "."
        except OSError as error:
            return False, self._describe("used", error)
        if not os.path.isdir(path):
            return False, self._describe(action, NotADirectoryError(errno.ENOTDIR, f"'{path}'"))
        if not os.access(path, os.W_OK | os.X_OK):
            reason = f"'{path}' is not writable"
            return False, self._describe(action, PermissionError(errno.EACCES, reason))
        return True, None


def _check_key(key: str) -> None:
    if not _KEY.fullmatch(key):
        raise ValueError(f"A cache key is 64 lower-case hexadecimal digits, not '{key}'.")


def _pack_fields(key: str, length: int) -> bytes:
    return _FIELDS.pack(_MAGIC, _VERSION, bytes.fromhex(key), length)


def _digest(fields: bytes, data: bytes) -> bytes:
    digest = hashlib.sha256(fields)
    digest.update(data)
    return digest.digest()


def _read_exactly(descriptor: int, count: int) -> bytes:
    """Return `count` bytes, or fewer at the end of the file."""
    data = os.read(descriptor, count)
    if len(data) == count or not data:
        return data
    parts = [data]
    missing = count - len(data)
    while missing and (data := os.read(descriptor, missing)):
        parts.append(data)
        missing -= len(data)
    return b"".join(parts)


def _write_file(directory: str, final: str, content: bytes) -> None:
    """Write a file under a temporary name and publish it as `final`.

    Nothing is flushed to the device: after a power failure the checksum tells a torn file.
    """
    name = os.path.basename(final)[:16]
    temporary = f"{directory}/.{name}-{os.urandom(8).hex()}.tmp"
    descriptor = os.open(temporary, _CREATE_FLAGS, 0o600)
    try:
        try:
            view = memoryview(content)
            while view:
                view = view[os.write(descriptor, view) :]
        finally:
            os.close(descriptor)  # a network file system may report a full disk only here
        os.replace(temporary, final)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary)
        raise


@functools.cache
def get_cache() -> Cache:
    """Return this process's compile cache, in the directory that the settings name."""
    return Cache(get_settings().cache_directory)


# -- who could have written a file: only this user or root may decide what is run ------------------


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
    writable_by_others = status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    return status.st_uid in (os.geteuid(), 0) and not writable_by_others


@functools.cache
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


@functools.cache
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

"""What the cache does where nothing goes wrong, and whom it trusts."""

from __future__ import annotations

import hashlib
import os
import stat
import time
from pathlib import Path

import pytest

from kerneltk.cache.store import Cache, Entry

STRANGER = 54321


def key_of(number: int) -> str:
    return hashlib.sha256(b"%d" % number).hexdigest()


def entry_path(directory: Path, key: str) -> Path:
    return directory / key[:2] / f"{key}.ktk"


def set_age(path: Path, seconds: float) -> None:
    then = time.time() - seconds
    os.utime(path, (then, then))


def give_away(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make `path` belong to a user that is neither this one nor root."""
    if os.geteuid() == 0:
        os.chown(path, STRANGER, -1)
    else:
        monkeypatch.setattr(os, "geteuid", lambda: STRANGER)


def test_put_replaces(tmp_path: Path) -> None:
    directory = tmp_path / "missing" / "cache"
    cache, data = Cache(directory), bytearray(b"new")
    cache.put(key_of(0), b"older")
    cache.put(key_of(0), data)  # type: ignore[arg-type]
    data[:] = b"xxx"
    other = Cache(directory)
    assert [cache.get(key_of(0)), other.get(key_of(0)), other.get(key_of(1))] == [b"new"] * 2 + [
        None
    ]
    assert cache.info().memory_size == len(b"new")
    entry_path(directory, key_of(0)).unlink()
    assert other.get(key_of(0)) == b"new"  # which reads no file again


@pytest.mark.parametrize(
    "key",
    ["", "0" * 63, "0" * 65, "A" * 64, "../" + "0" * 61, "0" * 64 + "\n", "0" * 63 + "\u0660"],
)
def test_a_key_is_64_hexadecimal_digits(tmp_path: Path, key: str) -> None:
    cache = Cache(tmp_path)
    with pytest.raises(ValueError, match="64 lower-case hexadecimal digits"):
        cache.get(key)
    with pytest.raises(ValueError, match="64 lower-case hexadecimal digits"):
        cache.put(key, b"")


def test_limits_are_not_negative(tmp_path: Path) -> None:
    for limits in ({"size_limit": -1}, {"memory_limit": -1}):
        with pytest.raises(ValueError, match="negative"):
            Cache(tmp_path, **limits)
    with pytest.raises(ValueError, match="negative"):
        Cache(tmp_path).prune(-1)


def test_memory_only() -> None:
    cache = Cache(None)
    cache.put(key_of(0), b"code")
    assert cache.get(key_of(0)) == b"code"
    assert [(entry.key, entry.size) for entry in cache.entries()] == [(key_of(0), 4)]
    info = cache.info()
    assert (info.directory, info.writable, info.problem) == (None, False, None)
    assert (info.entries, info.memory_entries, info.memory_size) == (0, 1, 4)
    assert cache.prune(0) == 0
    assert cache.clear() == 1
    assert cache.get(key_of(0)) is None


def test_memory_limit_drops_the_least_recently_used() -> None:
    cache = Cache(None, memory_limit=30)
    for number in range(3):
        cache.put(key_of(number), bytes(10))
    assert cache.get(key_of(0)) is not None
    cache.put(key_of(3), bytes(10))
    assert [key_of(n) for n in range(4) if cache.get(key_of(n)) is None] == [key_of(1)]
    cache.put(key_of(4), bytes(31))
    assert cache.get(key_of(4)) is None
    assert cache.info().memory_size == 30


def test_entries_are_listed_least_recently_used_first(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    for number, age in ((0, 100), (1, 300), (2, 200)):
        cache.put(key_of(number), bytes(1000))
        set_age(entry_path(tmp_path, key_of(number)), age)
    found = Cache(tmp_path).entries()
    assert [entry.key for entry in found] == [key_of(1), key_of(2), key_of(0)]
    assert all(isinstance(entry, Entry) for entry in found)
    assert [entry.size for entry in found] == [
        entry_path(tmp_path, entry.key).stat().st_size for entry in found
    ]
    assert found[0].last_used == pytest.approx(time.time() - 300, abs=250)


def test_clear_removes_only_what_is_the_caches_own(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    for number in range(5):
        cache.put(key_of(number), b"code")
    foreign = [
        tmp_path / "notes.txt",
        tmp_path / key_of(0)[:2] / "notes.txt",
        tmp_path / "elsewhere" / f"{key_of(9)}.ktk",
    ]
    for path in foreign:
        path.parent.mkdir(exist_ok=True)
        path.write_text("mine")
        set_age(path, 10**6)
    assert cache.clear() == 5
    assert cache.entries() == []
    assert cache.get(key_of(0)) is None
    assert all(path.read_text() == "mine" for path in foreign)
    left = {path for path in tmp_path.rglob("*") if path.is_file()}
    assert left == {*foreign, tmp_path / "CACHEDIR.TAG"}
    assert cache.clear() == 0
    assert cache.info().problem is None


def test_clear_sweeps_stale_temporary_files_and_spares_new_ones(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    cache.put(key_of(0), b"code")
    shard = entry_path(tmp_path, key_of(0)).parent
    stale = shard / f".{'0' * 16}-{'1' * 16}.tmp"
    fresh = shard / f".{'0' * 16}-{'2' * 16}.tmp"
    for path in (stale, fresh):
        path.write_bytes(b"half")
    set_age(stale, 2 * 3600)
    assert cache.clear() == 1
    assert not stale.exists()
    assert fresh.exists()


def test_put_evicts_the_least_recently_used(tmp_path: Path) -> None:
    cache = Cache(tmp_path, size_limit=100_000)
    for number in range(9):
        cache.put(key_of(number), bytes(10_000))
        set_age(entry_path(tmp_path, key_of(number)), 3000 - number)
    set_age(entry_path(tmp_path, key_of(0)), 0)  # the oldest, used again
    cache.put(key_of(9), bytes(10_000))
    kept = {entry.key for entry in Cache(tmp_path).entries()}
    assert Cache(tmp_path).info().size <= 87_500
    assert key_of(0) in kept
    assert key_of(9) in kept
    assert key_of(1) not in kept
    assert kept == {key_of(number) for number in (0, 3, 4, 5, 6, 7, 8, 9)}


def test_an_entry_above_the_limit_stays_in_memory(tmp_path: Path) -> None:
    cache = Cache(tmp_path, size_limit=1000)
    cache.put(key_of(0), bytes(500))
    cache.put(key_of(1), bytes(1000))
    assert cache.get(key_of(1)) == bytes(1000)
    assert [entry.key for entry in Cache(tmp_path).entries()] == [key_of(0)]


def test_the_entry_just_put_is_never_evicted(tmp_path: Path) -> None:
    cache = Cache(tmp_path, size_limit=10_000)
    cache.put(key_of(0), bytes(9_800))
    cache.put(key_of(1), bytes(9_800))
    assert [entry.key for entry in Cache(tmp_path).entries()] == [key_of(1)]


def test_prune(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    for number in range(4):
        cache.put(key_of(number), bytes(1000))
        set_age(entry_path(tmp_path, key_of(number)), 1000 - number)
    size = cache.info().size
    assert cache.prune() == 0
    assert cache.prune(size) == 0
    assert cache.prune(size - 1) == 1
    assert cache.prune(size // 2) == 1
    assert {entry.key for entry in Cache(tmp_path).entries()} == {key_of(2), key_of(3)}
    assert cache.prune(0) == 2


def test_most_puts_scan_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Cache(tmp_path).put(key_of(0), b"the first put creates the tag and scans")
    scans: list[str] = []
    real = os.scandir

    def scandir(path: str) -> object:
        scans.append(path)
        return real(path)

    monkeypatch.setattr(os, "scandir", scandir)
    for number in range(50):
        Cache(tmp_path).put(key_of(number), b"code")
    assert scans == []
    set_age(tmp_path / "CACHEDIR.TAG", 2 * 3600)
    Cache(tmp_path).put(key_of(0), b"code")
    assert scans != []
    scans.clear()
    Cache(tmp_path).put(key_of(0), b"code")
    assert scans == []
    Cache(tmp_path, size_limit=1600).put(key_of(0), bytes(100))
    assert scans != []


def test_a_hit_touches_the_file_once_an_hour(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Cache(tmp_path).put(key_of(0), b"code")
    path = entry_path(tmp_path, key_of(0))
    set_age(path, 1800)
    before = path.stat().st_mtime_ns
    assert Cache(tmp_path).get(key_of(0)) == b"code"
    assert path.stat().st_mtime_ns == before
    set_age(path, 2 * 3600)
    assert Cache(tmp_path).get(key_of(0)) == b"code"
    assert path.stat().st_mtime == pytest.approx(time.time(), abs=60)
    set_age(path, 2 * 3600)

    def refuse(*args: object, **keywords: object) -> None:
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr(os, "utime", refuse)
    cache = Cache(tmp_path)
    assert cache.get(key_of(0)) == b"code"
    assert cache.info().problem is None


def test_permissions(tmp_path: Path) -> None:
    old = os.umask(0)
    try:
        Cache(tmp_path / "cache").put(key_of(0), b"code")
    finally:
        os.umask(old)
    path = entry_path(tmp_path / "cache", key_of(0))
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert stat.S_IMODE(path.parent.parent.stat().st_mode) == 0o700


def test_a_directory_of_another_user_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Cache(tmp_path).put(key_of(0), b"code")
    assert Cache(tmp_path).get(key_of(0)) == b"code"
    owner = os.stat(tmp_path).st_uid
    give_away(tmp_path, monkeypatch)
    cache = Cache(tmp_path)
    assert cache.get(key_of(0)) is None
    cache.put(key_of(1), b"code")
    assert cache.get(key_of(1)) == b"code"
    assert not entry_path(tmp_path, key_of(1)).exists()
    info = cache.info()
    assert not info.writable
    assert info.problem is not None
    assert "whose code would be run" in info.problem
    assert cache.clear() == 1
    assert entry_path(tmp_path, key_of(0)).exists()
    if os.geteuid() == 0:
        os.chown(tmp_path, owner, -1)


@pytest.mark.parametrize("mode", [0o777, 0o1777, 0o702])
def test_a_directory_that_everybody_may_write_is_refused(tmp_path: Path, mode: int) -> None:
    Cache(tmp_path).put(key_of(0), b"code")
    tmp_path.chmod(mode)
    cache = Cache(tmp_path)
    assert cache.get(key_of(0)) is None
    cache.put(key_of(1), b"code")
    assert not entry_path(tmp_path, key_of(1)).exists()
    assert "everybody may write" in (cache.info().problem or "")
    tmp_path.chmod(0o770)
    assert cache.get(key_of(0)) == b"code"
    cache.put(key_of(1), b"code")
    assert cache.info().problem is None


def test_a_file_of_another_user_is_a_miss(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Cache(tmp_path).put(key_of(0), b"code")
    real = os.fstat
    uid = STRANGER

    def fstat(descriptor: int) -> os.stat_result:
        status = list(real(descriptor))
        status[4] = uid
        return os.stat_result(status)

    monkeypatch.setattr(os, "fstat", fstat)
    assert Cache(tmp_path).get(key_of(0)) is None
    uid = 0  # root may write anything anyway
    assert Cache(tmp_path).get(key_of(0)) == b"code"


@pytest.mark.parametrize("mode", [0o620, 0o602, 0o666])
def test_a_file_that_others_may_write_is_a_miss(tmp_path: Path, mode: int) -> None:
    Cache(tmp_path).put(key_of(0), b"code")
    entry_path(tmp_path, key_of(0)).chmod(mode)
    assert Cache(tmp_path).get(key_of(0)) is None
    Cache(tmp_path).put(key_of(0), b"code")
    assert Cache(tmp_path).get(key_of(0)) == b"code"


def test_a_relative_directory_stays_where_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    cache = Cache(Path("cache"))
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    cache.put(key_of(0), b"code")
    assert cache.info().directory == tmp_path / "cache"
    assert Cache(tmp_path / "cache").get(key_of(0)) == b"code"

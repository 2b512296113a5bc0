"""The cache among many processes, on bad disks, and with files that somebody damaged."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import random
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import kerneltk.cache.store
from kerneltk.cache.store import Cache, is_ours

WORKER = Path(__file__).with_name("cache_worker.py")
ROOT = Path(kerneltk.cache.store.__file__).parents[2]
KEY = hashlib.sha256(b"the key").hexdigest()
OTHER_KEY = hashlib.sha256(b"another key").hexdigest()
DATA = random.Random(1).randbytes(3000)
FILE_SIZE = 3000 + 84  # the header takes 84 bytes
TIMEOUT = 600  # seconds; a hung worker fails its test


def start(mode: str, directory: Path, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, str(WORKER), mode, str(directory), *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )


def run_worker(mode: str, directory: Path, *arguments: str) -> object:
    with start(mode, directory, *arguments) as process:
        output, _ = process.communicate(timeout=TIMEOUT)
    assert process.returncode == 0
    return json.loads(output.splitlines()[-1])


def run_together(mode: str, directory: Path, count: int) -> list[dict[str, object]]:
    """Let `count` workers go at the same moment, and return what each reports."""
    workers = [start(mode, directory, str(seed)) for seed in range(count)]
    try:
        for worker in workers:
            assert worker.stdout is not None
            assert worker.stdout.readline() == "ready\n"
        for worker in workers:
            assert worker.stdin is not None
            worker.stdin.write("go\n")
            worker.stdin.flush()
        reports = [json.loads(worker.communicate(timeout=TIMEOUT)[0]) for worker in workers]
    finally:
        for worker in workers:
            worker.kill()
            worker.communicate()
    assert [worker.returncode for worker in workers] == [0] * count
    return reports


def entry_path(directory: Path, key: str = KEY) -> Path:
    return directory / key[:2] / f"{key}.ktk"


def files_under(directory: Path) -> set[Path]:
    return {path for path in directory.rglob("*") if not path.is_dir()}


def temporary_files(directory: Path) -> list[Path]:
    return [path for path in directory.rglob(".*") if path.suffix == ".tmp"]


def set_age(path: Path, seconds: float) -> None:
    then = time.time() - seconds
    os.utime(path, (then, then))


@pytest.fixture
def entry(tmp_path: Path) -> Path:
    """The file of an entry that holds DATA under KEY in `tmp_path`."""
    Cache(tmp_path).put(KEY, DATA)
    path = entry_path(tmp_path)
    assert path.stat().st_size == FILE_SIZE
    return path


def assert_miss_then_replaced(directory: Path) -> None:
    cache = Cache(directory)
    assert cache.get(KEY) is None
    cache.put(KEY, DATA)
    assert cache.info().problem is None
    assert Cache(directory).get(KEY) == DATA


# Many processes and threads.


def test_eight_processes_race_on_one_key(tmp_path: Path) -> None:
    reports = run_together("race", tmp_path / "cache", 8)
    assert reports == [{"missed": 0, "wrong": 0, "problem": None}] * 8
    assert files_under(tmp_path) == {
        entry_path(tmp_path / "cache"),
        tmp_path / "cache" / "CACHEDIR.TAG",
    }


def test_threads_race(tmp_path: Path) -> None:
    cache = Cache(tmp_path / "cache", size_limit=200_000, memory_limit=20_000)
    keys = [hashlib.sha256(b"%d" % number).hexdigest() for number in range(20)]
    values = {key: bytes.fromhex(key) * 100 for key in keys}
    failures: list[str] = []
    barrier = threading.Barrier(8)

    def work(seed: int) -> None:
        rng = random.Random(seed)
        barrier.wait()
        try:
            for _ in range(150):
                key = rng.choice(keys)
                action = rng.random()
                if action < 0.4:
                    cache.put(key, values[key])
                elif action < 0.9:
                    data = cache.get(key)
                    if data is not None and data != values[key]:
                        failures.append(f"wrong bytes under {key}")
                elif action < 0.95:
                    cache.entries()
                else:
                    cache.clear()
        except Exception as error:
            failures.append(repr(error))

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(TIMEOUT)
        assert not thread.is_alive()
    assert failures == []
    info = cache.info()
    assert info.problem is None
    in_memory = {entry.key for entry in cache.entries()}
    assert in_memory <= set(keys)
    assert info.memory_size == info.memory_entries * 3200 <= 20_000
    assert temporary_files(tmp_path) == []


def test_a_fork_while_the_lock_is_held(tmp_path: Path) -> None:
    assert run_worker("fork_with_lock_held", tmp_path) == 0


# Killed writers.


@pytest.mark.parametrize("earlier", [None, DATA], ids=["empty", "with-entry"])
def test_a_killed_writer(tmp_path: Path, earlier: bytes | None) -> None:
    if earlier is not None:
        Cache(tmp_path).put(KEY, earlier)
    with start("die_in_write", tmp_path) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        process.kill()
    (left,) = temporary_files(tmp_path)
    assert left.stat().st_size > 1000
    assert Cache(tmp_path).get(KEY) == earlier

    cache = Cache(tmp_path)
    cache.put(KEY, b"after")
    assert Cache(tmp_path).get(KEY) == b"after"
    cache.prune()
    assert temporary_files(tmp_path) == [left]  # its writer might still live
    set_age(left, 2 * 3600)
    set_age(tmp_path / "CACHEDIR.TAG", 2 * 3600)
    Cache(tmp_path).put(OTHER_KEY, b"the put that scans")
    assert temporary_files(tmp_path) == []
    assert Cache(tmp_path).get(KEY) == b"after"


def assert_put_works(directory: Path) -> None:
    Cache(directory).put(KEY, DATA)
    assert Cache(directory).get(KEY) == DATA


# Damaged and foreign files.


def test_a_flipped_bit_anywhere(entry: Path, tmp_path: Path) -> None:
    whole = entry.read_bytes()
    positions = [*range(90), *range(90, FILE_SIZE, 97), FILE_SIZE - 1]
    for position in positions:
        damaged = bytearray(whole)
        damaged[position] ^= 1 << position % 8
        entry.write_bytes(damaged)
        assert Cache(tmp_path).get(KEY) is None, position
    entry.write_bytes(whole)
    assert Cache(tmp_path).get(KEY) == DATA


def test_a_link_in_an_entrys_place(entry: Path, tmp_path: Path) -> None:
    moved = tmp_path / "moved"
    entry.rename(moved)
    entry.symlink_to(moved)
    assert_miss_then_replaced(tmp_path)
    assert not entry.is_symlink()
    assert moved.exists()
    entry.unlink()
    os.mkfifo(entry)
    assert_miss_then_replaced(tmp_path)
    assert not is_ours(tmp_path.stat())


# Directories that cannot be used.


@pytest.mark.parametrize("below", [(), ("cache",), ("deep", "er")])
def test_a_file_in_the_directorys_place(tmp_path: Path, below: tuple[str, ...]) -> None:
    blocker = tmp_path / "file"
    blocker.write_text("mine")
    cache = Cache(blocker.joinpath(*below))
    assert cache.get(KEY) is None
    cache.put(KEY, DATA)
    assert cache.get(KEY) == DATA
    info = cache.info()
    assert (info.writable, info.entries, info.memory_entries) == (False, 0, 1)
    assert "Not a directory" in (info.problem or "")
    assert [entry.key for entry in cache.entries()] == [KEY]
    assert cache.prune(0) == 0
    assert cache.clear() == 1
    assert blocker.read_text() == "mine"


def test_a_read_only_directory(tmp_path: Path) -> None:
    report = run_worker("no_permission", tmp_path / "cache", "500")
    assert isinstance(report, dict)
    problem = report.pop("problem")
    assert report == {
        "found": "from before",
        "memory": True,
        "disk": False,
        "cleared": 1,
        "writable": False,
    }
    assert "not writable" in problem
    assert Cache(tmp_path / "cache").get(KEY) == b"from before"


FAILURES = [errno.EROFS, errno.EACCES, errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.ESTALE]


@contextmanager
def failing(name: str, code: int) -> Iterator[None]:
    """Let one function of `os` fail: opening only where it would create a file."""
    real: Callable[..., object] = getattr(os, name)

    def fail(*args: object, **keywords: object) -> object:
        if name == "open" and not int(str(args[1])) & os.O_CREAT:
            return real(*args, **keywords)
        raise OSError(code, os.strerror(code))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, name, fail)
        yield


@pytest.mark.parametrize("code", FAILURES, ids=errno.errorcode.__getitem__)
@pytest.mark.parametrize("name", ["open", "write", "replace", "mkdir"])
def test_a_failing_write(tmp_path: Path, name: str, code: int) -> None:
    Cache(tmp_path).put(OTHER_KEY, b"from before")
    before, descriptors = files_under(tmp_path), os.listdir("/proc/self/fd")
    cache = Cache(tmp_path)
    with failing(name, code):
        cache.put(KEY, DATA)
        assert cache.get(KEY) == DATA
        assert cache.get(OTHER_KEY) == b"from before"
    assert files_under(tmp_path) == before
    assert os.listdir("/proc/self/fd") == descriptors
    assert os.strerror(code) in (cache.info().problem or "")
    cache.put(KEY, DATA)
    assert cache.info().problem is None
    assert Cache(tmp_path).get(KEY) == DATA


@pytest.mark.parametrize("code", [errno.EACCES, errno.EIO, errno.ESTALE], ids=str)
@pytest.mark.parametrize("name", ["stat", "fstat", "read", "scandir", "unlink"])
def test_a_failing_read(entry: Path, tmp_path: Path, name: str, code: int) -> None:
    cache = Cache(tmp_path, size_limit=10_000)

    def fail(*args: object, **keywords: object) -> None:
        raise OSError(code, os.strerror(code))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, name, fail)
        found = cache.get(KEY)
        cache.put(OTHER_KEY, DATA)
        again = cache.get(OTHER_KEY)
        cache.prune(0)
        cache.entries()
        cache.info()
        cache.clear()
    assert found == (DATA if name in ("scandir", "unlink") else None)
    assert again == DATA
    assert entry.exists() is (name in ("stat", "scandir", "unlink"))
    assert temporary_files(tmp_path) == []
    assert_put_works(tmp_path)


def test_short_writes_and_reads(tmp_path: Path) -> None:
    real_write, real_read = os.write, os.read
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "write", lambda descriptor, data: real_write(descriptor, data[:700]))
        Cache(tmp_path).put(KEY, DATA)
        patch.setattr(os, "read", lambda descriptor, count: real_read(descriptor, min(count, 500)))
        assert Cache(tmp_path).get(KEY) == DATA
    assert Cache(tmp_path).get(KEY) == DATA


def test_the_directory_is_deleted_while_in_use(tmp_path: Path) -> None:
    directory = tmp_path / "cache"
    cache = Cache(directory, memory_limit=0)
    for _ in range(3):
        cache.put(KEY, DATA)
        assert cache.get(KEY) == DATA
        shutil.rmtree(directory)
        assert cache.get(KEY) is None
        assert cache.entries() == []
        assert cache.prune(0) == 0
        assert cache.clear() == 0
        assert cache.info().problem is None
    cache.put(KEY, DATA)
    shutil.rmtree(directory / KEY[:2])
    cache.put(KEY, DATA)
    assert cache.get(KEY) == DATA


def test_an_interrupted_put_leaves_no_file(tmp_path: Path) -> None:
    def interrupt(*args: object) -> None:
        raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "replace", interrupt)
        with pytest.raises(KeyboardInterrupt):
            Cache(tmp_path).put(KEY, DATA)
    assert files_under(tmp_path) == set()
    assert_put_works(tmp_path)

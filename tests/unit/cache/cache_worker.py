"""A process of its own for the cache's tests: ``cache_worker.py MODE DIRECTORY [ARGUMENT ...]``.

Each mode prints one JSON value on its last line. A mode that prints ``ready`` waits for a line on
its standard input, so that a test can let many processes go at once, or kill one at a known place.
"""

from __future__ import annotations

import ctypes
import hashlib
import json
import os
import random
import sys
import time
from collections.abc import Callable
from pathlib import Path

from kerneltk.cache.store import Cache

KEY = hashlib.sha256(b"the key").hexdigest()
OTHER_KEY = hashlib.sha256(b"another key").hexdigest()


def sealed(rng: random.Random) -> bytes:
    """Return random bytes that :func:`is_sealed` tells from a mixture of two such texts."""
    body = rng.randbytes(rng.randrange(0, 60_000))
    return hashlib.sha256(body).digest() + body


def is_sealed(data: bytes) -> bool:
    return hashlib.sha256(data[32:]).digest() == data[:32]


def wait_for_go() -> None:
    print("ready", flush=True)
    sys.stdin.readline()


def drop_capabilities() -> None:
    """Make permissions count for root too."""
    header = (ctypes.c_uint32 * 2)(0x20080522, 0)  # the version with two words a set; this process
    nothing = (ctypes.c_uint32 * 6)()
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.capset(header, nothing) != 0:
        raise OSError(ctypes.get_errno(), "capset")


def race(directory: Path, seed: str) -> object:
    """Put and get one key: after the first put no get may miss."""
    rng = random.Random(int(seed))
    cache = Cache(directory, memory_limit=0)
    wait_for_go()
    first = cache.get(KEY)
    wrong = int(first is not None and not is_sealed(first))
    missed = 0
    cache.put(KEY, sealed(rng))
    for _ in range(150):
        if rng.random() < 0.3:
            cache.put(KEY, sealed(rng))
        data = cache.get(KEY)
        missed += data is None
        wrong += data is not None and not is_sealed(data)
    return {"missed": missed, "wrong": wrong, "problem": cache.info().problem}


def die_in_write(directory: Path) -> object:
    """Stop where half of the temporary file is written."""
    write = os.write

    def stop(descriptor: int, data: memoryview) -> int:
        count = write(descriptor, data[: len(data) // 2])
        os.write = write
        wait_for_go()
        return count

    os.write = stop  # type: ignore[assignment]
    Cache(directory).put(KEY, b"never published" * 1000)
    return None


def no_permission(directory: Path, mode: str) -> object:
    """Use a directory and its subdirectories with only the permissions of `mode` (octal)."""
    Cache(directory).put(KEY, b"from before")
    places = [place for place in directory.rglob("*") if place.is_dir()] + [directory]
    drop_capabilities()
    for place in places:
        place.chmod(int(mode, 8))
    try:
        cache = Cache(directory)
        found = cache.get(KEY)
        cache.put(OTHER_KEY, b"new")
        info = cache.info()
        return {
            "found": found is not None and found.decode(),
            "memory": cache.get(OTHER_KEY) == b"new",
            "disk": Cache(directory).get(OTHER_KEY) is not None,
            "cleared": cache.clear(),
            "writable": info.writable,
            "problem": info.problem,
        }
    finally:
        for place in reversed(places):
            place.chmod(0o700)


def fork_with_lock_held(directory: Path) -> object:
    """Use the cache in a child that was forked while the lock was taken."""
    cache = Cache(directory)
    cache.put(KEY, b"data")
    with cache._lock:
        child = os.fork()
        if child == 0:
            os._exit(0 if cache.get(KEY) == b"data" else 1)
    deadline = time.monotonic() + 300
    while time.monotonic() < deadline:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.01)
    os.kill(child, 9)
    os.waitpid(child, 0)
    return "the child waits for ever"


MODES: dict[str, Callable[..., object]] = {
    mode.__name__: mode
    for mode in (
        race,
        die_in_write,
        no_permission,
        fork_with_lock_held,
    )
}

if __name__ == "__main__":
    print(json.dumps(MODES[sys.argv[1]](Path(sys.argv[2]), *sys.argv[3:])))

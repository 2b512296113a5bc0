"""Damaged files: loading them ends, and errors are the package's own."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import kerneltk
from kerneltk.cuda_cpp.source import read_file
from kerneltk.errors import KernelToolkitError
from tests.sampling import one_in

KERNELS = sorted((Path(__file__).parents[2] / "kernels").glob("*.cu"))
MUTATIONS = 200
SECONDS = 20  # of processor time for one file; each takes milliseconds, but for the largest


def _lines_deleted(data: bytes, rng: random.Random) -> bytes:
    lines = data.split(b"\n")
    return b"\n".join(line for line in lines if rng.random() > 0.1)


def _brackets_changed(data: bytes, rng: random.Random) -> bytes:
    found = bytearray(data)
    for _ in range(3):
        at = rng.randrange(len(found))
        found[at : at + rng.randrange(2)] = rng.choice([b"{", b"}", b"(", b")", b"<", b'"', b"/*"])
    return bytes(found)


def _bytes_changed(data: bytes, rng: random.Random) -> bytes:
    found = bytearray(data)
    for _ in range(20):
        found[rng.randrange(len(found))] = rng.randrange(256)
    return bytes(found)


def _cut(data: bytes, rng: random.Random) -> bytes:
    return data[: rng.randrange(len(data))]


def _directives_added(data: bytes, rng: random.Random) -> bytes:
    lines = data.split(b"\n")
    for _ in range(4):
        words = [b"#if", b"#if X", b"#else", b"#endif", b"#elif 0", b"#define", b"#include", b"#"]
        lines.insert(rng.randrange(len(lines)), rng.choice(words))
    return b"\n".join(lines)


def _encoded(data: bytes, rng: random.Random) -> bytes:
    text = data.decode()
    accented = text.replace("i", "\u00ef").encode("cp1252", "replace")
    return rng.choice([text.encode("utf-16"), text.encode("utf-8-sig"), accented])


KINDS: tuple[Callable[[bytes, random.Random], bytes], ...] = (
    _lines_deleted, _brackets_changed, _bytes_changed, _cut, _directives_added, _encoded,
)  # fmt: skip


def _mutated(number: int) -> bytes:
    rng = random.Random(number)
    return KINDS[number % len(KINDS)](rng.choice(KERNELS).read_bytes(), rng)


def _read(path: Path, data: bytes) -> None:
    path.write_bytes(data)
    begin = time.process_time()
    try:
        module = kerneltk.load(path)
        assert isinstance(module.kernels, tuple)
        source = read_file(path)
        assert source._device_source(is_host=False).code.count("\n") == source.code.count("\n")
        source._device_source(is_host=True)
    except KernelToolkitError:
        pass
    assert time.process_time() - begin < SECONDS


@pytest.mark.one_in(4)
@pytest.mark.parametrize("part", one_in(2, range(4)))
def test_damaged_files(part: int, tmp_path: Path) -> None:
    for number in range(part, MUTATIONS, 4):
        _read(tmp_path / f"m{number}.cu", _mutated(number))

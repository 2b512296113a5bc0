"""Sections, symbols and segments of object code."""

from __future__ import annotations

from contextlib import suppress
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kerneltk
from kerneltk.object_code.elf import (
    DYNAMIC_SYMBOLS,
    NO_BITS,
    ElfFile,
    extent,
    is_whole,
    read_cubin_addresses,
    writable,
)
from kerneltk.object_code.reflection import read_contents

CODE = 'extern "C" __global__ void f(float* y) {} __device__ int counter[7];'


@cache
def library() -> bytes:
    return kerneltk.RawModule(code=CODE).compile_for("host").code


def test_a_library() -> None:
    file = ElfFile(library())
    offered = {symbol.name: symbol for symbol in file.symbols(DYNAMIC_SYMBOLS)}
    assert {"_kt_entry_0", "_kt_entry_0_type"} <= offered.keys()
    section = file.sections[offered["_kt_entry_0"].section]
    assert 0 <= offered["_kt_entry_0"].value - section.address < section.size
    assert b"\0.dynsym\0" in file.section(".shstrtab")
    assert file.section(".nothing") == b""
    begin, end = extent(library())
    assert begin == 0 < section.address + section.size <= end
    assert is_whole(library())
    assert not is_whole(library()[: len(library()) // 2])


def test_what_can_be_written() -> None:
    file = ElfFile(library())
    no_bits = [s for s in file.sections if s.kind == NO_BITS and not s.flags & 0x400]  # no TLS
    (code,) = [s for s in file.symbols(DYNAMIC_SYMBOLS) if s.name == "_kt_entry_0"]
    parts = writable(library())
    variables = no_bits[-1]
    assert any(
        begin <= variables.address and variables.address + variables.size <= end
        for begin, end in parts
    )
    assert not any(begin <= code.value < end for begin, end in parts)
    assert variables.address + variables.size <= extent(library())[1]


@pytest.mark.parametrize(
    "data", [b"", b"\x7fELF\x02\x01", bytes(64), b"\x7fELF\x01\x01" + bytes(58)]
)
def test_no_library(data: bytes) -> None:
    assert not is_whole(data)
    for read in (ElfFile, extent, writable):
        with pytest.raises(ValueError, match="library"):
            read(data)


@pytest.mark.exhaustive
@settings(max_examples=200, deadline=None)
@given(st.data())
def test_damaged_bytes_are_a_value_error(draw: st.DataObject) -> None:
    data = bytearray(library()[: draw.draw(st.integers(0, len(library())))])
    table = int.from_bytes(library()[40:48], "little")
    for _ in range(draw.draw(st.integers(0, 8))):
        place = draw.draw(st.integers(0, 512) | st.integers(table, len(library())))
        if place < len(data):
            data[place] = draw.draw(st.integers(0, 255))
    damaged = bytes(data)
    is_whole(damaged)
    for read in (
        extent,
        writable,
        lambda data: list(ElfFile(data).symbols(DYNAMIC_SYMBOLS)),
        lambda data: ElfFile(data).section(".text"),
        lambda data: read_contents(data, ["_kt_entry_0_type"], "library"),
        lambda data: read_cubin_addresses(data, ["_kt_entry_0"]),
    ):
        with suppress(ValueError):  # and nothing else
            read(damaged)

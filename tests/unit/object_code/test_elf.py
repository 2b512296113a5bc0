"""Sections, symbols and segments of object code."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

import kerneltk
from kerneltk import ArraySpec, ElementwiseKernel, RawKernel, ReductionKernel
from kerneltk.object_code.elf import (
    DYNAMIC_SYMBOLS,
    NO_BITS,
    ElfFile,
    extent,
    is_whole,
    without_start_functions,
    writable,
)

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


SPEC = ArraySpec.make("f4", 100)


# Names that libc, the loader, the linker or the runtime has, as the user's functions, variables and
# shared memory.
FUNCTIONS = (
    "_init", "_fini", "_start", "exit", "abort", "read", "write", "signal", "brk", "dlopen",
    "strlen", "atexit", "pthread_create", "swapcontext", "__errno_location", "__cxa_finalize",
    "__tls_get_addr", "__stack_chk_fail", "__libc_start_main", "__gmon_start__", "_DYNAMIC",
    "_GLOBAL_OFFSET_TABLE_", "_end", "_edata", "__bss_start", "kt_launch", "kt_runtime",
)  # fmt: skip
VARIABLES = ("environ", "errno", "stdout", "optarg", "__dso_handle", "_IO_stdin_used", "sys_nerr")
SHARED = ("daylight", "_PROCEDURE_LINKAGE_TABLE_")


def everything() -> str:
    lines = [
        *(f'extern "C" __device__ float {n}(float v) {{ return v + {k}; }}'
          for k, n in enumerate(FUNCTIONS)),
        *(f'extern "C" __device__ float {n} = {k};' for k, n in enumerate(VARIABLES)),
        # A header may have made it visible.
        'extern "C" __attribute__((visibility("default"))) __device__ float fork(float v) '
        "{ return v; }",
        'extern "C" __global__ void all_of_them(float* x) {',
        *(f"    extern __shared__ float {n}[];" for n in SHARED),
        *(f"    {n}[0] = 1; x[0] += {n}[0];" for n in SHARED),
        *(f"    x[0] += {n}(1);" for n in (*FUNCTIONS, "fork")),
        *(f"    x[0] += {n};" for n in VARIABLES),
        "}",
    ]  # fmt: skip
    return "\n".join(lines)


def offered(library: bytes) -> list[str]:
    symbols = ElfFile(library).symbols(DYNAMIC_SYMBOLS)
    return [symbol.name for symbol in symbols if symbol.section and symbol.name]


def test_a_users_symbols_neither_hide_nor_are_hidden() -> None:
    kernel = RawKernel(everything(), "all_of_them")
    x = np.zeros(1, np.float32)
    kernel(1, 1, (x,), shared_mem=64)
    wanted = sum(range(len(FUNCTIONS))) + len(FUNCTIONS) + 1
    assert x[0] == wanted + sum(range(len(VARIABLES))) + len(SHARED)
    names = offered(kernel.compile_for("host").code)
    assert names
    assert all(name.startswith("_kt_") for name in names)


@pytest.mark.one_in(4)
@pytest.mark.parametrize("name", ["_init", "read", "main", "exit", "k" * 300])
def test_only_the_entry_is_offered(name: str) -> None:
    kernels: list[Any] = [
        ElementwiseKernel("T x", "T y", "y = x", name),
        ReductionKernel("T x", "T y", "x", "a + b", "y = a", "0", name),
    ]
    for kernel in kernels:
        assert offered(kernel.compile(SPEC, target="host").code) == [f"_kt_entry_{name}"]
        assert kernel.compile(SPEC, target="sm_80").code


def test_start_functions_are_like_any_other() -> None:
    library = kerneltk.RawModule(code="__global__ void f(float* x) {}").compile_for("host").code
    # What no linker of today writes for these libraries: the two entries, put into free ones.
    file = ElfFile(library)
    assert without_start_functions(library) == library
    (dynamic,) = (s for s in file.sections if s.kind == 6)
    entry = (12).to_bytes(8, "little") + (0x1000).to_bytes(8, "little")
    begin, end = dynamic.start, dynamic.start + dynamic.size
    kept = [library[k : k + 16] for k in range(begin, end, 16) if any(library[k : k + 8])]
    changed = b"".join([entry, *kept]).ljust(dynamic.size, b"\0")
    assert len(changed) == dynamic.size
    broken = library[:begin] + changed + library[end:]
    assert is_whole(broken)
    assert broken != library
    mended = without_start_functions(broken)
    assert entry not in mended[begin:end]
    assert mended[begin:end].rstrip(b"\0") == b"".join(kept).rstrip(b"\0")
    for damaged in (b"", b"no library", library[:100], library[:-1][:200]):
        assert without_start_functions(damaged) == damaged

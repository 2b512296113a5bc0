"""Names of users and of linkers: none of the first reaches the second as it was written."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import kerneltk
from kerneltk import ArraySpec, ElementwiseKernel, RawKernel, ReductionKernel
from kerneltk.jit import rawkernel
from kerneltk.object_code.elf import DYNAMIC_SYMBOLS, ElfFile, is_whole, without_start_functions

from ...processes import python

SPEC = ArraySpec.make("f4", 100)

# Each of these is made under both names, launched, and there when the process ends.
LOADERS_OWN = """
import linecache, sys
import numpy as np
import kerneltk
from kerneltk import jit

def written(text, name):
    linecache.cache[f"<{name}>"] = (len(text), None, text.splitlines(True), f"<{name}>")
    found = {"jit": jit}
    exec(compile(text, f"<{name}>", "exec"), found)
    return found[name]

x = np.arange(3, dtype=np.float32)
for name in ("_init", "_fini"):
    y = kerneltk.ElementwiseKernel("T x", "T y", "y = x + 1", name)(x)
    assert y.tolist() == [1, 2, 3]
    assert kerneltk.ReductionKernel("T x", "T y", "x", "a + b", "y = a", "0", name)(x) == 3
    element = written(f"def {name}(x):\\n    return x + 1\\n", name)
    assert jit.kernel(element)(x).tolist() == [1, 2, 3]
    grid = written(f"def {name}(x):\\n    x[jit.threadIdx.x] += 1\\n", name)
    jit.rawkernel()(grid)[1, 3](y)
    assert y.tolist() == [2, 3, 4]
    code = 'extern "C" __global__ void %s(float* x) { x[threadIdx.x] += 1; }' % name
    kerneltk.RawKernel(code, name)(1, 3, (y,))
    kerneltk.RawModule(code=code).get_function(name)(1, 3, (y,))
    assert y.tolist() == [4, 5, 6]
print("all ran")
"""


@pytest.mark.exhaustive
def test_kernels_called_like_the_loaders_functions() -> None:
    done = python("-c", LOADERS_OWN)
    assert (done.returncode, done.stdout, done.stderr) == (0, "all ran\n", "")


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


@pytest.mark.exhaustive
@pytest.mark.parametrize("length", [252, 4000])
def test_names_are_as_long_as_one_likes(length: int) -> None:
    name = "k" * length
    np.testing.assert_array_equal(ElementwiseKernel("T x", "T y", "y = x", name)(np.ones(2)), 1)
    x = np.zeros(1, np.float32)
    for linkage in ('extern "C"', ""):
        kernel = RawKernel(f"{linkage} __global__ void {name}(float* x) {{ x[0] += 1; }}", name)
        kernel(1, 1, (x,))
        assert kernel.compile_for("sm_80").code
    assert x[0] == 2
    source = f"def {name}(x):\n    x[0] = 5\n"
    found: dict[str, Any] = {}
    exec(compile(source, "<long>", "exec"), found)
    import linecache

    linecache.cache["<long>"] = (len(source), None, source.splitlines(True), "<long>")
    rawkernel()(found[name])[1, 1](x)
    assert x[0] == 5


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

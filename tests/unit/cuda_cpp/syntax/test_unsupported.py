"""What CPU cores do not have is found."""

from __future__ import annotations

import re

import pytest

from kerneltk.core.artifacts import INCLUDE_DIRECTORY
from kerneltk.cuda_cpp.syntax.reader import read_source
from kerneltk.cuda_cpp.syntax.unsupported import (
    CUB_HAD,
    CUB_INSTEAD,
    cub_lacking,
    instead_of_cub,
)


def unsupported(text: str) -> list[tuple[str, str, int]]:
    return [(u.kind, u.word, u.line) for u in read_source(text).unsupported]


def test_unsupported() -> None:
    text = """#include <cuda/ptx>
#include <stdio.h>
__device__ int lane() { int l; asm volatile(MOV "%laneid;" : "=r"(l)); return l; }
__global__ void fine() { asm volatile("" ::: "memory"); /* asm("x") */ }
__global__ void k(cudaTextureObject_t t) { int x = tex2D<int>(t, 0, 0); k<<<1, 1>>>(t); }
void host() { asm("nop"); k<<<1, 1>>>(0); }
template <class T> void host2(T x) { k<<<1, 1>>>(x); }
#define COPY(a) asm("nop %0;" :: "l"(a))
#define LANE(a) asm("mov.u32 %0, %laneid;" : "=r"(a))
__global__ void __cluster_dims__(2) c() { __imma_m16n16k16_ld_a(x); }
"""
    assert sorted(unsupported(text), key=lambda item: (item[2], item[1])) == [
        ("header", "cuda/ptx", 1),
        ("inline PTX", "asm", 3),
        ("launch from a kernel", "k", 5),
        ("inline PTX", "asm", 8),
        ("cluster", "__cluster_dims__", 10),
        ("tensor cores", "__imma_m16n16k16_ld_a", 10),
    ]


@pytest.mark.parametrize(
    ("body", "found"),
    [
        ('asm("nop");', ("inline PTX", "asm")),
        ('asm volatile("vpaddd %0" : "=r"(*x));', ("inline PTX", "asm")),
        ('__asm__("ld" NAME ";");', ("inline PTX", "__asm__")),
        ('asm("mov.u32 %0, %laneid;" : "=r"(*x));', None),
        ('asm("exit;");', None),
        ('asm("");', None),
        ('asm volatile("" ::: "memory");', None),
        ("int asm_ = 1;", None),
        ("wmma::fill(a);", None),
        ("__imma_m16(a);", ("tensor cores", "__imma_m16")),
        ("__pipeline_commit();", None),
        ("cp_async_bulk_wait_group(n);", ("asynchronous copy", "cp_async_bulk_wait_group")),
        ("tex1Dfetch(t, 0);", None),
        ("tex2D<float>(t, 0, 0);", None),
        ("surf2Dwrite(1, s, 0, 0);", None),
        ("auto c = this_cluster();", ("cluster", "this_cluster")),
        ("k<<<1, 2>>>(x);", ("launch from a kernel", "k")),
        ("ns::k<int><<<1, 2>>>(x);", ("launch from a kernel", "ns::k")),
        ("x = 1 << 2;", None),
    ],
)
def test_words_in_a_kernel(body: str, found: tuple[str, str] | None) -> None:
    wanted = [] if found is None else [(*found, 1)]
    assert unsupported(f"__global__ void f(int* x) {{ {body} }}") == wanted
    assert unsupported(f"void host(int* x) {{ {body} }}") == []


def test_references_to_textures() -> None:
    text = "texture<float, 2> image;\nsurface<void, 2> canvas;\nusing texture_name = int;\n"
    assert unsupported(text) == [
        ("texture", "texture", 1),
        ("surface", "surface", 2),
    ]


@pytest.mark.parametrize(
    ("name", "is_device"),
    [
        ("cub/cub.cuh", False),
        ("cub/device/device_reduce.cuh", True),
        ("thrust/sort.h", True),
        ("cuda/std/array", False),
        ("cuda/ptx", True),
        ("mma.h", False),
        ("curand_kernel.h", False),
        ("cuda_fp8.h", False),
        ("cuda_fp4.h", True),
        ("cooperative_groups/memcpy_async.h", False),
        ("cooperative_groups.h", False),
        ("cuda_fp16.h", False),
        ("cuda_runtime.h", False),
        ("cubic.h", False),
        ("my/cub/cub.cuh", False),
    ],
)
def test_headers_of_libraries_for_gpus(name: str, is_device: bool) -> None:
    assert unsupported(f"#include <{name}>\n") == ([("header", name, 1)] if is_device else [])


_DECLARED = re.compile(
    r"^(?:class|struct|enum|using)\s+(\w+)"  # at the begin of a line: in the namespace itself
    r"|^inline [\w ]+ (\w+)\("
    r"|^KERNELTK_CUB_OPERATOR\((?!name)(\w+)",
    re.MULTILINE,
)
_ENUMERATORS = re.compile(r"^enum \w+ \{([^}]*)\}", re.MULTILINE)
_MOVES = re.compile(r"^KERNELTK_CUB_MOVES\((?!Where)(\w+)", re.MULTILINE)


def test_the_names_are_those_of_the_headers() -> None:
    found: set[str] = set()
    for header in (INCLUDE_DIRECTORY / "kerneltk").glob("host_cub*.hpp"):
        text = header.read_text().partition("namespace cub {")[2]
        text = re.sub(r"namespace kerneltk_details \{.*?\n\}  //", "", text, flags=re.DOTALL)
        for names in _DECLARED.findall(text):
            found.update(filter(None, names))
        for names in _ENUMERATORS.findall(text):
            found.update(re.findall(r"\w+", names))
        for where in _MOVES.findall(text):
            found |= {f"LoadDirect{where}", f"StoreDirect{where}"}
    assert found == CUB_HAD


def test_nothing_is_had_and_lacking() -> None:
    assert not CUB_HAD & set(CUB_INSTEAD)


@pytest.mark.parametrize(
    ("code", "names"),
    [
        ("cub::BlockReduce<int, 32> a;", []),
        ("cub::BlockRadixRank<32, 4, false> a;", ["BlockRadixRank"]),
        ("::cub :: detail::  f<int>();", ["detail::f"]),
        ("cub::DeviceReduce::Sum(p, n, x, y, 4);", ["DeviceReduce::Sum"]),
        ("using cub::ThreadLoad; ThreadLoad<1>(x);", ["ThreadLoad", "ThreadLoad"]),
        ("using namespace cub; ThreadReduce(items, f); Scan(x);", ["ThreadReduce"]),
        ("using namespace cub; int GridQueue = 1;", []),
        ("ThreadLoad<1>(x);", []),  # without a word of CUB it is the user's own
        ("incub::Other x; cubic::Other y;", []),
    ],
)
def test_lacking(code: str, names: list[str]) -> None:
    assert [name for _, name in cub_lacking(code, 0, len(code))] == names


def test_only_a_part_is_looked_at() -> None:
    code = "using namespace cub; ThreadLoad<1>(x); cub::A a; cub::B b;"
    start, end = code.index("cub::A"), code.index("cub::B")
    assert list(cub_lacking(code, start, end)) == [(start + 5, "A")]
    (found,) = cub_lacking(code, 21, start)
    assert found == (21, "ThreadLoad")


@pytest.mark.parametrize(("name", "part"), [
    ("GridQueue", "'atomicAdd'"),
    ("detail::ThreadReduce", "the loop"),
    ("DeviceScan::ExclusiveSum", "from Python"),
    ("Log2", ""),
])  # fmt: skip
def test_what_to_write_instead(name: str, part: str) -> None:
    found = instead_of_cub(name)
    assert part in found
    assert bool(part) == bool(found)

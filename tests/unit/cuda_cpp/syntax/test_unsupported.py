"""What CPU cores do not have is found."""

from __future__ import annotations

import pytest

from kerneltk.cuda_cpp.syntax.reader import read_source


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

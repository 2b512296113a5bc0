"""What CPU cores do not have is found."""

from __future__ import annotations

from kerneltk.cuda_cpp.syntax.reader import read_source


def unsupported(text: str) -> list[tuple[str, str, int]]:
    return [(u.kind, u.word, u.line) for u in read_source(text).unsupported]


def test_unsupported() -> None:
    text = """#include <cub/cub.cuh>
#include <stdio.h>
__device__ int lane() { int l; asm volatile("mov.u32 %0, %laneid;" : "=r"(l)); return l; }
__global__ void fine() { asm volatile("" ::: "memory"); /* asm("x") */ }
__global__ void k(cudaTextureObject_t t) { float x = tex2D<float>(t, 0, 0); k<<<1, 1>>>(t); }
void host() { asm("nop"); k<<<1, 1>>>(0); }
template <class T> void host2(T x) { k<<<1, 1>>>(x); }
#define COPY(a) asm("cp.async %0;" :: "l"(a))
__global__ void __cluster_dims__(2) c() { nvcuda::wmma::fill(cub::x); }
"""
    assert sorted(unsupported(text), key=lambda item: (item[2], item[1])) == [
        ("header", "cub/cub.cuh", 1),
        ("inline PTX", "asm", 3),
        ("texture", "cudaTextureObject_t", 5),
        ("launch from a kernel", "k", 5),
        ("texture", "tex2D", 5),
        ("inline PTX", "asm", 8),
        ("cluster", "__cluster_dims__", 9),
        ("tensor cores", "nvcuda", 9),
        ("tensor cores", "wmma", 9),
    ]

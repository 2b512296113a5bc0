"""The variables that CUDA C++ source declares, and their names for a linker."""

from __future__ import annotations

import subprocess

from kerneltk.cuda_cpp.syntax.reader import read_source
from kerneltk.cuda_cpp.syntax.variables import mangled_name


def test_symbols() -> None:
    text = """
    __constant__ float table[4][N + 1] = {{1}};
    static __device__ int counter = 3, *other;
    namespace ns { __device__ __managed__ double m; extern __constant__ const float e[]; }
    __device__ float (*pointer)(float) = f;
    __device__ float function(float);
    __shared__ int no;  int neither;
    __global__ void f() { __shared__ float s[3]; __constant__ int local; }
    """
    found = [(s.name, s.memory, s.type) for s in read_source(text).symbols]
    assert found == [
        ("table", "constant", "float[4][N + 1]"),
        ("counter", "device", "int"),
        ("other", "device", "int*"),
        ("ns::m", "managed", "double"),
        ("ns::e", "constant", "const float[]"),
        ("pointer", "device", "float (*)(float)"),
    ]


def test_dynamic_shared() -> None:
    text = """
    namespace ns { namespace {
    template <class T> __global__ void f() { extern __shared__ __align__(16) T a[]; }
    } __global__ void g() { extern __shared__ int a[]; extern __shared__ int a[]; } }
    extern __shared__ float4 b[];
    __global__ void h() { __shared__ extern unsigned char c[][16]; __shared__ int no[3]; }
    namespace q { extern "C" __global__ void i() { if (1) { extern __shared__ int d[]; } } }
    """
    found = [(s.name, s.type, s.symbol) for s in read_source(text).dynamic_shared]
    assert found == [
        ("a", "T", "_ZN2ns12_GLOBAL__N_11aE"),
        ("a", "int", "_ZN2ns1aE"),
        ("b", "float4", "b"),
        ("c", "unsigned char[16]", "c"),
        ("d", "int", "d"),
    ]


def test_mangled_names_are_the_compilers() -> None:
    text = "int s; namespace ns { int s; namespace inner { int longer; } }"
    process = subprocess.run(
        ["g++", "-x", "c++", "-S", "-o", "-", "-"], input=text, capture_output=True, text=True
    )
    for name, scope in (("s", ()), ("s", ("ns",)), ("longer", ("ns", "inner"))):
        assert f"\n{mangled_name(name, scope)}:" in process.stdout
    assert mangled_name("s", ("ns",), is_extern_c=True) == "s"

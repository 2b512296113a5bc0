"""The variables that CUDA C++ source declares, and their names for a linker."""

from __future__ import annotations

import subprocess

import pytest

from kerneltk.cuda_cpp.syntax.reader import read_source
from kerneltk.cuda_cpp.syntax.variables import mangled_name, memory_of


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


@pytest.mark.parametrize(("name", "scope", "is_extern_c", "mangled"), [
    ("x", (), False, "x"),
    ("x", ("a",), True, "x"),
    ("x", ("",), False, "_ZN12_GLOBAL__N_11xE"),
    ("longer_name", ("a", "", "b"), False, "_ZN1a12_GLOBAL__N_11b11longer_nameE"),
    ("é", ("a",), False, "_ZN1a2éE"),
])  # fmt: skip
def test_names_for_a_linker(
    name: str, scope: tuple[str, ...], is_extern_c: bool, mangled: str
) -> None:
    assert mangled_name(name, scope, is_extern_c=is_extern_c) == mangled


def test_the_memory_of_a_declaration() -> None:
    assert memory_of(set()) is None
    assert memory_of({"__shared__"}) is None
    assert memory_of({"__device__"}) == "device"
    assert memory_of({"__device__", "__constant__"}) == "constant"
    assert memory_of({"__device__", "__managed__"}) == "managed"


def test_what_is_declared_under_a_condition_or_in_an_anonymous_namespace() -> None:
    text = """
#if A
__constant__ int x;
#else
__constant__ float x;
#endif
namespace { __device__ int hidden; }
static inline __device__ const volatile unsigned y[2];
"""
    found = [(s.name, s.type, s.guard) for s in read_source(text).symbols]
    assert found == [
        ("x", "int", "(A)"),
        ("x", "float", "!(A)"),
        ("hidden", "int", ""),
        ("y", "const volatile unsigned[2]", ""),
    ]


@pytest.mark.parametrize("declared", [
    "__shared__ int s[];", "extern __shared__ int s;", "extern int s[];",
])  # fmt: skip
def test_what_is_no_dynamic_shared_array(declared: str) -> None:
    assert read_source(f"__global__ void f() {{ {declared} }}").dynamic_shared == ()


def test_a_dynamic_array_may_have_extents() -> None:
    text = "__global__ void f() { extern __shared__ int s[3][N + 1], t[4]; }"
    found = read_source(text).dynamic_shared
    assert [(shared.name, shared.type) for shared in found] == [("s", "int[N + 1]"), ("t", "int")]


def test_several_dynamic_arrays_of_one_statement() -> None:
    text = "__global__ void f() { extern __shared__ double a[], b[]; }"
    assert [(s.name, s.type) for s in read_source(text).dynamic_shared] == [
        ("a", "double"),
        ("b", "double"),
    ]

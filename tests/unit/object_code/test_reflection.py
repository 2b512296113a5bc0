"""What compilers write down about parameters, read back: the same from each of them."""

from __future__ import annotations

import itertools
import struct
import sys
from contextlib import suppress
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kerneltk.backends.host import toolchain
from kerneltk.core.artifacts import INCLUDE_DIRECTORY
from kerneltk.object_code import reflection
from kerneltk.object_code.reflection import (
    ParameterType,
    decode,
    decode_variable,
    normalised_name,
    read_contents,
    read_ptx,
)

TEXT = """
struct Plain { int a; float b[3]; };
struct Incomplete;
enum Old { A };
enum class New : unsigned char { B };
union Either { int a; double b; };
typedef float real;
#define REAL double
template <class T> struct Vec { T x, y; };
template <class T, unsigned n, bool b> struct alignas(16) Odd { T x; };
namespace thrust { template <class T> struct alignas(2 * sizeof(T)) complex { T re, im; }; }
namespace ns { namespace {
struct Hidden { short s; };
__global__ void hidden(Hidden, Odd<Hidden, 3, true>*) {}
} }
namespace ns {
template <class T, int N> __global__ void generic(const T* __restrict__ x, T* y, const Vec<T>* v) {}
__constant__ double scalar;
}
extern "C" __global__ void plain(const real* x, REAL* y, const int n, bool b, const Plain s) {}
__global__ void numbers(unsigned char, signed char, char, short, unsigned short, unsigned, long,
    unsigned long, long long, unsigned long long, float, double) {}
__global__ void pointers(float**, const float* const*, void*, const void*, Incomplete*, Either*,
    void (*)(int, float), float (*)[3], float[][2], volatile int*, const bool* const) {}
__global__ void records(Old, New, Either, Odd<int, 3u, true>, float4, dim3, thrust::complex<float>,
    const uchar2*) {}
__global__ void none() {}
__global__ void over(int) {}
__global__ void over(float) {}
__constant__ float table[4][3];
__constant__ const Plain records_of[2] = {};
static __device__ int counter;
"""
KERNELS = ("plain", "numbers", "pointers", "records", "none", "ns::generic<float, 3>",
           "ns::hidden", "(void (*)(float))over", "&plain")  # fmt: skip
VARIABLES = ("table", "records_of", "counter", "ns::scalar")
TAIL = "".join(f"KERNELTK_REFLECT(_kt_{k}, ({name}))\n" for k, name in enumerate(KERNELS))
TAIL += "".join(
    f"KERNELTK_REFLECT_VARIABLE(_kt_v{k}, ({name}))\n" for k, name in enumerate(VARIABLES)
)
SYMBOLS = (
    *(f"_kt_{k}" for k in range(len(KERNELS))),
    *(f"_kt_v{k}" for k in range(len(VARIABLES))),
)
# What users define by options comes before the package's headers.
HOSTILE = ("N", "T", "P", "x", "size", "own", "types", "value", "count")

Compiled = dict[str, bytes]


def compile_cuda(architecture: str, text: str = TEXT + TAIL) -> bytes:
    from cuda.bindings import nvrtc

    source = "#include <kerneltk/reflect.hpp>\n" + text
    _, program = nvrtc.nvrtcCreateProgram(source.encode(), b"k.cu", 0, [], [])
    options = [f"-I{INCLUDE_DIRECTORY}", f"-arch={architecture}", "-std=c++17"]
    (result,) = nvrtc.nvrtcCompileProgram(program, len(options), [o.encode() for o in options])
    _, size = nvrtc.nvrtcGetProgramLogSize(program)
    log = b" " * max(size, 2)  # CPython shares bytes of length one
    nvrtc.nvrtcGetProgramLog(program, log)
    assert int(result) == 0, log.decode()
    get: Any = nvrtc.nvrtcGetCUBIN if architecture.startswith("sm") else nvrtc.nvrtcGetPTX
    size_of: Any = nvrtc.nvrtcGetCUBINSize if get is nvrtc.nvrtcGetCUBIN else nvrtc.nvrtcGetPTXSize
    _, size = size_of(program)
    code = b" " * max(size, 2)  # CPython shares bytes of length one
    get(program, code)
    nvrtc.nvrtcDestroyProgram(program)
    return code


@cache
def cubin() -> bytes:
    return compile_cuda("sm_80")


@cache
def compiled(compiler: str, directory: Path) -> Compiled:
    if compiler == "cubin":
        return read_contents(cubin(), SYMBOLS, "cubin")
    if compiler == "ptx":
        return read_ptx(compile_cuda("compute_80").decode(), SYMBOLS)
    words = "#define __restrict__ __restrict\n"
    words += "".join(f"#define {w}\n" for w in ("__global__", "__constant__", "__device__"))
    words += "struct alignas(16) float4 { float x, y, z, w; };"
    words += "struct alignas(2) uchar2 { unsigned char x, y; }; struct dim3 { unsigned x, y, z; };"
    source = directory / f"{compiler}.cpp"
    defines = "".join(f"#define {name} 1 +\n" for name in HOSTILE) + "#define bool int\n"
    undefines = "".join(f"#undef {name}\n" for name in (*HOSTILE, "bool"))
    head = f"{defines}#include <kerneltk/reflect.hpp>\n{undefines}{words}"
    source.write_text(head + TEXT + TAIL)
    command = {"g++": ["g++"], "zig": [*toolchain_zig()]}[compiler]
    made, library = source.with_suffix(".o"), source.with_suffix(".so")
    options = ["-std=c++17", "-O1", "-fPIC", "-fvisibility=hidden", f"-I{INCLUDE_DIRECTORY}"]
    run([*command, *options, "-c", str(source), "-o", str(made)], directory)
    run([*command, "-shared", "-nostdlib", str(made), "-o", str(library)], directory)
    return read_contents(library.read_bytes(), SYMBOLS, "library")


def toolchain_zig() -> tuple[str, ...]:
    return (sys.executable, "-m", "ziglang", "c++")


def run(command: list[str], directory: Path) -> None:
    status, output = toolchain._run(command, str(directory), 60)
    assert status == 0, output


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("reflection")


# Zig where the package is installed, which CI has.
COMPILERS = ["cubin", "ptx", "g++", *(["zig"] if find_spec("ziglang") else [])]


@pytest.fixture(params=COMPILERS)
def data(request: pytest.FixtureRequest, directory: Path) -> Compiled:
    return compiled(request.param, directory)


def kernel(data: Compiled, name: str) -> tuple[ParameterType, ...]:
    return decode(data[f"_kt_{KERNELS.index(name)}"])


FLOAT = ParameterType(4, 4, "float", "float", base="float32", count=1)
INT = ParameterType(4, 4, "int", "int", base="int32", count=1)
PLAIN = ParameterType(16, 4, "struct", "Plain")


def pointer(name: str, to: ParameterType | None, const: bool = False) -> ParameterType:
    return ParameterType(8, 8, "pointer", name, to, const)


def test_typedefs_and_macros_are_resolved(data: Compiled) -> None:
    double = ParameterType(8, 8, "float", "double", base="float64", count=1)
    wanted = (
        pointer("const float*", FLOAT, True),
        pointer("double*", double),
        INT,
        ParameterType(1, 1, "bool", "bool", base="bool", count=1),
        PLAIN,
    )
    assert kernel(data, "plain") == kernel(data, "&plain") == wanted


def test_numbers(data: Compiled) -> None:
    found = [(t.name, t.kind, t.base, t.size) for t in kernel(data, "numbers")]
    assert found == [
        ("unsigned char", "uint", "uint8", 1),
        ("signed char", "int", "int8", 1),
        ("char", "int", "int8", 1),
        ("short", "int", "int16", 2),
        ("unsigned short", "uint", "uint16", 2),
        ("unsigned int", "uint", "uint32", 4),
        ("long", "int", "int64", 8),
        ("unsigned long", "uint", "uint64", 8),
        ("long long", "int", "int64", 8),
        ("unsigned long long", "uint", "uint64", 8),
        ("float", "float", "float32", 4),
        ("double", "float", "float64", 8),
    ]


def test_pointers(data: Compiled) -> None:
    codes = b"KTR2\x0c\0\0\0" + bytes([64 | 16 | 14, 64 | 1, 8, 0])
    assert decode(codes) == (pointer("const float*", FLOAT, True), pointer("void*", None), INT)
    either = ParameterType(8, 8, "struct", "Either")
    assert kernel(data, "pointers") == (
        pointer("float**", pointer("float*", FLOAT)),
        pointer("const float* const*", pointer("const float*", FLOAT, True), True),
        pointer("void*", None),
        pointer("const void*", None, True),
        pointer("Incomplete*", ParameterType(0, 0, "struct", "Incomplete")),
        pointer("Either*", either),
        pointer("void (*)(int, float)", None),
        pointer("float (*)[3]", FLOAT),
        pointer("float (*)[2]", FLOAT),
        pointer("volatile int*", INT),
        pointer("const bool*", ParameterType(1, 1, "bool", "bool", base="bool", count=1), True),
    )


def test_records(data: Compiled) -> None:
    byte_pair = ParameterType(2, 2, "vector", "uchar2", base="uint8", count=2)
    assert kernel(data, "records") == (
        ParameterType(4, 4, "enum", "Old"),
        ParameterType(1, 1, "enum", "New"),
        ParameterType(8, 8, "struct", "Either"),
        ParameterType(16, 16, "struct", "Odd<int, 3, true>"),
        ParameterType(16, 16, "vector", "float4", base="float32", count=4),
        ParameterType(12, 4, "vector", "dim3", base="uint32", count=3),
        ParameterType(8, 8, "complex", "complex<float>", base="float32", count=2),
        pointer("const uchar2*", byte_pair, True),
    )


def test_templates_overloads_and_anonymous_namespaces(data: Compiled) -> None:
    assert kernel(data, "none") == ()
    assert kernel(data, "(void (*)(float))over") == (FLOAT,)
    assert kernel(data, "ns::generic<float, 3>") == (
        pointer("const float*", FLOAT, True),
        pointer("float*", FLOAT),
        pointer("const Vec<float>*", ParameterType(8, 4, "struct", "Vec<float>"), True),
    )
    name = "ns::(anonymous)::Hidden"
    odd = f"Odd<{name}, 3, true>"
    assert kernel(data, "ns::hidden") == (
        ParameterType(2, 2, "struct", name),
        pointer(f"{odd}*", ParameterType(16, 16, "struct", odd)),
    )


def test_variables(data: Compiled) -> None:
    found = [decode_variable(data[f"_kt_v{k}"]) for k in range(len(VARIABLES))]
    double = ParameterType(8, 8, "float", "double", base="float64", count=1)
    assert found == [(FLOAT, (4, 3)), (PLAIN, (2,)), (INT, ()), (double, ())]


def describe(names: str, *records: tuple[int, ...]) -> bytes:
    text = names.encode() + b"\0"
    length = 16 + 24 * len(records) + len(text)
    head = struct.pack("<4I", 0x3152544B, length, len(records), 16 + 24 * len(records))
    return head + b"".join(struct.pack("<6I", *record) for record in records) + text


@pytest.mark.parametrize(
    ("spelled", "kind", "name", "base"),
    [
        ("__half", "half", "__half", "float16"),
        ("_Float16", "half", "__half", "float16"),
        ("__fp16", "half", "__half", "float16"),
        ("kerneltk::float16", "half", "__half", "float16"),
        ("__bf16", "bfloat16", "__nv_bfloat16", "bfloat16"),
        ("__nv_bfloat16", "bfloat16", "__nv_bfloat16", "bfloat16"),
        ("__nv_bool", "bool", "bool", "bool"),
        ("thrust::complex<float>", "complex", "complex<float>", "float32"),
        ("complex<double>", "complex", "complex<double>", "float64"),
        ("__half2", "vector", "__half2", "float16"),
        ("double4_16a", "vector", "double4_16a", "float64"),
        ("mine::float4", "struct", "mine::float4", ""),
        ("long double", "float", "long double", ""),
    ],
)
def test_names_of_numbers(spelled: str, kind: str, name: str, base: str) -> None:
    record = (2, 2, 0, 0, 0, 0)
    for text in (f" {{{spelled}}}]", f" <{spelled}>]", f" {spelled}]"):
        (found,) = decode(describe(text, record))
        assert (found.kind, found.name, found.base) == (kind, name, base)


@pytest.mark.parametrize(
    ("spelled", "name"),
    [
        ("const  char *  const *", "const char* const*"),
        ("vec<long unsigned int, (int)3> *", "vec<unsigned long, 3>*"),
        ("A<B<C> >", "A<B<C>>"),
        ("short unsigned int", "unsigned short"),
        ("struct <unnamed>", "(unnamed)"),
        ("<unnamed struct>", "(unnamed)"),
        ("(unnamed struct at /tmp/x.cpp:3:4)", "(unnamed)"),
        ("A<3u, 4ul>", "A<3, 4>"),
    ],
)
def test_normalised_names(spelled: str, name: str) -> None:
    assert normalised_name(spelled) == name


def test_numbers_and_their_pointers_are_as_all_rules_have_them() -> None:
    befores = ("", " ", "const ", " const ", "volatile ", "const  ")
    behinds = ("", "*", " *", "* __restrict__", " *__restrict", " __restrict")
    for before, number, behind in itertools.product(befores, reflection._NUMBERS, behinds):
        spelled = f"{before}{number}{behind}"
        assert normalised_name(spelled) == reflection._rewritten(spelled), spelled


def test_a_name_that_cannot_be_split_costs_no_more_than_the_name() -> None:
    records = [(8, 8, 1 | 2048, 4, 4, 0), (4, 4, 0, 0, 0, 0)]
    first, second = decode(describe(" {odd<(a > b)>*, lambda>, int}]", *records))
    assert (first.kind, second.size) == ("pointer", 4)


@pytest.mark.parametrize("data", [b"", b"\x7fELF", b"MZ" + bytes(100)])
def test_no_cubin(data: bytes) -> None:
    with pytest.raises(ValueError, match="cubin"):
        read_contents(data, ["x"], "cubin")


@pytest.mark.parametrize(
    "data", [b"", b"KTR1", bytes(64), b"KTR1" + b"\xff" * 60, b"KTR2\x0c\0\0\0\x01"]
)
def test_no_description(data: bytes) -> None:
    with pytest.raises(ValueError, match="descri"):
        decode(data)


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 200), st.integers(0, 255), st.integers(0, 300))
def test_damaged_descriptions_are_a_value_error(place: int, value: int, length: int) -> None:
    data = bytearray(read_contents(cubin(), SYMBOLS, "cubin")["_kt_2"])[: length or None]
    if place < len(data):
        data[place] = value
    for read in (decode, decode_variable):
        with suppress(ValueError):
            read(bytes(data))


def test_ptx() -> None:
    text = """
    .visible .global .align 4 .b8 a[6] = {1, 255, 3};
    .global .align 4 .u32 b = 258;
    .const .align 2 .b16 c[2] = {0x102, -1};
    .global .align 8 .b64 d[1] = {generic(a)};
    """
    assert read_ptx(text, "abc") == {
        "a": b"\1\xff\3\0\0\0",
        "b": b"\2\1\0\0",
        "c": b"\2\1\xff\xff",
    }
    with pytest.raises(ValueError, match="not initialized by numbers"):
        read_ptx(text, "d")

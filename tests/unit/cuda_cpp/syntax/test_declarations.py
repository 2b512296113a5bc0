"""What the reader of CUDA C++ source sees, and what it leaves alone."""

from __future__ import annotations

import itertools
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kerneltk.backends.cuda import nvrtc
from kerneltk.core.artifacts import INCLUDE_DIRECTORY
from kerneltk.cuda_cpp.syntax.declarations import DeclaredKernel, SourceSummary, Unsupported
from kerneltk.cuda_cpp.syntax.host_code import blank_host_code
from kerneltk.cuda_cpp.syntax.reader import read_source
from kerneltk.cuda_cpp.syntax.variables import mangled_name


def only_kernel(text: str) -> DeclaredKernel:
    (kernel,) = read_source(text).kernels
    return kernel


def parameters(text: str) -> list[tuple[str, str]]:
    return [(p.type, p.name) for p in only_kernel(text).parameters]


@pytest.mark.parametrize(
    ("declared", "type_", "name"),
    [
        ("const float* __restrict__ x", "const float* __restrict__", "x"),
        ("float *__restrict__*const x", "float* __restrict__* const", "x"),
        ("unsigned  long long\n  int n", "unsigned long long int", "n"),
        ("float x[3]", "float*", "x"),
        ("float x[][3]", "float (*)[3]", "x"),
        ("float x[N][M + 1]", "float (*)[M + 1]", "x"),
        ("float (*x)[3]", "float (*)[3]", "x"),
        ("const T (&x)[N]", "const T (&)[N]", "x"),
        ("void (*f)(int, float)", "void (*)(int, float)", "f"),
        ("dim3 const& d", "dim3 const&", "d"),
        ("int n = f(1, 2)", "int", "n"),
        ("bool b = 1 <= 2", "bool", "b"),
        ("const __grid_constant__ Params p", "const Params", "p"),
        ("std::array<int, 3> a", "std::array<int, 3>", "a"),
        ("typename T::type t", "T::type", "t"),
        ("const struct S s", "const struct S", "s"),
        ("A... a", "A...", "a"),
        ("float /* of x */ * // and more\n x", "float*", "x"),
        ("int", "int", ""),
        ("volatile int*", "volatile int*", ""),
    ],
)
def test_parameter(declared: str, type_: str, name: str) -> None:
    text = f"__global__ void f({declared}, int last) {{}}"
    kernel = only_kernel(text)
    assert (kernel.parameters[0].type, kernel.parameters[0].name) == (type_, name)
    assert (kernel.parameters[1].type, kernel.parameters[1].name) == ("int", "last")
    assert text[kernel.parameters[0].start : kernel.parameters[0].end] == declared


@pytest.mark.parametrize("declared", ["", "void", " /* none */ "])
def test_no_parameters(declared: str) -> None:
    assert parameters(f"__global__ void f({declared}) {{}}") == []


@pytest.mark.parametrize(
    "head",
    [
        "__global__ void",
        "void __global__",
        "static __global__ void __launch_bounds__(256, 2)",
        "__launch_bounds__(256) __global__ static void",
        'extern "C" __global__ void',
        "__global__\nvoid\n",
        "[[maybe_unused]] __global__ __attribute__((used)) void",
        "inline __global__ void __cluster_dims__(2, 1, 1)",
        "__global__ void MY_BOUNDS(3)",
        "template <class T> __global__ void UNKNOWN",
    ],
)
def test_heads(head: str) -> None:
    kernel = only_kernel(f"int x;\n{head} foo(float* y)\n{{ y[0] = 1; }}")
    assert kernel.name == "foo"
    assert [p.name for p in kernel.parameters] == ["y"]
    assert kernel.is_extern_c == ("extern" in head)
    assert kernel.template_parameters == (("class T",) if "template" in head else ())
    assert bool(kernel.launch_bounds) == ("__launch" in head)


def test_launch_bounds_are_as_written() -> None:
    kernel = only_kernel("__global__ void __launch_bounds__(MAX(1, 2),  4) f() {}")
    assert kernel.launch_bounds == ("MAX(1, 2)", "4")


def test_namespaces() -> None:
    text = """
    namespace a::b { __global__ void f() {}
      extern "C" { __global__ void g() {} }
      namespace { template <class T, int N = 3> __global__ void h(T) {} }
      inline namespace v1 { __constant__ int c; }
    }"""
    f, g, h = read_source(text).kernels
    assert (f.name, f.is_extern_c) == ("a::b::f", False)
    assert (g.name, g.is_extern_c) == ("a::b::g", True)
    assert (h.name, h.template_parameters) == ("a::b::h", ("class T", "int N = 3"))
    assert read_source(text).symbols[0].name == "a::b::v1::c"


def test_a_definition_hides_its_prototypes() -> None:
    (kernel,) = read_source("__global__ void f(int);\n__global__ void f(int n) {}").kernels
    assert kernel.is_definition
    assert kernel.line == 2
    assert not only_kernel("__global__ void f(int);").is_definition


def test_specializations_are_no_kernels_of_their_own() -> None:
    kernel = only_kernel(
        "template <class T> __global__ void f(T*) {}\n"
        "template <> __global__ void f<int>(int*) {}\n"
        "template __global__ void f<float>(float*);"
    )
    assert kernel.line == 1


def test_doc() -> None:
    text = """
    int x; // of x
    /**
     * Adds.
     *
     *     indented
     */
    template <class T>
    __global__ void f() {}
    // one
    // ------
    /// two
    __global__ void g() {}
    // far away

    __global__ void h() {}
    int y; // of y
    __global__ void i() {}"""
    f, g, h, i = read_source(text).kernels
    assert f.doc == "Adds.\n\n    indented"
    assert g.doc == "one\n\ntwo"
    assert h.doc == i.doc == ""


def test_places_are_characters_of_the_text() -> None:
    text = "// größe € 𝄞\r\n#define K __global__ void\r\nK f(int \tn)\r\n{ }\r\n"
    kernel = only_kernel(text)
    assert text[kernel.start : kernel.end] == "K f(int \tn)\r\n{ }"
    assert text[kernel.parameters[0].start : kernel.parameters[0].end] == "int \tn"
    assert kernel.line == 3
    assert kernel.doc == ""


@pytest.mark.parametrize(
    ("definitions", "use"),
    [
        ('#define KERNEL extern "C" __global__ void', "KERNEL f(float* x) {}"),
        ("#define GLOBAL __global__\n#define K(name) GLOBAL void name", "K(f)(float* x) {}"),
        (
            "#define ADD(T) \\\n  __global__ void f##T(T* x) { \\\n  x[0] += T(1); }",
            "ADD(loat)",
        ),
        ("#define R __restrict__\n#define EMPTY", "EMPTY __global__ void f(float* R x) {}"),
        ("#ifdef X\n#define G\n#else\n#define G __global__\n#endif", "G void f(float* x) {}"),
        ("#define NS_(n) namespace n {\n#define E_ }", "NS_(ns) __global__ void f(float* x) {} E_"),
    ],
)  # fmt: skip
def test_macros_of_the_same_text(definitions: str, use: str) -> None:
    kernel = only_kernel(f"{definitions}\n{use}\n")
    assert kernel.name.removeprefix("ns::") in ("f", "float")
    assert kernel.parameters[0].name == "x"
    assert kernel.is_extern_c == ("extern" in definitions)
    assert kernel.name.startswith("ns::") == ("NS_" in use)


@pytest.mark.parametrize(
    "text",
    [
        "#define A B\n#define B A __global__\nA x",
        "#define A A __global__ A\nA void f() {}",
        "".join(f"#define A{k} A{k + 1} A{k + 1} __global__\n" for k in range(40)) + "A0",
    ],
)
def test_macros_that_grow_without_end(text: str) -> None:
    read_source(text)


def test_branches() -> None:
    text = """
#ifndef GUARD_H
#define GUARD_H
#if defined(A) && B > 3 // odd
__global__ void f(int a)
#elif C
__global__ void f(float a)
#else
__global__ void f(double a)
#endif
{ }
#if 0
__global__ void dead() {}
#endif
__global__ void last() {}
#endif
"""
    kernels = read_source(text).kernels
    assert [k.name for k in kernels] == ["f", "f", "f", "last"]
    assert [k.parameters[0].type for k in kernels[:3]] == ["int", "float", "double"]
    assert [k.guard for k in kernels] == [
        "(defined(A) && B > 3)",
        "!(defined(A) && B > 3) && (C)",
        "!(defined(A) && B > 3) && !(C)",
        "",
    ]


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


def test_unsupported_under_a_condition() -> None:
    text = '__device__ void f() {\n#if __CUDA_ARCH__ >= 800\nasm("x");\n#endif\n}'
    (thing,) = read_source(text).unsupported
    assert thing == Unsupported("inline PTX", "asm", 3, "(__CUDA_ARCH__ >= 800)")
    assert thing.is_conditional


def test_includes() -> None:
    text = (
        '#include "a.cuh"\n# include <b> // "c"\n//#include "d"\n#if X\n#include "e/f.h"\n#endif\n'
    )
    summary = read_source(text)
    assert [(i.name, i.is_quoted, i.line, i.guard) for i in summary.includes] == [
        ("a.cuh", True, 1, ""),
        ("b", False, 2, ""),
        ("e/f.h", True, 5, "(X)"),
    ]
    assert summary.quoted_includes == ("a.cuh", "e/f.h")


def test_host_functions() -> None:
    text = """
int main() { return 0; }
static float4 operator+(float4 a, float4 b) { return a; }
__device__ float4 operator-(float4 a, float4 b) { return a; }
std::vector<float> make(int n) { return {}; }
HOST_DEVICE inline float hidden(float x) { return x; }
annotated float also(float x) { return x; }
constexpr int three() { return 3; }
template <class T> T generic(T x) { return x; }
void Class::member() {}
auto lambda = [](int x) { return x; };
KERNEL_OF_A_HEADER(name) { int i = threadIdx.x; }
unsigned long long int wide(void) { return 1; }
"""
    summary = read_source(text)
    heads = [text[a:b].partition("(")[0] for a, b in summary.host_functions]
    assert heads == [
        "int main",
        "static float4 operator+",
        "std::vector<float> make",
        "unsigned long long int wide",
    ]


SAMPLES = {path.name: path for path in (Path(__file__).parent / "sources").glob("*.cu")}


def compile_alone(text: str) -> str:
    """Compile a text by NVRTC with the package's headers for it; return the log of a failure."""
    from cuda.bindings import nvrtc as library

    _, program = library.nvrtcCreateProgram(text.encode(), b"k.cu", 0, [], [])
    directories = [
        INCLUDE_DIRECTORY,
        INCLUDE_DIRECTORY / "nvrtc",
        *nvrtc.cuda_include_directories(),
    ]
    directories.append(INCLUDE_DIRECTORY / "nvrtc_fallback")
    arguments = [f"-I{directory}".encode() for directory in directories]
    # Cooperative groups do without the C++ library of CUDA then, which may not be installed.
    arguments += [b"-D_CG_LIMIT_INCLUDED_DEPENDENCIES"]
    arguments += [b"--gpu-architecture=compute_80", b"--std=c++17"]
    (result,) = library.nvrtcCompileProgram(program, len(arguments), arguments)
    _, size = library.nvrtcGetProgramLogSize(program)
    log = b" " * max(size, 2)  # CPython shares bytes of length one
    library.nvrtcGetProgramLog(program, log)
    library.nvrtcDestroyProgram(program)
    return "" if int(result) == 0 else log.decode()


@pytest.mark.parametrize("name", sorted(SAMPLES))
def test_whole_files_compile_without_their_host_code(name: str) -> None:
    text = SAMPLES[name].read_text()
    summary = read_source(text)
    blanked = blank_host_code(text, summary)
    assert blanked.count("\n") == text.count("\n")
    assert compile_alone(text) != ""
    assert compile_alone(blanked) == ""
    assert [k.name for k in read_source(blanked).kernels] == [k.name for k in summary.kernels]
    assert not read_source(blanked).host_functions


def test_there_are_whole_files() -> None:
    assert len(SAMPLES) >= 4


def test_headers_for_nvrtc() -> None:
    root = INCLUDE_DIRECTORY / "nvrtc"
    names = [str(p.relative_to(root)) for p in sorted(root.rglob("*")) if p.is_file()]
    text = "".join(f"#include <{name}>\n" for name in itertools.chain(names, names))
    text += r"""
using namespace std;
enum class E : unsigned char { A };
struct B {}; struct D : B {};
static_assert(is_same_v<decay_t<const int&>, int> && is_same_v<decay_t<int[3]>, int*>);
static_assert(is_same_v<decay_t<int(float)>, int (*)(float)> && is_enum_v<E>);
static_assert(is_integral<const int>::value && is_signed_v<int> && !is_signed_v<E>);
static_assert(is_base_of_v<B, D> && is_convertible_v<int, float> && !is_convertible_v<B, float>);
static_assert(is_same_v<common_type_t<int, float, double>, double>);
static_assert(is_same_v<make_unsigned_t<long>, unsigned long>);
static_assert(is_pointer_v<int* const> && is_function_v<int(int)> && is_array_v<int[]>);
static_assert(is_same_v<add_pointer_t<int&>, int*>);
static_assert(is_same_v<add_lvalue_reference_t<void>, void>);
static_assert(numeric_limits<float>::max() == FLT_MAX && numeric_limits<int>::min() == INT_MIN);
static_assert(FLT_EPSILON == 0x1p-23f && DBL_EPSILON == 0x1p-52 && FLT_TRUE_MIN == 0x1p-149f);
static_assert(FLT_MIN == 0x1p-126f && DBL_TRUE_MIN == 0x1p-1074 && DBL_MIN == 0x1p-1022);
static_assert(sizeof(int64_t) == 8 && UINT64_MAX == 18446744073709551615ull && INT64_MIN < 0);
static_assert(make_index_sequence<5>::size() == 5 && is_invocable_v<int (*)(int), int>);
static_assert(conjunction_v<is_void<void>, true_type> && std::clamp(5, 0, 3) == 3);
static_assert(numeric_limits<float>::infinity() > FLT_MAX && std::min(1, 2) == 1);
static_assert(is_same_v<remove_all_extents_t<int[2][3]>, int> && is_same_v<int8_t, signed char>);
__global__ void k(float* x, double* y, int64_t n) {
    assert(n > 0);
    x[0] = std::sqrt(x[0]) + std::max(x[1], 2.f) + std::fabs(x[2]) + std::pow(x[3], 2.f);
    y[0] = std::sqrt(y[0]) + M_PI + std::isnan(y[0]) + std::abs(-3) + isinf(y[1]) + HUGE_VAL;
    x[1] = INFINITY + NAN;
    std::array<float, 3> a{1, 2, 3};
    for (auto v : a) x[3] += v;
    auto p = std::make_pair(1, 2.f);
    std::swap(x[5], x[6]);
    std::memset(x, 0, 4);
    printf("%" PRId64 "%f", n, p.second);
    clock_t c = clock();
    x[9] = c;
    auto* q = new (x) float(3);
    x[10] = *q + max(1, 2) + round(x[3]) + offsetof(max_align_t, _kt_a);
}
"""
    assert compile_alone(text) == ""


fragments = st.sampled_from(
    ["__global__", "void ", "foo", "(", ")", "{", "}", "[", "]", "[[", "]]", ";", ",", "<", ">",
     "<<<", ">>>", "#define K __global__ void\n", "#define F(a,b) __global__ a##b {\n", "F(", "K ",
     "#if X\n", "#else\n", "#endif\n", "#if 0\n", "\n", "\r\n", "\\\n", "/*", "*/", "//", '"', "'",
     'R"(', ')"', "extern ", '"C"', "template ", "namespace ", "a::b", "__shared__ ", "float ",
     "__launch_bounds__", "asm", "é", "\0", "\ud800", "*", "&", "=", "s[]", "__constant__ ", "...",
     "class ", "operator", "__VA_ARGS__", "##", "1'000", "alignas", "std::", "using ", "typedef "]
)  # fmt: skip


def check(text: str) -> SourceSummary:
    summary = read_source(text)
    for kernel in summary.kernels:
        assert 0 <= kernel.start <= kernel.end <= len(text)
        for parameter in kernel.parameters:
            assert kernel.start <= parameter.start <= parameter.end <= kernel.end
    blanked = blank_host_code(text, summary)
    assert len(blanked) == len(text)
    assert blanked.count("\n") == text.count("\n")
    return summary


@settings(max_examples=300, deadline=None)
@given(st.lists(fragments, max_size=40).map("".join))
def test_any_mix_of_tokens_is_read(text: str) -> None:
    check(text)


@settings(max_examples=100, deadline=None)
@given(st.text())
def test_any_text_is_read(text: str) -> None:
    check(text)


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_any_cut_of_a_file_is_read(data: st.DataObject) -> None:
    text = data.draw(st.sampled_from(sorted(SAMPLES.values()))).read_text()
    start = data.draw(st.integers(0, len(text)))
    check(text[:start] + text[start + data.draw(st.integers(1, 40)) :])


@pytest.mark.parametrize("text", ["(" * 20000, "{" * 5000, "namespace a{" * 500, "[[" * 2000])
def test_deep_nesting(text: str) -> None:
    check(text)


def test_the_parser_is_loaded_when_it_is_used() -> None:
    code = "import sys, kerneltk.cuda_cpp.syntax.reader; assert 'tree_sitter' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def _left(text: str) -> str:
    """Return the source without code for the host, blanks collapsed."""
    return " ".join(blank_host_code(text, read_source(text)).split())


def test_prototypes_in_a_block_of_c_linkage_leave_the_block_as_it_is() -> None:
    text = """#ifdef __cplusplus
extern "C" {
#endif
void launch(float* x);
#ifdef __cplusplus
}
#endif
__global__ void k(float* x) {}
"""
    assert _left(text) == (
        '#ifdef __cplusplus extern "C" { #endif #ifdef __cplusplus } #endif '
        "__global__ void k(float* x) {}"
    )


def test_templates_of_the_host_go_with_their_instantiations() -> None:
    text = """#define LAUNCH(n) k<T, n><<<1, 1>>>(x)
#define INSTANTIATE(T) \\
    template void launch<T>(T*);
template <typename T, int n> __global__ void k(T* x) {}
template <typename T> void launch(T* x) { LAUNCH(4); }
template void launch<float>(float*);
INSTANTIATE(double)
INSTANTIATE(int);
__device__ int last;
"""
    left = _left(text)
    assert left.endswith("__global__ void k(T* x) {} __device__ int last;")


def test_a_macro_of_host_code_stays_where_a_type_is_meant() -> None:
    text = """#define stream_t hipStream_t
#define CHECK(x) hipCheck(x)
struct S { stream_t stream; };
CHECK(1);
__device__ S s;
"""
    assert _left(text).endswith("struct S { stream_t stream; }; __device__ S s;")


def test_prototypes_that_device_code_calls_stay() -> None:
    text = """void fail(int line);
void other(int line);
#define ASSERT(x) if (!(x)) fail(__LINE__)
int called(int);
struct Box { int get() { ASSERT(n); return called(n); } int n; };
int main() { other(1); }
"""
    left = _left(text)
    assert "void fail(int line);" in left
    assert "int called(int);" in left
    assert "other" not in left


def test_members_for_the_host_are_left_out() -> None:
    text = """struct Config {
    int n;
    __host__ int on_host() const { return helper(n); }
    __host__ __device__ int size() const { return n; }
};
"""
    left = _left(text)
    assert "on_host" not in left
    assert "__host__ __device__ int size()" in left


def test_conditionals_that_end_outside_of_left_out_code_stay() -> None:
    text = """#ifdef WIDE
void launch(long n)
#else
void launch(int n)
#endif
{ k<<<1, 1>>>(n); }
__global__ void k(int n) {}
"""
    left = _left(text)
    assert left.count("#ifdef") == left.count("#endif")
    assert "<<<" not in left

"""Which code is for the host alone, and what is left without it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import kerneltk
from kerneltk.backends.cuda import nvrtc
from kerneltk.cache import stand_ins
from kerneltk.core.artifacts import INCLUDE_DIRECTORY
from kerneltk.cuda_cpp.syntax.blanking import blank_host_code
from kerneltk.cuda_cpp.syntax.reader import read_source
from tests.sampling import one_row_in


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
        stand_ins.directory("cupy"),
        stand_ins.directory("nvrtc"),
        *nvrtc.cuda_include_directories(),
    ]
    directories.append(stand_ins.directory("nvrtc_fallback"))
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


@pytest.mark.one_in(4)
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


def test_modules_of_other_languages_go_whatever_is_in_them() -> None:
    text = """#define DEF(f) m.def(#f, &f);
PYBIND11_MODULE(NAME, m) {
    DEF(a)
    DEF(b)
    { m.attr("c") = 1; }
}
namespace ns {
TORCH_LIBRARY_FRAGMENT(name, m) { DEF(a) }
}
__global__ void k(float* x) { SECTION(x) { x[0] = 1; } }
"""
    assert _left(text).endswith(
        "namespace ns { } __global__ void k(float* x) { SECTION(x) { x[0] = 1; } }"
    )
    assert "PYBIND11" not in _left(text)


def test_members_behind_pragmas_of_macros_stay() -> None:
    text = """#define UNROLL _Pragma("unroll")
#define BODY __device__ void set(T v) { UNROLL for (int i = 0; i < n; ++i) x[i] = v; }
template <class T, int n>
struct Vector {
    BODY
    T x[n];
};
template <class T> __global__ void k(Vector<T, 4> v, T* x) {
    _Pragma("unroll") for (int i = 0; i < 4; ++i) x[i] = v.x[i];
}
"""
    assert _left(text) == " ".join(text.split())


def test_macros_of_instantiations_elsewhere() -> None:
    text = """#define CASE(n) template void launch<n>(int* x)
template <int n> void launch(int* x) { k<n><<<1, 1>>>(x); }
#define ELSEWHERE(n) \\
    extern CASE(n); \\
    extern CASE(n + 1)
extern CASE(4);
CASE(8);
ELSEWHERE(16);
ELSEWHERE(32);
#define OTHER
struct Behind { int x; };
static __device__ __forceinline__ int one(int x) { return x; }
template <int n> __global__ void k(int* x) {}
"""
    assert _left(text) == (
        "#define CASE(n) template void launch<n>(int* x) "
        "#define ELSEWHERE(n) \\ extern CASE(n); \\ extern CASE(n + 1) "
        "#define OTHER struct Behind { int x; }; "
        "static __device__ __forceinline__ int one(int x) { return x; } "
        "template <int n> __global__ void k(int* x) {}"
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


ASKED = """#include <regex>
struct S {{ {member} __device__ int d() {{ return 3; }} int x; }};
{function}
template <class T> __device__ constexpr auto has(int) -> decltype({call}, true) {{ return true; }}
template <class T> __device__ constexpr bool has(long) {{ return false; }}
__global__ void k(int* x) {{
    static_assert(has<S>(0), "it is there");
    x[0] = S().d();
}}
int main() {{}}
"""


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("function", "member"),
    one_row_in(
        3,
        [
            ("int f(int x) { return lib::go(x); }", ""),
            ("static int f(int x) { std::regex r; return x; }", ""),
            ("__host__ int f(int x);\nint f(int x) { return x; }", ""),
            ("", "__host__ int f(int y) const;"),
            ("", "__host__ int f(int y) { return y; }"),
            ("", "int f(int y) { std::regex r; return y; }"),
            ("", "int f(int y) { return lib::go(y); }"),
        ],
    ),
)
def test_templates_find_functions_of_the_host(tmp_path: Path, function: str, member: str) -> None:
    path = tmp_path / "asked.cu"
    call = "T().f(1)" if member else "f(T().x)"
    path.write_text(ASKED.format(function=function, member=member, call=call))
    module = kerneltk.load(path)
    x = np.zeros(1, np.int32)
    module.k(1, 1, (x,))
    assert x[0] == 3
    assert module.compile_for("compute_90").code

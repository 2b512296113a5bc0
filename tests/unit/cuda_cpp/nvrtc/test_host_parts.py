"""What NVRTC would refuse of a source, its headers included: the error of CPU cores for it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import kerneltk
from kerneltk.errors import CompileError
from tests.sampling import one_row_in

KERNEL = "__global__ void k(float* x) { x[0] = f(x[0]); }\n"


def message(source: str, name: str = "k", *options: str) -> str:
    with pytest.raises(CompileError) as caught:
        kerneltk.RawKernel(source, name, options).compile(backend="host")
    return str(caught.value)


@pytest.mark.exhaustive
def test_a_condition_that_the_preprocessor_decides() -> None:
    source = f"#if N > 1\nfloat f(float x) {{ return x; }}\n#else\n__device__ float f(float x) {{ return 2; }}\n#endif\n{KERNEL}"  # noqa: E501
    assert "'f' is a function of the host" in message(source, "k", "-DN=2")
    kerneltk.RawKernel(source, "k", ("-DN=1",)).compile(backend="host")
    own = f"#ifdef __KERNELTK_HOST__\nfloat f(float x) {{ return x; }}\n#else\n__device__ float f(float x) {{ return x; }}\n#endif\n{KERNEL}"  # noqa: E501
    kerneltk.RawKernel(own, "k").compile(backend="host")


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("extern \"C\" void k(int* x) {}", "'k' is a function of the host"),
        ("__device__ void k(int* x) {}", "it is '__device__', and a kernel is '__global__'"),
        ("__global__ int k(int* x) { return 1; }", "kernel 'k' returns a value"),
        ("__global__ int k;", "'k' is '__global__', and it is no function"),
        ("__global__ void k(int* x) {}\n__global__ void k(float* x) {}",
         "2 kernels have this name, with other parameters"),
        ("#include <cxxabi.h>\n__global__ void k(int* x) {}", "includes 'cxxabi.h'"),
    ],
)  # fmt: skip
def test_what_is_no_kernel(source: str, said: str) -> None:
    assert said in message(source)


def test_files_have_code_of_the_host_and_kernels_do_not_use_it(tmp_path: Path) -> None:
    path = tmp_path / "k.cu"
    path.write_text(
        "#include <vector>\n#include <cstdio>\n"
        "__global__ void k(float* x) { std::vector<float> v(3); x[0] = v[0]; }\n"
        'int main() { std::vector<int> v(3); FILE* f = fopen("x", "r"); }\n'
    )
    with pytest.raises(CompileError, match="'vector' is not there for device code"):
        kerneltk.load(path).k(1, 1, (np.zeros(1, np.float32),))


def test_names_of_the_user_s_own_are_not_the_library_s() -> None:
    source = (
        "#include <cstdlib>\n__device__ int rand(int& state) { return state++; }\n"
        "struct File { int n; __device__ int read(int k) { return n + k; } };\n"
        "__global__ void k(int* x) { int time = 3; File f{1}; auto write = [](int v) { return v; };"
        "  x[0] = rand(time) + f.read(2) + write(4); }\n"
    )
    x = np.zeros(1, np.int32)
    kerneltk.RawKernel(source, "k")(1, 1, (x,))
    assert x[0] == 10


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("head", "body"),
    one_row_in(2, [
        ("#include <cuda/std/optional>", "cuda::std::optional<int> o(x[0]); x[1] = *o;"),
        ("namespace a { namespace std { __device__ int vector(int n) { return n; } } }",
         "x[1] = a::std::vector(x[0]);"),
        ("#include <cuda/std/optional>\n#define std cuda::std",
         "std::optional<int> o(x[0]); x[1] = *o;"),
        ("namespace std { template <class T> struct hash { T v; }; }",
         "std::hash<int> h{x[0]}; x[1] = h.v;"),
        ("#include <utility>\nusing std::swap;\n"
         "namespace own { template <class T> __device__ T transform(T n) { return n; } }\n"
         "using namespace own;", "x[1] = transform(x[0]);"),
        ("__device__ int same(int n) { return n; }",
         "int (*write)(int) = same; auto g = [read = write](int n) { return read(n); };"
         "x[1] = write(g(x[0]));"),
        ("", "auto f = [](int n) -> decltype(auto) { return n; }; x[1] = f(x[0]);"),
    ]),
)  # fmt: skip
def test_names_that_only_look_like_the_library_s(head: str, body: str) -> None:
    kernel = kerneltk.RawKernel(f"{head}\n__global__ void k(int* x) {{ {body} }}\n", "k")
    x = np.array([7, 0], np.int32)
    kernel(1, 1, (x,))
    assert x[1] == 7
    kernel.compile_for("compute_90")


def test_names_that_own_headers_declare(tmp_path: Path) -> None:
    (tmp_path / "own.h").write_text("__device__ int rand(int n) { return n; }\n")
    source = '#include "own.h"\n__global__ void k(int* x) { x[0] = rand(x[0]); }\n'
    kerneltk.RawKernel(source, "k", (f"-I{tmp_path}",)).compile(backend="host")


def test_annotated_lambdas() -> None:
    source = "__global__ void k(int* x) { auto f = [] __device__ (int n) { return n; }; f(1); }\n"
    assert "NVRTC takes no annotation of a lambda, such as '__device__'" in message(source)
    assert "NVRTC takes no annotation" in message(source, "k", "-default-device")


PLAIN = "__global__ void k(int* x) { x[0] = 1; }\n"
BOTH = "template <class T> struct Pair { T a, b; };\n__device__ int other = 5, table[3];\n"


@pytest.mark.one_in(4)
@pytest.mark.parametrize("declared", [
    "__device__ int three() { return 3; }\n__device__ int v = three();",
    "__constant__ float v = sqrtf(4.0f);", "__managed__ int v = other + 1;",
    "namespace n { static __device__ Pair<float> v = {1, __int_as_float(3)}; }",
    "__device__ float4 v = make_float4(1, 2, 3, 4);", "const float v = 2 * expf(1);",
    "const double half = 0.5; const double v = half * 3;",
    "static const float third = 1 / 3.0f; __constant__ float v[] = {1, -third};",
    "__device__ long v = labs(-2);",
])  # fmt: skip
def test_initializers_that_a_program_would_compute(declared: str) -> None:
    source = f"{BOTH}{declared}\n{PLAIN}"
    assert "'v' has an initializer that is no constant expression" in message(source)
    with pytest.raises(CompileError, match="dynamic initialization"):
        kerneltk.RawKernel(source, "k").compile_for("sm_90")


def test_initializers_that_nvcc_computes() -> None:
    declared = """const float v = 2 * expf(1), half = 0.5f;  // v is of the host
    __constant__ float w[] = {half * 3, 1};
    __device__ int x = abs(-2), y = isnan(2.5f);
    """
    kerneltk.RawKernel(declared + PLAIN, "k", backend="nvcc").compile(backend="host")
    computed = kerneltk.RawKernel(f"__constant__ float w = sqrtf(2);\n{PLAIN}", "k", backend="nvcc")
    with pytest.raises(CompileError, match="'w' has an initializer that is no constant"):
        computed.compile(backend="host")


def test_initializers_that_are_constant() -> None:
    source = f"""
    #include <limits>
    #define twice(x) (2 * (x))
    template <class T> __device__ constexpr T square(T v) {{ return v * v; }}
    {BOTH}
    namespace n {{ __device__ constexpr int max(int a, int b) {{ return a > b ? a : b; }} }}
    __device__ int a = square(3), *b = &other, *c = &table[1], *d = table + 2, &e = other;
    __constant__ float f = std::numeric_limits<float>::max(), g = float(sizeof(other)) / 3;
    __constant__ Pair<int> h[2] = {{{{1, twice(3)}}, {{n::max(3, 4), square<int>(2)}}}};
    constexpr int q = 3; const int r = q + 1; __device__ int s = r;
    constexpr float half = 0.5f; const float i = half * r; __device__ const float* t = &i;
    __device__ int same(int v) {{ return v; }}
    template <class T> __device__ T other_one(T v) {{ return v; }}
    typedef int (*Function)(int);
    struct Named {{ int key; Function function; static __device__ int own(int v) {{ return v; }} }};
    __device__ Function u = same;
    __device__ Function v[] = {{same, &same, (Function)same, other_one<int>, Named::own}};
    __constant__ Named w[] = {{{{1, same}}, {{2, Named::own}}}};
    __device__ int (*x)(int) = same;
    {PLAIN}"""
    assert kerneltk.RawKernel(source, "k").compile_for("sm_90").kind == "cubin"
    kerneltk.RawKernel(source, "k").compile(backend="host")


@pytest.mark.one_in(4)
@pytest.mark.parametrize(("declared", "name"), [
    ("namespace a { inline namespace b { BODY } }", "a::k"),
    ("namespace a { BODY } namespace b = a;", "b::k"),
    ("namespace a { BODY } using a::k;", "k"),
    ("namespace a { BODY } using namespace a;", "k"),
    ("BODY", "::k"),
])  # fmt: skip
def test_names_that_the_compiler_finds(declared: str, name: str) -> None:
    source = declared.replace("BODY", "__global__ void k(int* x) { x[0] = 3; }")
    x = np.zeros(1, np.int32)
    kerneltk.RawKernel(source, name)((1,), (1,), (x,))
    assert x[0] == 3
    assert kerneltk.RawKernel(source, name).compile_for("sm_90").kind == "cubin"


def test_a_variable_of_a_function_may_say_that_it_is_the_device_s() -> None:
    source = """__global__ void k(int* x) {
        static __device__ int calls;
        static __constant__ int table[] = {1, 2};
        x[0] = ++calls + table[1];
    }"""
    x = np.zeros(1, np.int32)
    take = kerneltk.RawKernel(source, "k")
    take((1,), (1,), (x,))
    take((1,), (1,), (x,))
    assert x[0] == 4
    assert take.compile_for("sm_90").kind == "cubin"

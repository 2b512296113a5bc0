"""What of a source is left out since device code does not refer to it."""

from __future__ import annotations

import pytest

from kerneltk.cuda_cpp.syntax.blanking import blank_host_code
from kerneltk.cuda_cpp.syntax.reader import read_source


def left(source: str, *, keeps_spare: bool = True) -> str:
    """The source without what is the host's, blanks collapsed."""
    found = blank_host_code(source, read_source(source), keeps_spare=keeps_spare)
    assert found.count("\n") == source.count("\n")
    return " ".join(found.split())


KERNEL = "__global__ void k(int* x) { x[0] = 1; }"


@pytest.mark.parametrize(
    "source",
    [
        # A specialization and a member of a class of the host, an alias, a base.
        "template <class T> class C { void go() { exit(1); } };"
        " template <> class C<int> { int k; };",
        "template <class T> struct I { std::vector<T> v; I(); };"
        " template <class T> I<T>::I() : v(3) {}",
        "struct H { void init(); void all(); }; void H::all() { init(); }"
        " void H::init() { cudaFree(0); }",
        "class A { std::string s; }; class B : public A { int n; }; typedef B* Pointer;",
        "template <class T> void launch(T* x); template void launch<int>(int*);",
        "template <class T> T helper(T x) { return x; } int main() { return helper(3); }",
        "using namespace absent; namespace other = absent::inner;",
        "typedef std::map<int, int> Table; static Table table;",
        "void CUDART_CB done(cudaStream_t s) { cudaFree(0); }",
        "#define CHECK(x) if (x) exit(1)\ntemplate <class T> void g(T x) { CHECK(x); }",
    ],
)
def test_what_only_the_host_refers_to(source: str) -> None:
    macros = "".join(f"{line} " for line in source.split("\n") if line.startswith("#"))
    assert left(f"{source}\n{KERNEL}\n") == f"{macros}{KERNEL}"


@pytest.mark.parametrize(
    "source",
    [
        "struct P { int n; }; __global__ void k(P p) {}",
        "template <class T> constexpr T twice(T x) { return 2 * x; }"
        " __device__ int g() { return twice(1); }",
        "const int n = 3; const int a = 1, b = n; __device__ int g() { return b; }",
        "typedef float real; struct Q { real x; }; __device__ Q q;",
        "namespace n { struct R {}; } using namespace n; __device__ R r;",
        "struct { int x; } const table[2] = {1, 2}; __device__ int h() { return table[1].x; }",
        "#define READ(x) helper(x)\nint helper(int); __device__ int g() { return READ(1); }",
        "template <int N> struct Size { int x[N]; }; template <> struct Size<0> {};"
        " __device__ Size<2> s;",
    ],
)
def test_what_device_code_refers_to_stays(source: str) -> None:
    assert left(source, keeps_spare=False) == " ".join(source.split())


def test_a_class_that_kernels_use_loses_the_functions_of_the_host() -> None:
    source = """struct P {
    int n;
    std::vector<int> all;
    P() { std::cout << n; }
    void fill() { all.clear(); }
    P& operator=(const P& p) { fill(); return *this; }
    static constexpr int size() { return 3; }
    __host__ __device__ int get() const { return n; }
    void* operator new(size_t n) { void* p; cudaMalloc(&p, n); return p; }
    friend std::ostream& operator<<(std::ostream& out, const P& p) { return out << p.n; }
};
__global__ void k(P* p) { p->n = P::size(); }
"""
    found = left(source)
    for word in ("int n;", "vector<int> all;", "size()", "get() const"):
        assert word in found
    for word in ("cout", "fill", "operator"):
        assert word not in found


def test_arguments_of_templates_are_left_where_requests_name_them() -> None:
    source = "struct Square { __device__ int f(); }; template <class F> __global__ void k(F f) {}"
    assert "struct Square" in left(source)
    assert "struct Square" not in left(source, keeps_spare=False)
    assert [names for _, _, names in read_source(source).spare] == [("Square",)]


def test_comments_in_what_is_left_out_are_no_directives() -> None:
    source = f"void h() {{ cudaFree(0);\n/*  #ifdef A\n    #endif\n*/\n}}\n{KERNEL}\n"
    assert left(source) == KERNEL


@pytest.mark.parametrize("macro", ["CUTLASS_HOST_DEVICE", "CUTE_DEVICE", "C10_HOST_DEVICE"])
def test_macros_of_libraries_that_are_not_read_say_where_functions_run(macro: str) -> None:
    source = (
        '#include "cutlass/cutlass.h"\nnamespace a {\nstruct P {\n'
        f"    float x, y;\n    {macro}\n    P(): x(0), y(0) {{}}\n"
        f"    {macro}\n    P(float a, float b): x(a), y(b) {{ if (a == b) {{ x = 0; }} }}\n"
        f"    {macro}\n    void set(P const& p) {{ x = p.x; y = p.y; }}\n}};\n"
        f"struct Host {{ std::string s; {macro} Host() {{}} void go() {{ exit(1); }} }};\n"
        f"{macro} float get(P p) {{ return p.x; }}\n"
        "float host(P p) { return p.y; }\n}\n"
        "__global__ void k(a::P p, float* x) { x[0] = a::get(p); }\n"
    )
    found = left(source)
    assert f"{macro} void set(P const& p) {{ x = p.x; y = p.y; }} }};" in found
    assert f"{macro} float get(P p) {{ return p.x; }} }} __global__" in found
    assert "exit" not in found
    assert "float host" not in found


@pytest.mark.parametrize(
    "source",
    [
        '#include <catch2/catch.hpp>\nTEST_CASE("a b", "[c]") { int n = 1; CHECK(n == f()); }\n'
        'TEMPLATE_TEST_CASE("each", "[t]", int, float) { TestType x = 1; REQUIRE(x); }',
        '#include "nvbench/nvbench.cuh"\n#include <cxxopts.hpp>\n#include <CLI11/CLI11.hpp>\n'
        "void timed(nvbench::state& state) { state.exec(f); }\nNVBENCH_BENCH(timed);",
    ],
)
def test_libraries_for_tests_and_options_are_the_hosts(source: str) -> None:
    assert left(f"{source}\n{KERNEL}\n") == KERNEL

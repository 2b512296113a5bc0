"""Files whose host code only a compiler's errors tell from device code."""

from __future__ import annotations

from pathlib import Path

import pytest

import kerneltk
from kerneltk.errors import CompileError
from tests.sampling import one_in

HEADER = """
#include "library.h"
#define ON_FAILURE(text) throw Failure(text)
class Failure : public lib::Error {
public:
    Failure(const char* text) : lib::Error(text) {}
};
struct Shape {
    int rows, columns;
    __host__ __device__ Shape(int r, int c) : rows(r), columns(c) {}
    __host__ __device__ int size() const { return rows * columns; }
    lib::List dims() const;
    operator lib::List() const { return lib::List{rows, columns}; }
    virtual void show() { lib::show(this); }
    void check() {
        if (rows < 0) ON_FAILURE("rows");
    }
    friend lib::List& operator<<(lib::List& list, const Shape& s) { return list << s.rows; }
};
template <> struct lib::traits<lib::List> { typedef Shape type; };
lib::List Shape::dims() const { return *this; }
"""
SOURCE = """
#include "shape.h"
static lib::List known = {1, 2};
__global__ void sizes(Shape s, int* x) { x[threadIdx.x] = s.size() + threadIdx.x; }
int launch(lib::List& list) {
    sizes<<<1, 4>>>(Shape(2, 3), lib::data(list));
    return lib::code();
}
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    (tmp_path / "shape.h").write_text(HEADER)
    (tmp_path / "library.h").write_text("namespace lib {}\n")
    found = tmp_path / "shapes.cu"
    found.write_text(SOURCE)
    return found


# The file, what is told, and whether that is of the library that is missing.
MISTAKES = {
    "of what kernels call": (
        "struct S { int helper(int x) { return undeclared(x); } };\n"
        "__global__ void k(S s, int* x) { x[0] = s.helper(1); }\n",
        r"undeclared[^$]*shapes\.cu:1: struct S \{ int helper\(int x\) \{ return undeclared",
        False,
    ),
    "of an overload that another does not step in for": (
        "struct S {\n    __host__ __device__ int f(double x) { return 2; }\n"
        "    int f(int x) { return lib::one(x); }\n};\n"
        "__global__ void k(S s, int* x) { x[0] = s.f(1); }\n",
        "lib",
        True,
    ),
    "in a kernel": (
        "int f() { return lib::g(); }\n__global__ void k(int* x) { x[0] = unknown; }\n",
        "unknown",
        False,
    ),
    "of an assertion": (
        'int f() { return lib::g(); }\nstatic_assert(sizeof(int) == 8, "wide");\n'
        "struct S { void f() { lib::f(); } };\n__global__ void k(S s) {}\n",
        "does not compile: static assert",
        False,
    ),
}


@pytest.mark.one_in(4)
@pytest.mark.parametrize("target", ["sm_90", "host"])
@pytest.mark.parametrize("kind", MISTAKES)
def test_mistakes_beside_host_code_are_told_first(path: Path, target: str, kind: str) -> None:
    source, told, is_of_library = MISTAKES[kind]
    path.write_text(source)
    with pytest.raises(CompileError, match=told) as caught:
        kerneltk.load(path).compile_for(target)
    assert ("lib" in str(caught.value)) == is_of_library


KERNEL = "__global__ void k(int* x) { x[0] = %s; }"
HIDDEN = {
    "a constant": ("const int n = 2; namespace a { const int n = lib::n; KERNEL }", "n"),
    "a computed constant": (
        "const int n = 2; namespace a { constexpr int n = lib::n; KERNEL }", "n"
    ),
    "a using declaration": (
        "__device__ int g() { return 1; } namespace a { using lib::g; KERNEL }", "g()"
    ),
    "a type": (
        "struct A { int x; }; namespace a { struct A : lib::A { int y[3]; }; KERNEL }", "sizeof(A)"
    ),
    "a member": (
        "struct A { __device__ int f() { return 1; } }; struct B : A { int f(lib::T x); }; KERNEL",
        "B().f()",
    ),
    "a number": ("enum { n = 1 }; namespace a { enum E { m = lib::m, n = 5 }; KERNEL }", "n"),
    "a specialization": (
        "template <class T> struct W { static const int v = 1; };"
        " template <> struct W<int> { lib::T x; static const int v = 2; }; KERNEL",
        "W<int>::v",
    ),
}  # fmt: skip


@pytest.mark.one_in(3)
@pytest.mark.parametrize("target", ["sm_90", "host"])
@pytest.mark.parametrize("kind", one_in(3, HIDDEN))
def test_nothing_else_is_found_by_the_name_of(path: Path, kind: str, target: str) -> None:
    source, use = HIDDEN[kind]
    path.write_text(source.replace("KERNEL", KERNEL % use))
    with pytest.raises(CompileError, match="lib"):
        kerneltk.load(path).compile_for(target)


@pytest.mark.one_in(4)
@pytest.mark.parametrize("target", ["sm_90", "host"])
@pytest.mark.parametrize("kind", one_in(3, HIDDEN))
def test_what_device_code_does_not_name_goes_with_its_name(
    path: Path, kind: str, target: str
) -> None:
    path.write_text(HIDDEN[kind][0].replace("KERNEL", "int f() { return lib::f(); } " + KERNEL % 1))
    assert kerneltk.load(path).compile_for(target).code


def test_strings_of_raw_kernels_are_compiled_as_they_are() -> None:
    kernel = kerneltk.RawKernel("int f() { return g(); }\n__global__ void k() {}\n", "k")
    with pytest.raises(CompileError, match="g"):
        kernel.compile_for("host")


@pytest.mark.parametrize("target", ["sm_90", "host"])
def test_thrust_that_serves_the_host(path: Path, target: str) -> None:
    path.write_text(
        "#include <thrust/device_vector.h>\n#include <thrust/generate.h>\n"
        "#include <thrust/iterator/counting_iterator.h>\n"
        "struct Data {\n    thrust::device_vector<float> x;\n    int n;\n};\n"
        "template <class T> void fill(thrust::device_vector<T>& x) {\n"
        "    thrust::generate(x.begin(), x.end(), T());\n}\n"
        "__global__ void k(int* x) { x[threadIdx.x] = 1; }\n"
    )
    assert kerneltk.load(path).compile_for(target).code


@pytest.mark.parametrize("target", ["sm_90", "host"])
def test_libraries_for_both_sides_are_used_where_they_are(path: Path, target: str) -> None:
    directory = path.parent / "include" / "glm"
    directory.mkdir(parents=True)
    (directory / "glm.hpp").write_text(
        "#pragma once\n#include <cmath>\nnamespace glm {\nstruct vec2 { float x, y; };\n"
        "__host__ __device__ inline float length(vec2 v) {\n"
        "    return std::sqrt(v.x * v.x + v.y * v.y);\n}\n}\n"
    )
    path.write_text(
        "#include <glm/glm.hpp>\n"
        "__global__ void k(const glm::vec2* v, float* x) { x[0] = glm::length(v[0]); }\n"
        'void show(glm::vec2 v) { printf("%f", v.x); }\n'
    )
    options = (f"-I{path.parent / 'include'}",)
    assert kerneltk.load(path, options=options).compile_for(target).code
    # Nothing of it may be needed: it is left out where it is not.
    path.write_text("#include <glm/glm.hpp>\n__global__ void k(int* x) { x[0] = 1; }\n")
    assert kerneltk.load(path).compile_for(target).code


def test_several_tries_leave_out_what_either_side_has_not(path: Path) -> None:
    path.write_text(
        "#include <cooperative_groups.h>\n"
        "namespace lib {}\nstruct Pair { int a; int sum() { return lib::sum(a); } };\n"
        "struct Other { int a; int twice() { return lib::twice(a); } };\n"
        "__global__ void clustered(int* x) {\n"
        "    x[0] = cooperative_groups::this_cluster().block_rank();\n}\n"
        "__global__ void pairs(Pair p, Other o, int* x) { x[0] = p.a + o.a; }\n"
    )
    assert kerneltk.load(path).compile_for("host").code
    path.write_text(path.read_text() + "__global__ void mistaken(int* x) { x[0] = unknown; }\n")
    with pytest.raises(CompileError, match="unknown"):
        kerneltk.load(path).compile_for("host")

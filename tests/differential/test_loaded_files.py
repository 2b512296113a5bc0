"""Files whose device code means what it means to nvcc, whatever the host's code around it says."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import kerneltk
from kerneltk.errors import CompileError
from tests.sampling import half

# Each: its name, the files by their names, and what kernel `k` stores. "main.cu" is loaded.
_FILES: list[tuple[str, dict[str, str], int]] = []


def _case(name: str, expected: int, main: str, **headers: str) -> None:
    files = {key.replace("__", "/").replace("_h", ".h"): value for key, value in headers.items()}
    _FILES.append((name, {"main.cu": main, **files}, expected))


# -- the preprocessor -----------------------------------------------------------------------------

_case("a macro defined anew in a function of the host", 5, """
#define N 4
void host() {
#undef N
#define N 5
}
__global__ void k(int* x) { x[0] = N; }
""")  # fmt: skip
_case("a macro in a class that device code does not refer to", 12, """
struct Host { int a;
#define LIMIT 12
#pragma omp parallel
};
__global__ void k(int* x) { x[0] = LIMIT; }
""")  # fmt: skip
_case("a header in a function of the host", 310, """
#include <iostream>
int main() {
#ifndef NOWHERE
#include "body.h"
#else
    foo;
#endif
}
__global__ void k(int* x) { x[0] = M * 100 + __LINE__; }
""", body_h="#define M 3\nstd::cout << M;\n\n\n")  # fmt: skip
_case("lines behind a header in the host's data", 7, """
#include <iostream>
static const char* names[] = {
#include "table.h"
};
void show() { std::cout << names[0]; }
__global__ void k(int* x) { x[0] = __LINE__; }
""", table_h='"a",\n"b",\n"c"\n')  # fmt: skip
_case("parts of libraries", 32 + 4 + 1 + 3, """
#include <algorithm>
#include <cmath>
#include <complex>
#include <cooperative_groups.h>
#include <cooperative_groups/details/partitioning.h>
#include <cuda/cmath>
#include <initializer_list>
typedef std::complex<double> dcomplex;
constexpr size_t largest(std::initializer_list<size_t> list) { return std::max(list); }
template <int N> struct Traits {
    static constexpr int bytes = largest({N * sizeof(float), N * sizeof(double), size_t(16)});
};
__global__ void k(int* x) {
    const auto block = cooperative_groups::this_thread_block();
    const auto tile = cooperative_groups::tiled_partition<1>(block);
    x[0] = Traits<4>::bytes + FP_NORMAL + tile.size() + cuda::ceil_div(7, 3);
}
""")  # fmt: skip
_case("a keyword that an old compiler lacks", 6, """
#if defined(_MSC_VER) && _MSC_VER < 1910
#define constexpr
#define noexcept
#endif
namespace lib {
constexpr inline float eps = 1e-6f;
constexpr int six() noexcept { return 6; }
}
__global__ void k(int* x) { x[0] = lib::six(); }
int main() { k<<<1, 1>>>(nullptr); }
""")  # fmt: skip
_case("macros with operators as arguments", 3, """
#include <ctime>
#include <iostream>
#define COMPARED(name, op) \\
    template <class X> __host__ __device__ bool is##name(const X& x, const X& y) { return x op y; }
COMPARED(Less, <)
COMPARED(Equal, ==)
COMPARED(Both, &&);
class Date {
    char text[9];
public:
    const char* now() {
        time_t value = time(NULL);
        struct tm own;
        snprintf(text, sizeof(text), "%02d", localtime_r(&value, &own)->tm_hour);
        return text;
    }
};
struct Message {
    Message() : stream(std::cerr) { stream << date.now(); }
    std::ostream& stream;
    Date date;
};
__global__ void k(int* x) { x[0] = isLess(1, 2) + 2 * isEqual(3, 3) + 4 * isBoth(true, false); }
int main() { Message(); }
""")  # fmt: skip
_case("launchers with the names of their kernels", 7, """
#include <cstdio>
__device__ int add(int a, int b) { return a + b; }
__global__ void k(int* x) { x[0] = add(3, 4); }
void k(int* x, int blocks);
void k(int* x, int blocks) { k<<<blocks, 1>>>(x); cudaDeviceSynchronize(); }
template <class T> __global__ void twice(T* x) { x[0] *= 2; }
template <class T> void twice(T* x, int blocks) { twice<T><<<blocks, 32>>>(x); }
static inline void k(int* x, float y) { for (int i = 0; i < y; i++) k(x, i); }
void add(int* x) { printf("x"); k(x, 2.0f); twice(x, 2); }
int main() { add(nullptr); }
""")  # fmt: skip
_case("what nvcc includes by itself", 4 + 8, """
struct A { int a; char b; };
__global__ void k(int* x) { x[0] = offsetof(A, b) + sizeof(uint64_t); }
""")  # fmt: skip
_case("destructors of the host leave classes as they are", 7019, """
#include <type_traits>
#include <vector>
struct Inside { int a; std::vector<int>* v; ~Inside() { delete v; } };
struct Said { int a; __host__ ~Said() { cudaFree(0); } };
struct Outside { int a; ~Outside(); };
Outside::~Outside() { std::vector<int> v; }
struct Table { int a; virtual ~Table() { cudaFree(0); } };
struct Derived : Table { int b; ~Derived() override { cudaFree(0); } };
template <class T> struct Of { T a; ~Of(); };
template <class T> Of<T>::~Of() { std::vector<T> v; }
struct Trivial { int a; ~Trivial() = default; };
struct Device { int* x; __device__ ~Device() { *x += 1000; } };
template <class... T> __device__ int count() {
    return (0 + ... + int(std::is_trivially_destructible<T>::value)) +
           (0 + ... + int(std::is_trivially_copyable<T>::value));
}
__global__ void k(int* x) {
    x[0] = 6000;
    { Device d = {x}; }
    x[0] += count<Inside, Said, Outside, Table, Derived, Of<int>, Device>() * 100;
    x[0] += count<Trivial>();
    x[0] += sizeof(Derived) + std::has_virtual_destructor<Table>::value;
}
""")  # fmt: skip
_case("destructors whose definitions elsewhere are not the host's", 8, """
#include <vector>
struct Annotated { int a; ~Annotated(); };
__host__ __device__ Annotated::~Annotated() {}
struct Defaulted { int a; ~Defaulted(); };
Defaulted::~Defaulted() = default;
namespace other { struct Annotated { int a; ~Annotated(); }; }
other::Annotated::~Annotated() { std::vector<int> v; }
__global__ void k(int* x) {
    Annotated a = {3};
    Defaulted b = {5};
    x[0] = a.a + b.a;
}
""")  # fmt: skip
_case("a destructor whose definition is a macro's", 3, """
#define DESTRUCTOR(name) name::~name() {}
struct A { int a; ~A(); };
DESTRUCTOR(A)
__global__ void k(int* x) { A a = {3}; x[0] = a.a; }
""")  # fmt: skip
_case("packing that begins in a class of the host", 5, """
#include <vector>
struct Host { std::vector<int> v;
#pragma pack(push, 1)
};
struct Device { char c; int i; };
#pragma pack(pop)
__global__ void k(int* x) { x[0] = sizeof(Device); }
""")  # fmt: skip
_case("a macro that is pushed in a function of the host", 34, """
#define N 3
int host() {
#pragma push_macro("N")
#undef N
#define N 4
    return N; }
__device__ int n = N;
#pragma pop_macro("N")
__global__ void k(int* x) { x[0] = N * 10 + n; }
""")  # fmt: skip
_case("an include on two lines", 304, """
#include \\
    "a.h"
__global__ void k(int* x) { x[0] = A * 100 + __LINE__; }
""", a_h="#define A 3\n")  # fmt: skip
_case("an include in a branch that is not taken", 613, """
#ifdef NOWHERE
#include "a.h"
#elif defined(A)
#include "b.h"
#else
__device__ int n = __LINE__;
#endif
#if 0
#include "a.h"
#endif

__global__ void k(int* x) { x[0] = (n - 1) * 100 + __LINE__; }
""", a_h="#define A 3\n\n\nint a;\n", b_h="#define B 4\n\n\n\n\n")  # fmt: skip
_case("an include between comments", 306, """
/* one
*/ #include "a.h" /* two
three
four */
__global__ void k(int* x) { x[0] = A * 100 + __LINE__; }
""", a_h="#define A 3\n#include <vector>\nstd::vector<int> v;\n")  # fmt: skip
_case("digraphs", 303, """
%:include "a.h"
__global__ void k(int* x) <% x<:0:> = A * 100 + __LINE__; %>
""", a_h="#define A 3\n#include <vector>\nstd::vector<int> v;\n")  # fmt: skip
_case("'#pragma once' in a comment", 14, """
#define X(a) +a
__global__ void k(int* x) { x[0] = 0
#include "x.h"
#include "x.h"
; }
""", x_h="/*\n#pragma once\n*/\nX(3) X(4)\n")  # fmt: skip
_case("'#pragma once' under a condition", 14, """
#define X(a) +a
__global__ void k(int* x) { x[0] = 0
#include "x.h"
#include "x.h"
; }
""", x_h="#ifdef ONCE\n#pragma once\n#endif\nX(3) X(4)\n")  # fmt: skip
_case("'#pragma once' before a comment", 14, """
#include "x.h"
#include "x.h"
__global__ void k(int* x) { x[0] = A; }
""", x_h="#pragma once /* of\nall */\nstatic const int A = 14;\n")  # fmt: skip
_case("a header beside the one that includes it, not beside the file", 2, """
#include "sub/a.h"
__global__ void k(int* x) { x[0] = B; }
""", sub__a_h='#include "b.h"\n', b_h="#define B 1\n", first__b_h="#define B 2\n")  # fmt: skip
_case("the next header", 12, """
#include <a.h>
__global__ void k(int* x) { x[0] = A * 10 + B; }
""",
    first__a_h="#pragma once\n#include_next <a.h>\n#define A 1\n",
    second__a_h="#pragma once\n#define B 2\n",
)  # fmt: skip
_case("a header that a macro names", 3, """
#define H "a.h"
#include H
__global__ void k(int* x) { x[0] = A; }
""", a_h="#define A 3\n#include <vector>\nstd::vector<int> v;\nint main() {}\n")  # fmt: skip
_case("a header that a macro of another header names", 7, """
#define H "a.h"
#include "b.h"
#include H
__global__ void k(int* x) { x[0] = A; }
""",
    a_h="#define A 3\n", b_h='#undef H\n#define H "c.h"\n', c_h="#define A 7\n",
)  # fmt: skip
_case("a header beside the file in angle brackets", 3, """
#include <a.h>
__global__ void k(int* x) { x[0] = A; }
""", a_h="#define A 3\n#include <vector>\nstd::vector<int> v;\nint main() {}\n")  # fmt: skip
_case("headers beside the file that are called like CUDA's", 4, """
#include "math_constants.h"
#include "helper_cuda.h"
__global__ void k(int* x) { x[0] = MINE + ALSO; }
""", math_constants_h="#define MINE 3\n", helper_cuda_h="#define ALSO 1\n")  # fmt: skip
_case("byte order marks", 3, """\ufeff#include "a.h"
__global__ void k(int* x) { x[0] = A; }
""", a_h="\ufeff#define A 3\n")  # fmt: skip
_case("a header that ends with a backslash", 103, """
#include "a.h"
__global__ void k(int* x) { x[0] = A * 100 + __LINE__; }
""", a_h="#define A 1\n// end \\")  # fmt: skip
_case("a condition on what is defined anew", 1, """
#define V 1
#if V == 1
__global__ void k(int* x) { x[0] = 1; }
#endif
#undef V
#define V 2
#if V == 1
__global__ void k(int* x) { x[0] = 2; }
__global__ void other(int* x) { x[0] = 2; }
#endif
""")  # fmt: skip

_case("comments in the midst of includes", 3, """
#include/**/"a.h"// of A
# /* x */ include /* y */ "b.h"
__global__ void k(int* x) { x[0] = A + B; }
""",
    a_h="#define A 1\n#include <vector>\nstd::vector<int> a;\n",
    b_h="#define B 2\n#include <vector>\nstd::vector<int> b;\n",
)  # fmt: skip

# -- functions, classes, enumerations -------------------------------------------------------------

_case("a function of the host that is the better overload", 11, """
struct A { };
char probe(int) { return 0; }
__device__ long probe(...);
char is_a(A) { return 0; }
__device__ long is_a(...) { return 1; }
template <class T> char any(T) { return 0; }
__device__ long any(...);
__global__ void k(int* x) {
    x[0] = sizeof(probe(1)) + sizeof(is_a(A())) * 10 + (sizeof(any(1)) - 1) * 100;
}
""")  # fmt: skip
_case("an overload that says so", 12, """
static constexpr __device__ int f(int a, int b) { return a + b; }
static __host__ int f(int a, int b, int c) { return a * b * c; }
__host__ static inline int g(int a) { return f(a, a, a); }
__device__ int g(float a) { return f((int)a, 2) + 6; }
__global__ void k(int* x) { x[0] = g(4.f); }
""")  # fmt: skip
_case("the macro for alignment of CUDA's headers", 64, """
#include <cuda_fp16.h>
typedef struct __CUDA_ALIGN__(32) { float array[8]; } float8;
struct __CUDA_ALIGN__(16) Pair { half2 x, y; __device__ Pair() {} };
__global__ void k(int* x) { x[0] = alignof(float8) + alignof(Pair) + sizeof(Pair); }
""")  # fmt: skip
_case("one body behind two heads", 1, """
#ifdef NOWHERE
int f(int x) {
#else
__device__ int f(int x) {
#endif
    return x + 1; }
__global__ void k(int* x) { x[0] = f(0); }
""")  # fmt: skip
_case("an annotation under a condition", 1, """
#ifndef NOWHERE
__device__
#endif
int f() { return 1; }
__global__ void k(int* x) { x[0] = f(); }
""")  # fmt: skip
_case("virtual functions of the host", 161616, """
#include <iostream>
struct Base { int a; virtual void show() { std::cout << a; } virtual ~Base() { cudaFree(0); } };
struct Derived : Base {
    int b; void show() override { a = 1; } __device__ int get() { return b; }
};
template <class T> struct Of { T a; virtual void show(std::ostream& o) const { o << a; } };
struct Mixed {
    int a; virtual void show() { std::cout << a; } __device__ int get() { return a; }
};
__global__ void k(int* x) {
    x[0] = sizeof(Derived) * 10000 + sizeof(Of<char>) * 100 + sizeof(Mixed);
}
""")  # fmt: skip
_case("the order of virtual functions", 1607, """
#include <string>
struct Base {
    int a; __host__ virtual void show() { } __device__ virtual int get() { return a; }
    __host__ virtual std::string name() { return "n"; }
};
struct Derived : Base { __device__ int get() { return 7; } };
__global__ void k(int* x) { Derived d; Base* b = &d; x[0] = sizeof(Base) * 100 + b->get(); }
""")  # fmt: skip
_case("virtual functions of both, which are overridden", 41632, """
#include <iostream>
struct I {
    virtual std::string name() const = 0; virtual __device__ int go() = 0; virtual ~I() = default;
};
struct A : I {
    int v; std::string name() const override { return "A"; }
    __device__ int go() override { return v; }
};
struct B final : A {
    std::string name() const final { return "B"; } __device__ int go() final { return v + 1; }
};
struct L { int a; virtual void pa() { std::cout << a; } };
struct R { int b; virtual void pb() { std::cout << b; } };
struct LR : L, R { int c; void pa() override { std::cout << c; } void pb() override { pa(); } };
__global__ void k(int* x) {
    B b; b.v = 3; I* i = &b; x[0] = i->go() * 10000 + sizeof(B) * 100 + sizeof(LR);
}
""")  # fmt: skip
_case("overloads in namespaces", 234, """
namespace m { double f(double v) { return v; } template <class T> T g(T v) { return v; } }
__device__ float f(float v) { return v + 1; }
namespace m {
__device__ int f(int v) { return v + 2; } __device__ int g(int v) { return v + 3; }
}
__global__ void k(int* x) { x[0] = m::f(1) * 10 + m::g(1) + (int)f(1.f) * 100; }
""")  # fmt: skip
_case("overloads of types that are left out", 4, """
#include <vector>
struct Host { std::vector<int> v; };
int f(Host h, int a = 3) { return a; }
static std::ostream& f(std::ostream& o) { return o; }
typedef struct { int q; std::vector<int> z; } Also;
int f(Also a) { return 2; }
__device__ int f(int a) { return a; }
__global__ void k(int* x) { x[0] = f(4); }
""")  # fmt: skip
_case("types and numbers that a declaration has besides its name", 45, """
typedef struct Foo { int a; enum { N = 3 }; } Bar;
typedef enum Shade { RED = 4, BLUE } Color;
enum { Q = 5 } q;
struct P { int z; } p1, *p2;
using Name = struct Inner { int u[7]; };
__global__ void k(int* x) {
    Foo f; f.a = Foo::N; P p; x[0] = f.a + BLUE + Q + sizeof(p) + sizeof(Inner);
}
""")  # fmt: skip
_case("a macro that makes a kernel and who launches it", 4, r"""
#include <cstdio>
#define MAKE(name, type) /* it's */ \
    extern "C" __global__ void name(type* x) { x[0] = sizeof(type); } \
    template <class T> void launch_##name(T* p) { \
        name<<<1, 1>>>(p); printf("it's %s\n", #name); } \
    inline void other_##name(type* p) { launch_##name(p); name<<<1, 2>>>(p); }
MAKE(k, int)
MAKE(k2, double)
""")  # fmt: skip
_case("a macro that pastes a kernel's name", 4, """
#define PASTE(a, b) a##b
#define MAKE(n, v) extern "C" __global__ void PASTE(k, n)(int* x) { x[0] = v; }
MAKE(, 4)
MAKE(2, 5)
""")  # fmt: skip
_case("names that macros put together", 33, """
#define CONFIG(n) Config_##n
#define PASTE_(a, b) a##b
#define PASTE(a, b) PASTE_(a, b)
struct Config_small { enum { n = 1 }; };
struct Config_large { enum { n = 2 }; };
const int size_f32 = 4, size_f64 = 8;
static const int limit1 = 3;
typedef double real_f;
enum kind { kind_one = 12 };
__global__ void k(int* x) {
    x[0] = CONFIG(large)::n + PASTE(size_, f64) + PASTE(limit, 1) + sizeof(PASTE(real, _f))
        + PASTE(kind, _one);
}
""")  # fmt: skip
_case("a name that an option gives", 2, """
struct Slow { static const int n = 1; };
struct Fast { static const int n = 2; };
__global__ void k(int* x) { x[0] = POLICY::n; }
""")  # fmt: skip
_case("a macro for functions of devices, of the host, and of both", 9, """
#ifndef NOWHERE
#ifdef __CUDACC__
#define DEVICE __device__
#else
#define DEVICE
#endif
#else
#define DEVICE __host__
#endif
DEVICE int f() { return 4; }
DEVICE
int g() { return 5; }
__global__ void k(int* x) { x[0] = f() + g(); }
""")  # fmt: skip


def _loaded(directory: Path, files: dict[str, str]) -> Any:
    for name, text in files.items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    options = (f"-I{directory}/first", f"-I{directory}/second", "-DPOLICY=Fast")
    return kerneltk.load(directory / "main.cu", options=options)


# NVRTC compiles all of them, in a fifth of the time.
@pytest.mark.parametrize("case", half(_FILES), ids=lambda case: case[0])
def test_device_code_means_the_same(
    backend: Any, tmp_path: Path, case: tuple[str, dict[str, str], int]
) -> None:
    _, files, expected = case
    module = _loaded(tmp_path, files)
    x = backend.asarray(np.zeros(1, np.int32))
    module["k"](1, 1, (x,))
    assert backend.asnumpy(x)[0] == expected


@pytest.mark.parametrize("files", [c[1] for c in _FILES], ids=[c[0] for c in _FILES])
def test_device_code_compiles(tmp_path: Path, files: dict[str, str]) -> None:
    assert _loaded(tmp_path, files)["k"].compile_for("sm_90").kind == "cubin"


def _with_an_overload(directory: Path, head: str) -> Any:
    (directory / "m.cu").write_text(
        f"{head}char pick(int) {{ return 0; }}\n"
        "__device__ long pick(const void*) { return 1; }\n"
        "__global__ void k(int* x) { x[0] = pick(0); }\n"
    )
    return kerneltk.load(directory / "m.cu")


HEADS = pytest.mark.parametrize("head", ["", "static __host__ ", "__host__ inline "])


@HEADS
def test_a_call_of_the_hosts_overload_is_an_error(tmp_path: Path, head: str) -> None:
    with pytest.raises(CompileError, match=r"it runs on the host only[^\n]*\n  m.cu:3"):
        _with_an_overload(tmp_path, head).k(1, 1, (np.zeros(1, np.int32),))


@HEADS
def test_a_call_of_the_hosts_overload_is_an_error_of_nvrtc(tmp_path: Path, head: str) -> None:
    with pytest.raises(
        CompileError, match=r"'pick' is declared, and has no definition|was referenced but not"
    ):
        _with_an_overload(tmp_path, head).k.compile_for("sm_90")


@pytest.mark.parametrize("target", ["host", pytest.param("sm_90", id="nvrtc")])
def test_a_function_of_the_host_is_named_as_such(tmp_path: Path, target: str) -> None:
    (tmp_path / "m.cu").write_text(
        "static inline int f(int a) { return 1; }\n__global__ void k(int* x) { x[0] = f(3); }\n"
    )
    with pytest.raises(CompileError) as error:
        kerneltk.load(tmp_path / "m.cu").k.compile_for(target)
    assert str(error.value).split("\n")[1:] == [
        "  m.cu:2: __global__ void k(int* x) { x[0] = f(3); }",
        " " * 45 + "^",
        "  Hint: 'f' is a function of the host: write '__device__' before it.",
    ]


# -- other programs -------------------------------------------------------------------------------

_DEVICE = [
    "#define ONE 1",
    "#define BOTH __host__ __device__",
    "typedef struct Pair { int a, b; } Pair_t;",
    "enum Kind { K0 = 2, K1 };",
    "const int LIMIT = 9;",
    "static const float SCALE = 2.5f;",
    "namespace dev { BOTH inline int twice(int v) { return 2 * v; } }",
    "template <class T> struct Traits { static const int size = sizeof(T); };",
    "template <> struct Traits<char> { static const int size = 10; };",
    "__constant__ int table[4] = {1, 2, 3, 4};",
    "struct Vec { float x, y; BOTH float dot(Vec o) const { return x * o.x + y * o.y; } };",
    "__device__ int helper(Pair_t p) { return p.a * LIMIT + p.b; }",
    "constexpr int cube(int v) { return v * v * v; }",
    "union Bits { float f; unsigned u; };",
    """__global__ void k(int* x) {
    Pair_t p = {3, K1}; Vec v = {1.f, 2.f}; Bits b; b.f = 1.f;
    x[0] = helper(p) + dev::twice(K0) * 100 + Traits<char>::size * 1000 + table[2]
        + (int)(v.dot(v) * SCALE) + cube(3) + (b.u >> 23) + ONE + Traits<int>::size;
}""",
]
_EXPECTED = 30 + 400 + 10000 + 3 + 12 + 27 + 127 + 1 + 4
_HOST = [
    "int {n}(int a) {{ return a + ONE; }}",
    "static std::vector<int> {n};",
    "void {n}() {{ k<<<1, 1>>>(nullptr); cudaDeviceSynchronize(); }}",
    "struct {n} {{ std::string s; void f() {{ std::cout << s; }} virtual ~{n}() {{}} }};",
    "template <class T> T {n}(T a) {{ return std::max(a, a); }}",
    '#define {n}(x) do {{ if (x) {{ fprintf(stderr, "it\'s\\n"); exit(1); }} }} while (0)',
    "class {n} {{ public: {n}() {{ cudaMalloc(&p, 4); }} ~{n}() {{ cudaFree(p); }} int* p; }};",
    """int {n}(int c, char** v) {{ const char* u = R"(__global__ void z() {{ " )"; char q = '"';
    /* }} */ return c; }}""",
    "namespace {n} {{ int {m} = 3; int f() {{ return {m}; }} }}",
    'extern "C" {{ int {n}(float* a); void {m}() {{ printf("x"); }} }}',
    "using {n} = std::vector<float>; inline {n} {m}() {{ return {n}(3); }}",
    "static float* {n} = NULL, *{m};",
    'enum {n} {{ {m}A, {m}B }}; void {m}({n} e) {{ switch (e) {{ case {m}A: puts("a"); }} }}',
    "auto {n} = [](int a) {{ return a * 2; }};",
    """struct {n} : std::exception {{
    const char* what() const noexcept override {{ return "w"; }} }};
void {m}() {{ throw {n}(); }}""",
    "/* {n} __global__ void q() {{ */ // #define ONE 2",
    'const char* {n} = "#define ONE 5\\\n __device__ {{";',
    "double {n}() {{\n#define {m} 4\n    struct timeval t; return t.tv_sec + {m}; }}",
    "[[maybe_unused]] static int {n}() {{ return 3; }}",
    "int {n}() try {{ return 1; }} catch (...) {{ return 2; }}",
    "template <typename... A> void {n}(A&&... a) {{ (std::cout << ... << a); }}",
    "#ifdef __CUDA_ARCH__\n#else\nint {n}() {{ return 1; }}\n#endif",
    "#if 0\n__device__ int helper(int) {{ garbage ' \" \n#endif",
    "thread_local int {n} = 0;",
    "int {n}(\n    int a, // it's\n    int b) /* \" */\n{{\n    return a + b;\n}}",
]
_AROUND = [
    "#ifndef NOWHERE_{n}\n{inner}\n#endif",
    "#if 1 && !defined(NOWHERE_{n})\n{inner}\n#else\nint {n};\n#endif",
    "#ifdef NOWHERE_{n}\n{inner}\n#endif",
    "namespace {n} {{\n{inner}\n}}",
    "namespace {{\n{inner}\n}}",
]
_HEADERS = "#include <iostream>\n#include <string>\n#include <vector>\n#include <sys/time.h>\n"


def _host_code(rng: random.Random, depth: int) -> str:
    n = rng.choice(["run", "helper_h", "size", "value", "p"]) + str(rng.randrange(10**6))
    m = "launch" + str(rng.randrange(10**6))
    if depth < 2 and rng.random() < 0.15:
        inner = "\n".join(_host_code(rng, depth + 1) for _ in range(2))
        return rng.choice(_AROUND).format(n=n, inner=inner)
    return rng.choice(_HOST).format(n=n, m=m)


def _random_file(directory: Path, seed: int) -> Any:
    rng = random.Random(seed)
    parts = [_HEADERS]
    for declaration in _DEVICE:
        parts += [_host_code(rng, 0) for _ in range(rng.randrange(4))]
        parts.append(declaration)
    source = "\n".join((*parts, "int main() { k<<<1, 1>>>(nullptr); }", ""))
    if seed == 1:
        source = "\ufeff" + source.replace("\n", "\r\n")
    (directory / "m.cu").write_bytes(source.encode())
    return kerneltk.load(directory / "m.cu")


@pytest.mark.parametrize("seed", range(5))
def test_random_code_of_the_host_changes_nothing(backend: Any, tmp_path: Path, seed: int) -> None:
    x = backend.asarray(np.zeros(1, np.int32))
    _random_file(tmp_path, seed).k(1, 1, (x,))
    assert backend.asnumpy(x)[0] == _EXPECTED


@pytest.mark.parametrize("seed", range(5))
def test_random_code_of_the_host_compiles(tmp_path: Path, seed: int) -> None:
    assert _random_file(tmp_path, seed).k.compile_for("sm_90").kind == "cubin"


@pytest.mark.parametrize("target", ["host", "sm_90"])
@pytest.mark.parametrize(
    "declared",
    [
        "std::vector<int> make(int n);",
        "namespace { int make(int n, const std::vector<int>& v = {}) { return n; } }",
        "inline std::vector<int> make(int n) { return std::vector<int>(n); }",
    ],
)
def test_what_is_asked_of_a_function_with_types_of_the_host_compiles_not(
    tmp_path: Path, declared: str, target: str
) -> None:
    """nvcc says that it can be called, and without a declaration nothing could."""
    (tmp_path / "m.cu").write_text(
        f"#include <vector>\n{declared}\n"
        "template <class T> __device__ auto has(int) -> decltype(make(T()), 1) { return 1; }\n"
        "template <class T> __device__ int has(...) { return 0; }\n"
        "__global__ void k(int* x) { x[0] = ASKED; }\n"
    )
    assert kerneltk.load(tmp_path / "m.cu", options=("-DASKED=1",)).compile_for(target).code
    with pytest.raises(CompileError) as error:
        kerneltk.load(tmp_path / "m.cu", options=("-DASKED=has<int>(0)",)).compile_for(target)
    told = str(error.value)
    assert "'make' is a function of the host with types that device code does not have" in told
    assert "m.cu:2: " in told


# -- changes --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("head", "options"),
    [
        ("#define S_(x) #x\n#define S(x) S_(x)\n#include S(a.h)\n", ()),
        ("#include H\n", ('-DH="a.h"',)),
        ("#include H\n", ("-D", "H=<a.h>")),
        ('#define I "a.h"\n#define H I\n#if 1\n#include H\n#endif\n', ()),
        ("#define I <a.h>\n#if __has_include(I)\n#include I\n#endif\n", ()),
    ],
)
def test_a_change_of_a_header_that_a_macro_names(
    tmp_path: Path, head: str, options: tuple[str, ...]
) -> None:
    main, header = tmp_path / "m.cu", tmp_path / "a.h"
    main.write_text(head + "__global__ void k(int* x) { x[0] = A; }\n")
    x = np.zeros(1, np.int32)
    for number in (1, 2, 1):
        header.write_text(f"#define A {number}\n")
        kerneltk.load(main, options=options).k(1, 1, (x,))
        assert x[0] == number


def test_a_link_to_a_header_is_the_same_header(tmp_path: Path) -> None:
    (tmp_path / "a.h").write_text("#pragma once\nstatic const int A = 3;\n")
    (tmp_path / "link").symlink_to(tmp_path)
    (tmp_path / "m.cu").write_text(
        '#include "a.h"\n#include "link/a.h"\n__global__ void k(int* x) { x[0] = A; }\n'
    )
    x = np.zeros(1, np.int32)
    kerneltk.load(tmp_path / "m.cu").k(1, 1, (x,))
    assert x[0] == 3


# -- memory that is volatile ----------------------------------------------------------------------

_REDUCTION = """__device__ void sum(volatile int* s, int t) {
    if (t < 16) {
        s[t] += s[t + 16]; s[t] += s[t + 8]; s[t] += s[t + 4]; s[t] += s[t + 2]; s[t] += s[t + 1];
    }
}
"""
_SUM = """__global__ void k(int* x) {
    __shared__ int s[32];
    const int t = threadIdx.x;
    s[t] = x[t];
    __syncthreads();
    sum(s, t);
    if (t == 0) x[0] = s[0];
}
"""


@pytest.mark.parametrize("head", ["#include <a.h>\n", '#define H "a.h"\n#include H\n'])
def test_lanes_run_in_step_in_a_header(backend: Any, tmp_path: Path, head: str) -> None:
    (tmp_path / "a.h").write_text(_REDUCTION)
    (tmp_path / "m.cu").write_text(head + _SUM)
    x = backend.asarray(np.arange(32, dtype=np.int32))
    kerneltk.load(tmp_path / "m.cu").k(1, 32, (x,))
    assert backend.asnumpy(x)[0] == 496


@pytest.mark.parametrize(
    ("head", "options", "where", "hint"),
    [
        ("#define S_(x) #x\n#define S(x) S_(x)\n#include S(a.h)\n", (), "'m.cu', line 3",
         "write its name in the line that includes it, in quotes"),
        ("#include H\n", ('-DH="a.h"',), "'m.cu', line 1",
         "write its name in the line that includes it, in quotes"),
        ("", ("-include", "{}/a.h"), "compile options", "include it in the source, in quotes"),
    ],
)  # fmt: skip
def test_a_header_that_is_not_read_is_told(
    tmp_path: Path, head: str, options: tuple[str, ...], where: str, hint: str
) -> None:
    (tmp_path / "a.h").write_text(_REDUCTION)
    (tmp_path / "m.cu").write_text(head + _SUM)
    options = tuple(option.format(tmp_path) for option in options)
    with pytest.warns(RuntimeWarning) as told:
        kerneltk.load(tmp_path / "m.cu", options=options).k(1, 32, (np.zeros(32, np.int32),))
    first, second = str(told[0].message).split("\n")
    assert first.startswith(f"{where}: lanes of a warp do not meet before accesses to volatile")
    assert "a.h' or by its names" in first
    assert second == f"  Hint: {hint}."

"""What a compiler of device code alone refuses, found in a source."""

from __future__ import annotations

import re

import pytest

from kerneltk.cache import stand_ins
from kerneltk.cuda_cpp.syntax.host_part.device_only import HOST_STD, explanation, find_host_only


def found(source: str) -> list[tuple[str, str]]:
    return [(one.kind, one.name) for one in find_host_only(source)[0]]


@pytest.mark.parametrize(
    ("source", "kinds"),
    [
        ("namespace n { float f(); int v; const int c = 1; }",
         [("function", "f"), ("variable", "v")]),
        ("struct S { S() = default; S(int); static int n; __shared__ int m, k[2]; };",
         [("function", "S"), ("member", "n"), ("memory of a member", "m"),
          ("memory of a member", "k")]),
        ("template <class T> T f(T x) { return x; }", [("function", "f")]),
        ("const char* a = 0; const char* const b = 0; char* const c = 0;", [("variable", "a")]),
        ("typedef const int fixed; fixed n = 3; extern const int m;", []),
        ("__host__ void f(); __host__ __device__ void g();", [("host function", "f")]),
        ("__device__ void f() { std::cout << 1; std::max(1, 2); }", [("library", "cout")]),
        ("__device__ void f() { __shared__ int a = 1; __device__ int b; extern int c; }",
         [("shared value", "a"), ("device in function", "b"), ("variable", "c")]),
        ("__device__ void f() { extern __device__ void g(); __device__ int h(int); }", []),
        ("__constant__ int c[2]; __device__ void f() { c[0] += 1; int d = c[1]; }",
         [("constant written", "c")]),
        ("__device__ void f() { __shared__ double a[4096], b[2048]; __shared__ char c; }",
         [("shared memory", "c")]),
        ("#define N 16384\n__device__ void f() { __shared__ float s[N]; }",
         [("shared memory", "s")]),
        ("#define N (128u)  // rows\n__device__ void f() { __shared__ float s[N][N]; }",
         [("shared memory", "s")]),
        ("#define N 12288\n__device__ void f() { __shared__ float s[N]; }", []),
        ("#define N 16384\n#undef N\n#define N 1\n"
         "__device__ void f() { __shared__ float s[N]; }", []),
        ("#if A\n#define N 16384\n#else\n#define N 1\n#endif\n"
         "__device__ void f() { __shared__ float s[N]; }", []),
        ("#ifndef N\n#define N 16384\n#endif\n__device__ void f() { __shared__ float s[N]; }", []),
        ("#define N M\n__device__ void f() { __shared__ float s[N]; }", []),
        ("__device__ void f() { __shared__ double a[6144]; extern __shared__ int b[]; }", []),
        ("__device__ void f() { struct S { __device__ int g() { return 1; } } s; }", []),
        ("struct S { __device__ int g() { return 1; } } s;", [("variable", "s")]),
        ("#if 0\nvoid f() {}\n#endif\n", []),
        ("typedef __int128 big; using other = big; __device__ other v;",
         [("128 bits", "__int128 <int128>")]),
        ("#define HALF _Float16\n__global__ void k() { HALF a; }", [("extension", "_Float16")]),
        ("typedef __int128 big; __global__ void k() {}", []),
        ("#if A\ntypedef __int128 a;\n#else\ntypedef int a;\n#endif\n__global__ void k() { a b; }",
         []),
        ("typedef __int128 big; __global__ void k(int big) { big = 1; }", []),
        ("__device__ void f(int* x) { *x = std::plus<float>()(1, std::lerp(1, 2, 3)); }", []),
        ("__constant__ float c; __global__ void k(float c) { c = 2 * c; }", []),
        ("__constant__ int c; struct S { int c; __device__ S() { c = 1; } };", []),
        ("__constant__ int c; __device__ void f() { for (int i = 0, c = 3; c < 4; ++c) {} }", []),
        ("namespace a { __constant__ int c; } namespace b { __device__ int c; "
         "__device__ void f() { c = 1; } }", []),
        ("struct S { __device__ friend bool operator==(S, S) { return true; } "
         "__device__ friend bool operator<(S, S); };", []),
        ("#define FIELD(t, n) t n\nstruct S { FIELD(int, a); };", []),
        ("struct D { __device__ int operator()(int a); };\n"
         "__device__ void f() { D sleep{}, access, puts[2]; access(1); puts[0](2); }", []),
        ("__global__ auto k(float* x) -> void {}", []),
        ("__global__ auto k(float* x) { return 1; }", [("kernel result", "k")]),
        ("__global__ void k(float& x, const int (&y)[2]) {}", []),
        ("template <class... T> __global__ void k(T... x) {}", []),
        ("__global__ void k(float&& x) {}", [("kernel parameter", "k")]),
        ("__global__ void k(int n, ...) {}", [("kernel parameter", "k")]),
        ("#define HD __device__\nHD int f() { return 1; }", []),
        ("#define NONE\nNONE int f() { return 1; }", [("function", "f")]),
        ("struct S { operator int() { return 1; } };", [("function", "operator int")]),
        ("struct P { int x; } __constant__ p; __device__ int a = p.x;", [("computed value", "a")]),
    ],
)  # fmt: skip
def test_kinds(source: str, kinds: list[tuple[str, str]]) -> None:
    assert found(source) == kinds


def test_conditions_and_keys() -> None:
    (one,), annotated = find_host_only(
        "#ifdef A\nvoid f(int n);\n#endif\n__device__ void f(int count) {}\n"
    )
    assert one.guard == "(defined(A))"
    assert one.key in annotated


def test_every_kind_is_explained() -> None:
    for source in ("int n;", "void f() {}", "__device__ void f() { puts(0); double x = NAN; }"):
        for one in find_host_only(source)[0]:
            sentence, hint = explanation(one)
            assert one.name.partition(" ")[0] in sentence
            assert hint.endswith(".")
            assert "{" not in hint


def test_headers_for_nvrtc_have_opaque_types_alone_of_what_is_the_host_s() -> None:
    headers = stand_ins.headers("nvrtc").values()
    sources = [re.sub(r"//[^\n]*", "", source.decode()) for source in headers]
    # Without what includes name, alone or in a condition.
    code = "\n".join(re.sub(r"#.*", "", source) for source in sources)
    names = "|".join(sorted(HOST_STD))
    assert not re.findall(rf"\b(?:{names})\s*\(", re.sub(r"\bbasic_string\s*\(", "", code))
    assert not re.findall(rf"\busing\s+(?:{names})\s*=", code)
    for found in re.finditer(rf"\b(?:class|struct)\s+({names})\b[^;{{}}]*\{{([^{{}}]*)\}}", code):
        assert not found[2].strip() or "_kt_opaque" in found[2], found[0]

# ruff: noqa: E501
"""Programs of which NVRTC takes some and refuses others: code of the host in strings."""

from __future__ import annotations

# By name: whether NVRTC takes it, and the source of kernel `k`.
PROGRAMS: dict[str, tuple[bool, str]] = {
    "fn called": (
        False,
        "float f(float a) { return a * 2; }\n"
        'extern "C" __global__ void k(float* x) { x[0] = f(x[0]); }',
    ),
    "constexpr fn called": (
        False,
        "constexpr float f(float a) { return a * 2; }\n"
        'extern "C" __global__ void k(float* x) { x[0] = f(x[0]); }',
    ),
    "constexpr fn const": (
        False,
        "constexpr int f(int a) { return a * 2; }\n"
        'extern "C" __global__ void k(float* x) { constexpr int n = f(3); x[0] = n; }',
    ),
    "template fn called": (
        False,
        "template <class T> T f(T a) { return a * 2; }\n"
        'extern "C" __global__ void k(float* x) { x[0] = f(x[0]); }',
    ),
    "ns fn called": (
        False,
        "namespace n { float f(float a) { return a * 2; } }\n"
        'extern "C" __global__ void k(float* x) { x[0] = n::f(x[0]); }',
    ),
    "proto device def plain": (
        True,
        "__device__ float f(float a);\n"
        'extern "C" __global__ void k(float* x) { x[0] = f(x[0]); }\n'
        "float f(float a) { return a * 2; }",
    ),
    "main unused": (
        False,
        'extern "C" __global__ void k(float* x) { x[0] = 1; }\nint main() { return 0; }',
    ),
    "host fn annotated unused": (
        False,
        "__host__ float f(float a) { return a * 2; }\n"
        'extern "C" __global__ void k(float* x) { x[0] = 1; }',
    ),
    "hd fn called": (
        True,
        "__host__ __device__ float f(float a) { return a * 2; }\n"
        'extern "C" __global__ void k(float* x) { x[0] = f(1); }',
    ),
    "method": (
        False,
        "struct S { float v; float get() { return v; } };\n"
        'extern "C" __global__ void k(float* x) { S s{1}; x[0] = s.get(); }',
    ),
    "method device": (
        True,
        "struct S { float v; __device__ float get() { return v; } };\n"
        'extern "C" __global__ void k(float* x) { S s{1}; x[0] = s.get(); }',
    ),
    "ctor": (
        False,
        "struct S { float v; S(float a) : v(a) {} };\n"
        'extern "C" __global__ void k(float* x) { S s(1); x[0] = s.v; }',
    ),
    "ctor defaulted": (
        True,
        "struct S { float v = 1; S() = default; };\n"
        'extern "C" __global__ void k(float* x) { S s; x[0] = s.v; }',
    ),
    "dtor": (
        False,
        "struct S { float v; ~S() { v = 1; } };\n"
        'extern "C" __global__ void k(float* x) { S s; x[0] = s.v; }',
    ),
    "operator": (
        False,
        "struct S { float v; }; S operator+(S a, S b) { return S{a.v + b.v}; }\n"
        'extern "C" __global__ void k(float* x) { S s{1}; x[0] = (s + s).v; }',
    ),
    "operator member": (
        False,
        "struct S { float v; S operator+(S b) { return S{v + b.v}; } };\n"
        'extern "C" __global__ void k(float* x) { S s{1}; x[0] = (s + s).v; }',
    ),
    "functor": (
        False,
        "struct S { float operator()(float b) const { return b; } };\n"
        'extern "C" __global__ void k(float* x) { S s; x[0] = s(1); }',
    ),
    "conversion": (
        False,
        "struct S { float v; operator float() const { return v; } };\n"
        'extern "C" __global__ void k(float* x) { S s{1}; x[0] = s; }',
    ),
    "static method": (
        False,
        "struct S { static float f(float b) { return b; } };\n"
        'extern "C" __global__ void k(float* x) { x[0] = S::f(1); }',
    ),
    "virtual method": (
        False,
        "struct S { virtual float get() { return 1; } };\n"
        'extern "C" __global__ void k(float* x) { x[0] = 1; }',
    ),
    "template class method": (
        False,
        "template <class T> struct S { T v; T get() { return v; } };\n"
        'extern "C" __global__ void k(float* x) { S<float> s{1}; x[0] = s.get(); }',
    ),
    "overload host picked": (
        False,
        "__device__ float f(float a) { return a; }\n"
        "float f(int a) { return a; }\n"
        'extern "C" __global__ void k(float* x) { x[0] = f(1); }',
    ),
    "lambda": (
        True,
        'extern "C" __global__ void k(float* x) { auto f = [](float a) { return a * 2; }; x[0] = f(1); }',
    ),
    "global lambda": (
        False,
        "auto f = [](float a) { return a * 2; };\n"
        'extern "C" __global__ void k(float* x) { x[0] = f(1); }',
    ),
    "global var": (False, 'float g = 2;\nextern "C" __global__ void k(float* x) { x[0] = g; }'),
    "static var": (
        False,
        'static float g = 2;\nextern "C" __global__ void k(float* x) { x[0] = g; }',
    ),
    "const int var": (
        True,
        'const int g = 2;\nextern "C" __global__ void k(float* x) { x[0] = g; }',
    ),
    "static const float": (
        True,
        'static const float g = 2;\nextern "C" __global__ void k(float* x) { x[0] = g; }',
    ),
    "constexpr array": (
        True,
        "constexpr float g[2] = {2, 3};\n"
        'extern "C" __global__ void k(float* x) { x[0] = g[threadIdx.x]; }',
    ),
    "int array": (
        False,
        'int g[2] = {2, 3};\nextern "C" __global__ void k(float* x) { x[0] = g[threadIdx.x]; }',
    ),
    "ns global": (
        False,
        'namespace n { int g = 2; }\nextern "C" __global__ void k(float* x) { x[0] = n::g; }',
    ),
    "class static": (
        False,
        "struct S { static int g; }; int S::g = 2;\n"
        'extern "C" __global__ void k(float* x) { x[0] = S::g; }',
    ),
    "class static constexpr array": (
        True,
        "struct S { static constexpr float g[2] = {1, 2}; };\n"
        'extern "C" __global__ void k(float* x) { x[0] = S::g[threadIdx.x]; }',
    ),
    "extern var": (False, 'extern int g;\nextern "C" __global__ void k(float* x) { x[0] = g; }'),
    "inline var": (
        False,
        'inline int g = 1;\nextern "C" __global__ void k(float* x) { x[0] = g; }',
    ),
    "string const": (
        False,
        'const char* g = "abc";\nextern "C" __global__ void k(float* x) { x[0] = g[0]; }',
    ),
    "char array": (
        True,
        'const char g[] = "abc";\n'
        'extern "C" __global__ void k(float* x) { x[0] = g[threadIdx.x]; }',
    ),
    "local static": (
        True,
        'extern "C" __global__ void k(float* x) { static int n = 0; x[0] = n++; }',
    ),
    "local static const array": (
        True,
        'extern "C" __global__ void k(float* x) { static const float t[2] = {1, 2}; x[0] = t[threadIdx.x]; }',
    ),
    "local thread_local": (
        False,
        'extern "C" __global__ void k(float* x) { thread_local int n = 0; x[0] = n++; }',
    ),
    "cout": (
        False,
        '#include <iostream>\nextern "C" __global__ void k(float* x) { std::cout << x[0]; }',
    ),
    "fopen cstdio": (
        False,
        '#include <cstdio>\nextern "C" __global__ void k(float* x) { fopen("a", "r"); }',
    ),
    "fprintf stderr": (
        False,
        '#include <cstdio>\nextern "C" __global__ void k(float* x) { fprintf(stderr, "a"); }',
    ),
    "strlen inc": (
        False,
        '#include <cstring>\nextern "C" __global__ void k(float* x) { x[0] = strlen("abc"); }',
    ),
    "printf cstdio": (
        True,
        '#include <cstdio>\nextern "C" __global__ void k(float* x) { printf("a"); }',
    ),
    "std printf": (
        True,
        '#include <cstdio>\nextern "C" __global__ void k(float* x) { std::printf("a"); }',
    ),
    "std sort": (
        False,
        '#include <algorithm>\nextern "C" __global__ void k(float* x) { std::sort(x, x + 3); }',
    ),
    "std max": (
        True,
        "#include <algorithm>\n"
        'extern "C" __global__ void k(float* x) { x[0] = std::max(x[0], x[1]); }',
    ),
    "std tuple": (
        True,
        "#include <tuple>\n"
        'extern "C" __global__ void k(float* x) { auto t = std::make_tuple(1.f, 2); x[0] = std::get<0>(t); }',
    ),
    "std pair": (
        True,
        "#include <utility>\n"
        'extern "C" __global__ void k(float* x) { std::pair<float, int> t{1.f, 2}; x[0] = t.first; }',
    ),
    "numeric_limits": (
        True,
        "#include <limits>\n"
        'extern "C" __global__ void k(float* x) { x[0] = std::numeric_limits<float>::max(); }',
    ),
    "unique_ptr": (
        False,
        "#include <memory>\n"
        'extern "C" __global__ void k(float* x) { auto p = std::make_unique<float>(1); x[0] = *p; }',
    ),
    "random": (
        False,
        "#include <random>\n"
        'extern "C" __global__ void k(float* x) { std::mt19937 g(1); x[0] = g(); }',
    ),
    "builtin": (False, 'extern "C" __global__ void k(float* x) { x[0] = __builtin_popcount(3); }'),
    "builtin expect": (
        True,
        'extern "C" __global__ void k(float* x) { if (__builtin_expect(x[0] > 0, 1)) x[0] = 1; }',
    ),
    "typeof": (
        False,
        'extern "C" __global__ void k(float* x) { __typeof__(x[0]) a = 1; x[0] = a; }',
    ),
    "variable length": (
        False,
        'extern "C" __global__ void k(float* x) { int n = x[0]; float v[n]; v[0] = 1; x[0] = v[0]; }',
    ),
    "constant length": (
        True,
        'extern "C" __global__ void k(float* x) { constexpr int n = 4; float v[n]; v[0] = 1; x[0] = v[0]; }',
    ),
    "128 bits": (
        False,
        'extern "C" __global__ void k(float* x) { __int128 a = x[0]; x[0] = float(a); }',
    ),
    "128 bits where the compiler has them": (
        True,
        'extern "C" __global__ void k(float* x) {\n#ifdef __SIZEOF_INT128__\nunsigned __int128 a = 3;\n'
        "#else\nfloat a = x[0];\n#endif\nx[0] = float(a); }",
    ),
    "128 bits by an alias": (
        False,
        "typedef unsigned __int128 wide; using wider = wide;\n"
        'extern "C" __global__ void k(float* x) { wider a = x[0]; x[0] = float(a); }',
    ),
    "128 bits by a macro": (
        False,
        '#define WIDE __int128\nextern "C" __global__ void k(float* x) { WIDE a = x[0]; x[0] = float(a); }',
    ),
    "128 bits by an alias where the compiler has them": (
        True,
        "#ifdef __SIZEOF_INT128__\ntypedef __int128 wide;\n#else\ntypedef float wide;\n#endif\n"
        'extern "C" __global__ void k(float* x) { wide a = 3; x[0] = float(a); }',
    ),
    "variable length by an alias": (
        False,
        'extern "C" __global__ void k(float* x) { int n = x[0]; typedef float row[n]; row v; v[0] = 1; x[0] = v[0]; }',
    ),
    "_Float16": (
        False,
        'extern "C" __global__ void k(float* x) { _Float16 a = x[0]; x[0] = float(a); }',
    ),
    "_Complex": (
        False,
        'extern "C" __global__ void k(float* x) { _Complex float a = 1.0f; x[0] = __real__ a; }',
    ),
    "asm in underscores": (
        False,
        'extern "C" __global__ void k(float* x) { __asm__(""); x[0] = 1; }',
    ),
    "designated": (
        False,
        'struct S { int a, b; }; extern "C" __global__ void k(float* x) { S s = {.a = 1, .b = 2}; x[0] = s.a; }',
    ),
    "designated constant": (
        False,
        "struct S { int a, b; }; __constant__ S s = {.a = 1, .b = 2};\n"
        'extern "C" __global__ void k(float* x) { x[0] = s.a; }',
    ),
    "_Float16 of a function": (
        False,
        "__device__ _Float16 f(float x) { return x; }\n"
        'extern "C" __global__ void k(float* x) { x[0] = f(x[0]); }',
    ),
    "no middle operand": (
        False,
        'extern "C" __global__ void k(float* x) { int a = x[0]; x[0] = a ?: 3; }',
    ),
    "size of a pack in a case": (
        True,
        "template <class... T> __device__ int f(int n, T...) { switch (n) { case sizeof...(T): return 1; } return 0; }\n"
        'extern "C" __global__ void k(float* x) { x[0] = f(2, 1, 1); }',
    ),
    "scope behind ?": (
        True,
        'extern "C" __global__ void k(float* x) { x[0] = x[0] > 0 ? ::sqrt(x[0]) : 0; }',
    ),
    "range of cases": (
        False,
        'extern "C" __global__ void k(float* x) { switch (int(x[0])) { case 1 ... 3: x[0] = 1; } }',
    ),
    "macro helper": (
        True,
        "#define D __device__\n"
        "D float f(float a) { return a; }\n"
        'extern "C" __global__ void k(float* x) { x[0] = f(1); }',
    ),
    "macro helper none": (
        False,
        "#define D\n"
        "D float f(float a) { return a; }\n"
        'extern "C" __global__ void k(float* x) { x[0] = f(1); }',
    ),
    "name device": (False, 'extern "C" __device__ void k(float* x) { x[0] = 1; }'),
    "kernel called": (
        True,
        "__global__ void g(float* x) { x[0] = 1; }\n"
        'extern "C" __global__ void k(float* x) { g(x); }',
    ),
    "shared initialized": (
        False,
        'extern "C" __global__ void k(float* x) { __shared__ int a = 1; x[0] = a; }',
    ),
    "constant written": (
        False,
        '__constant__ int g;\nextern "C" __global__ void k(float* x) { g = 1; }',
    ),
    "device in block": (
        False,
        'extern "C" __global__ void k(float* x) { __device__ int a; x[0] = 1; }',
    ),
    "local class method": (
        False,
        'extern "C" __global__ void k(float* x) { struct L { float f() { return 1; } }; x[0] = L().f(); }',
    ),
    "nan std": (False, 'extern "C" __global__ void k(float* x) { x[0] = NAN + INFINITY; }'),
    "uint32_t noinc": (
        False,
        'extern "C" __global__ void k(float* x) { uint32_t a = 1; x[0] = a; }',
    ),
    "in-class proto, device def": (
        False,
        "struct S { float v; float f(); }; __device__ float S::f() { return v; }\n"
        'extern "C" __global__ void k(float* x) { S s{1}; x[0]=s.f(); }',
    ),
    "in-class device, plain def": (
        True,
        "struct S { float v; __device__ float f(); }; float S::f() { return v; }\n"
        'extern "C" __global__ void k(float* x) { S s{1}; x[0]=s.f(); }',
    ),
    "spec plain of device primary": (
        True,
        "template <class T> __device__ T f(T a) { return a; } template <> float f<float>(float a) { return 2; }\n"
        'extern "C" __global__ void k(float* x) { x[0]=f(1.f); }',
    ),
    "deleted member": (
        True,
        "struct S { S(const S&) = delete; S() = default; };\n"
        'extern "C" __global__ void k(float* x) { x[0]=1; }',
    ),
    "friend fn def": (
        False,
        "struct S { friend float f(S s) { return s.v; } float v; };\n"
        'extern "C" __global__ void k(float* x) { x[0]=1; }',
    ),
    "deduction guide": (
        True,
        "template <class T> struct S { T v; __device__ S(T a) : v(a) {} }; S(const char*) -> S<int>;\n"
        'extern "C" __global__ void k(float* x) { S s(1.f); x[0]=s.v; }',
    ),
    "fn ptr global": (
        False,
        'float (*g)(float) = nullptr;\nextern "C" __global__ void k(float* x) { x[0]=1; }',
    ),
    "fn ptr global const": (
        True,
        'float (*const g)(float) = nullptr;\nextern "C" __global__ void k(float* x) { x[0]=1; }',
    ),
    "template var": (
        True,
        'template <class T> T ok = 1;\nextern "C" __global__ void k(float* x) { x[0]=1; }',
    ),
    "static member inline": (
        False,
        "struct S { inline static int g = 3; };\n"
        'extern "C" __global__ void k(float* x) { x[0]=S::g; }',
    ),
    "if 0": (
        True,
        "#if 0\n"
        "float f(float a) { return a; }\n"
        "#endif\n"
        'extern "C" __global__ void k(float* x) { x[0] = 1; }',
    ),
    "ifndef CUDACC": (
        True,
        "#ifndef __CUDACC__\n"
        "float f(float a) { return a; }\n"
        "#endif\n"
        'extern "C" __global__ void k(float* x) { x[0] = 1; }',
    ),
    "ifdef CUDACC": (
        False,
        "#ifdef __CUDACC__\n"
        "float f(float a) { return a; }\n"
        "#endif\n"
        'extern "C" __global__ void k(float* x) { x[0] = 1; }',
    ),
    "arch only": (
        False,
        "#if __CUDA_ARCH__ >= 700\n"
        "float f(float a) { return a; }\n"
        "#endif\n"
        'extern "C" __global__ void k(float* x) { x[0] = 1; }',
    ),
    "guard else": (
        True,
        "#ifdef __CUDACC__\n"
        "#define D __device__\n"
        "#else\n"
        "#define D\n"
        "#endif\n"
        "D float f(float a) { return a; }\n"
        'extern "C" __global__ void k(float* x) { x[0] = f(1); }',
    ),
    "global host": (False, "__host__ __global__ void k(float* x) { x[0] = 1; }"),
    "global constexpr": (False, "__global__ constexpr void k(float* x) { x[0] = 1; }"),
    "ret int": (False, "__global__ int k(float* x) { return 1; }"),
    "global var int": (False, "__global__ int k;"),
    "local lambda returning": (
        False,
        'extern "C" __global__ void k(float* x) { auto f = [](auto a) { return a; }; x[0] = f(1); }',
    ),
}

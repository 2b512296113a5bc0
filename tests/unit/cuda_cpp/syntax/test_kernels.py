"""What the reader finds of a kernel: parameters, qualifiers, names, documentation."""

from __future__ import annotations

import pytest

from kerneltk.cuda_cpp.syntax.declarations import DeclaredKernel
from kerneltk.cuda_cpp.syntax.kernels import with_child_launches
from kerneltk.cuda_cpp.syntax.reader import read_source


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


@pytest.mark.parametrize("head", [
    "__global__ void", "void __global__", "static __global__ void __launch_bounds__(256, 2)",
    "__launch_bounds__(256) __global__ static void", 'extern "C" __global__ void',
    "__global__\nvoid\n", "[[maybe_unused]] __global__ __attribute__((used)) void",
    "inline __global__ void __cluster_dims__(2, 1, 1)", "__global__ void MY_BOUNDS(3)",
    "template <class T> __global__ void UNKNOWN",
])  # fmt: skip
def test_heads(head: str) -> None:
    kernel = only_kernel(f"int x;\n{head} foo(float* y)\n{{ y[0] = 1; }}")
    assert kernel.name == "foo"
    assert [p.name for p in kernel.parameters] == ["y"]
    assert kernel.is_extern_c == ("extern" in head)
    assert kernel.template_parameters == (("class T",) if "template" in head else ())
    assert bool(kernel.launch_bounds) == ("__launch" in head)


def test_a_definition_hides_its_prototypes() -> None:
    (kernel,) = read_source("__global__ void f(int);\n__global__ void f(int n) {}").kernels
    assert kernel.is_definition
    assert kernel.line == 2
    assert not only_kernel("__global__ void f(int);").is_definition


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


@pytest.mark.parametrize(("launch", "call"), [
    ("g<<<1, 2>>>(x);", '::_kt_child<(&g)>("g", 1, 2)(x);'),
    ("ns::g<T, 2> <<<dim3(1, 2),\n n>>>(x);",
     '::_kt_child<(&ns::g<T, 2>)>("ns::g<T, 2>", dim3(1, 2),\n n)(x);'),
    ("g\n<<<1, 2>>>\n(x);", '::_kt_child<(&g)>("g", 1, 2)\n\n(x);'),
    ("/* g<<<1, 2>>>(x) */ x[0] = y << 2;", "/* g<<<1, 2>>>(x) */ x[0] = y << 2;"),
])  # fmt: skip
def test_launches_from_kernels(launch: str, call: str) -> None:
    source = "#if A\n__global__ void f(int* x) {{ {} }}\n#else\nint y;\n#endif\n"
    assert with_child_launches(source.format(launch)) == source.format(call)

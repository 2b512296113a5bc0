"""What a raw source is compiled to: its kernels, their templates, its variables."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import kerneltk
from kerneltk.cuda_cpp.program import RawProgram, Variable, errors_of_log
from kerneltk.cuda_cpp.source import RawSource
from kerneltk.errors import ArgumentTypeError, ArgumentValueError, CompileError
from kerneltk.object_code.reflection import ParameterType, decode


@pytest.mark.one_in(4)
@pytest.mark.parametrize("order", ["after", "before"])
@pytest.mark.parametrize("name", ["aa", "zz"])
@pytest.mark.parametrize("declared", ["__global__ void {}(int* o) {{}}", "__device__ int {};"])
def test_what_stands_under_a_false_condition(order: str, name: str, declared: str) -> None:
    good = "__global__ void f(int* o) { o[0] = 3; }\n"
    hidden = f"#ifdef NOWHERE\n{declared.format(name)}\n#endif\n"
    module = kerneltk.RawModule(code=good + hidden if order == "after" else hidden + good)
    out = np.zeros(1, np.int32)
    module.get_function("f")(1, 1, (out,))
    assert out[0] == 3
    assert dict(module.compile_for("sm_90").symbols)["f"]
    if "global" in declared:
        with pytest.raises(CompileError, match=f"no kernel '{name}'"):
            module.get_function(name)(1, 1, (out,))


REFUSED = """#include <cooperative_groups.h>
#define TURN(a, b) asm("turn %0, %1;" : "=r"(a) : "r"(b))
namespace cg = cooperative_groups;
__device__ unsigned turned(unsigned x) { unsigned y; TURN(y, x); return y; }
__device__ int rank(cg::cluster_group group) { return group.block_rank(); }
__device__ int rank(int group) { return group; }
template <class T> __global__ void clustered(T* x) { x[0] = rank(cg::this_cluster()); }
__global__ void turn(unsigned* x) { if (x[0] > 1) x[0] = turned(x[0]); }
__global__ void twice(float* x) { x[0] *= 2; }
__global__ void ranked(int* x) { x[0] = rank(7); }
"""


def test_errors_of_a_log() -> None:
    log = """In file included from k.cu:1:
/usr/include/other.h:1:2: error: #error <other.h> cannot run on CPU cores: none.
k.cu:2:7: error: 'other' has not been declared
kernel.s:40: Error: no such instruction: `all'
"""
    errors = errors_of_log(log, {"k.cu": REFUSED})
    assert errors.places == (
        ("k.cu", 1, 0, "#error <other.h> cannot run on CPU cores: none"),
        ("k.cu", 2, 7, "'other' has not been declared"),
    )
    assert not errors.has_unlocated
    assert errors_of_log("kernel.s:40: Error: no such instruction", {}).has_unlocated
    in_step = {"k.cu": REFUSED + "volatile int x;\n"}  # points are put there, and columns move
    moved = ("k.cu", 2, 0, "'other' has not been declared")
    assert moved in errors_of_log(log, in_step).places


VARIABLES = """
__constant__ int coefficient;
__device__ int hits;
__constant__ const int fixed[2] = {3, 4};
template <class T> __global__ void read(T* o) { o[0] = coefficient; ++hits; }
__global__ void plain(int* o) { o[0] = coefficient; ++hits; }
__global__ void overloaded(int* o) {}
__global__ void overloaded(short* o) {}
"""


@pytest.mark.parametrize("name", ["f<Two>", "_Z1fI3TwoEvPi"])
def test_what_only_a_template_argument_names_stays(name: str, tmp_path: Path) -> None:
    (tmp_path / "v.cu").write_text(
        "struct Two { static const int n = 2; };\n"
        "template <class T> __global__ void f(int* x) { *x = T::n; }"
    )
    x = np.zeros(1, np.int32)
    kerneltk.load(tmp_path / "v.cu").get_function(name)(1, 1, (x,))
    assert x[0] == 2


def test_templates_share_the_variables_of_their_file(tmp_path: Path) -> None:
    (tmp_path / "v.cu").write_text(VARIABLES)
    module = kerneltk.load(tmp_path / "v.cu")
    reads = [module.plain, module.read["int"], module.read["unsigned"]]
    module.get_array("coefficient", backend="host")[...] = 5
    for read, dtype in zip(reads, (np.int32, np.int32, np.uint32), strict=True):
        out = np.zeros(1, dtype)
        read(1, 1, (out,))
        assert out[0] == 5
    assert module.get_array("hits", backend="host") == 3
    with pytest.raises(ArgumentValueError, match="variables of its own"):
        module.read["short"]
    with pytest.raises(ArgumentValueError, match="variables of its own"):
        module.get_function("_Z10overloadedPs")(1, 1, (np.zeros(1, np.int16),))


def test_constants_are_read_only_views() -> None:
    fixed = kerneltk.RawModule(code=VARIABLES).get_array("fixed", backend="host")
    np.testing.assert_array_equal(fixed, [3, 4])
    assert not fixed.flags.writeable


# -- without compiling ----------------------------------------------------------------------------


def program(
    code: str, expressions: Sequence[str] | None = None, c_names: bool = False
) -> RawProgram:
    return RawProgram(RawSource(code, "code"), expressions, c_names)


@pytest.mark.parametrize(
    ("kind", "extents", "dtype", "shape"),
    [
        (ParameterType(4, 4, "int", "int"), (), "i4", ()),
        (ParameterType(2, 2, "uint", "unsigned short"), (3,), "u2", (3,)),
        (ParameterType(8, 8, "float", "double"), (2, 3), "f8", (2, 3)),
        (ParameterType(1, 1, "bool", "bool"), (), "?", ()),
        (ParameterType(2, 2, "half", "__half"), (4,), "f2", (4,)),
        (ParameterType(2, 2, "bfloat16", "__nv_bfloat16"), (4,), "u2", (4,)),
        (ParameterType(8, 8, "pointer", "float*"), (2,), "u8", (2,)),
        (ParameterType(4, 4, "enum", "E"), (), "i4", ()),
        (ParameterType(12, 4, "struct", "S"), (2,), "V12", (2,)),
        (ParameterType(8, 8, "complex", "", base="float32", count=2), (3,), "c8", (3,)),
        (ParameterType(16, 8, "complex", "", base="float64", count=2), (), "c16", ()),
        (ParameterType(4, 4, "complex", "", base="float16", count=2), (), "f2", (2,)),
        (ParameterType(16, 16, "vector", "", base="float32", count=4), (3,), "f4", (3, 4)),
        (ParameterType(4, 4, "vector", "", base="bfloat16", count=2), (3,), "u2", (3, 2)),
        (None, (), "u1", (24,)),
    ],
)
def test_variables_as_arrays(
    kind: ParameterType | None, extents: tuple[int, ...], dtype: str, shape: tuple[int, ...]
) -> None:
    found = Variable(64, 24, kind, extents).as_array()
    assert found == (np.dtype(dtype), shape)


KERNELS = """
extern "C" __global__ void plain(int* x) {}
namespace ns { __global__ void inner(int* x) {} }
template <class T, int N> __global__ void of_type(T* x) {}
__global__ void twice(int* x) {}
__global__ void twice(float* x) {}
#if FIRST
__global__ void either(int* x) {}
#else
__global__ void either(float* x) {}
#endif
__global__ void declared(int* x);
__device__ int counter;
namespace ns { __constant__ float table[3]; }
"""


@pytest.mark.parametrize(("name", "hint"), [
    ("plane", "did you mean 'plain'"),
    ("of_type", r"template of <class T, int N>: name it as 'of_type<float, 4>'"),
    ("nothing_like_it", "its kernels are 'plain', 'ns::inner', 'of_type', 'twice', 'either'"),
])  # fmt: skip
def test_kernels_that_a_source_does_not_have(name: str, hint: str) -> None:
    with pytest.raises(ArgumentValueError, match=f"offers no kernel '{name}'.\n  Hint: .*{hint}"):
        program(KERNELS).offering(name)


OVERLOADS = """
struct S { int a; };
__global__ void __launch_bounds__(64) f(const int* const n, short* x) { *x = *n; }
__global__ void f(const int* n, volatile float* x) { *x = *n; }
__global__ void f(S n, float* x) { *x = n.a; }
namespace { struct A { int a; }; __global__ void f(A n, float* x) { *x = n.a; } }
template <class T> __global__ void h(T* other, int x) {}
template <class T> __global__ void h(int n, T* x) { *x = 3; }
namespace ns { namespace { template <class T, int N> __global__ void g(int n, T* x) { *x = N; } } }
namespace ns { template <class T, int N> __global__ void f(int* n, T* x) { *x = *n; } }
template <class T> __global__ void _Zf(T* n, float* x) { *x = *n; }
__device__ int state;
"""


@pytest.mark.parametrize("is_module", [False, True])
@pytest.mark.parametrize(
    ("name", "n", "dtype"),
    [
        ("_Z1fPKiPs", np.full(1, 3, np.int32), np.int16),
        ("_Z1fPKiPVf", np.full(1, 3, np.int32), np.float32),
        ("_Z1f1SPf", np.array((3,), [("a", np.int32)])[()], np.float32),
        ("_ZN12_GLOBAL__N_11fENS_1AEPf", np.array((3,), [("a", np.int32)])[()], np.float32),
        ("_Z1hIsEviPT_", 0, np.int16),
        ("_ZN2ns12_GLOBAL__N_11gIfLi3EEEviPT_", 0, np.float32),
        ("_ZN2ns1fIfLi7EEEvPiPT_", np.full(1, 3, np.int32), np.float32),
        ("_Zf<int>", np.full(1, 3, np.int32), np.float32),
    ],
)
def test_overloads_by_their_mangled_names(is_module: bool, name: str, n: Any, dtype: Any) -> None:
    module = kerneltk.RawModule(code=OVERLOADS)
    kernel = module.get_function(name) if is_module else kerneltk.RawKernel(OVERLOADS, name)
    x = np.zeros(1, dtype)
    kernel((1,), (1,), (n, x))
    assert x == [3]
    with pytest.raises(ArgumentTypeError) as refused:
        kernel((1,), (1,), (n, x.astype(np.float64)))
    is_bounded = name == "_Z1fPKiPs"
    assert ("short* x" in str(refused.value)) == is_bounded
    assert "other" not in str(refused.value)
    assert kernel.max_threads_per_block == (64 if is_bounded else 1024)


def test_overloads_by_their_mangled_names_compile_for_gpus() -> None:
    names = ["_Z1fPKiPVf", "_ZN2ns1fIfLi7EEEvPiPT_"]
    module = kerneltk.RawModule(code=OVERLOADS, name_expressions=names)
    assert [symbol for _, symbol in module.compile_for("sm_90").symbols[:2]] == names
    told = "2 kernels have this name, .*\n  Hint: 'g' takes \\(int\\) or \\(char, S\\* const\\)"
    overloads = "struct S; __global__ void g(int n) {} __global__ void g(char n, S* const s) {}"
    with pytest.raises(CompileError, match=told):
        kerneltk.RawKernel(overloads, "_Z1gPd")((1,), (1,), (np.zeros(1),))
    with pytest.raises(CompileError, match="Hint: this is the mangled name of another function"):
        kerneltk.RawKernel('extern "C" __global__ void _Z1gv() {}', "_Z1gv")((1,), (1,), ())


def test_pointers_to_templates_that_nvrtc_finds() -> None:
    code = "template <class T> __global__ void f(T*) {} template <class T> __global__ void f(T) {}"
    names = [f"{cast}(f<int>)" for cast in ("(void (*)(int*))", "static_cast<void (&)(int*)>")]
    code, names = f"{code} template <int> __global__ void g() {{}}", [*names, "&g<1>"]
    symbols = kerneltk.RawModule(code=code, name_expressions=names).compile_for("sm_90").symbols
    assert [symbol for _, symbol in symbols] == ["_Z1fIiEvPT_", "_Z1fIiEvPT_", "_Z1gILi1EEvv"]
    word = "__attribute__((weak))"
    for given, options in ((word, ()), ("WEAK", (f"-DWEAK={word}",))):
        weak = f"template <int> __global__ {given} void g() {{}}"
        module = kerneltk.RawModule(code=weak, name_expressions=["g<1>"], options=options)
        assert module.compile_for("sm_90").symbols == (("g<1>", "_Z1gILi1EEvv"),)


@pytest.mark.parametrize("target", ["sm_90", "compute_90"])
def test_nvrtc_describes_many_kernels_in_groups(target: str) -> None:
    code = (
        "struct S { int a[3]; };\n#if 1\n__global__ void g(double) {}\n#endif\n__device__ int v;\n"
    )
    code += "template <int N, class T> __global__ void f(T*, int (*)[N]) {}"
    names = [f"f<{n}, {('float', 'S')[n % 2]}>" for n in range(1, 41)]
    found = program(code, [*names, "g"]).build(target)
    types = {name: [t.name for t in decode(data)] for name, data in found.reflection if name != "v"}
    expected = {
        n: [f"{n[n.index(',') + 2 : -1]}*", f"int (*)[{k}]"] for k, n in enumerate(names, 1)
    }
    assert types == {**expected, "g": ["double"]}
    with pytest.raises(CompileError, match="offers no kernel 'h<3>': identifier"):
        program(code, [*names, "h<3>"]).build(target)


@pytest.mark.parametrize("target", ["host", pytest.param("sm_90", id="nvrtc")])
def test_arguments_that_a_template_with_bounds_does_not_take(target: str) -> None:
    code = (
        "template <int N> __global__ void __launch_bounds__(N) f(int* x) { *x = N; }\n"
        "__global__ void g(int* x) { *x = 1; }\n"
    )
    for names in (["f<float>", "g"], ["g", "f<float>"]):
        with pytest.raises(CompileError, match="offers no kernel 'f<float>'"):
            kerneltk.RawModule(code=code, name_expressions=names).compile_for(target)


def test_cpu_cores_compile_a_large_module_in_parts() -> None:
    code = "template <int N> __global__ void f(int* x) { x[0] = N; }"
    names = [f"f<{n}>" for n in range(40)]
    module = kerneltk.RawModule(code=code, name_expressions=names)
    x = np.zeros(1, np.int32)
    for n in (3, 7, 39):
        module.get_function(f"f<{n}>")(1, 1, (x,))
        assert x == [n]
    parts = module._program._made  # type: ignore[union-attr]
    assert [first in parts for first in (0, 16, 32)] == [True, False, True]
    module.compile(backend="host")
    assert 16 in parts
    module.get_function("f<99>")(1, 1, (x,))
    assert x == [99]


@pytest.mark.one_in(4)
@pytest.mark.parametrize("place", ["source", "spliced", "option", "macro"])
def test_kernels_of_a_large_module_share_a_variable(place: str, tmp_path: Path) -> None:
    header = tmp_path / "total.h"
    header.write_text("__device__ int total;\n")
    declared, options = {
        "source": ("__device__ int total;", ()),
        "spliced": ("__dev\\\nice__ int total;", ()),
        "option": ("", ("-include", str(header))),
        "macro": ("#include H", (f"-I{tmp_path}", '-DH="total.h"')),
    }[place]
    code = f"{declared}\ntemplate <int N> __global__ void f(int* x) {{ total += N; x[0] = total; }}"
    names = [f"f<{n}>" for n in range(40)]
    module = kerneltk.RawModule(code=code, name_expressions=names, options=options)
    x = np.zeros(1, np.int32)
    for name in ("f<3>", "f<39>"):
        module.get_function(name)(1, 1, (x,))
    assert x == [42]
    if place == "source":
        assert module.get_array("total", backend="host") == 42

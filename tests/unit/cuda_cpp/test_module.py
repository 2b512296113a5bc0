"""Modules of CUDA C++: their kernels by name, and the files that they are of."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import kerneltk
from kerneltk.cuda_cpp.module import ModulePrograms, read_programs
from kerneltk.cuda_cpp.options import template_argument
from kerneltk.cuda_cpp.program import RawProgram
from kerneltk.cuda_cpp.source import RawSource
from kerneltk.errors import (
    ArgumentTypeError,
    ArgumentValueError,
    NoSuchKernelError,
    SignatureError,
)

from .test_kernel import kernel


@pytest.mark.parametrize("path", [b"x.cu", None, 3])
def test_paths_that_are_none(path: Any) -> None:
    with pytest.raises(ArgumentTypeError, match="path of a file"):
        kerneltk.load(path)


# -- without compiling ----------------------------------------------------------------------------


def programs(**sources: str) -> ModulePrograms:
    return ModulePrograms(
        [
            RawProgram(RawSource(code, f"{name}.cu", directory="/d"), None)
            for name, code in sources.items()
        ]
    )


F = "template <class T> __global__ void f(T* x) {}\n"
G = "__global__ void g(int* x) {}\n"
H = "namespace ns { __global__ void h(int* x) {} }\n"


def test_the_file_that_has_a_kernel_offers_it() -> None:
    module = programs(one=F, two=G + H)
    one, two = module.all
    assert module.owner("g") is module.owner("ns::h") is two
    assert module.owner("f<int>") is one
    assert module.offered == ("f<int>", "g", "ns::h")
    assert module.title == "one.cu"
    with pytest.raises(ArgumentValueError, match=r"'one\.cu' offers no kernel 'k'"):
        module.owner("k")


def test_two_files_with_the_same_kernel() -> None:
    module = programs(one=G, two=G)
    with pytest.raises(ArgumentValueError, match=r"'g': 'one\.cu', 'two\.cu'\.\n.*one by one"):
        module.owner("g")
    with pytest.raises(ArgumentValueError, match="several files"):
        module.build("sm_90")
    assert module.offered == ("g",)


def test_names_without_namespaces() -> None:
    module = programs(one=F + H, two="namespace other { " + H + "}")
    assert module.declared("f").template_parameters == ("class T",)
    assert module.last_names.keys() == {"f", "h"}
    with pytest.raises(NoSuchKernelError, match=r"Several .* 'h': 'ns::h', 'other::ns::h'"):
        module.declared("h")
    with pytest.raises(NoSuchKernelError, match=r"'one\.cu' has no kernel 'ff'\.\n.*mean 'f'\?"):
        module.declared("ff")
    with pytest.raises(NoSuchKernelError, match=r"no kernel 'g'\.\n.*'g' is declared without"):
        programs(one=F + "void g(int* x) {}").declared("g")
    with pytest.raises(NoSuchKernelError, match=r"'one\.cu' has no kernel 'something'\.\Z"):
        module.declared("something")


def test_modules_of_equal_sources_have_variables_of_their_own() -> None:
    source = (
        "__device__ int calls;\n"
        "template <class T> __device__ T& count() { static T c = 0; return c; }\n"
        'extern "C" __global__ void f(int* x) { x[0] = ++calls; x[1] = ++count<int>(); }\n'
    )
    for make in (
        lambda: kerneltk.RawKernel(source, "f"),
        lambda: kerneltk.RawModule(code=source).get_function("f"),
    ):
        x = np.zeros(2, np.int32)
        first = make()
        for made, expected in ((first, 1), (make(), 1), (first, 2)):
            made(1, 1, (x,))
            assert x.tolist() == [expected, expected]


@pytest.mark.parametrize(
    ("argument", "spelled"),
    [
        ("const float4*", "const float4*"),
        (3, "3"),
        (-1, "-1"),
        (2**63, str(2**63)),
        (True, "true"),
        (False, "false"),
        (np.int64(3), "3"),
        (np.uint8(0), "0"),
        (np.True_, "true"),
        (np.float32, "float"),
        (np.dtype("u1"), "unsigned char"),
        (int, "long long"),
        (float, "double"),
        (bool, "bool"),
        (np.dtype("f2"), "__half"),
        (complex, "complex<double>"),
    ],
)
def test_template_arguments(argument: Any, spelled: str) -> None:
    assert template_argument(argument) == spelled


@pytest.mark.parametrize("argument", [None, 1.5, np.float32(1), np.zeros(2), [1], b"int"])
def test_what_is_no_template_argument(argument: Any) -> None:
    with pytest.raises(ArgumentTypeError, match=r"must be a dtype, an integer or a string, not"):
        template_argument(argument)


def files(directory: Path) -> tuple[Path, Path]:
    one, two = directory / "one.cu", directory / "two.cu"
    one.write_text("template <class T> __global__ void f(T* x) {}\n__global__ void g(int* x) {}\n")
    two.write_text("namespace ns { template <int N> __global__ void h(int* x) {} }\n")
    return one, two


def test_without_files_or_names(tmp_path: Path) -> None:
    assert read_programs((), (), "nvrtc", (), ()) == []
    one, two = read_programs(map(str, files(tmp_path)), (), "nvrtc", (), ())  # type: ignore[arg-type]
    assert (one.offered, two.offered) == (("g",), ())


def test_names_that_no_file_has(tmp_path: Path) -> None:
    for name in ("k<int>", "h<3>"):  # the namespace is part of the name
        with pytest.raises(ArgumentValueError, match=rf"No kernel is called '{name}' in .*two\.cu"):
            read_programs(files(tmp_path), (), "nvrtc", (), ("f<int>", name))


# -- texts ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("end", ["\0", "\ud800"])
def test_code_is_text(end: str) -> None:
    code = "__global__ void f() {}"
    for make in (
        lambda: kerneltk.RawKernel(code + end, "f"),
        lambda: kerneltk.RawKernel(code, f"f{end}"),
        lambda: kerneltk.RawModule(code=code + end),
        lambda: kerneltk.RawModule(code=code, name_expressions=["f", f"f{end}"]),
    ):
        with pytest.raises(SignatureError, match=r"holds a (null character|lone surrogate)"):
            make()


def test_values_are_moved_without_a_header() -> None:
    made = kernel("int* x", "int y = 3; x[0] = std::move(y) + std::forward<int>(y);")
    x = np.zeros(1, np.int32)
    made(1, 1, (x,))
    assert x[0] == 6
    assert made.compile_for("sm_90").code


def test_null_characters_in_options_and_paths() -> None:
    with pytest.raises(SignatureError, match="null character"):
        kerneltk.RawKernel("__global__ void f() {}", "f", options=("-I/a\0b",))
    for read in (kerneltk.load, lambda path: kerneltk.RawModule(path=path)):
        with pytest.raises(ArgumentValueError, match="cannot be read: embedded null"):
            read("a\0b")


def test_names_paths_and_template_arguments_of_other_types(tmp_path: Path) -> None:
    (tmp_path / "t.cu").write_text("template <class T> __global__ void t(T* x) {}")
    module = kerneltk.load(tmp_path / "t.cu")
    with pytest.raises(ArgumentTypeError, match="'name' must be a string, not 'int'"):
        module.get_function(3)  # type: ignore[arg-type]
    with pytest.raises(ArgumentTypeError, match=r"template argument must be a dtype, .* not 1\.5"):
        module.t[1.5]
    with pytest.raises(ArgumentTypeError, match="'path' must be the path of a file, not 3"):
        kerneltk.RawModule(path=3)  # type: ignore[arg-type]


# -- modules --------------------------------------------------------------------------------------


def test_subscripts_take_what_kernels_lists(tmp_path: Path) -> None:
    (tmp_path / "n.cu").write_text(
        "namespace a { template <class T> __global__ void t(T* o) { o[0] = 2; }"
        "__global__ void k(int* o) { o[0] = 3; } }"
    )
    module = kerneltk.load(tmp_path / "n.cu", name_expressions=["a::t<int>"])
    assert module.kernels == ("a::k", "a::t<int>")
    out = np.zeros(1, np.int32)
    for name, value in (("a::k", 3), ("a::t<int>", 2)):
        module[name](1, 1, (out,))
        assert out[0] == value
    assert module["a::k"] is module.k
    with pytest.raises(NoSuchKernelError, match=r"no kernel 'a::t<float>'"):
        module["a::t<float>"]

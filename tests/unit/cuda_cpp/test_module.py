"""Modules of CUDA C++: their kernels by name, and the files that they are of."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import kerneltk
from kerneltk.cuda_cpp.module import ModulePrograms
from kerneltk.cuda_cpp.program import RawProgram
from kerneltk.cuda_cpp.source import RawSource
from kerneltk.errors import ArgumentTypeError, ArgumentValueError, NoSuchKernelError

from .test_program import VARIABLES


@pytest.mark.exhaustive
def test_kernels_are_made_once(tmp_path: Path) -> None:
    (tmp_path / "v.cu").write_text(VARIABLES)
    module = kerneltk.load(tmp_path / "v.cu")
    assert module.plain is module.get_function("plain")
    assert module.read["int"] is module.read["int"]
    (tmp_path / "w.cu").write_text("__global__ void options(int* o) { o[0] = 9; }")
    other = kerneltk.load(tmp_path / "w.cu")
    out = np.zeros(1, np.int32)
    other["options"](1, 1, (out,))
    assert out[0] == 9
    both = kerneltk.load(tmp_path / "w.cu", tmp_path / "v.cu")
    assert both.options == ()
    with pytest.raises(ArgumentValueError, match="several files"):
        both.compile_for("host")


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
        for kernel, expected in ((first, 1), (make(), 1), (first, 2)):
            kernel(1, 1, (x,))
            assert x.tolist() == [expected, expected]

"""Programs of files, and template arguments."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kerneltk.cuda_cpp.module import read_programs
from kerneltk.cuda_cpp.options import template_argument
from kerneltk.errors import ArgumentTypeError, ArgumentValueError


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


def test_templates_are_asked_of_the_file_that_has_them(tmp_path: Path) -> None:
    names = ("f<float>", "ns::h<3>", "f<int>")
    one, two = read_programs(files(tmp_path), (), "nvrtc", (), names)
    assert one.offered == ("g", "f<float>", "f<int>")
    assert two.offered == ("ns::h<3>",)


def test_without_files_or_names(tmp_path: Path) -> None:
    assert read_programs((), (), "nvrtc", (), ()) == []
    one, two = read_programs(map(str, files(tmp_path)), (), "nvrtc", (), ())  # type: ignore[arg-type]
    assert (one.offered, two.offered) == (("g",), ())


def test_names_that_no_file_has(tmp_path: Path) -> None:
    for name in ("k<int>", "h<3>"):  # the namespace is part of the name
        with pytest.raises(ArgumentValueError, match=rf"No kernel is called '{name}' in .*two\.cu"):
            read_programs(files(tmp_path), (), "nvrtc", (), ("f<int>", name))


@pytest.mark.parametrize("path", [b"x.cu", None, 3])
def test_paths_that_are_none(path: Any) -> None:
    with pytest.raises(ArgumentTypeError, match="path of a file"):
        read_programs([path], (), "nvrtc", (), ())

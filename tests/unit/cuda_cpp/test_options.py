"""Compile options that a user gives."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import kerneltk
from kerneltk.cuda_cpp.options import (
    checked_names,
    lasting_options,
    without_directives,
)
from kerneltk.errors import ArgumentTypeError, ArgumentValueError

from ..backends.cuda.test_nvjitlink import library, linked


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        (("-Isub",), ("-I{here}/sub",)),
        (("-I", "sub"), ("-I", "{here}/sub")),
        (("--include-path=sub",), ("--include-path={here}/sub",)),
        (("--include-path", "sub"), ("--include-path", "{here}/sub")),
        (("-isystem", "sub", "-w"), ("-isystem", "{here}/sub", "-w")),
        (("-I/abs", "-I", "/abs"), ("-I/abs", "-I", "/abs")),
        (("-I.",), ("-I{here}",)),
        (("-w", " -Isub"), ("-w", "-I{here}/sub")),
        (("-I",), ("-I",)),  # the compiler says what is missing
        (("-DPATH=sub", "-Isub"), ("-DPATH=sub", "-I{here}/sub")),
        ((), ()),
    ],
)
def test_directories_become_absolute(
    given: tuple[str, ...],
    kept: tuple[str, ...],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert lasting_options(list(given)) == tuple(word.format(here=tmp_path) for word in kept)


@pytest.mark.parametrize("options", [None, "-w", b"-w", 3, [3], ("-w", None), {"-w"}])
def test_what_are_no_options(options: Any) -> None:
    with pytest.raises(ArgumentTypeError, match="'options' must be a sequence of str"):
        lasting_options(options)


@pytest.mark.parametrize(
    ("options", "lines", "others"),
    [
        ([], [], ()),
        (["-DN"], ["#define N 1"], ()),
        (["-DN="], ["#define N "], ()),
        (["-DN=a=b"], ["#define N a=b"], ()),
        (["-DF(x)=x+1"], ["#define F(x) x+1"], ()),
        (["-D", "N=4", "-O3"], ["#define N 4"], ("-O3",)),
        (["--define-macro=N=4"], ["#define N 4"], ()),
        (["--define-macro", "N"], ["#define N 1"], ()),
        (["-UN", "--undefine-macro=M", "-U", "L"], ["#undef N", "#undef M", "#undef L"], ()),
        (["-include", "none.h"], ['#include "none.h"'], ()),
        (["--pre-include=none.h"], ['#include "none.h"'], ()),
        (["-DA", "-UA", "-DA=2"], ["#define A 1", "#undef A", "#define A 2"], ()),
        (["-D"], [], ("-D",)),
        (["-D", " "], [], ("-D", " ")),
        (["-isystem", "x"], [], ("-isystem", "x")),
    ],
)
def test_directives_of_options(
    options: list[str], lines: list[str], others: tuple[str, ...]
) -> None:
    assert without_directives(options) == (lines, others)


def test_a_file_that_is_included_first_is_found_from_anywhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "first.h").touch()
    monkeypatch.chdir(tmp_path)
    assert without_directives(["-include", "first.h"]) == (
        [f'#include "{tmp_path / "first.h"}"'],
        (),
    )


def test_name_expressions() -> None:
    assert checked_names(None) is None
    assert checked_names([]) == ()
    assert checked_names(["f<int>", "g"]) == ("f<int>", "g")


@pytest.mark.parametrize("names", ["f<int>", ["f", 3], [None], (b"f",), 3, True, iter(["f"])])
def test_what_are_no_name_expressions(names: Any) -> None:
    with pytest.raises(ArgumentTypeError, match="'name_expressions' must be a sequence of str"):
        checked_names(names)


@pytest.mark.parametrize(
    ("link", "error", "text"),
    [
        ("x.ltoir", ArgumentTypeError, "must be a sequence"),
        (b"x", ArgumentTypeError, "must be a sequence"),
        (3, ArgumentTypeError, "must be a sequence"),
        ([3], ArgumentTypeError, r"'link\[0\]' must be an ObjectCode, bytes or a path"),
        ([lambda x: x], ArgumentTypeError, "numba.cuda.compile"),
        ([b"hello"], ArgumentValueError, "no object code for GPUs"),
        ([b""], ArgumentValueError, "no object code for GPUs"),
        (["/nonexistent/x.ltoir"], ArgumentValueError, "cannot be read"),
    ],
)
def test_links_that_are_none(link: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        linked(link)


def test_other_misuse(tmp_path: Path) -> None:
    host = kerneltk.RawKernel("__global__ void k() {}", "k").compile_for("host")
    with pytest.raises(ArgumentValueError, match="object code for the host"):
        linked([host])
    path = tmp_path / "library.cubin"
    path.write_bytes(library("sm_90").code)
    with pytest.raises(ArgumentValueError, match="'link' needs a source"):
        kerneltk.RawModule(path=path, link=[library("lto_90")])


def test_kinds_are_told_by_how_they_begin() -> None:
    from kerneltk.cuda_cpp.options import checked_links

    elf = b"\x7fELF" + bytes(14)
    inputs = checked_links(
        [elf + b"\xbe\0" + bytes(9), elf + b"\x3e\0" + bytes(9), b"!<arch>\n", b"\x50\xed\x55\xba",
         b"\xed\x43\x4e\x7f", b".version 8.0\n.target sm_90\n\0"],
        "nvrtc",
    )  # fmt: skip
    wanted = ["cubin", "object", "library", "fatbin", "ltoir", "ptx"]
    assert [link.kind for link in inputs] == wanted

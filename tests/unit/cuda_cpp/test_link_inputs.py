"""What a source may be linked with."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import kerneltk
from kerneltk.errors import ArgumentTypeError, ArgumentValueError

from ..backends.cuda.test_nvjitlink import library, linked


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

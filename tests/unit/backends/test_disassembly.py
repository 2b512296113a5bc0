"""Machine code as text."""

from __future__ import annotations

import stat
from pathlib import Path
from typing import Any

import pytest

import kerneltk
from kerneltk.backends import disassembly
from kerneltk.backends.cuda.toolkit import find_program
from kerneltk.errors import ArgumentTypeError, ArgumentValueError, BackendUnavailableError

KERNEL = kerneltk.RawKernel("__global__ void k(float* x) { x[threadIdx.x] *= 2; }", "k")


def stand_in(path: Path, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setattr(disassembly, "find_program", lambda name: path)


def test_ptx_is_text_already() -> None:
    code = KERNEL.compile_for("compute_90")
    text = kerneltk.disassemble(code)
    assert ".entry _Z1kPf" in text
    assert "\0" not in text
    assert kerneltk.disassemble(code.code) == text


def test_a_cubin_is_disassembled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in(tmp_path / "nvdisasm", 'echo "$1"; wc -c < "$2"', monkeypatch)
    code = KERNEL.compile_for("sm_90")
    wanted = ["-c", str(len(code.code))]
    assert kerneltk.disassemble(code).split() == wanted
    assert kerneltk.disassemble(code.code).split() == wanted


def test_a_disassembler_that_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in(tmp_path / "nvdisasm", "echo too new >&2; exit 1", monkeypatch)
    with pytest.raises(BackendUnavailableError, match="fails: too new"):
        kerneltk.disassemble(KERNEL.compile_for("sm_90"))


def test_no_disassembler(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(disassembly, "find_program", lambda name: None)
    with pytest.raises(BackendUnavailableError, match=r"nvdisasm(.|\n)*install the CUDA toolkit"):
        kerneltk.disassemble(KERNEL.compile_for("sm_90"))


@pytest.mark.parametrize("code", [b"", b"hello", b"\x7fELF", b"\xed\x43\x4e\x7f"])
def test_bytes_that_are_neither(code: bytes) -> None:
    with pytest.raises(ArgumentValueError, match="Only a cubin and PTX"):
        kerneltk.disassemble(code)


@pytest.mark.parametrize("code", ["text", None, 3])
def test_other_types(code: Any) -> None:
    with pytest.raises(ArgumentTypeError, match="must be an ObjectCode or bytes"):
        kerneltk.disassemble(code)


def test_code_for_the_host_is_neither() -> None:
    with pytest.raises(ArgumentValueError, match="compile for 'sm_XX'"):
        kerneltk.disassemble(KERNEL.compile_for("host"))


if find_program("nvdisasm") is not None:

    def test_the_real_one() -> None:
        assert "S2R" in kerneltk.disassemble(KERNEL.compile_for("sm_90"))

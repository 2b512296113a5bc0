"""Compiled modules that the user brings: what is read of their names and files."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

from kerneltk.backends import foreign_arrays
from kerneltk.cuda_cpp.module import BinaryProgram
from kerneltk.errors import ArgumentValueError, BackendUnavailableError

PTX = b".version 8.0\n.target sm_80\n.address_size 64\n"


def test_ptx_ends_with_one_zero(tmp_path: Path) -> None:
    for data in (PTX, PTX + b"\0", PTX + b"\0\0\0"):
        path = tmp_path / "k.ptx"
        path.write_bytes(data)
        code = BinaryProgram(path)._code
        assert (code.kind, code.code) == ("ptx", PTX + b"\0")


@pytest.mark.parametrize("data", [b"", b"hello", b"\x7fELF", b"\xed\x43\x4e\x7f", b"!<arch>\n"])
def test_files_that_are_no_modules(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "k.bin"
    path.write_bytes(data)
    with pytest.raises(ArgumentValueError, match=r"k\.bin' is neither PTX nor a cubin"):
        BinaryProgram(path)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "none.cubin"):
        with pytest.raises(ArgumentValueError, match="cannot be read: "):
            BinaryProgram(path)


def test_what_a_compiled_module_cannot_do(tmp_path: Path) -> None:
    path = tmp_path / "k.ptx"
    path.write_bytes(PTX)
    program = BinaryProgram(path)
    host = foreign_arrays.backend_named("host")
    with pytest.raises(BackendUnavailableError, match=r"'k\.ptx' is compiled for GPUs"):
        program.kernel(host, "f")
    with pytest.raises(BackendUnavailableError, match=r"'k\.ptx' is compiled for GPUs"):
        program.variable(host, "v")
    with pytest.raises(ArgumentValueError, match="'compile_for' and 'explain' need a source"):
        program.build("sm_90")
    assert program.declared_parameters("f") == ()
    assert pickle.loads(pickle.dumps(program)).path == path

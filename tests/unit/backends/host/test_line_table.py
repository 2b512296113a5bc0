"""Line tables that compilers write, and what belongs to no line."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from kerneltk.backends.host.line_table import LineTable
from kerneltk.object_code.elf import ElfFile

SOURCE = """
extern "C" int first(int x) {
    return x * 3;
}

extern "C" int second(int x) {
    for (int i = 0; i < x; i++)
        x ^= i;
    return x;
}
"""


@pytest.fixture(scope="module", params=[2, 3, 4])
def library(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> ElfFile:
    """A library with a line table of each version that is read."""
    compiler = shutil.which("g++") or shutil.which("clang++")
    if compiler is None:
        pytest.skip("no compiler that is asked for a version of DWARF")
    path = tmp_path_factory.mktemp("lines")
    (path / "code.cpp").write_text(SOURCE)
    options = ["-shared", "-fPIC", "-O0", f"-gdwarf-{request.param}", "-gno-column-info"]
    command = [compiler, *options, "code.cpp", "-o", "code.so"]
    subprocess.run(command, cwd=path, check=True, capture_output=True)
    return ElfFile((path / "code.so").read_bytes())


def test_functions_begin_at_their_lines(library: ElfFile) -> None:
    table = LineTable(library.section(".debug_line"))
    symbols = {symbol.name: symbol for symbol in library.symbols()}
    for name, line in (("first", 2), ("second", 6)):
        found = table.place(symbols[name].value)
        assert found is not None
        assert (Path(found[0]).name, found[1]) == ("code.cpp", line)
    begin = symbols["second"].value
    lines = [table.place(begin + k) for k in range(symbols["second"].size)]
    assert {line for _, line in filter(None, lines)} == {6, 7, 8, 9, 10}


def test_addresses_outside_of_the_code(library: ElfFile) -> None:
    table = LineTable(library.section(".debug_line"))
    end = max(symbol.value + symbol.size for symbol in library.symbols() if symbol.size)
    assert table.place(0) is None
    assert table.place(end + (1 << 20)) is None

"""Counts what tells how simple the package is: ``python -m tests.measures``.

Lines of Python, C, headers and tests, kinds of disk entry, and the modules of a process's first
call by front-end, with a filled compile cache (``--no-calls`` leaves these out).
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

from kerneltk.cache import derived
from tests.call_traces import FRONT_ENDS, ROOT, first_call


def _lines(paths: Iterable[Path]) -> str:
    found = (path for path in paths if path.is_file() and path.suffix != ".pyc")
    return f"{sum(len(path.read_text(encoding='utf-8').splitlines()) for path in found):,}"


def _c_files() -> Iterator[Path]:
    for path in (*(ROOT / "launch").rglob("*"), *(ROOT / "backends").rglob("*")):
        if path.suffix in (".c", ".h"):
            yield path


def _rows() -> Iterator[tuple[str, object]]:
    yield "lines of kerneltk/**/*.py", _lines(ROOT.rglob("*.py"))
    yield "modules", len(list(ROOT.rglob("*.py")))
    yield "lines of C in launch/ and backends/", _lines(_c_files())
    yield "lines of templates and headers", _lines((ROOT / "templates").rglob("*"))
    yield "lines of tests/**/*.py", _lines(Path(__file__).parent.rglob("*.py"))
    yield "kinds of disk entry", len(derived._CODE)
    if "--no-calls" in sys.argv:
        return
    with tempfile.TemporaryDirectory() as directory:
        for name in FRONT_ENDS:
            first_call(name, Path(directory))  # which compiles
            found = first_call(name, Path(directory))
            yield f"first call, {name}: modules that take part", len(found.modules)
            yield f"first call, {name}: modules that are loaded", len(found.loaded)


if __name__ == "__main__":
    for what, number in _rows():
        print(f"{what:50}  {number:>9}")

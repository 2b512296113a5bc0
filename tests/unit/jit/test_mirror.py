"""Each module of `kerneltk.jit` that is longer than a table has a test file of its name."""

from __future__ import annotations

from pathlib import Path

import pytest

from kerneltk import jit

PACKAGE, TESTS = Path(jit.__file__).parent, Path(__file__).parent
MOST_LINES = 100  # of a module that need not have one: tables, names, small helpers


def file_of(module: Path) -> Path:
    """The path, below this folder, of the file that tests a module, given below the package."""
    return module.parent / f"test_{module.name}"


def is_long(path: Path) -> bool:
    return len(path.read_text(encoding="utf-8").splitlines()) > MOST_LINES


MODULES = sorted(
    path.relative_to(PACKAGE)
    for path in PACKAGE.rglob("*.py")
    if path.name != "__init__.py" and is_long(path)
)


def test_there_are_long_modules() -> None:
    assert len(MODULES) > 50


@pytest.mark.parametrize("module", MODULES, ids=str)
def test_a_long_module_has_a_test_file_of_its_name(module: Path) -> None:
    path = TESTS / file_of(module)
    assert path.is_file()
    assert "\ndef test_" in path.read_text(encoding="utf-8")

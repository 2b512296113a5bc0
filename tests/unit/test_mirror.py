"""This folder mirrors the package: a module of some length has a test file of its name.

`kerneltk/jit` is left out.
"""

from __future__ import annotations

from pathlib import Path

import pytest

import kerneltk

PACKAGE = Path(kerneltk.__file__).parent
TESTS = Path(__file__).parent
MOST_LINES = 100  # of a module that may do without
# The longer ones that have none, and why.
EXCEPTIONS = {
    "__init__.py": "public names and where each is; every other test takes them from there",
    "launch/launcher_spec.py": "dataclasses without any code; test_interpreter.py makes them",
}


def _long_modules() -> set[str]:
    """The modules with more lines, by their paths in the package."""
    lines = {
        path.relative_to(PACKAGE).as_posix(): len(path.read_text(encoding="utf-8").splitlines())
        for path in PACKAGE.rglob("*.py")
    }
    return {name for name, n in lines.items() if n > MOST_LINES and not name.startswith("jit/")}


LONG = _long_modules()


@pytest.mark.parametrize("name", sorted(LONG - EXCEPTIONS.keys()))
def test_a_long_module_has_a_test_file_of_its_name(name: str) -> None:
    module = TESTS / name
    assert module.with_name(f"test_{module.name}").is_file()


def test_exceptions_are_long_modules_without_one() -> None:
    assert EXCEPTIONS.keys() <= LONG
    for module in map(TESTS.joinpath, EXCEPTIONS):
        assert not module.with_name(f"test_{module.name}").exists()

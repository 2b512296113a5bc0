"""This folder mirrors the package: a module of some length has a file of tests of its name."""

from __future__ import annotations

from pathlib import Path

import kerneltk

PACKAGE = Path(kerneltk.__file__).parent
TESTS = Path(__file__).parent
MOST_LINES = 100  # of a module that may do without
# The longer ones that have none, and why.
EXCEPTIONS = {
    "fusion/plan/steps.py": "what plans consist of; tests of planners, kernels and programs ask",
    "launch/launcher_spec.py": "dataclasses without any code; test_interpreter.py makes them",
}


def _long_modules() -> set[str]:
    """The modules with more lines, by their paths in the package; public names have no file."""
    lines = {
        path.relative_to(PACKAGE).as_posix(): len(path.read_text(encoding="utf-8").splitlines())
        for path in PACKAGE.rglob("*.py")
        if path.name != "__init__.py"
    }
    return {name for name, n in lines.items() if n > MOST_LINES}


LONG = _long_modules()


def test_a_long_module_has_a_test_file_of_its_name() -> None:
    for name in sorted(LONG - EXCEPTIONS.keys()):
        path = (TESTS / name).with_name(f"test_{Path(name).name}")
        if name.startswith("jit/") and (TESTS / name).with_suffix(".txt").is_file():
            continue  # `jit/test_tables.py` checks what has no file of tests
        assert path.is_file(), path
        assert "\ndef test_" in path.read_text(encoding="utf-8"), path


def test_exceptions_are_long_modules_without_one() -> None:
    assert EXCEPTIONS.keys() <= LONG
    for module in map(TESTS.joinpath, EXCEPTIONS):
        assert not module.with_name(f"test_{module.name}").exists()

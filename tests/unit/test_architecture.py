"""The house: how many modules stand where, which way imports point, how long files are."""

from __future__ import annotations

import ast
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import kerneltk

PACKAGE = Path(kerneltk.__file__).parent
FILES = sorted(PACKAGE.rglob("*.py"))
FOLDERS = sorted({path.parent for path in FILES})


def name_of(path: Path) -> str:
    """The module's dotted name."""
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {name_of(path): path for path in FILES}


def is_for_types_only(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)


def imports_of(tree: ast.AST) -> set[str]:
    """The modules of this package that a module imports, inside of functions, too."""
    found = set()
    for node in ast.iter_child_nodes(tree):
        if is_for_types_only(node):
            continue
        if isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                full = f"{node.module}.{alias.name}"
                found.add(full if full in MODULES else node.module)
        elif isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        found |= imports_of(node)
    return found & MODULES.keys()


def test_few_modules_stand_beside_the_packages() -> None:
    assert len(list(PACKAGE.glob("*.py"))) <= 10


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda path: name_of(path / "__init__.py"))
def test_a_folder_has_few_modules(folder: Path) -> None:
    assert len([path for path in folder.glob("*.py") if path.name != "__init__.py"]) <= 15


def test_imports_make_no_circle() -> None:
    arrows = {
        name: imports_of(ast.parse(path.read_text())) - {name, "kerneltk"}
        for name, path in MODULES.items()
    }
    list(TopologicalSorter(arrows).static_order())  # raises CycleError, which names the circle


def test_no_file_is_long() -> None:
    lengths = {name: len(path.read_text().splitlines()) for name, path in MODULES.items()}
    assert {name: length for name, length in lengths.items() if length > 1000} == {}

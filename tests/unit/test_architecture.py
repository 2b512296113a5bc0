"""The house: how many modules stand where, which way imports point, how long files are."""

from __future__ import annotations

import ast
import re
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import kerneltk
from kerneltk.backends import base

PACKAGE = Path(kerneltk.__file__).parent
FILES = sorted(PACKAGE.rglob("*.py"))
FOLDERS = sorted({path.parent for path in FILES})


def name_of(path: Path) -> str:
    """The module's dotted name."""
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {name_of(path): path for path in FILES}


@cache
def tree_of(path: Path) -> ast.Module:
    """The syntax tree of a file."""
    return ast.parse(path.read_text(encoding="utf-8"))


def is_for_types_only(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)


def imports_of(tree: ast.AST) -> set[str]:
    """The modules of this package that a module imports, inside of functions, too."""
    found, pending = set(), [tree]
    while pending:
        node = pending.pop()
        if is_for_types_only(node):
            continue
        if isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                full = f"{node.module}.{alias.name}"
                found.add(full if full in MODULES else node.module)
        elif isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        pending += [n for n in ast.iter_child_nodes(node) if not isinstance(n, ast.expr)]
    return found & MODULES.keys()


@cache
def imports() -> dict[str, set[str]]:
    """The other modules that each module imports, but for the package itself."""
    return {name: imports_of(tree_of(path)) - {name, "kerneltk"} for name, path in MODULES.items()}


def test_few_modules_stand_beside_the_packages() -> None:
    assert len(list(PACKAGE.glob("*.py"))) <= 10


def test_a_folder_has_few_modules() -> None:
    for folder in FOLDERS:
        modules = [path for path in folder.glob("*.py") if path.name != "__init__.py"]
        assert len(modules) <= 15, folder


def test_imports_make_no_circle() -> None:
    list(TopologicalSorter(imports()).static_order())  # raises CycleError, which names the circle


def test_no_file_is_long() -> None:
    kinds = (".py", ".c", ".hpp", ".j2")
    files = [path for path in PACKAGE.rglob("*") if path.suffix in kinds]
    lengths = {str(path): len(path.read_text().splitlines()) for path in files}
    assert {name: length for name, length in lengths.items() if length > 1000} == {}


def names_backend(node: ast.AST | None) -> bool:
    """Whether an expression is a backend's name, or lists one."""
    if isinstance(node, ast.Tuple | ast.List | ast.Set):
        return any(map(names_backend, node.elts))
    return isinstance(node, ast.Constant) and node.value in base.names()


def is_mode(node: ast.expr) -> bool:
    """Whether it is the mode of type promotion, whose words are "cuda" and "numpy"."""
    return "mode" in (getattr(node, "id", ""), getattr(node, "attr", ""))


def asks_which_backend(node: ast.AST) -> bool:
    """Whether a node tells cases apart by a backend's name."""
    if isinstance(node, ast.Compare):
        sides = [node.left, *node.comparators]
        return any(map(names_backend, sides)) and not any(map(is_mode, sides))
    if isinstance(node, ast.MatchValue):
        return names_backend(node.value)
    if isinstance(node, ast.Dict):
        return any(map(names_backend, node.keys))
    if isinstance(node, ast.Subscript):  # of a table; a type's, `Literal["host", "cuda"]`, is none
        return isinstance(node.slice, ast.Constant) and names_backend(node.slice)
    return False


def questions(tree: ast.Module) -> list[int]:
    """The lines of a module that ask which backend it is."""
    return [node.lineno for node in ast.walk(tree) if asks_which_backend(node)]


def test_nothing_above_the_backends_asks_which_one_it_is() -> None:
    names = re.compile("|".join(f'"{name}"' for name in base.names()))
    above = {
        name: path
        for name, path in MODULES.items()
        if not name.startswith("kerneltk.backends") and names.search(path.read_text("utf-8"))
    }
    found = {name: questions(tree_of(path)) for name, path in above.items()}
    assert {name: lines for name, lines in found.items() if lines} == {}


def test_no_python_is_generated() -> None:
    """No module executes source that it, or another one, has written."""
    for name, path in MODULES.items():
        if not re.search(r"\b(?:exec|eval)\(", path.read_text("utf-8")):
            continue
        for node in ast.walk(tree_of(path)):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                assert node.func.id not in ("exec", "eval"), (name, node.lineno)

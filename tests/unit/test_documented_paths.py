"""Files and modules that the documentation names exist."""

import ast
import itertools
import math
import re
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from kerneltk import jit

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
# Files that belong to this project, and none that a reader makes or that a toolkit has.
NAMED = re.compile(
    r"`((?:[\w.-]+/)+[\w.-]+\.(?:py|j2|hpp|inc|md|txt)|(?:tests|kerneltk|benchmarks)/[\w./-]*/)`"
)
SOURCES = re.compile(r"`([\w.]+\.(?:hpp|inc|j2|py))`")
# Of names in the code those that no word of a sentence or of Python looks like.
IN_CODE = re.compile(r"`(?=\w*[A-Z_.])([A-Za-z_]\w*(?:\.\w+)*)(?:\([^`]*\))?`")
# What a line defines: a function, a class, a variable, a parameter or a field.
DEFINED = re.compile(r"(?:^\s*(?:def |class )?|\bas |\bimport )(\w+)(?=[(:,]| = |$)", re.M)
CLASS = re.compile(r"^class (\w+)", re.M)
RECIPES = ("development.md", "jit-internals.md")
FOLDERS = ("", "kerneltk", "kerneltk/jit", "kerneltk/templates", "tests/unit/jit")


def exists(name: str) -> bool:
    return any((ROOT / folder / name).exists() for folder in FOLDERS)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_named_files_are_there(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    names = set(NAMED.findall(text))
    assert page.name != "development.md" or len(names) > 20
    assert [name for name in sorted(names) if not exists(name)] == []
    sources = {path.name for folder in ("kerneltk", "tests") for path in (ROOT / folder).rglob("*")}
    if page.name in RECIPES:
        assert sorted(set(SOURCES.findall(text)) - sources) == []


def defined_in(tree: ast.AST) -> Iterator[str]:
    """Yield the names that a class defines or assigns."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.attr


def test_names_that_recipes_give_are_in_the_code() -> None:
    pages = {}
    for page in RECIPES:
        text = re.sub(
            r"^```.*?^```", "", (ROOT / "docs" / page).read_text("utf-8"), flags=re.M | re.S
        )
        found = set(IN_CODE.findall(text))
        assert len(found) > 50
        pages[page] = [
            name.split(".") for name in found - set(SOURCES.findall(text)) - {"pyproject.toml"}
        ]
    owners = {path[-2] for paths in pages.values() for path in paths if len(path) > 1}
    names = {*dir(jit), *dir(np), *dir(math)}
    members: dict[str, set[str]] = {}
    for path in itertools.chain(
        *((ROOT / f).rglob("*.py") for f in ("kerneltk", "tests", "benchmarks"))
    ):
        text = path.read_text(encoding="utf-8")
        names |= {*DEFINED.findall(text), *path.relative_to(ROOT).with_suffix("").parts}
        if path.is_relative_to(ROOT / "kerneltk") and owners & set(CLASS.findall(text)):
            for node in ast.walk(ast.parse(text)):
                if isinstance(node, ast.ClassDef) and node.name in owners:
                    members.setdefault(node.name, set()).update(defined_in(node))
    for path in (ROOT / "kerneltk" / "templates").glob("*.j2"):
        names |= set(re.findall(r"\w+", path.read_text(encoding="utf-8")))
    for page, paths in pages.items():
        for *of, last in paths:
            assert last in members.get(of[-1] if of else "", names), (
                f"{page}: {'.'.join([*of, last])}"
            )


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_to_a_file_and_a_heading(page: Path) -> None:
    code = re.compile(r"^```.*?^```|`[^`\n]+`", re.M | re.S)
    text = code.sub("", page.read_text(encoding="utf-8"))
    for link in re.findall(r"\]\(([^)\s]+)\)", text):
        if "://" in link:
            continue
        name, _, anchor = link.partition("#")
        target = page.parent / name if name else page
        assert target.exists(), link
        if anchor:
            headings = re.findall(r"^#+ (.*)$", target.read_text(encoding="utf-8"), re.M)
            anchors = {re.sub(r"[^\w\- ]", "", h.lower()).replace(" ", "-") for h in headings}
            assert anchor in anchors, link


def test_modules_that_the_way_of_a_call_names_are_there() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    _, _, section = text.partition("## The way of one call")
    names = re.findall(r"^\d+\. (?:\*Back\*: )?`([\w.]+)`", section, re.M)
    assert len(names) > 20
    assert [name for name in names if find_spec(f"kerneltk.{name}") is None] == []

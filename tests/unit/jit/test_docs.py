"""docs/jit.md says what is refused, as the tables of the code have it, and what is there exists."""

import re
from pathlib import Path

import pytest

from kerneltk import jit
from kerneltk.jit.intrinsics.execution import atomics, memory, threads, warp
from kerneltk.jit.intrinsics.numbers import bits
from kerneltk.jit.lowering.unsupported import REFUSED, REFUSED_CALLS

PAGE = (Path(__file__).parents[3] / "docs" / "jit.md").read_text(encoding="utf-8")


def section(title: str) -> str:
    found = re.search(rf"^## {title}\n(.*?)(?=^## |\Z)", PAGE, re.M | re.S)
    assert found is not None, title
    return found[1]


def rows(text: str) -> list[list[str]]:
    """Return the cells of a page's table rows, without the heads."""
    lines = [line for line in text.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def test_the_tables_of_what_is_refused_are_those_of_the_code() -> None:
    expected = [[f"{words[0].upper()}{words[1:]}", hint] for words, hint in REFUSED.values()]
    expected += [[f"`{name}`", hint] for name, hint in REFUSED_CALLS.items()]
    heads = [["construct", "instead"], ["function", "instead"]]
    found = [row for row in rows(section("What is refused")) if row not in heads]
    unique = list(dict.fromkeys(map(tuple, expected)))
    assert list(map(tuple, found)) == unique


@pytest.mark.parametrize("title", ["Memory", "Threads, barriers and atomics"])
def test_what_the_tables_name_is_there(title: str) -> None:
    names = re.findall(r"`jit\.([\w.]+)", section(title))
    assert len(names) > 3
    for name in names:
        value: object = jit
        for part in name.split("."):
            value = getattr(value, part)


def test_every_intrinsic_is_on_the_page() -> None:
    tables = (threads, memory, atomics, warp, bits)
    names = [name for table in tables for name in table.INTRINSICS]
    missing = []
    for name in names:
        # Further rows of a family are written without the name that they share: `_sub`, `any_sync`.
        tail = name.partition("_")[2]
        is_short = tail and re.search(rf"`_{tail}\b", PAGE)
        if not is_short and not re.search(rf"\b{name}\b", PAGE):
            missing.append(name)
    assert missing == []


def test_every_collective_is_on_the_page() -> None:
    names = [name for module in (jit.cub, jit.cg) for name in module.__all__]
    assert [name for name in names if not re.search(rf"\b{name}\b", PAGE)] == []


def test_every_section_is_in_the_table_of_contents() -> None:
    titles = re.findall(r"^## (.*)$", PAGE, re.M)
    contents = re.findall(r"^- \[(.*)\]\(#(.*)\)$", PAGE, re.M)
    assert [title for title, _ in contents] == titles
    for title, anchor in contents:
        plain = re.sub(r"[^\w\- ]", "", title.lower())
        assert plain.replace(" ", "-") == anchor

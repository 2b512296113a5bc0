"""Files and modules that the documentation names exist."""

import re
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
# Files that belong to this project, and none that a reader makes or that a toolkit has.
NAMED = re.compile(
    r"`((?:[\w.-]+/)+[\w.-]+\.(?:py|j2|hpp|inc|md|txt)|(?:tests|kerneltk|benchmarks)/[\w./-]*/)`"
)
SOURCES = re.compile(r"`(\w+\.(?:hpp|inc|j2))`")
FOLDERS = ("", "kerneltk", "kerneltk/jit", "kerneltk/templates", "tests/unit/jit")


def exists(name: str) -> bool:
    return any((ROOT / folder / name).exists() for folder in FOLDERS)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_named_files_are_there(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    names = set(NAMED.findall(text))
    assert page.name != "development.md" or len(names) > 20
    assert [name for name in sorted(names) if not exists(name)] == []
    headers = {path.name for path in (ROOT / "kerneltk" / "templates").rglob("*")}
    if page.name in ("development.md", "jit-internals.md"):
        assert sorted(set(SOURCES.findall(text)) - headers) == []


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

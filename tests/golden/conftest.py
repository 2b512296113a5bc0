"""The option that rewrites the golden files: ``pytest tests/golden --update-golden``."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from pathlib import Path

import pytest

SOURCES = Path(__file__).parent / "sources"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-golden", action="store_true", help="write the golden files anew, then compare"
    )


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """Compare a text with the golden file of that name; write it first under --update-golden."""
    # The option is not there if the run began above this directory.
    update = bool(request.config.getoption("--update-golden", default=False))

    def compare(name: str, text: str) -> None:
        path = SOURCES / name
        if update:
            path.parent.mkdir(exist_ok=True)
            path.write_text(text)
        assert path.exists(), f"{path} is not there: run 'pytest tests/golden --update-golden'"
        known = path.read_text()
        if text != known:
            lines = difflib.unified_diff(
                known.splitlines(), text.splitlines(), f"golden {name}", "rendered", lineterm=""
            )
            pytest.fail(
                "\n".join([*lines, "If this is meant: pytest tests/golden --update-golden"]),
                pytrace=False,
            )

    return compare

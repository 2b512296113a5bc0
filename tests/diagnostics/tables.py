"""Tables of what is refused: the files in `refused`, whose entries are separated by blank lines."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from kerneltk import KernelToolkitError


def entries(name: str) -> list[list[str]]:
    """Return the lines of each entry of a table. A line that begins with '#' is a comment."""
    text = (Path(__file__).parent / "refused" / f"{name}.txt").read_text()
    found = [
        [line for line in entry.split("\n") if not line.startswith("#")]
        for entry in text.rstrip("\n").split("\n\n")
    ]
    return [lines for lines in found if lines]


def messages(name: str) -> list[tuple[str, str, str]]:
    """Return what is refused by each entry's first line, the class of the error, its message."""
    found = []
    for first, *rest in entries(name):
        kind, _, message = "\n".join(rest).partition(": ")
        found.append((first, kind, message))
    return found


def check_message(
    action: Callable[[], object], kind: str, message: str, *, of_python: bool = False
) -> None:
    """Check the class and the whole message of the error that an action raises. Where carets are
    under an expression of Python's (`of_python`), other versions than 3.11 know other positions.
    """
    with pytest.raises(KernelToolkitError) as caught:
        action()
    assert type(caught.value).__name__ == kind
    if of_python and sys.version_info[:2] != (3, 11):
        assert _without_carets(str(caught.value)) == _without_carets(message)
    else:
        assert str(caught.value) == message


def _without_carets(message: str) -> list[str]:
    return [line for line in message.split("\n") if line.strip("^ ")]

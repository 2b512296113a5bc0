"""Tables of what is refused: the files in `refused`, whose entries are separated by blank lines."""

from __future__ import annotations

from pathlib import Path


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

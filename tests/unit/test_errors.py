"""The errors' bases and the renderer of their messages."""

from __future__ import annotations

import pytest

from kerneltk import errors
from kerneltk.errors import Snippet, render_message


@pytest.mark.parametrize(
    ("name", "base"),
    [
        ("SignatureError", ValueError), ("ArgumentTypeError", TypeError),
        ("ArgumentValueError", ValueError), ("ScalarOverflowError", OverflowError),
        ("CompileError", RuntimeError), ("BackendUnavailableError", RuntimeError),
        ("LaunchError", RuntimeError),
    ],
)  # fmt: skip
def test_bases(name: str, base: type[Exception]) -> None:
    assert issubclass(getattr(errors, name), (base, errors.KernelToolkitError))
    assert issubclass(getattr(errors, name), base)


@pytest.mark.parametrize(
    ("snippet", "lines"),
    [
        (Snippet("o", "abc", 1, 2), ["  o: abc", "      ^"]),
        (Snippet("o", "abc", 1, 3, "here"), ["  o: abc", "      ^^ here"]),
        (Snippet("o", "abc", 3, 3), ["  o: abc", "        ^"]),
        (Snippet("o", "a\nbcd\ne", 3, 5), ["  o:2: bcd", "        ^^"]),
        (Snippet("o", "a\nbcd\ne", 2, 7), ["  o:2: bcd", "       ^^^"]),
        (Snippet("o", "\n abc\n", 2, 5), ["  o:  abc", "      ^^^"]),
        (Snippet("o", "\tabc", 1, 2), ["  o:  abc", "      ^"]),
        (Snippet("o", "", 0, 0), ["  o: ", "     ^"]),
    ],
)
def test_snippets(snippet: Snippet, lines: list[str]) -> None:
    assert snippet.render().split("\n") == lines


@pytest.mark.parametrize(
    ("line", "column", "part"),
    [
        (1, 1, "y"), (1, 5, "foo"), (1, 6, "oo"), (1, 3, "="), (2, 3, "bar"), (2, None, "bar + 1;"),
        (1, 99, "y = foo"), (3, 1, "bar + 1;"), (9, None, "bar + 1;"), (0, None, "y = foo"),
    ],
)  # fmt: skip
def test_places_by_line_and_column(line: int, column: int | None, part: str) -> None:
    text = "y = foo\n  bar + 1;\n\n"
    snippet = Snippet.at_line("o", text, line, column)
    assert text[snippet.start : snippet.end] == part


def test_messages() -> None:
    place = Snippet("o", "abc", 0, 1, "here")
    assert render_message("S.", place, place, hint="do.") == (
        "S.\n  o: abc\n     ^ here\n  o: abc\n     ^ here\n  Hint: do."
    )
    assert render_message("S.") == "S."

"""Compile options of a user's text: those that name directories, and those that are directives."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

__all__ = ["with_absolute_directories", "without_directives"]

_DIRECTORIES = ("-I", "--include-path", "-isystem", "--system-include", "-iquote")
_MACROS = {
    "-D": "define",
    "--define-macro": "define",
    "-U": "undef",
    "--undefine-macro": "undef",
    "-include": "include",
    "--pre-include": "include",
}


def _split(options: Sequence[str], names: Sequence[str]) -> Iterator[tuple[str, str, list[str]]]:
    """Yield for each option which of `names` it is, its value, and its own words; an empty name
    for another option.
    """
    rest = iter(options)
    for option in rest:
        name = next(
            (
                name
                for name in names
                if option == name
                or option.startswith(name + "=")
                or (option.startswith(name) and name in ("-I", "-D", "-U"))
            ),
            "",
        )
        if not name:
            yield "", "", [option]
        elif option == name:
            value = next(rest, None)
            yield name, value or "", [option] if value is None else [option, value]
        else:
            yield name, option[len(name) :].removeprefix("="), [option]


def with_absolute_directories(options: Sequence[str]) -> tuple[str, ...]:
    """Return the options with directories that mean the same from another working directory."""
    result: list[str] = []
    for name, value, words in _split(options, _DIRECTORIES):
        if not name or not value or os.path.isabs(value):
            result += words
        elif len(words) == 2:
            result += [name, os.path.abspath(value)]
        else:
            result.append(words[0][: -len(value)] + os.path.abspath(value))
    return tuple(result)


def without_directives(options: Sequence[str]) -> tuple[list[str], tuple[str, ...]]:
    """Return the directives that options for macros and included files stand for, and the others.

    As directives they come behind the package's own headers, in which the names may mean something
    else.

    Examples
    --------
    >>> without_directives(["-DN=4", "-w", "-U", "X"])
    (['#define N 4', '#undef X'], ('-w',))
    """
    lines: list[str] = []
    others: list[str] = []
    for name, value, words in _split(options, tuple(_MACROS)):
        directive = _MACROS.get(name, "")
        if not value.strip():
            others += words
        elif directive == "define":
            macro, equals, text = value.strip().partition("=")
            lines.append(f"#define {macro} {text if equals else '1'}")
        elif directive == "undef":
            lines.append(f"#undef {value.strip()}")
        else:
            path = os.path.abspath(value) if os.path.exists(value) else value
            lines.append(f'#include "{path}"')
    return lines, tuple(others)

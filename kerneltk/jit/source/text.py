"""The text of a function with its syntax tree, and the locations in it."""

from __future__ import annotations

import ast
import functools
from itertools import accumulate
from typing import Any, NamedTuple, TypeAlias

from kerneltk.core.records import record
from kerneltk.errors import Snippet


class Span(NamedTuple):
    """A location in the source of a function: one-based lines, zero-based columns (characters)."""

    line: int
    column: int
    end_line: int
    end_column: int


FunctionNode: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda

LAMBDA = "<lambda>"


class Layout(NamedTuple):
    """The lines of a text, and where each begins (characters)."""

    lines: list[str]
    starts: list[int]


@functools.lru_cache(maxsize=64)
def layout_of(text: str) -> Layout:
    """Return the lines of a text."""
    lines = text.split("\n")  # what Python takes for a line, and nothing else
    return Layout(lines, [0, *accumulate(len(line) + 1 for line in lines)])


def characters(lines: list[str], line: int, column: int) -> int:
    """Return a column of Python's, which counts bytes, in characters."""
    content = lines[line - 1]
    if content.isascii():
        return column
    # Inside of f-strings Python 3.11 gives columns that may lie in the middle of a character.
    return len(content.encode()[:column].decode(errors="ignore"))


@record
class FunctionSource:
    """The text and the syntax tree of a function.

    `name` is its ``__name__``, `origin` how messages call the text (``"kernels.py"``,
    ``"In [3]"``, ``"<stdin>"``), `path` the full file name, or the name between ``<`` and ``>``
    that Python gave to the text. `text` is the whole file or cell, in which the node's positions
    are; its lines end with a line feed.
    """

    name: str
    origin: str
    path: str
    text: str
    node: FunctionNode

    def span(self, node: ast.AST) -> Span:
        """The location of a node that has one; columns are characters."""
        place: Any = node
        if self.text.isascii():
            return Span(place.lineno, place.col_offset, place.end_lineno, place.end_col_offset)
        lines = layout_of(self.text).lines
        return Span(
            place.lineno,
            characters(lines, place.lineno, place.col_offset),
            place.end_lineno,
            characters(lines, place.end_lineno, place.end_col_offset),
        )

    def snippet(self, span: Span, label: str = "") -> Snippet:
        """A location as a message shows it: of several lines, the first."""
        layout = layout_of(self.text)
        begin = layout.starts[span.line - 1]
        end = span.end_column
        if span.end_line != span.line:
            end = len(layout.lines[span.line - 1].rstrip())
        return Snippet(self.origin, self.text, begin + span.column, begin + end, label)

    def line(self, number: int) -> str:
        """A line of the text, counted from one, without the line feed."""
        return layout_of(self.text).lines[number - 1]

    def at(self, node: FunctionNode) -> FunctionSource:
        """The source of a function that is nested in this one."""
        name = LAMBDA if isinstance(node, ast.Lambda) else node.name
        return FunctionSource(name, self.origin, self.path, self.text, node)

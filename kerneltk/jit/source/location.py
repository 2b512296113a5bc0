"""Locations in the source of a function."""

from __future__ import annotations

from typing import NamedTuple


class Span(NamedTuple):
    """A location in the source of a function: one-based lines, zero-based columns (characters)."""

    line: int
    column: int
    end_line: int
    end_column: int

"""Samples of long tables of cases: what the suite leaves out is exhaustive."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import pytest

# The cases that the suite runs, and the others.
Samples = tuple[list[Any], list[Any]]


def sample(cases: Sequence[Any], count: int) -> Samples:
    """Divide a table: the suite runs each `count`-th case. An odd number leaves out no axis and no
    parity as a whole.
    """
    names = [case.name for case in cases]
    assert len(set(names)) == len(names), "two cases have one name"
    return list(cases[::count]), [case for k, case in enumerate(cases) if k % count]


def one_in(count: int, values: Iterable[Any]) -> list[Any]:
    """Return values as parameters of a test: all but each `count`-th are exhaustive."""
    marks = (), pytest.mark.exhaustive
    return [
        pytest.param(value, marks=marks[number % count > 0]) for number, value in enumerate(values)
    ]


def one_row_in(count: int, rows: Iterable[tuple[Any, ...]]) -> list[Any]:
    """Return the same of rows of a table, for a test with several parameters."""
    marks = (), pytest.mark.exhaustive
    return [pytest.param(*row, marks=marks[number % count > 0]) for number, row in enumerate(rows)]


def half(values: Iterable[Any]) -> list[Any]:
    """Return values as parameters of a test, every second of which is exhaustive."""
    return one_in(2, values)


def but_for(values: Iterable[Any], *rest: str) -> list[Any]:
    """Return values as parameters of a test; those that are spelled as one of `rest` are
    exhaustive, since others are computed alike.
    """
    marks = (), pytest.mark.exhaustive
    return [pytest.param(value, marks=marks[str(value) in rest]) for value in values]


def part_of(names: Sequence[str], number: int, parts: int) -> set[str]:
    """Return one part of the tests of these names: of each function, neighbouring cases.

    Neighbours share compiled units. Functions of few cases begin in different parts.
    """
    cases: dict[str, list[str]] = {}
    for name in names:
        cases.setdefault(name.partition("[")[0], []).append(name)
    return {
        name
        for function, group in cases.items()
        for index, name in enumerate(group)
        if (zlib.crc32(function.encode()) + index * parts // len(group)) % parts == number - 1
    }


def parameters(samples: Samples, ways: Callable[[Any], Iterable[str]] | None = None) -> list[Any]:
    """Return the cases as parameters of a test, each with each of its `ways`, if there are any."""
    return [
        pytest.param(case, *way, id="-".join((case.name, *way)), marks=marks)
        for cases, marks in zip(samples, ((), pytest.mark.exhaustive), strict=True)
        for case in cases
        for way in ([(way,) for way in ways(case)] if ways else [()])
    ]

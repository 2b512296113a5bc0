"""Samples of long tables of cases: what the suite leaves out is exhaustive."""

from __future__ import annotations

import re
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import compress
from typing import Any

import pytest

_VARIES = re.compile(r"(?:bool|u?int|b?float|complex)\d*|\d+")
_SHORT = 4
_PERIOD = 7  # odd, so that no axis or parity of a table is left out as a whole

# The cases that the suite runs, and the others.
Samples = tuple[list[Any], list[Any]]


def without_numbers(name: str) -> str:
    """Return a case's name without its dtypes and numbers."""
    return _VARIES.sub("*", name)


def first_word(name: str) -> str:
    """Return the first word of a case's name."""
    return re.split("[-_ ]", name, maxsplit=1)[0]


def samples_of(cases: Sequence[Any], family: Callable[[str], str]) -> Samples:
    """Divide a table: families of up to four cases are kept whole, longer ones by half.

    `family` makes a family's name of a case's name.
    """
    families = [family(case.name) for case in cases]
    sizes, seen = Counter(families), Counter[str]()
    is_kept = []
    for name in families:
        number = seen[name]
        seen[name] += 1
        is_kept.append(sizes[name] <= _SHORT or (number + number // _PERIOD) % 2 == 0)
    return list(compress(cases, is_kept)), list(compress(cases, (not kept for kept in is_kept)))


def thinned(samples: Samples) -> Samples:
    """Leave out every second one of the cases that the suite runs, too."""
    kept, left_out = samples
    return kept[::2], kept[1::2] + left_out


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

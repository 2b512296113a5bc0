"""Types that annotations name, and what values of two types join to."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest

from kerneltk.jit.ir.joining import join, plain
from kerneltk.jit.ir.types import (
    PY_FLOAT,
    PY_INT,
    VOID,
    Array,
    Record,
    Reference,
    Tuple,
    Type,
    number,
)

F4, I4 = number("float32"), number("int32")
RECORD = Record(np.dtype([("a", "i4")]))
OTHER = Record(np.dtype([("b", "i4")]))


class Pair(NamedTuple):
    left: Any
    right: Any


def reference(space: Any = "global", record: Record = RECORD, packed: bool = False) -> Reference:
    return Reference.into(Array(record, 1, space=space), record, packed=packed)


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        (PY_INT, PY_FLOAT, PY_FLOAT),
        (PY_INT, F4, number(np.float64)),
        (PY_INT, VOID, None),
        (F4, Array(F4, 1), None),
        (Tuple((PY_INT, F4)), Tuple((PY_FLOAT, PY_INT)), Tuple((PY_FLOAT, number("float64")))),
        (Tuple((PY_INT,)), Tuple((PY_INT, PY_INT)), None),
        (Tuple((PY_INT, VOID)), Tuple((PY_INT, PY_INT)), None),
        (Tuple((PY_INT, F4)), Tuple((PY_INT, F4), ("left", "right"), Pair), None),
        (Array(F4, 1), Array(F4, 1, "strided"), Array(F4, 1, "strided")),
        (Array(F4, 1), Array(F4, 1, "fixed", (3,)), Array(F4, 1)),
        (Array(F4, 1, "fixed", (4,)), Array(F4, 1, "fixed", (3,)), Array(F4, 1)),
        (Array(F4, 1), Array(F4, 2), None),
        (Array(F4, 1), Array(I4, 1), None),
        (Array(F4, 1), Array(F4, 1, space="shared"), None),
        (Array(F4, 1), Array(F4, 1, writable=False), None),
        (RECORD, OTHER, None),
        (RECORD, reference(), None),
        (reference(), reference("shared"), reference()),
        (reference("local"), reference("shared"), reference("local")),
        (reference(), reference(packed=True), reference(packed=True)),
        (reference(), reference(record=OTHER), None),
        (reference(), Array(RECORD, 0), None),
    ],
    ids=range(22),
)
def test_joins(first: Type, second: Type, expected: Type | None) -> None:
    joined = join("numpy", first, second)
    assert (None if joined is None else plain(joined)) == expected
    assert join("numpy", first, first) == first
    found = join("numpy", second, first)
    if isinstance(expected, Reference):
        assert isinstance(found, Reference)
    assert (found is None) == (expected is None)

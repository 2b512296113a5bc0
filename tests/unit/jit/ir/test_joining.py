"""Types that annotations name, and what values of two types join to."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np
import pytest

from kerneltk.jit.ir.joining import (
    has_weak,
    hint_for,
    join,
    joined_references,
    narrow_join,
    plain,
    type_of_annotation,
    without_weak,
)
from kerneltk.jit.ir.promotion import joined_constant
from kerneltk.jit.ir.types import (
    BOOL,
    PY_COMPLEX,
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
    ("annotation", "expected"),
    [
        (int, PY_INT),
        (float, PY_FLOAT),
        (complex, PY_COMPLEX),
        (bool, BOOL),
        (np.float32, F4),
        (np.dtype("i4"), I4),
        ("float32", F4),
        ("bfloat16", number(ml_dtypes.bfloat16)),
        (ml_dtypes.bfloat16, number(ml_dtypes.bfloat16)),
        ("word", None),
        (str, None),
        (None, None),
        (3, None),
        (Any, None),
        (np.ndarray, None),
        (np.str_, None),
        (np.dtype([("a", "i4")]), None),
        (np.longdouble, None),
    ],
    ids=str,
)
def test_annotations(annotation: Any, expected: Type | None) -> None:
    assert type_of_annotation(annotation) == expected


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


def test_a_read_only_reference_stays_read_only() -> None:
    only = replace(reference(), writable=False)
    for first, second in ((only, reference()), (reference(), only)):
        assert joined_references(first, second) == only


def test_hints() -> None:
    assert "use 'x[i].copy()'" in hint_for(RECORD, reference())
    assert "use 'x[i].copy()'" in hint_for(Tuple((reference(),)), Tuple((RECORD,)))
    assert hint_for(RECORD, RECORD) == hint_for(RECORD, OTHER) == ""
    assert "'np.uint64(x)'" in hint_for(PY_INT, number("uint64"))
    assert "'np.float32(x)'" in hint_for(number("float16"), number("bfloat16"))
    assert "'np.int64(x)' or 'np.uint64(x)'" in hint_for(number("int8"), number("uint64"))


def test_python_numbers_give_way_at_first() -> None:
    assert narrow_join("numpy", PY_INT, F4) == F4
    assert narrow_join("numpy", joined_constant(1000), number("uint8")) == number("uint8")


def test_without_weak_numbers_nothing_has_been_joined() -> None:
    kind = without_weak(Tuple((PY_FLOAT, F4)))
    assert plain(kind) == Tuple((PY_FLOAT, F4))
    assert has_weak(kind)
    found = join("numpy", kind, Tuple((joined_constant(0), joined_constant(0))))
    assert found is not None
    assert plain(found) == Tuple((PY_INT, F4))

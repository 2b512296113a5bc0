"""Descriptions of values, and what is recorded of those that lowering finds."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
import pytest

from kerneltk import jit
from kerneltk.core.dtypes import UndescribedError
from kerneltk.jit.source.lookups import Descriptions, Lookups


def test_a_value_that_changes_while_it_is_read_is_not_kept() -> None:
    def f() -> None: ...

    lookups = Lookups()
    values = [1, 2]
    lookups.note(f, ("values",), values)
    assert lookups.facts(f) is not None
    values[1] = 3
    assert lookups.facts(f) is None

    lookups = Lookups()
    for value in (1, 2):
        lookups.note(f, ("value",), value)
    assert lookups.facts(f) is None


def test_values_that_have_no_description() -> None:
    def f() -> None: ...

    @dataclasses.dataclass
    class Own:
        n: int = 2

    class Number(int): ...

    recursive: list[Any] = []
    recursive.append(recursive)
    huge = np.zeros(1 << 18)
    described = Descriptions(f)
    for value in (
        Own(), Own, Number(2), recursive, math, object(), huge, huge[:1].astype(object),
        f.__get__(1), np.frompyfunc(abs, 1, 1), np.vectorize(abs), iter(()), {1},
        np.ma.array([1]), [0] * 5000,
    ):  # fmt: skip
        with pytest.raises(UndescribedError):
            described.of(value)


def test_equal_values_of_other_types_have_other_descriptions() -> None:
    def f() -> None: ...

    values: list[Any] = [
        0, 0.0, -0.0, False, 0j, complex(-0.0, 0), "", b"", (), [], {}, None, "0", "None",
        (0,), [0], (0.0,), ((),), ("a", "b"), ("ab",), ("a,sb",), {0: 1}, {1: 0},
        range(2), range(0, 2, 2),
        np.float32(0), np.float64(0), np.int32(0), np.int64(0), np.uint32(0), np.bool_(0),
        np.zeros(2), np.zeros(2, "f"), np.zeros((2, 1)), np.zeros((1, 2)), np.zeros((2, 2)).T[:1],
        np.dtype("f4"), np.dtype(">f4"), np.dtype("f4,f4"), np.dtype("f4,f4", align=True),
        np.dtype([("a", "f4")]), np.dtype([("b", "f4")]), np.dtype(("f4", 2)), np.dtype("i4"),
        np.dtype({"names": ["a"], "formats": ["f4"], "offsets": [4]}), np.float32, np.float64,
        float, float("nan"), float("inf"), math.sin, np.sin, math.cos, abs, jit.grid, jit.threadIdx,
        jit.cub.BlockReduce, jit.cub.WarpReduce, jit.cub.Sum,
        jit.threadIdx.x, jit.threadIdx.y, f, ..., 2**70, -(2**70),
    ]  # fmt: skip
    found = [
        Descriptions(test_equal_values_of_other_types_have_other_descriptions).of(v) for v in values
    ]
    assert len(set(found)) == len(values)

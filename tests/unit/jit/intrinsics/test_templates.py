"""Collectives in brackets: for which dtypes and threads there are some, and what they need."""

from __future__ import annotations

import copy
import enum
import pickle
from typing import Any

import numpy as np
import pytest

from kerneltk.errors import ArgumentTypeError, ArgumentValueError, UnsupportedError
from kerneltk.jit import cub


def test_the_same_brackets_make_the_same_class() -> None:
    one, two = cub.BlockReduce[np.float32, 64], cub.BlockReduce[np.dtype("f4"), (64,)]
    assert one == two
    assert hash(one) == hash(two)
    others = (
        *(cub.BlockReduce[np.float32, 32], cub.BlockReduce[np.float64, 64]),
        *(cub.BlockScan[np.float32, 64], cub.BlockReduce[np.float32, 32, 2]),
    )
    assert one not in others
    assert pickle.loads(pickle.dumps(one)) == copy.copy(one) == one
    assert cub.WarpReduce[int] == cub.WarpReduce[np.int64, 32]
    assert repr(cub.BlockSort[np.int32, (8, 8), 4, "f8"]) == "<BlockSort[int32, 8, 8, 4, float64]>"
    assert pickle.loads(pickle.dumps(cub.BlockReduce)) is cub.BlockReduce
    with pytest.raises(UnsupportedError, match="only be called inside of a kernel"):
        one(None)


@pytest.mark.parametrize(
    ("template", "key", "error", "message"),
    [
        ("BlockReduce", np.float32, ArgumentTypeError, "needs the number of threads of a block"),
        ("BlockReduce", ("x9", 32), ArgumentTypeError, "'x9' is no dtype"),
        ("BlockReduce", ("U4", 32), ArgumentTypeError, "is no dtype of values"),
        ("BlockReduce", (None, 32), ArgumentTypeError, "None is no dtype"),
        ("BlockReduce", (enum.Enum("E", ["A"]), 32), ArgumentTypeError, "is no dtype of values"),
        ("BlockReduce", ((np.complex128,) * 5, 32), ArgumentTypeError, "up to 64 bytes"),
        ("BlockReduce", (np.float32, 0), ArgumentValueError, "for blocks of 1 to 1024 threads"),
        ("BlockReduce", (np.float32, 1025), ArgumentValueError, "for blocks of 1 to 1024 threads"),
        ("BlockReduce", (np.float32, 33, 32), ArgumentValueError, "not (33, 32)"),
        ("BlockReduce", (np.float32, -1, -1), ArgumentValueError, "not (-1, -1)"),
        ("BlockReduce", (np.float32, 1, 1, 1, 1), ArgumentValueError, "along up to three axes"),
        ("BlockReduce", (np.float32, 8.0), ArgumentTypeError, "are given as ints, not 8.0"),
        ("BlockReduce", (np.float32, True), ArgumentTypeError, "are given as ints, not True"),
        ("WarpReduce", (np.float32, 3), ArgumentValueError, "a power of two up to 32, not 3"),
        ("WarpReduce", (np.float32, 64), ArgumentValueError, "a power of two up to 32, not 64"),
        ("BlockSort", (np.int32, 64, 0), ArgumentValueError, "1 to 256 keys, not 0"),
        ("BlockSort", (np.int32, 64, 1.5), ArgumentValueError, "1 to 256 keys, not 1.5"),
        ("BlockSort", (np.int32, 64, 1, "f4", 2), ArgumentTypeError, "takes a dtype, the threads"),
        ("BlockSort", ((np.int32, np.int32), 64), ArgumentTypeError, "sorts numbers"),
        ("BlockSort", (np.float64, 1024, 32), ArgumentValueError, "bytes of shared memory"),
    ],
)
def test_brackets_that_are_refused(
    template: str, key: Any, error: type[Exception], message: str
) -> None:
    with pytest.raises(error) as caught:
        getattr(cub, template)[key]
    assert message in str(caught.value)


def test_storage_is_declared_for_one_class() -> None:
    reduce = cub.BlockReduce[np.float32, 64]
    assert "64" in reduce.storage
    assert repr(reduce.TempStorage)
    assert "BlockReduce[float32, 64]" in repr(reduce.TempStorage)

"""Collectives in brackets: for which dtypes and threads there are some, and what they need."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest

from kerneltk.errors import ArgumentTypeError, ArgumentValueError, UnsupportedError
from kerneltk.jit import cub
from kerneltk.jit.ir.types import number


def test_numbers_of_threads() -> None:
    for key in ((np.float32, 8, 4), (np.float32, (8, 4)), (np.float32, 8, 4, 1)):
        found = cub.BlockReduce[key]
        assert found.threads == (8, 4, 1)
        assert found.extents == ["8", "4"]
        assert repr(found) == "<BlockReduce[float32, 8, 4]>"
        assert found.required_block == (8, 4, 1)
    assert cub.BlockReduce[np.float32, 1].extents == ["1"]
    assert cub.BlockReduce[np.float32, 1, 1, 2].extents == ["1", "1", "2"]
    assert cub.BlockReduce[np.float32, 1024].threads == (1024, 1, 1)
    assert cub.BlockReduce[np.float32, np.int64(32)].threads == (32, 1, 1)


def test_widths_of_warps() -> None:
    assert cub.WarpReduce[np.float32].threads == (32, 1, 1)
    assert cub.WarpReduce[np.float32, 8].threads == (8, 1, 1)
    assert cub.WarpReduce[np.float32].required_block is None
    assert str(cub.WarpReduce[np.int32, np.float32].item) == "tuple of (int32, float32)"


def test_keys_and_values_that_are_sorted() -> None:
    sort = cub.BlockSort[np.int32, 64]
    assert (sort.count, sort.value) == (1, None)
    more = cub.BlockSort[np.int32, (8, 8), 4, np.float64]
    assert (more.threads, more.count, more.value) == ((8, 8, 1), 4, number("float64"))
    assert repr(more) == "<BlockSort[int32, 8, 8, 4, float64]>"


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

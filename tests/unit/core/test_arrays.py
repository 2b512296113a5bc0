"""Array views, compared with what NumPy says of its own."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kerneltk.core.arrays import (
    ArraySpec,
    Loop,
    broadcast_strides,
    byte_extent,
    collapse,
    is_c_contiguous,
    is_f_contiguous,
    may_overlap_itself,
    merge_in_order,
)


@st.composite
def views(draw: Any) -> Any:
    shape = draw(st.lists(st.integers(0, 5), min_size=1, max_size=4))
    array = np.zeros(shape, draw(st.sampled_from(["i1", "f4", "c16"])), draw(st.sampled_from("CF")))
    index = tuple(draw(st.slices(extent)) for extent in shape)
    return array[index].transpose(draw(st.permutations(range(len(shape)))))


@given(views())
@settings(deadline=None, max_examples=60)
def test_contiguity_and_extent(view: Any) -> None:
    layout = view.shape, view.strides, view.itemsize
    assert is_c_contiguous(*layout) == view.flags.c_contiguous
    assert is_f_contiguous(*layout) == view.flags.f_contiguous
    low, high = byte_extent(*layout)
    if view.size:
        start = view.ctypes.data
        assert np.lib.array_utils.byte_bounds(view) == (start + low, start + high)
    else:
        assert (low, high) == (0, 0)


@pytest.mark.parametrize(
    ("shape", "to"),
    [((3,), (2, 3)), ((1, 3), (2, 3)), ((2, 1), (2, 3)), ((), (4,)), ((1,), (1, 1)),
     ((0,), (2, 0))],
)  # fmt: skip
def test_broadcast_strides(shape: tuple[int, ...], to: tuple[int, ...]) -> None:
    array = np.zeros(shape, np.int32)
    steps = broadcast_strides(shape, array.strides, to)
    view = np.broadcast_to(array, to)
    assert [s for s, n in zip(steps, to, strict=True) if n > 1] == [
        s for s, n in zip(view.strides, to, strict=True) if n > 1
    ]


def test_make() -> None:
    spec = ArraySpec.make("f4", (2, 3), order="F", offset=20)
    assert (spec.dtype, spec.shape, spec.strides, spec.offset) == (
        np.dtype("f4"), (2, 3), (4, 8), 4,
    )  # fmt: skip
    assert (spec.size, spec.ndim) == (6, 2)
    assert ArraySpec.make("bfloat16", 7).dtype.name == "bfloat16"
    assert ArraySpec.make("f4", np.int64(7)).shape == (7,)
    assert ArraySpec.make(np.int8, [2, int(np.int64(3))]).shape == (2, 3)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"shape": (2, -1)}, "negative extent"),
        ({"shape": 2, "order": "K"}, "must be 'C' or 'F'"),
        ({"shape": (2, 3), "strides": (4,)}, "do not match"),
        ({"shape": 3, "dtype": "flaot32"}, "flaot32"),
    ],
)
def test_make_refuses(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=message):
        ArraySpec.make(**{"dtype": "f4", **arguments})


@pytest.mark.parametrize(
    ("shape", "strides", "overlaps"),
    [
        ((4, 3), (12, 4), False), ((4, 3), (4, 16), False), ((4, 3), (-12, 8), False),
        ((4, 3), (-8, 8), True), ((2**16, 3), (12, 8), True), ((4, 3), (-24, 8), False),
        ((5,), (0,), True), ((1, 5), (0, 4), False), ((5,), (2,), True), ((9, 2), (4, 4), True),
        ((0, 5), (0, 0), False), ((), (), False), ((1000, 1000), (4000, 4), False),
        ((1000, 1000), (4000, 3), True),
    ],
)  # fmt: skip
def test_arrays_whose_elements_share_memory(
    shape: tuple[int, ...], strides: tuple[int, ...], overlaps: bool
) -> None:
    assert may_overlap_itself(shape, strides, 4) is overlaps


def test_which_dimensions_are_merged() -> None:
    assert merge_in_order((2, 3), [(12, 4), (24, 8)]) == Loop((6,), ((4,), (8,)))
    for rows in ([(24, 4)], [(12, 4), (24, 4)], [(8, 4)]):
        assert merge_in_order((2, 3), rows) == Loop((2, 3), tuple(rows))
    assert collapse((3, 2), [(-8, 4)]) == Loop((3, 2), ((-8, 4),))
    assert collapse((2, 3), [(4, -8)]) == Loop((3, 2), ((-8, 4),))

"""Which reduction strategy is chosen on a GPU for the arrays that programs mostly have."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import pytest

from kerneltk.backends.base import capabilities_of
from kerneltk.core.arrays import ArraySpec, broadcast_strides, c_strides
from kerneltk.core.dtypes import alignment_on
from kerneltk.schedule.elementwise import Operand
from kerneltk.schedule.reduction import Geometry
from kerneltk.schedule.reduction_cuda import (
    COUNTERS,
    CudaReductionSchedule,
    plan_reduction_cuda,
)
from tests.unit.schedule.test_rows import LENGTHS

make = ArraySpec.make
Shape = tuple[int, ...]


def plan(
    shape: Shape, axes: Sequence[int], *inputs: ArraySpec, dtype: str = "f4", numbers: bool = False,
    accumulator: int = 4, multiprocessors: int = 132, step: int = 4,
) -> Any:  # fmt: skip
    """Plan a reduction of one array in C order, or of `inputs`, to one array whose elements are a
    step (bytes) apart.
    """
    kept = [k for k in range(len(shape)) if k not in axes]
    extents = tuple(shape[k] for k in kept), tuple(shape[k] for k in axes)
    operands = []
    for spec in inputs or (make(dtype, shape),):
        steps = broadcast_strides(spec.shape, spec.strides, shape)
        row = *(steps[k] for k in kept), *(steps[k] for k in axes)
        unit = alignment_on(capabilities_of("cuda"), spec.dtype)
        operands.append(Operand(spec.dtype.itemsize, row, spec.offset, unit))
    none = tuple(0 for _ in axes)
    operands.append(Operand(4, (*c_strides(extents[0], step), *none), 0, 4, True))
    if numbers:
        zeros = tuple(0 for _ in kept)
        operands.append(Operand(1, (*zeros, *c_strides(extents[1], 1)), 0, 0))
    return plan_reduction_cuda(Geometry(*extents, tuple(operands)), accumulator, multiprocessors)


def choice(schedule: Any) -> tuple[Any, ...]:
    unroll, lanes = getattr(schedule, "unroll", 1), getattr(schedule, "lanes", 1)
    width = getattr(schedule, "width", 1)
    return (schedule.strategy, width, unroll, lanes, schedule.block, schedule.split)


def source_key(schedule: CudaReductionSchedule) -> tuple[Any, ...]:
    """What the generated source depends on."""
    return (
        schedule.strategy, *(getattr(schedule, name) for name in schedule.source_fields()),
        schedule.wide_index, schedule.accesses, schedule.split > 1,
        len(schedule.outer.shape), len(schedule.reduction.shape),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("shape", "axes", "wanted"),
    [
        # strategy, width, unroll, lanes, block, split
        ((2**28,), (0,), ("rows", 4, 4, 512, 512, 528)),
        ((2**20,), (0,), ("rows", 4, 4, 256, 256, 256)),
        ((10**4,), (0,), ("rows", 4, 3, 1024, 1024, 1)),
        ((8, 2**25), (1,), ("rows", 4, 4, 512, 512, 66)),
        ((16384, 16384), (1,), ("rows", 4, 4, 256, 256, 1)),
        ((10**5, 1024), (1,), ("rows", 4, 4, 32, 256, 1)),
        ((10**6, 64), (1,), ("rows", 4, 1, 16, 256, 1)),
        ((2**26, 4), (1,), ("rows", 4, 1, 1, 256, 1)),
        ((1000, 1023), (1,), ("rows", 4, 1, 256, 256, 1)),
        ((64, 2048, 2048), (0, 2), ("rows", 4, 4, 256, 256, 1)),
        ((2**26, 3), (1,), ("short", 12, 1, 1, 256, 1)),
        ((10**6, 63), (1,), ("staged", 1, 1, 4, 256, 1)),
        ((16384, 16384), (0,), ("columns", 4, 4, 32, 512, 2)),
        ((64, 2048, 2048), (1,), ("columns", 4, 4, 32, 256, 1)),
        ((64, 2048, 2048), (0,), ("columns", 4, 4, 256, 256, 1)),
        ((8, 2**25), (0,), ("columns", 4, 4, 256, 256, 1)),
        ((2**26, 4), (0,), ("columns", 4, 4, 1, 512, 264)),
        ((2**26, 3), (0,), ("columns", 1, 8, 3, 510, 396)),
        ((1000, 1023), (0,), ("columns", 1, 8, 128, 512, 32)),
        ((100003, 671), (0,), ("columns", 1, 8, 112, 448, 66)),
        ((1000, 0), (1,), ("columns", 4, 1, 256, 256, 1)),
        ((), (), ("columns", 1, 1, 256, 256, 1)),
    ],
)
def test_float32_in_c_order(shape: Shape, axes: Shape, wanted: tuple[Any, ...]) -> None:
    assert choice(plan(shape, axes)) == wanted


# The shape of length n: unroll, lanes, block, split from each n on, as far as the next one.
ALONG = {
    1: (1, 1), 2: (1, 2), 3: (3, 1), 4: (1, 4), 5: (3, 2), 7: (1, 8), 9: (3, 2), 11: (3, 4),
    13: (1, 16), 17: (3, 4), 23: (3, 8), 25: (4, 4), 31: (1, 32), 33: (3, 8), 47: (3, 16),
    49: (4, 8), 63: (2, 32), 65: (3, 16), 95: (3, 32), 97: (4, 16), 127: (4, 32), 129: (3, 32),
    193: (4, 32), 513: (3, 256), 769: (4, 256), 1025: (3, 256), 1537: (4, 256),
}  # fmt: skip
DOWN = {
    1: (1, 256), 2: (2, 256), 3: (3, 256), 4: (4, 256), 5: (3, 256), 7: (4, 256), 8: (4, 128),
    9: (3, 128), 13: (4, 128), 16: (4, 64), 17: (3, 64), 25: (4, 64), 32: (4, 32), 33: (3, 32),
    49: (4, 32), 128: (4, 32, 512, 2), 129: (3, 32, 512, 3), 191: (4, 32, 512, 3),
    193: (4, 32, 512, 4), 257: (4, 32, 512, 5), 383: (4, 32, 512, 6), 385: (4, 32, 512, 7),
    511: (4, 32, 512, 8), 513: (3, 32, 512, 8), 769: (4, 32, 512, 8),
}  # fmt: skip


@pytest.mark.parametrize(
    ("strategy", "wanted", "shape", "axis"),
    [
        ("rows", ALONG, lambda n: (4096, 4 * n), 1),
        ("columns", DOWN, lambda n: (n, 4096), 0),
    ],
)
def test_lengths(
    strategy: str, wanted: dict[int, Shape], shape: Callable[[int], Shape], axis: int
) -> None:
    for length in LENGTHS:
        unroll, lanes, *rest = wanted[max(first for first in wanted if first <= length)]
        block, split = rest or (256, 1)
        assert choice(plan(shape(length), (axis,))) == (strategy, 4, unroll, lanes, block, split)


@pytest.mark.parametrize(
    ("dtype", "width"), [("i1", 16), ("f2", 8), ("f4", 4), ("f8", 2), ("c16", 1)]
)
def test_packs_are_sixteen_bytes(dtype: str, width: int) -> None:
    assert plan((2**26,), (0,), dtype=dtype).width == width
    assert plan((1024, 4096), (0,), dtype=dtype).width == min(width, 8)


def test_a_thread_holds_few_bytes_of_totals() -> None:
    widths = [
        plan((1024, 4096), (0,), dtype="i1", accumulator=size).width for size in (4, 8, 24, 128)
    ]
    assert widths == [8, 4, 2, 1]


def test_the_order_in_memory_decides_and_not_the_axis() -> None:
    shape = (4096, 1024)
    for axis in (0, 1):
        across, along = make("f4", shape), make("f4", shape, order="F")
        assert plan(shape, (axis,), across).strategy == ("columns", "rows")[axis]
        assert plan(shape, (axis,), along).strategy == ("rows", "columns")[axis]


def test_the_input_that_moves_most_bytes_decides() -> None:
    shape = (4096, 1024)
    x, turned = make("f4", shape), make("f8", shape, order="F")
    assert plan(shape, (1,), x, turned).strategy == "columns"
    assert plan(shape, (1,), x, make("f8", (1, 1024))).strategy == "rows"


def test_tiles_whose_partial_results_are_many_are_narrow() -> None:
    chosen = [plan((2**18, n), (0,), dtype="f2", accumulator=size) for n, size in
              ((128, 32), (128, 8), (50, 32))]  # fmt: skip
    assert [(s.lanes, s.tiles, s.split) for s in chosen] == [
        (32, 2, 132), (16, 2, 132), (14, 2, 132),
    ]  # fmt: skip
    # Those without partial results have large blocks, where they are few.
    assert [plan((512, n), (0,), dtype="f2").block for n in (2**16, 2**20)] == [512, 256]


def test_rows_that_begin_within_packs_are_peeled() -> None:
    layout = plan((1000, 1001), (1,))
    assert (layout.width, layout.peeled) == (4, True)
    assert plan((1000, 1000), (1,), make("f4", (1000, 1000), offset=4)).peeled
    assert plan((1000, 1000), (1,), make("f4", (1000, 1000), offset=2)).width == 1
    # Two arrays that begin at different places have no packs in common.
    pair = make("f4", (1000, 1000), offset=4), make("f4", (1000, 1000))
    assert plan((1000, 1000), (1,), *pair).width == 1


def test_neighbouring_columns_need_aligned_rows() -> None:
    assert [plan((500, n), (0,)).width for n in (1024, 1022, 1023)] == [4, 2, 1]


@pytest.mark.parametrize(
    ("dtype", "columns", "width", "kinds", "is_overlapped"),
    [("i1", 1024, 8, "row", False), ("i1", 1001, 8, "shifted", True),
     ("i1", 1004, 4, "row", False), ("i1", 1002, 8, "shifted", True),
     ("f2", 1001, 8, "shifted", True), ("f2", 1002, 2, "row", False),
     ("i1", 5, 1, "strided", False), ("f4", 1001, 1, "strided", False)],
)  # fmt: skip
def test_columns_of_small_elements_are_vectors_that_begin_anywhere(
    dtype: str, columns: int, width: int, kinds: str, is_overlapped: bool
) -> None:
    layout = plan((500, columns), (0,), dtype=dtype)
    assert (layout.width, layout.overlapped) == (width, is_overlapped)
    assert layout.accesses[0].kind == kinds
    # Every output belongs to a vector, and the last one of a row begins within it.
    assert layout.vectors * width >= columns > (layout.vectors - 1) * width


def test_vectors_of_small_elements_are_reversed() -> None:
    x = make("u1", (500, 1001), strides=(1001, -1))
    layout = plan((500, 1001), (0,), x)
    assert (layout.width, layout.accesses[0].kind) == (8, "reversed")
    x = make("f4", (1001, 500), strides=(2000, -4))
    assert plan((1001, 500), (0,), x).width == 1
    layout = plan((1001, 500), (1,), x)
    assert (layout.width, layout.accesses[0].kind) == (4, "reversed")


@pytest.mark.parametrize(("axis", "strategy"), [(0, "columns"), (1, "rows")])
def test_every_second_small_element_is_picked_from_vectors(axis: int, strategy: str) -> None:
    layout = plan((500, 1001), (axis,), make("u1", (500, 1001), strides=(2002, 2)))
    assert (layout.strategy, layout.width, layout.accesses[0].kind) == (strategy, 8, "picked")
    for columns, chunk in ((1000, 16), (1004, 1)):  # aligned rows need no shift
        x = make("u1", (500, columns), strides=(2 * columns, 2))
        assert plan((500, columns), (axis,), x).accesses[0].chunk == chunk
    layout = plan((500, 1001), (axis,), make("f4", (500, 1001), strides=(8008, 8)))
    assert layout.accesses[0].kind == "strided"


def test_rows_of_small_elements_end_within_vectors() -> None:
    layout = plan((50, 3, 70, 101), (0, 3), dtype="i1")
    assert (layout.strategy, layout.width, layout.partial) == ("rows", 16, True)
    assert layout.inner_vectors == 7
    assert plan((50, 3, 70, 101), (0, 3)).partial is False
    assert plan((50, 3, 70, 96), (0, 3), dtype="i1").accesses[0].kind == "row"
    later = plan((50, 3, 70, 96), (0, 3), make("i1", (50, 3, 70, 96), offset=1))
    assert (later.partial, later.accesses[0].kind) == (False, "shifted")


@pytest.mark.parametrize("axis", [0, 1])
def test_inputs_of_opposite_orders_are_loaded_along_the_reduction(axis: int) -> None:
    shape = 500, 400
    orders = make("f4", shape, order="F"), make("i1", shape)
    layout = plan(shape, (axis,), *orders)
    assert (layout.strategy, layout.stacked, layout.unroll) == ("columns", True, 8)
    assert [access.kind for access in layout.accesses[:2]].count("along") == 1
    # Neighbouring rows of a thread must not lie in two rows of the inner axis.
    three = 500, 7, 400
    pair = make("f4", three), make("f4", three, strides=(4, 4 * 400 * 500, 4 * 500))
    assert not getattr(plan(three, (0, 1), *pair), "stacked", False)
    assert not getattr(plan((6, 400), (0,), make("f4", (6, 400)), orders[1]), "stacked", False)


def test_short_columns_of_single_elements_are_spread() -> None:
    layout = plan((2, 2**24 + 1), (0,))
    assert (layout.spread, layout.width, layout.unroll) == (True, 4, 2)


def test_short_and_staged_rows_have_no_gaps() -> None:
    for length, strategy in ((3, "short"), (63, "staged")):
        shape = (10**6, length)
        assert plan(shape, (1,)).strategy == strategy
        gaps = make("f4", shape, strides=(4 * length + 4, 4))
        assert plan(shape, (1,), gaps).strategy == "rows"
        later = make("f4", shape, offset=4)
        assert plan(shape, (1,), later).strategy == ("short" if length == 3 else "rows")
    assert plan((10**6, 3), (1,), step=8).strategy == "staged"  # results have gaps
    # The numbers of elements are counted one by one.
    assert plan((10**6, 3), (1,), numbers=True).strategy == "staged"
    assert plan((1000, 63), (1,)).strategy == "rows"  # too few to fill the device


@pytest.mark.parametrize(
    ("dtype", "length", "rows", "is_brought"),
    [("i1", 3, 16, False), ("i1", 7, 16, True), ("f2", 7, 8, True), ("f4", 5, 4, True),
     ("i1", 12, 4, False), ("i1", 28, 4, True)],
)  # fmt: skip
def test_short_rows_are_whole_vectors_of_a_thread(
    dtype: str, length: int, rows: int, is_brought: bool
) -> None:
    layout = plan((10**6, length), (1,), dtype=dtype)
    assert (layout.strategy, layout.rows, layout.brought) == ("short", rows, is_brought)
    later = make(dtype, (10**6, length), offset=np.dtype(dtype).itemsize)
    assert (plan((10**6, length), (1,), later).strategy == "short") != is_brought


def test_staged_rows_are_read_in_words() -> None:
    for dtype, length, width in (("i1", 300, 4), ("f2", 51, 1), ("f2", 70, 2), ("f4", 63, 1)):
        layout = plan((10**6, length), (1,), dtype=dtype)
        assert (layout.strategy, layout.width) == ("staged", width)
    for dtype, length in (("i1", 100), ("f2", 50), ("f2", 333), ("f4", 50), ("f4", 201)):
        assert plan((10**6, length), (1,), dtype=dtype).strategy == "rows"  # read as they are


@pytest.mark.parametrize(
    ("dtype", "length", "width", "peeled"),
    [("i1", 50, 16, False), ("i1", 127, 16, False), ("i1", 129, 16, True), ("f2", 65, 8, True)],
)
def test_few_elements_of_short_rows_are_beside_their_vectors(
    dtype: str, length: int, width: int, peeled: bool
) -> None:
    gaps = make(
        dtype,
        (10**6, length),
        strides=((length | 1) * np.dtype(dtype).itemsize + 2, 1 if dtype == "i1" else 2),
    )
    layout = plan((10**6, length), (1,), gaps)
    assert (layout.strategy, layout.width, layout.peeled) == ("rows", width, peeled)
    assert (layout.accesses[0].kind == "shifted") != peeled
    assert layout.rows > 1 or peeled


def test_lanes_of_single_elements_read_a_sector_side_by_side() -> None:
    gaps = make("f4", (10**6, 32), strides=(4 * 64, 8))
    assert plan((10**6, 32), (1,), gaps).lanes == 8


def test_what_each_output_has_one_element_of_is_not_across() -> None:
    """It leaves the other input's rows to lanes that are side by side."""
    shape = 10**6, 32
    column = make("i1", shape, strides=(1, 0))
    assert plan(shape, (1,), make("f4", shape, strides=(148, 4)), column).strategy == "rows"


@pytest.mark.parametrize(
    ("dtype", "columns", "folded", "lanes"), [("f2", 7, 8, 7), ("f2", 50, 4, 25), ("i1", 12, 2, 3)]
)
def test_short_rows_of_outputs_are_several_in_whole_vectors(
    dtype: str, columns: int, folded: int, lanes: int
) -> None:
    shape = 10**5, columns
    layout = plan(shape, (0,), dtype=dtype)
    assert (layout.strategy, layout.folded, layout.lanes) == ("columns", folded, lanes)
    assert layout.lanes * layout.width == folded * columns
    assert layout.length == 10**5 // folded
    assert plan(shape, (0,)).folded == 1  # single words fill the sectors
    later = make(dtype, shape, offset=np.dtype(dtype).itemsize)
    assert plan(shape, (0,), later).folded == 1
    assert plan((100, columns), (0,), dtype=dtype).folded == 1
    assert plan(shape, (0,), dtype=dtype, numbers=True).folded == 1


@pytest.mark.parametrize(("shape", "axis"), [((1300, 6), 0), ((20, 1300, 6), 1)])
def test_lanes_of_several_short_rows_have_one_row_of_outputs(shape: Shape, axis: int) -> None:
    """Also where lanes below them have few rows each: they put its outputs together."""
    layout = plan(shape, (axis,), dtype="i1")
    assert (layout.folded, layout.lanes * layout.width) == (4, 4 * 6)


@pytest.mark.parametrize("length", [4, 64, 1024])
def test_groups_of_threads_take_several_short_rows(length: int) -> None:
    layout = plan((10**6, length), (1,))
    rows = layout.block // layout.lanes * layout.rows
    assert layout.rows > 1 or length == 1024
    assert (layout.tiles - 1) * rows < 10**6 <= layout.tiles * rows


@pytest.mark.parametrize("multiprocessors", [1, 16, 108, 132, 144])
def test_the_device_is_filled(multiprocessors: int) -> None:
    """Long rows are split over as many blocks as the device holds, or a few times as many."""
    for count, axis in itertools.product((1, 2, 3, 5, 8), (0, 1)):
        shape = ((2**26 // count, count), (count, 2**26 // count))[axis]
        layout = plan(shape, (axis,), multiprocessors=multiprocessors)
        blocks = layout.tiles * layout.split
        assert layout.block * blocks >= 0.7 * multiprocessors * 1024
        assert layout.block * blocks <= 4 * multiprocessors * 2048 or layout.split == 1


def test_more_rows_than_counters_are_not_split() -> None:
    for count in (COUNTERS, COUNTERS + 1):
        split = plan((count, 2**20), (1,), multiprocessors=10**5).split
        assert (split > 1) == (count <= COUNTERS)


KINDS: dict[str, tuple[list[Shape], int]] = {
    "vectors": ([(n * 4,) for n in range(2**24, 2**26, 99991)], 0),
    "vectors of odd length": ([(n * 4 + 1,) for n in range(2**24, 2**26, 99991)], 0),
    "few long rows": ([(8, n * 4) for n in range(2**22, 2**24, 99991)], 1),
    "many rows of one length": ([(n, 1000) for n in range(10**4, 10**6, 9973)], 1),
    "many short rows": ([(n * 4, 3) for n in range(1, 10**6, 9973)], 1),
    "many rows of middling length": ([(n, 63) for n in range(10**5, 10**6, 9973)], 1),
    "few columns": ([(n, 4) for n in range(2**25, 2**26, 99991)], 0),
    "many columns": ([(1000, n * 1024) for n in range(100, 500, 6)], 0),
}


@pytest.mark.one_in(4)
@pytest.mark.parametrize("kind", KINDS)
def test_one_text_for_all_lengths_of_a_kind(kind: str) -> None:
    shapes, axis = KINDS[kind]
    assert len(shapes) > 60
    assert len({source_key(plan(shape, (axis,))) for shape in shapes}) == 1


def sources(shapes: Iterable[Shape], axis: int) -> int:
    return len({source_key(plan(shape, (axis,))) for shape in shapes})


@pytest.mark.exhaustive
def test_few_texts_for_all_lengths() -> None:
    assert sources(((n,) for n in range(4, 2**26, 4 * 9973)), 0) <= 4
    assert sources(((10**5, n) for n in range(4, 2**14, 4)), 1) <= 20


@pytest.mark.exhaustive
def test_columns_have_the_most_texts() -> None:
    """How many threads stand side by side follows the number of columns."""
    numbers = random.Random(5)
    shapes = [tuple(4 * int(2 ** numbers.uniform(2, 11)) for _ in range(2)) for _ in range(2000)]
    assert sources(shapes, 1) <= 24
    assert sources(shapes, 0) <= 300


def test_wide_indices_where_a_number_or_an_offset_needs_them() -> None:
    narrow = [((2**30,), (0,)), ((2**15, 2**18), (1,)), ((2**18, 2**12), (0,))]
    wide = [((2**31,), (0,)), ((2**20, 4096), (0,)), ((2**32, 4), (1,))]
    assert not any(plan(shape, axes, dtype="i1").wide_index for shape, axes in narrow)
    assert all(plan(shape, axes, dtype="i1").wide_index for shape, axes in wide)


@pytest.mark.parametrize(
    ("length", "plain", "numbered"),
    [(4096, 4, 2), (2056, 3, 2), (4100, 3, 3), (2048, 4, 4), (16384, 4, 4), (1024, 4, 4)],
)
def test_indices_of_short_rows_are_combined_in_two_rounds(
    length: int, plain: int, numbered: int
) -> None:
    shape = (8192, length)
    assert plan(shape, (1,)).unroll == plain
    assert plan(shape, (1,), numbers=True).unroll == numbered


def test_single_elements_are_written_in_the_order_of_the_outputs() -> None:
    turned = make("f4", (500, 400, 1), strides=(4, 2000, 2000))
    assert plan((500, 400, 1), (2,), turned).outer.strides == ((4, 2000), (1600, 4))

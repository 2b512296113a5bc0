"""Which reduction strategy is chosen on a GPU for the arrays that programs mostly have."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

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


def shown(schedule: Any) -> str:
    """The strategy; width, unroll, lanes, block, split; what else it has; the inputs' accesses."""
    found = " ".join(map(str, choice(schedule)))
    for name in ("rows", "folded"):
        if getattr(schedule, name, 1) > 1:
            found += f" {name} {getattr(schedule, name)}"
    for name in ("peeled", "overlapped", "partial", "stacked", "spread", "brought"):
        if getattr(schedule, name, False):
            found += f" {name}"
    inputs = schedule.accesses[:-1]
    return f"{found}: {', '.join(f'{access.kind} {access.chunk}' for access in inputs)}"


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


def test_schedules() -> None:
    planned: list[tuple[Any, str]] = [
        # Packs are sixteen bytes; a thread holds few bytes of totals.
        (plan((2**26,), (0,), dtype="i1"), "rows 16 4 512 512 528: row 16"),
        (plan((2**26,), (0,), dtype="f2"), "rows 8 4 512 512 528: row 16"),
        (plan((2**26,), (0,), dtype="f8"), "rows 2 4 512 512 528: row 16"),
        (plan((2**26,), (0,), dtype="c16"), "rows 1 4 512 512 528: strided 16"),
        (plan((1024, 4096), (0,), dtype="i1"), "columns 8 8 64 512 16: row 8"),
        (plan((1024, 4096), (0,), dtype="i1", accumulator=8), "columns 4 8 128 512 32: row 4"),
        (plan((1024, 4096), (0,), dtype="i1", accumulator=24), "columns 2 8 128 512 16: row 2"),
        (plan((1024, 4096), (0,), dtype="i1", accumulator=128),
         "columns 1 8 128 256 16: strided 1"),
        (plan((1024, 4096), (0,), dtype="f8"), "columns 2 4 32 512 4: row 16"),
        (plan((1024, 4096), (0,), dtype="c16"), "columns 1 4 32 512 2: strided 16"),
        # The order in memory decides, and not the axis; of inputs that which moves most bytes.
        (plan((4096, 1024), (0,), make("f4", (4096, 1024), order="F")),
         "rows 4 4 256 256 1: row 16"),
        (plan((4096, 1024), (1,), make("f4", (4096, 1024), order="F")),
         "columns 4 4 32 512 8: row 16"),
        (plan((4096, 1024), (1,), make("f4", (4096, 1024)), make("f8", (4096, 1024), order="F")),
         "columns 2 8 32 512 4 stacked: along 4, row 16"),
        (plan((4096, 1024), (1,), make("f4", (4096, 1024)), make("f8", (1, 1024))),
         "rows 2 2 32 256 1: row 8, row 16"),
        (plan((10**6, 32), (1,), make("f4", (10**6, 32), strides=(148, 4)),
              make("i1", (10**6, 32), strides=(1, 0))),
         "rows 4 1 8 256 1 peeled: row 16, broadcast 1"),
        # Tiles whose partial results are many are narrow.
        (plan((2**18, 128), (0,), dtype="f2", accumulator=32), "columns 2 8 32 512 132: row 4"),
        (plan((2**18, 128), (0,), dtype="f2", accumulator=8), "columns 4 8 16 512 132: row 8"),
        (plan((2**18, 50), (0,), dtype="f2", accumulator=32), "columns 2 8 14 504 132: row 4"),
        # Few tiles without partial results have large blocks.
        (plan((512, 2**16), (0,), dtype="f2"), "columns 8 4 32 512 1: row 16"),
        (plan((512, 2**20), (0,), dtype="f2"), "columns 8 4 32 256 1: row 16"),
        # Rows that begin within packs are peeled; two that differ in that have none in common.
        (plan((1000, 1001), (1,)), "rows 4 1 256 256 1 peeled: row 16"),
        (plan((1000, 1000), (1,), make("f4", (1000, 1000), offset=4)),
         "rows 4 1 256 256 1 peeled: row 16"),
        (plan((1000, 1000), (1,), make("f4", (1000, 1000), offset=2)),
         "rows 1 4 256 256 1: strided 2"),
        (plan((1000, 1000), (1,), make("f4", (1000, 1000), offset=4), make("f4", (1000, 1000))),
         "rows 1 4 256 256 1: strided 4, strided 4"),
        # Neighbouring columns need aligned rows, but those of small elements begin anywhere.
        (plan((500, 1024), (0,)), "columns 4 4 32 512 8: row 16"),
        (plan((500, 1022), (0,)), "columns 2 8 64 512 8: row 8"),
        (plan((500, 1023), (0,)), "columns 1 8 128 512 16: strided 4"),
        (plan((500, 1024), (0,), dtype="i1"), "columns 8 8 64 512 8: row 8"),
        (plan((500, 1001), (0,), dtype="i1"), "columns 8 4 64 512 16 overlapped: shifted 1"),
        (plan((500, 1004), (0,), dtype="i1"), "columns 4 8 128 512 16: row 4"),
        (plan((500, 1002), (0,), dtype="i1"), "columns 8 4 64 512 16 overlapped: shifted 1"),
        (plan((500, 1001), (0,), dtype="f2"), "columns 8 4 32 512 8 overlapped: shifted 2"),
        (plan((500, 1002), (0,), dtype="f2"), "columns 2 8 128 512 16: row 4"),
        (plan((500, 5), (0,), dtype="i1"), "columns 1 5 5 255 1: strided 1"),
        # Reversed vectors, and every second element of some.
        (plan((500, 1001), (0,), make("u1", (500, 1001), strides=(1001, -1))),
         "columns 8 4 64 512 16 overlapped: reversed 1"),
        (plan((1001, 500), (0,), make("f4", (1001, 500), strides=(2000, -4))),
         "columns 1 8 128 512 32: strided 4"),
        (plan((1001, 500), (1,), make("f4", (1001, 500), strides=(2000, -4))),
         "rows 4 1 256 256 1: reversed 4"),
        (plan((500, 1001), (0,), make("u1", (500, 1001), strides=(2002, 2))),
         "columns 8 4 64 512 16 overlapped: picked 1"),
        (plan((500, 1001), (1,), make("u1", (500, 1001), strides=(2002, 2))),
         "rows 8 1 256 256 1 partial: picked 1"),
        (plan((500, 1000), (1,), make("u1", (500, 1000), strides=(2000, 2))),
         "rows 8 1 256 256 1: picked 16"),
        (plan((500, 1004), (0,), make("u1", (500, 1004), strides=(2008, 2))),
         "columns 8 4 64 512 16 overlapped: picked 1"),
        (plan((500, 1001), (1,), make("f4", (500, 1001), strides=(8008, 8))),
         "rows 1 4 256 256 1: strided 4"),
        # Rows of small elements end within vectors.
        (plan((50, 3, 70, 101), (0, 3), dtype="i1"), "rows 16 2 256 256 1 partial: shifted 1"),
        (plan((50, 3, 70, 101), (0, 3)), "rows 1 5 1024 1024 1: strided 4"),
        (plan((50, 3, 70, 96), (0, 3), dtype="i1"), "rows 16 2 256 256 1: row 16"),
        (plan((50, 3, 70, 96), (0, 3), make("i1", (50, 3, 70, 96), offset=1)),
         "rows 16 2 256 256 1: shifted 1"),
        # Inputs of opposite orders are loaded along the reduction, but not across an inner axis.
        (plan((500, 400), (0,), make("f4", (500, 400), order="F"), make("i1", (500, 400))),
         "columns 4 8 28 504 4 stacked: along 4, row 4"),
        (plan((500, 400), (1,), make("f4", (500, 400), order="F"), make("i1", (500, 400))),
         "columns 4 8 32 512 4 stacked: row 16, along 1"),
        (plan((500, 7, 400), (0, 1), make("f4", (500, 7, 400)),
              make("f4", (500, 7, 400), strides=(4, 800000, 2000))),
         "columns 4 2 28 504 98: row 16, strided 4"),
        (plan((6, 400), (0,), make("f4", (6, 400)), make("i1", (6, 400))),
         "columns 4 3 112 224 1: row 16, row 4"),
        (plan((2, 2**24 + 1), (0,)), "columns 4 2 256 256 1 spread: strided 4"),
        # Short and staged rows have no gaps, and the numbers of elements are counted one by one.
        (plan((10**6, 3), (1,)), "short 12 1 1 256 1 rows 4: row 16"),
        (plan((10**6, 63), (1,)), "staged 1 1 4 256 1: staged 4"),
        (plan((10**6, 3), (1,), make("f4", (10**6, 3), strides=(16, 4))),
         "rows 1 3 1 256 1 rows 2: strided 4"),
        (plan((10**6, 63), (1,), make("f4", (10**6, 63), strides=(256, 4))),
         "rows 4 1 16 256 1 peeled: row 16"),
        (plan((10**6, 3), (1,), make("f4", (10**6, 3), offset=4)),
         "short 12 1 1 256 1 rows 4: row 4"),
        (plan((10**6, 63), (1,), make("f4", (10**6, 63), offset=4)),
         "rows 4 1 16 256 1 peeled: row 16"),
        (plan((10**6, 3), (1,), step=8), "staged 1 1 1 256 1 rows 4: staged 3"),
        (plan((10**6, 3), (1,), numbers=True), "staged 1 1 1 256 1 rows 4: staged 3, element 4"),
        (plan((1000, 63), (1,)), "rows 4 1 16 256 1 peeled: row 16"),
        # Short rows are whole vectors of a thread, where they are aligned.
        (plan((10**6, 3), (1,), dtype="i1"), "short 48 1 1 256 1 rows 16: row 16"),
        (plan((10**6, 7), (1,), dtype="i1"), "short 112 1 1 256 1 rows 16 brought: row 16"),
        (plan((10**6, 7), (1,), dtype="f2"), "short 56 1 1 256 1 rows 8 brought: row 16"),
        (plan((10**6, 5), (1,)), "short 20 1 1 256 1 rows 4 brought: row 16"),
        (plan((10**6, 12), (1,), dtype="i1"), "short 48 1 1 256 1 rows 4: row 16"),
        (plan((10**6, 28), (1,), dtype="i1"), "short 112 1 1 256 1 rows 4 brought: row 16"),
        (plan((10**6, 3), (1,), make("i1", (10**6, 3), offset=1)),
         "short 48 1 1 256 1 rows 16: row 1"),
        (plan((10**6, 7), (1,), make("i1", (10**6, 7), offset=1)),
         "rows 1 1 8 256 1 rows 8: strided 1"),
        (plan((10**6, 7), (1,), make("f2", (10**6, 7), offset=2)),
         "rows 1 1 8 256 1 rows 8: strided 2"),
        # Rows are staged, in words, where loads of them as they are do not suffice; few elements of
        # short rows are beside their vectors.
        (plan((10**6, 100), (1,), dtype="i1"), "rows 4 7 4 256 1: row 4"),
        (plan((10**6, 51), (1,), dtype="f2"), "staged 1 1 4 256 1 rows 3: staged 5"),
        (plan((10**6, 50), (1,), dtype="f2"), "rows 2 7 4 256 1: row 4"),
        (plan((10**6, 300), (1,), dtype="i1"), "staged 4 1 4 256 1: staged 5"),
        (plan((10**6, 70), (1,), dtype="f2"), "staged 2 1 2 256 1: staged 5"),
        (plan((10**6, 333), (1,), dtype="f2"), "rows 8 3 16 256 1 peeled: row 16"),
        (plan((10**6, 201), (1,)), "rows 4 4 8 256 1 peeled: row 16"),
        (plan((10**6, 50), (1,), make("i1", (10**6, 50), strides=(53, 1))),
         "rows 16 1 4 256 1 rows 2 partial: shifted 1"),
        (plan((10**6, 127), (1,), make("i1", (10**6, 127), strides=(129, 1))),
         "rows 16 1 8 256 1 rows 2 partial: shifted 1"),
        (plan((10**6, 129), (1,), make("i1", (10**6, 129), strides=(131, 1))),
         "rows 16 1 8 256 1 peeled: row 16"),
        (plan((10**6, 65), (1,), make("f2", (10**6, 65), strides=(132, 2))),
         "rows 8 1 8 256 1 peeled: row 16"),
        (plan((10**6, 32), (1,), make("f4", (10**6, 32), strides=(256, 8))),
         "rows 1 4 8 256 1 rows 2: strided 4"),
        # Short rows of outputs are several in whole vectors.
        (plan((10**5, 7), (0,), dtype="f2"), "columns 8 4 7 511 43 folded 8: row 16"),
        (plan((10**5, 50), (0,), dtype="f2"), "columns 8 3 25 500 264 folded 4: row 16"),
        (plan((10**5, 12), (0,), dtype="i1"), "columns 8 8 3 510 37 folded 2: row 8"),
        (plan((1300, 6), (0,), dtype="i1"), "columns 8 4 3 255 1 folded 4: row 8"),
        (plan((20, 1300, 6), (1,), dtype="i1"), "columns 8 4 3 255 1 folded 4: row 8"),
        (plan((10**5, 7), (0,)), "columns 1 8 7 511 172: strided 4"),
        (plan((10**5, 7), (0,), make("f2", (10**5, 7), offset=2)),
         "columns 1 8 7 511 172: strided 2"),
        (plan((100, 7), (0,), dtype="f2"), "columns 1 6 28 252 1: strided 2"),
        (plan((10**5, 7), (0,), dtype="f2", numbers=True),
         "columns 1 8 7 511 172: strided 2, strided 4"),
    ]  # fmt: skip
    for schedule, wanted in planned:
        assert shown(schedule) == wanted


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


def test_wide_indices_where_a_number_or_an_offset_needs_them() -> None:
    narrow = [((2**30,), (0,)), ((2**15, 2**18), (1,)), ((2**18, 2**12), (0,))]
    narrow += [((2**31 // 3 - 2**24, 3), (1,))]
    wide = [((2**31,), (0,)), ((2**20, 4096), (0,)), ((2**32, 4), (1,))]
    wide += [((2**31 // 3 + 1, 3), (1,))]
    assert not any(plan(shape, axes, dtype="i1").wide_index for shape, axes in narrow)
    assert all(plan(shape, axes, dtype="i1").wide_index for shape, axes in wide)
    beside = make("f4", 16, strides=(2**30,))
    assert plan((1000, 16), (0,), make("i1", (1000, 16)), beside).wide_index
    assert not plan((2**23, 129), (1,)).wide_index
    assert plan((2**24, 129), (1,)).wide_index  # staged


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

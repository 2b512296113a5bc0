"""What the schedules of both backends share: loops, index spaces, what a source depends on."""

from __future__ import annotations

from dataclasses import fields

import pytest

from kerneltk.schedule import reduction_cpu, reduction_cuda
from kerneltk.schedule.elementwise import Operand
from kerneltk.schedule.reduction import (
    Geometry,
    ReductionSchedule,
    collapsed_loops,
    main_input,
    merged_index_shape,
)

SCHEDULES = [
    reduction_cuda.RowSchedule, reduction_cuda.ShortRowSchedule, reduction_cuda.StagedRowSchedule,
    reduction_cuda.ColumnSchedule, reduction_cpu.HostRowSchedule, reduction_cpu.HostShortSchedule,
    reduction_cpu.HostColumnSchedule, reduction_cpu.RowBlockedSchedule,
]  # fmt: skip


@pytest.mark.parametrize("kind", SCHEDULES)
def test_what_does_not_decide_the_source_is_a_field(kind: type[ReductionSchedule]) -> None:
    names = {own.name for own in fields(kind)}
    assert names.issuperset(set(kind.counted) - {""})
    assert not set(kind.source_fields()).intersection(kind.counted)
    assert {"accesses", "outer", "reduction", "tiles", "split"} <= names


def test_strategies_of_a_backend_have_names_of_their_own() -> None:
    for kinds in (SCHEDULES[:4], SCHEDULES[4:]):
        assert len({kind.strategy for kind in kinds}) == 4


def test_loops_are_collapsed_apart() -> None:
    x = Operand(4, (4 * 60, 4 * 20, 4, 4 * 4))  # outer axes, then reduction axes
    y = Operand(4, (12, 4, 0, 0), written=True)
    outer, reduction = collapsed_loops(Geometry((2, 3), (4, 5), (x, y)))
    assert (outer.shape, outer.strides) == ((6,), ((80,), (4,)))
    assert (reduction.shape, reduction.strides) == ((20,), ((4,), (0,)))
    assert collapsed_loops(Geometry((2, 3), (4, 0), (x, y)))[1].shape == (0,)


def test_the_main_input_moves_the_most_bytes() -> None:
    wide, narrow = Operand(8, (80, 8)), Operand(4, (40, 4))
    column, number = Operand(8, (8, 0)), Operand(1, (0, 1), 0, 0)
    geometry = Geometry((10,), (10,), (narrow, column, wide, number))
    assert main_input(geometry, *collapsed_loops(geometry)) == 2
    alone = Geometry((10,), (10,), (number,))
    assert main_input(alone, *collapsed_loops(alone)) is None


def test_index_spaces_are_merged_where_every_array_allows_it() -> None:
    assert merged_index_shape((2, 3), ((12, 4),), True) == ((6,), ((4,),))
    assert merged_index_shape((2, 3), ((12, 4),), False) == ((2, 3), ((12, 4),))
    assert merged_index_shape((2, 3), ((12, 4), (4, 8)), True)[0] == (2, 3)
    assert merged_index_shape((2, 0), ((12, 4),), True) == ((2, 0), ((12, 4),))

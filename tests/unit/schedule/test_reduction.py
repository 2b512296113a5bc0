"""What the schedules of both backends share: loops, index spaces, what a source depends on."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path
from types import ModuleType

import pytest

from kerneltk.schedule import reduction_cpu, reduction_cuda
from kerneltk.schedule.elementwise import Operand
from kerneltk.schedule.reduction import (
    Geometry,
    ReductionSchedule,
    collapsed_loops,
    forwards,
    main_input,
    merged_index_shape,
)

PAGE = (Path(__file__).parents[3] / "docs" / "reduction.md").read_text(encoding="utf-8")


def schedules_of(module: ModuleType) -> list[type[ReductionSchedule]]:
    """Return the schedules of a module, without those that others are derived from alone."""
    kinds = [kind for kind in vars(module).values() if isinstance(kind, type)]
    return [k for k in kinds if issubclass(k, ReductionSchedule) and "strategy" in vars(k)]


ON_CUDA, ON_HOST = schedules_of(reduction_cuda), schedules_of(reduction_cpu)


@pytest.mark.parametrize("kind", [*ON_CUDA, *ON_HOST])
def test_what_does_not_decide_the_source_is_a_field(kind: type[ReductionSchedule]) -> None:
    names = {own.name for own in fields(kind)}
    assert names.issuperset(set(kind.counted) - {""})
    assert not set(kind.source_fields()).intersection(kind.counted)
    assert {"accesses", "outer", "reduction", "tiles", "split"} <= names


def test_the_page_has_each_strategy_once() -> None:
    section = PAGE.partition("\n## How the work is divided\n")[2].partition("\n## ")[0]
    for part, kinds in zip(section.split("\nOn the CPU:\n"), (ON_CUDA, ON_HOST), strict=True):
        found = re.findall(r"^\| `(\w+)` \|", part, re.M)
        assert sorted(found) == sorted(kind.strategy for kind in kinds)


def test_loops_are_collapsed_apart() -> None:
    x = Operand(4, (4 * 60, 4 * 20, 4, 4 * 4))  # outer axes, then reduction axes
    y = Operand(4, (12, 4, 0, 0), written=True)
    outer, reduction = collapsed_loops(Geometry((2, 3), (4, 5), (x, y)))
    assert (outer.shape, outer.strides) == ((6,), ((80,), (4,)))
    assert (reduction.shape, reduction.strides) == ((20,), ((4,), (0,)))
    assert collapsed_loops(Geometry((2, 3), (4, 0), (x, y)))[1].shape == (0,)


def test_axes_along_which_inputs_lie_backwards_are_reversed() -> None:
    x, y = Operand(2, (-40, 8, -2), 6), Operand(2, (4, 2, 0), written=True)
    turned, begins = forwards(Geometry((3, 2), (20,), (x, y)))
    assert [o.strides for o in turned.operands] == [(40, 8, 2), (-4, 2, 0)]
    assert (begins, turned.operands[0].offset) == ((-118, 8), (6 - 118) % 16)
    assert forwards(Geometry((3, 2), (4,), (x, y)))[1] == (-6, 0)  # many outputs
    mixed = Geometry((3, 2), (20,), (x, Operand(2, (40, 8, 2)), y))
    assert forwards(mixed) == (mixed, (0, 0, 0))
    numbered = Geometry((3, 2), (20,), (x, y, Operand(1, (0, 0, 1), 0, 0)))
    assert forwards(numbered) == (numbered, (0, 0, 0))


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

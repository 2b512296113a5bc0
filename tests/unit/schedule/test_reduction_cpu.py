"""How reductions are divided on CPU cores: all of it is covered once, in parts of a good size."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, event, given
from hypothesis import strategies as st

from kerneltk import ReductionKernel
from kerneltk.backends.base import capabilities_of
from kerneltk.codegen.specialization import LaunchGeometry
from kerneltk.core.arrays import ArraySpec, broadcast_strides, c_strides
from kerneltk.schedule import reduction_cpu
from kerneltk.schedule.elementwise import Operand
from kerneltk.schedule.reduction import STRIP_BYTES, Geometry
from kerneltk.schedule.reduction_cpu import MOST_PARTS, PART, plan_reduction_host

make = ArraySpec.make

extents = st.sampled_from([1, 2, 3, 4, 5, 7, 8, 16, 17, 24, 31, 33, 64, 65, 100])
dtypes = st.sampled_from(["i1", "f2", "f4", "f8", "c16"])


def geometry_of(
    specs: Sequence[ArraySpec], axes: Sequence[int], *, number: bool = False
) -> Geometry:
    """Return the loops of a reduction of `specs` to one C-ordered output."""
    shape = np.broadcast_shapes(*(spec.shape for spec in specs))
    order = [k for k in range(len(shape)) if k not in axes]
    kept, reduced = [shape[k] for k in order], [shape[k] for k in axes]
    operands = []
    for spec in specs:
        steps = broadcast_strides(spec.shape, spec.strides, shape)
        row = tuple(steps[k] for k in (*order, *axes))
        operands.append(Operand(spec.dtype.itemsize, row, spec.offset))
    operands.append(Operand(4, (*c_strides(kept, 4), *(0 for _ in axes)), written=True))
    if number:
        operands.append(Operand(1, (*(0 for _ in kept), *c_strides(reduced, 1)), 0, 0))
    return Geometry(tuple(kept), tuple(reduced), tuple(operands))


def planned(*specs: ArraySpec, axes: Sequence[int], size: int = 4, **how: Any) -> Any:
    return plan_reduction_host(geometry_of(specs, axes, **how), size)


@st.composite
def geometries(draw: Any) -> Geometry:
    shape = tuple(draw(st.lists(extents, min_size=1, max_size=4)))
    assume(math.prod(shape) <= 30_000)
    axes = sorted(draw(st.sets(st.integers(0, len(shape) - 1))))
    specs = []
    for _ in range(draw(st.integers(1, 2))):
        own = tuple(draw(st.sampled_from([n, n, n, 1])) for n in shape) if specs else shape
        order = draw(st.permutations(range(len(shape))))
        dtype = np.dtype(draw(dtypes))
        steps = [0] * len(shape)
        unit = dtype.itemsize * draw(st.sampled_from([1, 1, 2]))
        for axis in reversed(order):
            steps[axis] = unit * draw(st.sampled_from([1, 1, 1, -1]))
            unit *= own[axis]
        specs.append(make(dtype, own, strides=steps))
    return geometry_of(specs, axes, number=draw(st.booleans()))


def tiles_of(layout: Any) -> Iterator[tuple[int, int]]:
    """Return the first output of each tile, in the order of the loop, and how many it has."""
    width = layout.outer.shape[-1]
    for row in range(layout.outer.size // width):
        for first in range(0, width, layout.counts[1]):
            yield row * width + first, min(layout.counts[1], width - first)


@given(geometries(), st.sampled_from([1, 4, 16, 128]), st.sampled_from([1 << 6, 1 << 10, PART]))
def test_everything_is_covered_once(geometry: Geometry, size: int, part: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reduction_cpu, "PART", part)
        patch.setattr(reduction_cpu, "_SHARED_ROWS", 3 if part < PART else 128)
        patch.setattr(reduction_cpu, "_MANY_OUTPUTS", 1 << 12 if part < PART else 16)
        layout: Any = plan_reduction_host(geometry, size)
    event(f"{layout.strategy}, {'split' if layout.split > 1 else 'whole'}")
    assert layout.outer.size == geometry.outputs
    assert layout.reduction.size == geometry.length
    tiles = list(tiles_of(layout))
    assert len(tiles) == layout.tiles
    seen = np.zeros((geometry.outputs, geometry.length), np.int8)
    for first, count in tiles:
        for number in range(layout.split):
            begin = number * layout.chunk
            end = min(begin + layout.chunk, geometry.length)
            assert begin < end
            seen[first : first + count, begin:end] += 1
    assert (seen == 1).all()


@given(geometries(), st.sampled_from([1, 2, 4, 8, 12, 16, 24, 100, 128]))
def test_totals_have_room(geometry: Geometry, size: int) -> None:
    layout: Any = plan_reduction_host(geometry, size)
    if layout.strategy in ("rows", "short"):
        assert (layout.counts[1], layout.counts[0]) == (1, 1)
        return
    # The generated text has room for a power of two of totals, as many as there may be bytes for.
    most = 1 << int(math.log2(STRIP_BYTES // size))
    assert layout.counts[1] * layout.counts[0] <= most
    assert layout.counts[0] == 1 or layout.strategy == "row_blocked"


@pytest.mark.parametrize(
    ("shape", "axes", "strategy"),
    [
        ((10**7,), (0,), "rows"),
        ((3162, 3162), (0, 1), "rows"),
        ((3162, 3162), (1,), "rows"),
        ((10**5, 100), (1,), "rows"),
        ((10, 10**6), (1,), "rows"),
        ((64, 200, 300), (0, 2), "rows"),
        ((3162, 3162), (0,), "columns"),
        ((64, 200, 300), (1,), "row_blocked"),
        ((64, 200, 600), (1,), "columns"),
        ((20, 10**6), (0,), "columns"),
        ((4, 10**6), (0,), "short"),
        ((10**6, 4), (1,), "short"),
        ((10**3, 4), (1,), "columns"),  # too few for a text of their own
        ((10**6, 20), (1,), "rows"),
        ((10**6, 4), (0,), "row_blocked"),
        ((100, 10**5, 3), (1,), "row_blocked"),
        ((1000, 1000), (), "short"),
        ((10, 10), (), "columns"),
    ],
)
def test_strategies(shape: tuple[int, ...], axes: tuple[int, ...], strategy: str) -> None:
    layout = planned(make("f4", shape), axes=axes)
    assert layout.strategy == strategy
    turned = planned(make("f4", shape[::-1], order="F"), axes=[len(shape) - 1 - k for k in axes])
    assert turned.strategy == strategy


def test_long_rows_of_outputs_are_walked_whole() -> None:
    layout = planned(make("f4", (3162, 3162)), axes=(0,))
    assert (layout.counts[1], layout.tiles) == (3162, 1)
    halves = planned(make("f4", (3162, 5000)), axes=(0,))
    assert (halves.strip, halves.tiles) == (2560, 2)


def test_numbers_of_elements_keep_rows_apart() -> None:
    array = make("f4", (10**6, 16))
    assert planned(array, axes=(0,)).strategy == "row_blocked"
    assert planned(array, axes=(0,), number=True).strategy == "columns"
    pitched = make("f4", (10**6, 16), strides=(68, 4))
    assert planned(pitched, axes=(0,)).strategy == "columns"
    assert planned(array, make("f4", (10**6, 1)), axes=(0,)).strategy == "columns"


def test_totals_side_by_side() -> None:
    assert planned(make("f4", 10**6), axes=(0,)).total_bytes == 256
    assert planned(make("f4", (10**5, 100)), axes=(1,)).total_bytes == 64
    # Elements that are gathered one by one make many instructions.
    gathered = planned(make("f4", 10**6, strides=(8,)), axes=(0,))
    assert (gathered.total_bytes, gathered.set_aside) == (64, True)


@pytest.mark.parametrize(
    ("shape", "axes"),
    [
        ((10**7,), (0,)),
        ((10, 10**6), (1,)),
        ((10**5, 100), (1,)),
        ((10**6, 10), (0,)),
        ((100, 10**5), (0,)),
        ((3162, 3162), (0,)),
        ((130, 9001), (0,)),
        ((20, 10**5), (0,)),
        ((3162, 3162), (1,)),
        ((10**4, 1000), (0,)),
        ((64, 200, 800), (0, 2)),
        ((200, 64, 800), (1,)),
    ],
)
def test_large_reductions_are_shared(shape: tuple[int, ...], axes: tuple[int, ...]) -> None:
    layout = planned(make("f4", shape), axes=axes)
    items = layout.tiles * layout.split
    assert items >= 16
    assert layout.tiles == sum(1 for _ in tiles_of(layout))
    length = math.prod(shape[axis] for axis in axes)
    assert (layout.split - 1) * layout.chunk < length <= layout.split * layout.chunk
    if layout.split > 1:
        elements = layout.chunk * layout.counts[1]
        assert PART <= elements <= math.prod(shape) / 16
        # What parts write for each other is little beside what they read.
        assert layout.chunk >= 64 * layout.counts[1] or layout.chunk >= 128


def test_small_reductions_are_not() -> None:
    for shape, axes in (((60_000,), (0,)), ((200, 300), (0,)), ((60_000, 2), (0,))):
        assert planned(make("f4", shape), axes=axes).split == 1


def test_most_parts() -> None:
    assert planned(make("f4", 10**10), axes=(0,)).split <= MOST_PARTS
    assert planned(make("f4", (200, 10**8)), axes=(1,)).split * 200 <= MOST_PARTS
    assert planned(make("f4", (10**9, 4)), axes=(0,)).split <= MOST_PARTS


def test_nothing_to_reduce() -> None:
    layout = planned(make("f4", (7, 0, 5)), axes=(1,))
    assert (layout.reduction.shape, layout.split, layout.chunk) == ((0,), 1, 1)
    assert sum(count for _, count in tiles_of(layout)) == 35


def lowered(kernel: ReductionKernel, *specs: ArraySpec, axis: int | None) -> LaunchGeometry:
    definition = kernel._definition
    options = None if axis is None else (axis, False, None)
    found = definition.schedule(
        definition.resolve(specs, specs, options), capabilities_of("host"), 1, options
    )
    assert found is not None
    return found


@pytest.mark.parametrize("reduce_type", [None, "double", "float n, float m, float s", "mine"])
@pytest.mark.parametrize(
    ("shape", "axis"), [((10**7,), None), ((5000, 5000), 0), ((3, 10**6), 1), ((10**6, 3), 0)]
)
def test_scratch_holds_counters_and_totals(
    shape: tuple[int, ...], axis: int | None, reduce_type: str | None
) -> None:
    kernel = ReductionKernel("float32 x", "float32 y", "x", "a", "y = 0", "0", "total", reduce_type)
    found = lowered(kernel, make("f4", shape), axis=axis)
    layout = planned(
        make("f4", shape),
        axes=range(len(shape)) if axis is None else (axis,),
        size=(size := {None: 4, "double": 8, "mine": 128}.get(reduce_type, 12)),
    )
    assert found.grid == layout.tiles * layout.split
    assert layout.split > 1
    outputs = math.prod(layout.outer.shape)
    # The totals begin at a multiple of their alignment, which is no more than 128.
    assert found.scratch >= 4 * layout.tiles + 127 + layout.split * outputs * size


def test_grain_keeps_small_work_in_one_thread() -> None:
    kernel = ReductionKernel("float32 x", "float32 y", "x", "a + b", "y = a", "0", "total")
    rows = lowered(kernel, make("f4", (10**5, 100)), axis=1)
    assert 100 * rows.chunk_size in range(8192, 16385)
    assert lowered(kernel, make("f4", (10**6, 4)), axis=1).chunk_size * 4 == 16384
    strips = lowered(kernel, make("f4", (10**3, 4)), axis=1)
    assert strips.chunk_size * 4 * 64 == 16384
    assert lowered(kernel, make("f4", 10**7), axis=None).chunk_size == 1

"""Layout classes: every element is visited once, at the right addresses, by aligned accesses."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, event, given, settings
from hypothesis import strategies as st

from kerneltk.backends.base import capabilities_of
from kerneltk.codegen.argument_block import multiplier_and_shift
from kerneltk.codegen.elementwise import (
    ElementwiseDefinition,
    LaunchGeometry,
)
from kerneltk.core.arrays import ArraySpec, broadcast_strides, c_strides, collapse, merge_in_order
from kerneltk.core.dtypes import alignment_on
from kerneltk.schedule.elementwise import TILE
from kerneltk.signature.parameters import parse_signature
from kerneltk.signature.resolve import Resolved, bind_types

from ..sampling import half
from .addressing import Addressing, Target
from .examples import drawn

TRIPLET = np.dtype([("a", "f4"), ("b", "f4"), ("c", "i4")])
PACKED = np.dtype([("a", "i1"), ("b", "f4")])
DTYPES = [np.dtype(name) for name in ("i1", "f2", "f4", "f8", "c8", "c16")] + [TRIPLET, PACKED]
NAMES = ("x", "w", "v", "y")

extents = st.sampled_from([1, 2, 3, 4, 5, 7, 8, 16, 17, 32, 33, 40, 64, 65])
wild_shapes = st.lists(extents, max_size=5).filter(lambda shape: math.prod(shape) <= 9000)
tame_shapes = st.one_of(
    st.tuples(st.integers(1, 9000)),
    st.tuples(*[st.sampled_from([16, 31, 32, 33, 40, 64, 72])] * 2),
    st.tuples(st.integers(2, 4), *[st.sampled_from([8, 16, 32, 33])] * 2),
)


def definition_of(count: int, *, index: bool, direct: bool) -> ElementwiseDefinition:
    inputs = ", ".join(
        f"{letter} {name}" for letter, name in zip("ABC", NAMES[: count - 1], strict=False)
    )
    body = "y = i;" if index else "y = 0;"
    return ElementwiseDefinition(
        parse_signature(inputs, f"D {NAMES[count - 1]}"),
        "kernel",
        "",
        (),
        body + "atomicAdd;" * direct,
    )


def lowered_for(
    specs: Sequence[ArraySpec], shape: tuple[int, ...], backend: Any, *, index: bool, direct: bool,
    block: int | None = None,
) -> LaunchGeometry:  # fmt: skip
    definition = definition_of(len(specs), index=index, direct=direct)
    binding = bind_types(definition.signature, [spec.dtype for spec in specs])
    resolved = Resolved(binding, shape, shape, tuple(specs), "C")
    found = definition.schedule(resolved, capabilities_of(backend), None, (None, block))
    assert found is not None
    return found


def check(
    lowered: LaunchGeometry, specs: Sequence[ArraySpec], shape: tuple[int, ...], *, index: bool,
    begins: Sequence[int] = (),
) -> None:  # fmt: skip
    """Compare the model's visits with NumPy's view of the loop."""
    targets = [
        Target(
            spec.dtype.itemsize,
            spec.offset,
            alignment_on(lowered.specialization.backend, spec.dtype),
        )
        for spec in specs
    ]
    rows = [broadcast_strides(spec.shape, spec.strides, shape) for spec in specs]
    if index:
        targets.append(Target(1, 0, 0))
        rows.append(c_strides(shape, 1))
    found = np.array(Addressing(lowered, targets, begins).walk())
    places = np.indices(shape).reshape(len(shape), math.prod(shape))
    wanted = np.array(
        [np.asarray(row, np.int64) @ places if row else np.zeros(1, np.int64) for row in rows]
    )
    assert found.shape == wanted.shape
    np.testing.assert_array_equal(
        found[:, np.lexsort(found[::-1])], wanted[:, np.lexsort(wanted[::-1])]
    )


@st.composite
def tame_arrays(draw: Any, shape: tuple[int, ...], written: bool) -> ArraySpec:
    """Return an array as programs mostly have them: the ones that wide accesses are made for."""
    dtype = draw(st.sampled_from(DTYPES[:6]))
    own = list(shape)
    if not written:
        own = [draw(st.sampled_from([extent, extent, extent, 1])) for extent in own]
    pitch = draw(st.sampled_from([0, 0, 0, 16]))
    rows = [*own[:-1], own[-1] + pitch]
    order: Any = "C" if pitch or written else draw(st.sampled_from(["C", "F"]))
    strides = ArraySpec.make(dtype, rows, order=order).strides
    offset = draw(st.sampled_from([0, 0, 0, dtype.itemsize, 8])) % 16
    return ArraySpec.make(dtype, own, strides=strides, offset=offset)


@st.composite
def wild_arrays(
    draw: Any, shape: tuple[int, ...], written: bool, dtype: np.dtype[Any] | None = None
) -> ArraySpec:
    """Return an array that broadcasts to `shape`; a written one has it, and no two equal places."""
    dtype = dtype or draw(st.sampled_from(DTYPES))
    own = list(shape)
    if not written:
        own = [draw(st.sampled_from([extent, extent, extent, 1])) for extent in own]
        own = own[draw(st.integers(0, len(own))) if draw(st.booleans()) else 0 :]
    order = draw(st.permutations(range(len(own)))) if draw(st.booleans()) else range(len(own))
    unit = dtype.itemsize
    strides = [0] * len(own)
    pitch = draw(st.sampled_from([0, 0, 0, 1, 3, 16]))
    step = draw(st.sampled_from([1, 1, 1, 2]))
    unit *= step
    for k, axis in enumerate(reversed(order)):
        strides[axis] = unit
        unit *= own[axis]
        if k == 0:
            unit += pitch * (dtype.itemsize if draw(st.booleans()) else 1)
    if draw(st.integers(0, 3)) == 0 and own:
        axis = draw(st.integers(0, len(own) - 1))
        strides[axis] = -strides[axis]
    if not written and own and draw(st.integers(0, 4)) == 0:
        strides[draw(st.integers(0, len(own) - 1))] = 0
    offset = draw(st.sampled_from([0, 0, 0, dtype.itemsize % 16, 8, 4, 2, 1, 15]))
    return ArraySpec.make(dtype, own, strides=strides, offset=offset)


@st.composite
def loops(draw: Any) -> tuple[list[ArraySpec], tuple[int, ...]]:
    tame = draw(st.booleans())
    shape = tuple(draw(tame_shapes if tame else wild_shapes))
    arrays = tame_arrays if tame else wild_arrays
    count = draw(st.integers(0, 3))
    specs = [draw(arrays(shape, False)) for _ in range(count)]
    return [*specs, draw(arrays(shape, True))], shape


@pytest.mark.exhaustive
@pytest.mark.parametrize("backend", ["cuda", "host"])
@drawn(loops(), st.booleans(), st.sampled_from([None, 64, 1024]), few=60, many=400)
def test_every_element_is_reached_once(
    backend: str, loop: tuple[list[ArraySpec], tuple[int, ...]], index: bool, block: int | None
) -> None:
    specs, shape = loop
    lowered = lowered_for(specs, shape, backend, index=index, direct=False, block=block)
    check(lowered, specs, shape, index=index)
    event(f"{lowered.specialization.layout.variant}")
    event(",".join(access.kind for access in lowered.specialization.layout.accesses))


@st.composite
def long_rows(draw: Any) -> tuple[tuple[int, ...], int | None]:
    """Return a shape, and a block that has about a whole part of its rows."""
    block = draw(st.sampled_from([None, 1, 7, 16, 64, 1024]))
    inner = draw(st.integers(1, 9)) * (block or 256) + draw(st.sampled_from([0, 0, -1, 1, -5]))
    outer = draw(st.lists(st.sampled_from([1, 2, 3, 4, 7, 8]), min_size=1, max_size=3))
    assume(inner > 1)
    return (*outer, inner), block


@st.composite
def loops_of_long_rows(
    draw: Any,
) -> tuple[list[ArraySpec], tuple[int, ...], int | None]:
    shape, block = draw(long_rows())
    assume(math.prod(shape) <= 60_000)
    specs = [draw(wild_arrays(shape, False)) for _ in range(draw(st.integers(1, 3)))]
    return [*specs, draw(wild_arrays(shape, True))], shape, block


@pytest.mark.exhaustive
@drawn(loops_of_long_rows(), st.booleans(), few=50, many=600)
def test_long_rows_are_reached_once(
    loop: tuple[list[ArraySpec], tuple[int, ...], int | None], index: bool
) -> None:
    specs, shape, block = loop
    lowered = lowered_for(specs, shape, "cuda", index=index, direct=False, block=block)
    check(lowered, specs, shape, index=index)
    event(lowered.specialization.layout.variant)


@pytest.mark.exhaustive
@pytest.mark.parametrize("backend", ["cuda", "host"])
@drawn(loops(), st.booleans(), few=40, many=100)
def test_direct_loops_keep_the_order(
    backend: str, loop: tuple[list[ArraySpec], tuple[int, ...]], index: bool
) -> None:
    specs, shape = loop
    for spec in specs:  # a body that works on the arrays themselves needs aligned elements
        unit = alignment_on(capabilities_of("cuda"), spec.dtype)
        assume(not any(value % unit for value in (spec.offset, *spec.strides)))
    lowered = lowered_for(specs, shape, backend, index=index, direct=True)
    assert lowered.specialization.layout.variant == "by_reference"
    check(lowered, specs, shape, index=index)


SIZES = (1, 2, 3, 15, 16, 17, 255, 256, 257, 4095, 4096, 4097, 8191)


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("dtype", "sizes"),
    [
        pytest.param(dtype, sizes, marks=marks, id=f"{dtype}-{len(sizes)}")
        for dtype in DTYPES
        for sizes, marks in ((SIZES[1::3], ()), (SIZES, pytest.mark.exhaustive))
    ],
)
def test_dense_arrays_at_every_offset(dtype: np.dtype[Any], sizes: Sequence[int]) -> None:
    for size, offset in itertools.product(sizes, range(16)):
        for other in sorted({offset, 0, (offset + dtype.itemsize) % 16}):
            specs = [ArraySpec.make(dtype, size, offset=start) for start in (offset, other)]
            lowered = lowered_for(specs, (size,), "cuda", index=False, direct=False)
            check(lowered, specs, (size,), index=False)


@pytest.mark.exhaustive
@given(loops())
@settings(deadline=None, max_examples=100)
def test_wide_steps_change_the_index_and_nothing_else(
    loop: tuple[list[ArraySpec], tuple[int, ...]],
) -> None:
    specs, shape = loop
    assume(specs[-1].ndim > 1 and shape[0] > 1)
    far = [
        ArraySpec.make(
            s.dtype, s.shape, offset=s.offset,
            strides=(s.strides[0] * 2**34, *s.strides[1:]) if s.ndim == len(shape) else s.strides,
        )
        for s in specs
    ]  # fmt: skip
    lowered = lowered_for(far, shape, "cuda", index=False, direct=False)
    assert lowered.specialization.layout.wide_index
    check(lowered, far, shape, index=False)


# Extents whose products are near 2**31, and near what 32-bit numbers of bytes hold.
long_extents = st.sampled_from(
    [
        2, 3, 17, 32, 33, 1023, 2**10, 2**15 + 1, 2**16, 2**20, 2**21, 2**29, 2**30 - 1,
        2**31 - 2**20, 2**31 - 1,
    ]
)  # fmt: skip


@st.composite
def long_loops(draw: Any) -> tuple[list[ArraySpec], tuple[int, ...]]:
    """Return arrays too large to walk: dense, padded, transposed, broadcast, reversed."""
    shape = tuple(draw(st.lists(long_extents, min_size=1, max_size=3)))
    assume(math.prod(shape) < 2**33)
    specs = []
    for written in (*[False] * draw(st.integers(0, 2)), True):
        dtype = draw(st.sampled_from(DTYPES[:6]))
        order = draw(st.permutations(range(len(shape))))
        strides, unit = [0] * len(shape), dtype.itemsize
        for axis in reversed(order):
            strides[axis] = unit * draw(st.sampled_from([1, 1, -1]))
            unit *= shape[axis] + draw(st.sampled_from([0, 0, 0, 16]))
        if not written and draw(st.booleans()):
            strides[draw(st.integers(0, len(shape) - 1))] = 0
        specs.append(ArraySpec.make(dtype, shape, strides=strides))
    return specs, shape


@drawn(
    long_loops(), st.booleans(), st.booleans(), st.sampled_from([None, 32, 1024]),
    few=150, many=600,
)  # fmt: skip
def test_indices_of_32_bits_hold_every_number(
    loop: tuple[list[ArraySpec], tuple[int, ...]], index: bool, direct: bool, block: int | None
) -> None:
    specs, shape = loop
    assume(not direct or all(not step % 8 for spec in specs for step in spec.strides))
    lowered = lowered_for(specs, shape, "cuda", index=index, direct=direct, block=block)
    s = lowered.specialization
    layout, limit = s.layout, 2**31
    event(f"{layout.variant}, {'64' if layout.wide_index else '32'} bits")
    if layout.wide_index:
        return
    # Threads beyond the end have numbers, too.
    extents = list(layout.loop.shape)
    if layout.box:
        extents = [n + -n % side for n, side in zip(extents, layout.box, strict=True)]
        assert max(lowered.grid, *extents) < limit
    else:
        side = TILE if layout.variant == "tile" else layout.width * s.block
        assert lowered.grid * side < limit
    assert math.prod(shape) < limit
    names = [parameter.name for parameter in s.loop_arrays] + ["i"]
    for name, access, row in zip(names, layout.accesses, layout.loop.strides, strict=False):
        if access.kind in ("flat", "uniform"):
            continue  # a pointer's own arithmetic has 64 bits
        partial = 0
        for extent, step in zip(extents, row, strict=True):
            partial += (extent - 1) * abs(step)
            assert partial < limit, name
            # The steps are cast to the index's type.
            assert abs(step) < limit or extent == 1, name


@pytest.mark.exhaustive
@pytest.mark.parametrize("backend", ["cuda", "host"])
@drawn(loops(), loops(), st.booleans(), few=50, many=150)
def test_several_outputs_and_inputs_that_are_written(
    backend: str,
    loop: tuple[list[ArraySpec], tuple[int, ...]],
    other: tuple[list[ArraySpec], tuple[int, ...]],
    is_output: bool,
) -> None:
    specs, shape = loop
    assume(len(specs) < 3)
    # Another layout of the same shape: a second output, or an input that the body writes.
    extra = other[0][-1]
    order = "F" if extra.strides != ArraySpec.make(extra.dtype, extra.shape).strides else "C"
    second = ArraySpec.make(extra.dtype, shape, order=order, offset=extra.offset)  # type: ignore[arg-type]
    inputs = ", ".join(f"{a} {b}" for a, b in zip("AB", NAMES[: len(specs) - 1], strict=False))
    more = "E z" if is_output else "_non_const E z"
    signature = (
        parse_signature(inputs, f"D y, {more}")
        if is_output
        else parse_signature(", ".join(filter(None, (inputs, more))), "D y")
    )
    given = [*specs, second] if is_output else [*specs[:-1], second, specs[-1]]
    definition = ElementwiseDefinition(signature, "kernel", "", (), "y = 0; z = 0;")
    binding = bind_types(signature, [spec.dtype for spec in given])
    resolved = Resolved(binding, shape, shape, tuple(given), "C")
    lowered = definition.schedule(resolved, capabilities_of(backend), None, None)
    assert lowered is not None
    check(lowered, given, shape, index=False)


@pytest.mark.one_in(12)
@pytest.mark.parametrize("backend", ["cuda", "host"])
@pytest.mark.parametrize("dtype", half(DTYPES[:6]), ids=str)
@pytest.mark.parametrize("index", [False, True])
@pytest.mark.parametrize(
    ("shape", "order"),
    [
        ((33, 31), (1, 0)), ((64, 65), (1, 0)), ((3, 40, 33), (0, 2, 1)), ((40, 3, 33), (2, 0, 1)),
        ((2, 17, 3, 35), (0, 3, 2, 1)),
    ],
)  # fmt: skip
def test_transposed_inputs_go_through_tiles(
    backend: Any, dtype: np.dtype[Any], index: bool, shape: tuple[int, ...], order: tuple[int, ...]
) -> None:
    stored = ArraySpec.make(dtype, [shape[axis] for axis in order]).strides
    strides = [0] * len(shape)
    for axis, step in zip(order, stored, strict=True):
        strides[axis] = step
    for offset in (0, dtype.itemsize % 16, 1):
        specs = [
            ArraySpec.make(dtype, shape, strides=strides, offset=offset),
            ArraySpec.make("float32", (*shape[:-1], 1)),
            ArraySpec.make("float64", shape),
        ]
        lowered = lowered_for(specs, shape, backend, index=index, direct=False)
        assert lowered.specialization.layout.variant in ("tile", "box")
        check(lowered, specs, shape, index=index)


steps = st.integers(-40, 40)


@pytest.mark.exhaustive
@given(
    st.lists(st.integers(1, 5), max_size=5).flatmap(
        lambda shape: st.tuples(
            st.just(shape),
            st.lists(st.tuples(*[steps] * len(shape)), min_size=1, max_size=4),
        )
    )
)
@settings(deadline=None, max_examples=300)
def test_collapse_keeps_the_addresses(loop: tuple[list[int], list[tuple[int, ...]]]) -> None:
    shape, rows = loop

    def addresses(shape: Sequence[int], rows: Sequence[Sequence[int]]) -> list[tuple[int, ...]]:
        places = np.indices(tuple(shape)).reshape(len(shape), math.prod(shape))
        return [
            tuple(map(int, column))
            for column in (np.array(rows, int).reshape(len(rows), len(shape)) @ places).T
        ]

    wanted = addresses(shape, rows)
    ordered = merge_in_order(shape, rows)
    assert addresses(ordered.shape, ordered.strides) == wanted
    free = collapse(shape, rows)
    assert Counter(addresses(free.shape, free.strides)) == Counter(wanted)
    assert len(free.shape) <= max(1, len(shape))
    assert 1 not in free.shape or free.shape == (1,)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("shape", [(7,), (3, 5), (4, 1, 6, 2), (2,) * 8])
def test_dense_arrays_of_one_order_are_one_run(order: Any, shape: tuple[int, ...]) -> None:
    strides = ArraySpec.make("f4", shape, order=order).strides
    assert collapse(shape, [strides, strides]).shape == (math.prod(shape),)


@pytest.mark.exhaustive
@given(
    st.sampled_from([32, 64]).flatmap(
        lambda bits: st.tuples(
            st.just(bits),
            st.integers(1, 2 ** (bits - 1) - 1) | st.integers(1, 1000)
            | st.integers(0, bits - 2).map(lambda k: 1 << k),
            st.integers(0, 2 ** (bits - 1) - 1),
        )
    )
)  # fmt: skip
@settings(deadline=None, max_examples=500)
def test_division_by_multiplication_is_exact(numbers: tuple[int, int, int]) -> None:
    bits, divisor, number = numbers
    multiplier, shift = multiplier_and_shift(divisor, bits)
    assert 0 <= multiplier < 1 << bits
    limit = (1 << (bits - 1)) - 1
    near = [number // divisor * divisor + delta for delta in (-1, 0, 1, divisor - 1, divisor)]
    for n in (0, 1, number, limit, limit - 1, limit // divisor * divisor, *near):
        if 0 <= n <= limit:
            total = (multiplier * n >> bits) + n
            assert total < 1 << bits
            assert total >> shift == n // divisor


@st.composite
def permuted_loops(draw: Any) -> tuple[list[ArraySpec], tuple[int, ...]]:
    """Return arrays of several orders, some of whose extents are short."""
    short = st.sampled_from([1, 2, 3, 5, 7, 10, 12, 15])
    shape = tuple(draw(st.permutations([draw(short), draw(short), *draw(st.permutations(
        [draw(st.sampled_from([16, 31, 64, 100])), draw(st.sampled_from([1, 4, 17]))]
    ))])))  # fmt: skip
    specs = []
    for _ in range(draw(st.integers(1, 3))):
        dtype = draw(st.sampled_from(DTYPES))
        order = draw(st.permutations(range(len(shape))))
        dense = ArraySpec.make(dtype, [shape[axis] for axis in order])
        strides = [dense.strides[order.index(axis)] for axis in range(len(shape))]
        offset = draw(st.sampled_from([0, 0, dtype.itemsize % 16, 1]))
        specs.append(ArraySpec.make(dtype, shape, strides=strides, offset=offset))
    return [*specs, ArraySpec.make(draw(st.sampled_from(DTYPES)), shape)], shape


@pytest.mark.exhaustive
@drawn(permuted_loops(), st.booleans(), few=60, many=400)
def test_arrays_of_several_orders_are_reached_once(
    loop: tuple[list[ArraySpec], tuple[int, ...]], index: bool
) -> None:
    specs, shape = loop
    lowered = lowered_for(specs, shape, "cuda", index=index, direct=False)
    assume(lowered.specialization.layout.variant != "word_tile")
    check(lowered, specs, shape, index=index)
    event(f"{lowered.specialization.layout.variant}")


@st.composite
def stencils(draw: Any) -> tuple[tuple[int, int], tuple[int, ...], int, list[tuple[int, ...]], Any]:
    """Return a pitched array's item size and offset, the shape of views, and where they begin."""
    shape = (
        *draw(st.sampled_from([(), (3,)])),
        draw(st.integers(1, 40)),
        draw(st.integers(1, 9)) * draw(st.sampled_from([1, 2, 4, 64])) + draw(st.integers(0, 2)),
    )
    begins = draw(
        st.lists(st.tuples(*[st.integers(0, 3)] * len(shape)), min_size=2, max_size=9, unique=True)
    )
    size = draw(st.sampled_from([1, 2, 4, 8, 16]))
    return (size, draw(st.sampled_from([0, 0, size, 8])) % 16), shape, draw(
        st.sampled_from([3, 3, 4, 5])
    ), begins, draw(st.sampled_from([None, 32, 100]))  # fmt: skip


@drawn(
    stencils(), st.sampled_from(["f1", "f4", "i8"]), st.booleans(), st.booleans(),
    few=400, many=500,
)  # fmt: skip
def test_views_of_one_array_are_reached_once(
    stencil: tuple[Any, tuple[int, ...], int, list[tuple[int, ...]], Any],
    written: str,
    turned: bool,
    moved: bool,
) -> None:
    (size, offset), shape, more, begins, block = stencil
    dtype = {1: "i1", 2: "f2", 4: "f4", 8: "f8", 16: "c16"}[size]
    extents = [n + more for n in shape]
    if moved and len(shape) == 3:  # the first axis is dense
        *inner, first = ArraySpec.make(dtype, [*extents[1:], extents[0]]).strides
        steps = (first, *inner)
    else:
        steps = ArraySpec.make(dtype, extents).strides
    sign = -1 if turned else 1
    strides = (*steps[:-1], sign * steps[-1])
    places = [sum(b * step for b, step in zip(own, strides, strict=True)) for own in begins]
    specs = [
        ArraySpec.make(dtype, shape, strides=strides, offset=offset + place) for place in places
    ]
    specs.append(ArraySpec.make("i1" if written == "f1" else written, shape))
    count = len(begins)
    definition = ElementwiseDefinition(
        parse_signature(", ".join(f"A x{k}" for k in range(count)), "B y"),
        "kernel", "", (), "y = 0;",
        windows=tuple((0, tuple(np.subtract(own, begins[0]).tolist())) for own in begins),
    )  # fmt: skip
    binding = bind_types(definition.signature, [spec.dtype for spec in specs])
    resolved = Resolved(binding, shape, shape, tuple(specs), "C")
    lowered = definition.schedule(resolved, capabilities_of("cuda"), None, (None, block))
    assert lowered is not None
    check(lowered, specs, shape, index=False, begins=[*(p - places[0] for p in places), 0])
    event(lowered.specialization.layout.variant)


@st.composite
def small_elements(draw: Any) -> tuple[list[ArraySpec], tuple[int, ...]]:
    """Return arrays of small elements at odd addresses; rows are cut, reversed or halved."""
    inner = draw(st.sampled_from([8, 16, 24, 48, 50, 128]))
    shape = (
        *draw(st.sampled_from([(), (1,), (3,)])),
        draw(st.sampled_from([1, 3, 64, 100])),
        inner,
    )
    specs = []
    for _ in range(draw(st.integers(1, 2))):
        dtype = np.dtype(draw(st.sampled_from(["i1", "f2", "f4"])))
        step = draw(st.sampled_from([1, 1, -1, 2, -2])) * dtype.itemsize
        pitch = abs(step) * inner + draw(st.sampled_from([0, 1, 3, 8])) * dtype.itemsize
        rows = ArraySpec.make("i1", (*shape[:-1], pitch)).strides[:-1]
        offset = draw(st.integers(0, 15)) // dtype.itemsize * dtype.itemsize
        specs.append(ArraySpec.make(dtype, shape, strides=(*rows, step), offset=offset))
    return [*specs, ArraySpec.make(draw(st.sampled_from(["i1", "f2", "f4"])), shape)], shape


@pytest.mark.exhaustive
@drawn(small_elements(), st.booleans(), few=80, many=600)
def test_small_elements_are_reached_once(
    loop: tuple[list[ArraySpec], tuple[int, ...]], index: bool
) -> None:
    specs, shape = loop
    lowered = lowered_for(specs, shape, "cuda", index=index, direct=False)
    check(lowered, specs, shape, index=index)
    event(str(any(access.in_words for access in lowered.specialization.layout.accesses)))

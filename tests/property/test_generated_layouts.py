"""Layout classes of GPUs: what is generated, executed on CPU cores; every byte is as NumPy has it,
and indices hold their numbers."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from hypothesis import Phase, assume
from hypothesis import strategies as st

from kerneltk.backends.base import capabilities_of
from kerneltk.codegen.elementwise import ElementwiseDefinition, LaunchGeometry
from kerneltk.core.arrays import ArraySpec
from kerneltk.core.dtypes import alignment_on
from kerneltk.schedule.elementwise import TILE
from kerneltk.signature.parameters import parse_signature
from kerneltk.signature.resolve import Resolved, bind_types

from .examples import drawn
from .generated import Placed, Seen, execute

TRIPLET = np.dtype([("a", "f4"), ("b", "f4"), ("c", "i4")])
PACKED = np.dtype([("a", "i1"), ("b", "f4")])
DTYPES = [np.dtype(name) for name in ("i1", "f2", "f4", "f8", "c8", "c16")] + [TRIPLET, PACKED]
GPU = capabilities_of("cuda")
PHASES = (Phase.explicit, Phase.reuse, Phase.generate)  # smaller examples take a compiler, too

extents = st.sampled_from([1, 2, 3, 4, 5, 7, 8, 16, 17, 32, 33, 40, 64, 65])
wild_shapes = st.lists(extents, max_size=5).filter(lambda shape: math.prod(shape) <= 9000)
tame_shapes = st.one_of(
    st.tuples(st.integers(1, 9000)),
    st.tuples(*[st.sampled_from([16, 31, 32, 33, 40, 64, 72])] * 2),
    st.tuples(st.integers(2, 4), *[st.sampled_from([8, 16, 32, 33])] * 2),
)


def scheduled(
    definition: ElementwiseDefinition, specs: Sequence[ArraySpec], shape: tuple[int, ...],
    block: int | None = None,
) -> LaunchGeometry:  # fmt: skip
    binding = bind_types(definition.signature, [spec.dtype for spec in specs])
    resolved = Resolved(binding, shape, shape, tuple(specs), "C")
    lowered = definition.schedule(resolved, GPU, 132, (None, block))
    assert lowered is not None
    return lowered


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
def long_rows(draw: Any) -> tuple[tuple[int, ...], int | None]:
    """Return a shape, and a block that has about a whole part of its rows."""
    block = draw(st.sampled_from([None, 1, 7, 16, 64, 1024]))
    inner = draw(st.integers(1, 9)) * (block or 256) + draw(st.sampled_from([0, 0, -1, 1, -5]))
    outer = draw(st.lists(st.sampled_from([1, 2, 3, 4, 7, 8]), min_size=1, max_size=3))
    while math.prod(outer) * inner > 20_000:
        outer.remove(max(outer))
    return (*outer, max(inner, 2)), block


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


def check_indices(
    specs: Sequence[ArraySpec], shape: tuple[int, ...], *, index: bool = False,
    direct: bool = False, block: int | None = None,
) -> None:  # fmt: skip
    inputs = ", ".join(f"{'ABC'[k]} x{k}" for k in range(len(specs) - 1))
    body = f"y = {'i' if index else '0'};" + "atomicAdd;" * direct
    definition = ElementwiseDefinition(parse_signature(inputs, "D y"), "kernel", "", (), body)
    lowered = scheduled(definition, specs, shape, block)
    s = lowered.specialization
    layout, limit = s.layout, 2**31
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


@drawn(
    long_loops(), st.booleans(), st.booleans(), st.sampled_from([None, 32, 1024]),
    few=150, many=600,
)  # fmt: skip
def test_indices_of_32_bits_hold_every_number(
    loop: tuple[list[ArraySpec], tuple[int, ...]], index: bool, direct: bool, block: int | None
) -> None:
    specs, shape = loop
    assume(not direct or all(not step % 8 for spec in specs for step in spec.strides))
    check_indices(specs, shape, index=index, direct=direct, block=block)


def test_indices_of_boxes_beyond_the_end() -> None:
    shape = (2**15 + 1, 2**15 + 1)
    rows = ((-1, -shape[0]), (-shape[0] - 16, 1))
    inputs = [ArraySpec.make("i1", shape, strides=row) for row in rows]
    check_indices([*inputs, ArraySpec.make("f2", shape)], shape)


Copies = tuple[list[ArraySpec], tuple[int, ...], int | None, str]


@st.composite
def copies(draw: Any) -> Copies:
    """Return inputs, as many outputs of their dtypes, a shape, a block, and what the body does."""
    plain = st.tuples(st.one_of(tame_shapes, wild_shapes), st.sampled_from([None, 64, 1024]))
    shape, block = draw(st.one_of(long_rows(), plain))
    dtypes = draw(st.lists(st.sampled_from(DTYPES), min_size=1, max_size=2))
    specs = []
    for written, dtype in itertools.product((False, True), dtypes):
        spec = draw(wild_arrays(tuple(shape), written, dtype))
        unit = alignment_on(GPU, dtype) if dtype.fields else 1
        offset = spec.offset // unit * unit
        specs.append(ArraySpec.make(dtype, spec.shape, strides=spec.strides, offset=offset))
    how = draw(st.sampled_from(["", "numbers", "leaving", "atomic"]))
    if how == "atomic" and any(
        place % alignment_on(GPU, spec.dtype)
        for spec in specs
        for place in (spec.offset, *spec.strides)
    ):
        how = "numbers"
    if how:  # an array that is read and written, by elements' numbers
        specs.append(ArraySpec.make("i4", shape, order="C"))
    return specs, tuple(shape), block, how


_BODIES = {
    "": "", "numbers": "k += i;", "leaving": "if (i % 3 == 1) return; k += i;",
    "atomic": "atomicAdd(&k, (int)i);",
}  # fmt: skip


def compare_copies(cases: Sequence[Copies]) -> None:
    launches, results = [], []
    for specs, shape, block, how in cases:
        count = len(specs) // 2
        inputs, outputs = ["A x", "B w"][:count], ["A y", "B z", "int32 k"][:count]
        signature = parse_signature(", ".join(inputs), ", ".join(outputs + ["int32 k"] * bool(how)))
        body = "y = x; " + "z = w; " * (count > 1) + _BODIES[how]
        lowered = scheduled(
            ElementwiseDefinition(signature, "kernel", "", (), body), specs, shape, block
        )
        placed = [Placed(spec, k) for k, spec in enumerate(specs)]
        launches.append((lowered, placed))
        wanted = [array.bytes.copy() for array in placed]
        results.append(wanted)
        for k in range(count):
            whole = np.dtype((np.void, specs[k].dtype.itemsize))
            placed[count + k].elements(wanted[count + k], whole)[...] = placed[k].elements(
                None, whole
            )
        if how:
            index = np.arange(math.prod(shape), dtype=np.int32).reshape(shape)
            index[(how == "leaving") & (index % 3 == 1)] = 0
            placed[-1].elements(wanted[-1])[...] += index
    execute(launches)
    for (_, placed), wanted in zip(launches, results, strict=True):
        for array, expected in zip(placed, wanted, strict=True):
            np.testing.assert_array_equal(array.bytes, expected)


@drawn(st.lists(copies(), min_size=6, max_size=6), few=3, many=40, phases=PHASES)
def test_generated_layouts_copy_every_element(cases: list[Copies]) -> None:
    compare_copies(cases)


# Item size, offset, shape of views, how much larger their array is, where they begin, block, the
# output's dtype, whether views are reversed, whether the first axis is dense.
Stencil = tuple[
    int, int, tuple[int, ...], int, list[tuple[int, ...]], int | None, str, bool, bool
]  # fmt: skip


@st.composite
def stencils(draw: Any) -> Stencil:
    shape = (
        *draw(st.sampled_from([(), (3,)])),
        draw(st.integers(1, 40)),
        draw(st.integers(1, 9)) * draw(st.sampled_from([1, 2, 4, 64])) + draw(st.integers(0, 2)),
    )
    begins = st.tuples(*[st.integers(0, 3)] * len(shape))
    size = draw(st.sampled_from([1, 2, 4, 8]))
    return (
        size, draw(st.sampled_from([0, 0, size, 8])), shape, draw(st.sampled_from([3, 3, 4, 5])),
        draw(st.lists(begins, min_size=2, max_size=9, unique=True)),
        draw(st.sampled_from([None, 32, 100])), draw(st.sampled_from(["u1", "u4", "u8"])),
        draw(st.booleans()), draw(st.booleans()),
    )  # fmt: skip


def compare_views(cases: Sequence[Stencil]) -> None:
    launches, results = [], []
    for size, offset, shape, more, begins, block, written, turned, moved in cases:
        extents = [n + more for n in shape]
        if moved and len(shape) == 3:  # the first axis is dense
            *inner, first = ArraySpec.make(f"u{size}", [*extents[1:], extents[0]]).strides
            steps = (first, *inner)
        else:
            steps = ArraySpec.make(f"u{size}", extents).strides
        whole = Placed(ArraySpec.make(f"u{size}", extents, strides=steps, offset=offset), 1)
        base = whole.elements()[..., ::-1] if turned else whole.elements()
        views = [
            base[tuple(slice(b, b + n) for b, n in zip(own, shape, strict=True))] for own in begins
        ]
        y = Placed(ArraySpec.make(written, shape), 2)
        count = len(begins)
        total = " + ".join(f"{2 * k + 1}ull * x{k}" for k in range(count))
        definition = ElementwiseDefinition(
            parse_signature(", ".join(f"A x{k}" for k in range(count)), "B y"),
            "kernel", "", (), f"y = {total};",
            windows=tuple((0, tuple(np.subtract(own, begins[0]).tolist())) for own in begins),
        )  # fmt: skip
        inputs = [Seen(view, whole) for view in views]
        launches.append(
            (scheduled(definition, [*(x.spec for x in inputs), y.spec], shape, block), [*inputs, y])
        )
        results.append(
            sum((2 * k + 1) * view.astype(np.uint64) for k, view in enumerate(views)).astype(
                written
            )
        )
    execute(launches)
    for (_, placed), wanted in zip(launches, results, strict=True):
        np.testing.assert_array_equal(placed[-1].elements(), wanted)


@drawn(st.lists(stencils(), min_size=6, max_size=6), few=3, many=40, phases=PHASES)
def test_views_of_one_array(cases: list[Stencil]) -> None:
    compare_views(cases)


def test_views_of_hard_shapes() -> None:
    # Accesses of two elements, of which a view's begin at odd ones; columns that are apart from
    # another view's by no whole number of rows.
    columns = [(2, 2, 2), (0, 0, 2), (1, 1, 2)]
    compare_views(
        [
            (2, 8, (24, 34), 4, [(1, 3), (2, 0)], None, "u4", False, True),
            (4, 0, (3, 40, 33), 5, columns, 32, "u8", True, True),
        ]
    )

"""Reduction strategies: every element is added once, by aligned accesses to its array's bytes."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import event
from hypothesis import strategies as st

from kerneltk.backends.base import capabilities_of
from kerneltk.codegen.accumulator import parse_accumulator
from kerneltk.codegen.reduction import ReductionDefinition
from kerneltk.codegen.render import render
from kerneltk.codegen.specialization import LaunchGeometry
from kerneltk.codegen.template_input import template_input
from kerneltk.core.arrays import ArraySpec, broadcast_strides
from kerneltk.core.dtypes import describe
from kerneltk.signature.parameters import Parameter, parse_signature
from kerneltk.signature.resolve import Resolved, bind_types

from ..sampling import half
from .examples import drawn
from .reduction_addressing import (
    MOST_SHARED_BYTES,
    ReductionAddressing,
    Target,
    shared_bytes,
    size_of_total,
)

TRIPLET = np.dtype([("a", "f4"), ("b", "f4"), ("c", "i4")])
PACKED = np.dtype([("a", "i1"), ("b", "f4")])
PAIR = np.dtype([("a", "f4"), ("b", "f4")])  # as large as a word, and not aligned as one
SCALARS = [np.dtype(name) for name in ("i1", "f2", "f4", "f8", "c8", "c16")]
DTYPES = [*SCALARS, TRIPLET, PACKED, PAIR]
UNITS = (1, 16, 108, 132, 144)

FIELDS = ", ".join(f"float64 a{k}" for k in range(16))
# `reduce_type`, and what it is by the rules of C++: bytes, alignment.
ACCUMULATORS: dict[str, tuple[str | None, int, int]] = {
    "default": (None, 0, 0),
    "int8": ("int8", 1, 1),
    "float64": ("float64", 8, 8),
    "complex128": ("complex128", 16, 16),
    "three bytes": ("int8 a, int8 b, int8 c", 3, 1),
    "value and index": ("float32 value, int64 index", 16, 8),
    "small behind large": ("complex128 a, int8 b", 32, 16),
    "largest of fields": (FIELDS, 128, 8),
    "largest by name": ("Big", 128, 16),
}


@dataclass(frozen=True)
class Case:
    """One reduction: a mask, if there is one, is the last input."""

    shape: tuple[int, ...]
    axes: tuple[int, ...]
    inputs: tuple[ArraySpec, ...]
    outputs: tuple[ArraySpec, ...]
    mask: bool = False
    numbers: bool = False
    identity: bool = True
    accumulator: str = "default"
    units: int = 132

    @property
    def specs(self) -> tuple[ArraySpec, ...]:
        return *self.inputs, *self.outputs

    @property
    def count(self) -> int:
        """Number of outputs."""
        return math.prod(n for k, n in enumerate(self.shape) if k not in self.axes)

    @property
    def length(self) -> int:
        """Number of elements of one output."""
        return math.prod(self.shape[k] for k in self.axes)


def definition_of(case: Case) -> ReductionDefinition:
    own = len(case.inputs) - case.mask
    inputs = ", ".join(f"{'ABCD'[k]} x{k}" for k in range(own))
    outputs = ", ".join(f"{'YZ'[k]} y{k}" for k in range(len(case.outputs)))
    signature = parse_signature(inputs, outputs)
    if case.mask:
        where = Parameter("_kt_where", np.dtype(bool), "bool")
        signature = replace(signature, inputs=(*signature.inputs, where))
    return ReductionDefinition(
        signature,
        "kernel",
        "",
        (),
        "_J + _i" if case.numbers else "0",
        "a",
        "y0 = a;",
        "0" if case.identity else "",
        parse_accumulator(ACCUMULATORS[case.accumulator][0], signature),
        mask=case.mask,
    )


def lowered_for(case: Case) -> LaunchGeometry:
    definition = definition_of(case)
    binding = bind_types(definition.signature, [spec.dtype for spec in case.specs])
    kept = tuple(n for k, n in enumerate(case.shape) if k not in case.axes)
    resolved = Resolved(binding, case.shape, kept, case.specs, "C")
    found = definition.schedule(
        resolved, capabilities_of("cuda"), case.units, (case.axes, False, None)
    )
    assert found is not None
    return found


def walked(case: Case, lowered: LaunchGeometry, *, corners: bool = False) -> ReductionAddressing:
    return ReductionAddressing(lowered, [Target.of(spec) for spec in case.specs], corners=corners)


def total_of(case: Case) -> tuple[int, int]:
    """The size and the alignment (bytes) of a total."""
    _, size, alignment = ACCUMULATORS[case.accumulator]
    if not size:
        dtype = case.outputs[0].dtype
        size, alignment = dtype.itemsize, describe(dtype).alignment
        if dtype.name == "float16":
            size = alignment = 4
    return size_of_total(size, alignment, case.identity), alignment


# -- NumPy's view -------------------------------------------------------------------------------


def wanted_places(case: Case, steps: Sequence[int]) -> npt.NDArray[np.int64]:
    """The places of all elements, those of one output after the other."""
    total = np.zeros((), np.int64)
    for axis, (extent, step) in enumerate(zip(case.shape, steps, strict=True)):
        along = np.arange(extent) * step
        total = total + along.reshape([extent if k == axis else 1 for k in range(len(case.shape))])
    kept = [k for k in range(len(case.shape)) if k not in case.axes]
    ordered = np.broadcast_to(total, case.shape).transpose(*kept, *case.axes)
    return ordered.reshape(case.count, case.length)


def output_steps(case: Case, spec: ArraySpec) -> list[int]:
    """An output's strides along the inputs' shape: none along what is reduced."""
    kept = [k for k in range(len(case.shape)) if k not in case.axes]
    steps = [0] * len(case.shape)
    own = [spec.strides[k] for k in kept] if spec.ndim == len(case.shape) else spec.strides
    for axis, step in zip(kept, own, strict=True):
        steps[axis] = step
    return steps


def mixed(rows: Sequence[npt.NDArray[np.int64]]) -> npt.NDArray[np.int64]:
    """One number for each column of numbers, sorted; equal columns give equal numbers."""
    total = np.zeros(rows[0].size, np.uint64)
    for row in rows:
        total = (total ^ (total >> np.uint64(29))) * np.uint64(0x9E3779B97F4A7C15)
        total = total + row.ravel().astype(np.uint64)
    return np.sort(total * np.uint64(0xBF58476D1CE4E5B9))


def is_folded(lowered: LaunchGeometry) -> bool:
    """Whether vectors hold several rows, which the model does not: `FOLDED` of
    tests/differential/test_reduction_vectors.py compares their results on GPUs.
    """
    return bool(getattr(schedule_of(lowered), "folded", 1) > 1)


def check(case: Case) -> LaunchGeometry:
    """Compare what a launch does with NumPy's view of the reduction."""
    lowered = lowered_for(case)
    if is_folded(lowered):
        return lowered
    model = walked(case, lowered)
    walk = model.walk()
    model.check_scratch(*total_of(case))

    count, length = case.count, case.length
    np.testing.assert_array_equal(np.sort(walk.written), np.arange(count))
    assert walk.outputs.size == count * length
    assert (np.bincount(walk.outputs * length + walk.elements) == 1).all()

    stored = [wanted_places(case, output_steps(case, spec)) for spec in case.outputs]
    if length:
        read = [
            wanted_places(case, broadcast_strides(spec.shape, spec.strides, case.shape))
            for spec in case.inputs
        ]
        if case.numbers:
            read.append(np.broadcast_to(np.arange(length), (count, length)))
            read.append(np.broadcast_to(np.arange(count)[:, None], (count, length)))
        by_output = np.empty_like(walk.written_places)
        by_output[:, walk.written] = walk.written_places
        found = [*walk.places, *by_output[:, walk.outputs]]
        np.testing.assert_array_equal(mixed(found), mixed([*read, *stored]))
    else:
        plain = replace(
            case, shape=tuple(1 if k in case.axes else n for k, n in enumerate(case.shape))
        )
        stored = [wanted_places(plain, output_steps(case, spec)) for spec in case.outputs]
        np.testing.assert_array_equal(mixed(list(walk.written_places)), mixed(stored))
    return lowered


# -- what is drawn ------------------------------------------------------------------------------


def strides_of(order: Sequence[int], shape: Sequence[int], unit: int, pitch: int = 0) -> list[int]:
    """Strides of an array whose axes follow one another in memory in this order."""
    strides = [0] * len(shape)
    for k, axis in enumerate(reversed(order)):
        strides[axis] = unit
        unit *= max(shape[axis], 1)
        unit += pitch if k == 0 else 0
    return strides


@st.composite
def tame_inputs(
    draw: Any, shape: tuple[int, ...], order: Sequence[int], dtype: Any = None
) -> ArraySpec:
    """Return an input as programs mostly have them: the ones that wide accesses are made for."""
    dtype = dtype or draw(st.sampled_from(SCALARS))
    own = [n if draw(st.integers(0, 8)) else 1 for n in shape]
    strides = strides_of(order, own, dtype.itemsize, draw(st.sampled_from([0, 0, 0, 0, 16])))
    offset = draw(st.sampled_from([0, 0, 0, 0, dtype.itemsize, 8]))
    return ArraySpec.make(dtype, own, strides=strides, offset=offset)


@st.composite
def wild_inputs(draw: Any, shape: tuple[int, ...], dtype: Any = None) -> ArraySpec:
    """Return an input that broadcasts to `shape`, with steps of any kind, at any address."""
    dtype = dtype or draw(st.sampled_from(DTYPES))
    own = [draw(st.sampled_from([n, n, n, n, 1])) for n in shape]
    own = own[draw(st.integers(0, len(own))) if draw(st.integers(0, 3)) == 0 else 0 :]
    order = draw(st.permutations(range(len(own)))) if draw(st.booleans()) else range(len(own))
    unit = dtype.itemsize * draw(st.sampled_from([1, 1, 1, 2]))
    pitch = draw(st.sampled_from([0, 0, 0, 1, 3, 16]))
    strides = strides_of(order, own, unit, pitch * (dtype.itemsize if draw(st.booleans()) else 1))
    for axis in range(len(own)):
        strides[axis] *= draw(st.sampled_from([1, 1, 1, 1, 1, -1, 0]))
    offset = draw(st.one_of(st.just(0), st.just(dtype.itemsize % 16), st.integers(0, 15)))
    return ArraySpec.make(dtype, own, strides=strides, offset=offset)


@st.composite
def outputs_of(draw: Any, shape: tuple[int, ...], axes: tuple[int, ...]) -> ArraySpec:
    """Return an output, no two of whose elements lie in the same place."""
    dtype = draw(st.sampled_from([*SCALARS, *SCALARS, TRIPLET, PACKED, PAIR]))
    own = [n for k, n in enumerate(shape) if k not in axes]
    if draw(st.booleans()):  # keepdims
        own = [1 if k in axes else n for k, n in enumerate(shape)]
    plain = draw(st.integers(0, 2)) > 0
    order = range(len(own)) if plain else draw(st.permutations(range(len(own))))
    unit = dtype.itemsize * (1 if plain else draw(st.sampled_from([1, 1, 2, 3])))
    strides = strides_of(order, own, unit, 0 if plain else draw(st.sampled_from([0, 1, 16])))
    if own and not plain and draw(st.booleans()):
        axis = draw(st.integers(0, len(own) - 1))
        strides[axis] = -strides[axis]
    offset = draw(st.sampled_from([0, 0, 0, dtype.itemsize % 16, 8, 4, 1, 15]))
    return ArraySpec.make(dtype, own, strides=strides, offset=offset)


few = st.sampled_from([1, 2, 3, 4, 5, 7, 8, 16, 17, 32, 33, 40, 64, 65])
wild_shapes = st.one_of(
    st.lists(few, max_size=4).filter(lambda shape: math.prod(shape) <= 5000),
    st.tuples(st.integers(1, 80), st.integers(1, 130)),
    st.tuples(st.integers(2, 6), st.integers(2, 60), st.sampled_from([2, 4, 8, 16, 24, 35])),
    st.tuples(st.integers(1, 40), st.just(0), st.integers(1, 3)),
)
# Shapes, and the axes that are reduced, for which there are ways of their own.
KINDS: dict[str, tuple[st.SearchStrategy[tuple[int, ...]], set[int]]] = {
    "short rows": (
        st.tuples(st.integers(1, 1200), st.sampled_from([2, 3, 3, 4, 5, 6, 7, 12])), {1},
    ),
    "rows of middling length": (st.tuples(st.integers(40, 300), st.integers(9, 70)), {1}),
    "many rows": (st.tuples(st.integers(2000, 5000), st.sampled_from([2, 3, 4, 6, 8])), {1}),
    "long rows": (st.tuples(st.integers(1, 4), st.integers(1000, 9000)), {1}),
    "stretches": (st.tuples(st.integers(2, 9), st.integers(1, 7), st.integers(16, 200)), {0, 2}),
    "short columns": (st.tuples(st.integers(1, 6), st.integers(3000, 9000)), {0}),
    "few columns": (st.tuples(st.integers(200, 1500), st.integers(2, 20)), {0}),
    "columns": (st.tuples(st.integers(2, 120), st.integers(30, 300)), {0}),
    "opposite orders": (st.tuples(st.integers(8, 150), st.integers(32, 150)), {0}),
    "within": (st.tuples(st.integers(2, 5), st.integers(50, 400), st.integers(2, 18)), {1}),
}  # fmt: skip


@st.composite
def cases(draw: Any, kind: str) -> Case:
    if kind == "any":
        shape = tuple(draw(wild_shapes))
        axes = {k for k in range(len(shape)) if draw(st.booleans())}
        axes |= {k for k, n in enumerate(shape) if n == 0}
    else:
        shapes, axes = KINDS[kind]
        shape = draw(shapes)
    reduced = tuple(sorted(axes))
    tame = draw(st.integers(0, 3)) >= (2 if kind == "any" else 1)
    order = range(len(shape))
    if kind == "any" and draw(st.integers(0, 3)) == 0:
        order = draw(st.permutations(order))
    orders = [order] * 3
    if kind == "opposite orders":
        orders = [order, tuple(reversed(order)), order]
    inputs = [
        draw(tame_inputs(shape, own) if tame else wild_inputs(shape))
        for own in orders[: draw(st.sampled_from([1, 1, 1, 2, 2, 3, 0]))]
    ]
    mask = bool(inputs) and draw(st.integers(0, 4)) == 0
    if mask:
        boolean = np.dtype(bool)
        inputs.append(
            draw(tame_inputs(shape, order, boolean) if tame else wild_inputs(shape, boolean))
        )
    return Case(
        shape,
        reduced,
        tuple(inputs),
        tuple(draw(outputs_of(shape, reduced)) for _ in range(draw(st.sampled_from([1, 1, 2])))),
        mask,
        numbers=draw(st.integers(0, 2)) == 0,
        identity=mask or draw(st.booleans()),
        accumulator=draw(st.sampled_from([*["default"] * 5, *ACCUMULATORS])),
        units=draw(st.sampled_from([1, 1, *UNITS])),
    )


def schedule_of(lowered: LaunchGeometry) -> Any:
    specialization: Any = lowered.specialization
    return specialization.schedule


def flags_of(s: Any) -> list[str]:
    names = [name for name in ("peeled", "spread", "no_remainder") if getattr(s, name, False)]
    return ["shared", *names] if s.split > 1 else names


def checked(case: Case) -> None:
    s = schedule_of(check(case))
    event(" ".join([s.strategy, *flags_of(s)]))


@pytest.mark.exhaustive
@drawn(cases("any"), few=80, many=400)
def test_every_element_is_added_once(case: Case) -> None:
    checked(case)


@pytest.mark.one_in(4)
@pytest.mark.parametrize("kind", KINDS)
@drawn(st.data(), few=15, many=150)
def test_every_element_is_added_once_in_shapes_of_a_kind(kind: str, data: Any) -> None:
    checked(data.draw(cases(kind)))


# -- hard shapes --------------------------------------------------------------------------------


def dense(
    shape: Sequence[int], axes: Sequence[int], *dtypes: Any, offset: int = 0, out: Any = None,
    **options: Any,
) -> Case:  # fmt: skip
    """Arrays without gaps in C order, all of the inputs at one offset."""
    kept = [n for k, n in enumerate(shape) if k not in axes]
    return Case(
        tuple(shape),
        tuple(axes),
        tuple(ArraySpec.make(dtype, shape, offset=offset) for dtype in dtypes),
        (ArraySpec.make(out or dtypes[0], kept),),
        **options,
    )


def viewed(case: Case, k: int, shape: Sequence[int], strides: Sequence[int], offset: int) -> Case:
    """The same with another input `k`."""
    spec = ArraySpec.make(case.inputs[k].dtype, shape, strides=strides, offset=offset)
    return replace(case, inputs=(*case.inputs[:k], spec, *case.inputs[k + 1 :]))


def short_rows() -> Iterator[Case]:
    """Whole packs and what is left, two sizes, one value for all rows, a mask."""
    for count, dtype in itertools.product((1, 5, 512, 1001, 3000), ("f2", "f4", "f8")):
        yield dense((count, 3), (1,), dtype)
        yield dense((count, 3), (1,), dtype, offset=8)
        yield dense((count, 2), (1,), dtype, "i1", out=PAIR)
        yield dense((count, 7), (1,), "f2", offset=8)
    yield viewed(dense((1001, 3), (1,), "f4", "f8"), 1, (1, 1), (8, 8), 8)
    yield dense((1001, 6), (1,), "f4", "?", mask=True)


def staged_rows() -> Iterator[Case]:
    """Rows that a block brings into shared memory, and others that it does not."""
    for shape in ((600, 23), (1003, 67), (301, 121), (4099, 5)):
        yield dense(shape, (1,), "f4", units=1)
        yield dense(shape, (1,), "f2", "f4", units=1, numbers=True)
        yield dense(shape, (1,), "i1", "?", units=1, mask=True)
        yield dense(shape, (1,), "f4", "f4", "f4", units=1)
        yield viewed(dense(shape, (1,), "f4", "f8", units=1), 1, (shape[0], 1), (12, 8), 4)
        yield viewed(dense(shape, (1,), "f4", "f8", units=1), 1, (1, shape[1]), (8, 0), 1)


def rows() -> Iterator[Case]:
    """A few lanes a row, several rows a group, whole blocks a row, several blocks a row."""
    for packs, units in itertools.product((1, 2, 3, 5, 9, 17, 33, 63), (1, 132)):
        yield dense((131, 4 * packs), (1,), "f4", units=units, numbers=packs % 2 == 1)
        yield dense((131, packs), (1,), "c16", units=units)
        yield dense((131, 3, 8 * packs), (0, 2), "f2", units=units)
    for shape in ((5000, 4), (3001, 8), (2049, 12)):
        yield dense(shape, (1,), "f8", units=1)
        yield dense(shape, (1,), "f4", units=1, numbers=True)
    for count, units in itertools.product((1, 2, 3), UNITS):
        for length in (9000, 12004, 20001, 50000 // count, 50003 // count):
            yield dense((count, length), (1,), "f4", units=units, identity=False)
            yield dense((count, length), (1,), "f4", units=units, offset=4, numbers=True)
            yield dense((count, length), (1,), "i1", "c16", units=units, out="f8")
        for axes in ((2,), (1, 2), (0, 2)):
            yield dense((4, 9, 1032), axes, "f4", units=units, accumulator="largest of fields")


def rows_that_begin_anywhere() -> Iterator[Case]:
    """Rows that begin within packs, beside values that do not lie as elements should."""
    for steps, offset in (((12, 8), 0), ((9, 8), 0), ((8, 8), 3), ((-12, 0), 4)):
        for count in (1, 40):
            case = dense((count, 1001), (1,), "f4", "f8", offset=4)
            yield viewed(case, 1, (count, 1), steps, offset)
    yield viewed(dense((6, 1001), (1,), "f4", "f4", offset=4), 1, (6, 1001), (4, 24), 0)
    yield viewed(dense((6, 1001), (1,), "f4", "f2", offset=4), 1, (6, 1001), (2002, -2), 7)
    yield viewed(dense((6, 1001), (1,), "f4", "f8", offset=4), 1, (6, 1001), (9, 0), 7)


def columns() -> Iterator[Case]:
    """Packs and single ones, threads that share them, blocks that share them, many axes."""
    inner = (1, 2, 3, 5, 7, 12, 31, 64, 383, 384)
    for count, dtype, length in itertools.product(inner, ("i1", "f4", "c16"), (1, 2, 9, 500)):
        yield dense((length, count), (0,), dtype, units=1, numbers=length == 9)
    for shape, units in itertools.product(((4000, 12), (6000, 5), (8, 4500), (3, 9001)), UNITS):
        yield dense(shape, (0,), "f4", units=units)
        yield dense(shape, (0,), "f8", "f4", units=units, numbers=True, identity=False)
        yield dense(shape, (0,), "f4", units=units, accumulator="largest by name", out="i1")
    for shape, offset in (((2, 4096), 0), ((2, 8192), 4), ((300, 257), 0), ((600, 268), 0)):
        yield dense(shape, (0,), "f4", offset=offset, units=1, numbers=shape[0] > 2)
        yield dense(shape, (0,), "f4", offset=offset, units=1, identity=False)
    yield dense((1400, 268), (0,), "f4", units=16)
    yield dense((2000, 37), (0,), "f4")
    for many, axes in (((3, 70, 5, 8), (1,)), ((6, 40, 3, 8), (0, 2)), ((30, 5, 40, 3), (0, 2))):
        case = dense(many, axes, "f4", units=1)
        yield case
        yield viewed(case, 0, many, strides_of((2, 0, 3, 1), many, 4), 0)
        yield viewed(case, 0, many, strides_of((3, 2, 1, 0), many, 8), 5)
        steps = strides_of((0, 1, 2, 3), many, 4)
        yield viewed(case, 0, many, [steps[0], -steps[1], steps[2], steps[3]], 0)
        yield viewed(case, 0, many, [0, steps[1], steps[2], -steps[3]], 4)


def begun_anywhere() -> Iterator[Case]:
    """Vectors of rows and of columns that begin anywhere, backwards too, beside other inputs."""
    for (many, axes), dtype in itertools.product(
        (((9, 3, 7, 101), (0, 3)), ((9, 70, 96), (0, 2)), ((4, 3, 7, 101), (0, 2))), ("i1", "f2")
    ):
        size = np.dtype(dtype).itemsize
        for offset, numbers in ((1, False), (15, True)):
            case = dense(many, axes, dtype, dtype, offset=offset, units=1, numbers=numbers)
            yield case
            yield replace(case, inputs=case.inputs[:1])
            yield dense(many, axes, dtype, "?", offset=offset, units=1, mask=True)
            steps = strides_of(range(len(many)), many, size)
            for change in (-1, 3):
                other = viewed(case, 1, many, [*steps[:-1], change * steps[-1]], offset)
                yield other
                yield replace(other, inputs=other.inputs[1:])
            apart = strides_of(range(len(many)), many, 16)
            yield viewed(dense(many, axes, dtype, "f8", offset=1, units=1), 1, many, apart, 3)
            yield viewed(case, 1, many[-1:], (-size,), 0)
            yield viewed(case, 1, (*many[:-1], 1), (*steps[:-1], size), 0)
    for length, step in itertools.product((20001, 100001), (1, -1)):
        case = dense((2, length), (1,), "i1", "i1", numbers=True)
        case = viewed(case, 1, (2, length), (length, step), 1)
        yield case if step > 0 else replace(case, inputs=case.inputs[1:])
    for count in (40, 45, 301):
        yield dense((2001, count), (0,), "i1", offset=1)
        yield dense((2001, count), (0,), "f2", "?", offset=1, mask=True)
    for many in ((700, 3, 2, 32), (700, 3, 2, 30)):
        case = dense(many, (3,), "i1", "i1", offset=1, units=1)
        yield viewed(case, 1, many, strides_of(range(4), many, 1), 8)
    for outs in (("f4", PAIR), ("i1", "f8"), ("c8", PACKED)):
        for shape in ((40, 101), (40, 104), (4, 40, 101)):
            case = dense(shape, (len(shape) - 2,), "i1", offset=1, units=1)
            for step in (1, -1, 3):
                kept = [n for k, n in enumerate(shape) if k != len(shape) - 2]
                specs = []
                for dtype in map(np.dtype, outs):
                    steps = strides_of(range(len(kept)), kept, dtype.itemsize * abs(step))
                    steps[-1] *= 1 if step > 0 else -1
                    specs.append(ArraySpec.make(dtype, kept, strides=steps, offset=8))
                yield replace(case, outputs=tuple(specs))


def opposite_orders() -> Iterator[Case]:
    """Inputs whose neighbours are of one output, beside others whose are of neighbouring ones."""
    for dtype, other in itertools.product(("i1", "f2", "f4", "c16"), ("i1", "f4", "c16")):
        size = np.dtype(dtype).itemsize
        for shape, order, axes in (
            ((67, 45), (1, 0), (0,)),
            ((67, 101), (1, 0), (0,)),
            ((64, 48), (1, 0), (0,)),
            ((5, 16, 40), (0, 2, 1), (0, 1)),
            ((5, 12, 40), (0, 2, 1), (0, 1)),
            ((3, 19, 33), (0, 2, 1), (1,)),
        ):
            steps = strides_of(order, shape, size)
            for offset, numbers in ((0, True), (1, False)):
                case = dense(shape, axes, dtype, other, units=1, numbers=numbers)
                yield viewed(case, 0, shape, steps, offset)
                for axis in (-1, axes[-1]):
                    own = [
                        -step if k == axis % len(shape) else step for k, step in enumerate(steps)
                    ]
                    yield viewed(case, 0, shape, own, offset)
            yield viewed(dense(shape, axes, dtype, other, "?", mask=True), 0, shape, steps, 4)
            whole = ArraySpec.make("?", shape, strides=strides_of(order, shape, 1), offset=5)
            case = dense(shape, axes, other, "?", mask=True)
            yield replace(case, inputs=(case.inputs[0], whole))
    for units, length in itertools.product((1, 132), (2000, 2003)):
        case = dense((length, 40), (0,), "f4", "f4", units=units)
        yield viewed(case, 0, (length, 40), (4, 4 * length), 4)


def outputs() -> Iterator[Case]:
    """Two outputs: with the reduced axes kept, in another order, backwards, with gaps."""
    for shape, axis in (((40, 60, 8), 1), ((40, 8, 60), 2), ((40, 3, 60), 0)):
        kept = [n for k, n in enumerate(shape) if k != axis]
        keep = [1 if k == axis else n for k, n in enumerate(shape)]
        outs = (
            ArraySpec.make("f8", keep, order="F"),
            ArraySpec.make(TRIPLET, kept, strides=(-12 * kept[1], 12)),
            ArraySpec.make("c16", kept, offset=8),
            ArraySpec.make(PACKED, kept, strides=(5, 7 * kept[0]), offset=3),
        )
        for pair in itertools.combinations(outs, 2):
            yield replace(dense(shape, (axis,), "f4", units=1), outputs=pair)


def little() -> Iterator[Case]:
    """Nothing to reduce, nothing kept, no array."""
    yield dense((5, 0, 3), (1,), "f4")
    yield dense((0,), (0,), "f4", numbers=True)
    yield dense((), (), "f8", "f4")
    yield dense((1, 1), (0,), "f8")
    yield dense((7, 33), (), "f4")
    yield dense((50021,), (0,), out="i8", numbers=True, units=1)


HARD = [
    short_rows, staged_rows, rows, rows_that_begin_anywhere, columns, begun_anywhere,
    opposite_orders, outputs, little,
]  # fmt: skip


def feature_of(s: Any) -> tuple[Any, ...]:
    """What makes a difference in the text's loops."""
    how = ""
    if s.strategy == "rows":
        how = "lanes" if s.lanes <= 32 else "block"
    elif s.strategy == "columns":
        how = "alone" if s.lanes == s.block else "together"
    flags = flags_of(s)
    flags += sorted({a.kind for a in s.accesses} & {"shifted", "reversed", "along"})
    flags += [name for name in ("partial", "overlapped", "brought") if getattr(s, name, False)]
    flags += ["several"] if s.strategy == "rows" and s.rows > 1 else []
    flags += ["vectors"] if getattr(s, "width", 1) > 1 and not getattr(s, "spread", False) else []
    return (s.strategy, how, *flags)


WAYS = {
    ("short", "", "vectors"),
    ("short", "", "no_remainder", "vectors"),
    ("staged", ""),
    ("rows", "lanes"),
    ("rows", "lanes", "vectors"),
    ("rows", "lanes", "several", "vectors"),
    ("rows", "lanes", "peeled", "vectors"),
    ("rows", "block"),
    ("rows", "block", "vectors"),
    ("rows", "block", "peeled", "vectors"),
    ("rows", "block", "shared"),
    ("rows", "block", "shared", "vectors"),
    ("rows", "block", "shared", "peeled", "vectors"),
    *(
        ("columns", how, *shared, *last)
        for how, shared in (("alone", ()), ("together", ()), ("together", ("shared",)))
        for last in ((), ("no_remainder",), ("vectors",), ("no_remainder", "vectors"))
    ),
    ("columns", "alone", "spread"),
    ("columns", "alone", "spread", "no_remainder"),
    *(("short", "", *last, "brought", "vectors") for last in ((), ("no_remainder",))),
    *(
        ("rows", "lanes", *kinds, *last, "vectors")
        for kinds in (("shifted",), ("reversed",), ("reversed", "shifted"))
        for last in ((), ("partial",))
    ),
    *(
        ("rows", *how, *kinds, "partial", "vectors")
        for how in (("block",), ("block", "shared"))
        for kinds in (("shifted",), ("reversed",))
    ),
    ("rows", "lanes", "shifted", "several", "vectors"),
    ("rows", "lanes", "shifted", "partial", "several", "vectors"),
    *(
        ("columns", "together", *kinds, "overlapped", "vectors")
        for kinds in (("shifted",), ("reversed",), ("reversed", "shifted"))
    ),
    ("columns", "alone", "shifted", "overlapped", "vectors"),
    ("columns", "together", "shifted", "vectors"),
    ("columns", "together", "shared", "shifted", "overlapped", "vectors"),
    ("columns", "together", "shared", "no_remainder", "shifted", "vectors"),
    ("columns", "alone", "along"),
    ("columns", "together", "no_remainder", "shifted", "overlapped", "vectors"),
    ("columns", "together", "shared", "no_remainder", "shifted", "overlapped", "vectors"),
    ("columns", "together", "along"),
    ("columns", "together", "along", "vectors"),
    ("columns", "together", "no_remainder", "along"),
    ("columns", "together", "no_remainder", "along", "vectors"),
    ("columns", "together", "shared", "along"),
    ("columns", "together", "shared", "no_remainder", "along", "vectors"),
}


@pytest.mark.exhaustive
@pytest.mark.parametrize("dtype", [*SCALARS, PAIR], ids=str)
def test_dense_arrays_at_every_offset(dtype: np.dtype[Any]) -> None:
    shapes = (
        ((1000,), 0),
        ((7, 1001), 1),
        ((301, 7), 0),
        ((300, 3), 1),
        ((3, 300), 0),
        ((64, 37), 1),
    )
    for offset, (shape, axis) in itertools.product((0, 1, 2, 4, 8, 15), shapes):
        case = dense(shape, (axis,), dtype, offset=offset, units=1)
        check(case)
        other = replace(case.outputs[0], offset=15 - offset)
        check(
            replace(
                case, outputs=(other,), inputs=(*case.inputs, replace(case.inputs[0], offset=0))
            )
        )


@contextmanager
def told(case: Case) -> Iterator[None]:
    """Let a failure say which reduction it is about."""
    try:
        yield
    except AssertionError as error:
        error.add_note(str(case))
        raise


@pytest.mark.parametrize("part", half(range(2)))
@pytest.mark.parametrize("shapes", HARD, ids=lambda shapes: shapes.__name__)
def test_every_element_of_hard_shapes_is_added_once(
    shapes: Callable[[], Iterator[Case]], part: int
) -> None:
    for case in itertools.islice(shapes(), part, None, 2):
        with told(case):
            check(case)


@pytest.mark.exhaustive
def test_hard_shapes_take_every_way() -> None:
    cases = itertools.chain.from_iterable(shapes() for shapes in HARD)
    found = {feature_of(schedule_of(lowered_for(case))) for case in cases}
    assert not WAYS - found


def one_in_three(shapes: Callable[[], Iterator[Case]]) -> Callable[[], Iterator[Case]]:
    """Some of the shapes: accumulators meet each strategy several times in them."""
    chosen = functools.wraps(shapes)(lambda: itertools.islice(shapes(), 0, None, 3))
    return chosen


EXTREMES = ("default", "three bytes", "largest by name")
THE_OTHERS = [name for name in ACCUMULATORS if name not in EXTREMES]


@pytest.mark.one_in(9)
@pytest.mark.parametrize(
    ("shapes", "accumulators"),
    [
        pytest.param(shapes, accumulators, id=f"{shapes.__name__}{end}", marks=marks)
        for accumulators, end, marks in (
            (EXTREMES, "", []),
            (THE_OTHERS, "-others", [pytest.mark.exhaustive]),
        )
        for shapes in (HARD if marks else [one_in_three(shapes) for shapes in HARD])
    ],
)
def test_shared_memory_suffices(
    shapes: Callable[[], Iterator[Case]], accumulators: Sequence[str]
) -> None:
    sources: dict[Any, str] = {}
    totals = list(itertools.product(accumulators, (False, True)))
    for case, (accumulator, identity) in itertools.product(shapes(), totals):
        own = replace(case, accumulator=accumulator, identity=identity or case.mask)
        lowered = lowered_for(own)
        with told(own):
            walked(own, lowered).check_scratch(*total_of(own))
            given = template_input(lowered.specialization)
            key = given.digest()
            if key not in sources:
                sources[key] = render(given)
            size = shared_bytes(
                sources[key], total_of(own)[0], getattr(schedule_of(lowered), "width", 1)
            )
            assert size <= MOST_SHARED_BYTES


# -- what no machine here could hold ------------------------------------------------------------


def check_far(case: Case) -> LaunchGeometry:
    """Look at the corners of a launch whose numbers and offsets may need 64 bits."""
    lowered = lowered_for(case)
    if is_folded(lowered):
        return lowered
    model = walked(case, lowered, corners=True)
    walk = model.walk()
    model.check_scratch(*total_of(case))
    assert (walk.written.min(), walk.written.max()) == (0, case.count - 1)
    assert (walk.elements.min(), walk.elements.max()) == (0, case.length - 1)
    pairs = walk.outputs * case.length + walk.elements
    assert (np.diff(np.sort(pairs)) > 0).all()
    kept = np.unravel_index(walk.outputs, model.outer)
    reduced = np.unravel_index(walk.elements, model.reduction)
    for o, places in zip(model.read, walk.places, strict=True):
        steps = zip((*kept, *reduced), (*o.outer, *o.reduction), strict=True)
        wanted = sum((at * step for at, step in steps), o.begin)
        np.testing.assert_array_equal(places, wanted)
    return lowered


def many_short_rows() -> Iterator[Case]:
    """Rows that threads or blocks find by an element's number."""
    for dtype, count in itertools.product(("f2", "f4", "f8"), (2**30, 2**31 // 3, 2**31 // 3 + 1)):
        yield dense((count, 3), (1,), dtype)
    for shape in ((10**7, 215), (2**24, 129), (2**23, 255), (2**24 - 1, 129)):
        yield dense(shape, (1,), "f4")
        yield dense(shape, (1,), "i1", numbers=True)


def many_elements() -> Iterator[Case]:
    """Near the limit, where the last part ends behind the last element, and beyond it."""
    lengths = (2**31 - 2**25, 2**31 - 2**21, 2**31 - 1, 2**31, 2**33 + 3)
    near = itertools.product((2**31 - 2**21 - 1,), (*UNITS, 139, 183))
    for length, units in itertools.chain(near, itertools.product(lengths, (132,))):
        yield dense((length,), (0,), "i1", units=units)
        yield dense((length,), (0,), "f8", units=units, numbers=True)
        yield viewed(dense((length,), (0,), "f4", units=units), 0, (length,), (0,), 0)
        yield dense((length,), (0,), out="i8", units=units, numbers=True)
        yield viewed(dense((length, 2), (0,), "i1", units=units), 0, (length, 2), (0, 1), 0)


def many_outputs() -> Iterator[Case]:
    """Near the limit and beyond it."""
    for count in (2**31 - 2**21 - 1, 2**31, 2**32 + 5):
        yield dense((count, 2), (1,), "f4")
        yield dense((count, 8), (1,), "i1")
        yield dense((3, count), (0,), "f4", numbers=True)
        yield dense((count, 40), (1,), "f4")
        yield viewed(dense((count, 3), (1,), "f4"), 0, (count, 3), (0, 4), 0)


def long_steps() -> Iterator[Case]:
    """Along what is reduced, along what is kept, between the outputs of one thread."""
    yield dense((2**20, 4096), (0,), "f4")
    yield dense((4096, 2**20), (1,), "f4")
    yield dense((2**15, 2**4, 2**15), (0, 2), "f2")
    for step in (2**28, 2**30, -(2**30), 2**33):
        case = dense((1000, 4), (0,), "f4", "f4", units=1)
        yield viewed(case, 1, (4,), (step,), 0)
        yield replace(case, outputs=(ArraySpec.make("f4", 4, strides=(step,)),))
        case = dense((1000, 16), (0,), "i1", "f8", out="i1", units=1)
        yield viewed(case, 1, (16,), (step,), 0)
        case = dense((2, 9000), (0,), "f8", "f4", offset=4, units=1)
        yield viewed(case, 1, (9000,), (step,), 0)
        yield viewed(dense((40, 64), (1,), "f4", "f4"), 1, (40, 1), (step, 0), 0)
        yield viewed(dense((40, 64), (1,), "f4", "f4"), 1, (1, 64), (0, step), 0)
        yield viewed(dense((900, 64), (0,), "f4", "f4"), 1, (900, 1), (step, 0), 0)
        yield viewed(dense((4, 5, 64), (0, 2), "f4"), 0, (4, 5, 64), (step, 4096, 4), 0)
        yield viewed(dense((4, 5, 64), (1,), "f4"), 0, (4, 5, 64), (step, 4096, 4), 0)


FAR = [many_short_rows, many_elements, many_outputs, long_steps]


@pytest.mark.exhaustive
@pytest.mark.parametrize("shapes", FAR, ids=lambda shapes: shapes.__name__)
def test_numbers_beyond_32_bits_at_the_limits(shapes: Callable[[], Iterator[Case]]) -> None:
    for case in shapes():
        with told(case):
            check_far(case)


def test_the_limits_need_either_width() -> None:
    cases = itertools.chain.from_iterable(shapes() for shapes in FAR)
    assert {schedule_of(lowered_for(case)).wide_index for case in cases} == {False, True}


small = [1, 2, 3, 5, 8, 67, 255, 256, 1000, 4096]
extents = st.sampled_from([*small, 2**16, 2**16 + 1, 10**6, 2**24, 2**28 - 1, 2**30, 2**31])


@st.composite
def far_reductions(draw: Any) -> Case:
    shape = tuple(
        draw(st.lists(extents, min_size=1, max_size=4).filter(lambda n: math.prod(n) <= 2**36))
    )
    axes = tuple(k for k in range(len(shape)) if draw(st.booleans()))
    inputs = []
    for _ in range(draw(st.sampled_from([1, 1, 2]))):
        dtype = draw(st.sampled_from([*SCALARS, TRIPLET]))
        order = list(range(len(shape)))
        if draw(st.integers(0, 2)) == 0:
            order = draw(st.permutations(order))
        strides = strides_of(order, shape, dtype.itemsize, draw(st.sampled_from([0, 0, 0, 16])))
        for axis in range(len(shape)):
            strides[axis] *= draw(st.sampled_from([1] * 8 + [-1, 0]))
        inputs.append(ArraySpec.make(dtype, shape, strides=strides))
    kept = [n for k, n in enumerate(shape) if k not in axes]
    return Case(
        shape,
        axes,
        tuple(inputs),
        (ArraySpec.make(draw(st.sampled_from(SCALARS)), kept, order=draw(st.sampled_from("CF"))),),
        numbers=draw(st.booleans()),
        units=draw(st.sampled_from(UNITS)),
    )


@pytest.mark.exhaustive
@drawn(far_reductions(), few=40, many=250)
def test_numbers_beyond_32_bits(case: Case) -> None:
    s = schedule_of(check_far(case))
    event(f"{s.strategy}, {'64' if s.wide_index else '32'} bits")

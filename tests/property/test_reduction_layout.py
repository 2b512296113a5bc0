"""Reduction strategies: every element is added once, by aligned accesses to its array's bytes."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from kerneltk import specialize_reduction as lowering
from kerneltk import strategy
from kerneltk.accumulator import parse_accumulator
from kerneltk.arrays import ArraySpec, broadcast_strides
from kerneltk.binding import bind_types
from kerneltk.dtypes import describe
from kerneltk.lowered import Lowered
from kerneltk.params import parse_signature
from kerneltk.render import render
from kerneltk.specialize_reduction import ReductionDefinition, specialize_reduction
from kerneltk.types import Parameter

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


def lowered_for(case: Case) -> Lowered:
    definition = definition_of(case)
    binding = bind_types(definition.signature, [spec.dtype for spec in case.specs])
    return specialize_reduction(
        definition, "cuda", binding, case.specs, case.shape, case.axes, case.units
    )


def walked(case: Case, lowered: Lowered, *, corners: bool = False) -> ReductionAddressing:
    return ReductionAddressing(
        lowered, [Target.of(spec) for spec in case.specs], corners=corners
    )


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


def check(case: Case) -> Lowered:
    """Compare what a launch does with NumPy's view of the reduction."""
    lowered = lowered_for(case)
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
        plain = replace(case, shape=tuple(1 if k in case.axes else n for k, n in enumerate(case.shape)))
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
def tame_inputs(draw: Any, shape: tuple[int, ...], order: Sequence[int]) -> ArraySpec:
    """Return an input as programs mostly have them: the ones that wide accesses are made for."""
    dtype = draw(st.sampled_from(SCALARS))
    own = [n if draw(st.integers(0, 6)) else 1 for n in shape]
    strides = strides_of(order, own, dtype.itemsize, draw(st.sampled_from([0, 0, 0, 16])))
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
any_shapes = st.lists(few, max_size=4).filter(lambda shape: math.prod(shape) <= 5000)
two = [
    st.tuples(st.integers(1, 900), st.integers(1, 12)),  # short rows or few columns
    st.tuples(st.integers(1, 80), st.integers(2, 130)),
    st.tuples(st.integers(2, 9), st.integers(250, 1300)),
    st.tuples(st.integers(1, 3), st.integers(1000, 9000)),
]
three = st.tuples(st.integers(2, 6), st.integers(2, 60), st.sampled_from([2, 4, 8, 16, 24, 35]))
none_reduced = st.tuples(st.integers(1, 40), st.just(0), st.integers(1, 3))
shapes = st.one_of(any_shapes, *two, *(s.map(lambda n: n[::-1]) for s in two), three, none_reduced)


@st.composite
def cases(draw: Any) -> Case:
    shape = tuple(draw(shapes))
    axes = {k for k in range(len(shape)) if draw(st.booleans())}
    if len(shape) > 1 and draw(st.booleans()):
        axes = {draw(st.sampled_from([0, len(shape) - 1]))}
    axes |= {k for k, n in enumerate(shape) if n == 0}
    reduced = tuple(sorted(axes))
    tame = draw(st.booleans())
    order = range(len(shape)) if draw(st.integers(0, 3)) else draw(
        st.permutations(range(len(shape)))
    )
    inputs = [
        draw(tame_inputs(shape, order) if tame else wild_inputs(shape))
        for _ in range(draw(st.sampled_from([0, 1, 1, 1, 2, 2, 3])))
    ]
    mask = bool(inputs) and draw(st.integers(0, 3)) == 0
    if mask:
        inputs.append(draw(wild_inputs(shape, np.dtype(bool))))
    return Case(
        shape,
        reduced,
        tuple(inputs),
        tuple(draw(outputs_of(shape, reduced)) for _ in range(draw(st.sampled_from([1, 1, 2])))),
        mask,
        draw(st.integers(0, 2)) == 0,
        mask or draw(st.booleans()),
        draw(st.sampled_from(sorted(ACCUMULATORS))),
        draw(st.sampled_from([1, 1, *UNITS])),
    )


@given(cases())
@settings(deadline=None, max_examples=500)
def test_every_element_is_added_once(case: Case) -> None:
    s: Any = check(case).specialization
    event(s.strategy + (" shared" if s.shared else "") + (" peeled" if s.peeled else ""))

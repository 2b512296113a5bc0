"""What reductions generate for GPUs, executed on CPU cores: every element is added once, nothing
beside an array is read or written, and scratch memory suffices."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import strategies as st

from kerneltk.codegen.accumulator import parse_accumulator
from kerneltk.codegen.reduction import ReductionDefinition
from kerneltk.codegen.specialization import LaunchGeometry
from kerneltk.core.arrays import ArraySpec
from kerneltk.signature.parameters import Parameter, parse_signature
from kerneltk.signature.resolve import Resolved, bind_types

from .examples import drawn
from .generated import Placed, execute
from .test_generated_layouts import GPU, PHASES, wild_arrays, wild_shapes

DTYPES = tuple(map(np.dtype, ("u1", "u1", "u2", "u4", "u8")))
# The reduction's type, what is mapped, its reduction, the total, its identity.
ACCUMULATORS = {
    "word": ("uint64", "{}", "a + b", "a", "0"),
    "fields": (
        "uint64 u, uint8 v, uint32 w", "{{{0}, (unsigned char)({0}), (unsigned)({0})}}",
        "_type_reduce{a.u + b.u, (unsigned char)(a.v + b.v), a.w + b.w}", "a.u + a.v + a.w",
        "{0, 0, 0}",
    ),
}  # fmt: skip


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
    fields: bool = False
    added: bool = False
    units: int = 132

    def scheduled(self) -> LaunchGeometry:
        own = len(self.inputs) - self.mask
        inputs = ", ".join(f"{'ABC'[k]} x{k}" for k in range(own))
        outputs = ", ".join(f"{'YZ'[k]} r{k}" for k in range(len(self.outputs)))
        signature = parse_signature(inputs, outputs)
        if self.mask:
            where = Parameter("_kt_where", np.dtype(bool), "bool")
            signature = replace(signature, inputs=(*signature.inputs, where))
        value = " + ".join(["1ull", *(f"{2 * k + 1}ull * x{k}" for k in range(own))])
        if self.numbers:
            value = f"({value}) * (2 * _J + 1) + _i"
        kind, mapped, reduced, total, zero = ACCUMULATORS["fields" if self.fields else "word"]
        post = " ".join(
            f"r{k} {'+=' if self.added else '='} {total};" for k in range(len(self.outputs))
        )
        definition = ReductionDefinition(
            signature, "kernel", "", (), mapped.format(value), reduced, post,
            zero if self.identity else "", parse_accumulator(kind, signature), mask=self.mask,
        )  # fmt: skip
        specs = (*self.inputs, *self.outputs)
        binding = bind_types(definition.signature, [spec.dtype for spec in specs])
        kept = tuple(n for k, n in enumerate(self.shape) if k not in self.axes)
        resolved = Resolved(binding, self.shape, kept, specs, "C")
        lowered = definition.schedule(resolved, GPU, self.units, (self.axes, False, None))
        assert lowered is not None
        return lowered

    def totals(self, inputs: Sequence[Placed]) -> npt.NDArray[np.uint64]:
        """What each output is: positions are weights of elements."""
        kept = [k for k in range(len(self.shape)) if k not in self.axes]
        outer, count = ([self.shape[k] for k in axes] for axes in (kept, self.axes))
        rows = [
            np.broadcast_to(x.elements(), self.shape).transpose(*kept, *self.axes)
            .reshape(math.prod(outer), math.prod(count)).astype(np.uint64) for x in inputs
        ]  # fmt: skip
        mask = rows.pop() != 0 if self.mask else None
        value = np.ones((math.prod(outer), math.prod(count)), np.uint64)
        for k, row in enumerate(rows):
            value += np.uint64(2 * k + 1) * row
        if self.numbers:
            value *= 2 * np.arange(value.shape[1], dtype=np.uint64) + np.uint64(1)
            value += np.arange(value.shape[0], dtype=np.uint64)[:, None]
        total = value.sum(1, dtype=np.uint64, where=True if mask is None else mask)
        if self.fields:
            total += total % np.uint64(1 << 8) + total % np.uint64(1 << 32)
        return total


def compare(cases: Sequence[Case]) -> None:
    launches, results = [], []
    for case in cases:
        placed = [Placed(spec, k) for k, spec in enumerate((*case.inputs, *case.outputs))]
        launches.append((case.scheduled(), placed))
        wanted = [array.bytes.copy() for array in placed]
        results.append(wanted)
        totals = case.totals(placed[: len(case.inputs)])
        for array, expected in list(zip(placed, wanted, strict=True))[len(case.inputs) :]:
            found = array.elements(expected)
            own = totals.reshape(found.shape).astype(found.dtype)
            found[...] = found + own if case.added else own
    execute(launches)
    for case, (_, placed), wanted in zip(cases, launches, results, strict=True):
        for array, expected in zip(placed, wanted, strict=True):
            np.testing.assert_array_equal(array.bytes, expected, str(case))


# Shapes, and the axes that are reduced, for which there are ways of their own.
KINDS: dict[str, tuple[st.SearchStrategy[tuple[int, ...]], tuple[int, ...]]] = {
    "short rows": (
        st.tuples(st.integers(1, 1200), st.sampled_from([2, 3, 3, 4, 5, 6, 7, 12])), (1,),
    ),
    "rows of middling length": (st.tuples(st.integers(40, 300), st.integers(9, 70)), (1,)),
    "many rows": (st.tuples(st.integers(2000, 5000), st.sampled_from([2, 3, 4, 6, 8])), (1,)),
    "long rows": (st.tuples(st.integers(1, 4), st.integers(1000, 9000)), (1,)),
    "stretches": (st.tuples(st.integers(2, 9), st.integers(1, 7), st.integers(16, 200)), (0, 2)),
    "short columns": (st.tuples(st.integers(1, 6), st.integers(3000, 9000)), (0,)),
    "few columns": (st.tuples(st.integers(200, 1500), st.integers(2, 20)), (0,)),
    "columns": (st.tuples(st.integers(2, 120), st.integers(30, 300)), (0,)),
    "opposite orders": (st.tuples(st.integers(8, 150), st.integers(32, 150)), (0,)),
    "within": (st.tuples(st.integers(2, 5), st.integers(50, 400), st.integers(2, 18)), (1,)),
}  # fmt: skip


@st.composite
def reductions(draw: Any) -> Case:
    kind = draw(st.sampled_from([None, *KINDS]))
    if kind is None:
        shape = tuple(draw(wild_shapes))
        axes = tuple(k for k in range(len(shape)) if draw(st.booleans()))
    else:
        shapes, axes = KINDS[kind]
        shape = draw(shapes)
    is_plain = draw(st.booleans())
    mask = draw(st.integers(0, 4)) == 0

    def array(dtype: np.dtype[Any], order: Any) -> ArraySpec:
        if is_plain:
            return ArraySpec.make(
                dtype, shape, order=order, offset=draw(st.sampled_from([0, 0, 1, 8]))
            )
        return draw(wild_arrays(shape, False, dtype))  # type: ignore[no-any-return]

    orders = "CFC" if kind == "opposite orders" else "CCC"
    inputs = [
        array(draw(st.sampled_from(DTYPES)), order)
        for order in orders[: draw(st.sampled_from([1, 1, 1, 2, 2, 3]))]
    ]
    if mask:
        inputs.append(array(np.dtype(bool), "C"))
    kept = [1 if k in axes else n for k, n in enumerate(shape)]
    if draw(st.booleans()):
        kept = [n for k, n in enumerate(shape) if k not in axes]
    outputs = [
        draw(wild_arrays(tuple(kept), True, draw(st.sampled_from(DTYPES))))
        for _ in range(draw(st.sampled_from([1, 1, 2])))
    ]
    return Case(
        shape, axes, tuple(inputs), tuple(outputs), mask, numbers=draw(st.integers(0, 2)) == 0,
        identity=mask or draw(st.booleans()), fields=draw(st.integers(0, 4)) == 0,
        added=draw(st.integers(0, 3)) == 0, units=draw(st.sampled_from([1, 1, 16, 108, 132])),
    )  # fmt: skip


@drawn(st.lists(reductions(), min_size=6, max_size=6), few=3, many=40, phases=PHASES)
def test_every_element_is_added_once(cases: list[Case]) -> None:
    compare(cases)


def dense(
    shape: tuple[int, ...], axes: tuple[int, ...], dtypes: str, orders: str = "C", offset: int = 0,
    units: int = 1, **options: Any,
) -> Case:  # fmt: skip
    """Arrays without gaps, the inputs at one offset: in C or F order, "T" with the last two axes
    exchanged, "R" with the last one reversed, "B" in F order with the first one reversed."""
    inputs = []
    for k, name in enumerate(dtypes.split()):
        order = orders[min(k, len(orders) - 1)]
        turned = (*shape[:-2], shape[-1], shape[-2]) if order == "T" else shape
        steps = list(ArraySpec.make(name, turned, order="F" if order in "FB" else "C").strides)
        if order == "T":
            steps[-2:] = steps[:-3:-1]
        steps[-1] *= -1 if order == "R" else 1
        steps[0] *= -1 if order == "B" else 1
        inputs.append(ArraySpec.make(name, shape, strides=steps, offset=offset))
    kept = [n for k, n in enumerate(shape) if k not in axes]
    outputs = (ArraySpec.make("u4", kept),)
    return Case(shape, axes, tuple(inputs), outputs, units=units, **options)


def beside(case: Case, *shape: int) -> Case:
    """The same with one more input, which is broadcast."""
    return replace(case, inputs=(*case.inputs, ArraySpec.make("u8", shape)))


HARD = {
    "short rows": [
        dense((1001, 3), (1,), "u4", offset=8),
        dense((512, 7), (1,), "u2 u1", fields=True),
        dense((1001, 6), (1,), "u4 ?", mask=True),
        dense((600, 23), (1,), "u4 u2", numbers=True),
        dense((301, 121), (1,), "u1 ?", mask=True),
        dense((1003, 67), (1,), "u4 u4 u4"),
        *(beside(dense((1001, 3), (1,), "u4"), rows, 1) for rows in (1, 1001)),
    ],
    "rows": [
        dense((131, 20), (1,), "u4"),
        dense((131, 3, 40), (0, 2), "u2", fields=True, identity=False),
        dense((5000, 4), (1,), "u8", numbers=True),
        dense((3, 9000), (1,), "u4"),
        dense((2, 20001), (1,), "u4", offset=4, units=132, fields=True),
        dense((1, 50003), (1,), "u8 u2", units=132, identity=False),
    ],
    "rows that begin anywhere": [
        dense((40, 101), (1,), "u1", offset=1),
        dense((9, 3, 7, 101), (0, 3), "u1 u1", "CR", offset=1, numbers=True),
        dense((2, 20001), (1,), "u1", "R", offset=3, units=132),
        dense((700, 3, 2, 30), (3,), "u1", offset=1),
    ],
    "columns": [
        dense((500, 12), (0,), "u4"),
        dense((9, 383), (0,), "u1", offset=1, added=True),
        dense((4000, 12), (0,), "u4", units=132, fields=True),
        dense((8, 4500), (0,), "u4", units=16),
        dense((600, 268), (0,), "u4", offset=4, identity=False),
        dense((30, 5, 40, 3), (0, 2), "u4"),
        dense((8000, 3), (0,), "u1"),
    ],
    "columns that begin anywhere": [
        dense((2001, 45), (0,), "u2", offset=1, units=132),
        dense((40, 101), (0,), "u1 u1", "CR", offset=1),
        dense((9, 70, 96), (0, 2), "u1 ?", offset=1, mask=True),
    ],
    "opposite orders": [
        dense((67, 45), (0,), "u1 u4", "FC"),
        dense((64, 48), (0,), "u2 u8", "FC", numbers=True),
        dense((2003, 40), (0,), "u4 u4", "BC", units=132),
        dense((5, 12, 40), (0, 1), "u1 u4", "TC"),
        dense((2003, 40), (0,), "u4 u4", "FC", units=132),
    ],
}


@pytest.mark.parametrize("kind", HARD)
def test_hard_shapes(kind: str) -> None:
    compare(HARD[kind])


# How far neighbours are apart, in elements of what stands beside rows at odd addresses.
@pytest.mark.parametrize("step", [32, -4096])
def test_the_last_vector_of_rows_beside_elements_far_apart(step: int) -> None:
    case = dense((16, 45), (0, 1), "u1 u1", offset=3)
    x, w = (ArraySpec.make("u1", (16, 45), strides=s) for s in ((46, 1), (1, step)))
    compare([replace(case, inputs=(replace(x, offset=3), w))])

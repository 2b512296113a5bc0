"""Every function of numbers, at special values of every dtype, against NumPy and Python."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kerneltk import pipeline
from kerneltk.backends.base import capabilities_of
from kerneltk.jit.compile import PassContext

from ..sampling import but_for
from .numbers_differences import DIFFERENCES
from .numbers_table import (
    COMPLEX,
    DTYPES,
    FLOATS,
    Array,
    Batch,
    Function,
    Group,
    batch,
    distance,
    dtype_of,
    functions,
    operands,
    ulps,
    wanted,
)

PAGE = Path(__file__).parents[2] / "docs" / "numerics.md"


def shown(array: Any, k: int) -> str:
    value = array[k]
    return repr(value.item()) if array.dtype.kind in "biufc" else repr(float(value))


# Of a few outputs a loop is vectorised, of many it is not. The sine and the cosine of one number
# are one call, which has no form for vectors.
VECTORS = (
    "np.sin np.tan np.arcsin np.arccos", "np.cos np.arctan np.sinh np.cosh",
    "np.tanh np.arcsinh np.arccosh np.arctanh", "np.exp np.exp2 np.expm1 np.log",
    "np.log2 np.log10 np.log1p np.cbrt", "math.erf math.erfc np.sqrt np.rint",
    "np.arctan2 np.hypot np.power np.fmod", "np.floor np.ceil np.trunc np.sign",
)  # fmt: skip
# What stands for all integers where only the compilation is tested.
COMPILED = ("bool", "int8", "uint64", *FLOATS, *COMPLEX)

# Computed as wider or narrower ones are.
LIKE_OTHERS = ("uint8", "int16", "uint16", "uint32", "int64", "complex128")


class Comparison:
    """What was compared, and what differs without a known reason."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.combinations = 0
        self.failures: list[str] = []
        self.known: Counter[str] = Counter()

    def add(
        self, function: Function, inputs: tuple[Array, ...], dtypes: Any, found: list[Array]
    ) -> None:
        expected, raised = wanted(function, inputs, dtypes)
        apart = np.zeros(inputs[0].size)
        for ours, theirs in zip(found, expected, strict=True):
            apart = np.maximum(apart, distance(ours, theirs))
        wrong = (apart > ulps(function, self.name)) & ~raised
        for ours in found:  # what an integer is there is left open
            if ours.dtype.kind not in "iub":
                wrong |= raised & np.isfinite(ours)
        self.combinations += wrong.size
        for difference in DIFFERENCES:
            if wrong.any() and difference.covers(function, self.name):
                with np.errstate(all="ignore"):
                    known = wrong & difference.where(inputs, expected)
                self.known[difference.title] += int(known.sum())
                wrong &= ~known
        if wrong.any():
            examples = [
                f"({', '.join(shown(x, k) for x in inputs)}) is "
                f"{' '.join(shown(x, k) for x in found)}, not "
                f"{' '.join(shown(x, k) for x in expected)}"
                for k in np.flatnonzero(wrong)[:3]
            ]
            head = f"{function.text} [{self.name}]: {wrong.sum()}"
            self.failures.append(f"{head}: {'; '.join(examples)}")

    def check(self) -> None:
        known = ", ".join(f"{title}: {count}" for title, count in self.known.items() if count)
        print(
            f"{self.name}: {self.combinations} combinations; known differences: {known or 'none'}"
        )
        assert not self.failures, "\n".join([f"{len(self.failures)} functions", *self.failures])


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", but_for(DTYPES, *LIKE_OTHERS))
def test_functions_at_special_values(backend: Any, name: str) -> None:
    comparison = Comparison(name)
    for function, inputs, dtypes, found in batch(name).run(backend):
        comparison.add(function, inputs, dtypes, found)
    comparison.check()
    for difference in DIFFERENCES:
        if difference.everywhere and name in difference.dtypes:
            assert comparison.known[difference.title], f"'{difference.title}' is no difference"


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", ["float32", "float64"])
def test_vector_functions_at_special_values(backend: Any, name: str) -> None:
    comparison = Comparison(name)
    named = {function.name: function for function in functions()}
    for row in VECTORS:
        members = [named[word] for word in row.split()]
        inputs = operands(name, members[0].arity)
        inputs = tuple(np.tile(x, 8 if len(inputs) == 1 else 1) for x in inputs)
        group = Group(inputs, [(function, (dtype_of(name),)) for function in members])
        for function, inputs, dtypes, found in Batch(name, [group]).run(backend):
            comparison.add(function, inputs, dtypes, found)
    comparison.check()


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", COMPILED)
def test_functions_compile_for_gpus(name: str) -> None:
    definition = batch(name).definition
    unit = definition.unit(
        definition.program(batch(name).kinds, PassContext(capabilities_of("cuda"))),
        capabilities_of("cuda"),
    )
    assert pipeline.compile_ahead(unit, "sm_90").code


def test_the_page_shows_every_difference() -> None:
    page = re.sub(r"\s+", " ", PAGE.read_text())
    for difference in DIFFERENCES:
        assert f"| {difference.title} |" in page
    assert f"{len(functions())} functions and operators" in page

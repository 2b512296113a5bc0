"""Expressions of C++ on the host against NumPy, bit by bit: what compilers' options may not change.

Casts between types above all, with zeros of both signs, infinities and NaN. An example is a batch
of expressions that are compiled together, made by a generator of random numbers: a failure names
the expressions that are wrong.
"""

from __future__ import annotations

import random
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import strategies as st

import kerneltk

from .examples import drawn

Array = np.ndarray[Any, Any]

VALUES = (
    0.0, -0.0, 0.5, -0.5, 1.0, -1.0, 0.75, -0.25, 1e-9, -1e-9, 2.5, -3.5, 1000.25, -7.0,
    float("inf"), float("-inf"), float("nan"), 1e-310, -1e-310, 5e-324,
)  # fmt: skip
INTEGERS = ("signed char", "short", "int", "long long")
NUMPYS = dict(zip(INTEGERS, (np.int8, np.int16, np.int32, np.int64), strict=True))
FLOATS = {"float": np.float32, "double": np.float64}


class Expression(NamedTuple):
    """An expression of C++, its type there, and its values as NumPy computes them."""

    text: str
    ctype: str
    values: Array


class Generator:
    """Makes expressions of doubles `x` and `z`, floats `f` and ints `n`."""

    def __init__(self, rng: random.Random, inputs: dict[str, Array]) -> None:
        self.rng = rng
        self.inputs = inputs

    def leaf(self) -> Expression:
        name = self.rng.choice(["x", "x", "z", "f", "n"])
        ctype = {"x": "double", "z": "double", "f": "float", "n": "int"}[name]
        return Expression(name, ctype, self.inputs[name])

    def cast(self, value: Expression, ctype: str) -> Expression:
        kind = {**NUMPYS, **FLOATS}[ctype]
        return Expression(f"({ctype})({value.text})", ctype, value.values.astype(kind))

    def floating(self, depth: int) -> Expression:
        value = self.any(depth)
        if value.ctype in FLOATS:
            return value
        return self.cast(value, self.rng.choice(list(FLOATS)))

    def integer(self, depth: int) -> Expression:
        """A number that was cut off, within the limits of the smallest integer."""
        value = self.floating(depth)
        suffix = "f" if value.ctype == "float" else ""
        text = f"fmin(fmax({value.text}, -90.0{suffix}), 90.0{suffix})"
        limit = value.values.dtype.type(90)
        inside = np.fmin(np.fmax(value.values, -limit), limit)
        return self.cast(Expression(text, value.ctype, inside), self.rng.choice(list(NUMPYS)))

    def pair(self, depth: int) -> tuple[Expression, Expression]:
        left, right = self.floating(depth), self.floating(depth)
        if left.ctype != right.ctype:
            left, right = self.cast(left, "double"), self.cast(right, "double")
        return left, right

    def condition(self, depth: int) -> tuple[str, Array]:
        left, right = self.pair(depth)
        op = self.rng.choice(["<", "<=", ">", ">=", "==", "!="])
        text = f"{left.text} {op} {right.text}"
        compare = {"<": np.less, "<=": np.less_equal, ">": np.greater, ">=": np.greater_equal,
                   "==": np.equal, "!=": np.not_equal}[op]  # fmt: skip
        found = compare(left.values, right.values)
        return (f"!({text})", ~found) if self.rng.random() < 0.3 else (text, found)

    def any(self, depth: int) -> Expression:
        if depth <= 0:
            return self.leaf()
        depth -= 1
        way = self.rng.randrange(9)
        if way == 0:  # there and back
            return self.cast(self.integer(depth), self.rng.choice(list(FLOATS)))
        if way == 1:
            return self.integer(depth)
        if way == 2:
            condition, truth = self.condition(depth)
            left, right = self.pair(depth)
            text = f"({condition} ? {left.text} : {right.text})"
            return Expression(text, left.ctype, np.where(truth, left.values, right.values))
        if way in (3, 4, 5):
            left, right = self.pair(depth)
            op, function = self.rng.choice(
                [("+", np.add), ("-", np.subtract), ("*", np.multiply), ("/", np.divide)]
            )
            if op == "-" and right.text not in ("x", "z", "f"):
                # g++ 12 takes 0.0 - r for -r, if it sees that r is not -0.0.
                left, right = self.cast(left, "double"), Expression("z", "double", self.inputs["z"])
            text = f"({left.text} {op} {right.text})"
            return Expression(text, left.ctype, function(left.values, right.values))
        value = self.floating(depth)
        if way == 6 and "(-" in value.text:
            # g++ 12 takes -r + 0.0 for 0.0 - r, and that for -r, if it sees that r is not -0.0.
            value = Expression("x", "double", self.inputs["x"])
        suffix = "f" if value.ctype == "float" else ""
        if way == 6:  # what holds of real numbers only
            zero = value.values.dtype.type(0)
            text, values = self.rng.choice(
                [
                    (f"({value.text} * 0.0{suffix})", value.values * zero),
                    (f"({value.text} + 0.0{suffix})", value.values + zero),
                    (f"({value.text} - 0.0{suffix})", value.values - zero),
                    (f"({value.text} - {value.text})", value.values - value.values),
                    (f"({value.text} / {value.text})", value.values / value.values),
                    (f"(-0.0{suffix} + {value.text})", -zero + value.values),
                    (f"(-0.0{suffix} - {value.text})", -zero - value.values),
                ]
            )
            return Expression(text, value.ctype, values)
        if way == 7:
            return Expression(f"(-{value.text})", value.ctype, -value.values)
        name, function = self.rng.choice(
            [("fabs", np.abs), ("trunc", np.trunc), ("floor", np.floor), ("ceil", np.ceil),
             ("rint", np.rint), ("sqrt", np.sqrt)]
        )  # fmt: skip
        return Expression(f"{name}({value.text})", value.ctype, function(value.values))


@pytest.mark.exhaustive
@drawn(st.integers(0, 2**32 - 1), few=4, many=10)
def test_expressions_have_the_bits_of_numpy(seed: int) -> None:
    rng = random.Random(seed)
    grid = np.meshgrid(np.array(VALUES), np.array(VALUES))
    inputs = {"x": grid[0].ravel(), "z": grid[1].ravel()}
    with np.errstate(all="ignore"):
        inputs["f"] = inputs["z"].astype(np.float32)
        inputs["n"] = np.tile(np.array([0, 1, -1, 7], np.int32), 100)
        generator = Generator(rng, inputs)
        expressions = [generator.floating(rng.randint(1, 4)) for _ in range(24)]
    outputs = [np.zeros(inputs["x"].shape, FLOATS[e.ctype]) for e in expressions]
    texts = [f"y{k} = {e.text};" for k, e in enumerate(expressions)]
    kernel = kerneltk.ElementwiseKernel(
        "float64 x, float64 z, float32 f, int32 n",
        ", ".join(f"{e.values.dtype} y{k}" for k, e in enumerate(expressions)),
        "\n".join(texts),
        "ieee",
        options=("--fmad=false",),
    )
    kernel(*inputs.values(), *outputs)
    wrong = []
    for expression, found in zip(expressions, outputs, strict=True):
        wanted = expression.values
        same = (found == wanted) & (np.signbit(found) == np.signbit(wanted))
        same |= np.isnan(found) & np.isnan(wanted)
        if not same.all():
            k = int(np.flatnonzero(~same)[0])
            operands = ", ".join(f"{name}={values[k]!r}" for name, values in inputs.items())
            wrong.append(f"{expression.text}\n  {found[k]!r}, not {wanted[k]!r}, with {operands}")
    assert not wrong, "\n".join(wrong)

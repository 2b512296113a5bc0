"""Kernels of functions of one element, and their definitions as the compile cache has them."""

# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from kerneltk import jit
from kerneltk.jit.frontends.analyses import Known
from kerneltk.jit.frontends.rawkernel import Definition
from kerneltk.jit.frontends.typed_kernel import kernel_of_outcome, outcome_of
from kerneltk.jit.ir.types import PY_FLOAT

X = np.ones(3, np.float32)


def plain(x):
    return 2 * x


def several(x, i):
    return x // i, x > 0, x + 1j


def whole(x):
    x[jit.index(1)] += 1


def of_a_place(x, out):
    i, j = jit.index(2)
    total = 0.0
    for k in range(x.size):
        total += x[k] / (i + j + 1)
    out[0] = total
    return total


@pytest.mark.parametrize(
    ("function", "args"),
    [(plain, (X,)), (several, (X, 3)), (whole, (X,)), (of_a_place, (X, X.copy()))],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_a_definition_is_read_as_it_was(function: Any, args: tuple[Any, ...]) -> None:
    kernel = jit.kernel(function)
    typed, stored, ndim = kernel._specialized(args, ())
    definition = typed._definition
    outcome = json.loads(json.dumps(outcome_of(definition, PY_FLOAT, stored, ndim)))
    own = Definition(function, "numpy")
    read, dtypes, read_ndim = kernel_of_outcome(Known(outcome, dict([own.text])), own)
    assert read._definition == definition
    assert (dtypes, read_ndim) == (stored, ndim)

"""A function of one element as an elementwise definition: names, outputs, what it may do."""

# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

import enum
from typing import Any

import numpy as np
import pytest

from kerneltk import jit
from kerneltk.errors import ArgumentTypeError, UnsupportedError
from kerneltk.jit.frontends.element_source import check_operations, element_results
from kerneltk.jit.frontends.rawkernel import Definition
from kerneltk.jit.launch.marshalling import type_of

from ..lowering.showing import GIVEN


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda x: x[jit.threadIdx.x], "'threadIdx.x' cannot be used in a '@jit.kernel'"),
        (lambda x: x[jit.grid(1)], "'grid.x' cannot be used in a '@jit.kernel'"),
        (lambda x: jit.shfl_sync(-1, x[0], 1), "'shfl_sync' cannot be used in a '@jit.kernel'"),
        (lambda x: jit.shared_memory("f4", 2)[0], "A '@jit.kernel' has no shared memory"),
        (lambda x: jit.cub.WarpReduce[np.float32]().Sum(x[0]), "'@jit.kernel'"),
    ],
    ids=range(5),
)
def test_what_needs_a_block(function: Any, message: str) -> None:
    kinds = [type_of(GIVEN["x"], np.ndarray)]
    with pytest.raises(UnsupportedError) as caught:
        check_operations(Definition(function).lowered(kinds, of_elements=True))
    assert message in str(caught.value)
    assert "^" in str(caught.value)


def test_members_of_enumerations_are_no_results() -> None:
    member = enum.Enum("Side", ["LEFT"])["LEFT"]
    with pytest.raises(ArgumentTypeError, match="results must be numbers, and one is 'Side'"):
        element_results(type_of(member, np.ndarray))

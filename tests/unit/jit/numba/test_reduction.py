"""``cuda.reduce``: what it is given, and which elements take part."""

# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

import numpy as np
import pytest

from kerneltk.errors import ArgumentTypeError
from kerneltk.jit import cuda


@cuda.reduce
def largest(a, b):
    return max(a, b)


def smaller(a, b):
    return np.minimum(a, b)


@pytest.mark.exhaustive
def test_functions_of_any_kind() -> None:
    x = np.array([-3.0, -8.0], np.float32)
    assert largest(x, init=-np.inf) == -3
    assert largest(x) == 0  # as numba: 'init' takes part
    assert cuda.Reduce(cuda.jit(device=True)(smaller))(x) == -8
    with pytest.raises(ArgumentTypeError, match=r"'cuda\.reduce' decorates Python functions"):
        cuda.reduce(np.add)


def test_no_elements_and_two_dimensions() -> None:
    with pytest.raises(ArgumentTypeError, match="arrays of one dimension, not of 2"):
        largest(np.zeros((1, 2)))
    res = np.zeros(2)
    assert largest(np.zeros(0), init=5) == 5
    assert largest(np.zeros(3), size=0, init=4, res=res) is None
    assert res.tolist() == [4, 0]

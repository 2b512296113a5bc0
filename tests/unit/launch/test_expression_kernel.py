"""What the kernels from expressions have in common."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from kerneltk import CompileError, ElementwiseKernel

N = 20_000
X = np.where(np.arange(N) % 3 == 0, -1, np.arange(N)).astype(np.float32)


def test_attributes_are_read_only() -> None:
    kernel = ElementwiseKernel("T x", "T y", "y = x", "still")
    for name in ("operation", "name", "in_params", "preamble", "reduce_dims"):
        with pytest.raises(AttributeError):
            setattr(kernel, name, "other")
    assert not hasattr(kernel, "cached_code")


def test_compile_errors_travel_between_processes() -> None:
    with pytest.raises(CompileError) as caught:
        ElementwiseKernel("T x", "T y", "y = foo", "bad")(X)
    again = pickle.loads(pickle.dumps(caught.value))
    assert str(again) == str(caught.value)

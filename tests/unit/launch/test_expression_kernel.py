"""What the kernels from expressions have in common."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from kerneltk import ArgumentTypeError, ArraySpec, CompileError, ElementwiseKernel

X = np.zeros(3, np.float32)


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


def test_compiling_ahead_describes_its_arguments() -> None:
    kernel = ElementwiseKernel("T x", "T y", "y = x", "ahead")
    with pytest.raises(ArgumentTypeError, match="describes no argument"):
        kernel.translation_unit("float32")
    with pytest.raises(ValueError, match="'nowhere'"):
        kernel.compile(ArraySpec.make("f4", 3), target="nowhere")
    unit = kernel.translation_unit(ArraySpec.make("f4", 3), backend="host")
    assert unit.entry == "_kt_entry_ahead"

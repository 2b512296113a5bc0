"""The host backend."""

from __future__ import annotations

import numpy as np
import pytest

from kerneltk import ArraySpec, CompileError, ElementwiseKernel

make = ArraySpec.make
N = 20_000
X = np.where(np.arange(N) % 3 == 0, -1, np.arange(N)).astype(np.float32)


def test_hints_for_what_a_cpu_has_not_and_for_inputs() -> None:
    with pytest.raises(CompileError, match="Hint: 'threadIdx' is there on GPUs only"):
        ElementwiseKernel("T x", "T y", "y = threadIdx.x")(X)
    kernel = ElementwiseKernel("T x", "T y", "x = 1; y = x", "writes")
    for call in (lambda: kernel(X), lambda: kernel.compile(make("float32", (4,)), target="sm_90")):
        with pytest.raises(CompileError, match="Hint: an input is const"):
            call()

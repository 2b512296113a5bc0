"""The compiler NVRTC: what it is told, what it answers, and how its failures are told."""

from __future__ import annotations

import pytest

from kerneltk import ArraySpec, CompileError, ElementwiseKernel

make = ArraySpec.make
N = 20_000


@pytest.mark.parametrize(
    ("options", "words"), [(("-dlto",), "machine code"), (("-arch=sm_80",), "another architecture")]
)
def test_options_that_defeat_the_target(options: tuple[str, ...], words: str) -> None:
    kernel = ElementwiseKernel("T x", "T y", "y = x", "opted", options=options)
    with pytest.raises(CompileError, match=words):
        kernel.compile(make("float32", (N,)), target="sm_90")

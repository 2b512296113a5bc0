"""Arrays of bools whose bytes may be any, by every front-end against NumPy."""

from __future__ import annotations

from pathlib import Path

import pytest

import kerneltk

from .bool_bytes import FRONT_ENDS, run


@pytest.mark.parametrize("front_end", FRONT_ENDS)
def test_batches(front_end: str, tmp_path: Path) -> None:
    for seed in range(4):
        run(seed, front_end, tmp_path)


@pytest.mark.parametrize("size", [1, 64])
def test_units_for_gpus_compile(size: int) -> None:
    def spec(dtype: str, *shape: int) -> kerneltk.ArraySpec:
        return kerneltk.ArraySpec.make(dtype, shape or (size,))

    kernels = (
        ("T a, bool b", "int64 y", "y = a + b"),
        ("bool a, raw bool b", "bool y", "if (b[i]) y = a; y |= b[0];"),
        ("bool a", "raw bool y", "y[i] ^= a; bool* place = &y[0]; y[0] = y[i];"),
        ("bool a", "raw int32 n", "atomicAdd(&n[0], a)"),
    )
    for inputs, outputs, body in kernels:
        kernel = kerneltk.ElementwiseKernel(inputs, outputs, body, "k")
        given = [spec("bool") for _ in inputs.split(",")]
        raw = [spec(outputs.split()[1])] if outputs.startswith("raw") else []
        kernel.compile(*given, *raw, target="sm_90")
    for shape in ((size,), (size, 40), (500, size)):
        for axis in (None, 0):
            reduction = kerneltk.ReductionKernel(
                "bool a", "bool y", "a", "a || b", "y |= a", "false", "k", reduce_type="bool"
            )
            reduction.compile(spec("bool", *shape), axis=axis, target="sm_90")
    kerneltk.ReductionKernel("bool a", "int64 y", "_raw_a[_J]", "a + b", "y = a", "0").compile(
        spec("bool"), target="sm_90"
    )

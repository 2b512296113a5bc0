"""Definitions for the pipelines of expressions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from kerneltk.fusion.plan.kernels import _limit, elementwise_kernel, total_of
from kerneltk.fusion.trace.graph import Load, Reduce
from kerneltk.fusion.trace.symbols import constant


def reduce_of(kind: str, dtype: Any) -> Reduce:
    x = Load(np.dtype(dtype), (constant(4),), 0, 0)
    return Reduce(np.dtype(dtype), (constant(1),), kind, x, (0,))


@pytest.mark.parametrize(
    ("dtype", "least", "greatest"),
    [
        ("?", "false", "true"),
        ("f4", "-__int_as_float(0x7f800000)", "__int_as_float(0x7f800000)"),
        ("i1", "static_cast<signed char>(-128LL)", "static_cast<signed char>(127LL)"),
        ("i8", "(-9223372036854775807LL - 1)", "static_cast<long long>(9223372036854775807LL)"),
        ("u8", "static_cast<unsigned long long>(0ULL)",
         "static_cast<unsigned long long>(18446744073709551615ULL)"),
    ],
)  # fmt: skip
def test_limits(dtype: str, least: str, greatest: str) -> None:
    assert _limit(np.dtype(dtype), greatest=False) == least
    assert _limit(np.dtype(dtype), greatest=True) == greatest


def test_sums_of_16_bit_floats_are_float32() -> None:
    total = total_of(reduce_of("sum", "f2"), "t0", "x", alone=True)
    assert total.fields == (("float", "t0"),)
    assert total.result == "static_cast<float16>(a)"


def test_positions_are_numbered() -> None:
    total = total_of(reduce_of("argmax", "i4"), "t0", "x", alone=False)
    assert total.fields == (("int", "t0"), ("long long", "t0_at"))
    assert total.mapped == ("x", "_J")
    assert total.numbered


def test_equal_definitions_are_one_kernel() -> None:
    import kerneltk

    kernels = []
    for _ in range(2):
        fused = kerneltk.fuse(kernel_name="again")(lambda x: x * 3 + 1)
        fused(np.ones(3))
        ((program,),) = fused._programs.values()
        kernels.append(program.plan.steps[0].kernel)
    assert kernels[0] is kernels[1]
    assert elementwise_kernel(kernels[0]._definition) is kernels[0]
    assert kernels[0].kwargs["options"] == ("--fmad=false",)  # NumPy rounds each product

"""Atomic functions of every type that both backends take, against NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from kerneltk import ElementwiseKernel
from kerneltk.core.dtypes import as_dtype

FUNCTIONS: dict[str, tuple[Any, tuple[str, ...]]] = {
    "atomicAdd": (
        np.add, ("int32", "uint32", "int64", "uint64", "float16", "bfloat16", "float32", "float64"),
    ),
    "atomicSub": (np.subtract, ("int32", "int64", "uint64", "float16", "float32", "float64")),
    "atomicMax": (np.maximum, ("int32", "int64", "float16", "bfloat16", "float32", "float64")),
    "atomicMin": (np.minimum, ("int32", "int64", "float16", "bfloat16", "float32", "float64")),
}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "dtype"), [(name, dtype) for name, (_, all_) in FUNCTIONS.items() for dtype in all_]
)
def test_every_element_is_counted_once(backend: Any, name: str, dtype: str) -> None:
    kind = as_dtype(dtype)
    # Whole numbers whose sums every type holds exactly, in any order.
    x = (np.arange(512) % 5 % 3 + 1).astype(kind)
    start = np.array([7, 1000], np.int64).astype(kind)[:1]
    y = backend.asarray(start)
    ElementwiseKernel("T x", "raw T y", f"{name}(&y[0], x)", "update")(
        backend.asarray(x[:100]), y, size=None
    )
    want = int(start[0])
    for value in x[:100].astype(np.int64).tolist():
        want = int(FUNCTIONS[name][0](np.int64(want), np.int64(value)))
    if dtype == "uint64":
        want %= 2**64
    assert backend.asnumpy(y)[0] == np.array(want, np.uint64 if dtype == "uint64" else np.int64)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_a_nan_gives_way_to_a_number(backend: Any, dtype: str) -> None:
    x = np.array([1, np.nan, 3, np.nan], dtype)
    y = backend.asarray(np.array([2, 2, np.nan, np.nan], dtype))
    for name, wanted in (("atomicMax", [2, 2, 3, np.nan]), ("atomicMin", [1, 2, 3, np.nan])):
        kernel = ElementwiseKernel("T x", "raw T y", f"{name}(&y[i], x)", "update")
        kernel(backend.asarray(x), y)
        np.testing.assert_array_equal(backend.asnumpy(y), np.array(wanted, dtype))


@pytest.mark.parametrize("dtype", ["int32", "int64", "float32", "float64"])
def test_exchange_and_compare_and_swap(backend: Any, dtype: str) -> None:
    x = backend.asarray(np.array([3], dtype))
    y = backend.asarray(np.array([5, 5, 5], dtype))
    ElementwiseKernel(
        "T x", "raw T y",
        "y[0] = atomicExch(&y[1], x) + 1; atomicCAS(&y[2], T(4), x); atomicCAS(&y[2], T(5), x)",
        "swap",
    )(x, y)  # fmt: skip
    np.testing.assert_array_equal(backend.asnumpy(y), [6, 3, 3])

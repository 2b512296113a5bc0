"""Atomic functions of every type that both backends take, against NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from kerneltk import ElementwiseKernel, KernelToolkitError, RawKernel, RawModule
from kerneltk.core.dtypes import as_dtype

FUNCTIONS: dict[str, tuple[Any, tuple[str, ...]]] = {
    "atomicAdd": (
        np.add, ("int32", "uint32", "int64", "uint64", "float16", "bfloat16", "float32", "float64"),
    ),
    "atomicSub": (np.subtract, ("int32", "int64", "uint64", "float16", "float32", "float64")),
    "atomicMax": (np.maximum, ("int32", "int64", "float16", "bfloat16", "float32", "float64")),
    "atomicMin": (np.minimum, ("int32", "int64", "float16", "bfloat16", "float32", "float64")),
}  # fmt: skip


DTYPES = sorted({dtype for _, all_ in FUNCTIONS.values() for dtype in all_})


@pytest.mark.exhaustive
@pytest.mark.parametrize("dtype", DTYPES)
def test_every_element_is_counted_once(backend: Any, dtype: str) -> None:
    kind = as_dtype(dtype)
    # Whole numbers whose sums every type holds exactly, in any order.
    x = (np.arange(512) % 5 % 3 + 1).astype(kind)
    start = np.array([7, 1000], np.int64).astype(kind)[:1]
    names = [name for name, (_, all_) in FUNCTIONS.items() if dtype in all_]
    y = backend.asarray(np.repeat(start, len(names)))
    body = "; ".join(f"{name}(&y[{k}], x)" for k, name in enumerate(names))
    ElementwiseKernel("T x", "raw T y", body, "update")(backend.asarray(x[:100]), y, size=None)
    for name, found in zip(names, backend.asnumpy(y), strict=True):
        want = int(start[0])
        for value in x[:100].astype(np.int64).tolist():
            want = int(FUNCTIONS[name][0](np.int64(want), np.int64(value)))
        if dtype == "uint64":
            want %= 2**64
        assert found == np.array(want, np.uint64 if dtype == "uint64" else np.int64), name


@pytest.mark.one_in(4)
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


@pytest.mark.exhaustive
def test_vectors_are_added_element_by_element(backend: Any) -> None:
    code = """
        extern "C" __global__ void add(float2* x, float4* y, float* before) {
            before[threadIdx.x] = atomicAdd(x, float2{1.0f, 2.0f}).y;
            atomicAdd(y, float4{1.0f, 2.0f, 3.0f, 4.0f});
        }"""
    pair, four, before = backend.asarrays(np.zeros(2, "f4"), np.zeros(4, "f4"), np.zeros(64, "f4"))
    RawKernel(code, "add")(1, 64, (pair, four, before))
    assert backend.asnumpy(pair).tolist() == [64, 128]
    assert backend.asnumpy(four).tolist() == [64, 128, 192, 256]
    assert sorted(backend.asnumpy(before).tolist()) == list(range(0, 128, 2))


def test_sixteen_bytes_are_exchanged_as_a_whole(backend: Any) -> None:
    code = """
        extern "C" __global__ void count(longlong2* x) {
            longlong2 now = atomicCAS(x, longlong2{-1, -1}, longlong2{0, 0}), seen;
            do {
                seen = now;
                now = atomicCAS(x, seen, longlong2{seen.x + 1, seen.y - 2});
            } while (now.x != seen.x || now.y != seen.y);
        }
        extern "C" __global__ void exchange(longlong2* x, longlong2* before) {
            before[0] = atomicExch(x, longlong2{7, 8});
            before[1] = atomicCAS(x, longlong2{7, 9}, longlong2{1, 1});
        }"""
    module = RawModule(code=code)
    x, before = backend.asarrays(np.zeros(2, "i8"), np.zeros(4, "i8"))
    module.get_function("count")(16, 64, (x,))
    assert backend.asnumpy(x).tolist() == [1024, -2048]
    module.get_function("exchange")(1, 1, (x, before))
    assert backend.asnumpy(x).tolist() == [7, 8]
    assert backend.asnumpy(before).tolist() == [1024, -2048, 7, 8]


@pytest.mark.exhaustive
@pytest.mark.parametrize(("type_", "dtype"), [("int3", "i4"), ("longlong2", "i8")])
def test_atomic_objects_of_other_sizes_are_refused(type_: str, dtype: str) -> None:
    code = f"""#include <cuda/atomic>
        extern "C" __global__ void f({type_}* x) {{ cuda::atomic_ref<{type_}> r(*x); r.load(); }}"""
    with pytest.raises(KernelToolkitError, match="an atomic value has 1, 2, 4 or 8 bytes"):
        RawKernel(code, "f")(1, 1, (np.zeros(6, dtype),))

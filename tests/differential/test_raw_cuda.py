"""Raw kernels on a GPU: what only a device shows."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import kerneltk
from kerneltk.errors import ArgumentTypeError, ArgumentValueError, LaunchError

pytestmark = pytest.mark.gpu

AXPY = r"""
extern "C" __global__ void axpy(int n, float a, const float* __restrict__ x, float* y) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i] + y[i];
}
"""


def axpy(n: int = 100) -> tuple[kerneltk.RawKernel, Any, Any]:
    import cupy

    return (
        kerneltk.RawKernel(AXPY, "axpy"),
        cupy.arange(n, dtype=np.float32),
        cupy.ones(n, np.float32),
    )


def test_arrays_that_do_not_fit() -> None:
    import cupy

    kernel, x, y = axpy()
    cases: list[tuple[tuple[Any, ...], type[Exception], str]] = [
        ((100, 1, x), ArgumentTypeError, "'y' is missing"),
        ((100, 1, x.astype(np.float64), y), ArgumentTypeError, "points to 'float'"),
        ((100, 1, x[::2], y), ArgumentValueError, "has gaps"),
        ((100, 1, x.get(), y), ArgumentTypeError, "'x' .*host memory.*'y' is in a GPU"),
        ((100, 1, x, y.get()), ArgumentTypeError, "'x' .*a GPU.*'y' is in host memory"),
        ((100, 1, 4096, y), ArgumentTypeError, "no memory of the device lies at that address"),
    ]
    for args, error, text in cases:
        with pytest.raises(error, match=text):
            kernel(4, 32, args)
    memory = cupy.cuda.UnownedMemory(0, 400, None, 0)
    gone = cupy.ndarray((100,), np.float32, cupy.cuda.MemoryPointer(memory, 0))
    with pytest.raises(ArgumentValueError, match="freed"):
        kernel(4, 32, (100, 1, gone, y))
    np.testing.assert_array_equal(y.get(), 1)
    kernel(4, 32, (100, 1, x.data.ptr, y.data))
    kernel(4, 32, (50, 1, x[::2], y), checks=False)
    assert y[1].item() == 3
    two = cupy.asfortranarray(cupy.zeros((10, 10), np.float32))
    kernel(4, 32, (100, 1, two, y))
    kernel(4, 32, (100, 1, two.reshape(2, 5, 10).transpose(2, 0, 1), y))


def test_shapes_that_the_device_does_not_have() -> None:
    kernel, x, y = axpy()
    for grid, block, shared, text in (
        (1, 1025, 0, "can have 1024 threads"),
        ((1, 70000), 1, 0, "65535 along y"),
        (1, 1, 1 << 20, "bytes of dynamic shared memory"),
    ):
        with pytest.raises(ArgumentValueError, match=text):
            kernel(grid, block, (100, 1, x, y), shared_mem=shared)
    np.testing.assert_array_equal(y.get(), 1)


def test_large_dynamic_shared_memory_needs_no_attribute() -> None:
    import cupy

    code = r"""
    extern "C" __global__ void reverse(float* x, int n) {
        extern __shared__ float s[];
        for (int i = threadIdx.x; i < n; i += blockDim.x) s[i] = x[i];
        __syncthreads();
        for (int i = threadIdx.x; i < n; i += blockDim.x) x[i] = s[n - 1 - i];
    }
    """
    kernel = kerneltk.RawKernel(code, "reverse")
    x = cupy.arange(20000, dtype=np.float32)
    kernel(1, 256, (x, 20000), shared_mem=80000)
    np.testing.assert_array_equal(x.get(), np.arange(20000)[::-1])
    assert kernel.max_dynamic_shared_size_bytes == 80000


def test_attributes() -> None:
    import cupy

    kernel, x, y = axpy()
    theirs = cupy.RawKernel(AXPY, "axpy")
    kernel(4, 32, (100, 1, x, y))
    theirs((4,), (32,), (np.int32(100), np.float32(1), x, y))
    assert set(kernel.attributes) == set(theirs.attributes)
    for name in ("max_threads_per_block", "shared_size_bytes", "local_size_bytes"):
        assert getattr(kernel, name) == getattr(theirs, name)
    assert kernel.num_regs > 0
    kernel.preferred_shared_memory_carveout = 50
    assert kernel.preferred_shared_memory_carveout == 50
    kernel.max_dynamic_shared_size_bytes = 70000
    assert kernel.max_dynamic_shared_size_bytes == 70000
    with pytest.raises(LaunchError):
        kernel.max_dynamic_shared_size_bytes = 1 << 24


@pytest.mark.parametrize("kind", ["cubin", "ptx"])
def test_compiled_modules(tmp_path: Path, kind: str) -> None:
    import cupy

    code = (
        AXPY
        + r"""
    __constant__ float table[3];
    extern "C" __global__ void look(float* y) { y[threadIdx.x] = table[threadIdx.x]; }
    namespace ns { __global__ void fill(int* x, int value) { x[threadIdx.x] = value; } }
    """
    )
    number = cupy.cuda.Device().compute_capability
    target = f"sm_{number}" if kind == "cubin" else f"compute_{number}"
    source = kerneltk.RawModule(code=code)
    compiled = source.compile_for(target)
    path = tmp_path / f"module.{kind}"
    path.write_bytes(compiled.code)
    module = kerneltk.RawModule(path=path)
    kernel = module.get_function("axpy")
    _, x, y = axpy()
    kernel((4,), (32,), (np.int32(100), np.float32(2), x, y))
    kernel((4,), (32,), (100, 2.0, x, y))
    np.testing.assert_array_equal(y.get(), 4 * x.get() + 1)
    with pytest.raises(ArgumentTypeError, match="takes 4 arguments"):
        kernel(4, 32, (100, 2.0, x))
    with pytest.raises(ArgumentTypeError, match="NumPy scalar of 4 bytes"):
        kernel(4, 32, (100, np.float64(2), x, y))
    pointer = module.get_global("table")
    cupy.ndarray((3,), np.float32, pointer)[...] = cupy.arange(3, dtype=np.float32)
    out = cupy.zeros(3, np.float32)
    module.get_function("look")(1, 3, (out,))
    np.testing.assert_array_equal(out.get(), [0, 1, 2])
    fill = module.get_function(dict(compiled.symbols)["ns::fill"])
    numbers = cupy.zeros(4, np.int32)
    fill(1, 4, (numbers, 5))
    assert (numbers == 5).all()
    pickle.loads(pickle.dumps(kernel))(4, 32, (100, 2.0, x, y))


def test_clusters_and_dependent_launches() -> None:
    import cupy

    if int(cupy.cuda.Device().compute_capability) < 90:
        pytest.fail("thread block clusters need a device of compute capability 9.0")
    code = r"""
    extern "C" __global__ void ranks(unsigned* x) {
        unsigned rank, size;
        asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
        asm("mov.u32 %0, %%cluster_nctarank;" : "=r"(size));
        if (threadIdx.x == 0) x[blockIdx.x] = rank * 100 + size;
    }
    """
    kernel = kerneltk.RawKernel(code, "ranks")
    x = cupy.zeros(8, np.uint32)
    kernel(8, 32, (x,), cluster=4)
    np.testing.assert_array_equal(x.get(), [4, 104, 204, 304] * 2)
    kernel(8, 32, (x,), programmatic=True)
    np.testing.assert_array_equal(x.get(), 1)


def test_half_and_bfloat16_and_complex_by_value() -> None:
    import cupy

    code = r"""
    #include <cuda_fp16.h>
    #include <cuda_bf16.h>
    #include <cuComplex.h>
    __global__ void take(__half a, __nv_bfloat16 b, cuFloatComplex c, float4 d, double2 e,
                         float* y) {
        float v[] = {__half2float(a), __bfloat162float(b), c.x, c.y, d.w, (float)e.y};
        for (int i = 0; i < 6; ++i) y[i] = v[i];
    }
    """
    kernel = kerneltk.RawKernel(code, "take")
    y = cupy.zeros(6, np.float32)
    kernel(1, 1, (1.5, 2.5, 3 + 4j, (1, 2, 3, 5.0), np.complex128(6 + 7j), y))
    np.testing.assert_array_equal(y.get(), [1.5, 2.5, 3, 4, 5, 7])
    kernel(1, 1, (np.float16(1), 0.1, np.complex64(1j), (1, 2, 3, 5), (6, 7), y))
    assert y[1].item() == np.float32(0.10009765625)

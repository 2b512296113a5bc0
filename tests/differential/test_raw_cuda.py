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


def test_launches_in_every_spelling() -> None:
    import cupy

    kernel, x, y = axpy()
    kernel((4,), (32,), (np.int32(100), np.float32(1), x, y))
    kernel(4, 32, (100, 1, x, y), stream=cupy.cuda.Stream.null)
    kernel[4, 32](100, 1, x, y)
    kernel.over(100)(100, 1, x, y)
    np.testing.assert_array_equal(y.get(), 4 * x.get() + 1)
    kernel((0,), (32,), (100, 1, x, y))  # as one block
    y[:32] -= x[:32]
    np.testing.assert_array_equal(y.get(), 4 * x.get() + 1)
    again = pickle.loads(pickle.dumps(kernel))
    again(4, 32, (100, 1, x, y))
    np.testing.assert_array_equal(y.get(), 5 * x.get() + 1)


def test_streams_and_graphs() -> None:
    import cupy

    kernel, x, y = axpy(1000)
    cupy.cuda.get_current_stream().synchronize()  # a non-blocking stream does not wait for it
    stream = cupy.cuda.Stream(non_blocking=True)
    with stream:
        kernel(8, 128, (1000, 1, x, y))
    stream.synchronize()
    kernel(8, 128, (1000, 1, x, y), stream=stream)
    stream.synchronize()
    stream.begin_capture()
    kernel(8, 128, (1000, 1, x, y), stream=stream)
    graph = stream.end_capture()
    for _ in range(3):
        graph.launch(stream)
    stream.synchronize()
    np.testing.assert_array_equal(y.get(), 5 * x.get() + 1)


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


def test_variables_of_a_module() -> None:
    import cupy

    code = r"""
    namespace ns {
    __constant__ float table[2][3]; __device__ int2 pair; static __device__ int hits;
    }
    extern "C" __global__ void look(float* y) {
        y[threadIdx.x] = ns::table[threadIdx.x / 3][threadIdx.x % 3] + ns::pair.y;
        atomicAdd(&ns::hits, 1);
    }
    """
    module = kerneltk.RawModule(code=code)
    table = module.get_array("ns::table")
    assert table.shape == (2, 3)
    table[...] = cupy.arange(6, dtype=np.float32).reshape(2, 3)
    module.get_array("ns::pair")[...] = cupy.asarray([3, 4], np.int32)
    y = cupy.zeros(6, np.float32)
    module.get_function("look")(1, 6, (y,))
    np.testing.assert_array_equal(y.get(), np.arange(6) + 4)
    assert module.get_array("ns::hits").item() == 6


def test_cooperative_launches() -> None:
    import cupy

    code = r"""
    #include <cooperative_groups.h>
    __global__ void rounds(int* x) {
        auto grid = cooperative_groups::this_grid();
        for (int round = 0; round < 4; ++round) {
            int left = x[(blockIdx.x + gridDim.x - 1) % gridDim.x];
            grid.sync();
            if (threadIdx.x == 0) x[blockIdx.x] = left + 1;
            grid.sync();
        }
    }
    """
    for kernel, words in (
        (kerneltk.RawKernel(code, "rounds"), {"cooperative": True}),
        (kerneltk.RawKernel(code, "rounds", enable_cooperative_groups=True), {}),
    ):
        x = cupy.arange(64, dtype=np.int32)
        kernel(64, 128, (x,), **words)
        np.testing.assert_array_equal(x.get(), np.roll(np.arange(64), 4) + 4)


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


def test_other_libraries_arrays() -> None:
    torch = pytest.importorskip("torch")
    kernel, _, _ = axpy()
    x = torch.arange(100, dtype=torch.float32, device="cuda")
    y = torch.ones(100, device="cuda")
    kernel(4, 32, (100, 2, x, y))
    np.testing.assert_array_equal(y.cpu().numpy(), 2 * np.arange(100) + 1)
    with pytest.raises(ArgumentValueError, match="has gaps"):
        kernel(4, 32, (50, 2, x[::2], y))


def test_textures() -> None:
    import cupy

    code = r"""
    extern "C" __global__ void sample(cudaTextureObject_t image, float* y, int n) {
        int i = threadIdx.x;
        if (i < n) y[i] = tex1Dfetch<float>(image, i) * 2;
    }
    """
    x = cupy.arange(16, dtype=np.float32)
    descriptor = cupy.cuda.texture.ResourceDescriptor(
        cupy.cuda.runtime.cudaResourceTypeLinear,
        arr=x,
        chDesc=cupy.cuda.texture.ChannelFormatDescriptor(
            32, 0, 0, 0, cupy.cuda.runtime.cudaChannelFormatKindFloat
        ),
        sizeInBytes=x.nbytes,
    )
    image = cupy.cuda.texture.TextureObject(descriptor, cupy.cuda.texture.TextureDescriptor())
    y = cupy.zeros(16, np.float32)
    kerneltk.RawKernel(code, "sample")(1, 32, (image, y, 16))
    np.testing.assert_array_equal(y.get(), 2 * np.arange(16))


def test_a_file_on_both(tmp_path: Path) -> None:
    import cupy

    path = tmp_path / "both.cu"
    path.write_text(
        r"""
        #include <cstdio>
        #include <vector>
        template <class T> __global__ void twice(T* x, int n) {
            int i = blockIdx.x * blockDim.x + threadIdx.x;
            if (i < n) x[i] = x[i] + x[i];
        }
        int main() { std::vector<float> v(3); twice<<<1, 3>>>(v.data(), 3); printf("x\n"); }
        """
    )
    module = kerneltk.load(path)
    for xp in (np, cupy):
        x = xp.arange(10, dtype=np.float64)
        module.twice["double"].over(10)(x, 10)
        assert (x == 2 * xp.arange(10)).all()

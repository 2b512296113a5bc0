"""Kernels on a GPU: what only a device shows; nvcc, linked object code, and CuPy's own users."""

from __future__ import annotations

import io
import pickle
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import kerneltk
from kerneltk import ElementwiseKernel
from kerneltk.backends.cuda.toolkit import find_program
from kerneltk.errors import ArgumentTypeError, ArgumentValueError, CompileError, LaunchError
from kerneltk.object_code.elf import read_cubin_addresses

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


def test_arrays_that_do_not_fit(cupy: Any) -> None:
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


def test_large_dynamic_shared_memory_needs_no_attribute(cupy: Any) -> None:
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


def test_attributes(cupy: Any) -> None:
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
def test_compiled_modules(tmp_path: Path, kind: str, cupy: Any) -> None:
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


def test_clusters_and_dependent_launches(cupy: Any) -> None:
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


def test_half_and_bfloat16_and_complex_by_value(cupy: Any) -> None:
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


# -- nvcc, object code, CuPy --

MODULE = r"""
typedef double real;
__constant__ float table[2][3];
static __device__ int calls;
namespace ns {
template <class T, int N> __global__ void scale(T* x) { x[threadIdx.x] *= N; atomicAdd(&calls, 1); }
static __global__ void inner(float* x) { x[threadIdx.x] = table[threadIdx.x / 3][threadIdx.x % 3]; }
}
extern "C" __global__ void plain(unsigned n, float a, float* x) {
    if (threadIdx.x < n) x[threadIdx.x] += a;
}
"""
NAMES = ["ns::scale<real, 3>", "ns::inner", "plain"]


def target() -> str:
    import cupy

    return str(cupy.cuda.Device().compute_capability)


def check_module(module: kerneltk.RawModule) -> None:
    import cupy

    x = cupy.arange(8, dtype=np.float64)
    module.get_function("ns::scale<real, 3>")((1,), (8,), (x,))
    np.testing.assert_array_equal(x.get(), 3.0 * np.arange(8))
    assert module.get_array("calls").item() == 8
    module.get_array("table")[...] = cupy.arange(6, dtype=np.float32).reshape(2, 3)
    y = cupy.zeros(6, np.float32)
    module.get_function("ns::inner")(1, 6, (y,))
    module.get_function("plain")(1, 32, (5, 0.5, y))
    np.testing.assert_array_equal(y.get(), [0.5, 1.5, 2.5, 3.5, 4.5, 5])
    with pytest.raises(ArgumentTypeError, match="points to 'float'"):
        module.get_function("plain")(1, 32, (5, 0.5, x))


def test_overloads_by_their_mangled_names(cupy: Any) -> None:
    code = "__global__ void f(T* x) { x[0] = sizeof(T); }"
    code = code.replace("T", "float") + code.replace("T", "double")
    for name, dtype in (("_Z1fPf", "f4"), ("_Z1fPd", "f8")):
        x = cupy.zeros(2, dtype)
        kerneltk.RawKernel(code, name)((1,), (1,), (x,))
        assert x.tolist() == [x.itemsize, 0]


# -- nvcc -----------------------------------------------------------------------------------------

if find_program("nvcc") is not None:

    def test_a_module_by_nvcc() -> None:
        module = kerneltk.RawModule(code=MODULE, backend="nvcc", name_expressions=NAMES)
        check_module(module)

    def test_a_file_by_nvcc(tmp_path: Path) -> None:
        import cupy

        path = tmp_path / "host_and_device.cu"
        path.write_text(
            "#include <vector>\n__global__ void fill(int* x, int v) { x[threadIdx.x] = v; }\n"
            "int main() { std::vector<int> v(4); fill<<<1, 4>>>(v.data(), 1); }\n"
        )
        x = cupy.zeros(4, np.int32)
        kerneltk.load(path, backend="nvcc").fill(1, 4, (x, 7))
        assert (x == 7).all()


@pytest.mark.parametrize("kind", ["ptx", "cubin"])
def test_constants_that_hold_addresses_can_be_loaded(tmp_path: Path, kind: str) -> None:
    """As in the object code of nvcc, where they tell the symbols; here without nvcc."""
    import cupy

    compiled = kerneltk.RawModule(code=MODULE, name_expressions=NAMES).compile_for(
        f"compute_{target()}"
    )
    data = compiled.code.rstrip(b"\0").decode()
    for number, (name, symbol) in enumerate(compiled.symbols):
        value = f"generic({symbol})" if name.startswith("&") else symbol
        data += f".global .align 8 .u64 _test_at_{number} = {value};\n"
    code = data.encode()
    if kind == "cubin":
        module = kerneltk.RawModule(code="", link=[code])
        code = module.compile_for(f"sm_{target()}").code
        assert len(read_cubin_addresses(code, [f"_test_at_{k}" for k in range(5)])) == 5
    path = tmp_path / f"module.{kind}"
    path.write_bytes(code)
    x = cupy.arange(8, dtype=np.float64)
    symbol = dict(compiled.symbols)["ns::scale<real, 3>"]
    kerneltk.RawModule(path=path).get_function(symbol)(1, 8, (x,))
    np.testing.assert_array_equal(x.get(), 3.0 * np.arange(8))


# -- linking --------------------------------------------------------------------------------------

MAIN = r"""
extern "C" __device__ float twice(float);
__constant__ float table[3];
static __device__ int calls;
template <class T> __global__ void apply(T* x) {
    x[threadIdx.x] = twice(x[threadIdx.x]) + table[0];
    atomicAdd(&calls, 1);
}
"""
LIBRARY = r"""
extern "C" __device__ float twice(float x) { return 2 * x; }
"""


def check_linked(link: Any) -> None:
    import cupy

    module = kerneltk.RawModule(code=MAIN, name_expressions=["apply<float>"], link=[link])
    module.get_array("table")[...] = 0.5
    x = cupy.arange(8, dtype=np.float32)
    module.get_function("apply<float>")(1, 8, (x,))
    np.testing.assert_array_equal(x.get(), 2 * np.arange(8) + 0.5)
    assert module.get_array("calls").item() == 8
    with pytest.raises(ArgumentTypeError, match="points to 'float'"):
        module.get_function("apply<float>")(1, 8, (x.astype(np.float64),))


@pytest.mark.parametrize(
    ("kind", "options"), [("lto", ()), ("sm", ("-rdc=true",)), ("compute", ("-rdc=true",))]
)
def test_linked_object_code(kind: str, options: tuple[str, ...]) -> None:
    library = kerneltk.RawModule(code=LIBRARY, options=options)
    check_linked(library.compile_for(f"{kind}_{target()}"))


def test_a_function_of_numba() -> None:
    try:
        from numba import cuda
    # Or numba and NumPy do not fit together.
    except (ImportError, AttributeError, DeprecationWarning) as error:
        pytest.skip(f"numba cannot be imported: {error}")
    from numba import float32

    def twice(x: float) -> float:
        return x * 2

    number = target()
    code, _ = cuda.compile(
        twice, float32(float32), device=True, abi="c", output="ltoir",
        cc=(int(number[:-1]), int(number[-1])),
    )  # fmt: skip
    check_linked(code)


def test_linked_ptx_of_an_older_architecture_is_loaded(tmp_path: Path, cupy: Any) -> None:
    library = kerneltk.RawModule(code=LIBRARY).compile_for("lto_80")
    module = kerneltk.RawModule(code=MAIN, name_expressions=["apply<float>"], link=[library])
    path = tmp_path / "linked.ptx"
    path.write_bytes(module.compile_for("compute_80").code)
    x = cupy.ones(4, np.float32)
    kerneltk.RawModule(path=path).get_function("_Z5applyIfEvPT_")(1, 4, (x,))
    np.testing.assert_array_equal(x.get(), 2)


# -- what CuPy's users pass -----------------------------------------------------------------------

MDSPAN = r"""
#include <cuda/std/mdspan>
template <class I, class L>
using view = cuda::std::mdspan<float, cuda::std::dextents<I, 2>, L>;
template <class I, class L> __global__ void number(view<I, L> x) {
    if (threadIdx.x < x.extent(1)) x(blockIdx.x, threadIdx.x) = 100 * blockIdx.x + threadIdx.x;
}
"""


@pytest.mark.parametrize("index", ["int", "long long"])
@pytest.mark.parametrize("layout", ["stride", "right"])
def test_mdspan(index: str, layout: str, cupy: Any) -> None:
    name = f"number<{index}, cuda::std::layout_{layout}>"
    kernel = kerneltk.RawModule(code=MDSPAN, name_expressions=[name]).get_function(name)
    array = cupy.zeros((4, 10), np.float32)
    view = array[:, ::2] if layout == "stride" else array
    span = view.mdspan(index_type=cupy.int32 if index == "int" else cupy.int64)
    kernel(4, 32, (span,))
    rows, columns = np.indices(view.shape)
    np.testing.assert_array_equal(view.get(), 100 * rows + columns)


# -- what CuPy's users catch ----------------------------------------------------------------------


def test_errors_are_cupys_too() -> None:
    import cupy
    from cupy.cuda.compiler import CompileException

    kernel = kerneltk.RawKernel(MODULE, "plain")
    with pytest.raises(cupy.cuda.driver.CUDADriverError) as caught:
        kernel.max_dynamic_shared_size_bytes = 1 << 24
    assert isinstance(caught.value, LaunchError)
    assert caught.value.status == 1
    wrong = kerneltk.RawKernel(MODULE.replace("+= a", "+= b"), "plain")
    stream = io.StringIO()
    with pytest.raises(CompileException) as refused:
        wrong.compile(stream)
    assert isinstance(refused.value, CompileError)
    assert '"b" is undefined' in stream.getvalue()
    assert refused.value.log == stream.getvalue()
    assert "+= b" in refused.value.source


def test_a_launch_that_the_driver_refuses(cupy: Any) -> None:
    code = r"""
    extern "C" __global__ void all(int* x) { x[blockIdx.x] = 1; }
    """
    kernel = kerneltk.RawKernel(code, "all", enable_cooperative_groups=True)
    x = cupy.zeros(1 << 20, np.int32)
    with pytest.raises(
        cupy.cuda.driver.CUDADriverError, match=r"TOO_LARGE|too many blocks"
    ) as caught:
        kernel(1 << 20, 1024, (x,))
    assert isinstance(caught.value, LaunchError)
    assert caught.value.status == 720
    kernel(4, 32, (x,))
    assert x.sum() == 4


def test_the_compilers_log() -> None:
    code = "__global__ void f() { int never_used; }"
    kernel = kerneltk.RawKernel(code, "f")
    for made in (kernel, kernel, kerneltk.RawKernel(code, "f"), kerneltk.RawModule(code=code)):
        stream = io.StringIO()
        made.compile(stream)
        assert "never_used" in stream.getvalue()


# -- how large a block can be ---------------------------------------------------------------------

LIMITED = r"""
extern "C" __global__ void __launch_bounds__(128) bounded(float* x) { x[threadIdx.x] = 1; }
extern "C" __global__ void greedy(float* x) {
    float a[128];
    #pragma unroll
    for (int i = 0; i < 128; ++i) a[i] = x[i * blockDim.x + threadIdx.x];
    for (int r = 0; r < 4; ++r) {
        #pragma unroll
        for (int i = 0; i < 128; ++i) a[i] = a[i] * a[(i * 37 + 11) % 128] + x[r];
    }
    float sum = 0;
    #pragma unroll
    for (int i = 0; i < 128; ++i) sum += a[i];
    x[threadIdx.x] = sum;
}
"""


@pytest.mark.parametrize("name", ["bounded", "greedy"])
def test_blocks_that_a_kernel_cannot_have(name: str, cupy: Any) -> None:
    kernel = kerneltk.RawKernel(LIMITED, name)
    most = kernel.max_threads_per_block
    assert most == 128 if name == "bounded" else most < 1024
    x = cupy.zeros(128 * 1024, np.float32)
    with pytest.raises(ArgumentValueError, match=f"'{name}' can have {most} threads"):
        kernel(1, most + 1, (x,))
    assert not x.any()
    kernel(1, most, (x,))
    cupy.cuda.Device().synchronize()


# -- launches --

N = 100_000


def axpb(tag: int) -> ElementwiseKernel:
    """A kernel that no other test has compiled or loaded."""
    return ElementwiseKernel("T x, T a, T b", "T y", f"y = a * x + b + {tag}", f"axpb{tag}")


def test_streams(cupy: Any) -> None:
    kernel = axpb(1)
    x = cupy.arange(N, dtype=np.float32)
    want = 2 * cupy.asnumpy(x) + 4
    stream = cupy.cuda.Stream(non_blocking=True)
    cupy.cuda.Device().synchronize()
    y = cupy.zeros_like(x)
    cupy.cuda.Device().synchronize()
    assert kernel(x, 2, 3, y, stream=stream) is y
    stream.synchronize()
    np.testing.assert_array_equal(cupy.asnumpy(y), want)
    with stream:
        y = kernel(x, 2, 3)
    stream.synchronize()
    np.testing.assert_array_equal(cupy.asnumpy(y), want)


def test_a_thread_that_has_made_no_call_before(cupy: Any) -> None:
    kernel = axpb(5)
    x = cupy.arange(N, dtype=np.float32)
    y = cupy.zeros_like(x)
    kernel(x, 1, 1, y)
    errors: list[BaseException] = []

    def work() -> None:
        try:
            kernel(x, 3, 1, y)
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert errors == []
    np.testing.assert_array_equal(cupy.asnumpy(y), 3 * np.arange(N, dtype=np.float32) + 6)


def test_a_block_that_the_kernel_cannot_have(cupy: Any) -> None:
    kernel = axpb(7)
    x = cupy.arange(N, dtype=np.float32)
    for block in (1, 33, 96, 1024):
        np.testing.assert_array_equal(
            cupy.asnumpy(kernel(x, 1, 0, block_size=block)), np.arange(N, dtype=np.float32) + 7
        )


def test_without_arrays_the_gpu_is_taken(cupy: Any) -> None:
    result = ElementwiseKernel("float32 a", "float32 y", "y = a * i", "count")(2, size=4)
    assert isinstance(result, cupy.ndarray)
    np.testing.assert_array_equal(cupy.asnumpy(result), [0, 2, 4, 6])

"""Files that are written as extensions of torch, without its headers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import kerneltk


def loaded(directory: Path, code: str, *names: str) -> Any:
    """Load a file with this source, which also compiles for GPUs."""
    path = directory / "extension.cu"
    path.write_text(code)
    module = kerneltk.load(path, name_expressions=names)
    assert module.compile_for("sm_90").code
    return module


CODE = """
#include <torch/extension.h>
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAGuard.h>
using namespace at;
#define CHECK_INPUT(x) TORCH_CHECK(x.is_cuda(), #x " must be a CUDA tensor")

template <typename scalar_t>
C10_LAUNCH_BOUNDS_1(256)
__global__ void sum_rows(
    const at::PackedTensorAccessor32<scalar_t, 2, at::RestrictPtrTraits> x, scalar_t* y) {
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= x.size(0)) return;
    at::acc_type<scalar_t, true> sum = 0;
    for (int k = 0; k < x.size(1); ++k) sum += x[row][k];
    y[row] = sum;
}

__global__ void halves(c10::Half* x, at::BFloat16* y, float* total) {
    const int i = threadIdx.x;
    x[i] = x[i] * 2 + x[i] / 0.5f;
    y[i] += y[i];
    gpuAtomicAdd(total, float(x[i] - 1));
}

at::Tensor forward(at::Tensor x) {
    CHECK_INPUT(x);
    const at::cuda::OptionalCUDAGuard guard(x.device());
    auto y = at::empty({x.size(0)}, x.options());
    AT_DISPATCH_FLOATING_TYPES_AND_HALF(x.scalar_type(), "sum_rows", [&] {
        sum_rows<scalar_t><<<1, 256, 0, at::cuda::getCurrentCUDAStream()>>>(
            x.packed_accessor32<scalar_t, 2, at::RestrictPtrTraits>(), y.data_ptr<scalar_t>());
    });
    return y;
}
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
"""
ACCESSOR = np.dtype([("data", "u8"), ("sizes", "i4", 2), ("strides", "i4", 2)])


def test_kernels_of_an_extension(tmp_path: Path) -> None:
    module = loaded(tmp_path, CODE, "sum_rows<float>", "sum_rows<c10::Half>")
    x = np.arange(35, dtype=np.float32).reshape(5, 7)
    y = np.zeros(5, np.float32)
    accessor = np.zeros(1, ACCESSOR)
    accessor["data"], accessor["sizes"], accessor["strides"] = x.ctypes.data, (5, 7), (7, 1)
    module.get_function("sum_rows<float>")(1, 32, (accessor[0], y))
    np.testing.assert_array_equal(y, x.sum(1))

    h = np.arange(8, dtype=np.float16)
    b = (np.arange(8, dtype=np.float32).view(np.uint32) >> 16).astype(np.uint16)
    total = np.zeros(1, np.float32)
    module.halves(1, 8, (h.view("V2"), b.view("V2"), total))
    np.testing.assert_array_equal(h, 4 * np.arange(8))
    assert total[0] == (4 * np.arange(8) - 1).sum()
    np.testing.assert_array_equal((b.astype(np.uint32) << 16).view(np.float32), 2 * np.arange(8))


STAND_INS = """
#include <torch/custom_class.h>
#include <ATen/ATen.h>
#include <ATen/cuda/CUDAGeneratorImpl.h>
#include <ATen/cuda/CUDAApplyUtils.cuh>
#include <ATen/cuda/DeviceUtils.cuh>
#include <ATen/cuda/detail/KernelUtils.h>
#include <ATen/native/cuda/MemoryAccess.cuh>
#include <ATen/native/cuda/block_reduce.cuh>
#include <c10/util/complex.h>
#include <torch/headeronly/core/TensorAccessor.h>
C10_HOST_DEVICE C10_ALWAYS_INLINE bool is_finite(float x) {
    return !at::_isnan(x) && !at::_isinf(x);
}
struct Model : public torch::CustomClassHolder {
    Model() {}
    static constexpr int MOST = 5;
    at::Tensor table;
};
struct Device { int c[Model::MOST]; };
__global__ void k(torch::headeronly::HeaderOnlyGenericPackedTensorAccessor<float, 2> x,
                  at::PhiloxCudaState state, int* y) {
    const auto seeds = at::cuda::philox::unpack(state);
    const int lanes = __popc(WARP_BALLOT(threadIdx.x % 2 == 0));
    y[threadIdx.x] = WARP_SHFL(int(threadIdx.x), 3) + WARP_SHFL_DOWN(lanes, 1);
    y[threadIdx.x] += int(std::get<0>(seeds) + std::get<1>(seeds));
    y[threadIdx.x] += at::cuda::ATenCeilDiv(int(x.size(0)), 2) + at::ceil_div(int(x.size(1)), 4);
    y[threadIdx.x] += sizeof(Device) / sizeof(int);
    __shared__ float room[32];
    const float all = at::native::cuda_utils::BlockReduceSum(1.f, room);
    if (threadIdx.x == 0) y[0] += all - 32;
    std::array<int, 2> some{1, 0};
    using Pair = at::native::memory::aligned_vector<int, 2>;
    CUDA_KERNEL_LOOP(i, 32) {
        if (i == 40) continue;
        y[i] += std::abs(c10::complex<float>(3, 4)) * some[0] + alignof(Pair) + is_finite(INFINITY);
    }
}
"""


def test_stand_ins_of_its_headers(tmp_path: Path) -> None:
    module = loaded(tmp_path, STAND_INS)
    accessor = np.zeros(1, [("data", "u8"), ("sizes", "i8", 2), ("strides", "i8", 2)])
    accessor["sizes"] = (5, 7)
    state = np.zeros(1, np.dtype([("seed", "u8"), ("offset", "u8"), ("more", "u8"),
                                  ("captured", "?")], align=True))  # fmt: skip
    state["seed"], state["offset"] = 100, 20
    y = np.zeros(32, np.int32)
    module.k(1, 32, (accessor[0], state[0], y), checks=False)
    assert y.tolist() == [3 + 16 + 120 + 3 + 2 + 5 + 5 + 8] * 32


BINDINGS = r"""
#include <torch/extension.h>

__global__ void twice_kernel(float* x, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] *= 2;
}
#define DEFINE(name, th_type, type, size)                                        \
    void name(torch::Tensor x) {                                                 \
        TORCH_CHECK(x.dtype() == th_type);                                       \
        name##_kernel<<<x.numel() / (size), size>>>((type *)x.data_ptr(), x.numel()); \
    }
#define BIND(function) m.def(#function, &function, #function);

DEFINE(twice, torch::kFloat32, float, 128)
DEFINE(thrice, torch::kFloat32, float,
       128)

extern void elsewhere(torch::Tensor, torch::Tensor);
extern void
    elsewhere_too(torch::Tensor,
                  torch::Tensor);

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    BIND(twice)
    BIND(thrice)
    if (true) { BIND(elsewhere) }
}

__global__ void after(float* x) { x[threadIdx.x] += 1; }
"""


def test_macros_without_semicolons_hide_nothing(tmp_path: Path) -> None:
    module = loaded(tmp_path, BINDINGS)
    assert module.kernels == ("twice_kernel", "after")
    x = np.arange(100, dtype=np.float32)
    module.twice_kernel(1, 128, (x, 100))
    module.after(1, 100, (x,))
    np.testing.assert_array_equal(x, 2 * np.arange(100) + 1)


@pytest.mark.exhaustive
def test_limits_of_torch_itself(tmp_path: Path) -> None:
    code = (
        "#include <torch/extension.h>\n#include <ATen/NumericLimits.cuh>\n"
        "template <class T> __global__ void k(T* x) {\n"
        "    using L = at::numeric_limits<T>;\n"
        "    x[0] = L::lowest(); x[1] = L::max();\n"
        "    x[2] = L::lower_bound(); x[3] = L::upper_bound();\n"
        "}\n"
    )
    dtypes = {"float": "f4", "double": "f8", "int": "i4", "long": "i8", "unsigned char": "u1",
              "c10::Half": "f2"}  # fmt: skip
    module = loaded(tmp_path, code, *(f"k<{name}>" for name in dtypes))
    for name, dtype in dtypes.items():
        x = np.zeros(4, dtype)
        module.get_function(f"k<{name}>")(1, 1, (x.view("V2") if dtype == "f2" else x,))
        kind = np.iinfo(dtype) if x.dtype.kind in "iu" else np.finfo(dtype)
        ends = [kind.min, kind.max] if x.dtype.kind in "iu" else [-np.inf, np.inf]
        assert x.tolist() == np.array([kind.min, kind.max, *ends], dtype).tolist()


COMPILES = {
    "library": """
#include <torch/extension.h>
template <class T> __host__ __device__ auto sizes(T x) { return std::make_tuple(x, x + 1); }
struct Names { std::vector<int> sizes; std::string name; int n; };
__global__ void k(const Names* names, int* y) { y[0] = std::get<1>(sizes(names->n)); }
""",
    "names of the driver, and the list of architectures": """
#include <cuda.h>
#include <vector>
struct Arena { std::vector<int> x; CUmemGenericAllocationHandle handle; };
typedef CUmemAllocationProp Property;
constexpr int most() {
    int all[] = {__CUDA_ARCH_LIST__}, m = 0;
    for (int a : all) m = a > m ? a : m;
    return m;
}
template <int N> struct Width { static const int value = N >= 750; };
__global__ void k(int* x) { x[0] = Width<most()>::value; }
""",
}


@pytest.mark.exhaustive
@pytest.mark.parametrize("what", COMPILES)
def test_what_its_headers_bring_compiles(what: str, tmp_path: Path) -> None:
    assert loaded(tmp_path, COMPILES[what]).compile_for("host").code

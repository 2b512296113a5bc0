#include <torch/extension.h>
#include <ATen/cuda/CUDAContext.h>
#include <cuda.h>
#include <cuda_runtime.h>
#include <vector>

namespace {
template <typename scalar_t>
__device__ __forceinline__ scalar_t sigmoid(scalar_t z) {
  return 1.0 / (1.0 + exp(-z));
}
template <typename scalar_t>
__global__ void gate_kernel(
    const scalar_t* __restrict__ gates,
    scalar_t* __restrict__ out,
    size_t state_size) {
  const int column = blockIdx.x * blockDim.x + threadIdx.x;
  if (column < state_size) { out[column] = sigmoid(gates[column]); }
}
} // namespace

std::vector<torch::Tensor> gate_cuda_forward(
    torch::Tensor input,
    torch::Tensor weights) {
  auto X = torch::cat({input, weights}, 1);
  AT_DISPATCH_FLOATING_TYPES(X.type(), "gate_forward_cuda", ([&] {
    gate_kernel<scalar_t><<<1, 2>>>(X.data<scalar_t>(), X.data<scalar_t>(), 3);
  }));
  return {X};
}
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.def("forward", &gate_cuda_forward, "applies the gates");
}
TORCH_LIBRARY(my_ops, m) { m.def("x", &gate_cuda_forward); }

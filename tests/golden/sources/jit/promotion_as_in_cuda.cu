#include <kerneltk/float16.hpp>
#include <kerneltk/jit_array.hpp>
#include <kerneltk/jit_numbers.hpp>

extern "C" __global__ void promotion_as_in_cuda(kerneltk::jit::array<signed char, 1> a, kerneltk::jit::array<unsigned short, 1> b, kerneltk::jit::array<float16, 1> h, kerneltk::jit::array<float, 1> x, kerneltk::jit::array<double, 1> y) {
    // i = jit.grid(1)
#line 2 "kernel.py"
    const long long i = ((long long)blockIdx.x * blockDim.x + threadIdx.x);
    // y[i] = (a[i] * b[i] + h[i]) * x[i]
#line 3 "kernel.py"
    y[i] = (double)(kerneltk::jit::convert<float>((float16)(kerneltk::jit::convert<float16>((unsigned short)((unsigned int)(unsigned short)a[i] * b[i])) + h[i])) * x[i]);
}

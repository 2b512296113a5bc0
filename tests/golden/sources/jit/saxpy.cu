#include <kerneltk/jit_array.hpp>

extern "C" __global__ void __launch_bounds__(256, 2) saxpy(kerneltk::jit::array<float, 1> x, double a, kerneltk::jit::array<float, 1> y) {
    // i = jit.grid(1)
#line 2 "kernel.py"
    const long long i = ((long long)blockIdx.x * blockDim.x + threadIdx.x);
    // if i < y.size:
#line 3 "kernel.py"
    if (i < y.shape[0]) {
        // y[i] = a * x[i] + y[i]
#line 4 "kernel.py"
        y[i] = (float)a * x[i] + y[i];
    }
}

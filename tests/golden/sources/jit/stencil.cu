#include <kerneltk/jit_array.hpp>

extern "C" __global__ void stencil(kerneltk::jit::array<float, 2> x, kerneltk::jit::array<float, 2> y) {
    // row, column = jit.grid(2)
#line 2 "kernel.py"
    const long long row = ((long long)blockIdx.x * blockDim.x + threadIdx.x);
#line 2 "kernel.py"
    const long long column = ((long long)blockIdx.y * blockDim.y + threadIdx.y);
    // if 0 < row < x.shape[0] - 1 and column < x.shape[1]:
#line 3 "kernel.py"
    if ((0 < row && row < x.shape[0] - 1) && column < x.shape[1]) {
        // y[row, column] = 0.25 * (x[row - 1, column] + x[row + 1, column])
#line 4 "kernel.py"
        y(row, column) = 0.25f * (x(row - 1, column) + x(row + 1, column));
        // y[row, column] += x[row, column - 1] / 2
#line 5 "kernel.py"
        y(row, column) += x(row, kerneltk::jit::wrapped(column - 1, x.shape[1])) / 2.0f;
    }
}

#include <kerneltk/host_grid.hpp>
#include <kerneltk/host_device.hpp>
#include <kerneltk/host_block.hpp>
#include <kerneltk/jit_array.hpp>

static inline __attribute__((always_inline)) void stencil(kerneltk::jit::array<float, 2> x, kerneltk::jit::array<float, 2> y) {
    KERNELTK_BLOCK_BEGIN
    // row, column = jit.grid(2)
#line 2 "kernel.py"
    KERNELTK_SOME_THREADS_BEGIN((0 < ((long long)blockIdx.x * blockDim.x + threadIdx.x)), (((long long)blockIdx.x * blockDim.x + threadIdx.x) < x.shape[0] - 1 && ((long long)blockIdx.y * blockDim.y + threadIdx.y) < x.shape[1]))
#line 2 "kernel.py"
        const long long row = ((long long)blockIdx.x * blockDim.x + threadIdx.x);
#line 2 "kernel.py"
        const long long column = ((long long)blockIdx.y * blockDim.y + threadIdx.y);
        // y[row, column] = 0.25 * (x[row - 1, column] + x[row + 1, column])
#line 4 "kernel.py"
        y(row, column) = 0.25f * (x(row - 1, column) + x(row + 1, column));
        // y[row, column] += x[row, column - 1] / 2
#line 5 "kernel.py"
        y(row, column) += x(row, kerneltk::jit::wrapped(column - 1, x.shape[1])) / 2.0f;
    KERNELTK_THREADS_END
}

KERNELTK_BLOCK_ENTRY(_kt_entry_stencil, (stencil))

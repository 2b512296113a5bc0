#include <kerneltk/host_grid.hpp>
#include <kerneltk/host_device.hpp>
#include <kerneltk/host_block.hpp>
#include <kerneltk/jit_array.hpp>

static inline __attribute__((always_inline)) void saxpy(kerneltk::jit::array<float, 1> x, double a, kerneltk::jit::array<float, 1> y) {
    KERNELTK_BLOCK_BEGIN
    // i = jit.grid(1)
#line 2 "kernel.py"
    KERNELTK_SOME_THREADS_BEGIN((true), (((long long)blockIdx.x * blockDim.x + threadIdx.x) < y.shape[0]))
#line 2 "kernel.py"
        const long long i = ((long long)blockIdx.x * blockDim.x + threadIdx.x);
        // y[i] = a * x[i] + y[i]
#line 4 "kernel.py"
        y[i] = (float)a * x[i] + y[i];
    KERNELTK_THREADS_END
}

KERNELTK_BLOCK_ENTRY(_kt_entry_saxpy, (saxpy))

#include <kerneltk/host_grid.hpp>
#include <kerneltk/host_device.hpp>
#include <kerneltk/host_block.hpp>
#include <kerneltk/jit_array.hpp>
#include <kerneltk/jit_numbers.hpp>

static inline __attribute__((always_inline)) void mathematics(kerneltk::jit::array<float, 1> x, kerneltk::jit::array<float, 1> y, double c) {
    KERNELTK_BLOCK_BEGIN
    // i = jit.grid(1)
#line 2 "kernel.py"
    KERNELTK_THREADS_BEGIN
#line 2 "kernel.py"
        const long long i = ((long long)blockIdx.x * blockDim.x + threadIdx.x);
        // s, q = np.sin(x[i]), abs(x[i]) ** 0.5
#line 3 "kernel.py"
        const float t = ::sin(x[i]);
#line 3 "kernel.py"
        const float t_2 = kerneltk::jit::power(kerneltk::jit::absolute(x[i]), 0.5f);
#line 3 "kernel.py"
        const float s = t;
#line 3 "kernel.py"
        const float q = t_2;
        // y[i] = max(s, q, 0) + np.maximum(x[i], c) + round(x[i])
#line 4 "kernel.py"
        y[i] = (float)((double)kerneltk::jit::py_max(kerneltk::jit::py_max(s, q), 0.0f) + kerneltk::jit::maximum((double)x[i], c) + kerneltk::jit::whole<double>((long long)kerneltk::jit::rint(x[i])));
        // y[i] /= np.float32(i) + 1
#line 5 "kernel.py"
        y[i] /= kerneltk::jit::whole<float>(i) + 1.0f;
    KERNELTK_THREADS_END
}

KERNELTK_BLOCK_ENTRY(_kt_entry_mathematics, (mathematics))

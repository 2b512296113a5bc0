#include <kerneltk/host_grid.hpp>
#include <kerneltk/host_device.hpp>
#include <kerneltk/host_block.hpp>
#include <kerneltk/jit_array.hpp>

static __device__ inline float v_total(kerneltk::jit::array<float, 1> row) {
    // total = np.float32(0)
#line 2 "kernel.py"
    float total = 0.0f;
    // for value in row:
#line 3 "kernel.py"
    for (long long k = 0; k < row.shape[0]; ++k) {
#line 3 "kernel.py"
        const float value = row[k];
        // total += value
#line 4 "kernel.py"
        total = total + value;
    }
    // return total
#line 5 "kernel.py"
    return total;
}

static __device__ inline float v_total_2(kerneltk::jit::strided<float, 1> row) {
    // total = np.float32(0)
#line 2 "kernel.py"
    float total = 0.0f;
    // for value in row:
#line 3 "kernel.py"
    for (long long k = 0; k < row.shape[0]; ++k) {
#line 3 "kernel.py"
        const float value = row[k];
        // total += value
#line 4 "kernel.py"
        total = total + value;
    }
    // return total
#line 5 "kernel.py"
    return total;
}

static inline __attribute__((always_inline)) void views(kerneltk::jit::array<float, 2> x, kerneltk::jit::array<float, 2> y) {
    KERNELTK_BLOCK_BEGIN
    // i = jit.grid(1)
#line 10 "kernel.py"
    KERNELTK_THREADS_BEGIN
#line 10 "kernel.py"
        const long long i = ((long long)blockIdx.x * blockDim.x + threadIdx.x);
        // y[0, i] = _total(x[i, 1:-1])
#line 11 "kernel.py"
        const long long t = i;
#line 11 "kernel.py"
        y(0, i) = v_total([&] { const kerneltk::jit::range _kt_r0 = kerneltk::jit::ascending(1ll, -1ll, 1, x.shape[1]); return kerneltk::jit::array<float, 1>{x.at(t, _kt_r0.start), {_kt_r0.count}}; }());
        // y[1, i] = _total(x[::-2, i])
#line 12 "kernel.py"
        const long long t_2 = i;
#line 12 "kernel.py"
        y(1, i) = v_total_2([&] { const kerneltk::jit::range _kt_r0 = kerneltk::jit::any_slice(kerneltk::jit::from_the_end, kerneltk::jit::from_the_end, -2ll, x.shape[0]); return kerneltk::jit::strided<float, 1>{x.at(_kt_r0.start, t_2), {_kt_r0.count}, {_kt_r0.step * x.stride(0)}}; }());
    KERNELTK_THREADS_END
}

KERNELTK_BLOCK_ENTRY(_kt_entry_views, (views))

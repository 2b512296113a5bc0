#define KERNELTK_DYNAMIC
#include <kerneltk/host_grid.hpp>
#include <kerneltk/host_device.hpp>
#include <kerneltk/host_block.hpp>
#include <kerneltk/jit_array.hpp>
#include <kerneltk/jit_dynamic.hpp>
#include <kerneltk/jit_atomics.hpp>

static inline __attribute__((always_inline)) void block_sum(kerneltk::jit::array<float, 1> x, kerneltk::jit::array<float, 1> y) {
    KERNELTK_BLOCK_BEGIN
    // parts = jit.shared_memory(np.float32, None)
#line 2 "kernel.py"
    const kerneltk::jit::array<float, 1> parts = kerneltk::jit::dynamic_shared<float>();
    // for i in range(jit.grid(1), x.size, jit.gridsize(1)):
#line 5 "kernel.py"
    const long long t = ((long long)gridDim.x * blockDim.x);
    // half = jit.blockDim.x // 2
#line 8 "kernel.py"
    long long half_2 = (long long)blockDim.x / 2;
    // total = np.float32(0)
#line 4 "kernel.py"
    KERNELTK_THREADS_BEGIN
#line 4 "kernel.py"
        float total = 0.0f;
        // for i in range(jit.grid(1), x.size, jit.gridsize(1)):
#line 5 "kernel.py"
        for (long long i = ((long long)blockIdx.x * blockDim.x + threadIdx.x); i < x.shape[0]; i += t) {
            // total += x[i]
#line 6 "kernel.py"
            total = total + x[i];
        }
        // parts[t] = total
#line 7 "kernel.py"
        parts[(long long)threadIdx.x] = total;
    KERNELTK_THREADS_END
    // while half > 0:
#line 9 "kernel.py"
    while (half_2 > 0) {
        // jit.syncthreads()
#line 10 "kernel.py"
        __syncthreads();
        // if t < half:
#line 11 "kernel.py"
        KERNELTK_SOME_THREADS_BEGIN((true), ((long long)threadIdx.x < half_2))
            // parts[t] += parts[t + half]
#line 12 "kernel.py"
            parts[(long long)threadIdx.x] += parts[(long long)threadIdx.x + half_2];
        KERNELTK_THREADS_END
        // half //= 2
#line 13 "kernel.py"
        half_2 = half_2 / 2;
    }
    // if t == 0:
#line 14 "kernel.py"
    KERNELTK_THREADS_BEGIN
#line 14 "kernel.py"
        if ((long long)threadIdx.x == 0) {
            // jit.atomic_add(y, 0, parts[0])
#line 15 "kernel.py"
            const float t_2 = kerneltk::jit::atomic_add(&y[0], parts[0]);
        }
    KERNELTK_THREADS_END
}

KERNELTK_BLOCK_ENTRY(_kt_entry_block_sum, (block_sum))

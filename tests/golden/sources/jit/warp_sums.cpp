#include <kerneltk/host_grid.hpp>
#include <kerneltk/host_device.hpp>
#include <kerneltk/jit_array.hpp>
#include <kerneltk/jit_shuffle.hpp>
#include <kerneltk/jit_threads.hpp>
#include <kerneltk/jit_bits.hpp>

extern "C" __global__ void warp_sums(kerneltk::jit::array<float, 1> x, kerneltk::jit::array<int, 1> votes, kerneltk::jit::array<float, 1> y) {
    // i = jit.grid(1)
#line 2 "kernel.py"
    const long long i = ((long long)blockIdx.x * blockDim.x + threadIdx.x);
    // value = x[i]
#line 3 "kernel.py"
    float value = x[i];
    // value += jit.shfl_down_sync(0xFFFFFFFF, value, step)
#line 5 "kernel.py"
    const float t_2 = value;
#line 5 "kernel.py"
    const float t = kerneltk::jit::shfl_down_sync(4294967295u, value, 16, 32);
#line 5 "kernel.py"
    value = t_2 + t;
#line 5 "kernel.py"
    const float t_4 = value;
#line 5 "kernel.py"
    const float t_3 = kerneltk::jit::shfl_down_sync(4294967295u, value, 8, 32);
#line 5 "kernel.py"
    value = t_4 + t_3;
#line 5 "kernel.py"
    const float t_6 = value;
#line 5 "kernel.py"
    const float t_5 = kerneltk::jit::shfl_down_sync(4294967295u, value, 4, 32);
#line 5 "kernel.py"
    value = t_6 + t_5;
#line 5 "kernel.py"
    const float t_8 = value;
#line 5 "kernel.py"
    const float t_7 = kerneltk::jit::shfl_down_sync(4294967295u, value, 2, 32);
#line 5 "kernel.py"
    value = t_8 + t_7;
#line 5 "kernel.py"
    const float t_10 = value;
#line 5 "kernel.py"
    const float t_9 = kerneltk::jit::shfl_down_sync(4294967295u, value, 1, 32);
#line 5 "kernel.py"
    value = t_10 + t_9;
    // if jit.laneid() == 0:
#line 6 "kernel.py"
    if (KERNELTK_LANE == 0) {
        // votes[i // 32] = jit.popc(jit.ballot_sync(0xFFFFFFFF, value > 0))
#line 7 "kernel.py"
        const unsigned int t_11 = __ballot_sync(4294967295u, value > 0.0f);
#line 7 "kernel.py"
        votes[i / 32] = kerneltk::jit::popc(t_11);
        // y[i] = value
#line 8 "kernel.py"
        y[i] = value;
    }
}

KERNELTK_ENTRY(_kt_entry_warp_sums, (warp_sums))

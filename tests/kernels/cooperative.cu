// Cooperative groups: blocks, tiles, and a barrier of the whole grid.
#include <cooperative_groups.h>

namespace cg = cooperative_groups;

template <typename Group>
__device__ int group_sum(const Group& group, int value)
{
    for (int offset = group.size() / 2; offset > 0; offset /= 2) {
        value += group.shfl_down(value, offset);
    }
    return value;
}

__device__ int block_sum(cg::thread_block block, int* memory, int value)
{
    const int rank = block.thread_rank();
    memory[rank] = value;
    for (int i = block.size() / 2; i > 0; i /= 2) {
        block.sync();
        if (rank < i) memory[rank] += memory[rank + i];
    }
    block.sync();
    return memory[0];
}

// Positive numbers in any order; the threads that have one take their places together.
extern "C" __global__ void filter_positive(const int* in, int* out, int* count, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && in[i] > 0) {
        const cg::coalesced_group active = cg::coalesced_threads();
        int start = 0;
        if (active.thread_rank() == 0) start = atomicAdd(count, static_cast<int>(active.size()));
        start = active.shfl(start, 0);
        out[start + active.thread_rank()] = in[i];
    }
}

// Steps of Jacobi's iteration over a ring; a grid-wide barrier between them.
extern "C" __global__ void ring_average(int* even, int* odd, int n, int steps)
{
    cg::grid_group grid = cg::this_grid();
    for (int step = 0; step < steps; ++step) {
        const int* from = step % 2 ? odd : even;
        int* to = step % 2 ? even : odd;
        for (int i = grid.thread_rank(); i < n; i += grid.size()) {
            to[i] = from[(i + n - 1) % n] + from[(i + 1) % n] - from[i];
        }
        grid.sync();
    }
}

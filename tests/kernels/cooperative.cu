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

template <int WIDTH>
__global__ void tile_sums(const int* in, int* out)
{
    cg::thread_block block = cg::this_thread_block();
    auto tile = cg::tiled_partition<WIDTH>(block);
    const int i = blockIdx.x * block.size() + block.thread_rank();
    const int sum = group_sum(tile, in[i]);
    if (tile.thread_rank() == 0) {
        out[i / WIDTH] = sum;
    }
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

// Ranks and sizes of a block and of its tiles of 8; the block has three dimensions.
extern "C" __global__ void ranks(int* out)
{
    const cg::thread_block block = cg::this_thread_block();
    const cg::thread_block_tile<8> tile = cg::tiled_partition<8>(block);
    int* row = out + block.thread_rank() * 6;
    row[0] = block.thread_rank();
    row[1] = block.size();
    row[2] = tile.thread_rank();
    row[3] = tile.size();
    row[4] = tile.meta_group_rank();
    row[5] = block.thread_index().z * 100 + block.thread_index().y * 10 + block.thread_index().x;
}

extern "C" __global__ void tile_votes(const int* in, unsigned int* ballots, int* any, int* all)
{
    const auto tile = cg::tiled_partition<16>(cg::this_thread_block());
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const unsigned int ballot = tile.ballot(in[i] > 0);
    const int some = tile.any(in[i] > 0);
    const int every = tile.all(in[i] > 0);
    if (tile.thread_rank() == 0) {
        ballots[i / 16] = ballot;
        any[i / 16] = some != 0;
        all[i / 16] = every != 0;
    }
}

extern "C" __global__ void tile_shuffles(const float* in, float* out)
{
    const auto tile = cg::tiled_partition<4>(cg::this_thread_block());
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    float value = in[i];
    value += tile.shfl_xor(value, 1);
    value += tile.shfl_xor(value, 2);
    const float first = tile.shfl(in[i], 0);
    const float before = tile.shfl_up(in[i], 1);
    tile.sync();
    out[3 * i] = value;
    out[3 * i + 1] = first;
    out[3 * i + 2] = before;
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

// Cooperative groups within a warp: tiles, parts by a label, and what is reduced and scanned there.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>

namespace cg = cooperative_groups;

template <int WIDTH>
__global__ void tile_reductions(const int* in, int* sums, int* least, unsigned int* bits)
{
    const auto tile = cg::tiled_partition<WIDTH>(cg::this_thread_block());
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    sums[i] = cg::reduce(tile, in[i], cg::plus<int>());
    least[i] = cg::reduce(tile, in[i], cg::less<int>());
    bits[i] = cg::reduce(tile, static_cast<unsigned int>(in[i]), cg::bit_xor<unsigned int>());
}

template <int WIDTH>
__global__ void tile_scans(const int* in, int* inclusive, int* exclusive, int* largest)
{
    const auto tile = cg::tiled_partition<WIDTH>(cg::this_thread_block());
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    inclusive[i] = cg::inclusive_scan(tile, in[i]);
    exclusive[i] = cg::exclusive_scan(tile, in[i]);
    largest[i] = cg::inclusive_scan(tile, in[i], cg::greater<int>());
}

// The second of two tiles of two warps goes another way, with more meetings.
extern "C" __global__ void tiles_of_warps(const int* in, int* own, int* from_others)
{
    __shared__ cg::block_tile_memory<128> memory;
    const auto block = cg::this_thread_block(memory);
    const auto tile = cg::tiled_partition<64>(block);
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const int number = tile.meta_group_rank() * 1000 + tile.meta_group_size() * 100;
    own[i] = number + tile.thread_rank();
    if (tile.meta_group_rank() == 1) {
        from_others[i] = tile.shfl(in[i], 40);
        return;
    }
    const auto quarter = cg::tiled_partition<16>(tile);
    from_others[i] = 0;
    for (int k = 0; k < 3; ++k) {
        tile.sync();
        from_others[i] += tile.shfl(in[i], k) + quarter.meta_group_rank();
        from_others[i] += 1000 * (tile.any(in[i] == 5) + 2 * tile.all(in[i] > -99));
    }
}

// A butterfly within tiles of 4 of a tile of 32, then among the tiles.
extern "C" __global__ void tiles_of_tiles(const int* in, int* out)
{
    const auto warp = cg::tiled_partition<32>(cg::this_thread_block());
    const auto tile = cg::tiled_partition<4>(warp);
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    int sum = in[i];
    for (int mask = tile.size() / 2; mask > 0; mask /= 2) sum += tile.shfl_xor(sum, mask);
    const int of_tile = sum;
    for (int mask = 4; mask < 32; mask *= 2) sum += warp.shfl_xor(sum, mask);
    out[2 * i] = of_tile * 100 + static_cast<int>(tile.meta_group_rank());
    out[2 * i + 1] = sum;
}

// A group whose size is known at run time only.
__device__ int group_maximum(const cg::thread_group& group, volatile int* memory, int value)
{
    const int rank = group.thread_rank();
    memory[rank] = value;
    group.sync();
    for (int half = group.size() / 2; half > 0; half /= 2) {
        if (rank < half && memory[rank + half] > memory[rank]) memory[rank] = memory[rank + half];
        group.sync();
    }
    const int result = memory[0];
    group.sync();
    return result;
}

extern "C" __global__ void maxima_of_groups(const int* in, int* of_16, int* of_block)
{
    __shared__ int memory[128];
    const cg::thread_block block = cg::this_thread_block();
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const int first = threadIdx.x / 16 * 16;
    of_16[i] = group_maximum(cg::tiled_partition(block, 16), memory + first, in[i]);
    block.sync();
    of_block[i] = group_maximum(block, memory, in[i]);
}

extern "C" __global__ void tile_matches(const int* in, unsigned int* same, int* unanimous,
                                        int* last)
{
    const auto tile = cg::tiled_partition<8>(cg::this_thread_block());
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    int all = 0;
    same[i] = tile.match_any(in[i]);
    tile.match_all(in[i], all);
    unanimous[i] = all;
    last[i] = tile.shfl(in[i], tile.size() - 1);
}

// Threads that are here take their places together, in any order of the warps.
extern "C" __global__ void coalesced_filter(const int* in, int* out, int* counter)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (in[i] % 5 != 0) return;
    const cg::coalesced_group active = cg::coalesced_threads();
    int start = 0;
    if (active.thread_rank() == 0) start = atomicAdd(counter, static_cast<int>(active.size()));
    out[active.shfl(start, 0) + active.thread_rank()] = in[i];
}

// Even and odd numbers apart: the sum of a lane's own kind, and its rank among them.
extern "C" __global__ void sums_by_parity(const int* in, int* sums, int* ranks)
{
    const auto tile = cg::tiled_partition<32>(cg::this_thread_block());
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const cg::coalesced_group kind = cg::binary_partition(tile, (in[i] & 1) != 0);
    sums[i] = cg::reduce(kind, in[i], cg::plus<int>());
    ranks[i] = kind.thread_rank();
}

extern "C" __global__ void sums_by_label(const int* labels, const int* in, int* sums, int* sizes)
{
    const auto tile = cg::tiled_partition<16>(cg::this_thread_block());
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const cg::coalesced_group group = cg::labeled_partition(tile, labels[i]);
    sums[i] = cg::reduce(group, in[i], cg::plus<int>());
    sizes[i] = group.size();
}

// Votes and shuffles of the lanes that took a branch.
extern "C" __global__ void coalesced_votes(const int* in, unsigned int* ballots, int* neighbours)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    ballots[i] = 0;
    neighbours[i] = -1;
    if (threadIdx.x % 3 == 1) {
        const cg::coalesced_group third = cg::coalesced_threads();
        ballots[i] = third.ballot(in[i] > 0);
        neighbours[i] = third.shfl_down(in[i], 1);
    }
}

// Rows of a block of 2-D shape: a tile of 16 for each.
extern "C" __global__ void norms_of_rows(const float* matrix, float* out, int columns)
{
    const auto tile = cg::tiled_partition<16>(cg::this_thread_block());
    const int row = blockIdx.x * blockDim.y + threadIdx.y;
    float sum = 0.0f;
    for (int k = tile.thread_rank(); k < columns; k += tile.size()) {
        sum += fabsf(matrix[row * columns + k]);
    }
    for (int half = 8; half > 0; half /= 2) sum += tile.shfl_down(sum, half);
    if (tile.thread_rank() == 0) out[row] = sum;
}

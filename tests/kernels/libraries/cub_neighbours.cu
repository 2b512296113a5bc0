// CUB within kernels: what blocks do with neighbouring items.
#include <cub/block/block_adjacent_difference.cuh>
#include <cub/block/block_discontinuity.cuh>
#include <cub/block/block_shuffle.cuh>

constexpr int X = 24, Y = 2, N = 3, ITEMS = X * Y * N;

struct Differ {
    template <class T>
    __device__ bool operator()(const T& x, const T& y) const { return x / 10 != y / 10; }
};
// Also where the later item's index in the block says so.
struct DifferAt {
    __device__ int operator()(int x, int y, int index) const
    {
        return x / 10 != y / 10 ? 2 : index % 5 == 0;
    }
};
struct Weighted {
    __device__ int operator()(int x, int y) { return 3 * x - y; }
};

struct Apart {
    __device__ float operator()(float x, float y) const { return x - y; }
};

__device__ int rank() { return threadIdx.x + threadIdx.y * X; }

template <class T>
__device__ void put(T (&items)[N], int row, int* out)
{
    for (int k = 0; k < N; ++k) out[row * ITEMS + rank() * N + k] = items[k];
    __syncthreads();
}

extern "C" __global__ void discontinuities(const int* x, int first, int last, int* out)
{
    using Block = cub::BlockDiscontinuity<int, X, Y>;
    __shared__ typename Block::TempStorage storage;
    Block block(storage);
    int items[N], before[N], heads[N], tails[N];
    bool marks[N];
    for (int k = 0; k < N; ++k) items[k] = x[rank() * N + k];
    for (int k = 0; k < N; ++k) before[k] = -7;

    block.FlagHeads(heads, items, Differ());
    put(heads, 0, out);
    block.FlagHeads(marks, items, Differ(), first);
    put(marks, 1, out);
    block.FlagHeads(heads, items, before, Differ());
    put(heads, 2, out);
    put(before, 3, out);
    block.FlagHeads(heads, items, before, Differ(), first);
    put(heads, 4, out);
    put(before, 5, out);
    block.FlagTails(tails, items, Differ());
    put(tails, 6, out);
    block.FlagTails(tails, items, Differ(), last);
    put(tails, 7, out);
    block.FlagHeadsAndTails(heads, tails, items, Differ());
    put(heads, 8, out);
    put(tails, 9, out);
    block.FlagHeadsAndTails(heads, tails, last, items, Differ());
    put(heads, 10, out);
    put(tails, 11, out);
    block.FlagHeadsAndTails(heads, first, tails, items, Differ());
    put(heads, 12, out);
    put(tails, 13, out);
    block.FlagHeadsAndTails(heads, first, tails, last, items, Differ());
    put(heads, 14, out);
    put(tails, 15, out);
    block.FlagHeadsAndTails(heads, first, tails, last, items, DifferAt());
    put(heads, 16, out);
    put(tails, 17, out);
}

extern "C" __global__ void differences(const int* x, int valid, int first, int last, int* out)
{
    using Block = cub::BlockAdjacentDifference<int, X, Y>;
    __shared__ typename Block::TempStorage storage;
    int items[N], result[N];
    double wide[N];
    for (int k = 0; k < N; ++k) items[k] = x[rank() * N + k];

    Block(storage).SubtractLeft(items, result, Weighted());
    put(result, 0, out);
    Block(storage).SubtractLeft(items, wide, Weighted(), first);
    put(wide, 1, out);
    Block(storage).SubtractLeftPartialTile(items, result, Weighted(), valid);
    put(result, 2, out);
    Block(storage).SubtractLeftPartialTile(items, result, Weighted(), valid, first);
    put(result, 3, out);
    Block(storage).SubtractRight(items, result, Weighted());
    put(result, 4, out);
    Block(storage).SubtractRight(items, wide, Weighted(), last);
    put(wide, 5, out);
    Block(storage).SubtractRightPartialTile(items, result, Weighted(), valid);
    put(result, 6, out);
    for (int k = 0; k < N; ++k) result[k] = items[k];
    Block(storage).SubtractLeft(result, result, Weighted(), 0);
    put(result, 7, out);
    Block(storage).SubtractRight(items, items, Weighted());
    put(items, 8, out);
}

extern "C" __global__ void shuffles(const int* x, int distance, int* out, int* edges)
{
    using Block = cub::BlockShuffle<int, X, Y>;
    __shared__ typename Block::TempStorage storage;
    int items[N], moved[N] = {-1, -2, -3}, last, first;
    for (int k = 0; k < N; ++k) items[k] = x[rank() * N + k];

    Block(storage).Up(items, moved);
    put(moved, 0, out);
    Block(storage).Down(items, moved);
    put(moved, 1, out);
    Block(storage).Up(items, moved, last);
    put(moved, 2, out);
    Block(storage).Down(items, moved, first);
    put(moved, 3, out);
    Block(storage).Offset(items[0], moved[0], distance);
    __syncthreads();
    Block().Offset(items[1], moved[1]);
    __syncthreads();
    Block(storage).Rotate(items[2], moved[2], 7);
    put(moved, 4, out);
    Block(storage).Up(items, items);
    put(items, 5, out);
    Block(storage).Rotate(items[1], items[1]);
    put(items, 6, out);
    edges[rank() * 2] = last;
    edges[rank() * 2 + 1] = first;
}

// Zero stands for an item here, and for no pointer.
extern "C" __global__ void zeros(const float* x, float* out)
{
    __shared__ typename cub::BlockDiscontinuity<float, 32>::TempStorage heads;
    __shared__ typename cub::BlockAdjacentDifference<float, 32>::TempStorage differences;
    float items[1] = {x[threadIdx.x]};
    int flags[1];
    cub::BlockDiscontinuity<float, 32>(heads).FlagHeads(flags, items, Apart(), 0);
    cub::BlockAdjacentDifference<float, 32>(differences)
        .SubtractLeft(items, items, Apart(), 0);
    out[threadIdx.x] = items[0];
    out[32 + threadIdx.x] = flags[0];
}

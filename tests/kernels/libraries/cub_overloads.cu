// CUB within kernels: the less common functions of blocks and warps.
#include <cub/block/block_exchange.cuh>
#include <cub/block/block_load.cuh>
#include <cub/block/block_radix_sort.cuh>
#include <cub/block/block_scan.cuh>
#include <cub/block/block_store.cuh>
#include <cub/warp/warp_exchange.cuh>
#include <cub/warp/warp_load.cuh>
#include <cub/warp/warp_reduce.cuh>
#include <cub/warp/warp_scan.cuh>
#include <cub/warp/warp_store.cuh>
#include <cuda/std/tuple>

// Associative, but not commutative: functions x -> a * x + b of 32-bit integers.
struct Affine {
    unsigned int a, b;
};
struct Compose {
    __device__ Affine operator()(const Affine& x, const Affine& y) const
    {
        return {x.a * y.a, y.a * x.b + y.b};
    }
};
struct Larger {
    __device__ int operator()(int x, int y) const { return x > y ? x : y; }
};
struct Behind {
    Affine total;
    __device__ Affine operator()(Affine block)
    {
        const Affine before = total;
        total = Compose()(total, block);
        return before;
    }
};

// Ways of scans in turn: by one item a thread and by two, with and without what is in front.
extern "C" __global__ void scans(const Affine* x, Affine start, Affine* out, Affine* totals)
{
    using Scan = cub::BlockScan<Affine, 64>;
    __shared__ typename Scan::TempStorage storage;
    const int t = threadIdx.x;
    const Affine none = {7, 7};
    for (int way = 0; way < 16; ++way) {
        const bool is_pair = way >= 8;
        Affine in[2] = {x[is_pair ? 2 * t : t], x[is_pair ? 2 * t + 1 : t]}, to[2] = {none, none};
        Affine total = none;
        Behind behind = {start};
        Scan scan(storage);
        __syncthreads();
        switch (way) {
        case 0: scan.InclusiveScan(in[0], to[0], Compose()); break;
        case 1: scan.InclusiveScan(in[0], to[0], Compose(), total); break;
        case 2: scan.InclusiveScan(in[0], to[0], Compose(), behind); break;
        case 3: scan.ExclusiveScan(in[0], to[0], Compose()); break;
        case 4: scan.ExclusiveScan(in[0], to[0], Compose(), total); break;
        case 5: scan.ExclusiveScan(in[0], to[0], start, Compose()); break;
        case 6: scan.ExclusiveScan(in[0], to[0], start, Compose(), total); break;
        case 7: scan.ExclusiveScan(in[0], to[0], Compose(), behind); break;
        case 8: scan.InclusiveScan(in, to, Compose(), total); break;
        case 9: scan.InclusiveScan(in, to, start, Compose()); break;
        case 10: scan.InclusiveScan(in, to, start, Compose(), total); break;
        case 11: scan.InclusiveScan(in, to, Compose(), behind); break;
        case 12: scan.ExclusiveScan(in, to, Compose(), total); break;
        case 13: scan.ExclusiveScan(in, to, start, Compose()); break;
        case 14: scan.ExclusiveScan(in, to, start, Compose(), total); break;
        case 15: scan.ExclusiveScan(in, to, Compose(), behind); break;
        }
        out[way * 128 + (is_pair ? 2 * t : t)] = to[0];
        if (is_pair) out[way * 128 + 2 * t + 1] = to[1];
        if (t == 63) totals[way] = total;
    }
}

// The total of what was in front, and of this block.
struct Sums {
    int total;
    __device__ int operator()(int block) { return (total += block) - block; }
};
extern "C" __global__ void sums(const int* x, int start, int* out)
{
    using Scan = cub::BlockScan<int, 64>;
    __shared__ typename Scan::TempStorage storage;
    const int t = threadIdx.x;
    int one, items[2] = {x[2 * t], x[2 * t + 1]};
    Sums behind = {start};
    Scan(storage).InclusiveSum(x[t], one, behind);
    out[t] = one;
    __syncthreads();
    Scan(storage).InclusiveSum(items, items, behind);
    out[64 + 2 * t] = items[0];
    out[65 + 2 * t] = items[1];
}

extern "C" __global__ void scatters(const int* x, const int* ranks, const int* flags, int* out)
{
    using Exchange = cub::BlockExchange<int, 32, 3>;
    __shared__ typename Exchange::TempStorage storage;
    Exchange exchange(storage);
    int items[3], own[3], is_valid[3], result[3];
    for (int k = 0; k < 3; ++k) {
        items[k] = x[threadIdx.x * 3 + k];
        own[k] = ranks[threadIdx.x * 3 + k];
        is_valid[k] = flags[threadIdx.x * 3 + k];
    }
    for (int way = 0; way < 5; ++way) {
        for (int k = 0; k < 3; ++k) result[k] = items[k];
        __syncthreads();
        if (way == 0) exchange.ScatterToBlocked(items, result, own);
        if (way == 1) exchange.ScatterToStriped(items, result, own);
        if (way == 2) exchange.ScatterToBlocked(result, own);
        // Where no item goes the ones of before are.
        if (way == 3) exchange.ScatterToStripedFlagged(items, result, own, is_valid);
        if (way == 4) {
            for (int k = 0; k < 3; ++k) own[k] = is_valid[k] ? -1 : own[k];
            exchange.ScatterToStripedGuarded(items, result, own);
        }
        for (int k = 0; k < 3; ++k) out[way * 96 + threadIdx.x * 3 + k] = result[k];
    }
}

template <int THREADS>
__global__ void segments(const int* x, const int* flags, int* out)
{
    using Reduce = cub::WarpReduce<int, THREADS>;
    __shared__ typename Reduce::TempStorage storage[64 / THREADS];
    const int t = threadIdx.x;
    Reduce reduce(storage[t / THREADS]);
    out[t] = reduce.HeadSegmentedSum(x[t], flags[t]);
    __syncwarp();
    out[64 + t] = reduce.HeadSegmentedReduce(x[t], flags[t], Larger());
    __syncwarp();
    out[128 + t] = reduce.TailSegmentedSum(x[t], flags[t]);
    __syncwarp();
    out[192 + t] = reduce.TailSegmentedReduce(x[t], flags[t] != 0, Larger());
}

extern "C" __global__ void warp_scans(const Affine* x, Affine start, Affine* out, Affine* totals)
{
    using Scan = cub::WarpScan<Affine, 16>;
    __shared__ typename Scan::TempStorage storage[4];
    const int t = threadIdx.x;
    const Affine none = {7, 7};
    for (int way = 0; way < 10; ++way) {
        Affine to = none, other = none, total = none;
        Scan scan(storage[t / 16]);
        __syncwarp();
        switch (way) {
        case 0: scan.InclusiveScan(x[t], to, Compose()); break;
        case 1: scan.InclusiveScan(x[t], to, Compose(), total); break;
        case 2: scan.InclusiveScan(x[t], to, start, Compose()); break;
        case 3: scan.InclusiveScan(x[t], to, start, Compose(), total); break;
        case 4: scan.ExclusiveScan(x[t], to, Compose()); break;
        case 5: scan.ExclusiveScan(x[t], to, Compose(), total); break;
        case 6: scan.ExclusiveScan(x[t], to, start, Compose()); break;
        case 7: scan.ExclusiveScan(x[t], to, start, Compose(), total); break;
        case 8: scan.Scan(x[t], other, to, Compose()); break;
        case 9: scan.Scan(x[t], other, to, start, Compose()); break;
        }
        out[way * 64 + t] = to;
        if (way >= 8) out[(way + 2) * 64 + t] = other;
        totals[way * 64 + t] = total;
    }
}

template <int THREADS, int N>
__global__ void warp_moves(const int* x, int valid, int* out)
{
    using Load = cub::WarpLoad<int, N, cub::WARP_LOAD_TRANSPOSE, THREADS>;
    using StripedLoad = cub::WarpLoad<int, N, cub::WARP_LOAD_STRIPED, THREADS>;
    using Store = cub::WarpStore<int, N, cub::WARP_STORE_DIRECT, THREADS>;
    using StripedStore = cub::WarpStore<int, N, cub::WARP_STORE_STRIPED, THREADS>;
    using Exchange = cub::WarpExchange<int, N, THREADS>;
    __shared__ typename Load::TempStorage load[64 / THREADS];
    __shared__ typename StripedLoad::TempStorage striped_load[64 / THREADS];
    __shared__ typename Store::TempStorage store[64 / THREADS];
    __shared__ typename StripedStore::TempStorage striped_store[64 / THREADS];
    __shared__ typename Exchange::TempStorage exchange[64 / THREADS];
    constexpr int SIZE = 64 * N;
    const int warp = threadIdx.x / THREADS, first = warp * THREADS * N;
    int items[N], ranks[N];
    Load(load[warp]).Load(x + first, items);
    Store(store[warp]).Store(out + first, items);
    Load(load[warp]).Load(x + first, items, valid, -1);
    Store(store[warp]).Store(out + SIZE + first, items);
    StripedLoad(striped_load[warp]).Load(x + first, items, valid, -2);
    Store(store[warp]).Store(out + 2 * SIZE + first, items);
    StripedLoad(striped_load[warp]).Load(x + first, items);
    Exchange(exchange[warp]).StripedToBlocked(items, items);
    StripedStore(striped_store[warp]).Store(out + 3 * SIZE + first, items, valid);
    Load(load[warp]).Load(x + first, items);
    Exchange(exchange[warp]).BlockedToStriped(items, items);
    StripedStore(striped_store[warp]).Store(out + 4 * SIZE + first, items);
    for (int k = 0; k < N; ++k)
        ranks[k] = THREADS * N - 1 - (threadIdx.x % THREADS * N + k);
    Load(load[warp]).Load(x + first, items);
    Exchange(exchange[warp]).ScatterToStriped(items, ranks);
    StripedStore(striped_store[warp]).Store(out + 5 * SIZE + first, items);
}

extern "C" __global__ void direct_moves(const int* x, int* y, int valid, int* out)
{
    constexpr int N = 4, SIZE = 48 * N;
    const int t = threadIdx.x;
    int items[N];
    cub::LoadDirectBlocked(t, x, items);
    cub::StoreDirectStriped<48>(t, out, items);
    cub::LoadDirectStriped<48>(t, x, items, valid, -1);
    cub::StoreDirectBlocked(t, out + SIZE, items);
    cub::LoadDirectBlocked(t, x, items, valid, -2);
    cub::StoreDirectBlocked(t, out + 2 * SIZE, items, valid + 3);
    cub::LoadDirectBlockedVectorized(t, y, items);
    cub::LoadDirectStriped<48>(t, x, items, valid);
    cub::StoreDirectStriped<48>(t, out + 3 * SIZE, items);
    if (t >= 32) return;
    cub::LoadDirectWarpStriped(t, x, items, valid, -3);
    cub::StoreDirectBlockedVectorized(t, out + 4 * SIZE, items);
    cub::LoadDirectBlocked(t, x, items);
    cub::StoreDirectWarpStriped(t, out + 5 * SIZE, items, valid);
}

// Sorts of keys that are structs, by what a decomposer makes of them.
struct Pair {
    float high;
    int low;
};
struct Apart {
    __host__ __device__ cuda::std::tuple<float&, int&> operator()(Pair& pair) const {
        return {pair.high, pair.low};
    }
};

__global__ void sorts_of_pairs(const float* high, const int* low, int* out) {
    using Sort = cub::BlockRadixSort<Pair, 32, 2, int>;
    __shared__ Sort::TempStorage storage;
    Pair keys[2];
    int values[2];
    for (int way = 0; way < 3; ++way) {
        for (int k = 0; k < 2; ++k) {
            values[k] = 2 * threadIdx.x + k;
            keys[k] = {high[values[k]], low[values[k]]};
        }
        if (way == 0) Sort(storage).Sort(keys, values, Apart{});
        if (way == 1) Sort(storage).SortDescending(keys, values, Apart{}, 0, 32);
        if (way == 2) Sort(storage).SortBlockedToStriped(keys, values, Apart{}, 30, 64);
        for (int k = 0; k < 2; ++k) out[64 * way + 2 * threadIdx.x + k] = values[k];
        __syncthreads();
    }
    for (int k = 0; k < 2; ++k) keys[k] = {high[2 * threadIdx.x + k], low[2 * threadIdx.x + k]};
    cub::BlockRadixSort<Pair, 32, 2>().Sort(keys, Apart{});
    for (int k = 0; k < 2; ++k) out[192 + 2 * threadIdx.x + k] = keys[k].low;
}

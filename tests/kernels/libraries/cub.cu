// CUB within kernels: what blocks and warps do together.
#include <cub/block/block_exchange.cuh>
#include <cub/block/block_histogram.cuh>
#include <cub/block/block_load.cuh>
#include <cub/block/block_radix_sort.cuh>
#include <cub/block/block_reduce.cuh>
#include <cub/block/block_scan.cuh>
#include <cub/block/block_store.cuh>
#include <cub/warp/warp_reduce.cuh>
#include <cub/warp/warp_scan.cuh>

struct Largest {
    __device__ int operator()(int x, int y) const { return x > y ? x : y; }
};

extern "C" __global__ void reductions(const float* x, const int* n, float* sums, int* largest,
                                      int valid)
{
    using FloatReduce = cub::BlockReduce<float, 128>;
    using IntReduce = cub::BlockReduce<int, 128, cub::BLOCK_REDUCE_RAKING>;
    __shared__ union {
        typename FloatReduce::TempStorage floats;
        typename IntReduce::TempStorage ints;
    } temporary;
    const int i = blockIdx.x * 128 + threadIdx.x;
    const float sum = FloatReduce(temporary.floats).Sum(x[i]);
    __syncthreads();
    const float part = FloatReduce(temporary.floats).Sum(x[i], valid);
    __syncthreads();
    int items[3] = {n[i], n[i] - 1, -n[i]};
    const int most = IntReduce(temporary.ints).Reduce(items, Largest());
    if (threadIdx.x == 0) {
        sums[2 * blockIdx.x] = sum;
        sums[2 * blockIdx.x + 1] = part;
        largest[blockIdx.x] = most;
    }
}

// The total of the tiles before this one.
struct Running {
    int total;
    __device__ int operator()(int aggregate)
    {
        const int before = total;
        total += aggregate;
        return before;
    }
};

extern "C" __global__ void scans(const int* x, int* out, int n)
{
    using Scan = cub::BlockScan<int, 64>;
    __shared__ typename Scan::TempStorage temporary;
    const int t = threadIdx.x;
    int value, total;
    Scan(temporary).InclusiveSum(x[t], value);
    out[t] = value;
    __syncthreads();
    Scan(temporary).ExclusiveSum(x[t], value, total);
    out[64 + t] = value + total;
    __syncthreads();
    Scan(temporary).ExclusiveScan(x[t], value, -1000, Largest());
    out[128 + t] = value;
    __syncthreads();
    int items[2] = {x[2 * t], x[2 * t + 1]};
    Scan(temporary).InclusiveSum(items, items);
    out[192 + 2 * t] = items[0];
    out[193 + 2 * t] = items[1];
    Running running = {5};
    for (int start = 0; start < n; start += 64) {
        __syncthreads();
        Scan(temporary).ExclusiveSum(x[start + t], value, running);
        out[320 + start + t] = value;
    }
}

extern "C" __global__ void sorts(const float* keys, const int* values, float* sorted, int* order,
                                 const unsigned int* words, unsigned int* by_bits)
{
    using Load = cub::BlockLoad<float, 64, 4, cub::BLOCK_LOAD_TRANSPOSE>;
    using Store = cub::BlockStore<float, 64, 4, cub::BLOCK_STORE_TRANSPOSE>;
    using Sort = cub::BlockRadixSort<float, 64, 4, int>;
    using BitSort = cub::BlockRadixSort<unsigned int, 64, 2>;
    __shared__ union {
        typename Load::TempStorage load;
        typename Store::TempStorage store;
        typename Sort::TempStorage sort;
        typename BitSort::TempStorage bits;
    } temporary;
    float items[4];
    int numbers[4];
    Load(temporary.load).Load(keys, items);
    __syncthreads();
    for (int k = 0; k < 4; ++k) numbers[k] = values[threadIdx.x * 4 + k];
    Sort(temporary.sort).SortDescending(items, numbers);
    __syncthreads();
    Store(temporary.store).Store(sorted, items);
    for (int k = 0; k < 4; ++k) order[threadIdx.x * 4 + k] = numbers[k];
    __syncthreads();
    unsigned int own[2] = {words[threadIdx.x * 2], words[threadIdx.x * 2 + 1]};
    BitSort(temporary.bits).SortBlockedToStriped(own, 4, 16);
    for (int k = 0; k < 2; ++k) by_bits[k * 64 + threadIdx.x] = own[k];
}

extern "C" __global__ void exchanges(const int* x, int* out, unsigned int* counts, int valid)
{
    using Load = cub::BlockLoad<int, 32, 3, cub::BLOCK_LOAD_STRIPED>;
    using Exchange = cub::BlockExchange<int, 32, 3>;
    using Histogram = cub::BlockHistogram<unsigned char, 32, 3, 16, cub::BLOCK_HISTO_ATOMIC>;
    __shared__ typename Load::TempStorage load;
    __shared__ typename Exchange::TempStorage exchange;
    __shared__ typename Histogram::TempStorage histogram;
    __shared__ unsigned int bins[16];
    int items[3];
    Load(load).Load(x, items, valid, -1);
    Exchange(exchange).StripedToBlocked(items, items);
    for (int k = 0; k < 3; ++k) out[threadIdx.x * 3 + k] = items[k];
    unsigned char small[3];
    for (int k = 0; k < 3; ++k) small[k] = items[k] & 15;
    Histogram(histogram).Histogram(small, bins);
    __syncthreads();
    if (threadIdx.x < 16) counts[threadIdx.x] = bins[threadIdx.x];
}

extern "C" __global__ void warps(const int* x, int* out)
{
    using Reduce = cub::WarpReduce<int>;
    using Scan = cub::WarpScan<int, 8>;
    __shared__ typename Reduce::TempStorage reduce[2];
    __shared__ typename Scan::TempStorage scan[8];
    const int t = threadIdx.x;
    const int sum = Reduce(reduce[t / 32]).Sum(x[t]);
    const int most = Reduce(reduce[t / 32]).Reduce(x[t], Largest(), 20);
    int before, upto, total;
    Scan(scan[t / 8]).ExclusiveSum(x[t], before, total);
    Scan(scan[t / 8]).InclusiveScan(x[t], upto, Largest());
    out[t] = t % 32 == 0 ? sum : most * (t % 32 == 0);
    if (t % 32 == 0) out[64 + t / 32] = most;
    out[66 + t] = before + total * 10;
    out[130 + t] = upto;
}

// Warps exchange values without memory: one storage may serve several of them at once.
extern "C" __global__ void warps_of_one_storage(const int* x, int* out)
{
    using Reduce = cub::WarpReduce<int, 16>;
    using Scan = cub::WarpScan<int, 16>;
    __shared__ typename Reduce::TempStorage reduce;
    __shared__ typename Scan::TempStorage scan;
    const int t = threadIdx.x;
    const int sum = Reduce(reduce).Sum(x[t]);
    if (t % 16 == 0) out[t / 16] = sum;
    int upto;
    Scan(scan).InclusiveSum(x[t], upto);
    out[8 + t] = upto;
    out[136 + t] = Scan(scan).Broadcast(x[t], 3);
}

// Warps of twelve, of which each warp of the GPU has two, and blocks that are no whole number of warps.
extern "C" __global__ void odd_sizes(const int* x, int* out)
{
    using Reduce = cub::WarpReduce<int, 12>;
    using Scan = cub::BlockScan<int, 35, cub::BLOCK_SCAN_RAKING, 2>;
    using Sort = cub::BlockRadixSort<int, 35, 1, cub::NullType, 4, true, cub::BLOCK_SCAN_WARP_SCANS,
                                     cudaSharedMemBankSizeFourByte, 2>;
    __shared__ typename Reduce::TempStorage reduce[6];
    __shared__ union {
        typename Scan::TempStorage scan;
        typename Sort::TempStorage sort;
    } storage;
    const int t = threadIdx.x + 35 * threadIdx.y, lane = t % 32;
    if (lane < 24 && t < 64) {
        const int group = t / 32 * 2 + lane / 12;
        const int sum = Reduce(reduce[group]).Sum(x[t]);
        if (lane % 12 == 0) out[group] = sum;
    }
    int upto;
    Scan(storage.scan).InclusiveSum(x[t], upto);
    out[4 + t] = upto;
    __syncthreads();
    int keys[1] = {x[t]};
    Sort(storage.sort).Sort(keys);
    out[74 + t] = keys[0];
}

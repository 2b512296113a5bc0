// What lanes tell each other by votes, matches and shuffles: compaction, sorts, histograms.

#define FULL 0xffffffffu

__device__ unsigned int lanes_below()
{
    return (1u << (threadIdx.x & 31)) - 1;
}

// ---- compaction ----

// Keeps the order. Warps count, one warp scans the counts. Up to 32 warps; one block an output row.
extern "C" __global__ void compact_in_order(const int* in, int* out, int* sizes, int n)
{
    __shared__ int counts[32];
    const int lane = threadIdx.x & 31;
    const int warp = threadIdx.x >> 5;
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const bool keep = i < n && in[i] % 3 == 0;
    const unsigned int kept = __ballot_sync(FULL, keep);
    if (lane == 0) counts[warp] = __popc(kept);
    __syncthreads();
    if (warp == 0) {
        int sum = lane < blockDim.x / 32 ? counts[lane] : 0;
        for (int step = 1; step < 32; step *= 2) {
            const int before = __shfl_up_sync(FULL, sum, step);
            if (lane >= step) sum += before;
        }
        counts[lane] = sum;
        if (lane == 31) sizes[blockIdx.x] = sum;
    }
    __syncthreads();
    const int start = warp == 0 ? 0 : counts[warp - 1];
    if (keep) out[blockIdx.x * blockDim.x + start + __popc(kept & lanes_below())] = in[i];
}

// In any order, with one atomic for the lanes of a warp that come here together.
__device__ int place_of_one(int* counter)
{
    const unsigned int active = __activemask();
    const int leader = __ffs(active) - 1;
    int start = 0;
    if ((threadIdx.x & 31) == leader) start = atomicAdd(counter, __popc(active));
    start = __shfl_sync(active, start, leader);
    return start + __popc(active & lanes_below());
}

extern "C" __global__ void aggregated_filter(const int* in, int* out, int* counter)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (in[i] > 50) out[place_of_one(counter)] = in[i];
}

// ---- sorts ----

extern "C" __global__ void bitonic_warp(const int* in, int* out)
{
    const int lane = threadIdx.x & 31;
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    int value = in[i];
    for (int size = 2; size <= 32; size *= 2) {
        for (int mask = size / 2; mask > 0; mask /= 2) {
            const int other = __shfl_xor_sync(FULL, value, mask);
            const bool is_low = (lane & mask) == 0;
            const bool is_up = (lane & size) == 0;
            value = is_low == is_up ? min(value, other) : max(value, other);
        }
    }
    out[i] = value;
}

// The same through volatile shared memory; half of the lanes exchange.
extern "C" __global__ void bitonic_volatile(const float* in, float* out)
{
    __shared__ volatile float row[64];
    const int lane = threadIdx.x;
    row[lane] = in[blockIdx.x * 64 + lane];
    row[lane + 32] = in[blockIdx.x * 64 + lane + 32];
    for (int size = 2; size <= 64; size *= 2) {
        for (int step = size / 2; step > 0; step /= 2) {
            const int at = 2 * lane - (lane & (step - 1));
            const bool is_up = (at & size) == 0;
            const float a = row[at];
            const float b = row[at + step];
            if ((a > b) == is_up) {
                row[at] = b;
                row[at + step] = a;
            }
        }
    }
    out[blockIdx.x * 64 + lane] = row[lane];
    out[blockIdx.x * 64 + lane + 32] = row[lane + 32];
}

// One step of a block's radix sort: a stable split by four bits. Lanes that share a digit find each
// other; warps have a histogram each.
extern "C" __global__ void radix_step(const unsigned int* in, unsigned int* out, int shift)
{
    __shared__ int counts[16][4];
    const int lane = threadIdx.x & 31;
    const int warp = threadIdx.x >> 5;
    const int i = blockIdx.x * 128 + threadIdx.x;
    if (threadIdx.x < 64) counts[threadIdx.x / 4][threadIdx.x % 4] = 0;
    __syncthreads();
    const unsigned int digit = in[i] >> shift & 15;
    const unsigned int peers = __match_any_sync(FULL, digit);
    const int rank = __popc(peers & lanes_below());
    if (rank == 0) counts[digit][warp] = __popc(peers);
    __syncthreads();
    if (threadIdx.x < 32) {
        int* pair = &counts[0][0] + 2 * lane;
        int sum = pair[0] + pair[1];
        const int own = sum;
        for (int step = 1; step < 32; step *= 2) {
            const int before = __shfl_up_sync(FULL, sum, step);
            if (lane >= step) sum += before;
        }
        const int start = sum - own;
        const int first = pair[0];
        pair[0] = start;
        pair[1] = start + first;
    }
    __syncthreads();
    out[blockIdx.x * 128 + counts[digit][warp] + rank] = in[i];
}

// ---- counts ----

// For each lane how many before it in the warp have its key, and whether it is the last of them.
extern "C" __global__ void match_ranks(const long long* keys, int* ranks, int* is_last)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const unsigned int peers = __match_any_sync(FULL, keys[i]);
    ranks[i] = __popc(peers & lanes_below());
    is_last[i] = (peers >> (threadIdx.x & 31)) == 1u;
}

// Whether a warp's lanes agree, on what, and what the first of those says that do not.
extern "C" __global__ void agreements(const int* in, int* agreed, unsigned int* masks)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    int all = 0;
    const unsigned int mask = __match_all_sync(FULL, in[i], &all);
    agreed[i] = all ? in[i] : -1;
    masks[i] = mask;
}

// ---- exchange ----

// The first lane whose value passes the limit tells all others its own; none: -1.
extern "C" __global__ void first_above(const int* in, int limit, int* out)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const int value = in[i];
    const unsigned int above = __ballot_sync(FULL, value > limit);
    out[i] = above ? __shfl_sync(FULL, value, __ffs(above) - 1) : -1;
}

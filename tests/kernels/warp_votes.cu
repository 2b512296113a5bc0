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

// Negative numbers to the front of each warp's row, the others behind, both in order.
extern "C" __global__ void partition_signs(const int* in, int* out)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const int value = in[i];
    const unsigned int front = __ballot_sync(FULL, value < 0);
    const int place = value < 0 ? __popc(front & lanes_below())
                                : __popc(front) + __popc(~front & lanes_below());
    out[(i & ~31) + place] = value;
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

// Runs of equal values in a warp's row: value and length, and how many there are.
extern "C" __global__ void run_lengths(const int* in, int2* runs, int* counts)
{
    const int lane = threadIdx.x & 31;
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const int value = in[i];
    const int before = __shfl_up_sync(FULL, value, 1);
    const unsigned int heads = __ballot_sync(FULL, lane == 0 || value != before);
    if (heads >> lane & 1) {
        const unsigned int behind = lane == 31 ? 0u : heads >> (lane + 1);
        const int length = behind ? __ffs(behind) : 32 - lane;
        runs[(i & ~31) + __popc(heads & lanes_below())] = make_int2(value, length);
    }
    if (lane == 0) counts[i / 32] = __popc(heads);
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

// Neighbours in turn, until no lane has changed anything in two rounds.
extern "C" __global__ void odd_even_warp(const short* in, short* out, int* rounds)
{
    const int lane = threadIdx.x & 31;
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    int value = in[i];
    int round = 0;
    int quiet = 0;
    while (quiet < 2) {
        const int partner = (lane + round) & 1 ? lane - 1 : lane + 1;
        const int other = __shfl_sync(FULL, value, partner & 31);
        const bool has_partner = partner >= 0 && partner < 32;
        const bool takes = has_partner && (partner > lane ? other < value : other > value);
        if (takes) value = other;
        quiet = __any_sync(FULL, takes) ? 0 : quiet + 1;
        ++round;
    }
    out[i] = static_cast<short>(value);
    if (lane == 0) rounds[i / 32] = round;
}

// By one bit after the other; a lane's value goes where the ballot says.
extern "C" __global__ void radix_warp(const unsigned char* in, unsigned char* out)
{
    __shared__ unsigned char rows[4][32];
    const int lane = threadIdx.x & 31;
    unsigned char* row = rows[threadIdx.x >> 5];
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned int value = in[i];
    for (int bit = 0; bit < 8; ++bit) {
        const unsigned int ones = __ballot_sync(FULL, value >> bit & 1);
        const int zeros = 32 - __popc(ones);
        const int place = value >> bit & 1 ? zeros + __popc(ones & lanes_below())
                                           : __popc(~ones & lanes_below());
        row[place] = static_cast<unsigned char>(value);
        __syncwarp();
        value = row[lane];
        __syncwarp();
    }
    out[i] = static_cast<unsigned char>(value);
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

// A histogram a warp in shared memory, added up at the end.
extern "C" __global__ void warp_histograms(const unsigned char* in, unsigned int* bins, int n)
{
    __shared__ unsigned int own[4][64];
    for (int k = threadIdx.x; k < 4 * 64; k += blockDim.x) own[k / 64][k % 64] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        atomicAdd(&own[threadIdx.x / 32][in[i] & 63], 1u);
    }
    __syncthreads();
    for (int k = threadIdx.x; k < 64; k += blockDim.x) {
        atomicAdd(&bins[k], own[0][k] + own[1][k] + own[2][k] + own[3][k]);
    }
}

// For each lane how many before it in the warp have its key, and whether it is the last of them.
extern "C" __global__ void match_ranks(const long long* keys, int* ranks, int* is_last)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const unsigned int peers = __match_any_sync(FULL, keys[i]);
    ranks[i] = __popc(peers & lanes_below());
    is_last[i] = (peers >> (threadIdx.x & 31)) == 1u;
}

// Lanes of equal keys add their values up by a tree over their ranks.
extern "C" __global__ void sums_by_key(const int* keys, const int* values, int* sums)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const unsigned int peers = __match_any_sync(FULL, keys[i]);
    const int first = __ffs(peers) - 1;
    const int rank = __popc(peers & lanes_below());
    unsigned int rest = peers & ~(lanes_below() << 1 | 1u);  // the peers behind this lane
    int sum = values[i];
    int left = rank;
    while (__any_sync(FULL, rest)) {
        const int next = __ffs(rest);
        const int other = __shfl_sync(FULL, sum, next ? next - 1 : 0);
        if (next) sum += other;
        // What was added is of no more use: only ranks that are even stay.
        const unsigned int done = __ballot_sync(FULL, left & 1);
        rest &= ~done;
        left >>= 1;
    }
    sums[i] = __shfl_sync(FULL, sum, first);
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

// Lanes need different numbers of rounds; those that are done wait for the last.
extern "C" __global__ void collatz_until_all(const int* in, int* steps, int* most)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    int value = in[i];
    int count = 0;
    int rounds = 0;
    while (!__all_sync(FULL, value == 1)) {
        if (value != 1) {
            value = value % 2 ? 3 * value + 1 : value / 2;
            ++count;
        }
        ++rounds;
    }
    steps[i] = count;
    most[i] = rounds;
}

// The greatest common divisor: each lane has its own loop, then they meet.
extern "C" __global__ void gcd_of_warp(const int* in, int* out)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    int value = in[i];
    for (int mask = 16; mask > 0; mask /= 2) {
        int other = __shfl_xor_sync(FULL, value, mask);
        while (other != 0) {
            const int rest = value % other;
            value = other;
            other = rest;
        }
        __syncwarp();
    }
    out[i] = value;
}

// Rows of 8 become columns; a lane has a whole row.
extern "C" __global__ void transpose_8_by_8(const int* in, int* out)
{
    const int lane = threadIdx.x & 7;
    const int base = (blockIdx.x * blockDim.x + threadIdx.x) * 8;
    int row[8];
    for (int k = 0; k < 8; ++k) row[k] = in[base + k];
    for (int size = 4; size > 0; size /= 2) {
        for (int k = 0; k < 8; ++k) {
            if (k & size) continue;
            const bool is_upper = lane & size;
            const int sent = is_upper ? row[k] : row[k + size];
            const int taken = __shfl_xor_sync(FULL, sent, size, 8);
            if (is_upper) {
                row[k] = taken;
            } else {
                row[k + size] = taken;
            }
        }
    }
    for (int k = 0; k < 8; ++k) out[base + k] = row[k];
}

// The first lane whose value passes the limit tells all others its own; none: -1.
extern "C" __global__ void first_above(const int* in, int limit, int* out)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const int value = in[i];
    const unsigned int above = __ballot_sync(FULL, value > limit);
    out[i] = above ? __shfl_sync(FULL, value, __ffs(above) - 1) : -1;
}

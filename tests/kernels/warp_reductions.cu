// Reductions and scans whose warps run in step: by volatile memory, by shuffles, by __syncwarp.

#define FULL 0xffffffffu

// ---- through volatile memory, as before there was __syncwarp ----

template <unsigned int SIZE>
__device__ void fold_last_warp(volatile int* sums, int t)
{
    if (SIZE >= 64) sums[t] += sums[t + 32];
    if (SIZE >= 32) sums[t] += sums[t + 16];
    if (SIZE >= 16) sums[t] += sums[t + 8];
    if (SIZE >= 8) sums[t] += sums[t + 4];
    if (SIZE >= 4) sums[t] += sums[t + 2];
    if (SIZE >= 2) sums[t] += sums[t + 1];
}

// The block is SIZE threads; what lies behind them is read by lanes whose sums nobody needs.
template <unsigned int SIZE>
__global__ void volatile_sums(const int* in, int* out)
{
    __shared__ int sums[SIZE + 32];
    const int t = threadIdx.x;
    sums[t] = in[blockIdx.x * SIZE + t];
    if (t < 32) sums[SIZE + t] = 0;
    __syncthreads();
    for (unsigned int half = SIZE / 2; half > 32; half /= 2) {
        if (t < half) sums[t] += sums[t + half];
        __syncthreads();
    }
    if (t < 32) fold_last_warp<SIZE>(sums, t);
    if (t == 0) out[blockIdx.x] = sums[0];
}

// Largest value and where it is; each warp has two rows of its own.
extern "C" __global__ void volatile_argmax(const float* in, int* where)
{
    __shared__ volatile float values[4][32];
    __shared__ volatile int places[4][32];
    const int lane = threadIdx.x & 31;
    const int warp = threadIdx.x >> 5;
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    values[warp][lane] = in[i];
    places[warp][lane] = i;
    for (int half = 16; half > 0; half >>= 1) {
        if (lane < half && values[warp][lane + half] > values[warp][lane]) {
            values[warp][lane] = values[warp][lane + half];
            places[warp][lane] = places[warp][lane + half];
        }
    }
    if (lane == 0) where[i / 32] = places[warp][0];
}

// Inclusive; zeros in front of the values take the place of a condition.
__device__ int scan_warp(volatile int* padded, int value)
{
    const int at = 2 * (threadIdx.x & ~31) + (threadIdx.x & 31);
    padded[at] = 0;
    padded[at + 32] = value;
    padded[at + 32] += padded[at + 32 - 1];
    padded[at + 32] += padded[at + 32 - 2];
    padded[at + 32] += padded[at + 32 - 4];
    padded[at + 32] += padded[at + 32 - 8];
    padded[at + 32] += padded[at + 32 - 16];
    return padded[at + 32];
}

extern "C" __global__ void volatile_scan(const int* in, int* out)
{
    __shared__ int padded[2 * 128];
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = scan_warp(padded, in[i]);
}

// The whole block: warps scan, one warp scans their totals. Four warps.
extern "C" __global__ void volatile_block_scan(const int* in, int* out)
{
    __shared__ int padded[2 * 128];
    __shared__ int totals[32];
    const int t = threadIdx.x;
    const int i = blockIdx.x * blockDim.x + t;
    int sum = scan_warp(padded, in[i]);
    if (t < 32) totals[t] = 0;
    __syncthreads();
    if ((t & 31) == 31) totals[t >> 5] = sum;
    __syncthreads();
    if (t < 32) totals[t] = scan_warp(padded, totals[t]);
    __syncthreads();
    if (t >= 32) sum += totals[(t >> 5) - 1];
    out[i] = sum;
}

// ---- by shuffles ----

extern "C" __global__ void shuffle_sums_of_8(const int* in, int* out)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    int sum = in[i];
    sum += __shfl_down_sync(FULL, sum, 4, 8);
    sum += __shfl_down_sync(FULL, sum, 2, 8);
    sum += __shfl_down_sync(FULL, sum, 1, 8);
    if ((i & 7) == 0) out[i / 8] = sum;
}

extern "C" __global__ void shuffle_range(const double* in, double* lowest, double* highest)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    double low = in[i];
    double high = low;
    for (int mask = 16; mask; mask >>= 1) {
        low = fmin(low, __shfl_xor_sync(FULL, low, mask));
        high = fmax(high, __shfl_xor_sync(FULL, high, mask));
    }
    lowest[i] = low;
    highest[i] = high;
}

extern "C" __global__ void kogge_stone(const unsigned long long* in, unsigned long long* out)
{
    const int lane = threadIdx.x & 31;
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned long long sum = in[i];
    for (int step = 1; step < 32; step *= 2) {
        const unsigned long long before = __shfl_up_sync(FULL, sum, step);
        if (lane >= step) sum += before;
    }
    out[i] = sum;
}

// Exclusive, of maxima, in groups of 16.
extern "C" __global__ void scan_maxima_of_16(const int* in, int* out)
{
    const int lane = threadIdx.x & 15;
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    int most = in[i];
    for (int step = 1; step < 16; step <<= 1) {
        const int before = __shfl_up_sync(FULL, most, step, 16);
        if (lane >= step && before > most) most = before;
    }
    const int shifted = __shfl_up_sync(FULL, most, 1, 16);
    out[i] = lane == 0 ? -1 : shifted;
}

// Sklansky's network: the upper half of each group adds the last sum of the lower one.
extern "C" __global__ void sklansky(const int* in, int* out)
{
    const int lane = threadIdx.x & 31;
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    int sum = in[i];
    for (int half = 1; half < 32; half *= 2) {
        const int last = __shfl_sync(FULL, sum, (lane & ~(2 * half - 1)) + half - 1);
        if (lane & half) sum += last;
    }
    out[i] = sum;
}

// Each warp ends up with the whole sum of the block, with two barriers. Up to 32 warps.
extern "C" __global__ void block_total(const int* in, int* out)
{
    __shared__ int sums[32];
    const int lane = threadIdx.x % 32;
    const int warp = threadIdx.x / 32;
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    int sum = in[i];
    for (int half = 16; half > 0; half /= 2) sum += __shfl_xor_sync(FULL, sum, half);
    if (lane == 0) sums[warp] = sum;
    __syncthreads();
    sum = lane < blockDim.x / 32 ? sums[lane] : 0;
    for (int half = 16; half > 0; half /= 2) sum += __shfl_xor_sync(FULL, sum, half);
    out[i] = sum;
}

// Heads of segments as bits: how far a lane may look back is known before the scan.
extern "C" __global__ void segmented_scan(const int* in, const int* heads, int* out)
{
    const int lane = threadIdx.x & 31;
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const unsigned int marked = __ballot_sync(FULL, heads[i]) | 1u;
    const int first = 31 - __clz(marked & (FULL >> (31 - lane)));
    int sum = in[i];
    for (int step = 1; step < 32; step *= 2) {
        const int before = __shfl_up_sync(FULL, sum, step);
        if (lane - step >= first) sum += before;
    }
    out[i] = sum;
}

// Complex numbers, added by pairs of shuffles, and a product of rotations behind it.
extern "C" __global__ void pair_products(const float2* in, float2* out)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    float2 z = in[i];
    for (int mask = 1; mask < 32; mask *= 2) {
        float2 w;
        w.x = __shfl_xor_sync(FULL, z.x, mask);
        w.y = __shfl_xor_sync(FULL, z.y, mask);
        const float real = z.x * w.x - z.y * w.y;
        z.y = z.x * w.y + z.y * w.x;
        z.x = real;
    }
    if ((threadIdx.x & 31) == 0) out[i / 32] = z;
}

// ---- through shared memory, with __syncwarp ----

extern "C" __global__ void syncwarp_sums(const int* in, int* out)
{
    __shared__ int sums[4][32];
    const int lane = threadIdx.x % 32;
    int* own = sums[threadIdx.x / 32];
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    int sum = in[i];
    own[lane] = sum;
    __syncwarp();
    for (int half = 16; half > 0; half /= 2) {
        if (lane < half) sum += own[lane + half];
        __syncwarp();
        if (lane < half) own[lane] = sum;
        __syncwarp();
    }
    if (lane == 0) out[i / 32] = sum;
}

// The upper half of the warp leaves; the lower one goes on with a mask of its own.
extern "C" __global__ void syncwarp_halves(const int* in, int* out)
{
    __shared__ int held[32];
    const int lane = threadIdx.x;
    held[lane] = in[blockIdx.x * 32 + lane];
    __syncwarp();
    if (lane >= 16) return;
    held[lane] *= held[lane + 16];
    __syncwarp(0x0000ffffu);
    out[blockIdx.x * 16 + lane] = held[lane] - held[15 - lane];
}

// ---- of blocks ----

// Two buffers, and barriers on different lines for the lower and the upper half of the block.
extern "C" __global__ void hillis_steele(const int* in, int* out)
{
    __shared__ int buffers[2][128];
    const int t = threadIdx.x;
    int from = 0;
    buffers[0][t] = in[blockIdx.x * 128 + t];
    __syncthreads();
    for (int step = 1; step < 128; step *= 2, from ^= 1) {
        buffers[from ^ 1][t] = buffers[from][t] + (t >= step ? buffers[from][t - step] : 0);
        if (t < 64) {
            __syncthreads();
        } else {
            __syncthreads();
        }
    }
    out[blockIdx.x * 128 + t] = buffers[from][t];
}

// Up and down a tree; exclusive. Each thread has two values.
extern "C" __global__ void blelloch(const int* in, int* out)
{
    __shared__ int tree[256];
    const int t = threadIdx.x;
    const int first = blockIdx.x * 256;
    tree[2 * t] = in[first + 2 * t];
    tree[2 * t + 1] = in[first + 2 * t + 1];
    int offset = 1;
    for (int d = 128; d > 0; d >>= 1, offset *= 2) {
        __syncthreads();
        if (t < d) tree[offset * (2 * t + 2) - 1] += tree[offset * (2 * t + 1) - 1];
    }
    if (t == 0) tree[255] = 0;
    for (int d = 1; d < 256; d *= 2) {
        offset >>= 1;
        __syncthreads();
        if (t < d) {
            const int a = offset * (2 * t + 1) - 1;
            const int b = offset * (2 * t + 2) - 1;
            const int left = tree[a];
            tree[a] = tree[b];
            tree[b] += left;
        }
    }
    __syncthreads();
    out[first + 2 * t] = tree[2 * t];
    out[first + 2 * t + 1] = tree[2 * t + 1];
}

// The block that is done last adds the sums of all.
extern "C" __global__ void last_block_total(const int* in, int* sums, unsigned int* done,
                                            int* total)
{
    __shared__ bool is_last;
    int count = 0;
    for (int k = 0; k < 4; ++k) {
        count += __syncthreads_count(in[(blockIdx.x * 4 + k) * blockDim.x + threadIdx.x] & 1);
    }
    if (threadIdx.x == 0) {
        sums[blockIdx.x] = count;
        __threadfence();
        is_last = atomicInc(done, gridDim.x - 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (!is_last || threadIdx.x >= 32) return;
    int sum = 0;
    for (int k = threadIdx.x; k < gridDim.x; k += 32) {
        sum += reinterpret_cast<volatile int*>(sums)[k];
    }
    for (int k = 16; k; k /= 2) sum += __shfl_down_sync(FULL, sum, k);
    if (threadIdx.x == 0) *total = sum;
}

// A scan of the whole array in one pass. A block takes the next ticket, publishes its sum, looks
// back until one has all before it, and publishes that. A word holds a sum and what it is.
extern "C" __global__ void look_back_scan(const unsigned int* in, unsigned int* out,
                                          unsigned long long* state, unsigned int* tickets)
{
    __shared__ unsigned int ticket, before, warps[4];
    const unsigned long long SUM = 1ull << 32, PREFIX = 2ull << 32;
    const int lane = threadIdx.x & 31;
    const int warp = threadIdx.x >> 5;
    if (threadIdx.x == 0) ticket = atomicAdd(tickets, 1u);
    __syncthreads();
    const unsigned int block = ticket;
    const unsigned int i = block * blockDim.x + threadIdx.x;
    unsigned int sum = in[i];
    for (int step = 1; step < 32; step *= 2) {
        const unsigned int other = __shfl_up_sync(FULL, sum, step);
        if (lane >= step) sum += other;
    }
    if (lane == 31) warps[warp] = sum;
    __syncthreads();
    for (int k = 0; k < warp; ++k) sum += warps[k];
    if (threadIdx.x == blockDim.x - 1) {
        volatile unsigned long long* words = state;
        unsigned int all = 0;
        if (block > 0) {
            words[block] = SUM | sum;
            __threadfence();
            for (int k = block - 1; k >= 0; --k) {
                unsigned long long word;
                do {
                    word = words[k];
                } while (word == 0);
                all += static_cast<unsigned int>(word);
                if (word >= PREFIX) break;
            }
        }
        words[block] = PREFIX | (all + sum);
        before = all;
    }
    __syncthreads();
    out[i] = before + sum;
}

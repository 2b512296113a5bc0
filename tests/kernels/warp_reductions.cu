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

// ---- of blocks ----

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

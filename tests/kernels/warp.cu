// Shuffles, votes and matches of a warp.

#define ALL 0xffffffffu

template <typename T>
__global__ void warp_sums(const T* in, T* by_down, T* by_xor, int warps)
{
    const int warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
    const int lane = threadIdx.x % 32;
    if (warp >= warps) return;  // whole warps leave
    const T value = in[warp * 32 + lane];

    T down = value;
    for (int offset = 16; offset > 0; offset >>= 1) {
        down += __shfl_down_sync(ALL, down, offset);
    }
    if (lane == 0) by_down[warp] = down;

    T butterfly = value;
    for (int mask = 16; mask > 0; mask >>= 1) {
        butterfly += __shfl_xor_sync(ALL, butterfly, mask);
    }
    by_xor[warp * 32 + lane] = butterfly;
}

// Sums within groups of WIDTH lanes.
template <int WIDTH>
__global__ void group_sums(const int* in, int* out)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    int sum = in[i];
    for (int offset = WIDTH / 2; offset > 0; offset /= 2) {
        sum += __shfl_down_sync(ALL, sum, offset, WIDTH);
    }
    if (threadIdx.x % WIDTH == 0) out[i / WIDTH] = sum;
}

// Every lane reads the lane that its own index names, also negative ones and beyond the warp.
extern "C" __global__ void gather_in_warp(const double* in, const int* lanes, double* out)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = __shfl_sync(ALL, in[i], lanes[i]);
}

extern "C" __global__ void votes(const int* in, unsigned int* ballots, int* any, int* all, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const int warp = i / 32;
    const bool positive = i < n && in[i] > 0;
    const unsigned int mask = __ballot_sync(ALL, positive);
    const int some = __any_sync(ALL, positive);
    const int every = __all_sync(ALL, positive);
    if (threadIdx.x % 32 == 0) {
        ballots[warp] = mask;
        any[warp] = some != 0;
        all[warp] = every != 0;
    }
}

// Position of each kept element among those that its warp keeps.
extern "C" __global__ void lane_ranks(const int* in, int* ranks)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const int lane = threadIdx.x & 31;
    const int keep = in[i] & 1;
    const unsigned int kept = __ballot_sync(ALL, keep);
    const unsigned int below = (1u << lane) - 1;
    ranks[i] = keep ? __popc(kept & below) : -1;
}

extern "C" __global__ void matches(const int* keys, unsigned int* any, unsigned int* all,
                                   int* unanimous)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    int same = 0;
    any[i] = __match_any_sync(ALL, keys[i]);
    all[i] = __match_all_sync(ALL, keys[i], &same);
    unanimous[i] = same;
}

// Code that every thread runs: the mask of the active lanes is that of the warp's threads.
extern "C" __global__ void active_lanes(unsigned int* masks)
{
    masks[blockIdx.x * blockDim.x + threadIdx.x] = __activemask();
}

// Half of the warp works on one thing, the other half on another, each with its own mask.
extern "C" __global__ void half_warps(const int* in, int* out)
{
    const int lane = threadIdx.x;
    int value = in[lane];
    if (lane < 16) {
        for (int offset = 8; offset > 0; offset >>= 1) {
            value += __shfl_xor_sync(0x0000ffffu, value, offset);
        }
    } else {
        for (int offset = 8; offset > 0; offset >>= 1) {
            value = max(value, __shfl_xor_sync(0xffff0000u, value, offset));
        }
    }
    __syncwarp();
    out[lane] = value;
}

__device__ int warp_add(int value)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    return __reduce_add_sync(ALL, value);
#else
    for (int mask = 16; mask > 0; mask >>= 1) value += __shfl_xor_sync(ALL, value, mask);
    return value;
#endif
}

// Lanes hand values over through shared memory, one warp at a time.
extern "C" __global__ void rotate_through_shared(const float* in, float* out)
{
    __shared__ float lanes[4][32];
    const int warp = threadIdx.y;
    const int lane = threadIdx.x;
    const int i = (blockIdx.x * 4 + warp) * 32 + lane;
    lanes[warp][lane] = in[i];
    __syncwarp();
    out[i] = lanes[warp][(lane + 7) % 32];
}

// A transpose of 4 × 4 values that four lanes hold, without memory.
extern "C" __global__ void transpose_by_shuffles(const int* in, int* out)
{
    int rows[4];
    const int lane = threadIdx.x % 4;
    const int base = (blockIdx.x * blockDim.x + threadIdx.x) * 4;
    for (int k = 0; k < 4; ++k) rows[k] = in[base + k];
    int result[4] = {0, 0, 0, 0};
    for (int step = 0; step < 4; ++step) {
        const int sent = rows[(lane - step) & 3];
        const int received = __shfl_sync(ALL, sent, (lane + step) & 3, 4);
        result[(lane + step) & 3] = received;
    }
    for (int k = 0; k < 4; ++k) out[base + k] = result[k];
}

// One atomic a warp and key: the lanes that agree elect a leader.
extern "C" __global__ void count_by_leaders(const int* keys, int* counts, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const int lane = threadIdx.x & 31;
    const int key = i < n ? keys[i] : -1;
    const unsigned int peers = __match_any_sync(ALL, key);
    const int leader = __ffs(peers) - 1;
    if (lane == leader && key >= 0) {
        atomicAdd(&counts[key], __popc(peers));
    }
}

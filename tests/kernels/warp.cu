// Shuffles of a warp, and its active lanes.

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

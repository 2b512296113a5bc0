// Small device helpers that several of the kernel files share.
#pragma once

namespace common {

constexpr unsigned int FULL_WARP = 0xffffffffu;

__host__ __device__ constexpr int ceil_div(int a, int b)
{
    return (a + b - 1) / b;
}

__device__ inline int global_index()
{
    return static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
}

template <typename T>
__device__ T clamp(T value, T low, T high)
{
    return value < low ? low : (value > high ? high : value);
}

struct Sum {
    template <typename T>
    __device__ T operator()(T a, T b) const
    {
        return a + b;
    }
};

struct Max {
    template <typename T>
    __device__ T operator()(T a, T b) const
    {
        return a > b ? a : b;
    }
};

// The result is valid in lane 0.
template <typename T, typename Op>
__device__ T warp_reduce(T value, Op op)
{
    for (int offset = warpSize / 2; offset > 0; offset /= 2) {
        value = op(value, __shfl_down_sync(FULL_WARP, value, offset));
    }
    return value;
}

// The result is returned to every thread. The block is one-dimensional and made of whole warps.
template <typename T, typename Op>
__device__ T block_reduce(T value, T identity, Op op)
{
    __shared__ T partial[32];
    const unsigned int lane = threadIdx.x % warpSize;
    const unsigned int warp = threadIdx.x / warpSize;

    value = warp_reduce(value, op);
    if (lane == 0) {
        partial[warp] = value;
    }
    __syncthreads();
    if (warp == 0) {
        value = lane < blockDim.x / warpSize ? partial[lane] : identity;
        value = warp_reduce(value, op);
        if (lane == 0) {
            partial[0] = value;
        }
    }
    __syncthreads();
    const T result = partial[0];
    __syncthreads();  // the next call may overwrite the partial results
    return result;
}

}  // namespace common

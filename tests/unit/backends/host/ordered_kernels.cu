// Kernels whose threads exchange values: those that order the accesses, and `wrong_` ones that do not.
// All are launched with two blocks of 64 threads, on 128 elements.
#include <cuda_pipeline.h>

#define KERNEL extern "C" __global__ void
#define GLOBAL_INDEX (blockIdx.x * blockDim.x + threadIdx.x)

__device__ unsigned int blocks_done;

KERNEL reversed(float* y, const float* x, int n) {
    __shared__ float part[64];
    part[threadIdx.x] = x[GLOBAL_INDEX];
    __syncthreads();
    y[GLOBAL_INDEX] = part[63 - threadIdx.x];
}
KERNEL tree_sum(float* y, const float* x, int n) {
    __shared__ float part[64];
    part[threadIdx.x] = x[GLOBAL_INDEX];
    __syncthreads();
    for (int d = 32; d > 0; d /= 2) {
        if (threadIdx.x < d) part[threadIdx.x] += part[threadIdx.x + d];
        __syncthreads();
    }
    y[GLOBAL_INDEX] = part[0];
}
KERNEL syncwarp_sum(float* y, const float* x, int n) {
    __shared__ float part[64];
    part[threadIdx.x] = x[GLOBAL_INDEX];
    __syncwarp();
    for (int d = 16; d > 0; d /= 2) {
        float other = threadIdx.x % 32 < d ? part[threadIdx.x + d] : 0;
        __syncwarp();
        part[threadIdx.x] += other;
        __syncwarp();
    }
    y[GLOBAL_INDEX] = part[threadIdx.x / 32 * 32];
}
KERNEL volatile_sum(float* y, const float* x, int n) {
    __shared__ volatile float part[64];
    part[threadIdx.x] = x[GLOBAL_INDEX];
    __syncthreads();
    if (threadIdx.x < 32) {
        part[threadIdx.x] += part[threadIdx.x + 32];
        if (threadIdx.x < 16) part[threadIdx.x] += part[threadIdx.x + 16];
        if (threadIdx.x < 8) part[threadIdx.x] += part[threadIdx.x + 8];
        if (threadIdx.x < 4) part[threadIdx.x] += part[threadIdx.x + 4];
        if (threadIdx.x < 2) part[threadIdx.x] += part[threadIdx.x + 2];
        if (threadIdx.x < 1) part[threadIdx.x] += part[threadIdx.x + 1];
    }
    __syncthreads();
    y[GLOBAL_INDEX] = part[0];
}
KERNEL histogram(float* y, const float* x, int n) {
    __shared__ unsigned int bins[8];
    if (threadIdx.x < 8) bins[threadIdx.x] = 0;
    __syncthreads();
    atomicAdd(&bins[int(x[GLOBAL_INDEX]) % 8], 1u);
    __syncthreads();
    if (threadIdx.x < 8) atomicAdd(&y[threadIdx.x], float(bins[threadIdx.x]));
}
KERNEL left_early(float* y, const float* x, int n) {
    if (GLOBAL_INDEX >= n - 5) return;
    const unsigned int lanes = __activemask();
    y[GLOBAL_INDEX] = x[GLOBAL_INDEX] + __popc(__ballot_sync(lanes, x[GLOBAL_INDEX] > 3));
}
KERNEL last_block(float* y, const float* x, int n) {
    __shared__ bool is_last;
    y[GLOBAL_INDEX] = x[GLOBAL_INDEX];
    __threadfence();
    if (threadIdx.x == 0) is_last = atomicInc(&blocks_done, gridDim.x - 1) == gridDim.x - 1;
    __syncthreads();
    if (is_last && threadIdx.x == 0) {
        float sum = 0;
        for (int k = 1; k < n; ++k) sum += y[k];
        y[0] = sum;
    }
}
KERNEL compacted(float* y, const float* x, int n) {
    const bool wanted = int(x[GLOBAL_INDEX]) % 3 == 0;
    const unsigned int lanes = __ballot_sync(~0u, wanted);
    const unsigned int before = lanes & ((1u << threadIdx.x % 32) - 1);
    if (wanted) y[GLOBAL_INDEX / 32 * 32 + __popc(before)] = x[GLOBAL_INDEX];
}
KERNEL one_value(float* y, const float* x, int n) {
    __shared__ int found;
    if (threadIdx.x == 0) found = 0;
    __syncthreads();
    if (x[GLOBAL_INDEX] > 3) found = 1;
    __syncthreads();
    y[GLOBAL_INDEX] = found;
}
KERNEL broadcast(float* y, const float* x, int n) {
    __shared__ float head[2];
    for (int k = 0; k < 3; ++k) {
        if (threadIdx.x % 32 == k) head[threadIdx.x / 32] = x[GLOBAL_INDEX];
        __syncwarp();
        y[GLOBAL_INDEX] += head[threadIdx.x / 32];
        __syncwarp();
    }
}
KERNEL voted_loop(float* y, const float* x, int n) {
    __shared__ int left[64];
    left[threadIdx.x] = int(x[GLOBAL_INDEX]) % 7;
    int rounds = 0;
    while (__syncthreads_or(left[63 - threadIdx.x] > 0)) {
        if (left[threadIdx.x] > 0) --left[threadIdx.x];
        ++rounds;
        __syncthreads();
    }
    y[GLOBAL_INDEX] = rounds;
}
KERNEL neighbouring_bytes(float* y, const float* x, int n) {
    __shared__ unsigned char part[64];
    part[threadIdx.x] = int(x[GLOBAL_INDEX]);
    __syncthreads();
    part[63 - threadIdx.x] += 1;
    __syncthreads();
    y[GLOBAL_INDEX] = part[threadIdx.x];
}
KERNEL used_twice(float* y, const float* x, int n) {
    __shared__ double memory[64];
    float* const part = reinterpret_cast<float*>(memory);
    part[threadIdx.x] = x[GLOBAL_INDEX];
    __syncthreads();
    const float other = part[63 - threadIdx.x];
    __syncthreads();
    memory[threadIdx.x] = other;
    __syncthreads();
    y[GLOBAL_INDEX] = memory[threadIdx.x ^ 1];
}
KERNEL in_branches(float* y, const float* x, int n) {
    __shared__ float part[64];
    if (threadIdx.x < 32) {
        part[threadIdx.x] = x[GLOBAL_INDEX];
        __syncthreads();
        y[GLOBAL_INDEX] = part[63 - threadIdx.x];
    } else {
        part[threadIdx.x] = 2 * x[GLOBAL_INDEX];
        __syncthreads();
        y[GLOBAL_INDEX] = part[63 - threadIdx.x];
    }
}
KERNEL fetched(float* y, const float* x, int n) {
    __shared__ float part[64];
    __pipeline_memcpy_async(&part[threadIdx.x], &x[GLOBAL_INDEX], 4);
    __pipeline_commit();
    __pipeline_wait_prior(0);
    __syncthreads();
    y[GLOBAL_INDEX] = part[63 - threadIdx.x];
}

// ---- what the check of memory finds ----

KERNEL wrong_reversed(float* y, const float* x, int n) {
    __shared__ float part[64];
    part[threadIdx.x] = x[GLOBAL_INDEX];
    y[GLOBAL_INDEX] = part[63 - threadIdx.x] + part[threadIdx.x ^ 1];
}
KERNEL wrong_tree_sum(float* y, const float* x, int n) {
    __shared__ float part[64];
    part[threadIdx.x] = x[GLOBAL_INDEX];
    __syncthreads();
    for (int d = 32; d > 0; d /= 2)
        if (threadIdx.x < d) part[threadIdx.x] += part[threadIdx.x + d];
    __syncthreads();
    y[GLOBAL_INDEX] = part[0];
}
KERNEL wrong_syncwarp_sum(float* y, const float* x, int n) {
    __shared__ float part[64];
    part[threadIdx.x] = x[GLOBAL_INDEX];
    __syncwarp();
    for (int d = 16; d > 0; d /= 2) {
        if (threadIdx.x % 32 < d) part[threadIdx.x] += part[threadIdx.x + d];
    }
    y[GLOBAL_INDEX] = part[threadIdx.x / 32 * 32];
}
KERNEL wrong_scan(float* y, const float* x, int n) {
    __shared__ float part[64];
    part[threadIdx.x] = x[GLOBAL_INDEX];
    __syncthreads();
    for (int d = 1; d < 64; d *= 2) {
        if (threadIdx.x >= d) part[threadIdx.x] += part[threadIdx.x - d];
        __syncthreads();
    }
    y[GLOBAL_INDEX] = part[threadIdx.x];
}
KERNEL wrong_histogram(float* y, const float* x, int n) {
    __shared__ unsigned int bins[8];
    if (threadIdx.x < 8) bins[threadIdx.x] = 0;
    __syncthreads();
    ++bins[int(x[GLOBAL_INDEX]) % 8];
    __syncthreads();
    if (threadIdx.x < 8) atomicAdd(&y[threadIdx.x], float(bins[threadIdx.x]));
}
KERNEL wrong_exchange(float* y, const float* x, int n) {
    y[GLOBAL_INDEX] = 2 * x[GLOBAL_INDEX];
    float sum = 0;
    for (int k = 0; k < 32; ++k) sum += y[k];
    if (sum > 0) y[GLOBAL_INDEX] += 1;
}
KERNEL wrong_same_address(float* y, const float* x, int n) {
    float sum = x[GLOBAL_INDEX];
    for (int d = 16; d > 0; d /= 2) sum += __shfl_down_sync(~0u, sum, d);
    y[blockIdx.x] = sum;
}
KERNEL wrong_broadcast(float* y, const float* x, int n) {
    __shared__ float head[2];
    for (int k = 0; k < 3; ++k) {
        if (threadIdx.x % 32 == k) head[threadIdx.x / 32] = x[GLOBAL_INDEX];
        __syncwarp();
        y[GLOBAL_INDEX] += head[threadIdx.x / 32];
    }
}
KERNEL wrong_dynamic(float* y, const float* x, int n) {
    extern __shared__ float s[];
    s[threadIdx.x + 1] = x[GLOBAL_INDEX];
    __syncthreads();
    y[GLOBAL_INDEX] = s[64 - threadIdx.x];
}
KERNEL wrong_barrier(float* y, const float* x, int n) {
    __shared__ float part[64];
    part[threadIdx.x] = x[GLOBAL_INDEX];
    if (threadIdx.x < 40) __syncthreads();
    y[GLOBAL_INDEX] = part[threadIdx.x];
}

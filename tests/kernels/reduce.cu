// Reductions of a block and of a grid.
#include <math_constants.h>

#include "common.cuh"

// One partial sum a block, by sequential addressing.
template <typename T>
__global__ void sum_sequential(const T* x, T* partial, int n)
{
    __shared__ T data[256];
    const unsigned int t = threadIdx.x;
    T sum = 0;
    for (int i = blockIdx.x * blockDim.x + t; i < n; i += blockDim.x * gridDim.x) {
        sum += x[i];
    }
    data[t] = sum;
    __syncthreads();
    for (unsigned int s = blockDim.x / 2; s > 0; s >>= 1) {
        if (t < s) {
            data[t] += data[t + s];
        }
        __syncthreads();
    }
    if (t == 0) {
        partial[blockIdx.x] = data[0];
    }
}

// The block's size is known at compile time; the last warp goes on by shuffles.
template <unsigned int BLOCK>
__global__ void sum_unrolled(const int* x, int* partial, int n)
{
    __shared__ int data[BLOCK];
    const unsigned int t = threadIdx.x;
    const int i = blockIdx.x * (2 * BLOCK) + t;
    data[t] = (i < n ? x[i] : 0) + (i + static_cast<int>(BLOCK) < n ? x[i + BLOCK] : 0);
    __syncthreads();
    if (BLOCK >= 512) {
        if (t < 256) data[t] += data[t + 256];
        __syncthreads();
    }
    if (BLOCK >= 256) {
        if (t < 128) data[t] += data[t + 128];
        __syncthreads();
    }
    if (BLOCK >= 128) {
        if (t < 64) data[t] += data[t + 64];
        __syncthreads();
    }
    if (t < 32) {
        int sum = data[t] + data[t + 32];
        for (int offset = 16; offset > 0; offset >>= 1) {
            sum += __shfl_down_sync(0xffffffff, sum, offset);
        }
        if (t == 0) partial[blockIdx.x] = sum;
    }
}

struct Candidate {
    float value;
    int index;
};

__device__ Candidate smaller(Candidate a, Candidate b)
{
    if (b.value < a.value || (b.value == a.value && b.index < a.index)) {
        return b;
    }
    return a;
}

// Position of the first minimum of each row; one block a row, 128 threads.
extern "C" __global__ void argmin_rows(const float* matrix, int* where, int columns)
{
    __shared__ Candidate best[128];
    const float* row = matrix + blockIdx.x * columns;
    Candidate mine = {CUDART_INF_F, columns};
    for (int k = threadIdx.x; k < columns; k += 128) {
        Candidate other = {row[k], k};
        mine = smaller(mine, other);
    }
    best[threadIdx.x] = mine;
    for (int s = 64; s > 0; s /= 2) {
        __syncthreads();
        if (threadIdx.x < s) {
            best[threadIdx.x] = smaller(best[threadIdx.x], best[threadIdx.x + s]);
        }
    }
    if (threadIdx.x == 0) where[blockIdx.x] = best[0].index;
}

__device__ unsigned int blocks_done = 0;

// The last block to finish adds up the results of all; the counter wraps to zero by itself.
extern "C" __global__ void sum_last_block(const int* x, int* partial, int* total, int n)
{
    __shared__ bool is_last;
    int sum = 0;
    for (int i = common::global_index(); i < n; i += blockDim.x * gridDim.x) {
        sum += x[i];
    }
    sum = common::block_reduce(sum, 0, common::Sum());
    if (threadIdx.x == 0) {
        partial[blockIdx.x] = sum;
        __threadfence();
        const unsigned int ticket = atomicInc(&blocks_done, gridDim.x - 1);
        is_last = ticket == gridDim.x - 1;
    }
    __syncthreads();
    if (is_last) {
        __threadfence();
        const volatile int* sums = partial;
        sum = 0;
        for (unsigned int i = threadIdx.x; i < gridDim.x; i += blockDim.x) {
            sum += sums[i];
        }
        sum = common::block_reduce(sum, 0, common::Sum());
        if (threadIdx.x == 0) {
            *total = sum;
        }
    }
}

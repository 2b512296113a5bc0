// Atomic functions of every type; the results do not depend on the order of the threads.
#include <cuda_fp16.h>

extern "C" __global__ void atomic_unsigned(const unsigned int* x, unsigned int* out, int n)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) {
        atomicAdd(out + 0, x[i]);
        atomicSub(out + 1, x[i]);
        atomicMin(out + 2, x[i]);
        atomicMax(out + 3, x[i]);
        atomicAnd(out + 4, x[i]);
        atomicOr(out + 5, x[i]);
        atomicXor(out + 6, x[i]);
        atomicInc(out + 7, 9u);
        atomicDec(out + 8, 6u);
    }
}

extern "C" __global__ void atomic_64bit(const unsigned long long* x, unsigned long long* out,
                                        long long* signed_out, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    atomicAdd(&out[0], x[i]);
    atomicMin(&out[1], x[i]);
    atomicMax(&out[2], x[i]);
    atomicAnd(&out[3], x[i]);
    atomicOr(&out[4], x[i]);
    atomicXor(&out[5], x[i]);
    atomicMin(&signed_out[0], static_cast<long long>(x[i]));
    atomicMax(&signed_out[1], static_cast<long long>(x[i]));
}

template <typename T>
__global__ void atomic_sum(const T* x, T* sums, int slots, int n)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) {
        atomicAdd(&sums[i % slots], x[i]);
    }
}

// Every number is put in and taken out again by the next, but for the last one.
extern "C" __global__ void exchange(const int* x, int* slot, int* taken, float* float_slot, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        const int previous = atomicExch(slot, x[i]);
        atomicAdd(taken, previous);
        atomicExch(float_slot, 2.5f);
    }
}

// The values that atomicAdd returns are all different.
extern "C" __global__ void tickets(int* counter, int* mine)
{
    mine[blockIdx.x * blockDim.x + threadIdx.x] = atomicAdd(counter, 1);
}

__device__ float atomic_max_float(float* address, float value)
{
    int* bits = reinterpret_cast<int*>(address);
    int seen = *bits;
    while (value > __int_as_float(seen)) {
        const int assumed = seen;
        seen = atomicCAS(bits, assumed, __float_as_int(value));
        if (seen == assumed) break;
    }
    return __int_as_float(seen);
}

__device__ unsigned long long atomic_multiply(unsigned long long* address,
                                              unsigned long long value)
{
    unsigned long long old = *address;
    unsigned long long assumed;
    do {
        assumed = old;
        old = atomicCAS(address, assumed, assumed * value);
    } while (assumed != old);
    return old;
}

extern "C" __global__ void compare_and_swap(const float* x, float* largest,
                                            const unsigned long long* factors,
                                            unsigned long long* product, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        atomic_max_float(largest, x[i]);
        atomic_multiply(product, factors[i]);
    }
}

// A bit set for every number that occurs: the first thread to set one counts it.
extern "C" __global__ void count_distinct(const unsigned short* x, unsigned int* bitmap,
                                          int* distinct, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const unsigned int bit = 1u << (x[i] % 32);
    const unsigned int before = atomicOr(&bitmap[x[i] / 32], bit);
    if ((before & bit) == 0) atomicAdd(distinct, 1);
}

extern "C" __global__ void scoped(const int* x, int* by_block, int* by_system, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        atomicAdd_block(&by_block[2 * blockIdx.x], x[i]);
        atomicMax_block(&by_block[2 * blockIdx.x + 1], x[i]);
        atomicAdd_system(&by_system[0], x[i]);
        atomicXor_system(&by_system[1], x[i]);
    }
}

// Atomics on shared memory of several types.
extern "C" __global__ void shared_counters(const float* x, float* sums, int* counts,
                                           double* doubles, int n)
{
    __shared__ float sum;
    __shared__ int count;
    __shared__ double wide;
    if (threadIdx.x == 0) {
        sum = 0.0f;
        count = 0;
        wide = 0.0;
    }
    __syncthreads();
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && x[i] > 0.0f) {
        atomicAdd(&sum, x[i]);
        atomicAdd(&count, 1);
        atomicAdd(&wide, static_cast<double>(x[i]) * 0.5);
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        sums[blockIdx.x] = sum;
        counts[blockIdx.x] = count;
        doubles[blockIdx.x] = wide;
    }
}

// Small whole numbers, so that the sums are exact in half precision.
extern "C" __global__ void atomic_half2(const __half2* x, __half2* sum, __half* first, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        atomicAdd(sum, x[i]);
        atomicAdd(first, __low2half(x[i]));
    }
}

// A lock that one thread of each block takes.
extern "C" __global__ void locked_update(int* lock, volatile int* total, volatile int* turns)
{
    if (threadIdx.x != 0) return;
    while (atomicCAS(lock, 0, 1) != 0) {
    }
    __threadfence();
    *total = *total + static_cast<int>(blockIdx.x);
    *turns = *turns + 1;
    __threadfence();
    atomicExch(lock, 0);
}

// A hash table with linear probing: sums of the values of every key.
extern "C" __global__ void hash_sums(const int* keys, const int* values, int* table_keys,
                                     int* table_sums, int capacity, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned int slot = static_cast<unsigned int>(keys[i]) * 2654435761u % capacity;
    while (true) {
        const int held = atomicCAS(&table_keys[slot], -1, keys[i]);
        if (held == -1 || held == keys[i]) {
            atomicAdd(&table_sums[slot], values[i]);
            return;
        }
        slot = (slot + 1) % capacity;
    }
}

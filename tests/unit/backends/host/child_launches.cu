#include <cooperative_groups.h>
#include <cuda_runtime.h>
struct Range { double unused; int from, to; };
template <class T> __global__ void fill(T* x, Range range, T value) {
    int i = range.from + blockIdx.x * blockDim.x + threadIdx.x;
    if (i < range.to) x[i] = value;
}
__global__ void add_one(int* x, int n) {
    for (int i = threadIdx.x; i < n; i += blockDim.x) x[i] += 1;
}
extern "C" __global__ void in_order(int* x, int n) {
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        fill<int><<<(n + 63) / 64, 64>>>(x, Range{0.5, 1, n}, short(7));
        add_one<<<1, dim3(32), 0, (cudaStream_t)0>>>(x,
            n);
    }
}
// Each thread launches a block for a half of its range, down to one number.
extern "C" __global__ void halves(int* x, int low, int high) {
    const int middle = (low + high) / 2;
    if (high - low == 1) {
        x[low] = low;
    } else if (threadIdx.x == 0) {
        halves<<<1, 2>>>(x, low, middle);
    } else {
        halves<<<1, 2>>>(x, middle, high);
    }
}
// Sorts two halves around a pivot, each in a stream of its own.
__global__ void sort(unsigned int* x, int left, int right) {
    int low = left, high = right;
    const unsigned int pivot = x[(left + right) / 2];
    while (low <= high) {
        while (x[low] < pivot) ++low;
        while (x[high] > pivot) --high;
        if (low <= high) {
            const unsigned int held = x[low];
            x[low++] = x[high];
            x[high--] = held;
        }
    }
    cudaStream_t first, second;
    if (cudaStreamCreateWithFlags(&first, cudaStreamNonBlocking) != cudaSuccess) return;
    cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking);
    if (left < high) sort<<<1, 1, 0, first>>>(x, left, high);
    if (low < right) sort<<<1, 1, 0, second>>>(x, low, right);
    if (cudaGetLastError() != cudaSuccess || cudaPeekAtLastError() != cudaSuccess) x[0] = 99999;
    cudaStreamDestroy(first);
    cudaStreamDestroy(second);
}
__global__ void total(const float* x, float* sums) {
    extern __shared__ float values[];
    values[threadIdx.x] = x[blockIdx.x * blockDim.x + threadIdx.x];
    __syncthreads();
    for (int half = blockDim.x / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) values[threadIdx.x] += values[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0) sums[blockIdx.x] = values[0];
}
template <class T> __device__ void launch_total(const T* x, T* sums, int blocks, int block) {
    total<<<blocks, block, block * sizeof(T)>>>(x, sums);
}
extern "C" __global__ void totals(const float* x, float* sums, int blocks, int block) {
    if (blockIdx.x + threadIdx.x == 0) launch_total(x, sums, blocks, block);
}
extern "C" __global__ void totals_behind_grid(const float* x, float* sums, int* ready) {
    cooperative_groups::this_grid().sync();
    if (blockIdx.x == 1 && threadIdx.x == 0) totals<<<1, 1>>>(x, sums, 4, 32);
}
__global__ void checked(int* x) { assert(x[0] < 0); }
extern "C" __global__ void failing(int* x) {
    checked<<<1, 2>>>(x);
    add_one<<<1, 2>>>(x, 1);
}
extern "C" __global__ void endless(int* x) {
    x[0] += 1;
    endless<<<1, 1>>>(x);
}
extern "C" __global__ void trapped(int* x) {
    add_one<<<1, 1>>>(x, 1);
    if (x[1] == 0) __trap();
}

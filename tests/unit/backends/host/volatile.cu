#include "fold.cuh"
struct Pair { volatile int first; int second; volatile double sum; volatile unsigned bits : 5; };
typedef volatile short shared_short;
#define LAST_STEPS(s) if (t < 2) s[t] += s[t + 2]; \
    if (t < 1) s[t] += s[t + 1];

extern "C" __global__ void reduce(volatile float* x) {
    __shared__ volatile float s[64];
    int t = threadIdx.x; s[t] = x[t]; __syncthreads();
    if (t < 32) { s[t] += s[t + 32]; s[t] += s[t + 16]; s[t] += s[t + 8]; s[t] += s[t + 4];
                  s[t] += s[t + 2]; s[t] += s[t + 1]; }
    if (t == 0) x[0] = s[0];
}
template <class T, unsigned N> __device__ void warp_reduce(volatile T* s, unsigned t) {
    if (N >= 64) s[t] += s[t + 32];
    if (N >= 32) s[t] += s[t + 16];
    if (N >= 16) s[t] += s[t + 8];
    if (N >= 8) s[t] += s[t + 4];
    LAST_STEPS(s)
}
template <class T, unsigned N> __global__ void sample(const T* x, T* y, unsigned n) {
    extern __shared__ __align__(16) unsigned char bytes[];
    T* s = reinterpret_cast<T*>(bytes);
    unsigned t = threadIdx.x, i = blockIdx.x * N * 2 + t;
    T sum = 0;
    for (; i < n; i += N * 2 * gridDim.x) sum += x[i] + x[i + N];
    s[t] = sum;
    __syncthreads();
    for (unsigned half = N / 2; half > 32; half /= 2) {
        if (t < half) s[t] = sum = sum + s[t + half];
        __syncthreads();
    }
    if (t < 32) warp_reduce<T, N>(s, t);
    if (t == 0) y[blockIdx.x] = s[0];
}
extern "C" __global__ void chained(double* y) {
    __shared__ double data[64];
    int t = threadIdx.x; double sum = t;
    data[t] = sum;
    __syncthreads();
    if (t < 32) {
        volatile double* s = data;
        s[t] = sum = sum + s[t + 32]; s[t] = sum = sum + s[t + 16]; s[t] = sum = sum + s[t + 8];
        s[t] = sum = sum + s[t + 4]; s[t] = sum = sum + s[t + 2]; s[t] = sum = sum + s[t + 1];
    }
    if (t == 0) y[0] = data[0];
}
extern "C" __global__ void together(int* y) {
    __shared__ volatile int s[4];
    __shared__ Pair pair;
    __shared__ shared_short h[32];
    __shared__ volatile int2 v[32];
    int t = threadIdx.x;
    s[0] = 5; s[0] += 1; y[t] = s[0];
    pair.first = t; pair.second = 1; y[t] += pair.first * 10;
    pair.sum = 0.5; pair.sum *= 2; y[t] += pair.sum * 1000;
    pair.bits = t; y[t] += pair.bits * 10000;
    h[t] = t; h[(t + 1) % 32] = h[t] + 1; y[t] += h[t] * 1000000;
    v[t].x = t; v[t].y = v[t ^ 1].x; y[t] += (v[t ^ 1].y == t) * 100000000;
}
extern "C" __global__ void others(int* y) {
    __shared__ int m[64];
    volatile int* s = m;
    int t = threadIdx.x;
    s[t] = t;
    auto shift = [&](int by) { s[t] = s[(t + by) & 31]; };
    shift(1); shift(3);
    fold(s, t);
    s[t + 32] = 0;
    atomicAdd((int*)&s[32 + (t ^ 1)], s[t]);
    y[t] = s[t + 32];
}
extern "C" __global__ void branches(int* y) {
    __shared__ volatile int s[32];
    int t = threadIdx.x;
    s[t] = 0;
    if (t < 16) { for (int k = 0; k < 3000; ++k) s[t]++; }
    y[t] = s[(t + 16) % 32];
    if (t == 9) return;
    for (int k = 0; k <= t % 4; ++k) {
        if (k == 2) continue;
        s[t] += s[(t + 1) % 32];
    }
    y[t] += s[(t + 1) % 32] * 10000;
    if (__any(t == 3)) y[t] += 7;
}
extern "C" __global__ void flag(volatile int* x) {
    if (threadIdx.x != 3) { while (x[0] == 0) {} }
    else x[0] = 1;
    x[threadIdx.x + 1] = 5;
}
extern "C" __global__ void pass_on(volatile int* turn, int n) {
    int t = threadIdx.x;
    while (*turn != t) {}
    *turn = (t + 1) % n;
}
extern "C" __global__ void locked(int* lock, volatile int* sum) {
    while (atomicCAS(lock, 0, 1) != 0) {}
    *sum = *sum + 1;
    __threadfence();
    atomicExch(lock, 0);
}
extern "C" __global__ void blocks(volatile int* x, int* y) {
    if (threadIdx.x == 0) {
        if (blockIdx.x > 0) while (x[blockIdx.x - 1] == 0) {}
        x[blockIdx.x] = 1;
    }
    __syncthreads();
    y[blockIdx.x * blockDim.x + threadIdx.x] = 1;
}
extern "C" __global__ void own(volatile float* y) {
    volatile float big = 1e8f;
    volatile float sum = big + 1;
    y[threadIdx.x] = sum - big;
}
extern "C" __global__ void masks(int* y) {
    __shared__ volatile int s[32];
    int t = threadIdx.x;
    s[t] = t;
    if (t & 1) { __syncwarp(0xaaaaaaaau); s[t] += s[t ^ 2]; }
    else { s[t] += s[t ^ 2]; __syncwarp(0x55555555u); }
    y[t] = s[t];
}
extern "C" __global__ void behind(float* x, float* scratch) {
    float v = x[threadIdx.x];
    for (int o = 16; o; o /= 2) v += __shfl_xor_sync(~0u, v, o);
    if (threadIdx.x % 32 == 0) scratch[threadIdx.x / 32] = v;
    x[threadIdx.x] = scratch[threadIdx.x / 32];
}
extern "C" __global__ void late(int* y, int* scratch) {
    // The lanes that come last are not the last lanes.
    int t = threadIdx.x;
    if (t < 16) __syncwarp(0xffffu);
    unsigned all = __ballot_sync(~0u, t & 1);
    if (t == 0) scratch[0] = all;
    y[t] = scratch[0];
}

#include <cerrno>
#include <cstdio>
#include <cuda_fp16.h>

__constant__ float table[4] = {1, 2, 3, 4};
__device__ int counters[3];
__shared__ int at_large[8];

struct Point {
    float x, y, z;
};

__device__ float read(const float* p, int i) {
    return p[i];
}

extern "C" __global__ void copy(const float* x, float* y, int n, int shift) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = read(x, i + shift);
}

extern "C" __global__ void put(float* x, int k) {
    if (blockIdx.x == gridDim.x - 1 && threadIdx.x == 3)
        x[k] = 1;
}

extern "C" __global__ void put_through_cast(const float* x, int k) {
    const_cast<float*>(x)[k] = 1;
}

extern "C" __global__ void shared(float* y, int k) {
    __shared__ float line[64];
    line[threadIdx.x] = 2;
    __syncthreads();
    y[threadIdx.x] = line[static_cast<int>(threadIdx.x) + k];
}

extern "C" __global__ void tiles(float* y, int k) {
    __shared__ float first[64];
    __shared__ float tile[16][17];
    tile[threadIdx.x % 16][0] = first[threadIdx.x] = 1;
    __syncthreads();
    y[threadIdx.x] = tile[k][threadIdx.x % 16] + first[threadIdx.x];
}

template <class T>
__global__ void in_template(T* y, int k) {
    __shared__ T line[64];
    T* p = line;
    p[threadIdx.x + k] = 2;
    y[threadIdx.x] = p[threadIdx.x];
}

extern "C" __global__ void at_namespace(int* y, int k) {
    at_large[k] = 1;
    y[0] = at_large[k];
}

extern "C" __global__ void dynamic(float* y, int k) {
    extern __shared__ float s[];
    s[threadIdx.x] = 2;
    __syncthreads();
    y[threadIdx.x] = s[static_cast<int>(threadIdx.x) + k];
}

extern "C" __global__ void constant(float* y, int k) {
    y[threadIdx.x] = table[k];
}

extern "C" __global__ void device_variable(int k) {
    if (threadIdx.x == 0)
        counters[k] += 1;
}

extern "C" __global__ void local(float* y, int k) {
    float own[8];
    for (int i = 0; i < 8; ++i)
        own[i] = i;
    y[threadIdx.x] = own[k];
}

extern "C" __global__ void points(Point* p, int k) {
    p[k].z = p[0].x;
}

extern "C" __global__ void halves(__half* x, int k) {
    x[k] = x[k] + x[0];
}

extern "C" __global__ void add(unsigned* counts, int k) {
    atomicAdd(&counts[k], 1u);
}

extern "C" __global__ void compare(int* counts, int k) {
    atomicCAS(counts + k, 0, 1);
}

extern "C" __global__ void vectors(float4* y, int k) {
    y[k] = make_float4(1, 2, 3, 4);
}

extern "C" __global__ void misaligned(char* bytes, int k) {
    *reinterpret_cast<float*>(bytes + k) = 1;
}

extern "C" __global__ void misaligned_vector(char* bytes, int k) {
    asm volatile("st.global.v2.f32 [%0], {%1, %1};" ::"l"(bytes + k), "f"(1.0f));
}

extern "C" __global__ void moved(float* y, int bytes) {
    float own[64];
    memcpy(own, y, bytes);
    y[0] = own[0];
}

extern "C" __global__ void filled(float* y, int bytes) {
    memset(y, 0, bytes);
}

extern "C" __global__ void allocated(float* y, int k) {
    float* p = new float[16];
    p[k] = 3;
    y[threadIdx.x] = p[k];
    delete[] p;
}

extern "C" __global__ void released(float* y) {
    float* p = static_cast<float*>(malloc(64));
    free(p);
    y[0] = p[0];
}

extern "C" __global__ void released_twice(float* y) {
    free(y);
}

extern "C" __global__ void pointers(float** rows, int k) {
    rows[0][k] = 5;
}

extern "C" __global__ void borrowed(float* y) {
    __shared__ float* other;
    float own = threadIdx.x;
    if (threadIdx.x == 0)
        other = &own;
    __syncthreads();
    y[threadIdx.x] = *other + own;
}

// What lane k has to say reaches the others in shared memory, without and with what orders that.
extern "C" __global__ void told(float* y, int k) {
    __shared__ float words[2];
    if (threadIdx.x % 32 == k)
        words[threadIdx.x / 32] = k + 1;
    y[threadIdx.x] = words[threadIdx.x / 32];
}

extern "C" __global__ void told_in_order(float* y, int k) {
    __shared__ float words[2];
    float& own = words[threadIdx.x / 32];
    if (threadIdx.x % 32 == k)
        own = k;
    __syncwarp();
    float sum = own;
    sum += __shfl_xor_sync(~0u, sum, 1);
    if (threadIdx.x % 32 == k + 1)
        own = sum;
    __shfl_sync(~0u, sum, 0);
    y[threadIdx.x] = own;
}

extern "C" __global__ void told_in_step(float* y, int k) {
    __shared__ volatile float words[64];
    const int t = threadIdx.x;
    words[t] = t;
    for (int step = 16; step > k; step /= 2)
        if (t % 32 < step)
            words[t] += words[t + step];
    y[t] = words[t];
}

__device__ int lock;

extern "C" __global__ void told_by_all(float* y, int k) {
    __shared__ int same, bins[4];
    same = k;  // every thread says so
    bins[threadIdx.x % 4] = same;
    __syncthreads();
    atomicAdd(&bins[threadIdx.x % 4], 1);
    while (atomicCAS(&lock, 0, 1) != 0) {
    }
    y[0] += 1;
    __threadfence();
    atomicExch(&lock, 0);
}

extern "C" __global__ void shifted(float* y, int k) {
    y[threadIdx.x] = y[threadIdx.x + k] + 1;
}

__host__ __device__ void tell(int code) {
#ifdef __KERNELTK_HOST__
    if (errno != code) fprintf(stderr, "%d", code);
    fputs("", stdout);
#endif
}

extern "C" __global__ void tells(float* y) {
    tell(-1);
    y[threadIdx.x] = 1;
}

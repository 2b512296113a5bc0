/*
Several versions of one operation, each with a launcher, beside a reference for the CPU.
*/
#include <stdio.h>
#include <stdlib.h>
#include <assert.h>
#include <float.h>
#include <cuda_runtime.h>
#include <cooperative_groups.h>
#include <omp.h>
namespace cg = cooperative_groups;
#define WARP_SIZE 32U
#define CEIL_DIV(M, N) (((M) + (N)-1) / (N))
#ifdef ENABLE_BF16
typedef __nv_bfloat16 floatX;
#else
typedef float floatX;
#endif
static float* wte = NULL;
int cuda_arch_major = 0;
// the reference
void normalise_cpu(float* out, const float* inp, int N) {
    float eps = 1e-5f;
    for (int b = 0; b < N; b++) { out[b] = inp[b] / sqrtf(eps); }
}
// one thread a row
__global__ void normalise_kernel1(floatX* out, const floatX* inp, int N) {
    int idx = blockIdx.x * blockDim.x + threadIdx.x;
    extern __shared__ float shared[];
    cg::thread_block block = cg::this_thread_block();
    if (idx < N) { out[idx] = fmaxf(inp[idx], -FLT_MAX); shared[0] = 1; }
}
__device__ inline float sum_of_warp(float val) {
    for (int offset = 16; offset > 0; offset /= 2) val += __shfl_xor_sync(0xFFFFFFFF, val, offset);
    return val;
}
template<class T>
void normalise1(T* out, const T* inp, int N, const int block_size) {
    normalise_kernel1<<<CEIL_DIV(N, block_size), block_size>>>(out, inp, N);
    cudaCheck(cudaGetLastError());
}
void cudaCheck_(cudaError_t error, const char *file, int line) {
  if (error != cudaSuccess) { printf("[CUDA ERROR]"); exit(EXIT_FAILURE); }
};
#define cudaCheck(err) (cudaCheck_(err, __FILE__, __LINE__))
int main(int argc, const char **argv) { srand(0); normalise1<float>(wte, wte, 1, 2); }

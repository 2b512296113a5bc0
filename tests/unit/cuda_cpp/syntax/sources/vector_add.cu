// A small program in one file: kernels, helpers of the host, main.
#include <stdio.h>
#include <stdlib.h>
#include <iostream>
#include <vector>
#include <algorithm>
#include <cassert>

#include <cuda_runtime.h>
#include <helper_cuda.h>
#include <thrust/device_vector.h>
#include <cublas_v2.h>
using namespace std;
using std::cout;
using std::vector;

#define CHECK(call) do { cudaError_t e = call; if (e != cudaSuccess) { fprintf(stderr, "%s\n", cudaGetErrorString(e)); exit(1); } } while (0)
#define N 1024
const int BLOCK = 256;
static const float table[3] = {1, 2, 3};
int counter = 0;
float *d_a, *d_b;
const char* const title = "vector";
std::vector<float> cached;
cudaStream_t stream;
typedef std::vector<float> Floats;
typedef struct { int n; float scale; } Config;
enum Mode { FAST, SLOW };

/// Adds.
__global__ void add_vectors(const float *A, const float *B, float *C, int count) {
  int i = blockDim.x * blockIdx.x + threadIdx.x;
  if (i < count) {
    C[i] = A[i] + B[i];
  }
}
void launch(const float* a, int n);
__device__ float square(float x);
template <class T> void print(const T& x) { std::cout << x << std::endl; }
template <class T> __host__ __device__ T twice(T x) { return x + x; }
template <class T> __global__ void generic(T* x) { x[0] = twice(x[0]); }
template <class T> void run(T* x) { generic<T><<<1, 1>>>(x); }
class Timer { cudaEvent_t start; public: Timer() { cudaEventCreate(&start); } void stop(); };
void Timer::stop() { }
struct Both { int n; __device__ int get() const { return n; } std::string name() const { return std::to_string(n); } };
__device__ float square(float x) { return x * x; }
__global__ void uses(Both b, float* x, Config c, Mode m) { x[0] = square(b.get()) + BLOCK + c.scale + m; }
auto lambda = [](int x) { return x; };
void launch(const float* a, int n) { add_vectors<<<(n + 255) / 256, 256>>>(a, a, d_a, n); }
int
main(void) {
  cudaError_t err = cudaSuccess;
  int count = 1000;
  printf("%d numbers\n", count);
  float *h_A = (float *)malloc(count);
  CHECK(cudaMalloc((void **)&d_a, 4));
  thrust::device_vector<float> v(3);
  add_vectors<<<1, 2, 0, stream>>>(d_a, d_b, d_b, count);
  for (int i = 0; i < count; ++i) { assert(i < 3); }
  return 0;
}

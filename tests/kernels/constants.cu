// Variables of the module: constant memory that the caller fills, device memory that it reads.

__constant__ float coefficients[8];
__constant__ int degree;
__constant__ int primes[6] = {2, 3, 5, 7, 11, 13};
__device__ int launches_seen;
__device__ double totals[4];
__device__ const unsigned char masks[8] = {1, 2, 4, 8, 16, 32, 64, 128};

namespace settings {
__constant__ double scale = 1.0;
__device__ short offsets[2][3];
}  // namespace settings

// Horner's rule.
extern "C" __global__ void polynomial(const float* x, float* y, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float sum = coefficients[degree];
    for (int k = degree - 1; k >= 0; --k) {
        sum = sum * x[i] + coefficients[k];
    }
    y[i] = sum;
}

extern "C" __global__ void accumulate(const double* x, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        atomicAdd(&totals[i % 4], x[i] * settings::scale);
    }
    if (i == 0) {
        atomicAdd(&launches_seen, 1);
    }
}

extern "C" __global__ void test_bits(const unsigned char* bytes, bool* bits, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        bits[i] = (bytes[i / 8] & masks[i % 8]) != 0;
    }
}

extern "C" __global__ void shift_by_offsets(const short* in, short* out, int n)
{
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
        out[i] = in[i] + settings::offsets[i % 2][i % 3];
    }
}

__constant__ float filter[5][5];

// Convolution of an image with a constant filter; outside of it everything is zero.
extern "C" __global__ void convolve_5x5(const float* image, float* out, int height, int width)
{
    __shared__ float tile[12][20];
    const int x0 = blockIdx.x * 16 - 2;
    const int y0 = blockIdx.y * 8 - 2;
    for (int y = threadIdx.y; y < 12; y += 8) {
        for (int x = threadIdx.x; x < 20; x += 16) {
            const bool inside = y0 + y >= 0 && y0 + y < height && x0 + x >= 0 && x0 + x < width;
            tile[y][x] = inside ? image[(y0 + y) * width + x0 + x] : 0.0f;
        }
    }
    __syncthreads();
    const int x = x0 + 2 + threadIdx.x;
    const int y = y0 + 2 + threadIdx.y;
    if (x >= width || y >= height) return;
    float sum = 0.0f;
#pragma unroll
    for (int j = 0; j < 5; ++j) {
#pragma unroll
        for (int i = 0; i < 5; ++i) {
            sum += filter[j][i] * tile[threadIdx.y + j][threadIdx.x + i];
        }
    }
    out[y * width + x] = sum;
}

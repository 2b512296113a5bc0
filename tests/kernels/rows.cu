// Kernels that work on rows: softmax, layer normalisation, Fourier transform, strings.
#include <math_constants.h>

#include "common.cuh"

// One block a row, any number of columns.
extern "C" __global__ void softmax_rows(const float* in, float* out, int columns)
{
    const float* x = in + static_cast<size_t>(blockIdx.x) * columns;
    float* y = out + static_cast<size_t>(blockIdx.x) * columns;

    float largest = -CUDART_INF_F;
    for (int k = threadIdx.x; k < columns; k += blockDim.x) largest = fmaxf(largest, x[k]);
    largest = common::block_reduce(largest, -CUDART_INF_F, common::Max());

    float sum = 0.0f;
    for (int k = threadIdx.x; k < columns; k += blockDim.x) {
        const float e = expf(x[k] - largest);
        y[k] = e;
        sum += e;
    }
    sum = common::block_reduce(sum, 0.0f, common::Sum());
    for (int k = threadIdx.x; k < columns; k += blockDim.x) y[k] /= sum;
}

// A warp a row: maximum and sum in one pass.
extern "C" __global__ void log_sum_exp(const float* in, float* out, int rows, int columns)
{
    const int row = blockIdx.x * blockDim.y + threadIdx.y;
    if (row >= rows) return;
    float largest = -CUDART_INF_F;
    float sum = 0.0f;
    for (int k = threadIdx.x; k < columns; k += 32) {
        const float x = in[row * columns + k];
        const float top = fmaxf(largest, x);
        sum = sum * expf(largest - top) + expf(x - top);
        largest = top;
    }
    for (int mask = 16; mask > 0; mask >>= 1) {
        const float other_largest = __shfl_xor_sync(common::FULL_WARP, largest, mask);
        const float other_sum = __shfl_xor_sync(common::FULL_WARP, sum, mask);
        const float top = fmaxf(largest, other_largest);
        if (top > -CUDART_INF_F) {
            sum = sum * expf(largest - top) + other_sum * expf(other_largest - top);
        }
        largest = top;
    }
    if (threadIdx.x == 0) out[row] = largest + logf(sum);
}

extern "C" __global__ void layer_norm(const float* in, const float* gain, const float* bias,
                                      float* out, int columns, float epsilon)
{
    __shared__ float mean, scale;
    const float* x = in + blockIdx.x * columns;
    float sum = 0.0f;
    for (int k = threadIdx.x; k < columns; k += blockDim.x) sum += x[k];
    sum = common::block_reduce(sum, 0.0f, common::Sum());
    if (threadIdx.x == 0) mean = sum / columns;
    __syncthreads();
    float squares = 0.0f;
    for (int k = threadIdx.x; k < columns; k += blockDim.x) {
        const float d = x[k] - mean;
        squares += d * d;
    }
    squares = common::block_reduce(squares, 0.0f, common::Sum());
    if (threadIdx.x == 0) scale = rsqrtf(squares / columns + epsilon);
    __syncthreads();
    for (int k = threadIdx.x; k < columns; k += blockDim.x) {
        out[blockIdx.x * columns + k] = (x[k] - mean) * scale * gain[k] + bias[k];
    }
}

// Mean and variance of each column by Welford's recurrence.
extern "C" __global__ void column_statistics(const double* matrix, double* mean, double* variance,
                                             int rows, int columns)
{
    const int column = blockIdx.x * blockDim.x + threadIdx.x;
    if (column >= columns) return;
    double m = 0.0;
    double s = 0.0;
    for (int row = 0; row < rows; ++row) {
        const double x = matrix[row * columns + column];
        const double d = x - m;
        m += d / (row + 1);
        s += d * (x - m);
    }
    mean[column] = m;
    variance[column] = s / rows;
}

// Fourier transform of rows of SIZE numbers, a power of two; SIZE / 2 threads, in shared memory.
template <int SIZE>
__global__ void fft_rows(const float2* in, float2* out)
{
    __shared__ float2 data[SIZE];
    constexpr int BITS = SIZE == 64 ? 6 : (SIZE == 256 ? 8 : 10);
    static_assert(1 << BITS == SIZE, "64, 256 or 1024 numbers");
    const int base = blockIdx.x * SIZE;
    for (int k = threadIdx.x; k < SIZE; k += SIZE / 2) {
        data[__brev(static_cast<unsigned int>(k)) >> (32 - BITS)] = in[base + k];
    }
    for (int half = 1; half < SIZE; half *= 2) {
        __syncthreads();
        const int position = threadIdx.x % half;
        const int low = threadIdx.x / half * 2 * half + position;
        float sine, cosine;
        sincospif(-static_cast<float>(position) / half, &sine, &cosine);
        const float2 a = data[low];
        const float2 b = data[low + half];
        const float2 turned =
            make_float2(b.x * cosine - b.y * sine, b.x * sine + b.y * cosine);
        data[low] = make_float2(a.x + turned.x, a.y + turned.y);
        data[low + half] = make_float2(a.x - turned.x, a.y - turned.y);
    }
    __syncthreads();
    for (int k = threadIdx.x; k < SIZE; k += SIZE / 2) out[base + k] = data[k];
}

// Marks every place where the pattern begins.
extern "C" __global__ void find_pattern(const char* text, int length, const char* pattern,
                                        int pattern_length, bool* begins)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= length) return;
    bool same = i + pattern_length <= length;
    for (int k = 0; same && k < pattern_length; ++k) {
        same = text[i + k] == pattern[k];
    }
    begins[i] = same;
}

// Upper case, and the number of words, counted at their first letters.
extern "C" __global__ void upper_case(const char* text, char* upper, int length,
                                      unsigned int* words)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const bool inside = i < length;
    const char c = inside ? text[i] : ' ';
    const char before = inside && i > 0 ? text[i - 1] : ' ';
    const int first = c != ' ' && before == ' ';
    const int count = __syncthreads_count(first);
    if (inside) upper[i] = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
    if (threadIdx.x == 0) atomicAdd(words, static_cast<unsigned int>(count));
}

// bfloat16: scalars, pairs, conversions.
#include <cuda_bf16.h>

extern "C" __global__ void bf16_scale(const __nv_bfloat16* x, __nv_bfloat16* y, float factor, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        y[i] = __float2bfloat16(__bfloat162float(x[i]) * factor);
    }
}

// One rounding each.
extern "C" __global__ void bf16_arithmetic(const __nv_bfloat16* x, const __nv_bfloat16* y,
                                           __nv_bfloat16* out, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const __nv_bfloat16 a = x[i], b = y[i];
    out[0 * n + i] = a + b;
    out[1 * n + i] = a - b;
    out[2 * n + i] = __hmul(a, b);
    out[3 * n + i] = a < b ? b : a;
    out[4 * n + i] = -b;
}

extern "C" __global__ void bf16_convert(const float* x, __nv_bfloat16* nearest,
                                        __nv_bfloat16* to_zero, unsigned short* bits, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    nearest[i] = __float2bfloat16_rn(x[i]);
    to_zero[i] = __float2bfloat16_rz(x[i]);
    bits[i] = __bfloat16_as_ushort(nearest[i]);
}

extern "C" __global__ void bf16_pairs(const __nv_bfloat162* x, __nv_bfloat162* out, float2* wide,
                                      int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const float2 f = __bfloat1622float2(x[i]);
    wide[i] = f;
    out[2 * i] = __floats2bfloat162_rn(f.y, f.x);
    out[2 * i + 1] = __hadd2(x[i], x[i]);
}

// A dot product of rows, with sums in single precision.
extern "C" __global__ void bf16_dot_rows(const __nv_bfloat16* a, const __nv_bfloat16* b,
                                         float* dots, int columns)
{
    const int row = blockIdx.x * blockDim.y + threadIdx.y;
    float sum = 0.0f;
    for (int k = threadIdx.x; k < columns; k += 32) {
        sum += __bfloat162float(a[row * columns + k]) * __bfloat162float(b[row * columns + k]);
    }
    for (int offset = 16; offset > 0; offset >>= 1) {
        sum += __shfl_down_sync(0xffffffffu, sum, offset);
    }
    if (threadIdx.x == 0) dots[row] = sum;
}

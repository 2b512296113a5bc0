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

// Half precision: scalars, pairs, conversions.
#include <cuda_fp16.h>

extern "C" __global__ void half_axpy(__half a, const __half* x, __half* y, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        y[i] = __hfma(a, x[i], y[i]);
    }
}

extern "C" __global__ void half2_axpy(float a, const __half2* x, __half2* y, int pairs)
{
    const __half2 factor = __float2half2_rn(a);
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < pairs; i += blockDim.x * gridDim.x) {
        y[i] = __hfma2(factor, x[i], y[i]);
    }
}

// One rounding each: sum, difference, product, quotient, negation, maximum.
extern "C" __global__ void half_arithmetic(const half* x, const half* y, half* out, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const half a = x[i], b = y[i];
    out[0 * n + i] = a + b;
    out[1 * n + i] = __hsub(a, b);
    out[2 * n + i] = a * b;
    out[3 * n + i] = __hdiv(a, b);
    out[4 * n + i] = -a;
    out[5 * n + i] = __hgt(a, b) ? a : b;
    out[6 * n + i] = __hadd_sat(a, b);
}

extern "C" __global__ void half_compare(const half* x, const half* y, unsigned char* out, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned char flags = 0;
    if (x[i] < y[i]) flags |= 1;
    if (x[i] == y[i]) flags |= 2;
    if (__hge(x[i], y[i])) flags |= 4;
    if (__hne(x[i], y[i])) flags |= 8;
    if (__hisnan(x[i])) flags |= 16;
    if (__hisinf(y[i]) != 0) flags |= 32;
    out[i] = flags;
}

// Conversions to half precision and back, with each rounding; and the bits themselves.
extern "C" __global__ void half_convert(const float* x, half* nearest, half* to_zero, half* up,
                                        half* down, unsigned short* bits, float* back, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    nearest[i] = __float2half(x[i]);
    to_zero[i] = __float2half_rz(x[i]);
    up[i] = __float2half_ru(x[i]);
    down[i] = __float2half_rd(x[i]);
    bits[i] = __half_as_ushort(__float2half_rn(x[i]));
    back[i] = __half2float(__ushort_as_half(bits[i]));
}

// Pairs: split, swapped, joined, multiplied.
extern "C" __global__ void half2_pairs(const __half2* x, const __half2* y, __half2* out,
                                       float2* wide, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const __half2 a = x[i], b = y[i];
    out[5 * i] = __hadd2(a, b);
    out[5 * i + 1] = __hmul2(a, b);
    out[5 * i + 2] = __lowhigh2highlow(a);
    out[5 * i + 3] = __halves2half2(__high2half(a), __low2half(b));
    out[5 * i + 4] = __floats2half2_rn(__low2float(a) * 2.0f, __high2float(b) * 0.5f);
    wide[i] = __half22float2(a);
}

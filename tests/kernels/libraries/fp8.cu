// Floating numbers of eight bits: rounding, saturation, pairs and fours.
#include <cuda_fp8.h>

extern "C" __global__ void encode(const float* x, const double* wide, unsigned char* out, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    out[i] = __nv_cvt_float_to_fp8(x[i], __NV_SATFINITE, __NV_E4M3);
    out[n + i] = __nv_cvt_float_to_fp8(x[i], __NV_NOSAT, __NV_E4M3);
    out[2 * n + i] = __nv_fp8_e5m2(x[i]).__x;
    out[3 * n + i] = __nv_cvt_float_to_fp8(x[i], __NV_NOSAT, __NV_E5M2);
    out[4 * n + i] = __nv_fp8_e4m3(__float2half(x[i])).__x;
    out[5 * n + i] = __nv_fp8_e5m2(__float2bfloat16(x[i])).__x;
    out[6 * n + i] = __nv_fp8_e4m3(wide[i]).__x;
}

// Every number of eight bits.
extern "C" __global__ void decode(float* values, unsigned short* halves, int* whole)
{
    const int i = threadIdx.x;
    __nv_fp8_e4m3 a;
    __nv_fp8_e5m2 b;
    a.__x = b.__x = static_cast<unsigned char>(i);
    values[i] = static_cast<float>(a);
    values[256 + i] = static_cast<float>(b);
    halves[i] = __nv_cvt_fp8_to_halfraw(a.__x, __NV_E4M3).x;
    halves[256 + i] = static_cast<__half_raw>(static_cast<__half>(b)).x;
    whole[i] = static_cast<int>(a);
    whole[256 + i] = static_cast<signed char>(b);
}

extern "C" __global__ void vectors(const float4* x, float4* out, unsigned int* bits)
{
    const float4 v = x[threadIdx.x];
    const __nv_fp8x4_e4m3 four(v);
    const __nv_fp8x2_e5m2 two(make_float2(v.x, v.y));
    const float4 back = static_cast<float4>(four);
    const float2 pair = static_cast<float2>(two);
    out[2 * threadIdx.x] = back;
    out[2 * threadIdx.x + 1] = make_float4(pair.x, pair.y, 0, 0);
    bits[threadIdx.x] = four.__x;
}

// CUDA's own functions convert doubles, also what is no number.
extern "C" __global__ void encode_doubles(const double* x, unsigned char* out, int n)
{
    const int i = threadIdx.x;
    if (i >= n) return;
    out[i] = __nv_cvt_double_to_fp8(x[i], __NV_NOSAT, __NV_E4M3);
    out[n + i] = __nv_fp8_e5m2(x[i]).__x;
    out[2 * n + i] = __nv_fp8x2_e5m2(double2{x[i], x[i]}).__x & 0xff;
}

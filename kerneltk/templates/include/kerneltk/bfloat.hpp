// bfloat16 as bits: conversions from float and double and back.
#pragma once

namespace kerneltk::bfloat {

// Every conversion rounds once, to nearest, ties to even.
__device__ __forceinline__ unsigned short to_bits(float x) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    unsigned short bits;
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(bits) : "f"(x));
    return bits;
#else
    const unsigned int all = __float_as_uint(x);
    const unsigned int rounded = (all + 0x7fffu + (all >> 16 & 1u)) >> 16;
    const unsigned int quiet = all >> 16 | 0x40u;
    return static_cast<unsigned short>((all & 0x7fffffffu) > 0x7f800000u ? quiet : rounded);
#endif
}
// Through a float that is rounded to odd: the second rounding sees whether the first was exact.
__device__ __forceinline__ unsigned short to_bits(double x) {
    const float near = static_cast<float>(x);
    const double back = near;
    int bits = __float_as_int(near);
    bits -= fabs(back) > fabs(x) ? 1 : 0;
    bits |= back != x ? 1 : 0;
    return to_bits(__int_as_float(bits));
}
__device__ __forceinline__ float value(unsigned short bits) {
    return __uint_as_float(static_cast<unsigned int>(bits) << 16);
}

}  // namespace kerneltk::bfloat

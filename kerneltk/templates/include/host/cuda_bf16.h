// CUDA's <cuda_bf16.h> for host compilers: nv_bfloat16, nv_bfloat162 and their functions.
#pragma once
#include <kerneltk/core.hpp>
#include <kerneltk/bfloat.hpp>
#include <kerneltk/host_vector.hpp>

#ifndef __CUDA_ALIGN__
#define __CUDA_ALIGN__(n) __align__(n)
#endif

namespace kerneltk::bfloat {

// As a double that has the digits which decide the rounding.
template <class I>
__forceinline__ double exact(I x) {
    if constexpr (sizeof(I) == 8) {
        // One bit says whether any of the lowest, which a double may not hold, is set.
        constexpr I low = 0x7ff;
        if (x >> 53 != 0 && x >> 53 != I(-1)) x = (x & ~low) | ((x & low) != 0 ? I(low + 1) : I(0));
    }
    return static_cast<double>(x);
}

// x y + z, rounded once. The product is exact as a double, and their sum is rounded to odd: from
// its rounding to nearest and that rounding's error (Knuth's two-sum).
__forceinline__ unsigned short fused(float x, float y, float z) {
    const double product = static_cast<double>(x) * y, addend = z;
    const double sum = product + addend;
    const double part = sum - product;
    const double error = (product - (sum - part)) + (addend - part);
    unsigned long long bits = __builtin_bit_cast(unsigned long long, sum);
    const unsigned long long inexact = (error < 0) | (error > 0);
    bits -= inexact & ((error < 0) != (sum < 0));
    return to_bits(__builtin_bit_cast(double, bits | inexact));
}

}  // namespace kerneltk::bfloat

#define KERNELTK_H __nv_bfloat16
#define KERNELTK_H2 __nv_bfloat162
#define KERNELTK_RAW __nv_bfloat16_raw
#define KERNELTK_RAW2 __nv_bfloat162_raw
#define KERNELTK_OTHER __half
#define KERNELTK_WORD bfloat16
#define KERNELTK_FORMAT bfloat
#define KERNELTK_INFINITY 0x7f80u
#define KERNELTK_ONE static_cast<unsigned short>(0x3f80)
#include <kerneltk/host_small_float.inc>

using nv_bfloat16 = __nv_bfloat16;
using nv_bfloat162 = __nv_bfloat162;

#define CUDART_INF_BF16 __ushort_as_bfloat16(static_cast<unsigned short>(0x7f80))
#define CUDART_NAN_BF16 __ushort_as_bfloat16(static_cast<unsigned short>(0x7fff))
#define CUDART_MIN_DENORM_BF16 __ushort_as_bfloat16(static_cast<unsigned short>(0x0001))
#define CUDART_MAX_NORMAL_BF16 __ushort_as_bfloat16(static_cast<unsigned short>(0x7f7f))
#define CUDART_NEG_ZERO_BF16 __ushort_as_bfloat16(static_cast<unsigned short>(0x8000))
#define CUDART_ZERO_BF16 __ushort_as_bfloat16(static_cast<unsigned short>(0x0000))
#define CUDART_ONE_BF16 __ushort_as_bfloat16(static_cast<unsigned short>(0x3f80))

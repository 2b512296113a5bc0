// CUDA's <cuda_fp16.h> for host compilers: half, half2 and their functions.
#pragma once
#include <kerneltk/core.hpp>
#include <kerneltk/binary16.hpp>
#include <kerneltk/host_vector.hpp>

#ifndef __CUDA_ALIGN__
#define __CUDA_ALIGN__(n) __align__(n)
#endif

namespace kerneltk::binary16 {

// An integer that a float does not hold exactly is infinite, or the largest number.
template <class I>
__forceinline__ float exact(I x) {
    return static_cast<float>(x);
}

// x y + z, rounded once. The product is exact as a float, and their sum is rounded to odd: from
// its rounding to nearest and that rounding's error (Knuth's two-sum).
__forceinline__ unsigned short fused(float x, float y, float z) {
    const float product = x * y;
    const float sum = product + z;
    const float part = sum - product;
    const float error = (product - (sum - part)) + (z - part);
    unsigned int bits = __builtin_bit_cast(unsigned int, sum);
    const unsigned int inexact = (error < 0) | (error > 0);
    bits -= inexact & ((error < 0) != (sum < 0));
    return to_bits(__builtin_bit_cast(float, bits | inexact));
}

}  // namespace kerneltk::binary16

#define KERNELTK_H __half
#define KERNELTK_H2 __half2
#define KERNELTK_RAW __half_raw
#define KERNELTK_RAW2 __half2_raw
#define KERNELTK_OTHER __nv_bfloat16
#define KERNELTK_WORD half
#define KERNELTK_FORMAT binary16
#define KERNELTK_INFINITY 0x7c00u
#define KERNELTK_ONE static_cast<unsigned short>(0x3c00)
#include <kerneltk/host_small_float.inc>

using half = __half;
using half2 = __half2;
using nv_half = __half;
using nv_half2 = __half2;
using __nv_half = __half;
using __nv_half2 = __half2;
using __nv_half_raw = __half_raw;
using __nv_half2_raw = __half2_raw;

#define CUDART_INF_FP16 __ushort_as_half(static_cast<unsigned short>(0x7c00))
#define CUDART_NAN_FP16 __ushort_as_half(static_cast<unsigned short>(0x7fff))
#define CUDART_MIN_DENORM_FP16 __ushort_as_half(static_cast<unsigned short>(0x0001))
#define CUDART_MAX_NORMAL_FP16 __ushort_as_half(static_cast<unsigned short>(0x7bff))
#define CUDART_NEG_ZERO_FP16 __ushort_as_half(static_cast<unsigned short>(0x8000))
#define CUDART_ZERO_FP16 __ushort_as_half(static_cast<unsigned short>(0x0000))
#define CUDART_ONE_FP16 __ushort_as_half(static_cast<unsigned short>(0x3c00))

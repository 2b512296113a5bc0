// IEEE 754 binary16 as bits: conversions from float and double and back.
#pragma once

namespace kerneltk::binary16 {

// Every conversion to binary16 rounds once, to nearest, ties to even.
#ifdef __CUDACC_RTC__

// The result of an instruction on binary16s is moved into another register: where a byte of it is stored, ptxas (12.9,
// 13.0) takes the instruction's own register to be a number, and converts it to an integer.
#define KERNELTK_BINARY16(INSTRUCTION) "{.reg .b16 found;" INSTRUCTION "; mov.b16 %0, found;}"

__device__ __forceinline__ unsigned short to_bits(float x) {
    unsigned short bits;
    asm(KERNELTK_BINARY16("cvt.rn.f16.f32 found, %1") : "=h"(bits) : "f"(x));
    return bits;
}
__device__ __forceinline__ unsigned short to_bits(double x) {
    unsigned short bits;
    asm(KERNELTK_BINARY16("cvt.rn.f16.f64 found, %1") : "=h"(bits) : "d"(x));
    return bits;
}
__device__ __forceinline__ float value(unsigned short bits) {
    float x;
    asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(bits));
    return x;
}

#else

#if defined(__clang__) && __clang_major__ >= 15 && (defined(__F16C__) || defined(__aarch64__))
__forceinline__ unsigned short to_bits(float x) {
    return __builtin_bit_cast(unsigned short, static_cast<_Float16>(x));
}
__forceinline__ float value(unsigned short bits) { return __builtin_bit_cast(_Float16, bits); }
#else
// Integer arithmetic without branches, which GCC vectorises; its _Float16 it does not.
__forceinline__ unsigned short to_bits(float x) {
    const unsigned int all = __builtin_bit_cast(unsigned int, x);
    const unsigned int sign = all >> 16 & 0x8000u, size = all & 0x7fffffffu;
    // Below 2^-14 an addition aligns the mantissa, and the processor rounds it.
    const float aligned = __builtin_bit_cast(float, size) + 0.5f;
    const unsigned int subnormal = __builtin_bit_cast(unsigned int, aligned) - 0x3f000000u;
    const unsigned int normal = (size - 0x38000000u + 0xfffu + (size >> 13 & 1u)) >> 13;
    unsigned int bits = size < 0x38800000u ? subnormal : normal;
    bits = size >= 0x47800000u ? 0x7c00u : bits;
    bits = size > 0x7f800000u ? 0x7e00u | (size >> 13 & 0x3ffu) : bits;
    return static_cast<unsigned short>(sign | bits);
}
__forceinline__ float value(unsigned short bits) {
    const unsigned int size = bits & 0x7fffu;
    const unsigned int sign = static_cast<unsigned int>(bits & 0x8000u) << 16;
    const unsigned int shifted = size << 13;
    const unsigned int normal = shifted + (size >= 0x7c00u ? 0x70000000u : 0x38000000u);
    // 2^-14 (1 + m) - 2^-14 is the subnormal 2^-14 m.
    const float subnormal =
        __builtin_bit_cast(float, shifted + 0x38800000u) - __builtin_bit_cast(float, 0x38800000u);
    const unsigned int result =
        size < 0x400u ? __builtin_bit_cast(unsigned int, subnormal) : normal;
    return __builtin_bit_cast(float, sign | result);
}
#endif
// Through a float that is rounded to odd: the second rounding sees whether the first was exact.
__forceinline__ unsigned short to_bits(double x) {
    const float near = static_cast<float>(x);
    const double back = near;
    int bits = __builtin_bit_cast(int, near);
    bits -= __builtin_fabs(back) > __builtin_fabs(x) ? 1 : 0;
    bits |= back != x ? 1 : 0;
    return to_bits(__builtin_bit_cast(float, bits));
}

#endif

}  // namespace kerneltk::binary16

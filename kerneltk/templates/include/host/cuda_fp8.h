// CUDA's <cuda_fp8.h> for host compilers: floating numbers of eight bits, e4m3 and e5m2.
//
// They round to nearest, ties to even. Types saturate: what is too large is the largest finite number.
// e4m3 has no infinity.
#pragma once
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <kerneltk/host_intrinsics.hpp>
#include <kerneltk/host_vector.hpp>

using __nv_fp8_storage_t = unsigned char;
using __nv_fp8x2_storage_t = unsigned short;
using __nv_fp8x4_storage_t = unsigned int;
enum __nv_saturation_t { __NV_NOSAT, __NV_SATFINITE };
enum __nv_fp8_interpretation_t { __NV_E4M3, __NV_E5M2 };

namespace kerneltk::fp8 {

inline unsigned char to_bits(double x, __nv_saturation_t saturate,
                             __nv_fp8_interpretation_t kind) {
    const bool is_e4m3 = kind == __NV_E4M3;
    const int mantissa = is_e4m3 ? 3 : 2, bias = is_e4m3 ? 7 : 15;
    const int largest = is_e4m3 ? 0x7e : 0x7b;
    if (x != x) return 0x7f;
    const int sign = __builtin_signbit(x) ? 0x80 : 0;
    const double size = __builtin_fabs(x);
    int bits = largest + 1;
    if (size < 1e6) {
        // In steps of the last digit that there is at this size.
        const int wide = static_cast<int>(__builtin_bit_cast(unsigned long long, size) >> 52);
        const int exponent = wide - 1023 > 1 - bias ? wide - 1023 : 1 - bias;
        const double step = __builtin_bit_cast(
            double, static_cast<unsigned long long>(1023 + exponent - mantissa) << 52);
        bits = ((exponent + bias - 1) << mantissa) + static_cast<int>(__builtin_rint(size / step));
    }
    if (bits > largest) bits = saturate == __NV_SATFINITE ? largest : is_e4m3 ? 0x7f : 0x7c;
    return static_cast<unsigned char>(sign | bits);
}

// CUDA's own conversion of a double keeps a NaN's sign, and for e5m2 one of its digits.
inline unsigned char to_bits_of_double(double x, __nv_saturation_t saturate,
                                       __nv_fp8_interpretation_t kind) {
    if (x == x) return to_bits(x, saturate, kind);
    const auto bits = __builtin_bit_cast(unsigned long long, x);
    const unsigned long long digit = kind == __NV_E4M3 ? 1 : bits >> 50 & 1;
    return static_cast<unsigned char>((bits >> 63 << 7) | 0x7e | digit);
}

inline float value(unsigned char bits, __nv_fp8_interpretation_t kind) {
    const bool is_e4m3 = kind == __NV_E4M3;
    const int mantissa = is_e4m3 ? 3 : 2, bias = is_e4m3 ? 7 : 15, size = bits & 0x7f;
    const float sign = bits & 0x80 ? -1.0f : 1.0f;
    if (is_e4m3 ? size == 0x7f : size > 0x7c) return __builtin_nanf("");
    if (!is_e4m3 && size == 0x7c) return sign * __builtin_inff();
    const int exponent = size >> mantissa, digits = size & ((1 << mantissa) - 1);
    const int whole = exponent == 0 ? digits : digits + (1 << mantissa);
    const int scale = (exponent == 0 ? 1 : exponent) - bias - mantissa;
    return sign * static_cast<float>(whole) *
           __builtin_bit_cast(float, static_cast<unsigned int>(127 + scale) << 23);
}

__forceinline__ unsigned short pair(unsigned char low, unsigned char high) {
    return static_cast<unsigned short>(low | high << 8);
}

}  // namespace kerneltk::fp8

// ---- functions ----

inline __nv_fp8_storage_t __nv_cvt_double_to_fp8(double x, __nv_saturation_t saturate,
                                                 __nv_fp8_interpretation_t kind) {
    return kerneltk::fp8::to_bits_of_double(x, saturate, kind);
}
inline __nv_fp8_storage_t __nv_cvt_float_to_fp8(float x, __nv_saturation_t saturate,
                                                __nv_fp8_interpretation_t kind) {
    return kerneltk::fp8::to_bits(x, saturate, kind);
}
inline __nv_fp8_storage_t __nv_cvt_halfraw_to_fp8(__half_raw x, __nv_saturation_t saturate,
                                                  __nv_fp8_interpretation_t kind) {
    return kerneltk::fp8::to_bits(static_cast<float>(__half(x)), saturate, kind);
}
inline __nv_fp8_storage_t __nv_cvt_bfloat16raw_to_fp8(__nv_bfloat16_raw x,
                                                      __nv_saturation_t saturate,
                                                      __nv_fp8_interpretation_t kind) {
    return kerneltk::fp8::to_bits(static_cast<float>(__nv_bfloat16(x)), saturate, kind);
}
inline __nv_fp8x2_storage_t __nv_cvt_double2_to_fp8x2(double2 x, __nv_saturation_t saturate,
                                                      __nv_fp8_interpretation_t kind) {
    return kerneltk::fp8::pair(kerneltk::fp8::to_bits_of_double(x.x, saturate, kind),
                               kerneltk::fp8::to_bits_of_double(x.y, saturate, kind));
}
inline __nv_fp8x2_storage_t __nv_cvt_float2_to_fp8x2(float2 x, __nv_saturation_t saturate,
                                                     __nv_fp8_interpretation_t kind) {
    return kerneltk::fp8::pair(kerneltk::fp8::to_bits(x.x, saturate, kind),
                               kerneltk::fp8::to_bits(x.y, saturate, kind));
}
inline __nv_fp8x2_storage_t __nv_cvt_halfraw2_to_fp8x2(__half2_raw x, __nv_saturation_t saturate,
                                                       __nv_fp8_interpretation_t kind) {
    const __half2 both(x);
    return __nv_cvt_float2_to_fp8x2({static_cast<float>(both.x), static_cast<float>(both.y)},
                                    saturate, kind);
}
inline __nv_fp8x2_storage_t __nv_cvt_bfloat16raw2_to_fp8x2(__nv_bfloat162_raw x,
                                                           __nv_saturation_t saturate,
                                                           __nv_fp8_interpretation_t kind) {
    const __nv_bfloat162 both(x);
    return __nv_cvt_float2_to_fp8x2({static_cast<float>(both.x), static_cast<float>(both.y)},
                                    saturate, kind);
}
inline __half_raw __nv_cvt_fp8_to_halfraw(__nv_fp8_storage_t x, __nv_fp8_interpretation_t kind) {
    const float value = kerneltk::fp8::value(x, kind);
    if (value != value) return __half_raw{0x7fff};
    return static_cast<__half_raw>(__half(value));
}
inline __half2_raw __nv_cvt_fp8x2_to_halfraw2(__nv_fp8x2_storage_t x,
                                              __nv_fp8_interpretation_t kind) {
    __half2_raw both;
    both.x = __nv_cvt_fp8_to_halfraw(static_cast<unsigned char>(x), kind).x;
    both.y = __nv_cvt_fp8_to_halfraw(static_cast<unsigned char>(x >> 8), kind).x;
    return both;
}

// ---- types ----

#define KERNELTK_FP8_FROM(Class, KIND, T)                                                       \
    explicit Class(T value)                                                                     \
        : __x(kerneltk::fp8::to_bits(static_cast<float>(value), __NV_SATFINITE, KIND)) {}
#define KERNELTK_FP8_TO(T)                                                                      \
    explicit operator T() const {                                                               \
        return kerneltk::saturate<T>(__builtin_truncf(static_cast<float>(*this)));              \
    }
#define KERNELTK_FP8(name, KIND)                                                                \
    struct __nv_fp8_##name {                                                                    \
        __nv_fp8_storage_t __x;                                                                 \
                                                                                                \
        __nv_fp8_##name() = default;                                                            \
        KERNELTK_FP8_FROM(__nv_fp8_##name, KIND, __half)                                        \
        KERNELTK_FP8_FROM(__nv_fp8_##name, KIND, __nv_bfloat16)                                 \
        KERNELTK_FP8_FROM(__nv_fp8_##name, KIND, float)                                         \
        KERNELTK_FP8_FROM(__nv_fp8_##name, KIND, short)                                         \
        KERNELTK_FP8_FROM(__nv_fp8_##name, KIND, int)                                           \
        KERNELTK_FP8_FROM(__nv_fp8_##name, KIND, long)                                          \
        KERNELTK_FP8_FROM(__nv_fp8_##name, KIND, long long)                                     \
        KERNELTK_FP8_FROM(__nv_fp8_##name, KIND, unsigned short)                                \
        KERNELTK_FP8_FROM(__nv_fp8_##name, KIND, unsigned int)                                  \
        KERNELTK_FP8_FROM(__nv_fp8_##name, KIND, unsigned long)                                 \
        KERNELTK_FP8_FROM(__nv_fp8_##name, KIND, unsigned long long)                            \
        explicit __nv_fp8_##name(double value)                                                  \
            : __x(kerneltk::fp8::to_bits_of_double(value, __NV_SATFINITE, KIND)) {}             \
        explicit operator float() const { return kerneltk::fp8::value(__x, KIND); }             \
        explicit operator double() const { return static_cast<float>(*this); }                  \
        explicit operator __half() const { return __nv_cvt_fp8_to_halfraw(__x, KIND); }         \
        explicit operator __nv_bfloat16() const {                                               \
            return __nv_bfloat16(kerneltk::fp8::value(__x, KIND));                              \
        }                                                                                       \
        explicit operator bool() const { return (__x & 0x7f) != 0; }                            \
        KERNELTK_FP8_TO(char)                                                                   \
        KERNELTK_FP8_TO(signed char)                                                            \
        KERNELTK_FP8_TO(unsigned char)                                                          \
        KERNELTK_FP8_TO(short)                                                                  \
        KERNELTK_FP8_TO(unsigned short)                                                         \
        KERNELTK_FP8_TO(int)                                                                    \
        KERNELTK_FP8_TO(unsigned int)                                                           \
        KERNELTK_FP8_TO(long)                                                                   \
        KERNELTK_FP8_TO(unsigned long)                                                          \
        KERNELTK_FP8_TO(long long)                                                              \
        KERNELTK_FP8_TO(unsigned long long)                                                     \
    };                                                                                          \
    struct __attribute__((aligned(2))) __nv_fp8x2_##name {                                      \
        __nv_fp8x2_storage_t __x;                                                               \
                                                                                                \
        __nv_fp8x2_##name() = default;                                                          \
        explicit __nv_fp8x2_##name(__half2 value)                                               \
            : __x(__nv_cvt_halfraw2_to_fp8x2(static_cast<__half2_raw>(value), __NV_SATFINITE,   \
                                             KIND)) {}                                          \
        explicit __nv_fp8x2_##name(__nv_bfloat162 value)                                        \
            : __x(__nv_cvt_bfloat16raw2_to_fp8x2(static_cast<__nv_bfloat162_raw>(value),        \
                                                 __NV_SATFINITE, KIND)) {}                      \
        explicit __nv_fp8x2_##name(float2 value)                                                \
            : __x(__nv_cvt_float2_to_fp8x2(value, __NV_SATFINITE, KIND)) {}                     \
        explicit __nv_fp8x2_##name(double2 value)                                               \
            : __x(__nv_cvt_double2_to_fp8x2(value, __NV_SATFINITE, KIND)) {}                    \
        explicit operator __half2() const { return __nv_cvt_fp8x2_to_halfraw2(__x, KIND); }     \
        explicit operator float2() const {                                                      \
            return {kerneltk::fp8::value(static_cast<unsigned char>(__x), KIND),                \
                    kerneltk::fp8::value(static_cast<unsigned char>(__x >> 8), KIND)};          \
        }                                                                                       \
    };                                                                                          \
    struct __attribute__((aligned(4))) __nv_fp8x4_##name {                                      \
        __nv_fp8x4_storage_t __x;                                                               \
                                                                                                \
        __nv_fp8x4_##name() = default;                                                          \
        explicit __nv_fp8x4_##name(__half2 low, __half2 high)                                   \
            : __x(__nv_fp8x2_##name(low).__x |                                                  \
                  static_cast<unsigned int>(__nv_fp8x2_##name(high).__x) << 16) {}              \
        explicit __nv_fp8x4_##name(__nv_bfloat162 low, __nv_bfloat162 high)                     \
            : __x(__nv_fp8x2_##name(low).__x |                                                  \
                  static_cast<unsigned int>(__nv_fp8x2_##name(high).__x) << 16) {}              \
        explicit __nv_fp8x4_##name(float4 v)                                                    \
            : __x(__nv_fp8x2_##name(float2{v.x, v.y}).__x |                                     \
                  static_cast<unsigned int>(__nv_fp8x2_##name(float2{v.z, v.w}).__x) << 16) {}  \
        explicit __nv_fp8x4_##name(double4 v)                                                   \
            : __x(__nv_fp8x2_##name(double2{v.x, v.y}).__x |                                    \
                  static_cast<unsigned int>(__nv_fp8x2_##name(double2{v.z, v.w}).__x) << 16) {} \
        explicit operator float4() const {                                                      \
            float v[4];                                                                         \
            for (int k = 0; k < 4; ++k)                                                         \
                v[k] = kerneltk::fp8::value(static_cast<unsigned char>(__x >> 8 * k), KIND);    \
            return {v[0], v[1], v[2], v[3]};                                                    \
        }                                                                                       \
    };
KERNELTK_FP8(e4m3, __NV_E4M3)
KERNELTK_FP8(e5m2, __NV_E5M2)
#undef KERNELTK_FP8
#undef KERNELTK_FP8_TO
#undef KERNELTK_FP8_FROM

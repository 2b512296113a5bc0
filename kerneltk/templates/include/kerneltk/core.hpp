// What every generated unit starts with, for NVRTC and for host compilers alike.
#pragma once

#ifdef __CUDACC_RTC__
// The 64-bit names are `long long`, as in libcu++, so that both can be included; in files they are
// those of <stdint.h>, which has been included.
#ifndef KERNELTK_LP64
using int8_t = signed char;
using int16_t = short;
using int32_t = int;
using int64_t = long long;
using uint8_t = unsigned char;
using uint16_t = unsigned short;
using uint32_t = unsigned int;
using uint64_t = unsigned long long;
using intptr_t = long long;
using uintptr_t = unsigned long long;
#endif
// Constants, so that libcu++ may define its macros later.
#ifndef INFINITY
constexpr float INFINITY = __builtin_bit_cast(float, 0x7f800000);
#endif
#ifndef NAN
constexpr float NAN = __builtin_bit_cast(float, 0x7fc00000);
#endif
#else
// Spelled as glibc spells them, so that <math.h> may define them again.
#ifndef INFINITY
#define INFINITY (__builtin_inff ())
#endif
#ifndef NAN
#define NAN (__builtin_nanf (""))
#endif
#endif

#include <kerneltk/constants.hpp>

#include <kerneltk/traits.hpp>

#ifndef __CUDACC_RTC__
#include <kerneltk/host.hpp>
#endif

// CUDA has min and max of two equal types and of a signed and an unsigned integer of one width.
// These take any two numbers, of the type of their sum: max(x, 0), min(i, n - 1).
template <class A, class B, typename kerneltk::enable_if<kerneltk::is_mixed<A, B>::value>::type = 0>
__device__ __forceinline__ auto min(A a, B b) -> decltype(a + b) {
    using common = decltype(a + b);
    return min(static_cast<common>(a), static_cast<common>(b));
}
template <class A, class B, typename kerneltk::enable_if<kerneltk::is_mixed<A, B>::value>::type = 0>
__device__ __forceinline__ auto max(A a, B b) -> decltype(a + b) {
    using common = decltype(a + b);
    return max(static_cast<common>(a), static_cast<common>(b));
}

// Division that rounds down; an integer divided by zero is zero, and the minimum by -1 wraps.
#define KERNELTK_FLOOR_DIVIDE(S, U)                                       \
    __device__ inline S _floor_divide(S x, S y) {                         \
        if (y == 0) return 0;                                             \
        if (y == -1) return -static_cast<U>(x);                           \
        const S q = x / y;                                                \
        return q + (-(S)(q * y != x) & ((x ^ y) >> (8 * sizeof(S) - 1))); \
    }                                                                     \
    __device__ inline U _floor_divide(U x, U y) {                         \
        return y == 0 ? 0 : x / y;                                        \
    }
KERNELTK_FLOOR_DIVIDE(int, unsigned int)
KERNELTK_FLOOR_DIVIDE(long, unsigned long)
KERNELTK_FLOOR_DIVIDE(long long, unsigned long long)
#undef KERNELTK_FLOOR_DIVIDE
__device__ inline float _floor_divide(float x, float y) { return floor(x / y); }
__device__ inline double _floor_divide(double x, double y) { return floor(x / y); }

namespace kerneltk {

// The value of a 16-bit float, as a float; what else there is, as it is. Conditional expressions take
// it so: of a float16 and a float, either converts to the other.
template <class T>
__device__ __forceinline__ constexpr T&& widened(T&& x) {
    return static_cast<T&&>(x);
}

}  // namespace kerneltk

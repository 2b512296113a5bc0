// Macros that declare C++'s overloads of mathematical functions which NVRTC lacks: an integer counts as a double, and numbers
// of different types are computed in the wider one (C++17, [cmath.syn] paragraph 2). On the host
// host_math.hpp has them.
//
// The empty packs make these less specialised than a kernel's own templates.
#pragma once
#include <kerneltk/traits.hpp>
#ifdef __CUDACC_RTC__

namespace kerneltk {

template <class T, class... None>
using if_integer = typename enable_if<is_whole<T>::value && sizeof...(None) == 0>::type;
// Numbers whose widest type is a double, and that CUDA's own overloads do not take.
template <class A, class B, class C, class... None>
using if_mixed = typename enable_if<
    is_number<A>::value && is_number<B>::value && is_number<C>::value && sizeof...(None) == 0 &&
    !(is_single<A>::value && is_single<B>::value && is_single<C>::value) &&
    !(is_double<A>::value && is_double<B>::value && is_double<C>::value)>::type;
// Different numbers of at most 32 bits, of functions that the 16-bit types have for themselves.
template <class A, class B, class... None>
using if_small = typename enable_if<is_single<A>::value && is_single<B>::value &&
                                    !is_same<A, B>::value && sizeof...(None) == 0>::type;
// CUDA has a power of a real number by an int.
template <class A, class B, class... None>
using if_power = typename enable_if<!(is_same<B, int>::value && !is_whole<A>::value),
                                    if_mixed<A, B, B, None...>>::type;

}  // namespace kerneltk

#define KERNELTK_REAL_1(result, name)                                                   \
    template <class T, class... None, kerneltk::if_integer<T, None...> = 0>             \
    __device__ __forceinline__ result name(T x, None...) {                              \
        return name(static_cast<double>(x));                                            \
    }
#define KERNELTK_REAL_2(name)                                                           \
    template <class A, class B, class... None, kerneltk::if_mixed<A, B, B, None...> = 0> \
    __device__ __forceinline__ double name(A a, B b, None...) {                         \
        return name(static_cast<double>(a), static_cast<double>(b));                    \
    }
#define KERNELTK_REAL_2_SMALL(name)                                                     \
    template <class A, class B, class... None, kerneltk::if_small<A, B, None...> = 0>   \
    __device__ __forceinline__ float name(A a, B b, None...) {                          \
        return name(static_cast<float>(a), static_cast<float>(b));                      \
    }
#define KERNELTK_REAL_1_BY(name, By)                                                    \
    template <class T, class... None, kerneltk::if_integer<T, None...> = 0>             \
    __device__ __forceinline__ double name(T x, By by, None...) {                       \
        return name(static_cast<double>(x), by);                                        \
    }
#define KERNELTK_REAL_POW \
    template <class A, class B, class... None, kerneltk::if_power<A, B, None...> = 0> \
    __device__ __forceinline__ double pow(A a, B b, None...) { \
        return pow(static_cast<double>(a), static_cast<double>(b)); \
    }
#define KERNELTK_REAL_FMA \
    template <class A, class B, class C, class... None, kerneltk::if_mixed<A, B, C, None...> = 0> \
    __device__ __forceinline__ double fma(A a, B b, C c, None...) { \
        return fma(static_cast<double>(a), static_cast<double>(b), static_cast<double>(c)); \
    }
#define KERNELTK_REAL_REMQUO \
    template <class A, class B, class... None, kerneltk::if_mixed<A, B, B, None...> = 0> \
    __device__ __forceinline__ double remquo(A a, B b, int* quotient, None...) { \
        return remquo(static_cast<double>(a), static_cast<double>(b), quotient); \
    }
#define KERNELTK_REAL_SINCOS \
    template <class T, class... None, kerneltk::if_integer<T, None...> = 0> \
    __device__ __forceinline__ void sincos(T x, double* sine, double* cosine, None...) { \
        sincos(static_cast<double>(x), sine, cosine); \
    }
#define KERNELTK_REAL_SINCOSPI \
    template <class T, class... None, kerneltk::if_integer<T, None...> = 0> \
    __device__ __forceinline__ void sincospi(T x, double* sine, double* cosine, None...) { \
        sincospi(static_cast<double>(x), sine, cosine); \
    }
#define KERNELTK_REAL_ABS \
    template <class T, class... None, kerneltk::if_integer<T, None...> = 0, \
              typename kerneltk::enable_if<(T(-1) > T(0)) && (sizeof(T) >= sizeof(int))>::type = 0> \
    __device__ __forceinline__ T abs(T x, None...) { \
        return x; \
    }

#endif

// Atomic operations for the types that CUDA leaves out: 64-bit signed integers, floating-point
// extremes and exchanges, 16-bit floats. Device only: the host's own take every type.
//
// They are templates, so that CUDA's and a kernel's own functions are preferred. Each returns the
// value before.
#pragma once
#include <kerneltk/core.hpp>
#ifdef __CUDACC_RTC__

namespace kerneltk {

using word64 = unsigned long long;

template <class To, class From>
__device__ __forceinline__ To bits_as(const From& from) {
    static_assert(sizeof(To) == sizeof(From), "one size");
    return *reinterpret_cast<const To*>(&from);
}

// Replaces *address by change(*address), by compare and swap of its bits.
template <class T, class Change>
__device__ __forceinline__ T atomic_change(T* address, Change change) {
    using word = word_of<sizeof(T)>;
    word* const location = reinterpret_cast<word*>(address);
    word seen = *location, expected;
    do {
        expected = seen;
        const word next = bits_as<word>(change(bits_as<T>(expected)));
        if (next == expected) break;  // nothing to write: an extreme that is there already
        seen = atomicCAS(location, expected, next);
    } while (seen != expected);
    return bits_as<T>(expected);
}

template <class T>
using if_word64 = typename enable_if<is_same<T, long long>::value>::type;
template <class T>
using if_small_float = typename enable_if<is_small_float<T>::value>::type;
template <class T>
using if_real = typename enable_if<is_same<T, float>::value || is_same<T, double>::value>::type;
template <class T>
using if_float = typename enable_if<is_same<T, float>::value || is_same<T, double>::value ||
                                    is_small_float<T>::value>::type;
template <class T>
using if_word = typename enable_if<is_same<T, float>::value || is_same<T, double>::value ||
                                   is_same<T, long long>::value>::type;

}  // namespace kerneltk

template <class T, kerneltk::if_word64<T> = 0>
__device__ __forceinline__ T atomicAdd(T* address, typename kerneltk::identity<T>::type value) {
    using word = kerneltk::word64;
    return static_cast<T>(atomicAdd(reinterpret_cast<word*>(address), static_cast<word>(value)));
}
template <class T, kerneltk::if_small_float<T> = 0, class = void>
__device__ __forceinline__ T atomicAdd(T* address, typename kerneltk::identity<T>::type value) {
    return kerneltk::atomic_change(
        address, [value](T now) { return T(static_cast<float>(now) + static_cast<float>(value)); });
}
template <class T, kerneltk::if_word64<T> = 0>
__device__ __forceinline__ T atomicSub(T* address, typename kerneltk::identity<T>::type value) {
    return atomicAdd(address, static_cast<T>(-static_cast<kerneltk::word64>(value)));
}
template <class T, kerneltk::if_float<T> = 0, class = void>
__device__ __forceinline__ T atomicSub(T* address, typename kerneltk::identity<T>::type value) {
    return atomicAdd(address, T(-value));
}
__device__ __forceinline__ kerneltk::word64 atomicSub(kerneltk::word64* address,
                                                      kerneltk::word64 value) {
    return atomicAdd(address, 0 - value);
}

// A NaN gives way to a number, as by fmax and fmin: what CuPy's header does for float.
template <class T, kerneltk::if_float<T> = 0>
__device__ __forceinline__ T atomicMax(T* address, typename kerneltk::identity<T>::type value) {
    return kerneltk::atomic_change(
        address, [value](T now) { return value > now || now != now ? T(value) : now; });
}
template <class T, kerneltk::if_float<T> = 0>
__device__ __forceinline__ T atomicMin(T* address, typename kerneltk::identity<T>::type value) {
    return kerneltk::atomic_change(
        address, [value](T now) { return value < now || now != now ? T(value) : now; });
}

template <class T, kerneltk::if_word<T> = 0>
__device__ __forceinline__ T atomicExch(T* address, typename kerneltk::identity<T>::type value) {
    using word = kerneltk::word_of<sizeof(T)>;
    return kerneltk::bits_as<T>(
        atomicExch(reinterpret_cast<word*>(address), kerneltk::bits_as<word>(T(value))));
}
template <class T, kerneltk::if_small_float<T> = 0, class = void>
__device__ __forceinline__ T atomicExch(T* address, typename kerneltk::identity<T>::type value) {
    return kerneltk::atomic_change(address, [value](T) { return T(value); });
}
template <class T, kerneltk::if_word<T> = 0>
__device__ __forceinline__ T atomicCAS(T* address, typename kerneltk::identity<T>::type expected,
                                       typename kerneltk::identity<T>::type value) {
    using word = kerneltk::word_of<sizeof(T)>;
    return kerneltk::bits_as<T>(atomicCAS(reinterpret_cast<word*>(address),
                                          kerneltk::bits_as<word>(T(expected)),
                                          kerneltk::bits_as<word>(T(value))));
}

#endif

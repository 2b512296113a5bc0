// Bits of integers in their own width; CUDA's functions know 32 and 64 bits.
#pragma once

namespace kerneltk::jit {

template <class T>
constexpr int width_of = 8 * static_cast<int>(sizeof(T));

// The bits of an integer without those that a sign would add.
template <class T>
__device__ __forceinline__ unsigned long long own_bits(T x) {
    constexpr unsigned long long mask = ~0ull >> (64 - width_of<T>);
    return static_cast<unsigned long long>(x) & mask;
}
template <class T>
__device__ __forceinline__ int popc(T x) {
    if constexpr (sizeof(T) == 8)
        return __popcll(own_bits(x));
    else
        return __popc(static_cast<unsigned int>(own_bits(x)));
}
template <class T>
__device__ __forceinline__ int clz(T x) {
    if constexpr (sizeof(T) == 8)
        return __clzll(static_cast<long long>(x));
    else
        return __clz(static_cast<int>(own_bits(x))) - (32 - width_of<T>);
}
template <class T>
__device__ __forceinline__ int ffs(T x) {
    if constexpr (sizeof(T) == 8)
        return __ffsll(static_cast<long long>(x));
    else
        return __ffs(static_cast<int>(own_bits(x)));
}
template <class T>
__device__ __forceinline__ T brev(T x) {
    if constexpr (sizeof(T) == 8)
        return static_cast<T>(__brevll(own_bits(x)));
    else
        return static_cast<T>(__brev(static_cast<unsigned int>(own_bits(x))) >> (32 - width_of<T>));
}

}  // namespace kerneltk::jit

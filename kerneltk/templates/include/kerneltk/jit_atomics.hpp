// Atomic operations for every dtype that kernels in restricted Python take them for: CUDA's own where
// there are such, and loops of compare-and-swap on the word that an element lies in.
#pragma once
#include <kerneltk/atomics.hpp>

namespace kerneltk::jit {

template <class T, class Word>
__device__ __forceinline__ T from_bits(Word bits) {
    T value;
    memcpy(static_cast<void*>(&value), &bits, sizeof(T));
    return value;
}
template <class Word, class T>
__device__ __forceinline__ Word to_bits(const T& value) {
    Word bits;
    memcpy(&bits, static_cast<const void*>(&value), sizeof(T));
    return bits;
}

// Sets *p to update(*p) and returns what it held.
template <class T, class F>
__device__ inline T update(T* p, F next) {
    using word = word_of<sizeof(T)>;
    word* const place = reinterpret_cast<word*>(p);
    word seen = *const_cast<volatile word*>(place);
    for (;;) {
        const T old = from_bits<T>(seen);
        const word before = seen;
        seen = atomicCAS(place, before, to_bits<word>(static_cast<T>(next(old))));
        if (seen == before) return old;
    }
}

// The integers that CUDA's own functions take.
template <class T>
constexpr bool is_whole = is_same<T, int>::value || is_same<T, unsigned int>::value ||
                          is_same<T, long long>::value || is_same<T, unsigned long long>::value;

// CUDA has no atomicAdd of long long; two's complement makes it that of unsigned long long.
template <class T>
using unsigned_of =
    typename conditional<is_same<T, long long>::value, unsigned long long, T>::type;

template <class T>
__device__ __forceinline__ unsigned_of<T>* as_unsigned(T* p) {
    return reinterpret_cast<unsigned_of<T>*>(p);
}

template <class T>
__device__ inline T atomic_add(T* p, T value) {
    if constexpr (sizeof(T) == 8 && is_whole<T>) {
        using word = unsigned_of<T>;
        return static_cast<T>(atomicAdd(as_unsigned(p), static_cast<word>(value)));
    } else {
        return atomicAdd(p, value);
    }
}
template <class T>
__device__ inline T atomic_sub(T* p, T value) {
    if constexpr (is_whole<T>) {
        using word = unsigned_of<T>;
        return static_cast<T>(atomicAdd(as_unsigned(p), static_cast<word>(word(0) - word(value))));
    } else {
        return atomicAdd(p, static_cast<T>(-value));
    }
}

// atomic_max is Python's max(old, value): where either is NaN, what the element holds stays. For
// atomic_nanmax a NaN is missing: one that the element holds gives way.
#define KERNELTK_JIT_EXTREME(name, function, op)                                                  \
    template <class T>                                                                            \
    __device__ inline T atomic_##name(T* p, T value) {                                            \
        if constexpr (is_whole<T>)                                                         \
            return function(p, value);                                                            \
        else                                                                                      \
            return update(p, [value](T old) { return value op old ? value : old; });              \
    }                                                                                             \
    template <class T>                                                                            \
    __device__ inline T atomic_nan##name(T* p, T value) {                                         \
        if constexpr (is_whole<T>)                                                         \
            return function(p, value);                                                            \
        else                                                                                      \
            return update(p, [value](T old) { return old != old || value op old ? value : old; }); \
    }
KERNELTK_JIT_EXTREME(min, atomicMin, <)
KERNELTK_JIT_EXTREME(max, atomicMax, >)
#undef KERNELTK_JIT_EXTREME

template <class T>
__device__ inline T atomic_inc(T* p, T value) {
    return update(p, [value](T old) { return old >= value ? T(0) : static_cast<T>(old + 1); });
}
template <class T>
__device__ inline T atomic_dec(T* p, T value) {
    return update(p, [value](T old) {
        return old == 0 || old > value ? value : static_cast<T>(old - 1);
    });
}

#define KERNELTK_JIT_BITWISE(name, function)                                                      \
    template <class T>                                                                            \
    __device__ inline T name(T* p, T value) {                                                     \
        using word = unsigned_of<T>;                                                              \
        return static_cast<T>(function(as_unsigned(p), static_cast<word>(value)));                \
    }
KERNELTK_JIT_BITWISE(atomic_and, atomicAnd)
KERNELTK_JIT_BITWISE(atomic_or, atomicOr)
KERNELTK_JIT_BITWISE(atomic_xor, atomicXor)
#undef KERNELTK_JIT_BITWISE

template <class T>
__device__ inline T atomic_exch(T* p, T value) {
    using word = word_of<sizeof(T)>;
    return from_bits<T>(atomicExch(reinterpret_cast<word*>(p), to_bits<word>(value)));
}
// Equal as numbers, except that what is stored must be what was seen, bit by bit.
template <class T>
__device__ inline T atomic_cas(T* p, T expected, T value) {
    using word = word_of<sizeof(T)>;
    return from_bits<T>(
        atomicCAS(reinterpret_cast<word*>(p), to_bits<word>(expected), to_bits<word>(value)));
}

}  // namespace kerneltk::jit

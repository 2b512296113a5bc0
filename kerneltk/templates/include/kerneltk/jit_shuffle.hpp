// Shuffles and matches of any value: in words of four or eight bytes.
#pragma once
#include <kerneltk/core.hpp>

// On the host a function knows where it was called from, for messages of barriers that hang.
#ifdef __CUDACC_RTC__
#define KERNELTK_JIT_PLACE
#define KERNELTK_JIT_CALLER
#define KERNELTK_JIT_BARRIER __syncthreads()
#else
#define KERNELTK_JIT_PLACE \
    , const char *_kt_file = __builtin_FILE(), int _kt_line = __builtin_LINE()
#define KERNELTK_JIT_CALLER , _kt_file, _kt_line
#define KERNELTK_JIT_BARRIER _kt_block_barrier(_kt_file, _kt_line)
#endif

namespace kerneltk::jit {

#ifdef __CUDACC_RTC__
using shuffled_word = unsigned int;
#else
using shuffled_word = unsigned long long;  // each move is a wait
#endif

template <class T>
union shuffled {
    static_assert(__is_trivially_copyable(T), "a warp exchanges bytes");
    static constexpr int count =
        static_cast<int>((sizeof(T) + sizeof(shuffled_word) - 1) / sizeof(shuffled_word));
    T value;
    shuffled_word word[count];

    __device__ __forceinline__ explicit shuffled(const T& x) {
        word[count - 1] = 0;  // its padding is moved as well
        value = x;
    }
};

#define KERNELTK_JIT_SHUFFLE(name, function)                                                 \
    template <class T>                                                                       \
    __device__ __forceinline__ T name(unsigned int mask, const T& x, int lane,               \
                                      int width KERNELTK_JIT_PLACE) {                        \
        shuffled<T> moved(x);                                                                \
        for (int k = 0; k < shuffled<T>::count; ++k)                                         \
            moved.word[k] = function(mask, moved.word[k], lane, width KERNELTK_JIT_CALLER);  \
        return moved.value;                                                                  \
    }
KERNELTK_JIT_SHUFFLE(shfl_sync, __shfl_sync)
KERNELTK_JIT_SHUFFLE(shfl_up_sync, __shfl_up_sync)
KERNELTK_JIT_SHUFFLE(shfl_down_sync, __shfl_down_sync)
KERNELTK_JIT_SHUFFLE(shfl_xor_sync, __shfl_xor_sync)
#undef KERNELTK_JIT_SHUFFLE

template <class T>
__device__ __forceinline__ unsigned long long match_word(const T& value) {
    static_assert(sizeof(T) <= 8, "values of up to eight bytes can be matched");
    unsigned long long bits = 0;
    memcpy(&bits, static_cast<const void*>(&value), sizeof(T));
    return bits;
}
template <class T>
__device__ __forceinline__ unsigned int match_any(unsigned int mask, const T& value) {
    return __match_any_sync(mask, match_word(value));
}
template <class T>
__device__ __forceinline__ unsigned int match_all(unsigned int mask, const T& value) {
    int agreed;
    return __match_all_sync(mask, match_word(value), &agreed);
}
template <class T>
__device__ __forceinline__ bool all_equal(unsigned int mask, const T& value) {
    return match_all(mask, value) != 0;
}

}  // namespace kerneltk::jit

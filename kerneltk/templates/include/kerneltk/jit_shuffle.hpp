// Shuffles and matches of any value: in words of four or eight bytes.
#pragma once

namespace kerneltk::jit {

template <class T, class F>
__device__ __forceinline__ T in_words(const T& value, F move) {
    constexpr int count = (sizeof(T) + 3) / 4;
    unsigned int words[count] = {};
    memcpy(words, static_cast<const void*>(&value), sizeof(T));
    for (int k = 0; k < count; ++k) words[k] = move(words[k]);
    T result;
    memcpy(static_cast<void*>(&result), words, sizeof(T));
    return result;
}

#define KERNELTK_JIT_SHUFFLE(name, function)                                                      \
    template <class T>                                                                            \
    __device__ __forceinline__ T name(unsigned int mask, const T& value, int lane, int width) {   \
        return in_words(value, [=](unsigned int word) {                                           \
            return function(mask, word, lane, width);                                             \
        });                                                                                       \
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

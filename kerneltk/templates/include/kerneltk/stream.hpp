// Writing results past the caches: the line that a store would first read from memory is not read.
// Host only.
#pragma once

namespace kerneltk {

constexpr int stream_line = 64;       // bytes that are written as one
constexpr int stream_elements = 1024;  // computed at a time, small enough for the nearest cache

// How many elements lie before the first line boundary; -1 if none ever will.
template <class T>
inline long long stream_head(const T* to) {
    const unsigned long long behind = reinterpret_cast<unsigned long long>(to) % stream_line;
    if (behind == 0) return 0;
    return (stream_line - behind) % sizeof(T) == 0 ? (stream_line - behind) / sizeof(T) : -1;
}

template <class T>
inline bool stream_aligned(const T* to) {
    return reinterpret_cast<unsigned long long>(to) % stream_line == 0;
}

#if defined(__clang__) || defined(__AVX__)
constexpr bool can_stream = true;
#else
constexpr bool can_stream = false;
#endif

// Copies stream_elements elements from a buffer; both are aligned to a line.
template <class T>
inline void stream_out(T* to, const T* from) {
#if defined(__clang__)
    typedef float line __attribute__((vector_size(32), may_alias));
    const line* source = reinterpret_cast<const line*>(from);
    line* target = reinterpret_cast<line*>(to);
    for (unsigned long k = 0; k < stream_elements * sizeof(T) / 32; ++k)
        __builtin_nontemporal_store(source[k], target + k);
#elif defined(__AVX__)
    typedef float line __attribute__((vector_size(32), may_alias));
    const line* source = reinterpret_cast<const line*>(from);
    float* target = reinterpret_cast<float*>(to);
    for (unsigned long k = 0; k < stream_elements * sizeof(T) / 32; ++k)
        __builtin_ia32_movntps256(target + 8 * k, source[k]);
#else
    __builtin_memcpy(to, from, stream_elements * sizeof(T));
#endif
}

// Makes the results visible to other threads before the launch ends.
inline void stream_fence() {
#if defined(__x86_64__)
    __builtin_ia32_sfence();
#else
    __sync_synchronize();
#endif
}

}  // namespace kerneltk

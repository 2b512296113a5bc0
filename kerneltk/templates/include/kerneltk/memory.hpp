// Moving elements with accesses of a stated width.
#pragma once

namespace kerneltk {

#ifdef __CUDACC_RTC__
template <int BYTES>
struct chunk;
template <>
struct chunk<1> {
    using type = unsigned char;
};
template <>
struct chunk<2> {
    using type = unsigned short;
};
template <>
struct chunk<4> {
    using type = unsigned int;
};
template <>
struct chunk<8> {
    using type = uint2;
};
template <>
struct chunk<16> {
    using type = uint4;
};

// Copies BYTES bytes; both addresses are multiples of CHUNK.
template <int CHUNK, int BYTES>
__device__ __forceinline__ void copy(void* to, const void* from) {
    static_assert(BYTES % CHUNK == 0, "whole chunks");
    using word = typename chunk<CHUNK>::type;
#pragma unroll
    for (int k = 0; k < BYTES / CHUNK; ++k)
        static_cast<word*>(to)[k] = static_cast<const word*>(from)[k];
}

// The same for memory that nothing writes while the kernel runs. It says that the memory is global,
// which a compiler that is told to compile fast does not find out.
template <int CHUNK, int BYTES>
__device__ __forceinline__ void fetch(void* to, const void* from) {
    static_assert(BYTES % CHUNK == 0, "whole chunks");
    using word = typename chunk<CHUNK>::type;
#pragma unroll
    for (int k = 0; k < BYTES / CHUNK; ++k)
        static_cast<word*>(to)[k] = __ldg(static_cast<const word*>(from) + k);
}

// The aligned blocks, of 16 bytes at most, that hold BYTES bytes from any address on lie within
// [low, high): what is beside an array may be another allocation, or none.
template <int BYTES>
__device__ __forceinline__ bool blocks_within(const void* from, const char* low, const char* high) {
    constexpr size_t block = BYTES < 16 ? BYTES : 16;
    const size_t first = reinterpret_cast<size_t>(from);
    return (first & -block) >= reinterpret_cast<size_t>(low) &&
           ((first + BYTES - 1) & -block) + block <= reinterpret_cast<size_t>(high);
}

// Fetches BYTES bytes from any address on, 16 or fewer by the two aligned blocks that hold them:
// where lanes are neighbours in memory, the second comes from the cache.
template <int BYTES>
__device__ __forceinline__ void fetch_shifted(void* to, const void* from) {
    if constexpr (BYTES > 16) {
        fetch_shifted<16>(to, from);
        fetch_shifted<BYTES - 16>(static_cast<char*>(to) + 16, static_cast<const char*>(from) + 16);
    } else {
        constexpr int count = BYTES / 4;
        const size_t address = reinterpret_cast<size_t>(from);
        const unsigned int shift = static_cast<unsigned int>(address) & (BYTES - 1);
        const char* const first = static_cast<const char*>(from) - shift;
        alignas(16) unsigned int words[2 * count];
        fetch<BYTES, BYTES>(words, first);
        if (shift != 0) fetch<BYTES, BYTES>(words + count, first + BYTES);
#pragma unroll
        for (int half = count / 2; half > 0; half /= 2)
#pragma unroll
            for (int k = 0; k + half < 2 * count; ++k)
                words[k] = shift & (4 * half) ? words[k + half] : words[k];
#pragma unroll
        for (int k = 0; k < count; ++k)
            static_cast<unsigned int*>(to)[k] =
                __funnelshift_r(words[k], words[k + 1], 8 * (shift & 3));
    }
}

// The same byte by byte, where an array begins or ends; nothing is read from `high` on.
template <int BYTES>
__device__ __forceinline__ void fetch_bytes(void* to, const void* from, const char* high) {
    const auto* const bytes = static_cast<const unsigned char*>(from);
    unsigned int words[BYTES / 4] = {};
#pragma unroll 1
    for (int k = BYTES - 1; k >= 0; --k) {
#pragma unroll
        for (int word = BYTES / 4 - 1; word > 0; --word)
            words[word] = __funnelshift_l(words[word - 1], words[word], 8);
        words[0] <<= 8;
        if (reinterpret_cast<const char*>(bytes) + k < high) words[0] |= __ldg(bytes + k);
    }
#pragma unroll
    for (int word = 0; word < BYTES / 4; ++word) static_cast<unsigned int*>(to)[word] = words[word];
}

// Extends a range of memory by a dimension of so many steps (bytes).
__device__ __forceinline__ void extend(const char*& low, const char*& high, long long bytes) {
    (bytes < 0 ? low : high) += bytes;
}

#endif

// Moves a pointer by a number of bytes.
template <class T, class Index>
__device__ __forceinline__ T* advance(T* pointer, Index bytes) {
    return reinterpret_cast<T*>(reinterpret_cast<char*>(pointer) + bytes);
}

// A bool is read as its byte. Memory may hold any byte, as an array of bytes that is viewed as bools
// does, and each but 0 is true, as for NumPy; C++ takes it to be 0 or 1. GCC does not vectorise
// with bools from memory, either.
template <class T>
__device__ __forceinline__ const T& get(const T* address) {
    return *address;
}
__device__ __forceinline__ bool get(const bool* address) {
    return *reinterpret_cast<const unsigned char*>(address) != 0;
}
// Makes 1 of each byte that is neither 0 nor 1. Nothing is written else: other threads may write.
__device__ __forceinline__ void settle(bool& value) {
    unsigned char& byte = reinterpret_cast<unsigned char&>(value);
    if (byte > 1) byte = 1;
}
// The same for bytes of a record.
__device__ __forceinline__ void settle_bytes(void* record, int first, int count) {
    unsigned char* bytes = static_cast<unsigned char*>(record) + first;
    for (int k = 0; k < count; ++k)
        if (bytes[k] > 1) bytes[k] = 1;
}
// The same where a value need not be aligned.
template <class T>
__forceinline__ void fetch(T& value, const void* address) {
    __builtin_memcpy(static_cast<void*>(&value), address, sizeof(T));
}
__forceinline__ void fetch(bool& value, const void* address) {
    value = get(static_cast<const bool*>(address));
}

}  // namespace kerneltk

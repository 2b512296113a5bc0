// Moving elements with accesses of a stated width.
#pragma once
#include <kerneltk/traits.hpp>

namespace kerneltk {

#ifdef __CUDACC_RTC__
template <int BYTES>
struct chunk
    : conditional<BYTES == 16, uint4, typename conditional<BYTES == 8, uint2, word_of<BYTES>>::type> {};

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

// Where an array's elements lie. Around `BYTES` bytes that begin in its interior there are aligned
// blocks of 16 bytes that hold them within the array: what is beside it may be another allocation,
// or none.
struct memory_range {
    const char *low, *high;

    template <class T>
    __device__ __forceinline__ memory_range(const T* first)
        : low(reinterpret_cast<const char*>(first)), high(low + sizeof(T)) {}
    // Extends the range by a dimension of so many steps (bytes).
    __device__ __forceinline__ void extend(long long bytes) { (bytes < 0 ? low : high) += bytes; }
    template <int BYTES>
    __device__ __forceinline__ bool has_inside(const void* from) const {
        return static_cast<const char*>(from) >= low + 15 &&
               static_cast<const char*>(from) <= high - (BYTES + 15);
    }
};

// Fetches BYTES bytes from any address on, 16 or fewer by the two aligned blocks that hold them:
// where lanes are neighbours in memory, the second comes from the cache. Loops that halve a number
// are not unrolled by a compiler that is told to compile fast.
template <int BYTES>
__device__ __forceinline__ void fetch_shifted(void* to, const void* from) {
    if constexpr (BYTES > 16) {
        fetch_shifted<16>(to, from);
        fetch_shifted<BYTES - 16>(static_cast<char*>(to) + 16, static_cast<const char*>(from) + 16);
    } else {
        constexpr int count = BYTES / 4;
        const size_t address = reinterpret_cast<size_t>(from);
        const unsigned int shift = static_cast<unsigned int>(address) & (BYTES - 1);
        alignas(16) unsigned int words[2 * count];
        fetch<BYTES, BYTES>(words, reinterpret_cast<const void*>(address - shift));
        // Without a condition, which would put the loads of several vectors apart.
        fetch<BYTES, BYTES>(words + count,
                            reinterpret_cast<const void*>((address + BYTES - 1) & -BYTES));
        if constexpr (BYTES == 16)
#pragma unroll
            for (int k = 0; k < 6; ++k) words[k] = shift & 8 ? words[k + 2] : words[k];
        if constexpr (BYTES >= 8)
#pragma unroll
            for (int k = 0; k <= count; ++k) words[k] = shift & 4 ? words[k + 1] : words[k];
#pragma unroll
        for (int k = 0; k < count; ++k)
            static_cast<unsigned int*>(to)[k] =
                __funnelshift_r(words[k], words[k + 1], 8 * (shift & 3));
    }
}

// The same byte by byte, where an array begins or ends; bytes beside it are not read, but 0.
template <int BYTES>
__device__ __forceinline__ void fetch_bytes(void* to, const void* from,
                                            const memory_range& range) {
    constexpr int part = BYTES < 8 ? BYTES : 8;
#pragma unroll
    for (int first = 0; first < BYTES; first += part) {
        unsigned long long word = 0;
#pragma unroll 1
        for (int k = part - 1; k >= 0; --k) {
            const char* const at = static_cast<const char*>(from) + first + k;
            const bool is_own = range.low <= at && at < range.high;
            word = word << 8 | (is_own ? __ldg(reinterpret_cast<const unsigned char*>(at)) : 0);
        }
        static_cast<unsigned int*>(to)[first / 4] = static_cast<unsigned int>(word);
        if constexpr (part == 8)
            static_cast<unsigned int*>(to)[first / 4 + 1] = static_cast<unsigned int>(word >> 32);
    }
}

// Copies BYTES bytes from any address: of the aligned words around them, which are read as a whole.
template <int BYTES>
__device__ __forceinline__ void copy_in_words(void* to, const void* from) {
    static_assert(BYTES % 4 == 0, "whole words");
    const unsigned int skipped = static_cast<unsigned int>(reinterpret_cast<size_t>(from) % 4);
    const unsigned int* const words =
        reinterpret_cast<const unsigned int*>(static_cast<const char*>(from) - skipped);
    unsigned int low = words[0];
#pragma unroll
    for (int k = 0; k < BYTES / 4; ++k) {
        const unsigned int high = words[k + 1];
        static_cast<unsigned int*>(to)[k] = __funnelshift_r(low, high, skipped * 8);
        low = high;
    }
}

// Where an element of a box lies in shared memory: one slot in 33 stays free, so that lanes that
// are a power of two apart meet in few banks.
__device__ __forceinline__ constexpr int box_slot(int number) { return number + number / 32; }

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

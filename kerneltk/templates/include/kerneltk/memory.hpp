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

// Where the largest or the least value is: numbers whose order is that of the values, and of equal ones
// that of the indices, the first before the others.
#pragma once

namespace kerneltk {

__device__ __forceinline__ unsigned ordered_bits(unsigned value) { return value; }
__device__ __forceinline__ unsigned ordered_bits(int value) {
    return static_cast<unsigned>(value) ^ 0x80000000u;
}
__device__ __forceinline__ unsigned ordered_bits(float value) {
    const unsigned bits = __float_as_uint(value + 0.0f);  // both zeros are equal
    return bits & 0x80000000u ? ~bits : bits | 0x80000000u;
}
__device__ __forceinline__ bool is_no_number(float value) { return value != value; }
template <class T>
__device__ __forceinline__ bool is_no_number(T) {
    return false;
}

// What is no number comes before everything else.
template <bool LEAST, class T>
__device__ __forceinline__ unsigned long long index_key(T value, long long index) {
    unsigned bits = ordered_bits(value);
    if (LEAST) bits = ~bits;
    if (is_no_number(value)) bits = 0xffffffffu;
    return static_cast<unsigned long long>(bits) << 32 | ~static_cast<unsigned>(index);
}
__device__ __forceinline__ long long index_of(unsigned long long key) {
    return static_cast<long long>(~static_cast<unsigned>(key));
}

}  // namespace kerneltk

// CUDA C++'s vector types for host compilers: char1 to double4, dim3 and their make_ functions.
//
// They are plain aggregates without operators: headers of users bring their own. Sizes and
// alignments are CUDA's, so that arrays of them may be shared and reinterpreted.
#pragma once

#define KERNELTK_EACH_INTEGER(one)                                             \
    one(short) one(unsigned short) one(int) one(unsigned int) one(long)        \
    one(unsigned long) one(long long) one(unsigned long long)

#define KERNELTK_VECTORS(name, T, align2, align4)                                          \
    struct name##1 {                                                                       \
        T x;                                                                               \
    };                                                                                     \
    struct __attribute__((aligned(align2))) name##2 {                                      \
        T x, y;                                                                            \
    };                                                                                     \
    struct name##3 {                                                                       \
        T x, y, z;                                                                         \
    };                                                                                     \
    struct __attribute__((aligned(align4))) name##4 {                                      \
        T x, y, z, w;                                                                      \
    };                                                                                     \
    constexpr __attribute__((always_inline)) name##1 make_##name##1(T x) { return {x}; }   \
    constexpr __attribute__((always_inline)) name##2 make_##name##2(T x, T y) {            \
        return {x, y};                                                                     \
    }                                                                                      \
    constexpr __attribute__((always_inline)) name##3 make_##name##3(T x, T y, T z) {       \
        return {x, y, z};                                                                  \
    }                                                                                      \
    constexpr __attribute__((always_inline)) name##4 make_##name##4(T x, T y, T z, T w) {  \
        return {x, y, z, w};                                                               \
    }
// Of eight bytes a component: the alignment of four may also be asked for by name.
#define KERNELTK_WIDE_VECTORS(name, T)                                           \
    KERNELTK_VECTORS(name, T, 16, 16)                                            \
    using name##4_16a = name##4;                                                 \
    struct __attribute__((aligned(32))) name##4_32a {                            \
        T x, y, z, w;                                                            \
    };                                                                           \
    constexpr name##4_16a make_##name##4_16a(T x, T y, T z, T w) {               \
        return {x, y, z, w};                                                     \
    }                                                                            \
    constexpr name##4_32a make_##name##4_32a(T x, T y, T z, T w) {               \
        return {x, y, z, w};                                                     \
    }
KERNELTK_VECTORS(char, signed char, 2, 4)
KERNELTK_VECTORS(uchar, unsigned char, 2, 4)
KERNELTK_VECTORS(short, short, 4, 8)
KERNELTK_VECTORS(ushort, unsigned short, 4, 8)
KERNELTK_VECTORS(int, int, 8, 16)
KERNELTK_VECTORS(uint, unsigned int, 8, 16)
KERNELTK_VECTORS(float, float, 8, 16)
KERNELTK_WIDE_VECTORS(long, long)
KERNELTK_WIDE_VECTORS(ulong, unsigned long)
KERNELTK_WIDE_VECTORS(longlong, long long)
KERNELTK_WIDE_VECTORS(ulonglong, unsigned long long)
KERNELTK_WIDE_VECTORS(double, double)
#undef KERNELTK_WIDE_VECTORS
#undef KERNELTK_VECTORS

namespace kerneltk {
template <>
struct float_vector<float2> {
    static constexpr int size = 2;
};
template <>
struct float_vector<float4> {
    static constexpr int size = 4;
};
}  // namespace kerneltk

struct dim3 {
    unsigned int x, y, z;

    constexpr dim3(unsigned int x_ = 1, unsigned int y_ = 1, unsigned int z_ = 1)
        : x(x_), y(y_), z(z_) {}
    constexpr dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {}
    constexpr operator uint3() const { return {x, y, z}; }
};

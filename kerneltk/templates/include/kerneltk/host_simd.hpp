// CUDA's functions on two or four integers in a word (__vadd4, ...) and on three at once
// (__vimax3_s32, ...) for host compilers.
//
// Templates of no argument, because a compiler need not look into what a kernel does not use.
#pragma once

namespace kerneltk {

template <class T, class F>
__forceinline__ unsigned int lanes(unsigned int x, unsigned int y, unsigned int z, F f) {
    constexpr int bits = 8 * sizeof(T);
    unsigned int result = 0;
    for (int shift = 0; shift < 32; shift += bits) {
        const auto pick = [shift](unsigned int v) -> int { return static_cast<T>(v >> shift); };
        const unsigned int lane = static_cast<unsigned int>(f(pick(x), pick(y), pick(z)));
        result |= (lane & (~0u >> (32 - bits))) << shift;
    }
    return result;
}

// The nearest number that a lane holds.
template <class T>
__forceinline__ int fit(int x) {
    constexpr int half = 1 << (8 * sizeof(T) - 1);
    constexpr int least = T(-1) < T(0) ? -half : 0, most = least + 2 * half - 1;
    return x < least ? least : x > most ? most : x;
}
__forceinline__ int distance(int a, int b) { return a < b ? b - a : a - b; }
__forceinline__ int greater(int a, int b) { return a < b ? b : a; }
__forceinline__ int lesser(int a, int b) { return b < a ? b : a; }

}  // namespace kerneltk

// ---- words of lanes ----

#define KERNELTK_LANES_1(name, T, expression)                                            \
    template <int = 0>                                                                   \
    inline unsigned int name(unsigned int x) {                                           \
        return kerneltk::lanes<T>(x, 0, 0, [](int a, int, int) { return expression; });  \
    }
#define KERNELTK_LANES_2(name, T, expression)                                              \
    template <int = 0>                                                                     \
    inline unsigned int name(unsigned int x, unsigned int y) {                             \
        return kerneltk::lanes<T>(x, y, 0, [](int a, int b, int) { return expression; });  \
    }
#define KERNELTK_LANES_SUM(name, T)                                                     \
    template <int = 0>                                                                  \
    inline unsigned int name(unsigned int x, unsigned int y) {                          \
        int sum = 0;                                                                    \
        for (int shift = 0; shift < 32; shift += 8 * static_cast<int>(sizeof(T)))       \
            sum += kerneltk::distance(static_cast<T>(x >> shift), static_cast<T>(y >> shift)); \
        return static_cast<unsigned int>(sum);                                          \
    }
#define KERNELTK_LANES_COMPARE(name, N, T, op)             \
    KERNELTK_LANES_2(__vcmp##name##N, T, a op b ? -1 : 0)  \
    KERNELTK_LANES_2(__vset##name##N, T, a op b ? 1 : 0)
#define KERNELTK_LANES(N, S, U)                                                          \
    KERNELTK_LANES_1(__vabs##N, S, a < 0 ? -a : a)                                       \
    KERNELTK_LANES_1(__vabsss##N, S, kerneltk::fit<S>(a < 0 ? -a : a))                   \
    KERNELTK_LANES_1(__vneg##N, S, -a)                                                   \
    KERNELTK_LANES_1(__vnegss##N, S, kerneltk::fit<S>(-a))                               \
    KERNELTK_LANES_2(__vadd##N, S, a + b)                                                \
    KERNELTK_LANES_2(__vaddss##N, S, kerneltk::fit<S>(a + b))                            \
    KERNELTK_LANES_2(__vaddus##N, U, kerneltk::fit<U>(a + b))                            \
    KERNELTK_LANES_2(__vsub##N, S, a - b)                                                \
    KERNELTK_LANES_2(__vsubss##N, S, kerneltk::fit<S>(a - b))                            \
    KERNELTK_LANES_2(__vsubus##N, U, kerneltk::fit<U>(a - b))                            \
    KERNELTK_LANES_2(__vavgs##N, S, (a + b + (a + b >= 0)) >> 1)                         \
    KERNELTK_LANES_2(__vavgu##N, U, (a + b + 1) >> 1)                                    \
    KERNELTK_LANES_2(__vhaddu##N, U, (a + b) >> 1)                                       \
    KERNELTK_LANES_2(__vabsdiffs##N, S, kerneltk::distance(a, b))                        \
    KERNELTK_LANES_2(__vabsdiffu##N, U, kerneltk::distance(a, b))                        \
    KERNELTK_LANES_2(__vmaxs##N, S, kerneltk::greater(a, b))                             \
    KERNELTK_LANES_2(__vmaxu##N, U, kerneltk::greater(a, b))                             \
    KERNELTK_LANES_2(__vmins##N, S, kerneltk::lesser(a, b))                              \
    KERNELTK_LANES_2(__vminu##N, U, kerneltk::lesser(a, b))                              \
    KERNELTK_LANES_SUM(__vsads##N, S)                                                    \
    KERNELTK_LANES_SUM(__vsadu##N, U)                                                    \
    KERNELTK_LANES_COMPARE(eq, N, U, ==)                                                 \
    KERNELTK_LANES_COMPARE(ne, N, U, !=)                                                 \
    KERNELTK_LANES_COMPARE(ges, N, S, >=)                                                \
    KERNELTK_LANES_COMPARE(geu, N, U, >=)                                                \
    KERNELTK_LANES_COMPARE(gts, N, S, >)                                                 \
    KERNELTK_LANES_COMPARE(gtu, N, U, >)                                                 \
    KERNELTK_LANES_COMPARE(les, N, S, <=)                                                \
    KERNELTK_LANES_COMPARE(leu, N, U, <=)                                                \
    KERNELTK_LANES_COMPARE(lts, N, S, <)                                                 \
    KERNELTK_LANES_COMPARE(ltu, N, U, <)
KERNELTK_LANES(2, short, unsigned short)
KERNELTK_LANES(4, signed char, unsigned char)
#undef KERNELTK_LANES
#undef KERNELTK_LANES_COMPARE
#undef KERNELTK_LANES_SUM
#undef KERNELTK_LANES_2
#undef KERNELTK_LANES_1

// ---- two or three operands ----

// Sums wrap. With relu the result is at least zero.
#define KERNELTK_WORDS(suffix, T, U)                                                              \
    template <int = 0>                                                                            \
    inline T __vimax3_##suffix(T a, T b, T c) { return max(max(a, b), c); }                       \
    template <int = 0>                                                                            \
    inline T __vimin3_##suffix(T a, T b, T c) { return min(min(a, b), c); }                       \
    template <int = 0>                                                                            \
    inline T __viaddmax_##suffix(T a, T b, T c) {                                                 \
        return max(static_cast<T>(static_cast<U>(a) + static_cast<U>(b)), c);                     \
    }                                                                                             \
    template <int = 0>                                                                            \
    inline T __viaddmin_##suffix(T a, T b, T c) {                                                 \
        return min(static_cast<T>(static_cast<U>(a) + static_cast<U>(b)), c);                     \
    }                                                                                             \
    template <int = 0>                                                                            \
    inline T __vibmax_##suffix(T a, T b, bool* first) {                                           \
        *first = a >= b;                                                                          \
        return max(a, b);                                                                         \
    }                                                                                             \
    template <int = 0>                                                                            \
    inline T __vibmin_##suffix(T a, T b, bool* first) {                                           \
        *first = a <= b;                                                                          \
        return min(a, b);                                                                         \
    }
KERNELTK_WORDS(s32, int, unsigned int)
KERNELTK_WORDS(u32, unsigned int, unsigned int)
#undef KERNELTK_WORDS
#define KERNELTK_PAIRS(suffix, T)                                                                 \
    KERNELTK_PAIRS_3(__vimax3_##suffix, T, kerneltk::greater(kerneltk::greater(a, b), c))         \
    KERNELTK_PAIRS_3(__vimin3_##suffix, T, kerneltk::lesser(kerneltk::lesser(a, b), c))           \
    KERNELTK_PAIRS_3(__viaddmax_##suffix, T, kerneltk::greater(static_cast<T>(a + b), c))         \
    KERNELTK_PAIRS_3(__viaddmin_##suffix, T, kerneltk::lesser(static_cast<T>(a + b), c))          \
    KERNELTK_PAIRS_B(__vibmax_##suffix, T, >=)                                                    \
    KERNELTK_PAIRS_B(__vibmin_##suffix, T, <=)
#define KERNELTK_PAIRS_3(name, T, expression)                                                  \
    template <int = 0>                                                                         \
    inline unsigned int name(unsigned int x, unsigned int y, unsigned int z) {                 \
        return kerneltk::lanes<T>(x, y, z, [](int a, int b, int c) -> int { return expression; }); \
    }
#define KERNELTK_PAIRS_B(name, T, op)                                                          \
    template <int = 0>                                                                         \
    inline unsigned int name(unsigned int x, unsigned int y, bool* high, bool* low) {          \
        *high = static_cast<T>(x >> 16) op static_cast<T>(y >> 16);                            \
        *low = static_cast<T>(x) op static_cast<T>(y);                                         \
        return (*high ? x : y) >> 16 << 16 | ((*low ? x : y) & 0xffffu);                       \
    }
KERNELTK_PAIRS(s16x2, short)
KERNELTK_PAIRS(u16x2, unsigned short)
#define KERNELTK_RELU(name)                                                                \
    template <int = 0>                                                                     \
    inline int name##_s32_relu(int a, int b, int c) { return max(name##_s32(a, b, c), 0); } \
    template <int = 0>                                                                     \
    inline unsigned int name##_s16x2_relu(unsigned int a, unsigned int b, unsigned int c) { \
        return __vmaxs2(name##_s16x2(a, b, c), 0);                                         \
    }
KERNELTK_RELU(__vimax3)
KERNELTK_RELU(__vimin3)
KERNELTK_RELU(__viaddmax)
KERNELTK_RELU(__viaddmin)
#undef KERNELTK_RELU
template <int = 0>
inline int __vimax_s32_relu(int a, int b) { return max(max(a, b), 0); }
template <int = 0>
inline int __vimin_s32_relu(int a, int b) { return max(min(a, b), 0); }
template <int = 0>
inline unsigned int __vimax_s16x2_relu(unsigned int a, unsigned int b) {
    return __vmaxs2(__vmaxs2(a, b), 0);
}
template <int = 0>
inline unsigned int __vimin_s16x2_relu(unsigned int a, unsigned int b) {
    return __vmaxs2(__vmins2(a, b), 0);
}
#undef KERNELTK_PAIRS
#undef KERNELTK_PAIRS_3
#undef KERNELTK_PAIRS_B

// CUDA C++'s less common device functions for host compilers: arithmetic with a stated rounding,
// dot products of small integers, address spaces. Included by units of a user's own source.
#pragma once
#include <kerneltk/core.hpp>
#include <kerneltk/host_simd.hpp>
#include <kerneltk/host_vector.hpp>

extern "C" {
void* malloc(size_t) noexcept;
void free(void*) noexcept;
void* memmove(void*, const void*, size_t) noexcept;
long labs(long) noexcept;
long long llabs(long long) noexcept;
}

// ---- stated rounding ----

namespace kerneltk {

// Sets the processor's rounding while it lives. Operands and results pass through hold(), so that
// no operation moves across its begin and its end.
class rounding {
#if defined(__x86_64__)
#define KERNELTK_READ_MODE "stmxcsr %0" : "=m"
#define KERNELTK_SET_MODE "ldmxcsr %0" : : "m"
#define KERNELTK_HELD "+x"
    using word = unsigned int;
    static constexpr word mask = 0x6000;

public:
    enum direction : word { down = 0x2000, up = 0x4000, to_zero = 0x6000 };
#elif defined(__aarch64__)
#define KERNELTK_READ_MODE "mrs %0, fpcr" : "=r"
#define KERNELTK_SET_MODE "msr fpcr, %0" : : "r"
#define KERNELTK_HELD "+w"
    using word = unsigned long;
    static constexpr word mask = 3ul << 22;

public:
    enum direction : word { up = 1ul << 22, down = 2ul << 22, to_zero = 3ul << 22 };
#endif

    template <class... F>
    __forceinline__ explicit rounding(direction wanted, F&... operands) {
        __asm__ volatile(KERNELTK_READ_MODE(before_));
        const word now = (before_ & ~mask) | wanted;
        __asm__ volatile(KERNELTK_SET_MODE(now));
        (hold(operands), ...);
    }
    template <class F>
    __forceinline__ F end(F result) {
        hold(result);
        __asm__ volatile(KERNELTK_SET_MODE(before_));
        return result;
    }

private:
    template <class F>
    static __forceinline__ void hold(F& x) {
        __asm__ volatile("" : KERNELTK_HELD(x));
    }
    word before_;
};
#undef KERNELTK_READ_MODE
#undef KERNELTK_SET_MODE
#undef KERNELTK_HELD

}  // namespace kerneltk

// What follows the expression are the names of the parameters.
#define KERNELTK_ROUNDED_TO(name, direction, F, parameters, expression, ...)           \
    template <int = 0>                                                                 \
    inline F name parameters {                                                         \
        kerneltk::rounding mode(kerneltk::rounding::direction, __VA_ARGS__);           \
        return mode.end(static_cast<F>(expression));                                   \
    }
#define KERNELTK_ROUNDED(name, F, parameters, ...)                                     \
    KERNELTK_ROUNDED_TO(name##_rd, down, F, parameters, __VA_ARGS__)                   \
    KERNELTK_ROUNDED_TO(name##_ru, up, F, parameters, __VA_ARGS__)                     \
    KERNELTK_ROUNDED_TO(name##_rz, to_zero, F, parameters, __VA_ARGS__)
#define KERNELTK_ROUNDED_OF(F, prefix, f)                                              \
    KERNELTK_ROUNDED(__##prefix##add, F, (F x, F y), x + y, x, y)                      \
    KERNELTK_ROUNDED(__##prefix##sub, F, (F x, F y), x - y, x, y)                      \
    KERNELTK_ROUNDED(__##prefix##mul, F, (F x, F y), x * y, x, y)                      \
    KERNELTK_ROUNDED(__##prefix##div, F, (F x, F y), x / y, x, y)                      \
    KERNELTK_ROUNDED(__##prefix##rcp, F, (F x), F(1) / x, x)                           \
    KERNELTK_ROUNDED(__##prefix##sqrt, F, (F x), __builtin_sqrt##f(x), x)              \
    KERNELTK_ROUNDED(__fma##f, F, (F x, F y, F z), __builtin_fma##f(x, y, z), x, y, z)
KERNELTK_ROUNDED_OF(float, f, f)
KERNELTK_ROUNDED_OF(double, d, )
KERNELTK_ROUNDED(__fmaf_ieee, float, (float x, float y, float z), __builtin_fmaf(x, y, z), x, y, z)
#undef KERNELTK_ROUNDED_OF
#undef KERNELTK_ROUNDED
#undef KERNELTK_ROUNDED_TO

// ---- integers ----

inline unsigned int __funnelshift_lc(unsigned int low, unsigned int high, unsigned int shift) {
    return shift >= 32 ? low : __funnelshift_l(low, high, shift);
}
inline unsigned int __funnelshift_rc(unsigned int low, unsigned int high, unsigned int shift) {
    return shift >= 32 ? high : __funnelshift_r(low, high, shift);
}
// The index of the |offset|-th set bit from bit `base` on, upwards or downwards; none is ~0.
inline unsigned int __fns(unsigned int mask, unsigned int base, int offset) {
    const int step = offset < 0 ? -1 : 1;
    int left = offset == 0 ? 1 : offset < 0 ? -offset : offset;
    for (unsigned int bit = base; bit < 32; bit += static_cast<unsigned int>(step)) {
        if ((mask >> bit & 1u) != 0 && --left == 0) return bit;
        if (offset == 0) break;
    }
    return ~0u;
}

namespace kerneltk {
// c + a0 b0 + a1 b1 + ...: N lanes of type A at bit `from_a` of a, of type B at `from_b` of b.
template <class A, class B, int N, class R>
__forceinline__ R dot(unsigned int a, unsigned int b, R c, int from_b) {
    unsigned int sum = static_cast<unsigned int>(c);
    for (int k = 0; k < N; ++k) {
        const int x = static_cast<A>(a >> 8 * static_cast<int>(sizeof(A)) * k);
        const int y = static_cast<B>(b >> (from_b + 8 * static_cast<int>(sizeof(B)) * k));
        sum += static_cast<unsigned int>(x) * static_cast<unsigned int>(y);
    }
    return static_cast<R>(sum);
}
}  // namespace kerneltk
#define KERNELTK_DOT(R, S2, S1, Word, V2, V4)                                         \
    inline R __dp4a(Word a, Word b, R c) {                                            \
        return kerneltk::dot<S1, S1, 4>(static_cast<unsigned int>(a),                 \
                                        static_cast<unsigned int>(b), c, 0);          \
    }                                                                                 \
    inline R __dp4a(V4 a, V4 b, R c) {                                                \
        return __dp4a(__builtin_bit_cast(Word, a), __builtin_bit_cast(Word, b), c);   \
    }                                                                                 \
    inline R __dp2a_lo(Word a, Word b, R c) {                                         \
        return kerneltk::dot<S2, S1, 2>(static_cast<unsigned int>(a),                 \
                                        static_cast<unsigned int>(b), c, 0);          \
    }                                                                                 \
    inline R __dp2a_hi(Word a, Word b, R c) {                                         \
        return kerneltk::dot<S2, S1, 2>(static_cast<unsigned int>(a),                 \
                                        static_cast<unsigned int>(b), c, 16);         \
    }                                                                                 \
    inline R __dp2a_lo(V2 a, V4 b, R c) {                                             \
        return __dp2a_lo(__builtin_bit_cast(Word, a), __builtin_bit_cast(Word, b), c); \
    }                                                                                 \
    inline R __dp2a_hi(V2 a, V4 b, R c) {                                             \
        return __dp2a_hi(__builtin_bit_cast(Word, a), __builtin_bit_cast(Word, b), c); \
    }
KERNELTK_DOT(int, short, signed char, int, short2, char4)
KERNELTK_DOT(unsigned int, unsigned short, unsigned char, unsigned int, ushort2, uchar4)
#undef KERNELTK_DOT

inline unsigned int umin(unsigned int x, unsigned int y) { return min(x, y); }
inline unsigned int umax(unsigned int x, unsigned int y) { return max(x, y); }
inline long long llmin(long long x, long long y) { return min(x, y); }
inline long long llmax(long long x, long long y) { return max(x, y); }
inline unsigned long long ullmin(unsigned long long x, unsigned long long y) { return min(x, y); }
inline unsigned long long ullmax(unsigned long long x, unsigned long long y) { return max(x, y); }

// ---- norms ----

// Scaled by the largest size, so that no square overflows.
#define KERNELTK_NORM(T, name, reciprocal)                              \
    inline T name(int count, const T* values) {                         \
        T largest = 0;                                                  \
        for (int k = 0; k < count; ++k) largest = fmax(largest, fabs(values[k])); \
        if (!(largest > 0) || __builtin_isinf(largest)) {               \
            T sum = largest;                                            \
            for (int k = 0; k < count; ++k) sum += fabs(values[k]);     \
            return __builtin_isinf(largest) ? largest : sum;            \
        }                                                               \
        T sum = 0;                                                      \
        for (int k = 0; k < count; ++k) {                               \
            const T part = values[k] / largest;                         \
            sum += part * part;                                         \
        }                                                               \
        return largest * sqrt(sum);                                     \
    }                                                                   \
    inline T reciprocal(int count, const T* values) { return 1 / name(count, values); }
KERNELTK_NORM(double, norm, rnorm)
KERNELTK_NORM(float, normf, rnormf)
#undef KERNELTK_NORM
inline float fdividef(float x, float y) { return x / y; }
inline double fdivide(double x, double y) { return x / y; }
inline float fdivide(float x, float y) { return x / y; }

inline void __brkpt() { __builtin_trap(); }
inline void __prof_trigger(int) {}

// ---- address spaces: there is one ----

inline size_t __cvta_generic_to_global(const void* p) { return reinterpret_cast<size_t>(p); }
inline size_t __cvta_generic_to_shared(const void* p) { return reinterpret_cast<size_t>(p); }
inline size_t __cvta_generic_to_local(const void* p) { return reinterpret_cast<size_t>(p); }
inline size_t __cvta_generic_to_constant(const void* p) { return reinterpret_cast<size_t>(p); }
inline void* __cvta_global_to_generic(size_t p) { return reinterpret_cast<void*>(p); }
inline void* __cvta_shared_to_generic(size_t p) { return reinterpret_cast<void*>(p); }
inline void* __cvta_local_to_generic(size_t p) { return reinterpret_cast<void*>(p); }
inline void* __cvta_constant_to_generic(size_t p) { return reinterpret_cast<void*>(p); }

// CUDA C++'s vocabulary for host compilers: qualifiers, integer and memory intrinsics, atomics.
// Included by core.hpp. No header of a C or C++ library is used, and each may be included as well.
#pragma once

// __noinline__ has no definition here: as a macro it would break libc++.
#define __global__
#define __device__
#define __host__
#define __constant__
#define __managed__
#define __shared__ thread_local
#define __grid_constant__
#ifdef KERNELTK_CHECK_MEMORY
#define __forceinline__ inline  // so that each call has a frame to be told by
#else
#define __forceinline__ inline __attribute__((__always_inline__))
#endif
#define __launch_bounds__(...)
#define __cluster_dims__(...)
#define __maxnreg__(...)
#define __align__(n) __attribute__((__aligned__(n)))
#ifndef __has_builtin
#define __has_builtin(x) 0
#endif
#if !__has_builtin(__builtin_assume)
#define __builtin_assume(x) ((x) ? void() : __builtin_unreachable())
#endif

using int8_t = __INT8_TYPE__;
using int16_t = __INT16_TYPE__;
using int32_t = __INT32_TYPE__;
using int64_t = __INT64_TYPE__;
using uint8_t = __UINT8_TYPE__;
using uint16_t = __UINT16_TYPE__;
using uint32_t = __UINT32_TYPE__;
using uint64_t = __UINT64_TYPE__;
using intptr_t = __INTPTR_TYPE__;
using uintptr_t = __UINTPTR_TYPE__;
using size_t = __SIZE_TYPE__;
using ptrdiff_t = __PTRDIFF_TYPE__;

#ifndef NULL
#define NULL __null
#endif

extern "C" {
int printf(const char*, ...);
void* memcpy(void* __restrict__, const void* __restrict__, size_t) noexcept;
void* memset(void*, int, size_t) noexcept;

// A GPU knows no locale, and its printf returns how many arguments it has found. Who links a unit says
// that `printf` means this. By names of ours, since the C library's headers may declare these, too.
int _kt_vprintf(const char*, __builtin_va_list) __asm__("vprintf");
void* _kt_newlocale(int, const char*, void*) __asm__("newlocale");
void* _kt_uselocale(void*) __asm__("uselocale");
__attribute__((__visibility__("hidden"), __cold__, __noinline__, __used__)) inline int
__wrap_printf(const char* format, ...) {
    if (format == NULL) return -1;
    int count = 0;
    for (const char* c = format; *c != 0; ++c) {
        if (*c != '%') continue;
        ++c;
        while (*c != 0 && !(*c >= 'A' && *c <= 'Z') && !(*c >= 'a' && *c <= 'z') && *c != '%')
            count += *c++ == '*';
        if (*c == 0) break;
        count += *c != '%';
    }
    __builtin_va_list values;
    __builtin_va_start(values, format);
    void* const before = _kt_uselocale(_kt_newlocale(0x1fbf, "C", nullptr));  // LC_ALL_MASK
    _kt_vprintf(format, values);
    _kt_uselocale(before);
    __builtin_va_end(values);
    return count;
}
}

#ifndef assert
namespace kerneltk {
[[noreturn]] __attribute__((cold)) inline void assertion_failed(const char* condition,
                                                               const char* file, int line) {
    printf("%s:%d: Assertion `%s` failed.\n", file, line, condition);
    __builtin_trap();
}
}  // namespace kerneltk
#define assert(condition) \
    ((condition) ? void() : ::kerneltk::assertion_failed(#condition, __FILE__, __LINE__))
#endif

// ---- bits ----

inline int __float_as_int(float x) { return __builtin_bit_cast(int, x); }
inline unsigned int __float_as_uint(float x) { return __builtin_bit_cast(unsigned int, x); }
inline float __int_as_float(int x) { return __builtin_bit_cast(float, x); }
inline float __uint_as_float(unsigned int x) { return __builtin_bit_cast(float, x); }
inline long long __double_as_longlong(double x) { return __builtin_bit_cast(long long, x); }
inline double __longlong_as_double(long long x) { return __builtin_bit_cast(double, x); }
inline int __double2hiint(double x) { return static_cast<int>(__double_as_longlong(x) >> 32); }
inline int __double2loint(double x) { return static_cast<int>(__double_as_longlong(x)); }
inline double __hiloint2double(int high, int low) {
    return __builtin_bit_cast(double, static_cast<unsigned long long>(static_cast<unsigned>(high))
                                              << 32 |
                                          static_cast<unsigned>(low));
}

inline int __popc(unsigned int x) { return __builtin_popcount(x); }
inline int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
inline int __clz(int x) { return x ? __builtin_clz(static_cast<unsigned>(x)) : 32; }
inline int __clzll(long long x) {
    return x ? __builtin_clzll(static_cast<unsigned long long>(x)) : 64;
}
inline int __ffs(int x) { return __builtin_ffs(x); }
inline int __ffsll(long long x) { return __builtin_ffsll(x); }
inline unsigned int __brev(unsigned int x) {
    x = (x >> 1 & 0x55555555u) | (x & 0x55555555u) << 1;
    x = (x >> 2 & 0x33333333u) | (x & 0x33333333u) << 2;
    x = (x >> 4 & 0x0f0f0f0fu) | (x & 0x0f0f0f0fu) << 4;
    return __builtin_bswap32(x);
}
inline unsigned long long __brevll(unsigned long long x) {
    return static_cast<unsigned long long>(__brev(static_cast<unsigned>(x))) << 32 |
           __brev(static_cast<unsigned>(x >> 32));
}
inline unsigned int __byte_perm(unsigned int x, unsigned int y, unsigned int selector) {
    const unsigned long long bytes = static_cast<unsigned long long>(y) << 32 | x;
    unsigned int result = 0;
    for (int i = 0; i < 4; ++i) {
        const unsigned int pick = selector >> 4 * i & 7;
        result |= static_cast<unsigned>(bytes >> 8 * pick & 0xff) << 8 * i;
    }
    return result;
}
inline unsigned int __funnelshift_l(unsigned int low, unsigned int high, unsigned int shift) {
    return static_cast<unsigned>(
        ((static_cast<unsigned long long>(high) << 32 | low) << (shift & 31)) >> 32);
}
inline unsigned int __funnelshift_r(unsigned int low, unsigned int high, unsigned int shift) {
    return static_cast<unsigned>((static_cast<unsigned long long>(high) << 32 | low) >>
                                 (shift & 31));
}

// ---- integers ----

inline int __mulhi(int x, int y) {
    return static_cast<int>(static_cast<long long>(x) * y >> 32);
}
inline unsigned int __umulhi(unsigned int x, unsigned int y) {
    return static_cast<unsigned>(static_cast<unsigned long long>(x) * y >> 32);
}
inline long long __mul64hi(long long x, long long y) {
    __extension__ using wide = __int128;
    return static_cast<long long>(static_cast<wide>(x) * y >> 64);
}
inline unsigned long long __umul64hi(unsigned long long x, unsigned long long y) {
    __extension__ using wide = unsigned __int128;
    return static_cast<unsigned long long>(static_cast<wide>(x) * y >> 64);
}
inline int __mul24(int x, int y) {
    const auto low = [](int v) { return static_cast<int>(static_cast<unsigned>(v) << 8) >> 8; };
    return static_cast<int>(static_cast<unsigned>(low(x)) * static_cast<unsigned>(low(y)));
}
inline unsigned int __umul24(unsigned int x, unsigned int y) {
    return (x & 0xffffffu) * (y & 0xffffffu);
}
inline unsigned int __sad(int x, int y, unsigned int z) {
    return z + (x < y ? static_cast<unsigned>(y) - static_cast<unsigned>(x)
                      : static_cast<unsigned>(x) - static_cast<unsigned>(y));
}
inline unsigned int __usad(unsigned int x, unsigned int y, unsigned int z) {
    return z + (x < y ? y - x : x - y);
}
inline int __hadd(int x, int y) { return static_cast<int>((static_cast<long long>(x) + y) >> 1); }
inline int __rhadd(int x, int y) {
    return static_cast<int>((static_cast<long long>(x) + y + 1) >> 1);
}
inline unsigned int __uhadd(unsigned int x, unsigned int y) {
    return static_cast<unsigned>((static_cast<unsigned long long>(x) + y) >> 1);
}
inline unsigned int __urhadd(unsigned int x, unsigned int y) {
    return static_cast<unsigned>((static_cast<unsigned long long>(x) + y + 1) >> 1);
}

// CUDA's own overloads: a signed and an unsigned integer compare as unsigned, and a NaN loses.
#define KERNELTK_MIN_MAX_BY(R, A, B, is_min, is_max)                         \
    inline R min(A a, B b) {                                                 \
        const R x = static_cast<R>(a), y = static_cast<R>(b);                \
        return is_min ? x : y;                                               \
    }                                                                        \
    inline R max(A a, B b) {                                                 \
        const R x = static_cast<R>(a), y = static_cast<R>(b);                \
        return is_max ? x : y;                                               \
    }
#define KERNELTK_MIN_MAX(R, A, B) KERNELTK_MIN_MAX_BY(R, A, B, !(y < x), !(x < y))
#define KERNELTK_MIN_MAX_INTEGER(S, U) \
    KERNELTK_MIN_MAX(S, S, S)          \
    KERNELTK_MIN_MAX(U, U, U)          \
    KERNELTK_MIN_MAX(U, S, U)          \
    KERNELTK_MIN_MAX(U, U, S)
KERNELTK_MIN_MAX_INTEGER(int, unsigned int)
KERNELTK_MIN_MAX_INTEGER(long, unsigned long)
KERNELTK_MIN_MAX_INTEGER(long long, unsigned long long)
#undef KERNELTK_MIN_MAX_INTEGER
#undef KERNELTK_MIN_MAX
#define KERNELTK_MIN_MAX_FLOAT(R, A, B) \
    KERNELTK_MIN_MAX_BY(R, A, B, ((x < y) | (y != y)), ((x > y) | (y != y)))
KERNELTK_MIN_MAX_FLOAT(float, float, float)
KERNELTK_MIN_MAX_FLOAT(double, double, double)
KERNELTK_MIN_MAX_FLOAT(double, float, double)
KERNELTK_MIN_MAX_FLOAT(double, double, float)
#undef KERNELTK_MIN_MAX_FLOAT
#undef KERNELTK_MIN_MAX_BY

// ---- memory ----

// Of CUDA's own types they are no templates, so that these are preferred to a kernel's own template of
// the name; of others they are the worst match, by the empty pack.
#define KERNELTK_OF_TYPES(define, name)                                               \
    define(char, name) define(signed char, name) define(short, name) define(int, name) \
    define(long, name) define(long long, name) define(unsigned char, name)            \
    define(unsigned short, name) define(unsigned int, name) define(unsigned long, name) \
    define(unsigned long long, name) define(float, name) define(double, name)
#define KERNELTK_LOAD_OF(T, name) \
    inline T name(const T* p) { return *p; }
#define KERNELTK_LOAD(name)                   \
    KERNELTK_OF_TYPES(KERNELTK_LOAD_OF, name) \
    template <class T, class... None>         \
    inline T name(const T* p, None...) { return *p; }
KERNELTK_LOAD(__ldg)
KERNELTK_LOAD(__ldca)
KERNELTK_LOAD(__ldcg)
KERNELTK_LOAD(__ldcs)
KERNELTK_LOAD(__ldcv)
KERNELTK_LOAD(__ldlu)
#undef KERNELTK_LOAD
#undef KERNELTK_LOAD_OF
#define KERNELTK_STORE_OF(T, name) \
    inline void name(T* p, T value) { *p = value; }
#define KERNELTK_STORE(name)                   \
    KERNELTK_OF_TYPES(KERNELTK_STORE_OF, name) \
    template <class T, class Value, class... None> \
    inline void name(T* p, const Value& value, None...) { *p = value; }
KERNELTK_STORE(__stcg)
KERNELTK_STORE(__stcs)
KERNELTK_STORE(__stwb)
KERNELTK_STORE(__stwt)
#undef KERNELTK_STORE
#undef KERNELTK_STORE_OF
#undef KERNELTK_OF_TYPES
// What an operation that may belong to a loop of waiting tells: whether it failed; that it changed
// nothing at an address.
#ifndef KERNELTK_CONTENDED
#define KERNELTK_CONTENDED(failed) void()
#define KERNELTK_UNCHANGED(p) void()
#endif

// What checks of memory are told: that accesses are atomic, and that there is a fence.
#ifndef KERNELTK_ATOMIC_ACCESSES
#define KERNELTK_ATOMIC_ACCESSES
#define KERNELTK_ORDER
#endif

#define KERNELTK_FENCE(name)                       \
    inline void name() {                           \
        KERNELTK_ORDER                             \
        __atomic_thread_fence(__ATOMIC_SEQ_CST);   \
        KERNELTK_CONTENDED(true);                  \
    }
KERNELTK_FENCE(__threadfence)
KERNELTK_FENCE(__threadfence_block)
KERNELTK_FENCE(__threadfence_system)
#undef KERNELTK_FENCE
[[noreturn]] inline void __trap() { __builtin_trap(); }

namespace kerneltk {

template <class T>
struct is_integer : false_type {};
#define KERNELTK_INTEGER(T) \
    template <>             \
    struct is_integer<T> : true_type {};
KERNELTK_INTEGER(char)
KERNELTK_INTEGER(signed char)
KERNELTK_INTEGER(unsigned char)
KERNELTK_INTEGER(short)
KERNELTK_INTEGER(unsigned short)
KERNELTK_INTEGER(int)
KERNELTK_INTEGER(unsigned int)
KERNELTK_INTEGER(long)
KERNELTK_INTEGER(unsigned long)
KERNELTK_INTEGER(long long)
KERNELTK_INTEGER(unsigned long long)
#undef KERNELTK_INTEGER

// Sets *p to update(*p) and returns what it held. Bits are compared, so that NaN ends as well.
template <class T, class F>
inline T atomic_update(T* p, F update) {
    KERNELTK_ATOMIC_ACCESSES
    T old, next;
    __atomic_load(p, &old, __ATOMIC_RELAXED);
    do {
        next = update(old);
    } while (!__atomic_compare_exchange(p, &old, &next, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
    return old;
}

// Values of 16 bytes are exchanged as a whole where they are aligned, as on a GPU. For these
// compilers call a library; processors have instructions.
template <class T>
inline bool compare_exchange_16(T* p, T* expected, const T* value) {
    static_assert(sizeof(T) == 16, "an atomic exchange is of 1, 2, 4, 8 or 16 bytes");
    using word = unsigned long long;
    if ((reinterpret_cast<uintptr_t>(p) & 15) != 0) __trap();  // GPUs fault, too
    word before[2], after[2];
    __builtin_memcpy(before, static_cast<const void*>(expected), 16);
    __builtin_memcpy(after, static_cast<const void*>(value), 16);
#if defined(__x86_64__)
    bool done;
    __asm__ volatile("lock cmpxchg16b %1"
                     : "=@ccz"(done), "+m"(*reinterpret_cast<char(*)[16]>(p)), "+a"(before[0]),
                       "+d"(before[1])
                     : "b"(after[0]), "c"(after[1])
                     : "memory");
#elif defined(__aarch64__)
    word now[2];
    bool done = true;
    unsigned int failed;
    do {
        // What was loaded is stored again if it differs: only a pair that is stored was one.
        __asm__ volatile("ldaxp %0, %1, [%2]"
                         : "=&r"(now[0]), "=&r"(now[1])
                         : "r"(p)
                         : "memory");
        done = now[0] == before[0] && now[1] == before[1];
        const word first = done ? after[0] : now[0], second = done ? after[1] : now[1];
        __asm__ volatile("stlxp %w0, %1, %2, [%3]"
                         : "=&r"(failed)
                         : "r"(first), "r"(second), "r"(p)
                         : "memory");
    } while (failed);
    before[0] = now[0];
    before[1] = now[1];
#else
#error "CPU cores of this kind do not exchange 16 bytes"
#endif
    __builtin_memcpy(static_cast<void*>(expected), before, 16);
    return done;
}
template <class T>
inline bool compare_exchange(T* p, T* expected, T* value) {
    if constexpr (sizeof(T) == 1 || sizeof(T) == 2 || sizeof(T) == 4 || sizeof(T) == 8)
        return __atomic_compare_exchange(p, expected, value, false, __ATOMIC_RELAXED,
                                         __ATOMIC_RELAXED);
    else
        return compare_exchange_16(p, expected, value);
}

// A vector of floats is added element by element, each of them atomic by itself (host_vector.hpp).
template <class T>
struct float_vector {
    static constexpr int size = 0;
};

}  // namespace kerneltk

// Templates, so that a kernel's own atomicAdd(double*, double) is preferred.
#define KERNELTK_ATOMIC_SCOPES(name)                                                         \
    template <class T>                                                                       \
    inline T name##_block(T* p, typename kerneltk::identity<T>::type value) {                \
        return name(p, value);                                                               \
    }                                                                                        \
    template <class T>                                                                       \
    inline T name##_system(T* p, typename kerneltk::identity<T>::type value) {               \
        return name(p, value);                                                               \
    }
#define KERNELTK_ATOMIC(name, expression)                                                    \
    template <class T>                                                                       \
    inline T name(T* p, typename kerneltk::identity<T>::type value) {                        \
        const auto update = [value]([[maybe_unused]] T old) -> T {                           \
            return static_cast<T>(expression);                                               \
        };                                                                                   \
        const T old = kerneltk::atomic_update(p, update);                                    \
        if constexpr (kerneltk::is_integer<T>::value)                                        \
            if (update(old) == old) KERNELTK_UNCHANGED(p);                                   \
        return old;                                                                          \
    }                                                                                        \
    KERNELTK_ATOMIC_SCOPES(name)
#define KERNELTK_ATOMIC_FETCH(name, fetch, expression)                                       \
    template <class T>                                                                       \
    inline T name(T* p, typename kerneltk::identity<T>::type value) {                        \
        if constexpr (kerneltk::is_integer<T>::value)                                        \
            if (value == T(0)) KERNELTK_UNCHANGED(p); /* a way to read */                    \
        if constexpr (kerneltk::is_integer<T>::value) {                                      \
            KERNELTK_ATOMIC_ACCESSES                                                         \
            return fetch(p, value, __ATOMIC_RELAXED);                                        \
        } else if constexpr (kerneltk::float_vector<T>::size != 0) {                         \
            T old;                                                                           \
            for (int k = 0; k < kerneltk::float_vector<T>::size; ++k)                        \
                reinterpret_cast<float*>(&old)[k] = name(                                    \
                    reinterpret_cast<float*>(p) + k, reinterpret_cast<float*>(&value)[k]);   \
            return old;                                                                      \
        } else                                                                               \
            return kerneltk::atomic_update(                                                  \
                p, [value]([[maybe_unused]] T old) -> T {                                    \
                    return static_cast<T>(expression);                                       \
                });                                                                          \
    }                                                                                        \
    KERNELTK_ATOMIC_SCOPES(name)
KERNELTK_ATOMIC_FETCH(atomicAdd, __atomic_fetch_add, old + value)
KERNELTK_ATOMIC_FETCH(atomicSub, __atomic_fetch_sub, old - value)
// A NaN gives way to a number, as on a GPU (atomics.hpp).
KERNELTK_ATOMIC(atomicMin, value < old || old != old ? value : old)
KERNELTK_ATOMIC(atomicMax, value > old || old != old ? value : old)
KERNELTK_ATOMIC(atomicAnd, old & value)
KERNELTK_ATOMIC(atomicOr, old | value)
KERNELTK_ATOMIC(atomicXor, old ^ value)
KERNELTK_ATOMIC(atomicInc, old >= value ? T(0) : old + 1)
KERNELTK_ATOMIC(atomicDec, old == 0 || old > value ? value : old - 1)
#undef KERNELTK_ATOMIC_FETCH
#undef KERNELTK_ATOMIC
#undef KERNELTK_ATOMIC_SCOPES
template <class T>
inline T atomicExch(T* p, typename kerneltk::identity<T>::type value) {
    T old;
    {
        KERNELTK_ATOMIC_ACCESSES
        if constexpr (sizeof(T) > 8) {
            old = *p;
            while (!kerneltk::compare_exchange(p, &old, &value)) {
            }
        } else {
            __atomic_exchange(p, &value, &old, __ATOMIC_RELAXED);
        }
    }
    KERNELTK_CONTENDED(__builtin_memcmp(&old, &value, sizeof(T)) == 0);
    return old;
}
template <class T>
inline T atomicCAS(T* p, typename kerneltk::identity<T>::type expected,
                   typename kerneltk::identity<T>::type value) {
    [[maybe_unused]] bool done;
    {
        KERNELTK_ATOMIC_ACCESSES
        done = kerneltk::compare_exchange(p, &expected, &value);
    }
    KERNELTK_CONTENDED(!done);
    return expected;
}
#define KERNELTK_ATOMIC_SCOPES(scope)                                                        \
    template <class T>                                                                       \
    inline T atomicExch##scope(T* p, typename kerneltk::identity<T>::type value) {           \
        return atomicExch(p, value);                                                         \
    }                                                                                        \
    template <class T>                                                                       \
    inline T atomicCAS##scope(T* p, typename kerneltk::identity<T>::type expected,           \
                              typename kerneltk::identity<T>::type value) {                  \
        return atomicCAS(p, expected, value);                                                \
    }
KERNELTK_ATOMIC_SCOPES(_block)
KERNELTK_ATOMIC_SCOPES(_system)
#undef KERNELTK_ATOMIC_SCOPES

// The types that CUDA's own functions take on each architecture: no templates, so that these are
// preferred to a kernel's own template of the name.
#define KERNELTK_ATOMIC_OF(name, T) \
    inline T name(T* p, T value) { return name<T>(p, value); }
#define KERNELTK_ATOMIC_CAS_OF(name, T) \
    inline T name(T* p, T expected, T value) { return name<T>(p, expected, value); }
#define KERNELTK_ATOMIC_OF_INTEGERS(name)    \
    KERNELTK_ATOMIC_OF(name, int)            \
    KERNELTK_ATOMIC_OF(name, unsigned int)   \
    KERNELTK_ATOMIC_OF(name, unsigned long long)
#define KERNELTK_ATOMICS_OF_SCOPE(scope)                          \
    KERNELTK_ATOMIC_OF_INTEGERS(atomicAdd##scope)                 \
    KERNELTK_ATOMIC_OF(atomicAdd##scope, float)                   \
    KERNELTK_ATOMIC_OF(atomicSub##scope, int)                     \
    KERNELTK_ATOMIC_OF(atomicSub##scope, unsigned int)            \
    KERNELTK_ATOMIC_OF_INTEGERS(atomicExch##scope)                \
    KERNELTK_ATOMIC_OF(atomicExch##scope, float)                  \
    KERNELTK_ATOMIC_OF_INTEGERS(atomicMin##scope)                 \
    KERNELTK_ATOMIC_OF(atomicMin##scope, long long)               \
    KERNELTK_ATOMIC_OF_INTEGERS(atomicMax##scope)                 \
    KERNELTK_ATOMIC_OF(atomicMax##scope, long long)               \
    KERNELTK_ATOMIC_OF_INTEGERS(atomicAnd##scope)                 \
    KERNELTK_ATOMIC_OF_INTEGERS(atomicOr##scope)                  \
    KERNELTK_ATOMIC_OF_INTEGERS(atomicXor##scope)                 \
    KERNELTK_ATOMIC_OF(atomicInc##scope, unsigned int)            \
    KERNELTK_ATOMIC_OF(atomicDec##scope, unsigned int)            \
    KERNELTK_ATOMIC_CAS_OF(atomicCAS##scope, int)                 \
    KERNELTK_ATOMIC_CAS_OF(atomicCAS##scope, unsigned int)        \
    KERNELTK_ATOMIC_CAS_OF(atomicCAS##scope, unsigned long long)
KERNELTK_ATOMICS_OF_SCOPE()
KERNELTK_ATOMICS_OF_SCOPE(_block)
KERNELTK_ATOMICS_OF_SCOPE(_system)
#undef KERNELTK_ATOMICS_OF_SCOPE
#undef KERNELTK_ATOMIC_OF_INTEGERS
#undef KERNELTK_ATOMIC_CAS_OF
#undef KERNELTK_ATOMIC_OF

#include <kerneltk/host_math.hpp>

#ifdef KERNELTK_PLAIN_ENDS
#include <kerneltk/host_ends.hpp>
#endif

// What Python and NumPy mean by arithmetic, for kernels that are translated from Python.
//
// Every function takes any of bool, the integers, float, double and, after their headers, float16
// and bfloat16; operands are of one type, which is the result's too where nothing else is said. The
// 16-bit types are computed in float and rounded once. complex<T> needs jit_numbers_complex.hpp as
// well; what is used less often is in jit_numbers_more.hpp.
#pragma once
#include <kerneltk/jit_divisor.hpp>

class float16;

namespace kerneltk::jit {

// ---- types ----

template <class T>
constexpr bool is_small = is_small_float<T>::value;
template <class T>
constexpr bool is_bool = is_same<T, bool>::value;
template <class T>
constexpr bool is_complex = __is_class(T) && !is_small<T>;
template <class T, bool = __is_class(T)>
constexpr bool is_plain_integer = T(1) / T(2) == T(0);  // an integer, and not a bool
template <class T>
constexpr bool is_plain_integer<T, true> = false;
template <class T>
constexpr bool is_discrete = is_plain_integer<T> || is_bool<T>;
template <class T, bool = is_plain_integer<T>>
constexpr bool is_signed_integer = T(-1) < T(0);
template <class T>
constexpr bool is_signed_integer<T, false> = false;

// The type to compute in where sums and products of integers have to wrap around.
template <class T>
using wrapping = typename conditional<sizeof(T) == 8, unsigned long long, unsigned int>::type;
// The type to compute in.
template <class T>
using wide = typename conditional<is_small<T>, float, T>::type;
// The same of functions that integers do not have.
template <class T>
using floating = typename enable_if<!is_discrete<T>, wide<T>>::type;

// A C cast; of a complex number its real part, and to bool whether it is not zero.
template <class To, class From>
__device__ __forceinline__ To convert(const From& x) {
    if constexpr (is_same<To, From>::value) {
        return x;
    } else if constexpr (is_complex<To>) {
        if constexpr (is_complex<From>)
            return To(x);
        else
            return To(convert<typename To::value_type>(x));
    } else if constexpr (is_complex<From>) {
        if constexpr (is_bool<To>)
            return x.real() != 0 || x.imag() != 0;
        else
            return convert<To>(x.real());
    } else if constexpr (is_bool<To>) {
        return static_cast<wide<From>>(x) != wide<From>(0);
    } else {
        return static_cast<To>(static_cast<wide<From>>(x));
    }
}

// An integer as a float, of which no zero is -0.0. g++ takes (double)(long long)x for x where it knows
// that x is a whole number, as of (double)(long long)ceil(x), and for trunc(x) elsewhere.
template <class To, class From>
__device__ __forceinline__ To whole(const From& x) {
#ifdef __CUDACC_RTC__
    return convert<To>(x);
#else
    const To value = convert<To>(x);
    return value + To(0);
#endif
}

// An exponential of which a float16 is left: 2^-19 of it is more than enough, for a quarter of the
// instructions. Subnormal floats, which `__expf` scales for, are 0 as a float16.
__device__ __forceinline__ float half_exp(float x) {
#ifdef __CUDACC_RTC__
    float found = x * 1.44269504f;
    asm("ex2.approx.ftz.f32 %0, %0;" : "+f"(found));
    return found;
#else
    return ::exp(x);
#endif
}

// ---- quotients ----

// The quotient of two 16-bit floats, rounded once.
template <class T>
__device__ __forceinline__ T quotient(const T& a, const T& b) {
#ifdef __CUDACC_RTC__
    if constexpr (is_same<T, float16>::value) {
        // Numbers of 11 bits have no quotient within 2^-23 of the middle between two such numbers,
        // but in it, and none of 11 bits is that: what a division as float rounds to its last bit
        // is not needed. By a reciprocal, which is the same for all elements of a row, it is exact
        // to 2^-24. Zeros, infinities and NaN leave no rest.
        const float x = a, y = b;
        float reciprocal;
        asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(reciprocal) : "f"(y));
        const float near = x * reciprocal, rest = __fmaf_rn(-near, y, x);
        return T(fabsf(rest) > 0.0f ? __fmaf_rn(rest, reciprocal, near) : near);
    }
#endif
    return T(a / b);
}

// -1 where a rest has another sign than its divisor, else 0. With '&&' signs that vary cost a
// mispredicted branch each (15 ns); with '&' of bools GCC 12 makes no vectors of 64-bit integers.
template <class T>
__device__ __forceinline__ T differs_in_sign(T rest, T b) {
    return static_cast<T>(-T(rest != 0) & ((rest ^ b) >> (8 * sizeof(T) - 1)));
}

// Rounded towards minus infinity. The least integer by -1 wraps around.
template <class T>
__device__ __forceinline__ T floor_divide(T a, T b) {
    if constexpr (is_discrete<T>) b = checked_divisor(b);
    if constexpr (is_signed_integer<T>) {
#ifndef __CUDACC_RTC__
        if (b == T(-1)) return static_cast<T>(wrapping<T>(0) - static_cast<wrapping<T>>(a));
        // Of a negative number it is the complement of its complement's quotient.
        if constexpr (sizeof(T) >= 4) {
            using U = wrapping<T>;
            const T sign = a < T(0) ? T(-1) : T(0);
            if (__builtin_constant_p(b) && b > T(0))
                return sign ^ static_cast<T>(static_cast<U>(a ^ sign) / static_cast<U>(b));
        }
#endif
        const T quotient = static_cast<T>(a / b), rest = static_cast<T>(a % b);
        return static_cast<T>(quotient + differs_in_sign(rest, b));
    } else if constexpr (is_discrete<T>) {
        return static_cast<T>(a / b);
    } else {
        using F = floating<T>;
        const F x = static_cast<F>(a), y = static_cast<F>(b);
        if (y == F(0)) return static_cast<T>(x / y);
        const F rest = ::fmod(x, y);
        F quotient = (x - rest) / y;  // nearly an integer
        if (rest != F(0) && (rest < F(0)) != (y < F(0))) quotient -= F(1);
        if (quotient == F(0)) return static_cast<T>(::copysign(F(0), x / y));
        const F below = ::floor(quotient);
        return static_cast<T>(quotient - below > F(0.5) ? below + F(1) : below);
    }
}

// What floor division leaves: it has the sign of the divisor.
template <class T>
__device__ __forceinline__ T modulo(T a, T b) {
    if constexpr (is_discrete<T>) b = checked_divisor(b);
    if constexpr (is_signed_integer<T>) {
#ifndef __CUDACC_RTC__
        if (b == T(-1)) return 0;
        if constexpr (sizeof(T) >= 4) {
            using U = wrapping<T>;
            if (__builtin_constant_p(b) && b > T(0))
                return static_cast<T>(static_cast<U>(a) -
                                      static_cast<U>(floor_divide(a, b)) * static_cast<U>(b));
        }
#endif
        const T rest = static_cast<T>(a % b);
        return static_cast<T>(rest + (b & differs_in_sign(rest, b)));
    } else if constexpr (is_discrete<T>) {
        return static_cast<T>(a % b);
    } else {
        using F = floating<T>;
        const F x = static_cast<F>(a), y = static_cast<F>(b);
        const F rest = ::fmod(x, y);
        if (rest == F(0)) return static_cast<T>(::copysign(F(0), y));
        return static_cast<T>((rest < F(0)) != (y < F(0)) ? rest + y : rest);
    }
}

// ---- powers ----

// x multiplied by itself, by an integer of any type. A negative exponent gives 0 but for 1 and -1.
template <class T, class N>
__device__ inline T power_integer(T x, N n) {
    if constexpr (is_signed_integer<N>) {
        if (n < N(0)) {
            if constexpr (is_signed_integer<T>)
                if (x == T(-1)) return static_cast<T>(n & 1 ? -1 : 1);
            return x == T(1);
        }
    }
    wrapping<T> result = 1, factor = static_cast<wrapping<T>>(x);
    for (auto rest = static_cast<wrapping<N>>(n); rest != 0; rest >>= 1) {
        if (rest & 1) result *= factor;
        factor *= factor;
    }
    return static_cast<T>(result);
}

template <class T>
__device__ __forceinline__ T power(T x, T y) {
    if constexpr (is_discrete<T>)
        return power_integer(x, y);
    else
        return static_cast<T>(::pow(static_cast<floating<T>>(x), static_cast<floating<T>>(y)));
}

template <class T>
__device__ __forceinline__ T reciprocal(T x) {
    if constexpr (is_discrete<T>)
        return power_integer(x, -1);
    else
        return static_cast<T>(floating<T>(1) / static_cast<floating<T>>(x));
}

template <class T>
__device__ __forceinline__ T square(const T& x) {
    if constexpr (is_discrete<T>)
        return static_cast<T>(static_cast<wrapping<T>>(x) * static_cast<wrapping<T>>(x));
    else
        return static_cast<T>(static_cast<wide<T>>(x) * static_cast<wide<T>>(x));
}

// x multiplied by itself N times. Each product of floats is rounded, which is as good as pow for
// small N, and the same for N = -1, 0, 1 and 2.
template <int N, class T>
__device__ __forceinline__ T power_constant(const T& x) {
    if constexpr (is_small<T>) {
        return static_cast<T>(power_constant<N>(static_cast<float>(x)));
    } else if constexpr (N < 0) {
        return reciprocal(power_constant<-N>(x));
    } else if constexpr (N == 0) {
        return T(1);
    } else if constexpr (N == 1) {
        return x;
    } else if constexpr (is_discrete<T>) {
        return power_integer(x, N);
    } else if constexpr (N % 2 == 0) {
        return square(power_constant<N / 2>(x));
    } else {
        return power_constant<N - 1>(x) * x;
    }
}

// x ** 0.5 as NumPy's operator has it: a square root, of which pow differs at -0.0 and -inf.
template <class T>
__device__ __forceinline__ T power_half(T x) {
    return static_cast<T>(::sqrt(static_cast<floating<T>>(x)));
}

// ---- shifts: the number of bits may be any ----

template <class T, class N>
__device__ __forceinline__ T shift_left(T x, N bits) {
    if (static_cast<wrapping<N>>(bits) >= 8 * sizeof(T)) return T(0);
    return static_cast<T>(static_cast<wrapping<T>>(x) << static_cast<int>(bits));
}
template <class T, class N>
__device__ __forceinline__ T shift_right(T x, N bits) {
    const bool all = static_cast<wrapping<N>>(bits) >= 8 * sizeof(T);
    if (!is_signed_integer<T> && all) return T(0);
    constexpr int most = static_cast<int>(8 * sizeof(T)) - 1;
    return static_cast<T>(x >> (all ? most : static_cast<int>(bits)));
}

// ---- order ----

template <class T>
__device__ __forceinline__ bool isnan([[maybe_unused]] const T& x) {
    if constexpr (is_discrete<T>)
        return false;
    else
        return static_cast<wide<T>>(x) != static_cast<wide<T>>(x);
}

template <class T>
__device__ __forceinline__ bool less(const T& a, const T& b) {
    return static_cast<wide<T>>(a) < static_cast<wide<T>>(b);
}

// NumPy's: a NaN is passed on.
#if defined(__CUDA_ARCH__) && !defined(__KERNELTK_HOST__)
template <class T>
__device__ __forceinline__ T minimum(T a, T b) {
    return less(a, b) || jit::isnan(a) ? a : b;
}
template <class T>
__device__ __forceinline__ T maximum(T a, T b) {
    return less(b, a) || jit::isnan(a) ? a : b;
}
#else
// Two selections: of nested calls whose condition has an 'or' GCC makes branches, and no vectors.
template <class T>
inline T minimum(T a, T b) {
    const T found = less(a, b) ? a : b;
    return jit::isnan(a) ? a : found;
}
template <class T>
inline T maximum(T a, T b) {
    const T found = less(b, a) ? a : b;
    return jit::isnan(a) ? a : found;
}
#endif
// C's and NumPy's: a NaN is left out where there is a number.
template <class T>
__device__ __forceinline__ T fmin(T a, T b) {
    if constexpr (is_discrete<T> || is_complex<T>)
        return less(a, b) || jit::isnan(b) ? a : b;
    else
        return static_cast<T>(::min(static_cast<wide<T>>(a), static_cast<wide<T>>(b)));
}
template <class T>
__device__ __forceinline__ T fmax(T a, T b) {
    if constexpr (is_discrete<T> || is_complex<T>)
        return less(b, a) || jit::isnan(b) ? a : b;
    else
        return static_cast<T>(::max(static_cast<wide<T>>(a), static_cast<wide<T>>(b)));
}
// Python's: the first, unless the second is less (greater).
template <class T>
__device__ __forceinline__ T py_min(T a, T b) {
    return less(b, a) ? b : a;
}
template <class T>
__device__ __forceinline__ T py_max(T a, T b) {
    return less(a, b) ? b : a;
}
template <class T>
__device__ __forceinline__ T clip(T x, T low, T high) {
    return minimum(maximum(x, low), high);
}

// ---- sign and parts ----

// Returns -x, which wraps around. ptxas (12.9 and 13.0) takes neg.s16 and abs.s16 for operations that
// do not: where their result is widened, -(-32768) is 32768. NVRTC computes bytes by them, too. It
// has neither of them here.
template <class T>
__device__ __forceinline__ T negative(T x) {
#if defined(__CUDA_ARCH__) && !defined(__KERNELTK_HOST__)
    int wide;
    asm("neg.s32 %0, %1;" : "=r"(wide) : "r"(static_cast<int>(x)));
    return static_cast<T>(wide);
#else
    return static_cast<T>(-x);
#endif
}

template <class T>
__device__ __forceinline__ T absolute(T x) {
    if constexpr (is_signed_integer<T> && sizeof(T) < 4)
        return x < 0 ? negative(x) : x;
    else if constexpr (is_signed_integer<T>)
        return x < 0 ? static_cast<T>(wrapping<T>(0) - static_cast<wrapping<T>>(x)) : x;
    else if constexpr (is_discrete<T>)
        return x;
    else if constexpr (is_small_float<T>::value)
        return T::from_bits(x.to_bits() & 0x7fffu);
    else
        return static_cast<T>(::fabs(static_cast<floating<T>>(x)));
}

// Whether a real number is less than zero.
template <class T>
__device__ __forceinline__ bool is_negative([[maybe_unused]] T x) {
    if constexpr (is_discrete<T> && !is_signed_integer<T>)
        return false;
    else
        return static_cast<wide<T>>(x) < wide<T>(0);
}
// -1, 0 or 1; a NaN of a NaN.
template <class T>
__device__ __forceinline__ T sign(T x) {
    if (jit::isnan(x)) return x;
    return static_cast<T>(is_negative(x) ? -1 : static_cast<wide<T>>(x) != wide<T>(0) ? 1 : 0);
}

template <class T>
__device__ __forceinline__ T positive(const T& x) {
    return x;
}
template <class T>
__device__ __forceinline__ auto real(const T& x) {
    if constexpr (is_complex<T>)
        return x.real();
    else
        return x;
}
template <class T>
__device__ __forceinline__ auto imag([[maybe_unused]] const T& x) {
    if constexpr (is_complex<T>)
        return x.imag();
    else
        return T(0);
}
template <class T>
__device__ __forceinline__ T conj(const T& x) {
    if constexpr (is_complex<T>)
        return T(x.real(), -x.imag());
    else
        return x;
}

// Rounded to whole numbers of the same type: an integer is one already.
#define KERNELTK_JIT_ROUNDED(name)                                    \
    template <class T>                                                \
    __device__ __forceinline__ T name(T x) {                          \
        if constexpr (is_discrete<T>)                                 \
            return x;                                                 \
        else                                                          \
            return static_cast<T>(::name(static_cast<wide<T>>(x)));   \
    }
KERNELTK_JIT_ROUNDED(floor)
KERNELTK_JIT_ROUNDED(ceil)
KERNELTK_JIT_ROUNDED(trunc)
KERNELTK_JIT_ROUNDED(rint)
#undef KERNELTK_JIT_ROUNDED

#define KERNELTK_JIT_TEST(name, of_integers)                          \
    template <class T>                                                \
    __device__ __forceinline__ bool name([[maybe_unused]] T x) {      \
        if constexpr (is_discrete<T>)                                 \
            return of_integers;                                       \
        else                                                          \
            return ::name(static_cast<wide<T>>(x));                   \
    }
KERNELTK_JIT_TEST(isinf, false)
KERNELTK_JIT_TEST(isfinite, true)
#undef KERNELTK_JIT_TEST

}  // namespace kerneltk::jit

// The less common of NumPy's functions of real numbers, and C's that return through a reference.
// As in jit_numbers.hpp, operands and result are of one type.
#pragma once
#include <kerneltk/jit_numbers.hpp>

namespace kerneltk::jit {

// ---- signs and parts of floating numbers ----

template <class T>
__device__ __forceinline__ bool signbit(T x) {
    if constexpr (is_discrete<T>)
        return is_negative(x);
    else
        return ::signbit(static_cast<wide<T>>(x));
}

#define KERNELTK_JIT_OF_FLOATS(name, function)                                      \
    template <class T>                                                              \
    __device__ __forceinline__ T name(T x, T y) {                                   \
        using F = floating<T>;                                                      \
        return static_cast<T>(::function(static_cast<F>(x), static_cast<F>(y)));    \
    }
KERNELTK_JIT_OF_FLOATS(copysign, copysign)
KERNELTK_JIT_OF_FLOATS(hypot, hypot)
KERNELTK_JIT_OF_FLOATS(arctan2, atan2)
#undef KERNELTK_JIT_OF_FLOATS

// What division leaves, with the sign of x; of integers exact.
template <class T>
__device__ __forceinline__ T fmod(T x, T y) {
    if constexpr (is_discrete<T>) y = checked_divisor(y);
    if constexpr (is_signed_integer<T>) {
#ifndef __CUDACC_RTC__
        if (y == T(-1)) return 0;
#endif
        return static_cast<T>(x % y);
    } else if constexpr (is_discrete<T>) {
        return static_cast<T>(x % y);
    } else {
        using F = floating<T>;
        return static_cast<T>(::fmod(static_cast<F>(x), static_cast<F>(y)));
    }
}

// x * 2**exponent; the exponent is an integer of any type.
template <class T, class N>
__device__ __forceinline__ T ldexp(T x, N exponent) {
    // Beyond these no number of any type is left, and the rest may not fit an int.
    constexpr int most = sizeof(N) == 1 ? 127 : 5000;
    const int n = exponent > N(most)                                ? most
                  : is_signed_integer<N> && exponent < N(0 - N(most)) ? -most
                                                                    : static_cast<int>(exponent);
    return static_cast<T>(::ldexp(static_cast<floating<T>>(x), n));
}

// Returns x / 2**exponent of at least 1/2 and less than 1; 0, inf and NaN keep exponent 0.
template <class T>
__device__ inline T frexp(T x, int& exponent) {
    using F = floating<T>;
    exponent = 0;
    if (!jit::isfinite(x) || static_cast<F>(x) == F(0)) return x;
    int found;
    const F fraction = ::frexp(static_cast<F>(x), &found);
    exponent = found;
    return static_cast<T>(fraction);
}
template <class T>
struct fraction_and_exponent {
    T fraction;
    int exponent;
};
template <class T>
__device__ inline fraction_and_exponent<T> frexp(T x) {
    fraction_and_exponent<T> parts;
    parts.fraction = jit::frexp(x, parts.exponent);
    return parts;
}

// Returns the fraction; both parts have the sign of x.
template <class T>
__device__ inline T modf(T x, T& whole) {
    using F = floating<T>;
    const F value = static_cast<F>(x), rounded = ::trunc(value);
    whole = static_cast<T>(rounded);
    const F rest = ::isinf(value) ? F(0) : value - rounded;
    return static_cast<T>(::copysign(rest, value));
}
template <class T>
struct fraction_and_whole {
    T fraction, whole;
};
template <class T>
__device__ inline fraction_and_whole<T> modf(T x) {
    fraction_and_whole<T> parts;
    parts.fraction = jit::modf(x, parts.whole);
    return parts;
}

template <class T>
struct quotient_and_rest {
    T quotient, rest;
};
// Python's divmod.
template <class T>
__device__ __forceinline__ quotient_and_rest<T> divmod(T a, T b) {
    return {floor_divide(a, b), modulo(a, b)};
}

// C's remquo: the sign and at least three low bits of the quotient.
template <class T>
struct rest_and_quotient {
    T rest;
    int quotient;
};
template <class T>
__device__ inline rest_and_quotient<T> remquo(T a, T b) {
    rest_and_quotient<T> parts;
    parts.rest = ::remquo(a, b, &parts.quotient);
    return parts;
}

// ---- integers ----

template <class T>
__device__ __forceinline__ wrapping<T> magnitude(T x) {
    using W = wrapping<T>;
    return is_negative(x) ? W(0) - static_cast<W>(x) : static_cast<W>(x);
}
// As NumPy's: not negative where T has the number.
template <class T>
__device__ inline T gcd(T a, T b) {
    auto x = magnitude(a), y = magnitude(b);
    while (y != 0) {
        const auto rest = x % y;
        x = y;
        y = rest;
    }
    return static_cast<T>(x);
}
template <class T>
__device__ inline T lcm(T a, T b) {
    const auto divisor = magnitude(gcd(a, b));
    return divisor == 0 ? T(0) : static_cast<T>(magnitude(a) / divisor * magnitude(b));
}

// ---- rounding to decimals ----

__device__ inline double power_of_ten(int exponent) {  // exact up to 10**22
    double result = 1, factor = 10;
    for (int rest = exponent < 400 ? exponent : 400; rest != 0; rest >>= 1) {
        if (rest & 1) result *= factor;
        factor *= factor;
    }
    return result;
}

// NumPy's round, ties to even: the number is scaled by a power of ten, rounded, and scaled back;
// each step is rounded to T. So 2.675, which is a little less, becomes 2.68 where Python's round,
// which looks at the exact value, gives 2.67; and what overflows when it is scaled is infinite. An
// integer is rounded exactly, and changes only where `digits` is negative.
template <class T>
__device__ inline T round_even(T x, int digits) {
    if constexpr (is_discrete<T>) {
        if (digits >= 0) return x;
        if (digits < -19) return T(0);
        const bool negative = is_negative(x);
        unsigned long long size = static_cast<unsigned long long>(x), unit = 1;
        if (negative) size = 0 - size;
        for (int k = digits; k < 0; ++k) unit *= 10;
        const unsigned long long whole = size / unit, rest = size % unit, half = unit / 2;
        size = (whole + (rest > half || (rest == half && whole % 2 == 1))) * unit;
        return static_cast<T>(negative ? 0 - size : size);
    } else if constexpr (is_complex<T>) {
        return T(round_even(x.real(), digits), round_even(x.imag(), digits));
    } else {
        using F = floating<T>;
        if (digits == 0) return jit::rint(x);
        // Once rounded to T, and once more in what it is computed in.
        const F scale = static_cast<F>(static_cast<T>(power_of_ten(digits < 0 ? -digits : digits)));
        const F value = static_cast<F>(x);
        const T scaled = static_cast<T>(digits < 0 ? value / scale : value * scale);
        const F whole = ::rint(static_cast<F>(scaled));
        return static_cast<T>(digits < 0 ? whole * scale : whole / scale);
    }
}

// The same for any number of digits.
template <class T>
__device__ __forceinline__ T round_to(T x, long long digits) {
    return round_even(x, static_cast<int>(digits > 400 ? 400 : digits < -400 ? -400 : digits));
}
// The same, and a number that has no such digits, or overflows when it is scaled, stays.
template <class T>
__device__ inline T round_digits(T x, long long digits) {
    const T found = round_to(x, digits);
    if (digits > 0 && !jit::isfinite(found)) return x;
    if (jit::isinf(found) && jit::isfinite(x)) {  // of whole units of what is rounded to, nothing is
        const T units = static_cast<T>(
            static_cast<wide<T>>(x) / static_cast<wide<T>>(power_of_ten(digits < -400 ? 400 : -digits)));
        return jit::rint(units) == units ? x : found;
    }
    if (digits >= 0 || !jit::isnan(found) || jit::isnan(x)) return found;
    return jit::isinf(x) ? x : static_cast<T>(wide<T>(0) * static_cast<wide<T>>(x));
}

// ---- angles, norms, exponentials ----

template <class T>
__device__ __forceinline__ T degrees(T x) {
    using F = floating<T>;
    return static_cast<T>(static_cast<F>(x) * (F(180) / static_cast<F>(M_PI)));
}
template <class T>
__device__ __forceinline__ T radians(T x) {
    using F = floating<T>;
    return static_cast<T>(static_cast<F>(x) * (static_cast<F>(M_PI) / F(180)));
}
// sin(pi x) / (pi x), and 1 at 0.
template <class T>
__device__ inline T sinc(T x) {
    using F = floating<T>;
    const F angle = static_cast<F>(M_PI) * static_cast<F>(x);
    return static_cast<T>(angle == F(0) ? F(1) : ::sin(angle) / angle);
}
// 0 below zero, 1 above, and `at_zero` there.
template <class T>
__device__ __forceinline__ T heaviside(T x, T at_zero) {
    const wide<T> value = static_cast<wide<T>>(x), zero = wide<T>(0);
    if (jit::isnan(x)) return x;
    return value == zero ? at_zero : static_cast<T>(wide<T>(value > zero));
}

// log(e**x + e**y), where the powers may overflow; log2(2**x + 2**y).
#define KERNELTK_JIT_LOGADDEXP(name, power, scale, of_equals)                                 \
    template <class T>                                                                        \
    __device__ inline T name(T x, T y) {                                                      \
        using F = floating<T>;                                                                \
        const F a = static_cast<F>(x), b = static_cast<F>(y);                                 \
        if (a == b) return static_cast<T>(a + of_equals); /* infinities of one sign, too */   \
        const F difference = a - b;                                                           \
        const F more = scale ::log1p(::power(-::fabs(difference)));                           \
        return static_cast<T>((difference > F(0) ? a : b) + more);                            \
    }
KERNELTK_JIT_LOGADDEXP(logaddexp, exp, , static_cast<F>(M_LN2))
KERNELTK_JIT_LOGADDEXP(logaddexp2, exp2, static_cast<F>(M_LOG2E) *, F(1))
#undef KERNELTK_JIT_LOGADDEXP

}  // namespace kerneltk::jit

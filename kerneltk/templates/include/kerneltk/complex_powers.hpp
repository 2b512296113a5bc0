// Exponentials, logarithms and powers of complex numbers.
#pragma once
#include <kerneltk/complex.hpp>

// ---- exponentials ----

namespace kerneltk {

// (e^x c, e^x s) / divisor where e^x alone may overflow.
template <class T>
__device__ inline complex<T> scaled_exp(T x, T c, T s, T divisor) {
    const T root = exp(x / 2);
    return {root * c * (root / divisor), root * s * (root / divisor)};
}

// A product that the compiler does not fuse into a following sum.
__device__ __forceinline__ float product(float x, float y) { return __fmul_rn(x, y); }
__device__ __forceinline__ double product(double x, double y) { return __dmul_rn(x, y); }

// log|z|, exact to the last bits also where |z| is nearly one.
template <class T>
__device__ inline T log_abs(T x, T y) {
    const T u = fabs(x), v = fabs(y);
    const T large = u < v ? v : u, small = u < v ? u : v;
    using limit = kerneltk::limits<T>;
    if (large > limit::large)
        return log(hypot(x * limit::small, y * limit::small)) + limit::log_large;
    if (large < limit::small)
        return log(hypot(x * limit::large, y * limit::large)) - limit::log_large;
    if (!(large > T(0.5) && large < T(2))) return log(hypot(x, y));
    // large^2 + small^2 - 1 in two words; the subtraction is exact where it cancels.
    const T square = product(large, large), square_low = fma(large, large, -square);
    const T other = product(small, small), other_low = fma(small, small, -other);
    const T excess = (square - T(1)) + other + (square_low + other_low);
    return T(0.5) * log1p(excess);
}

}  // namespace kerneltk

template <class T>
__device__ inline complex<T> exp(const complex<T>& z) {
    const T x = z.real(), y = z.imag();
    if (y == T(0)) return {exp(x), y};
    if (isinf(x) && !isfinite(y)) return {x < T(0) ? T(0) : x, x < T(0) ? T(0) : y - y};
    T s, c;
    sincos(y, &s, &c);
    if (x > kerneltk::limits<T>::exp && isfinite(x)) return kerneltk::scaled_exp(x, c, s, T(1));
    const T e = exp(x);
    return {e * c, e * s};
}
template <class T>
__device__ inline complex<T> exp2(const complex<T>& z) {
    return exp(z * static_cast<T>(M_LN2));
}
template <class T>
__device__ inline complex<T> expm1(const complex<T>& z) {
    const T x = z.real(), y = z.imag(), half = sin(y / 2);
    // Beyond -1 nothing cancels, and the sum of the other formula's parts loses two bits.
    const T real = x < -1 ? exp(x) * cos(y) - 1 : expm1(x) * cos(y) - 2 * half * half;
    return {real, exp(x) * sin(y)};
}
template <class T>
__device__ inline complex<T> log(const complex<T>& z) {
    return {kerneltk::log_abs(z.real(), z.imag()), arg(z)};
}
template <class T>
__device__ inline complex<T> log10(const complex<T>& z) {
    return log(z) * static_cast<T>(M_LOG10E);
}
template <class T>
__device__ inline complex<T> log2(const complex<T>& z) {
    return log(z) * static_cast<T>(M_LOG2E);
}
template <class T>
__device__ inline complex<T> log1p(const complex<T>& z) {
    const T x = z.real(), y = z.imag();
    if (!(fabs(x) < T(0.25) && fabs(y) < T(0.25))) return log(z + T(1));
    return {T(0.5) * log1p(x * (2 + x) + y * y), atan2(y, 1 + x)};
}

// ---- powers ----

template <class T>
__device__ inline complex<T> sqrt(const complex<T>& z) {
    T x = z.real(), y = z.imag();
    if (x == T(0) && y == T(0)) return {T(0), y};
    if (isinf(y)) return {fabs(y), y};
    const T size = fabs(x) > fabs(y) ? fabs(x) : fabs(y);
    T unit = T(1);
    if (size > kerneltk::limits<T>::large && !isinf(x)) {
        x *= T(0.0625), y *= T(0.0625), unit = T(4);
    } else if (size < kerneltk::limits<T>::small) {
        x *= kerneltk::limits<T>::large, y *= kerneltk::limits<T>::large;
        unit = T(1) / sqrt(kerneltk::limits<T>::large);
    }
    const T t = sqrt((fabs(x) + hypot(x, y)) / 2);
    const T other = y / (2 * t);
    if (x >= T(0)) return {unit * t, unit * other};
    return {unit * fabs(other), unit * copysign(t, y)};
}

namespace kerneltk {

template <class T>
__device__ inline complex<T> power(complex<T> x, const complex<T>& y) {
    const T a = y.real();
    if (y.imag() == T(0) && a == rint(a) && fabs(a) < T(100)) {  // products, as in NumPy
        if (a == T(1)) return x;
        if (a == T(2)) return x * x;
        if (a == T(3)) return x * (x * x);
        complex<T> result(T(1));
        for (int n = static_cast<int>(fabs(a)); n; n >>= 1) {
            if (n & 1) result = result * x;
            x = x * x;
        }
        return a < T(0) ? T(1) / result : result;
    }
    if (x.real() == T(0) && x.imag() == T(0)) {
        const T nothing = static_cast<T>(NAN);
        return a > T(0) && y.imag() == T(0) ? complex<T>(T(0)) : complex<T>(nothing, nothing);
    }
    return exp(y * log(x));
}

}  // namespace kerneltk

template <class A, class B>
__device__ inline auto pow(const complex<A>& x, const complex<B>& y)
    -> complex<kerneltk::component_t<A, B>> {
    using R = kerneltk::component_t<A, B>;
    return kerneltk::power(complex<R>(x), complex<R>(y));
}
template <class A, class S, kerneltk::if_scalar<S> = 0>
__device__ inline auto pow(const complex<A>& x, const S& y)
    -> complex<kerneltk::component_t<A, S>> {
    using R = kerneltk::component_t<A, S>;
    return kerneltk::power(complex<R>(x), complex<R>(static_cast<R>(y)));
}
template <class S, class B, kerneltk::if_scalar<S> = 0>
__device__ inline auto pow(const S& x, const complex<B>& y)
    -> complex<kerneltk::component_t<S, B>> {
    using R = kerneltk::component_t<S, B>;
    return kerneltk::power(complex<R>(static_cast<R>(x)), complex<R>(y));
}

namespace thrust {
using ::exp;
using ::log;
using ::log10;
using ::pow;
using ::sqrt;
}  // namespace thrust

// Circular and hyperbolic functions of complex numbers, and their inverses (W. Kahan, "Branch cuts
// for complex elementary functions", 1987).
#pragma once
#include <kerneltk/complex_powers.hpp>

// ---- hyperbolic and circular functions; f(z) of a circle is f(iz) of the hyperbola ----

template <class T>
__device__ inline complex<T> sinh(const complex<T>& z) {
    const T x = z.real(), y = z.imag();
    if (y == T(0)) return {sinh(x), y};
    T s, c;
    sincos(y, &s, &c);
    if (fabs(x) > kerneltk::limits<T>::exp && isfinite(x))
        return kerneltk::scaled_exp(fabs(x), x < T(0) ? -c : c, s, T(2));
    return {sinh(x) * c, cosh(x) * s};
}
template <class T>
__device__ inline complex<T> cosh(const complex<T>& z) {
    const T x = z.real(), y = z.imag();
    if (y == T(0)) return {cosh(x), x * y};
    T s, c;
    sincos(y, &s, &c);
    if (fabs(x) > kerneltk::limits<T>::exp && isfinite(x))
        return kerneltk::scaled_exp(fabs(x), c, x < T(0) ? -s : s, T(2));
    return {cosh(x) * c, sinh(x) * s};
}
template <class T>
__device__ inline complex<T> tanh(const complex<T>& z) {
    const T x = z.real(), y = z.imag();
    if (y == T(0)) return {tanh(x), y};
    if (fabs(x) > kerneltk::limits<T>::tanh) {
        T s = T(0), c = T(0);
        if (isfinite(y)) sincos(y, &s, &c);
        const T e = exp(-fabs(x));
        return {copysign(T(1), x), 4 * s * c * e * e};
    }
    const T t = tan(y), s = sinh(x), slope = 1 + t * t, divisor = 1 + slope * s * s;
    return {slope * sqrt(1 + s * s) * s / divisor, t / divisor};
}
template <class T>
__device__ inline complex<T> sin(const complex<T>& z) {
    const complex<T> w = sinh(complex<T>(-z.imag(), z.real()));
    return {w.imag(), -w.real()};
}
template <class T>
__device__ inline complex<T> cos(const complex<T>& z) {
    return cosh(complex<T>(-z.imag(), z.real()));
}
template <class T>
__device__ inline complex<T> tan(const complex<T>& z) {
    const complex<T> w = tanh(complex<T>(-z.imag(), z.real()));
    return {w.imag(), -w.real()};
}

// ---- their inverses ----

template <class T>
__device__ inline complex<T> asin(const complex<T>& z) {
    const complex<T> below = sqrt(complex<T>(1 - z.real(), -z.imag()));
    const complex<T> above = sqrt(complex<T>(1 + z.real(), z.imag()));
    return {atan2(z.real(), below.real() * above.real() - below.imag() * above.imag()),
            asinh(below.real() * above.imag() - below.imag() * above.real())};
}
template <class T>
__device__ inline complex<T> acos(const complex<T>& z) {
    const complex<T> below = sqrt(complex<T>(1 - z.real(), -z.imag()));
    const complex<T> above = sqrt(complex<T>(1 + z.real(), z.imag()));
    return {2 * atan2(below.real(), above.real()),
            asinh(above.real() * below.imag() - above.imag() * below.real())};
}
template <class T>
__device__ inline complex<T> acosh(const complex<T>& z) {
    const complex<T> below = sqrt(complex<T>(z.real() - 1, z.imag()));
    const complex<T> above = sqrt(complex<T>(z.real() + 1, z.imag()));
    return {asinh(below.real() * above.real() + below.imag() * above.imag()),
            2 * atan2(below.imag(), above.real())};
}
template <class T>
__device__ inline complex<T> atanh(const complex<T>& z) {
    const T x = fabs(z.real()), y = z.imag();
    const T quarter = static_cast<T>(M_PI_2);
    if (x > kerneltk::limits<T>::reciprocal || fabs(y) > kerneltk::limits<T>::reciprocal) {
        const complex<T> inverse = T(1) / z;
        return {isfinite(z) ? inverse.real() : copysign(T(0), z.real()), copysign(quarter, y)};
    }
    const T distance = hypot(1 - x, y);
    return {copysign(T(0.25) * log1p(4 * x / distance / distance), z.real()),
            T(0.5) * atan2(2 * y, (1 - x) * (1 + x) - y * y)};
}
template <class T>
__device__ inline complex<T> asinh(const complex<T>& z) {
    const complex<T> w = asin(complex<T>(-z.imag(), z.real()));
    return {w.imag(), -w.real()};
}
template <class T>
__device__ inline complex<T> atan(const complex<T>& z) {
    const complex<T> w = atanh(complex<T>(-z.imag(), z.real()));
    return {w.imag(), -w.real()};
}

namespace thrust {
using ::acos;
using ::acosh;
using ::asin;
using ::asinh;
using ::atan;
using ::atanh;
using ::cos;
using ::cosh;
using ::sin;
using ::sinh;
using ::tan;
using ::tanh;
}  // namespace thrust

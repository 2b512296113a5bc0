// Circular and hyperbolic functions of complex numbers, and their inverses (W. Kahan, "Branch cuts
// for complex elementary functions", 1987). At infinities and NaN they give what annex G of the C
// standard says; where it leaves a sign open, that of Python's cmath.
#pragma once
#include <kerneltk/complex_powers.hpp>

// ---- hyperbolic and circular functions; f(z) of a circle is f(iz) of the hyperbola ----

template <class T>
__device__ inline complex<T> sinh(const complex<T>& z) {
    const T x = z.real(), y = z.imag();
    if (y == T(0)) return {sinh(x), y};
    if (!isfinite(y)) return {x == T(0) || isinf(x) ? fabs(x) : y - y, y - y};
    T s, c;
    sincos(y, &s, &c);
    if (fabs(x) > kerneltk::limits<T>::exp && isfinite(x))
        return kerneltk::scaled_exp(fabs(x), x < T(0) ? -c : c, s, T(2));
    return {sinh(x) * c, cosh(x) * s};
}
template <class T>
__device__ inline complex<T> cosh(const complex<T>& z) {
    const T x = z.real(), y = z.imag();
    if (y == T(0)) return {cosh(x), isnan(x) ? fabs(y) : copysign(T(1), x) * y};
    if (!isfinite(y)) return {isinf(x) ? fabs(x) : y - y, x == T(0) ? T(0) : y - y};
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
    if (!isfinite(y)) {
        if (isinf(x)) return {copysign(T(1), x), T(0)};
        return {x == T(0) ? x : y - y, y - y};
    }
    if (fabs(x) > kerneltk::limits<T>::tanh) {
        T s, c;
        sincos(y, &s, &c);
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

namespace kerneltk {

// Whether asinh(z) is log(2 z) to the last bit; so are its kin.
template <class T>
__device__ __forceinline__ bool is_large(const complex<T>& z) {
    return fabs(z.real()) > limits<T>::large || fabs(z.imag()) > limits<T>::large;
}
template <class T>
__device__ __forceinline__ T log_double(const complex<T>& z) {
    return log_abs(z.real(), z.imag()) + static_cast<T>(M_LN2);
}

}  // namespace kerneltk

template <class T>
__device__ inline complex<T> acos(const complex<T>& z) {
    const T x = z.real(), y = z.imag();
    if (kerneltk::is_large(z)) {
        const T size = kerneltk::log_double(z);
        return {atan2(fabs(y), x), isnan(y) ? size : copysign(size, -y)};
    }
    if (x == T(0) && isnan(y)) return {static_cast<T>(M_PI_2), y};
    const complex<T> below = sqrt(complex<T>(1 - x, -y)), above = sqrt(complex<T>(1 + x, y));
    return {2 * atan2(below.real(), above.real()),
            asinh(above.real() * below.imag() - above.imag() * below.real())};
}
template <class T>
__device__ inline complex<T> acosh(const complex<T>& z) {
    const T x = z.real(), y = z.imag();
    if (kerneltk::is_large(z)) return {kerneltk::log_double(z), atan2(y, x)};
    const complex<T> below = sqrt(complex<T>(x - 1, y)), above = sqrt(complex<T>(x + 1, y));
    return {asinh(below.real() * above.real() + below.imag() * above.imag()),
            2 * atan2(below.imag(), above.real())};
}
template <class T>
__device__ inline complex<T> asinh(const complex<T>& z) {
    const T x = z.real(), y = z.imag();
    if (kerneltk::is_large(z)) {
        const T size = kerneltk::log_double(z);
        return {isnan(x) ? size : copysign(size, x), atan2(y, fabs(x))};
    }
    if (isnan(x) && y == T(0)) return z;
    const complex<T> above = sqrt(complex<T>(1 + y, -x)), below = sqrt(complex<T>(1 - y, x));
    return {asinh(above.real() * below.imag() - below.real() * above.imag()),
            atan2(y, above.real() * below.real() - above.imag() * below.imag())};
}
template <class T>
__device__ inline complex<T> atanh(const complex<T>& z) {
    using limit = kerneltk::limits<T>;
    const T x = fabs(z.real()), y = z.imag();
    if (x > limit::reciprocal || fabs(y) > limit::reciprocal) {  // 1 / z, and a quarter turn
        if (isnan(x) && !isinf(y)) return {x, x};
        const T half = hypot(x / 2, y / 2);
        const T real = isinf(half) ? T(0) : x / 4 / half / half;
        const T turn = copysign(static_cast<T>(M_PI_2), y);
        return {isnan(x) ? real : copysign(real, z.real()), isnan(y) ? y : turn};
    }
    if (x == T(0) && isnan(y)) return z;
    const T distance = hypot(1 - x, y);  // to the pole at 1
    const T real = distance < limit::small ? (static_cast<T>(M_LN2) - log(distance)) / 2
                                           : log1p(4 * x / distance / distance) / 4;
    return {copysign(real, z.real()), atan2(2 * y, (1 - x) * (1 + x) - y * y) / 2};
}
template <class T>
__device__ inline complex<T> asin(const complex<T>& z) {
    const complex<T> w = asinh(complex<T>(-z.imag(), z.real()));
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

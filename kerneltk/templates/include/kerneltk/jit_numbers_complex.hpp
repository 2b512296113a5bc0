// Functions of jit_numbers.hpp that have formulas of their own for complex numbers; the others are
// the same for all. `power` needs complex_powers.hpp where it is used.
#pragma once
#include <kerneltk/complex.hpp>
#include <kerneltk/jit_numbers.hpp>

namespace kerneltk::jit {

// As NumPy's: 0 to a power whose real part is not positive is NaN, but for 0 itself.
template <class T>
__device__ inline complex<T> power(const complex<T>& x, const complex<T>& y) {
    if (x == T(0) && y != T(0)) {
        const T result = y.real() > T(0) ? T(0) : static_cast<T>(NAN);
        return {result, result};
    }
    return pow(x, y);
}
template <class T>
__device__ __forceinline__ complex<T> power_half(const complex<T>& x) {
    return sqrt(x);
}

template <class T>
__device__ __forceinline__ bool isinf(const complex<T>& x) {
    return ::isinf(x.real()) || ::isinf(x.imag());
}
template <class T>
__device__ __forceinline__ bool isfinite(const complex<T>& x) {
    return ::isfinite(x.real()) && ::isfinite(x.imag());
}

template <class T>
__device__ __forceinline__ T absolute(const complex<T>& x) {
    return ::hypot(x.real(), x.imag());
}
// Python's cmath.rect.
template <class T>
__device__ inline complex<T> rect(T size, T angle) {
    if (angle == T(0)) return {size, size != size ? T(0) : ::copysign(T(1), size) * angle};
    if (size == T(0) && !::isfinite(angle)) return {T(0), T(0)};
    if (::isinf(size) && !::isfinite(angle)) return {::fabs(size), angle - angle};
    return polar(size, angle);
}
template <class T>
__device__ inline bool is_close(const complex<T>& a, const complex<T>& b, T relative, T least) {
    if (a == b) return true;
    if (jit::isinf(a) || jit::isinf(b)) return false;
    const T distance = absolute(a - b);
    return distance <= relative * ::fmax(absolute(a), absolute(b)) || distance <= least;
}
// The number of the same direction on the unit circle.
template <class T>
__device__ inline complex<T> sign(const complex<T>& x) {
    const T re = x.real(), im = x.imag(), size = ::hypot(re, im);
    if (size == T(0)) return {T(0), T(0)};
    if (!::isinf(size)) return {re / size, im / size};
    if (::isinf(re) == ::isinf(im)) return {static_cast<T>(NAN), static_cast<T>(NAN)};
    return {::isinf(re) ? ::copysign(T(1), re) : T(0), ::isinf(im) ? ::copysign(T(1), im) : T(0)};
}
// As NumPy's, which divides by the larger part first.
template <class T>
__device__ inline complex<T> reciprocal(const complex<T>& x) {
    const T re = x.real(), im = x.imag();
    if (::fabs(im) <= ::fabs(re)) {
        const T ratio = im / re, divisor = re + im * ratio;
        return {T(1) / divisor, -ratio / divisor};
    }
    const T ratio = re / im, divisor = re * ratio + im;
    return {ratio / divisor, T(-1) / divisor};
}
template <class T>
__device__ __forceinline__ complex<T> rint(const complex<T>& x) {
    return {::rint(x.real()), ::rint(x.imag())};
}

}  // namespace kerneltk::jit

// complex<T> for T float or double, also named thrust::complex<T>: arithmetic and parts.
// complex_powers.hpp has exponentials and powers, complex_circular.hpp the rest, because parsing
// what a kernel does not use is a large part of compiling a small one.
//
// Products are plain (ac - bd, ad + bc). Quotients are scaled by the divisor's larger part (Smith,
// 1962).
#pragma once
#include <kerneltk/core.hpp>

namespace kerneltk {

// The component type of an operation between numbers: integers and 16-bit types join as float.
template <class A, class B>
using component_t = typename conditional<is_same<A, double>::value || is_same<B, double>::value,
                                         double, float>::type;
template <class S>
using if_scalar = typename enable_if<is_number<S>::value>::type;

template <class T>
struct limits;
template <>
struct limits<float> {
    static constexpr float exp = 88.0f;            // exp of more may overflow
    static constexpr float tanh = 10.0f;           // tanh of more is one
    static constexpr float large = 0x1p60f;        // the square of more may overflow
    static constexpr float small = 0x1p-60f;       // the square of less may underflow
    static constexpr float log_large = 60 * float(M_LN2);
    static constexpr float reciprocal = 0x1p20f;   // one plus the inverse square of more is one
};
template <>
struct limits<double> {
    static constexpr double exp = 709.0;
    static constexpr double tanh = 20.0;
    static constexpr double large = 0x1p500;
    static constexpr double small = 0x1p-500;
    static constexpr double log_large = 500 * M_LN2;
    static constexpr double reciprocal = 0x1p40;
};

}  // namespace kerneltk

// Two T in CUDA's alignment, for vector loads; a host array may be aligned to T only.
template <class T>
struct
#ifdef __CUDACC_RTC__
    alignas(2 * sizeof(T))
#endif
        complex {
    using value_type = T;

    complex() = default;
    __device__ __forceinline__ complex(const T& re) : parts_{re, T(0)} {}
    __device__ __forceinline__ complex(const T& re, const T& im) : parts_{re, im} {}
    template <class U>
    __device__ __forceinline__ complex(const complex<U>& z)
        : parts_{static_cast<T>(z.real()), static_cast<T>(z.imag())} {}
    complex(const complex&) = default;
    complex& operator=(const complex&) = default;
    __device__ __forceinline__ complex& operator=(const T& re) {
        parts_[0] = re;
        parts_[1] = T(0);
        return *this;
    }
    template <class U>
    __device__ __forceinline__ complex& operator=(const complex<U>& z) {
        return *this = complex(z);
    }

    __device__ __forceinline__ T real() const { return parts_[0]; }
    __device__ __forceinline__ T imag() const { return parts_[1]; }
    __device__ __forceinline__ void real(T re) { parts_[0] = re; }
    __device__ __forceinline__ void imag(T im) { parts_[1] = im; }
#ifdef __CUDACC_RTC__  // in shared memory; CPU cores rewrite accesses to volatile memory
    __device__ __forceinline__ T real() const volatile { return parts_[0]; }
    __device__ __forceinline__ T imag() const volatile { return parts_[1]; }
    __device__ __forceinline__ void real(T re) volatile { parts_[0] = re; }
    __device__ __forceinline__ void imag(T im) volatile { parts_[1] = im; }
#endif

#define KERNELTK_UPDATE(op)                                              \
    template <class U>                                                   \
    __device__ __forceinline__ complex& operator op##=(const U& z) {     \
        return *this = *this op z;                                       \
    }
    KERNELTK_UPDATE(+)
    KERNELTK_UPDATE(-)
    KERNELTK_UPDATE(*)
    KERNELTK_UPDATE(/)
#undef KERNELTK_UPDATE

private:
    T parts_[2];
};

// ---- arithmetic ----

namespace kerneltk {

template <class T>
__device__ __forceinline__ complex<T> quotient(const complex<T>& x, const complex<T>& y) {
    const T c = y.real(), d = y.imag();
    const bool swap = fabs(c) < fabs(d);
    const T p = swap ? d : c, q = swap ? c : d;
    if (p == T(0) && q == T(0)) return {x.real() / fabs(p), x.imag() / fabs(p)};
    const T a = swap ? x.imag() : x.real(), b = swap ? x.real() : x.imag();
    const T ratio = q / p;
    const T divisor = p + q * ratio;
    // Not the negative of the other: a zero has the sign that NumPy's has.
    const T im = swap ? a * ratio - b : b - a * ratio;
    return {(a + b * ratio) / divisor, im / divisor};
}

}  // namespace kerneltk

#define KERNELTK_COMPLEX_FUNCTION(result, name, expression)           \
    template <class T>                                                \
    __device__ __forceinline__ result name(const complex<T>& z) {     \
        return expression;                                            \
    }
KERNELTK_COMPLEX_FUNCTION(complex<T>, operator+, z)
KERNELTK_COMPLEX_FUNCTION(complex<T>, operator-, complex<T>(-z.real(), -z.imag()))

// Each operator between two complex numbers, and between a complex number and a real one.
// In the expressions R is the result's component type.
#define KERNELTK_COMPLEX_OPERATOR(op, both, number_right, number_left)                          \
    template <class A, class B>                                                                 \
    __device__ __forceinline__ auto operator op(const complex<A>& x, const complex<B>& y)       \
        -> complex<kerneltk::component_t<A, B>> {                                               \
        using R = kerneltk::component_t<A, B>;                                                  \
        const R a = x.real(), b = x.imag(), c = y.real(), d = y.imag();                         \
        return both;                                                                            \
    }                                                                                           \
    template <class A, class S, kerneltk::if_scalar<S> = 0>                                     \
    __device__ __forceinline__ auto operator op(const complex<A>& x, const S& y)                \
        -> complex<kerneltk::component_t<A, S>> {                                               \
        using R = kerneltk::component_t<A, S>;                                                  \
        const R a = x.real(), b = x.imag(), c = static_cast<R>(y);                              \
        return number_right;                                                                    \
    }                                                                                           \
    template <class S, class B, kerneltk::if_scalar<S> = 0>                                     \
    __device__ __forceinline__ auto operator op(const S& x, const complex<B>& y)                \
        -> complex<kerneltk::component_t<S, B>> {                                               \
        using R = kerneltk::component_t<S, B>;                                                  \
        const R a = static_cast<R>(x), c = y.real(), d = y.imag();                              \
        return number_left;                                                                     \
    }
KERNELTK_COMPLEX_OPERATOR(+, (complex<R>(a + c, b + d)), (complex<R>(a + c, b)),
                          (complex<R>(a + c, d)))
KERNELTK_COMPLEX_OPERATOR(-, (complex<R>(a - c, b - d)), (complex<R>(a - c, b)),
                          (complex<R>(a - c, -d)))
KERNELTK_COMPLEX_OPERATOR(*, (complex<R>(a * c - b * d, a * d + b * c)),
                          (complex<R>(a * c, b * c)), (complex<R>(a * c, a * d)))
KERNELTK_COMPLEX_OPERATOR(/, (kerneltk::quotient(complex<R>(a, b), complex<R>(c, d))),
                          (complex<R>(a / c, b / c)),
                          (kerneltk::quotient(complex<R>(a), complex<R>(c, d))))
#undef KERNELTK_COMPLEX_OPERATOR

// Comparisons order by the real part, then by the imaginary one; where one is NaN in a part, they
// do not hold, as in NumPy.
#define KERNELTK_COMPLEX_COMPARISON(op, expression)                                       \
    template <class A, class B>                                                           \
    __device__ __forceinline__ bool operator op(const complex<A>& x, const complex<B>& y) { \
        using R = kerneltk::component_t<A, B>;                                            \
        const R a = x.real(), b = x.imag(), c = y.real(), d = y.imag();                   \
        return expression;                                                                \
    }                                                                                     \
    template <class A, class S, kerneltk::if_scalar<S> = 0>                               \
    __device__ __forceinline__ bool operator op(const complex<A>& x, const S& y) {        \
        using R = kerneltk::component_t<A, S>;                                            \
        return complex<R>(x) op complex<R>(static_cast<R>(y));                            \
    }                                                                                     \
    template <class S, class B, kerneltk::if_scalar<S> = 0>                               \
    __device__ __forceinline__ bool operator op(const S& x, const complex<B>& y) {        \
        using R = kerneltk::component_t<S, B>;                                            \
        return complex<R>(static_cast<R>(x)) op complex<R>(y);                            \
    }
KERNELTK_COMPLEX_COMPARISON(==, a == c && b == d)
KERNELTK_COMPLEX_COMPARISON(!=, a != c || b != d)
KERNELTK_COMPLEX_COMPARISON(<, (a < c && b == b && d == d) || (a == c && b < d))
KERNELTK_COMPLEX_COMPARISON(<=, (a < c && b == b && d == d) || (a == c && b <= d))
KERNELTK_COMPLEX_COMPARISON(>, (a > c && b == b && d == d) || (a == c && b > d))
KERNELTK_COMPLEX_COMPARISON(>=, (a > c && b == b && d == d) || (a == c && b >= d))
#undef KERNELTK_COMPLEX_COMPARISON

// ---- parts ----

KERNELTK_COMPLEX_FUNCTION(T, real, z.real())
KERNELTK_COMPLEX_FUNCTION(T, imag, z.imag())
KERNELTK_COMPLEX_FUNCTION(complex<T>, conj, complex<T>(z.real(), -z.imag()))
KERNELTK_COMPLEX_FUNCTION(T, abs, hypot(z.real(), z.imag()))
KERNELTK_COMPLEX_FUNCTION(T, norm, z.real() * z.real() + z.imag() * z.imag())
KERNELTK_COMPLEX_FUNCTION(T, arg, atan2(z.imag(), z.real()))
KERNELTK_COMPLEX_FUNCTION(bool, isnan, isnan(z.real()) || isnan(z.imag()))
KERNELTK_COMPLEX_FUNCTION(bool, isinf, isinf(z.real()) || isinf(z.imag()))
KERNELTK_COMPLEX_FUNCTION(bool, isfinite, isfinite(z.real()) && isfinite(z.imag()))
KERNELTK_COMPLEX_FUNCTION(complex<T>, rint, complex<T>(rint(z.real()), rint(z.imag())))
#undef KERNELTK_COMPLEX_FUNCTION
template <class T>
__device__ inline complex<T> polar(const T& magnitude, const T& angle = T(0)) {
    T s, c;
    sincos(angle, &s, &c);
    return {magnitude * c, magnitude * s};
}
template <class T>
__device__ inline complex<T> proj(const complex<T>& z) {
    return isinf(z) ? complex<T>(static_cast<T>(INFINITY), copysign(T(0), z.imag())) : z;
}
template <class T, kerneltk::if_scalar<T> = 0>
__device__ inline complex<T> proj(const T& x) {
    return proj(complex<T>(x));
}
// As in NumPy, and not as for floats in CUDA, a NaN is passed on.
template <class T>
__device__ inline complex<T> min(const complex<T>& x, const complex<T>& y) {
    return isnan(x) || (!isnan(y) && x < y) ? x : y;
}
template <class T>
__device__ inline complex<T> max(const complex<T>& x, const complex<T>& y) {
    return isnan(x) || (!isnan(y) && x > y) ? x : y;
}

namespace thrust {
using ::abs;
using ::arg;
using ::complex;
using ::conj;
using ::imag;
using ::norm;
using ::polar;
using ::proj;
using ::real;
}  // namespace thrust

// complex<T> for T float or double, also named thrust::complex<T>.
//
// Products are plain (ac - bd, ad + bc). Quotients are scaled by the divisor's larger part (Smith,
// 1962). Inverse functions follow Kahan, "Branch cuts for complex elementary functions" (1987).
#pragma once
#include <kerneltk/core.hpp>

namespace kerneltk {

// The component type of an operation between numbers: integers and 16-bit types join as float.
template <class A, class B>
struct component {
    using type = float;
};
template <class B>
struct component<double, B> {
    using type = double;
};
template <class A>
struct component<A, double> {
    using type = double;
};
template <>
struct component<double, double> {
    using type = double;
};
template <class A, class B>
using component_t = typename component<A, B>::type;
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
    static constexpr float reciprocal = 0x1p20f;   // one plus the inverse square of more is one
};
template <>
struct limits<double> {
    static constexpr double exp = 709.0;
    static constexpr double tanh = 20.0;
    static constexpr double large = 0x1p500;
    static constexpr double small = 0x1p-500;
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

    template <class U>
    __device__ __forceinline__ complex& operator+=(const U& z) {
        return *this = *this + z;
    }
    template <class U>
    __device__ __forceinline__ complex& operator-=(const U& z) {
        return *this = *this - z;
    }
    template <class U>
    __device__ __forceinline__ complex& operator*=(const U& z) {
        return *this = *this * z;
    }
    template <class U>
    __device__ __forceinline__ complex& operator/=(const U& z) {
        return *this = *this / z;
    }

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
    const T a = swap ? x.imag() : x.real(), b = swap ? x.real() : x.imag();
    const T ratio = p == T(0) ? T(0) : q / p;
    const T divisor = p + q * ratio;
    const T re = (a + b * ratio) / divisor, im = (b - a * ratio) / divisor;
    return {re, swap ? -im : im};
}

}  // namespace kerneltk

template <class T>
__device__ __forceinline__ complex<T> operator+(const complex<T>& z) {
    return z;
}
template <class T>
__device__ __forceinline__ complex<T> operator-(const complex<T>& z) {
    return {-z.real(), -z.imag()};
}

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

// Comparisons order by the real part, then by the imaginary one, as NumPy does.
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
KERNELTK_COMPLEX_COMPARISON(<, a < c || (a == c && b < d))
KERNELTK_COMPLEX_COMPARISON(<=, a < c || (a == c && b <= d))
KERNELTK_COMPLEX_COMPARISON(>, a > c || (a == c && b > d))
KERNELTK_COMPLEX_COMPARISON(>=, a > c || (a == c && b >= d))
#undef KERNELTK_COMPLEX_COMPARISON

// ---- parts ----

template <class T>
__device__ __forceinline__ T real(const complex<T>& z) {
    return z.real();
}
template <class T>
__device__ __forceinline__ T imag(const complex<T>& z) {
    return z.imag();
}
template <class T>
__device__ __forceinline__ complex<T> conj(const complex<T>& z) {
    return {z.real(), -z.imag()};
}
template <class T>
__device__ __forceinline__ T abs(const complex<T>& z) {
    return hypot(z.real(), z.imag());
}
template <class T>
__device__ __forceinline__ T norm(const complex<T>& z) {
    return z.real() * z.real() + z.imag() * z.imag();
}
template <class T>
__device__ __forceinline__ T arg(const complex<T>& z) {
    return atan2(z.imag(), z.real());
}
template <class T>
__device__ inline complex<T> polar(const T& magnitude, const T& angle = T(0)) {
    T s, c;
    sincos(angle, &s, &c);
    return {magnitude * c, magnitude * s};
}
template <class T>
__device__ __forceinline__ bool isnan(const complex<T>& z) {
    return isnan(z.real()) || isnan(z.imag());
}
template <class T>
__device__ __forceinline__ bool isinf(const complex<T>& z) {
    return isinf(z.real()) || isinf(z.imag());
}
template <class T>
__device__ __forceinline__ bool isfinite(const complex<T>& z) {
    return isfinite(z.real()) && isfinite(z.imag());
}
template <class T>
__device__ inline complex<T> proj(const complex<T>& z) {
    return isinf(z) ? complex<T>(static_cast<T>(INFINITY), copysign(T(0), z.imag())) : z;
}
template <class T>
__device__ __forceinline__ complex<T> rint(const complex<T>& z) {
    return {rint(z.real()), rint(z.imag())};
}
template <class T>
__device__ inline complex<T> min(const complex<T>& x, const complex<T>& y) {
    return isnan(x) ? y : isnan(y) || x < y ? x : y;
}
template <class T>
__device__ inline complex<T> max(const complex<T>& x, const complex<T>& y) {
    return isnan(x) ? y : isnan(y) || x > y ? x : y;
}

// ---- exponentials ----

namespace kerneltk {

// (e^x c, e^x s) / divisor where e^x alone may overflow.
template <class T>
__device__ inline complex<T> scaled_exp(T x, T c, T s, T divisor) {
    const T root = exp(x / 2);
    return {root * (c / divisor) * root, root * (s / divisor) * root};
}

// A product that the compiler does not fuse into a following sum.
__device__ __forceinline__ float product(float x, float y) { return __fmul_rn(x, y); }
__device__ __forceinline__ double product(double x, double y) { return __dmul_rn(x, y); }

// log|z|, exact to the last bits also where |z| is nearly one.
template <class T>
__device__ inline T log_abs(T x, T y) {
    const T u = fabs(x), v = fabs(y);
    const T large = u < v ? v : u, small = u < v ? u : v;
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
    if (x == -static_cast<T>(INFINITY) && !isfinite(y)) return {T(0), T(0)};
    T s, c;
    sincos(y, &s, &c);
    if (x > kerneltk::limits<T>::exp && isfinite(x)) return kerneltk::scaled_exp(x, c, s, T(1));
    const T e = exp(x);
    return {e * c, e * s};
}
template <class T>
__device__ inline complex<T> expm1(const complex<T>& z) {
    const T x = z.real(), y = z.imag();
    if (!(fabs(x) < T(1))) return exp(z) - T(1);
    const T half = sin(y / 2), e = expm1(x);
    return {e * cos(y) - 2 * half * half, (e + 1) * sin(y)};
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
    const T other = y == T(0) ? y : y / (2 * t);
    if (x >= T(0)) return {unit * t, unit * other};
    return {unit * fabs(other), unit * copysign(t, y)};
}

namespace kerneltk {

template <class T>
__device__ inline complex<T> power(complex<T> x, const complex<T>& y) {
    const T a = y.real();
    if (y.imag() == T(0) && a == rint(a) && fabs(a) <= T(64)) {
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
using ::abs;
using ::acos;
using ::acosh;
using ::arg;
using ::asin;
using ::asinh;
using ::atan;
using ::atanh;
using ::complex;
using ::conj;
using ::cos;
using ::cosh;
using ::exp;
using ::imag;
using ::log;
using ::log10;
using ::norm;
using ::polar;
using ::pow;
using ::proj;
using ::real;
using ::sin;
using ::sinh;
using ::sqrt;
using ::tan;
using ::tanh;
}  // namespace thrust

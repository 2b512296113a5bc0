// CUDA C++'s mathematical functions for host compilers. Included by core.hpp.
//
// The C library's functions are declared here as it declares them, so that <cmath> and <math.h>
// may follow. What C++ adds (sin of a float is a float) and what only CUDA has are templates that
// any declaration of a library is preferred to.
#pragma once

// GCC calls glibc's vector functions for declarations that carry the attribute; for Clang it is
// -fveclib=libmvec. KERNELTK_LIBMVEC_235 says that glibc is 2.35 or newer.
#if defined(__gnu_linux__) && defined(__x86_64__) && !defined(__clang__)
#define KERNELTK_VECTOR __attribute__((simd("notinbranch")))
#else
#define KERNELTK_VECTOR
#endif
#ifdef KERNELTK_LIBMVEC_235
#define KERNELTK_VECTOR_235 KERNELTK_VECTOR
#else
#define KERNELTK_VECTOR_235
#endif

namespace kerneltk {

template <class T>
using if_single = typename enable_if<is_single<T>::value>::type;
template <class T>
using if_real = typename enable_if<is_single<T>::value || is_double<T>::value>::type;
template <class T>
using if_number = typename enable_if<is_number<T>::value>::type;
// 16-bit types. The empty packs make functions less specialised than a kernel's own templates; those
// of `float` are templates that are more specialised, as CUDA's functions, which are none, are
// preferred to a kernel's. They cannot be plain functions: <math.h> has the same and may follow.
template <class T, class... None>
using if_small = typename enable_if<is_single<T>::value && !is_same<T, float>::value &&
                                    sizeof...(None) == 0>::type;
template <class T, class... None>
using if_enum = typename enable_if<__is_enum(T) && sizeof...(None) == 0>::type;
template <class A, class B, class... None>
using if_enums = typename enable_if<(__is_enum(A) || is_whole<A>::value) &&
                                    (__is_enum(B) || is_whole<B>::value) &&
                                    (__is_enum(A) || __is_enum(B)) && sizeof...(None) == 0>::type;
template <class T, class... None>
using if_one = typename enable_if<is_number<T>::value && sizeof...(None) == 0>::type;

// The type that a function of real numbers is computed in (C++17, [cmath.syn] paragraph 2): float for
// a float or a 16-bit type alone, and double as soon as there is a double or an integer.
template <class A, class B = A, class C = A>
using real = typename conditional<is_single<A>::value && is_single<B>::value && is_single<C>::value,
                                  float, double>::type;
// CUDA has a power of a float by an int.
template <class A, class B>
using real_power =
    typename conditional<is_single<A>::value && (is_single<B>::value || is_same<B, int>::value),
                         float, double>::type;
// Functions of two numbers that are not plainly (double, double).
template <class A, class B, class... None>
using if_pair = typename enable_if<is_number<A>::value && is_number<B>::value &&
                                   sizeof...(None) == 0 &&
                                   !(is_double<A>::value && is_double<B>::value)>::type;

}  // namespace kerneltk

// CUDA has a function of floats and one of doubles, between which an enumerator is ambiguous.
#define KERNELTK_SINGLE(result, name)                                              \
    template <int = 0>                                                             \
    inline result name(float x) {                                                  \
        return name##f(x);                                                         \
    }                                                                              \
    template <class T, class... None, kerneltk::if_small<T, None...> = 0>          \
    inline result name(T x, None...) {                                             \
        return name##f(static_cast<float>(x));                                     \
    }                                                                              \
    template <class T, class... None, kerneltk::if_enum<T, None...> = 0>           \
    inline result name(T x, None...) = delete;
#define KERNELTK_MATH_1(name, vector)                                \
    extern "C" double name(double) noexcept vector;                  \
    extern "C" float name##f(float) noexcept vector;                 \
    KERNELTK_SINGLE(float, name)
KERNELTK_MATH_1(sin, KERNELTK_VECTOR)
KERNELTK_MATH_1(cos, KERNELTK_VECTOR)
KERNELTK_MATH_1(exp, KERNELTK_VECTOR)
KERNELTK_MATH_1(log, KERNELTK_VECTOR)
#define KERNELTK_EACH(one) \
    one(tan) one(asin) one(acos) one(atan) one(sinh) one(cosh) one(tanh) one(asinh) one(acosh) \
    one(atanh) one(exp2) one(expm1) one(log2) one(log10) one(log1p) one(cbrt) one(erf) one(erfc)
#define KERNELTK_MATH_1_235(name) KERNELTK_MATH_1(name, KERNELTK_VECTOR_235)
KERNELTK_EACH(KERNELTK_MATH_1_235)
#undef KERNELTK_EACH
#ifdef __linux__
KERNELTK_MATH_1(exp10, KERNELTK_VECTOR_235)
#endif
#define KERNELTK_EACH(one) \
    one(sqrt) one(fabs) one(floor) one(ceil) one(trunc) one(round) one(rint) one(nearbyint) \
    one(logb) one(tgamma) one(lgamma)
#define KERNELTK_MATH_1_PLAIN(name) KERNELTK_MATH_1(name, )
KERNELTK_EACH(KERNELTK_MATH_1_PLAIN)
#undef KERNELTK_EACH
#undef KERNELTK_MATH_1_PLAIN
#undef KERNELTK_MATH_1_235
#undef KERNELTK_MATH_1

// Bessel functions have no overloads in C++; CUDA has a float variant of each.
extern "C" {
double j0(double) noexcept;
double j1(double) noexcept;
double jn(int, double) noexcept;
double y0(double) noexcept;
double y1(double) noexcept;
double yn(int, double) noexcept;
float j0f(float) noexcept;
float j1f(float) noexcept;
float jnf(int, float) noexcept;
float y0f(float) noexcept;
float y1f(float) noexcept;
float ynf(int, float) noexcept;
}

#define KERNELTK_MATH_1_TO(result, name)             \
    extern "C" result name(double) noexcept;         \
    extern "C" result name##f(float) noexcept;       \
    KERNELTK_SINGLE(result, name)
KERNELTK_MATH_1_TO(int, ilogb)
KERNELTK_MATH_1_TO(long, lrint)
KERNELTK_MATH_1_TO(long, lround)
KERNELTK_MATH_1_TO(long long, llrint)
KERNELTK_MATH_1_TO(long long, llround)
#undef KERNELTK_MATH_1_TO
#undef KERNELTK_SINGLE

// The empty pack makes these less specialised than <math.h>'s own templates.
#define KERNELTK_MATH_2(name, vector) KERNELTK_MATH_2_IN(real, name, vector)
#define KERNELTK_MATH_2_IN(real, name, vector)                                     \
    extern "C" double name(double, double) noexcept vector;                        \
    extern "C" float name##f(float, float) noexcept vector;                        \
    template <int = 0>                                                             \
    inline float name(float a, float b) {                                          \
        return name##f(a, b);                                                      \
    }                                                                              \
    template <class A, class B, class... None, kerneltk::if_enums<A, B, None...> = 0> \
    inline double name(A a, B b, None...) = delete;                                \
    template <class A, class B, class... None, kerneltk::if_pair<A, B, None...> = 0> \
    inline kerneltk::real<A, B> name(A a, B b, None...) {                          \
        using T = kerneltk::real<A, B>;                                            \
        if constexpr (sizeof(T) == sizeof(float))                                  \
            return name##f(static_cast<T>(a), static_cast<T>(b));                  \
        else                                                                       \
            return name(static_cast<T>(a), static_cast<T>(b));                     \
    }
KERNELTK_MATH_2_IN(real_power, pow, KERNELTK_VECTOR)
KERNELTK_MATH_2(atan2, KERNELTK_VECTOR_235)
KERNELTK_MATH_2(hypot, KERNELTK_VECTOR_235)
KERNELTK_MATH_2(fmod, )
KERNELTK_MATH_2(fmin, )
KERNELTK_MATH_2(fmax, )
KERNELTK_MATH_2(fdim, )
KERNELTK_MATH_2(copysign, )
KERNELTK_MATH_2(nextafter, )
KERNELTK_MATH_2(remainder, )
#undef KERNELTK_MATH_2
#undef KERNELTK_MATH_2_IN

extern "C" {
double fma(double, double, double) noexcept;
float fmaf(float, float, float) noexcept;
double ldexp(double, int) noexcept;
float ldexpf(float, int) noexcept;
double scalbn(double, int) noexcept;
float scalbnf(float, int) noexcept;
double scalbln(double, long) noexcept;
float scalblnf(float, long) noexcept;
double frexp(double, int*) noexcept;
float frexpf(float, int*) noexcept;
double modf(double, double*) noexcept;
float modff(float, float*) noexcept;
double remquo(double, double, int*) noexcept;
float remquof(float, float, int*) noexcept;
double nan(const char*) noexcept;
float nanf(const char*) noexcept;
}
template <int = 0>
inline float fma(float x, float y, float z) {
    return fmaf(x, y, z);
}
template <class A, class B, class C, class... None, kerneltk::if_single<A> = 0,
          kerneltk::if_single<B> = 0, kerneltk::if_single<C> = 0,
          typename kerneltk::enable_if<sizeof...(None) == 0>::type = 0>
inline float fma(A x, B y, C z, None...) {
    return fmaf(static_cast<float>(x), static_cast<float>(y), static_cast<float>(z));
}
// Of mixed types, between which those of floats and of doubles are ambiguous.
template <class A, class B, class C, class... None, kerneltk::if_number<A> = 0,
          kerneltk::if_number<B> = 0, kerneltk::if_number<C> = 0,
          typename kerneltk::enable_if<
              sizeof...(None) == 0 && sizeof(kerneltk::real<A, B, C>) == sizeof(double) &&
              !(kerneltk::is_double<A>::value && kerneltk::is_double<B>::value &&
                kerneltk::is_double<C>::value)>::type = 0>
inline double fma(A x, B y, C z, None...) {
    return fma(static_cast<double>(x), static_cast<double>(y), static_cast<double>(z));
}
#define KERNELTK_SINGLE_BY(name, By)                                               \
    template <int = 0>                                                             \
    inline float name(float x, By by) {                                            \
        return name##f(x, by);                                                     \
    }                                                                              \
    template <class T, class... None, kerneltk::if_small<T, None...> = 0>          \
    inline float name(T x, By by, None...) {                                       \
        return name##f(static_cast<float>(x), by);                                 \
    }
KERNELTK_SINGLE_BY(ldexp, int)
KERNELTK_SINGLE_BY(scalbn, int)
KERNELTK_SINGLE_BY(scalbln, long)
KERNELTK_SINGLE_BY(frexp, int*)
KERNELTK_SINGLE_BY(modf, float*)
#undef KERNELTK_SINGLE_BY
template <int = 0>
inline float remquo(float x, float y, int* quotient) {
    return remquof(x, y, quotient);
}
template <class T, class... None, kerneltk::if_small<T, None...> = 0>
inline float remquo(T x, T y, int* quotient, None...) {
    return remquof(static_cast<float>(x), static_cast<float>(y), quotient);
}

// CUDA has no function of its own for unsigned integers: a kernel's template is preferred for them.
template <class T, class... None, kerneltk::if_one<T, None...> = 0,
          typename kerneltk::enable_if<!kerneltk::is_single<T>::value && (T(-1) > T(1))>::type = 0>
inline auto abs(T x, None...) -> decltype(+x) {
    return +x;
}
#define KERNELTK_ABS(T, expression) \
    template <int = 0>              \
    inline T abs(T x) {             \
        return expression;          \
    }
KERNELTK_ABS(int, x < 0 ? -x : x)
KERNELTK_ABS(long, x < 0 ? -x : x)
KERNELTK_ABS(long long, x < 0 ? -x : x)
KERNELTK_ABS(float, __builtin_fabsf(x))
KERNELTK_ABS(double, __builtin_fabs(x))
#undef KERNELTK_ABS
template <class T, class... None, kerneltk::if_small<T, None...> = 0>
inline float abs(T x, None...) {
    return __builtin_fabsf(static_cast<float>(x));
}
#define KERNELTK_OF_NUMBER(name, function, Float, Double, Real)             \
    template <int = 0>                                                      \
    inline Float name(float x) {                                            \
        return function(x);                                                 \
    }                                                                       \
    template <int = 0>                                                      \
    inline Double name(double x) {                                          \
        return function(x);                                                 \
    }                                                                       \
    template <class T, class... None, kerneltk::if_one<T, None...> = 0>     \
    inline Real name(T x, None...) {                                        \
        return function(static_cast<kerneltk::real<T>>(x));                 \
    }
#define KERNELTK_TEST(name) KERNELTK_OF_NUMBER(name, __builtin_##name, bool, bool, bool)
KERNELTK_TEST(isnan)
KERNELTK_TEST(isinf)
KERNELTK_TEST(isfinite)
KERNELTK_TEST(signbit)
#undef KERNELTK_TEST

// ---- what only CUDA has ----

namespace kerneltk::math {

inline double rsqrt(double x) { return 1.0 / __builtin_sqrt(x); }
inline float rsqrt(float x) { return 1.0f / __builtin_sqrtf(x); }
inline double rcbrt(double x) { return 1.0 / ::cbrt(x); }
inline float rcbrt(float x) { return 1.0f / ::cbrtf(x); }
#ifndef __linux__
inline double exp10(double x) { return ::pow(10.0, x); }
inline float exp10(float x) { return ::powf(10.0f, x); }
#endif

// The argument is folded into [-1/2, 1/2] before it is multiplied by pi, which is exact. As CUDA's,
// the sine of a whole number has the number's sign.
template <class T>
inline T sinpi(T x) {
    constexpr T pi = static_cast<T>(M_PI);
    T r = x - 2 * ::rint(x * T(0.5));
    r = ::fabs(r) > T(0.5) ? ::copysign(T(1), r) - r : r;
    return r == T(0) ? ::copysign(r, x) : ::sin(pi * r);
}
template <class T>
inline T cospi(T x) {
    constexpr T pi = static_cast<T>(M_PI);
    const T r = ::fabs(x - 2 * ::rint(x * T(0.5)));
    return ::sin(pi * (T(0.5) - r));
}

// Winitzki's estimate, then Newton's steps on log(erfc), which is nearly a parabola in the tail.
inline double erfcinv(double y) {
    if (!(y > 0 && y < 2))
        return y == 0 ? __builtin_huge_val() : y == 2 ? -__builtin_huge_val() : __builtin_nan("");
    const bool upper = y > 1;
    if (upper) y = 2 - y;
    const double w = ::log(y * (2 - y));
    const double a = 0.147, b = 2 / (M_PI * a) + w / 2;
    double x = ::sqrt(::sqrt(b * b - w / a) - b);
    for (int step = 0; step < 4; ++step) {
        const double e = ::erfc(x);
        const double u = ::log(e / y) * e / (M_2_SQRTPI * ::exp(-x * x));
        if (!__builtin_isfinite(u)) break;
        x += u;
    }
    return upper ? -x : x;
}
inline float erfcinv(float y) { return static_cast<float>(erfcinv(static_cast<double>(y))); }
inline double erfinv(double x) {
    const double size = __builtin_fabs(x);
    if (size > 0.5) return __builtin_copysign(erfcinv(1 - size), x);
    // 1 - |x| would lose the low bits of a small argument.
    const double w = ::log1p(-x * x);
    const double a = 0.147, b = 2 / (M_PI * a) + w / 2;
    double y = ::sqrt(::sqrt(b * b - w / a) - b);
    y = size < 1e-3 ? size / M_2_SQRTPI : y;
    for (int step = 0; step < 3; ++step) {
        const double u = (::erf(y) - size) / (M_2_SQRTPI * ::exp(-y * y));
        y -= u / (1 + y * u);
    }
    return __builtin_copysign(y, x);
}
inline float erfinv(float x) { return static_cast<float>(erfinv(static_cast<double>(x))); }
inline double normcdf(double x) { return 0.5 * ::erfc(-x * M_SQRT1_2); }
inline float normcdf(float x) { return static_cast<float>(normcdf(static_cast<double>(x))); }
inline double normcdfinv(double p) { return -M_SQRT2 * erfcinv(2 * p); }
inline float normcdfinv(float p) { return static_cast<float>(normcdfinv(static_cast<double>(p))); }
// exp(x^2) erfc(x); the low half of x^2 keeps the product accurate while erfc is a normal number.
inline double erfcx(double x) {
    if (x < 25) {
        const double square = x * x, low = __builtin_fma(x, x, -square);
        const double e = ::exp(square);
        return __builtin_isinf(e) ? e : (e + e * low) * ::erfc(x);
    }
    const double h = 1 / (x * x);
    const double tail = 6.5625 - h * (29.53125 - h * 162.421875);
    return M_2_SQRTPI / 2 / x * (1 - h * (0.5 - h * (0.75 - h * (1.875 - h * tail))));
}
inline float erfcx(float x) { return static_cast<float>(erfcx(static_cast<double>(x))); }

// The power series of I0 and I1: every term is positive, so that none cancels.
inline double bessel_series(double x, int order) {
    const double q = x * x / 4;
    double term = order ? x / 2 : 1, sum = term;
    for (int k = 1; k < 2000 && __builtin_fabs(term) > 1e-17 * __builtin_fabs(sum); ++k) {
        term *= q / (static_cast<double>(k) * (k + order));
        sum += term;
    }
    return sum;
}
inline double cyl_bessel_i0(double x) { return bessel_series(x, 0); }
inline double cyl_bessel_i1(double x) { return bessel_series(x, 1); }
inline float cyl_bessel_i0(float x) { return static_cast<float>(bessel_series(x, 0)); }
inline float cyl_bessel_i1(float x) { return static_cast<float>(bessel_series(x, 1)); }

}  // namespace kerneltk::math

#define KERNELTK_CUDA_1(name)                                                                \
    KERNELTK_OF_NUMBER(name, kerneltk::math::name, float, double, kerneltk::real<T>)         \
    template <class T, kerneltk::if_number<T> = 0>                                           \
    inline float name##f(T x) {                                                              \
        return kerneltk::math::name(static_cast<float>(x));                                  \
    }
KERNELTK_CUDA_1(rsqrt)
KERNELTK_CUDA_1(rcbrt)
#ifndef __linux__
KERNELTK_CUDA_1(exp10)
#endif
KERNELTK_CUDA_1(sinpi)
KERNELTK_CUDA_1(cospi)
KERNELTK_CUDA_1(erfinv)
KERNELTK_CUDA_1(erfcinv)
KERNELTK_CUDA_1(erfcx)
KERNELTK_CUDA_1(normcdf)
KERNELTK_CUDA_1(normcdfinv)
KERNELTK_CUDA_1(cyl_bessel_i0)
KERNELTK_CUDA_1(cyl_bessel_i1)
#undef KERNELTK_CUDA_1
#undef KERNELTK_OF_NUMBER

// Two calls rather than the C library's sincos, which has no vector form that compilers use.
template <class T, kerneltk::if_number<T> = 0, class R>
inline void sincos(T x, R* sine, R* cosine) {
    const auto v = static_cast<kerneltk::real<T>>(x);
    *sine = static_cast<R>(sin(v));
    *cosine = static_cast<R>(cos(v));
}
template <int = 0>
inline void sincos(float x, float* sine, float* cosine) {
    *sine = sinf(x);
    *cosine = cosf(x);
}
template <int = 0>
inline void sincos(double x, double* sine, double* cosine) {
    *sine = sin(x);
    *cosine = cos(x);
}
inline void __sincosf_pair(float x, float* sine, float* cosine) {
    *sine = sinf(x);
    *cosine = cosf(x);
}
template <class T, kerneltk::if_number<T> = 0>
inline void sincosf(T x, float* sine, float* cosine) {
    __sincosf_pair(static_cast<float>(x), sine, cosine);
}
template <class T, kerneltk::if_number<T> = 0, class R>
inline void sincospi(T x, R* sine, R* cosine) {
    *sine = static_cast<R>(sinpi(x));
    *cosine = static_cast<R>(cospi(x));
}
template <class T, kerneltk::if_number<T> = 0>
inline void sincospif(T x, float* sine, float* cosine) {
    *sine = sinpif(x);
    *cosine = cospif(x);
}

namespace kerneltk {
namespace lengths {
#define KERNELTK_LENGTHS(R)                                                           \
    inline R rhypot(R a, R b) { return 1 / ::hypot(a, b); }                           \
    inline R norm3d(R a, R b, R c) { return ::hypot(::hypot(a, b), c); }              \
    inline R norm4d(R a, R b, R c, R d) { return ::hypot(::hypot(a, b), ::hypot(c, d)); } \
    inline R rnorm3d(R a, R b, R c) { return 1 / norm3d(a, b, c); }                   \
    inline R rnorm4d(R a, R b, R c, R d) { return 1 / norm4d(a, b, c, d); }
KERNELTK_LENGTHS(float)
KERNELTK_LENGTHS(double)
#undef KERNELTK_LENGTHS
}  // namespace lengths
}  // namespace kerneltk
// CUDA declares these for doubles only: of floats, a source's template of the name is called.
#define KERNELTK_LENGTH(name, parameters, ...)        \
    template <int = 0>                                \
    inline double name parameters {                   \
        return kerneltk::lengths::name(__VA_ARGS__); \
    }
KERNELTK_LENGTH(rhypot, (double a, double b), a, b)
KERNELTK_LENGTH(norm3d, (double a, double b, double c), a, b, c)
KERNELTK_LENGTH(norm4d, (double a, double b, double c, double d), a, b, c, d)
KERNELTK_LENGTH(rnorm3d, (double a, double b, double c), a, b, c)
KERNELTK_LENGTH(rnorm4d, (double a, double b, double c, double d), a, b, c, d)
#undef KERNELTK_LENGTH
template <class A, class B, class... None, kerneltk::if_number<A> = 0, kerneltk::if_number<B> = 0,
          typename kerneltk::enable_if<sizeof...(None) == 0>::type = 0>
inline kerneltk::real<A, B> rhypot(A x, B y, None...) {
    using R = kerneltk::real<A, B>;
    return kerneltk::lengths::rhypot(static_cast<R>(x), static_cast<R>(y));
}
#define KERNELTK_LENGTH(name, parameters, ...)                          \
    template <class T, class... None, kerneltk::if_one<T, None...> = 0> \
    inline kerneltk::real<T> name(parameters, None...) {                \
        using R = kerneltk::real<T>;                                    \
        return kerneltk::lengths::name(__VA_ARGS__);                    \
    }
#define KERNELTK_OF_THREE T a, T b, T c
#define KERNELTK_OF_FOUR T a, T b, T c, T d
#define KERNELTK_THREE static_cast<R>(a), static_cast<R>(b), static_cast<R>(c)
KERNELTK_LENGTH(norm3d, KERNELTK_OF_THREE, KERNELTK_THREE)
KERNELTK_LENGTH(norm4d, KERNELTK_OF_FOUR, KERNELTK_THREE, static_cast<R>(d))
KERNELTK_LENGTH(rnorm3d, KERNELTK_OF_THREE, KERNELTK_THREE)
KERNELTK_LENGTH(rnorm4d, KERNELTK_OF_FOUR, KERNELTK_THREE, static_cast<R>(d))
#undef KERNELTK_OF_THREE
#undef KERNELTK_OF_FOUR
#undef KERNELTK_THREE
#undef KERNELTK_LENGTH
inline float rhypotf(float x, float y) { return kerneltk::lengths::rhypot(x, y); }
inline float norm3df(float a, float b, float c) { return kerneltk::lengths::norm3d(a, b, c); }
inline float norm4df(float a, float b, float c, float d) { return kerneltk::lengths::norm4d(a, b, c, d); }
inline float rnorm3df(float a, float b, float c) { return kerneltk::lengths::rnorm3d(a, b, c); }
inline float rnorm4df(float a, float b, float c, float d) { return kerneltk::lengths::rnorm4d(a, b, c, d); }

// ---- intrinsics ----

// glibc declares most of these without exporting them; defined as it declares them.
extern "C" {
__forceinline__ float __sinf(float x) noexcept { return sinf(x); }
__forceinline__ float __cosf(float x) noexcept { return cosf(x); }
__forceinline__ float __tanf(float x) noexcept { return tanf(x); }
__forceinline__ float __tanhf(float x) noexcept { return tanhf(x); }
__forceinline__ float __expf(float x) noexcept { return expf(x); }
__forceinline__ float __exp10f(float x) noexcept { return exp10f(x); }
__forceinline__ float __logf(float x) noexcept { return logf(x); }
__forceinline__ float __log2f(float x) noexcept { return log2f(x); }
__forceinline__ float __log10f(float x) noexcept { return log10f(x); }
__forceinline__ float __powf(float x, float y) noexcept { return powf(x, y); }
__forceinline__ void __sincosf(float x, float* sine, float* cosine) noexcept {
    __sincosf_pair(x, sine, cosine);
}
}
inline float __fdividef(float x, float y) { return x / y; }
inline float __saturatef(float x) { return min(max(x, 0.0f), 1.0f); }

namespace kerneltk {

// The value, hidden from the compiler, so that it is neither fused nor reassociated.
template <class T>
__forceinline__ T rounded(T x) {
#if defined(__x86_64__)
    __asm__("" : "+x"(x));
#elif defined(__aarch64__)
    __asm__("" : "+w"(x));
#else
    volatile T kept = x;
    x = kept;
#endif
    return x;
}

// A float as an integer: what does not fit is the nearest that does. A NaN is zero where neither
// type has 64 bits, else the integer of the highest bit alone.
template <class I, class F, bool wide = sizeof(F) == 8 || sizeof(I) == 8>
__forceinline__ I saturate(F x) {
    constexpr bool is_signed = I(-1) < I(0);
    constexpr I most = is_signed ? I(~(1ull << (8 * sizeof(I) - 1))) : I(~0ull);
    constexpr I least = is_signed ? I(-most - 1) : I(0);
    // 2^bits is a float, the maximum itself need not be.
    constexpr F end = 2 * static_cast<F>(I(most / 2 + 1));
    if (!(x == x)) return wide ? static_cast<I>(1ull << (8 * sizeof(I) - 1)) : I(0);
    return x >= end ? most : x < static_cast<F>(least) ? least : static_cast<I>(x);
}

// An integer as a float F, in the direction given: -1 down, 1 up, 0 towards zero.
template <class F, class I>
inline F directed(I x, int direction) {
    const F nearest = static_cast<F>(x);
    const long double exact = x, error = exact - nearest;
    if (direction == 0) direction = x < 0 ? 1 : -1;
    const F up = static_cast<F>(__builtin_huge_val());
    if (error > 0 && direction > 0) return nextafter(nearest, up);
    if (error < 0 && direction < 0) return nextafter(nearest, -up);
    return nearest;
}

}  // namespace kerneltk

#define KERNELTK_CONVERT(from, F, to, I)                                                      \
    inline I __##from##2##to##_rn(F x) { return kerneltk::saturate<I>(rint(x)); }             \
    inline I __##from##2##to##_rz(F x) { return kerneltk::saturate<I>(trunc(x)); }            \
    inline I __##from##2##to##_ru(F x) { return kerneltk::saturate<I>(ceil(x)); }             \
    inline I __##from##2##to##_rd(F x) { return kerneltk::saturate<I>(floor(x)); }            \
    inline F __##to##2##from##_rn(I x) { return static_cast<F>(x); }                          \
    inline F __##to##2##from##_rz(I x) { return kerneltk::directed<F>(x, 0); }                \
    inline F __##to##2##from##_ru(I x) { return kerneltk::directed<F>(x, 1); }                \
    inline F __##to##2##from##_rd(I x) { return kerneltk::directed<F>(x, -1); }
KERNELTK_CONVERT(float, float, int, int)
KERNELTK_CONVERT(float, float, uint, unsigned int)
KERNELTK_CONVERT(float, float, ll, long long)
KERNELTK_CONVERT(float, float, ull, unsigned long long)
KERNELTK_CONVERT(double, double, int, int)
KERNELTK_CONVERT(double, double, uint, unsigned int)
KERNELTK_CONVERT(double, double, ll, long long)
KERNELTK_CONVERT(double, double, ull, unsigned long long)
#undef KERNELTK_CONVERT
inline float __double2float_rn(double x) { return static_cast<float>(x); }
inline float __double2float_rz(double x) {
    const float r = static_cast<float>(x);
    return __builtin_fabs(static_cast<double>(r)) > __builtin_fabs(x) ? nextafterf(r, 0.0f) : r;
}
inline float __double2float_ru(double x) {
    const float r = static_cast<float>(x);
    return r < x ? nextafterf(r, __builtin_huge_valf()) : r;
}
inline float __double2float_rd(double x) {
    const float r = static_cast<float>(x);
    return r > x ? nextafterf(r, -__builtin_huge_valf()) : r;
}

inline float __fadd_rn(float x, float y) { return kerneltk::rounded(x + y); }
inline float __fsub_rn(float x, float y) { return kerneltk::rounded(x - y); }
inline float __fmul_rn(float x, float y) { return kerneltk::rounded(x * y); }
inline float __fdiv_rn(float x, float y) { return x / y; }
inline float __frcp_rn(float x) { return 1.0f / x; }
inline float __fsqrt_rn(float x) { return sqrtf(x); }
inline float __frsqrt_rn(float x) { return static_cast<float>(1.0 / __builtin_sqrt(x)); }
inline float __fmaf_rn(float x, float y, float z) { return fmaf(x, y, z); }
inline float __fmaf_ieee_rn(float x, float y, float z) { return fmaf(x, y, z); }
inline double __dadd_rn(double x, double y) { return kerneltk::rounded(x + y); }
inline double __dsub_rn(double x, double y) { return kerneltk::rounded(x - y); }
inline double __dmul_rn(double x, double y) { return kerneltk::rounded(x * y); }
inline double __ddiv_rn(double x, double y) { return x / y; }
inline double __drcp_rn(double x) { return 1.0 / x; }
inline double __dsqrt_rn(double x) { return __builtin_sqrt(x); }
inline double __fma_rn(double x, double y, double z) { return fma(x, y, z); }

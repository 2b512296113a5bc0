// Functions of floats for vectorised loops. glibc's vector functions leave a loop for one call per element where an
// argument or a result is special: exp below -87, log of a denormal, sin beyond 10^4 and others, 6 to 60 times slower.
// Here special arguments are replaced by harmless ones and results are mended by arithmetic, without branches, so
// that loops stay vectorised. Exponentials are computed here. Errors: tests/property/test_float_math.py.
//
// In code that is not vectorised these are two to five times slower than the library's: included for expressions
// without loops and exits alone, and for generated rows whose values are chosen.
//
// Argument reduction: Cody and Waite, Software Manual for the Elementary Functions, 1980, with fused multiply-adds.
// The polynomials are minimax fits of this project.
#pragma once
#include <kerneltk/core.hpp>

// -ffast-math takes infinities and NaN for impossible: there the C library computes.
#ifndef __FAST_MATH__
#define KERNELTK_ALWAYS_INLINE __attribute__((always_inline)) inline

namespace kerneltk::float_math {

// The C library's functions, in the vector forms that the compiler knows. Of a choice of a call GCC makes vectors where
// it is a builtin. But builtins of sin and cos of one argument it makes one function of, which has no vector form, and
// those of logarithms it calls with special arguments: these are declared anew, 'const', so that it calls them for
// elements that do not need it.
#define KERNELTK_LIBRARY(name) \
    KERNELTK_ALWAYS_INLINE float library_##name(float x) { return __builtin_##name##f(x); }
#ifdef __clang__
#define KERNELTK_DECLARED(name, vector) KERNELTK_LIBRARY(name)
#else
#define KERNELTK_DECLARED(name, vector)                                \
    extern "C" float library_##name(float) noexcept __asm__(#name "f") \
        __attribute__((const)) vector;
#endif
KERNELTK_DECLARED(log, KERNELTK_VECTOR)
KERNELTK_DECLARED(sin, KERNELTK_VECTOR)
KERNELTK_DECLARED(cos, KERNELTK_VECTOR)
KERNELTK_DECLARED(log2, KERNELTK_VECTOR_235)
KERNELTK_DECLARED(log10, KERNELTK_VECTOR_235)
KERNELTK_LIBRARY(log1p)
KERNELTK_LIBRARY(sinh)
KERNELTK_LIBRARY(cosh)
KERNELTK_LIBRARY(asin)
KERNELTK_LIBRARY(acos)
KERNELTK_LIBRARY(atanh)
KERNELTK_LIBRARY(cbrt)
#undef KERNELTK_LIBRARY
#undef KERNELTK_DECLARED

constexpr float infinity = __builtin_huge_valf();
constexpr float smallest_normal = 1.17549435e-38f;

#if defined(__FMA__) || defined(__aarch64__)
KERNELTK_ALWAYS_INLINE float fused(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
// x - n pi.
KERNELTK_ALWAYS_INLINE float less_multiple(float x, float n) {
    const float r = fused(n, 8.74227766e-8f, fused(n, -3.14159274f, x));
    return fused(n, 3.430249e-15f, r);
}
#else
// For fused functions g++ has no fused multiply-adds. A constant whose product must be exact has few digits (`rest`),
// or the product is a double's.
KERNELTK_ALWAYS_INLINE float fused(float a, float b, float c) { return a * b + c; }
KERNELTK_ALWAYS_INLINE float less_multiple(float x, float n) {
    const double m = n, r = x - m * 3.14159274f + m * 8.74227766e-8f;
    return static_cast<float>(r + m * 3.430249e-15f);
}
#endif
KERNELTK_ALWAYS_INLINE float power_of_two(int n) {  // -127 < n < 128
    const int bits = (n + 127) << 23;
    float x;
    __builtin_memcpy(&x, &bits, sizeof(x));
    return x;
}
// `condition ? a : b` by bits. Of two conditional expressions with one condition GCC makes two ways through the
// code, each with a call, and vectorises neither.
KERNELTK_ALWAYS_INLINE float either(bool condition, float a, float b) {
    int x, y;
    __builtin_memcpy(&x, &a, sizeof(x));
    __builtin_memcpy(&y, &b, sizeof(y));
    const int mask = -static_cast<int>(condition);
    x = (x & mask) | (y & ~mask);
    __builtin_memcpy(&a, &x, sizeof(x));
    return a;
}
KERNELTK_ALWAYS_INLINE float nan_of(float x) { return either(x == x, 0.0f, x); }
// x between limits beyond which a result no longer changes; the lower one for NaN.
KERNELTK_ALWAYS_INLINE float limited(float x, float low, float high) {
    x = either(x > low, x, low);
    return either(x < high, x, high);
}

// e^r 2^n for |r| <= log(2)/2. The power is two factors: the first product is exact, so that a
// denormal result is rounded once.
KERNELTK_ALWAYS_INLINE float exponential(float r, int n) {
    float p = 1.39505237e-3f;
    p = fused(p, r, 8.36890824e-3f);
    p = fused(p, r, 4.16662053e-2f);
    p = fused(p, r, 1.66665187e-1f);
    p = fused(p, r, 0.5f);
    p = fused(p, r * r, r) + 1.0f;
    const int half = n >> 1;
    // Products that become zero by rounding take as long as denormal ones: there the factor is zero.
    return p * power_of_two(half) * either(n > -151, power_of_two(n - half), 0.0f);
}
// The rest of x by n log(2).
KERNELTK_ALWAYS_INLINE float rest(float x, float n) {
    return fused(n, -1.42860677e-6f, fused(n, -0.693145752f, x));
}

// An argument of a logarithm: normal, and what the result needs then: `shift` binary digits, and `special`
// for zero, infinity, negative numbers and NaN.
struct operand {
    float x, shift, special;
};
KERNELTK_ALWAYS_INLINE operand normal(float x) {
    const bool usual = x > 0.0f && x < infinity, small = x < smallest_normal;
    const float special = x == 0.0f ? -infinity : x > 0.0f ? x : __builtin_nanf("");
    const float in = usual ? x : 1.0f;
    return {usual && small ? in * 4294967296.0f : in, usual && small ? -32.0f : 0.0f,
            usual ? 0.0f : special};
}

// x less the nearest multiple n pi of pi (`shift` 0) or odd multiple of pi/2 (1/2). The first product of
// `less_multiple`, with 24 digits of pi, leaves an exact difference where |n| < 2^20.
struct angle {
    float r, n;
};
KERNELTK_ALWAYS_INLINE angle reduced(float x, float shift) {
    const float n = __builtin_rintf(fused(x, 0.318309886f, -shift)) + shift;
    return {less_multiple(x, n), n};
}
// Angles that the vector functions leave to one call per element, and that `reduced` takes.
KERNELTK_ALWAYS_INLINE bool is_wide(float x) {
    const float size = __builtin_fabsf(x);
    return size > 8000.0f && size < 2e6f;
}
KERNELTK_ALWAYS_INLINE float finite(float x) { return either(__builtin_fabsf(x) < infinity, x, 0.0f); }
// (-1)^n sin(x - n pi): the sine of x for `shift` 0; for 1/2, where n is m + 1/2, (-1)^m of it, which is -cos(x).
KERNELTK_ALWAYS_INLINE float sine_of_wide(float x, float shift) {
    const angle a = reduced(x, shift);
    const float z = a.r * a.r;
    float p = -2.39094498e-08f;
    p = fused(p, z, 2.75266313e-06f);
    p = fused(p, z, -1.98408944e-04f);
    p = fused(p, z, 8.33333133e-03f);
    p = fused(p, z, -1.66666666e-01f);
    const float m = a.n - shift;
    const float sign = 1.0f - 2.0f * __builtin_fabsf(m - 2.0f * __builtin_rintf(0.5f * m));
    return sign * fused(a.r * z, p, a.r);
}

// Beyond 64, sinh and cosh are 2^32 times those of an argument that is 32 log(2) less, by a number
// with whose digits the difference is exact.
KERNELTK_ALWAYS_INLINE bool is_large(float x) { return __builtin_fabsf(x) > 64.0f; }
KERNELTK_ALWAYS_INLINE float lessened(float x) {
    return limited(__builtin_fabsf(x), 0.0f, 100.0f) - either(is_large(x), 22.1807098388671875f, 0.0f);
}
KERNELTK_ALWAYS_INLINE float scaled(float y, bool large) {
    return fused(y, either(large, 6.0948939e-8f, 0.0f), y) * either(large, 4294967296.0f, 1.0f);
}

KERNELTK_ALWAYS_INLINE float exp(float x) {
    const float c = limited(x, -105.0f, 90.0f), n = __builtin_rintf(c * 1.44269504f);
    return exponential(rest(c, n), static_cast<int>(n)) + nan_of(x);
}
KERNELTK_ALWAYS_INLINE float exp2(float x) {
    const float c = limited(x, -151.0f, 129.0f), n = __builtin_rintf(c);
    return exponential((c - n) * 0.693147181f, static_cast<int>(n)) + nan_of(x);
}
KERNELTK_ALWAYS_INLINE float exp10(float x) {
    const float c = limited(x, -46.0f, 39.0f), n = __builtin_rintf(c * 3.32192809f);
    const float r = fused(n, -4.60503907e-6f, fused(n, -0.301025391f, c));
    return exponential(r * 2.30258509f, static_cast<int>(n)) + nan_of(x);
}
KERNELTK_ALWAYS_INLINE float expm1(float x) {
    const float c = limited(x, -20.0f, 89.0f), n = __builtin_rintf(c * 1.44269504f);
    const float r = rest(c, n);
    float p = 1.99142092e-4f;
    p = fused(p, r, 1.39410360e-3f);
    p = fused(p, r, 8.33327298e-3f);
    p = fused(p, r, 4.16663543e-2f);
    p = fused(p, r, 1.66666668e-1f);
    p = fused(p, r, 0.5f);
    p = fused(p, r * r, r);
    const float half = power_of_two(static_cast<int>(n) - 1);
    const float result = 2.0f * fused(p, half, half - 0.5f);
    return x == x && x != 0.0f ? result : x;
}
KERNELTK_ALWAYS_INLINE float log(float x) {
    const operand a = normal(x);
    return fused(a.shift, 0.693147181f, library_log(a.x)) + a.special;
}
KERNELTK_ALWAYS_INLINE float log2(float x) {
    const operand a = normal(x);
    return library_log2(a.x) + a.shift + a.special;
}
KERNELTK_ALWAYS_INLINE float log10(float x) {
    const operand a = normal(x);
    return fused(a.shift, 0.301029996f, library_log10(a.x)) + a.special;
}
KERNELTK_ALWAYS_INLINE float log1p(float x) {
    const bool usual = x > -1.0f && x < infinity;
    const float special = x == -1.0f ? -infinity : x > 0.0f ? x : __builtin_nanf("");
    return library_log1p(either(usual, x, 0.0f)) + either(usual, x * 0.0f, special);
}
KERNELTK_ALWAYS_INLINE float sinh(float x) {
    const float y = library_sinh(__builtin_copysignf(lessened(x), x));
    return scaled(y, is_large(x)) + either(__builtin_fabsf(x) < infinity, x * 0.0f, x);
}
KERNELTK_ALWAYS_INLINE float cosh(float x) {
    return scaled(library_cosh(lessened(x)), is_large(x)) + nan_of(x);
}
KERNELTK_ALWAYS_INLINE float sin(float x) {
    const bool wide = is_wide(x);
    const float y = library_sin(either(wide, 0.0f, finite(x)));
    return either(wide, sine_of_wide(either(wide, x, 0.0f), 0.0f), y) + x * 0.0f;
}
KERNELTK_ALWAYS_INLINE float cos(float x) {
    const bool wide = is_wide(x);
    const float y = library_cos(either(wide, 0.0f, finite(x)));
    return either(wide, -sine_of_wide(either(wide, x, 0.0f), 0.5f), y) + x * 0.0f;
}
KERNELTK_ALWAYS_INLINE float asin(float x) {
    const bool usual = __builtin_fabsf(x) <= 1.0f;
    return library_asin(either(usual, x, 0.0f)) +
           either(usual, x * 0.0f, __builtin_nanf(""));
}
KERNELTK_ALWAYS_INLINE float acos(float x) {
    const bool usual = __builtin_fabsf(x) <= 1.0f;
    return library_acos(either(usual, x, 0.0f)) + either(usual, 0.0f, __builtin_nanf(""));
}
KERNELTK_ALWAYS_INLINE float atanh(float x) {
    const float size = __builtin_fabsf(x);
    const float special = size == 1.0f ? x * infinity : __builtin_nanf("");
    return library_atanh(either(size < 1.0f, x, 0.0f)) + either(size < 1.0f, x * 0.0f, special);
}
KERNELTK_ALWAYS_INLINE float cbrt(float x) {
    const float size = __builtin_fabsf(x);
    const bool small = size < smallest_normal, usual = size < infinity && size > 0.0f;
    const float in = either(usual, x, 1.0f);
    const float y = library_cbrt(in * either(small, 16777216.0f, 1.0f));
    return either(usual, y * either(small, 0.00390625f, 1.0f), x);
}

// x^y as 2^(y log2(x)) in double precision: half a unit in the last place, the same time for all numbers. glibc's takes
// 1.2 times that with AVX-512, 0.8 times without FMA; 2 to 10 times where x is zero, negative or not finite, or where
// results overflow or are denormal. Special values: C17, F.10.4.4. log2 is an odd polynomial of (m - 1) / (m + 1) for
// m in [sqrt(1/2), sqrt(2)]. Polynomials are in Estrin's order: their operations wait less for each other.
KERNELTK_ALWAYS_INLINE double exponent(unsigned long long biased) {  // as a double, of which it is the low digits
    biased |= 0x4330000000000000;
    double n;
    __builtin_memcpy(&n, &biased, sizeof(n));
    return n - (4503599627370496.0 + 1023.0);
}
KERNELTK_ALWAYS_INLINE double log2_of_size(double x) {  // -1023 for zero, more than 1023.9 for infinity and NaN
    unsigned long long bits;
    __builtin_memcpy(&bits, &x, sizeof(bits));
    const unsigned long long biased = (bits + (0x3ff0000000000000 - 0x3fe6a09e00000000)) >> 52;
    bits += (1023 - biased) << 52;
    double m;
    __builtin_memcpy(&m, &bits, sizeof(m));
    const double s = (m - 1.0) / (m + 1.0), z = s * s, w = z * z;
    const double tail = 0.3407329932424559 * w + (0.41167268734376855 * z + 0.5770835830070087);
    const double p = tail * w + (0.9617966733682309 * z + 2.885390081790048);
    return s * p + exponent(biased);
}
KERNELTK_ALWAYS_INLINE float power_of_two(double t) {
    t = t > 160.0 ? 160.0 : t;
    t = t > -160.0 ? t : -160.0;
    const double n = __builtin_rint(t), r = t - n, w = r * r;
    const double tail = 0.00015461467905285986 * w + (0.0013400454984126323 * r + 0.00961805662050108);
    const double p = (tail * w + (0.05550327159647605 * r + 0.2402265092256076)) * w;
    const double shifted = n + (4503599627370496.0 + 1023.0);
    unsigned long long bits;
    __builtin_memcpy(&bits, &shifted, sizeof(bits));
    bits <<= 52;
    double scale;
    __builtin_memcpy(&scale, &bits, sizeof(scale));
    return static_cast<float>((p + (0.6931472067342503 * r + 1.0)) * scale);
}
KERNELTK_ALWAYS_INLINE float pow(float x, float y) {
    // The compiler knows these.
    if (__builtin_constant_p(y) && (y == 1.0f || y == 2.0f || y == -1.0f))
        return __builtin_powf(x, y);
    const float size = __builtin_fabsf(x), largest = 3.40282347e38f;
    // Powers of zero and infinity, and to infinity, are those to the largest number: but for 1, zero or infinite.
    const bool ends = (size == 0.0f) | (size == infinity), is_finite = __builtin_fabsf(y) < infinity;
    const bool is_usual = is_finite & (!ends | (y == 0.0f));
    const float by = either(is_usual, y, __builtin_copysignf(largest, y));
    float result = power_of_two(by * log2_of_size(size));
    const bool whole = __builtin_rintf(y) == y, even = __builtin_rintf(0.5f * y) == 0.5f * y;
    result = either(whole & !even, __builtin_copysignf(result, x), result);
    const bool is_nan = ((x != x) & (y != 0.0f)) | ((y != y) & (x != 1.0f)) |
                        ((x < 0.0f) & !whole & (size < infinity));
    return either(is_nan, __builtin_nanf(""), result);
}

// Of doubles, for generated code, which names it: masked elements are often -1e9 or -infinity. Larger ones than 708,
// and those with denormal results, are left to one call per element. `::exp` is a builtin, as above.
KERNELTK_ALWAYS_INLINE double when(bool condition, double a) {  // else zero
    long long x;
    __builtin_memcpy(&x, &a, sizeof(x));
    x &= -static_cast<long long>(condition);
    __builtin_memcpy(&a, &x, sizeof(x));
    return a;
}
KERNELTK_ALWAYS_INLINE double exp(double x) {
    const bool counts = x > -745.83;
    return when(counts, ::exp(when(counts, x))) + when(x != x, x);
}
template <class T>
KERNELTK_ALWAYS_INLINE auto exp(T x) {
    return ::exp(x);
}

}  // namespace kerneltk::float_math

// These are preferred to the templates of host_math.hpp. An integer counts as a double.
#define KERNELTK_OF_FLOATS(name)                                                             \
    KERNELTK_ALWAYS_INLINE float name(float x) { return kerneltk::float_math::name(x); }     \
    template <class T, typename kerneltk::enable_if<kerneltk::is_number<T>::value &&         \
                                                    !kerneltk::is_single<T>::value &&        \
                                                    !kerneltk::is_double<T>::value>::type = 0> \
    KERNELTK_ALWAYS_INLINE double name(T x) {                                                \
        return name(static_cast<double>(x));                                                 \
    }
#define KERNELTK_EACH(one) \
    one(exp) one(exp2) one(exp10) one(expm1) one(log) one(log2) one(log10) one(log1p) one(sinh) \
    one(cosh) one(sin) one(cos) one(asin) one(acos) one(atanh) one(cbrt)
KERNELTK_EACH(KERNELTK_OF_FLOATS)
#undef KERNELTK_EACH
#undef KERNELTK_OF_FLOATS
KERNELTK_ALWAYS_INLINE float pow(float x, float y) { return kerneltk::float_math::pow(x, y); }
template <class A, class B, typename kerneltk::enable_if<kerneltk::is_single<A>::value &&
                                                         kerneltk::is_single<B>::value>::type = 0>
KERNELTK_ALWAYS_INLINE float pow(A x, B y) {
    return kerneltk::float_math::pow(static_cast<float>(x), static_cast<float>(y));
}
#undef KERNELTK_ALWAYS_INLINE
#else
namespace kerneltk::float_math {
using ::exp;
}
#endif

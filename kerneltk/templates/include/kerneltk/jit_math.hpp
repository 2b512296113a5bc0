// Functions of Python's math module that C does not have.
#pragma once
#include <kerneltk/jit_numbers.hpp>

namespace kerneltk::jit {

// The integer part of a square root; the float's is at most one off.
__device__ inline long long isqrt(long long n) {
    if (n <= 0) return 0;  // Python raises for what is negative
    long long root = static_cast<long long>(::sqrt(static_cast<double>(n)));
    while (root > 0 && (root > 3037000499ll || root * root > n)) --root;
    while (root < 3037000499ll && (root + 1) * (root + 1) <= n) ++root;
    return root;
}
__device__ inline long long factorial(long long n) {
    unsigned long long product = 1;
    for (long long k = 2; k <= n; ++k) product *= static_cast<unsigned long long>(k);
    return static_cast<long long>(product);
}
__device__ inline long long perm(long long n, long long k) {
    if (k > n) return 0;
    unsigned long long product = 1;
    for (long long j = n - k + 1; j <= n; ++j) product *= static_cast<unsigned long long>(j);
    return static_cast<long long>(product);
}
__device__ inline unsigned long long common_divisor(unsigned long long a, unsigned long long b) {
    while (b != 0) {
        const unsigned long long rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}
// Exact wherever the result fits 64 bits: each step's product is a binomial coefficient as well.
__device__ inline long long comb(long long n, long long k) {
    if (k > n) return 0;
    if (k > n - k) k = n - k;
    unsigned long long result = 1;
    for (long long j = 1; j <= k; ++j) {
        const auto factor = static_cast<unsigned long long>(n - k + j);
        const auto divisor = static_cast<unsigned long long>(j);
        const unsigned long long common = common_divisor(result, divisor);
        result = result / common * (factor / (divisor / common));
    }
    return static_cast<long long>(result);
}
// The next number in the direction of y; of two zeros it is the second, as in C.
template <class T>
__device__ __forceinline__ T nextafter(T x, T y) {
    return ::nextafter(x, y);
}
// The distance to the next number away from zero, with the sign of x; of a float16, as in NumPy, to
// the next greater number.
template <class T>
__device__ inline T spacing(T x) {
    const wide<T> value = static_cast<wide<T>>(x);
    if (value != value || value - value != wide<T>(0)) return static_cast<T>(value - value);
    const bool is_down = !is_same<T, float16>::value && value < wide<T>(0);
    const T away = static_cast<T>(is_down ? -INFINITY : INFINITY);
    return static_cast<T>(static_cast<wide<T>>(jit::nextafter(x, away)) - value);
}
// Python's: the value of the last bit, of the largest number too; infinite of infinities.
template <class T>
__device__ inline T ulp(T x) {
    const wide<T> value = static_cast<wide<T>>(x), size = value < wide<T>(0) ? -value : value;
    if (size != size || size - size != wide<T>(0)) return static_cast<T>(size);
    const T up = jit::nextafter(static_cast<T>(size), static_cast<T>(INFINITY));
    if (static_cast<wide<T>>(up) - static_cast<wide<T>>(up) == wide<T>(0))
        return static_cast<T>(static_cast<wide<T>>(up) - size);
    const T down = jit::nextafter(static_cast<T>(size), T(0.0f));
    return static_cast<T>(size - static_cast<wide<T>>(down));
}
template <class T>
__device__ inline bool is_close(T a, T b, T relative, T absolute) {
    if (a == b) return true;
    if (a - a != T(0) || b - b != T(0)) return false;  // an infinity or no number
    const T distance = ::fabs(a - b), size = ::fmax(::fabs(a), ::fabs(b));
    return distance <= relative * size || distance <= absolute;
}

}  // namespace kerneltk::jit

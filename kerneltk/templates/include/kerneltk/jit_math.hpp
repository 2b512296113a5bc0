// Functions of Python's math module that C does not have.
#pragma once
#include <kerneltk/jit_numbers.hpp>

namespace kerneltk::jit {

// The integer part of a square root; the float's is at most one off.
__device__ inline long long isqrt(long long n) {
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
// Exact wherever the result and `k` times it fit 64 bits.
__device__ inline long long comb(long long n, long long k) {
    if (k > n) return 0;
    if (k > n - k) k = n - k;
    unsigned long long result = 1;
    for (long long j = 1; j <= k; ++j)
        result = result * static_cast<unsigned long long>(n - k + j) / static_cast<unsigned long long>(j);
    return static_cast<long long>(result);
}
// The distance to the next number away from zero, with the sign of x.
template <class T>
__device__ inline T spacing(T x) {
    if (x != x || x - x != T(0)) return x - x;
    const T away = x < T(0) ? static_cast<T>(-INFINITY) : static_cast<T>(INFINITY);
    return static_cast<T>(::nextafter(x, away) - x);
}
template <class T>
__device__ inline bool is_close(T a, T b, T relative, T absolute) {
    if (a == b) return true;
    if (a - a != T(0) || b - b != T(0)) return false;  // an infinity or no number
    const T distance = ::fabs(a - b), size = ::fmax(::fabs(a), ::fabs(b));
    return distance <= relative * size || distance <= absolute;
}

}  // namespace kerneltk::jit

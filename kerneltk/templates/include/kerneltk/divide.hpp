// Division by a number that is known before the launch, as a multiplication and a shift
// (Granlund and Montgomery, "Division by invariant integers using multiplication", 1994).
//
// For a divisor d with 1 <= d < 2^(N-1), and N the width of the multiplier (32 or 64):
//   shift      = ceil(log2(d))                 (d - 1).bit_length()
//   multiplier = floor(2^N (2^shift - d) / d) + 1
//   n / d      = (mulhi(multiplier, n) + n) >> shift      for 0 <= n < 2^(N-1)
// The sum does not overflow, since mulhi(multiplier, n) < n + 1 <= 2^(N-1).
#pragma once
#ifndef __CUDACC_RTC__  // there all that is needed is built in, and parsing less is faster
#include <kerneltk/core.hpp>
#endif

namespace kerneltk {

// Bytes: divisor (4), multiplier (4), shift (4).
struct fast_divisor32 {
    unsigned int divisor, multiplier, shift;

    __device__ __forceinline__ unsigned int quotient(unsigned int n) const {
        return (__umulhi(multiplier, n) + n) >> shift;
    }
    // Returns the quotient, and leaves the remainder in n.
    __device__ __forceinline__ unsigned int divmod(unsigned int& n) const {
        const unsigned int q = quotient(n);
        n -= q * divisor;
        return q;
    }
};

// Bytes: divisor (8), multiplier (8), shift (4), 4 unused.
struct fast_divisor64 {
    unsigned long long divisor, multiplier;
    unsigned int shift, unused;

    __device__ __forceinline__ unsigned long long quotient(unsigned long long n) const {
        return (__umul64hi(multiplier, n) + n) >> shift;
    }
    // Returns the quotient, and leaves the remainder in n.
    __device__ __forceinline__ unsigned long long divmod(unsigned long long& n) const {
        const unsigned long long q = quotient(n);
        n -= q * divisor;
        return q;
    }
};

}  // namespace kerneltk

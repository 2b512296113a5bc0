// The divisor of integers in kernels that are translated from Python.
#pragma once
#include <kerneltk/core.hpp>

namespace kerneltk::jit {

// Returns a divisor that is not zero. On a CPU zero raises the processor's fault: compilers answer some
// quotients without a division (1 / x, x / (y & 1), x / x), and make other faults of it.
template <class T>
__device__ __forceinline__ T checked_divisor(T x) {
#ifndef __CUDACC_RTC__
    if (__builtin_expect(x == T(0), 0)) {
#ifdef __x86_64__
        asm volatile("divl %0" : : "r"(0), "a"(0), "d"(0) : "cc");
        __builtin_unreachable();
#else
        __builtin_trap();
#endif
    }
#endif
    return x;
}

}  // namespace kerneltk::jit

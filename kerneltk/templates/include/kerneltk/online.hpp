// Sums of exponentials relative to a largest value that is not known before all are seen.
#pragma once

namespace kerneltk {

// The exponential of a number that is not positive, of which others of at least 1 in all are added:
// what `ex2.approx` and the product's rounding lose is less than 2^-22 of that.
__device__ __forceinline__ double relative_exp(double value) { return ::exp(value); }
__device__ __forceinline__ float relative_exp(float value) {
#ifdef __CUDACC_RTC__
    float found = ::fminf(value, 0) * 1.44269504f;  // 0 of what is no number
    asm("ex2.approx.ftz.f32 %0, %0;" : "+f"(found));
    return found;
#else
    return ::exp(::fmin(value, 0));
#endif
}

// Two sums relative to the largest values of their parts, as one: relative to the larger of these.
// Equal infinities are no distance, as they are of floats: they are also what an empty total begins
// with. Conditions choose among values, and not which of two exponentials is computed: lanes would
// part.
template <class T>
__device__ __forceinline__ T joined_sum(T top, T sum, T other_top, T other) {
    const bool is_first = top >= other_top;
    const bool is_equal = sizeof(T) == 8 && top == other_top;
    const T part = relative_exp(-::fabs(top - other_top));
    return (is_first ? sum : other) + (is_first ? other : sum) * (is_equal ? T(1) : part);
}

}  // namespace kerneltk

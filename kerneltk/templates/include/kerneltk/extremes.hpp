// The less and the greater of two values, as reductions take them: what is no number is passed on.
// Of two zeros it may be either.
#pragma once
#include <kerneltk/jit_numbers.hpp>

namespace kerneltk {

template <class T>
__device__ __forceinline__ T lesser(T a, T b) {
    return jit::minimum(a, b);
}
template <class T>
__device__ __forceinline__ T greater(T a, T b) {
    return jit::maximum(a, b);
}

#if defined(__CUDA_ARCH__) && !defined(__KERNELTK_HOST__)
#if __CUDA_ARCH__ >= 800
// One instruction instead of three.
__device__ __forceinline__ float lesser(float a, float b) {
    float found;
    asm("min.NaN.f32 %0, %1, %2;" : "=f"(found) : "f"(a), "f"(b));
    return found;
}
__device__ __forceinline__ float greater(float a, float b) {
    float found;
    asm("max.NaN.f32 %0, %1, %2;" : "=f"(found) : "f"(a), "f"(b));
    return found;
}
#endif
#endif

}  // namespace kerneltk

// Sums, differences and products of float16 that are rounded at once, as float16 themselves.
#pragma once
#include <kerneltk/float16.hpp>

namespace kerneltk {

#ifdef __CUDACC_RTC__

// The instructions of compute capability 5.3 on, which give the bits that the float's rounded result
// has: a float holds products, and rounding sums twice does no harm (Figueroa, "When is double
// rounding innocuous?", 1995: 24 bits are two more than twice 11). Converting to float and back takes
// two more instructions each. `.rn` keeps ptxas from contracting them.
#define KERNELTK_HALF(NAME, INSTRUCTION, OPERATOR)                                                \
    static __device__ __forceinline__ float16 half_##NAME(float16 x, float16 y) {                 \
        unsigned short bits;                                                                      \
        asm(KERNELTK_BINARY16(INSTRUCTION " found, %1, %2")                                       \
            : "=h"(bits) : "h"(x.to_bits()), "h"(y.to_bits()));                                   \
        return float16::from_bits(bits);                                                          \
    }

#else

#define KERNELTK_HALF(NAME, INSTRUCTION, OPERATOR) \
    __forceinline__ float16 half_##NAME(float16 x, float16 y) { return float16(x OPERATOR y); }

#endif

KERNELTK_HALF(sum, "add.rn.f16", +)
KERNELTK_HALF(difference, "sub.rn.f16", -)
KERNELTK_HALF(product, "mul.rn.f16", *)
#undef KERNELTK_HALF

static __device__ __forceinline__ float16 half_negative(float16 x) {
    return float16::from_bits(x.to_bits() ^ 0x8000u);
}

}  // namespace kerneltk

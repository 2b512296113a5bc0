// PTX instructions of 16-bit floating types for CPU cores.
#pragma once
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <kerneltk/host_ptx.hpp>

namespace kerneltk::ptx {

// Two floats as a pair, the second in its lower half.
template <class Pair, bool RELU>
__forceinline__ Pair to_halves(float high, float low) {
    if (RELU) {
        high = high > 0 || high != high ? high : 0.0f;
        low = low > 0 || low != low ? low : 0.0f;
    }
    Pair pair;
    pair.x = low;
    pair.y = high;
    return pair;
}

}  // namespace kerneltk::ptx

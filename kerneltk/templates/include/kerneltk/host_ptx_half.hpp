// PTX instructions of 16-bit floating types for CPU cores.
#pragma once
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <kerneltk/host_ptx.hpp>

namespace kerneltk::ptx {

// Zero of its sign for a subnormal number.
__forceinline__ __half flush(__half x) {
    const bool is_subnormal = (x.__x & 0x7c00u) == 0;
    return __half_raw{static_cast<unsigned short>(is_subnormal ? x.__x & 0x8000u : x.__x)};
}
__forceinline__ __nv_bfloat16 flush(__nv_bfloat16 x) {
    const bool is_subnormal = (x.__x & 0x7f80u) == 0;
    return __nv_bfloat16_raw{static_cast<unsigned short>(is_subnormal ? x.__x & 0x8000u : x.__x)};
}
__forceinline__ __half2 flush(__half2 v) { return {flush(v.x), flush(v.y)}; }
__forceinline__ __nv_bfloat162 flush(__nv_bfloat162 v) { return {flush(v.x), flush(v.y)}; }

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

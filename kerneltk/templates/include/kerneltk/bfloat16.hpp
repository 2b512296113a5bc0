// bfloat16: the upper half of a float as two bytes of storage; arithmetic is done in float.
#pragma once
#include <kerneltk/core.hpp>
#include <kerneltk/bfloat.hpp>

struct __nv_bfloat16;

#define KERNELTK_TYPE bfloat16
#define KERNELTK_FORMAT bfloat
#define KERNELTK_INFINITY 0x7f80u
#define KERNELTK_NAN 0x7fc0u
#define KERNELTK_EXACT double
#define KERNELTK_CUDA_TYPE __nv_bfloat16
#include <kerneltk/small_float.inc>

__device__ inline bfloat16 _floor_divide(bfloat16 x, bfloat16 y) {
    return floor(static_cast<float>(x) / static_cast<float>(y));
}

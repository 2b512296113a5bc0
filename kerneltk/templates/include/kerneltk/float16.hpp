// float16: IEEE 754 binary16 as two bytes of storage; arithmetic is done in float.
#pragma once
#include <kerneltk/core.hpp>
#include <kerneltk/binary16.hpp>

struct __half;

#define KERNELTK_TYPE float16
#define KERNELTK_FORMAT binary16
#define KERNELTK_INFINITY 0x7c00u
#define KERNELTK_NAN 0x7e00u
// An integer that a float does not hold exactly is infinite as a binary16.
#define KERNELTK_EXACT float
#define KERNELTK_CUDA_TYPE __half
#include <kerneltk/small_float.inc>

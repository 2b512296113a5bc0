// <math.h> for NVRTC, which declares the functions by itself: the constants.
#pragma once
#ifndef INFINITY
#define INFINITY __builtin_bit_cast(float, 0x7f800000)
#endif
#ifndef NAN
#define NAN __builtin_bit_cast(float, 0x7fc00000)
#endif
#ifndef HUGE_VAL
#define HUGE_VAL __builtin_bit_cast(double, 0x7ff0000000000000ll)
#endif
#ifndef HUGE_VALF
#define HUGE_VALF INFINITY
#endif
#include <kerneltk/constants.hpp>

// What CuPy's complex numbers define of <cfloat>, so that its kernels have it without an include.
#pragma once

// Spelled as in the stand-in for <float.h>: the same definition twice is none too many.
#ifndef DBL_MAX
#define FLT_MANT_DIG 24
#define FLT_MAX_EXP 128
#define FLT_MAX 3.402823466e+38f
#define FLT_MIN 1.175494351e-38f
#define FLT_EPSILON 1.1920928955e-07f
#define DBL_MANT_DIG 53
#define DBL_MAX_EXP 1024
#define DBL_MAX 1.7976931348623157e+308
#define DBL_MIN 2.2250738585072014e-308
#define DBL_EPSILON 2.2204460492503131e-16
#endif

// The name that kernels written for CuPy include: CUDA's constants for infinity and not-a-number,
// and those of <math.h>.
#pragma once
#include <kerneltk/core.hpp>
#ifndef CUDART_INF
#define CUDART_INF (static_cast<double>(__builtin_huge_val()))
#define CUDART_INF_F (static_cast<float>(__builtin_huge_valf()))
#define CUDART_NAN (static_cast<double>(__builtin_nan("")))
#define CUDART_NAN_F (static_cast<float>(__builtin_nanf("")))
#define CUDART_PI M_PI
#define CUDART_PI_F (static_cast<float>(M_PI))
#endif

// The name that kernels written for CuPy include: float16, and CUDA's half.
#pragma once
#if __has_include(<cuda_fp16.h>)
#include <cuda_fp16.h>
#endif
#include <kerneltk/float16.hpp>

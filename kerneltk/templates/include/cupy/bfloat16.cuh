// The name that kernels written for CuPy include: bfloat16, and CUDA's __nv_bfloat16.
#pragma once
#if __has_include(<cuda_bf16.h>)
#include <cuda_bf16.h>
#endif
#include <kerneltk/bfloat16.hpp>

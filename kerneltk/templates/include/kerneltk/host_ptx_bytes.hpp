// PTX conversions of 8-bit floating types for CPU cores, which are CUDA's own functions.
#pragma once
#include <cuda_fp8.h>
#include <kerneltk/host_ptx_half.hpp>

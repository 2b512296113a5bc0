// The types of CUDA's <curand.h> that kernels take. Its library fills arrays in GPU memory, and is
// not there.
#pragma once
#include <kerneltk/core.hpp>

using curandDirectionVectors32_t = unsigned int[32];
using curandDirectionVectors64_t = unsigned long long[64];

// CUDA's name of a part of <curand_kernel.h>.
#pragma once
#include <curand_kernel.h>

// The name that kernels written for CuPy include: CUDA's constants, and those of <math.h>.
#pragma once
#include <kerneltk/cudart.hpp>

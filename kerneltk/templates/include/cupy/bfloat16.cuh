// The name that kernels written for CuPy include: bfloat16.
#pragma once
#include <kerneltk/bfloat16.hpp>

// The name that kernels written for CuPy include: float16.
#pragma once
#include <kerneltk/float16.hpp>

// The name that kernels written for CuPy include: complex numbers.
#pragma once
#include <kerneltk/complex_circular.hpp>
#include <kerneltk/cudart.hpp>

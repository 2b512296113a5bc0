// The name that kernels written for CuPy include: atomic operations.
#pragma once
#include <kerneltk/atomics.hpp>

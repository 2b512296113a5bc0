// The name that kernels written for CuPy include: arrays, the index space, traits.
#pragma once
#include <kerneltk/array_view.hpp>
#include <kerneltk/cupy_traits.hpp>

class float16;
class bfloat16;

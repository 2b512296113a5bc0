// CUDA's <math_constants.h> for host compilers.
#pragma once
#include <kerneltk/cudart.hpp>

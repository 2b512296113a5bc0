// <math_functions.h> for NVRTC, which declares CUDA's own functions by itself.
#pragma once

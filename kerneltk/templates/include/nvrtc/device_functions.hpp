// <device_functions.hpp> for NVRTC, which declares CUDA's own functions by itself.
#pragma once

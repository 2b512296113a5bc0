// <surface_functions.h> for NVRTC, which declares CUDA's own functions by itself; CUDA 13 has it no more.
#pragma once

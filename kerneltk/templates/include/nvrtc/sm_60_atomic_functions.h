// <sm_60_atomic_functions.h> for NVRTC, which declares CUDA's own functions by itself.
#pragma once

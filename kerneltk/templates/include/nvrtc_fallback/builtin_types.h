// <builtin_types.h> for NVRTC where CUDA's own headers are not installed: what kernels use of it is built in.
#pragma once

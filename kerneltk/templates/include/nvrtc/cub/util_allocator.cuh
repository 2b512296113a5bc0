// <cub/util_allocator.cuh> for NVRTC: only code for the host allocates by it.
#pragma once
namespace cub {}

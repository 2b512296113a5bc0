// CUDA's <texture_types.h>, for CPU cores.
#pragma once
#include <cuda_runtime.h>
#include <kerneltk/host_textures.hpp>

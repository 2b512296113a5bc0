// CUDA's <surface_types.h>, for CPU cores.
#pragma once
#include <cuda_runtime.h>
#include <kerneltk/host_textures.hpp>

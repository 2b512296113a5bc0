// CUDA's <surface_indirect_functions.h>, for CPU cores.
#pragma once
#include <kerneltk/host_textures.hpp>

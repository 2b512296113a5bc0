// CUDA's <texture_indirect_functions.h>, for CPU cores.
#pragma once
#include <kerneltk/host_textures.hpp>

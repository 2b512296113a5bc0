// CUDA's name of what host units have already.
#pragma once
#include <kerneltk/host_intrinsics.hpp>

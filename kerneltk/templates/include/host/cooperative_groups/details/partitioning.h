// A part of CUDA's <cooperative_groups.h>, which has it all for host compilers.
#pragma once
#include <cooperative_groups.h>

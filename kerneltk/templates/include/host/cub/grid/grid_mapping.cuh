// The parts of CUB that a kernel calls.
#pragma once
#include <kerneltk/host_cub.hpp>

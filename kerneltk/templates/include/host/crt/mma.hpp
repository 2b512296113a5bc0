// CUDA's name of a part of <mma.h>.
#pragma once
#include <mma.h>

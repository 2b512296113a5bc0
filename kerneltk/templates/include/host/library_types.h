// CUDA's name of the runtime's types; nothing of the runtime runs inside a kernel.
#pragma once
#include <cuda_runtime.h>

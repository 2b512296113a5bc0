// The name that kernels written for CuPy include: plain bytes.
#pragma once
#include <cupy/structview.cuh>

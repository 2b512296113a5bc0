// What nvcc includes before a .cu file, for CPU cores.
#pragma once
#include <cuda_runtime.h>
#include <stddef.h>
#include <float.h>
#include <limits.h>
#include <cmath>
#include <cstdlib>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <time.h>
// Behind the declaration of a function that is left out.
#define _KT_HOST_ONLY __attribute__((__error__("it runs on the host only")))
// nvcc takes the keyword of C++ before C++17, with a warning.
#define register

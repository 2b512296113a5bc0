// What nvcc includes before a .cu file, for NVRTC.
#pragma once
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <time.h>
#define __extension__

// Templates, so that they yield to the functions of <cuda_device_runtime_api.h>.
#if __CUDA_ARCH__ >= 900
template <int = 0>
static __device__ __forceinline__ void cudaGridDependencySynchronize() {
    asm volatile("griddepcontrol.wait;" ::: "memory");
}
template <int = 0>
static __device__ __forceinline__ void cudaTriggerProgrammaticLaunchCompletion() {
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
}
#endif

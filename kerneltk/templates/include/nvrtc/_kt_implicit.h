// What nvcc includes before a .cu file, for NVRTC.
#pragma once
#include <_kt_predefined.h>
// nvcc's host compiler says where it runs, and files take one of several ways by that.
#ifndef __linux__
#define __linux__ 1
#define __linux 1
#define __gnu_linux__ 1
#define __unix__ 1
#define __unix 1
#define __ELF__ 1
#endif
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <sys/types.h>
#define __extension__
// Behind the declaration of a function that is left out: who calls it finds none.
#define _KT_HOST_ONLY
#define __typeof__(...) std::remove_reference_t<decltype(__VA_ARGS__)>
#define __typeof(...) std::remove_reference_t<decltype(__VA_ARGS__)>

// Functions of the host that are called where something has failed, in functions for both sides.
#define stdin ((FILE*)0)
#define stdout ((FILE*)1)
#define stderr ((FILE*)2)
template <class... _kt_T>
static __device__ __forceinline__ int fprintf(FILE*, const char* _kt_format, _kt_T... _kt_values) {
    return printf(_kt_format, _kt_values...);
}
template <int = 0>
static __device__ __forceinline__ int fflush(FILE*) {
    return 0;
}
template <int = 0>
static __device__ __forceinline__ void exit(int) {
    __trap();
}
template <int = 0>
static __device__ __forceinline__ void abort() {
    __trap();
}
namespace std {
using ::abort;
using ::exit;
}  // namespace std

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
// nvcc takes the keyword of C++ before C++17, with a warning.
#define register

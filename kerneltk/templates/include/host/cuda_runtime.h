// The types of CUDA's runtime and driver, for declarations beside kernels: the runtime itself is
// not there, and nothing of it runs inside a kernel.
#pragma once
#include <kerneltk/host_intrinsics.hpp>
#include <kerneltk/host_vector.hpp>

enum cudaError {
    cudaSuccess = 0,
    cudaErrorInvalidValue = 1,
    cudaErrorMemoryAllocation = 2,
    cudaErrorInvalidConfiguration = 9,
    cudaErrorLaunchFailure = 719,
    cudaErrorUnknown = 999,
};
using cudaError_t = cudaError;
enum cudaMemcpyKind {
    cudaMemcpyHostToHost = 0,
    cudaMemcpyHostToDevice = 1,
    cudaMemcpyDeviceToHost = 2,
    cudaMemcpyDeviceToDevice = 3,
    cudaMemcpyDefault = 4,
};
using cudaStream_t = struct CUstream_st*;
using cudaEvent_t = struct CUevent_st*;
using cudaTextureObject_t = unsigned long long;
using cudaSurfaceObject_t = unsigned long long;

using CUstream = cudaStream_t;
using CUevent = cudaEvent_t;
using CUcontext = struct CUctx_st*;
using CUmodule = struct CUmod_st*;
using CUfunction = struct CUfunc_st*;
using CUdevice = int;
using CUdeviceptr = unsigned long long;
enum CUresult { CUDA_SUCCESS = 0 };

// <curand.h> for NVRTC where it is not installed: the types that declarations beside kernels use. Only code for the host calls
// the library.
#pragma once
typedef struct curandGenerator_st* curandGenerator_t;
enum curandStatus_t : int { CURAND_STATUS_SUCCESS = 0 };
typedef unsigned int curandDirectionVectors32_t[32];
typedef unsigned long long curandDirectionVectors64_t[64];

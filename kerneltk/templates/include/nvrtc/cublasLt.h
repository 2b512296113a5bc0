// <cublasLt.h> for NVRTC: the types that declarations beside kernels use. Only code for the host calls
// the library.
#pragma once
#include <cublas_v2.h>
typedef struct cublasLtContext* cublasLtHandle_t;
struct cublasLtMatmulAlgo_t {
    unsigned long long data[8];
};
typedef struct cublasLtMatmulDescOpaque_t* cublasLtMatmulDesc_t;
typedef struct cublasLtMatrixLayoutOpaque_t* cublasLtMatrixLayout_t;
typedef struct cublasLtMatmulPreferenceOpaque_t* cublasLtMatmulPreference_t;
enum cublasLtEpilogue_t : int { CUBLASLT_EPILOGUE_DEFAULT = 1 };

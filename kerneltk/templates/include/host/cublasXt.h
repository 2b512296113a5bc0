// <cublasXt.h> for CPU cores: the types that declarations beside kernels use. Only code for the host calls
// the library.
#pragma once
#include <cublas_v2.h>
typedef struct cublasXtContext* cublasXtHandle_t;

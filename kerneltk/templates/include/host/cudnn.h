// <cudnn.h> for CPU cores: the types that declarations beside kernels use. Only code for the host calls
// the library.
#pragma once
typedef struct cudnnContext* cudnnHandle_t;
typedef struct cudnnTensorStruct* cudnnTensorDescriptor_t;
enum cudnnStatus_t : int { CUDNN_STATUS_SUCCESS = 0 };

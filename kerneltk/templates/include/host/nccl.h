// <nccl.h> for CPU cores: the types that declarations beside kernels use. Only code for the host calls
// the library.
#pragma once
typedef struct ncclComm* ncclComm_t;
struct ncclUniqueId {
    char internal[128];
};
enum ncclResult_t : int { ncclSuccess = 0 };

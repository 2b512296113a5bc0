// <ATen/cuda/detail/KernelUtils.h>
#pragma once

#define CUDA_KERNEL_LOOP_TYPE(i, n, index_type)                                                   \
    for (long _i_n_d_e_x = static_cast<long>(blockIdx.x) * blockDim.x + threadIdx.x, i##_n = (n); \
         _i_n_d_e_x < i##_n; _i_n_d_e_x += static_cast<long>(blockDim.x) * gridDim.x)             \
        if (index_type i = static_cast<index_type>(_i_n_d_e_x); true)
#define CUDA_KERNEL_LOOP(i, n) CUDA_KERNEL_LOOP_TYPE(i, n, int)

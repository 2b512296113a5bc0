// CUDA's <cuda_pipeline.h> for host compilers. A copy is done when it is asked for, so that there
// is nothing to commit and nothing to wait for.
#pragma once
#include <kerneltk/core.hpp>

// What is not copied of `bytes` is set to zero.
inline void __pipeline_memcpy_async(void* __restrict__ to, const void* __restrict__ from,
                                    size_t bytes, size_t zero_bytes = 0) {
    memcpy(to, from, bytes - zero_bytes);
    memset(static_cast<char*>(to) + (bytes - zero_bytes), 0, zero_bytes);
}
inline void __pipeline_commit() {}
inline void __pipeline_wait_prior(size_t) {}

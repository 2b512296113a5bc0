// What a thread asks about itself beside its coordinates.
#pragma once

#ifndef __KERNELTK_HOST__
#define KERNELTK_LANE kerneltk::jit::lane()
namespace kerneltk::jit {
__device__ inline long long lane() {
    unsigned int found;
    asm("mov.u32 %0, %%laneid;" : "=r"(found));
    return found;
}
__device__ inline long long global_timer() {
    long long found;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(found));
    return found;
}
}  // namespace kerneltk::jit
#else
// By the names where it stands: in a function that runs a whole block they are local.
#define KERNELTK_LANE \
    ((long long)((threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z)) & \
                 (KERNELTK_WARP_SIZE - 1)))
namespace kerneltk::jit {
inline long long global_timer() { return static_cast<long long>(::_kt_global_timer()); }
}  // namespace kerneltk::jit
#endif

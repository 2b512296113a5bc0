// A barrier of all threads of the grid.
//
// The driver gives a cooperative launch a workspace in global memory: its address is in the special
// registers envreg1 (upper half) and envreg2, zero in other launches, and its second word is for
// barriers. CUDA's own cooperative groups use the same word in the same way, so that both can meet
// in one kernel: a round adds 2^31 in total, one by each block but the first, and the rest by that.
// The lower 31 bits are then what they were, whatever rounds came before, and the upper bit has
// changed, which is what the blocks wait for.
#pragma once
#include <kerneltk/jit_assert.hpp>

namespace kerneltk::jit {

#ifdef __KERNELTK_HOST__

inline bool grid_can_wait() { return ::_kt_is_cooperative(); }
inline void grid_barrier(const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
    ::_kt_grid_barrier(file, line);
}

#else

__device__ inline unsigned int* grid_workspace() {
    unsigned int high, low;
    asm("mov.u32 %0, %%envreg1;" : "=r"(high));
    asm("mov.u32 %0, %%envreg2;" : "=r"(low));
    return reinterpret_cast<unsigned int*>(static_cast<unsigned long long>(high) << 32 | low);
}
__device__ inline bool grid_can_wait() { return grid_workspace() != nullptr; }

// Writes of the block, which its barrier has ordered before, are seen by who acquires the word.
__device__ inline unsigned int add_released(unsigned int* word, unsigned int value) {
    unsigned int before;
#if __CUDA_ARCH__ >= 700
    asm volatile("atom.add.release.gpu.global.u32 %0, [%1], %2;"
                 : "=r"(before)
                 : "l"(__cvta_generic_to_global(word)), "r"(value)
                 : "memory");
#else
    __threadfence();
    before = atomicAdd(word, value);
#endif
    return before;
}
__device__ inline unsigned int load_acquired(const unsigned int* word) {
    unsigned int now;
#if __CUDA_ARCH__ >= 700
    asm volatile("ld.acquire.gpu.global.u32 %0, [%1];"
                 : "=r"(now)
                 : "l"(__cvta_generic_to_global(word))
                 : "memory");
#else
    now = *static_cast<const volatile unsigned int*>(word);
    __threadfence();
#endif
    return now;
}

__device__ inline void grid_barrier() {
    unsigned int* const workspace = grid_workspace();
    KERNELTK_ASSERT(workspace != nullptr, "only a cooperative launch has a barrier of the grid");
    unsigned int* const word = workspace + 1;
    __syncthreads();
    if ((threadIdx.x | threadIdx.y | threadIdx.z) == 0) {
        const unsigned int others = gridDim.x * gridDim.y * gridDim.z - 1;
        const bool is_first = (blockIdx.x | blockIdx.y | blockIdx.z) == 0;
        const unsigned int before = add_released(word, is_first ? 0x80000000u - others : 1u);
        while (((before ^ load_acquired(word)) & 0x80000000u) == 0) {
        }
    }
    __syncthreads();
}

#endif

}  // namespace kerneltk::jit

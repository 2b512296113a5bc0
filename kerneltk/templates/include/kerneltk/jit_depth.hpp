// How deep recursive functions are. GPUs have a limit of their own, and so have the threads of a grid
// on CPU cores, whose stacks end in pages without access. Loops over elements run on the stacks of the
// process's threads, of which a recursion gets what CUDA gives a thread at most.
#pragma once
#include <kerneltk/jit_assert.hpp>

namespace kerneltk {
namespace jit {

#if defined(__CUDACC__) || defined(__KERNELTK_HOST__)
struct depth {};
#define KERNELTK_CHECK_DEPTH(name) ((void)0)
#else
struct depth {
    const char* base = static_cast<const char*>(__builtin_frame_address(0));  // of the outer call
    inline bool is_held() const {
        return base - static_cast<const char*>(__builtin_frame_address(0)) < (512 << 10);
    }
};
#define KERNELTK_CHECK_DEPTH(name) \
    KERNELTK_ASSERT(_kt_depth.is_held(), "'" name "' calls itself within 512 KiB of stack")
#endif

}  // namespace jit
}  // namespace kerneltk

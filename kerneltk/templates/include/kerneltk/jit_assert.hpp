// Assertions that say the user's words, and that recursive functions are not too deep.
#pragma once

#ifdef __KERNELTK_HOST__
#define KERNELTK_ASSERT(condition, text) \
    ((condition) ? void() : ::kerneltk::grid::assertion_failed(text, __FILE__, __LINE__))
#elif defined(__CUDACC__)
extern "C" __device__ void __assertfail(const char*, const char*, unsigned int, const char*,
                                        decltype(sizeof(0)));
#define KERNELTK_ASSERT(condition, text) \
    ((condition) ? void() : __assertfail(text, __FILE__, __LINE__, __func__, 1))
#else  // on the host, in the loops of elements, which have no grid
#define KERNELTK_ASSERT(condition, text) \
    ((condition) ? void() : ::kerneltk::assertion_failed(text, __FILE__, __LINE__))
#endif

// Of debug mode, in which accesses to memory are checked as well.
#ifdef KERNELTK_CHECK_MEMORY
#define KERNELTK_DEBUG_ASSERT(condition, text) KERNELTK_ASSERT(condition, text)
#else
#define KERNELTK_DEBUG_ASSERT(condition, text) ((void)(condition))
#endif

// How deep recursive functions are. GPUs have a limit of their own, and so have the threads of a grid
// on CPU cores, whose stacks end in pages without access. Loops over elements run on the stacks of the
// process's threads, of which a recursion gets what CUDA gives a thread at most.
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

// Assertions that say the user's words.
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

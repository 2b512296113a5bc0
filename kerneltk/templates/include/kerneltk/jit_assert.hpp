// Assertions that say the user's words.
#pragma once

#ifndef __KERNELTK_HOST__
extern "C" __device__ void __assertfail(const char*, const char*, unsigned int, const char*,
                                        decltype(sizeof(0)));
#define KERNELTK_ASSERT(condition, text) \
    ((condition) ? void() : __assertfail(text, __FILE__, __LINE__, __func__, 1))
#else
#define KERNELTK_ASSERT(condition, text) \
    ((condition) ? void() : ::kerneltk::grid::assertion_failed(text, __FILE__, __LINE__))
#endif

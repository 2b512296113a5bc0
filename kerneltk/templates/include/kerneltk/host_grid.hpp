// CUDA's execution model on CPU cores: what comes before a user's kernels in a host unit.
//
// A kernel is the function that its author wrote. KERNELTK_ENTRY makes an entry of it that runs a
// range of blocks; one OS thread runs one block at a time, its threads one after the other in a
// plain loop. A thread that has to wait for others gets a stack of its own (fibers.c).
#pragma once

#ifdef KERNELTK_CHECK_MEMORY
#include <kerneltk/host_memory.hpp>
#endif

namespace kerneltk::grid {
inline void contended(bool failed);
inline void unchanged(const volatile void* p);
[[noreturn]] __attribute__((cold)) inline void assertion_failed(const char*, const char*, int);
}  // namespace kerneltk::grid

// What <assert.h> calls as well: defined here, a failure ends the launch and not the process.
extern "C" [[noreturn]] __attribute__((visibility("hidden"), cold)) inline void __assert_fail(
    const char* _kt_condition, const char* _kt_file, unsigned int _kt_line, const char*) noexcept {
    ::kerneltk::grid::assertion_failed(_kt_condition, _kt_file, static_cast<int>(_kt_line));
}
#ifndef assert
#define assert(condition) \
    ((condition) ? void() : ::__assert_fail(#condition, __FILE__, __LINE__, __func__))
#endif
#define KERNELTK_CONTENDED(failed) ::kerneltk::grid::contended(failed)
#define KERNELTK_UNCHANGED(p) ::kerneltk::grid::unchanged(p)

#include <kerneltk/core.hpp>
#include <kerneltk/host_vector.hpp>
#ifndef KERNELTK_EXACT_THREADS
// Inlined into its entry, a kernel becomes the body of a loop.
#undef __global__
#define __global__ __attribute__((__always_inline__))
#endif

#include <kerneltk/host_threads.hpp>
#include <kerneltk/host_barrier.hpp>
#include <kerneltk/host_warp.hpp>
#ifdef KERNELTK_VOLATILE
#include <kerneltk/host_volatile.hpp>
#endif
#include <kerneltk/host_entry.hpp>

namespace kerneltk {

// Of `bytes` bytes the part that belongs to one of a group's threads.
template <class Group>
inline void copy_part(const Group& group, void* to, const void* from, size_t bytes) {
    const size_t members = group.size(), rank = group.thread_rank();
    const size_t part = ((bytes + members - 1) / members + 15) / 16 * 16;
    const size_t begin = part * rank < bytes ? part * rank : bytes;
    const size_t count = bytes - begin < part ? bytes - begin : part;
    if (count != 0)
        __builtin_memcpy(static_cast<char*>(to) + begin, static_cast<const char*>(from) + begin,
                         count);
}

}  // namespace kerneltk

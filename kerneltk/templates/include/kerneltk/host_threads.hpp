// Where a thread is in its block and its grid, and how a unit reaches the runtime (grid.c).
#pragma once
#include <kerneltk/host_protocol.h>

// Each OS thread runs one thread of a kernel at a time. Nothing takes the address of these, so that
// no store through a user's pointer can change them, and a loop over threads can be vectorised. To
// GCC a copy as a whole takes an address, and so does what it makes of neighbouring members that are
// read or written in a row: `apart` stands between them.
static thread_local uint3 threadIdx, blockIdx;
// CUDA's are dim3, which these become where one is wanted; its constructor would take an address.
static thread_local uint3 blockDim, gridDim;
// The runtime's warps have 32 lanes. A smaller power of two makes each of them several warps.
#ifndef KERNELTK_WARP_SIZE
#define KERNELTK_WARP_SIZE 32
#endif
constexpr int warpSize = KERNELTK_WARP_SIZE;

namespace kerneltk::grid {

using word = unsigned long long;

using launch = launch_head;
constexpr int launch_size = 48;
static_assert(sizeof(launch) == launch_size, "the layout is part of the launch protocol");
constexpr unsigned int exits_flag = 1, cooperative_flag = 2;

struct engine {
    const calls* runtime;
};
using combine = combine_function;

static thread_local engine* own_engine;
static thread_local const launch* own_launch;
// Counts how often a thread was suspended. Where nothing of a unit can wait, nothing changes it, and
// the compiler drops what depends on it.
static thread_local unsigned int suspensions;
static thread_local unsigned long long blocks_begun;  // of this unit, by this thread of the OS
#ifdef KERNELTK_VOLATILE
// Where the function is called that begins next (host_volatile.hpp).
static thread_local word position;
#endif

inline __attribute__((always_inline)) void apart() { asm volatile("" ::: "memory"); }

inline __attribute__((always_inline)) void set_thread(unsigned int x, unsigned int y,
                                                      unsigned int z) {
    threadIdx.x = x;
    apart();
    threadIdx.y = y;
    apart();
    threadIdx.z = z;
}

// Calls the runtime for the thread that is running. Others may run meanwhile, and leave their own
// coordinates behind.
template <class Call>
inline __attribute__((always_inline)) void wait_in(Call call) {
    const unsigned int x = threadIdx.x;
    apart();
    const unsigned int y = threadIdx.y;
    apart();
    const unsigned int z = threadIdx.z;
#ifdef KERNELTK_VOLATILE
    const word before = position;
#endif
    if (call(own_engine)) {
        ++suspensions;
        set_thread(x, y, z);
#ifdef KERNELTK_VOLATILE
        position = before;
#endif
    }
}

inline unsigned int thread_rank() {
    return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
}

[[noreturn]] inline void assertion_failed(const char* condition, const char* file, int line) {
    own_engine->runtime->assertion(own_engine, condition, file, line);
    __builtin_unreachable();
}

// In place of the body of a function that needs what CPU cores lack.
[[noreturn]] __attribute__((cold)) inline void refused(const char* what, const char* lacking,
                                                       const char* file, int line) {
    own_engine->runtime->refused(own_engine, what, lacking, file, line);
    __builtin_unreachable();
}

}  // namespace kerneltk::grid

// What device code of a user's own source finds without an include, besides core.hpp and the execution
// model: the architecture, vector types, the less common functions, new and delete. Generated code
// tells backends apart by other means.
#pragma once
#include <kerneltk/core.hpp>

// ---- the architecture ----

// What can be run here is what compute capability 7.5 has: warp collectives with masks and
// independent threads, and none of the asynchronous copies and matrix units of later ones.
#ifndef __CUDA_ARCH__
#define __CUDA_ARCH__ 750
#endif
#ifndef __CUDA_ARCH_LIST__
#define __CUDA_ARCH_LIST__ __CUDA_ARCH__
#endif
// What tells device code that the compiler takes its annotations.
#ifndef __CUDACC__
#define __CUDACC__ 1
#endif
#ifndef __CUDACC_VER_MAJOR__  // of the CUDA whose headers the host's are like
#define __CUDACC_VER_MAJOR__ 12
#define __CUDACC_VER_MINOR__ 9
#define __CUDACC_VER_BUILD__ 86
#endif
// What tells a kernel that it runs on CPU cores.
#define __KERNELTK_HOST__ 1

#include <kerneltk/host_intrinsics.hpp>
#include <kerneltk/host_ordered_atomics.hpp>
#include <kerneltk/host_vector.hpp>

// ---- new and delete, of the C library's memory: units are not linked with a C++ library ----

// Inline, so that a unit which uses none has none; compilers wonder about that.
#ifdef __clang__
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Winline-new-delete"
#endif
inline void* operator new(size_t bytes) { return malloc(bytes); }
inline void* operator new[](size_t bytes) { return malloc(bytes); }
// Templates, so that those of <new> are preferred where it is included.
template <class None = void>
inline void* operator new(size_t, void* place) noexcept { return place; }
template <class None = void>
inline void* operator new[](size_t, void* place) noexcept { return place; }
inline void operator delete(void* p) noexcept { free(p); }
inline void operator delete[](void* p) noexcept { free(p); }
inline void operator delete(void* p, size_t) noexcept { free(p); }
inline void operator delete[](void* p, size_t) noexcept { free(p); }
#ifdef __clang__
#pragma clang diagnostic pop
#endif
#ifdef KERNELTK_EXACT_THREADS
// Without optimisation a table of virtual functions has it, though nothing calls it.
extern "C" __attribute__((visibility("hidden"), used)) inline void __cxa_pure_virtual() {
    __builtin_trap();
}
#endif

// new and delete inside kernels, of the C library's memory: units are not linked with a C++ library.
#pragma once
#include <kerneltk/host_intrinsics.hpp>

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

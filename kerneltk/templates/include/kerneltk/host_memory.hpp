// Checks of every access to memory, in units that are built for it.
//
// The compiler calls a function before each access (its checks for the kernel of an operating system,
// which need no library). Here these hand the address to the runtime (memory.c), which knows the
// arrays of the launch, and ends the launch where an access is in none of them.
#pragma once
#include <kerneltk/host_protocol.h>

#define KERNELTK_UNCHECKED __attribute__((no_sanitize("kernel-address", "alignment")))
#define KERNELTK_CHECK extern "C" __attribute__((visibility("hidden"), used, noinline)) KERNELTK_UNCHECKED

namespace kerneltk::memory {

enum access : unsigned int { reads = 0, writes = 1, atomic = 2 };

// What the addresses of this OS thread's shared variables are told from.
static thread_local char _kt_origin;
KERNELTK_UNCHECKED inline const char* origin() { return &_kt_origin; }

// Not what a store may be moved over.
static thread_local volatile unsigned int _kt_atomic;

// Accesses of atomic operations, while there is one of these.
struct atomic_accesses {
    KERNELTK_UNCHECKED atomic_accesses() { _kt_atomic = atomic; }
    KERNELTK_UNCHECKED ~atomic_accesses() { _kt_atomic = 0; }
};

}  // namespace kerneltk::memory

extern "C" {
__attribute__((visibility("default"))) kerneltk::grid::unit_memory _kt_memory = {
    nullptr, nullptr, 0, kerneltk::memory::origin};
}

// The C library's, for device code: the label is what calls of them become.
extern "C" {
void* memcpy(void* __restrict__, const void* __restrict__, __SIZE_TYPE__) noexcept __asm__("_kt_move");
void* memmove(void*, const void*, __SIZE_TYPE__) noexcept __asm__("_kt_move");
void* memset(void*, int, __SIZE_TYPE__) noexcept __asm__("_kt_fill");
void* malloc(__SIZE_TYPE__) noexcept __asm__("_kt_allocate");
void free(void*) noexcept __asm__("_kt_release");
}

KERNELTK_CHECK void* _kt_move(void* to, const void* from, __SIZE_TYPE__ bytes) {
    return _kt_memory.checks->move(to, from, bytes, __builtin_frame_address(0));
}
KERNELTK_CHECK void* _kt_fill(void* to, int value, __SIZE_TYPE__ bytes) {
    return _kt_memory.checks->fill(to, value, bytes, __builtin_frame_address(0));
}
KERNELTK_CHECK void* __asan_memcpy(void* to, const void* from, __SIZE_TYPE__ bytes) {
    return _kt_memory.checks->move(to, from, bytes, __builtin_frame_address(0));
}
KERNELTK_CHECK void* __asan_memmove(void* to, const void* from, __SIZE_TYPE__ bytes) {
    return _kt_memory.checks->move(to, from, bytes, __builtin_frame_address(0));
}
KERNELTK_CHECK void* __asan_memset(void* to, int value, __SIZE_TYPE__ bytes) {
    return _kt_memory.checks->fill(to, value, bytes, __builtin_frame_address(0));
}
KERNELTK_CHECK void* _kt_allocate(__SIZE_TYPE__ bytes) {
    return _kt_memory.checks->allocate(bytes);
}
KERNELTK_CHECK void _kt_release(void* p) {
    _kt_memory.checks->release(p, __builtin_frame_address(0));
}

#define KERNELTK_ACCESS(name, how)                                                                \
    KERNELTK_CHECK void __asan_##name##N_noabort(const void* p, __SIZE_TYPE__ bytes) {            \
        if (const auto* const c = _kt_memory.checks)                                       \
            c->check(p, bytes, kerneltk::memory::how | kerneltk::memory::_kt_atomic,              \
                     __builtin_frame_address(0));                \
    }                                                                                             \
    KERNELTK_ACCESS_OF(name, how, 1)                                                              \
    KERNELTK_ACCESS_OF(name, how, 2)                                                              \
    KERNELTK_ACCESS_OF(name, how, 4)                                                              \
    KERNELTK_ACCESS_OF(name, how, 8)                                                              \
    KERNELTK_ACCESS_OF(name, how, 16)
#define KERNELTK_ACCESS_OF(name, how, bytes)                                                      \
    KERNELTK_CHECK void __asan_##name##bytes##_noabort(const void* p) {                           \
        if (const auto* const c = _kt_memory.checks)                                       \
            c->check(p, bytes, kerneltk::memory::how | kerneltk::memory::_kt_atomic,              \
                     __builtin_frame_address(0));                \
    }
KERNELTK_ACCESS(load, reads)
KERNELTK_ACCESS(store, writes)
#undef KERNELTK_ACCESS
#undef KERNELTK_ACCESS_OF

KERNELTK_CHECK void __asan_register_globals(const kerneltk::grid::global_variable* globals,
                                            __SIZE_TYPE__ count) {
    _kt_memory.globals = globals;
    _kt_memory.global_count = count;
}
KERNELTK_CHECK void __asan_unregister_globals(const void*, __SIZE_TYPE__) {}
KERNELTK_CHECK void __asan_before_dynamic_init(const void*) {}
KERNELTK_CHECK void __asan_after_dynamic_init() {}
KERNELTK_CHECK void __asan_handle_no_return() {}

namespace kerneltk::memory {
struct type_description {
    unsigned short kind, info;
    char name[1];
};
struct mismatch {
    const char* file;
    unsigned int line, column;
    const type_description* type;
    unsigned char log_alignment, kind;
};
}  // namespace kerneltk::memory

KERNELTK_CHECK void __ubsan_handle_type_mismatch_v1(const kerneltk::memory::mismatch* found,
                                                    const void* p) {
    if (const auto* const c = _kt_memory.checks)
        c->misaligned(p, 1u << found->log_alignment, found->type->name, found->file, found->line);
}
#undef KERNELTK_CHECK

#define KERNELTK_ATOMIC_ACCESSES const ::kerneltk::memory::atomic_accesses _kt_accesses;
namespace kerneltk::memory {
KERNELTK_UNCHECKED inline void order() { _kt_memory.checks->order(); }
KERNELTK_UNCHECKED inline void check_alignment(const void* p, unsigned int alignment,
                                               const char* type, const char* file,
                                               unsigned int line) {
    if (reinterpret_cast<__UINTPTR_TYPE__>(p) % alignment != 0)
        _kt_memory.checks->misaligned(p, alignment, type, file, line);
}
KERNELTK_UNCHECKED inline void pass_barrier() { _kt_memory.checks->pass_barrier(); }
}  // namespace kerneltk::memory
#define KERNELTK_ORDER ::kerneltk::memory::order();

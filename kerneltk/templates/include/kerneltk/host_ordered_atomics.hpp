// Atomic functions with an order and a scope, as CUDA has them since 12.8. Whatever is not relaxed
// is sequentially consistent here, and all scopes are the widest.
#pragma once
#include <kerneltk/core.hpp>

#define __NV_ATOMIC_RELAXED 0
#define __NV_ATOMIC_CONSUME 1
#define __NV_ATOMIC_ACQUIRE 2
#define __NV_ATOMIC_RELEASE 3
#define __NV_ATOMIC_ACQ_REL 4
#define __NV_ATOMIC_SEQ_CST 5
#define __NV_THREAD_SCOPE_THREAD 0
#define __NV_THREAD_SCOPE_BLOCK 1
#define __NV_THREAD_SCOPE_CLUSTER 2
#define __NV_THREAD_SCOPE_DEVICE 3
#define __NV_THREAD_SCOPE_SYSTEM 4

#define KERNELTK_SCOPE [[maybe_unused]] int scope = __NV_THREAD_SCOPE_SYSTEM

namespace kerneltk {

// A fence on each side of an operation that is not relaxed.
struct ordered {
    int order;

    explicit ordered(int order) : order(order) { fence(); }
    ordered(const ordered&) = delete;
    ~ordered() { fence(); }
    void fence() const {
        if (order != __NV_ATOMIC_RELAXED) {
            KERNELTK_ORDER
            __atomic_thread_fence(__ATOMIC_SEQ_CST);
        }
    }
};

}  // namespace kerneltk

inline void __nv_atomic_thread_fence(int order, KERNELTK_SCOPE) { kerneltk::ordered(order).fence(); }

// Who loads in a loop may wait for another thread of the block.
template <class T>
inline T __nv_atomic_load_n(const volatile T* p, int order, KERNELTK_SCOPE) {
    const kerneltk::ordered both(order);
    T value;
    {
        KERNELTK_ATOMIC_ACCESSES
        __atomic_load(p, &value, __ATOMIC_RELAXED);
    }
    KERNELTK_UNCHANGED(p);
    return value;
}
template <class T>
inline void __nv_atomic_load(const volatile T* p, T* result, int order, KERNELTK_SCOPE) {
    *result = __nv_atomic_load_n(p, order);
}
template <class T>
inline void __nv_atomic_store(volatile T* p, const T* value, int order, KERNELTK_SCOPE) {
    const kerneltk::ordered both(order);
    T copy = *value;
    KERNELTK_ATOMIC_ACCESSES
    __atomic_store(p, &copy, __ATOMIC_RELAXED);
}
template <class T>
inline void __nv_atomic_store_n(volatile T* p, typename kerneltk::identity<T>::type value, int order,
                                KERNELTK_SCOPE) {
    __nv_atomic_store(p, &value, order);
}
template <class T>
inline T __nv_atomic_exchange_n(T* p, typename kerneltk::identity<T>::type value, int order,
                                KERNELTK_SCOPE) {
    const kerneltk::ordered both(order);
    return atomicExch(p, value);
}
template <class T>
inline void __nv_atomic_exchange(T* p, const T* value, T* result, int order, KERNELTK_SCOPE) {
    *result = __nv_atomic_exchange_n(p, *value, order);
}
template <class T>
inline bool __nv_atomic_compare_exchange_n(T* p, T* expected,
                                           typename kerneltk::identity<T>::type desired, bool,
                                           int success, int failure, KERNELTK_SCOPE) {
    const kerneltk::ordered both(success != __NV_ATOMIC_RELAXED ? success : failure);
    const T old = atomicCAS(p, *expected, desired);
    if (__builtin_memcmp(&old, expected, sizeof(T)) == 0) return true;
    *expected = old;
    return false;
}
template <class T>
inline bool __nv_atomic_compare_exchange(T* p, T* expected, const T* desired, bool weak, int success,
                                         int failure, KERNELTK_SCOPE) {
    return __nv_atomic_compare_exchange_n(p, expected, *desired, weak, success, failure);
}

#define KERNELTK_ORDERED(name, function)                                                      \
    template <class T>                                                                        \
    inline T __nv_atomic_fetch_##name(T* p, typename kerneltk::identity<T>::type value,       \
                                      int order, KERNELTK_SCOPE) {                            \
        const kerneltk::ordered both(order);                                                  \
        return function(p, value);                                                            \
    }                                                                                         \
    template <class T>                                                                        \
    inline void __nv_atomic_##name(T* p, typename kerneltk::identity<T>::type value,          \
                                   int order, KERNELTK_SCOPE) {                               \
        const kerneltk::ordered both(order);                                                  \
        function(p, value);                                                                   \
    }
KERNELTK_ORDERED(add, atomicAdd)
KERNELTK_ORDERED(sub, atomicSub)
KERNELTK_ORDERED(and, atomicAnd)
KERNELTK_ORDERED(or, atomicOr)
KERNELTK_ORDERED(xor, atomicXor)
KERNELTK_ORDERED(min, atomicMin)
KERNELTK_ORDERED(max, atomicMax)
#undef KERNELTK_ORDERED
#undef KERNELTK_SCOPE

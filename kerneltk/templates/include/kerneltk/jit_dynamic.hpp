// The block's dynamic shared memory as an array: as many elements as the launch has room for.
#pragma once
#include <kerneltk/jit_array.hpp>

#ifdef __KERNELTK_HOST__
extern "C" thread_local unsigned char _kt_jit_dynamic[];
KERNELTK_DYNAMIC_SHARED("_kt_jit_dynamic")
#endif

namespace kerneltk::jit {

template <class T>
__device__ inline array<T, 1> dynamic_shared() {
#ifndef __KERNELTK_HOST__
    extern __shared__ __align__(16) unsigned char _kt_jit_dynamic[];
    unsigned int size;
    asm("mov.u32 %0, %%dynamic_smem_size;" : "=r"(size));
#else
    const unsigned int size = ::_kt_dynamic_shared_size();
#endif
    return {reinterpret_cast<T*>(_kt_jit_dynamic), {static_cast<long long>(size / sizeof(T))}};
}

}  // namespace kerneltk::jit

#include <kerneltk/host_grid.hpp>
#include <kerneltk/host_device.hpp>
#include <kerneltk/host_block.hpp>
#include <kerneltk/jit_array.hpp>

#ifndef _kt_struct_e098168ff5f2_declared
#define _kt_struct_e098168ff5f2_declared
struct _kt_struct_e098168ff5f2 { double x; double y;
    static constexpr int field_count = 2;
    template <int _kt_k> __device__ auto& at() { if constexpr (_kt_k == 0) return x; if constexpr (_kt_k == 1) return y; }
    template <int _kt_k> __device__ auto& at() const { if constexpr (_kt_k == 0) return x; if constexpr (_kt_k == 1) return y; }
 };
static_assert(sizeof(_kt_struct_e098168ff5f2) == 16, "as in NumPy");
#endif
#ifndef _kt_struct_18fefcb88368_declared
#define _kt_struct_18fefcb88368_declared
struct __attribute__((packed)) _kt_struct_18fefcb88368 { float mass; _kt_struct_e098168ff5f2 at; short kind; };
static_assert(sizeof(_kt_struct_18fefcb88368) == 22, "as in NumPy");
#endif

#ifndef _kt_struct_e098168ff5f2_declared
#define _kt_struct_e098168ff5f2_declared
struct _kt_struct_e098168ff5f2 { double x; double y;
    static constexpr int field_count = 2;
    template <int _kt_k> __device__ auto& at() { if constexpr (_kt_k == 0) return x; if constexpr (_kt_k == 1) return y; }
    template <int _kt_k> __device__ auto& at() const { if constexpr (_kt_k == 0) return x; if constexpr (_kt_k == 1) return y; }
 };
static_assert(sizeof(_kt_struct_e098168ff5f2) == 16, "as in NumPy");
#endif

static __device__ inline kerneltk::jit::array<_kt_struct_18fefcb88368, 0> v_heavier(kerneltk::jit::array<_kt_struct_18fefcb88368, 0> a, kerneltk::jit::array<_kt_struct_18fefcb88368, 0> b) {
    // return a if a.mass > b.mass else b
#line 2 "kernel.py"
    return (float)a().mass > (float)b().mass ? a : b;
}

static inline __attribute__((always_inline)) void references(kerneltk::jit::array<_kt_struct_18fefcb88368, 1> p) {
    KERNELTK_BLOCK_BEGIN
    // found = p[0]
#line 7 "kernel.py"
    KERNELTK_THREADS_BEGIN
#line 7 "kernel.py"
        kerneltk::jit::array<_kt_struct_18fefcb88368, 0> found = kerneltk::jit::array<_kt_struct_18fefcb88368, 0>{p.at(0)};
        // for i in range(1, len(p)):
#line 8 "kernel.py"
        for (long long i = 1; i < p.shape[0]; ++i) {
            // found = _heavier(p[i], found)
#line 9 "kernel.py"
            const long long t = i;
#line 9 "kernel.py"
            found = v_heavier(kerneltk::jit::array<_kt_struct_18fefcb88368, 0>{p.at(t)}, found);
        }
        // found.kind = 1
#line 10 "kernel.py"
        found().kind = (short)1;
        // place = found.at if found.kind else p[1].at
#line 11 "kernel.py"
        const kerneltk::jit::array<kerneltk::jit::packed<_kt_struct_e098168ff5f2>, 0> t_2 = (short)found().kind != (short)0 ? kerneltk::jit::record_in<kerneltk::jit::packed<_kt_struct_e098168ff5f2>>(found, 4) : kerneltk::jit::record_in<kerneltk::jit::packed<_kt_struct_e098168ff5f2>>(kerneltk::jit::array<_kt_struct_18fefcb88368, 0>{p.at(1)}, 4);
        // place.x += 2
#line 12 "kernel.py"
        {
            double place = t_2().value.x;
            t_2().value.x = place + 2.0;
        }
    KERNELTK_THREADS_END
}

KERNELTK_BLOCK_ENTRY(_kt_entry_references, (references))

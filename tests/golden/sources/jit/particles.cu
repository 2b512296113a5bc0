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

extern "C" __global__ void particles(kerneltk::jit::array<_kt_struct_18fefcb88368, 1> p, double dt) {
    // i = jit.grid(1)
#line 2 "kernel.py"
    const long long i = ((long long)blockIdx.x * blockDim.x + threadIdx.x);
    // if i < len(p):
#line 3 "kernel.py"
    if (i < p.shape[0]) {
        // it = p[i]
#line 4 "kernel.py"
        const long long t = i;
        // if it.kind == 1:
#line 5 "kernel.py"
        if ((short)p[t].kind == (short)1) {
            // it.at.x += dt * it.mass
#line 6 "kernel.py"
            {
                double place = p[t].at.x;
                p[t].at.x = place + (double)((float)dt * (float)p[t].mass);
            }
        }
        // it["at"]["y"] -= 1
#line 7 "kernel.py"
        {
            double place_2 = p[t].at.y;
            p[t].at.y = place_2 - 1.0;
        }
        // p[i].mass = -p[i - 1].mass
#line 8 "kernel.py"
        p[i].mass = -(float)p[kerneltk::jit::wrapped(i - 1, p.shape[0])].mass;
    }
}

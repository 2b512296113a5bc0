#include <kerneltk/array_view.hpp>
#include <kerneltk/memory.hpp>
#ifndef _kt_struct_740130949733_declared
#define _kt_struct_740130949733_declared
struct __attribute__((packed)) _kt_struct_740130949733 { signed char charge; float weight; };
static_assert(sizeof(_kt_struct_740130949733) == 5, "as in NumPy");
#endif
typedef _kt_struct_740130949733 P;
struct _kt_arguments {
    alignas(8) kerneltk::array_view<P, 1, true, int> p;
    alignas(8) float* _kt_p_y;
    alignas(8) float a;
    alignas(16) long long _kt_n;
    alignas(8) long long _kt_shape[1];
};
using _kt_index = int;
extern "C" __global__ void __launch_bounds__(256)
record(const __grid_constant__ _kt_arguments _kt_a) {
    const float a = _kt_a.a;
    const auto p = _kt_a.p;
    float* const _kt_p_y = _kt_a._kt_p_y;
    const ptrdiff_t n = static_cast<ptrdiff_t>(_kt_a._kt_n);
    const _kt_index _kt_vector = static_cast<_kt_index>(blockIdx.x) * 256 + threadIdx.x;
    const _kt_index _kt_n = static_cast<_kt_index>(_kt_a._kt_n);
    const _kt_index _kt_begin = _kt_vector * 4;
    if (_kt_begin < _kt_n) {
        alignas(16) float _kt_v_y[4];
        kerneltk::copy<16, sizeof(_kt_v_y)>(_kt_v_y, _kt_p_y + _kt_begin);
#pragma unroll
        for (int _kt_k = 0; _kt_k < 4; ++_kt_k)
            {
            const ptrdiff_t i = _kt_begin + _kt_k;
            float& y = _kt_v_y[_kt_k];
            do {
#line 1 "operation"
y = a * p[i].weight
;
#line 39 "generated code"
            } while (0);
            }
        kerneltk::copy<16, sizeof(_kt_v_y)>(_kt_p_y + _kt_begin, _kt_v_y);
    }
}

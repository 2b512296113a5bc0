#include <kerneltk/memory.hpp>
typedef signed char T;
struct _kt_arguments {
    alignas(8) T* _kt_p_x;
    alignas(8) T* _kt_p_y;
    alignas(8) T a;
    alignas(8) T b;
    alignas(16) long long _kt_n;
    alignas(8) long long _kt_shape[1];
};
using _kt_index = int;
extern "C" __global__ void __launch_bounds__(256)
axpb(const __grid_constant__ _kt_arguments _kt_a) {
    const T a = _kt_a.a;
    const T b = _kt_a.b;
    T* const _kt_p_x = _kt_a._kt_p_x;
    T* const _kt_p_y = _kt_a._kt_p_y;
    const ptrdiff_t n = static_cast<ptrdiff_t>(_kt_a._kt_n);
    const _kt_index _kt_vector = static_cast<_kt_index>(blockIdx.x) * 256 + threadIdx.x;
    const _kt_index _kt_n = static_cast<_kt_index>(_kt_a._kt_n);
    const _kt_index _kt_begin = _kt_vector * 16;
    if (_kt_begin < _kt_n) {
        alignas(16) T _kt_v_x[16];
        alignas(16) T _kt_v_y[16];
        kerneltk::copy<16, sizeof(_kt_v_x)>(_kt_v_x, _kt_p_x + _kt_begin);
        kerneltk::copy<16, sizeof(_kt_v_y)>(_kt_v_y, _kt_p_y + _kt_begin);
#pragma unroll
        for (int _kt_k = 0; _kt_k < 16; ++_kt_k)
            {
            const T& x = _kt_v_x[_kt_k];
            T& y = _kt_v_y[_kt_k];
            do {
#line 1 "operation"
y = a * x + b
;
#line 37 "generated code"
            } while (0);
            }
        kerneltk::copy<16, sizeof(_kt_v_y)>(_kt_p_y + _kt_begin, _kt_v_y);
    }
}

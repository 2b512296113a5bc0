#include <kerneltk/memory.hpp>
typedef int T;
#line 1 "preamble"
__device__ T box(T v) {
    return v * 3;
}
#line 8 "generated code"
struct _kt_arguments {
    alignas(8) T* _kt_p_x;
    alignas(8) T* _kt_p_y;
    alignas(8) bool* _kt_p_z;
    alignas(8) int k;
    alignas(16) long long _kt_n;
    alignas(8) long long _kt_shape[1];
};
using _kt_index = int;
extern "C" __global__ void __launch_bounds__(256)
wrapped(const __grid_constant__ _kt_arguments _kt_a) {
    const int k = _kt_a.k;
    T* const _kt_p_x = _kt_a._kt_p_x;
    T* const _kt_p_y = _kt_a._kt_p_y;
    bool* const _kt_p_z = _kt_a._kt_p_z;
    const ptrdiff_t n = static_cast<ptrdiff_t>(_kt_a._kt_n);
#line 1 "loop_prep"
const T scale = k;
    ;
#line 28 "generated code"
    // The user's operation on one element. Leaving it early leaves this element alone.
    const auto _kt_operation = [&](const ptrdiff_t , const T& x, T& y, bool& z) {
        do {
#line 1 "operation"
y = box(x) + scale;
z = y > k
            ;
#line 36 "generated code"
        } while (0);
    };
    const _kt_index _kt_vector = static_cast<_kt_index>(blockIdx.x) * 256 + threadIdx.x;
    const _kt_index _kt_n = static_cast<_kt_index>(_kt_a._kt_n);
    const _kt_index _kt_begin = _kt_vector * 4;
    if (_kt_begin < _kt_n) {
        alignas(16) T _kt_v_x[4];
        alignas(16) T _kt_v_y[4];
        alignas(16) bool _kt_v_z[4];
        kerneltk::copy<16, sizeof(_kt_v_x)>(_kt_v_x, _kt_p_x + _kt_begin);
        kerneltk::copy<16, sizeof(_kt_v_y)>(_kt_v_y, _kt_p_y + _kt_begin);
        kerneltk::copy<4, sizeof(_kt_v_z)>(_kt_v_z, _kt_p_z + _kt_begin);
#pragma unroll
        for (int _kt_k = 0; _kt_k < 4; ++_kt_k)
            _kt_operation(0, _kt_v_x[_kt_k], _kt_v_y[_kt_k], _kt_v_z[_kt_k]);
        kerneltk::copy<16, sizeof(_kt_v_y)>(_kt_p_y + _kt_begin, _kt_v_y);
        kerneltk::copy<4, sizeof(_kt_v_z)>(_kt_p_z + _kt_begin, _kt_v_z);
    }
#line 1 "after_loop"
(void)scale;
    ;
#line 58 "generated code"
}

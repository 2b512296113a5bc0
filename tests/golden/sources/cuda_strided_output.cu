#include <kerneltk/memory.hpp>
typedef float T;
struct _kt_arguments {
    alignas(8) T* _kt_p_x;
    alignas(8) T* _kt_p_w;
    alignas(8) T* _kt_p_y;
    alignas(16) long long _kt_n;
    alignas(8) long long _kt_shape[1];
    alignas(8) long long _kt_s_y[1];
};
using _kt_index = int;
extern "C" __global__ void __launch_bounds__(256)
sum(const __grid_constant__ _kt_arguments _kt_a) {
    T* const _kt_p_x = _kt_a._kt_p_x;
    T* const _kt_p_w = _kt_a._kt_p_w;
    T* const _kt_p_y = _kt_a._kt_p_y;
    const ptrdiff_t n = static_cast<ptrdiff_t>(_kt_a._kt_n);
    const _kt_index _kt_n = static_cast<_kt_index>(_kt_a._kt_n);
    const _kt_index _kt_begin = static_cast<_kt_index>(blockIdx.x) * 1024 + threadIdx.x;
    // All loads come first, so that they are under way together; beyond the end they
    // repeat the last element, because a condition would put them apart again.
    T _kt_v_x[4];
    T _kt_v_w[4];
    T* _kt_r_y[4];
#pragma unroll
    for (int _kt_k = 0; _kt_k < 4; ++_kt_k) {
        {
            const _kt_index _kt_e = _kt_begin + _kt_k * 256 < _kt_n ? _kt_begin + _kt_k * 256 : _kt_n - 1;
            const _kt_index _kt_c0 = _kt_e;
            _kt_v_x[_kt_k] = *(_kt_p_x + _kt_e);
            _kt_v_w[_kt_k] = *(_kt_p_w + _kt_e);
            _kt_r_y[_kt_k] = kerneltk::advance(_kt_p_y, _kt_c0 * static_cast<_kt_index>(_kt_a._kt_s_y[0]));
        }
    }
#pragma unroll
    for (int _kt_k = 0; _kt_k < 4; ++_kt_k) {
        const _kt_index _kt_e = _kt_begin + _kt_k * 256;
        if (_kt_e < _kt_n) {
            T _kt_w_y;
            _kt_w_y = *(_kt_r_y[_kt_k]);
            {
            const T& x = _kt_v_x[_kt_k];
            const T& w = _kt_v_w[_kt_k];
            T& y = _kt_w_y;
            do {
#line 1 "operation"
y = x + w
;
#line 50 "generated code"
            } while (0);
            }
            *(_kt_r_y[_kt_k]) = _kt_w_y;
        }
    }
}

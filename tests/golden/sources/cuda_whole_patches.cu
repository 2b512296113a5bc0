#include <kerneltk/divide.hpp>
#include <kerneltk/memory.hpp>
typedef int T;
struct _kt_arguments {
    alignas(8) T* _kt_p_x;
    alignas(8) long long* _kt_p_y;
    alignas(16) long long _kt_n;
    alignas(8) long long _kt_shape[2];
    alignas(8) kerneltk::fast_divisor32 _kt_divisors[1];
    alignas(8) long long _kt_s_x[2];
    alignas(8) long long _kt_s_y[2];
    alignas(8) long long _kt_s_i[2];
};
using _kt_index = int;
extern "C" __global__ void __launch_bounds__(16)
indexed(const __grid_constant__ _kt_arguments _kt_a) {
    T* const _kt_p_x = _kt_a._kt_p_x;
    long long* const _kt_p_y = _kt_a._kt_p_y;
    const ptrdiff_t n = static_cast<ptrdiff_t>(_kt_a._kt_n);
    _kt_index _kt_rest = static_cast<_kt_index>(blockIdx.x);
            const _kt_index _kt_q1 = _kt_a._kt_divisors[0].quotient(_kt_rest);
            const _kt_index _kt_c1 = _kt_rest - _kt_q1 * static_cast<_kt_index>(_kt_a._kt_divisors[0].divisor);
            _kt_rest = _kt_q1;
            const _kt_index _kt_c0 = _kt_rest;
    const _kt_index _kt_thread = static_cast<_kt_index>(threadIdx.x);
    const _kt_index _kt_line = 0;
    const _kt_index _kt_top = _kt_c0 * 2 + _kt_line * 2, _kt_column = _kt_c1 * 16 + _kt_thread;
    T* const _kt_r_x = kerneltk::advance(_kt_p_x, _kt_top * static_cast<_kt_index>(_kt_a._kt_s_x[0]) + _kt_column * static_cast<_kt_index>(_kt_a._kt_s_x[1]));
    long long* const _kt_r_y = kerneltk::advance(_kt_p_y, _kt_top * static_cast<_kt_index>(_kt_a._kt_s_y[0]) + _kt_column * static_cast<_kt_index>(_kt_a._kt_s_y[1]));
    const _kt_index _kt_i = _kt_top * static_cast<_kt_index>(_kt_a._kt_s_i[0]) + _kt_column * static_cast<_kt_index>(_kt_a._kt_s_i[1]);
    T _kt_v_x[2][1];
    _kt_v_x[0][0] = *(kerneltk::advance(_kt_r_x, 0 * static_cast<_kt_index>(_kt_a._kt_s_x[0])));
    _kt_v_x[1][0] = *(kerneltk::advance(_kt_r_x, 1 * static_cast<_kt_index>(_kt_a._kt_s_x[0])));
#pragma unroll
    for (int _kt_k = 0; _kt_k < 2; ++_kt_k) {
        {
            long long _kt_w_y[1];
            _kt_w_y[0] = *(kerneltk::advance(_kt_r_y, _kt_k * static_cast<_kt_index>(_kt_a._kt_s_y[0])));
#pragma unroll
            for (int _kt_j = 0; _kt_j < 1; ++_kt_j)
            {
            const ptrdiff_t i = _kt_i + _kt_k * static_cast<_kt_index>(_kt_a._kt_s_i[0]) + _kt_j * static_cast<_kt_index>(_kt_a._kt_s_i[1]);
            const T& x = _kt_v_x[_kt_k][_kt_j];
            long long& y = _kt_w_y[_kt_j];
            do {
#line 1 "operation"
y = x + i
;
#line 50 "generated code"
            } while (0);
            }
            *(kerneltk::advance(_kt_r_y, _kt_k * static_cast<_kt_index>(_kt_a._kt_s_y[0]))) = _kt_w_y[0];
        }
    }
}

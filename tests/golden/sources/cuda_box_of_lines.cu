#include <kerneltk/divide.hpp>
#include <kerneltk/memory.hpp>
typedef signed char T;
struct _kt_arguments {
    alignas(8) T* _kt_p_x;
    alignas(8) T* _kt_p_w;
    alignas(8) T* _kt_p_y;
    alignas(16) long long _kt_n;
    alignas(8) long long _kt_shape[2];
    alignas(8) kerneltk::fast_divisor32 _kt_divisors[1];
    alignas(8) long long _kt_s_x[2];
    alignas(8) long long _kt_s_w[2];
    alignas(8) long long _kt_s_y[2];
};
using _kt_index = int;
extern "C" __global__ void __launch_bounds__(256)
sum(const __grid_constant__ _kt_arguments _kt_a) {
    T* const _kt_p_x = _kt_a._kt_p_x;
    T* const _kt_p_w = _kt_a._kt_p_w;
    T* const _kt_p_y = _kt_a._kt_p_y;
    const ptrdiff_t n = static_cast<ptrdiff_t>(_kt_a._kt_n);
    _kt_index _kt_rest = static_cast<_kt_index>(blockIdx.x);
            const _kt_index _kt_q1 = _kt_a._kt_divisors[0].quotient(_kt_rest);
            const _kt_index _kt_c1 = _kt_rest - _kt_q1 * static_cast<_kt_index>(_kt_a._kt_divisors[0].divisor);
            _kt_rest = _kt_q1;
            const _kt_index _kt_c0 = _kt_rest;
    const _kt_index _kt_thread = static_cast<_kt_index>(threadIdx.x);
    const _kt_index _kt_line = _kt_thread / 76;
    const _kt_index _kt_top = _kt_c0 * 6 + _kt_line, _kt_column = _kt_c1 * 76 + (_kt_thread - _kt_line * 76);
    const _kt_index _kt_height = static_cast<_kt_index>(_kt_a._kt_shape[0]), _kt_width = static_cast<_kt_index>(_kt_a._kt_shape[1]);
    // All loads come first, so that they are under way together; beyond the ends they repeat the last
    // row and the last column, because a condition would put them apart again.
    const _kt_index _kt_at = _kt_column < _kt_width ? _kt_column : _kt_width - 1, _kt_row = _kt_top < _kt_height ? _kt_top : _kt_height - 1, _kt_left = _kt_height - 1 - _kt_row;
    T* const _kt_r_x = kerneltk::advance(_kt_p_x, _kt_row * static_cast<_kt_index>(_kt_a._kt_s_x[0]) + _kt_at * static_cast<_kt_index>(sizeof(T)));
    T* const _kt_r_w = kerneltk::advance(_kt_p_w, _kt_row * static_cast<_kt_index>(_kt_a._kt_s_w[0]) + _kt_at * static_cast<_kt_index>(sizeof(T)));
    T* const _kt_r_y = kerneltk::advance(_kt_p_y, _kt_row * static_cast<_kt_index>(_kt_a._kt_s_y[0]) + _kt_at * static_cast<_kt_index>(_kt_a._kt_s_y[1]));
    T _kt_v_x[2][1];
    _kt_v_x[0][0] = *(kerneltk::advance(_kt_r_x, 0 * static_cast<_kt_index>(_kt_a._kt_s_x[0])));
    _kt_v_x[1][0] = *(kerneltk::advance(_kt_r_x, (3 < _kt_left ? 3 : _kt_left) * static_cast<_kt_index>(_kt_a._kt_s_x[0])));
    T _kt_v_w[1][1];
    _kt_v_w[0][0] = *(kerneltk::advance(_kt_r_w, 0 * static_cast<_kt_index>(_kt_a._kt_s_w[0])));
#pragma unroll
    for (int _kt_k = 0; _kt_k < 2; ++_kt_k) {
        if (_kt_top + _kt_k * 3 < _kt_height && _kt_column < _kt_width && _kt_line < 3) {
            T _kt_w_y[1];
            _kt_w_y[0] = *(kerneltk::advance(_kt_r_y, _kt_k * 3 * static_cast<_kt_index>(_kt_a._kt_s_y[0])));
#pragma unroll
            for (int _kt_j = 0; _kt_j < 1; ++_kt_j)
            {
            const T& x = _kt_v_x[_kt_k][_kt_j];
            const T& w = _kt_v_w[0][_kt_j];
            T& y = _kt_w_y[_kt_j];
            do {
#line 1 "operation"
y = x + w
;
#line 58 "generated code"
            } while (0);
            }
            *(kerneltk::advance(_kt_r_y, _kt_k * 3 * static_cast<_kt_index>(_kt_a._kt_s_y[0]))) = _kt_w_y[0];
        }
    }
}

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
    // A tile of words of 4 elements: dimension 0 is dense in the staged inputs, dimension 1 in the results.
    // A line's words are turned by the number of its square, so that lanes meet in no bank.
    __shared__ typename kerneltk::chunk<sizeof(T) * 4>::type _kt_tile_x[128][32];
_kt_index _kt_rest = static_cast<_kt_index>(blockIdx.x);
    _kt_index _kt_quotient = _kt_a._kt_divisors[0].quotient(_kt_rest);
    const _kt_index _kt_across = (_kt_rest - _kt_quotient * static_cast<_kt_index>(_kt_a._kt_divisors[0].divisor)) * 128;
    _kt_rest = _kt_quotient;
    const _kt_index _kt_down = _kt_rest * 128;
    const _kt_index _kt_width = static_cast<_kt_index>(_kt_a._kt_shape[1]);
    const _kt_index _kt_height = static_cast<_kt_index>(_kt_a._kt_shape[0]);
    const int _kt_lane = threadIdx.x % 32, _kt_line = threadIdx.x / 32;
    {
        typename kerneltk::chunk<sizeof(T) * 4>::type _kt_w[16];
        const _kt_index _kt_d = _kt_down + _kt_lane * 4;
#pragma unroll
        for (int _kt_m = 0; _kt_m < 16; ++_kt_m) {
            const _kt_index _kt_c = _kt_across + _kt_line + _kt_m * 8;
            if (_kt_d < _kt_height && _kt_c < _kt_width) kerneltk::copy<4, 4>(&_kt_w[_kt_m], kerneltk::advance(_kt_p_x, (_kt_d) * static_cast<_kt_index>(_kt_a._kt_s_x[0]) + (_kt_c) * static_cast<_kt_index>(_kt_a._kt_s_x[1])));
        }
#pragma unroll
        for (int _kt_m = 0; _kt_m < 16; ++_kt_m)
            _kt_tile_x[_kt_line + _kt_m * 8][(_kt_lane + (_kt_line + _kt_m * 8) / 4) % 32] = _kt_w[_kt_m];
    }
    __syncthreads();  // the tile is whole
    const _kt_index _kt_c = _kt_across + _kt_lane * 4;
#pragma unroll
    for (int _kt_m = 0; _kt_m < 4; ++_kt_m) {
        const int _kt_word = _kt_line + _kt_m * 8;
        alignas(4) T _kt_q_x[4][4];
#pragma unroll
        for (int _kt_j = 0; _kt_j < 4; ++_kt_j)
            kerneltk::copy<sizeof(_kt_q_x[0]), sizeof(_kt_q_x[0])>(_kt_q_x[_kt_j], &_kt_tile_x[_kt_lane * 4 + _kt_j][(_kt_word + _kt_lane) % 32]);
#pragma unroll
        for (int _kt_k = 0; _kt_k < 4; ++_kt_k) {
            const _kt_index _kt_d = _kt_down + _kt_word * 4 + _kt_k;
            if (_kt_d >= _kt_height || _kt_c >= _kt_width) break;
            alignas(4) T _kt_z_y[4];
            kerneltk::copy<4, 4>(_kt_z_y, kerneltk::advance(_kt_p_y, (_kt_d) * static_cast<_kt_index>(_kt_a._kt_s_y[0]) + (_kt_c) * static_cast<_kt_index>(_kt_a._kt_s_y[1])));
            T _kt_v_w[4];
#pragma unroll
            for (int _kt_j = 0; _kt_j < 4; ++_kt_j) { _kt_v_w[_kt_j] = *(kerneltk::advance(_kt_p_w, (_kt_d) * static_cast<_kt_index>(_kt_a._kt_s_w[0]) + (_kt_c + _kt_j) * static_cast<_kt_index>(_kt_a._kt_s_w[1]))); }
#pragma unroll
            for (int _kt_j = 0; _kt_j < 4; ++_kt_j) {
                {
            const T& x = _kt_q_x[_kt_j][_kt_k];
            const T& w = _kt_v_w[_kt_j];
            T& y = _kt_z_y[_kt_j];
            do {
#line 1 "operation"
y = x + w
;
#line 74 "generated code"
            } while (0);
            }
            }
            kerneltk::copy<4, 4>(kerneltk::advance(_kt_p_y, (_kt_d) * static_cast<_kt_index>(_kt_a._kt_s_y[0]) + (_kt_c) * static_cast<_kt_index>(_kt_a._kt_s_y[1])), _kt_z_y);
        }
    }
}

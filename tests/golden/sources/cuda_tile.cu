#include <kerneltk/divide.hpp>
#include <kerneltk/memory.hpp>
typedef float T;
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
    // A tile: dimension 0 is dense in the staged inputs, dimension 1 in the others.
    __shared__ kerneltk::chunk<4>::type _kt_tile_x[32][32 + 1];
_kt_index _kt_rest = static_cast<_kt_index>(blockIdx.x);
    _kt_index _kt_quotient = _kt_a._kt_divisors[0].quotient(_kt_rest);
    const _kt_index _kt_across = (_kt_rest - _kt_quotient * static_cast<_kt_index>(_kt_a._kt_divisors[0].divisor)) * 32;
    _kt_rest = _kt_quotient;
    const _kt_index _kt_down = _kt_rest * 32;
    const int _kt_lane = threadIdx.x % 32, _kt_line = threadIdx.x / 32;
    // Where this thread begins, and how far its next line is (bytes; elements for the index).
    T* _kt_b_x = kerneltk::advance(_kt_p_x, (_kt_down + _kt_lane) * static_cast<_kt_index>(_kt_a._kt_s_x[0]) + (_kt_across + _kt_line) * static_cast<_kt_index>(_kt_a._kt_s_x[1]));
    const _kt_index _kt_d_x = static_cast<_kt_index>(_kt_a._kt_s_x[1]) * 8;
    T* _kt_b_w = kerneltk::advance(_kt_p_w, (_kt_down + _kt_line) * static_cast<_kt_index>(_kt_a._kt_s_w[0]) + (_kt_across + _kt_lane) * static_cast<_kt_index>(_kt_a._kt_s_w[1]));
    const _kt_index _kt_d_w = static_cast<_kt_index>(_kt_a._kt_s_w[0]) * 8;
    T* _kt_b_y = kerneltk::advance(_kt_p_y, (_kt_down + _kt_line) * static_cast<_kt_index>(_kt_a._kt_s_y[0]) + (_kt_across + _kt_lane) * static_cast<_kt_index>(_kt_a._kt_s_y[1]));
    const _kt_index _kt_d_y = static_cast<_kt_index>(_kt_a._kt_s_y[0]) * 8;
#pragma unroll
    for (int _kt_k = 0; _kt_k < 4; ++_kt_k) {
        {
            kerneltk::copy<4, sizeof(T)>(&_kt_tile_x[_kt_line + _kt_k * 8][_kt_lane], kerneltk::advance(_kt_b_x, _kt_k * _kt_d_x));
        }
    }
    T _kt_v_w[4];
#pragma unroll
    for (int _kt_k = 0; _kt_k < 4; ++_kt_k) {
        {
            _kt_v_w[_kt_k] = *(kerneltk::advance(_kt_b_w, _kt_k * _kt_d_w));
        }
    }
    __syncthreads();
#pragma unroll
    for (int _kt_k = 0; _kt_k < 4; ++_kt_k) {
        {
            alignas(4) T _kt_w_x;
            kerneltk::copy<4, sizeof(T)>(&_kt_w_x, &_kt_tile_x[_kt_lane][_kt_line + _kt_k * 8]);
            T _kt_w_y;
            _kt_w_y = *(kerneltk::advance(_kt_b_y, _kt_k * _kt_d_y));
            {
            const T& x = _kt_w_x;
            const T& w = _kt_v_w[_kt_k];
            T& y = _kt_w_y;
            do {
#line 1 "operation"
y = x + w
;
#line 67 "generated code"
            } while (0);
            }
            *(kerneltk::advance(_kt_b_y, _kt_k * _kt_d_y)) = _kt_w_y;
        }
    }
}

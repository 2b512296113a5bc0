#include <kerneltk/float16.hpp>
#include <kerneltk/divide.hpp>
#include <kerneltk/memory.hpp>
typedef float16 T;
struct _kt_arguments {
    alignas(8) T* _kt_p_x;
    alignas(8) T* _kt_p_w;
    alignas(8) T* _kt_p_y;
    alignas(16) long long _kt_n;
    alignas(8) long long _kt_shape[3];
    alignas(8) kerneltk::fast_divisor32 _kt_divisors[2];
    alignas(8) long long _kt_s_x[3];
    alignas(8) long long _kt_s_w[3];
    alignas(8) long long _kt_s_y[3];
};
using _kt_index = int;
extern "C" __global__ void __launch_bounds__(256)
sum(const __grid_constant__ _kt_arguments _kt_a) {
    T* const _kt_p_x = _kt_a._kt_p_x;
    T* const _kt_p_w = _kt_a._kt_p_w;
    T* const _kt_p_y = _kt_a._kt_p_y;
    const ptrdiff_t n = static_cast<ptrdiff_t>(_kt_a._kt_n);
    // A box of 7 x 16 x 16 elements: staged inputs are read in their own order, results written in the loop's.
    __shared__ typename kerneltk::chunk<4>::type _kt_tile_x[kerneltk::box_slot(1791) + 1];
    _kt_index _kt_rest = static_cast<_kt_index>(blockIdx.x);
            const _kt_index _kt_q2 = _kt_a._kt_divisors[0].quotient(_kt_rest);
            const _kt_index _kt_c2 = _kt_rest - _kt_q2 * static_cast<_kt_index>(_kt_a._kt_divisors[0].divisor);
            _kt_rest = _kt_q2;
            const _kt_index _kt_q1 = _kt_a._kt_divisors[1].quotient(_kt_rest);
            const _kt_index _kt_c1 = _kt_rest - _kt_q1 * static_cast<_kt_index>(_kt_a._kt_divisors[1].divisor);
            _kt_rest = _kt_q1;
            const _kt_index _kt_c0 = _kt_rest;
    T* const _kt_r_x = kerneltk::advance(_kt_p_x, _kt_c0 * 7 * static_cast<_kt_index>(_kt_a._kt_s_x[0]) + _kt_c1 * 16 * static_cast<_kt_index>(_kt_a._kt_s_x[1]) + _kt_c2 * 16 * static_cast<_kt_index>(_kt_a._kt_s_x[2]));
    T* const _kt_r_w = kerneltk::advance(_kt_p_w, _kt_c0 * 7 * static_cast<_kt_index>(_kt_a._kt_s_w[0]) + _kt_c1 * 16 * static_cast<_kt_index>(_kt_a._kt_s_w[1]) + _kt_c2 * 16 * static_cast<_kt_index>(_kt_a._kt_s_w[2]));
    T* const _kt_r_y = kerneltk::advance(_kt_p_y, _kt_c0 * 7 * static_cast<_kt_index>(_kt_a._kt_s_y[0]) + _kt_c1 * 16 * static_cast<_kt_index>(_kt_a._kt_s_y[1]) + _kt_c2 * 16 * static_cast<_kt_index>(_kt_a._kt_s_y[2]));
    {
        typename kerneltk::chunk<4>::type _kt_w[7];
    #pragma unroll
    for (int _kt_k = 0; _kt_k < 7; ++_kt_k) {
            const unsigned int _kt_m = threadIdx.x + _kt_k * 256;
            const _kt_index _kt_b2 = static_cast<_kt_index>(_kt_m / 112);
            const _kt_index _kt_b1 = static_cast<_kt_index>(_kt_m / 7 % 16);
            const _kt_index _kt_b0 = static_cast<_kt_index>(_kt_m % 7);
            kerneltk::copy<2, 2>(&_kt_w[_kt_k], kerneltk::advance(_kt_r_x, _kt_b0 * static_cast<_kt_index>(_kt_a._kt_s_x[0]) + _kt_b1 * static_cast<_kt_index>(_kt_a._kt_s_x[1]) + _kt_b2 * static_cast<_kt_index>(_kt_a._kt_s_x[2])));
        }
    #pragma unroll
    for (int _kt_k = 0; _kt_k < 7; ++_kt_k) {
            const unsigned int _kt_m = threadIdx.x + _kt_k * 256;
            const _kt_index _kt_b2 = static_cast<_kt_index>(_kt_m / 112);
            const _kt_index _kt_b1 = static_cast<_kt_index>(_kt_m / 7 % 16);
            const _kt_index _kt_b0 = static_cast<_kt_index>(_kt_m % 7);
            _kt_tile_x[kerneltk::box_slot(_kt_b0 * 256 + _kt_b1 * 16 + _kt_b2)] = _kt_w[_kt_k];
        }
    }
    T _kt_v_w[7];
    #pragma unroll
    for (int _kt_k = 0; _kt_k < 7; ++_kt_k) {
            const unsigned int _kt_m = threadIdx.x + _kt_k * 256;
            const _kt_index _kt_b0 = static_cast<_kt_index>(_kt_m / 256);
            const _kt_index _kt_b1 = static_cast<_kt_index>(_kt_m / 16 % 16);
            const _kt_index _kt_b2 = static_cast<_kt_index>(_kt_m % 16);
            {
            _kt_v_w[_kt_k] = *(kerneltk::advance(_kt_r_w, _kt_b0 * static_cast<_kt_index>(_kt_a._kt_s_w[0]) + _kt_b1 * static_cast<_kt_index>(_kt_a._kt_s_w[1]) + _kt_b2 * static_cast<_kt_index>(_kt_a._kt_s_w[2])));
            }
        }
    __syncthreads();  // the box is whole
    #pragma unroll
    for (int _kt_k = 0; _kt_k < 7; ++_kt_k) {
            const unsigned int _kt_m = threadIdx.x + _kt_k * 256;
            const _kt_index _kt_b0 = static_cast<_kt_index>(_kt_m / 256);
            const _kt_index _kt_b1 = static_cast<_kt_index>(_kt_m / 16 % 16);
            const _kt_index _kt_b2 = static_cast<_kt_index>(_kt_m % 16);
            {
            alignas(2) T _kt_w_x;
            kerneltk::copy<2, 2>(&_kt_w_x, &_kt_tile_x[kerneltk::box_slot(_kt_b0 * 256 + _kt_b1 * 16 + _kt_b2)]);
            T _kt_w_y;
            _kt_w_y = *(kerneltk::advance(_kt_r_y, _kt_b0 * static_cast<_kt_index>(_kt_a._kt_s_y[0]) + _kt_b1 * static_cast<_kt_index>(_kt_a._kt_s_y[1]) + _kt_b2 * static_cast<_kt_index>(_kt_a._kt_s_y[2])));
            {
            const T& x = _kt_w_x;
            const T& w = _kt_v_w[_kt_k];
            T& y = _kt_w_y;
            do {
#line 1 "operation"
y = x + w
;
#line 87 "generated code"
            } while (0);
            }
            *(kerneltk::advance(_kt_r_y, _kt_b0 * static_cast<_kt_index>(_kt_a._kt_s_y[0]) + _kt_b1 * static_cast<_kt_index>(_kt_a._kt_s_y[1]) + _kt_b2 * static_cast<_kt_index>(_kt_a._kt_s_y[2]))) = _kt_w_y;
            }
    }
}

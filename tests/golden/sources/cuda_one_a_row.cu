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
    alignas(8) long long _kt_s_w[2];
};
using _kt_index = int;
extern "C" __global__ void __launch_bounds__(256)
sum(const __grid_constant__ _kt_arguments _kt_a) {
    T* const _kt_p_x = _kt_a._kt_p_x;
    T* const _kt_p_w = _kt_a._kt_p_w;
    T* const _kt_p_y = _kt_a._kt_p_y;
    const ptrdiff_t n = static_cast<ptrdiff_t>(_kt_a._kt_n);
    // The user's operation on one element. Leaving it early leaves this element alone.
    const auto _kt_operation = [&](const ptrdiff_t , const T& x, const T& w, T& y) {
        do {
#line 1 "operation"
y = x + w
            ;
#line 27 "generated code"
        } while (0);
    };
    const _kt_index _kt_vector = static_cast<_kt_index>(blockIdx.x) * 256 + threadIdx.x;
    const _kt_index _kt_n = static_cast<_kt_index>(_kt_a._kt_n);
    const _kt_index _kt_begin = _kt_vector * 4;
    _kt_index _kt_rest = _kt_begin;
            const _kt_index _kt_q1 = _kt_a._kt_divisors[0].quotient(_kt_rest);
            _kt_index _kt_c1 = _kt_rest - _kt_q1 * static_cast<_kt_index>(_kt_a._kt_divisors[0].divisor);
            _kt_rest = _kt_q1;
            _kt_index _kt_c0 = _kt_rest;
    if (_kt_begin + 4 <= _kt_n) {
        alignas(16) T _kt_v_x[4];
        alignas(16) T _kt_v_w[4];
        alignas(16) T _kt_v_y[4];
        kerneltk::copy<16, sizeof(_kt_v_x)>(_kt_v_x, _kt_p_x + _kt_begin);
        kerneltk::copy<16, sizeof(_kt_v_y)>(_kt_v_y, _kt_p_y + _kt_begin);
        if (_kt_c1 + 4 <= static_cast<_kt_index>(_kt_a._kt_divisors[0].divisor)) {
            _kt_v_w[0] = *(kerneltk::advance(_kt_p_w, _kt_c0 * static_cast<_kt_index>(_kt_a._kt_s_w[0]) + _kt_c1 * static_cast<_kt_index>(_kt_a._kt_s_w[1])));
#pragma unroll
            for (int _kt_k = 1; _kt_k < 4; ++_kt_k) _kt_v_w[_kt_k] = _kt_v_w[0];
        } else
#pragma unroll
        for (int _kt_k = 0; _kt_k < 4; ++_kt_k) {
            _kt_v_w[_kt_k] = *(kerneltk::advance(_kt_p_w, _kt_c0 * static_cast<_kt_index>(_kt_a._kt_s_w[0]) + _kt_c1 * static_cast<_kt_index>(_kt_a._kt_s_w[1])));
            if (++_kt_c1 == static_cast<_kt_index>(_kt_a._kt_divisors[0].divisor)) { _kt_c1 = 0;
            ++_kt_c0; }
        }
#pragma unroll
        for (int _kt_k = 0; _kt_k < 4; ++_kt_k)
            _kt_operation(0, _kt_v_x[_kt_k], _kt_v_w[_kt_k], _kt_v_y[_kt_k]);
        kerneltk::copy<16, sizeof(_kt_v_y)>(_kt_p_y + _kt_begin, _kt_v_y);
    } else {
        const _kt_index _kt_from = _kt_begin;
        const _kt_index _kt_to = _kt_begin + 4 < _kt_n ? _kt_begin + 4 : _kt_n;
#pragma unroll 1
        for (_kt_index _kt_e = _kt_from; _kt_e < _kt_to; ++_kt_e) {
            T _kt_v_x;
            _kt_v_x = *(_kt_p_x + _kt_e);
            T _kt_v_w;
            _kt_v_w = *(kerneltk::advance(_kt_p_w, _kt_c0 * static_cast<_kt_index>(_kt_a._kt_s_w[0]) + _kt_c1 * static_cast<_kt_index>(_kt_a._kt_s_w[1])));
            T _kt_v_y;
            _kt_v_y = *(_kt_p_y + _kt_e);
            _kt_operation(0, _kt_v_x, _kt_v_w, _kt_v_y);
            *(_kt_p_y + _kt_e) = _kt_v_y;
            if (++_kt_c1 == static_cast<_kt_index>(_kt_a._kt_divisors[0].divisor)) { _kt_c1 = 0;
            ++_kt_c0; }        }
    }
}

#include <kerneltk/memory.hpp>
typedef float T;
struct _kt_arguments {
    alignas(8) T* _kt_p_x;
    alignas(8) T* _kt_p_w;
    alignas(8) T* _kt_p_y;
    alignas(16) long long _kt_n;
    alignas(8) long long _kt_shift;
    alignas(8) long long _kt_shape[1];
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
#line 25 "generated code"
        } while (0);
    };
    const _kt_index _kt_vector = static_cast<_kt_index>(blockIdx.x) * 256 + threadIdx.x;
    const _kt_index _kt_n = static_cast<_kt_index>(_kt_a._kt_n);
    const _kt_index _kt_begin = _kt_vector * 4 - static_cast<_kt_index>(_kt_a._kt_shift);
    if (_kt_begin >= 0 && _kt_begin + 4 <= _kt_n) {
        alignas(16) T _kt_v_x[4];
        alignas(16) T _kt_v_w[4];
        alignas(16) T _kt_v_y[4];
        kerneltk::copy<16, sizeof(_kt_v_x)>(_kt_v_x, _kt_p_x + _kt_begin);
        kerneltk::copy<16, sizeof(_kt_v_w)>(_kt_v_w, _kt_p_w + _kt_begin);
        kerneltk::copy<16, sizeof(_kt_v_y)>(_kt_v_y, _kt_p_y + _kt_begin);
#pragma unroll
        for (int _kt_k = 0; _kt_k < 4; ++_kt_k)
            _kt_operation(0, _kt_v_x[_kt_k], _kt_v_w[_kt_k], _kt_v_y[_kt_k]);
        kerneltk::copy<16, sizeof(_kt_v_y)>(_kt_p_y + _kt_begin, _kt_v_y);
    } else {
        const _kt_index _kt_from = _kt_begin < 0 ? 0 : _kt_begin;
        const _kt_index _kt_to = _kt_begin + 4 < _kt_n ? _kt_begin + 4 : _kt_n;
#pragma unroll 1
        for (_kt_index _kt_e = _kt_from; _kt_e < _kt_to; ++_kt_e) {
            T _kt_v_x;
            _kt_v_x = *(_kt_p_x + _kt_e);
            T _kt_v_w;
            _kt_v_w = *(_kt_p_w + _kt_e);
            T _kt_v_y;
            _kt_v_y = *(_kt_p_y + _kt_e);
            _kt_operation(0, _kt_v_x, _kt_v_w, _kt_v_y);
            *(_kt_p_y + _kt_e) = _kt_v_y;
        }
    }
}

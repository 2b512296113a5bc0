#include <kerneltk/array_view.hpp>
#include <kerneltk/memory.hpp>
typedef float T;
struct _kt_arguments {
    alignas(8) kerneltk::array_view<T, 2, false, int> x;
    alignas(8) int* _kt_p_k;
    alignas(8) T* _kt_p_y;
    alignas(16) long long _kt_n;
    alignas(8) long long _kt_shape[1];
    alignas(8) kerneltk::index_space<1, int> _kt_index_space;
};
using _kt_index = int;
extern "C" __global__ void __launch_bounds__(256)
gather(const __grid_constant__ _kt_arguments _kt_a) {
    const auto x = _kt_a.x;
    int* const _kt_p_k = _kt_a._kt_p_k;
    T* const _kt_p_y = _kt_a._kt_p_y;
    const ptrdiff_t n = static_cast<ptrdiff_t>(_kt_a._kt_n);
    auto _ind = _kt_a._kt_index_space;
    const _kt_index _kt_vector = static_cast<_kt_index>(blockIdx.x) * 256 + threadIdx.x;
    const _kt_index _kt_n = static_cast<_kt_index>(_kt_a._kt_n);
    const _kt_index _kt_begin = _kt_vector * 4;
    if (_kt_begin < _kt_n) {
        alignas(16) int _kt_v_k[4];
        alignas(16) T _kt_v_y[4];
        kerneltk::copy<16, sizeof(_kt_v_k)>(_kt_v_k, _kt_p_k + _kt_begin);
        kerneltk::copy<16, sizeof(_kt_v_y)>(_kt_v_y, _kt_p_y + _kt_begin);
#pragma unroll
        for (int _kt_k = 0; _kt_k < 4; ++_kt_k)
            {
            const ptrdiff_t i = _kt_begin + _kt_k;
            const int& k = _kt_v_k[_kt_k];
            T& y = _kt_v_y[_kt_k];
            _ind.set(i);
            do {
#line 1 "operation"
y = x[k] + _ind.get()[0]
;
#line 40 "generated code"
            } while (0);
            }
        kerneltk::copy<16, sizeof(_kt_v_y)>(_kt_p_y + _kt_begin, _kt_v_y);
    }
}

#include <kerneltk/memory.hpp>
#include <kerneltk/reduce.hpp>
typedef float T;
struct _kt_arguments {
    alignas(8) char* _kt_scratch;
    alignas(8) T* _kt_p_x;
    alignas(8) T* _kt_p_y;
    alignas(16) long long _kt_outputs;
    alignas(8) long long _kt_length;
    alignas(8) long long _kt_vectors;
    alignas(8) long long _kt_work;
    alignas(8) long long _kt_split;
    alignas(8) long long _kt_chunk;
    alignas(8) long long _kt_outer[1];
    alignas(8) long long _kt_reduction[1];
    alignas(8) long long _kt_k_x[1];
    alignas(8) long long _kt_r_x[1];
    alignas(8) long long _kt_k_y[1];
    alignas(8) long long _kt_r_y[1];
};
using _kt_index = int;
typedef T _type_reduce;
#line 9999 "out_params"
static_assert(sizeof(_type_reduce) <= 128, "the totals may take 128 bytes at most");
#line 26 "generated code"
#line 9999 "out_params"
static_assert(__is_trivially_copyable(_type_reduce) && alignof(_type_reduce) <= 16, "on a GPU the totals must be trivially copyable, and aligned to 16 bytes at most");
#line 29 "generated code"
using _kt_total = _type_reduce;
extern "C" __global__ void __launch_bounds__(256)
total(const __grid_constant__ _kt_arguments _kt_a) {
    T* const _kt_p_x = _kt_a._kt_p_x;
    T* const _kt_p_y = _kt_a._kt_p_y;
    const auto _kt_map = [&](const ptrdiff_t , const ptrdiff_t , const T& x) -> _type_reduce {
        return
#line 1 "map_expr"
static_cast<_type_reduce>(
#line 1 "map_expr"
x
);
#line 42 "generated code"
    };
    const auto _kt_reduce = [&](_type_reduce a, _type_reduce b) -> _type_reduce {
        return
#line 1 "reduce_expr"
(
#line 1 "reduce_expr"
a + b
);
#line 51 "generated code"
    };
    const auto _kt_identity = [&]() -> _type_reduce {
        return
#line 1 "identity"
static_cast<_type_reduce>(
#line 1 "identity"
0
);
#line 60 "generated code"
    };
    const auto _kt_post = [&](_type_reduce a, const ptrdiff_t , T& y) {
#line 1 "post_map_expr"
y = a
        ;
#line 66 "generated code"
    };
    const int _kt_x = threadIdx.x, _kt_y = 0;
    const _kt_index _kt_columns = static_cast<_kt_index>(_kt_a._kt_vectors);
    const _kt_index _kt_wanted = static_cast<_kt_index>(blockIdx.x) * 256 + _kt_x;
    T* _kt_b_x;
 {
        // Threads beyond the end do the last outputs again: every thread takes part in the barriers.
        const _kt_index _kt_own = _kt_wanted;
        const _kt_index _kt_column = _kt_own < _kt_columns ? _kt_own : _kt_columns - 1;
        const _kt_index _kt_c0 = _kt_column;
        _kt_b_x = kerneltk::advance(_kt_p_x, _kt_c0 * _kt_a._kt_k_x[0] * 4);
    }
    const _kt_index _kt_work = static_cast<_kt_index>(_kt_a._kt_work);
    const _kt_index _kt_first = 0, _kt_last = _kt_work;
    struct alignas(kerneltk::alignment_of<sizeof(_kt_total) * 4, alignof(_kt_total)>) _kt_totals {
        _kt_total of[4];
    } _kt_t = {{_kt_identity(), _kt_identity(), _kt_identity(), _kt_identity(), }};
#pragma unroll 1
    for (_kt_index _kt_r = _kt_first + _kt_y; _kt_r < _kt_last; _kt_r += 4) {
        alignas(16) T _kt_x_x[4][4];
#pragma unroll
        for (int _kt_u = 0; _kt_u < 4; ++_kt_u) {
            // Beyond the end the first row is loaded again: a condition would put the loads apart.
            const _kt_index _kt_row = _kt_r + _kt_u * 1 < _kt_last ? _kt_r + _kt_u * 1 : _kt_r;
            const _kt_index _kt_e0 = _kt_row;
            kerneltk::fetch<16, sizeof(_kt_x_x[_kt_u])>(_kt_x_x[_kt_u], kerneltk::advance(_kt_b_x, _kt_e0 * static_cast<_kt_index>(_kt_a._kt_r_x[0])));
        }
#pragma unroll
        for (int _kt_u = 0; _kt_u < 4; ++_kt_u) {
            if (_kt_u == 0 || _kt_r + _kt_u * 1 < _kt_last) {
#pragma unroll
            for (int _kt_v = 0; _kt_v < 4; ++_kt_v) _kt_t.of[_kt_v] = _kt_reduce(_kt_t.of[_kt_v], _kt_map(0, 0, _kt_x_x[_kt_u][_kt_v]));
            }
        }
    }
    if (_kt_y == 0 && _kt_wanted < _kt_columns) {
        const _kt_index _kt_c0 = _kt_wanted;
        T* const _kt_q_y = kerneltk::advance(_kt_p_y, _kt_c0 * _kt_a._kt_k_y[0] * 4);
        alignas(16) T _kt_z_y[4];
#pragma unroll
            for (int _kt_v = 0; _kt_v < 4; ++_kt_v) _kt_post(_kt_t.of[_kt_v], 0, _kt_z_y[_kt_v]);
        kerneltk::copy<16, sizeof(_kt_z_y)>(_kt_q_y, _kt_z_y);
    }
}

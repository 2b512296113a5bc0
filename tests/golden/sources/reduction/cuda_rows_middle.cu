#include <kerneltk/float16.hpp>
#include <kerneltk/memory.hpp>
#include <kerneltk/reduce.hpp>
typedef float16 T;
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
typedef float _type_reduce;
#line 9999 "out_params"
static_assert(sizeof(_type_reduce) <= 128, "the totals may take 128 bytes at most");
#line 27 "generated code"
#line 9999 "out_params"
static_assert(__is_trivially_copyable(_type_reduce) && alignof(_type_reduce) <= 16, "on a GPU the totals must be trivially copyable, and aligned to 16 bytes at most");
#line 30 "generated code"
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
#line 43 "generated code"
    };
    const auto _kt_reduce = [&](_type_reduce a, _type_reduce b) -> _type_reduce {
        return
#line 1 "reduce_expr"
(
#line 1 "reduce_expr"
a + b
);
#line 52 "generated code"
    };
    const auto _kt_identity = [&]() -> _type_reduce {
        return
#line 1 "identity"
static_cast<_type_reduce>(
#line 1 "identity"
0
);
#line 61 "generated code"
    };
    const auto _kt_post = [&](_type_reduce a, const ptrdiff_t , T& y) {
#line 1 "post_map_expr"
y = a
        ;
#line 67 "generated code"
    };
    const int _kt_lane = threadIdx.x % 8;
    T* _kt_b_x[2];
    const _kt_index _kt_group = static_cast<_kt_index>(blockIdx.x) * 64 + threadIdx.x / 8;
    const _kt_index _kt_outputs = static_cast<_kt_index>(_kt_a._kt_outputs);
#pragma unroll
    for (int _kt_m = 0; _kt_m < 2; ++_kt_m) {
        // Groups beyond the end do the last row again: every lane takes part in the shuffles.
        const _kt_index _kt_wanted = _kt_group + _kt_m * 32;
        const _kt_index _kt_output = _kt_wanted < _kt_outputs ? _kt_wanted : _kt_outputs - 1;
        const _kt_index _kt_c0 = _kt_output;
        _kt_b_x[_kt_m] = kerneltk::advance(_kt_p_x, _kt_c0 * _kt_a._kt_k_x[0]);
    }
    const _kt_index _kt_work = static_cast<_kt_index>(_kt_a._kt_work);
    const _kt_index _kt_first = 0, _kt_last = _kt_work;
    _kt_total _kt_t[2] = {_kt_identity(), _kt_identity(), };
#pragma unroll 1
    for (_kt_index _kt_p = _kt_first + _kt_lane; _kt_p < _kt_last; _kt_p += 8) {
        alignas(16) T _kt_x_x[2][1][8];
#pragma unroll
        for (int _kt_u = 0; _kt_u < 1; ++_kt_u) {
            // Beyond the end the first vector is loaded again: a condition would put the loads apart.
            const _kt_index _kt_vector = _kt_p;
            const _kt_index _kt_e0 = _kt_vector;
            const _kt_index _kt_e = _kt_e0 * 8;
#pragma unroll
    for (int _kt_m = 0; _kt_m < 2; ++_kt_m) {
            kerneltk::fetch<16, sizeof(_kt_x_x[_kt_m][_kt_u])>(_kt_x_x[_kt_m][_kt_u], kerneltk::advance(_kt_b_x[_kt_m], _kt_e * static_cast<_kt_index>(_kt_a._kt_r_x[0])));
            }
        }
#pragma unroll
        for (int _kt_u = 0; _kt_u < 1; ++_kt_u) {
#pragma unroll
    for (int _kt_m = 0; _kt_m < 2; ++_kt_m) {
                // A vector's own total first: fewer roundings follow one another, and there is no condition
                // between the vectors.
                constexpr int _kt_0 = 0;
                _type_reduce _kt_s = _kt_map(0, 0, _kt_x_x[_kt_m][_kt_u][_kt_0]);
#pragma unroll
                for (int _kt_v = 1; _kt_v < 8; ++_kt_v) _kt_s = _kt_reduce(_kt_s, _kt_map(0, 0, _kt_x_x[_kt_m][_kt_u][_kt_v]));
                 _kt_t[_kt_m] = _kt_reduce(_kt_t[_kt_m], _kt_s);
            }
        }
    }
#pragma unroll
    for (int _kt_m = 0; _kt_m < 2; ++_kt_m) kerneltk::reduce_lanes<8>(_kt_reduce, _kt_t[_kt_m]);
#pragma unroll
    for (int _kt_m = 0; _kt_m < 2; ++_kt_m) {
        const _kt_index _kt_output = _kt_group + _kt_m * 32;
        if (_kt_output < _kt_outputs && _kt_lane == 0) {
            const _kt_index _kt_c0 = _kt_output;
            T* const _kt_q_y = kerneltk::advance(_kt_p_y, _kt_c0 * _kt_a._kt_k_y[0]);
            T _kt_y_y;
            _kt_post(_kt_t[_kt_m], 0, _kt_y_y);
            *(_kt_q_y) = _kt_y_y;
        }
    }
}

#include <kerneltk/complex.hpp>
#include <kerneltk/divide.hpp>
#include <kerneltk/memory.hpp>
#include <kerneltk/reduce.hpp>
typedef complex<float> T;
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
    alignas(8) long long _kt_reduction[2];
    alignas(8) kerneltk::fast_divisor32 _kt_d_reduction[1];
    alignas(8) long long _kt_k_x[1];
    alignas(8) long long _kt_r_x[2];
    alignas(8) long long _kt_k_y[1];
    alignas(8) long long _kt_r_y[2];
};
using _kt_index = int;
typedef T _type_reduce;
#line 9999 "out_params"
static_assert(sizeof(_type_reduce) <= 128, "the totals may take 128 bytes at most");
#line 29 "generated code"
#line 9999 "out_params"
static_assert(__is_trivially_copyable(_type_reduce) && alignof(_type_reduce) <= 16, "on a GPU the totals must be trivially copyable, and aligned to 16 bytes at most");
#line 32 "generated code"
using _kt_total = _type_reduce;
extern "C" __global__ void __launch_bounds__(1024)
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
#line 45 "generated code"
    };
    const auto _kt_reduce = [&](_type_reduce a, _type_reduce b) -> _type_reduce {
        return
#line 1 "reduce_expr"
(
#line 1 "reduce_expr"
a + b
);
#line 54 "generated code"
    };
    const auto _kt_identity = [&]() -> _type_reduce {
        return
#line 1 "identity"
static_cast<_type_reduce>(
#line 1 "identity"
0
);
#line 63 "generated code"
    };
    const auto _kt_post = [&](_type_reduce a, const ptrdiff_t , T& y) {
#line 1 "post_map_expr"
y = a
        ;
#line 69 "generated code"
    };
    const int _kt_lane = threadIdx.x;
    T* _kt_b_x;
 {
        const _kt_index _kt_output = static_cast<_kt_index>(blockIdx.x);
        const _kt_index _kt_c0 = _kt_output;
        _kt_b_x = kerneltk::advance(_kt_p_x, _kt_c0 * _kt_a._kt_k_x[0]);
    }
    const _kt_index _kt_work = static_cast<_kt_index>(_kt_a._kt_work);
    const _kt_index _kt_first = 0, _kt_last = _kt_work;
    _kt_total _kt_t = _kt_identity();
#pragma unroll 1
    for (_kt_index _kt_p = _kt_first + _kt_lane; _kt_p < _kt_last; _kt_p += 2048) {
        alignas(16) T _kt_x_x[2][2];
#pragma unroll
        for (int _kt_u = 0; _kt_u < 2; ++_kt_u) {
            // Beyond the end the first vector is loaded again: a condition would put the loads apart.
            const _kt_index _kt_vector = _kt_p + _kt_u * 1024 < _kt_last ? _kt_p + _kt_u * 1024 : _kt_p;
            _kt_index _kt_e_rest = _kt_vector;
            const _kt_index _kt_e_q1 = _kt_a._kt_d_reduction[0].quotient(_kt_e_rest);
            const _kt_index _kt_e1 = _kt_e_rest - _kt_e_q1 * static_cast<_kt_index>(_kt_a._kt_d_reduction[0].divisor);
            _kt_e_rest = _kt_e_q1;
            const _kt_index _kt_e0 = _kt_e_rest;
            const _kt_index _kt_e = _kt_e1 * 2;
 {
            kerneltk::fetch<16, sizeof(_kt_x_x[_kt_u])>(_kt_x_x[_kt_u], kerneltk::advance(_kt_b_x, _kt_e0 * static_cast<_kt_index>(_kt_a._kt_r_x[0]) + _kt_e * static_cast<_kt_index>(_kt_a._kt_r_x[1])));
            }
        }
#pragma unroll
        for (int _kt_u = 0; _kt_u < 2; ++_kt_u) {
 {
                // A vector's own total first: fewer roundings follow one another, and there is no condition
                // between the vectors.
                constexpr int _kt_0 = 0;
                _type_reduce _kt_s = _kt_map(0, 0, _kt_x_x[_kt_u][_kt_0]);
#pragma unroll
                for (int _kt_v = 1; _kt_v < 2; ++_kt_v) _kt_s = _kt_reduce(_kt_s, _kt_map(0, 0, _kt_x_x[_kt_u][_kt_v]));
                if (_kt_u == 0 || _kt_p + _kt_u * 1024 < _kt_last) _kt_t = _kt_reduce(_kt_t, _kt_s);
            }
        }
    }
    alignas(16) __shared__ char _kt_memory[sizeof(_kt_total) * 32];
    _kt_total* const _kt_shared = reinterpret_cast<_kt_total*>(_kt_memory);
        kerneltk::reduce_lanes<32>(_kt_reduce, _kt_t);
        if (threadIdx.x % 32 == 0) _kt_shared[threadIdx.x / 32] = _kt_t;
        __syncthreads();
        if (threadIdx.x < 32) {
            _kt_t = _kt_shared[threadIdx.x % 32];
            kerneltk::reduce_lanes<32>(_kt_reduce, _kt_t);
        }
    if (threadIdx.x == 0) {
        const _kt_index _kt_c0 = static_cast<_kt_index>(blockIdx.x);
            T* const _kt_q_y = kerneltk::advance(_kt_p_y, _kt_c0 * _kt_a._kt_k_y[0]);
            T _kt_y_y;
            _kt_post(_kt_t, 0, _kt_y_y);
            *(_kt_q_y) = _kt_y_y;
    }
}

#include <kerneltk/array_view.hpp>
#include <kerneltk/divide.hpp>
#include <kerneltk/memory.hpp>
#include <kerneltk/reduce.hpp>
typedef float T;
struct _kt_arguments {
    alignas(8) char* _kt_scratch;
    alignas(8) kerneltk::array_view<T, 1, true, int> w;
    alignas(8) T* _kt_p_x;
    alignas(8) double* _kt_p_y;
    alignas(8) long long* _kt_p_n;
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
    alignas(8) long long _kt_k_n[1];
    alignas(8) long long _kt_r_n[2];
    alignas(8) long long _kt_k__J[1];
    alignas(8) long long _kt_r__J[2];
    alignas(8) long long _kt_k__i[1];
    alignas(8) long long _kt_r__i[2];
    alignas(8) kerneltk::index_space<3, int> _kt_in;
    alignas(8) kerneltk::index_space<1, int> _kt_out;
    alignas(8) long long _kt_v_x[7];
};
using _kt_index = int;
typedef
#line 1 "reduce_type"
double
_type_reduce;
#line 41 "generated code"
#line 9999 "reduce_type"
static_assert(sizeof(_type_reduce) <= 128, "the totals may take 128 bytes at most");
#line 44 "generated code"
#line 9999 "reduce_type"
static_assert(__is_trivially_copyable(_type_reduce) && alignof(_type_reduce) <= 16, "on a GPU the totals must be trivially copyable, and aligned to 16 bytes at most");
#line 47 "generated code"
using _kt_total = _type_reduce;
extern "C" __global__ void __launch_bounds__(256)
indices(const __grid_constant__ _kt_arguments _kt_a) {
    const auto w = _kt_a.w;
    T* const _kt_p_x = _kt_a._kt_p_x;
    double* const _kt_p_y = _kt_a._kt_p_y;
    long long* const _kt_p_n = _kt_a._kt_p_n;
    auto _in_ind = _kt_a._kt_in;
    auto _out_ind = _kt_a._kt_out;
    const kerneltk::array_view<T, 3, false, int> _raw_x{_kt_p_x, static_cast<ptrdiff_t>(_kt_a._kt_v_x[0]), {static_cast<ptrdiff_t>(_kt_a._kt_v_x[1]), static_cast<ptrdiff_t>(_kt_a._kt_v_x[2]), static_cast<ptrdiff_t>(_kt_a._kt_v_x[3]), }, {static_cast<ptrdiff_t>(_kt_a._kt_v_x[4]), static_cast<ptrdiff_t>(_kt_a._kt_v_x[5]), static_cast<ptrdiff_t>(_kt_a._kt_v_x[6]), }};
    const auto _kt_map = [&](const ptrdiff_t _J, const ptrdiff_t _i, const T& x) -> _type_reduce {
        [[maybe_unused]] const ptrdiff_t _j = _J * static_cast<ptrdiff_t>(_kt_a._kt_outputs) + _i;
        _in_ind.set(_j);
        _out_ind.set(_i);
        return
#line 1 "map_expr"
static_cast<_type_reduce>(
#line 1 "map_expr"
_raw_x[_in_ind.get()] * w[_in_ind.get()[1]] - x * _j
);
#line 68 "generated code"
    };
    const auto _kt_reduce = [&](_type_reduce a, _type_reduce b) -> _type_reduce {
        return
#line 1 "reduce_expr"
(
#line 1 "reduce_expr"
a + b
);
#line 77 "generated code"
    };
    const auto _kt_identity = [&]() -> _type_reduce {
        return
#line 1 "identity"
static_cast<_type_reduce>(
#line 1 "identity"
0
);
#line 86 "generated code"
    };
    const auto _kt_post = [&](_type_reduce a, const ptrdiff_t _i, double& y, long long& n) {
        _out_ind.set(_i);
#line 1 "post_map_expr"
y = a * _out_ind.get()[0]; n += _i
        ;
#line 93 "generated code"
    };
    const int _kt_lane = threadIdx.x;
    T* _kt_b_x;
    ptrdiff_t _kt_number;
 {
        const _kt_index _kt_output = static_cast<_kt_index>(blockIdx.x);
        const _kt_index _kt_c0 = _kt_output;
        _kt_b_x = kerneltk::advance(_kt_p_x, _kt_c0 * _kt_a._kt_k_x[0]);
        _kt_number = _kt_c0 * _kt_a._kt_k__i[0];
    }
    const _kt_index _kt_work = static_cast<_kt_index>(_kt_a._kt_work);
    const _kt_index _kt_first = 0, _kt_last = _kt_work;
    _kt_total _kt_t = _kt_identity();
#pragma unroll 1
    for (_kt_index _kt_p = _kt_first + _kt_lane; _kt_p < _kt_last; _kt_p += 512) {
        alignas(16) T _kt_x_x[2][4];
        ptrdiff_t _kt_j[2];
#pragma unroll
        for (int _kt_u = 0; _kt_u < 2; ++_kt_u) {
            // Beyond the end the first vector is loaded again: a condition would put the loads apart.
            const _kt_index _kt_vector = _kt_p + _kt_u * 256 < _kt_last ? _kt_p + _kt_u * 256 : _kt_p;
            _kt_index _kt_e_rest = _kt_vector;
            const _kt_index _kt_e_q1 = _kt_a._kt_d_reduction[0].quotient(_kt_e_rest);
            const _kt_index _kt_e1 = _kt_e_rest - _kt_e_q1 * static_cast<_kt_index>(_kt_a._kt_d_reduction[0].divisor);
            _kt_e_rest = _kt_e_q1;
            const _kt_index _kt_e0 = _kt_e_rest;
            const _kt_index _kt_e = _kt_e1 * 4;
 {
            kerneltk::fetch<16, sizeof(_kt_x_x[_kt_u])>(_kt_x_x[_kt_u], kerneltk::advance(_kt_b_x, _kt_e0 * static_cast<_kt_index>(_kt_a._kt_r_x[0]) + _kt_e * static_cast<_kt_index>(_kt_a._kt_r_x[1])));
            }
            _kt_j[_kt_u] = _kt_e0 * static_cast<_kt_index>(_kt_a._kt_r__J[0]) + _kt_e * static_cast<_kt_index>(_kt_a._kt_r__J[1]);
        }
#pragma unroll
        for (int _kt_u = 0; _kt_u < 2; ++_kt_u) {
 {
                // A vector's own total first: fewer roundings follow one another, and there is no condition
                // between the vectors.
                constexpr int _kt_0 = 0;
                _type_reduce _kt_s = _kt_map(_kt_j[_kt_u] + _kt_0 * static_cast<_kt_index>(_kt_a._kt_r__J[1]), _kt_number, _kt_x_x[_kt_u][_kt_0]);
#pragma unroll
                for (int _kt_v = 1; _kt_v < 4; ++_kt_v) _kt_s = _kt_reduce(_kt_s, _kt_map(_kt_j[_kt_u] + _kt_v * static_cast<_kt_index>(_kt_a._kt_r__J[1]), _kt_number, _kt_x_x[_kt_u][_kt_v]));
                if (_kt_u == 0 || _kt_p + _kt_u * 256 < _kt_last) _kt_t = _kt_reduce(_kt_t, _kt_s);
            }
        }
    }
    alignas(16) __shared__ char _kt_memory[sizeof(_kt_total) * 8];
    _kt_total* const _kt_shared = reinterpret_cast<_kt_total*>(_kt_memory);
        kerneltk::reduce_lanes<32>(_kt_reduce, _kt_t);
        if (threadIdx.x % 32 == 0) _kt_shared[threadIdx.x / 32] = _kt_t;
        __syncthreads();
        if (threadIdx.x < 32) {
            _kt_t = _kt_shared[threadIdx.x % 8];
            kerneltk::reduce_lanes<8>(_kt_reduce, _kt_t);
        }
    if (threadIdx.x == 0) {
        const _kt_index _kt_c0 = static_cast<_kt_index>(blockIdx.x);
            double* const _kt_q_y = kerneltk::advance(_kt_p_y, _kt_c0 * _kt_a._kt_k_y[0]);
            double _kt_y_y;
            long long* const _kt_q_n = kerneltk::advance(_kt_p_n, _kt_c0 * _kt_a._kt_k_n[0]);
            long long _kt_y_n;
            _kt_y_n = *(_kt_q_n);
            _kt_post(_kt_t, _kt_number, _kt_y_y, _kt_y_n);
            *(_kt_q_y) = _kt_y_y;
            *(_kt_q_n) = _kt_y_n;
    }
}

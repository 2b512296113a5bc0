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
    const _kt_index _kt_outputs = static_cast<_kt_index>(_kt_a._kt_outputs), _kt_length = static_cast<_kt_index>(_kt_a._kt_length);
    const _kt_index _kt_first = static_cast<_kt_index>(blockIdx.x) * 128;
    const _kt_index _kt_elements = (_kt_outputs - _kt_first < 128 ? _kt_outputs - _kt_first : 128) * _kt_length;
    alignas(16) __shared__ char _kt_s_x[20480];
    {
        const auto* const _kt_from = reinterpret_cast<const uint4*>(_kt_p_x + _kt_first * _kt_length);
        const int _kt_vectors = static_cast<int>(_kt_elements * static_cast<_kt_index>(sizeof(T)) / 16);
        if (_kt_vectors > 0) {
            uint4 _kt_x[5];
            // Beyond the end the first vector is loaded again: a condition would put the loads apart.
#pragma unroll
            for (int _kt_u = 0; _kt_u < 5; ++_kt_u) _kt_x[_kt_u] = __ldg(_kt_from + (static_cast<int>(threadIdx.x) + _kt_u * 256 < _kt_vectors ? threadIdx.x + _kt_u * 256 : 0));
#pragma unroll
            for (int _kt_u = 0; _kt_u < 5; ++_kt_u) reinterpret_cast<uint4*>(_kt_s_x)[threadIdx.x + _kt_u * 256] = _kt_x[_kt_u];
        }
        // The last block's elements may end within a vector.
        __syncthreads();
        const int _kt_rest = _kt_vectors * static_cast<int>(16 / sizeof(T)) + threadIdx.x;
        if (_kt_rest < _kt_elements) reinterpret_cast<T*>(_kt_s_x)[_kt_rest] = _kt_p_x[_kt_first * _kt_length + _kt_rest];
    }
    __syncthreads();
    const int _kt_lane = threadIdx.x % 2;
#pragma unroll 1
    for (int _kt_m = threadIdx.x / 2; _kt_m < 128; _kt_m += 128) {
        const _kt_index _kt_c0 = _kt_first + _kt_m;
        _kt_total _kt_t = _kt_identity();
        if (_kt_c0 < _kt_outputs) {
#pragma unroll 4
            for (_kt_index _kt_e = _kt_lane; _kt_e < _kt_length; _kt_e += 2) {
                alignas(16) T _kt_x_x[1];
                _kt_x_x[0] = reinterpret_cast<const T*>(_kt_s_x)[_kt_m * _kt_length + _kt_e];
#pragma unroll
                for (int _kt_v = 0; _kt_v < 1; ++_kt_v) { _kt_t = _kt_reduce(_kt_t, _kt_map(0, 0, _kt_x_x[0])); }
            }
        }
        kerneltk::reduce_lanes<2>(_kt_reduce, _kt_t);
        if (_kt_c0 < _kt_outputs && _kt_lane == 0) {
            T* const _kt_q_y = kerneltk::advance(_kt_p_y, _kt_c0 * _kt_a._kt_k_y[0]);
            T _kt_y_y;
            _kt_post(_kt_t, 0, _kt_y_y);
            *(_kt_q_y) = _kt_y_y;
        }
    }
}

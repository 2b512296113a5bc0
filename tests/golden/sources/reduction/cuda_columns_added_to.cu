#include <kerneltk/memory.hpp>
#include <kerneltk/reduce.hpp>
typedef unsigned char T;
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
using _kt_total = unsigned int;
extern "C" __global__ void __launch_bounds__(240)
add_to(const __grid_constant__ _kt_arguments _kt_a) {
    T* const _kt_p_x = _kt_a._kt_p_x;
    T* const _kt_p_y = _kt_a._kt_p_y;
    const auto _kt_map = [&](const ptrdiff_t , const ptrdiff_t , const T& x) -> unsigned int {
        return
#line 1 "map_expr"
kerneltk::as_word<_type_reduce>(
#line 1 "map_expr"
x
);
#line 42 "generated code"
    };
    const auto _kt_reduce = [&](unsigned int a, unsigned int b) -> unsigned int {
        return
#line 1 "reduce_expr"
(
#line 1 "reduce_expr"
a + b
);
#line 51 "generated code"
    };
    const auto _kt_identity = [&]() -> unsigned int {
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
y += a
        ;
#line 66 "generated code"
    };
    const int _kt_x = threadIdx.x % 48, _kt_y = threadIdx.x / 48;
    const _kt_index _kt_columns = static_cast<_kt_index>(_kt_a._kt_vectors);
    const _kt_index _kt_wanted = static_cast<_kt_index>(blockIdx.x) * 48 + _kt_x;
    T* _kt_b_x;
 {
        // Threads beyond the end do the last outputs again: every thread takes part in the barriers.
        const _kt_index _kt_own = _kt_wanted;
        const _kt_index _kt_column = _kt_own < _kt_columns ? _kt_own : _kt_columns - 1;
        const _kt_index _kt_c0 = _kt_column;
        const _kt_index _kt_wanted_begin = _kt_c0 * 8, _kt_last_begin = static_cast<_kt_index>(_kt_a._kt_outer[0]) - 8;
        const _kt_index _kt_begin = _kt_wanted_begin < _kt_last_begin ? _kt_wanted_begin : _kt_last_begin;
        _kt_b_x = kerneltk::advance(_kt_p_x, _kt_begin * _kt_a._kt_k_x[0]);
    }
    kerneltk::memory_range _kt_range_x(_kt_p_x);
    _kt_range_x.extend((_kt_a._kt_outer[0] - 1) * _kt_a._kt_k_x[0]);
    _kt_range_x.extend((_kt_a._kt_reduction[0] - 1) * _kt_a._kt_r_x[0]);
    const _kt_index _kt_work = static_cast<_kt_index>(_kt_a._kt_work);
    const _kt_index _kt_first = 0, _kt_last = _kt_work;
    struct alignas(kerneltk::alignment_of<sizeof(_kt_total) * 8, alignof(_kt_total)>) _kt_totals {
        _kt_total of[8];
    } _kt_t = {{_kt_identity(), _kt_identity(), _kt_identity(), _kt_identity(), _kt_identity(), _kt_identity(), _kt_identity(), _kt_identity(), }};
#pragma unroll 1
    for (_kt_index _kt_r = _kt_first + _kt_y; _kt_r < _kt_last; _kt_r += 15) {
        alignas(16) T _kt_x_x[3][8];
        const T* _kt_f_x[3];
        bool _kt_is_within = true;
#pragma unroll
        for (int _kt_u = 0; _kt_u < 3; ++_kt_u) {
            // Beyond the end the first row is loaded again: a condition would put the loads apart.
            const _kt_index _kt_row = _kt_r + _kt_u * 5 < _kt_last ? _kt_r + _kt_u * 5 : _kt_r;
            const _kt_index _kt_e0 = _kt_row;
            _kt_f_x[_kt_u] = kerneltk::advance(_kt_b_x, _kt_e0 * static_cast<_kt_index>(_kt_a._kt_r_x[0]));
            _kt_is_within &= _kt_range_x.has_inside<sizeof(_kt_x_x[_kt_u])>(_kt_f_x[_kt_u]);
        }
        if (_kt_is_within) {
#pragma unroll
            for (int _kt_u = 0; _kt_u < 3; ++_kt_u)
 kerneltk::fetch_shifted<sizeof(T) * 8>(_kt_x_x[_kt_u], _kt_f_x[_kt_u]);
        }
        else {
#pragma unroll
            for (int _kt_u = 0; _kt_u < 3; ++_kt_u)
 kerneltk::fetch_bytes<sizeof(T) * 8>(_kt_x_x[_kt_u], _kt_f_x[_kt_u], _kt_range_x);
        }
#pragma unroll
        for (int _kt_u = 0; _kt_u < 3; ++_kt_u) {
            if (_kt_u == 0 || _kt_r + _kt_u * 5 < _kt_last) {
#pragma unroll
            for (int _kt_v = 0; _kt_v < 8; ++_kt_v) _kt_t.of[_kt_v] = _kt_reduce(_kt_t.of[_kt_v], _kt_map(0, 0, _kt_x_x[_kt_u][_kt_v]));
            }
        }
    }
    alignas(16) __shared__ char _kt_memory[sizeof(_kt_totals) * 240];
    _kt_totals* const _kt_shared = reinterpret_cast<_kt_totals*>(_kt_memory);
    _kt_total* const _kt_flat = reinterpret_cast<_kt_total*>(_kt_memory);
        _kt_shared[threadIdx.x] = _kt_t;
        __syncthreads();
#pragma unroll 1
        for (int _kt_left = 5; _kt_left > 1;) {
            const int _kt_half = (_kt_left + 1) / 2;
#pragma unroll 1
            for (int _kt_k = threadIdx.x; _kt_k < (_kt_left - _kt_half) * 384; _kt_k += 240)
                _kt_flat[_kt_k] = _kt_reduce(_kt_flat[_kt_k], _kt_flat[_kt_half * 384 + _kt_k]);
            _kt_left = _kt_half;
            __syncthreads();
        }
        _kt_t = _kt_shared[threadIdx.x];
    if (_kt_y == 0 && _kt_wanted < _kt_columns) {
        const _kt_index _kt_c0 = _kt_wanted;
        const _kt_index _kt_wanted_begin = _kt_c0 * 8, _kt_last_begin = static_cast<_kt_index>(_kt_a._kt_outer[0]) - 8;
        const _kt_index _kt_begin = _kt_wanted_begin < _kt_last_begin ? _kt_wanted_begin : _kt_last_begin;
        const int _kt_first_own = static_cast<int>(_kt_wanted_begin - _kt_begin);
        T* const _kt_q_y = kerneltk::advance(_kt_p_y, _kt_begin * _kt_a._kt_k_y[0]);
        alignas(16) T _kt_z_y[8];
#pragma unroll
            for (int _kt_v = 0; _kt_v < 8; ++_kt_v) if (_kt_v >= _kt_first_own) { _kt_z_y[_kt_v] = *(kerneltk::advance(_kt_q_y, _kt_v * static_cast<_kt_index>(_kt_a._kt_k_y[0]))); }
#pragma unroll
            for (int _kt_v = 0; _kt_v < 8; ++_kt_v) if (_kt_v >= _kt_first_own) _kt_post(_kt_t.of[_kt_v], 0, _kt_z_y[_kt_v]);
        if (_kt_first_own == 0) kerneltk::copy<1, sizeof(_kt_z_y)>(_kt_q_y, _kt_z_y);
        else
#pragma unroll
            for (int _kt_v = 0; _kt_v < 8; ++_kt_v) if (_kt_v >= _kt_first_own) { *(kerneltk::advance(_kt_q_y, _kt_v * static_cast<_kt_index>(_kt_a._kt_k_y[0]))) = _kt_z_y[_kt_v]; }
    }
}

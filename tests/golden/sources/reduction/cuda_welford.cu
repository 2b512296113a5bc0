#include <kerneltk/real_overloads.hpp>
#include <kerneltk/memory.hpp>
#include <kerneltk/reduce.hpp>
KERNELTK_REAL_1(double, sqrt)
typedef float T;
#line 1 "preamble"
struct moments { float mean, squares, count; };
__device__ moments merged(const moments& p, const moments& q) {
    const float n = p.count + q.count, d = q.mean - p.mean;
    return {p.mean + d * q.count / n,
            p.squares + q.squares + d * d * p.count * q.count / n, n};
}
#line 14 "generated code"
struct _kt_arguments {
    alignas(8) char* _kt_scratch;
    alignas(8) T* _kt_p_x;
    alignas(8) T* _kt_p_m;
    alignas(8) T* _kt_p_s;
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
    alignas(8) long long _kt_k_m[1];
    alignas(8) long long _kt_r_m[1];
    alignas(8) long long _kt_k_s[1];
    alignas(8) long long _kt_r_s[1];
};
using _kt_index = int;
typedef
#line 1 "reduce_type"
moments
_type_reduce;
#line 40 "generated code"
#line 9999 "reduce_type"
static_assert(sizeof(_type_reduce) <= 128, "the totals may take 128 bytes at most");
#line 43 "generated code"
#line 9999 "reduce_type"
static_assert(__is_trivially_copyable(_type_reduce) && alignof(_type_reduce) <= 16, "on a GPU the totals must be trivially copyable, and aligned to 16 bytes at most");
#line 46 "generated code"
using _kt_total = kerneltk::total<_type_reduce>;
extern "C" __global__ void __launch_bounds__(224)
welford(const __grid_constant__ _kt_arguments _kt_a) {
    T* const _kt_p_x = _kt_a._kt_p_x;
    T* const _kt_p_m = _kt_a._kt_p_m;
    T* const _kt_p_s = _kt_a._kt_p_s;
    const auto _kt_map = [&](const ptrdiff_t , const ptrdiff_t , const T& x) -> _type_reduce {
        return
#line 1 "map_expr"
_type_reduce{
#line 1 "map_expr"
 (float)x, 0, 1 
};
#line 60 "generated code"
    };
    const auto _kt_reduce = [&](_type_reduce a, _type_reduce b) -> _type_reduce {
        return
#line 1 "reduce_expr"
(
#line 1 "reduce_expr"
merged(a, b)
);
#line 69 "generated code"
    };
    const auto _kt_post = [&](_type_reduce a, const ptrdiff_t , T& m, T& s) {
#line 1 "post_map_expr"
m = a.mean; s = sqrt(a.squares / a.count);
        ;
#line 75 "generated code"
    };
    const auto _kt_merge = [&](_kt_total a, const _kt_total& b) {
        a.kt_merge(_kt_reduce, b);
        return a;
    };
    const unsigned int _kt_split = gridDim.y, _kt_part = blockIdx.y;
    unsigned int* const _kt_counter = reinterpret_cast<unsigned int*>(_kt_a._kt_scratch) + blockIdx.x;
    const int _kt_x = threadIdx.x % 32, _kt_y = threadIdx.x / 32;
    const _kt_index _kt_wanted = static_cast<_kt_index>(blockIdx.x) * 32 + _kt_x;
    T* _kt_b_x;
 {
        // Threads beyond the end do the last outputs again: every thread takes part in the barriers.
        const _kt_index _kt_column = _kt_wanted;
        const _kt_index _kt_c0 = _kt_column;
        _kt_b_x = kerneltk::advance(_kt_p_x, _kt_c0 * _kt_a._kt_k_x[0]);
    }
    const _kt_index _kt_work = static_cast<_kt_index>(_kt_a._kt_work);
    // Blocks take turns: what they read last is at the end of memory, where the next kernel may begin.
    const _kt_index _kt_first = static_cast<_kt_index>(_kt_part) * 56, _kt_last = _kt_work;
    struct alignas(kerneltk::alignment_of<sizeof(_kt_total) * 1, alignof(_kt_total)>) _kt_totals {
        _kt_total of[1];
    } _kt_t = {{_kt_total(), }};
#pragma unroll 1
    for (_kt_index _kt_r = _kt_first + _kt_y; _kt_r < _kt_last; _kt_r += static_cast<_kt_index>(_kt_split) * 56) {
        alignas(16) T _kt_x_x[8][1];
#pragma unroll
        for (int _kt_u = 0; _kt_u < 8; ++_kt_u) {
            // Beyond the end the first row is loaded again: a condition would put the loads apart.
            const _kt_index _kt_row = _kt_r + _kt_u * 7 < _kt_last ? _kt_r + _kt_u * 7 : _kt_r;
            const _kt_index _kt_e0 = _kt_row;
            kerneltk::fetch<4, 4>(&_kt_x_x[_kt_u][0], kerneltk::advance(_kt_b_x, _kt_e0 * static_cast<_kt_index>(_kt_a._kt_r_x[0])));
        }
#pragma unroll
        for (int _kt_u = 0; _kt_u < 8; ++_kt_u) {
            if (_kt_u == 0 || _kt_r + _kt_u * 7 < _kt_last) {
#pragma unroll
            for (int _kt_v = 0; _kt_v < 1; ++_kt_v) _kt_t.of[_kt_v].kt_add(_kt_reduce, _kt_map(0, 0, _kt_x_x[_kt_u][0]));
            }
        }
    }
    alignas(16) __shared__ char _kt_memory[sizeof(_kt_totals) * 224];
    _kt_totals* const _kt_shared = reinterpret_cast<_kt_totals*>(_kt_memory);
    _kt_total* const _kt_flat = reinterpret_cast<_kt_total*>(_kt_memory);
#pragma unroll 1
    for (bool _kt_is_last = false;; _kt_is_last = true) {
        _kt_shared[threadIdx.x] = _kt_t;
        __syncthreads();
#pragma unroll 1
        for (int _kt_left = 7; _kt_left > 1;) {
            const int _kt_half = (_kt_left + 1) / 2;
#pragma unroll 1
            for (int _kt_k = threadIdx.x; _kt_k < (_kt_left - _kt_half) * 32; _kt_k += 224)
                _kt_flat[_kt_k] = _kt_merge(_kt_flat[_kt_k], _kt_flat[_kt_half * 32 + _kt_k]);
            _kt_left = _kt_half;
            __syncthreads();
        }
        _kt_t = _kt_shared[threadIdx.x];
        if (_kt_is_last) break;
        auto* const _kt_slot = reinterpret_cast<kerneltk::published<_kt_totals>*>(_kt_a._kt_scratch + 65536) + blockIdx.x * 32 + _kt_x;
        const unsigned int _kt_step = gridDim.x * 32;
        if (_kt_y == 0) kerneltk::publish(_kt_slot + _kt_part * _kt_step, _kt_t);
        if (!kerneltk::is_last_block(_kt_counter, _kt_split)) return;
        _kt_t = {{_kt_total(), }};
#pragma unroll 1
        for (unsigned int _kt_k = _kt_y; _kt_k < _kt_split; _kt_k += 28) {
            kerneltk::words<_kt_totals> _kt_other[4];
#pragma unroll
            for (int _kt_u = 0; _kt_u < 4; ++_kt_u)
                kerneltk::read_published(_kt_other[_kt_u], _kt_slot + (_kt_k + _kt_u * 7 < _kt_split ? _kt_k + _kt_u * 7 : _kt_k) * _kt_step);
#pragma unroll
            for (int _kt_u = 0; _kt_u < 4; ++_kt_u) {
                if (_kt_u == 0 || _kt_k + _kt_u * 7 < _kt_split) {
#pragma unroll
            for (int _kt_v = 0; _kt_v < 1; ++_kt_v) _kt_t.of[_kt_v] = _kt_merge(_kt_t.of[_kt_v], _kt_other[_kt_u].value.of[_kt_v]);
                }
            }
        }
    }
    if (_kt_y == 0) {
 {
        const _kt_index _kt_column = _kt_wanted;
        {
            const _kt_index _kt_c0 = _kt_column;
            T* const _kt_q_m = kerneltk::advance(_kt_p_m, _kt_c0 * _kt_a._kt_k_m[0]);
            T _kt_y_m;
            T* const _kt_q_s = kerneltk::advance(_kt_p_s, _kt_c0 * _kt_a._kt_k_s[0]);
            T _kt_y_s;
            _kt_post(_kt_t.of[0].kt_get(), 0, _kt_y_m, _kt_y_s);
            *(_kt_q_m) = _kt_y_m;
            *(_kt_q_s) = _kt_y_s;
        }
    }
    }
}

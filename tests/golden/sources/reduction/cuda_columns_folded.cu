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
extern "C" __global__ void __launch_bounds__(500)
total(const __grid_constant__ _kt_arguments _kt_a) {
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
y = a
        ;
#line 66 "generated code"
    };
    const unsigned int _kt_split = gridDim.y, _kt_part = blockIdx.y;
    unsigned int* const _kt_counter = reinterpret_cast<unsigned int*>(_kt_a._kt_scratch) + blockIdx.x;
    const int _kt_x = threadIdx.x % 25, _kt_y = threadIdx.x / 25;
    const _kt_index _kt_wanted = static_cast<_kt_index>(blockIdx.x) * 25 + _kt_x;
    T* _kt_b_x;
 {
        // Threads beyond the end do the last outputs again: every thread takes part in the barriers.
        const _kt_index _kt_column = _kt_wanted;
        const _kt_index _kt_c0 = _kt_column;
        _kt_b_x = kerneltk::advance(_kt_p_x, _kt_c0 * _kt_a._kt_k_x[0] * 16);
    }
    const _kt_index _kt_work = static_cast<_kt_index>(_kt_a._kt_work);
    // Blocks take turns: what they read last is at the end of memory, where the next kernel may begin.
    const _kt_index _kt_first = static_cast<_kt_index>(_kt_part) * 80, _kt_last = _kt_work;
    struct alignas(kerneltk::alignment_of<sizeof(_kt_total) * 16, alignof(_kt_total)>) _kt_totals {
        _kt_total of[16];
    } _kt_t = {{_kt_identity(), _kt_identity(), _kt_identity(), _kt_identity(), _kt_identity(), _kt_identity(), _kt_identity(), _kt_identity(), _kt_identity(), _kt_identity(), _kt_identity(), _kt_identity(), _kt_identity(), _kt_identity(), _kt_identity(), _kt_identity(), }};
#pragma unroll 1
    for (_kt_index _kt_r = _kt_first + _kt_y; _kt_r < _kt_last; _kt_r += static_cast<_kt_index>(_kt_split) * 80) {
        alignas(16) T _kt_x_x[4][16];
#pragma unroll
        for (int _kt_u = 0; _kt_u < 4; ++_kt_u) {
            // Beyond the end the first row is loaded again: a condition would put the loads apart.
            const _kt_index _kt_row = _kt_r + _kt_u * 20 < _kt_last ? _kt_r + _kt_u * 20 : _kt_r;
            const _kt_index _kt_e0 = _kt_row;
            kerneltk::fetch<16, sizeof(_kt_x_x[_kt_u])>(_kt_x_x[_kt_u], kerneltk::advance(_kt_b_x, _kt_e0 * static_cast<_kt_index>(_kt_a._kt_r_x[0])));
        }
#pragma unroll
        for (int _kt_u = 0; _kt_u < 4; ++_kt_u) {
            if (_kt_u == 0 || _kt_r + _kt_u * 20 < _kt_last) {
#pragma unroll
            for (int _kt_v = 0; _kt_v < 16; ++_kt_v) _kt_t.of[_kt_v] = _kt_reduce(_kt_t.of[_kt_v], _kt_map(0, 0, _kt_x_x[_kt_u][_kt_v]));
            }
        }
    }
    alignas(16) __shared__ char _kt_memory[sizeof(_kt_totals) * 500];
    _kt_totals* const _kt_shared = reinterpret_cast<_kt_totals*>(_kt_memory);
    _kt_total* const _kt_flat = reinterpret_cast<_kt_total*>(_kt_memory);
#pragma unroll 1
    for (bool _kt_is_last = false;; _kt_is_last = true) {
        _kt_shared[threadIdx.x] = _kt_t;
        __syncthreads();
#pragma unroll 1
        for (int _kt_left = 20; _kt_left > 1;) {
            const int _kt_half = (_kt_left + 1) / 2;
#pragma unroll 1
            for (int _kt_k = threadIdx.x; _kt_k < (_kt_left - _kt_half) * 400; _kt_k += 500)
                _kt_flat[_kt_k] = _kt_reduce(_kt_flat[_kt_k], _kt_flat[_kt_half * 400 + _kt_k]);
            _kt_left = _kt_half;
            __syncthreads();
        }
        _kt_t = _kt_shared[threadIdx.x];
        if (_kt_is_last) break;
        auto* const _kt_slot = reinterpret_cast<kerneltk::published<_kt_totals>*>(_kt_a._kt_scratch + 65536) + blockIdx.x * 25 + _kt_x;
        const unsigned int _kt_step = gridDim.x * 25;
        if (_kt_y == 0) kerneltk::publish(_kt_slot + _kt_part * _kt_step, _kt_t);
        if (!kerneltk::is_last_block(_kt_counter, _kt_split)) return;
        _kt_t = {{_kt_identity(), _kt_identity(), _kt_identity(), _kt_identity(), _kt_identity(), _kt_identity(), _kt_identity(), _kt_identity(), _kt_identity(), _kt_identity(), _kt_identity(), _kt_identity(), _kt_identity(), _kt_identity(), _kt_identity(), _kt_identity(), }};
#pragma unroll 1
        for (unsigned int _kt_k = _kt_y; _kt_k < _kt_split; _kt_k += 20) {
            kerneltk::words<_kt_totals> _kt_other[1];
#pragma unroll
            for (int _kt_u = 0; _kt_u < 1; ++_kt_u)
                kerneltk::read_published(_kt_other[_kt_u], _kt_slot + (_kt_k) * _kt_step);
#pragma unroll
            for (int _kt_u = 0; _kt_u < 1; ++_kt_u) {
                {
#pragma unroll
            for (int _kt_v = 0; _kt_v < 16; ++_kt_v) _kt_t.of[_kt_v] = _kt_reduce(_kt_t.of[_kt_v], _kt_other[_kt_u].value.of[_kt_v]);
                }
            }
        }
    }
    if (_kt_y == 0)
#pragma unroll
            for (int _kt_v = 0; _kt_v < 16; ++_kt_v) _kt_flat[_kt_x * 16 + _kt_v] = _kt_t.of[_kt_v];
    __syncthreads();
#pragma unroll 1
    for (int _kt_c = threadIdx.x; _kt_c < 50; _kt_c += 500) {
        _kt_total _kt_s = _kt_flat[_kt_c];
#pragma unroll 1
        for (int _kt_m = 1; _kt_m < 8; ++_kt_m) _kt_s = _kt_reduce(_kt_s, _kt_flat[_kt_m * 50 + _kt_c]);
        // Rows that do not make one of the loop's.
        const int _kt_rest = static_cast<int>(_kt_a._kt_length % 8);
#pragma unroll 4
        for (int _kt_m = 0; _kt_m < _kt_rest; ++_kt_m) {
            const _kt_index _kt_e = _kt_m * 50 + _kt_c - _kt_x * 16;
            T _kt_x_x[1];
            kerneltk::fetch<1, 1>(&_kt_x_x[0], kerneltk::advance(_kt_b_x, _kt_work * static_cast<_kt_index>(_kt_a._kt_r_x[0]) + _kt_e * static_cast<_kt_index>(_kt_a._kt_k_x[0])));
            _kt_s = _kt_reduce(_kt_s, _kt_map(0, 0, _kt_x_x[0]));
        }
        const _kt_index _kt_c0 = static_cast<_kt_index>(blockIdx.x) * 25;
            T* const _kt_q_y = kerneltk::advance(_kt_p_y, _kt_c0 * _kt_a._kt_k_y[0] * 16 + _kt_c * _kt_a._kt_k_y[0]);
            T _kt_y_y;
            _kt_post(_kt_s, 0, _kt_y_y);
            *(_kt_q_y) = _kt_y_y;
    }
}

#include <kerneltk/core.hpp>
#include <kerneltk/memory.hpp>
#include <kerneltk/host_reduce.hpp>
typedef float T;
struct _kt_arguments {
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
    alignas(8) long long _kt_k_x[1];
    alignas(8) long long _kt_r_x[2];
    alignas(8) long long _kt_k_y[1];
    alignas(8) long long _kt_r_y[2];
};
typedef T _type_reduce;
#line 9999 "out_params"
static_assert(sizeof(_type_reduce) <= 128, "the totals may take 128 bytes at most");
#line 25 "generated code"
extern "C" __attribute__((visibility("default"))) void _kt_entry_total(
    const void* _kt_block, long long _kt_begin, long long _kt_end) {
    const _kt_arguments& _kt_a = *static_cast<const _kt_arguments*>(_kt_block);
    T* const _kt_p_x = _kt_a._kt_p_x;
    T* const _kt_p_y = _kt_a._kt_p_y;
    const auto _kt_map = [&](const ptrdiff_t , const ptrdiff_t , const T& x) __attribute__((always_inline)) -> _type_reduce {
        return
#line 1 "map_expr"
static_cast<_type_reduce>(
#line 1 "map_expr"
x
);
#line 38 "generated code"
    };
    const auto _kt_reduce = [&](_type_reduce a, _type_reduce b) __attribute__((always_inline)) -> _type_reduce {
        return
#line 1 "reduce_expr"
(
#line 1 "reduce_expr"
a + b
);
#line 47 "generated code"
    };
    const auto _kt_identity = [&]() -> _type_reduce {
        return
#line 1 "identity"
static_cast<_type_reduce>(
#line 1 "identity"
0
);
#line 56 "generated code"
    };
    const auto _kt_post = [&](_type_reduce a, const ptrdiff_t , T& y) {
#line 1 "post_map_expr"
y = a
        ;
#line 62 "generated code"
    };
    const long long _kt_tiles = _kt_a._kt_outputs;
    kerneltk::row_totals<_type_reduce, kerneltk::side_by_side<_type_reduce>(256), true, true> _kt_totals;
    const kerneltk::shared_totals<_type_reduce> _kt_shared(
        static_cast<const char*>(_kt_block) + (sizeof(_kt_arguments) + 15) / 16 * 16, _kt_tiles);
    long long _kt_part = _kt_begin / _kt_tiles;
    long long _kt_tile = _kt_begin - _kt_part * _kt_tiles;
    long long _kt_rest = _kt_tile;
    long long _kt_c0 = _kt_rest;
    for (long long _kt_item = _kt_begin; _kt_item < _kt_end; ++_kt_item) {
        const long long _kt_first_lane = _kt_c0;
        T* const _kt_o_x = kerneltk::advance(_kt_p_x, _kt_first_lane * _kt_a._kt_k_x[0]);
        T* const _kt_o_y = kerneltk::advance(_kt_p_y, _kt_first_lane * _kt_a._kt_k_y[0]);
        const long long _kt_first = _kt_part * _kt_a._kt_chunk;
        const long long _kt_count = _kt_a._kt_length - _kt_first < _kt_a._kt_chunk ? _kt_a._kt_length - _kt_first : _kt_a._kt_chunk;
        _kt_rest = _kt_first;
        long long _kt_d1 = _kt_rest % _kt_a._kt_reduction[1];
        _kt_rest /= _kt_a._kt_reduction[1];
        long long _kt_d0 = _kt_rest;
        _kt_totals.begin(_kt_identity);
        for (long long _kt_left = _kt_count; _kt_left > 0;) {
            T* const _kt_q_x = kerneltk::advance(_kt_o_x, _kt_d0 * _kt_a._kt_r_x[0] + _kt_d1 * _kt_a._kt_r_x[1]);
            long long _kt_run = _kt_a._kt_reduction[1] - _kt_d1;
            if (_kt_run > _kt_left) _kt_run = _kt_left;
        const int _kt_start = 0;
        const auto _kt_step = [&](const _type_reduce& _kt_total, long long _kt_l) __attribute__((always_inline)) -> _type_reduce {
            T _kt_v_x = kerneltk::get(kerneltk::advance(_kt_q_x, 0 + _kt_l * 4));
            return _kt_reduce(_kt_total, _kt_map(0, 0, _kt_v_x));
        };
            const auto _kt_ahead = [&](long long _kt_from, long long _kt_to) __attribute__((always_inline)) {
                kerneltk::prefetch(_kt_q_x + _kt_from, _kt_q_x + _kt_to);
            };
            _kt_totals.take(_kt_identity, _kt_start, _kt_step, _kt_ahead, _kt_reduce, _kt_run);
            _kt_left -= _kt_run;
            _kt_d1 = 0;
            ++_kt_d0;
        }
        _type_reduce* const _kt_all = _kt_shared.totals + _kt_tile * _kt_a._kt_split;
        kerneltk::put(_kt_all + _kt_part, _kt_totals.end(_kt_reduce));
        if (_kt_shared.arrive(_kt_tile, _kt_a._kt_split)) {
            kerneltk::fold(_kt_all, _kt_a._kt_split, 1, _kt_reduce);
            T* const _kt_w_y = kerneltk::advance(_kt_o_y, 0 * 0);
            T _kt_v_y;
            _kt_post(*_kt_all, 0, _kt_v_y);
            *_kt_w_y = _kt_v_y;
        }
        ++_kt_c0;
        if (++_kt_tile == _kt_tiles) {
            _kt_tile = 0;
            ++_kt_part;
            _kt_c0 = 0;
        }
    }
}

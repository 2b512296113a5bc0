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
    alignas(8) long long _kt_reduction[1];
    alignas(8) long long _kt_k_x[1];
    alignas(8) long long _kt_r_x[1];
    alignas(8) long long _kt_k_y[1];
    alignas(8) long long _kt_r_y[1];
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
    const long long _kt_width = _kt_a._kt_outer[0];
    const long long _kt_tile = _kt_begin;
    long long _kt_rest = _kt_tile;
    long long _kt_c0 = _kt_rest;
// A work item is an output: its elements are so few that their number is part of the source.
    for (long long _kt_item = _kt_begin; _kt_item < _kt_end;) {
        const long long _kt_first_lane = _kt_c0, _kt_left = _kt_end - _kt_item;
        const long long _kt_lanes = _kt_width - _kt_first_lane < _kt_left ? _kt_width - _kt_first_lane : _kt_left;
        T* const _kt_q_x = kerneltk::advance(_kt_p_x, _kt_first_lane * _kt_a._kt_k_x[0]);
        T* const _kt_o_y = kerneltk::advance(_kt_p_y, _kt_first_lane * _kt_a._kt_k_y[0]);
        const int _kt_start = 0;
        const auto _kt_step = [&](const _type_reduce& _kt_total, long long _kt_r, long long _kt_l) __attribute__((always_inline)) -> _type_reduce {
            T _kt_v_x = kerneltk::get(kerneltk::advance(_kt_q_x, _kt_r * 4 + _kt_l * 16));
            return _kt_reduce(_kt_total, _kt_map(0, 0, _kt_v_x));
        };
#if defined(__clang__)
#pragma clang loop vectorize(assume_safety)
#elif defined(__GNUC__)
#pragma GCC ivdep
#endif
        for (long long _kt_l = 0; _kt_l < _kt_lanes; ++_kt_l) {
            kerneltk::storage_for<_type_reduce, 1> _kt_storage;
            _type_reduce* const _kt_total = _kt_storage.begin();
            kerneltk::put<_type_reduce>(_kt_total, _kt_identity());
            for (int _kt_r = 0; _kt_r < 4; ++_kt_r)
                kerneltk::put<_type_reduce>(_kt_total, _kt_step(*_kt_total, _kt_r, _kt_l));
            T* const _kt_w_y = kerneltk::advance(_kt_o_y, _kt_l * 4);
            T _kt_v_y;
            _kt_post(*_kt_total, 0, _kt_v_y);
            *_kt_w_y = _kt_v_y;
        }
        _kt_item += _kt_lanes;
        _kt_c0 = 0;
    }
}

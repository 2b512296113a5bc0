#include <kerneltk/core.hpp>
#include <kerneltk/array_view.hpp>
#include <kerneltk/memory.hpp>
#include <kerneltk/host_reduce.hpp>
typedef float T;
struct _kt_arguments {
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
typedef
#line 1 "reduce_type"
double
_type_reduce;
#line 38 "generated code"
#line 9999 "reduce_type"
static_assert(sizeof(_type_reduce) <= 128, "the totals may take 128 bytes at most");
#line 41 "generated code"
extern "C" __attribute__((visibility("default"))) void _kt_entry_indices(
    const void* _kt_block, long long _kt_begin, long long _kt_end) {
    const _kt_arguments& _kt_a = *static_cast<const _kt_arguments*>(_kt_block);
    const auto w = _kt_a.w;
    T* const _kt_p_x = _kt_a._kt_p_x;
    double* const _kt_p_y = _kt_a._kt_p_y;
    long long* const _kt_p_n = _kt_a._kt_p_n;
    auto _in_ind = _kt_a._kt_in;
    auto _out_ind = _kt_a._kt_out;
    const kerneltk::array_view<T, 3, false, int> _raw_x{_kt_p_x, static_cast<ptrdiff_t>(_kt_a._kt_v_x[0]), {static_cast<ptrdiff_t>(_kt_a._kt_v_x[1]), static_cast<ptrdiff_t>(_kt_a._kt_v_x[2]), static_cast<ptrdiff_t>(_kt_a._kt_v_x[3]), }, {static_cast<ptrdiff_t>(_kt_a._kt_v_x[4]), static_cast<ptrdiff_t>(_kt_a._kt_v_x[5]), static_cast<ptrdiff_t>(_kt_a._kt_v_x[6]), }};
    const auto _kt_map = [&](const ptrdiff_t _J, const ptrdiff_t _i, const T& x) __attribute__((always_inline)) -> _type_reduce {
        [[maybe_unused]] const ptrdiff_t _j = _J * static_cast<ptrdiff_t>(_kt_a._kt_outputs) + _i;
        _in_ind.set(_j);
        _out_ind.set(_i);
        return
#line 1 "map_expr"
static_cast<_type_reduce>(
#line 1 "map_expr"
_raw_x[_in_ind.get()] * w[_in_ind.get()[1]] - x * _j
);
#line 62 "generated code"
    };
    const auto _kt_reduce = [&](_type_reduce a, _type_reduce b) __attribute__((always_inline)) -> _type_reduce {
        return
#line 1 "reduce_expr"
(
#line 1 "reduce_expr"
a + b
);
#line 71 "generated code"
    };
    const auto _kt_identity = [&]() -> _type_reduce {
        return
#line 1 "identity"
static_cast<_type_reduce>(
#line 1 "identity"
0
);
#line 80 "generated code"
    };
    const auto _kt_post = [&](_type_reduce a, const ptrdiff_t _i, double& y, long long& n) {
        _out_ind.set(_i);
#line 1 "post_map_expr"
y = a * _out_ind.get()[0]; n += _i
        ;
#line 87 "generated code"
    };
    const long long _kt_tiles = _kt_a._kt_outputs;
    kerneltk::row_totals<_type_reduce, kerneltk::side_by_side<_type_reduce>(256), true, true> _kt_totals;
    const long long _kt_tile = _kt_begin;
    long long _kt_rest = _kt_tile;
    long long _kt_c0 = _kt_rest;
    for (long long _kt_item = _kt_begin; _kt_item < _kt_end; ++_kt_item) {
        const long long _kt_first_lane = _kt_c0;
        T* const _kt_o_x = kerneltk::advance(_kt_p_x, _kt_first_lane * _kt_a._kt_k_x[0]);
        double* const _kt_o_y = kerneltk::advance(_kt_p_y, _kt_first_lane * _kt_a._kt_k_y[0]);
        long long* const _kt_o_n = kerneltk::advance(_kt_p_n, _kt_first_lane * _kt_a._kt_k_n[0]);
        const long long _kt_o__J = _kt_first_lane * _kt_a._kt_k__J[0];
        const long long _kt_o__i = _kt_first_lane * _kt_a._kt_k__i[0];
        const long long _kt_count = _kt_a._kt_length;
        long long _kt_d0 = 0, _kt_d1 = 0;
        _kt_totals.begin(_kt_identity);
        for (long long _kt_left = _kt_count; _kt_left > 0;) {
            T* const _kt_q_x = kerneltk::advance(_kt_o_x, _kt_d0 * _kt_a._kt_r_x[0] + _kt_d1 * _kt_a._kt_r_x[1]);
            const long long _kt_q__J = _kt_o__J + _kt_d0 * _kt_a._kt_r__J[0] + _kt_d1 * _kt_a._kt_r__J[1];
            const long long _kt_q__i = _kt_o__i + _kt_d0 * _kt_a._kt_r__i[0] + _kt_d1 * _kt_a._kt_r__i[1];
            long long _kt_run = _kt_a._kt_reduction[1] - _kt_d1;
            if (_kt_run > _kt_left) _kt_run = _kt_left;
        const int _kt_start = 0;
        const auto _kt_step = [&](const _type_reduce& _kt_total, long long _kt_l) __attribute__((always_inline)) -> _type_reduce {
            T _kt_v_x = kerneltk::get(kerneltk::advance(_kt_q_x, 0 + _kt_l * 4));
            return _kt_reduce(_kt_total, _kt_map(_kt_q__J + 0 + _kt_l * 1, _kt_q__i + 0 + _kt_l * 0, _kt_v_x));
        };
            const auto _kt_ahead = [&](long long _kt_from, long long _kt_to) __attribute__((always_inline)) {
                kerneltk::prefetch(_kt_q_x + _kt_from, _kt_q_x + _kt_to);
            };
            _kt_totals.take(_kt_identity, _kt_start, _kt_step, _kt_ahead, _kt_reduce, _kt_run);
            _kt_left -= _kt_run;
            _kt_d1 = 0;
            ++_kt_d0;
        }
        {
            double* const _kt_w_y = kerneltk::advance(_kt_o_y, 0 * 0);
            double _kt_v_y;
            long long* const _kt_w_n = kerneltk::advance(_kt_o_n, 0 * 0);
            long long _kt_v_n;
            _kt_v_n = *_kt_w_n;
            _kt_post(_kt_totals.end(_kt_reduce), _kt_o__i + 0 * 0, _kt_v_y, _kt_v_n);
            *_kt_w_y = _kt_v_y;
            *_kt_w_n = _kt_v_n;
        }
        ++_kt_c0;
    }
}

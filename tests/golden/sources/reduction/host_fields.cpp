#include <kerneltk/core.hpp>
#include <kerneltk/memory.hpp>
#include <kerneltk/host_reduce.hpp>
typedef float T;
struct _kt_arguments {
    alignas(8) T* _kt_p_x;
    alignas(8) T* _kt_p_y;
    alignas(8) long long* _kt_p_k;
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
    alignas(8) long long _kt_k_k[1];
    alignas(8) long long _kt_r_k[1];
    alignas(8) long long _kt_k__J[1];
    alignas(8) long long _kt_r__J[1];
};
struct _type_reduce {
#line 1 "reduce_type"
T value;
#line 1 "reduce_type"
long long index;
#line 32 "generated code"
    _type_reduce() = default;
    __device__ _type_reduce(T _kt_0, long long _kt_1) : value(_kt_0), index(_kt_1) {}
    // Member by member: GCC sees through `a.value < b.value ? a : b` then.
    __forceinline__ _type_reduce(const _type_reduce& _kt_o) : value(_kt_o.value), index(_kt_o.index) {}
    __forceinline__ _type_reduce& operator=(const _type_reduce& _kt_o) {
        value = _kt_o.value;
        index = _kt_o.index;
        return *this;
    }
};
#line 9999 "reduce_type"
static_assert(sizeof(_type_reduce) <= 128, "the totals may take 128 bytes at most");
#line 45 "generated code"
// A list for each member, so that loops over them become vectors.
template <int _kt_count>
struct _kt_lists {
    kerneltk::storage_for<T, _kt_count> _kt_list0;
    kerneltk::storage_for<long long, _kt_count> _kt_list1;
    static constexpr unsigned _kt_unit = kerneltk::least_of({sizeof(T), sizeof(long long), });
    __forceinline__ _type_reduce _kt_get(long long _kt_k) {
        return _type_reduce(kerneltk::get(_kt_list0.begin() + _kt_k), kerneltk::get(_kt_list1.begin() + _kt_k));
    }
    __forceinline__ void _kt_put(long long _kt_k, const _type_reduce& _kt_total) {
        kerneltk::put(_kt_list0.begin() + _kt_k, _kt_total.value);
        kerneltk::put(_kt_list1.begin() + _kt_k, _kt_total.index);
    }
};
template <int _kt_count>
class kerneltk::totals_of<_type_reduce, _kt_count> : public kerneltk::totals_by_members<_type_reduce, _kt_lists<_kt_count>> {};
extern "C" __attribute__((visibility("default"))) void _kt_entry_argmax(
    const void* _kt_block, long long _kt_begin, long long _kt_end) {
    const _kt_arguments& _kt_a = *static_cast<const _kt_arguments*>(_kt_block);
    T* const _kt_p_x = _kt_a._kt_p_x;
    T* const _kt_p_y = _kt_a._kt_p_y;
    long long* const _kt_p_k = _kt_a._kt_p_k;
    const auto _kt_map = [&](const ptrdiff_t _J, const ptrdiff_t , const T& x) __attribute__((always_inline)) -> _type_reduce {
        return
#line 1 "map_expr"
_type_reduce(
#line 1 "map_expr"
 x, _J 
);
#line 75 "generated code"
    };
    const auto _kt_reduce = [&](_type_reduce a, _type_reduce b) __attribute__((always_inline)) -> _type_reduce {
        return
#line 1 "reduce_expr"
(
#line 1 "reduce_expr"
a.value > b.value || (a.value == b.value && a.index < b.index) ? a : b
);
#line 84 "generated code"
    };
    const auto _kt_post = [&](_type_reduce a, const ptrdiff_t , T& y, long long& k) {
#line 1 "post_map_expr"
y = a.value;
k = a.index
        ;
#line 91 "generated code"
    };
    const int _kt_identity = 0;
    const long long _kt_tiles = _kt_a._kt_outputs;
    kerneltk::row_totals<_type_reduce, kerneltk::side_by_side<_type_reduce>(64), false, false> _kt_totals;
    const long long _kt_tile = _kt_begin;
    long long _kt_rest = _kt_tile;
    long long _kt_c0 = _kt_rest;
    for (long long _kt_item = _kt_begin; _kt_item < _kt_end; ++_kt_item) {
        const long long _kt_first_lane = _kt_c0;
        T* const _kt_o_x = kerneltk::advance(_kt_p_x, _kt_first_lane * _kt_a._kt_k_x[0]);
        T* const _kt_o_y = kerneltk::advance(_kt_p_y, _kt_first_lane * _kt_a._kt_k_y[0]);
        long long* const _kt_o_k = kerneltk::advance(_kt_p_k, _kt_first_lane * _kt_a._kt_k_k[0]);
        const long long _kt_o__J = _kt_first_lane * _kt_a._kt_k__J[0];
        const long long _kt_count = _kt_a._kt_length;
        long long _kt_d0 = 0;
        _kt_totals.begin(_kt_identity);
        for (long long _kt_left = _kt_count; _kt_left > 0;) {
            T* const _kt_q_x = kerneltk::advance(_kt_o_x, _kt_d0 * _kt_a._kt_r_x[0]);
            const long long _kt_q__J = _kt_o__J + _kt_d0 * _kt_a._kt_r__J[0];
            long long _kt_run = _kt_a._kt_reduction[0] - _kt_d0;
            if (_kt_run > _kt_left) _kt_run = _kt_left;
        const auto _kt_start = [&](long long _kt_l) __attribute__((always_inline)) {
            T _kt_v_x = kerneltk::get(kerneltk::advance(_kt_q_x, 0 + _kt_l * 4));
            return _kt_map(_kt_q__J + 0 + _kt_l * 1, 0, _kt_v_x);
        };
        const auto _kt_step = [&](const _type_reduce& _kt_total, long long _kt_l) __attribute__((always_inline)) -> _type_reduce {
            T _kt_v_x = kerneltk::get(kerneltk::advance(_kt_q_x, 0 + _kt_l * 4));
            return _kt_reduce(_kt_total, _kt_map(_kt_q__J + 0 + _kt_l * 1, 0, _kt_v_x));
        };
            const auto _kt_ahead = [&](long long _kt_from, long long _kt_to) __attribute__((always_inline)) {
                kerneltk::prefetch(_kt_q_x + _kt_from, _kt_q_x + _kt_to);
            };
            _kt_totals.take(_kt_identity, _kt_start, _kt_step, _kt_ahead, _kt_reduce, _kt_run);
            _kt_left -= _kt_run;
            _kt_d0 = 0;
        }
        {
            T* const _kt_w_y = kerneltk::advance(_kt_o_y, 0 * 0);
            T _kt_v_y;
            long long* const _kt_w_k = kerneltk::advance(_kt_o_k, 0 * 0);
            long long _kt_v_k;
            _kt_post(_kt_totals.end(_kt_reduce), 0, _kt_v_y, _kt_v_k);
            *_kt_w_y = _kt_v_y;
            *_kt_w_k = _kt_v_k;
        }
        ++_kt_c0;
    }
}

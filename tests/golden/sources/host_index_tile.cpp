#include <kerneltk/core.hpp>
#include <kerneltk/memory.hpp>
typedef int T;
struct _kt_arguments {
    alignas(8) T* _kt_p_x;
    alignas(8) long long* _kt_p_y;
    alignas(16) long long _kt_n;
    alignas(8) long long _kt_shape[2];
    alignas(8) long long _kt_s_x[2];
    alignas(8) long long _kt_s_y[2];
    alignas(8) long long _kt_s_i[2];
};
extern "C" __attribute__((visibility("default"))) void _kt_entry_indexed(
    const void* _kt_block, long long _kt_begin, long long _kt_end) {
    const _kt_arguments& _kt_a = *static_cast<const _kt_arguments*>(_kt_block);
    T* const _kt_p_x = _kt_a._kt_p_x;
    long long* const _kt_p_y = _kt_a._kt_p_y;
    const ptrdiff_t n = static_cast<ptrdiff_t>(_kt_a._kt_n);
    // The user's operation on one element. Leaving it early leaves this element alone.
    const auto _kt_operation = [&](const ptrdiff_t i, const T& x, long long& y) {
        do {
#line 1 "operation"
y = x + i
            ;
#line 26 "generated code"
        } while (0);
    };
    const long long _kt_d_x = _kt_a._kt_s_x[1];
    // A work item is a square of the last two dimensions, so that both are walked within cache.
    const long long _kt_width = _kt_a._kt_shape[1], _kt_height = _kt_a._kt_shape[0];
    const long long _kt_tiles_across = (_kt_width + 63) / 64;
    const long long _kt_tiles_down = (_kt_height + 63) / 64;
    for (long long _kt_item = _kt_begin; _kt_item < _kt_end; ++_kt_item) {
        long long _kt_rest = _kt_item / _kt_tiles_across;
        const long long _kt_across = (_kt_item - _kt_rest * _kt_tiles_across) * 64;
        const long long _kt_batch = _kt_rest / _kt_tiles_down;
        const long long _kt_down = (_kt_rest - _kt_batch * _kt_tiles_down) * 64;
        _kt_rest = _kt_batch;
        const long long _kt_count = _kt_width - _kt_across < 64 ? _kt_width - _kt_across : 64;
        const long long _kt_last = _kt_height - _kt_down < 64 ? _kt_height : _kt_down + 64;
        for (long long _kt_c0 = _kt_down; _kt_c0 < _kt_last; ++_kt_c0) {
            T* const _kt_r_x = kerneltk::advance(_kt_p_x, _kt_across * _kt_d_x + _kt_c0 * _kt_a._kt_s_x[0]);
            long long* const _kt_r_y = kerneltk::advance(_kt_p_y, _kt_across * 8 + _kt_c0 * _kt_a._kt_s_y[0]);
            const long long _kt_i = _kt_across * 1 + _kt_c0 * _kt_a._kt_s_i[0];
#if defined(__clang__)
#pragma clang loop vectorize(assume_safety)
#elif defined(__GNUC__)
#pragma GCC ivdep
#endif
            for (long long _kt_k = 0; _kt_k < _kt_count; ++_kt_k) {
                T _kt_v_x;
                kerneltk::fetch(_kt_v_x, kerneltk::advance(_kt_r_x, _kt_k * _kt_d_x));
                long long _kt_v_y = kerneltk::get(_kt_r_y + _kt_k);
                _kt_operation(_kt_i + _kt_k * 1, _kt_v_x, _kt_v_y);
                _kt_r_y[_kt_k] = _kt_v_y;
            }
        }
    }
}

#include <kerneltk/core.hpp>
#include <kerneltk/memory.hpp>
typedef float T;
struct _kt_arguments {
    alignas(8) T* _kt_p_x;
    alignas(8) T* _kt_p_w;
    alignas(8) T* _kt_p_y;
    alignas(16) long long _kt_n;
    alignas(8) long long _kt_shape[1];
    alignas(8) long long _kt_s_x[1];
    alignas(8) long long _kt_s_w[1];
    alignas(8) long long _kt_s_y[1];
};
extern "C" __attribute__((visibility("default"))) void _kt_entry_sum(
    const void* _kt_block, long long _kt_begin, long long _kt_end) {
    const _kt_arguments& _kt_a = *static_cast<const _kt_arguments*>(_kt_block);
    T* const _kt_p_x = _kt_a._kt_p_x;
    T* const _kt_p_w = _kt_a._kt_p_w;
    T* const _kt_p_y = _kt_a._kt_p_y;
    const ptrdiff_t n = static_cast<ptrdiff_t>(_kt_a._kt_n);
    // The user's operation on one element. Leaving it early leaves this element alone.
    const auto _kt_operation = [&](const ptrdiff_t , const T& x, const T& w, T& y) {
        do {
#line 1 "operation"
y = x + w
            ;
#line 28 "generated code"
        } while (0);
    };
    {
        const long long _kt_c0 = _kt_begin, _kt_count = _kt_end - _kt_begin;
            T* const _kt_r_x = kerneltk::advance(_kt_p_x, _kt_c0 * 4);
            T* const _kt_r_w = kerneltk::advance(_kt_p_w, _kt_c0 * 4);
            T* const _kt_r_y = kerneltk::advance(_kt_p_y, _kt_c0 * 4);
#if defined(__clang__)
#pragma clang loop vectorize(assume_safety)
#elif defined(__GNUC__)
#pragma GCC ivdep
#endif
            for (long long _kt_k = 0; _kt_k < _kt_count; ++_kt_k) {
                T _kt_v_x;
                kerneltk::fetch(_kt_v_x, kerneltk::advance(_kt_r_x, _kt_k * 4));
                T _kt_v_w = kerneltk::get(_kt_r_w + _kt_k);
                T _kt_v_y;
                kerneltk::fetch(_kt_v_y, kerneltk::advance(_kt_r_y, _kt_k * 4));
                _kt_operation(0, _kt_v_x, _kt_v_w, _kt_v_y);
                __builtin_memcpy(static_cast<void*>(kerneltk::advance(_kt_r_y, _kt_k * 4)), &_kt_v_y, sizeof(T));
            }
    }
}

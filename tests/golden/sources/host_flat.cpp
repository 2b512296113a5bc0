#include <kerneltk/core.hpp>
#include <kerneltk/memory.hpp>
#include <kerneltk/stream.hpp>
typedef float T;
struct _kt_arguments {
    alignas(8) T* _kt_p_x;
    alignas(8) T* _kt_p_y;
    alignas(8) T a;
    alignas(8) T b;
    alignas(16) long long _kt_n;
    alignas(8) long long _kt_stream;
    alignas(8) long long _kt_shape[1];
    alignas(8) long long _kt_s_x[1];
    alignas(8) long long _kt_s_y[1];
};
extern "C" __attribute__((visibility("default"))) void _kt_entry_axpb(
    const void* _kt_block, long long _kt_begin, long long _kt_end) {
    const _kt_arguments& _kt_a = *static_cast<const _kt_arguments*>(_kt_block);
    const T a = _kt_a.a;
    const T b = _kt_a.b;
    T* const _kt_p_x = _kt_a._kt_p_x;
    T* const _kt_p_y = _kt_a._kt_p_y;
    const ptrdiff_t n = static_cast<ptrdiff_t>(_kt_a._kt_n);
    // The user's operation on one element. Leaving it early leaves this element alone.
    const auto _kt_operation = [&](const ptrdiff_t , const T& x, T& y) {
        do {
#line 1 "operation"
y = a * x + b
            ;
#line 31 "generated code"
        } while (0);
    };
    {
        const long long _kt_c0 = _kt_begin, _kt_count = _kt_end - _kt_begin;
            T* const _kt_r_x = kerneltk::advance(_kt_p_x, _kt_c0 * 4);
            T* const _kt_r_y = kerneltk::advance(_kt_p_y, _kt_c0 * 4);
            long long _kt_done = 0;
            if (kerneltk::can_stream && _kt_a._kt_stream) {
                const long long _kt_head = kerneltk::stream_head(_kt_r_y);
                if (_kt_head >= 0 && _kt_head + kerneltk::stream_elements <= _kt_count) {
#if defined(__clang__)
#pragma clang loop vectorize(assume_safety)
#elif defined(__GNUC__)
#pragma GCC ivdep
#endif
            for (long long _kt_k = 0; _kt_k < _kt_head; ++_kt_k) {
                T _kt_v_x = kerneltk::get(_kt_r_x + _kt_k);
                T _kt_v_y = kerneltk::get(_kt_r_y + _kt_k);
                _kt_operation(0, _kt_v_x, _kt_v_y);
                _kt_r_y[_kt_k] = _kt_v_y;
            }
                    _kt_done = _kt_head;
                    for (; _kt_done + kerneltk::stream_elements <= _kt_count; _kt_done += kerneltk::stream_elements) {
                        alignas(64) unsigned char _kt_m_y[kerneltk::stream_elements * sizeof(T)];
                        T* const _kt_b_y = reinterpret_cast<T*>(_kt_m_y);
#if defined(__clang__)
#pragma clang loop vectorize(assume_safety)
#elif defined(__GNUC__)
#pragma GCC ivdep
#endif
            for (long long _kt_k = _kt_done; _kt_k < _kt_done + kerneltk::stream_elements; ++_kt_k) {
                T _kt_v_x = kerneltk::get(_kt_r_x + _kt_k);
                T _kt_v_y = kerneltk::get(_kt_r_y + _kt_k);
                _kt_operation(0, _kt_v_x, _kt_v_y);
                _kt_b_y[_kt_k - _kt_done] = _kt_v_y;
            }
                        kerneltk::stream_out(_kt_r_y + _kt_done, _kt_b_y);
                    }
                    kerneltk::stream_fence();
                }
            }
#if defined(__clang__)
#pragma clang loop vectorize(assume_safety)
#elif defined(__GNUC__)
#pragma GCC ivdep
#endif
            for (long long _kt_k = _kt_done; _kt_k < _kt_count; ++_kt_k) {
                T _kt_v_x = kerneltk::get(_kt_r_x + _kt_k);
                T _kt_v_y = kerneltk::get(_kt_r_y + _kt_k);
                _kt_operation(0, _kt_v_x, _kt_v_y);
                _kt_r_y[_kt_k] = _kt_v_y;
            }
    }
}

#include <kerneltk/core.hpp>
#include <kerneltk/memory.hpp>
#include <kerneltk/stream.hpp>
typedef float T;
struct _kt_arguments {
    alignas(8) T* _kt_p_x;
    alignas(8) T* _kt_p_w;
    alignas(8) T* _kt_p_y;
    alignas(16) long long _kt_n;
    alignas(8) long long _kt_stream;
    alignas(8) long long _kt_shape[2];
    alignas(8) long long _kt_s_x[2];
    alignas(8) long long _kt_s_w[2];
    alignas(8) long long _kt_s_y[2];
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
#line 30 "generated code"
        } while (0);
    };
    const long long _kt_width = _kt_a._kt_shape[1];
    long long _kt_c1 = _kt_begin % _kt_width;
    long long _kt_rest = _kt_begin / _kt_width;
    long long _kt_c0 = _kt_rest;
    for (long long _kt_e = _kt_begin; _kt_e < _kt_end;) {
        const long long _kt_left = _kt_width - _kt_c1;
        const long long _kt_count = _kt_end - _kt_e < _kt_left ? _kt_end - _kt_e : _kt_left;
            T* const _kt_r_x = kerneltk::advance(_kt_p_x, _kt_c1 * 4 + _kt_c0 * _kt_a._kt_s_x[0]);
            T* const _kt_r_w = kerneltk::advance(_kt_p_w, _kt_c1 * 0 + _kt_c0 * _kt_a._kt_s_w[0]);
            T* const _kt_r_y = kerneltk::advance(_kt_p_y, _kt_c1 * 4 + _kt_c0 * _kt_a._kt_s_y[0]);
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
                T _kt_v_w;
                kerneltk::fetch(_kt_v_w, kerneltk::advance(_kt_r_w, _kt_k * 0));
                T _kt_v_y = kerneltk::get(_kt_r_y + _kt_k);
                _kt_operation(0, _kt_v_x, _kt_v_w, _kt_v_y);
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
                T _kt_v_w;
                kerneltk::fetch(_kt_v_w, kerneltk::advance(_kt_r_w, _kt_k * 0));
                T _kt_v_y = kerneltk::get(_kt_r_y + _kt_k);
                _kt_operation(0, _kt_v_x, _kt_v_w, _kt_v_y);
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
                T _kt_v_w;
                kerneltk::fetch(_kt_v_w, kerneltk::advance(_kt_r_w, _kt_k * 0));
                T _kt_v_y = kerneltk::get(_kt_r_y + _kt_k);
                _kt_operation(0, _kt_v_x, _kt_v_w, _kt_v_y);
                _kt_r_y[_kt_k] = _kt_v_y;
            }
        _kt_e += _kt_count;
        _kt_c1 = 0;
        ++_kt_c0;
    }
}

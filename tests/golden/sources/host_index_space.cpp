#include <kerneltk/core.hpp>
#include <kerneltk/array_view.hpp>
#include <kerneltk/memory.hpp>
#include <kerneltk/stream.hpp>
typedef float T;
struct _kt_arguments {
    alignas(8) kerneltk::array_view<T, 2, true, int> x;
    alignas(8) int* _kt_p_k;
    alignas(8) T* _kt_p_y;
    alignas(16) long long _kt_n;
    alignas(8) long long _kt_stream;
    alignas(8) long long _kt_shape[1];
    alignas(8) long long _kt_s_k[1];
    alignas(8) long long _kt_s_y[1];
    alignas(8) long long _kt_s_i[1];
    alignas(8) kerneltk::index_space<1, long long> _kt_index_space;
};
extern "C" __attribute__((visibility("default"))) void _kt_entry_gather(
    const void* _kt_block, long long _kt_begin, long long _kt_end) {
    const _kt_arguments& _kt_a = *static_cast<const _kt_arguments*>(_kt_block);
    const auto x = _kt_a.x;
    int* const _kt_p_k = _kt_a._kt_p_k;
    T* const _kt_p_y = _kt_a._kt_p_y;
    const ptrdiff_t n = static_cast<ptrdiff_t>(_kt_a._kt_n);
    auto _ind = _kt_a._kt_index_space;
    // The user's operation on one element. Leaving it early leaves this element alone.
    const auto _kt_operation = [&](const ptrdiff_t i, const int& k, T& y) {
        _ind.set(i);
        do {
#line 1 "operation"
y = x[k] + _ind.get()[0]
            ;
#line 34 "generated code"
        } while (0);
    };
    {
        const long long _kt_c0 = _kt_begin, _kt_count = _kt_end - _kt_begin;
            int* const _kt_r_k = kerneltk::advance(_kt_p_k, _kt_c0 * 4);
            T* const _kt_r_y = kerneltk::advance(_kt_p_y, _kt_c0 * 4);
            const long long _kt_i = _kt_c0 * 1;
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
                int _kt_v_k = kerneltk::get(_kt_r_k + _kt_k);
                T _kt_v_y = kerneltk::get(_kt_r_y + _kt_k);
                _kt_operation(_kt_i + _kt_k * 1, _kt_v_k, _kt_v_y);
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
                int _kt_v_k = kerneltk::get(_kt_r_k + _kt_k);
                T _kt_v_y = kerneltk::get(_kt_r_y + _kt_k);
                _kt_operation(_kt_i + _kt_k * 1, _kt_v_k, _kt_v_y);
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
                int _kt_v_k = kerneltk::get(_kt_r_k + _kt_k);
                T _kt_v_y = kerneltk::get(_kt_r_y + _kt_k);
                _kt_operation(_kt_i + _kt_k * 1, _kt_v_k, _kt_v_y);
                _kt_r_y[_kt_k] = _kt_v_y;
            }
    }
}

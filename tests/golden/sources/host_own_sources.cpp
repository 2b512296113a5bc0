#include <kerneltk/core.hpp>
#include <kerneltk/memory.hpp>
#include <kerneltk/stream.hpp>
typedef int T;
#line 1 "preamble"
__device__ T box(T v) {
    return v * 3;
}
#line 10 "generated code"
struct _kt_arguments {
    alignas(8) T* _kt_p_x;
    alignas(8) T* _kt_p_y;
    alignas(8) bool* _kt_p_z;
    alignas(8) int k;
    alignas(16) long long _kt_n;
    alignas(8) long long _kt_stream;
    alignas(8) long long _kt_shape[1];
    alignas(8) long long _kt_s_x[1];
    alignas(8) long long _kt_s_y[1];
    alignas(8) long long _kt_s_z[1];
};
extern "C" __attribute__((visibility("default"))) void _kt_entry_wrapped(
    const void* _kt_block, long long _kt_begin, long long _kt_end) {
    const _kt_arguments& _kt_a = *static_cast<const _kt_arguments*>(_kt_block);
    const int k = _kt_a.k;
    T* const _kt_p_x = _kt_a._kt_p_x;
    T* const _kt_p_y = _kt_a._kt_p_y;
    bool* const _kt_p_z = _kt_a._kt_p_z;
    const ptrdiff_t n = static_cast<ptrdiff_t>(_kt_a._kt_n);
#line 1 "loop_prep"
const T scale = k;
    ;
#line 34 "generated code"
    // The user's operation on one element. Leaving it early leaves this element alone.
    const auto _kt_operation = [&](const ptrdiff_t , const T& x, T& y, bool& z) {
        do {
#line 1 "operation"
y = box(x) + scale;
z = y > k
            ;
#line 42 "generated code"
        } while (0);
    };
    {
        const long long _kt_c0 = _kt_begin, _kt_count = _kt_end - _kt_begin;
            T* const _kt_r_x = kerneltk::advance(_kt_p_x, _kt_c0 * 4);
            T* const _kt_r_y = kerneltk::advance(_kt_p_y, _kt_c0 * 4);
            bool* const _kt_r_z = kerneltk::advance(_kt_p_z, _kt_c0 * 1);
            // The elements before a line, lines that are written past the caches, and the others are
            // parts of one loop: of an operation that is called once, GCC makes vectors.
            const long long _kt_head = kerneltk::can_stream && _kt_a._kt_stream ? kerneltk::stream_head(_kt_r_y) : -1;
            const bool _kt_streams = _kt_head >= 0 && _kt_head + kerneltk::stream_elements <= _kt_count && kerneltk::stream_aligned(_kt_r_z + _kt_head);
            alignas(64) unsigned char _kt_m_y[kerneltk::stream_elements * sizeof(T)];
            alignas(64) unsigned char _kt_m_z[kerneltk::stream_elements * sizeof(bool)];
            long long _kt_from = 0, _kt_to = _kt_streams ? _kt_head : _kt_count;
            do {
                const bool _kt_past = _kt_streams && _kt_to - _kt_from == kerneltk::stream_elements;
                T* const _kt_b_y = _kt_past ? reinterpret_cast<T*>(_kt_m_y) : _kt_r_y + _kt_from;
                bool* const _kt_b_z = _kt_past ? reinterpret_cast<bool*>(_kt_m_z) : _kt_r_z + _kt_from;
            for (long long _kt_k = _kt_from; _kt_k < _kt_to; ++_kt_k) {
                T _kt_v_x = kerneltk::get(_kt_r_x + _kt_k);
                T _kt_v_y = kerneltk::get(_kt_r_y + _kt_k);
                bool _kt_v_z = kerneltk::get(_kt_r_z + _kt_k);
                _kt_operation(0, _kt_v_x, _kt_v_y, _kt_v_z);
                _kt_b_y[_kt_k - _kt_from] = _kt_v_y;
                _kt_b_z[_kt_k - _kt_from] = _kt_v_z;
            }
                if (_kt_past) kerneltk::stream_out(_kt_r_y + _kt_from, _kt_b_y);
                if (_kt_past) kerneltk::stream_out(_kt_r_z + _kt_from, _kt_b_z);
                _kt_from = _kt_to;
                _kt_to = _kt_count - _kt_from < kerneltk::stream_elements ? _kt_count : _kt_from + kerneltk::stream_elements;
            } while (_kt_from < _kt_count);
            if (_kt_streams) kerneltk::stream_fence();
    }
#line 1 "after_loop"
(void)scale;
    ;
#line 79 "generated code"
}

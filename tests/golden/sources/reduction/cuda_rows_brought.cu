#include <kerneltk/float16.hpp>
#include <kerneltk/memory.hpp>
#include <kerneltk/reduce.hpp>
typedef float16 T;
struct _kt_arguments {
    alignas(8) char* _kt_scratch;
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
using _kt_index = int;
typedef float _type_reduce;
#line 9999 "out_params"
static_assert(sizeof(_type_reduce) <= 128, "the totals may take 128 bytes at most");
#line 27 "generated code"
#line 9999 "out_params"
static_assert(__is_trivially_copyable(_type_reduce) && alignof(_type_reduce) <= 16, "on a GPU the totals must be trivially copyable, and aligned to 16 bytes at most");
#line 30 "generated code"
using _kt_total = _type_reduce;
extern "C" __global__ void __launch_bounds__(256)
total(const __grid_constant__ _kt_arguments _kt_a) {
    T* const _kt_p_x = _kt_a._kt_p_x;
    T* const _kt_p_y = _kt_a._kt_p_y;
    const auto _kt_map = [&](const ptrdiff_t , const ptrdiff_t , const T& x) -> _type_reduce {
        return
#line 1 "map_expr"
static_cast<_type_reduce>(
#line 1 "map_expr"
x
);
#line 43 "generated code"
    };
    const auto _kt_reduce = [&](_type_reduce a, _type_reduce b) -> _type_reduce {
        return
#line 1 "reduce_expr"
(
#line 1 "reduce_expr"
a + b
);
#line 52 "generated code"
    };
    const auto _kt_identity = [&]() -> _type_reduce {
        return
#line 1 "identity"
static_cast<_type_reduce>(
#line 1 "identity"
0
);
#line 61 "generated code"
    };
    const auto _kt_post = [&](_type_reduce a, const ptrdiff_t , T& y) {
#line 1 "post_map_expr"
y = a
        ;
#line 67 "generated code"
    };
const _kt_index _kt_output = (static_cast<_kt_index>(blockIdx.x) * 256 + threadIdx.x) * 8;
    const _kt_index _kt_outputs = static_cast<_kt_index>(_kt_a._kt_outputs);
    alignas(16) __shared__ char _kt_s_x[14336 * sizeof(T)];
    {
        constexpr int _kt_count = 56 * sizeof(T) / 16;
        const _kt_index _kt_first = static_cast<_kt_index>(blockIdx.x) * 14336;
        const auto* const _kt_from = reinterpret_cast<const uint4*>(_kt_p_x + _kt_first);
        const int _kt_vectors = static_cast<int>((_kt_outputs * 7 - _kt_first < 14336 ? _kt_outputs * 7 - _kt_first : 14336) * sizeof(T) / 16);
        uint4 _kt_x[_kt_count];
#pragma unroll
        for (int _kt_u = 0; _kt_u < _kt_count; ++_kt_u)
            if (static_cast<int>(threadIdx.x) + _kt_u * 256 < _kt_vectors) _kt_x[_kt_u] = __ldg(_kt_from + threadIdx.x + _kt_u * 256);
#pragma unroll
        for (int _kt_u = 0; _kt_u < _kt_count; ++_kt_u) reinterpret_cast<uint4*>(_kt_s_x)[threadIdx.x + _kt_u * 256] = _kt_x[_kt_u];
    }
    __syncthreads();
    if (_kt_output + 8 <= _kt_outputs) {
        alignas(16) T _kt_x_x[56];
        kerneltk::copy<16, sizeof(_kt_x_x)>(_kt_x_x, _kt_s_x + threadIdx.x * sizeof(_kt_x_x));
        alignas(16) T _kt_z_y[8];
#pragma unroll
        for (int _kt_m = 0; _kt_m < 8; ++_kt_m) {
            _kt_total _kt_t = _kt_identity();
#pragma unroll
            for (int _kt_v = _kt_m * 7; _kt_v < _kt_m * 7 + 7; ++_kt_v) _kt_t = _kt_reduce(_kt_t, _kt_map(0, 0, _kt_x_x[_kt_v]));
            _kt_post(_kt_t, 0, _kt_z_y[_kt_m]);
        }
        kerneltk::copy<16, sizeof(_kt_z_y)>(_kt_p_y + _kt_output, _kt_z_y);
    }
}

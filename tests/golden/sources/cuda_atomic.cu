#include <kerneltk/array_view.hpp>
#include <kerneltk/memory.hpp>
#include <kerneltk/atomics.hpp>
struct _kt_arguments {
    alignas(8) kerneltk::array_view<int, 1, true, int> y;
    alignas(8) int* _kt_p_k;
    alignas(16) long long _kt_n;
    alignas(8) long long _kt_shape[1];
};
using _kt_index = int;
extern "C" __global__ void __launch_bounds__(256)
count(const __grid_constant__ _kt_arguments _kt_a) {
    auto y = _kt_a.y;
    int* const _kt_p_k = _kt_a._kt_p_k;
    const ptrdiff_t n = static_cast<ptrdiff_t>(_kt_a._kt_n);
    const _kt_index _kt_e = static_cast<_kt_index>(blockIdx.x) * 256 + threadIdx.x;
    if (_kt_e < static_cast<_kt_index>(_kt_a._kt_n)) {
        {
            const int& k = *(_kt_p_k + _kt_e);
            do {
#line 1 "operation"
atomicAdd(&y[k], 1);
;
#line 25 "generated code"
            } while (0);
            }
    }
}

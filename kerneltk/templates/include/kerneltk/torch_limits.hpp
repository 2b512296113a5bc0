// at::numeric_limits of torch's headers. <kerneltk/torch_types.hpp> comes before it.
#pragma once

namespace at {
// With infinities as the bounds of what has them.
template <class T>
struct numeric_limits;
#define KERNELTK_TORCH_LIMITS(T, low, high, lower, upper)                                         \
    template <>                                                                                   \
    struct numeric_limits<T> {                                                                    \
        static __forceinline__ __host__ __device__ T lowest() { return low; }                     \
        static __forceinline__ __host__ __device__ T max() { return high; }                       \
        static __forceinline__ __host__ __device__ T lower_bound() { return lower; }              \
        static __forceinline__ __host__ __device__ T upper_bound() { return upper; }              \
    };
#define KERNELTK_TORCH_INTEGERS(T, low, high) KERNELTK_TORCH_LIMITS(T, low, high, low, high)
KERNELTK_TORCH_INTEGERS(bool, false, true)
KERNELTK_TORCH_INTEGERS(unsigned char, 0, 255)
KERNELTK_TORCH_INTEGERS(signed char, -128, 127)
KERNELTK_TORCH_INTEGERS(short, -32768, 32767)
KERNELTK_TORCH_INTEGERS(int, -2147483647 - 1, 2147483647)
KERNELTK_TORCH_INTEGERS(long, -9223372036854775807L - 1, 9223372036854775807L)
KERNELTK_TORCH_INTEGERS(long long, -9223372036854775807LL - 1, 9223372036854775807LL)
KERNELTK_TORCH_LIMITS(float, -3.402823466e+38f, 3.402823466e+38f,
                      -__int_as_float(0x7f800000), __int_as_float(0x7f800000))
KERNELTK_TORCH_LIMITS(double, -1.7976931348623157e+308, 1.7976931348623157e+308,
                      -__longlong_as_double(0x7ff0000000000000ll), __longlong_as_double(0x7ff0000000000000ll))
KERNELTK_TORCH_LIMITS(Half, -65504.0f, 65504.0f,
                      -__int_as_float(0x7f800000), __int_as_float(0x7f800000))
KERNELTK_TORCH_LIMITS(BFloat16, -3.38953139e+38f, 3.38953139e+38f,
                      -__int_as_float(0x7f800000), __int_as_float(0x7f800000))
#undef KERNELTK_TORCH_INTEGERS
#undef KERNELTK_TORCH_LIMITS
}  // namespace at

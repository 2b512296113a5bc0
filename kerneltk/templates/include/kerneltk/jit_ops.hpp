// What reductions and scans combine two values by. None has state, and none looks at threads.
#pragma once
#include <kerneltk/jit_numbers.hpp>

namespace kerneltk::jit {

// A value and where it comes from, for argmin and argmax. It has no constructors, so that it may
// lie in shared memory.
template <class T, class I = long long>
struct indexed {
    I index;
    T value;
};

}  // namespace kerneltk::jit

namespace kerneltk::jit::ops {

// Of integers sums and products wrap around; those of 16-bit floats are rounded one by one.
#define KERNELTK_JIT_OPERATOR(name, op)                                                     \
    struct name {                                                                           \
        template <class T>                                                                  \
        __device__ __forceinline__ T operator()(const T& a, const T& b) const {             \
            if constexpr (is_discrete<T>)                                                   \
                return static_cast<T>(static_cast<wrapping<T>>(a) op                        \
                                      static_cast<wrapping<T>>(b));                         \
            else                                                                            \
                return static_cast<T>(static_cast<wide<T>>(a) op static_cast<wide<T>>(b));  \
        }                                                                                   \
    };
KERNELTK_JIT_OPERATOR(plus, +)
KERNELTK_JIT_OPERATOR(multiply, *)
#undef KERNELTK_JIT_OPERATOR

#define KERNELTK_JIT_OPERATION(name, expression)                                            \
    struct name {                                                                           \
        template <class T>                                                                  \
        __device__ __forceinline__ T operator()(const T& a, const T& b) const {             \
            return static_cast<T>(expression);                                              \
        }                                                                                   \
    };
// A NaN is passed on (minimum, maximum), left out (fmin, fmax), or neither (py_min, py_max, which
// are CUB's: `b` where it is less or greater).
KERNELTK_JIT_OPERATION(minimum, jit::minimum(a, b))
KERNELTK_JIT_OPERATION(maximum, jit::maximum(a, b))
KERNELTK_JIT_OPERATION(fmin, jit::fmin(a, b))
KERNELTK_JIT_OPERATION(fmax, jit::fmax(a, b))
KERNELTK_JIT_OPERATION(py_min, jit::py_min(a, b))
KERNELTK_JIT_OPERATION(py_max, jit::py_max(a, b))
KERNELTK_JIT_OPERATION(bit_and, a & b)
KERNELTK_JIT_OPERATION(bit_or, a | b)
KERNELTK_JIT_OPERATION(bit_xor, a ^ b)
KERNELTK_JIT_OPERATION(logical_and, convert<bool>(a) && convert<bool>(b))
KERNELTK_JIT_OPERATION(logical_or, convert<bool>(a) || convert<bool>(b))
KERNELTK_JIT_OPERATION(logical_xor, convert<bool>(a) != convert<bool>(b))
#undef KERNELTK_JIT_OPERATION

// Of two indexed values the least (greatest); of equal ones that of the lower index. A NaN comes
// before all numbers, as in NumPy's argmin and argmax.
#define KERNELTK_JIT_EXTREME(name, first, second)                                           \
    struct name {                                                                           \
        template <class T, class I>                                                         \
        __device__ __forceinline__ indexed<T, I> operator()(const indexed<T, I>& a,         \
                                                            const indexed<T, I>& b) const { \
            const bool a_is_nan = jit::isnan(a.value), b_is_nan = jit::isnan(b.value);      \
            const bool a_wins = less(first.value, second.value) || (a_is_nan && !b_is_nan); \
            const bool b_wins = less(second.value, first.value) || (b_is_nan && !a_is_nan); \
            return a_wins || (!b_wins && !(b.index < a.index)) ? a : b;                     \
        }                                                                                   \
    };
KERNELTK_JIT_EXTREME(argmin, a, b)
KERNELTK_JIT_EXTREME(argmax, b, a)
#undef KERNELTK_JIT_EXTREME

}  // namespace kerneltk::jit::ops

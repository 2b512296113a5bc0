// CUDA's <cooperative_groups/reduce.h> for host compilers: one value of all members' values.
#pragma once
#include <cooperative_groups.h>

namespace cooperative_groups {

#define KERNELTK_OPERATION(name, expression)                         \
    template <class Value>                                           \
    struct name {                                                    \
        Value operator()(const Value& x, const Value& y) const {     \
            return static_cast<Value>(expression);                   \
        }                                                            \
    };
KERNELTK_OPERATION(plus, x + y)
KERNELTK_OPERATION(less, y < x ? y : x)
KERNELTK_OPERATION(greater, x < y ? y : x)
KERNELTK_OPERATION(bit_and, x & y)
KERNELTK_OPERATION(bit_or, x | y)
KERNELTK_OPERATION(bit_xor, x ^ y)
#undef KERNELTK_OPERATION

namespace kerneltk_details {

// Operations without a state, which whoever comes last may apply for all others.
template <class Operation>
struct is_plain {
    static constexpr bool value = false;
};
#define KERNELTK_PLAIN(name)                \
    template <class Value>                  \
    struct is_plain<name<Value>> {          \
        static constexpr bool value = true; \
    };
KERNELTK_PLAIN(plus)
KERNELTK_PLAIN(less)
KERNELTK_PLAIN(greater)
KERNELTK_PLAIN(bit_and)
KERNELTK_PLAIN(bit_or)
KERNELTK_PLAIN(bit_xor)
#undef KERNELTK_PLAIN
template <class Value, class Operation>
constexpr bool at_once = is_plain<Operation>::value && sizeof(Value) <= 8;

// Neighbours in pairs first, in the order of ranks.
template <class Value, class Operation>
inline void compute_reduction(const unsigned long long* in, const unsigned int*,
                              unsigned long long* out, unsigned int lanes) {
    Value value[32];
    unsigned int size = 0;
    for (unsigned int rest = lanes; rest != 0; rest &= rest - 1)
        value[size++] = kerneltk::grid::from_word<Value>(in[__builtin_ctz(rest)]);
    for (unsigned int step = 1; step < size; step *= 2)
        for (unsigned int k = 0; k + step < size; k += 2 * step)
            value[k] = Operation()(value[k], value[k + step]);
    const unsigned long long result = bits(value[0]);
    for (; lanes != 0; lanes &= lanes - 1) out[__builtin_ctz(lanes)] = result;
}

}  // namespace kerneltk_details

template <unsigned int Size, class Parent, class Value, class Operation>
inline Value reduce(const thread_block_tile<Size, Parent>& group, Value value, Operation operation,
                    KERNELTK_PLACE) {
    if constexpr (kerneltk_details::at_once<Value, Operation>)
        return kerneltk::grid::from_word<Value>(kerneltk::grid::collective(
            group.get_mask(), kerneltk_details::compute_reduction<Value, Operation>,
            kerneltk_details::bits(value), 0, _kt_file, _kt_line));
    const unsigned int rank = group.thread_rank();
    for (unsigned int step = 1; step < Size; step *= 2) {
        const Value other = group.shfl_xor(value, step, _kt_file, _kt_line);
        value = rank & step ? operation(other, value) : operation(value, other);
    }
    return value;
}
template <class Value, class Operation>
inline Value reduce(const coalesced_group& group, Value value, Operation operation,
                    KERNELTK_PLACE) {
    if constexpr (kerneltk_details::at_once<Value, Operation>)
        return kerneltk::grid::from_word<Value>(kerneltk::grid::collective(
            group.get_mask(), kerneltk_details::compute_reduction<Value, Operation>,
            kerneltk_details::bits(value), 0, _kt_file, _kt_line));
    const unsigned int rank = group.thread_rank(), size = group.size();
    for (unsigned int step = 1; step < size; step *= 2) {
        const Value other = group.shfl_down(value, step, _kt_file, _kt_line);
        if (rank + step < size) value = operation(value, other);
    }
    return group.shfl(value, 0, _kt_file, _kt_line);
}

}  // namespace cooperative_groups

// CUDA's <cooperative_groups/scan.h> for host compilers: running values of a group's members.
#pragma once
#include <cooperative_groups/reduce.h>

namespace cooperative_groups {

namespace kerneltk_details {

template <class Value, class Operation>
inline void compute_scan(const unsigned long long* in, const unsigned int*, unsigned long long* out,
                         unsigned int lanes) {
    Value running{};
    for (bool first = true; lanes != 0; lanes &= lanes - 1, first = false) {
        const int lane = __builtin_ctz(lanes);
        const Value value = kerneltk::grid::from_word<Value>(in[lane]);
        running = first ? value : Operation()(running, value);
        out[lane] = bits(running);
    }
}

}  // namespace kerneltk_details

template <class Group, class Value, class Operation>
inline Value inclusive_scan(const Group& group, Value value, Operation operation, KERNELTK_PLACE) {
    if constexpr (kerneltk_details::at_once<Value, Operation>)
        return kerneltk::grid::from_word<Value>(kerneltk::grid::collective(
            group.get_mask(), kerneltk_details::compute_scan<Value, Operation>,
            kerneltk_details::bits(value), 0, _kt_file, _kt_line));
    const unsigned int rank = group.thread_rank(), size = group.size();
    for (unsigned int step = 1; step < size; step *= 2) {
        const Value other = group.shfl_up(value, step, _kt_file, _kt_line);
        if (rank >= step) value = operation(other, value);
    }
    return value;
}
template <class Group, class Value>
inline Value inclusive_scan(const Group& group, Value value) {
    return inclusive_scan(group, value, plus<Value>());
}
// The first member gets a value of zero.
template <class Group, class Value, class Operation>
inline Value exclusive_scan(const Group& group, Value value, Operation operation, KERNELTK_PLACE) {
    const Value through = inclusive_scan(group, value, operation, _kt_file, _kt_line);
    const Value before = group.shfl_up(through, 1, _kt_file, _kt_line);
    return group.thread_rank() == 0 ? Value() : before;
}
template <class Group, class Value>
inline Value exclusive_scan(const Group& group, Value value) {
    return exclusive_scan(group, value, plus<Value>());
}

}  // namespace cooperative_groups

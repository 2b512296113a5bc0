// CUDA's <cooperative_groups/memcpy_async.h> for host compilers. Each member copies its part at
// once; the others' parts are there after a wait.
#pragma once
#include <cooperative_groups.h>

namespace cooperative_groups {

template <class Group>
inline void memcpy_async(const Group& group, void* to, const void* from, size_t bytes) {
    const size_t members = group.size(), rank = group.thread_rank();
    const size_t part = ((bytes + members - 1) / members + 15) / 16 * 16;
    const size_t begin = part * rank < bytes ? part * rank : bytes;
    const size_t count = bytes - begin < part ? bytes - begin : part;
    if (count != 0)
        __builtin_memcpy(static_cast<char*>(to) + begin, static_cast<const char*>(from) + begin,
                         count);
}
template <class Group, class Element, class ToLayout, class FromLayout>
inline void memcpy_async(const Group& group, Element* to, const ToLayout& to_count,
                         const Element* from, const FromLayout& from_count) {
    const size_t m = to_count, n = from_count;
    memcpy_async(group, static_cast<void*>(to), static_cast<const void*>(from),
                 (m < n ? m : n) * sizeof(Element));
}

template <class Group>
inline void wait(const Group& group, KERNELTK_PLACE) {
    group.sync(_kt_file, _kt_line);
}
template <unsigned int Stages, class Group>
inline void wait_prior(const Group& group, KERNELTK_PLACE) {
    group.sync(_kt_file, _kt_line);
}

}  // namespace cooperative_groups

// A stable sort of indices, for host compilers.
#pragma once

namespace kerneltk {

// Merges pairs of runs that double in length; returns the order that is sorted. Of equal items those
// come first that were first. `less` takes indices.
template <class Index, int COUNT, class Less>
inline const Index* merged_order(Index (&orders)[2][COUNT], int count, const Less& less) {
    Index *from = orders[0], *to = orders[1];
    for (int k = 0; k < count; ++k) from[k] = static_cast<Index>(k);
    for (int run = 1; run < count; run *= 2) {
        for (int start = 0; start < count; start += 2 * run) {
            const int middle = start + run < count ? start + run : count;
            const int end = middle + run < count ? middle + run : count;
            for (int a = start, b = middle, k = start; k < end; ++k) {
                const bool from_b = a == middle || (b < end && less(from[b], from[a]));
                to[k] = from[from_b ? b++ : a++];
            }
        }
        Index* const merged = to;
        to = from;
        from = merged;
    }
    return from;
}

}  // namespace kerneltk

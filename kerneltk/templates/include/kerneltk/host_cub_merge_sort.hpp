// CUB's sorts by comparisons, of blocks and warps, for host compilers.
#pragma once
#include <kerneltk/host_cub_warp.hpp>
#include <kerneltk/host_merge.hpp>

namespace cub {

namespace kerneltk_details {

// Items of a block or a warp, and the order in which they are sorted.
template <class Key, class Value, int Items>
struct merge_storage {
    storage<Key, Items> keys;
    storage<Value, Items> values;
    unsigned short orders[2][Items];
    const unsigned short* order;

    template <class Compare>
    void sort(int count, Compare& compare) {
        Key* const own = keys.data();
        order = ::kerneltk::merged_order(
            orders, count, [&](int a, int b) -> bool { return compare(own[a], own[b]); });
    }
};

// What sorts of blocks and of warps share; `Group` says which threads there are, and lets them wait.
template <class Key, class Value, int Threads, int N, class Group>
class merge_sort {
    static constexpr int items = Threads * N;
    static_assert(Threads > 0 && (Threads & (Threads - 1)) == 0,
                  "a merge sort takes a power of two of threads");
    static_assert(items <= 65536, "a merge sort takes at most 65536 items on CPU cores");

    template <class Compare>
    void sort(Key (&keys)[N], Value* values, Compare& compare, int valid, const Key* otherwise,
              const kerneltk_details::place& at) {
        const int first = static_cast<int>(get_linear_tid()) * N;
        for (int k = 0; k < N; ++k) {
            storage_.keys.set(first + k, keys[k]);
            if (values != nullptr) storage_.values.set(first + k, values[k]);
        }
        Group::wait(at);
        if (first == 0) storage_.sort(valid, compare);
        Group::wait(at);
        for (int k = 0; k < N; ++k) {
            if (first + k < valid) {
                const int item = storage_.order[first + k];
                keys[k] = storage_.keys.data()[item];
                if (values != nullptr) values[k] = storage_.values.data()[item];
            } else if (otherwise != nullptr) {
                keys[k] = *otherwise;
            }
        }
        // Several sorts may follow one another without a barrier.
        Group::wait(at);
    }
    static int upto(int valid) { return valid < items ? valid : items; }

public:
    using TempStorage = merge_storage<Key, Value, items>;
    explicit merge_sort(TempStorage& storage) : storage_(storage) {}

    unsigned int get_linear_tid() const { return Group::rank(); }

#define KERNELTK_CUB_SORT(Name)                                                                  \
    template <class Compare>                                                                     \
    void Name(Key (&keys)[N], Compare compare, KERNELTK_CUB_PLACE) {                                 \
        sort(keys, nullptr, compare, items, nullptr, at);                        \
    }                                                                                            \
    template <class Compare>                                                                     \
    void Name(Key (&keys)[N], Compare compare, int valid, Key otherwise, KERNELTK_CUB_PLACE) {       \
        sort(keys, nullptr, compare, upto(valid), &otherwise, at);               \
    }                                                                                            \
    template <class Compare>                                                                     \
    void Name(Key (&keys)[N], Value (&values)[N], Compare compare, KERNELTK_CUB_PLACE) {             \
        sort(keys, values, compare, items, nullptr, at);                         \
    }                                                                                            \
    template <class Compare, bool IS_LAST_TILE = true>                                           \
    void Name(Key (&keys)[N], Value (&values)[N], Compare compare, int valid, Key otherwise,     \
              KERNELTK_CUB_PLACE) {                                                                  \
        const int count = IS_LAST_TILE ? upto(valid) : items;                                    \
        sort(keys, values, compare, count, &otherwise, at);                      \
    }
    KERNELTK_CUB_SORT(Sort)
    KERNELTK_CUB_SORT(StableSort)
#undef KERNELTK_CUB_SORT

private:
    TempStorage& storage_;
};

}  // namespace kerneltk_details

template <class Key, int X, int N, class Value = NullType, int Y = 1, int Z = 1>
class BlockMergeSort : public kerneltk_details::merge_sort<Key, Value, X * Y * Z, N,
                                                           kerneltk_details::block_group> {
    using base = kerneltk_details::merge_sort<Key, Value, X * Y * Z, N,
                                              kerneltk_details::block_group>;
    KERNELTK_CUB_STORAGE_OF_BASE(BlockMergeSort)
};

template <class Key, int N, int Threads = 32, class Value = NullType, int = 0>
class WarpMergeSort : public kerneltk_details::merge_sort<Key, Value, Threads, N,
                                                          kerneltk_details::lane_group<Threads>> {
    using base = kerneltk_details::merge_sort<Key, Value, Threads, N,
                                              kerneltk_details::lane_group<Threads>>;

public:
    WarpMergeSort(typename base::TempStorage& storage) : base(storage) {}

    unsigned int get_member_mask() const { return kerneltk_details::lane_group<Threads>::mask(); }
};

}  // namespace cub

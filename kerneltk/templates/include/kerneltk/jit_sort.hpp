// Sorting within a block of X * Y * Z threads, each of which has ITEMS keys, and values with them.
//
// The items lie in the order of ranks: thread r has r * ITEMS ... (r + 1) * ITEMS - 1, before and
// after. Sorting is stable, so that results are the same on every backend. As in jit_block.hpp,
// every thread has to call, and a __syncthreads() comes before the storage is used again.
//
// On a GPU threads sort their own items by a network, then runs of items are merged in shared
// memory: each thread finds by bisection where its part of the merged run begins in either (the
// "merge path"). On the host one thread sorts for all.
#pragma once
#include <kerneltk/jit_block.hpp>
#if !KERNELTK_JIT_IN_PARALLEL
#include <kerneltk/host_merge.hpp>
#endif

namespace kerneltk::jit {

// NumPy's order of sorting: a NaN is greater than every number. Complex numbers are ordered by real
// parts, then by imaginary ones; those with a NaN come last, by which of the parts it is.
template <class T>
__device__ __forceinline__ bool sorts_before(const T& a, const T& b) {
    if constexpr (is_complex<T>) {
        const bool ar = jit::isnan(a.real()), ai = jit::isnan(a.imag());
        const bool br = jit::isnan(b.real()), bi = jit::isnan(b.imag());
        if (ar != br) return br;
        if (ai != bi) return bi;
        if (!ar && a.real() != b.real()) return a.real() < b.real();
        return !ai && a.imag() < b.imag();
    } else {
        return less(a, b) || (jit::isnan(b) && !jit::isnan(a));
    }
}

namespace ops {

struct ascending {
    template <class T>
    __device__ __forceinline__ bool operator()(const T& a, const T& b) const {
        return sorts_before(a, b);
    }
};
// The reverse order, NaNs first; equal keys stay in the order that they had.
struct descending {
    template <class T>
    __device__ __forceinline__ bool operator()(const T& a, const T& b) const {
        return sorts_before(b, a);
    }
};

}  // namespace ops

struct no_value {};

template <int COUNT>
struct sort_order {
#if !KERNELTK_JIT_IN_PARALLEL
    int order[2][COUNT];
    const int* sorted;
#endif
};
template <class K, class V, int COUNT>
struct sort_storage : sort_order<COUNT> {
    shared_items<K, COUNT> keys;
    shared_items<V, COUNT> values;
};
template <class K, int COUNT>
struct sort_storage<K, no_value, COUNT> : sort_order<COUNT> {
    shared_items<K, COUNT> keys;
};

template <class K, int N, int ITEMS = 1>
using block_sort_storage = sort_storage<K, no_value, N * ITEMS>;
template <class K, class V, int N, int ITEMS = 1>
using block_sort_pairs_storage = sort_storage<K, V, N * ITEMS>;

template <class T>
__device__ __forceinline__ void exchange_items(T& a, T& b) {
    const T kept = a;
    a = b;
    b = kept;
}

#if KERNELTK_JIT_IN_PARALLEL
// Odd-even transposition: stable, and with fixed places, so that items stay in registers.
template <class K, class V, int ITEMS, class Less>
__device__ __forceinline__ void sort_own(K (&keys)[ITEMS], [[maybe_unused]] V* values,
                                         const Less& less_than, int valid) {
    for (int round = 0; round < ITEMS; ++round) {
        for (int k = round & 1; k + 1 < ITEMS; k += 2) {
            if (k + 1 < valid && less_than(keys[k + 1], keys[k])) {
                exchange_items(keys[k], keys[k + 1]);
                if constexpr (!is_same<V, no_value>::value)
                    exchange_items(values[k], values[k + 1]);
            }
        }
    }
}
#endif

template <class K, class V, int ITEMS, int X, int Y, int Z, class Less>
__device__ __forceinline__ void sort_block(sort_storage<K, V, X * Y * Z * ITEMS>& storage,
                                           K (&keys)[ITEMS], [[maybe_unused]] V* values,
                                           const Less& less_than, int valid KERNELTK_JIT_PLACE) {
    constexpr int N = X * Y * Z;
    KERNELTK_JIT_EXPECT_BLOCK(X, Y, Z);
    const int rank = rank_in_block<X, Y, Z>(), first = rank * ITEMS;
    K* const held = storage.keys.begin();
    const auto publish = [&] {
        for (int k = 0; k < ITEMS; ++k) {
            held[first + k] = keys[k];
            if constexpr (!is_same<V, no_value>::value) storage.values[first + k] = values[k];
        }
    };
    const auto take = [&](int k, int source) {
        keys[k] = held[source];
        if constexpr (!is_same<V, no_value>::value) values[k] = storage.values[source];
    };
#if KERNELTK_JIT_IN_PARALLEL
    sort_own(keys, values, less_than, valid - first);
    for (int run = 1; run < N; run *= 2) {  // threads whose items are sorted
        if (run > 1) KERNELTK_JIT_BARRIER;
        publish();
        KERNELTK_JIT_BARRIER;

        const int left = min((rank & ~(2 * run - 1)) * ITEMS, valid);
        const int middle = min(left + run * ITEMS, valid), end = min(left + 2 * run * ITEMS, valid);
        const int place = min(first - left, end - left);  // in the merged run
        int low = max(place - (end - middle), 0), high = min(place, middle - left);
        while (low < high) {
            const int half = (low + high) / 2;
            if (less_than(held[middle + place - 1 - half], held[left + half]))
                high = half;
            else
                low = half + 1;
        }
        int a = left + low, b = middle + place - low;
        for (int k = 0; k < ITEMS; ++k) {
            if (first + k < valid) {
                const bool from_b = b < end && (a >= middle || less_than(held[b], held[a]));
                take(k, from_b ? b++ : a++);
            }
        }
    }
#else
    publish();
    _kt_block_barrier(_kt_file, _kt_line);
    if (rank == 0) {
        const auto less_at = [&](int a, int b) { return less_than(held[a], held[b]); };
        storage.sorted = merged_order(storage.order, valid, less_at);
    }
    _kt_block_barrier(_kt_file, _kt_line);
    for (int k = 0; k < ITEMS; ++k)
        if (first + k < valid) take(k, storage.sorted[first + k]);
#endif
}

// Sorts keys, the first `valid` of the block; the others stay where they are.
template <class K, int ITEMS, int X, int Y = 1, int Z = 1, class Less = ops::ascending>
__device__ __forceinline__ void block_sort(block_sort_storage<K, X * Y * Z, ITEMS>& storage,
                                           K (&keys)[ITEMS], const Less& less_than = Less(),
                                           int valid = X * Y * Z * ITEMS KERNELTK_JIT_PLACE) {
    no_value* const none = nullptr;
    sort_block<K, no_value, ITEMS, X, Y, Z>(storage, keys, none, less_than,
                                            valid KERNELTK_JIT_CALLER);
}
// The same, and moves values with their keys.
template <class K, class V, int ITEMS, int X, int Y = 1, int Z = 1, class Less = ops::ascending>
__device__ __forceinline__ void block_sort_pairs(
    block_sort_pairs_storage<K, V, X * Y * Z, ITEMS>& storage, K (&keys)[ITEMS],
    V (&values)[ITEMS], const Less& less_than = Less(),
    int valid = X * Y * Z * ITEMS KERNELTK_JIT_PLACE) {
    sort_block<K, V, ITEMS, X, Y, Z>(storage, keys, static_cast<V*>(values), less_than,
                                     valid KERNELTK_JIT_CALLER);
}

}  // namespace kerneltk::jit

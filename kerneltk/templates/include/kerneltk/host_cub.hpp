// The parts of CUB that a kernel's blocks and warps call, for host compilers.
//
// Sums run in the order of the threads, but for BlockReduce and WarpReduce, which add up as CUB's
// default algorithm does.
#pragma once
#include <kerneltk/host_cub_merge_sort.hpp>
#include <kerneltk/host_cub_moves.hpp>
#include <kerneltk/host_cub_neighbours.hpp>
#include <kerneltk/host_cub_warp.hpp>

namespace cub {

template <class T, int X, BlockReduceAlgorithm = BLOCK_REDUCE_WARP_REDUCTIONS, int Y = 1, int Z = 1,
          int = 0>
class BlockReduce {
    static constexpr int threads = X * Y * Z;
    using storage_type = kerneltk_details::storage<T, threads>;
    KERNELTK_CUB_STORAGE(BlockReduce)

public:
    // The result is the first thread's; others have none.
    template <class Operation>
    T Reduce(T value, Operation operation, int valid = threads, KERNELTK_CUB_PLACE) {
        const int rank = kerneltk_details::rank();
        storage_.set(rank, value);
        kerneltk_details::wait(at);
        if (rank != 0) return value;
        T* values = storage_.data();
        T total = value;
        for (int first = 0; first < valid; first += 32) {
            const int count = valid - first < 32 ? valid - first : 32;
            const T part = kerneltk_details::tree(values + first, count, 32, operation);
            total = first == 0 ? part : static_cast<T>(operation(total, part));
        }
        return total;
    }
    template <int N, class Operation>
    T Reduce(T (&items)[N], Operation operation, KERNELTK_CUB_PLACE) {
        return Reduce(kerneltk_details::fold(items, operation), operation, threads, at);
    }
    T Sum(T value, int valid = threads, KERNELTK_CUB_PLACE) {
        return Reduce(value, cub::Sum(), valid, at);
    }
    template <int N>
    T Sum(T (&items)[N], KERNELTK_CUB_PLACE) {
        return Reduce(items, cub::Sum(), at);
    }
};

// Of what is called with a block's total and returns what is in front of the block.
#define KERNELTK_CUB_CALLBACK \
    class Callback, class = decltype(static_cast<T>((*static_cast<Callback*>(nullptr))(T())))

template <class T, int X, BlockScanAlgorithm = BLOCK_SCAN_RAKING, int Y = 1, int Z = 1, int = 0>
class BlockScan {
    static constexpr int threads = X * Y * Z;
    struct storage_type {
        kerneltk_details::storage<T, threads> totals;
        T aggregate_of() { return totals.data()[threads - 1]; }
    };
    KERNELTK_CUB_STORAGE(BlockScan)
    using result = kerneltk_details::target<T>;

    // Returns the total of the threads before this one, where there are any, and all threads' total.
    template <class Operation>
    T before(const T& own, Operation operation, T& aggregate, const kerneltk_details::place& at) {
        const int rank = kerneltk_details::rank();
        storage_.totals.set(rank, own);
        kerneltk_details::wait(at);
        T* totals = storage_.totals.data();
        if (rank == 0)
            for (int k = 1; k < threads; ++k)
                totals[k] = static_cast<T>(operation(totals[k - 1], totals[k]));
        kerneltk_details::wait(at);
        aggregate = storage_.aggregate_of();
        return rank == 0 ? own : totals[rank - 1];
    }
    // What a callback of the first warp returns, for every thread.
    template <class Callback>
    T prefix_of(Callback& callback, const T& aggregate, const kerneltk_details::place& at) {
        const int rank = kerneltk_details::rank();
        kerneltk_details::wait(at);
        if (rank < 32) {
            const T prefix = callback(aggregate);
            if (rank == 0) storage_.totals.set(0, prefix);
        }
        kerneltk_details::wait(at);
        return storage_.totals.data()[0];
    }
    // Writes the scan of this thread's items behind `start`, if there is one.
    template <bool INCLUSIVE, int N, class Operation>
    static void write(const T (&in)[N], T (&out)[N], bool has_start, T start, Operation operation) {
        for (int k = 0; k < N; ++k) {
            const T item = in[k];
            const T next = has_start ? static_cast<T>(operation(start, item)) : item;
            if (INCLUSIVE || has_start) out[k] = INCLUSIVE ? next : start;
            start = next;
            has_start = true;
        }
    }
    static T (&as_array(T& value))[1] { return reinterpret_cast<T(&)[1]>(value); }
    template <int N>
    static T (&as_array(T (&values)[N]))[N] {
        return values;
    }
    template <bool INCLUSIVE, int N, class Operation>
    void scan(const T (&in)[N], T (&out)[N], const T* initial, Operation operation, result total,
              const kerneltk_details::place& at) {
        T aggregate;
        T start = before(kerneltk_details::fold(in, operation), operation, aggregate, at);
        if (total.to != nullptr) *total.to = aggregate;
        const bool first = kerneltk_details::rank() == 0;
        if (initial != nullptr)
            start = first ? *initial : static_cast<T>(operation(*initial, start));
        write<INCLUSIVE>(in, out, initial != nullptr || !first, start, operation);
    }
    template <bool INCLUSIVE, int N, class Operation, class Callback>
    void scan_behind(const T (&in)[N], T (&out)[N], Operation operation, Callback& callback,
                     const kerneltk_details::place& at) {
        T aggregate;
        T start = before(kerneltk_details::fold(in, operation), operation, aggregate, at);
        const T prefix = prefix_of(callback, aggregate, at);
        start = kerneltk_details::rank() == 0 ? prefix : static_cast<T>(operation(prefix, start));
        write<INCLUSIVE>(in, out, true, start, operation);
    }

public:
    // In front of the first of a sum is zero; what is in front of the first of another scan without
    // an initial value stays as it was.
#define KERNELTK_CUB_ITEMS int N,
#define KERNELTK_CUB_ZERO T{},
#define KERNELTK_CUB_SUMS(Name, Scan, start, template_n, items, In, Out)                          \
    template_n void Name(In, Out, result total = {}, KERNELTK_CUB_PLACE) {                        \
        Scan(in, out, start cub::Sum(), total, at);                                               \
    }                                                                                             \
    template <items KERNELTK_CUB_CALLBACK>                                                        \
    void Name(In, Out, Callback& callback, KERNELTK_CUB_PLACE) {                                  \
        Scan(in, out, cub::Sum(), callback, at);                                                  \
    }
    KERNELTK_CUB_SUMS(InclusiveSum, InclusiveScan, , , , T in, T& out)
    KERNELTK_CUB_SUMS(ExclusiveSum, ExclusiveScan, KERNELTK_CUB_ZERO, , , T in, T& out)
    KERNELTK_CUB_SUMS(InclusiveSum, InclusiveScan, , template <int N>, KERNELTK_CUB_ITEMS, T (&in)[N],
                      T (&out)[N])
    KERNELTK_CUB_SUMS(ExclusiveSum, ExclusiveScan, KERNELTK_CUB_ZERO, template <int N>,
                      KERNELTK_CUB_ITEMS, T (&in)[N], T (&out)[N])
#undef KERNELTK_CUB_SUMS

#define KERNELTK_CUB_SCAN(Name, is_inclusive, items, In, Out)                                     \
    template <items class Operation>                                                              \
    void Name(In, Out, Operation operation, result total = {}, KERNELTK_CUB_PLACE) {              \
        scan<is_inclusive>(as_array(in), as_array(out), nullptr, operation, total, at);           \
    }                                                                                             \
    template <items class Operation>                                                              \
    void Name(In, Out, T initial, Operation operation, result total = {}, KERNELTK_CUB_PLACE) {   \
        scan<is_inclusive>(as_array(in), as_array(out), &initial, operation, total, at);          \
    }                                                                                             \
    template <items class Operation, KERNELTK_CUB_CALLBACK>                                       \
    void Name(In, Out, Operation operation, Callback& callback, KERNELTK_CUB_PLACE) {             \
        scan_behind<is_inclusive>(as_array(in), as_array(out), operation, callback, at);          \
    }
    KERNELTK_CUB_SCAN(InclusiveScan, true, , T in, T& out)
    KERNELTK_CUB_SCAN(ExclusiveScan, false, , T in, T& out)
    KERNELTK_CUB_SCAN(InclusiveScan, true, KERNELTK_CUB_ITEMS, T (&in)[N], T (&out)[N])
    KERNELTK_CUB_SCAN(ExclusiveScan, false, KERNELTK_CUB_ITEMS, T (&in)[N], T (&out)[N])
#undef KERNELTK_CUB_SCAN
#undef KERNELTK_CUB_ZERO
#undef KERNELTK_CUB_ITEMS
};
#undef KERNELTK_CUB_CALLBACK

template <class T, int X, int N, BlockLoadAlgorithm Algorithm = BLOCK_LOAD_DIRECT, int Y = 1,
          int Z = 1, int = 0>
using BlockLoad = kerneltk_details::loads<
    T, N, kerneltk_details::items_of<X * Y * Z, N, Algorithm == BLOCK_LOAD_STRIPED>,
    kerneltk_details::block_group>;
template <class T, int X, int N, BlockStoreAlgorithm Algorithm = BLOCK_STORE_DIRECT, int Y = 1,
          int Z = 1, int = 0>
using BlockStore = kerneltk_details::stores<
    T, N, kerneltk_details::items_of<X * Y * Z, N, Algorithm == BLOCK_STORE_STRIPED>,
    kerneltk_details::block_group>;

template <class T, int X, int N, bool = false, int Y = 1, int Z = 1, int = 0>
class BlockExchange : public kerneltk_details::exchanges<T, N, X * Y * Z,
                                                         kerneltk_details::block_group> {
    using base = kerneltk_details::exchanges<T, N, X * Y * Z, kerneltk_details::block_group>;
    using blocked = kerneltk_details::blocked<N>;
    using striped = kerneltk_details::striped<X * Y * Z>;
    using warp_striped = kerneltk_details::warp_striped<N>;
    KERNELTK_CUB_STORAGE_OF_BASE(BlockExchange)

    KERNELTK_CUB_EXCHANGE(WarpStripedToBlocked, warp_striped, blocked)
    KERNELTK_CUB_EXCHANGE(BlockedToWarpStriped, blocked, warp_striped)
    KERNELTK_CUB_SCATTER(ScatterToBlocked, blocked)
    KERNELTK_CUB_SCATTER(ScatterToStripedGuarded, striped)
    template <class U, class Rank, class Flag>
    void ScatterToStripedFlagged(const T (&in)[N], U (&out)[N], Rank (&ranks)[N], Flag (&flags)[N],
                                 KERNELTK_CUB_PLACE) {
        const auto from = [&](int k) { return flags[k] ? static_cast<int>(ranks[k]) : -1; };
        this->template exchange<striped>(in, out, from, at);
    }
    template <class Rank, class Flag>
    void ScatterToStripedFlagged(T (&items)[N], Rank (&ranks)[N], Flag (&flags)[N],
                                 KERNELTK_CUB_PLACE) {
        ScatterToStripedFlagged(items, items, ranks, flags, at);
    }
};
#undef KERNELTK_CUB_SCATTER
#undef KERNELTK_CUB_EXCHANGE

// The bits of numbers as radix sorts take them, and in their order (CUB's util_type.cuh).
enum Category { NOT_A_NUMBER, SIGNED_INTEGER, UNSIGNED_INTEGER, FLOATING_POINT };
template <class T, bool IS_NUMBER = ::kerneltk::is_number<T>::value>
struct Traits {
    static constexpr Category CATEGORY = NOT_A_NUMBER;
    static constexpr bool PRIMITIVE = false, NULL_TYPE = __is_same(T, NullType);
};
template <class T>
struct Traits<T, true> {
    using UnsignedBits = ::kerneltk::word_of<sizeof(T)>;
    static constexpr bool is_integer = ::kerneltk::is_integer<T>::value || __is_same(T, bool);
    static constexpr Category CATEGORY = !is_integer        ? FLOATING_POINT
                                         : T(-1) < T(0) ? SIGNED_INTEGER
                                                            : UNSIGNED_INTEGER;
    static constexpr bool PRIMITIVE = true, NULL_TYPE = false;
    static constexpr UnsignedBits HIGH = UnsignedBits(1ull << (8 * sizeof(T) - 1));
    static constexpr UnsignedBits TwiddleIn(UnsignedBits key) {
        if (CATEGORY == UNSIGNED_INTEGER) return key;
        return key ^ (CATEGORY == FLOATING_POINT && (key & HIGH) ? UnsignedBits(-1) : HIGH);
    }
    static constexpr UnsignedBits TwiddleOut(UnsignedBits key) {
        if (CATEGORY == UNSIGNED_INTEGER) return key;
        return key ^ (CATEGORY == FLOATING_POINT && !(key & HIGH) ? UnsignedBits(-1) : HIGH);
    }
};

namespace kerneltk_details {

// A key's bits, ordered as unsigned integers are. Zeros of both signs are equal.
template <class Key>
inline unsigned long long ordered(const Key& key) {
    unsigned long long bits = 0;
    __builtin_memcpy(&bits, &key, sizeof(Key));
    const unsigned long long sign = 1ull << (8 * sizeof(Key) - 1);
    if constexpr (::kerneltk::is_integer<Key>::value || __is_same(Key, bool) || __is_enum(Key)) {
        return Key(-1) < Key(0) && !__is_same(Key, bool) ? bits ^ sign : bits;
    } else {
        if (bits == sign) bits = 0;
        return (bits & sign) != 0 ? bits ^ ((sign << 1) - 1) : bits | sign;
    }
}

// The bits of keys that are numbers, from a certain one.
template <class Key>
struct whole_keys {
    static constexpr int bits = 8 * static_cast<int>(sizeof(Key));
    unsigned long long operator()(const Key& key, int bit) const { return ordered(key) >> bit; }
};

// And of keys that are taken apart: a decomposer makes a tuple of references, whose last one has the
// lowest bits.
template <int>
void get() = delete;  // so that `get<K>(tuple)` is looked for where the tuple is
template <class Tuple>
struct fields;
template <template <class...> class Tuple, class... Fields>
struct fields<Tuple<Fields...>> {
    static constexpr int bits = (0 + ... + (8 * static_cast<int>(sizeof(Fields))));

    template <int K = 0>
    static unsigned long long at(const Tuple<Fields...>& key, int bit, int end = bits) {
        if constexpr (K < sizeof...(Fields)) {
            const auto& field = get<K>(key);
            end -= 8 * static_cast<int>(sizeof(field));
            const int from = end - bit;
            const unsigned long long value = ordered(field);
            const unsigned long long part =
                from <= -64 || from >= 64 ? 0 : from < 0 ? value >> -from : value << from;
            return part | at<K + 1>(key, bit, end);
        } else {
            return 0;
        }
    }
};
template <class Decomposer, class Key>
using taken_apart = decltype((*static_cast<Decomposer*>(nullptr))(*static_cast<Key*>(nullptr)));
template <class Key, class Decomposer>
struct parts_of_keys {
    using found = fields<taken_apart<Decomposer, Key>>;
    Decomposer& take_apart;

    unsigned long long operator()(Key& key, int bit) const {
        return found::at(take_apart(key), bit);
    }
    static constexpr int bits = found::bits;
};

}  // namespace kerneltk_details

template <class Key, int X, int N, class Value = NullType, int = 4, bool = true,
          BlockScanAlgorithm = BLOCK_SCAN_WARP_SCANS,
          cudaSharedMemConfig = cudaSharedMemBankSizeFourByte, int Y = 1, int Z = 1, int = 0>
class BlockRadixSort {
    static constexpr int threads = X * Y * Z, items = threads * N;
    struct storage_type {
        kerneltk_details::storage<Key, items> keys;
        kerneltk_details::storage<Value, items> values;
        unsigned short order[2][items];
    };
    KERNELTK_CUB_STORAGE(BlockRadixSort)

    static constexpr int all_bits = static_cast<int>(sizeof(Key)) * 8;
    using whole = kerneltk_details::whole_keys<Key>;
    template <class Decomposer>
    using parts = kerneltk_details::parts_of_keys<Key, Decomposer>;

    // By a byte after the other, from the lowest; each pass keeps the order of equal ones.
    template <class Bits>
    void sort(const Bits& bits_of, bool is_descending, int begin, int end) {
        unsigned short *from = storage_.order[0], *to = storage_.order[1];
        for (int k = 0; k < items; ++k) from[k] = static_cast<unsigned short>(k);
        for (int bit = begin; bit < end; bit += 8) {
            const unsigned int mask = end - bit < 8 ? (1u << (end - bit)) - 1 : 255u;
            const auto digit = [&](int item) {
                const unsigned int low =
                    static_cast<unsigned int>(bits_of(storage_.keys.data()[item], bit)) & mask;
                return is_descending ? mask - low : low;
            };
            int starts[257] = {};
            for (int k = 0; k < items; ++k) ++starts[digit(k) + 1];
            for (int k = 0; k < 256; ++k) starts[k + 1] += starts[k];
            for (int k = 0; k < items; ++k) to[starts[digit(from[k])]++] = from[k];
            unsigned short* const other = from;
            from = to;
            to = other;
        }
        if (from != storage_.order[0])
            for (int k = 0; k < items; ++k) storage_.order[0][k] = from[k];
    }
    template <class Bits>
    void sort_items(const Bits& bits_of, Key (&keys)[N], Value* values, bool is_descending,
                    bool is_striped, int begin, int end, const kerneltk_details::place& at) {
        static_assert(items <= 65535, "a block sorts at most 65535 items on CPU cores");
        const int rank = kerneltk_details::rank();
        for (int k = 0; k < N; ++k) {
            storage_.keys.set(rank * N + k, keys[k]);
            if (values != nullptr) storage_.values.set(rank * N + k, values[k]);
        }
        kerneltk_details::wait(at);
        if (rank == 0) sort(bits_of, is_descending, begin, end < Bits::bits ? end : Bits::bits);
        kerneltk_details::wait(at);
        for (int k = 0; k < N; ++k) {
            const int item = storage_.order[0][is_striped ? k * threads + rank : rank * N + k];
            keys[k] = storage_.keys.data()[item];
            if (values != nullptr) values[k] = storage_.values.data()[item];
        }
        // Several sorts may follow one another without a barrier.
        kerneltk_details::wait(at);
    }

public:
#define KERNELTK_CUB_SORT(Name, is_descending, is_striped)                                        \
    void Name(Key (&keys)[N], int begin = 0, int end = all_bits, KERNELTK_CUB_PLACE) {            \
        sort_items(whole(), keys, nullptr, is_descending, is_striped, begin, end, at);            \
    }                                                                                             \
    void Name(Key (&keys)[N], Value (&values)[N], int begin = 0, int end = all_bits,              \
              KERNELTK_CUB_PLACE) {                                                               \
        sort_items(whole(), keys, values, is_descending, is_striped, begin, end, at);             \
    }                                                                                             \
    template <class Decomposer, class = kerneltk_details::taken_apart<Decomposer, Key>,           \
              int End = parts<Decomposer>::bits>                                                  \
    void Name(Key (&keys)[N], Decomposer apart, int begin = 0, int end = End,                     \
              KERNELTK_CUB_PLACE) {                                                               \
        sort_items(parts<Decomposer>{apart}, keys, nullptr, is_descending, is_striped, begin, end, \
                   at);                                                                           \
    }                                                                                             \
    template <class Decomposer, class = kerneltk_details::taken_apart<Decomposer, Key>,           \
              int End = parts<Decomposer>::bits>                                                  \
    void Name(Key (&keys)[N], Value (&values)[N], Decomposer apart, int begin = 0, int end = End, \
              KERNELTK_CUB_PLACE) {                                                               \
        sort_items(parts<Decomposer>{apart}, keys, values, is_descending, is_striped, begin, end, \
                   at);                                                                           \
    }
    KERNELTK_CUB_SORT(Sort, false, false)
    KERNELTK_CUB_SORT(SortDescending, true, false)
    KERNELTK_CUB_SORT(SortBlockedToStriped, false, true)
    KERNELTK_CUB_SORT(SortDescendingBlockedToStriped, true, true)
#undef KERNELTK_CUB_SORT
};

template <class T, int X, int N, int Bins, BlockHistogramAlgorithm = BLOCK_HISTO_SORT, int Y = 1,
          int Z = 1, int = 0>
class BlockHistogram {
    static constexpr int threads = X * Y * Z;
    struct storage_type {};
    KERNELTK_CUB_STORAGE(BlockHistogram)

public:
    template <class Counter>
    void InitHistogram(Counter (&counts)[Bins]) {
        for (int k = kerneltk_details::rank(); k < Bins; k += threads) counts[k] = 0;
    }
    template <class Counter>
    void Composite(T (&items)[N], Counter (&counts)[Bins]) {
        for (int k = 0; k < N; ++k)
            __atomic_fetch_add(&counts[static_cast<unsigned int>(items[k])], Counter(1),
                               __ATOMIC_RELAXED);
    }
    template <class Counter>
    void Histogram(T (&items)[N], Counter (&counts)[Bins], KERNELTK_CUB_PLACE) {
        InitHistogram(counts);
        kerneltk_details::wait(at);
        Composite(items, counts);
    }
};

}  // namespace cub

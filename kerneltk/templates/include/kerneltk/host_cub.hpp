// The parts of CUB that a kernel's blocks and warps call, for host compilers.
//
// Threads bring what they have into the temporary storage, one of them does the work, and all take
// their results from there. Temporary storage is used, and may be used again, as CUB has it: behind a
// barrier. Sums run in the order of the threads, but for BlockReduce and WarpReduce of numbers, which
// add up as CUB's default algorithm does.
#pragma once
#include <kerneltk/host_grid.hpp>

// Parameters of classes that tell CUB how a GPU's shared memory is set up.
enum cudaSharedMemConfig {
    cudaSharedMemBankSizeDefault = 0,
    cudaSharedMemBankSizeFourByte = 1,
    cudaSharedMemBankSizeEightByte = 2,
};

namespace cub {

// ---- operators ----

#define KERNELTK_CUB_OPERATOR(name, expression)                       \
    struct name {                                                     \
        template <class T, class U>                                   \
        constexpr auto operator()(const T& x, const U& y) const {     \
            return expression;                                        \
        }                                                             \
    };
KERNELTK_CUB_OPERATOR(Sum, x + y)
KERNELTK_CUB_OPERATOR(Difference, x - y)
KERNELTK_CUB_OPERATOR(Division, x / y)
KERNELTK_CUB_OPERATOR(Max, x < y ? y : x)
KERNELTK_CUB_OPERATOR(Min, y < x ? y : x)
KERNELTK_CUB_OPERATOR(Equality, x == y)
KERNELTK_CUB_OPERATOR(Inequality, x != y)
#undef KERNELTK_CUB_OPERATOR

struct NullType {};

template <class Key, class Value>
struct KeyValuePair {
    using Key_ = Key;
    Key key;
    Value value;
    constexpr KeyValuePair() = default;
    constexpr KeyValuePair(const Key& k, const Value& v) : key(k), value(v) {}
    constexpr bool operator!=(const KeyValuePair& other) const {
        return value != other.value || key != other.key;
    }
};
// Of equal values the one of the lower key.
struct ArgMax {
    template <class Pair>
    constexpr Pair operator()(const Pair& x, const Pair& y) const {
        return x.value < y.value || (x.value == y.value && y.key < x.key) ? y : x;
    }
};
struct ArgMin {
    template <class Pair>
    constexpr Pair operator()(const Pair& x, const Pair& y) const {
        return y.value < x.value || (x.value == y.value && y.key < x.key) ? y : x;
    }
};

inline unsigned int LaneId() { return _kt_lane(); }
inline unsigned int WarpId() { return _kt_warp(); }

enum BlockReduceAlgorithm {
    BLOCK_REDUCE_RAKING_COMMUTATIVE_ONLY,
    BLOCK_REDUCE_RAKING,
    BLOCK_REDUCE_WARP_REDUCTIONS,
    BLOCK_REDUCE_WARP_REDUCTIONS_NONDETERMINISTIC,
};
enum BlockScanAlgorithm {
    BLOCK_SCAN_RAKING,
    BLOCK_SCAN_RAKING_MEMOIZE,
    BLOCK_SCAN_WARP_SCANS,
};
enum BlockLoadAlgorithm {
    BLOCK_LOAD_DIRECT,
    BLOCK_LOAD_STRIPED,
    BLOCK_LOAD_VECTORIZE,
    BLOCK_LOAD_TRANSPOSE,
    BLOCK_LOAD_WARP_TRANSPOSE,
    BLOCK_LOAD_WARP_TRANSPOSE_TIMESLICED,
};
enum BlockStoreAlgorithm {
    BLOCK_STORE_DIRECT,
    BLOCK_STORE_STRIPED,
    BLOCK_STORE_VECTORIZE,
    BLOCK_STORE_TRANSPOSE,
    BLOCK_STORE_WARP_TRANSPOSE,
    BLOCK_STORE_WARP_TRANSPOSE_TIMESLICED,
};
enum BlockHistogramAlgorithm { BLOCK_HISTO_SORT, BLOCK_HISTO_ATOMIC };

namespace kerneltk_details {

// Memory for objects that nobody constructs.
template <class T, int Count>
struct storage {
    alignas(T) unsigned char bytes[sizeof(T) * Count];

    T* data() { return reinterpret_cast<T*>(bytes); }
    void set(int i, const T& value) { __builtin_memcpy(bytes + sizeof(T) * i, &value, sizeof(T)); }
};
inline int rank() { return static_cast<int>(::kerneltk::grid::thread_rank()); }

// The totals of warps are made by halving, and added up in their order, as on a GPU.
template <class T, class Operation>
inline T tree(T* values, int count, int width, Operation operation) {
    for (int step = 1; step < width; step *= 2)
        for (int k = 0; k + step < count; ++k)
            values[k] = static_cast<T>(operation(values[k], values[k + step]));
    return values[0];
}
template <class T, class Operation>
inline T fold(const T (&items)[1], Operation) {
    return items[0];
}
template <class T, int N, class Operation>
inline T fold(const T (&items)[N], Operation operation) {
    T total = items[0];
    for (int k = 1; k < N; ++k) total = static_cast<T>(operation(total, items[k]));
    return total;
}

}  // namespace kerneltk_details

#define KERNELTK_CUB_STORAGE(Class)                                                     \
public:                                                                                 \
    using TempStorage = storage_type;                                                   \
    explicit Class(TempStorage& storage) : storage_(storage) {}                         \
    Class() : storage_(own()) {}                                                        \
                                                                                        \
private:                                                                                \
    static TempStorage& own() {                                                         \
        static thread_local TempStorage storage;                                        \
        return storage;                                                                 \
    }                                                                                   \
    TempStorage& storage_;

// ---- blocks ----

template <class T, int X, BlockReduceAlgorithm = BLOCK_REDUCE_WARP_REDUCTIONS, int Y = 1, int Z = 1,
          int = 0>
class BlockReduce {
    static constexpr int threads = X * Y * Z;
    using storage_type = kerneltk_details::storage<T, threads>;
    KERNELTK_CUB_STORAGE(BlockReduce)

public:
    // The result is the first thread's; others have none.
    template <class Operation>
    T Reduce(T value, Operation operation, int valid, KERNELTK_PLACE) {
        const int rank = kerneltk_details::rank();
        storage_.set(rank, value);
        _kt_block_barrier(_kt_file, _kt_line);
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
    template <class Operation>
    T Reduce(T value, Operation operation, KERNELTK_PLACE) {
        return Reduce(value, operation, threads, _kt_file, _kt_line);
    }
    template <int N, class Operation>
    T Reduce(T (&items)[N], Operation operation, KERNELTK_PLACE) {
        return Reduce(kerneltk_details::fold(items, operation), operation, threads, _kt_file,
                      _kt_line);
    }
    T Sum(T value, KERNELTK_PLACE) {
        return Reduce(value, cub::Sum(), threads, _kt_file, _kt_line);
    }
    T Sum(T value, int valid, KERNELTK_PLACE) {
        return Reduce(value, cub::Sum(), valid, _kt_file, _kt_line);
    }
    template <int N>
    T Sum(T (&items)[N], KERNELTK_PLACE) {
        return Reduce(items, cub::Sum(), _kt_file, _kt_line);
    }
};

template <class T, int X, BlockScanAlgorithm = BLOCK_SCAN_RAKING, int Y = 1, int Z = 1, int = 0>
class BlockScan {
    static constexpr int threads = X * Y * Z;
    struct storage_type {
        kerneltk_details::storage<T, threads> totals;
        T aggregate_of() { return totals.data()[threads - 1]; }
    };
    KERNELTK_CUB_STORAGE(BlockScan)

    // Returns the total of the threads before this one, where there are any, and all threads' total.
    template <class Operation>
    T before(const T& own, Operation operation, T& aggregate, const char* file, int line) {
        const int rank = kerneltk_details::rank();
        storage_.totals.set(rank, own);
        _kt_block_barrier(file, line);
        T* totals = storage_.totals.data();
        if (rank == 0)
            for (int k = 1; k < threads; ++k)
                totals[k] = static_cast<T>(operation(totals[k - 1], totals[k]));
        _kt_block_barrier(file, line);
        aggregate = storage_.aggregate_of();
        return rank == 0 ? own : totals[rank - 1];
    }
    // What a callback of the first warp returns, for every thread.
    template <class Callback>
    T prefix_of(Callback& callback, const T& aggregate, const char* file, int line) {
        const int rank = kerneltk_details::rank();
        _kt_block_barrier(file, line);
        if (rank < 32) {
            const T prefix = callback(aggregate);
            if (rank == 0) storage_.totals.set(0, prefix);
        }
        _kt_block_barrier(file, line);
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
    static const T (&as_array(const T& value))[1] {
        return reinterpret_cast<const T(&)[1]>(value);
    }
    template <bool INCLUSIVE, int N, class Operation>
    void scan(const T (&in)[N], T (&out)[N], const T* initial, Operation operation, T& aggregate,
              const char* file, int line) {
        T start = before(kerneltk_details::fold(in, operation), operation, aggregate, file, line);
        const bool first = kerneltk_details::rank() == 0;
        if (initial != nullptr)
            start = first ? *initial : static_cast<T>(operation(*initial, start));
        write<INCLUSIVE>(in, out, initial != nullptr || !first, start, operation);
    }
    template <bool INCLUSIVE, int N, class Operation, class Callback>
    void scan_behind(const T (&in)[N], T (&out)[N], Operation operation, Callback& callback,
                     const char* file, int line) {
        T aggregate;
        T start = before(kerneltk_details::fold(in, operation), operation, aggregate, file, line);
        const T prefix = prefix_of(callback, aggregate, file, line);
        start = kerneltk_details::rank() == 0 ? prefix : static_cast<T>(operation(prefix, start));
        write<INCLUSIVE>(in, out, true, start, operation);
    }

public:
    // In front of the first of a sum is zero.
    void InclusiveSum(T in, T& out, KERNELTK_PLACE) {
        T total;
        InclusiveScan(in, out, cub::Sum(), total, _kt_file, _kt_line);
    }
    void InclusiveSum(T in, T& out, T& total, KERNELTK_PLACE) {
        InclusiveScan(in, out, cub::Sum(), total, _kt_file, _kt_line);
    }
    void ExclusiveSum(T in, T& out, KERNELTK_PLACE) {
        T total;
        ExclusiveScan(in, out, T{}, cub::Sum(), total, _kt_file, _kt_line);
    }
    void ExclusiveSum(T in, T& out, T& total, KERNELTK_PLACE) {
        ExclusiveScan(in, out, T{}, cub::Sum(), total, _kt_file, _kt_line);
    }
    template <class Callback, class = decltype(static_cast<T>((*static_cast<Callback*>(nullptr))(T())))>
    void InclusiveSum(T in, T& out, Callback& callback, KERNELTK_PLACE) {
        scan_behind<true>(as_array(in), as_array(out), cub::Sum(), callback, _kt_file, _kt_line);
    }
    template <class Callback, class = decltype(static_cast<T>((*static_cast<Callback*>(nullptr))(T())))>
    void ExclusiveSum(T in, T& out, Callback& callback, KERNELTK_PLACE) {
        scan_behind<false>(as_array(in), as_array(out), cub::Sum(), callback, _kt_file, _kt_line);
    }
    template <class Operation>
    void InclusiveScan(T in, T& out, Operation operation, KERNELTK_PLACE) {
        T total;
        scan<true>(as_array(in), as_array(out), nullptr, operation, total, _kt_file, _kt_line);
    }
    template <class Operation>
    void InclusiveScan(T in, T& out, Operation operation, T& total, KERNELTK_PLACE) {
        scan<true>(as_array(in), as_array(out), nullptr, operation, total, _kt_file, _kt_line);
    }
    template <class Operation>
    void ExclusiveScan(T in, T& out, T initial, Operation operation, KERNELTK_PLACE) {
        T total;
        scan<false>(as_array(in), as_array(out), &initial, operation, total, _kt_file, _kt_line);
    }
    template <class Operation>
    void ExclusiveScan(T in, T& out, T initial, Operation operation, T& total, KERNELTK_PLACE) {
        scan<false>(as_array(in), as_array(out), &initial, operation, total, _kt_file, _kt_line);
    }
    template <int N>
    void InclusiveSum(T (&in)[N], T (&out)[N], KERNELTK_PLACE) {
        T total;
        scan<true>(in, out, nullptr, cub::Sum(), total, _kt_file, _kt_line);
    }
    template <int N>
    void InclusiveSum(T (&in)[N], T (&out)[N], T& total, KERNELTK_PLACE) {
        scan<true>(in, out, nullptr, cub::Sum(), total, _kt_file, _kt_line);
    }
    template <int N>
    void ExclusiveSum(T (&in)[N], T (&out)[N], KERNELTK_PLACE) {
        T total;
        ExclusiveSum(in, out, total, _kt_file, _kt_line);
    }
    template <int N>
    void ExclusiveSum(T (&in)[N], T (&out)[N], T& total, KERNELTK_PLACE) {
        const T zero{};
        scan<false>(in, out, &zero, cub::Sum(), total, _kt_file, _kt_line);
    }
    template <int N, class Callback,
              class = decltype(static_cast<T>((*static_cast<Callback*>(nullptr))(T())))>
    void ExclusiveSum(T (&in)[N], T (&out)[N], Callback& callback, KERNELTK_PLACE) {
        scan_behind<false>(in, out, cub::Sum(), callback, _kt_file, _kt_line);
    }
    template <int N, class Operation>
    void InclusiveScan(T (&in)[N], T (&out)[N], Operation operation, KERNELTK_PLACE) {
        T total;
        scan<true>(in, out, nullptr, operation, total, _kt_file, _kt_line);
    }
    template <int N, class Operation>
    void InclusiveScan(T (&in)[N], T (&out)[N], Operation operation, T& total, KERNELTK_PLACE) {
        scan<true>(in, out, nullptr, operation, total, _kt_file, _kt_line);
    }
    template <int N, class Operation>
    void ExclusiveScan(T (&in)[N], T (&out)[N], T initial, Operation operation, KERNELTK_PLACE) {
        T total;
        scan<false>(in, out, &initial, operation, total, _kt_file, _kt_line);
    }
    template <int N, class Operation>
    void ExclusiveScan(T (&in)[N], T (&out)[N], T initial, Operation operation, T& total,
                       KERNELTK_PLACE) {
        scan<false>(in, out, &initial, operation, total, _kt_file, _kt_line);
    }
};

// Where an item of a thread lies: a thread's items are neighbours, or as far apart as a block.
template <class T, int X, int N, BlockLoadAlgorithm Algorithm = BLOCK_LOAD_DIRECT, int Y = 1,
          int Z = 1, int = 0>
class BlockLoad {
    static constexpr int threads = X * Y * Z;
    struct storage_type {};
    KERNELTK_CUB_STORAGE(BlockLoad)

    static int index(int item) {
        const int rank = kerneltk_details::rank();
        return Algorithm == BLOCK_LOAD_STRIPED ? item * threads + rank : rank * N + item;
    }

public:
    template <class Iterator>
    void Load(Iterator from, T (&items)[N]) {
        for (int k = 0; k < N; ++k) items[k] = from[index(k)];
    }
    template <class Iterator>
    void Load(Iterator from, T (&items)[N], int valid) {
        for (int k = 0; k < N; ++k)
            if (index(k) < valid) items[k] = from[index(k)];
    }
    template <class Iterator, class Default>
    void Load(Iterator from, T (&items)[N], int valid, Default otherwise) {
        for (int k = 0; k < N; ++k)
            items[k] = index(k) < valid ? static_cast<T>(from[index(k)]) : static_cast<T>(otherwise);
    }
};
template <class T, int X, int N, BlockStoreAlgorithm Algorithm = BLOCK_STORE_DIRECT, int Y = 1,
          int Z = 1, int = 0>
class BlockStore {
    static constexpr int threads = X * Y * Z;
    struct storage_type {};
    KERNELTK_CUB_STORAGE(BlockStore)

    static int index(int item) {
        const int rank = kerneltk_details::rank();
        return Algorithm == BLOCK_STORE_STRIPED ? item * threads + rank : rank * N + item;
    }

public:
    template <class Iterator>
    void Store(Iterator to, T (&items)[N]) {
        for (int k = 0; k < N; ++k) to[index(k)] = items[k];
    }
    template <class Iterator>
    void Store(Iterator to, T (&items)[N], int valid) {
        for (int k = 0; k < N; ++k)
            if (index(k) < valid) to[index(k)] = items[k];
    }
};

template <class T, int X, int N, bool = false, int Y = 1, int Z = 1, int = 0>
class BlockExchange {
    static constexpr int threads = X * Y * Z;
    using storage_type = kerneltk_details::storage<T, threads * N>;
    KERNELTK_CUB_STORAGE(BlockExchange)

    static int blocked(int k) { return kerneltk_details::rank() * N + k; }
    static int striped(int k) { return kerneltk_details::rank() + k * threads; }
    static int warp_striped(int k) {
        const int rank = kerneltk_details::rank();
        return rank / 32 * 32 * N + rank % 32 + k * 32;
    }
    template <class From, class To, class U>
    void exchange(const T (&in)[N], U (&out)[N], From from, To to, const char* file, int line) {
        for (int k = 0; k < N; ++k) storage_.set(from(k), in[k]);
        _kt_block_barrier(file, line);
        for (int k = 0; k < N; ++k) out[k] = storage_.data()[to(k)];
    }

public:
#define KERNELTK_CUB_EXCHANGE(Name, from, to)                                            \
    template <class U>                                                                   \
    void Name(const T (&in)[N], U (&out)[N], KERNELTK_PLACE) {                           \
        exchange(in, out, from, to, _kt_file, _kt_line);                                 \
    }                                                                                    \
    void Name(T (&items)[N], KERNELTK_PLACE) {                                           \
        exchange(items, items, from, to, _kt_file, _kt_line);                            \
    }
    KERNELTK_CUB_EXCHANGE(StripedToBlocked, striped, blocked)
    KERNELTK_CUB_EXCHANGE(BlockedToStriped, blocked, striped)
    KERNELTK_CUB_EXCHANGE(WarpStripedToBlocked, warp_striped, blocked)
    KERNELTK_CUB_EXCHANGE(BlockedToWarpStriped, blocked, warp_striped)
#undef KERNELTK_CUB_EXCHANGE
    template <class U, class Rank>
    void ScatterToBlocked(const T (&in)[N], U (&out)[N], Rank (&ranks)[N], KERNELTK_PLACE) {
        exchange(in, out, [&](int k) { return static_cast<int>(ranks[k]); }, blocked, _kt_file,
                 _kt_line);
    }
    template <class U, class Rank>
    void ScatterToStriped(const T (&in)[N], U (&out)[N], Rank (&ranks)[N], KERNELTK_PLACE) {
        exchange(in, out, [&](int k) { return static_cast<int>(ranks[k]); }, striped, _kt_file,
                 _kt_line);
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

    // By a byte after the other, from the lowest; each pass keeps the order of equal ones.
    void sort(bool is_descending, int begin, int end) {
        unsigned short *from = storage_.order[0], *to = storage_.order[1];
        for (int k = 0; k < items; ++k) from[k] = static_cast<unsigned short>(k);
        for (int bit = begin; bit < end; bit += 8) {
            const unsigned int mask = end - bit < 8 ? (1u << (end - bit)) - 1 : 255u;
            const auto digit = [&](int item) {
                const unsigned long long bits =
                    kerneltk_details::ordered(storage_.keys.data()[item]) >> bit;
                const unsigned int low = static_cast<unsigned int>(bits) & mask;
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
    void sort_items(Key (&keys)[N], Value* values, bool is_descending, bool is_striped, int begin,
                    int end, const char* file, int line) {
        static_assert(items <= 65535, "a block sorts at most 65535 items on CPU cores");
        const int rank = kerneltk_details::rank();
        for (int k = 0; k < N; ++k) {
            storage_.keys.set(rank * N + k, keys[k]);
            if (values != nullptr) storage_.values.set(rank * N + k, values[k]);
        }
        _kt_block_barrier(file, line);
        if (rank == 0) sort(is_descending, begin, end < all_bits ? end : all_bits);
        _kt_block_barrier(file, line);
        for (int k = 0; k < N; ++k) {
            const int item = storage_.order[0][is_striped ? k * threads + rank : rank * N + k];
            keys[k] = storage_.keys.data()[item];
            if (values != nullptr) values[k] = storage_.values.data()[item];
        }
        // Several sorts may follow one another without a barrier.
        _kt_block_barrier(file, line);
    }

public:
#define KERNELTK_CUB_SORT(Name, is_descending, is_striped)                                     \
    void Name(Key (&keys)[N], int begin = 0, int end = all_bits, KERNELTK_PLACE) {             \
        sort_items(keys, nullptr, is_descending, is_striped, begin, end, _kt_file, _kt_line);  \
    }                                                                                          \
    void Name(Key (&keys)[N], Value (&values)[N], int begin = 0, int end = all_bits,           \
              KERNELTK_PLACE) {                                                                \
        sort_items(keys, values, is_descending, is_striped, begin, end, _kt_file, _kt_line);   \
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
    void Histogram(T (&items)[N], Counter (&counts)[Bins], KERNELTK_PLACE) {
        InitHistogram(counts);
        _kt_block_barrier(_kt_file, _kt_line);
        Composite(items, counts);
    }
};

// ---- warps ----

namespace kerneltk_details {

// A place for each thread of the block. CUB's warps exchange values by shuffles: programs give one
// temporary storage to several warps, or none.
template <class T>
inline T* places() {
    static thread_local storage<T, ::kerneltk::grid::most_threads> values;
    return values.data();
}

}  // namespace kerneltk_details

// Each of a warp's groups of so many threads works by itself.
template <class T, int Threads = 32, int = 0>
class WarpReduce {
    struct storage_type {};
    KERNELTK_CUB_STORAGE(WarpReduce)

    static_assert(Threads >= 1 && Threads <= 32, "a logical warp has 1 to 32 threads");
    // The lanes of the group: the last one of a warp may have fewer.
    static unsigned int first() { return _kt_lane() / Threads * Threads; }
    static unsigned int mask() { return (~0u >> (32 - Threads)) << first(); }
    static int lanes() { return __builtin_popcount(mask()); }
    // The places of the group, with this thread's value in its own.
    static T* bring(const T& value) {
        T* const own = kerneltk_details::places<T>() + kerneltk_details::rank();
        __builtin_memcpy(static_cast<void*>(own), &value, sizeof(T));
        return own - (_kt_lane() - first());
    }

public:
    // The result is the first lane's; others have none.
    template <class Operation>
    T Reduce(T value, Operation operation, int valid, KERNELTK_PLACE) {
        const int rank = static_cast<int>(_kt_lane() - first());
        T* const values = bring(value);
        _kt_warp_barrier(mask(), _kt_file, _kt_line);
        T total = value;
        if (rank == 0)
            total = kerneltk_details::tree(values, valid < lanes() ? valid : lanes(), Threads,
                                           operation);
        // Lanes of a warp need no barrier of their own before they use the storage again.
        _kt_warp_barrier(mask(), _kt_file, _kt_line);
        return total;
    }
    template <class Operation>
    T Reduce(T value, Operation operation, KERNELTK_PLACE) {
        return Reduce(value, operation, Threads, _kt_file, _kt_line);
    }
    T Sum(T value, KERNELTK_PLACE) {
        return Reduce(value, cub::Sum(), Threads, _kt_file, _kt_line);
    }
    T Sum(T value, int valid, KERNELTK_PLACE) {
        return Reduce(value, cub::Sum(), valid, _kt_file, _kt_line);
    }
};

template <class T, int Threads = 32, int = 0>
class WarpScan {
    struct storage_type {};
    KERNELTK_CUB_STORAGE(WarpScan)

    static_assert(Threads >= 1 && Threads <= 32, "a logical warp has 1 to 32 threads");
    // The lanes of the group: the last one of a warp may have fewer.
    static unsigned int first() { return _kt_lane() / Threads * Threads; }
    static unsigned int mask() { return (~0u >> (32 - Threads)) << first(); }
    static int lanes() { return __builtin_popcount(mask()); }
    // The places of the group, with this thread's value in its own.
    static T* bring(const T& value) {
        T* const own = kerneltk_details::places<T>() + kerneltk_details::rank();
        __builtin_memcpy(static_cast<void*>(own), &value, sizeof(T));
        return own - (_kt_lane() - first());
    }

    template <class Operation>
    void scan(const T& in, T* inclusive, T* exclusive, const T* initial, Operation operation,
              T& total, const char* file, int line) {
        const int rank = static_cast<int>(_kt_lane() - first());
        const T* const values = bring(in);
        _kt_warp_barrier(mask(), file, line);
        T before = initial != nullptr ? *initial : values[0];
        T sum = values[0];
        for (int k = 1; k < lanes(); ++k) sum = static_cast<T>(operation(sum, values[k]));
        for (int k = initial != nullptr ? 0 : 1; k < rank; ++k)
            before = static_cast<T>(operation(before, values[k]));
        const bool has_before = initial != nullptr || rank > 0;
        const T own = values[rank];
        _kt_warp_barrier(mask(), file, line);
        total = sum;
        if (inclusive != nullptr)
            *inclusive = has_before ? static_cast<T>(operation(before, own)) : own;
        if (exclusive != nullptr && has_before) *exclusive = before;
    }

public:
    template <class Operation>
    void InclusiveScan(T in, T& out, Operation operation, T& total, KERNELTK_PLACE) {
        scan(in, &out, nullptr, nullptr, operation, total, _kt_file, _kt_line);
    }
    template <class Operation>
    void InclusiveScan(T in, T& out, Operation operation, KERNELTK_PLACE) {
        T total;
        scan(in, &out, nullptr, nullptr, operation, total, _kt_file, _kt_line);
    }
    template <class Operation>
    void ExclusiveScan(T in, T& out, T initial, Operation operation, T& total, KERNELTK_PLACE) {
        scan(in, nullptr, &out, &initial, operation, total, _kt_file, _kt_line);
    }
    template <class Operation>
    void ExclusiveScan(T in, T& out, T initial, Operation operation, KERNELTK_PLACE) {
        T total;
        scan(in, nullptr, &out, &initial, operation, total, _kt_file, _kt_line);
    }
    template <class Operation>
    void Scan(T in, T& inclusive, T& exclusive, Operation operation, KERNELTK_PLACE) {
        T total;
        scan(in, &inclusive, &exclusive, nullptr, operation, total, _kt_file, _kt_line);
    }
    void InclusiveSum(T in, T& out, KERNELTK_PLACE) {
        InclusiveScan(in, out, cub::Sum(), _kt_file, _kt_line);
    }
    void InclusiveSum(T in, T& out, T& total, KERNELTK_PLACE) {
        InclusiveScan(in, out, cub::Sum(), total, _kt_file, _kt_line);
    }
    void ExclusiveSum(T in, T& out, KERNELTK_PLACE) {
        ExclusiveScan(in, out, T{}, cub::Sum(), _kt_file, _kt_line);
    }
    void ExclusiveSum(T in, T& out, T& total, KERNELTK_PLACE) {
        ExclusiveScan(in, out, T{}, cub::Sum(), total, _kt_file, _kt_line);
    }
    T Broadcast(T value, unsigned int source, KERNELTK_PLACE) {
        const T* const values = bring(value);
        _kt_warp_barrier(mask(), _kt_file, _kt_line);
        const T found = values[source];
        _kt_warp_barrier(mask(), _kt_file, _kt_line);
        return found;
    }
};
#undef KERNELTK_CUB_STORAGE

}  // namespace cub

// What the host's classes of CUB share: operators, memory for objects, the storage of a collective.
//
// Threads bring what they have into the temporary storage, one of them does the work, and all take
// their results from there. Temporary storage is used, and may be used again, as CUB has it: behind a
// barrier.
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

// Where a function is called: the last parameter of those that wait. No number becomes one, as null
// pointers do.
struct place {
    const char* file;
    int line;
    static constexpr place here(KERNELTK_PLACE) { return {_kt_file, _kt_line}; }
};
#define KERNELTK_CUB_PLACE \
    const kerneltk_details::place& at = kerneltk_details::place::here()
inline void wait(const place& at) { _kt_block_barrier(at.file, at.line); }
inline void wait(unsigned int lanes, const place& at) { _kt_warp_barrier(lanes, at.file, at.line); }

// Memory for objects that nobody constructs.
template <class T, int Count>
struct storage {
    alignas(T) unsigned char bytes[sizeof(T) * Count];

    T* data() { return reinterpret_cast<T*>(bytes); }
    void set(int i, const T& value) { __builtin_memcpy(bytes + sizeof(T) * i, &value, sizeof(T)); }
};
inline int rank() { return static_cast<int>(::kerneltk::grid::thread_rank()); }
struct block_group {
    static unsigned int rank() { return static_cast<unsigned int>(kerneltk_details::rank()); }
    static void wait(const place& at) { kerneltk_details::wait(at); }
    static void wait_behind(const place&) {}
};

// A last parameter that callers may leave out: an item, and where a result is written.
template <class T>
struct maybe {
    const T* item = nullptr;
    constexpr maybe() = default;
    constexpr maybe(const T& given) : item(&given) {}
};
template <class T>
struct target {
    T* to = nullptr;
    constexpr target() = default;
    constexpr target(T& given) : to(&given) {}
};

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
#define KERNELTK_CUB_STORAGE_OF_BASE(Class)                                             \
    static typename base::TempStorage& own_storage() {                                  \
        static thread_local typename base::TempStorage storage;                         \
        return storage;                                                                 \
    }                                                                                   \
                                                                                        \
public:                                                                                 \
    explicit Class(typename base::TempStorage& storage) : base(storage) {}              \
    Class() : base(own_storage()) {}

}  // namespace cub

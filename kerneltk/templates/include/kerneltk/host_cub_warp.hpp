// The parts of CUB that warps call, for host compilers.
//
// Each of a warp's groups of so many threads works by itself. CUB's warps reduce and scan by shuffles:
// programs give one temporary storage to several warps, or none.
#pragma once
#include <kerneltk/host_cub_base.hpp>
#include <kerneltk/host_cub_moves.hpp>

namespace cub {

enum WarpLoadAlgorithm {
    WARP_LOAD_DIRECT,
    WARP_LOAD_STRIPED,
    WARP_LOAD_VECTORIZE,
    WARP_LOAD_TRANSPOSE,
};
enum WarpStoreAlgorithm {
    WARP_STORE_DIRECT,
    WARP_STORE_STRIPED,
    WARP_STORE_VECTORIZE,
    WARP_STORE_TRANSPOSE,
};
enum WarpExchangeAlgorithm { WARP_EXCHANGE_SMEM, WARP_EXCHANGE_SHUFFLE };

namespace kerneltk_details {

// One of a warp's groups of so many lanes: the last one of a warp may have fewer.
template <int Threads>
struct lane_group {
    static_assert(Threads >= 1 && Threads <= 32, "a logical warp has 1 to 32 threads");

    static unsigned int first() { return _kt_lane() / Threads * Threads; }
    static unsigned int mask() { return (~0u >> (32 - Threads)) << first(); }
    static int lanes() { return __builtin_popcount(mask()); }
    static unsigned int rank() { return _kt_lane() - first(); }
    static void wait(const place& at) { kerneltk_details::wait(mask(), at); }
    // Lanes of a warp need no barrier of their own before they use the storage again.
    static void wait_behind(const place& at) { wait(at); }
    // One bit for each lane of the group.
    static unsigned int ballot(bool is_set, const place& at) {
        return (__ballot_sync(mask(), is_set, at.file, at.line) & mask()) >> first();
    }

    // A location for each thread of the block, and those of the group with this thread's value in
    // its own.
    template <class T>
    static T* bring(const T& value) {
        static thread_local storage<T, ::kerneltk::grid::most_threads> values;
        T* const own = values.data() + kerneltk_details::rank();
        __builtin_memcpy(static_cast<void*>(own), &value, sizeof(T));
        return own - rank();
    }
};

}  // namespace kerneltk_details

template <class T, int Threads = 32, int = 0>
class WarpReduce {
    using group = kerneltk_details::lane_group<Threads>;
    struct storage_type {};
    KERNELTK_CUB_STORAGE(WarpReduce)

    // The total of the lanes from the first to before the next one that begins a segment; the
    // result is the first one's.
    template <class Operation>
    T segment(T value, unsigned int heads, Operation operation, const kerneltk_details::place& at) {
        const unsigned int rank = group::rank();
        T* const values = group::bring(value);
        group::wait(at);
        T total = value;
        if (((heads | 1u) >> rank & 1u) != 0) {
            const unsigned int behind = heads & ~((2u << rank) - 1u);
            const int end = behind != 0 ? __builtin_ctz(behind) : group::lanes();
            const int count = end - static_cast<int>(rank);
            total = kerneltk_details::tree(values + rank, count, Threads, operation);
        }
        group::wait(at);
        return total;
    }

public:
    // The result is the first lane's; others have none.
    template <class Operation>
    T Reduce(T value, Operation operation, int valid = Threads, KERNELTK_CUB_PLACE) {
        T* const values = group::bring(value);
        group::wait(at);
        T total = value;
        const int count = valid < group::lanes() ? valid : group::lanes();
        if (group::rank() == 0) total = kerneltk_details::tree(values, count, Threads, operation);
        // Lanes of a warp need no barrier of their own before they use the storage again.
        group::wait(at);
        return total;
    }
    T Sum(T value, int valid = Threads, KERNELTK_CUB_PLACE) {
        return Reduce(value, cub::Sum(), valid, at);
    }
    // The results are those of the first lanes of segments.
    template <class Flag, class Operation>
    T HeadSegmentedReduce(T value, Flag is_head, Operation operation, KERNELTK_CUB_PLACE) {
        const bool is_first = static_cast<bool>(is_head);
        return segment(value, group::ballot(is_first, at), operation, at);
    }
    template <class Flag, class Operation>
    T TailSegmentedReduce(T value, Flag is_tail, Operation operation, KERNELTK_CUB_PLACE) {
        const bool is_last = static_cast<bool>(is_tail);
        const unsigned int heads = group::ballot(is_last, at) << 1;
        return segment(value, heads & (group::mask() >> group::first()), operation, at);
    }
    template <class Flag>
    T HeadSegmentedSum(T value, Flag is_head, KERNELTK_CUB_PLACE) {
        return HeadSegmentedReduce(value, is_head, cub::Sum(), at);
    }
    template <class Flag>
    T TailSegmentedSum(T value, Flag is_tail, KERNELTK_CUB_PLACE) {
        return TailSegmentedReduce(value, is_tail, cub::Sum(), at);
    }
};

template <class T, int Threads = 32, int = 0>
class WarpScan {
    using group = kerneltk_details::lane_group<Threads>;
    struct storage_type {};
    KERNELTK_CUB_STORAGE(WarpScan)
    using result = kerneltk_details::target<T>;

    template <class Operation>
    void scan(const T& in, T* inclusive, T* exclusive, const T* initial, Operation operation,
              result total, const kerneltk_details::place& at) {
        const int rank = static_cast<int>(group::rank());
        const T* const values = group::bring(in);
        group::wait(at);
        T before = initial != nullptr ? *initial : values[0];
        T sum = values[0];
        for (int k = 1; k < group::lanes(); ++k) sum = static_cast<T>(operation(sum, values[k]));
        for (int k = initial != nullptr ? 0 : 1; k < rank; ++k)
            before = static_cast<T>(operation(before, values[k]));
        const bool has_before = initial != nullptr || rank > 0;
        const T own = values[rank];
        group::wait(at);
        if (total.to != nullptr) *total.to = sum;
        if (inclusive != nullptr)
            *inclusive = has_before ? static_cast<T>(operation(before, own)) : own;
        if (exclusive != nullptr && has_before) *exclusive = before;
    }

public:
    // In front of the first of a scan without an initial value there is nothing: its result stays.
#define KERNELTK_CUB_SCAN(Name, inclusive, exclusive)                                           \
    template <class Operation>                                                                  \
    void Name(T in, T& out, Operation operation, result total = {}, KERNELTK_CUB_PLACE) {       \
        scan(in, inclusive, exclusive, nullptr, operation, total, at);                          \
    }                                                                                           \
    template <class Operation>                                                                  \
    void Name(T in, T& out, T initial, Operation operation, result total = {},                  \
              KERNELTK_CUB_PLACE) {                                                             \
        scan(in, inclusive, exclusive, &initial, operation, total, at);                         \
    }
    KERNELTK_CUB_SCAN(InclusiveScan, &out, nullptr)
    KERNELTK_CUB_SCAN(ExclusiveScan, nullptr, &out)
#undef KERNELTK_CUB_SCAN
    template <class Operation>
    void Scan(T in, T& inclusive, T& exclusive, Operation operation, KERNELTK_CUB_PLACE) {
        scan(in, &inclusive, &exclusive, nullptr, operation, {}, at);
    }
    template <class Operation>
    void Scan(T in, T& inclusive, T& exclusive, T initial, Operation operation,
              KERNELTK_CUB_PLACE) {
        scan(in, &inclusive, &exclusive, &initial, operation, {}, at);
    }
    void InclusiveSum(T in, T& out, result total = {}, KERNELTK_CUB_PLACE) {
        InclusiveScan(in, out, cub::Sum(), total, at);
    }
    void ExclusiveSum(T in, T& out, result total = {}, KERNELTK_CUB_PLACE) {
        ExclusiveScan(in, out, T{}, cub::Sum(), total, at);
    }
    T Broadcast(T value, unsigned int source, KERNELTK_CUB_PLACE) {
        const T* const values = group::bring(value);
        group::wait(at);
        const T found = values[source];
        group::wait(at);
        return found;
    }
};

template <class T, int N, WarpLoadAlgorithm Algorithm = WARP_LOAD_DIRECT, int Threads = 32, int = 0>
using WarpLoad = kerneltk_details::loads<
    T, N, kerneltk_details::items_of<Threads, N, Algorithm == WARP_LOAD_STRIPED>,
    kerneltk_details::lane_group<Threads>>;
template <class T, int N, WarpStoreAlgorithm Algorithm = WARP_STORE_DIRECT, int Threads = 32,
          int = 0>
using WarpStore = kerneltk_details::stores<
    T, N, kerneltk_details::items_of<Threads, N, Algorithm == WARP_STORE_STRIPED>,
    kerneltk_details::lane_group<Threads>>;
template <class T, int N, int Threads = 32, int = 0, WarpExchangeAlgorithm = WARP_EXCHANGE_SMEM>
using WarpExchange =
    kerneltk_details::exchanges<T, N, Threads, kerneltk_details::lane_group<Threads>>;

}  // namespace cub

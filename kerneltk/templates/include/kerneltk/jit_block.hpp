// Collectives of a block of X * Y * Z threads, any number up to 1024.
//
// Every thread of the block has to call them. A thread's rank is x + X * (y + Y * z). Each call is
// given storage in shared memory; before the same storage, or memory that overlaps it, is used
// again, the caller has to have a __syncthreads(). Values are of any trivially copyable type.
// Operations are associative, need not be commutative, and see values in the order of ranks; the
// order of combination is fixed, and the same on every backend:
//
//   reduction  for d = 1, 2, 4 ...: x[r] = op(x[r], x[r + d]) in ranks r that 2d divides
//   scan       by warps as in jit_warp.hpp; then op(p, x[r]) where p is what the totals of the
//              warps before come to, from the left; an exclusive one has op(initial, p) for p
//
// On a GPU warps shuffle and then meet at one barrier. On the host one thread computes for all.
#pragma once
#include <kerneltk/jit_ops.hpp>
#include <kerneltk/jit_warp.hpp>

namespace kerneltk::jit {

// Memory for values, which has neither constructors nor initial values.
template <class T, int COUNT, int SIZE = sizeof(T), int ALIGNMENT = alignof(T)>
struct shared_items {
    alignas(ALIGNMENT) unsigned char bytes[COUNT * SIZE];

    __device__ __forceinline__ T* begin() { return reinterpret_cast<T*>(bytes); }
    __device__ __forceinline__ T& operator[](int k) { return begin()[k]; }
};

template <int N>
constexpr int warps_of = (N + 31) / 32;
// The least power of two that is not below.
__device__ constexpr int part_for(int lanes) {
    return lanes <= 1 ? 1 : 2 * part_for((lanes + 1) / 2);
}

#if KERNELTK_JIT_IN_PARALLEL
template <int N>
constexpr int items_of = warps_of<N>;  // that threads leave in shared memory
#else
template <int N>
constexpr int items_of = N;
#endif

// Items of two bytes take four: numbers of 16 bits are added in float.
template <class T, int COUNT>
using summed_items = shared_items<T, COUNT, sizeof(T) == 2 ? 4 : sizeof(T),
                                  sizeof(T) == 2 ? 4 : alignof(T)>;
template <class T, int N>
struct block_reduce_storage {
    summed_items<T, items_of<N>> items;
    summed_items<T, 1> result;
};
template <class T, int N>
__device__ __forceinline__ block_reduce_storage<float, N>& storage_of_floats(
    block_reduce_storage<T, N>& storage) {
    static_assert(sizeof(T) == 2, "only items of two bytes take the bytes of a float");
    return reinterpret_cast<block_reduce_storage<float, N>&>(storage);
}
template <class T, int N>
struct block_scan_storage {
    shared_items<T, items_of<N>> items;
    shared_items<T, 1> total;
};
template <class T>
struct block_broadcast_storage {
    shared_items<T, 1> item;
};

template <int X, int Y, int Z>
__device__ __forceinline__ int rank_in_block() {
    static_assert(X > 0 && Y > 0 && Z > 0 && X * Y * Z <= 1024, "a block has 1 to 1024 threads");
    int rank = static_cast<int>(threadIdx.x);
    if constexpr (Y * Z > 1) rank += X * static_cast<int>(threadIdx.y);
    if constexpr (Z > 1) rank += X * Y * static_cast<int>(threadIdx.z);
    return rank;
}

// The threads of a warp that a block of N threads has.
template <int N>
__device__ __forceinline__ unsigned int lanes_of_block(int warp) {
    if constexpr (N % 32 != 0)
        if (warp == N / 32) return (1u << N % 32) - 1;
    return every_lane;
}

// On the host a block of another shape than a collective was made for is told; a GPU does not look.
#ifdef __CUDACC_RTC__
#define KERNELTK_JIT_EXPECT_BLOCK(X, Y, Z) static_cast<void>(0)
#else
#define KERNELTK_JIT_EXPECT_BLOCK(X, Y, Z)                                                    \
    if (blockDim.x != X || blockDim.y != Y || blockDim.z != Z)                                \
    grid::assertion_failed("the block has the shape that its collective was made for", _kt_file, \
                           _kt_line)
#endif

// ---- reductions ----

// The total of the first `valid` threads (at least one) in thread 0; the others get nothing of use.
template <class T, int X, int Y = 1, int Z = 1, class Op>
__device__ __forceinline__ T block_reduce(
    block_reduce_storage<T, X * Y * Z>& storage, const T& x, const Op& op,
    int valid = X * Y * Z KERNELTK_JIT_PLACE) {
    constexpr int N = X * Y * Z;
    KERNELTK_JIT_EXPECT_BLOCK(X, Y, Z);
    const int rank = rank_in_block<X, Y, Z>();
#if KERNELTK_JIT_IN_PARALLEL
    const int warp = rank / 32, lane = rank % 32;
    T own = reduce_part<32>(lanes_of_block<N>(warp), x, op,
                            valid - 32 * warp KERNELTK_JIT_CALLER);
    if constexpr (N > 32) {
        if (lane == 0) storage.items[warp] = own;
        KERNELTK_JIT_BARRIER;
        if (warp == 0) {
            if (lane < warps_of<N>) own = storage.items[lane];
            own = reduce_part<part_for(warps_of<N>)>(every_lane, own, op,
                                                     (valid + 31) / 32 KERNELTK_JIT_CALLER);
        }
    }
    return own;
#else
    T* const items = storage.items.begin();
    items[rank] = x;
    _kt_block_barrier(_kt_file, _kt_line);
    if (rank != 0) return x;
    const int count = valid < N ? valid : N;
    for (int d = 1; d < count; d *= 2)
        for (int k = 0; k + d < count; k += 2 * d) items[k] = op(items[k], items[k + d]);
    return items[0];
#endif
}

// The same, and every thread has the total.
template <class T, int X, int Y = 1, int Z = 1, class Op>
__device__ __forceinline__ T block_reduce_all(
    block_reduce_storage<T, X * Y * Z>& storage, const T& x, const Op& op,
    int valid = X * Y * Z KERNELTK_JIT_PLACE) {
    const T total = block_reduce<T, X, Y, Z>(storage, x, op, valid KERNELTK_JIT_CALLER);
    if (rank_in_block<X, Y, Z>() == 0) storage.result[0] = total;
    KERNELTK_JIT_BARRIER;
    return storage.result[0];
}

// ---- scans ----

template <bool EXCLUSIVE, class T, int X, int Y, int Z, class Op>
__device__ __forceinline__ T scan_block(
    block_scan_storage<T, X * Y * Z>& storage, const T& x, const Op& op,
    [[maybe_unused]] const T* initial, T* total KERNELTK_JIT_PLACE) {
    constexpr int N = X * Y * Z, WARPS = warps_of<N>;
    KERNELTK_JIT_EXPECT_BLOCK(X, Y, Z);
    const int rank = rank_in_block<X, Y, Z>();
#if KERNELTK_JIT_IN_PARALLEL
    const int warp = rank / 32, lane = rank % 32;
    const unsigned int mask = lanes_of_block<N>(warp);
    T own = scan_part<32>(mask, x, op KERNELTK_JIT_CALLER);
    const bool is_last = lane == 31 || rank == N - 1;
    if (is_last) storage.items[warp] = own;
    if constexpr (EXCLUSIVE) own = shfl_up_sync(mask, own, 1, 32 KERNELTK_JIT_CALLER);
    T before = x;  // of warps; of use from the second on
    if (WARPS > 1 || total != nullptr) {
        KERNELTK_JIT_BARRIER;
        T running = storage.items[0];
        for (int k = 1; k < WARPS; ++k) {
            if (k == warp) before = running;
            running = op(running, storage.items[k]);
        }
        if (total != nullptr) *total = running;
    }
    if constexpr (EXCLUSIVE) {
        const T start = warp == 0 ? *initial : op(*initial, before);
        return lane == 0 ? start : op(start, own);
    } else {
        return warp == 0 ? own : op(before, own);
    }
#else
    T* const items = storage.items.begin();
    items[rank] = x;
    _kt_block_barrier(_kt_file, _kt_line);
    if (rank == 0) {
        T running = items[0];  // of warps
        for (int k = 0; k < WARPS; ++k) {
            T* const own = items + 32 * k;
            const int count = N - 32 * k < 32 ? N - 32 * k : 32;
            for (int d = 1; d < count; d *= 2)
                for (int j = count - 1; j >= d; --j) own[j] = op(own[j - d], own[j]);
            const T last = own[count - 1];
            const T sum = k == 0 ? last : op(running, last);
            if constexpr (EXCLUSIVE) {
                const T start = k == 0 ? *initial : op(*initial, running);
                for (int j = count - 1; j > 0; --j) own[j] = op(start, own[j - 1]);
                own[0] = start;
            } else if (k > 0) {
                for (int j = 0; j < count; ++j) own[j] = op(running, own[j]);
            }
            running = sum;
        }
        storage.total[0] = running;
    }
    _kt_block_barrier(_kt_file, _kt_line);
    if (total != nullptr) *total = storage.total[0];
    return items[rank];
#endif
}

// What the threads up to and with this one come to.
template <class T, int X, int Y = 1, int Z = 1, class Op>
__device__ __forceinline__ T block_inclusive_scan(
    block_scan_storage<T, X * Y * Z>& storage, const T& x, const Op& op KERNELTK_JIT_PLACE) {
    return scan_block<false, T, X, Y, Z>(storage, x, op, nullptr, nullptr KERNELTK_JIT_CALLER);
}
// The same, and in every thread what all of them come to.
template <class T, int X, int Y = 1, int Z = 1, class Op>
__device__ __forceinline__ T block_inclusive_scan_total(
    block_scan_storage<T, X * Y * Z>& storage, const T& x, const Op& op,
    T& total KERNELTK_JIT_PLACE) {
    return scan_block<false, T, X, Y, Z>(storage, x, op, nullptr, &total KERNELTK_JIT_CALLER);
}
// What `initial` (the same in every thread) and the threads before this one come to.
template <class T, int X, int Y = 1, int Z = 1, class Op>
__device__ __forceinline__ T block_exclusive_scan(
    block_scan_storage<T, X * Y * Z>& storage, const T& x, const Op& op,
    const T& initial KERNELTK_JIT_PLACE) {
    return scan_block<true, T, X, Y, Z>(storage, x, op, &initial, nullptr KERNELTK_JIT_CALLER);
}
// The same, and in every thread what all of them come to, without `initial`.
template <class T, int X, int Y = 1, int Z = 1, class Op>
__device__ __forceinline__ T block_exclusive_scan_total(
    block_scan_storage<T, X * Y * Z>& storage, const T& x, const Op& op, const T& initial,
    T& total KERNELTK_JIT_PLACE) {
    return scan_block<true, T, X, Y, Z>(storage, x, op, &initial, &total KERNELTK_JIT_CALLER);
}

// ---- broadcast ----

// What the thread of rank `source` has.
template <class T, int X, int Y = 1, int Z = 1>
__device__ __forceinline__ T block_broadcast(
    block_broadcast_storage<T>& storage, const T& x, int source KERNELTK_JIT_PLACE) {
    KERNELTK_JIT_EXPECT_BLOCK(X, Y, Z);
    if (rank_in_block<X, Y, Z>() == source) storage.item[0] = x;
    KERNELTK_JIT_BARRIER;
    return storage.item[0];
}

}  // namespace kerneltk::jit

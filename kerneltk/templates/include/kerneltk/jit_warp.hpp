// Collectives of a warp, or of its equal parts of WIDTH neighbouring lanes (a power of two).
//
// Every lane of the part has to call them together, and what lanes bring that the block does not
// have is undefined: that is what `valid` is for. Values are of any trivially copyable type, and
// operations associative; they need not be commutative, since values keep the order of their lanes.
// The order of combination is fixed, and the same on every backend:
//
//   reduction  for d = 1, 2, 4 ...: x[k] = op(x[k], x[k + d]) in lanes k that 2d divides
//   scan       for d = 1, 2, 4 ...: x[k] = op(x[k - d], x[k]) in lanes k >= d, all at once
//
// An operation may be computed by another lane than those whose values it gets.
#pragma once
#include <kerneltk/jit_shuffle.hpp>

// Whether lanes work side by side. On the host, where each wait costs as much as many operations,
// one of them computes for all. Where memory is checked no thread may read another's variables; and
// tests set this to run on the host what GPUs run.
#ifndef KERNELTK_JIT_IN_PARALLEL
#if defined(__CUDACC_RTC__) || defined(KERNELTK_CHECK_MEMORY)
#define KERNELTK_JIT_IN_PARALLEL 1
#else
#define KERNELTK_JIT_IN_PARALLEL 0
#endif
#endif

namespace kerneltk::jit {

constexpr unsigned int every_lane = 0xffffffffu;

__device__ __forceinline__ int lane_of_warp() {
#ifdef __CUDACC_RTC__
    unsigned int lane;
    asm("mov.u32 %0, %%laneid;" : "=r"(lane));
    return static_cast<int>(lane);
#else
    return static_cast<int>(_kt_lane());
#endif
}

// The lanes of the part that this lane is in.
template <int WIDTH>
__device__ __forceinline__ unsigned int lanes_of_part() {
    static_assert(WIDTH > 0 && WIDTH <= 32 && (WIDTH & (WIDTH - 1)) == 0, "a power of two to 32");
    if constexpr (WIDTH == 32)
        return every_lane;
    else
        return ((1u << WIDTH) - 1) << (lane_of_warp() & ~(WIDTH - 1));
}

#if !KERNELTK_JIT_IN_PARALLEL
// Lanes bring the addresses of their values, and the last to come computes for all: compute(values)
// gets those of the part by lane, null where a lane has ended or is not there.
template <class T, class F>
struct lane_share {
    T value;
    const F* compute;
};
template <int WIDTH, class T, class F>
inline void compute_shares(const grid::word* in, const unsigned int*, grid::word* out,
                           unsigned int lanes) {
    T* values[WIDTH] = {};
    const F* compute = nullptr;
    const int first = __builtin_ctz(lanes) & ~(WIDTH - 1);
    for (int k = 0; k < WIDTH; ++k) {
        if ((lanes >> (first + k) & 1) == 0) continue;
        auto* const share = reinterpret_cast<lane_share<T, F>*>(in[first + k]);
        values[k] = &share->value;
        compute = share->compute;
    }
    (*compute)(values);
    for (int k = 0; k < 32; ++k) out[k] = 0;
}
template <int WIDTH, class T, class F>
inline T compute_together(unsigned int mask, const T& x, const F& compute KERNELTK_JIT_PLACE) {
    lane_share<T, F> share = {x, &compute};
    grid::collective(mask, compute_shares<WIDTH, T, F>, reinterpret_cast<grid::word>(&share), 0,
                     _kt_file, _kt_line);
    return share.value;
}
#endif

// ---- reductions ----

// Lanes of a part from `valid` on take no part. The result is that of the part's first lane only.
template <int WIDTH, class T, class Op>
__device__ __forceinline__ T reduce_part(unsigned int mask, const T& x, const Op& op,
                                         int valid KERNELTK_JIT_PLACE) {
#if KERNELTK_JIT_IN_PARALLEL
    const int lane = lane_of_warp() & (WIDTH - 1);
    T own = x;
    for (int d = 1; d < WIDTH; d *= 2) {
        const T other = shfl_down_sync(mask, own, d, WIDTH KERNELTK_JIT_CALLER);
        if (lane + d < valid) own = op(own, other);
    }
    return own;
#else
    return compute_together<WIDTH>(mask, x, [&op, valid](T** values) {
        for (int d = 1; d < WIDTH; d *= 2) {
            for (int k = 0; k + d < WIDTH && k + d < valid; k += 2 * d) {
                if (values[k] == nullptr)
                    values[k] = values[k + d];
                else if (values[k + d] != nullptr)
                    *values[k] = op(*values[k], *values[k + d]);
            }
        }
    } KERNELTK_JIT_CALLER);
#endif
}

// The result in the first lane; those of the others are of no use.
template <class T, int WIDTH = 32, class Op>
__device__ __forceinline__ T warp_reduce(const T& x, const Op& op KERNELTK_JIT_PLACE) {
    return reduce_part<WIDTH>(lanes_of_part<WIDTH>(), x, op, WIDTH KERNELTK_JIT_CALLER);
}
// The same of the first `valid` lanes, at least one.
template <class T, int WIDTH = 32, class Op>
__device__ __forceinline__ T warp_reduce_valid(const T& x, const Op& op,
                                               int valid KERNELTK_JIT_PLACE) {
    return reduce_part<WIDTH>(lanes_of_part<WIDTH>(), x, op, valid KERNELTK_JIT_CALLER);
}
// The same, and every lane has the result.
template <class T, int WIDTH = 32, class Op>
__device__ __forceinline__ T warp_reduce_all(const T& x, const Op& op,
                                             int valid = WIDTH KERNELTK_JIT_PLACE) {
    const unsigned int mask = lanes_of_part<WIDTH>();
    const T total = reduce_part<WIDTH>(mask, x, op, valid KERNELTK_JIT_CALLER);
    return shfl_sync(mask, total, 0, WIDTH KERNELTK_JIT_CALLER);
}
template <class T, int WIDTH = 32>
__device__ __forceinline__ T warp_broadcast(const T& x, int lane KERNELTK_JIT_PLACE) {
    return shfl_sync(lanes_of_part<WIDTH>(), x, lane, WIDTH KERNELTK_JIT_CALLER);
}

// ---- scans ----

template <int WIDTH, class T, class Op>
__device__ __forceinline__ T scan_part(unsigned int mask, const T& x,
                                       const Op& op KERNELTK_JIT_PLACE) {
#if KERNELTK_JIT_IN_PARALLEL
    const int lane = lane_of_warp() & (WIDTH - 1);
    T own = x;
    for (int d = 1; d < WIDTH; d *= 2) {
        const T other = shfl_up_sync(mask, own, d, WIDTH KERNELTK_JIT_CALLER);
        if (lane >= d) own = op(other, own);
    }
    return own;
#else
    return compute_together<WIDTH>(mask, x, [&op](T** values) {
        for (int d = 1; d < WIDTH; d *= 2)
            for (int k = WIDTH - 1; k >= d; --k)
                if (values[k] != nullptr && values[k - d] != nullptr)
                    *values[k] = op(*values[k - d], *values[k]);
    } KERNELTK_JIT_CALLER);
#endif
}

// What the lanes up to and with this one come to.
template <class T, int WIDTH = 32, class Op>
__device__ __forceinline__ T warp_inclusive_scan(const T& x, const Op& op KERNELTK_JIT_PLACE) {
    return scan_part<WIDTH>(lanes_of_part<WIDTH>(), x, op KERNELTK_JIT_CALLER);
}
// The same, and in every lane what all of them come to.
template <class T, int WIDTH = 32, class Op>
__device__ __forceinline__ T warp_inclusive_scan_total(const T& x, const Op& op,
                                                       T& total KERNELTK_JIT_PLACE) {
    const unsigned int mask = lanes_of_part<WIDTH>();
    const T scanned = scan_part<WIDTH>(mask, x, op KERNELTK_JIT_CALLER);
    total = shfl_sync(mask, scanned, WIDTH - 1, WIDTH KERNELTK_JIT_CALLER);
    return scanned;
}
// What `initial` and the lanes before this one come to.
template <class T, int WIDTH = 32, class Op>
__device__ __forceinline__ T warp_exclusive_scan(const T& x, const Op& op,
                                                 const T& initial KERNELTK_JIT_PLACE) {
    const unsigned int mask = lanes_of_part<WIDTH>();
    const T scanned = scan_part<WIDTH>(mask, x, op KERNELTK_JIT_CALLER);
    const T before = shfl_up_sync(mask, scanned, 1, WIDTH KERNELTK_JIT_CALLER);
    return (lane_of_warp() & (WIDTH - 1)) == 0 ? initial : op(initial, before);
}
// The same, and in every lane what all of them come to, without `initial`.
template <class T, int WIDTH = 32, class Op>
__device__ __forceinline__ T warp_exclusive_scan_total(const T& x, const Op& op, const T& initial,
                                                       T& total KERNELTK_JIT_PLACE) {
    const unsigned int mask = lanes_of_part<WIDTH>();
    const T scanned = scan_part<WIDTH>(mask, x, op KERNELTK_JIT_CALLER);
    const T before = shfl_up_sync(mask, scanned, 1, WIDTH KERNELTK_JIT_CALLER);
    total = shfl_sync(mask, scanned, WIDTH - 1, WIDTH KERNELTK_JIT_CALLER);
    return (lane_of_warp() & (WIDTH - 1)) == 0 ? initial : op(initial, before);
}

}  // namespace kerneltk::jit

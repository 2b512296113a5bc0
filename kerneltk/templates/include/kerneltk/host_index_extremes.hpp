// Where the largest or the least value is. Loops over lanes: conditions by arithmetic on masks, without which GCC makes
// branches, and no vectors. Long rows: the extreme of each block, whose place is looked up if it is the best so far.
#pragma once
#include <kerneltk/extremes.hpp>
#include <kerneltk/host_reduce.hpp>

namespace kerneltk {

// A mask of all bits where the first value stays: it is greater (less), or equal and its index is lower. NaN comes
// before all numbers, as in NumPy's argmax and argmin.
template <bool LEAST, class T, class I>
inline int stays(T a, I a_index, T b, I b_index) {
    const int is_better = LEAST ? a < b : a > b;
    const int is_tie = (a == b) | ((a != a) & (b != b));
    const int is_first = a_index < b_index;
    return -(is_better | ((a != a) & (b == b)) | (is_tie & is_first));
}

// `mask ? a : b` by bits.
inline int chosen(int mask, int a, int b) { return (a & mask) | (b & ~mask); }
inline long long chosen(int mask, long long a, long long b) {
    const long long wide = mask;
    return (a & wide) | (b & ~wide);
}
template <class F>
inline F chosen(int mask, F a, F b) {
    typename conditional<sizeof(F) == 8, long long, int>::type x, y;
    __builtin_memcpy(&x, &a, sizeof(x));
    __builtin_memcpy(&y, &b, sizeof(y));
    x = chosen(mask, x, y);
    __builtin_memcpy(&a, &x, sizeof(x));
    return a;
}

// Long rows. The index is not carried along with each element, so a block costs what a maximum costs; the places of few
// blocks are looked up, as the best so far seldom changes. Elements come in the order of their places.
template <class T, int WIDE>
class row_totals<T, WIDE, true, true, typename enable_if<sought_extreme<T> != 0, void>::type> {
    using V = decltype(T::t0);
    static constexpr bool LEAST = sought_extreme<T> < 0, COMPUTED = sought_extreme<T> % 2 == 0;
    static constexpr int LANES = WIDE > 64 / int(sizeof(V)) ? WIDE : 64 / int(sizeof(V)), BLOCK = 16 * LANES;
    T best;
    bool has;

    __forceinline__ static V better(V a, V b) { return LEAST ? lesser(a, b) : greater(a, b); }

    // Whether a value that comes later than another one replaces it.
    __forceinline__ static bool replaces(V later, V first) {
        return (LEAST ? later < first : later > first) | ((later != later) & (first == first));
    }

    template <class Element>
    __forceinline__ void take_block(long long k, int count, const Element& element) {
        V lanes[LANES], values[COMPUTED ? BLOCK : 1];
        const auto value_of = [&](int l) __attribute__((always_inline)) {
            const V value = element(k + l).t0;
            if constexpr (COMPUTED) values[l] = value;
            return value;
        };
        for (int l = 0; l < LANES; ++l) lanes[l] = value_of(l);
        for (int from = LANES; from < count; from += LANES)
            for (int l = 0; l < LANES; ++l) lanes[l] = better(lanes[l], value_of(from + l));
        int is_better = !has;
        for (int l = 0; l < LANES; ++l) is_better |= replaces(lanes[l], best.t0);
        if (!is_better) return;
        V top = lanes[0];
        for (int l = 1; l < LANES; ++l) top = better(top, lanes[l]);
        int first = count;
        for (int l = 0; l < count; ++l) {
            const V value = COMPUTED ? values[l] : element(k + l).t0;
            const int at = (value == top) | ((value != value) & (top != top)) ? l : count;
            first = at < first ? at : first;
        }
        best = element(k + first);
        has = true;
    }

public:
    template <class Identity>
    __forceinline__ void begin(const Identity& identity) {
        best = identity();
        has = false;
    }

    template <class Identity, class Start, class Step, class Ahead, class Reduce>
    __forceinline__ void take(const Identity& identity, const Start&, const Step& step, const Ahead& ahead,
                              const Reduce& reduce, long long count) {
        const auto element = [&](long long k) __attribute__((always_inline)) { return step(identity(), k); };
        long long k = 0;
        while (count >= LANES && k < count) {
            // The last block begins earlier: it may take elements twice, as equal ones replace nothing.
            if (count - k < LANES) k = count - LANES;
            // The first blocks, which are looked up most, are short.
            const long long block = k < 2 * BLOCK ? 4 * LANES : BLOCK, left = count - k < block ? count - k : block;
            const long long taken = left - left % LANES;
            ahead(k, k + taken);
            take_block(k, int(taken), element);
            k += taken;
        }
        for (; k < count; ++k) {
            best = reduce(best, element(k));
            has = true;
        }
    }

    template <class Reduce>
    __forceinline__ T end(const Reduce&) {
        return best;
    }
};

}  // namespace kerneltk

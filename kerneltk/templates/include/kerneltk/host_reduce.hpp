// Totals of reductions on the host: where they lie, and in which order they are combined.
//
// start(...) returns an element as a total; step(total, ...) returns a total and an element as
// one; ahead(from, to) asks for the memory behind a range of elements or rows. Where there is an
// identity, totals begin with it; else each begins with an element.
#pragma once

namespace kerneltk {

struct in_place {};

}  // namespace kerneltk

inline void* operator new(size_t, kerneltk::in_place, void* address) noexcept { return address; }

namespace kerneltk {

// Storage for objects whose type need not have a default constructor. They are always reached by a
// pointer: compilers tell the better how one address depends on another.
template <class T, int COUNT>
struct storage_for {
    alignas(T) alignas(COUNT * sizeof(T) >= 64 ? 64 : 1) unsigned char bytes[COUNT * sizeof(T)];
    __forceinline__ T* begin() { return reinterpret_cast<T*>(bytes); }
};

template <class T>
__forceinline__ void put(T* address, const T& value) {
    new (in_place(), address) T(value);
}

// A list of totals.
template <class T, int COUNT>
class totals_of {
    storage_for<T, COUNT> storage_;

public:
    static constexpr unsigned unit = sizeof(T);
    __forceinline__ decltype(auto) get(long long k) { return kerneltk::get(storage_.begin() + k); }
    __forceinline__ void put(long long k, const T& total) {
        kerneltk::put(storage_.begin() + k, total);
    }
};

// One that has a list for each member of its totals, for specialisations.
template <class T, class Lists>
class totals_by_members {
    Lists lists_;

public:
    static constexpr unsigned unit = Lists::_kt_unit;
    __forceinline__ T get(long long k) { return lists_._kt_get(k); }
    __forceinline__ void put(long long k, const T& total) { lists_._kt_put(k, total); }
};

// How many totals of so many bytes fill a number of bytes: a power of two.
constexpr int totals_within(unsigned bytes, unsigned size) {
    unsigned count = 1;
    while (2 * count * size <= bytes) count *= 2;
    return static_cast<int>(count);
}

template <int COUNT>
constexpr unsigned least_of(const unsigned (&sizes)[COUNT]) {
    unsigned least = sizes[0];
    for (unsigned size : sizes) least = size < least ? size : least;
    return least;
}

// How many totals of one output fill so many bytes of vectors.
template <class T>
constexpr int side_by_side(unsigned bytes) {
    const int wanted = totals_within(bytes, totals_of<T, 1>::unit);
    const int most = totals_within(4096, sizeof(T));
    return wanted < most ? wanted : most;
}

// Elements or rows that the same running totals take before these are set aside: the rounding
// error of a sum grows with the length of its chains.
constexpr long long rounds_of_block = 64;

// Asks for memory that is read in some thousand cycles: the processor does so by itself within a
// page only.
template <class T>
__forceinline__ void prefetch(const T* begin, const T* end) {
    constexpr long long distance = 8192;
    for (const char* line = reinterpret_cast<const char*>(begin);
         line < reinterpret_cast<const char*>(end); line += 64)
        __builtin_prefetch(line + distance);
}

// Combines `count` lists of `width` totals, one behind the other, into the first of them. The
// order depends on `count` alone.
template <class T, class Reduce>
__attribute__((noinline)) void fold(T* totals, long long count, long long width,
                                    const Reduce& reduce) {
    while (count > 1) {
        const long long half = count / 2 + count % 2;
        const long long paired = (count - half) * width, distance = half * width;
        for (long long k = 0; k < paired; ++k)
            put(totals + k, reduce(get(totals + k), get(totals + distance + k)));
        count = half;
    }
}

// Whether a total is the place of the largest (1) or of the least (-1) element and nothing else, twice that if elements
// are computed; see host_index_extremes.hpp.
template <class T>
constexpr int sought_extreme = 0;

// The totals of the elements of one output. Those of a run of elements are taken by `WIDE` totals
// side by side, which are the compiler's vectors; what is left of the run by `NARROW` ones, and
// what is left then by one. All of these are in one list.
template <class T, int WIDE, bool CASCADED, bool IDENTITY, class = void>
class row_totals {
    static constexpr int NARROW = WIDE >= 32 ? 8 : WIDE >= 8 ? 4 : 1;
    static constexpr int first[] = {0, WIDE, WIDE + NARROW, WIDE + NARROW + 1};
    static constexpr int slots = WIDE + 2 * NARROW;
    totals_of<T, slots> low;
    totals_of<T, CASCADED ? slots : 1> high;
    bool has_low[3], has_high[3];
    long long rounds;

    template <class Identity>
    __forceinline__ void clear(const Identity& identity) {
        rounds = 0;
        for (bool& has : has_low) has = IDENTITY;
        if constexpr (IDENTITY)
            for (int l = 0; l < slots; ++l) low.put(l, identity());
    }

    template <class Identity, class Reduce>
    __forceinline__ void set_aside(const Identity& identity, const Reduce& reduce) {
        if constexpr (IDENTITY) {
            if (has_high[0])
                for (int l = 0; l < slots; ++l) high.put(l, reduce(high.get(l), low.get(l)));
            else
                for (int l = 0; l < slots; ++l) high.put(l, low.get(l));
            for (bool& has : has_high) has = true;
        } else {
            set_group_aside<0, WIDE>(reduce);
            set_group_aside<1, NARROW>(reduce);
            set_group_aside<2, 1>(reduce);
        }
        clear(identity);
    }

    template <int GROUP, int COUNT, class Reduce>
    __forceinline__ void set_group_aside(const Reduce& reduce) {
        constexpr int base = first[GROUP];
        if (!has_low[GROUP]) return;
        if (has_high[GROUP])
            for (int l = base; l < base + COUNT; ++l) {
                high.put(l, reduce(high.get(l), low.get(l)));
                if (GROUP) __asm__ volatile("");
            }
        else
            for (int l = base; l < base + COUNT; ++l) high.put(l, low.get(l));
        has_high[GROUP] = true;
    }

    template <int GROUP, int COUNT, class Start, class Step, class Ahead>
    __forceinline__ void take_rounds(long long& k, long long end, const Start& start,
                                     const Step& step, const Ahead& ahead) {
        constexpr int base = first[GROUP];
        if constexpr (!IDENTITY)
            if (!has_low[GROUP] && k < end) {
                for (int l = 0; l < COUNT; ++l) low.put(base + l, start(k + l));
                has_low[GROUP] = true;
                k += COUNT;
            }
        for (; k < end; k += COUNT) {
            if constexpr (CASCADED) {
                if constexpr (GROUP == 0) ahead(k, k + COUNT);
                for (int l = 0; l < COUNT; ++l) low.put(base + l, step(low.get(base + l), k + l));
            } else {
                // One vector, which GCC would take apart if it unrolled the loop first.
#pragma GCC unroll 1
                for (int l = 0; l < COUNT; ++l) low.put(base + l, step(low.get(base + l), k + l));
            }
            if (GROUP) __asm__ volatile("");  // a few rounds: vectors of several do not pay
        }
    }

    template <int FROM, int TO, class Reduce>
    __forceinline__ void halve(const Reduce& reduce) {
        if constexpr (FROM > TO) {
            constexpr int half = FROM / 2;
#pragma GCC unroll 1
            for (int l = 0; l < half; ++l) low.put(l, reduce(low.get(l), low.get(half + l)));
            halve<half, TO>(reduce);
        }
    }

public:
    template <class Identity>
    __forceinline__ void begin(const Identity& identity) {
        clear(identity);
        for (bool& has : has_high) has = false;
    }

    // Takes elements [0, count) of a run.
    template <class Identity, class Start, class Step, class Ahead, class Reduce>
    __forceinline__ void take(const Identity& identity, const Start& start, const Step& step,
                              const Ahead& ahead, const Reduce& reduce, long long count) {
        if constexpr (!CASCADED) ahead(0, count);
        long long k = 0;
        do {
            if constexpr (CASCADED)
                if (rounds >= rounds_of_block) set_aside(identity, reduce);
            long long end = k + (count - k) / WIDE * WIDE;
            if (end > k) {
                if constexpr (CASCADED) {
                    const long long left = (rounds_of_block - rounds) * WIDE;
                    if (end - k > left) end = k + left;
                    rounds += (end - k) / WIDE;
                }
                take_rounds<0, WIDE>(k, end, start, step, ahead);
            } else {
                if constexpr (NARROW > 1)
                    take_rounds<1, NARROW>(k, k + (count - k) / NARROW * NARROW, start, step, ahead);
                take_rounds<2, 1>(k, count, start, step, ahead);
                ++rounds;
            }
        } while (k < count);
    }

    // Returns the total of everything.
    template <class Reduce>
    __forceinline__ T end(const Reduce& reduce) {
        if constexpr (IDENTITY) {
            if constexpr (CASCADED)
                if (has_high[0])
                    for (int l = 0; l < slots; ++l) low.put(l, reduce(high.get(l), low.get(l)));
            // What was stored together is loaded together, or the processor waits.
            halve<WIDE, NARROW>(reduce);
#pragma GCC unroll 1
            for (int l = 0; l < NARROW; ++l) low.put(l, reduce(low.get(l), low.get(WIDE + l)));
            halve<NARROW, 1>(reduce);
            return reduce(low.get(0), low.get(first[2]));
        } else {
            storage_for<T, 2 * slots> storage;
            T* const list = storage.begin();
            long long count = 0;
            for (int group = 0; group < 3; ++group)
                for (int l = first[group]; l < first[group + 1]; ++l) {
                    if (has_low[group]) kerneltk::put<T>(list + count++, low.get(l));
                    if (CASCADED && has_high[group]) kerneltk::put<T>(list + count++, high.get(l));
                }
            fold(list, count, 1, reduce);
            return *list;
        }
    }
};

// The totals of neighbouring outputs, a lane each. Rows of elements are taken one by one; a round
// may take several rows at once, each with lanes of its own.
template <class T, int MOST, bool IDENTITY>
class column_totals {
    totals_of<T, MOST> low, high;
    storage_for<T, MOST> combined;
    long long rounds, lanes, low_lanes, high_lanes;

    template <class Identity>
    __forceinline__ void clear(const Identity& identity) {
        rounds = 0;
        low_lanes = 0;
        if constexpr (IDENTITY) {
            low_lanes = lanes;
            for (long long l = 0; l < lanes; ++l) low.put(l, identity());
        }
    }

    template <class Identity, class Reduce>
    __forceinline__ void set_aside(const Identity& identity, const Reduce& reduce) {
        if (high_lanes) {
            for (long long l = 0; l < low_lanes; ++l)
                high.put(l, reduce(high.get(l), low.get(l)));
        } else {
            high_lanes = low_lanes;
            for (long long l = 0; l < low_lanes; ++l) high.put(l, low.get(l));
        }
        clear(identity);
    }

public:
    template <class Identity>
    __forceinline__ void begin(long long width, const Identity& identity) {
        lanes = width;
        high_lanes = 0;
        clear(identity);
    }

    // Takes `count` rounds of `width` elements.
    template <int AT_ONCE, class Identity, class Start, class Step, class Ahead, class Reduce>
    __forceinline__ void take(const Identity& identity, const Start& start, const Step& step,
                              const Ahead& ahead, const Reduce& reduce, long long count,
                              long long width) {
        long long r = 0;
        while (r < count) {
            if (rounds >= rounds_of_block) set_aside(identity, reduce);
            if constexpr (!IDENTITY)
                if (!low_lanes) {
                    low_lanes = width;
                    for (long long l = 0; l < width; ++l) low.put(l, start(r, l));
                    ++rounds;
                    ++r;
                }
            long long end = r + (rounds_of_block - rounds);
            if (end > count) end = count;
            rounds += end - r;
            // Several rows at once: their totals are loaded and stored once, and memory is read as
            // several streams.
            if constexpr (AT_ONCE == 4)
                for (; end - r >= 4; r += 4) {
                    ahead(r, r + 4);
                    for (long long l = 0; l < width; ++l)
                        low.put(l, step(step(step(step(low.get(l), r, l), r + 1, l), r + 2, l),
                                        r + 3, l));
                }
            for (; r < end; ++r)
                for (long long l = 0; l < width; ++l) low.put(l, step(low.get(l), r, l));
        }
    }

    // Returns where the totals are.
    template <class Reduce>
    __forceinline__ totals_of<T, MOST>& end(const Reduce& reduce) {
        if (high_lanes) {
            for (long long l = 0; l < low_lanes; ++l)
                low.put(l, reduce(high.get(l), low.get(l)));
            for (long long l = low_lanes; l < high_lanes; ++l) low.put(l, high.get(l));
        }
        return low;
    }

    // Combines the totals of `count` rows, each of `width` elements, that were taken at once.
    template <class Reduce>
    __forceinline__ T* end_blocked(long long count, long long width, const Reduce& reduce) {
        auto& totals = end(reduce);
        T* const list = combined.begin();
        for (long long l = 0; l < count * width; ++l) kerneltk::put<T>(list + l, totals.get(l));
        fold(list, count, width, reduce);
        return list;
    }
};

// The memory behind a launch's arguments: a counter for each tile, and the totals of every part.
template <class T>
struct shared_totals {
    int* counters;
    T* totals;

    shared_totals(const void* behind, long long tiles)
        : counters(static_cast<int*>(const_cast<void*>(behind))) {
        const uintptr_t unit = alignof(T);
        const uintptr_t end = reinterpret_cast<uintptr_t>(counters + tiles);
        totals = reinterpret_cast<T*>((end + unit - 1) / unit * unit);
    }

    // Says that one part of a tile is done; returns whether it was the last of them.
    bool arrive(long long tile, long long parts) const {
        if (__atomic_add_fetch(counters + tile, 1, __ATOMIC_ACQ_REL) != parts) return false;
        __atomic_store_n(counters + tile, 0, __ATOMIC_RELAXED);
        return true;
    }
};

}  // namespace kerneltk

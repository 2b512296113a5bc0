// Totals of reductions on the host: where they are kept, and in which order they are combined.
//
// start(total, ...) begins a total with an element, step(total, ...) adds an element to it. Where
// there is no identity, a total begins with an element; else with the identity.
#pragma once

namespace kerneltk {

struct in_place {};

}  // namespace kerneltk

inline void* operator new(size_t, kerneltk::in_place, void* place) noexcept { return place; }

namespace kerneltk {

// Room for totals, whose type need not have a default constructor. It is always reached by a
// pointer: compilers tell the better how one place depends on another.
template <class T, int COUNT>
struct room_for {
    alignas(T) alignas(COUNT * sizeof(T) >= 64 ? 64 : 1) unsigned char bytes[COUNT * sizeof(T)];
    __forceinline__ T* begin() { return reinterpret_cast<T*>(bytes); }
};

template <class T>
__forceinline__ void put(T* place, const T& total) {
    new (in_place(), place) T(total);
}

// How many totals of so many bytes fill a number of bytes: a power of two.
constexpr int totals_within(unsigned bytes, unsigned size) {
    unsigned count = 1;
    while (2 * count * size <= bytes) count *= 2;
    return static_cast<int>(count);
}

// Elements or rows that the same running totals take before these are set aside: the rounding
// error of a sum grows with the length of its chains.
constexpr long long rounds_of_block = 64;

// Combines `count` lists of `width` totals into the first of them, in an order that depends on
// `count` alone.
template <class T, class Reduce>
__forceinline__ void fold_here(T* totals, long long count, long long width,
                               const Reduce& reduce) {
    while (count > 1) {
        const long long half = count / 2 + count % 2;
        const long long paired = (count - half) * width, distance = half * width;
        for (long long k = 0; k < paired; ++k)
            put(totals + k, reduce(totals[k], totals[k + distance]));
        count = half;
    }
}

template <class T, class Reduce>
__attribute__((noinline)) void fold(T* totals, long long count, long long width,
                                    const Reduce& reduce) {
    fold_here(totals, count, width, reduce);
}

// The totals of the elements of one output. Those of a run of elements are taken by `WIDE` totals
// side by side, which are the compiler's vectors; what is left of the run by `NARROW` ones, and
// what is left then by one. There are places for all of these in one list.
template <class T, int WIDE, int NARROW, bool CASCADED, bool IDENTITY>
struct row_totals {
    static constexpr int first[] = {0, WIDE, WIDE + NARROW, WIDE + NARROW + 1};
    static constexpr int places = WIDE + NARROW + (NARROW > 1 ? NARROW : 1);
    room_for<T, places> low_room;
    room_for<T, CASCADED ? places : 1> high_room;
    bool has_low[3], has_high[3];
    long long rounds;

    template <class Identity>
    __forceinline__ void begin(const Identity& identity) {
        clear(identity);
        for (bool& has : has_high) has = false;
    }

    template <class Identity>
    __forceinline__ void clear(const Identity& identity) {
        rounds = 0;
        for (bool& has : has_low) has = false;
        if constexpr (IDENTITY)
            for (int l = 0; l < places; ++l) put(low_room.begin() + l, identity());
    }

    template <class Identity, class Reduce>
    __forceinline__ void set_aside(const Identity& identity, const Reduce& reduce) {
        T *const low = low_room.begin(), *const high = high_room.begin();
        if constexpr (IDENTITY) {
            if (has_high[0])
                for (int l = 0; l < places; ++l) put(high + l, reduce(high[l], low[l]));
            else
                for (int l = 0; l < places; ++l) put(high + l, low[l]);
            has_high[0] = true;
        } else {
            for (int group = 0; group < 3; ++group) {
                if (!has_low[group]) continue;
                for (int l = first[group]; l < first[group + 1]; ++l)
                    put(high + l, has_high[group] ? reduce(high[l], low[l]) : low[l]);
                has_high[group] = true;
            }
        }
        clear(identity);
    }

    // Takes elements [0, count) of a run.
    template <class Identity, class Start, class Step, class Reduce>
    __forceinline__ void take(long long count, const Identity& identity, const Start& start,
                              const Step& step, const Reduce& reduce) {
        long long k = 0;
        while (count - k >= WIDE) {
            long long end = k + (count - k) / WIDE * WIDE;
            if constexpr (CASCADED) {
                const long long room = (rounds_of_block - rounds) * WIDE;
                if (end - k > room) end = k + room;
                rounds += (end - k) / WIDE;
            }
            take_rounds<0, WIDE>(k, end, start, step);
            if constexpr (CASCADED)
                if (rounds >= rounds_of_block) set_aside(identity, reduce);
        }
        if constexpr (NARROW > 1)
            take_rounds<1, NARROW>(k, k + (count - k) / NARROW * NARROW, start, step);
        take_rounds<2, 1>(k, count, start, step);
        if constexpr (CASCADED)
            if (++rounds >= rounds_of_block) set_aside(identity, reduce);
    }

    template <int GROUP, int COUNT, class Start, class Step>
    __forceinline__ void take_rounds(long long& k, long long end, const Start& start,
                                     const Step& step) {
        T* const totals = low_room.begin() + first[GROUP];
        if constexpr (!IDENTITY)
            if (!has_low[GROUP] && k < end) {
                for (int l = 0; l < COUNT; ++l) start(totals + l, k + l);
                has_low[GROUP] = true;
                k += COUNT;
            }
        for (; k < end; k += COUNT) {
            for (int l = 0; l < COUNT; ++l) step(totals + l, k + l);
            if (GROUP) __asm__ volatile("");  // a few rounds: vectors of several do not pay
        }
    }

    // Returns the total of everything.
    template <class Identity, class Reduce>
    __forceinline__ T end(const Identity& identity, const Reduce& reduce) {
        T* const low = low_room.begin();
        if constexpr (CASCADED) {
            if (has_high[0] || has_high[1] || has_high[2]) {
                set_aside(identity, reduce);
                for (int l = 0; l < places; ++l) put(low + l, high_room.begin()[l]);
                for (int group = 0; group < 3; ++group) has_low[group] = has_high[group];
            }
        }
        if constexpr (IDENTITY) {
            // What was stored together is loaded together, or the processor waits.
            halve<WIDE, NARROW>(low, reduce);
            for (int l = 0; l < NARROW; ++l) put(low + l, reduce(low[l], low[first[1] + l]));
            halve<NARROW, 1>(low, reduce);
            return reduce(*low, low[first[2]]);
        } else {
            room_for<T, places> room;
            T* const list = room.begin();
            long long count = 0;
            for (int group = 0; group < 3; ++group)
                if (has_low[group])
                    for (int l = first[group]; l < first[group + 1]; ++l)
                        put(list + count++, low[l]);
            fold(list, count, 1, reduce);
            return *list;
        }
    }

    template <int FROM, int TO, class Reduce>
    static __forceinline__ void halve(T* totals, const Reduce& reduce) {
        if constexpr (FROM > TO) {
            constexpr int half = FROM / 2;
            for (int l = 0; l < half; ++l) put(totals + l, reduce(totals[l], totals[half + l]));
            halve<half, TO>(totals, reduce);
        }
    }
};

// The totals of neighbouring outputs, a lane each. Rows of elements are taken one by one; a round
// may take several rows at once, each with lanes of its own.
template <class T, int MOST, bool IDENTITY>
struct column_totals {
    room_for<T, MOST> low_room, high_room;
    long long rounds, lanes, low_lanes, high_lanes;

    template <class Identity>
    __forceinline__ void begin(long long width, const Identity& identity) {
        lanes = width;
        high_lanes = 0;
        clear(identity);
    }

    template <class Identity>
    __forceinline__ void clear(const Identity& identity) {
        rounds = 0;
        low_lanes = 0;
        if constexpr (IDENTITY) {
            low_lanes = lanes;
            for (long long l = 0; l < lanes; ++l) put(low_room.begin() + l, identity());
        }
    }

    template <class Identity, class Reduce>
    __forceinline__ void set_aside(const Identity& identity, const Reduce& reduce) {
        T *const low = low_room.begin(), *const high = high_room.begin();
        if (high_lanes) {
            for (long long l = 0; l < low_lanes; ++l)
                put(high + l, reduce(high[l], low[l]));
        } else {
            high_lanes = low_lanes;
            for (long long l = 0; l < low_lanes; ++l) put(high + l, low[l]);
        }
        clear(identity);
    }

    // Takes `count` rounds of `width` elements.
    template <int AT_ONCE, class Identity, class Start, class Step, class Reduce>
    __forceinline__ void take(long long count, long long width, const Identity& identity,
                              const Start& start, const Step& step, const Reduce& reduce) {
        T* const low = low_room.begin();
        long long r = 0;
        while (r < count) {
            if constexpr (!IDENTITY)
                if (!low_lanes) {
                    low_lanes = width;
                    for (long long l = 0; l < width; ++l) start(low + l, r, l);
                    ++rounds;
                    ++r;
                }
            long long end = r + (rounds_of_block - rounds);
            if (end > count) end = count;
            rounds += end - r;
            // Several rows at once: their totals are loaded and stored once, and memory is read as
            // several streams.
            if constexpr (AT_ONCE == 4)
                for (; end - r >= 4; r += 4)
                    for (long long l = 0; l < width; ++l) {
                        room_for<T, 1> room;
                        T* const total = room.begin();
                        put(total, low[l]);
                        step(total, r, l);
                        step(total, r + 1, l);
                        step(total, r + 2, l);
                        step(total, r + 3, l);
                        put(low + l, *total);
                    }
            for (; r < end; ++r)
                for (long long l = 0; l < width; ++l) step(low + l, r, l);
            if (rounds >= rounds_of_block) set_aside(identity, reduce);
        }
    }

    // Returns where the totals are.
    template <class Identity, class Reduce>
    __forceinline__ T* end(const Identity& identity, const Reduce& reduce) {
        if (!high_lanes) return low_room.begin();
        set_aside(identity, reduce);
        return high_room.begin();
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

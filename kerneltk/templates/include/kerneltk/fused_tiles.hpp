// Columns that are longer than a block holds, read from memory once: a group of blocks has a tile
// of them, each block some of its rows, in registers and in shared memory. The blocks stay for all
// tiles, and load the next one while they write. They put their totals together in scratch memory
// behind a barrier, which needs all blocks of the grid to be resident: the launch is cooperative.
#pragma once

#include <kerneltk/fused_rows.hpp>

namespace kerneltk {

extern __shared__ uint4 staged_vectors[];

// Slots of a thread: of vectors in shared memory, which loops go through, and in registers, whose
// numbers the compiler knows.
struct staged_slot {
    int place, at;  // `at` among the vectors that are at hand
    __device__ __forceinline__ operator int() const { return place; }
};
struct held_slot {
    int place;
    __device__ __forceinline__ operator int() const { return place; }
};

// Begins to copy to shared memory what only this thread reads there, once it has waited.
template <int BYTES>
__device__ __forceinline__ void begin_copy(void* to, const void* from) {
    const unsigned there = static_cast<unsigned>(__cvta_generic_to_shared(to));
    if constexpr (BYTES == 16)
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(there), "l"(from) : "memory");
    else if constexpr (BYTES == 8)
        asm volatile("cp.async.ca.shared.global [%0], [%1], 8;" ::"r"(there), "l"(from) : "memory");
    else if constexpr (BYTES == 4)
        asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(there), "l"(from) : "memory");
    else
        copy<BYTES, BYTES>(to, from);
}

// What a thread has of an array: STAGED vectors in shared memory, and HELD in registers. FIRST is
// where the array's part of shared memory begins, in bytes of each thread. OF_LINES: the elements of
// a vector are one.
template <class T, int STAGED, int HELD, int VECTOR, int BLOCK, int FIRST, bool OF_LINES = false>
class tile_vectors {
    static constexpr int OWN = OF_LINES ? 1 : VECTOR, BYTES = OWN * sizeof(T);
    slot<T> own[HELD > 0 ? HELD * OWN : 1], now[2 * OWN];
    const T* next = nullptr;
    ptrdiff_t jump = 0, step = 0;
    int valid = 0;
    bool whole = false;

    __device__ __forceinline__ slot<T>* staged(int j) const {
        return reinterpret_cast<slot<T>*>(reinterpret_cast<char*>(staged_vectors) + FIRST * BLOCK +
                                          (j * BLOCK + static_cast<int>(threadIdx.x)) * BYTES);
    }

public:
    // Where the thread's vectors of a tile are: the first, and how far apart (bytes) they and the
    // elements of a vector are, of which the tile has some.
    __device__ __forceinline__ void aim(const T* first, ptrdiff_t apart, ptrdiff_t between,
                                        int elements, bool has_vectors) {
        next = first;
        jump = apart;
        step = between;
        valid = elements;
        whole = has_vectors;
    }

    // Begins to load vector j; vectors are loaded in their order.
    __device__ __forceinline__ void fetch_staged(int j) {
        slot<T>* const to = staged(j);
        if (whole) {
            begin_copy<BYTES>(to, next);
        } else {
#pragma unroll
            for (int v = 0; v < OWN; ++v) {
                if (v >= valid) break;
                const T* const from = kerneltk::moved(next, v * step);
                if constexpr (sizeof(T) >= 4)
                    begin_copy<sizeof(T)>(to + v, from);
                else
                    to[v].value = kerneltk::get(from);
            }
        }
        next = kerneltk::moved(next, jump);
    }
    __device__ __forceinline__ void fetch_held(int j) {
        if (whole) {
            alignas(16) slot<T> vector[OWN];
            kerneltk::copy<row_chunk<T>(OWN), BYTES>(vector, next);
#pragma unroll
            for (int v = 0; v < OWN; ++v)
                own[(j - STAGED) * OWN + v].value = vector[v].value;
        } else {
#pragma unroll
            for (int v = 0; v < OWN; ++v)
                if (v < valid)
                    own[(j - STAGED) * OWN + v].value =
                        kerneltk::get(kerneltk::moved(next, v * step));
        }
        next = kerneltk::moved(next, jump);
    }

    // Vector j in shared memory can be read from now on, as the first or the second at hand.
    __device__ __forceinline__ void take(int j, int hand) {
        alignas(16) slot<T> vector[OWN];
        kerneltk::copy<row_chunk<T>(OWN), BYTES>(vector, staged(j));
#pragma unroll
        for (int v = 0; v < OWN; ++v) now[hand * OWN + v].value = vector[v].value;
    }
    __device__ __forceinline__ const T& operator[](staged_slot k) const {
        return now[OF_LINES ? k.at / VECTOR : k.at].value;
    }
    __device__ __forceinline__ const T& operator[](held_slot k) const {
        return own[k.place / (OF_LINES ? VECTOR : 1) - STAGED * OWN].value;
    }
};

// Tiles of LANES vectors side by side. A thread has STAGED and HELD of them below each other, and a group
// of blocks as many rows as a column has.
template <int BLOCK, int STAGED, int HELD, int VECTOR, int LANES>
class fused_tiles : public thread_slots<1, VECTOR> {
    static constexpr int VECTORS = STAGED + HELD;
    static constexpr int WIDTH = LANES * VECTOR, LINES = BLOCK / LANES, WARPS = BLOCK / 32;
    static_assert(LANES <= 32, "a warp has whole lines of a tile");
    unsigned int* counter;
    char* scratch;
    int length, blocks, rank;
    long long columns, across, tiles;
    int groups, turn = 0;
    long long tile, start, next_start;

    __device__ __forceinline__ int lane() const { return static_cast<int>(threadIdx.x) % LANES; }
    __device__ __forceinline__ int line() const { return static_cast<int>(threadIdx.x) / LANES; }
    // The thread's first column of a tile, and how many vectors of it it has.
    __device__ __forceinline__ long long start_of(long long tile) const {
        return tile % across * WIDTH + lane() * VECTOR;
    }
    __device__ __forceinline__ int count_of(long long tile, long long start) const {
        const int first = rank * LINES + line(), apart = blocks * LINES;
        if (tile >= tiles || start >= columns || first >= length) return 0;
        return (length - first + apart - 1) / apart;
    }
    template <class T>
    __device__ __forceinline__ bool has_vectors(const T* first, ptrdiff_t line,
                                                ptrdiff_t step) const {
        return step == sizeof(T) && columns % VECTOR == 0 &&
               (reinterpret_cast<size_t>(first) | static_cast<size_t>(line)) %
                       (VECTOR * sizeof(T)) ==
                   0;
    }

public:
    using slots = int;
    int count, next_count;

    // `counters` are 64 for each group, two of which are used, in cache lines of their own; `outer`
    // is the number of stacks of columns.
    __device__ __forceinline__ fused_tiles(unsigned int* counters, char* totals, long long extent,
                                           long long columns, long long outer)
        : scratch(totals), length(static_cast<int>(extent)), columns(columns) {
        blocks = (length + VECTORS * LINES - 1) / (VECTORS * LINES);
        groups = static_cast<int>(gridDim.x) / blocks;
        across = (columns + WIDTH - 1) / WIDTH;
        tiles = across * outer;
        tile = blockIdx.x / blocks;
        rank = static_cast<int>(blockIdx.x) % blocks;
        counter = counters + 64 * tile;
        start = start_of(tile);
        count = count_of(tile, start);
        next_start = start_of(tile + groups);
        next_count = count_of(tile + groups, next_start);
    }

    __device__ __forceinline__ bool has_tile() const { return tile < tiles; }
    __device__ __forceinline__ void advance() {
        tile += groups;
        start = next_start;
        count = next_count;
        next_start = start_of(tile + groups);
        next_count = count_of(tile + groups, next_start);
        ++turn;
    }
    // Of the tile at hand, or of the next one: which stack of columns it is in.
    __device__ __forceinline__ long long number(bool next) const {
        return (next ? tile + groups : tile) / across;
    }

    __device__ __forceinline__ int row(int k) const {
        return (k / VECTOR * blocks + rank) * LINES + line();
    }
    __device__ __forceinline__ long long column(int k) const {
        return start + k % VECTOR;
    }

    template <class T, class Vectors>
    __device__ __forceinline__ void aim(Vectors& vectors, const T* first, ptrdiff_t line,
                                        ptrdiff_t step, bool next) const {
        const long long column = next ? next_start : start;
        const long long left = columns - column;
        vectors.aim(kerneltk::moved(first, row(0) * line + column * step), blocks * LINES * line,
                    step, left < VECTOR ? static_cast<int>(left) : VECTOR,
                    has_vectors(first, line, step));
    }
    template <class Staged, class Held>
    __device__ __forceinline__ void load(const Staged& staged, const Held& held) const {
        const int end = count < STAGED ? count : STAGED;
#pragma unroll 2
        for (int j = 0; j < end; ++j) staged(j);
#pragma unroll
        for (int j = STAGED; j < VECTORS; ++j)
            if (j < count) held(j);
    }
    __device__ __forceinline__ void wait() const {
        asm volatile("cp.async.wait_all;" ::: "memory");
    }

    // Calls `step(v, k)` for each slot k, of column v of the thread's.
    template <class Take, class Step>
    __device__ __forceinline__ void each(const Take& take, const Step& step) const {
        const int end = count < STAGED ? count : STAGED;
#pragma unroll 4
        for (int j = 0; j < end; ++j) {
            take(j, 0);
#pragma unroll
            for (int v = 0; v < VECTOR; ++v) step(v, staged_slot{j * VECTOR + v, v});
        }
#pragma unroll
        for (int j = STAGED; j < VECTORS; ++j)
            if (j < count)
#pragma unroll
                for (int v = 0; v < VECTOR; ++v) step(v, held_slot{j * VECTOR + v});
    }

    // The totals of columns, of what each thread has of them: threads, blocks in the order of their
    // ranks, so that the result does not depend on which comes first.
    template <class T, class Reduce>
    __device__ __forceinline__ thread_totals<T, VECTOR> together(const T (&given)[VECTOR],
                                                                const Reduce& combine) const {
        constexpr int RANKS = BLOCK / WIDTH > 0 ? BLOCK / WIDTH : 1, SIDE = BLOCK / RANKS;
        static_assert(WIDTH <= BLOCK, "a thread has a column at most");
        __shared__ words<T> parts[RANKS > WARPS ? RANKS : WARPS][WIDTH];
        const int thread = threadIdx.x;
        __syncthreads();  // the last turn's totals have been read
#pragma unroll
        for (int v = 0; v < VECTOR; ++v) {
            const T own = of_lanes<32, LANES>(given[v], combine);
            if (thread % 32 < LANES) keep(parts[thread / 32][lane() * VECTOR + v], own);
        }
        __syncthreads();
        published<T>* const slots =
            reinterpret_cast<published<T>*>(scratch) +
            (static_cast<long long>(blockIdx.x / blocks) * 2 + turn % 2) * blocks * WIDTH;
        if (thread < WIDTH) {
            T all = kept(parts[0][thread]);
#pragma unroll
            for (int warp = 1; warp < WARPS; ++warp) all = combine(all, kept(parts[warp][thread]));
            publish(slots + rank * WIDTH + thread, all);
        }
        arrive_and_wait();
        const int column = thread % SIDE;
        if (column < WIDTH) {
            words<T> first;
            int block = thread / SIDE;
            if (block < blocks) {
                read_published(first, slots + block * WIDTH + column);
                T all = first.value;
#pragma unroll 4
                for (block += RANKS; block < blocks; block += RANKS) {
                    words<T> other;
                    read_published(other, slots + block * WIDTH + column);
                    all = combine(all, other.value);
                }
                keep(parts[thread / SIDE][column], all);
            }
        }
        __syncthreads();
        thread_totals<T, VECTOR> found;
#pragma unroll
        for (int v = 0; v < VECTOR; ++v) {
            T all = kept(parts[0][lane() * VECTOR + v]);
#pragma unroll
            for (int part = 1; part < RANKS; ++part)
                if (part < blocks) all = combine(all, kept(parts[part][lane() * VECTOR + v]));
            found.items[v].value = all;
        }
        return found;
    }

    // What each column has one of.
    template <class T>
    __device__ __forceinline__ thread_totals<T, VECTOR> once(const T* first, ptrdiff_t step) const {
        thread_totals<T, VECTOR> found;
#pragma unroll
        for (int v = 0; v < VECTOR; ++v)
            if (column(v) < columns)
                found.items[v].value = kerneltk::get(kerneltk::moved(first, column(v) * step));
        return found;
    }

    // Writes a tile; behind each vector the next tile's begins to be loaded.
    template <class T, class Take, class Value, class Staged, class Held>
    __device__ __forceinline__ void store(T* first, ptrdiff_t line, ptrdiff_t step, const Take& take,
                                          const Value& value, const Staged& staged,
                                          const Held& held) const {
        const bool whole = has_vectors(first, line, step);
        T* to = kerneltk::advance(first, row(0) * line + column(0) * step);
        const ptrdiff_t apart = blocks * LINES * line;
        const long long left = columns - column(0);
        const auto write = [&](const slot<T>(&vector)[VECTOR]) {
            if (whole) {
                kerneltk::copy<row_chunk<T>(VECTOR), VECTOR * sizeof(T)>(to, vector);
            } else {
#pragma unroll
                for (int v = 0; v < VECTOR; ++v)
                    if (v < left) *kerneltk::advance(to, v * step) = vector[v].value;
            }
            to = kerneltk::advance(to, apart);
        };
        const int more = count > next_count ? count : next_count;
        const int end = more < STAGED ? more : STAGED;
        // Two at a time: what begins to be loaded keeps other accesses behind it.
#pragma unroll 1
        for (int j = 0; j < end; j += 2) {
#pragma unroll
            for (int u = 0; u < 2; ++u)
                if (j + u < count && j + u < STAGED) take(j + u, u);
#pragma unroll
            for (int u = 0; u < 2; ++u)
                if (j + u < count && j + u < STAGED) {
                    alignas(16) slot<T> vector[VECTOR];
#pragma unroll
                    for (int v = 0; v < VECTOR; ++v)
                        vector[v].value =
                            value(staged_slot{(j + u) * VECTOR + v, u * VECTOR + v});
                    write(vector);
                }
#pragma unroll
            for (int u = 0; u < 2; ++u)
                if (j + u < next_count && j + u < STAGED) staged(j + u);
        }
#pragma unroll
        for (int j = STAGED; j < VECTORS; ++j) {
            if (j < count) {
                alignas(16) slot<T> vector[VECTOR];
#pragma unroll
                for (int v = 0; v < VECTOR; ++v) vector[v].value = value(held_slot{j * VECTOR + v});
                write(vector);
            }
            if (j < next_count) held(j);
        }
    }
    template <class T>
    __device__ __forceinline__ void store_total(T* first, ptrdiff_t step,
                                                const thread_totals<T, VECTOR>& total) const {
        if (rank == 0 && static_cast<int>(threadIdx.x) < LANES)
#pragma unroll
            for (int v = 0; v < VECTOR; ++v)
                if (column(v) < columns) *kerneltk::advance(first, column(v) * step) = total[v];
    }

    // Leaves the counters at zero, when no block of the group waits any more.
    __device__ __forceinline__ void end() const {
        if (threadIdx.x == 0) {
            unsigned int ticket;
            asm volatile("atom.acq_rel.gpu.global.inc.u32 %0, [%1], %2;"
                         : "=r"(ticket)
                         : "l"(counter + 32), "r"(blocks - 1)
                         : "memory");
            if (ticket == static_cast<unsigned int>(blocks - 1)) *counter = 0;
        }
    }

private:
    // Until all blocks of the group have published their totals of this turn.
    __device__ __forceinline__ void arrive_and_wait() const {
        __syncthreads();
        if (threadIdx.x == 0) {
            const unsigned int wanted = static_cast<unsigned int>(turn + 1) * blocks;
            asm volatile("red.release.gpu.global.add.u32 [%0], 1;" ::"l"(counter) : "memory");
            unsigned int found;
            do {
                asm volatile("ld.acquire.gpu.global.u32 %0, [%1];"
                             : "=r"(found)
                             : "l"(counter)
                             : "memory");
            } while (static_cast<int>(found - wanted) < 0);
        }
        __syncthreads();
    }
};

}  // namespace kerneltk

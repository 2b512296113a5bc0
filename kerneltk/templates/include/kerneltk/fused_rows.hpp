// Rows or columns that are read from memory once, by functions that need them several times: one is
// in the registers of a block, or a row in those of a cluster of blocks, on a GPU, and in the cache of a core on the
// host, which has rows alone.
//
// A slot is where a thread keeps an element. On the host one thread has the row, and slots are the
// places in it.
#pragma once

#ifdef __CUDACC_RTC__
#include <kerneltk/memory.hpp>
#include <kerneltk/reduce.hpp>
#else
#include <kerneltk/host_reduce.hpp>
#include <kerneltk/memory.hpp>
#endif

#ifdef __CUDACC_RTC__
#define KERNELTK_INLINE
#else
#define KERNELTK_INLINE __attribute__((always_inline))
#endif

namespace kerneltk {

// A pointer moved by a number of bytes, to what may be read only.
template <class T>
__device__ __forceinline__ const T* moved(const T* pointer, ptrdiff_t bytes) {
    return reinterpret_cast<const T*>(reinterpret_cast<const char*>(pointer) + bytes);
}

// The index along a dimension: divides what is left of a number by the extent, which is also there
// as a multiplier and a shift (divide.hpp), for numbers of 31 bits.
template <class Index>
static __device__ __forceinline__ long long row_index(long long& rest, long long extent,
                                                      long long packed) {
    const long long number = rest;
    if constexpr (sizeof(Index) == 4) {
        const unsigned int low = static_cast<unsigned int>(number);
        const unsigned int found = __umulhi(static_cast<unsigned int>(packed), low) + low;
        const unsigned int quotient = found >> static_cast<int>(packed >> 32);
        rest = quotient;
        return low - quotient * static_cast<unsigned int>(extent);
    } else {
        rest = number / extent;
        return number - rest * extent;
    }
}

using dense_row = true_type;
using any_row = false_type;

#ifdef __CUDACC_RTC__

template <class T, int ITEMS>
struct row_elements {
    slot<T> items[ITEMS];

    __device__ __forceinline__ const T& operator[](int k) const { return items[k].value; }
};

// Elements that VECTOR neighbours have in common.
template <class T, int ITEMS, int VECTOR>
struct line_elements {
    slot<T> items[ITEMS / VECTOR];

    __device__ __forceinline__ const T& operator[](int k) const { return items[k / VECTOR].value; }
};

// Totals of the VECTOR neighbours that a thread has elements of: slot k belongs to one of them.
template <class T, int VECTOR>
struct thread_totals {
    slot<T> items[VECTOR];

    __device__ __forceinline__ const T& operator[](int k) const { return items[k % VECTOR].value; }
};

// What functions give for each slot of a thread, and for each of its totals.
template <int ITEMS, int TOTALS>
struct thread_slots {
    template <class T, class Value>
    __device__ __forceinline__ row_elements<T, ITEMS> each(const Value& value) const {
        row_elements<T, ITEMS> found;
#pragma unroll
        for (int k = 0; k < ITEMS; ++k) found.items[k].value = value(k);
        return found;
    }
    template <class T, class Value>
    __device__ __forceinline__ thread_totals<T, TOTALS> of_totals(const Value& value) const {
        thread_totals<T, TOTALS> found;
#pragma unroll
        for (int k = 0; k < TOTALS; ++k) found.items[k].value = value(k);
        return found;
    }
};

template <class T>
static __device__ __forceinline__ words<T> in_words(const T& value) {
    words<T> found;
#pragma unroll
    for (int k = 0; k < words<T>::count; ++k) found.word[k] = 0;
    found.value = value;
    return found;
}
template <class T>
static __device__ __forceinline__ void keep(words<T>& shared, const T& value) {
    const words<T> found = in_words(value);
#pragma unroll
    for (int k = 0; k < words<T>::count; ++k) shared.word[k] = found.word[k];
}
template <class T>
static __device__ __forceinline__ T kept(const words<T>& shared) {
    words<T> found;
#pragma unroll
    for (int k = 0; k < words<T>::count; ++k) found.word[k] = shared.word[k];
    return found.value;
}

// The total of lanes whose numbers are equal modulo LEAST, LANES of them apart.
template <int LANES, int LEAST, class T, class Reduce>
static __device__ __forceinline__ T of_lanes(T own, const Reduce& combine) {
#pragma unroll
    for (int distance = LANES / 2; distance >= LEAST; distance /= 2) {
        const words<T> here = in_words(own);
        words<T> there;
#pragma unroll
        for (int k = 0; k < words<T>::count; ++k)
            there.word[k] = __shfl_xor_sync(0xffffffffu, here.word[k], distance, LANES);
        // Both lanes of a pair combine in the same order, and have the same total.
        own = threadIdx.x & distance ? combine(there.value, own) : combine(own, there.value);
    }
    return own;
}

// The total of a block's warps, each of which has its own one.
template <int WARPS, class T, class Reduce>
static __device__ __forceinline__ T of_warps(T own, const T& neutral, const Reduce& combine) {
    constexpr int PARTS = WARPS > 16 ? 32 : WARPS > 8 ? 16 : WARPS > 4 ? 8 : WARPS > 2 ? 4 : 2;
    __shared__ words<T> parts[WARPS];
    if (threadIdx.x % 32 == 0) keep(parts[threadIdx.x / 32], own);
    __syncthreads();
    const int part = threadIdx.x % PARTS;
    own = neutral;
    if (PARTS == WARPS || part < WARPS) own = kept(parts[part]);
    return of_lanes<PARTS, 1>(own, combine);
}

// The blocks that have a row together: a cluster, which reads each other's shared memory.
template <int CLUSTER>
struct row_blocks {
    static __device__ __forceinline__ int rank() {
        if constexpr (CLUSTER == 1)
            return 0;
        else
            return static_cast<int>(blockIdx.x % CLUSTER);
    }
    static __device__ __forceinline__ void wait() {
        if constexpr (CLUSTER > 1) {
            asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
            asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
        }
    }
    // What a block of the cluster has at the address of `shared`.
    template <class T>
    static __device__ __forceinline__ T of(const words<T>& shared, int rank) {
        words<T> found;
        const unsigned own = static_cast<unsigned>(__cvta_generic_to_shared(&shared));
        unsigned there;
        asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(own), "r"(rank));
#pragma unroll
        for (int k = 0; k < words<T>::count; ++k)
            asm volatile("ld.shared::cluster.u32 %0, [%1];"
                         : "=r"(found.word[k])
                         : "r"(there + 4 * k)
                         : "memory");
        return found.value;
    }
};

// Bytes of the largest accesses that make up a vector.
template <class T>
constexpr int row_chunk(int vector) {
    const int bytes = vector * sizeof(T);
    return (bytes | 16) & -(bytes | 16);
}
// What slots without an element hold: functions of them are computed, and not used.
template <class T>
static __device__ __forceinline__ T nothing() {
    words<T> found;
#pragma unroll
    for (int k = 0; k < words<T>::count; ++k) found.word[k] = 0;
    return found.value;
}

// The steps of a row that goes along several axes (bytes), and their extents.
template <int AXES>
struct row_steps {
    int extents[AXES];
    ptrdiff_t steps[AXES];
};
static __device__ __forceinline__ ptrdiff_t row_offset(ptrdiff_t step, int place) {
    return place * step;
}
// Of columns, of which there may be more along one axis.
static __device__ __forceinline__ ptrdiff_t column_offset(ptrdiff_t step, long long column) {
    return column * step;
}
template <int AXES>
static __device__ __forceinline__ ptrdiff_t row_offset(const row_steps<AXES>& line, int place) {
    ptrdiff_t offset = 0;
    unsigned int rest = static_cast<unsigned int>(place);
#pragma unroll
    for (int d = AXES - 1; d >= 0; --d) {
        const unsigned int quotient = d ? rest / static_cast<unsigned int>(line.extents[d]) : 0;
        offset += static_cast<int>(rest - quotient * line.extents[d]) * line.steps[d];
        rest = quotient;
    }
    return offset;
}
template <int AXES>
static __device__ __forceinline__ ptrdiff_t column_offset(const row_steps<AXES>& line,
                                                          long long column) {
    return row_offset(line, static_cast<int>(column));
}
static __device__ __forceinline__ bool is_dense_row(ptrdiff_t step, ptrdiff_t size) {
    return step == size;
}
// Whether a row's elements are those of memory, the last one first.
static __device__ __forceinline__ bool is_reversed_row(ptrdiff_t step, ptrdiff_t size) {
    return step == -size;
}
template <int AXES>
static __device__ __forceinline__ bool is_reversed_row(const row_steps<AXES>&, ptrdiff_t) {
    return false;
}
template <int AXES>
static __device__ __forceinline__ bool is_dense_row(const row_steps<AXES>& line, ptrdiff_t size) {
    bool found = true;
#pragma unroll
    for (int d = AXES - 1; d >= 0; --d) {
        found = found && line.steps[d] == size;
        size *= line.extents[d];
    }
    return found;
}

// The first row of those that lie one after the other, without gaps: elements in C order, or in that
// of DIMS, from the longest step to the shortest, at addresses of vectors. Null for others.
template <int VECTOR, int... DIMS, class View>
static __device__ __forceinline__ auto without_gaps(const View& view) {
    constexpr int SIZE = sizeof(typename View::value_type), COUNT = sizeof...(DIMS);
    constexpr int dims[] = {DIMS..., 0};
    ptrdiff_t dense = SIZE;
    bool found = SIZE <= 16 && (SIZE & (SIZE - 1)) == 0 &&
                 reinterpret_cast<size_t>(view.begin_ptr()) % (SIZE * VECTOR) == 0;
    if constexpr (COUNT || !View::c_contiguous) {
#pragma unroll
        for (int k = View::ndim - 1; k >= 0; --k) {
            const int d = COUNT ? dims[k] : k;
            found = found && (view.strides()[d] == dense || view.shape()[d] == 1);
            dense *= view.shape()[d];
        }
    }
    return found ? view.begin_ptr() : nullptr;
}

// A row is that of LANES threads: a block, a cluster, or of neighbours in a warp, which has several
// rows then. Vectors of VECTOR elements are dealt to the threads in turn, so that neighbours read
// neighbours.
//
// WHOLE says that a row is a number of whole vectors. Other rows of blocks begin within a vector as
// the array has them in memory (`align`), and end within one. Other rows of lanes are brought into
// shared memory by their warp, in vectors, and back: elements have at most STAGED bytes. All threads
// have elements in the first FULL turns.
template <int BLOCK, int ITEMS, int VECTOR, int CLUSTER = 1, int LANES = BLOCK, bool WHOLE = false,
          int FULL = 0, int STAGED = 0>
class fused_row : public thread_slots<ITEMS, 1> {
    using blocks = row_blocks<CLUSTER>;
    static constexpr int ROWS = LANES < 32 ? 32 / LANES : 1;  // of a warp
    int length, head = 0;
    bool is_there = true, is_inside = false;
    int held = ROWS;

    template <class T, class Step>
    __device__ __forceinline__ bool has_vectors(const T* first, const Step& step) const {
        return is_dense_row(step, sizeof(T)) &&
               (reinterpret_cast<size_t>(first) - head * sizeof(T)) % (VECTOR * sizeof(T)) == 0;
    }
    template <class T, class Step>
    __device__ __forceinline__ bool has_vectors_back(const T* first, const Step& step) const {
        return is_reversed_row(step, sizeof(T)) &&
               (reinterpret_cast<size_t>(first + 1) + head * sizeof(T)) % (VECTOR * sizeof(T)) == 0;
    }
    // Of a warp's threads, and of a row's.
    static __device__ __forceinline__ int lane() { return static_cast<int>(threadIdx.x % 32u); }
    static __device__ __forceinline__ int begin() {
        return (blocks::rank() * LANES + static_cast<int>(threadIdx.x % LANES)) * VECTOR;
    }
    // From a thread's first slot to another one: constants, which addresses of instructions hold.
    static constexpr __device__ __forceinline__ int step_to(int k) {
        return k / VECTOR * (CLUSTER * LANES * VECTOR) + k % VECTOR;
    }
    // Whether a row has an element there: one test for a vector where there are only whole ones. Lanes
    // without a row have any.
    __device__ __forceinline__ bool has_slot(int k) const {
        const bool is_behind = WHOLE || LANES < BLOCK || k >= VECTOR || place(k) >= 0;
        if (k / VECTOR < FULL) return is_behind;
        return is_behind &&
               begin() + step_to(WHOLE || STAGED ? k / VECTOR * VECTOR : k) < length + head;
    }
    __device__ __forceinline__ bool has(int k) const {
        return (LANES == BLOCK || is_there) && has_slot(k);
    }
    __device__ __forceinline__ bool has_vector(int k) const {
        return has(k) && (WHOLE || k / VECTOR < FULL || place(k) + VECTOR <= length);
    }

    // BACK: of elements whose addresses decrease, the first of which is at `own`.
    template <bool BACK = false, class T>
    static __device__ __forceinline__ void load_vector(row_elements<T, ITEMS>& to, const T* own,
                                                       int k, bool is_there) {
        const T* const at = BACK ? own - step_to(k) - (VECTOR - 1) : own + step_to(k);
        using word = typename chunk<row_chunk<T>(VECTOR)>::type;
        alignas(16) slot<T> vector[VECTOR];
#pragma unroll
        for (int w = 0; w < VECTOR * sizeof(T) / sizeof(word); ++w)
            reinterpret_cast<word*>(vector)[w] = word();
        if (is_there) kerneltk::copy<sizeof(word), VECTOR * sizeof(T)>(vector, at);
#pragma unroll
        for (int v = 0; v < VECTOR; ++v)
            to.items[k + v].value = kerneltk::get(&vector[BACK ? VECTOR - 1 - v : v].value);
    }
    template <class T>
    static __device__ __forceinline__ void store_vector(T* own,
                                                        const row_elements<T, VECTOR>& from,
                                                        int k) {
        alignas(16) slot<T> vector[VECTOR];
#pragma unroll
        for (int v = 0; v < VECTOR; ++v) vector[v].value = from[v];
        kerneltk::copy<row_chunk<T>(VECTOR), VECTOR * sizeof(T)>(own + step_to(k), vector);
    }
    template <class T, class Value>
    static __device__ __forceinline__ row_elements<T, VECTOR> values(const Value& value, int k) {
        row_elements<T, VECTOR> found;
#pragma unroll
        for (int v = 0; v < VECTOR; ++v) found.items[v].value = value(k + v);
        return found;
    }

    // The warp's part of shared memory, where elements are as they are in vectors of memory: `at`.
    static __device__ __forceinline__ char* staged() {
        __shared__ alignas(16) char memory[STAGED ? BLOCK / 32 : 1][STAGED * ITEMS * 32 + 16];
        return memory[STAGED ? threadIdx.x / 32 : 0];
    }
    struct staging {
        char *memory, *at;
        int from, to;  // the warp's elements: bytes behind `at`, a multiple of 16
        int own;       // the thread's first element: bytes behind `at`
    };
    // From the first row of all, not from a lane's own: behind the last row lanes have none.
    template <class T>
    __device__ __forceinline__ staging staging_of(const T* rows) const {
        const int row = static_cast<int>(threadIdx.x % 32u / LANES);
        const int above = row * length * static_cast<int>(sizeof(T));
        char* const at = const_cast<char*>(reinterpret_cast<const char*>(rows)) +
                         (number - row) * (length * static_cast<int>(sizeof(T)));
        const int from = static_cast<int>(reinterpret_cast<size_t>(at) % 16);
        const int own = from + above + begin() * static_cast<int>(sizeof(T));
        return {staged(), at - from, from, from + static_cast<int>(held * length * sizeof(T)), own};
    }
    // Brings the warp's elements into shared memory, all vectors before the first is put down. Those
    // at its ends are read as a whole where as many bytes of other rows are before and behind it.
    template <class T>
    __device__ __forceinline__ void bring(const staging& here) const {
        const int from = is_inside ? here.from & -16 : here.from;
        const int to = is_inside ? here.to + 15 & -16 : here.to;
        uint4 vectors[turns<T>];
#pragma unroll
        for (int k = 0; k < turns<T>; ++k)
            if (at(k) >= from && at(k) + 16 <= to)
                vectors[k] = *reinterpret_cast<const uint4*>(here.at + at(k));
#pragma unroll
        for (int k = 0; k < turns<T>; ++k)
            if (at(k) >= from && at(k) + 16 <= to)
                *reinterpret_cast<uint4*>(here.memory + at(k)) = vectors[k];
        if (!is_inside) move_ends<T>(here, here.memory, here.at);
    }
    template <class T>
    __device__ __forceinline__ void take(const staging& here) const {
#pragma unroll
        for (int k = 0; k < turns<T>; ++k)
            if (at(k) >= here.from && at(k) + 16 <= here.to)
                *reinterpret_cast<uint4*>(here.at + at(k)) =
                    *reinterpret_cast<const uint4*>(here.memory + at(k));
        if ((here.from | here.to) % 16) move_ends<T>(here, here.at, here.memory);
    }
    // The elements of vectors that the warp has a part of: at most 16 at either end.
    template <class T>
    static __device__ __forceinline__ void move_ends(const staging& here, char* to,
                                                     const char* from) {
        const int behind = here.from + 15 & -16, last = here.to & -16;
        const int start = lane() < 16 ? here.from : behind > last ? behind : last;
        const int end = lane() < 16 && behind < here.to ? behind : here.to;
        const int first = start + lane() % 16 * static_cast<int>(sizeof(T));
        if (first < end)
            *reinterpret_cast<slot<T>*>(to + first) = *reinterpret_cast<const slot<T>*>(from + first);
    }
    template <class T>
    static constexpr int turns = (ITEMS * static_cast<int>(sizeof(T)) + 15) / 16 + 1;
    static __device__ __forceinline__ int at(int k) {
        return (k * 32 + lane()) * 16;
    }

public:
    const long long number;
    using slots = int;

    __device__ __forceinline__ fused_row(long long number, long long extent, long long rows)
        : length(static_cast<int>(extent)), number(number) {
        if constexpr (LANES < BLOCK) {
            // The last warp has threads behind the last row.
            is_there = number < rows;
            const long long first = number - static_cast<int>(threadIdx.x % 32u / LANES);
            if (rows - first < ROWS) held = static_cast<int>(rows - first);
            is_inside = first > 0 && first + ROWS + 16 <= rows;
        }
    }
    // Rows begin within a vector as this one does.
    template <class T>
    __device__ __forceinline__ void align(const T* first) {
        head = static_cast<int>(reinterpret_cast<size_t>(first) / sizeof(T) % VECTOR);
    }

    __device__ __forceinline__ int place(int k) const { return begin() + step_to(k) - head; }

    template <class T, class Step, class Layout>
    __device__ __forceinline__ row_elements<T, ITEMS> load(const T* first, const Step& step, Layout,
                                                           const T* rows = nullptr) const {
        row_elements<T, ITEMS> found;
        if (STAGED && rows) {
            if constexpr (STAGED) {
                const auto here = staging_of(rows);
                __syncwarp();
                bring<T>(here);
                __syncwarp();
                const auto* const own = reinterpret_cast<const T*>(here.memory + here.own);
#pragma unroll
                for (int k = 0; k < ITEMS; k += VECTOR) load_vector(found, own, k, has_slot(k));
            }
        } else if (VECTOR > 1 && is_dense_row(step, sizeof(T))) {
            const T* const own = first + (begin() - head);
            const bool in_vectors = has_vectors(first, step);
#pragma unroll
            for (int k = 0; k < ITEMS; k += VECTOR) {
                const bool is_vector = in_vectors && has_vector(k);
                load_vector(found, own, k, is_vector);
                if (!is_vector)
#pragma unroll
                    for (int v = 0; v < VECTOR; ++v)
                        if (has(k + v)) found.items[k + v].value = kerneltk::get(own + step_to(k + v));
            }
        } else if (VECTOR > 1 && has_vectors_back(first, step)) {
            const T* const own = first - (begin() - head);
#pragma unroll
            for (int k = 0; k < ITEMS; k += VECTOR) {
                load_vector<true>(found, own, k, has_vector(k));
                if (!WHOLE && !has_vector(k))
#pragma unroll
                    for (int v = 0; v < VECTOR; ++v)
                        if (has(k + v)) found.items[k + v].value = kerneltk::get(own - step_to(k + v));
            }
        } else {
#pragma unroll
            for (int k = 0; k < ITEMS; ++k)
                found.items[k].value =
                    has(k) ? kerneltk::get(kerneltk::moved(first, row_offset(step, place(k))))
                           : nothing<T>();
        }
        return found;
    }

    template <class T, class Step, class Layout, class Value>
    __device__ __forceinline__ void store(T* first, const Step& step, Layout, const Value& value,
                                          const T* rows = nullptr) const {
        if (STAGED && rows) {
            if constexpr (STAGED) {
                const auto here = staging_of(rows);
                __syncwarp();
                T* const own = reinterpret_cast<T*>(here.memory + here.own);
#pragma unroll
                for (int k = 0; k < ITEMS; k += VECTOR) {
                    const row_elements<T, VECTOR> vector = values<T>(value, k);
                    if (has_slot(k)) store_vector(own, vector, k);
                }
                __syncwarp();
                take<T>(here);
            }
            return;
        }
        const bool in_vectors = VECTOR > 1 && has_vectors(first, step);
        T* const own = first + (begin() - head);
#pragma unroll
        for (int k = 0; k < ITEMS; k += VECTOR) {
            const row_elements<T, VECTOR> vector = values<T>(value, k);
            if (in_vectors && has_vector(k))
                store_vector(own, vector, k);
            else if (!WHOLE || !in_vectors)
#pragma unroll
                for (int v = 0; v < VECTOR; ++v)
                    if (has(k + v))
                        *kerneltk::advance(first, row_offset(step, place(k + v))) = vector[v];
        }
    }

    // The total of the row's elements, for all threads. Threads, lanes, warps and blocks are
    // combined in an order that depends on the class's parameters alone. Functions are computed for
    // all slots, which takes no branches.
    template <class T, class Map, class Reduce>
    __device__ __forceinline__ thread_totals<T, 1> reduce(const T& neutral, const Map& map,
                                                       const Reduce& combine) const {
        constexpr int WARPS = LANES / 32;
        T own = neutral;
#pragma unroll
        for (int k = 0; k < ITEMS; ++k) {
            const T value = map(k);
            own = combine(own, has_slot(k) ? value : neutral);
        }
        own = of_lanes<LANES < 32 ? LANES : 32, 1>(own, combine);
        if constexpr (WARPS > 1) own = of_warps<WARPS>(own, neutral, combine);
        if constexpr (CLUSTER > 1) {
            __shared__ words<T> whole;
            if (threadIdx.x == 0) keep(whole, own);
            blocks::wait();
            own = of_lanes<CLUSTER, 1>(blocks::of(whole, threadIdx.x % CLUSTER), combine);
        }
        thread_totals<T, 1> found;
        found.items[0].value = own;
        return found;
    }

    template <class T>
    __device__ __forceinline__ thread_totals<T, 1> once(const T* first, ptrdiff_t) const {
        thread_totals<T, 1> found;
        if (is_there) found.items[0].value = kerneltk::get(first);
        return found;
    }
    template <class T>
    __device__ __forceinline__ void store_total(T* first, ptrdiff_t,
                                                const thread_totals<T, 1>& total) const {
        if (is_there && threadIdx.x % LANES == 0 && blocks::rank() == 0) *first = total[0];
    }
    // What other blocks read of a block's shared memory stays until they have.
    __device__ __forceinline__ void end() const { blocks::wait(); }
};

// Columns side by side, WIDTH of them in a tile: a thread has VECTOR neighbours of some lines, and
// LANES threads have the tile's width. Every thread has FULL lines; which others it has is asked for
// each. ALONE: a thread has a tile, of columns that are VECTOR side by side, and no line is missing.
// A number of columns is one of vectors; threads beyond the last one compute it again, and write
// nothing.
// ROWS: a thread's columns are VECTOR rows that may lie one behind the other, without gaps.
template <int BLOCK, int ITEMS, int VECTOR, int WIDTH, bool ALONE, int FULL, bool ROWS = false>
class fused_columns : public thread_slots<ITEMS, VECTOR> {
    static constexpr int LANES = WIDTH / VECTOR, LINES = ALONE ? 1 : BLOCK / LANES,
                         WARPS = BLOCK / 32;
    static_assert(LANES <= 32, "a warp has whole lines of a tile");
    int length;
    long long columns;

    template <class T, class Step>
    __device__ __forceinline__ bool has_vectors(const T* first, ptrdiff_t line,
                                                const Step& step) const {
        return is_dense_row(step, sizeof(T)) &&
               (reinterpret_cast<size_t>(first) | static_cast<size_t>(line)) %
                       row_chunk<T>(VECTOR) ==
                   0;
    }
    template <class T, class Step>
    static __device__ __forceinline__ bool are_together(const T* first, ptrdiff_t line,
                                                        const Step& step) {
        return line == sizeof(T) && is_dense_row(step, FULL * ptrdiff_t(sizeof(T))) &&
               reinterpret_cast<size_t>(first) % row_chunk<T>(ITEMS) == 0;
    }
    // Where slot k is among the elements of rows that lie together.
    static constexpr __device__ __forceinline__ int in_rows(int k) {
        return k % VECTOR * FULL + k / VECTOR;
    }
    // Of the thread's columns (bytes).
    struct column_offsets {
        ptrdiff_t items[VECTOR];
    };
    template <class Step>
    __device__ __forceinline__ column_offsets offsets(const Step& step) const {
        column_offsets found;
#pragma unroll
        for (int v = 0; v < VECTOR; ++v) found.items[v] = column_offset(step, column(v));
        return found;
    }
    __device__ __forceinline__ bool has(int k) const {
        return k / VECTOR < FULL || row(k) < length;
    }

public:
    const long long number;

private:
    long long first_column;
    bool is_there = true;

public:
    using slots = int;

    __device__ __forceinline__ fused_columns(long long number, long long tile, long long extent,
                                             long long across)
        : length(static_cast<int>(extent)),
          columns(across),
          number(number),
          first_column(tile * WIDTH) {
        if constexpr (!ALONE) {
            first_column += static_cast<int>(threadIdx.x) % LANES * VECTOR;
            is_there = first_column < columns;
            if (!is_there) first_column = columns - VECTOR;
        }
    }

    __device__ __forceinline__ int row(int k) const {
        return k / VECTOR * LINES + (ALONE ? 0 : static_cast<int>(threadIdx.x) / LANES);
    }
    __device__ __forceinline__ long long column(int k) const { return first_column + k % VECTOR; }

    template <class T, class Step>
    __device__ __forceinline__ row_elements<T, ITEMS> load(const T* first, ptrdiff_t line,
                                                           const Step& step) const {
        row_elements<T, ITEMS> found;
        if constexpr (ROWS)
            if (are_together(first, line, step)) {
                alignas(16) slot<T> vector[ITEMS];
                kerneltk::copy<row_chunk<T>(ITEMS), ITEMS * sizeof(T)>(vector,
                                                                      first + first_column * FULL);
#pragma unroll
                for (int k = 0; k < ITEMS; ++k) found.items[k].value = vector[in_rows(k)].value;
                return found;
            }
        // From line to line by a sum: of 64 bits a product takes several instructions.
        const ptrdiff_t apart = LINES * line;
        first = kerneltk::moved(first, row(0) * line);
        const auto take = [&](const T* own, bool is_back) {
#pragma unroll
            for (int k = 0; k < ITEMS; k += VECTOR) {
                if (has(k)) {
                    alignas(16) slot<T> vector[VECTOR];
                    kerneltk::copy<row_chunk<T>(VECTOR), VECTOR * sizeof(T)>(vector, own);
#pragma unroll
                    for (int v = 0; v < VECTOR; ++v)
                        found.items[k + v].value = vector[is_back ? VECTOR - 1 - v : v].value;
                }
                own = kerneltk::moved(own, apart);
            }
        };
        if (VECTOR > 1 && has_vectors(first, line, step)) {
            take(first + column(0), false);
        } else if (VECTOR > 1 && is_reversed_row(step, sizeof(T)) &&
                   has_vectors(first + 1, line, ptrdiff_t(sizeof(T)))) {
            take(first - column(VECTOR - 1), true);
        } else {
            const column_offsets sides = offsets(step);
#pragma unroll
            for (int k = 0; k < ITEMS; k += VECTOR) {
#pragma unroll
                for (int v = 0; v < VECTOR; ++v)
                    if (has(k))
                        found.items[k + v].value =
                            kerneltk::get(kerneltk::moved(first, sides.items[v]));
                first = kerneltk::moved(first, apart);
            }
        }
        return found;
    }

    // Of an array that columns side by side have the same elements of.
    template <class T>
    __device__ __forceinline__ line_elements<T, ITEMS, VECTOR> load_lines(const T* first,
                                                                          ptrdiff_t line) const {
        line_elements<T, ITEMS, VECTOR> found;
        first = kerneltk::moved(first, row(0) * line);
#pragma unroll
        for (int k = 0; k < ITEMS; k += VECTOR) {
            if (has(k)) found.items[k / VECTOR].value = kerneltk::get(first);
            first = kerneltk::moved(first, LINES * line);
        }
        return found;
    }

    template <class T, class Step, class Value>
    __device__ __forceinline__ void store(T* first, ptrdiff_t line, const Step& step,
                                          const Value& value) const {
        if (!is_there) return;
        if constexpr (ROWS) {
            alignas(16) slot<T> vector[ITEMS];  // computed once for both ways
#pragma unroll
            for (int k = 0; k < ITEMS; ++k) vector[in_rows(k)].value = value(k);
            if (are_together(first, line, step)) {
                kerneltk::copy<row_chunk<T>(ITEMS), ITEMS * sizeof(T)>(first + first_column * FULL,
                                                                      vector);
            } else {
                const column_offsets sides = offsets(step);
#pragma unroll
                for (int k = 0; k < ITEMS; ++k)
                    *kerneltk::advance(first, row(k) * line + sides.items[k % VECTOR]) =
                        vector[in_rows(k)].value;
            }
            return;
        }
        const bool whole = VECTOR > 1 && has_vectors(first, line, step);
        const column_offsets sides = offsets(step);
        const ptrdiff_t apart = LINES * line;
        first = kerneltk::advance(first, row(0) * line);
#pragma unroll
        for (int k = 0; k < ITEMS; k += VECTOR) {
            if (has(k)) {
                alignas(16) slot<T> vector[VECTOR];  // computed once for both ways
#pragma unroll
                for (int v = 0; v < VECTOR; ++v) vector[v].value = value(k + v);
                if (whole) {
                    kerneltk::copy<row_chunk<T>(VECTOR), VECTOR * sizeof(T)>(first + column(0),
                                                                            vector);
                } else {
#pragma unroll
                    for (int v = 0; v < VECTOR; ++v)
                        *kerneltk::advance(first, sides.items[v]) = vector[v].value;
                }
            }
            first = kerneltk::advance(first, apart);
        }
    }

    // The totals of columns, for all threads that have elements of them; in an order as that of
    // rows.
    template <class T, class Map, class Reduce>
    __device__ __forceinline__ thread_totals<T, VECTOR> reduce(const T& neutral, const Map& map,
                                                            const Reduce& combine) const {
        thread_totals<T, VECTOR> found;
        if constexpr (ALONE) {
#pragma unroll
            for (int v = 0; v < VECTOR; ++v) {
                T own = neutral;
#pragma unroll
                for (int k = v; k < ITEMS; k += VECTOR) own = combine(own, map(k));
                found.items[v].value = own;
            }
            return found;
        }
        __shared__ words<T> parts[ALONE ? 1 : WARPS][WIDTH], totals[WIDTH];
        const int thread = threadIdx.x, lane = thread % LANES;
#pragma unroll
        for (int v = 0; v < VECTOR; ++v) {
            T own = neutral;
#pragma unroll
            for (int k = v; k < ITEMS; k += VECTOR)
                if (has(k)) own = combine(own, map(k));
            own = of_lanes<32, LANES>(own, combine);
            if (thread % 32 < LANES) keep(parts[thread / 32][lane * VECTOR + v], own);
        }
        __syncthreads();
#pragma unroll
        for (int column = thread; column < WIDTH; column += BLOCK) {
            T all = kept(parts[0][column]);
#pragma unroll
            for (int warp = 1; warp < WARPS; ++warp) all = combine(all, kept(parts[warp][column]));
            keep(totals[column], all);
        }
        __syncthreads();
#pragma unroll
        for (int v = 0; v < VECTOR; ++v) found.items[v].value = kept(totals[lane * VECTOR + v]);
        return found;
    }

    // What each column has one of.
    template <class T, class Step>
    __device__ __forceinline__ thread_totals<T, VECTOR> once(const T* first,
                                                             const Step& step) const {
        thread_totals<T, VECTOR> found;
#pragma unroll
        for (int v = 0; v < VECTOR; ++v)
            found.items[v].value =
                kerneltk::get(kerneltk::moved(first, column_offset(step, column(v))));
        return found;
    }
    template <class T, class Step>
    __device__ __forceinline__ void store_total(T* first, const Step& step,
                                                const thread_totals<T, VECTOR>& total) const {
        if (is_there && (ALONE || threadIdx.x < LANES))
#pragma unroll
            for (int v = 0; v < VECTOR; ++v)
                *kerneltk::advance(first, column_offset(step, column(v))) = total[v];
    }
};

template <class Function>
__device__ __forceinline__ void by_layout(bool, const Function& function) {
    function(any_row());
}

#else

template <class T, bool DENSE>
struct row_elements {
    const T* first;
    ptrdiff_t step;

    __forceinline__ const T& operator[](long long k) const {
        if constexpr (DENSE)
            return first[k];
        else
            return *kerneltk::moved(first, k * step);
    }
};
template <bool DENSE>
struct row_elements<bool, DENSE> {
    const bool* first;
    ptrdiff_t step;

    __forceinline__ bool operator[](long long k) const {
        return kerneltk::get(kerneltk::moved(first, DENSE ? k : k * step));
    }
};

template <class T>
struct row_total {
    T value;

    __forceinline__ const T& operator[](long long) const { return value; }
};

template <int, int, int, int = 1>
class fused_row {
    long long length;

public:
    const long long number;
    using slots = long long;

    __forceinline__ fused_row(long long number, long long extent) : length(extent), number(number) {}

    __forceinline__ long long place(long long k) const { return k; }

    template <class T, class Layout>
    __forceinline__ row_elements<T, Layout::value> load(const T* first, ptrdiff_t step,
                                                        Layout) const {
        return {first, step};
    }

    template <class T, class Layout, class Value>
    __forceinline__ void store(T* first, ptrdiff_t step, Layout, const Value& value) const {
        if constexpr (Layout::value) {
            // The values are expressions of numbers, without arrays of their own. Without the pragma,
            // rows that are updated where they lie take 10 % longer (g++ 12).
#pragma GCC ivdep
            for (long long k = 0; k < length; ++k) first[k] = value(k);
        } else {
            for (long long k = 0; k < length; ++k) *kerneltk::advance(first, k * step) = value(k);
        }
    }

    // As a reduction of rows: its lanes, and its order.
    template <class T, class Map, class Reduce>
    __forceinline__ row_total<T> reduce(const T& neutral, const Map& map,
                                        const Reduce& combine) const {
        row_totals<T, side_by_side<T>(256), true, true> totals;
        const auto identity = [&]() __attribute__((always_inline)) { return neutral; };
        const auto step = [&](const T& total, long long k) __attribute__((always_inline)) -> T {
            return combine(total, map(k));
        };
        const auto ahead = [](long long, long long) {};
        totals.begin(identity);
        totals.take(identity, 0, step, ahead, combine, length);
        return {totals.end(combine)};
    }
    template <class T, class Value>
    __forceinline__ row_total<T> of_totals(const Value& value) const {
        return {value(0)};
    }
    template <class T>
    __forceinline__ row_total<T> once(const T* first, ptrdiff_t) const {
        return {kerneltk::get(first)};
    }
    template <class T>
    __forceinline__ void store_total(T* first, ptrdiff_t, const row_total<T>& total) const {
        *first = total.value;
    }
};

template <class Function>
__forceinline__ void by_layout(bool dense, const Function& function) {
    if (dense)
        function(dense_row());
    else
        function(any_row());
}

#endif

}  // namespace kerneltk

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

struct dense_row {
    static constexpr bool value = true;
};
struct any_row {
    static constexpr bool value = false;
};

#ifdef __CUDACC_RTC__

template <class T, int ITEMS>
struct row_elements {
    slot<T> items[ITEMS];

    __device__ __forceinline__ const T& operator[](int k) const { return items[k].value; }
};

// Totals of the VECTOR neighbours that a thread has elements of: slot k belongs to one of them.
template <class T, int VECTOR>
struct thread_totals {
    slot<T> items[VECTOR];

    __device__ __forceinline__ const T& operator[](int k) const { return items[k % VECTOR].value; }
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

template <class T>
constexpr int row_chunk(int vector) {
    return vector * sizeof(T) < 16 ? vector * sizeof(T) : 16;
}

// Vectors of VECTOR elements are dealt to the threads in turn, so that neighbours read neighbours.
template <int BLOCK, int ITEMS, int VECTOR, int CLUSTER = 1>
class fused_row {
    using blocks = row_blocks<CLUSTER>;
    int length;

    template <class T>
    __device__ __forceinline__ bool has_vectors(const T* first, ptrdiff_t step) const {
        return step == sizeof(T) && length % VECTOR == 0 &&
               reinterpret_cast<size_t>(first) % (VECTOR * sizeof(T)) == 0;
    }

public:
    const long long number;
    using slots = int;

    __device__ __forceinline__ fused_row(long long number, long long extent)
        : length(static_cast<int>(extent)), number(number) {}

    __device__ __forceinline__ int place(int k) const {
        const int turn = k / VECTOR * CLUSTER + blocks::rank();
        return (turn * BLOCK + static_cast<int>(threadIdx.x)) * VECTOR + k % VECTOR;
    }

    template <class T, class Layout>
    __device__ __forceinline__ row_elements<T, ITEMS> load(const T* first, ptrdiff_t step,
                                                           Layout) const {
        row_elements<T, ITEMS> found;
        if (has_vectors(first, step)) {
#pragma unroll
            for (int k = 0; k < ITEMS; k += VECTOR)
                if (place(k) < length) {
                    alignas(16) slot<T> vector[VECTOR];
                    kerneltk::copy<row_chunk<T>(VECTOR), VECTOR * sizeof(T)>(vector,
                                                                             first + place(k));
#pragma unroll
                    for (int v = 0; v < VECTOR; ++v) found.items[k + v].value = vector[v].value;
                }
        } else {
#pragma unroll
            for (int k = 0; k < ITEMS; ++k)
                if (place(k) < length)
                    found.items[k].value = *kerneltk::moved(first, place(k) * step);
        }
        return found;
    }

    template <class T, class Layout, class Value>
    __device__ __forceinline__ void store(T* first, ptrdiff_t step, Layout,
                                          const Value& value) const {
        if (has_vectors(first, step)) {
#pragma unroll
            for (int k = 0; k < ITEMS; k += VECTOR)
                if (place(k) < length) {
                    alignas(16) slot<T> vector[VECTOR];
#pragma unroll
                    for (int v = 0; v < VECTOR; ++v) vector[v].value = value(k + v);
                    kerneltk::copy<row_chunk<T>(VECTOR), VECTOR * sizeof(T)>(first + place(k),
                                                                             vector);
                }
        } else {
#pragma unroll
            for (int k = 0; k < ITEMS; ++k)
                if (place(k) < length) *kerneltk::advance(first, place(k) * step) = value(k);
        }
    }

    // The total of the row's elements, for all threads. Threads, lanes, warps and blocks are
    // combined in an order that depends on the class's parameters alone.
    template <class T, class Map, class Reduce>
    __device__ __forceinline__ thread_totals<T, 1> reduce(const T& neutral, const Map& map,
                                                       const Reduce& combine) const {
        constexpr int WARPS = BLOCK / 32;
        T own = neutral;
#pragma unroll
        for (int k = 0; k < ITEMS; ++k)
            if (place(k) < length) own = combine(own, map(k));
        own = of_lanes<32, 1>(own, combine);
        if constexpr (WARPS > 1) {
            __shared__ words<T> parts[WARPS];
            if (threadIdx.x % 32 == 0) keep(parts[threadIdx.x / 32], own);
            __syncthreads();
            own = of_lanes<WARPS, 1>(kept(parts[threadIdx.x % WARPS]), combine);
        }
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

    template <class T, class Value>
    __device__ __forceinline__ thread_totals<T, 1> of_totals(const Value& value) const {
        thread_totals<T, 1> found;
        found.items[0].value = value(0);
        return found;
    }
    template <class T>
    __device__ __forceinline__ thread_totals<T, 1> once(const T* first, ptrdiff_t) const {
        thread_totals<T, 1> found;
        found.items[0].value = kerneltk::get(first);
        return found;
    }
    template <class T>
    __device__ __forceinline__ void store_total(T* first, ptrdiff_t,
                                                const thread_totals<T, 1>& total) const {
        if (threadIdx.x == 0 && blocks::rank() == 0) *first = total[0];
    }
    // What other blocks read of a block's shared memory stays until they have.
    __device__ __forceinline__ void end() const { blocks::wait(); }
};

// Columns side by side, WIDTH of them in a tile: a thread has VECTOR neighbours of some lines, and
// LANES threads have the tile's width.
template <int BLOCK, int ITEMS, int VECTOR, int WIDTH>
class fused_columns {
    static constexpr int LANES = WIDTH / VECTOR, LINES = BLOCK / LANES, WARPS = BLOCK / 32;
    static_assert(LANES <= 32, "a warp has whole lines of a tile");
    int length;
    long long columns, first_column;

    template <class T>
    __device__ __forceinline__ bool has_vectors(const T* first, ptrdiff_t line,
                                                ptrdiff_t step) const {
        return step == sizeof(T) && columns % VECTOR == 0 &&
               (reinterpret_cast<size_t>(first) | static_cast<size_t>(line)) %
                       (VECTOR * sizeof(T)) ==
                   0;
    }
    __device__ __forceinline__ bool has(int k) const {
        return row(k) < length && column(k) < columns;
    }

public:
    const long long number;
    using slots = int;

    __device__ __forceinline__ fused_columns(long long tile, long long extent, long long across)
        : length(static_cast<int>(extent)),
          columns(across),
          first_column(tile % ((across + WIDTH - 1) / WIDTH) * WIDTH),
          number(tile / ((across + WIDTH - 1) / WIDTH)) {}

    __device__ __forceinline__ int row(int k) const {
        return k / VECTOR * LINES + static_cast<int>(threadIdx.x) / LANES;
    }
    __device__ __forceinline__ long long column(int k) const {
        return first_column + static_cast<int>(threadIdx.x) % LANES * VECTOR + k % VECTOR;
    }

    template <class T>
    __device__ __forceinline__ row_elements<T, ITEMS> load(const T* first, ptrdiff_t line,
                                                           ptrdiff_t step) const {
        row_elements<T, ITEMS> found;
        if (has_vectors(first, line, step)) {
#pragma unroll
            for (int k = 0; k < ITEMS; k += VECTOR)
                if (has(k)) {
                    alignas(16) slot<T> vector[VECTOR];
                    kerneltk::copy<row_chunk<T>(VECTOR), VECTOR * sizeof(T)>(
                        vector, kerneltk::moved(first, row(k) * line) + column(k));
#pragma unroll
                    for (int v = 0; v < VECTOR; ++v) found.items[k + v].value = vector[v].value;
                }
        } else {
#pragma unroll
            for (int k = 0; k < ITEMS; ++k)
                if (has(k))
                    found.items[k].value = kerneltk::get(
                        kerneltk::moved(first, row(k) * line + column(k) * step));
        }
        return found;
    }

    template <class T, class Value>
    __device__ __forceinline__ void store(T* first, ptrdiff_t line, ptrdiff_t step,
                                          const Value& value) const {
        if (has_vectors(first, line, step)) {
#pragma unroll
            for (int k = 0; k < ITEMS; k += VECTOR)
                if (has(k)) {
                    alignas(16) slot<T> vector[VECTOR];
#pragma unroll
                    for (int v = 0; v < VECTOR; ++v) vector[v].value = value(k + v);
                    kerneltk::copy<row_chunk<T>(VECTOR), VECTOR * sizeof(T)>(
                        kerneltk::advance(first, row(k) * line) + column(k), vector);
                }
        } else {
#pragma unroll
            for (int k = 0; k < ITEMS; ++k)
                if (has(k))
                    *kerneltk::advance(first, row(k) * line + column(k) * step) = value(k);
        }
    }

    // The totals of columns, for all threads that have elements of them; in an order as that of
    // rows.
    template <class T, class Map, class Reduce>
    __device__ __forceinline__ thread_totals<T, VECTOR> reduce(const T& neutral, const Map& map,
                                                            const Reduce& combine) const {
        __shared__ words<T> parts[WARPS][WIDTH], totals[WIDTH];
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
        thread_totals<T, VECTOR> found;
#pragma unroll
        for (int v = 0; v < VECTOR; ++v) found.items[v].value = kept(totals[lane * VECTOR + v]);
        return found;
    }

    template <class T, class Value>
    __device__ __forceinline__ thread_totals<T, VECTOR> of_totals(const Value& value) const {
        thread_totals<T, VECTOR> found;
#pragma unroll
        for (int v = 0; v < VECTOR; ++v) found.items[v].value = value(v);
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
    template <class T>
    __device__ __forceinline__ void store_total(T* first, ptrdiff_t step,
                                                const thread_totals<T, VECTOR>& total) const {
        if (threadIdx.x < LANES)
#pragma unroll
            for (int v = 0; v < VECTOR; ++v)
                if (column(v) < columns) *kerneltk::advance(first, column(v) * step) = total[v];
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

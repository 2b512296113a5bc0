// Rows that are read from memory once, by functions that need them several times: a row is in the
// registers of a block on a GPU, and in the cache of a core on the host.
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

// Vectors of VECTOR elements are dealt to the threads in turn, so that neighbours read neighbours.
template <int BLOCK, int ITEMS, int VECTOR>
class fused_row {
    int length;

    template <class T>
    __device__ __forceinline__ bool has_vectors(const T* first, ptrdiff_t step) const {
        return step == sizeof(T) && length % VECTOR == 0 &&
               reinterpret_cast<size_t>(first) % (VECTOR * sizeof(T)) == 0;
    }
    template <class T>
    static constexpr int chunk_of() {
        return VECTOR * sizeof(T) < 16 ? VECTOR * sizeof(T) : 16;
    }

public:
    const long long number;
    using slots = int;

    __device__ __forceinline__ fused_row(long long index, long long extent)
        : length(static_cast<int>(extent)), number(index / BLOCK) {}

    __device__ __forceinline__ int place(int k) const {
        return (k / VECTOR * BLOCK + static_cast<int>(threadIdx.x)) * VECTOR + k % VECTOR;
    }
    __device__ __forceinline__ bool is_first() const { return threadIdx.x == 0; }

    template <class T, class Layout>
    __device__ __forceinline__ row_elements<T, ITEMS> load(const T* first, ptrdiff_t step,
                                                           Layout) const {
        row_elements<T, ITEMS> found;
        if (has_vectors(first, step)) {
#pragma unroll
            for (int k = 0; k < ITEMS; k += VECTOR)
                if (place(k) < length) {
                    alignas(16) slot<T> vector[VECTOR];
                    kerneltk::copy<chunk_of<T>(), VECTOR * sizeof(T)>(vector, first + place(k));
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
                    kerneltk::copy<chunk_of<T>(), VECTOR * sizeof(T)>(first + place(k), vector);
                }
        } else {
#pragma unroll
            for (int k = 0; k < ITEMS; ++k)
                if (place(k) < length) *kerneltk::advance(first, place(k) * step) = value(k);
        }
    }

    // The total of the row's elements, for all threads. Threads, lanes and warps are combined in
    // an order that depends on BLOCK and ITEMS alone.
    template <class T, class Map, class Reduce>
    __device__ __forceinline__ T reduce(const T& neutral, const Map& map,
                                        const Reduce& combine) const {
        constexpr int WARPS = BLOCK / 32;
        T own = neutral;
#pragma unroll
        for (int k = 0; k < ITEMS; ++k)
            if (place(k) < length) own = combine(own, map(k));
        own = of_lanes<32>(own, combine);
        if constexpr (WARPS > 1) {
            __shared__ words<T> parts[WARPS];
            if (threadIdx.x % 32 == 0) {
                words<T> part;
                part.value = own;
#pragma unroll
                for (int k = 0; k < words<T>::count; ++k)
                    parts[threadIdx.x / 32].word[k] = part.word[k];
            }
            __syncthreads();
            words<T> part;
#pragma unroll
            for (int k = 0; k < words<T>::count; ++k)
                part.word[k] = parts[threadIdx.x % WARPS].word[k];
            own = of_lanes<WARPS>(part.value, combine);
        }
        return own;
    }

private:
    template <int LANES, class T, class Reduce>
    static __device__ __forceinline__ T of_lanes(T own, const Reduce& combine) {
#pragma unroll
        for (int distance = LANES / 2; distance > 0; distance /= 2) {
            words<T> here, there;
#pragma unroll
            for (int k = 0; k < words<T>::count; ++k) here.word[k] = 0;
            here.value = own;
#pragma unroll
            for (int k = 0; k < words<T>::count; ++k)
                there.word[k] = __shfl_xor_sync(0xffffffffu, here.word[k], distance, LANES);
            // Both lanes of a pair combine in the same order, and have the same total.
            own = threadIdx.x & distance ? combine(there.value, own) : combine(own, there.value);
        }
        return own;
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

template <int, int, int>
class fused_row {
    long long length;

public:
    const long long number;
    using slots = long long;

    __forceinline__ fused_row(long long index, long long extent) : length(extent), number(index) {}

    __forceinline__ long long place(long long k) const { return k; }
    __forceinline__ bool is_first() const { return true; }

    template <class T, class Layout>
    __forceinline__ row_elements<T, Layout::value> load(const T* first, ptrdiff_t step,
                                                        Layout) const {
        return {first, step};
    }

    template <class T, class Layout, class Value>
    __forceinline__ void store(T* first, ptrdiff_t step, Layout, const Value& value) const {
        if constexpr (Layout::value) {
#pragma GCC ivdep
            for (long long k = 0; k < length; ++k) first[k] = value(k);
        } else {
            for (long long k = 0; k < length; ++k) *kerneltk::advance(first, k * step) = value(k);
        }
    }

    // As a reduction of rows: its lanes, and its order.
    template <class T, class Map, class Reduce>
    __forceinline__ T reduce(const T& neutral, const Map& map, const Reduce& combine) const {
        row_totals<T, side_by_side<T>(256), true, true> totals;
        const auto identity = [&]() __attribute__((always_inline)) { return neutral; };
        const auto step = [&](const T& total, long long k) __attribute__((always_inline)) -> T {
            return combine(total, map(k));
        };
        const auto ahead = [](long long, long long) {};
        totals.begin(identity);
        totals.take(identity, 0, step, ahead, combine, length);
        return totals.end(combine);
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

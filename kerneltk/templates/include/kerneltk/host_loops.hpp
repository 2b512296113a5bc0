// Loops of fused functions as one kernel of one thread: parts of arrays, and loops over them.
#pragma once
#include <kerneltk/array_view.hpp>
#include <kerneltk/memory.hpp>

namespace kerneltk::loops {

// A bound of a slice, or none: Python's None.
struct bound {
    long long value = 0;
    bool is_none = true;

    bound() = default;
    __forceinline__ bound(long long number) : value(number), is_none(false) {}
};

// What an axis of an array is indexed by: an index, a slice, or nothing, for a new axis.
struct at {
    long long index;
};
struct slice {
    bound start, stop;
    long long step;
};
struct new_axis {};

// The first index of a slice, and how many there are: Python's slice.indices.
struct span {
    long long start, count;

    __forceinline__ span(long long extent, slice item) {
        const long long low = item.step < 0 ? -1 : 0;
        const long long high = item.step < 0 ? extent - 1 : extent;
        const auto clipped = [&](bound given, long long none) {
            if (given.is_none) return none;
            const long long value = given.value < 0 ? given.value + extent : given.value;
            return value < low ? low : value > high ? high : value;
        };
        start = clipped(item.start, item.step < 0 ? high : low);
        const long long stop = clipped(item.stop, item.step < 0 ? low : high);
        const long long left = item.step < 0 ? start - stop : stop - start;
        const long long size = item.step < 0 ? -item.step : item.step;
        count = left > 0 ? (left - 1) / size + 1 : 0;
    }
};

// The functions of numbers that views and extents are computed with: see `trace.symbols`.
__forceinline__ long long sliced_extent(long long extent, bound start, bound stop, bound step) {
    return span(extent, {start, stop, step.is_none ? 1 : step.value}).count;
}
__forceinline__ long long floor_divide(long long left, long long right) {
    return left / right - (left % right != 0 && (left < 0) != (right < 0));
}
__forceinline__ long long floor_modulo(long long left, long long right) {
    return left - floor_divide(left, right) * right;
}
// How many values Python's range has, or less than one where it has none.
__forceinline__ long long rounds(long long start, long long stop, long long by) {
    return by > 0 ? (stop - start + by - 1) / by : (start - stop - by - 1) / -by;
}
__forceinline__ bound index_end(long long index) { return index == -1 ? bound() : bound(index + 1); }

// Part of an array: the first element, and the extents and steps (bytes) of its axes.
template <class T, int N>
struct part {
    using type = T;
    static constexpr int ndim = N;
    char* data;
    long long extents[N ? N : 1], steps[N ? N : 1];

    template <int M, class... Items>
    __forceinline__ part<T, M> seen(Items... items) const {
        part<T, M> found;
        found.data = data;
        int from = 0, to = 0;
        (found.take(*this, from, to, items), ...);
        for (; to < M; ++from, ++to) found.copy(to, *this, from);
        return found;
    }
    template <class... Axes>
    __forceinline__ part transposed(Axes... axes) const {
        part found;
        found.data = data;
        int to = 0;
        (found.copy(to++, *this, axes), ...);
        return found;
    }
    template <int M>
    __forceinline__ part<T, M> broadcast(const long long (&shape)[M]) const {
        part<T, M> found;
        found.data = data;
        for (int axis = 0; axis < M; ++axis) {
            const int own = axis - (M - N);
            found.extents[axis] = shape[axis];
            found.steps[axis] =
                own < 0 || (extents[own] == 1 && shape[axis] != 1) ? 0 : steps[own];
        }
        return found;
    }
    template <int M>
    __forceinline__ void copy(int to, const part<T, M>& from, int axis) {
        extents[to] = from.extents[axis];
        steps[to] = from.steps[axis];
    }

    template <int M>
    __forceinline__ void take(const part<T, M>& from, int& axis, int&, at item) {
        data += (item.index < 0 ? item.index + from.extents[axis] : item.index) * from.steps[axis];
        ++axis;
    }
    template <int M>
    __forceinline__ void take(const part<T, M>& from, int& axis, int& to, slice item) {
        const span found(from.extents[axis], item);
        if (found.count) data += found.start * from.steps[axis];
        extents[to] = found.count;
        steps[to++] = from.steps[axis++] * item.step;
    }
    template <int M>
    __forceinline__ void take(const part<T, M>&, int&, int& to, new_axis) {
        extents[to] = 1;
        steps[to++] = 0;
    }
    // The part from an index of the first axis on.
    __forceinline__ part<T, N - 1> operator[](long long index) const {
        part<T, N - 1> found;
        found.data = data + index * steps[0];
        for (int axis = 1; axis < N; ++axis) found.copy(axis - 1, *this, axis);
        return found;
    }
};

template <class T>
struct plain : identity<T> {};
template <class T>
struct plain<const T> : identity<T> {};
template <class T, int N, bool C, class I>
__forceinline__ auto whole(const array_view<T, N, C, I>& array) {
    using Plain = typename plain<T>::type;
    part<Plain, N> found;
    found.data = reinterpret_cast<char*>(const_cast<Plain*>(array.data_));
    if constexpr (N > 0) {
        for (int axis = 0; axis < N; ++axis) {
            found.extents[axis] = array.shape_[axis];
            found.steps[axis] = array.strides_[axis];
        }
    }
    return found;
}

// The memory of an array that each round makes anew.
class memory {
public:
    memory() = default;
    memory(const memory&) = delete;
    memory& operator=(const memory&) = delete;
    ~memory() { __builtin_free(data_); }

    template <class T, int N>
    __forceinline__ part<T, N> array(const long long (&shape)[N ? N : 1]) {
        part<T, N> found;
        long long bytes = sizeof(T);
        for (int axis = N - 1; axis >= 0; --axis) {
            found.extents[axis] = shape[axis];
            found.steps[axis] = bytes;
            bytes *= shape[axis];
        }
        if (bytes > size_) {
            __builtin_free(data_);
            data_ = static_cast<char*>(__builtin_malloc(static_cast<size_t>(bytes)));
            if (!data_) __builtin_trap();
            size_ = bytes;
        }
        found.data = data_;
        return found;
    }

private:
    char* data_ = nullptr;
    long long size_ = 0;
};

template <class T>
__forceinline__ T load(const char* place) {
    T value;
    __builtin_memcpy(static_cast<void*>(&value), place, sizeof(T));
    return value;
}
template <>
__forceinline__ bool load<bool>(const char* place) {
    return *reinterpret_cast<const unsigned char*>(place) != 0;
}
template <class T>
__forceinline__ void store(char* place, const T& value) {
    __builtin_memcpy(place, static_cast<const void*>(&value), sizeof(T));
}

// The step between two elements of a row (bytes): known where all arrays are dense.
template <class Dense, class T>
__forceinline__ long long step_of(Dense, const part<T, 1>& row) {
    return Dense::value ? static_cast<long long>(sizeof(T)) : row.steps[0];
}
template <class T>
__forceinline__ bool is_dense(const part<T, 1>& row) {
    return row.steps[0] == static_cast<long long>(sizeof(T));
}
using dense = true_type;
using apart = false_type;

// The elements of a row have no one in common that is written: iterations are independent.
#if defined(__clang__)
#define KERNELTK_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define KERNELTK_INDEPENDENT _Pragma("GCC ivdep")
#endif

// What `map` makes of 0 to `count`, totalled: by vectors, and by blocks, which rounds less.
template <class Total, class Map, class Combine>
__forceinline__ Total row_total(Total total, long long count, const Total& neutral, const Map& map,
                                const Combine& combine) {
    constexpr int lanes = 8;
    constexpr long long block = 512;
    for (long long from = 0; from < count; from += block) {
        const long long end = count - from < block ? count : from + block;
        long long k = from;
        if (end - from >= lanes) {
            Total own[lanes];
            for (int lane = 0; lane < lanes; ++lane) own[lane] = map(k + lane);
            for (k += lanes; k + lanes <= end; k += lanes)
                for (int lane = 0; lane < lanes; ++lane)
                    own[lane] = combine(own[lane], map(k + lane));
            for (int half = lanes / 2; half; half /= 2)
                for (int lane = 0; lane < half; ++lane)
                    own[lane] = combine(own[lane], own[lane + half]);
            total = combine(total, own[0]);
        }
        Total rest = neutral;
        for (; k < end; ++k) rest = combine(rest, map(k));
        total = combine(total, rest);
    }
    return total;
}

}  // namespace kerneltk::loops

// What array arguments of kernels in restricted Python are: a pointer, the shape (elements), and for
// arrays that are not dense in C order the steps (bytes).
#pragma once
#include <kerneltk/traits.hpp>

namespace kerneltk::jit {

// A bool in memory, which may be any byte: all but 0 are true, as for NumPy.
__device__ inline bool truth(const bool& place) {
    return *reinterpret_cast<const unsigned char*>(&place) != 0;
}

template <class T, int N>
struct array {
    T* data;
    long long shape[N];

    __device__ T& operator[](long long i) const { return data[i]; }
    __device__ T& operator()(long long i) const { return data[i]; }
    template <class... I>
    __device__ T& operator()(long long i, I... rest) const {
        const long long next[] = {static_cast<long long>(rest)...};
        for (int k = 0; k < N - 1; ++k) i = i * shape[k + 1] + next[k];
        return data[i];
    }
    // The same of an array of less than 2^31 elements: GPUs multiply 32 bits at a time.
    template <class... I>
    __device__ T& near(long long i, I... rest) const {
        const int next[] = {static_cast<int>(rest)...};
        int place = static_cast<int>(i);
        for (int k = 0; k < N - 1; ++k) place = place * static_cast<int>(shape[k + 1]) + next[k];
        return data[place];
    }
    __device__ long long stride(int axis) const {
        long long step = sizeof(T);
        for (int k = N - 1; k > axis; --k) step *= shape[k];
        return step;
    }
    // The place of the elements from some leading indices on.
    template <class... I>
    __device__ T* at(I... leading) const {
        const long long index[] = {static_cast<long long>(leading)..., 0};
        long long i = 0;
        for (int k = 0; k < N; ++k)
            i = i * shape[k] + (k < static_cast<int>(sizeof...(I)) ? index[k] : 0);
        return data + i;
    }
};

template <class T>
struct array<T, 0> {
    T* data;
    __device__ T& operator()() const { return *data; }
    __device__ T* at() const { return data; }
};

template <class T, int N>
struct strided {
    T* data;
    long long shape[N], steps[N];

    __device__ T& operator[](long long i) const { return (*this)(i); }
    template <class... I>
    __device__ T& operator()(I... indices) const {
        return *at(indices...);
    }
    __device__ long long stride(int axis) const { return steps[axis]; }
    template <class... I>
    __device__ T* at(I... leading) const {
        const long long index[] = {static_cast<long long>(leading)..., 0};
        long long offset = 0;
        for (int k = 0; k < static_cast<int>(sizeof...(I)); ++k) offset += index[k] * steps[k];
        return reinterpret_cast<T*>(reinterpret_cast<byte*>(data) + offset);
    }

private:
    using byte = typename conditional<is_same<T, const T>::value, const char, char>::type;
};

// An element that may lie at any byte.
template <class T>
struct __attribute__((packed)) packed {
    T value;
};

template <class T>
__device__ inline packed<T>* at_any_byte(T* place) {
    return reinterpret_cast<packed<T>*>(place);
}

// An extent of a view of `size` elements: of -1 what the others leave.
__device__ inline long long extent_of(long long given, long long others, long long size) {
    return given == -1 && others > 0 ? size / others : given;
}

// A view with the axes in reverse order.
template <template <class, int> class A, class T, int N>
__device__ inline strided<T, N> transposed(const A<T, N>& whole) {
    strided<T, N> view;
    view.data = whole.data;
    for (int k = 0; k < N; ++k) {
        view.shape[k] = whole.shape[N - 1 - k];
        view.steps[k] = whole.stride(N - 1 - k);
    }
    return view;
}

// A field of all elements of an array of records; `offset` is its place in one (bytes).
template <class F, template <class, int> class A, class T, int N>
__device__ inline strided<F, N> field_view(const A<T, N>& records, int offset) {
    strided<F, N> view;
    char* const first = const_cast<char*>(reinterpret_cast<const char*>(records.data));
    view.data = reinterpret_cast<F*>(first + offset);
    for (int k = 0; k < N; ++k) {
        view.shape[k] = records.shape[k];
        view.steps[k] = records.stride(k);
    }
    return view;
}

// A record in another one; `offset` is its place there (bytes).
template <class F, class T>
__device__ inline array<F, 0> record_in(const array<T, 0>& record, int offset) {
    return {reinterpret_cast<F*>(reinterpret_cast<char*>(record.data) + offset)};
}

// An index that counts from the end where it is negative.
template <class I>
__device__ inline long long wrapped(I index, long long extent) {
    const long long i = static_cast<long long>(index);
    return i < 0 ? i + extent : i;
}

// One axis of a slice, with Python's rules: bounds are clipped to the axis.
struct range {
    long long start, step, count;
};

__device__ inline long long clipped(long long bound, long long extent, long long low,
                                    long long high) {
    if (bound < 0) bound += extent;
    return bound < low ? low : bound > high ? high : bound;
}

__device__ inline range ascending(long long start, long long stop, long long step,
                                  long long extent) {
    start = clipped(start, extent, 0, extent);
    stop = clipped(stop, extent, 0, extent);
    return {start, step, stop > start ? (stop - start + step - 1) / step : 0};
}

constexpr long long from_the_end = 0x7fffffffffffffffll;

// Bounds that are left out are `from_the_end`.
__device__ inline range any_slice(long long start, long long stop, long long step,
                                  long long extent) {
    if (step > 0)
        return ascending(start == from_the_end ? 0 : start, stop == from_the_end ? extent : stop,
                         step, extent);
    const long long last = extent - 1;
    start = start == from_the_end ? last : clipped(start, extent, -1, last);
    stop = stop == from_the_end ? -1 : clipped(stop, extent, -1, last);
    return {start, step, start > stop ? (start - stop - step - 1) / -step : 0};
}

}  // namespace kerneltk::jit

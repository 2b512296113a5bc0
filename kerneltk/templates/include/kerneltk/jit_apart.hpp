// Whether an array may be stored to, element by element, while another one is read.
#pragma once

#include <kerneltk/jit_array.hpp>

namespace kerneltk::jit {

template <template <class, int> class A, class T, int N>
__device__ inline void bytes_between(const A<T, N>& x, long long& first, long long& last) {
    first = reinterpret_cast<long long>(x.data);
    last = first + static_cast<long long>(sizeof(T));
    for (int k = 0; k < N; ++k) {
        const long long step = x.stride(k) * (x.shape[k] - 1);
        (step < 0 ? first : last) += step;
        if (x.shape[k] == 0) last = first;
    }
}

// No element of one is an element of the other, but at the same indices.
template <template <class, int> class A, class T, int N, template <class, int> class B, class U,
          int M>
__device__ inline bool apart(const A<T, N>& x, const B<U, M>& y) {
    long long first, last, begin, end;
    bytes_between(x, first, last);
    bytes_between(y, begin, end);
    if (first >= end || begin >= last) return true;
    if (N != M) return false;
    long long steps[N], within = sizeof(T) > sizeof(U) ? sizeof(T) : sizeof(U);
    for (int k = N - 1; k >= 0; --k) {  // as in C order, with gaps or without
        const long long step = x.shape[k] == 1 ? within : x.stride(k);
        steps[k] = step < 0 ? -step : step;
        if (x.shape[k] != y.shape[k] || steps[k] < within) return false;
        if (x.shape[k] != 1 && x.stride(k) != y.stride(k)) return false;
        within = steps[k] * x.shape[k];
    }
    // The distance of the first elements is no sum of steps, or of too many.
    const long long distance = reinterpret_cast<const char*>(y.data) -
                               reinterpret_cast<const char*>(x.data);
    if (distance == 0) return true;
    for (int choice = 0; choice < 1 << N; ++choice) {
        long long rest = distance;
        bool reached = true;
        for (int k = 0; k < N; ++k) {
            long long count = rest / steps[k] - (rest % steps[k] < 0);  // rounded down
            count += choice >> k & 1;
            reached = reached && count < x.shape[k] && -count < x.shape[k];
            rest -= count * steps[k];
        }
        if (reached && rest < static_cast<long long>(sizeof(T)) &&
            -rest < static_cast<long long>(sizeof(U)))
            return false;
    }
    return true;
}

}  // namespace kerneltk::jit

// What CuPy's <cupy/carray.cuh> has beside arrays and the index space: traits, a loop over the grid's
// threads, an iterator.
#pragma once
#include <kerneltk/core.hpp>

#define CUPY_FOR(i, n)                                                                  \
    for (ptrdiff_t i = static_cast<ptrdiff_t>(blockIdx.x) * blockDim.x + threadIdx.x; \
         i < (n); i += static_cast<ptrdiff_t>(blockDim.x) * gridDim.x)

// Steps over elements that lie `step` elements apart.
template <class T, class Index>
class CArrayIterator {
    T* head_;
    Index step_;

public:
    using difference_type = ptrdiff_t;
    using value_type = T;
    using pointer = T*;
    using reference = T&;

    __device__ __forceinline__ CArrayIterator(T* head, Index step) : head_(head), step_(step) {}

    __device__ __forceinline__ T& operator*() const { return *head_; }
    __device__ __forceinline__ const T* operator->() const { return head_; }
    __device__ __forceinline__ T& operator[](Index n) const { return head_[step_ * n]; }
    __device__ __forceinline__ CArrayIterator& operator+=(ptrdiff_t n) {
        head_ += step_ * n;
        return *this;
    }
    __device__ __forceinline__ CArrayIterator& operator-=(ptrdiff_t n) { return *this += -n; }
    __device__ __forceinline__ CArrayIterator& operator++() { return *this += 1; }
    __device__ __forceinline__ CArrayIterator& operator--() { return *this += -1; }
    __device__ __forceinline__ CArrayIterator operator++(int) {
        const CArrayIterator before = *this;
        ++*this;
        return before;
    }
    __device__ __forceinline__ CArrayIterator operator--(int) {
        const CArrayIterator before = *this;
        --*this;
        return before;
    }
    __device__ __forceinline__ CArrayIterator operator+(ptrdiff_t n) const {
        return CArrayIterator(*this) += n;
    }
    __device__ __forceinline__ CArrayIterator operator-(ptrdiff_t n) const {
        return CArrayIterator(*this) += -n;
    }
    __device__ __forceinline__ ptrdiff_t operator-(const CArrayIterator& other) const {
        return (head_ - other.head_) / step_;
    }
    __device__ __forceinline__ bool operator==(const CArrayIterator& other) const {
        return head_ == other.head_ && step_ == other.step_;
    }
    __device__ __forceinline__ bool operator!=(const CArrayIterator& other) const {
        return !(*this == other);
    }
    __device__ __forceinline__ bool operator<(const CArrayIterator& other) const {
        return head_ < other.head_;
    }
    __device__ __forceinline__ bool operator>(const CArrayIterator& other) const {
        return other < *this;
    }
    __device__ __forceinline__ bool operator<=(const CArrayIterator& other) const {
        return !(other < *this);
    }
    __device__ __forceinline__ bool operator>=(const CArrayIterator& other) const {
        return !(*this < other);
    }
};

namespace cupy {
namespace type_traits {

using kerneltk::conditional;
using kerneltk::is_same;
template <bool B, class T = void>
struct enable_if {};
template <class T>
struct enable_if<true, T> {
    typedef T type;
};

}  // namespace type_traits
}  // namespace cupy

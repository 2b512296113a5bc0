// Arrays that a kernel indexes itself (`raw` parameters), and the index of the current element.
#pragma once
#include <kerneltk/core.hpp>

namespace kerneltk {

template <class T>
struct is_array {
    static constexpr bool value = false;
};
template <class T, decltype(sizeof(0)) N>
struct is_array<T[N]> {
    static constexpr bool value = true;
};

// A bool in memory, which may be any byte: all but 0 are true.
struct bool_place {
    bool* const place;

    __device__ __forceinline__ operator bool() const {
        return *reinterpret_cast<const unsigned char*>(place) != 0;
    }
    __device__ __forceinline__ bool* operator&() const { return place; }
    __device__ __forceinline__ const bool_place& operator=(bool value) const {
        *place = value;
        return *this;
    }
    __device__ __forceinline__ const bool_place& operator=(const bool_place& other) const {
        return *this = static_cast<bool>(other);
    }
    bool_place(const bool_place&) = default;
    __device__ __forceinline__ explicit bool_place(bool* address) : place(address) {}
#define KERNELTK_ASSIGNING(op)                                                \
    template <class T>                                                        \
    __device__ __forceinline__ const bool_place& operator op##=(T other) const { \
        return *this = static_cast<bool>(static_cast<bool>(*this) op other);  \
    }
    KERNELTK_ASSIGNING(+)
    KERNELTK_ASSIGNING(-)
    KERNELTK_ASSIGNING(*)
    KERNELTK_ASSIGNING(/)
    KERNELTK_ASSIGNING(%)
    KERNELTK_ASSIGNING(&)
    KERNELTK_ASSIGNING(|)
    KERNELTK_ASSIGNING(^)
    KERNELTK_ASSIGNING(<<)
    KERNELTK_ASSIGNING(>>)
#undef KERNELTK_ASSIGNING
};

// What the elements of arrays are: themselves, bools what they mean.
template <class T>
struct element_of {
    using type = T&;
    using constant = const T&;
    static __device__ __forceinline__ T& at(T* place) { return *place; }
};
template <>
struct element_of<bool> {
    using type = bool_place;
    using constant = bool;
    static __device__ __forceinline__ bool_place at(bool* place) { return bool_place(place); }
};

// The type that flat indices are divided in: unsigned division is the cheaper one.
template <class Index>
struct division_type {
    using type = unsigned long long;
};
template <>
struct division_type<int> {
    using type = unsigned int;
};

// Bytes: pointer (8), size (8), shape (8 * NDIM), strides in bytes (8 * NDIM).
// `Index` is int where the size is below 2^31, else a 64-bit integer. Offsets are 64-bit always.
template <class T, int NDIM, bool C_CONTIGUOUS, class Index>
struct array_view {
    static constexpr int ndim = NDIM;
    static constexpr bool c_contiguous = C_CONTIGUOUS;
    using value_type = T;
    using index_t = Index;

    T* data_;
    ptrdiff_t size_;
    ptrdiff_t shape_[NDIM];
    ptrdiff_t strides_[NDIM];

    __device__ __forceinline__ ptrdiff_t size() const { return size_; }
    __device__ __forceinline__ const ptrdiff_t* shape() const { return shape_; }
    __device__ __forceinline__ const ptrdiff_t* strides() const { return strides_; }
    __device__ __forceinline__ T* begin_ptr() const { return data_; }
    __device__ __forceinline__ T* end_ptr() const { return data_ + size_; }

    // x[{i, j}], or x[index] with an array of NDIM integers.
    template <class I>
    __device__ __forceinline__ typename element_of<T>::type operator[](const I (&index)[NDIM]) {
        return element_of<T>::at(at(index));
    }
    template <class I>
    __device__ __forceinline__ typename element_of<T>::constant operator[](const I (&index)[NDIM]) const {
        return element_of<T>::at(at(index));
    }
    // x[i] with the flat index in C order, or x[pointer to NDIM integers].
    template <class I>
    __device__ __forceinline__ typename element_of<T>::type operator[](const I& index) {
        return element_of<T>::at(locate(index));
    }
    template <class I>
    __device__ __forceinline__ typename element_of<T>::constant operator[](const I& index) const {
        return element_of<T>::at(locate(index));
    }

private:
    template <class I>
    __device__ __forceinline__ T* at(const I* index) const {
        ptrdiff_t offset = 0;
        for (int d = 0; d < NDIM; ++d) offset += static_cast<ptrdiff_t>(index[d]) * strides_[d];
        return reinterpret_cast<T*>(bytes() + offset);
    }
    template <class I>
    __device__ __forceinline__ T* locate(I* const& index) const {
        return at(index);
    }
    template <class I>
    __device__ __forceinline__ T* locate(const I& index) const {
        static_assert(!is_array<I>::value, "The index must have one integer for each dimension.");
        const ptrdiff_t flat = static_cast<ptrdiff_t>(index);
        if constexpr (C_CONTIGUOUS) {
            return data_ + flat;
        } else {
            using U = typename division_type<Index>::type;
            U rest = static_cast<U>(flat);
            ptrdiff_t offset = 0;
            for (int d = NDIM - 1; d > 0; --d) {
                const U extent = static_cast<U>(shape_[d]), q = rest / extent;
                offset += static_cast<ptrdiff_t>(rest - q * extent) * strides_[d];
                rest = q;
            }
            offset += static_cast<ptrdiff_t>(rest) * strides_[0];
            return reinterpret_cast<T*>(bytes() + offset);
        }
    }
    // A view is const where it only reads; its own constness is kept by operator[].
    __device__ __forceinline__ char* bytes() const {
        return const_cast<char*>(reinterpret_cast<const char*>(data_));
    }
};

// Bytes: pointer (8), size (8).
template <class T, bool C_CONTIGUOUS, class Index>
struct array_view<T, 0, C_CONTIGUOUS, Index> {
    static constexpr int ndim = 0;
    static constexpr bool c_contiguous = C_CONTIGUOUS;
    using value_type = T;
    using index_t = Index;

    T* data_;
    ptrdiff_t size_;

    __device__ __forceinline__ ptrdiff_t size() const { return size_; }
    __device__ __forceinline__ const ptrdiff_t* shape() const { return nullptr; }
    __device__ __forceinline__ const ptrdiff_t* strides() const { return nullptr; }
    __device__ __forceinline__ T* begin_ptr() const { return data_; }
    __device__ __forceinline__ T* end_ptr() const { return data_ + size_; }
    template <class I>
    __device__ __forceinline__ typename element_of<T>::type operator[](const I&) {
        return element_of<T>::at(data_);
    }
    template <class I>
    __device__ __forceinline__ typename element_of<T>::constant operator[](const I&) const {
        return element_of<T>::at(data_);
    }
};

// Bytes: size (8), shape (8 * NDIM), index (8 * NDIM), which set() writes.
template <int NDIM, class Index>
struct index_space {
    static constexpr int ndim = NDIM;

    ptrdiff_t size_;
    ptrdiff_t shape_[NDIM];
    ptrdiff_t index_[NDIM];

    __device__ __forceinline__ ptrdiff_t size() const { return size_; }
    __device__ __forceinline__ const ptrdiff_t* shape() const { return shape_; }
    __device__ __forceinline__ const ptrdiff_t (&get() const)[NDIM] { return index_; }
    __device__ __forceinline__ void set(ptrdiff_t flat) {
        using U = typename division_type<Index>::type;
        U rest = static_cast<U>(flat);
        for (int d = NDIM - 1; d > 0; --d) {
            const U extent = static_cast<U>(shape_[d]), q = rest / extent;
            index_[d] = static_cast<ptrdiff_t>(rest - q * extent);
            rest = q;
        }
        index_[0] = static_cast<ptrdiff_t>(rest);
    }
};

// Bytes: size (8).
template <class Index>
struct index_space<0, Index> {
    static constexpr int ndim = 0;

    ptrdiff_t size_;

    __device__ __forceinline__ ptrdiff_t size() const { return size_; }
    __device__ __forceinline__ const ptrdiff_t* shape() const { return nullptr; }
    __device__ __forceinline__ const ptrdiff_t* get() const { return nullptr; }
    __device__ __forceinline__ void set(ptrdiff_t) {}
};

template <bool NARROW>
struct index_width {
    using type = ptrdiff_t;
};
template <>
struct index_width<true> {
    using type = int;
};

}  // namespace kerneltk

// The names that device functions written for CuPy take such arguments by.
template <class T, int NDIM, bool C_CONTIGUOUS = false, bool NARROW = false>
using CArray =
    kerneltk::array_view<T, NDIM, C_CONTIGUOUS, typename kerneltk::index_width<NARROW>::type>;
template <int NDIM, bool NARROW = false>
using CIndexer = kerneltk::index_space<NDIM, typename kerneltk::index_width<NARROW>::type>;

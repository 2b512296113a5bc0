// Arrays that a kernel indexes itself (`raw` parameters), and the index of the current element.
#pragma once
#include <kerneltk/core.hpp>

template <class T, class Index>
class CArrayIterator;

namespace kerneltk {

// How the elements of arrays are referred to.
template <class T>
struct element_of {
    using type = T&;
    using constant = const T&;
    static __device__ __forceinline__ T& at(T* place) { return *place; }
    static __device__ __forceinline__ const T& read(const T* place) { return *place; }
};
// A bool in memory may be any byte: all but 0 are true. Where only one of them is read, it is read as
// a byte. A reference to one that may be written needs 0 or 1 in memory: any other byte becomes 1,
// which is what every thread that reads it at the same time takes it for.
#ifdef KERNELTK_BOOL_ADDRESSES
// An element where a body takes the address of one, as in &x[0].
struct bool_element {
    const unsigned char* place;

    __device__ __forceinline__ operator bool() const { return *place != 0; }
    __device__ __forceinline__ const bool* operator&() const {
        return reinterpret_cast<const bool*>(place);
    }
};
#else
using bool_element = bool;
#endif
template <>
struct element_of<const bool> {
    using type = bool_element;
    using constant = bool_element;
    static __device__ __forceinline__ bool_element at(const bool* place) { return read(place); }
    static __device__ __forceinline__ bool_element read(const bool* place) {
        const unsigned char* const byte = reinterpret_cast<const unsigned char*>(place);
#ifdef KERNELTK_BOOL_ADDRESSES
        return {byte};
#else
        return *byte != 0;
#endif
    }
};
template <>
struct element_of<bool> {
    using type = bool&;
    using constant = bool_element;
    static __device__ __forceinline__ bool& at(bool* place) {
        unsigned char* const byte = reinterpret_cast<unsigned char*>(place);
        if (*byte > 1) *byte = 1;
        return *place;
    }
    static __device__ __forceinline__ bool_element read(const bool* place) {
        return element_of<const bool>::read(place);
    }
};

// One of the integers between braces, whose types may differ: x[{i, 1}].
struct index_item {
    ptrdiff_t value;

    template <class Item>
    __device__ __forceinline__ index_item(Item index) : value(static_cast<ptrdiff_t>(index)) {
        static_assert(is_whole<Item>::value, "The indices must be integers.");
    }
    __device__ __forceinline__ explicit operator ptrdiff_t() const { return value; }
};

// Arrays of integers and pointers to them.
template <class S>
using if_subscripted =
    typename enable_if<(sizeof((*static_cast<const S*>(nullptr))[0]) != 0)>::type;

// What an array's elements are, which may be written or only read.
#define KERNELTK_ELEMENTS(place, parameter, ...)                                                  \
    template <__VA_ARGS__>                                                                        \
    __device__ __forceinline__ typename element_of<T>::type operator[](parameter) {               \
        return element_of<T>::at(place);                                                          \
    }                                                                                             \
    template <__VA_ARGS__>                                                                        \
    __device__ __forceinline__ typename element_of<T>::constant operator[](parameter) const {     \
        return element_of<T>::read(place);                                                        \
    }

// The type that flat indices are divided in: unsigned division is the cheaper one.
template <class Index>
using division_type =
    typename conditional<is_same<Index, int>::value, unsigned int, unsigned long long>::type;

// Bytes: pointer (8), size (8), shape (8 * Ndim), strides in bytes (8 * Ndim).
// `Index` is int where the size is below 2^31, else a 64-bit integer. Offsets are 64-bit always.
template <class T, int Ndim, bool C_CONTIGUOUS, class Index>
struct array_view {
    static constexpr int ndim = Ndim;
    static constexpr bool c_contiguous = C_CONTIGUOUS;
    using value_type = T;
    using index_t = Index;
    using iterator = typename conditional<C_CONTIGUOUS, T*, CArrayIterator<T, Index>>::type;

    T* data_;
    ptrdiff_t size_;
    ptrdiff_t shape_[Ndim];
    ptrdiff_t strides_[Ndim];

    array_view() = default;
    __device__ __forceinline__ array_view(T* data, ptrdiff_t size, const ptrdiff_t (&shape)[Ndim],
                                          const ptrdiff_t (&strides)[Ndim])
        : data_(data), size_(size) {
        for (int d = 0; d < Ndim; ++d) {
            shape_[d] = shape[d];
            strides_[d] = strides[d];
        }
    }
    // As CuPy's: the shape and the strides (bytes) between braces, or by arrays or pointers; without
    // strides they are those of C order.
    template <class Shape, class Strides, if_subscripted<Shape> = 0, if_subscripted<Strides> = 0>
    __device__ __forceinline__ array_view(T* data, const Shape& shape, const Strides& strides)
        : data_(data) {
        set(shape);
        for (int d = 0; d < Ndim; ++d) strides_[d] = static_cast<ptrdiff_t>(strides[d]);
    }
    template <int Count, int Others>
    __device__ __forceinline__ array_view(T* data, const index_item (&shape)[Count],
                                          const index_item (&strides)[Others])
        : data_(data) {
        static_assert(Count == Ndim && Others == Ndim, "The shape and the strides have as many numbers as there are dimensions.");
        set(shape);
        for (int d = 0; d < Ndim; ++d) strides_[d] = strides[d].value;
    }
    template <class Shape, if_subscripted<Shape> = 0>
    __device__ __forceinline__ array_view(T* data, const Shape& shape) : data_(data) {
        set(shape);
        set_strides();
    }
    template <int Count>
    __device__ __forceinline__ array_view(T* data, const index_item (&shape)[Count]) : data_(data) {
        static_assert(Count == Ndim, "The shape has as many numbers as there are dimensions.");
        set(shape);
        set_strides();
    }

    __device__ __forceinline__ ptrdiff_t size() const { return size_; }
    __device__ __forceinline__ const ptrdiff_t* shape() const { return shape_; }
    __device__ __forceinline__ const ptrdiff_t* strides() const { return strides_; }
    __device__ __forceinline__ T* begin_ptr() const { return data_; }
    __device__ __forceinline__ T* end_ptr() const { return data_ + size_; }

    // x[{i, j}], or x[index] with an array of integers.
    KERNELTK_ELEMENTS(at_all(index), const Item (&index)[Count], class Item, int Count)
    KERNELTK_ELEMENTS(at_all(index), const index_item (&index)[Count], int Count)
    // x[i] with the flat index in C order, or x[pointer to Ndim integers].
    KERNELTK_ELEMENTS(locate(index), const Item& index, class Item)

private:
    template <class Shape>
    __device__ __forceinline__ void set(const Shape& shape) {
        size_ = 1;
        for (int d = 0; d < Ndim; ++d) {
            shape_[d] = static_cast<ptrdiff_t>(shape[d]);
            size_ *= shape_[d];
        }
    }
    __device__ __forceinline__ void set_strides() {
        static_assert(C_CONTIGUOUS, "The strides of this array are missing.");
        strides_[Ndim - 1] = sizeof(T);
        for (int d = Ndim - 1; d > 0; --d) strides_[d - 1] = strides_[d] * shape_[d];
    }
    template <class Item, int Count>
    __device__ __forceinline__ T* at_all(const Item (&index)[Count]) const {
        static_assert(Count == Ndim, "The index must have one integer for each dimension.");
        static_assert(is_whole<Item>::value || is_same<Item, index_item>::value,
                      "The indices must be integers.");
        return at(index);
    }
    template <class Item>
    __device__ __forceinline__ T* at(const Item* index) const {
        ptrdiff_t offset = 0;
        for (int d = 0; d < Ndim; ++d) offset += static_cast<ptrdiff_t>(index[d]) * strides_[d];
        return reinterpret_cast<T*>(bytes() + offset);
    }
    template <class Item>
    __device__ __forceinline__ T* locate(Item* const& index) const {
        return at(index);
    }
    template <class Item>
    __device__ __forceinline__ T* locate(const Item& index) const {
        const ptrdiff_t flat = static_cast<ptrdiff_t>(index);
        if constexpr (C_CONTIGUOUS) {
            return data_ + flat;
        } else {
            using U = division_type<Index>;
            U rest = static_cast<U>(flat);
            ptrdiff_t offset = 0;
            for (int d = Ndim - 1; d > 0; --d) {
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

    array_view() = default;
    __device__ __forceinline__ explicit array_view(T* data, ptrdiff_t size = 1)
        : data_(data), size_(size) {}
    __device__ __forceinline__ array_view(T* data, const ptrdiff_t*, const ptrdiff_t*)
        : data_(data), size_(1) {}

    __device__ __forceinline__ ptrdiff_t size() const { return size_; }
    __device__ __forceinline__ const ptrdiff_t* shape() const { return nullptr; }
    __device__ __forceinline__ const ptrdiff_t* strides() const { return nullptr; }
    __device__ __forceinline__ T* begin_ptr() const { return data_; }
    __device__ __forceinline__ T* end_ptr() const { return data_ + size_; }
    KERNELTK_ELEMENTS(data_, const Item&, class Item)
    template <class Item, int Count>
    __device__ __forceinline__ typename element_of<T>::constant operator[](const Item (&)[Count]) const {
        static_assert(Count == 0, "The index must have one integer for each dimension.");
        return element_of<T>::read(data_);
    }
    // x[{}]
    struct no_index {};
    __device__ __forceinline__ typename element_of<T>::type operator[](no_index) {
        return element_of<T>::at(data_);
    }
    __device__ __forceinline__ typename element_of<T>::constant operator[](no_index) const {
        return element_of<T>::read(data_);
    }
};

#undef KERNELTK_ELEMENTS

// Bytes: size (8), shape (8 * Ndim), index (8 * Ndim), which set() writes.
template <int Ndim, class Index>
struct index_space {
    static constexpr int ndim = Ndim;

    ptrdiff_t size_;
    ptrdiff_t shape_[Ndim];
    ptrdiff_t index_[Ndim];

    index_space() = default;
    // CIndexer<3> space = {1, 2, 3};
    template <class... Item, typename enable_if<(Ndim > 1) && sizeof...(Item) == Ndim>::type = 0,
              typename enable_if<(... && is_whole<Item>::value)>::type = 0>
    __device__ __forceinline__ index_space(Item... shape) : index_space({index_item(shape)...}) {}
    // As CuPy's: the shape, and the index, between braces or by arrays or pointers.
    template <class Shape, if_subscripted<Shape> = 0>
    __device__ __forceinline__ explicit index_space(const Shape& shape) : size_(1) {
        for (int d = 0; d < Ndim; ++d) {
            shape_[d] = static_cast<ptrdiff_t>(shape[d]);
            size_ *= shape_[d];
            index_[d] = 0;
        }
    }
    template <int Count>
    __device__ __forceinline__ index_space(const index_item (&shape)[Count])
        : index_space(static_cast<const index_item*>(shape)) {
        static_assert(Count == Ndim, "The shape has as many numbers as there are dimensions.");
    }
    template <class Shape, class Given, if_subscripted<Shape> = 0, if_subscripted<Given> = 0>
    __device__ __forceinline__ index_space(const Shape& shape, const Given& index)
        : index_space(shape) {
        for (int d = 0; d < Ndim; ++d) index_[d] = static_cast<ptrdiff_t>(index[d]);
    }
    template <int Count, int Others>
    __device__ __forceinline__ index_space(const index_item (&shape)[Count],
                                           const index_item (&index)[Others])
        : index_space(shape) {
        static_assert(Others == Ndim, "The index has as many numbers as there are dimensions.");
        for (int d = 0; d < Ndim; ++d) index_[d] = index[d].value;
    }

    __device__ __forceinline__ ptrdiff_t size() const { return size_; }
    __device__ __forceinline__ const ptrdiff_t* shape() const { return shape_; }
    __device__ __forceinline__ const ptrdiff_t (&get() const)[Ndim] { return index_; }
    __device__ __forceinline__ void set(ptrdiff_t flat) {
        using U = division_type<Index>;
        U rest = static_cast<U>(flat);
        for (int d = Ndim - 1; d > 0; --d) {
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

    index_space() = default;
    __device__ __forceinline__ explicit index_space(ptrdiff_t size) : size_(size) {}
    __device__ __forceinline__ index_space(const ptrdiff_t*, const ptrdiff_t*) : size_(1) {}

    __device__ __forceinline__ ptrdiff_t size() const { return size_; }
    __device__ __forceinline__ const ptrdiff_t* shape() const { return nullptr; }
    __device__ __forceinline__ const ptrdiff_t* get() const { return nullptr; }
    __device__ __forceinline__ void set(ptrdiff_t) {}
};

template <bool NARROW>
using index_width = typename conditional<NARROW, int, ptrdiff_t>::type;

}  // namespace kerneltk

// The names that device functions written for CuPy take such arguments by.
template <class T, int Ndim, bool C_CONTIGUOUS = false, bool NARROW = false>
using CArray = kerneltk::array_view<T, Ndim, C_CONTIGUOUS, kerneltk::index_width<NARROW>>;
template <int Ndim, bool NARROW = false>
using CIndexer = kerneltk::index_space<Ndim, kerneltk::index_width<NARROW>>;

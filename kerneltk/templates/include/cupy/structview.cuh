// The names that CuPy 14 gives to structured types: fields at offsets in a storage, and plain bytes.
#pragma once
#include <cupy/carray.cuh>
#include <cupy/cuda_workaround.h>

namespace cupy {

template <size_t SIZE, size_t ALIGNMENT>
struct alignas(ALIGNMENT) raw_structview_storage {
    char _data[SIZE];
};

// A field: its type, and where it begins (bytes).
template <class T, size_t OFFSET>
struct Field {
    using type = T;
    static constexpr size_t offset = OFFSET;
};

template <size_t I, class First, class... Rest>
struct field_at {
    using type = typename field_at<I - 1, Rest...>::type;
};
template <class First, class... Rest>
struct field_at<0, First, Rest...> {
    using type = First;
};

// Copies and comparisons go by field, in order; what lies between fields is left alone.
template <class Storage, class... Fields>
class StructView {
    Storage data_;

    template <class Other, class Action, size_t... I>
    __device__ void each(Other& other, Action action, std::index_sequence<I...>) {
        (action(at<I>(), other.template at<I>()), ...);
    }
    template <class Other, size_t... I>
    __device__ bool equals(const Other& other, std::index_sequence<I...>) const {
        return (... && (at<I>() == other.template at<I>()));
    }
    template <class T, size_t... I>
    __device__ void fill(const T& value, std::index_sequence<I...>) {
        ((at<I>() = value), ...);
    }
    using indices = std::make_index_sequence<sizeof...(Fields)>;
    struct copies {
        template <class T, class U>
        __device__ void operator()(T& to, const U& from) const {
            to = from;
        }
    };

public:
    using storage_type = Storage;
    static constexpr size_t size = sizeof(Storage), alignment = alignof(Storage);
    static constexpr size_t field_count = sizeof...(Fields);

    __device__ StructView() : data_{} {}
    __device__ StructView(const StructView& other) : data_{} { *this = other; }
    template <class S, class... F>
    __device__ explicit StructView(const StructView<S, F...>& other) : data_{} {
        *this = other;
    }
    template <class T>
    __device__ explicit StructView(const T& value) : data_{} {
        *this = value;
    }

    template <size_t I>
    __device__ auto& at() {
        using field = typename field_at<I, Fields...>::type;
        return *reinterpret_cast<typename field::type*>(reinterpret_cast<char*>(&data_) +
                                                        field::offset);
    }
    template <size_t I>
    __device__ const auto& at() const {
        return const_cast<StructView*>(this)->at<I>();
    }

    __device__ StructView& operator=(const StructView& other) {
        each(other, copies{}, indices{});
        return *this;
    }
    template <class S, class... F>
    __device__ StructView& operator=(const StructView<S, F...>& other) {
        static_assert(sizeof...(F) == sizeof...(Fields), "Both have as many fields.");
        each(other, copies{}, indices{});
        return *this;
    }
    // One value for every field.
    template <class T>
    __device__ StructView& operator=(const T& value) {
        fill(value, indices{});
        return *this;
    }

    template <class S, class... F>
    __device__ bool operator==(const StructView<S, F...>& other) const {
        static_assert(sizeof...(F) == sizeof...(Fields), "Both have as many fields.");
        return equals(other, indices{});
    }
    template <class S, class... F>
    __device__ bool operator!=(const StructView<S, F...>& other) const {
        return !(*this == other);
    }
};

template <class T>
struct is_struct_view {
    static constexpr bool value = false;
};
template <class Storage, class... Fields>
struct is_struct_view<StructView<Storage, Fields...>> {
    static constexpr bool value = true;
};

// Bytes. Another value's are copied, and zeros behind them.
template <size_t SIZE>
class UnstructuredVoid {
public:
    char data[SIZE];

    UnstructuredVoid() = default;
    template <class T>
    __device__ explicit UnstructuredVoid(const T& other) {
        *this = other;
    }
    template <class T>
    __device__ UnstructuredVoid& operator=(const T& other) {
        const char* const bytes = reinterpret_cast<const char*>(&other);
        for (size_t i = 0; i < SIZE; ++i) data[i] = i < sizeof(T) ? bytes[i] : '\0';
        return *this;
    }
    __device__ bool operator==(const UnstructuredVoid& other) const {
        for (size_t i = 0; i < SIZE; ++i)
            if (data[i] != other.data[i]) return false;
        return true;
    }
    __device__ bool operator!=(const UnstructuredVoid& other) const { return !(*this == other); }
};

}  // namespace cupy

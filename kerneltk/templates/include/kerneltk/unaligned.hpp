// A complex number at any byte: what packed structs have of it.
#pragma once
#include <kerneltk/core.hpp>

namespace kerneltk {

template <class T>
struct unaligned {
    unsigned char bytes[sizeof(T)];

    __device__ operator T() const {
        T value;
        memcpy(static_cast<void*>(&value), bytes, sizeof(T));
        return value;
    }
    __device__ unaligned& operator=(const T& value) {
        memcpy(bytes, static_cast<const void*>(&value), sizeof(T));
        return *this;
    }
};

}  // namespace kerneltk

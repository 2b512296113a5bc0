// The name that kernels written for CuPy include: arrays, the index space, traits.
#pragma once
#include <kerneltk/array_view.hpp>

namespace cupy {
namespace type_traits {

template <bool B, class T, class F>
struct conditional {
    using type = T;
};
template <class T, class F>
struct conditional<false, T, F> {
    using type = F;
};
template <bool B, class T = void>
struct enable_if {};
template <class T>
struct enable_if<true, T> {
    using type = T;
};

}  // namespace type_traits
}  // namespace cupy

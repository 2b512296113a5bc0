// The traits of CuPy's <cupy/carray.cuh>.
#pragma once

namespace cupy {
namespace type_traits {

template <bool B, class T, class F>
struct conditional {
    typedef T type;
};
template <class T, class F>
struct conditional<false, T, F> {
    typedef F type;
};
template <bool B, class T = void>
struct enable_if {};
template <class T>
struct enable_if<true, T> {
    typedef T type;
};

template <class T, class U>
struct is_same {
    static constexpr bool value = false;
};
template <class T>
struct is_same<T, T> {
    static constexpr bool value = true;
};

}  // namespace type_traits
}  // namespace cupy

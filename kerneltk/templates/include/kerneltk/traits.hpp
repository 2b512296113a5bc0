// What kind of numbers types are.
#pragma once

namespace kerneltk {

template <bool B, class T = int>
struct enable_if {};
template <class T>
struct enable_if<true, T> {
    using type = T;
};

template <bool B, class T, class F>
struct conditional {
    using type = T;
};
template <class T, class F>
struct conditional<false, T, F> {
    using type = F;
};

template <class A, class B>
struct is_same {
    static constexpr bool value = false;
};
template <class A>
struct is_same<A, A> {
    static constexpr bool value = true;
};

// Types that are rounded from a float: specialised by the headers of the 16-bit types.
template <class T>
struct is_small_float {
    static constexpr bool value = false;
};

// Types that arithmetic operators take.
template <class T>
struct is_number {
    static constexpr bool value =
        is_small_float<T>::value || !(__is_class(T) || __is_union(T) || __is_enum(T));
};

template <class A, class B>
struct is_mixed {
    static constexpr bool value =
        is_number<A>::value && is_number<B>::value && !is_same<A, B>::value;
};

}  // namespace kerneltk

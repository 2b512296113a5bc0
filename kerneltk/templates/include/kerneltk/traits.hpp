// What kind of numbers types are.
#pragma once

namespace kerneltk {

template <bool B>
struct truth {
    static constexpr bool value = B;
};
using true_type = truth<true>;
using false_type = truth<false>;

template <class T>
struct identity {
    using type = T;
};

template <bool B, class T = int>
struct enable_if {};
template <class T>
struct enable_if<true, T> : identity<T> {};

template <bool B, class T, class F>
struct conditional : identity<T> {};
template <class T, class F>
struct conditional<false, T, F> : identity<F> {};

template <class A, class B>
struct is_same : false_type {};
template <class A>
struct is_same<A, A> : true_type {};

// The unsigned integer of a size (bytes).
template <int SIZE>
using word_of = typename conditional<
    SIZE == 8, unsigned long long,
    typename conditional<SIZE == 4, unsigned int,
                         typename conditional<SIZE == 2, unsigned short,
                                              unsigned char>::type>::type>::type;

// Types that are rounded from a float: specialised by the headers of the 16-bit types.
template <class T>
struct is_small_float : false_type {};

// Types that arithmetic operators take.
template <class T>
struct is_number
    : truth<is_small_float<T>::value || !(__is_class(T) || __is_union(T) || __is_enum(T))> {};

template <class A, class B>
struct is_mixed
    : truth<is_number<A>::value && is_number<B>::value && !is_same<A, B>::value> {};

// As mathematical functions take them: numbers of at most 32 bits that are rounded, and doubles.
template <class T>
struct is_single : truth<is_small_float<T>::value || is_same<T, float>::value> {};
template <class T>
using is_double = is_same<T, double>;
// Numbers that count as a double: integers and bools.
template <class T>
struct is_whole
    : truth<is_number<T>::value && !is_single<T>::value && !is_double<T>::value> {};
template <class T>
struct is_whole<T*> : false_type {};

}  // namespace kerneltk

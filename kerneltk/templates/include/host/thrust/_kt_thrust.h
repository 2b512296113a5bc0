// The parts of Thrust that a thread of a kernel calls, for host compilers: function objects, and
// algorithms that run in the thread itself (thrust::seq; within a kernel thrust::device is the same).
#pragma once
#include <kerneltk/core.hpp>
#include <algorithm>
#include <functional>
#include <iterator>
#include <tuple>
#include <utility>

namespace thrust {

// ---- function objects ----

using std::bit_and;
using std::bit_or;
using std::bit_xor;
using std::divides;
using std::equal_to;
using std::greater;
using std::greater_equal;
using std::less;
using std::less_equal;
using std::logical_and;
using std::logical_not;
using std::logical_or;
using std::minus;
using std::modulus;
using std::multiplies;
using std::negate;
using std::not_equal_to;
using std::plus;
#define KERNELTK_THRUST_FUNCTION(name, parameters, expression)          \
    template <class T = void>                                           \
    struct name {                                                       \
        constexpr T operator() parameters const { return expression; }  \
    };
KERNELTK_THRUST_FUNCTION(maximum, (const T& x, const T& y), x < y ? y : x)
KERNELTK_THRUST_FUNCTION(minimum, (const T& x, const T& y), y < x ? y : x)
KERNELTK_THRUST_FUNCTION(identity, (const T& x), x)
KERNELTK_THRUST_FUNCTION(square, (const T& x), x * x)
KERNELTK_THRUST_FUNCTION(project1st, (const T& x, const T&), x)
KERNELTK_THRUST_FUNCTION(project2nd, (const T&, const T& y), y)
#undef KERNELTK_THRUST_FUNCTION
template <>
struct maximum<void> {
    template <class T, class U>
    constexpr std::common_type_t<T, U> operator()(const T& x, const U& y) const {
        return x < y ? y : x;
    }
};
template <>
struct minimum<void> {
    template <class T, class U>
    constexpr std::common_type_t<T, U> operator()(const T& x, const U& y) const {
        return y < x ? y : x;
    }
};

using std::get;
using std::make_pair;
using std::make_tuple;
using std::pair;
using std::swap;
using std::tie;
using std::tuple;

// ---- where an algorithm runs ----

struct sequential_policy {};
constexpr sequential_policy seq, device;

namespace kerneltk_details {

template <class Iterator>
using value_t = typename std::iterator_traits<Iterator>::value_type;

// Sorts in place and keeps the order of equal elements: halves are merged by rotations (P. Kim,
// A. Kutzner, Stable Minimum Storage Merging by Symmetric Comparisons, ESA 2004).
template <class Less, class Rotate>
void merge(long first, long middle, long last, Less less, Rotate rotate) {
    if (first == middle || middle == last) return;
    if (last - first == 2) {
        if (less(middle, first)) rotate(first, middle, last);
        return;
    }
    long left, right;
    if (middle - first > last - middle) {
        left = first + (middle - first) / 2;
        long low = middle, high = last;
        while (low < high) {
            const long at = low + (high - low) / 2;
            if (less(at, left))
                low = at + 1;
            else
                high = at;
        }
        right = low;
    } else {
        right = middle + (last - middle) / 2;
        long low = first, high = middle;
        while (low < high) {
            const long at = low + (high - low) / 2;
            if (less(right, at))
                high = at;
            else
                low = at + 1;
        }
        left = low;
    }
    rotate(left, middle, right);
    const long next = left + (right - middle);
    merge(first, left, next, less, rotate);
    merge(next, right, last, less, rotate);
}
template <class Less, class Rotate>
void sort(long count, Less less, Rotate rotate) {
    for (long size = 1; size < count; size *= 2)
        for (long first = 0; first + size < count; first += 2 * size)
            merge(first, first + size, first + 2 * size < count ? first + 2 * size : count, less,
                  rotate);
}

}  // namespace kerneltk_details

// ---- algorithms ----

template <class Iterator, class Compare>
inline void stable_sort(sequential_policy, Iterator first, Iterator last, Compare compare) {
    kerneltk_details::sort(
        static_cast<long>(last - first), [=](long i, long j) { return compare(first[i], first[j]); },
        [=](long a, long b, long c) { std::rotate(first + a, first + b, first + c); });
}
template <class Keys, class Values, class Compare>
inline void stable_sort_by_key(sequential_policy, Keys first, Keys last, Values values,
                               Compare compare) {
    kerneltk_details::sort(
        static_cast<long>(last - first), [=](long i, long j) { return compare(first[i], first[j]); },
        [=](long a, long b, long c) {
            std::rotate(first + a, first + b, first + c);
            std::rotate(values + a, values + b, values + c);
        });
}
template <class Iterator, class Compare>
inline void sort(sequential_policy policy, Iterator first, Iterator last, Compare compare) {
    stable_sort(policy, first, last, compare);
}
template <class Iterator>
inline void sort(sequential_policy policy, Iterator first, Iterator last) {
    stable_sort(policy, first, last, std::less<>());
}
template <class Iterator>
inline void stable_sort(sequential_policy policy, Iterator first, Iterator last) {
    stable_sort(policy, first, last, std::less<>());
}
template <class Keys, class Values, class Compare>
inline void sort_by_key(sequential_policy policy, Keys first, Keys last, Values values,
                        Compare compare) {
    stable_sort_by_key(policy, first, last, values, compare);
}
template <class Keys, class Values>
inline void sort_by_key(sequential_policy policy, Keys first, Keys last, Values values) {
    stable_sort_by_key(policy, first, last, values, std::less<>());
}
template <class Keys, class Values>
inline void stable_sort_by_key(sequential_policy policy, Keys first, Keys last, Values values) {
    stable_sort_by_key(policy, first, last, values, std::less<>());
}

template <class Iterator, class T, class Operation>
inline T reduce(sequential_policy, Iterator first, Iterator last, T value, Operation operation) {
    for (; first != last; ++first) value = static_cast<T>(operation(value, *first));
    return value;
}
template <class Iterator, class T>
inline T reduce(sequential_policy policy, Iterator first, Iterator last, T value) {
    return reduce(policy, first, last, value, std::plus<>());
}
template <class Iterator>
inline auto reduce(sequential_policy policy, Iterator first, Iterator last) {
    return reduce(policy, first, last, kerneltk_details::value_t<Iterator>{}, std::plus<>());
}
template <class Iterator, class Function, class T, class Operation>
inline T transform_reduce(sequential_policy, Iterator first, Iterator last, Function function,
                          T value, Operation operation) {
    for (; first != last; ++first) value = static_cast<T>(operation(value, function(*first)));
    return value;
}
template <class First, class Second, class T>
inline T inner_product(sequential_policy, First first, First last, Second second, T value) {
    for (; first != last; ++first, ++second) value = static_cast<T>(value + *first * *second);
    return value;
}

template <class In, class Out, class Operation>
inline Out inclusive_scan(sequential_policy, In first, In last, Out to, Operation operation) {
    if (first == last) return to;
    kerneltk_details::value_t<In> sum = *first;
    *to = sum;
    for (++first, ++to; first != last; ++first, ++to) {
        sum = operation(sum, *first);
        *to = sum;
    }
    return to;
}
template <class In, class Out>
inline Out inclusive_scan(sequential_policy policy, In first, In last, Out to) {
    return inclusive_scan(policy, first, last, to, std::plus<>());
}
template <class In, class Out, class T, class Operation>
inline Out exclusive_scan(sequential_policy, In first, In last, Out to, T sum,
                          Operation operation) {
    for (; first != last; ++first, ++to) {
        const T next = static_cast<T>(operation(sum, *first));  // before a write in place
        *to = sum;
        sum = next;
    }
    return to;
}
template <class In, class Out, class T>
inline Out exclusive_scan(sequential_policy policy, In first, In last, Out to, T sum) {
    return exclusive_scan(policy, first, last, to, sum, std::plus<>());
}
template <class In, class Out>
inline Out exclusive_scan(sequential_policy policy, In first, In last, Out to) {
    return exclusive_scan(policy, first, last, to, kerneltk_details::value_t<In>{}, std::plus<>());
}

template <class In, class Out, class Function>
inline Out transform(sequential_policy, In first, In last, Out to, Function function) {
    for (; first != last; ++first, ++to) *to = function(*first);
    return to;
}
template <class In, class Other, class Out, class Function>
inline Out transform(sequential_policy, In first, In last, Other other, Out to,
                     Function function) {
    for (; first != last; ++first, ++other, ++to) *to = function(*first, *other);
    return to;
}
template <class Iterator, class T>
inline void sequence(sequential_policy, Iterator first, Iterator last, T value) {
    for (; first != last; ++first, ++value) *first = value;
}
template <class Iterator>
inline void sequence(sequential_policy policy, Iterator first, Iterator last) {
    sequence(policy, first, last, kerneltk_details::value_t<Iterator>{});
}

// The C++ library's own, which need no memory beside their ranges.
#define KERNELTK_THRUST_STD(name)                                                    \
    template <class... Arguments>                                                    \
    inline auto name(sequential_policy, Arguments... arguments)                      \
        -> decltype(std::name(arguments...)) {                                       \
        return std::name(arguments...);                                              \
    }
KERNELTK_THRUST_STD(all_of)
KERNELTK_THRUST_STD(any_of)
KERNELTK_THRUST_STD(binary_search)
KERNELTK_THRUST_STD(copy)
KERNELTK_THRUST_STD(copy_if)
KERNELTK_THRUST_STD(copy_n)
KERNELTK_THRUST_STD(count)
KERNELTK_THRUST_STD(count_if)
KERNELTK_THRUST_STD(equal)
KERNELTK_THRUST_STD(fill)
KERNELTK_THRUST_STD(fill_n)
KERNELTK_THRUST_STD(find)
KERNELTK_THRUST_STD(find_if)
KERNELTK_THRUST_STD(for_each)
KERNELTK_THRUST_STD(generate)
KERNELTK_THRUST_STD(is_sorted)
KERNELTK_THRUST_STD(lower_bound)
KERNELTK_THRUST_STD(max_element)
KERNELTK_THRUST_STD(merge)
KERNELTK_THRUST_STD(min_element)
KERNELTK_THRUST_STD(none_of)
KERNELTK_THRUST_STD(remove)
KERNELTK_THRUST_STD(remove_if)
KERNELTK_THRUST_STD(replace)
KERNELTK_THRUST_STD(reverse)
KERNELTK_THRUST_STD(swap_ranges)
KERNELTK_THRUST_STD(unique)
KERNELTK_THRUST_STD(upper_bound)
#undef KERNELTK_THRUST_STD

}  // namespace thrust

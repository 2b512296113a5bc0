// Meeting points of the lanes of a warp, before each access to memory that is volatile.
//
// GPUs before Volta run the lanes of a warp in step, and programs for them exchange values through
// volatile memory without a barrier: s[t] += s[t + 32]. Here a lane comes to a meeting point before each
// load and each store, and goes on when all of its warp have come to one, or wait for something else
// (fibers.c). A pass over the source finds the accesses (cuda_cpp/syntax/volatile.py); their types tell
// which of them are volatile.
//
// A position says how far in the text a lane is: 20 bits are a number in a function, and those of the
// calls that lead there come first. The lowest four bits count these calls. In functions that are
// called three calls away from the kernel, all is one place.
#pragma once

namespace kerneltk::grid {

constexpr unsigned int position_bits = 20, most_calls = 3;

// The position of a point in a function, which begins at `here`.
constexpr word position_of(word here, unsigned int number) {
    const unsigned int calls = static_cast<unsigned int>(here & 15);
    if (calls == most_calls) return here;
    return here | static_cast<word>(number) << (64 - position_bits * (calls + 1));
}
// Says to the function that is called next where it is called.
constexpr void call_from(word here, unsigned int number) {
    if (__builtin_is_constant_evaluated()) return;
    position = (here & 15) == most_calls ? here : position_of(here, number) + 1;
}

inline void meet_at(word here, unsigned int number, bool stores) {
    const word at = position_of(here, number);
    wait_in([=](engine* e) { return e->runtime->meet(e, at, stores); });
}

template <class T>
struct is_volatile {
    static constexpr bool value = false;
};
template <class T>
struct is_volatile<volatile T> {
    static constexpr bool value = true;
};
template <class T>
struct is_volatile<const volatile T> {
    static constexpr bool value = true;
};
// An array is not accessed as a whole.
template <class T, size_t N>
struct is_volatile<volatile T[N]> {
    static constexpr bool value = false;
};
template <class T, size_t N>
struct is_volatile<const volatile T[N]> {
    static constexpr bool value = false;
};
template <class T>
struct is_volatile<volatile T[]> {
    static constexpr bool value = false;
};
template <class T>
struct is_volatile<const volatile T[]> {
    static constexpr bool value = false;
};
template <class T>
struct is_volatile<T&> : is_volatile<T> {};
template <class T>
struct is_volatile<T&&> : is_volatile<T> {};

template <class T>
constexpr void meet_to_load(word here, unsigned int number) {
    if constexpr (is_volatile<T>::value) meet_at(here, number, false);
}

// What is assigned to: loads before one meeting point and stores behind another.
template <class T>
struct volatile_target {
    volatile T& memory;
    word here;
    unsigned int number;

    T operator=(T value) const {
        meet_at(here, number + 1, true);
        memory = value;
        return value;
    }
    T operator=(const volatile_target& other) const { return *this = static_cast<T>(other.memory); }
#define KERNELTK_UPDATE(op)                  \
    template <class Other>                   \
    T operator op##=(Other other) const {    \
        T value = load();                    \
        value op##= other;                   \
        return *this = value;                \
    }
    KERNELTK_UPDATE(+)
    KERNELTK_UPDATE(-)
    KERNELTK_UPDATE(*)
    KERNELTK_UPDATE(/)
    KERNELTK_UPDATE(%)
    KERNELTK_UPDATE(&)
    KERNELTK_UPDATE(|)
    KERNELTK_UPDATE(^)
    KERNELTK_UPDATE(<<)
    KERNELTK_UPDATE(>>)
#undef KERNELTK_UPDATE
    T operator++() const {
        T value = load();
        return *this = ++value;
    }
    T operator--() const {
        T value = load();
        return *this = --value;
    }
    T operator++(int) const {
        T value = load();
        const T before = value++;
        *this = value;
        return before;
    }
    T operator--(int) const {
        T value = load();
        const T before = value--;
        *this = value;
        return before;
    }

private:
    T load() const {
        meet_at(here, number, false);
        return memory;
    }
};

template <class T>
struct without_volatile {
    using type = T;
};
template <class T>
struct without_volatile<volatile T> {
    using type = T;
};

template <class T>
constexpr decltype(auto) target(T& memory, word here, unsigned int number) {
    if constexpr (is_volatile<T>::value && !__is_class(T) && !__is_union(T)) {
        return volatile_target<typename without_volatile<T>::type>{memory, here, number};
    } else {
        if constexpr (is_volatile<T>::value) meet_at(here, number + 1, true);
        return (memory);
    }
}
// What is a class of its own that stands for memory.
template <class T>
constexpr T&& target(T&& value, word, unsigned int) {
    return static_cast<T&&>(value);
}

}  // namespace kerneltk::grid

// Where a function is called, and its first line: each function with meeting points has its own.
constexpr ::kerneltk::grid::word _kt_here = 0;
constexpr int _kt_first_line = 0;

#define _KT_KERNEL(line)                    \
    constexpr int _kt_first_line = line;    \
    constexpr ::kerneltk::grid::word _kt_here = 0; \
    ::kerneltk::grid::position = 0;
// Not const: the compiler would evaluate the initializer of a const variable itself, and find 0. In
// exchange constants of the function do not read it.
#define _KT_FUNCTION(line)               \
    constexpr int _kt_first_line = line; \
    ::kerneltk::grid::word _kt_here =    \
        __builtin_is_constant_evaluated() ? 0 : ::kerneltk::grid::position;
#define _KT_HERE (__builtin_is_constant_evaluated() ? 0 : _kt_here)
#define _KT_LOAD(number, ...) \
    (::kerneltk::grid::meet_to_load<decltype((__VA_ARGS__))>(_KT_HERE, number), __VA_ARGS__)
#define _KT_TARGET(number, ...) (::kerneltk::grid::target(__VA_ARGS__, _KT_HERE, number))
#define _KT_MEET(number, ...) (::kerneltk::grid::meet_at(_KT_HERE, number, false), __VA_ARGS__)
#define _KT_CALL(number, ...) (::kerneltk::grid::call_from(_KT_HERE, number), __VA_ARGS__)

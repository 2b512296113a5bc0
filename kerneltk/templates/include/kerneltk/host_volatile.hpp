// Meeting points of the lanes of a warp, before each access to memory that is volatile.
//
// GPUs before Volta run the lanes of a warp in step, and programs for them exchange values through
// volatile memory without a barrier: s[t] += s[t + 32]. Here a lane comes to a meeting point before each
// load and each store, and goes on when all of its warp have come to one, or wait for something else
// (fibers.c). Which expressions access memory a pass over the source finds (volatile_source.py); which
// of them are volatile their types tell.
//
// A position says how far in the text a lane is: 12 bits are a number in a function, and those of the
// calls that lead there come first. The lowest four bits count these calls.
#pragma once

namespace kerneltk::grid {

constexpr unsigned int position_bits = 12, most_calls = 4;

inline word position_of(unsigned int number) {
    const unsigned int calls = static_cast<unsigned int>(position & 15);
    return position | static_cast<word>(number) << (64 - position_bits * (calls + 1));
}

inline void meet_at(unsigned int number, bool stores) {
    const word at = position_of(number);
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
inline __attribute__((always_inline)) void meet_to_load(unsigned int number) {
    if constexpr (is_volatile<T>::value) meet_at(number, false);
}

// What is assigned to: loads before one meeting point and stores behind another.
template <class T>
struct volatile_target {
    volatile T& memory;
    unsigned int number;

    T operator=(T value) const {
        meet_at(number + 1, true);
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
        meet_at(number, false);
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
inline __attribute__((always_inline)) decltype(auto) target(T& memory, unsigned int number) {
    if constexpr (is_volatile<T>::value && !__is_class(T) && !__is_union(T)) {
        return volatile_target<typename without_volatile<T>::type>{memory, number};
    } else {
        if constexpr (is_volatile<T>::value) meet_at(number + 1, true);
        return (memory);
    }
}
// What is a class of its own that stands for memory.
template <class T>
inline __attribute__((always_inline)) T&& target(T&& value, unsigned int) {
    return static_cast<T&&>(value);
}

// Stands for a call of a function that has meeting points, while it runs.
struct call_site {
    word before;
    explicit call_site(unsigned int number) : before(position) {
        if ((before & 15) < most_calls) position = position_of(number) + 1;
    }
    call_site(const call_site&) = delete;
    ~call_site() { position = before; }
};

}  // namespace kerneltk::grid

#define _KT_LOAD(number, ...) \
    (::kerneltk::grid::meet_to_load<decltype((__VA_ARGS__))>(number), __VA_ARGS__)
#define _KT_TARGET(number, ...) (::kerneltk::grid::target(__VA_ARGS__, number))
#define _KT_MEET(number, ...) (::kerneltk::grid::meet_at(number, false), __VA_ARGS__)
#define _KT_CALL(number, ...) (::kerneltk::grid::call_site(number), __VA_ARGS__)

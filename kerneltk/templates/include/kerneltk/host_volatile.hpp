// Meeting points of the lanes of a warp, before each access to memory that is volatile.
//
// GPUs before Volta run the lanes of a warp in step, and programs for them exchange values through
// volatile memory without a barrier: s[t] += s[t + 32]. Here a lane comes to a meeting point before each
// load and each store, and goes on when all of its warp have come to one, or wait for something else
// (fibers.c). A pass over the source finds the accesses (cuda_cpp/syntax/volatile.py); their types tell
// which of them are volatile.
//
// A position says how far in the source a lane is: the numbers of the calls that lead to its function,
// then a point's number there. Each function has as many bits of it as its largest number needs; the
// lowest six bits count those that are taken. Where calls nest so deeply that none are left, all is
// one position.
#pragma once

namespace kerneltk::grid {

constexpr unsigned int position_bits = 58, all_bits_taken = 63;

// Where a function was called, and the bits of its own numbers.
struct place {
    word here;
    unsigned int bits;
};

constexpr unsigned int bits_before(place p) { return static_cast<unsigned int>(p.here & 63); }
constexpr bool is_too_deep(place p) { return bits_before(p) + p.bits > position_bits; }
// The position of a point in a function.
constexpr word position_of(place p, unsigned int number) {
    if (is_too_deep(p)) return p.here;
    number &= (1u << p.bits) - 1;
    return p.here | static_cast<word>(number) << (64 - bits_before(p) - p.bits);
}
// Says to the function that is called next where it is called.
constexpr void call_from(place p, unsigned int number) {
    if (__builtin_is_constant_evaluated()) return;
    position = is_too_deep(p) ? p.here | all_bits_taken : position_of(p, number) + p.bits;
}
// Passes an argument on, and says to the function that takes it where that is called: a call in the
// argument has said where itself is.
template <class T>
constexpr T&& call_with(place p, unsigned int number, T&& argument) {
    call_from(p, number);
    return static_cast<T&&>(argument);
}

inline void meet_at(place p, unsigned int number, bool stores) {
    const word at = position_of(p, number);
    wait_in([=](engine* e) { return e->runtime->meet(e, at, stores); });
}

template <class T>
struct is_volatile : false_type {};
template <class T>
struct is_volatile<volatile T> : true_type {};
template <class T>
struct is_volatile<const volatile T> : true_type {};
// An array is not accessed as a whole.
template <class T, size_t N>
struct is_volatile<volatile T[N]> : false_type {};
template <class T, size_t N>
struct is_volatile<const volatile T[N]> : false_type {};
template <class T>
struct is_volatile<volatile T[]> : false_type {};
template <class T>
struct is_volatile<const volatile T[]> : false_type {};
template <class T>
struct is_volatile<T&> : is_volatile<T> {};
template <class T>
struct is_volatile<T&&> : is_volatile<T> {};

template <class T>
constexpr void meet_to_load(place p, unsigned int number) {
    if constexpr (is_volatile<T>::value) meet_at(p, number, false);
}

// What is assigned to: loads before one meeting point and stores behind another.
template <class T>
struct volatile_target {
    volatile T& memory;
    place at;
    unsigned int number;

    T operator=(T value) const {
        meet_at(at, number + 1, true);
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
#define KERNELTK_STEP(op)                    \
    T operator op() const {                  \
        T value = load();                    \
        return *this = op value;             \
    }                                        \
    T operator op(int) const {               \
        T value = load();                    \
        const T before = value op;           \
        *this = value;                       \
        return before;                       \
    }
    KERNELTK_STEP(++)
    KERNELTK_STEP(--)
#undef KERNELTK_STEP

private:
    T load() const {
        meet_at(at, number, false);
        return memory;
    }
};

template <class T>
struct without_volatile : identity<T> {};
template <class T>
struct without_volatile<volatile T> : identity<T> {};

template <class T>
constexpr decltype(auto) target(T& memory, place p, unsigned int number) {
    if constexpr (is_volatile<T>::value && !__is_class(T) && !__is_union(T)) {
        return volatile_target<typename without_volatile<T>::type>{memory, p, number};
    } else {
        if constexpr (is_volatile<T>::value) meet_at(p, number + 1, true);
        return (memory);
    }
}
// What is a class of its own that stands for memory.
template <class T>
constexpr T&& target(T&& value, place, unsigned int) {
    return static_cast<T&&>(value);
}

}  // namespace kerneltk::grid

// Where a function is called, and the bits of its numbers: each function with meeting points has its
// own.
#define _KT_KERNEL(bits)                    \
    constexpr unsigned int _kt_bits = bits; \
    constexpr ::kerneltk::grid::word _kt_here = 0; \
    ::kerneltk::grid::position = 0;
// Not const: the compiler would evaluate the initializer of a const variable itself, and find 0. In
// exchange constants of the function do not read it.
#define _KT_FUNCTION(bits)                  \
    constexpr unsigned int _kt_bits = bits; \
    ::kerneltk::grid::word _kt_here =       \
        __builtin_is_constant_evaluated() ? 0 : ::kerneltk::grid::position;
#define _KT_PLACE (::kerneltk::grid::place{__builtin_is_constant_evaluated() ? 0 : _kt_here, _kt_bits})
#define _KT_LOAD(number, ...) \
    (::kerneltk::grid::meet_to_load<decltype((__VA_ARGS__))>(_KT_PLACE, number), __VA_ARGS__)
#define _KT_TARGET(number, ...) (::kerneltk::grid::target(__VA_ARGS__, _KT_PLACE, number))
#define _KT_MEET(number, ...) (::kerneltk::grid::meet_at(_KT_PLACE, number, false), __VA_ARGS__)
#define _KT_CALL(number, ...) (::kerneltk::grid::call_from(_KT_PLACE, number), __VA_ARGS__)
// A call in an argument of the call `outer`.
#define _KT_ARGUMENT(number, outer, ...) \
    (::kerneltk::grid::call_with(_KT_PLACE, outer, _KT_CALL(number, __VA_ARGS__)))
// Before a declaration whose constructor is called.
#define _KT_CONSTRUCT(number, ...) ::kerneltk::grid::call_from(_KT_PLACE, number);
// Before the body of a loop.
#define _KT_ROUND(number, ...) if (!(_KT_MEET(number, true))) {} else

// Collectives of a warp: `warpSize` threads of successive ranks in the block.
//
// Lanes bring their operands; the last of the mask to come computes what each of them gets. Lanes
// that have ended, or that the block does not have, are not waited for. Functions without a mask
// take those lanes that come to the same call before nothing else in the block can run.
#pragma once

namespace kerneltk::grid {

// Instead of a mask.
struct whoever_comes {};
constexpr whoever_comes whoever;

// The runtime's lanes that are this thread's warp: the first of them, and as many bits as there are.
inline unsigned int first_lane() {
    return warpSize == 32 ? 0 : thread_rank() % 32 / warpSize * warpSize;
}
constexpr unsigned int whole_warp = ~0u >> (32 - warpSize);

// Two masks of the runtime's lanes as those of this warp's.
inline word within_warp(word lanes) {
    const word high = lanes >> 32 >> first_lane() & whole_warp;
    return (lanes >> first_lane() & whole_warp) | high << 32;
}

inline word collective(unsigned int mask, combine compute, word value, unsigned int extra,
                       const char* file, int line) {
    word result;
    mask = (mask & whole_warp) << first_lane();
    wait_in([&](engine* e) {
        return e->runtime->warp(e, mask, mask != 0 ? compute : nullptr, value, extra, &result, file,
                                line);
    });
    return result;
}
inline word collective(whoever_comes, combine compute, word value, unsigned int extra,
                       const char* file, int line) {
    word result;
    wait_in([&](engine* e) {
        return e->runtime->warp(e, 0, compute, value, extra, &result, file, line);
    });
    return result;
}

// Values go by address: copied as arguments, clang takes an uninitialised one for a licence to drop
// the branch that leads to it.
template <class T>
inline word to_word(const T& value) {
    static_assert(sizeof(T) <= sizeof(word) && __is_trivially_copyable(T),
                  "a warp exchanges values of up to eight bytes");
    word bits = 0;
    __builtin_memcpy(&bits, &value, sizeof(T));
    return bits;
}
template <class T>
inline T from_word(word bits) {
    T value;
    __builtin_memcpy(static_cast<void*>(&value), &bits, sizeof(T));
    return value;
}

enum class shuffle { index, up, down, exclusive };

// The lower byte of `extra` is what the source lane is computed from, the next the width.
template <shuffle KIND>
inline void compute_shuffle(const word* in, const unsigned int* extra, word* out,
                            unsigned int lanes) {
    for (unsigned int lane = 0; lane < 32; ++lane) {
        const unsigned int operand = extra[lane] & 31, width = extra[lane] >> 8;
        const unsigned int within = lane & (width - 1), first = lane - within;
        unsigned int source = lane;
        if (KIND == shuffle::index) source = first + (operand & (width - 1));
        if (KIND == shuffle::up && within >= operand) source = lane - operand;
        if (KIND == shuffle::down && within + operand < width) source = lane + operand;
        if (KIND == shuffle::exclusive && (lane ^ operand) < first + width) source = lane ^ operand;
        source &= 31;
        // Undefined where the source takes no part; GPUs give zero, and programs rely on it.
        out[lane] = lanes >> source & 1 ? in[source] : 0;
    }
}

// What is not zero as a mask, and the lanes that took part in the upper half.
inline void compute_ballot(const word* in, const unsigned int*, word* out, unsigned int lanes) {
    unsigned int mask = 0;
    for (unsigned int lane = 0; lane < 32; ++lane) mask |= (in[lane] != 0 ? 1u : 0u) << lane;
    const word result = (mask & lanes) | static_cast<word>(lanes) << 32;
    for (unsigned int lane = 0; lane < 32; ++lane) out[lane] = result;
}

// For each lane those that brought the same value.
inline void compute_match(const word* in, const unsigned int*, word* out, unsigned int lanes) {
    for (unsigned int rest = lanes; rest != 0;) {
        const word value = in[__builtin_ctz(rest)];
        unsigned int same = 0;
        for (unsigned int lane = 0; lane < 32; ++lane) same |= (in[lane] == value ? 1u : 0u) << lane;
        same &= lanes;
        for (unsigned int lane = 0; lane < 32; ++lane)
            if (same >> lane & 1) out[lane] = same | static_cast<word>(lanes) << 32;
        rest &= ~same;
    }
}

template <class T, class Operation>
inline void compute_reduction(const word* in, const unsigned int*, word* out, unsigned int lanes) {
    T total = from_word<T>(in[__builtin_ctz(lanes)]);
    for (unsigned int rest = lanes & (lanes - 1); rest != 0; rest &= rest - 1)
        total = Operation::apply(total, from_word<T>(in[__builtin_ctz(rest)]));
    for (unsigned int lane = 0; lane < 32; ++lane) out[lane] = to_word(total);
}

template <class Mask>
inline word ballot(Mask mask, bool predicate, const char* file, int line) {
    return within_warp(collective(mask, compute_ballot, predicate, 0, file, line));
}

template <shuffle KIND, class T, class Mask>
inline T exchange(Mask mask, const T& value, unsigned int operand, int width,
                  const char* file, int line) {
    if (width <= 0 || (width & (width - 1)) != 0)
        assertion_failed(" the width of a shuffle is no power of two from 1 to 32", file, line);
    const int lanes = width < warpSize ? width : warpSize;
    const unsigned int extra = (operand & 31) | static_cast<unsigned int>(lanes) << 8;
    return from_word<T>(collective(mask, compute_shuffle<KIND>, to_word(value), extra, file, line));
}

}  // namespace kerneltk::grid

inline void _kt_warp_barrier(unsigned int mask, const char* file, int line) {
    kerneltk::grid::ballot(mask, false, file, line);
}
inline unsigned int _kt_lane() { return kerneltk::grid::thread_rank() % warpSize; }
inline unsigned int _kt_warp() { return kerneltk::grid::thread_rank() / warpSize; }

inline void __syncwarp(unsigned int mask = 0xffffffffu, KERNELTK_PLACE) {
    _kt_warp_barrier(mask, _kt_file, _kt_line);
}
inline unsigned int __activemask(KERNELTK_PLACE) {
    return static_cast<unsigned int>(
        kerneltk::grid::ballot(kerneltk::grid::whoever, true, _kt_file, _kt_line));
}

#define KERNELTK_VOTE(suffix, parameter, mask)                                                   \
    inline unsigned int __ballot##suffix(parameter int predicate, KERNELTK_PLACE) {              \
        return static_cast<unsigned int>(                                                        \
            kerneltk::grid::ballot(mask, predicate != 0, _kt_file, _kt_line));                   \
    }                                                                                            \
    inline int __any##suffix(parameter int predicate, KERNELTK_PLACE) {                          \
        return static_cast<unsigned int>(                                                        \
                   kerneltk::grid::ballot(mask, predicate != 0, _kt_file, _kt_line)) != 0;       \
    }                                                                                            \
    inline int __all##suffix(parameter int predicate, KERNELTK_PLACE) {                          \
        return static_cast<unsigned int>(                                                        \
                   kerneltk::grid::ballot(mask, predicate == 0, _kt_file, _kt_line)) == 0;       \
    }
#define KERNELTK_COMMA ,
KERNELTK_VOTE(_sync, unsigned int mask KERNELTK_COMMA, mask)
KERNELTK_VOTE(, , kerneltk::grid::whoever)
#undef KERNELTK_VOTE

// Of CUDA's own types they are no templates, so that these are preferred to a kernel's own template of
// the name. Of others any type of mask makes them the worse match.
#define KERNELTK_SHUFFLE_BODY(mask, kind)                                                          \
    {                                                                                              \
        const auto copy = value;                                                                   \
        return kerneltk::grid::exchange<kerneltk::grid::shuffle::kind>(                            \
            mask, copy, static_cast<unsigned int>(_kt_operand), width, _kt_file, _kt_line);        \
    }
#define KERNELTK_SHUFFLE_OF(T, name, mask, kind, operand, ...)                                     \
    inline T name(__VA_ARGS__ T value, operand, int width = warpSize, KERNELTK_PLACE)              \
    KERNELTK_SHUFFLE_BODY(mask, kind)
#define KERNELTK_SHUFFLE(name, parameter, any, any_parameter, mask, kind, operand)                 \
    KERNELTK_SHUFFLE_OF(int, name, mask, kind, operand, parameter)                                 \
    KERNELTK_SHUFFLE_OF(unsigned int, name, mask, kind, operand, parameter)                        \
    KERNELTK_SHUFFLE_OF(long, name, mask, kind, operand, parameter)                                \
    KERNELTK_SHUFFLE_OF(unsigned long, name, mask, kind, operand, parameter)                       \
    KERNELTK_SHUFFLE_OF(long long, name, mask, kind, operand, parameter)                           \
    KERNELTK_SHUFFLE_OF(unsigned long long, name, mask, kind, operand, parameter)                  \
    KERNELTK_SHUFFLE_OF(float, name, mask, kind, operand, parameter)                               \
    KERNELTK_SHUFFLE_OF(double, name, mask, kind, operand, parameter)                              \
    template <class T any>                                                                         \
    inline T name(any_parameter const T& value, operand, int width = warpSize, KERNELTK_PLACE)     \
    KERNELTK_SHUFFLE_BODY(mask, kind)                                                              \
    template <class T any>                                                                         \
    inline T name(any_parameter const volatile T& value, operand, int width = warpSize,            \
                  KERNELTK_PLACE)                                                                  \
    KERNELTK_SHUFFLE_BODY(mask, kind)
#define KERNELTK_SHUFFLES(name, kind, operand)                                                     \
    KERNELTK_SHUFFLE(name##_sync, unsigned int mask KERNELTK_COMMA, KERNELTK_COMMA class Mask,     \
                     Mask mask KERNELTK_COMMA, static_cast<unsigned int>(mask), kind, operand)     \
    KERNELTK_SHUFFLE(name, , , , kerneltk::grid::whoever, kind, operand)
KERNELTK_SHUFFLES(__shfl, index, int _kt_operand)
KERNELTK_SHUFFLES(__shfl_up, up, unsigned int _kt_operand)
KERNELTK_SHUFFLES(__shfl_down, down, unsigned int _kt_operand)
KERNELTK_SHUFFLES(__shfl_xor, exclusive, int _kt_operand)
#undef KERNELTK_SHUFFLES
#undef KERNELTK_SHUFFLE
#undef KERNELTK_SHUFFLE_OF
#undef KERNELTK_SHUFFLE_BODY
#undef KERNELTK_COMMA

template <class T>
inline unsigned int __match_any_sync(unsigned int mask, const T& value, KERNELTK_PLACE) {
    const auto copy = value;  // which is not volatile
    return static_cast<unsigned int>(kerneltk::grid::within_warp(
        kerneltk::grid::collective(mask, kerneltk::grid::compute_match,
                                   kerneltk::grid::to_word(copy), 0, _kt_file, _kt_line)));
}
template <class T>
inline unsigned int __match_all_sync(unsigned int mask, const T& value, int* all, KERNELTK_PLACE) {
    const auto copy = value;
    const kerneltk::grid::word found = kerneltk::grid::within_warp(
        kerneltk::grid::collective(mask, kerneltk::grid::compute_match,
                                   kerneltk::grid::to_word(copy), 0, _kt_file, _kt_line));
    const unsigned int same = static_cast<unsigned int>(found);
    *all = same == static_cast<unsigned int>(found >> 32);
    return *all ? same : 0;
}

#define KERNELTK_REDUCE(name, T, expression)                                                     \
    namespace kerneltk::grid::reductions {                                                       \
    struct name##_##T {                                                                          \
        static T apply(T a, T b) { return expression; }                                          \
    };                                                                                           \
    }                                                                                            \
    inline T __reduce_##name##_sync(unsigned int mask, T value, KERNELTK_PLACE) {                \
        return kerneltk::grid::from_word<T>(kerneltk::grid::collective(                          \
            mask,                                                                                \
            kerneltk::grid::compute_reduction<T, kerneltk::grid::reductions::name##_##T>,        \
            kerneltk::grid::to_word(value), 0, _kt_file, _kt_line));                             \
    }
KERNELTK_REDUCE(add, unsigned, a + b)
KERNELTK_REDUCE(add, int, static_cast<int>(static_cast<unsigned>(a) + static_cast<unsigned>(b)))
KERNELTK_REDUCE(min, unsigned, b < a ? b : a)
KERNELTK_REDUCE(min, int, b < a ? b : a)
KERNELTK_REDUCE(max, unsigned, a < b ? b : a)
KERNELTK_REDUCE(max, int, a < b ? b : a)
KERNELTK_REDUCE(and, unsigned, a & b)
KERNELTK_REDUCE(or, unsigned, a | b)
KERNELTK_REDUCE(xor, unsigned, a ^ b)
#undef KERNELTK_REDUCE

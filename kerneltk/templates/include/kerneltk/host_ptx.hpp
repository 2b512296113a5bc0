// PTX instructions for CPU cores: what the translation of inline PTX calls (ptx/statements.py).
//
// A register is a variable of its size and may hold any type of that size. Names and results are
// those of NVIDIA's "Parallel Thread Execution ISA".
#pragma once
#include <kerneltk/host_grid.hpp>
#include <kerneltk/host_intrinsics.hpp>

namespace kerneltk::ptx {

// Ends the launch at an instruction that CPU cores do not have.
[[noreturn]] __attribute__((cold)) inline void refused(const char* sentence, KERNELTK_PLACE) {
    kerneltk::grid::assertion_failed(sentence, _kt_file, _kt_line);
}

// ---- registers ----

// The lower bytes of a register.
template <class T, class Register>
__forceinline__ T as(const Register& x) {
    if constexpr (sizeof(T) <= sizeof(Register)) {
        T value;
        __builtin_memcpy(static_cast<void*>(&value), &x, sizeof(T));
        return value;
    } else {
        static_assert(kerneltk::is_integer<Register>::value || __is_same(Register, bool),
                      "a register is as wide as what is read of it");
        return static_cast<T>(x);
    }
}

// Sets a register; an integer is extended as its type is.
template <class Register, class T>
__forceinline__ void put(Register& to, const T& value) {
    static_assert(sizeof(Register) >= sizeof(T), "a register is as wide as what is put into it");
    if constexpr (kerneltk::is_integer<T>::value && sizeof(Register) > sizeof(T)) {
        const long long extended = static_cast<long long>(value);
        __builtin_memcpy(&to, &extended, sizeof(Register));
    } else {
        if constexpr (sizeof(Register) > sizeof(T)) to = Register{};
        __builtin_memcpy(&to, &value, sizeof(T));
    }
}
template <class T>
__forceinline__ void put(bool& to, const T& value) {
    to = static_cast<bool>(value);
}

template <class T>
struct is_pointer : false_type {};
template <class T>
struct is_pointer<T*> : true_type {};

// The statement's operands: a C++ value as a register, and back.
template <class Register, class T>
__forceinline__ void in(Register& to, const T& value) {
    if constexpr (__is_class(T) || __is_union(T))
        put(to, value);
    else if constexpr (is_pointer<T>::value)
        to = static_cast<Register>(reinterpret_cast<uintptr_t>(value));
    else
        to = static_cast<Register>(value);
}
template <class T, class Register>
__forceinline__ void out(T& to, const Register& value) {
    if constexpr (__is_class(T) || __is_union(T))
        __builtin_memcpy(static_cast<void*>(&to), &value,
                         sizeof(T) < sizeof(Register) ? sizeof(T) : sizeof(Register));
    else if constexpr (is_pointer<T>::value)
        to = reinterpret_cast<T>(static_cast<uintptr_t>(value));
    else
        to = static_cast<T>(value);
}

// Registers as one, the first in the lowest bits, and back.
template <class T, class... Parts>
__forceinline__ T packed(Parts... parts) {
    static_assert(sizeof(T) == (sizeof(Parts) + ...), "parts are as wide together as the whole");
    T whole;
    char* to = reinterpret_cast<char*>(&whole);
    ((__builtin_memcpy(to, &parts, sizeof(parts)), to += sizeof(parts)), ...);
    return whole;
}
struct nothing {};  // in the place of a register: a part that is not wanted
template <class T, class First, class... Rest>
__forceinline__ void unpack(const T& whole, First&& first, Rest&&... rest) {
    constexpr size_t size = sizeof(T) / (1 + sizeof...(Rest));
    const char* from = reinterpret_cast<const char*>(&whole);
    const auto take = [&](auto& to) {
        if constexpr (!__is_same(decltype(to), nothing&)) {
            static_assert(sizeof(to) >= size, "a register is as wide as what is put into it");
            to = {};
            __builtin_memcpy(&to, from, size);
        }
        from += size;
    };
    take(first);
    (take(rest), ...);
}

// ---- memory ----

// Of an address in shared memory programs keep 32 bits. It is the one of this block's that ends so:
// shared memory is a part of the thread's local storage.
static thread_local char near_shared_memory;
__forceinline__ char* shared_address(unsigned int low) {
    const uintptr_t near = reinterpret_cast<uintptr_t>(&near_shared_memory);
    const int distance = static_cast<int>(low - static_cast<unsigned int>(near));
    return reinterpret_cast<char*>(near + static_cast<uintptr_t>(static_cast<long long>(distance)));
}
template <class T, bool SHARED, class Register>
__forceinline__ T* at(const Register& base, long long offset) {
    if constexpr (sizeof(Register) == 4) {
        static_assert(SHARED, "an address of 32 bits is one in shared memory");
        return reinterpret_cast<T*>(shared_address(as<unsigned int>(base)) + offset);
    } else {
        const auto address = as<unsigned long long>(base);
        // One that was made of 32 bits: no program's memory lies there.
        if (SHARED && address >> 32 == 0)
            return reinterpret_cast<T*>(shared_address(static_cast<unsigned int>(address)) + offset);
        return reinterpret_cast<T*>(address + static_cast<unsigned long long>(offset));
    }
}
template <class Register>
__forceinline__ unsigned long long generic_address(const Register& shared) {
    return reinterpret_cast<unsigned long long>(at<char, true>(shared, 0));
}

// An address of a vector: a GPU ends a kernel where it is no multiple of the vector's size.
template <int COUNT, class T>
__forceinline__ T* aligned(T* p, [[maybe_unused]] const char* type,
                           [[maybe_unused]] const char* file = __builtin_FILE(),
                           [[maybe_unused]] unsigned int line = __builtin_LINE()) {
#ifdef KERNELTK_CHECK_MEMORY
    memory::check_alignment(p, COUNT * sizeof(T), type, file, line);
#endif
    return p;
}
template <class T>
__forceinline__ T load(const T* from) {
    T value;
    __builtin_memcpy(&value, from, sizeof(T));
    return value;
}
template <class T>
__forceinline__ void store(T* to, T value) {
    __builtin_memcpy(to, &value, sizeof(T));
}
// These may be part of a loop that waits for another thread.
template <class T>
__forceinline__ T strong_load(const T* from) {
    T value;
    {
        KERNELTK_ATOMIC_ACCESSES
        __atomic_load(from, &value, __ATOMIC_ACQUIRE);
    }
    KERNELTK_UNCHANGED(from);
    return value;
}
template <class T>
__forceinline__ void strong_store(T* to, T value) {
    KERNELTK_ATOMIC_ACCESSES
    __atomic_store(to, &value, __ATOMIC_RELEASE);
}
// What is not copied of `size` is set to zero. A predicate says whether nothing is.
template <class Register>
inline void copy(char* to, const char* from, unsigned int size, Register filled) {
    unsigned int copied = __is_same(Register, bool) ? (filled ? 0u : size) : as<unsigned int>(filled);
    if (copied > size) copied = size;
    if (copied != 0) __builtin_memcpy(to, from, copied);
    __builtin_memset(to + copied, 0, size - copied);
}

// ---- integers ----

__extension__ typedef __int128 wide_signed;
__extension__ typedef unsigned __int128 wide_unsigned;
template <class T>
constexpr bool is_signed = T(-1) < T(0);
template <class T>
using unsigned_t = word_of<sizeof(T)>;
// It holds a product of two.
template <class T, class Signed = typename conditional<sizeof(T) == 8, wide_signed, long long>::type,
          class Unsigned =
              typename conditional<sizeof(T) == 8, wide_unsigned, unsigned long long>::type>
using wide_t = typename conditional<is_signed<T>, Signed, Unsigned>::type;
template <class T>
constexpr int bits_of = 8 * static_cast<int>(sizeof(T));

template <class T>
__forceinline__ T add(T x, T y) {
    return static_cast<T>(static_cast<unsigned_t<T>>(x) + static_cast<unsigned_t<T>>(y));
}
template <class T>
__forceinline__ T subtract(T x, T y) {
    return static_cast<T>(static_cast<unsigned_t<T>>(x) - static_cast<unsigned_t<T>>(y));
}
template <class To, class T>
__forceinline__ To clamp(T x) {
    constexpr To most = is_signed<To> ? static_cast<To>(~0ull >> (65 - bits_of<To>))
                                      : static_cast<To>(~0ull >> (64 - bits_of<To>));
    constexpr To least = is_signed<To> ? static_cast<To>(-most - 1) : To(0);
    const wide_signed exact = static_cast<wide_signed>(x);
    return exact > static_cast<wide_signed>(most)    ? most
           : exact < static_cast<wide_signed>(least) ? least
                                                     : static_cast<To>(x);
}
template <class T>
__forceinline__ T add_saturated(T x, T y) {
    return clamp<T>(static_cast<wide_signed>(x) + static_cast<wide_signed>(y));
}
template <class T>
__forceinline__ T subtract_saturated(T x, T y) {
    return clamp<T>(static_cast<wide_signed>(x) - static_cast<wide_signed>(y));
}
template <class T>
__forceinline__ T multiply(T x, T y) {
    // Wide enough that no promotion to a signed type overflows.
    return static_cast<T>(static_cast<unsigned long long>(x) * static_cast<unsigned long long>(y));
}
template <class T>
__forceinline__ T multiply_high(T x, T y) {
    return static_cast<T>(static_cast<wide_t<T>>(x) * static_cast<wide_t<T>>(y) >> bits_of<T>);
}
template <class W, class T>
__forceinline__ W multiply_wide(T x, T y) {
    return static_cast<W>(static_cast<W>(x) * static_cast<W>(y));
}
template <bool HIGH, class T>
__forceinline__ T multiply_24(T x, T y) {
    const auto low = [](T value) {
        return static_cast<long long>(static_cast<T>(static_cast<unsigned int>(value) << 8) >> 8);
    };
    return static_cast<T>(low(x) * low(y) >> (HIGH ? 16 : 0));
}
// Undefined where y is zero; GPUs give all ones.
template <class T>
__forceinline__ T divide(T x, T y) {
    if (y == 0) return static_cast<T>(~0ull);
    if (is_signed<T> && y == static_cast<T>(-1)) return subtract(T(0), x);
    return static_cast<T>(x / y);
}
template <class T>
__forceinline__ T remainder(T x, T y) {
    if (y == 0) return x;
    if (is_signed<T> && y == static_cast<T>(-1)) return 0;
    return static_cast<T>(x % y);
}
template <class T>
__forceinline__ T add_distance(T x, T y, T z) {
    return add(z, x < y ? subtract(y, x) : subtract(x, y));
}

// The condition code: one bit of each thread, which its next instruction reads.
static thread_local bool carry;
template <bool TAKES, bool SETS, class T>
__forceinline__ T add_with_carry(T x, T y) {
    T sum, result;
    const bool first = __builtin_add_overflow(x, y, &sum);
    const bool second = __builtin_add_overflow(sum, static_cast<T>(TAKES && carry), &result);
    if (SETS) carry = first || second;
    return result;
}
template <bool TAKES, bool SETS, class T>
__forceinline__ T subtract_with_carry(T x, T y) {
    T difference, result;
    const bool first = __builtin_sub_overflow(x, y, &difference);
    const bool second = __builtin_sub_overflow(difference, static_cast<T>(TAKES && carry), &result);
    if (SETS) carry = first || second;
    return result;
}

// Shifts by as many bits as there are, or more, leave none.
template <class T>
__forceinline__ T shift_left(T x, unsigned int count) {
    return count >= static_cast<unsigned int>(bits_of<T>)
               ? T(0)
               : static_cast<T>(static_cast<unsigned long long>(x) << count);
}
template <class T>
__forceinline__ T shift_right(T x, unsigned int count) {
    const unsigned int last = static_cast<unsigned int>(bits_of<T>) - 1;
    if (count > last) return is_signed<T> ? static_cast<T>(x >> last) : T(0);
    return static_cast<T>(x >> count);
}

template <class T>
inline T extract_bits(T x, unsigned int position, unsigned int length) {
    position &= 255;
    length &= 255;
    if (length == 0) return 0;
    const unsigned int all = static_cast<unsigned int>(bits_of<T>);
    const auto bit = [x](unsigned int k) {
        return static_cast<unsigned long long>(static_cast<unsigned_t<T>>(x)) >> k & 1u;
    };
    const unsigned int end = position + length;
    // Beyond the field, and beyond the word, are copies of its last bit.
    const unsigned int last = end - 1 < all - 1 ? end - 1 : all - 1;
    const bool sign = is_signed<T> && bit(last) != 0;
    unsigned long long result = 0;
    for (unsigned int k = 0; k < all; ++k) {
        const bool set = k < length && position + k < all ? bit(position + k) != 0 : sign;
        result |= static_cast<unsigned long long>(set) << k;
    }
    return static_cast<T>(result);
}
template <class T>
inline T insert_bits(T from, T into, unsigned int position, unsigned int length) {
    position &= 255;
    length &= 255;
    const unsigned int all = static_cast<unsigned int>(bits_of<T>);
    unsigned long long result = into;
    for (unsigned int k = 0; k < length && position + k < all; ++k) {
        const unsigned long long bit = 1ull << (position + k);
        result = (static_cast<unsigned long long>(from) >> k & 1u) != 0 ? result | bit : result & ~bit;
    }
    return static_cast<T>(result);
}
__forceinline__ unsigned int reverse_bits(unsigned int x) { return __brev(x); }
__forceinline__ unsigned long long reverse_bits(unsigned long long x) { return __brevll(x); }
template <class T>
__forceinline__ unsigned int count_bits(T x) {
    return static_cast<unsigned int>(__builtin_popcountll(x));
}
template <class T>
__forceinline__ unsigned int count_zeros(T x) {
    return x == 0 ? static_cast<unsigned int>(bits_of<T>)
                  : static_cast<unsigned int>(__builtin_clzll(x) + bits_of<T> - 64);
}
// The position of the highest bit that is not the sign's; all ones where there is none.
template <bool SHIFT, class T>
__forceinline__ unsigned int find_first(T x) {
    const unsigned_t<T> bits = static_cast<unsigned_t<T>>(is_signed<T> && x < 0 ? T(~x) : x);
    if (bits == 0) return ~0u;
    const unsigned int position = 63u - static_cast<unsigned int>(__builtin_clzll(bits));
    return SHIFT ? static_cast<unsigned int>(bits_of<T>) - 1 - position : position;
}
template <int MODE>
inline unsigned int permute(unsigned int x, unsigned int y, unsigned int selector) {
    const unsigned long long bytes = static_cast<unsigned long long>(y) << 32 | x;
    unsigned int result = 0;
    for (unsigned int k = 0; k < 4; ++k) {
        const unsigned int s = selector & 3;
        unsigned int pick = selector >> 4 * k & 15;
        if (MODE == 1) pick = s + k;
        if (MODE == 2) pick = (s - k) & 7;
        if (MODE == 3) pick = s;
        if (MODE == 4) pick = s > k ? s : k;
        if (MODE == 5) pick = s < k ? s : k;
        if (MODE == 6) pick = (s & 1) * 2 + (k & 1);
        unsigned int byte = static_cast<unsigned int>(bytes >> 8 * (pick & 7) & 0xff);
        if (pick & 8) byte = byte & 0x80 ? 0xff : 0;  // copies of the sign
        result |= byte << 8 * k;
    }
    return result;
}
__forceinline__ unsigned int look_up(unsigned int a, unsigned int b, unsigned int c,
                                     unsigned int table) {
    unsigned int result = 0;
    for (unsigned int k = 0; k < 8; ++k) {
        const unsigned int bits = (k & 4 ? a : ~a) & (k & 2 ? b : ~b) & (k & 1 ? c : ~c);
        if (table >> k & 1) result |= bits;
    }
    return result;
}

// ---- floats ----

// Zero of its sign for a subnormal number.
__forceinline__ float flush(float x) {
    return __builtin_fabsf(x) < 0x1p-126f ? __builtin_copysignf(0.0f, x) : x;
}
// Within [0, 1]; a NaN is zero.
template <class F>
__forceinline__ F unit(F x) {
    return x > 0 ? (x < 1 ? x : F(1)) : F(0);
}
template <class T>
__forceinline__ T minimum(T x, T y) {
    return min(x, y);
}
template <class T>
__forceinline__ T maximum(T x, T y) {
    return max(x, y);
}
// As on a GPU, zeros are ordered by their signs.
#define KERNELTK_PTX_EXTREME(F)                                                        \
    __forceinline__ F minimum(F x, F y) {                                              \
        if (x == y) return __builtin_signbit(x) ? x : y;                               \
        return ((x < y) | (y != y)) ? x : y;                                           \
    }                                                                                  \
    __forceinline__ F maximum(F x, F y) {                                              \
        if (x == y) return __builtin_signbit(x) ? y : x;                               \
        return ((x > y) | (y != y)) ? x : y;                                           \
    }                                                                                  \
    __forceinline__ F minimum_nan(F x, F y) { return x != x || y != y ? x + y : minimum(x, y); } \
    __forceinline__ F maximum_nan(F x, F y) { return x != x || y != y ? x + y : maximum(x, y); }
KERNELTK_PTX_EXTREME(float)
KERNELTK_PTX_EXTREME(double)
#undef KERNELTK_PTX_EXTREME
__forceinline__ float absolute(float x) { return __builtin_fabsf(x); }
__forceinline__ double absolute(double x) { return __builtin_fabs(x); }
template <class T>
__forceinline__ T absolute(T x) {
    return x < 0 ? subtract(T(0), x) : x;
}
__forceinline__ float negative(float x) { return -x; }
__forceinline__ double negative(double x) { return -x; }
template <class T>
__forceinline__ T negative(T x) {
    return subtract(T(0), x);
}
// The sign of the first and the size of the second.
__forceinline__ float copy_sign(float sign, float size) { return __builtin_copysignf(size, sign); }
__forceinline__ double copy_sign(double sign, double size) { return __builtin_copysign(size, sign); }

#define KERNELTK_PTX_INTEGRAL(direction, function)                                        \
    __forceinline__ float integral_##direction(float x) { return __builtin_##function##f(x); } \
    __forceinline__ double integral_##direction(double x) { return __builtin_##function(x); }
#define KERNELTK_PTX_DIRECTED(direction, function, sign)                                  \
    KERNELTK_PTX_INTEGRAL(direction, function)                                            \
    template <class F, class I>                                                           \
    __forceinline__ F to_float_##direction(I x) {                                         \
        return kerneltk::directed<F>(x, sign);                                            \
    }
KERNELTK_PTX_INTEGRAL(rn, rint)
KERNELTK_PTX_DIRECTED(rz, trunc, 0)
KERNELTK_PTX_DIRECTED(rd, floor, -1)
KERNELTK_PTX_DIRECTED(ru, ceil, 1)
#undef KERNELTK_PTX_DIRECTED
#undef KERNELTK_PTX_INTEGRAL
template <class F, class I>
__forceinline__ F to_float_rn(I x) {
    return static_cast<F>(x);
}
// A float of ten bits behind the point, rounded to nearest: ties away from zero, or to even.
template <bool AWAY, bool FINITE>
__forceinline__ unsigned int to_tf32(float x) {
    unsigned int bits = __builtin_bit_cast(unsigned int, x);
    if (x != x) return 0x7fffffffu;
    if ((bits & 0x7f800000u) != 0x7f800000u)
        bits = (bits + (AWAY ? 0x1000u : 0xfffu + (bits >> 13 & 1u))) & ~0x1fffu;
    const bool is_infinite = (bits & 0x7f800000u) == 0x7f800000u;
    return FINITE && is_infinite ? (bits & 0x80000000u) | 0x7f7fe000u : bits;
}

// ---- barriers ----

// The barriers of a block but the first, which all threads meet at. Threads of a block take turns.
struct named_barrier {
    unsigned int arrived, generation;
};
static thread_local named_barrier named_barriers[16];
static thread_local unsigned long long named_owner;

inline named_barrier& named(unsigned int number, const char* file, int line) {
    if (number > 15) kerneltk::grid::assertion_failed("barrier < 16", file, line);
    // A block may leave threads that have arrived behind: the next one has barriers of its own.
    if (named_owner != kerneltk::grid::blocks_begun) {
        named_owner = kerneltk::grid::blocks_begun;
        for (named_barrier& barrier : named_barriers) barrier = {};
    }
    return named_barriers[number];
}
// Barriers count whole warps, also one that has fewer lanes: its last one counts for those.
constexpr unsigned int whole_warps(unsigned int threads) { return (threads + 31) / 32 * 32; }
inline void count_arrival(named_barrier& barrier, unsigned int threads) {
    KERNELTK_ORDER
    const unsigned int all = blockDim.x * blockDim.y * blockDim.z;
    const bool is_last = kerneltk::grid::thread_rank() + 1 == all;
    barrier.arrived += is_last ? whole_warps(all) - all + 1 : 1;
    if (barrier.arrived == threads) {
        barrier.arrived = 0;
        ++barrier.generation;
    }
}
inline void meet(unsigned int number, unsigned int threads, KERNELTK_PLACE) {
    const unsigned int all = whole_warps(blockDim.x * blockDim.y * blockDim.z);
    threads = threads == 0 ? all : whole_warps(threads);
    if (number == 0 && threads == all) return _kt_block_barrier(_kt_file, _kt_line);
    named_barrier& barrier = named(number, _kt_file, _kt_line);
    const unsigned int generation = barrier.generation;
    count_arrival(barrier, threads);
    while (barrier.generation == generation) _kt_yield();
    KERNELTK_ORDER
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
}
inline void arrive(unsigned int number, unsigned int threads, KERNELTK_PLACE) {
    count_arrival(named(number, _kt_file, _kt_line), whole_warps(threads));
}

// ---- warps ----

// The source lane of a shuffle and whether it lies in the segment; `c` has the segment's mask and its
// last lane.
inline unsigned int exchanged(unsigned int value, unsigned int source, bool inside_segment,
                              unsigned int mask, bool& inside, const char* file, int line) {
    inside = inside_segment;
    return __shfl_sync(mask, value, static_cast<int>(inside ? source : _kt_lane()), 32, file, line);
}
#define KERNELTK_PTX_SHUFFLE(kind, expression, condition)                                          \
    inline unsigned int shuffle_##kind(unsigned int value, unsigned int operand, unsigned int c,   \
                                       unsigned int mask, bool& inside, KERNELTK_PLACE) {          \
        const int lane = static_cast<int>(_kt_lane()), b = static_cast<int>(operand & 31);         \
        const int segment = static_cast<int>(c >> 8 & 31), clamp = static_cast<int>(c & 31);       \
        [[maybe_unused]] const int last = (lane & segment) | (clamp & ~segment);                   \
        [[maybe_unused]] const int first = lane & segment;                                         \
        const int source = expression;                                                             \
        return exchanged(value, static_cast<unsigned int>(source), condition, mask, inside,        \
                         _kt_file, _kt_line);                                                      \
    }
KERNELTK_PTX_SHUFFLE(up, lane - b, source >= last)
KERNELTK_PTX_SHUFFLE(down, lane + b, source <= last)
KERNELTK_PTX_SHUFFLE(bfly, lane ^ b, source <= last)
KERNELTK_PTX_SHUFFLE(idx, first | (b & ~segment), source <= last)
#undef KERNELTK_PTX_SHUFFLE

inline bool is_uniform(unsigned int mask, bool predicate, KERNELTK_PLACE) {
    const unsigned int found = __ballot_sync(mask, predicate, _kt_file, _kt_line);
    return found == 0 || __popc(found) == __popc(mask);
}
// The leader of the lanes, which is the lowest.
inline unsigned int elect(unsigned int mask, KERNELTK_PLACE) {
    __syncwarp(mask, _kt_file, _kt_line);
    return static_cast<unsigned int>(__ffs(static_cast<int>(mask)) - 1);
}

}  // namespace kerneltk::ptx

// CUDA's <curand_kernel.h> for host compilers: generators of random numbers within a kernel.
//
// Integers and uniform numbers are cuRAND's to the last bit. What is made of them by logarithms and
// the like differs from a GPU's in its last digits, as those do.
//
//   XORWOW        G. Marsaglia, Xorshift RNGs, Journal of Statistical Software 8 (2003)
//   Philox        J. Salmon et al., Parallel Random Numbers: As Easy as 1, 2, 3, SC11
//   MRG32k3a      P. L'Ecuyer, Operations Research 47 (1999)
//   Sobol         I. Antonov, V. Saleev, USSR Comput. Math. Math. Phys. 19 (1980): Gray code
//   jumps         H. Haramoto et al., INFORMS Journal on Computing 20 (2008): XORWOW's, by polynomials
//   normal        G. Box, M. Muller, Annals of Mathematical Statistics 29 (1958)
#pragma once
#include <curand.h>
#include <kerneltk/core.hpp>
#include <kerneltk/host_intrinsics.hpp>
#include <kerneltk/host_vector.hpp>

// ---- states: their sizes and their first members are cuRAND's ----

struct curandStateXORWOW {
    unsigned int d, v[5];
    int boxmuller_flag, boxmuller_flag_double;
    float boxmuller_extra;
    double boxmuller_extra_double;
};
struct curandStatePhilox4_32_10 {
    uint4 ctr, output;
    uint2 key;
    unsigned int STATE;  // how many numbers of `output` were taken
    int boxmuller_flag, boxmuller_flag_double;
    float boxmuller_extra;
    double boxmuller_extra_double;
};
struct curandStateMRG32k3a {
    unsigned int s1[3], s2[3];
    int boxmuller_flag, boxmuller_flag_double;
    float boxmuller_extra;
    double boxmuller_extra_double;
};
static_assert(sizeof(curandStateXORWOW) == 48 && sizeof(curandStatePhilox4_32_10) == 64 &&
                  sizeof(curandStateMRG32k3a) == 48,
              "arrays of states have cuRAND's layout");

struct curandStateSobol32 {
    unsigned int i, x, c, direction_vectors[32];
};
struct curandStateScrambledSobol32 {
    unsigned int i, x, c, direction_vectors[32];
};
struct curandStateSobol64 {
    unsigned long long i, x, c, direction_vectors[64];
};
struct curandStateScrambledSobol64 {
    unsigned long long i, x, c, direction_vectors[64];
};

using curandState = curandStateXORWOW;
using curandState_t = curandStateXORWOW;
using curandStateXORWOW_t = curandStateXORWOW;
using curandStatePhilox4_32_10_t = curandStatePhilox4_32_10;
using curandStateMRG32k3a_t = curandStateMRG32k3a;
using curandStateSobol32_t = curandStateSobol32;
using curandStateScrambledSobol32_t = curandStateScrambledSobol32;
using curandStateSobol64_t = curandStateSobol64;
using curandStateScrambledSobol64_t = curandStateScrambledSobol64;

namespace kerneltk::random {

using word = unsigned int;
using wide = unsigned long long;

// ---- jumps ----

// The sequence of a state before it is moved to a thread's subsequence, and where it is then. Threads
// of a block come one after the other and mostly ask for successive subsequences, so that the last
// one is near the next.
template <class Position>
struct known_position {
    wide seed, subsequence;
    bool is_known;
    Position at;
};

// XORWOW without its counter: 160 bits, of which each step is a linear function. Its n-th power is
// the polynomial x^n modulo the characteristic polynomial of the step.
struct xorwow_bits {
    word v[5];

    static __forceinline__ void step(word (&v)[5]) {
        const word t = v[0] ^ v[0] >> 2, last = v[4];
        v[0] = v[1];
        v[1] = v[2];
        v[2] = v[3];
        v[3] = last;
        v[4] = last ^ last << 4 ^ t ^ t << 1;
    }
};
struct polynomial {
    word c[5];  // the coefficient of x^k is bit k

    // Becomes itself times x.
    void shift() {
        constexpr word characteristic[5] = {0x60001u, 0x8610030u, 0x62121u, 0xf3c0035u, 0xf0eu};
        const word carry = 0u - (c[4] >> 31);
        for (int k = 4; k > 0; --k) c[k] = (c[k] << 1 | c[k - 1] >> 31) ^ (characteristic[k] & carry);
        c[0] = c[0] << 1 ^ (characteristic[0] & carry);
    }
    void square() {
        polynomial result{};
        for (int k = 159; k >= 0; --k) {
            result.shift();
            const word factor = 0u - (c[k >> 5] >> (k & 31) & 1u);
            for (int j = 0; j < 5; ++j) result.c[j] ^= c[j] & factor;
        }
        *this = result;
    }
    void advance(xorwow_bits& bits) const {
        xorwow_bits sum{};
        for (int k = 0; k < 160; ++k) {
            const word factor = 0u - (c[k >> 5] >> (k & 31) & 1u);
            for (int j = 0; j < 5; ++j) sum.v[j] ^= bits.v[j] & factor;
            xorwow_bits::step(bits.v);
        }
        bits = sum;
    }
};

// MRG32k3a's two recurrences, as products with matrices.
constexpr wide modulus1 = 4294967087u, modulus2 = 4294944443u;
template <wide Modulus>
struct matrix {
    word m[3][3];

    void square() {
        matrix result;
        for (int i = 0; i < 3; ++i)
            for (int j = 0; j < 3; ++j) {
                wide sum = 0;
                for (int k = 0; k < 3; ++k) sum += static_cast<wide>(m[i][k]) * m[k][j] % Modulus;
                result.m[i][j] = static_cast<word>(sum % Modulus);
            }
        *this = result;
    }
    void advance(word (&s)[3]) const {
        word result[3];
        for (int i = 0; i < 3; ++i) {
            wide sum = 0;
            for (int k = 0; k < 3; ++k) sum += static_cast<wide>(m[i][k]) * s[k] % Modulus;
            result[i] = static_cast<word>(sum % Modulus);
        }
        for (int i = 0; i < 3; ++i) s[i] = result[i];
    }
};
struct mrg_position {
    word s1[3], s2[3];
};
struct mrg_jump {
    matrix<modulus1> first;
    matrix<modulus2> second;

    void square() {
        first.square();
        second.square();
    }
    template <class Position>
    void advance(Position& at) const {
        first.advance(at.s1);
        second.advance(at.s2);
    }
};

// Jumps n times as far as `jump` goes.
template <class Jump, class Position>
__attribute__((__noinline__)) void advance(Jump jump, wide n, Position& at) {
    for (; n != 0; n >>= 1) {
        if (n & 1) jump.advance(at);
        if (n > 1) jump.square();
    }
}

// One step; 2^67 and 2^76 of them, which is from one subsequence to the next; and for MRG32k3a 2^127.
constexpr polynomial xorwow_step = {{2u}};
constexpr polynomial xorwow_subsequence = {
    {0x26294934u, 0x77bbc248u, 0x1a87dad0u, 0x930052d4u, 0x947e6dd2u}};
constexpr mrg_jump mrg_step = {
    {{{0, 1, 0}, {0, 0, 1}, {4294156359u, 1403580, 0}}},
    {{{0, 1, 0}, {0, 0, 1}, {4293573854u, 0, 527612}}}};
constexpr mrg_jump mrg_subsequence = {
    {{{82758667u, 1871391091u, 4127413238u},
      {3672831523u, 69195019u, 1871391091u},
      {3672091415u, 3528743235u, 69195019u}}},
    {{{1511326704u, 3759209742u, 1610795712u},
      {4292754251u, 1511326704u, 3889917532u},
      {3859662829u, 4292754251u, 3708466080u}}}};

// Moves the first position of a seed's sequence to a subsequence.
template <class Jump, class Position>
inline void find_subsequence(const Jump& jump, wide seed, wide subsequence, Position& at) {
    static thread_local known_position<Position> last;
    if (subsequence == 0) return;
    wide distance = subsequence;
    if (last.is_known && last.seed == seed && last.subsequence <= subsequence) {
        at = last.at;
        distance = subsequence - last.subsequence;
    }
    advance(jump, distance, at);
    last = {seed, subsequence, true, at};
}

// ---- numbers ----

// In (0, 1].
__forceinline__ float uniform(word x) { return static_cast<float>(x) * 0x1p-32f + 0x1p-33f; }
__forceinline__ float uniform(wide x) { return uniform(static_cast<word>(x >> 32)); }
__forceinline__ double uniform_double(word x) { return x * 0x1p-32 + 0x1p-32; }
__forceinline__ double uniform_double(wide x) {
    return static_cast<double>(x >> 11) * 0x1p-53 + 0x1p-54;
}
// Of 53 bits, some of which two words share.
__forceinline__ wide joined(word x, word y) { return x ^ static_cast<wide>(y) << 21; }
__forceinline__ double uniform_double(word x, word y) {
    return static_cast<double>(joined(x, y)) * 0x1p-53 + 0x1p-54;
}

constexpr float two_pi = 6.2831855f;
constexpr double two_pi_double = 6.283185307179586;
constexpr double mrg_unit = 2.3283065498378288e-10;  // 1 / modulus1, as cuRAND has it

__forceinline__ float2 on_circle(float radius_of, float angle) {
    const float radius = sqrtf(-2.0f * logf(radius_of));
    return {sinf(angle) * radius, cosf(angle) * radius};
}
// `half_turns` is the angle in multiples of pi.
__forceinline__ double2 on_circle(double radius_of, double half_turns) {
    const double radius = sqrt(-2.0 * log(radius_of));
    return {sinpi(half_turns) * radius, cospi(half_turns) * radius};
}
__forceinline__ float2 normals(word x, word y) {
    constexpr float unit = 0x1p-32f * two_pi;
    return on_circle(uniform(x), static_cast<float>(y) * unit + unit / 2);
}
__forceinline__ double2 normals(word x0, word x1, word y0, word y1) {
    return on_circle(uniform_double(x0, x1),
                     static_cast<double>(joined(y0, y1)) * 0x1p-52 + 0x1p-53);
}

// The inverse of the normal distribution, mirrored at its middle.
inline float normal(word x) {
    const bool is_upper = x > 0x80000000u;
    const float tail = erfcinvf(2.0f * uniform(is_upper ? ~x : x));
    return (is_upper ? 1.4142135f : -1.4142135f) * tail;
}
inline float normal(wide x) { return normal(static_cast<word>(x >> 32)); }
inline double normal_double(word x) {
    const bool is_upper = x > 0x80000000u;
    const double tail = erfcinv(2.0 * ((is_upper ? ~x : x) * 0x1p-32 + 0x1p-33));
    return (is_upper ? 1.4142135623730951 : -1.4142135623730951) * tail;
}
inline double normal_double(wide x) {
    x >>= 11;
    const bool is_upper = x > 0x10000000000000u;
    const wide near = is_upper ? 0x1fffffffffffffu - x : x;
    const double tail = erfcinv(2.0 * (static_cast<double>(near) * 0x1p-53 + 0x1p-54));
    return (is_upper ? 1.4142135623730951 : -1.4142135623730951) * tail;
}

constexpr int has_normal = 1, has_log_normal = 2;

// The second number of a pair is kept for the next call of the same kind.
template <class Number, class Draw>
__forceinline__ Number paired(int& flag, Number& extra, int kind, Draw draw) {
    if (flag == kind) {
        flag = 0;
        return extra;
    }
    const auto pair = draw();
    extra = pair.y;
    flag = kind;
    return pair.x;
}
__forceinline__ float2 log_normal(float2 v, float mean, float deviation) {
    return {expf(mean + deviation * v.x), expf(mean + deviation * v.y)};
}
__forceinline__ double2 log_normal(double2 v, double mean, double deviation) {
    return {exp(mean + deviation * v.x), exp(mean + deviation * v.y)};
}

inline word rounded_normal(double normal, double lambda) {
    return static_cast<word>(sqrt(lambda) * normal + lambda + 0.5);
}

// The distribution function of the gamma distribution by a logistic one, and its inverse.
struct gamma_approximation {
    float a, scale, shift;

    explicit gamma_approximation(float shape)
        : a(shape),
          scale(1.43248035075540910f / sqrtf(shape - 0.12400979329415655f) + 0.00025361074907033f),
          shift(0.21096734870196546f / sqrtf(shape - 1.97381164089999420f) + 0.94201734077887530f) {
    }
    float at(float x) const {
        const float t = 1.0f + expf(scale * (a - x) - shift);
        return 1.0f / (t * t);
    }
    float inverse(float y) const {
        return a - (shift + logf(1.0f / sqrtf(y) - 1.0f)) * (1.0f / scale);
    }
};

// As many factors as keep a product above one (D. Knuth, The Art of Computer Programming 2).
template <class State>
__attribute__((__noinline__)) word poisson_by_products(State* state, float lambda) {
    word count = 0;
    for (float product = expf(lambda); (product *= curand_uniform(state)) > 1.0f;) ++count;
    return count;
}
// By rejection: of a gamma distribution's steps those below the distribution that is wanted.
template <class State>
__attribute__((__noinline__)) word poisson_by_rejection(State* state, float lambda) {
    const gamma_approximation gamma(lambda);
    const float logarithm = logf(lambda);
    for (;;) {
        const float x = floorf(gamma.inverse(curand_uniform(state)));
        const float height = curand_uniform(state);
        const float step = (gamma.at(x + 1.0f) - gamma.at(x)) * 1.3f;
        const float factorial =
            static_cast<float>(lgamma(static_cast<double>(static_cast<int>(1.0f + x))));
        const float wanted = expf(-lambda + x * logarithm - factorial);
        if (height * step < wanted && step >= 1e-20f) return static_cast<word>(x);
    }
}
template <class State>
inline word poisson(State* state, double lambda);

// By inversion of one number (G. Fishman, Discrete-Event Simulation). exp(-lambda) may be too small
// for a double, so that it is multiplied in parts.
template <class Bits>
__attribute__((__noinline__)) word poisson_by_inversion(Bits bits, double lambda) {
    constexpr double part = 500.0;
    double u;
    if constexpr (sizeof(Bits) == 4)
        u = bits * 0x1p-32 + 0x1p-33;
    else
        u = static_cast<double>(bits >> 11) * 0x1p-53 + 0x1p-55;
    double probability = 1.0, sum = 1.0, done = 0.0;
    word count = 0;
    do {
        const double factor = exp(lambda > done + part ? -part : done - lambda);
        probability *= factor;
        sum *= factor;
        done += part;
        while (u > sum) {
            ++count;
            probability *= lambda / count;
            sum += probability;
        }
    } while (done < lambda);
    return count;
}

__forceinline__ uint4 philox(uint4 counter, uint2 key) {
    for (int round = 0; round < 10; ++round) {
        const wide first = static_cast<wide>(counter.x) * 0xd2511f53u;
        const wide second = static_cast<wide>(counter.z) * 0xcd9e8d57u;
        counter = {static_cast<word>(second >> 32) ^ counter.y ^ key.x, static_cast<word>(second),
                   static_cast<word>(first >> 32) ^ counter.w ^ key.y, static_cast<word>(first)};
        key.x += 0x9e3779b9u;
        key.y += 0xbb67ae85u;
    }
    return counter;
}
// Adds n to the counter's 128 bits and makes the numbers that it stands for.
inline void advance_counter(curandStatePhilox4_32_10* state, wide n) {
    const wide low = state->ctr.x | static_cast<wide>(state->ctr.y) << 32;
    wide high = state->ctr.z | static_cast<wide>(state->ctr.w) << 32;
    high += low + n < low;
    state->ctr = {static_cast<word>(low + n), static_cast<word>((low + n) >> 32),
                  static_cast<word>(high), static_cast<word>(high >> 32)};
    state->output = philox(state->ctr, state->key);
}

// The next number of MRG32k3a: 1 to modulus1.
inline word mrg(curandStateMRG32k3a* state) {
    word *a = state->s1, *b = state->s2;
    const word p = static_cast<word>(
        (1403580ull * a[1] + 810728ull * (static_cast<word>(modulus1) - a[0])) % modulus1);
    const word q = static_cast<word>(
        (527612ull * b[2] + 1370589ull * (static_cast<word>(modulus2) - b[0])) % modulus2);
    a[0] = a[1];
    a[1] = a[2];
    a[2] = p;
    b[0] = b[1];
    b[1] = b[2];
    b[2] = q;
    return p - q + (p <= q ? static_cast<word>(modulus1) : 0u);
}

template <class State>
__forceinline__ void clear_pairs(State* state) {
    state->boxmuller_flag = state->boxmuller_flag_double = 0;
    state->boxmuller_extra = 0;
    state->boxmuller_extra_double = 0;
}

}  // namespace kerneltk::random

// ---- XORWOW ----

inline unsigned int curand(curandStateXORWOW* state) {
    kerneltk::random::xorwow_bits::step(state->v);
    state->d += 362437u;
    return state->v[4] + state->d;
}
inline void skipahead(unsigned long long n, curandStateXORWOW* state) {
    kerneltk::random::xorwow_bits bits;
    __builtin_memcpy(&bits, state->v, sizeof(bits));
    if (n < 256)
        for (unsigned long long k = 0; k < n; ++k) kerneltk::random::xorwow_bits::step(bits.v);
    else
        kerneltk::random::advance(kerneltk::random::xorwow_step, n, bits);
    __builtin_memcpy(state->v, &bits, sizeof(bits));
    state->d += 362437u * static_cast<unsigned int>(n);
}
// The counter is the same after 2^67 steps.
inline void skipahead_sequence(unsigned long long n, curandStateXORWOW* state) {
    kerneltk::random::xorwow_bits bits;
    __builtin_memcpy(&bits, state->v, sizeof(bits));
    kerneltk::random::advance(kerneltk::random::xorwow_subsequence, n, bits);
    __builtin_memcpy(state->v, &bits, sizeof(bits));
}
inline void curand_init(unsigned long long seed, unsigned long long subsequence,
                        unsigned long long offset, curandStateXORWOW* state) {
    const unsigned int low = 1099087573u * (static_cast<unsigned int>(seed) ^ 0xaad26b49u);
    const unsigned int high = 2591861531u * (static_cast<unsigned int>(seed >> 32) ^ 0xf7dcefddu);
    kerneltk::random::xorwow_bits bits = {{123456789u + low, 362436069u ^ low, 521288629u + high,
                                           88675123u ^ high, 5783321u + low}};
    kerneltk::random::find_subsequence(kerneltk::random::xorwow_subsequence, seed, subsequence,
                                       bits);
    __builtin_memcpy(state->v, &bits, sizeof(bits));
    state->d = 6615241u + low + high;
    kerneltk::random::clear_pairs(state);
    skipahead(offset, state);
}
inline float curand_uniform(curandStateXORWOW* state) {
    return kerneltk::random::uniform(curand(state));
}
inline double curand_uniform_double(curandStateXORWOW* state) {
    const unsigned int x = curand(state);
    return kerneltk::random::uniform_double(x, curand(state));
}
inline float2 curand_normal2(curandStateXORWOW* state) {
    const unsigned int x = curand(state);
    return kerneltk::random::normals(x, curand(state));
}
inline double2 curand_normal2_double(curandStateXORWOW* state) {
    unsigned int x[4];
    for (unsigned int& number : x) number = curand(state);
    return kerneltk::random::normals(x[0], x[1], x[2], x[3]);
}

// ---- Philox4x32-10 ----

inline void skipahead(unsigned long long n, curandStatePhilox4_32_10* state) {
    const unsigned int taken = state->STATE + static_cast<unsigned int>(n & 3);
    state->STATE = taken & 3;
    kerneltk::random::advance_counter(state, n / 4 + taken / 4);
}
inline void skipahead_sequence(unsigned long long n, curandStatePhilox4_32_10* state) {
    n += state->ctr.z | static_cast<unsigned long long>(state->ctr.w) << 32;
    state->ctr.z = static_cast<unsigned int>(n);
    state->ctr.w = static_cast<unsigned int>(n >> 32);
    kerneltk::random::advance_counter(state, 0);
}
inline void curand_init(unsigned long long seed, unsigned long long subsequence,
                        unsigned long long offset, curandStatePhilox4_32_10* state) {
    state->ctr = {0, 0, static_cast<unsigned int>(subsequence),
                  static_cast<unsigned int>(subsequence >> 32)};
    state->key = {static_cast<unsigned int>(seed), static_cast<unsigned int>(seed >> 32)};
    state->STATE = 0;
    kerneltk::random::clear_pairs(state);
    skipahead(offset, state);
}
inline unsigned int curand(curandStatePhilox4_32_10* state) {
    const uint4 four = state->output;
    const unsigned int taken = state->STATE;
    state->STATE = (taken + 1) & 3;
    if (state->STATE == 0) kerneltk::random::advance_counter(state, 1);
    return taken == 0 ? four.x : taken == 1 ? four.y : taken == 2 ? four.z : four.w;
}
inline uint4 curand4(curandStatePhilox4_32_10* state) {
    const uint4 old = state->output;
    kerneltk::random::advance_counter(state, 1);
    const uint4 next = state->output;
    if (state->STATE == 0) return old;
    if (state->STATE == 1) return {old.y, old.z, old.w, next.x};
    if (state->STATE == 2) return {old.z, old.w, next.x, next.y};
    return {old.w, next.x, next.y, next.z};
}
inline float curand_uniform(curandStatePhilox4_32_10* state) {
    return kerneltk::random::uniform(curand(state));
}
inline float4 curand_uniform4(curandStatePhilox4_32_10* state) {
    const uint4 x = curand4(state);
    return {kerneltk::random::uniform(x.x), kerneltk::random::uniform(x.y),
            kerneltk::random::uniform(x.z), kerneltk::random::uniform(x.w)};
}
// Of one word: a multiple of 2^-32.
inline double curand_uniform_double(curandStatePhilox4_32_10* state) {
    return kerneltk::random::uniform_double(curand(state));
}
inline double2 curand_uniform2_double(curandStatePhilox4_32_10* state) {
    const uint4 x = curand4(state);
    return {kerneltk::random::uniform_double(x.x, x.y), kerneltk::random::uniform_double(x.z, x.w)};
}
inline double4 curand_uniform4_double(curandStatePhilox4_32_10* state) {
    const double2 x = curand_uniform2_double(state), y = curand_uniform2_double(state);
    return {x.x, x.y, y.x, y.y};
}
inline float2 curand_normal2(curandStatePhilox4_32_10* state) {
    const unsigned int x = curand(state);
    return kerneltk::random::normals(x, curand(state));
}
inline float4 curand_normal4(curandStatePhilox4_32_10* state) {
    const uint4 x = curand4(state);
    const float2 first = kerneltk::random::normals(x.x, x.y);
    const float2 second = kerneltk::random::normals(x.z, x.w);
    return {first.x, first.y, second.x, second.y};
}
inline double2 curand_normal2_double(curandStatePhilox4_32_10* state) {
    const uint4 x = curand4(state);
    return kerneltk::random::normals(x.x, x.y, x.z, x.w);
}
inline double4 curand_normal4_double(curandStatePhilox4_32_10* state) {
    const double2 x = curand_normal2_double(state), y = curand_normal2_double(state);
    return {x.x, x.y, y.x, y.y};
}
inline float4 curand_log_normal4(curandStatePhilox4_32_10* state, float mean, float stddev) {
    const float4 v = curand_normal4(state);
    return {expf(mean + stddev * v.x), expf(mean + stddev * v.y), expf(mean + stddev * v.z),
            expf(mean + stddev * v.w)};
}
inline double4 curand_log_normal4_double(curandStatePhilox4_32_10* state, double mean,
                                         double stddev) {
    const double4 v = curand_normal4_double(state);
    return {exp(mean + stddev * v.x), exp(mean + stddev * v.y), exp(mean + stddev * v.z),
            exp(mean + stddev * v.w)};
}
inline uint4 curand_poisson4(curandStatePhilox4_32_10* state, double lambda) {
    if (lambda > 4000) {
        const double4 v = curand_normal4_double(state);
        return {kerneltk::random::rounded_normal(v.x, lambda),
                kerneltk::random::rounded_normal(v.y, lambda),
                kerneltk::random::rounded_normal(v.z, lambda),
                kerneltk::random::rounded_normal(v.w, lambda)};
    }
    unsigned int x[4];
    for (unsigned int& number : x) number = kerneltk::random::poisson(state, lambda);
    return {x[0], x[1], x[2], x[3]};
}

// ---- MRG32k3a ----

inline void skipahead(unsigned long long n, curandStateMRG32k3a* state) {
    kerneltk::random::advance(kerneltk::random::mrg_step, n, *state);
}
inline void skipahead_subsequence(unsigned long long n, curandStateMRG32k3a* state) {
    kerneltk::random::advance(kerneltk::random::mrg_subsequence, n, *state);
}
inline void skipahead_sequence(unsigned long long n, curandStateMRG32k3a* state) {
    kerneltk::random::mrg_jump jump = kerneltk::random::mrg_subsequence;
    for (int power = 76; power < 127; ++power) jump.square();
    kerneltk::random::advance(jump, n, *state);
}
inline void curand_init(unsigned long long seed, unsigned long long subsequence,
                        unsigned long long offset, curandStateMRG32k3a* state) {
    const unsigned long long low = seed != 0 ? static_cast<unsigned int>(seed) ^ 0x55555555u : 1;
    const unsigned long long high =
        seed != 0 ? static_cast<unsigned int>(seed >> 32) ^ 0xaaaaaaaau : 1;
    using kerneltk::random::modulus1;
    using kerneltk::random::modulus2;
    const auto low1 = static_cast<unsigned int>(low * 12345u % modulus1);
    const auto high1 = static_cast<unsigned int>(high * 12345u % modulus1);
    const auto low2 = static_cast<unsigned int>(low * 12345u % modulus2);
    const auto high2 = static_cast<unsigned int>(high * 12345u % modulus2);
    kerneltk::random::mrg_position at = {{low1, high1, low1}, {high2, low2, high2}};
    kerneltk::random::find_subsequence(kerneltk::random::mrg_subsequence, seed, subsequence, at);
    kerneltk::random::advance(kerneltk::random::mrg_step, offset, at);
    __builtin_memcpy(state->s1, at.s1, sizeof(at.s1));
    __builtin_memcpy(state->s2, at.s2, sizeof(at.s2));
    kerneltk::random::clear_pairs(state);
}
inline unsigned int curand(curandStateMRG32k3a* state) {
    return static_cast<unsigned int>(kerneltk::random::mrg(state) * 1.000000048662);
}
inline double curand_uniform_double(curandStateMRG32k3a* state) {
    return kerneltk::random::mrg(state) * kerneltk::random::mrg_unit;
}
inline float curand_uniform(curandStateMRG32k3a* state) {
    return static_cast<float>(curand_uniform_double(state));
}
inline float2 curand_normal2(curandStateMRG32k3a* state) {
    const float x = curand_uniform(state);
    return kerneltk::random::on_circle(x, curand_uniform(state) * kerneltk::random::two_pi);
}
inline double2 curand_normal2_double(curandStateMRG32k3a* state) {
    const double x = curand_uniform_double(state);
    return kerneltk::random::on_circle(x, curand_uniform_double(state) * 2.0);
}

// ---- Sobol: one dimension, its points by a Gray code ----

#define KERNELTK_SOBOL(State, Word, Vectors)                                                    \
    inline void skipahead(Word n, State* state) {                                               \
        state->i += n;                                                                          \
        state->x = state->c;                                                                    \
        for (Word gray = state->i ^ state->i >> 1, k = 0; gray != 0; gray >>= 1, ++k)           \
            if (gray & 1) state->x ^= state->direction_vectors[k];                              \
    }                                                                                           \
    inline Word curand(State* state) {                                                          \
        constexpr int bits = 8 * static_cast<int>(sizeof(Word));                                \
        const Word result = state->x, zeros = ~state->i++;                                      \
        const int flipped = zeros != 0 ? __builtin_ctzll(zeros) : bits - 1;                     \
        state->x ^= state->direction_vectors[flipped];                                          \
        return result;                                                                          \
    }                                                                                           \
    inline float curand_uniform(State* state) {                                                 \
        return kerneltk::random::uniform(curand(state));                                        \
    }                                                                                           \
    inline double curand_uniform_double(State* state) {                                         \
        return kerneltk::random::uniform_double(curand(state));                                 \
    }                                                                                           \
    inline float curand_normal(State* state) {                                                  \
        return kerneltk::random::normal(curand(state));                                         \
    }                                                                                           \
    inline double curand_normal_double(State* state) {                                          \
        return kerneltk::random::normal_double(curand(state));                                  \
    }                                                                                           \
    inline float curand_log_normal(State* state, float mean, float stddev) {                    \
        return expf(mean + stddev * curand_normal(state));                                      \
    }                                                                                           \
    inline double curand_log_normal_double(State* state, double mean, double stddev) {          \
        return exp(mean + stddev * curand_normal_double(state));                                \
    }                                                                                           \
    inline unsigned int curand_poisson(State* state, double lambda) {                           \
        const Word bits = curand(state);                                                        \
        if (lambda < 1000) return kerneltk::random::poisson_by_inversion(bits, lambda);         \
        return kerneltk::random::rounded_normal(kerneltk::random::normal_double(bits), lambda); \
    }
#define KERNELTK_SOBOL_PLAIN(State, Word, Vectors)                                              \
    KERNELTK_SOBOL(State, Word, Vectors)                                                        \
    inline void curand_init(Vectors vectors, Word offset, State* state) {                       \
        __builtin_memcpy(state->direction_vectors, vectors, sizeof(state->direction_vectors));  \
        state->i = state->c = 0;                                                                \
        skipahead(offset, state);                                                               \
    }
#define KERNELTK_SOBOL_SCRAMBLED(State, Word, Vectors)                                          \
    KERNELTK_SOBOL(State, Word, Vectors)                                                        \
    inline void curand_init(Vectors vectors, Word scramble, Word offset, State* state) {        \
        __builtin_memcpy(state->direction_vectors, vectors, sizeof(state->direction_vectors));  \
        state->i = 0;                                                                           \
        state->c = scramble;                                                                    \
        skipahead(offset, state);                                                               \
    }
KERNELTK_SOBOL_PLAIN(curandStateSobol32, unsigned int, curandDirectionVectors32_t)
KERNELTK_SOBOL_PLAIN(curandStateSobol64, unsigned long long, curandDirectionVectors64_t)
KERNELTK_SOBOL_SCRAMBLED(curandStateScrambledSobol32, unsigned int, curandDirectionVectors32_t)
KERNELTK_SOBOL_SCRAMBLED(curandStateScrambledSobol64, unsigned long long,
                         curandDirectionVectors64_t)
#undef KERNELTK_SOBOL_SCRAMBLED
#undef KERNELTK_SOBOL_PLAIN
#undef KERNELTK_SOBOL

// ---- what the three generators of pairs share ----

#define KERNELTK_PAIRS(State)                                                                   \
    inline float curand_normal(State* state) {                                                  \
        return kerneltk::random::paired(state->boxmuller_flag, state->boxmuller_extra,          \
                                        kerneltk::random::has_normal,                           \
                                        [=] { return curand_normal2(state); });                 \
    }                                                                                           \
    inline double curand_normal_double(State* state) {                                          \
        return kerneltk::random::paired(                                                        \
            state->boxmuller_flag_double, state->boxmuller_extra_double,                        \
            kerneltk::random::has_normal, [=] { return curand_normal2_double(state); });        \
    }                                                                                           \
    inline float2 curand_log_normal2(State* state, float mean, float stddev) {                  \
        return kerneltk::random::log_normal(curand_normal2(state), mean, stddev);               \
    }                                                                                           \
    inline double2 curand_log_normal2_double(State* state, double mean, double stddev) {        \
        return kerneltk::random::log_normal(curand_normal2_double(state), mean, stddev);        \
    }                                                                                           \
    inline float curand_log_normal(State* state, float mean, float stddev) {                    \
        return kerneltk::random::paired(                                                        \
            state->boxmuller_flag, state->boxmuller_extra, kerneltk::random::has_log_normal,    \
            [=] { return curand_log_normal2(state, mean, stddev); });                           \
    }                                                                                           \
    inline double curand_log_normal_double(State* state, double mean, double stddev) {          \
        return kerneltk::random::paired(                                                        \
            state->boxmuller_flag_double, state->boxmuller_extra_double,                        \
            kerneltk::random::has_log_normal,                                                   \
            [=] { return curand_log_normal2_double(state, mean, stddev); });                    \
    }                                                                                           \
    inline unsigned int curand_poisson(State* state, double lambda) {                           \
        return kerneltk::random::poisson(state, lambda);                                        \
    }
KERNELTK_PAIRS(curandStateXORWOW)
KERNELTK_PAIRS(curandStatePhilox4_32_10)
KERNELTK_PAIRS(curandStateMRG32k3a)
#undef KERNELTK_PAIRS

template <class State>
inline unsigned int kerneltk::random::poisson(State* state, double lambda) {
    if (lambda < 64) return poisson_by_products(state, static_cast<float>(lambda));
    if (lambda > 4000) return rounded_normal(curand_normal_double(state), lambda);
    return poisson_by_rejection(state, static_cast<float>(lambda));
}

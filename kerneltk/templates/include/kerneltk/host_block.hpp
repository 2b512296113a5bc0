// Kernels that run a whole block at a time: loops over its threads stand between their barriers.
//
// Such a block function is generated (kerneltk.jit.passes.barrier_fission). KERNELTK_BLOCK_ENTRY
// makes an entry of it, as KERNELTK_ENTRY does of a kernel. It looks like this:
//
//     static inline __attribute__((always_inline)) void f(const float* x, long long n) {
//         KERNELTK_BLOCK_BEGIN                 // blockIdx, blockDim, gridDim and __syncthreads
//         KERNELTK_PER_THREAD(sum, float)      // sum[_kt_rank] is the thread's own
//         for (long long k = 0; k < n; ++k) {  // the same in all threads
//             KERNELTK_THREADS_BEGIN           // threadIdx and _kt_rank
//                 if (x[k] < 0) goto _kt_done; // ends what this thread does here
//                 sum[_kt_rank] += x[k];
//             KERNELTK_THREADS_END
//             __syncthreads();
//         }
//     }
//
// No thread ever waits. The innermost loop is the one along x, which can be vectorised.
#pragma once

#include <kerneltk/host_grid.hpp>

namespace kerneltk::grid {

// Stands for the runtime's engine meanwhile. Who would let others run comes back at once: there is
// no stack that a thread could be suspended on. What is left out is never called.
struct unsuspended : engine {
    calls own;
    engine* real;

    static int yield(engine*) { return 0; }
    static void assertion(engine* e, const char* condition, const char* file, int line) {
        engine* const other = static_cast<unsuspended*>(e)->real;
        other->runtime->assertion(other, condition, file, line);
    }
    void stand_for(engine* e) {
        own.yield = yield;
        own.assertion = assertion;
        own.sleep = e->runtime->sleep;
        own.time = e->runtime->time;
        own.memory = e->runtime->memory;
        runtime = &own;
        real = e;
    }
};
static thread_local unsuspended own_unsuspended;

// What __syncthreads is between two loops over the threads: no thread has to wait. Checks of memory
// are told, since accesses before it are ordered before those behind it.
struct passed_barrier {
    inline __attribute__((always_inline)) void operator()() const {
#ifdef KERNELTK_CHECK_MEMORY
        memory::pass_barrier();
#endif
    }
};

// A thread's, as wide as index arithmetic is: the compiler then sees that an index grows by one.
struct coordinates {
    long long x, y, z;
};

// Copies, in pieces: see `apart`.
#define KERNELTK_COPY(name)                                         \
    inline __attribute__((always_inline)) uint3 copy_of_##name() {  \
        uint3 copy;                                                 \
        copy.x = name.x;                                            \
        apart();                                                    \
        copy.y = name.y;                                            \
        apart();                                                    \
        copy.z = name.z;                                            \
        return copy;                                                \
    }
KERNELTK_COPY(blockIdx)
KERNELTK_COPY(blockDim)
KERNELTK_COPY(gridDim)
#undef KERNELTK_COPY

// How many of n threads meet a condition that holds up to one of them.
template <class Holds>
inline __attribute__((always_inline)) long long holds_up_to(long long n, Holds holds) {
    if (holds(n - 1)) return n;
    if (!holds(0)) return 0;
    long long begin = 0, end = n - 1;
    while (begin < end) {
        const long long middle = (begin + end) / 2;
        if (holds(middle))
            begin = middle + 1;
        else
            end = middle;
    }
    return begin;
}

// The type of memory of a thread's own that has a shape: row<float, 4, 2>::type is float[4][2].
template <class T, long long... Extents>
struct row {
    using type = T;
};
template <class T, long long Extent, long long... Others>
struct row<T, Extent, Others...> {
    using type = typename row<T, Others...>::type[Extent];
};

template <auto F, class Type = decltype(F)>
struct block_function;

template <auto F, class... P>
struct block_function<F, void (*)(P...)> {
    // Nobody is suspended, so that nobody goes on.
    static void go_on(const void*, unsigned int) { __builtin_trap(); }

    template <int... K>
    static inline __attribute__((always_inline)) void each(const void* block, long long begin,
                                                           long long end, indices<K...>) {
        const char* const start = static_cast<const char*>(block);
        const arguments<indices<K...>, P...> own = {
            {parameter<P>(start + parameter_offset<P...>(K))}...};
        each_block(block, begin, end, [&]() __attribute__((always_inline)) {
            F(static_cast<const argument<K, P>&>(own).value...);
        });
    }

    static inline __attribute__((always_inline)) void blocks(const void* block, long long begin,
                                                             long long end) {
        static constexpr unit own = {where, go_on, checked_memory};
        engine* const e = enter(block, own);
        own_unsuspended.stand_for(e);
        own_engine = &own_unsuspended;
        set_thread(0, 0, 0);
        guard_shared(e, block);
        each(block, begin, end, typename count_up<sizeof...(P)>::type());
    }
};

}  // namespace kerneltk::grid

template <auto _kt_F>
inline __attribute__((always_inline)) void _kt_run_blocks(const void* block, long long begin,
                                                          long long end) {
    kerneltk::grid::block_function<_kt_F>::blocks(block, begin, end);
}

// Defines the entry of a block function, which is named in parentheses.
#define KERNELTK_BLOCK_ENTRY(symbol, name)                                                       \
    extern "C" __attribute__((__visibility__("default"))) void symbol(                           \
        const void* _kt_block, long long _kt_begin, long long _kt_end) {                         \
        ::_kt_run_blocks<&KERNELTK_UNWRAP name>(_kt_block, _kt_begin, _kt_end);                  \
    }

// The first line of a block function. Coordinates become variables of its own: no store can change
// them, as far as the compiler is concerned.
#define KERNELTK_BLOCK_BEGIN                                                                     \
    [[maybe_unused]] const uint3 blockIdx = ::kerneltk::grid::copy_of_blockIdx();                \
    [[maybe_unused]] const uint3 blockDim = ::kerneltk::grid::copy_of_blockDim();                \
    [[maybe_unused]] const uint3 gridDim = ::kerneltk::grid::copy_of_gridDim();                  \
    [[maybe_unused]] constexpr ::kerneltk::grid::passed_barrier __syncthreads;                   \
    const int _kt_width = static_cast<int>(blockDim.x);                                          \
    const int _kt_height = static_cast<int>(blockDim.y);                                         \
    const int _kt_depth = static_cast<int>(blockDim.z);                                          \
    __builtin_assume(_kt_width >= 1 && _kt_width <= 1024);                                       \
    __builtin_assume(_kt_height >= 1 && _kt_height <= 1024);                                     \
    __builtin_assume(_kt_depth >= 1 && _kt_depth <= 64);

// Memory of which each thread has its own; the type comes last, since it may have commas. It lies
// with the shared memory: stacks that kernels run on may be small, and 1024 elements for each of
// many variables are not. Nothing initialises it.
#define KERNELTK_PER_THREAD(name, ...)                                                           \
    alignas(64) static thread_local unsigned char                                                \
        name##_of_threads[::kerneltk::grid::most_threads * sizeof(__VA_ARGS__)];                 \
    auto* const name = reinterpret_cast<__VA_ARGS__*>(name##_of_threads);

// Before a short loop of a thread, of a known number of rounds: inside of another loop neither
// compiler vectorises that one, clang never does.
#ifdef __clang__
#define KERNELTK_UNROLLED _Pragma("clang loop unroll(full)")
#else
#define KERNELTK_UNROLLED _Pragma("GCC unroll 64")
#endif

#ifdef KERNELTK_EXACT_THREADS
#define KERNELTK_SET_THREAD(k)                    \
    ::threadIdx.x = static_cast<unsigned int>(k); \
    ::kerneltk::grid::apart();
#define KERNELTK_NOTE_THREAD KERNELTK_SET_THREAD
#else
#define KERNELTK_SET_THREAD(k) ::threadIdx.x = static_cast<unsigned int>(k);
#define KERNELTK_NOTE_THREAD(k)
#endif

// Runs what comes up to KERNELTK_THREADS_END for each thread. The global coordinates are kept for
// who asks where a fault happened: x is then beyond the block if no thread is written down.
#define KERNELTK_THREADS_BEGIN                                                                   \
    KERNELTK_ROWS KERNELTK_ROW(0, _kt_width, KERNELTK_NOTE_THREAD)
// The same where functions are called that ask for their coordinates.
#define KERNELTK_CALLING_THREADS_BEGIN                                                           \
    KERNELTK_ROWS KERNELTK_ROW(0, _kt_width, KERNELTK_SET_THREAD)
// The same for the threads that meet two conditions: one that holds from some thread of a row on,
// and one that holds up to some thread. Both are in parentheses. Nothing then needs a mask.
#define KERNELTK_SOME_THREADS_BEGIN(first, last)                                                 \
    KERNELTK_ROWS KERNELTK_BOUNDS(first, last)                                                   \
    KERNELTK_ROW(_kt_begin, _kt_end, KERNELTK_NOTE_THREAD)
#define KERNELTK_CALLING_SOME_THREADS_BEGIN(first, last)                                         \
    KERNELTK_ROWS KERNELTK_BOUNDS(first, last)                                                   \
    KERNELTK_ROW(_kt_begin, _kt_end, KERNELTK_SET_THREAD)

#define KERNELTK_ROWS                                                                            \
    ::threadIdx.x = blockDim.x;                                                                  \
    for (int _kt_z = 0; _kt_z < _kt_depth; ++_kt_z) {                                            \
        ::threadIdx.z = static_cast<unsigned int>(_kt_z);                                        \
        for (int _kt_y = 0; _kt_y < _kt_height; ++_kt_y) {                                       \
            ::threadIdx.y = static_cast<unsigned int>(_kt_y);                                    \
            ::kerneltk::grid::apart();                                                           \
            const int _kt_first = (_kt_z * _kt_height + _kt_y) * _kt_width;
#define KERNELTK_BOUNDS(first, last)                                                             \
            const long long _kt_end = ::kerneltk::grid::holds_up_to(                             \
                _kt_width, KERNELTK_CONDITION(last));                                            \
            const long long _kt_begin = ::kerneltk::grid::holds_up_to(                           \
                _kt_width, KERNELTK_CONDITION(!first));
#define KERNELTK_CONDITION(condition)                                                            \
    [&](long long _kt_x) __attribute__((always_inline)) {                                        \
        [[maybe_unused]] const ::kerneltk::grid::coordinates threadIdx = {_kt_x, _kt_y, _kt_z};  \
        return condition;                                                                        \
    }
// No pragma declares the rounds free of dependences: local arrays, and the coordinates that are
// written down, lie in memory that all of them share (clang 22 gave threads the values of others),
// and the loops are vectorised without one.
#define KERNELTK_ROW(begin, end, note)                                                           \
            for (long long _kt_x = begin; _kt_x < end; ++_kt_x) {                                \
                __label__ _kt_done;                                                              \
                [[maybe_unused]] const ::kerneltk::grid::coordinates threadIdx = {_kt_x, _kt_y,  \
                                                                                  _kt_z};        \
                [[maybe_unused]] const long long _kt_rank = _kt_first + _kt_x;                   \
                note(_kt_x) {
#define KERNELTK_THREADS_END                                                                     \
                }                                                                                \
            _kt_done:;                                                                           \
            }                                                                                    \
        }                                                                                        \
    }                                                                                            \
    ::kerneltk::grid::set_thread(0, 0, 0);

// Barriers of blocks and grids, and what else lets a thread wait or tell the time.
//
// Each function gets the place of its call, so that a barrier that not all threads reach can be
// told by its line.
#pragma once

#define KERNELTK_PLACE \
    const char *_kt_file = __builtin_FILE(), int _kt_line = __builtin_LINE()

inline void _kt_block_barrier(const char* file, int line) {
    kerneltk::grid::wait_in([=](kerneltk::grid::engine* e) {
        return e->runtime->barrier(e, file, line);
    });
}
// Adds up a value of each thread; the sum in the lower half, the number of threads in the upper.
inline unsigned long long _kt_block_sum(unsigned int value, const char* file, int line) {
    unsigned long long result;
    kerneltk::grid::wait_in([&](kerneltk::grid::engine* e) {
        return e->runtime->vote(e, value, &result, file, line);
    });
    return result;
}
// Every thread of every block; only in a cooperative launch.
inline void _kt_grid_barrier(const char* file, int line) {
    kerneltk::grid::wait_in([=](kerneltk::grid::engine* e) {
        return e->runtime->grid_barrier(e, file, line);
    });
}
inline bool _kt_is_cooperative() {
    return kerneltk::grid::own_launch->flags & kerneltk::grid::cooperative_flag;
}
inline unsigned int _kt_dynamic_shared_size() {
    return kerneltk::grid::own_launch->dynamic_shared;
}
inline void _kt_yield() {
    kerneltk::grid::wait_in([](kerneltk::grid::engine* e) { return e->runtime->yield(e); });
}

// A thread that is about to leave the kernel counts as arrived at later barriers.
inline void _kt_return_early() {
    kerneltk::grid::own_engine->runtime->excuse(kerneltk::grid::own_engine);
}

inline void __syncthreads(KERNELTK_PLACE) { _kt_block_barrier(_kt_file, _kt_line); }
inline int __syncthreads_count(int predicate, KERNELTK_PLACE) {
    return static_cast<int>(_kt_block_sum(predicate != 0, _kt_file, _kt_line));
}
inline int __syncthreads_and(int predicate, KERNELTK_PLACE) {
    const unsigned long long sum = _kt_block_sum(predicate != 0, _kt_file, _kt_line);
    return static_cast<unsigned int>(sum) == static_cast<unsigned int>(sum >> 32);
}
inline int __syncthreads_or(int predicate, KERNELTK_PLACE) {
    return static_cast<unsigned int>(_kt_block_sum(predicate != 0, _kt_file, _kt_line)) != 0;
}

namespace kerneltk::grid {

constexpr unsigned int patience = 32;  // times
static thread_local unsigned int failures;  // in parts of one: `patience` are one
static thread_local const volatile void* last_unchanged;
static thread_local unsigned int last_thread;

inline void count_failure(unsigned int weight) {
    if (threadIdx.x != last_thread) {
        last_thread = threadIdx.x;
        failures = 0;
    }
    if ((failures += weight) >= patience * patience) {
        failures = 0;
        _kt_yield();
    }
}
// What has failed may be part of a loop that waits for another thread of the block, which cannot run
// until this one lets it.
inline void contended(bool failed) {
    if (failed)
        count_failure(patience);
    else
        failures = 0;
}
// So may an atomic operation that changed nothing, above all if it was the same one before.
inline void unchanged(const volatile void* p) {
    count_failure(p == last_unchanged ? patience : 1);
    last_unchanged = p;
}

}  // namespace kerneltk::grid

inline void __nanosleep(unsigned int duration) {
    const unsigned int before = kerneltk::grid::suspensions;
    _kt_yield();
    if (kerneltk::grid::suspensions == before)
        kerneltk::grid::own_engine->runtime->sleep(kerneltk::grid::own_engine, duration);
}

inline long long clock64() {
#if defined(__x86_64__)
    return static_cast<long long>(__builtin_ia32_rdtsc());
#elif defined(__aarch64__)
    long long now;
    asm volatile("mrs %0, cntvct_el0" : "=r"(now));
    return now;
#else
    return kerneltk::grid::own_engine->runtime->time();
#endif
}
using clock_t = long;  // the C library's, too
// A template, so that the C library's is preferred where it is declared.
template <class None = void>
inline long clock() {
    return static_cast<long>(clock64());
}
// Nanoseconds of a clock that all blocks share.
inline unsigned long long _kt_global_timer() {
    return static_cast<unsigned long long>(
        kerneltk::grid::own_engine->runtime->time());
}

/* The thread pool of the host backend: runs one function over a linear range on all cores.
 *
 * Workers are created on the first launch that needs them, and sleep on a futex between launches.
 * A launch opens a gate with a number of seats. A worker that takes a seat helps; one that wakes
 * too late finds the gate shut and goes back to sleep, so the caller never waits for a thread that
 * has not begun. The pool serves one launch at a time: a launch from a second thread, or from
 * inside a kernel, runs in its caller alone.
 *
 * The range is cut into one contiguous part for each thread, and each part into chunks. A thread
 * takes the chunks of its own part, then those of others. The same thread meets the same part in
 * the next launch, so that what it left in its caches is of use.
 *
 * A thread that is woken often lands on the CPU of the one that wakes it, though others are idle, and
 * there the two take turns for milliseconds. So workers are kept off the CPU that the caller is on.
 *
 * An x86 CPU raises SIGFPE for an integer divided by zero, and a failed assertion ends in SIGILL.
 * Either would end the process. A kernel that does so is left at once, and the launch returns
 * KT_DIVISION or KT_TRAP.
 */
#define _GNU_SOURCE
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))
#define MAX_THREADS 512
#define CHUNKS_PER_THREAD 8
#define SPIN_NANOSECONDS 20000
#define WAKE_FANOUT 2
#define MOST_STEERED 15 /* workers; with more CPUs than that one is idle somewhere near */
#define KT_DIVISION 1
#define KT_TRAP 2
#define KT_FAULT 3
#define KT_INTERRUPTED 5
#ifdef __aarch64__
#define TRAP SIGTRAP /* what __builtin_trap raises */
#else
#define TRAP SIGILL
#endif

/* The gate: bit 31 "the caller sleeps", bits 16-30 free seats, bits 0-15 workers inside. */
#define CALLER_SLEEPS 0x80000000u
#define ONE_SEAT 0x10000u
#define SEATS(gate) (((gate) & ~CALLER_SLEEPS) >> 16)
#define INSIDE(gate) ((gate) & 0xffffu)

struct part {
    _Alignas(64) _Atomic long long next; /* number of the next chunk; cannot overflow */
    long long chunks, begin, end;
};

static struct {
    kernel_function function;
    const void *args;
    long long chunk;
    int parts;
} job;
static struct part parts[MAX_THREADS];

static _Alignas(64) _Atomic uint32_t gate;
static _Alignas(64) _Atomic uint32_t generation; /* counts launches; what workers sleep on */
static _Alignas(64) _Atomic int sleepers;
static _Atomic int busy;
static _Atomic pid_t owner; /* the process that the workers live in */
static int workers;
static _Atomic pid_t tids[MAX_THREADS + 1]; /* of the workers, by their numbers */
static cpu_set_t steered;                  /* where they may run; of who has the pool */
static _Atomic int failure; /* of the launch that has the pool */

/* This process's number, written in a page that is empty again after a fork: asking the system takes
 * longer. */
static pid_t this_process(void) {
    static _Atomic(_Atomic pid_t *) page;
    _Atomic pid_t *kept = atomic_load_explicit(&page, memory_order_acquire);
    if (__builtin_expect(!kept, 0)) {
        void *memory = mmap(NULL, sizeof *kept, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (memory == MAP_FAILED) return getpid();
        if (madvise(memory, sizeof *kept, MADV_WIPEONFORK) ||
            !atomic_compare_exchange_strong(&page, &kept, (_Atomic pid_t *)memory)) {
            munmap(memory, sizeof *kept);
            return getpid();
        }
        kept = (_Atomic pid_t *)memory;
    }
    pid_t known = atomic_load_explicit(kept, memory_order_relaxed);
    if (__builtin_expect(!known, 0))
        atomic_store_explicit(kept, known = getpid(), memory_order_relaxed);
    return known;
}

/* Where this thread goes on if the kernel that it is in raises a signal; NULL outside kernels. */
static _Thread_local sigjmp_buf *volatile landing;
/* This thread only waits for others to end their parts of its launch. */
static _Thread_local volatile int at_rest;

/* What the process did with each signal before this library took it over. */
static struct sigaction other_handlers[4];

static int slot_of(int number) {
    return number == SIGFPE ? 0 : number == SIGSEGV ? 1 : number == SIGBUS ? 2 : 3;
}

/* Writes down what a thread of a grid did; 0 if it is in none. */
static int describe_signal(int number, siginfo_t *info, void *context);
static int create_thread(pthread_t *thread, const cpu_set_t *cpus, int is_detached, int runs_kernels,
                         void *(*run)(void *), void *argument);
static __attribute__((noreturn)) void leave_kernel_by(int code);

static void on_signal(int number, siginfo_t *info, void *context) {
    /* A positive code says that the CPU raised it here, not another process or thread. */
    if (landing && info->si_code > 0) {
        int in_grid = describe_signal(number, info, context);
        if (number == SIGFPE) leave_kernel_by(KT_DIVISION);
        if (number == TRAP) leave_kernel_by(KT_TRAP);
        if (in_grid) leave_kernel_by(KT_FAULT);
    }
    /* Not a kernel's. Whoever had the signal before gets it back, and the next launch takes it over
     * again: calling the other handler from here could meet it calling this one. */
    struct sigaction other = other_handlers[slot_of(number)];
    int sent = info->si_code <= 0;
    if (sent && !(other.sa_flags & SA_SIGINFO) && other.sa_handler == SIG_IGN) return;
    other_handlers[slot_of(number)] = (struct sigaction){.sa_handler = SIG_DFL};
    sigaction(number, &other, NULL);
    if (sent) raise(number); /* else the instruction is run again */
}

/* Takes a signal over, again if somebody else has done so since the last launch. */
static void take_signal(int number) {
    struct sigaction now;
    if (sigaction(number, NULL, &now) || now.sa_sigaction == on_signal) return;
    struct sigaction own = {.sa_sigaction = on_signal,
                            .sa_flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK};
    sigemptyset(&own.sa_mask);
    other_handlers[slot_of(number)] = now;
    sigaction(number, &own, NULL);
}

static _Atomic int has_handlers; /* they were installed once; others may have come since */

static void install_handlers(void) {
    take_signal(SIGFPE);
    take_signal(TRAP);
    atomic_store_explicit(&has_handlers, 1, memory_order_release);
}

/* Calls the kernel; not zero if it raised a signal. A frame of its own, for sigsetjmp. */
static __attribute__((noinline)) int run(kernel_function function, const void *args,
                                         long long begin, long long end) {
    sigjmp_buf here, *outer = landing;
    int raised = sigsetjmp(here, 0);
    if (raised) {
        landing = outer;
        return raised;
    }
    landing = &here;
    function(args, begin, end);
    landing = outer;
    return 0;
}

static void futex_wait(_Atomic uint32_t *word, uint32_t value) {
    syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, NULL, NULL, 0);
}

static void futex_wake(_Atomic uint32_t *word, int count) {
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, count, NULL, NULL, 0);
}

static void relax(void) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("isb");
#endif
}

static int64_t nanoseconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* Waits a short while for `word` to differ from `value`; tells whether it does. */
static int spin_while_equal(_Atomic uint32_t *word, uint32_t value) {
    int64_t deadline = nanoseconds() + SPIN_NANOSECONDS;
    do {
        for (int i = 0; i < 32; ++i) {
            if (atomic_load_explicit(word, memory_order_acquire) != value) return 1;
            relax();
        }
    } while (nanoseconds() < deadline);
    return 0;
}

static void end_part(void); /* grid.c */

static void work(int self) {
    int count = job.parts;
    long long chunk = job.chunk;
    kernel_function function = job.function;
    const void *args = job.args;
    for (int i = 0; i < count; ++i) {
        struct part *part = &parts[(self + i) % count];
        /* A plain read first: the last threads pass over parts that are done. */
        while (atomic_load_explicit(&part->next, memory_order_relaxed) < part->chunks) {
            long long n = atomic_fetch_add_explicit(&part->next, 1, memory_order_relaxed);
            if (n >= part->chunks) break;
            long long begin = part->begin + n * chunk;
            long long end = part->end - begin < chunk ? part->end : begin + chunk;
            int raised = run(function, args, begin, end);
            if (raised) {
                atomic_store(&failure, raised);
                return;
            }
        }
    }
}

static void wake_workers(void) {
    if (atomic_load(&sleepers) > 0) futex_wake(&generation, WAKE_FANOUT);
}

static void *worker(void *argument) {
    int self = (int)(intptr_t)argument;
    atomic_store(&tids[self], (pid_t)syscall(SYS_gettid));
    uint32_t seen = 0; /* a new worker looks at the gate at once */
    for (;;) {
        uint32_t state = atomic_load(&gate);
        while (SEATS(state) > 0) {
            if (!atomic_compare_exchange_weak(&gate, &state, state - ONE_SEAT + 1)) continue;
            if (SEATS(state) > 1) wake_workers();
            work(self);
            end_part();
            if (atomic_fetch_sub(&gate, 1) == (CALLER_SLEEPS | 1)) futex_wake(&gate, 1);
            state = atomic_load(&gate);
            break;
        }
        uint32_t now = atomic_load(&generation);
        if (now != seen) {
            seen = now;
            continue;
        }
        if (!spin_while_equal(&generation, seen)) {
            atomic_fetch_add(&sleepers, 1);
            futex_wait(&generation, seen);
            atomic_fetch_sub(&sleepers, 1);
        }
    }
    return NULL;
}

/* Keeps the workers off the caller's CPU, within what the caller's thread may use. */
static void steer_workers(int wanted) {
    cpu_set_t allowed;
    int cpu = sched_getcpu();
    if (cpu < 0 || wanted > MOST_STEERED || sched_getaffinity(0, sizeof allowed, &allowed)) return;
    if (CPU_COUNT(&allowed) < 2) return;
    CPU_CLR(cpu, &allowed);
    if (CPU_EQUAL(&allowed, &steered)) return;
    steered = allowed;
    for (int i = 1; i <= workers; ++i) {
        pid_t thread = atomic_load(&tids[i]);
        if (thread) sched_setaffinity(thread, sizeof steered, &steered);
    }
}

static void create_workers(int wanted) {
    for (; workers < wanted; ++workers) {
        pthread_t thread;
        const cpu_set_t *cpus = CPU_COUNT(&steered) > 0 ? &steered : NULL;
        atomic_store(&tids[workers + 1], 0);
        /* With too few threads the launch is still right: the caller takes what is left. */
        if (!create_thread(&thread, cpus, 1, 1, worker, (void *)(intptr_t)(workers + 1))) break;
    }
}

/* Takes the pool for this launch; 0 if somebody else has it. */
static int acquire(void) {
    pid_t process = this_process(), known = atomic_load(&owner);
    if (known != process) {
        /* The first launch, or the first after a fork: threads are not inherited, and the parent
         * may have held the pool. -1 lets one thread of this process do the reset. */
        if (known == -1 || !atomic_compare_exchange_strong(&owner, &known, -1)) return 0;
        workers = 0;
        CPU_ZERO(&steered);
        atomic_store(&gate, 0);
        atomic_store(&sleepers, 0);
        atomic_store(&busy, 1);
        atomic_store(&owner, process);
        return 1;
    }
    int free = 0;
    return atomic_compare_exchange_strong(&busy, &free, 1);
}

static void finish(void) {
    uint32_t state = atomic_fetch_and(&gate, 0xffffu) & 0xffffu; /* no seat any more */
    at_rest = 1;
    while (INSIDE(state) > 0) {
        if (spin_while_equal(&gate, state) == 0 &&
            atomic_compare_exchange_strong(&gate, &state, state | CALLER_SLEEPS)) {
            futex_wait(&gate, state | CALLER_SLEEPS);
        }
        state = atomic_load(&gate);
    }
    at_rest = 0;
    atomic_store(&gate, 0);
}

/* Runs `function` over [0, total) on up to `threads` threads, the caller among them, and returns
 * when all of it is done. A chunk has a multiple of `grain` items; with no more than `grain` items
 * the caller runs them alone. Returns 0, or why some elements are not done. The signal handlers are
 * in place. */
static int launch_items(kernel_function function, const void *args, long long total,
                        long long grain, int threads) {
    if (total <= 0) return 0;
    if (grain < 1) grain = 1;
    if (total <= grain || threads <= 1) {
        return run(function, args, 0, total);
    }
    long long grains = total / grain + (total % grain != 0);
    if (threads > MAX_THREADS) threads = MAX_THREADS;
    if (threads > grains) threads = (int)grains;
    if (!acquire()) {
        return run(function, args, 0, total);
    }
    /* Those that spin are where they should be. */
    if (workers < threads - 1 || atomic_load(&sleepers) > 0) steer_workers(threads - 1);
    create_workers(threads - 1);

    long long share = grains / threads, rest = grains % threads, begin = 0;
    long long pieces = CHUNKS_PER_THREAD;
    atomic_store(&failure, 0);
    job.function = function;
    job.args = args;
    job.chunk = (share + pieces - 1) / pieces * grain;
    job.parts = threads;
    for (int i = 0; i < threads; ++i) {
        long long count = share + (i < rest);
        long long end = i == threads - 1 ? total : begin + count * grain;
        atomic_store_explicit(&parts[i].next, 0, memory_order_relaxed);
        parts[i].chunks = (end - begin - 1) / job.chunk + 1;
        parts[i].begin = begin;
        parts[i].end = end;
        begin = end;
    }
    atomic_store(&gate, (uint32_t)(threads - 1) * ONE_SEAT);
    atomic_fetch_add(&generation, 1);
    wake_workers();
    work(0);
    finish();
    int result = atomic_load(&failure);
    atomic_store(&busy, 0);
    return result;
}

/* How many threads the pool has created in this process. */
EXPORT int kt_workers(void) { return atomic_load(&owner) == getpid() ? workers : 0; }

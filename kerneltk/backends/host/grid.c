/* Launches of grids: a kernel's blocks over the pool, what ends a launch early, and what is said.
 *
 * What a thread of a kernel does wrong ends its launch, not the process: the OS thread that it runs
 * on leaves the kernel by a long jump, writes down why, and those that are still in this launch are
 * stopped by a signal. A watchdog, which exists only where there is something to watch, sends it,
 * again until each of them could be stopped: one may be inside the C library, with a lock held.
 */
#include <elf.h>
#include <errno.h>
#include <link.h>
#include <dlfcn.h>
#include <ucontext.h>

#define KT_TOO_LARGE 4
#define STOP (SIGRTMAX - 5)
#define ASK (SIGRTMAX - 6)
#define SIGNAL_STACK (64u << 10)
#define WORTH_A_THREAD 10000 /* nanoseconds; waking one takes about as long */
#define FIRST_STACK (64u << 20)
#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif
#define MOST_COOPERATIVE 256
#define MOST_FREE 8 /* engines that keep their stacks though no thread has them, beside the workers' */
#define GRACE 100 /* milliseconds in which a launch that was interrupted may still end by itself */
#define STOP_ANYWAY 2000 /* milliseconds after which no regard is paid to locks */

/* Where a library's machine code lies. */
struct code_range {
    uintptr_t begin, end;
};

#define ONLY_PLACE 100 /* kind of a finding that only tells where; memory.c has the others */

/* An access to memory that was wrong; what is told of it is written elsewhere. */
struct finding {
    uint64_t address, size;
    int64_t offset; /* from the begin of what it belongs to */
    uint64_t object_size;
    const char *name, *file;
    int32_t kind, how, index, line, alignment, frames;
    uint64_t frame[16]; /* return addresses, the innermost first */
};

struct grid_launch {
    kernel_function entry;
    const struct launch_head *head;
    _Atomic int stop;    /* no further block, and those that run are left */
    _Atomic int claimed; /* somebody writes the text */
    _Atomic int failure;
    int64_t deadline, stopped_at; /* nanoseconds; 0 is none */
    struct code_range code; /* of the unit */
    struct grid_launch *next;
    int is_main;     /* the process's first thread began it, where interrupts are handled */
    int interrupted; /* why it is stopped */
    _Atomic int64_t ask_at; /* nanoseconds; when Python is asked what an interrupt means; 0 never */
    _Atomic uint32_t ended; /* every block of a cooperative launch has */
    const void *plain; /* arguments of a function over items, which has no head; else NULL */
    long long blocks; /* of a cooperative launch, else 0 */
    long long first;  /* of the blocks that the pool shares */
    _Atomic uint32_t generation, arrived;
    _Atomic long long finished;
    const struct array_note *arrays; /* what memory.c knows of the arguments */
    int array_count;
    _Atomic int may_wander; /* an argument has addresses in it: 1 no, 2 yes, 0 nobody has looked */
    int has_finding;
    char text[1024];
    struct finding finding;
};

static _Thread_local struct engine *own_engine;
static _Thread_local char fault_text[1024];
static _Thread_local struct finding fault_finding; /* of kind 0 if there is none */
static _Thread_local const struct array_note *noted_arrays; /* of this thread's next launch */
static _Thread_local int noted_array_count;

/* One lock for the lists of launches and engines, and for the watchdog. */
static pthread_mutex_t watch_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t heap_lock = PTHREAD_MUTEX_INITIALIZER; /* of what kernels allocate, memory.c */
static _Atomic uint32_t watch_news; /* what the watchdog sleeps on */
static _Atomic pid_t watch_owner;
static struct grid_launch *launches;
static struct engine *engines, *free_engines;
static int free_count;
static int watching; /* there is a watchdog */
static int dormant;  /* it sleeps until there is news */
static uint64_t registrations;
/* How many interrupts there were, and up to which Python has been asked or was to look itself. */
static _Atomic uint32_t interrupts, answered;
static _Atomic long long time_limit; /* milliseconds */
static pthread_key_t engine_key;
static int has_key;

/* ---- engines ---- */

static struct engine *call_enter(const struct launch_head *head, const struct unit *unit);
static int call_grid_barrier(struct engine *e, const char *file, int line);
static void call_assertion(struct engine *e, const char *condition, const char *file, int line);
static void call_sleep(struct engine *e, unsigned nanoseconds_);
static long long call_time(void) { return nanoseconds(); }
extern const struct memory_calls kt_memory_calls __attribute__((visibility("hidden")));
static void enter_checked(struct engine *e);

/* What units are given, in the order that host_grid.hpp declares. */
static const struct {
    struct engine *(*enter)(const struct launch_head *, const struct unit *);
    int (*barrier)(struct engine *, const char *, int);
    int (*vote)(struct engine *, unsigned, unsigned long long *, const char *, int);
    int (*warp)(struct engine *, unsigned, combine_function, unsigned long long, unsigned,
                unsigned long long *, const char *, int);
    int (*grid_barrier)(struct engine *, const char *, int);
    int (*yield)(struct engine *);
    void (*leave)(struct engine *);
    void (*assertion)(struct engine *, const char *, const char *, int);
    void (*sleep)(struct engine *, unsigned);
    long long (*time)(void);
    const struct memory_calls *memory;
    int (*meet)(struct engine *, unsigned long long, int);
} calls = {call_enter, call_barrier,   call_vote,  call_warp, call_grid_barrier, call_yield,
           call_leave, call_assertion, call_sleep, call_time, &kt_memory_calls,  call_meet};

EXPORT const void *kt_runtime(void) { return &calls; }

static void wake_watchdog(void) {
    atomic_fetch_add(&watch_news, 1);
    futex_wake(&watch_news, 1);
}

/* After a fork other threads are gone, and one of them may have held the lock. */
static void lock_watch(void) {
    pid_t process = this_process(), known = atomic_load(&watch_owner);
    if (__builtin_expect(known != process, 0)) {
        while (known != process) {
            if (known != -1 && atomic_compare_exchange_strong(&watch_owner, &known, -1)) {
                watch_lock = heap_lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
                launches = NULL;
                watching = dormant = 0;
                atomic_store(&answered, atomic_load(&interrupts));
                for (struct engine *e = engines; e; e = e->next_engine)
                    if (e != own_engine) atomic_store(&e->launch, NULL);
                for (struct engine *e = engines; e; e = e->next_engine) atomic_store(&e->signalled, 0);
                if (own_engine) atomic_store(&own_engine->tid, (pid_t)syscall(SYS_gettid));
                atomic_store(&watch_owner, process);
            }
            known = atomic_load(&watch_owner);
        }
    }
    pthread_mutex_lock(&watch_lock);
}

/* A thread that ends leaves its engine, with all its stacks, to a later one. */
static void give_engine(void *engine) {
    struct engine *e = (struct engine *)engine;
    stack_t now;
    if (e->signal_stack && !sigaltstack(NULL, &now) && now.ss_sp == e->signal_stack) {
        now.ss_flags = SS_DISABLE;
        sigaltstack(&now, NULL);
    }
    own_engine = NULL;
    lock_watch();
    atomic_store(&e->tid, 0);
    /* Stacks that may never be used again, of a crew's threads, are not kept. */
    if (free_count >= MOST_FREE + workers) remove_stacks(e);
    ++free_count;
    e->next_free = free_engines;
    free_engines = e;
    pthread_mutex_unlock(&watch_lock);
}

/* The first thread's stack grows as far as the process's limit lets it, and compilers for GPUs take
 * that limit away: a recursion without end would then take all memory. */
static void bound_first_stack(void) {
    static _Atomic int bounded;
    if (atomic_exchange(&bounded, 1)) return;
    uintptr_t end = ((uintptr_t)__builtin_frame_address(0) - FIRST_STACK) & ~(uintptr_t)(STACK_GUARD - 1);
    /* Where something lies there already, that is the bound. */
    mmap((void *)end, STACK_GUARD, PROT_NONE,
         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
}

/* The engine of this thread; NULL if there is no memory for one. */
static __attribute__((noinline)) struct engine *make_engine(void) {
    lock_watch();
    if (!has_key) has_key = !pthread_key_create(&engine_key, give_engine);
    struct engine *e = free_engines;
    if (e) {
        free_engines = e->next_free;
        --free_count;
    } else if ((e = (struct engine *)calloc(1, sizeof *e))) {
        e->calls = &calls;
        e->always = 1;
        reset_engine(e);
        e->next_engine = engines;
        engines = e;
    }
    pthread_mutex_unlock(&watch_lock);
    if (!e) return NULL;
    if (has_key) pthread_setspecific(engine_key, e);
    atomic_store(&e->signalled, 0);
    atomic_store(&e->tid, (pid_t)syscall(SYS_gettid));
    e->native_low = e->native_high = 0;
    if (atomic_load(&e->tid) == getpid()) bound_first_stack();
#ifdef KT_ADDRESS_SANITIZER
    e->native.bottom = NULL;
#endif
    /* A handler cannot run on a stack that is full, nor on one that is too small for a text. */
    stack_t now;
    if (!sigaltstack(NULL, &now) && (now.ss_flags & SS_DISABLE || now.ss_size < SIGNAL_STACK)) {
        if (!e->signal_stack) {
            void *memory = mmap(NULL, SIGNAL_STACK, PROT_READ | PROT_WRITE,
                                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
            e->signal_stack = memory == MAP_FAILED ? NULL : memory;
        }
        if (e->signal_stack) {
            stack_t own = {.ss_sp = e->signal_stack, .ss_size = SIGNAL_STACK};
            sigaltstack(&own, NULL);
        }
    }
    return own_engine = e;
}

static struct engine *call_enter(const struct launch_head *head, const struct unit *unit) {
    struct engine *e = own_engine;
    e->head = head;
    e->unit = unit;
    e->total = head->block[0] * head->block[1] * head->block[2];
    e->at_block[0] = NO_BLOCK;
    e->patience = PATIENCE;
    e->current = &e->native;
    if (unit->memory) enter_checked(e);
    return e;
}

/* ---- texts ---- */

/* Begins the text of a launch that failed; 0 if somebody else has done so. */
static int claim_text(struct engine *e, int code) {
    struct grid_launch *l = atomic_load(&e->launch);
    atomic_store(&e->critical, 1); /* until it has left: no stop from another thread's failure */
    if (atomic_exchange(&l->claimed, 1)) return 0;
    atomic_store(&l->failure, code);
    l->text[0] = 0;
    append(l->text, sizeof l->text, "kernel '%s'", e->head->kernel ? e->head->kernel : "?");
    return 1;
}

/* Appends where the thread that runs now is. In a loop that was vectorised no thread is written
 * down: its x, or its y, is then beyond the block. */
static void append_position(struct engine *e, char *text, size_t size, int with_thread) {
    if (!e->unit) return;
    uint32_t at[6];
    e->unit->where(at);
    append(text, size, ", block (%u, %u, %u)", at[0], at[1], at[2]);
    if (!with_thread) return;
    const uint32_t *block = e->head->block;
    if (at[3] < block[0] && at[4] < block[1])
        append(text, size, ", thread (%u, %u, %u)", at[3], at[4], at[5]);
    else if (at[3] < block[0])
        append(text, size, ", one of threads (%u, 0 to %u, %u)", at[3], block[1] - 1, at[5]);
    else
        append(text, size, ", one of threads (0 to %u, %u, %u)", e->head->block[0] - 1, at[4], at[5]);
}

static void fail_waiting(struct engine *e, const char *what) {
    struct grid_launch *l = atomic_load(&e->launch);
    if (claim_text(e, KT_FAULT)) {
        char *text = l->text;
        size_t size = sizeof l->text;
        append_position(e, text, size, what && !e->mixed);
        append(text, size, ": ");
        if (what) {
            append(text, size, "%s", what);
            if (e->arrived) {
                append_places(e, text, size, ": ", 0);
            } else if (e->current->file) {
                append(text, size, " at %s:%d", e->current->file, e->current->line);
            }
        } else {
            uint32_t gone = first_exited(e);
            if (gone < e->total) {
                append_thread(e, text, size, gone);
                append_places(e, text, size, " has left the kernel, while ", 0);
            } else {
                append_places(e, text, size, "its threads wait for each other: ", 0);
            }
        }
    }
    leave_kernel(e, KT_FAULT);
}

static void append_overflow(struct engine *e, char *text, size_t size) {
    append(text, size, ": its stack is full (%u KiB%s)", (STACK_STRIDE - STACK_GUARD) >> 10,
           e->current == &e->native ? " or more" : "");
}

static void fail_overflow(struct engine *e) {
    struct grid_launch *l = atomic_load(&e->launch);
    if (claim_text(e, KT_FAULT)) {
        append_position(e, l->text, sizeof l->text, 0);
        if (e->current->bound) {
            append(l->text, sizeof l->text, ", ");
            append_thread(e, l->text, sizeof l->text, e->current->thread);
        }
        append_overflow(e, l->text, sizeof l->text);
    }
    leave_kernel(e, KT_FAULT);
}

static void leave_kernel(struct engine *e, int code) {
#ifdef KT_ADDRESS_SANITIZER
    if (e->current != &e->native && e->native.bottom) {
        void *none;
        __sanitizer_start_switch_fiber(&none, e->native.bottom, e->native.size);
        __sanitizer_finish_switch_fiber(none, NULL, NULL);
    }
#else
    (void)e;
#endif
    siglongjmp(*landing, code);
}

static void leave_kernel_by(int code) {
    struct engine *e = own_engine;
    if (e && atomic_load(&e->launch)) leave_kernel(e, code);
    siglongjmp(*landing, code);
}

static void call_assertion(struct engine *e, const char *condition, const char *file, int line) {
    struct grid_launch *l = atomic_load(&e->launch);
    if (claim_text(e, KT_TRAP)) {
        append_position(e, l->text, sizeof l->text, 1);
        append(l->text, sizeof l->text, ": assertion '%s' failed at %s:%d", condition, file, line);
    }
    leave_kernel(e, KT_TRAP);
}

static uintptr_t program_counter(void *context) {
    const mcontext_t *machine = &((ucontext_t *)context)->uc_mcontext;
#if defined(__x86_64__)
    return (uintptr_t)machine->gregs[REG_RIP];
#elif defined(__aarch64__)
    return (uintptr_t)machine->pc;
#else
    (void)machine;
    return 0;
#endif
}

static uintptr_t frame_of(void *context) {
    const mcontext_t *machine = &((ucontext_t *)context)->uc_mcontext;
#if defined(__x86_64__)
    return (uintptr_t)machine->gregs[REG_RBP];
#elif defined(__aarch64__)
    return (uintptr_t)machine->regs[29];
#else
    (void)machine;
    return 0;
#endif
}

static uintptr_t stack_pointer_of(void *context) {
    const mcontext_t *machine = &((ucontext_t *)context)->uc_mcontext;
#if defined(__x86_64__)
    return (uintptr_t)machine->gregs[REG_RSP];
#elif defined(__aarch64__)
    return (uintptr_t)machine->sp;
#else
    (void)machine;
    return 0;
#endif
}

/* Writes down where the machine code is that a signal has come to, with its callers: where it was
 * built to be debugged, Python finds the line. */
static void note_place(struct engine *e, struct grid_launch *l, void *context) {
    uintptr_t frame = frame_of(context), low = (uintptr_t)e->current->low;
    l->finding.kind = ONLY_PLACE;
    l->finding.frame[0] = program_counter(context) + 1;
    l->finding.frames = 1;
    l->has_finding = 1;
    uintptr_t high = (uintptr_t)e->current->top;
    if (e->current == &e->native) { /* what is in use of it */
        low = stack_pointer_of(context);
        high = e->native_end;
    }
    while (frame >= low && frame + 16 <= high && frame % sizeof(void *) == 0 &&
           l->finding.frames < 16) {
        const uintptr_t *words = (const uintptr_t *)frame;
        l->finding.frame[l->finding.frames++] = words[1];
        if (words[0] <= frame) break;
        frame = words[0];
    }
}

/* Writes down what the CPU refused; 0 if this thread is in no launch of a grid. */
static int describe_signal(int number, siginfo_t *info, void *context) {
    struct engine *e = own_engine;
    struct grid_launch *l = e ? atomic_load(&e->launch) : NULL;
    if (!l || l->plain) return 0;
    if (!claim_text(e, number == SIGFPE ? KT_DIVISION : number == TRAP ? KT_TRAP : KT_FAULT))
        return 1;
    char *text = l->text;
    size_t size = sizeof l->text;
    note_place(e, l, context);
    append_position(e, text, size, 1);
    if (number == SIGFPE) {
        append(text, size, ": an integer divided by zero, or the most negative one by -1");
    } else if (number == TRAP) {
        append(text, size, ": trapped");
    } else {
        const char *address = (const char *)info->si_addr;
        uintptr_t stack = stack_pointer_of(context), at = (uintptr_t)address;
        int near = e->current == &e->native && at + (1u << 16) > stack && at < stack + 4096;
        if (is_guard(e, address) || (near && number == SIGSEGV))
            append_overflow(e, text, size);
        else if (info->si_code == SI_KERNEL)
            append(text, size, ": an address that no memory can have was read or written");
        else
            append(text, size, ": no memory can be read or written at address %p", address);
    }
    return 1;
}


static struct code_range code_of(const void *function) {
    struct code_range range = {0, 0};
    Dl_info info;
    if (!dladdr(function, &info)) return range;
    const char *base = (const char *)info.dli_fbase;
    const ElfW(Ehdr) *head = (const ElfW(Ehdr) *)base;
    const ElfW(Phdr) *segment = (const ElfW(Phdr) *)(base + head->e_phoff);
    for (int k = 0; k < head->e_phnum; ++k, ++segment) {
        if (segment->p_type != PT_LOAD || !(segment->p_flags & PF_X)) continue;
        range.begin = (uintptr_t)base + segment->p_vaddr;
        range.end = range.begin + segment->p_memsz;
    }
    return range;
}

static int is_within(uintptr_t address, struct code_range range) {
    return address >= range.begin && address < range.end;
}

static struct code_range own_code;
static void abandon(struct grid_launch *l, int shared);
static void fail_outside(struct grid_launch *l, const char *what);

static void on_stop(int number, siginfo_t *info, void *context) {
    (void)number, (void)info;
    struct engine *e = own_engine;
    if (e) atomic_store(&e->signalled, 0);
    struct grid_launch *l = e ? atomic_load(&e->launch) : NULL;
    if (!l || !landing || !atomic_load(&l->stop) || atomic_load(&e->critical)) return;
    uintptr_t at = program_counter(context);
    if (!is_within(at, l->code) && !is_within(at, own_code)) {
        /* Inside the C library, maybe with a lock held: the signal comes again. */
        int error = errno;
        int64_t since = nanoseconds() - l->stopped_at;
        errno = error;
        if (since < STOP_ANYWAY * 1000000ll) return;
    }
    if (l->plain) leave_kernel(e, KT_INTERRUPTED);
    if (claim_text(e, KT_FAULT)) {
        note_place(e, l, context);
        append_position(e, l->text, sizeof l->text, 1);
        if (l->interrupted)
            append(l->text, sizeof l->text, ": the launch was interrupted");
        else
            append(l->text, sizeof l->text, ": the launch did not end within %lld ms",
                   atomic_load(&time_limit));
        if (e->at_block[0] != NO_BLOCK)
            append_places(e, l->text, sizeof l->text, "; meanwhile ", 1);
    }
    leave_kernel(e, KT_FAULT);
}

/* ---- interrupts ----
 *
 * Python's own handler only makes a note, for its next instruction; until the launch is over there
 * is none. So the handler is followed by one of ours, and if the launch lasts, its first thread gets a
 * signal (ASK). Where it could be stopped, or waits for the others, it calls what Python would call
 * there, on its own stack. The launch goes on unless that raises an exception.
 */

static struct {
    int (*ensure)(void);
    void (*release)(int);
    int (*check)(void);
    void (*fetch)(void **, void **, void **);
    void (*restore)(void *, void *, void *);
} python;
static void *raised[3]; /* type, value and traceback of what a handler raised */
static _Thread_local struct grid_launch *volatile main_launch; /* NULL while Python runs */
/* Python runs in the midst of a grid's kernel, whose unit has variables of this thread. */
static _Thread_local int is_inside_grid;

static int knows_python(void) {
    if (python.restore) return 1;
    *(void **)&python.ensure = dlsym(RTLD_DEFAULT, "PyGILState_Ensure");
    *(void **)&python.release = dlsym(RTLD_DEFAULT, "PyGILState_Release");
    *(void **)&python.check = dlsym(RTLD_DEFAULT, "PyErr_CheckSignals");
    *(void **)&python.fetch = dlsym(RTLD_DEFAULT, "PyErr_Fetch");
    *(void **)&python.restore = dlsym(RTLD_DEFAULT, "PyErr_Restore");
    return python.ensure && python.release && python.check && python.fetch && python.restore;
}

/* Has Python's handlers run. */
static void call_python(void) {
    int state = python.ensure();
    if (python.check()) python.fetch(&raised[0], &raised[1], &raised[2]);
    python.release(state);
}

static int is_on_fiber(const struct engine *e, const void *address) {
    for (int k = 0; e && k < e->slab_count; ++k)
        if ((uintptr_t)address - (uintptr_t)e->slabs[k] < (uintptr_t)STACK_STRIDE * STACKS_A_SLAB)
            return 1;
    return 0;
}

#ifndef KT_ADDRESS_SANITIZER
static struct fiber *left, *visited; /* while Python is called from a fiber */

static void begin_visit(struct engine *e) {
    call_python();
    SWITCH(visited, left, e);
    __builtin_unreachable();
}

/* Calls Python below what the entry's own stack holds: a fiber's is not one that Python knows. */
static void call_python_on_native(struct engine *e) {
    struct fiber here, there;
    memset(&there, 0, sizeof there);
    there.top = (void *)(((uintptr_t)e->native.stack_pointer - 256) & ~(uintptr_t)63);
    there.low = (char *)there.top - (256u << 10);
    left = &here;
    visited = &there;
    new_stack(&there, begin_visit);
    SWITCH(left, visited, e);
}
#else
static void call_python_on_native(struct engine *e) { (void)e; }
#endif

static int is_stoppable(struct engine *e, struct grid_launch *l, void *context) {
    uintptr_t at = program_counter(context);
    return landing && !atomic_load(&e->critical) && (is_within(at, l->code) || is_within(at, own_code));
}

static void on_ask(int number, siginfo_t *info, void *context) {
    (void)number, (void)info;
    struct grid_launch *l = main_launch;
    struct engine *e = own_engine;
    if (!l || !atomic_load(&l->ask_at) || atomic_load(&l->stop)) return;
    struct grid_launch *inside = e ? atomic_load(&e->launch) : NULL;
    if (inside ? inside != l || !is_stoppable(e, l, context) : !at_rest) return;
    int error = errno, was_at_rest = at_rest, was_inside_grid = is_inside_grid;
    sigjmp_buf *outer = landing;
    /* What Python does meanwhile is no kernel's, and may launch others. */
    main_launch = NULL;
    at_rest = 0;
    landing = NULL;
    own_engine = NULL;
    is_inside_grid |= inside && !l->plain;
    if (e) atomic_store(&e->launch, NULL);
    atomic_store(&answered, atomic_load(&interrupts));
    atomic_store(&l->ask_at, 0);
    if (is_on_fiber(e, &error))
        call_python_on_native(e);
    else
        call_python();
    if (own_engine) give_engine(own_engine);
    own_engine = e;
    if (e && has_key) pthread_setspecific(engine_key, e);
    if (raised[0]) {
        l->interrupted = 1;
        fail_outside(l, "the launch was interrupted");
        abandon(l, 1);
    }
    landing = outer;
    at_rest = was_at_rest;
    is_inside_grid = was_inside_grid;
    if (e) atomic_store(&e->launch, inside);
    main_launch = l;
    errno = error;
}

static struct sigaction other_interrupt;

static void on_interrupt(int number, siginfo_t *info, void *context) {
    static _Thread_local volatile int inside;
    if (inside) return; /* the other handler calls this one in turn */
    int error = errno;
    inside = 1;
    if (other_interrupt.sa_flags & SA_SIGINFO)
        other_interrupt.sa_sigaction(number, info, context);
    else
        other_interrupt.sa_handler(number);
    inside = 0;
    atomic_fetch_add(&interrupts, 1);
    wake_watchdog();
    errno = error;
}

/* Takes interrupts over where the process handles them; tells whether it does. */
static int take_interrupt(void) {
    struct sigaction now;
    if (sigaction(SIGINT, NULL, &now)) return 0;
    if (now.sa_sigaction == on_interrupt) return 1;
    if (now.sa_handler == SIG_DFL || now.sa_handler == SIG_IGN) return 0;
    struct sigaction own = now;
    own.sa_sigaction = on_interrupt;
    own.sa_flags |= SA_SIGINFO | SA_ONSTACK;
    other_interrupt = now;
    /* Not on the stack for signals, which would be too small. */
    struct sigaction ask = {.sa_sigaction = on_ask, .sa_flags = SA_SIGINFO | SA_NODEFER | SA_RESTART};
    sigemptyset(&ask.sa_mask);
    return !sigaction(ASK, &ask, NULL) && !sigaction(SIGINT, &own, NULL);
}

/* ---- the watchdog ---- */

static void take_stop(void) {
    struct sigaction now, own = {.sa_sigaction = on_stop,
                                 .sa_flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK | SA_RESTART};
    if (!sigaction(STOP, NULL, &now) && now.sa_sigaction == on_stop) return;
    sigemptyset(&own.sa_mask);
    sigaction(STOP, &own, NULL);
}

static void stop_launch(struct grid_launch *l) {
    take_stop();
    if (!l->code.end) l->code = code_of((const void *)l->entry);
    l->stopped_at = nanoseconds();
    atomic_store(&l->stop, 1);
    if (l->blocks) { /* those at the grid's barrier look why they were woken */
        atomic_fetch_add(&l->generation, 1);
        futex_wake(&l->generation, MOST_COOPERATIVE);
    }
}

static void *watch(void *argument) {
    (void)argument;
    uint64_t seen = 0;
    lock_watch();
    for (;;) {
        uint32_t news = atomic_load(&watch_news);
        int64_t now = nanoseconds(), limit = atomic_load(&time_limit) * 1000000;
        int64_t sleep = limit / 8 < 1000000 ? 1000000 : limit / 8;
        int is_interrupted = atomic_load(&interrupts) != atomic_load(&answered);
        for (struct grid_launch *l = launches; l; l = l->next) {
            if (is_interrupted && l->is_main && !atomic_load(&l->ask_at))
                atomic_store(&l->ask_at, now + GRACE * 1000000ll);
            int64_t ask_at = atomic_load(&l->ask_at);
            if (ask_at && now < ask_at && ask_at - now < sleep) sleep = ask_at - now;
            if (ask_at && now >= ask_at && !atomic_load(&l->stop)) {
                l->interrupted = !knows_python();
                if (l->interrupted) {
                    stop_launch(l);
                } else {
                    if (!l->code.end) l->code = code_of((const void *)l->entry);
                    sleep = 1000000;
                    syscall(SYS_tgkill, getpid(), getpid(), ASK);
                }
            }
            if (!atomic_load(&l->stop) && l->deadline) {
                if (now >= l->deadline)
                    stop_launch(l);
                else if (l->deadline - now < sleep)
                    sleep = l->deadline - now;
            }
            if (!atomic_load(&l->stop)) continue;
            /* Signals of this kind queue up, and each takes room on the stack that they run on: a thread
             * gets no other one before it has had the last. */
            for (struct engine *e = engines; e; e = e->next_engine)
                if (atomic_load(&e->launch) == l && !atomic_exchange(&e->signalled, 1))
                    syscall(SYS_tgkill, getpid(), atomic_load(&e->tid), STOP);
            sleep = 1000000;
        }
        dormant = !launches && (registrations == seen || !limit);
        seen = registrations;
        pthread_mutex_unlock(&watch_lock);
        struct timespec time = {sleep / 1000000000, sleep % 1000000000};
        syscall(SYS_futex, &watch_news, FUTEX_WAIT_PRIVATE, news, dormant ? NULL : &time, NULL, 0);
        pthread_mutex_lock(&watch_lock);
    }
    return NULL;
}

/* The signals that a thread of ours has to take: blocked, a kernel's own would end the process. */
static void kernel_signals(sigset_t *blocked) {
    const int needed[] = {SIGFPE, TRAP, SIGSEGV, SIGBUS, STOP};
    sigfillset(blocked);
    for (unsigned k = 0; k < sizeof needed / sizeof *needed; ++k) sigdelset(blocked, needed[k]);
}

static void needed_signals(sigset_t *needed) {
    const int each[] = {SIGFPE, TRAP, SIGSEGV, SIGBUS, STOP, ASK};
    sigemptyset(needed);
    for (unsigned k = 0; k < sizeof each / sizeof *each; ++k) sigaddset(needed, each[k]);
}

/* Makes sure that a watchdog is awake. With the lock held. */
static void need_watchdog(void) {
    if (watching) {
        if (dormant) wake_watchdog();
        dormant = 0;
        return;
    }
    pthread_t thread;
    pthread_attr_t attributes;
    sigset_t all, before;
    if (pthread_attr_init(&attributes)) return;
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    watching = !pthread_create(&thread, &attributes, watch, NULL);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
}

static void begin_watch(struct grid_launch *l) {
    long long limit = l->plain ? 0 : atomic_load(&time_limit);
    if (limit) {
        l->deadline = nanoseconds() + limit * 1000000;
        l->code = code_of((const void *)l->entry);
    }
    lock_watch();
    l->next = launches;
    launches = l;
    ++registrations;
    pid_t own = own_engine ? atomic_load(&own_engine->tid) : (pid_t)syscall(SYS_gettid);
    l->is_main = own == atomic_load(&watch_owner) && take_interrupt();
    if (l->is_main) main_launch = l;
    if (limit || (l->is_main && !watching)) need_watchdog();
    /* One that came after Python last looked: nothing else will tell of it. */
    if (l->is_main && atomic_load(&interrupts) != atomic_load(&answered)) wake_watchdog();
    pthread_mutex_unlock(&watch_lock);
}

static void end_watch(struct grid_launch *l) {
    if (l->is_main) {
        main_launch = NULL;
        atomic_store(&answered, atomic_load(&interrupts));
    }
    lock_watch();
    struct grid_launch **link = &launches;
    while (*link && *link != l) link = &(*link)->next;
    if (*link) *link = l->next;
    pthread_mutex_unlock(&watch_lock);
}

/* Ends a launch one of whose threads has failed, for the other threads too. */
static void abandon(struct grid_launch *l, int shared) {
    lock_watch();
    if (!atomic_load(&l->stop)) {
        stop_launch(l);
        if (shared) {
            need_watchdog();
            wake_watchdog(); /* it may sleep until an eighth of the time limit is over */
        }
    }
    pthread_mutex_unlock(&watch_lock);
}

/* ---- launches ---- */

static void fail_outside(struct grid_launch *l, const char *what) {
    if (atomic_exchange(&l->claimed, 1)) return;
    atomic_store(&l->failure, l->plain ? KT_INTERRUPTED : KT_FAULT);
    l->text[0] = 0;
    const char *kernel = l->head ? l->head->kernel : NULL;
    append(l->text, sizeof l->text, "kernel '%s': %s", kernel ? kernel : "?", what);
}

/* Runs blocks [begin, end): what the pool calls. */
static void grid_chunk(const void *args, long long begin, long long end) {
    struct grid_launch *l = (struct grid_launch *)args;
    if (atomic_load_explicit(&l->stop, memory_order_relaxed)) {
        /* Nobody may have been inside the kernel, to say why it was left. */
        fail_outside(l, l->interrupted ? "the launch was interrupted" : "it did not end in time");
        return;
    }
    struct engine *e = own_engine ? own_engine : make_engine();
    if (!e) {
        fail_outside(l, "there is no memory for its threads");
        abandon(l, 1);
        return;
    }
    sigjmp_buf here, *outer = landing;
    e->unit = NULL;
    e->current = &e->native;
    int code = sigsetjmp(here, 0);
    if (!code) {
        landing = &here;
        e->native_end = (uintptr_t)__builtin_frame_address(0);
        atomic_store_explicit(&e->launch, l, memory_order_relaxed);
        atomic_signal_fence(memory_order_seq_cst);
        l->entry(l->plain ? l->plain : l->head, begin, end);
        atomic_signal_fence(memory_order_seq_cst);
    }
    atomic_store_explicit(&e->launch, NULL, memory_order_release);
    landing = outer;
    if (code) {
#ifdef KT_ADDRESS_SANITIZER
        char *here_about = (char *)__builtin_frame_address(0);
        __asan_unpoison_memory_region(here_about - (1 << 20), (1 << 20) - 256);
#endif
        atomic_store(&e->critical, 0);
        reset_engine(e);
        if (l->plain) {
            atomic_store(&l->claimed, 1);
            atomic_store(&l->failure, code);
        } else
            abandon(l, 1);
    }
}

/* The same for blocks that are counted from the first that is left. */
static void later_chunk(const void *args, long long begin, long long end) {
    long long first = ((const struct grid_launch *)args)->first;
    grid_chunk(args, begin + first, end + first);
}

static int end_launch(struct grid_launch *l) {
    end_watch(l);
    if (!ftrylockfile(stdout)) { /* else a thread that was stopped keeps it */
        fflush(stdout);
        funlockfile(stdout);
    }
    int failure = atomic_load(&l->failure);
    if (failure) {
        memcpy(fault_text, l->text, sizeof fault_text);
        fault_finding.kind = 0;
        if (l->has_finding) fault_finding = l->finding;
    }
    return failure;
}

static void install_stop(void) {
    static _Atomic int installed;
    if (atomic_load_explicit(&installed, memory_order_acquire)) return;
    take_stop();
    own_code = code_of((const void *)&kt_runtime);
    atomic_store_explicit(&installed, 1, memory_order_release);
}

static void install_grid_handlers(void) {
    take_signal(SIGSEGV);
    take_signal(SIGBUS);
    install_stop();
}

/* Begins a launch by this thread; 0 if it is in one. Its signals are those that a kernel needs until
 * leave_launch. */
static int enter_launch(const struct grid_launch *l, sigset_t *before) {
    if (is_inside_grid || (own_engine && atomic_load(&own_engine->launch))) {
        fault_text[0] = 0;
        fault_finding.kind = 0;
        append(fault_text, sizeof fault_text,
               "kernel '%s': it was launched from inside a kernel, by the thread that runs it",
               l->head->kernel ? l->head->kernel : "?");
        return 0;
    }
    sigset_t needed;
    needed_signals(&needed);
    pthread_sigmask(SIG_UNBLOCK, &needed, before);
    return 1;
}

/* Ends what enter_launch has begun. */
static void leave_launch(const sigset_t *before) {
    sigset_t needed;
    needed_signals(&needed);
    sigandset(&needed, &needed, before);
    if (!sigisemptyset(&needed)) pthread_sigmask(SIG_SETMASK, before, NULL);
}

/* Runs a kernel's entry over blocks [0, total), as kt_launch does; `grain` counts where there are no
 * more blocks than threads, else it is measured. Returns 0, or why not all blocks
 * are done; kt_fault tells more. */
EXPORT int kt_launch_grid(kernel_function entry, const void *args, long long total,
                          long long grain, int threads) {
    struct grid_launch l;
    memset(&l, 0, offsetof(struct grid_launch, text) + 1);
    l.entry = entry;
    l.head = (const struct launch_head *)args;
    if (total <= 0) return 0;
    l.arrays = noted_arrays;
    l.array_count = noted_array_count;
    sigset_t before;
    if (!enter_launch(&l, &before)) return KT_FAULT;
    install_handlers();
    install_grid_handlers();
    begin_watch(&l);
    if (total > threads && threads > 1) {
        /* How long one block takes says how many are worth another thread's waking. */
        int64_t begin = nanoseconds();
        grid_chunk(&l, 0, 1);
        int64_t each = nanoseconds() - begin + 1;
        l.first = 1;
        grain = WORTH_A_THREAD / each + 1;
        launch_items(later_chunk, &l, total - 1, grain, threads);
    } else {
        launch_items(grid_chunk, &l, total, grain, threads);
    }
    leave_launch(&before);
    return end_launch(&l);
}

/* Runs `function` over [0, total) as launch_items does. With a negative grain, whose absolute value
 * then counts, it may take long, and an interrupt of the process ends it. */
EXPORT int kt_launch(kernel_function function, const void *args, long long total, long long grain,
                     int threads) {
    install_handlers();
    if (__builtin_expect(grain >= 0, 1)) return launch_items(function, args, total, grain, threads);
    if (own_engine && atomic_load(&own_engine->launch)) /* from inside a kernel, which can be ended */
        return launch_items(function, args, total, -grain, threads);
    struct grid_launch l;
    memset(&l, 0, offsetof(struct grid_launch, text) + 1);
    l.entry = function;
    l.plain = args;
    install_stop();
    begin_watch(&l);
    launch_items(grid_chunk, &l, total, -grain, threads);
    end_watch(&l);
    return atomic_load(&l.failure);
}

/* ---- cooperative launches: an OS thread a block ---- */

struct crew_member {
    struct grid_launch *launch;
    long long block;
};

static void finish_block(struct grid_launch *l) {
    long long finished = atomic_fetch_add(&l->finished, 1) + 1;
    if (finished == l->blocks) {
        atomic_store(&l->ended, 1);
        futex_wake(&l->ended, 1);
    }
    if (atomic_load(&l->arrived) + finished == l->blocks && finished < l->blocks) {
        fail_outside(l, "some of its blocks have ended, and the others wait at a barrier of the "
                        "grid");
        abandon(l, 1);
    }
}

static void *crew(void *argument) {
    struct crew_member *self = (struct crew_member *)argument;
    grid_chunk(self->launch, self->block, self->block + 1);
    finish_block(self->launch);
    return NULL;
}

static void wait_for_grid(struct engine *e) {
    struct grid_launch *l = atomic_load(&e->launch);
    if (!l->blocks) fail_waiting(e, "a barrier of the grid needs a cooperative launch");
    uint32_t turn = atomic_load(&l->generation);
    uint32_t arrived = atomic_fetch_add(&l->arrived, 1) + 1;
    if (arrived == (uint32_t)l->blocks) {
        atomic_store(&l->arrived, 0);
        atomic_fetch_add(&l->generation, 1);
        futex_wake(&l->generation, MOST_COOPERATIVE);
    } else {
        if (arrived + atomic_load(&l->finished) == l->blocks)
            fail_waiting(e, "its block waits at a barrier of the grid, and other blocks have ended");
        if (!spin_while_equal(&l->generation, turn))
            while (atomic_load(&l->generation) == turn && !atomic_load(&l->stop))
                futex_wait(&l->generation, turn);
    }
    if (atomic_load(&l->stop)) leave_kernel(e, KT_FAULT);
}

static int call_grid_barrier(struct engine *e, const char *file, int line) {
    uint32_t turn = e->generation + 1;
    int waited = arrive(e, current_thread(e), GRID_BARRIER, file, line);
    if (e->grid_turn != turn) { /* the first that goes on waits for the other blocks */
        e->grid_turn = turn;
        wait_for_grid(e);
    }
    return arrive(e, current_thread(e), GRID_BARRIER, file, line) | waited;
}

static void call_sleep(struct engine *e, unsigned duration) {
    (void)e;
    struct timespec time = {0, duration < 1000000 ? duration : 1000000};
    syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &time, NULL);
}

/* The most blocks that a cooperative launch can have. */
EXPORT int kt_cooperative_limit(void) { return MOST_COOPERATIVE; }

/* Runs all blocks at the same time, so that they may wait for each other. */
EXPORT int kt_launch_cooperative(kernel_function entry, const void *args, long long total) {
    struct grid_launch l;
    memset(&l, 0, offsetof(struct grid_launch, text) + 1);
    l.entry = entry;
    l.head = (const struct launch_head *)args;
    l.blocks = total;
    if (total <= 0) return 0;
    if (total > MOST_COOPERATIVE) {
        fault_text[0] = 0;
        append(fault_text, sizeof fault_text,
               "kernel '%s': a cooperative launch can have %d blocks, not %lld",
               l.head->kernel ? l.head->kernel : "?", MOST_COOPERATIVE, total);
        return KT_TOO_LARGE;
    }
    l.arrays = noted_arrays;
    l.array_count = noted_array_count;
    sigset_t blocked, before, at_first;
    if (!enter_launch(&l, &at_first)) return KT_FAULT;
    install_handlers();
    install_grid_handlers();
    begin_watch(&l);
    pthread_t threads[MOST_COOPERATIVE];
    struct crew_member members[MOST_COOPERATIVE];
    kernel_signals(&blocked);
    pthread_sigmask(SIG_SETMASK, &blocked, &before);
    long long started = 1;
    for (; started < total; ++started) {
        members[started] = (struct crew_member){&l, started};
        if (pthread_create(&threads[started], NULL, crew, &members[started])) break;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (started < total) {
        fail_outside(&l, "the system has no thread for each of its blocks");
        abandon(&l, 1);
    } else {
        members[0] = (struct crew_member){&l, 0};
        crew(&members[0]);
        at_rest = 1;
        while (!atomic_load(&l.ended)) futex_wait(&l.ended, 0);
        at_rest = 0;
    }
    while (started-- > 1) pthread_join(threads[started], NULL);
    leave_launch(&at_first);
    return end_launch(&l);
}

/* Limits how long a launch of a grid may take; 0 is no limit. */
EXPORT void kt_set_time_limit(long long milliseconds) {
    long long limit = milliseconds < 0 ? 0 : milliseconds;
    if (atomic_exchange(&time_limit, limit) == limit) return;
    wake_watchdog(); /* it may sleep by a longer one */
}

/* Why this thread's last launch that failed did so. */
EXPORT const char *kt_fault(void) { return fault_text; }

/* Raises what a handler raised in the midst of this thread's last launch, if one did. With the GIL. */
EXPORT int kt_raise(void) {
    void *type = raised[0], *value = raised[1], *traceback = raised[2];
    if (!type) return 0;
    raised[0] = raised[1] = raised[2] = NULL;
    python.restore(type, value, traceback);
    return -1;
}

/* Threads of a grid, and what is said of one that fails.
 *
 * What a thread of a kernel does wrong ends its launch, not the process: the OS thread that it runs
 * on leaves the kernel by a long jump, writes down why, and those that are still in this launch are
 * stopped by a signal (watchdog.c). Launches are in launches.c.
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

static struct code_range own_code;

#define ONLY_PLACE 100 /* kind of a finding that only tells where; memory.c has the others */

/* An access to memory that was wrong; what is told of it is written elsewhere. */
struct finding {
    uint64_t address, size;
    int64_t offset; /* from the begin of what it belongs to */
    uint64_t object_size;
    const char *name, *file;
    int32_t kind, how, index, line, alignment, frames;
    uint64_t frame[16]; /* return addresses, the innermost first */
    uint64_t other[2];  /* those of an access that nothing orders with this one */
    int32_t other_thread[3];
};

/* A launch by a kernel. */
struct child {
    struct child *next;
    kernel_function entry;
    unsigned long size; /* of the block: head and parameters */
    int depth;          /* how many launches led to it */
    _Alignas(16) char block[];
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
    const struct child *own; /* of a kernel's own launch: the arrays do not have its block */
    struct child *children, **last_child; /* with heap_lock */
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

static void end_parts_of_others(void);
static void enter_checked(struct engine *e);
static const struct calls calls; /* memory.c */

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
    if (!has_key) {
        has_key = !pthread_key_create(&engine_key, give_engine);
        pthread_atfork(NULL, NULL, end_parts_of_others);
    }
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
    e->watched = NULL;
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

/* Ends the launch by what the running thread did, and, unless it is NULL, with a finding. */
static __attribute__((noreturn, cold, format(printf, 4, 5))) void fail_with(
    struct engine *e, int code, const struct finding *f, const char *format, ...) {
    struct grid_launch *l = atomic_load(&e->launch);
    if (claim_text(e, code)) {
        __builtin_va_list values;
        append_position(e, l->text, sizeof l->text, 1);
        __builtin_va_start(values, format);
        append_values(l->text, sizeof l->text, format, values);
        __builtin_va_end(values);
        if ((l->has_finding = f != NULL)) l->finding = *f;
    }
    leave_kernel(e, code);
}

static void call_assertion(struct engine *e, const char *condition, const char *file, int line) {
    if (*condition == ' ') /* a sentence by itself */
        fail_with(e, KT_TRAP, NULL, ":%s (%s:%d)", condition, file, line);
    if (line) fail_with(e, KT_TRAP, NULL, ": assertion '%s' failed at %s:%d", condition, file, line);
    fail_with(e, KT_TRAP, NULL, ": %s: %s", condition, file); /* of the package's: its name and a reason */
}

static void call_refused(struct engine *e, const char *what, const char *lacking, const char *file,
                         int line) {
    fail_with(e, KT_TRAP, NULL, ": %s cannot run on CPU cores, which have no %s (%s:%d)", what, lacking, file, line);
}

/* Lets no block of a launch without dynamic shared memory read or write that of its unit: its pages,
 * which begin at `memory` and are its alone, cannot be accessed until this thread has had its part of
 * the launch (end_part): when the thread ends or the unit is closed, the memory is the C library's again. */
static void call_guard_shared(struct engine *e, char *memory, unsigned long size) {
    if (e->guarded) return; /* by the blocks before */
    unsigned long page = (unsigned long)sysconf(_SC_PAGESIZE);
    e->guarded_end = memory + ((size + page - 1) & ~(page - 1));
    e->guarded = memory; /* behind its end: another thread may fork */
    if (mprotect(memory, (size_t)(e->guarded_end - memory), PROT_NONE)) {
        e->guarded = NULL;
        fail_waiting(e, "its dynamic shared memory cannot be protected");
    }
}

static void end_part_of(struct engine *e) {
    if (!e->guarded) return;
    if (mprotect(e->guarded, (size_t)(e->guarded_end - e->guarded), PROT_READ | PROT_WRITE)) abort();
    e->guarded = NULL;
}

/* Called by each thread behind the last blocks that it runs of a launch. */
static void end_part(void) {
    if (own_engine) end_part_of(own_engine);
}

/* Called in the child of a fork: the other threads are gone, and their memory is the C library's. */
static void end_parts_of_others(void) {
    for (struct engine *e = engines; e; e = e->next_engine)
        if (e != own_engine) end_part_of(e);
}

/* A function of the host that would end the process was called, and would return to `address`. */
static void call_ended(struct engine *e, const char *name, const void *address) {
    struct finding f = {.kind = ONLY_PLACE, .frame = {(uintptr_t)address}, .frames = 1};
    fail_with(e, KT_TRAP, &f, ": '%s' is called, which only the host has", name);
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

/* Registers of the code that a signal has come to. */
#define MACHINE(context) (((const ucontext_t *)(context))->uc_mcontext)
#ifdef __x86_64__
#define REGISTER(context, x86, arm) ((uintptr_t)MACHINE(context).gregs[x86])
#else
#define REGISTER(context, x86, arm) ((uintptr_t)MACHINE(context).arm)
#endif

static uintptr_t program_counter(void *context) { return REGISTER(context, REG_RIP, pc); }
static uintptr_t frame_of(void *context) { return REGISTER(context, REG_RBP, regs[29]); }
static uintptr_t stack_pointer_of(void *context) { return REGISTER(context, REG_RSP, sp); }

/* Who called a function that a signal has come to before it has a frame of its own, or after that: the
 * frames name this caller's callers only. 0 if it is not seen. */
static uintptr_t caller_without_frame(const struct grid_launch *l, void *context) {
#ifdef __x86_64__
    const uintptr_t *top = (const uintptr_t *)stack_pointer_of(context);
    for (int k = 0; k < 2; ++k) /* the frame's address may have been saved above it */
        if ((uintptr_t)(top + k) < frame_of(context) && is_within(top[k], l->code)) return top[k];
#else
    uintptr_t link = (uintptr_t)MACHINE(context).regs[30];
    if (is_within(link, l->code)) return link;
#endif
    return 0;
}

/* Writes down the return addresses of frames within a stack, behind those that are known. */
static void note_frames(struct finding *f, uintptr_t frame, uintptr_t low, uintptr_t high) {
    /* Without frames this is any number, near the end of the address space too. */
    while (frame >= low && frame < high && high - frame >= 16 && frame % sizeof(void *) == 0 && f->frames < 16) {
        const uintptr_t *words = (const uintptr_t *)frame;
        f->frame[f->frames++] = words[1];
        if (words[0] <= frame) break; /* a stack grows downwards */
        frame = words[0];
    }
}

/* Writes down where the machine code is that a signal has come to, with its callers (the first, if it is
 * not 0, in front of those that have frames): where it was built to be debugged, Python finds the line. */
static void note_place(struct engine *e, struct grid_launch *l, void *context, uintptr_t caller) {
    uintptr_t frame = frame_of(context), low = (uintptr_t)e->current->low;
    l->finding.kind = ONLY_PLACE;
    l->finding.frame[0] = program_counter(context) + 1;
    l->finding.frames = 1;
    if (caller) l->finding.frame[l->finding.frames++] = caller;
    l->has_finding = 1;
    uintptr_t high = (uintptr_t)e->current->top;
    if (e->current == &e->native) { /* what is in use of it */
        low = stack_pointer_of(context);
        high = e->native_end;
    }
    note_frames(&l->finding, frame, low, high);
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
    note_place(e, l, context, 0);
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
        else if (e->guarded && address >= e->guarded && address < e->guarded_end)
            append(text, size, ": it uses dynamic shared memory, of which the launch has 0 bytes");
        else if (info->si_code == SI_KERNEL)
            append(text, size, ": an address that no memory can have was read or written");
        else
            append(text, size, ": no memory can be read or written at address %p", address);
    }
    return 1;
}

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
        note_place(e, l, context, caller_without_frame(l, context));
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

/* The threads of a block, on one OS thread: stacks, the switch between them, barriers and warps.
 *
 * A kernel's entry walks over the threads of a block in a plain loop, and knows nothing of fibers.
 * When a thread has to wait, the stack that the loop runs on becomes this thread's own (it is bound
 * to the thread, and enters the ring), and a fresh fiber continues the loop at the next thread. So
 * every thread runs up to its first wait before any goes on, and bound threads then take turns in
 * the order of their numbers. The entry's own stack is the first that is bound; it comes back to
 * the entry when all threads of the block have ended.
 *
 * A thread waits while a word has a value: a generation, which counts how often what it waits for
 * has happened. Whoever arrives last at a barrier counts it up and goes on.
 *
 * The lanes of a warp go on in ascending order behind whatever they have waited for together, as if
 * in step; so whoever comes last gives way to the lowest. They wait for each other in collectives, and
 * at meeting points, which units have where memory is volatile: programs for GPUs before Volta rely on
 * it that all lanes load before one of them stores. When all lanes of a warp wait, those go on that
 * are furthest behind in the text (the lowest position: "Thread Frontiers", Diamos et al., 2011), so
 * that lanes which took another branch or a longer loop catch up. A warp that so runs lanes round
 * and round, while others of it wait, spins on what they should do: then all may go on.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define KT_ADDRESS_SANITIZER
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define KT_ADDRESS_SANITIZER
#endif
#ifdef KT_ADDRESS_SANITIZER
void __sanitizer_start_switch_fiber(void **save, const void *bottom, size_t size);
void __sanitizer_finish_switch_fiber(void *save, const void **bottom, size_t *size);
void __asan_unpoison_memory_region(const volatile void *address, size_t size);
#endif

#define WARP 32u
#define MOST_THREADS 1024u /* of a block */
#define MOST_WARPS (MOST_THREADS / WARP)
#define STACK_GUARD (64u << 10) /* a multiple of every page size */
/* 512 KiB of local memory is what CUDA gives a thread. */
#define STACK_STRIDE (STACK_GUARD + (512u << 10) + (64u << 10))
#define CANARY 512u /* bytes at the low end of a stack without a guard */
#define STACKS_A_SLAB 16u
#define NO_BLOCK 0xffffffffu
#define MOST_TURNS 8u /* of warps that go on at once, before the other threads have theirs */
#define PATIENCE (64u << 16) /* with lanes that are ahead, in parts of a round: it is 64 without stores */
#define MOST_YIELDS 128u /* of a warp's lanes, while others of it wait at a meeting point */
#define SHORT_PATIENCE (64u << 6) /* in a launch in which lanes have spun */
#define EXITS_ALLOWED 1u /* flag of a launch: exited threads count as arrived at a barrier */

enum waiting { AT_NOTHING, AT_BARRIER, AT_WARP, AT_ANY, AT_YIELD, AT_MEETING };

/* CUDA has one barrier a block, wherever it is written; the kinds cannot be mixed. */
enum barrier_kind { PLAIN_BARRIER, COUNTING_BARRIER, GRID_BARRIER };

struct fiber {
    void *stack_pointer, *frame, *go_on; /* how it was left; first, for the switch */
    struct fiber *next, *previous; /* in the ring of waiting threads, or among the free */
    const uint32_t *word;          /* the thread waits while it has this value */
    uint32_t value;
    uint32_t held;   /* at a meeting point; that word */
    uint32_t thread; /* number in the block; valid while bound */
    int bound;
    int line; /* where it waits */
    const char *file;
    enum waiting waiting;
    int group; /* of the warp, when it waits there */
    void *top; /* the stack pointer that it begins with */
    char *low; /* the lowest byte of its stack */
    const char *canary; /* zeros that an overflow overwrites; NULL where a guard stops it */
#ifdef KT_ADDRESS_SANITIZER
    void *fake_stack;
    const void *bottom;
    size_t size;
#endif
};

/* Lanes that wait for each other: those of a mask, or (mask 0) those that come to one place. */
struct group {
    uint32_t generation, mask, arrived;
    int line;
    const char *file;
    combine_function combine;
};

struct warp {
    uint32_t exited; /* lanes that have ended, or that the block does not have */
    uint32_t excused; /* of these, lanes that count as arrived at barriers */
    int groups;      /* in use, from the first on; some of them may be done */
    uint32_t pending; /* lanes that wait in a group */
    uint32_t meeting; /* lanes that wait at a meeting point */
    uint32_t stored;  /* whether one has stored since lanes last went on from there */
    uint32_t passed;  /* parts of rounds in which some were left waiting */
    uint32_t yields;  /* since one has come to a meeting point */
    unsigned long long position[WARP]; /* of those that wait there */
    struct group group[WARP];
    unsigned long long in[WARP], out[WARP];
    unsigned extra[WARP];
};

struct engine {
    const void *calls; /* first: how a unit reaches the runtime */
    struct fiber *current;
    uint32_t generation, arrived, needed; /* of the block's barrier */
    enum barrier_kind kind; /* of who came first */
    int mixed;              /* others came to another kind */
    unsigned long long sum, sums[2]; /* what a counting barrier counts, by parity of generation */
    uint32_t total, cursor, exited;  /* threads: all, the loop has begun, ended */
    uint32_t at_block[3];
    struct fiber *ring, *free;
    const struct launch_head *head;
    const struct unit *unit;
    struct fiber native; /* the stack that the entry was called on */
    struct fiber *by_thread[MOST_THREADS];
    struct warp warps[MOST_WARPS];
    uint32_t grid_turn; /* the last generation for which the grid was waited for */
    uint32_t meetings; /* threads that wait at meeting points */
    uint32_t resumed, resumed_warp; /* lanes that may go on, for whoever chooses who is next */
    uint32_t turns;    /* of warps, since all others could have had theirs */
    uint32_t due;      /* warps that have not gone on since the last barrier */
    uint32_t patience; /* see PATIENCE */
    uint32_t idle;   /* how often threads have yielded since anything else happened */
    uint32_t always; /* differs from what a thread that only yields waits for */

    char **slabs; /* of STACKS_A_SLAB stacks each */
    unsigned char *slab_guards; /* how many guards each has */
    int slab_count;
    _Atomic int critical; /* in the midst of a change that must not be left */
    struct grid_launch *_Atomic launch;
    _Atomic pid_t tid;
    _Atomic int signalled; /* a signal to stop is on its way to it */
    struct engine *next_engine, *next_free;
    void *signal_stack;
    const char *origin; /* of this thread's shared variables, where memory is checked */
    uintptr_t native_end; /* of what a kernel uses of that stack */
    uintptr_t native_low, native_high; /* the stack that the entry was called on; 0 if unknown */
    struct exchanges *exchanges, *watched; /* exchanges.c; NULL where memory is not checked */
    char *_Atomic guarded, *guarded_end; /* pages that a launch does not have; NULL for none */
};

/* Ends the launch: what is told of it was written down before. */
static __attribute__((noreturn)) void leave_kernel(struct engine *e, int code);
static __attribute__((noreturn, cold)) void fail_waiting(struct engine *e, const char *what);

/* exchanges.c */
static void join_lanes(struct engine *e, uint32_t warp, uint32_t before, uint32_t lanes);
static void join_block(struct engine *e);
static void finish_touches(struct engine *e);

static __attribute__((noreturn, cold)) void fail_mixed(struct engine *e) {
    fail_waiting(e, "its threads wait at barriers of different kinds");
}

/* ---- the switch ----
 *
 * SWITCH(from, to, e) notes where this stack is left in `from`, and goes on where `to` was left. A
 * stack that is new begins a function, which gets `e`.
 *
 * On x86-64 it is written into the function that waits, which so keeps its registers once and not
 * twice; and with no call of its own, the processor expects each return where it then happens. */
#if defined(__x86_64__)
#ifdef __AVX512F__
#define MORE_VECTORS                                                                            \
    , "xmm16", "xmm17", "xmm18", "xmm19", "xmm20", "xmm21", "xmm22", "xmm23", "xmm24", "xmm25", \
        "xmm26", "xmm27", "xmm28", "xmm29", "xmm30", "xmm31", "k1", "k2", "k3", "k4", "k5",     \
        "k6", "k7"
#else
#define MORE_VECTORS
#endif
#define SWITCH(from, to, e)                                                                     \
    do {                                                                                        \
        struct fiber *from_ = (from), *to_ = (to);                                              \
        struct engine *engine_ = (e);                                                           \
        __asm__ volatile(                                                                       \
            "leaq 1f(%%rip), %%rax\n\t"                                                         \
            "movq %%rsp, (%0)\n\t"                                                              \
            "movq %%rbp, 8(%0)\n\t"                                                             \
            "movq %%rax, 16(%0)\n\t"                                                            \
            "movq (%1), %%rsp\n\t"                                                              \
            "movq 8(%1), %%rbp\n\t"                                                             \
            "jmpq *16(%1)\n"                                                                    \
            "1:"                                                                                \
            : "+c"(from_), "+d"(to_), "+D"(engine_)                                             \
            :                                                                                   \
            : "rax", "rbx", "rsi", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15",        \
              "memory", "cc", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7",   \
              "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14",                      \
              "xmm15" MORE_VECTORS);                                                            \
    } while (0)

static void new_stack(struct fiber *f, void (*begin)(struct engine *)) {
    void **stack = (void **)f->top - 1; /* 8 below 16-byte alignment, as after a call */
    *stack = NULL;                      /* the return address of the first function: none */
    f->stack_pointer = stack;
    f->frame = NULL;
    f->go_on = (void *)begin;
}
#elif defined(__aarch64__)
void kt_switch(void **save, void *to, void *argument) __attribute__((visibility("hidden")));
__asm__(
    ".text\n"
    ".p2align 4\n"
    ".globl kt_switch\n"
    ".hidden kt_switch\n"
    ".type kt_switch,%function\n"
    "kt_switch:\n"
    "    sub sp, sp, #160\n"
    "    stp x19, x20, [sp, #0]\n"
    "    stp x21, x22, [sp, #16]\n"
    "    stp x23, x24, [sp, #32]\n"
    "    stp x25, x26, [sp, #48]\n"
    "    stp x27, x28, [sp, #64]\n"
    "    stp x29, x30, [sp, #80]\n"
    "    stp d8, d9, [sp, #96]\n"
    "    stp d10, d11, [sp, #112]\n"
    "    stp d12, d13, [sp, #128]\n"
    "    stp d14, d15, [sp, #144]\n"
    "    mov x9, sp\n"
    "    str x9, [x0]\n"
    "    mov sp, x1\n"
    "    mov x0, x2\n"
    "    ldp x19, x20, [sp, #0]\n"
    "    ldp x21, x22, [sp, #16]\n"
    "    ldp x23, x24, [sp, #32]\n"
    "    ldp x25, x26, [sp, #48]\n"
    "    ldp x27, x28, [sp, #64]\n"
    "    ldp x29, x30, [sp, #80]\n"
    "    ldp d8, d9, [sp, #96]\n"
    "    ldp d10, d11, [sp, #112]\n"
    "    ldp d12, d13, [sp, #128]\n"
    "    ldp d14, d15, [sp, #144]\n"
    "    add sp, sp, #160\n"
    "    br x30\n"
    ".size kt_switch,.-kt_switch\n"
    ".section .note.GNU-stack,\"\",%progbits\n"
    ".text\n");

#define SWITCH(from, to, e) kt_switch(&(from)->stack_pointer, (to)->stack_pointer, e)

static void new_stack(struct fiber *f, void (*begin)(struct engine *)) {
    void **stack = (void **)((char *)f->top - 160);
    memset(stack, 0, 160);
    stack[11] = (void *)begin; /* x30 */
    f->stack_pointer = stack;
}
#else
#error "The host backend is for x86-64 and AArch64."
#endif

static inline __attribute__((always_inline)) void switch_to(struct engine *e, struct fiber *from, struct fiber *to) {
    e->current = to;
#ifdef KT_ADDRESS_SANITIZER
    atomic_store(&e->critical, 1); /* left between the two, the sanitizer would end the process */
    __sanitizer_start_switch_fiber(&from->fake_stack, to->bottom, to->size);
#endif
    SWITCH(from, to, e);
#ifdef KT_ADDRESS_SANITIZER
    __sanitizer_finish_switch_fiber(from->fake_stack, NULL, NULL);
    atomic_store(&e->critical, 0);
#endif
}

/* ---- stacks ---- */

static void fiber_begin(struct engine *e);

/* A guard splits a mapping in two, and a process may have only so many mappings. A quarter of them
 * goes to a guard for each stack. Beyond that a slab has one at its end, for another quarter, and
 * its stacks have canaries. */
static _Atomic int guards_used;

static int guard_budget(void) {
    static _Atomic int known;
    int budget = atomic_load(&known);
    if (!budget) {
        FILE *file = fopen("/proc/sys/vm/max_map_count", "re");
        if (!file || fscanf(file, "%d", &budget) != 1 || budget < 8) budget = 65530;
        if (file) fclose(file);
        budget /= 8; /* two mappings a guard */
        atomic_store(&known, budget);
    }
    return budget;
}

/* Returns how many of `wanted` guards a slab may have: all, one or none. */
static unsigned take_guards(unsigned wanted) {
    int budget = guard_budget();
    if (atomic_fetch_add(&guards_used, (int)wanted) + (int)wanted <= budget) return wanted;
    atomic_fetch_sub(&guards_used, (int)wanted);
    if (atomic_fetch_add(&guards_used, 1) < 2 * budget) return 1;
    atomic_fetch_sub(&guards_used, 1);
    return 0;
}

/* Makes the fibers of a slab free ones. A fiber's own record lies at the top of its stack, next to
 * the frames that a switch touches; the tops are staggered, so that they fall into different sets
 * of the cache. */
static void free_fibers(struct engine *e, int slab) {
    for (unsigned i = STACKS_A_SLAB; i-- > 0;) {
        char *low = e->slabs[slab] + (size_t)i * STACK_STRIDE;
        unsigned stagger = ((unsigned)(slab + 1) * STACKS_A_SLAB + i) * 448u % 4096u;
        char *end = low + STACK_STRIDE - stagger - sizeof(struct fiber);
        struct fiber *f = (struct fiber *)((uintptr_t)end & ~(uintptr_t)63);
#ifdef KT_ADDRESS_SANITIZER
        /* Frames that nobody returned from. */
        __asan_unpoison_memory_region(low + STACK_GUARD, STACK_STRIDE - STACK_GUARD);
#endif
        memset(f, 0, sizeof *f);
        f->low = low + STACK_GUARD;
        f->top = f;
        if (e->slab_guards[slab] < STACKS_A_SLAB) f->canary = f->low;
#ifdef KT_ADDRESS_SANITIZER
        f->bottom = f->low;
        f->size = (size_t)((char *)f->top - f->low);
#endif
        f->next = e->free;
        e->free = f;
    }
}

/* Maps some more stacks. */
static __attribute__((cold, noinline)) void add_stacks(struct engine *e) {
    atomic_store(&e->critical, 1);
    size_t count = (size_t)e->slab_count + 1, size = (size_t)STACK_STRIDE * STACKS_A_SLAB;
    char **slabs = (char **)realloc(e->slabs, count * sizeof *slabs);
    if (slabs) e->slabs = slabs;
    unsigned char *guards = (unsigned char *)realloc(e->slab_guards, count);
    if (guards) e->slab_guards = guards;
    char *slab = MAP_FAILED;
    if (slabs && guards)
        slab = (char *)mmap(NULL, size, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (slab == MAP_FAILED) {
        atomic_store(&e->critical, 0);
        fail_waiting(e, "there is no memory for the stacks of its threads");
    }
    madvise(slab, size, MADV_NOHUGEPAGE); /* a huge page a stack would be far too much */
    unsigned wanted = take_guards(STACKS_A_SLAB), made = 0;
    while (made < wanted && !mprotect(slab + (size_t)made * STACK_STRIDE, STACK_GUARD, PROT_NONE))
        ++made;
    atomic_fetch_sub(&guards_used, (int)(wanted - made));
    e->slabs[e->slab_count] = slab;
    e->slab_guards[e->slab_count] = (unsigned char)made;
    free_fibers(e, e->slab_count++);
    atomic_store(&e->critical, 0);
}

/* Gives the stacks of an engine back that nobody uses. */
static void remove_stacks(struct engine *e) {
    e->free = NULL;
    while (e->slab_count > 0) {
        int k = --e->slab_count;
        munmap(e->slabs[k], (size_t)STACK_STRIDE * STACKS_A_SLAB);
        atomic_fetch_sub(&guards_used, e->slab_guards[k]);
    }
}

static __attribute__((cold, noinline)) void fail_overflow(struct engine *e);

/* Looks whether a thread that ends has written beyond the end of its stack. */
static __attribute__((cold, noinline)) void check_canary(struct engine *e, const struct fiber *f) {
    const unsigned long long *word = (const unsigned long long *)f->canary;
    for (unsigned k = 0; k < CANARY / sizeof *word; ++k)
        if (word[k]) fail_overflow(e);
}

static inline struct fiber *take_fiber(struct engine *e) {
    if (__builtin_expect(!e->free, 0)) add_stacks(e);
    struct fiber *f = e->free;
    e->free = f->next;
    f->bound = 0;
    new_stack(f, fiber_begin);
    return f;
}

/* After a launch that was left: no fiber runs, every stack is free. */
static void reset_engine(struct engine *e) {
    e->ring = e->free = NULL;
    e->current = &e->native;
    e->native.bound = 0;
    for (int k = e->slab_count; k-- > 0;) {
        if (e->slab_guards[k] < STACKS_A_SLAB) { /* canaries are zeros again */
            size_t done = e->slab_guards[k] ? STACK_GUARD : 0;
            madvise(e->slabs[k] + done, (size_t)STACK_STRIDE * STACKS_A_SLAB - done, MADV_DONTNEED);
        }
        free_fibers(e, k);
    }
    e->at_block[0] = NO_BLOCK;
}

/* Returns the slab of stacks that an address is in; -1 for none. */
static int slab_of(const struct engine *e, const void *address) {
    for (int k = 0; e && k < e->slab_count; ++k)
        if ((uintptr_t)address - (uintptr_t)e->slabs[k] < (uintptr_t)STACK_STRIDE * STACKS_A_SLAB) return k;
    return -1;
}

/* Tells whether an address is one that a thread reaches whose stack is full. */
static int is_guard(const struct engine *e, const char *address) {
    int slab = slab_of(e, address);
    return slab >= 0 && (size_t)(address - e->slabs[slab]) % STACK_STRIDE < STACK_GUARD;
}

/* ---- ends of threads ---- */

static void complete_group(struct engine *e, uint32_t warp, struct group *g) {
    struct warp *w = &e->warps[warp];
    uint32_t lanes = g->arrived;
    unsigned long long results[WARP];
    if (__builtin_expect(e->watched != NULL, 0)) join_lanes(e, warp, lanes, lanes);
    g->combine(w->in, w->extra, results, lanes);
    /* Lanes of other groups may not have read theirs yet. */
    for (uint32_t rest = lanes; rest; rest &= rest - 1)
        w->out[__builtin_ctz(rest)] = results[__builtin_ctz(rest)];
    g->arrived = 0;
    ++g->generation;
    e->idle = 0;
    e->resumed = lanes;
    e->resumed_warp = warp;
    w->pending &= ~lanes;
    if (!w->pending) w->groups = 0;
}

static inline int group_is_complete(const struct warp *w, const struct group *g) {
    uint32_t wanted = g->mask ? g->mask : ~0u;
    return g->arrived && (wanted & ~w->exited & ~g->arrived) == 0;
}

static void complete_groups(struct engine *e, uint32_t warp) {
    struct warp *w = &e->warps[warp];
    for (int k = 0; k < w->groups; ++k)
        if (group_is_complete(w, &w->group[k])) complete_group(e, warp, &w->group[k]);
}

/* ---- meeting points ---- */

static inline int is_runnable(const struct fiber *f) { return *f->word != f->value; }

/* Tells whether one of a warp's lanes can go on, or has not begun. */
static inline int one_can_go_on(const struct engine *e, uint32_t warp, uint32_t lanes) {
    for (; lanes; lanes &= lanes - 1) {
        const struct fiber *f = e->by_thread[warp * WARP + (uint32_t)__builtin_ctz(lanes)];
        if (!f || is_runnable(f)) return 1;
    }
    return 0;
}

/* Tells whether no lane of a warp can go on but for `own`, which is about to wait. */
static int is_settled(const struct engine *e, uint32_t warp, uint32_t own) {
    const struct warp *w = &e->warps[warp];
    uint32_t rest = ~w->exited & ~w->meeting & ~own, above = rest & -(own << 1);
    /* The next is most likely still to come. */
    return !one_can_go_on(e, warp, above) && !one_can_go_on(e, warp, rest & ~above);
}

/* Lets those lanes go on that are furthest behind. */
static void release_meeting(struct engine *e, uint32_t warp) {
    struct warp *w = &e->warps[warp];
    unsigned long long lowest = ~0ull;
    uint32_t lanes = 0;
    /* Lanes that are not there have come further, or wait at the end of a branch. */
    if (__builtin_expect(e->watched != NULL, 0)) join_lanes(e, warp, ~0u, w->meeting);
    for (uint32_t rest = w->meeting; rest; rest &= rest - 1) {
        uint32_t lane = (uint32_t)__builtin_ctz(rest);
        if (w->position[lane] < lowest) {
            lowest = w->position[lane];
            lanes = 0;
        }
        if (w->position[lane] == lowest) lanes |= 1u << lane;
    }
    if (lanes == w->meeting) {
        w->passed = 0;
    } else if ((w->passed += w->stored ? 1 : 64) >= e->patience) {
        e->patience = SHORT_PATIENCE;
        w->passed = 0;
        lanes = w->meeting;
    }
    w->stored = w->yields = 0;
    w->meeting &= ~lanes;
    for (uint32_t rest = lanes; rest; rest &= rest - 1, --e->meetings)
        e->by_thread[warp * WARP + (uint32_t)__builtin_ctz(rest)]->held = 0;
    e->resumed = lanes;
    e->resumed_warp = warp;
}

/* Lets lanes go on that wait for whoever comes, of those groups the one that is first in the text; 0
 * if there are none. */
static int end_open_group(struct engine *e, uint32_t warp) {
    struct warp *w = &e->warps[warp];
    struct group *first = NULL;
    for (int k = 0; w->pending && k < w->groups; ++k) {
        struct group *g = &w->group[k];
        if (!g->mask && g->arrived && (!first || g->line < first->line)) first = g;
    }
    if (first) complete_group(e, warp, first); /* its lanes may join those of the next */
    return first != NULL;
}

/* Lets lanes of a warp go on in which none can; 0 if all wait for other warps. */
static int unsettle(struct engine *e, uint32_t warp) {
    if (end_open_group(e, warp)) return 1;
    if (!e->warps[warp].meeting) return 0;
    release_meeting(e, warp);
    return 1;
}

static inline void release_barrier(struct engine *e) {
    if (__builtin_expect(e->watched != NULL, 0)) join_block(e);
    e->sums[e->generation & 1] = e->sum | (unsigned long long)e->arrived << 32;
    e->sum = 0;
    e->arrived = 0;
    e->idle = 0;
    e->due = (e->total + WARP - 1) / WARP;
    ++e->generation;
}

static void threads_exited(struct engine *e, uint32_t first, uint32_t end) {
    e->exited += end - first;
    e->idle = 0;
    for (uint32_t t = first; t < end;) {
        uint32_t warp = t / WARP, lane = t % WARP, count = WARP - lane;
        if (count > end - t) count = end - t;
        e->warps[warp].exited |= (count == WARP ? ~0u : (1u << count) - 1) << lane;
        if (e->warps[warp].pending) complete_groups(e, warp);
        if ((e->warps[warp].pending | e->warps[warp].meeting) && is_settled(e, warp, 0))
            unsettle(e, warp);
        t += count;
    }
    if (e->head->flags & EXITS_ALLOWED) {
        e->needed = e->total - e->exited;
        if (e->arrived && e->arrived == e->needed) {
            if (e->mixed) fail_mixed(e);
            release_barrier(e);
        }
    }
}

/* ---- who is next ---- */

static void enter_ring(struct engine *e, struct fiber *f) {
    struct fiber *first = e->ring;
    if (!first) {
        e->ring = f->next = f->previous = f;
        return;
    }
    f->next = first;
    f->previous = first->previous;
    first->previous->next = f;
    first->previous = f;
}

static void leave_ring(struct engine *e, struct fiber *f) {
    if (f->next == f) {
        e->ring = NULL;
        return;
    }
    f->previous->next = f->next;
    f->next->previous = f->previous;
    if (e->ring == f) e->ring = f->next;
}

/* Lets lanes go on that wait for others of their warp only; 0 if there are none. */
static __attribute__((noinline)) int unsettle_all(struct engine *e) {
    int found = 0;
    for (uint32_t warp = 0; warp * WARP < e->total; ++warp) found |= unsettle(e, warp);
    e->resumed = 0;
    return found;
}

/* Returns who can run, from `from` on. When nobody can, lanes that wait for whoever comes have
 * waited long enough. */
static struct fiber *find_runnable(struct engine *e, struct fiber *from) {
    struct fiber *f = from;
    do {
        if (is_runnable(f)) return f;
        f = f->next;
    } while (f != from);
    if (!unsettle_all(e)) fail_waiting(e, NULL);
    for (f = e->ring; !is_runnable(f); f = f->next) {}
    return f;
}

/* Returns with whom lanes that may go on begin: the lowest. Now and then it is who comes behind the
 * warp, so that all threads have their turn. So it is behind a barrier until each warp has waited
 * once: what all of them read there, a program may overwrite when its own warp has gone on. */
static struct fiber *first_resumed(struct engine *e) {
    uint32_t first = e->resumed_warp * WARP, thread = first + (uint32_t)__builtin_ctz(e->resumed);
    e->resumed = 0;
    if (e->due != 0)
        --e->due;
    else if (++e->turns < MOST_TURNS)
        return e->by_thread[thread];
    e->turns = 0;
    thread = first + WARP < e->total ? first + WARP : e->total;
    while (!e->by_thread[--thread]) {}
    return e->by_thread[thread]->next;
}

static __attribute__((cold, noinline)) void begin_block(struct engine *e, const uint32_t *at) {
    if (e->watched) join_block(e);
    memcpy(e->at_block, at, sizeof e->at_block);
    e->cursor = e->exited = e->arrived = 0;
    e->mixed = 0;
    e->sum = 0;
    e->needed = e->total;
    e->meetings = e->resumed = e->due = 0;
    memset(e->by_thread, 0, e->total * sizeof *e->by_thread);
    for (uint32_t k = 0; k * WARP < e->total; ++k) {
        struct warp *w = &e->warps[k];
        uint32_t lanes = e->total - k * WARP;
        w->exited = lanes >= WARP ? 0 : ~0u << lanes;
        w->excused = 0;
        w->groups = 0;
        w->pending = w->meeting = w->stored = w->passed = w->yields = 0;
        for (unsigned j = 0; j < WARP; ++j) w->group[j].arrived = 0;
    }
}

/* Returns the number of the thread that is running. One that the loop runs has none written down
 * yet: the unit is asked, and those before it that never waited have ended. */
static inline uint32_t current_thread(struct engine *e) {
    if (__builtin_expect(e->current->bound, 1)) return e->current->thread;
    uint32_t at[6];
    e->unit->where(at);
    if (at[0] != e->at_block[0] || at[1] != e->at_block[1] || at[2] != e->at_block[2])
        begin_block(e, at);
    const uint32_t *size = e->head->block;
    uint32_t thread = at[3] + size[0] * (at[4] + size[1] * at[5]);
    if (thread > e->cursor) {
        uint32_t first = e->cursor;
        e->cursor = thread;
        threads_exited(e, first, thread);
    }
    return thread;
}

/* Suspends the running thread for as long as *word is value. Who is next then is the next in the ring
 * or, `in_turn`, the lowest of the lanes that may go on. */
static inline __attribute__((always_inline)) void wait_while(struct engine *e, uint32_t thread, const uint32_t *word,
                              uint32_t value, int in_turn) {
    struct fiber *self = e->current, *next;
    self->word = word;
    self->value = value;
    if (__builtin_expect(!self->bound, 0)) {
        self->bound = 1;
        self->thread = thread;
        e->by_thread[thread] = self;
        enter_ring(e, self);
        e->cursor = thread + 1;
        if (e->cursor < e->total) {
            e->idle = 0;
            e->resumed = 0; /* they have their turn when all threads have begun */
            switch_to(e, self, take_fiber(e));
            return;
        }
    }
    next = in_turn && e->resumed ? first_resumed(e) : self->next;
    if (__builtin_expect(!is_runnable(next), 0)) next = find_runnable(e, next);
    if (next == self) return;
    __builtin_prefetch(next->next->stack_pointer);
    switch_to(e, self, next);
}

/* The loop over the threads has ended, or the thread that this stack was bound to. Returns only on
 * the entry's own stack, when the block is done. */
static void leave_thread(struct engine *e) {
    struct fiber *self = e->current, *next = e->ring;
    e->resumed = 0;
    if (__builtin_expect(self->canary != NULL, 0)) check_canary(e, self);
    if (self->bound) {
        next = self->next;
        self->bound = 0;
        e->by_thread[self->thread] = NULL;
        leave_ring(e, self);
        threads_exited(e, self->thread, self->thread + 1);
    } else if (e->cursor < e->total) {
        uint32_t first = e->cursor;
        e->cursor = e->total;
        threads_exited(e, first, e->total);
    }
    if (self != &e->native) {
        self->next = e->free;
        e->free = self;
    }
    if (!e->ring) {
        if (self == &e->native) return;
        switch_to(e, self, &e->native);
        __builtin_unreachable();
    }
    if (e->resumed) next = first_resumed(e);
    if (!is_runnable(next)) next = find_runnable(e, next);
    switch_to(e, self, next);
    if (self != &e->native) __builtin_unreachable();
}

static void fiber_begin(struct engine *e) {
#ifdef KT_ADDRESS_SANITIZER
    const void *bottom;
    size_t size;
    __sanitizer_finish_switch_fiber(NULL, &bottom, &size);
    atomic_store(&e->critical, 0);
    if (!e->native.bottom) { /* the first switch of an engine comes from there */
        e->native.bottom = bottom;
        e->native.size = size;
    }
#endif
    e->unit->go_on(e->head, e->cursor);
    leave_thread(e);
    __builtin_unreachable();
}

/* ---- what a kernel calls; each returns whether others ran meanwhile ---- */

/* Lets lanes go on at a meeting point if nobody else of their warp can, now that a thread waits. */
static __attribute__((noinline)) void settle(struct engine *e, uint32_t thread) {
    uint32_t warp = thread / WARP;
    e->resumed = 0;
    if (e->warps[warp].meeting && is_settled(e, warp, 1u << thread % WARP)) unsettle(e, warp);
}

static inline __attribute__((always_inline)) int arrive(struct engine *e, uint32_t thread, enum barrier_kind kind,
                                                     const char *file, int line) {
    struct fiber *self = e->current;
    self->file = file;
    self->line = line;
    self->waiting = AT_BARRIER;
    e->idle = 0;
    if (e->arrived == 0) {
        e->kind = kind;
        e->mixed = 0;
    } else if (__builtin_expect(kind != e->kind, 0)) {
        e->mixed = 1;
    }
    if (++e->arrived == e->needed) {
        if (__builtin_expect(e->mixed, 0)) fail_mixed(e);
        release_barrier(e);
        return 0;
    }
    int met = e->meetings != 0;
    if (__builtin_expect(met, 0)) settle(e, thread);
    wait_while(e, thread, &e->generation, e->generation, met);
    return 1;
}

static int call_barrier(struct engine *e, const char *file, int line) {
    return arrive(e, current_thread(e), PLAIN_BARRIER, file, line);
}

/* A barrier that adds up what the threads bring: sum in the low half, threads in the high one. */
static int call_vote(struct engine *e, unsigned value, unsigned long long *result,
                     const char *file, int line) {
    uint32_t thread = current_thread(e), parity = e->generation & 1;
    e->sum += value;
    int waited = arrive(e, thread, COUNTING_BARRIER, file, line);
    *result = e->sums[parity];
    return waited;
}

/* A collective of the lanes in `mask`; with mask 0 of those that come to this place before nothing
 * else in the block can run. */
static int call_warp(struct engine *e, unsigned mask, combine_function combine,
                     unsigned long long value, unsigned extra, unsigned long long *result,
                     const char *file, int line) {
    uint32_t thread = current_thread(e), lane = thread % WARP;
    struct warp *w = &e->warps[thread / WARP];
    struct fiber *self = e->current;
    int k = 0, unused = -1;
    self->file = file;
    self->line = line;
    self->waiting = mask ? AT_WARP : AT_ANY;
    e->idle = 0;
    if (!combine) fail_waiting(e, "a mask names no lane");
    if (mask && !(mask >> lane & 1)) fail_waiting(e, "a lane is not in the mask that it names");
    for (; k < w->groups; ++k) {
        struct group *g = &w->group[k];
        if (!g->arrived) {
            if (unused < 0) unused = k;
        } else if (g->mask == mask) {
            if (mask) {
                if (g->combine != combine)
                    fail_waiting(e, "lanes of one mask call different functions of a warp");
                break;
            }
            if (g->combine == combine && g->line == line &&
                (g->file == file || !strcmp(g->file, file)))
                break;
        }
    }
    if (k == w->groups) {
        if (unused >= 0)
            k = unused;
        else
            ++w->groups;
        w->group[k].mask = mask;
        w->group[k].combine = combine;
        w->group[k].file = file;
        w->group[k].line = line;
    }
    struct group *g = &w->group[k];
    w->in[lane] = value;
    w->extra[lane] = extra;
    w->pending |= 1u << lane;
    g->arrived |= 1u << lane;
    const uint32_t *word = &g->generation;
    uint32_t generation = *word, warp = thread / WARP;
    self->group = k;
    e->resumed = 0;
    if (group_is_complete(w, g))
        complete_group(e, warp, g);
    else if ((!mask || w->meeting) && is_settled(e, warp, 1u << lane))
        unsettle(e, warp);
    wait_while(e, thread, word, generation, 1);
    *result = w->out[lane];
    return 1;
}

/* Lets the others of the block run. When all that can run have but yielded in turn, they may be
 * waiting for a lane that waits for whoever comes, or for another block. */
static int call_yield(struct engine *e) {
    uint32_t thread = current_thread(e);
    if (e->current->bound ? e->current->next == e->current
                          : !e->ring && thread + 1 == e->total) {
        sched_yield();
        return 0;
    }
    struct warp *w = &e->warps[thread / WARP];
    if (++e->idle > e->total - e->exited) {
        if (!unsettle_all(e)) sched_yield();
        e->idle = 0;
    } else if (w->meeting && ++w->yields > MOST_YIELDS) {
        release_meeting(e, thread / WARP); /* for them the others may be waiting */
        e->resumed = 0;
    }
    e->current->waiting = AT_YIELD;
    wait_while(e, thread, &e->always, e->always - 1, 0);
    return 1;
}

/* A meeting point of the lanes of a warp, before an access to volatile memory: how far in the text it
 * is, and whether it is a store. */
static int call_meet(struct engine *e, unsigned long long position, int stores) {
    uint32_t thread = current_thread(e), lane = thread % WARP, warp = thread / WARP;
    struct warp *w = &e->warps[warp];
    struct fiber *self = e->current;
    uint32_t own = 1u << lane;
    if (!(~w->exited & ~own)) { /* no lane is left to meet, but another warp may have to go on */
        if (++e->turns < MOST_TURNS) return 0;
        e->turns = 0;
        return call_yield(e);
    }
    self->waiting = AT_MEETING;
    self->held = 1;
    w->position[lane] = position;
    w->meeting |= own;
    w->stored |= (uint32_t)stores;
    w->yields = 0;
    ++e->meetings;
    e->resumed = 0;
    if (is_settled(e, warp, own)) {
        e->by_thread[thread] = self;
        unsettle(e, warp);
    }
    wait_while(e, thread, &self->held, 1, 1);
    return 1;
}

static void call_leave(struct engine *e) { leave_thread(e); }

/* The thread is about to end, and counts as arrived at barriers from here on. */
static void call_excuse(struct engine *e) {
    uint32_t thread = current_thread(e);
    if (e->head->flags & EXITS_ALLOWED) return; /* so all do when they have ended */
    e->warps[thread / WARP].excused |= 1u << thread % WARP;
    if (--e->needed && e->arrived == e->needed) {
        if (e->mixed) fail_mixed(e);
        release_barrier(e);
    }
}

/* ---- what is told of those that wait ---- */

/* Append as printf does, within `size` bytes. */
static void append_values(char *text, size_t size, const char *format, __builtin_va_list values) {
    size_t used = strlen(text);
    vsnprintf(text + used, size - used, format, values);
}

static __attribute__((format(printf, 3, 4))) void append(char *text, size_t size,
                                                         const char *format, ...) {
    __builtin_va_list values;
    __builtin_va_start(values, format);
    append_values(text, size, format, values);
    __builtin_va_end(values);
}

static void append_thread(const struct engine *e, char *text, size_t size, uint32_t thread) {
    const uint32_t *block = e->head->block;
    append(text, size, "thread (%u, %u, %u)", thread % block[0], thread / block[0] % block[1],
           thread / block[0] / block[1]);
}

/* Appends "16 threads wait at kernel.cu:3, 48 at kernel.cu:5" behind `before`; nothing if none
 * waits. With `still`, those are left out that can go on. */
static void append_places(const struct engine *e, char *text, size_t size, const char *before,
                          int still) {
    struct {
        const char *file;
        int line;
        uint32_t count;
    } places[8];
    int known = 0;
    for (uint32_t t = 0; t < e->total; ++t) {
        const struct fiber *f = e->by_thread[t];
        int k = 0;
        if (!f && !e->current->bound && t == e->cursor) f = e->current;
        if (!f || f->waiting == AT_NOTHING || f->waiting >= AT_YIELD) continue;
        if (still && (f == e->current || is_runnable(f))) continue;
        while (k < known && (places[k].line != f->line || strcmp(places[k].file, f->file))) ++k;
        if (k == (int)(sizeof places / sizeof *places)) continue;
        if (k == known) {
            places[known].file = f->file;
            places[known].line = f->line;
            places[known++].count = 0;
        }
        ++places[k].count;
    }
    for (int k = 0; k < known; ++k) {
        const char *unit = k ? "" : places[k].count == 1 ? " thread waits" : " threads wait";
        append(text, size, "%s%u%s at %s:%d", k ? ", " : before, places[k].count, unit, places[k].file,
               places[k].line);
    }
}

/* Returns the first thread that has ended and does not count as arrived, or the number of threads. */
static uint32_t first_exited(const struct engine *e) {
    uint32_t t = 0;
    for (; t < e->total; ++t) {
        const struct warp *w = &e->warps[t / WARP];
        if ((w->exited & ~w->excused) >> t % WARP & 1) break;
    }
    return t;
}

/* Launches: a kernel's blocks over the pool, or an OS thread a block. */

#define MOST_DEPTH 24 /* of launches by kernels, as on GPUs */
#define MOST_DYNAMIC_SHARED (227u << 10) /* bytes */

/* memory.c */
static int lock_heap(struct engine *e);
static void unlock_heap(struct engine *e, int before);

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
        if (e->unit && e->watched) finish_touches(e);
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

static void prepare_launch(struct grid_launch *l, kernel_function entry) {
    memset(l, 0, offsetof(struct grid_launch, text) + 1);
    l->entry = entry;
}

/* Begins the text of a launch that is refused. */
static void begin_fault(const char *kernel) {
    fault_text[0] = 0;
    fault_finding.kind = 0;
    append(fault_text, sizeof fault_text, "kernel '%s': ", kernel ? kernel : "?");
}

/* Begins a launch of a grid by this thread; 0 if it is in one. Its signals are those that a kernel needs until
 * leave_launch. */
static int enter_launch(struct grid_launch *l, kernel_function entry, const void *args, sigset_t *before) {
    prepare_launch(l, entry);
    l->head = (const struct launch_head *)args;
    l->arrays = noted_arrays;
    l->array_count = noted_array_count;
    if (is_inside_grid || (own_engine && atomic_load(&own_engine->launch))) {
        begin_fault(l->head->kernel);
        append(fault_text, sizeof fault_text, "it was launched from inside a kernel, by the thread that runs it");
        return 0;
    }
    sigset_t needed;
    needed_signals(&needed);
    pthread_sigmask(SIG_UNBLOCK, &needed, before);
    install_handlers();
    take_signal(SIGSEGV);
    take_signal(SIGBUS);
    install_stop();
    begin_watch(l);
    return 1;
}

/* Ends what enter_launch has begun. */
static void leave_launch(const sigset_t *before) {
    sigset_t needed;
    needed_signals(&needed);
    sigandset(&needed, &needed, before);
    if (!sigisemptyset(&needed)) pthread_sigmask(SIG_SETMASK, before, NULL);
}

static int run_grid(kernel_function entry, const void *args, long long total, long long grain,
                    int threads, const struct child *own);

static long long blocks_of(const struct launch_head *head) {
    return (long long)head->grid[0] * head->grid[1] * head->grid[2];
}

/* Runs what the kernel of a launch has launched, and what that has: one after the other. Returns why
 * one of them failed, or the launch itself. */
static int run_children(struct grid_launch *l, int failure, int threads) {
    for (struct child *c = l->children, *next; c; c = next) {
        next = c->next;
        if (!failure)
            failure = run_grid(c->entry, c->block, blocks_of((const void *)c->block), 1, threads, c);
        free(c);
    }
    return failure;
}

static void call_child(struct engine *e, kernel_function entry, const void *block,
                       unsigned long size) {
    struct grid_launch *l = atomic_load(&e->launch);
    const struct launch_head *head = (const struct launch_head *)block;
    const uint32_t *b = head->block;
    unsigned long long threads = (unsigned long long)b[0] * b[1];
    const char *wrong = NULL;
    if (threads > MOST_THREADS || threads * b[2] > MOST_THREADS)
        wrong = "blocks of more than 1024 threads";
    else if (!threads || !b[2] || !blocks_of(head))
        wrong = "no threads";
    else if (head->grid[1] > 65535 || head->grid[2] > 65535)
        wrong = "more than 65535 blocks along y or z";
    else if (head->dynamic_shared > MOST_DYNAMIC_SHARED)
        wrong = "more than 227 KiB of dynamic shared memory";
    int depth = l->own ? l->own->depth + 1 : 1;
    if (depth > MOST_DEPTH) wrong = "24 launches from kernels around it, which is the most";
    if (wrong) fail_with(e, KT_FAULT, NULL, ": it launches '%s' with %s", head->kernel, wrong);
    int before = lock_heap(e);
    struct child *c = (struct child *)malloc(sizeof *c + size);
    if (c) {
        c->next = NULL;
        c->entry = entry;
        c->size = size;
        c->depth = depth;
        memcpy(c->block, block, size);
        if (!l->children) l->last_child = &l->children;
        *l->last_child = c;
        l->last_child = &c->next;
    }
    unlock_heap(e, before);
    if (!c) fail_waiting(e, "there is no memory for a launch of its own");
}

/* Runs a kernel's entry over blocks [0, total), as kt_launch does; `grain` counts where there are no
 * more blocks than threads, else it is measured. Returns 0, or why not all blocks
 * are done; kt_fault tells more. */
static int run_grid(kernel_function entry, const void *args, long long total, long long grain,
                    int threads, const struct child *own) {
    struct grid_launch l;
    sigset_t before;
    if (total <= 0) return 0;
    if (!enter_launch(&l, entry, args, &before)) return KT_FAULT;
    l.own = own;
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
    end_part();
    leave_launch(&before);
    return run_children(&l, end_launch(&l), threads);
}

EXPORT int kt_launch_grid(kernel_function entry, const void *args, long long total,
                          long long grain, int threads) {
    return run_grid(entry, args, total, grain, threads, NULL);
}

#define QUIET (1ll << 62)

/* Runs `function` over [0, total) as launch_items does. With a negative grain, whose absolute value
 * then counts, it may take long, and an interrupt of the process ends it. A grain with QUIET is of a
 * function that raises no signal: asking for the handlers takes longer than a short loop. */
EXPORT int kt_launch(kernel_function function, const void *args, long long total, long long grain,
                     int threads) {
    int is_quiet = grain >= QUIET;
    if (is_quiet) grain -= QUIET;
    if (!is_quiet || !atomic_load_explicit(&has_handlers, memory_order_acquire)) install_handlers();
    if (__builtin_expect(grain >= 0, 1)) return launch_items(function, args, total, grain, threads);
    if (own_engine && atomic_load(&own_engine->launch)) /* from inside a kernel, which can be ended */
        return launch_items(function, args, total, -grain, threads);
    struct grid_launch l;
    prepare_launch(&l, function);
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
    end_part();
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

static long long call_time(void) { return nanoseconds(); }

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
    if (total <= 0) return 0;
    if (total > MOST_COOPERATIVE) {
        begin_fault(((const struct launch_head *)args)->kernel);
        append(fault_text, sizeof fault_text, "a cooperative launch can have %d blocks, not %lld", MOST_COOPERATIVE,
               total);
        return KT_TOO_LARGE;
    }
    sigset_t at_first;
    if (!enter_launch(&l, entry, args, &at_first)) return KT_FAULT;
    l.blocks = total;
    pthread_t threads[MOST_COOPERATIVE];
    struct crew_member members[MOST_COOPERATIVE];
    long long started = 1;
    for (; started < total; ++started) {
        members[started] = (struct crew_member){&l, started};
        if (!create_thread(&threads[started], NULL, 0, 1, crew, &members[started])) break;
    }
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
    return run_children(&l, end_launch(&l), workers + 1);
}

/* ---- the launches of a graph ---- */

enum { PLAIN_LAUNCH, GRID_LAUNCH, COOPERATIVE_LAUNCH };

struct recorded_launch {
    kernel_function function;
    const void *args;
    long long total, grain;
    int threads, kind;
};

#define WITHOUT_PYTHON 50000000 /* nanoseconds: signals' handlers in Python wait so long */

/* Makes launches [first, count), in order. Returns how many are done if it ends early, so that
 * Python can handle signals; else `count`. Where one fails it returns that one's index, and what the
 * launch returned in `failure`, which is 0 otherwise. */
EXPORT int kt_launch_recorded(const struct recorded_launch *all, int first, int count,
                              int *failure) {
    int64_t begin = nanoseconds();
    *failure = 0;
    for (int k = first; k < count; ++k) {
        const struct recorded_launch *l = &all[k];
        if (l->kind == PLAIN_LAUNCH)
            *failure = kt_launch(l->function, l->args, l->total, l->grain, l->threads);
        else if (l->kind == GRID_LAUNCH)
            *failure = kt_launch_grid(l->function, l->args, l->total, l->grain, l->threads);
        else
            *failure = kt_launch_cooperative(l->function, l->args, l->total);
        if (*failure) return k;
        if (nanoseconds() - begin > WITHOUT_PYTHON) return k + 1;
    }
    return count;
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
    PyErr_Restore(type, value, traceback);
    return -1;
}

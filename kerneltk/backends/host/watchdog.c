/* What ends a launch early: interrupts of the process, and a watchdog.
 *
 * A watchdog, which exists only where there is something to watch, sends the threads of a launch a
 * signal, again until each of them could be stopped: one may be inside the C library, with a lock
 * held.
 */

/* ---- interrupts ----
 *
 * Python's own handler only makes a note, for its next instruction; until the launch is over there
 * is none. So the handler is followed by one of ours, and if the launch lasts, its first thread gets a
 * signal (ASK). Where it could be stopped, or waits for the others, it calls what Python would call
 * there, on its own stack. The launch goes on unless that raises an exception.
 */

/* Of CPython, whose process this is. */
extern int PyGILState_Ensure(void) __attribute__((weak, visibility("default")));
extern void PyGILState_Release(int) __attribute__((weak, visibility("default")));
extern int PyErr_CheckSignals(void) __attribute__((weak, visibility("default")));
extern void PyErr_Fetch(void **, void **, void **) __attribute__((weak, visibility("default")));
extern void PyErr_Restore(void *, void *, void *) __attribute__((weak, visibility("default")));
static void *raised[3]; /* type, value and traceback of what a handler raised */
static _Thread_local struct grid_launch *volatile main_launch; /* NULL while Python runs */
/* Python runs in the midst of a grid's kernel, whose unit has variables of this thread. */
static _Thread_local int is_inside_grid;

static int knows_python(void) {
    return PyGILState_Ensure && PyGILState_Release && PyErr_CheckSignals && PyErr_Fetch && PyErr_Restore;
}

/* Has Python's handlers run. */
static void call_python(void) {
    int state = PyGILState_Ensure();
    if (PyErr_CheckSignals()) PyErr_Fetch(&raised[0], &raised[1], &raised[2]);
    PyGILState_Release(state);
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
    if (slab_of(e, &error) >= 0)
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

#define NEEDED_SIGNALS 6u
static int signal_needed(unsigned k) { /* those of real time are no constants */
    const int each[NEEDED_SIGNALS] = {SIGFPE, TRAP, SIGSEGV, SIGBUS, STOP, ASK};
    return each[k];
}

/* The signals that a thread in a launch has to take: blocked, a kernel's own would end the process. */
static void needed_signals(sigset_t *needed) {
    sigemptyset(needed);
    for (unsigned k = 0; k < NEEDED_SIGNALS; ++k) sigaddset(needed, signal_needed(k));
}

/* Creates a thread of ours; 0 if there can be none. Signals stay with the application's own threads, but for those
 * that kernels need. */
static int create_thread(pthread_t *thread, const cpu_set_t *cpus, int is_detached, int runs_kernels,
                         void *(*run)(void *), void *argument) {
    pthread_attr_t attributes;
    sigset_t blocked, before;
    if (pthread_attr_init(&attributes)) return 0;
    if (is_detached) pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    if (cpus) pthread_attr_setaffinity_np(&attributes, sizeof *cpus, cpus);
    sigfillset(&blocked);
    for (unsigned k = 0; runs_kernels && k < NEEDED_SIGNALS; ++k) sigdelset(&blocked, signal_needed(k));
    pthread_sigmask(SIG_SETMASK, &blocked, &before);
    int failed = pthread_create(thread, &attributes, run, argument);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    return !failed;
}

/* Makes sure that a watchdog is awake. With the lock held. */
static void need_watchdog(void) {
    if (watching) {
        if (dormant) wake_watchdog();
        dormant = 0;
        return;
    }
    pthread_t thread;
    watching = create_thread(&thread, NULL, 1, 0, watch, NULL);
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

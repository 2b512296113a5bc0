/* Checks of memory: what an access of a kernel may touch, in units that are built for it.
 *
 * Allowed are the arrays that the launch was given, the thread's own stack, the unit's variables
 * (each within its bounds), the dynamic shared memory that the launch asked for, and what kernels
 * have allocated. An argument may hold further addresses, of which nobody knows how far they reach:
 * only then any other memory is allowed, too.
 */

#define WRITES 1u
#define ATOMIC 2u /* beside it */
#define WRITABLE 1u /* flags of an array */
#define HOLDS_ADDRESSES 2u
#define IS_PARAMETERS 4u
#define FRONT_GAP 16u /* bytes in front of a unit's variable that are none of another's */
#define LEAST_GAP 8u /* bytes in front of an array that the allocator has for itself */

/* What an argument of the launch is. */
struct array_note {
    uintptr_t start;
    size_t size;
    uint32_t flags;
    int32_t index; /* of the parameter */
};

struct shared_variable { /* thread local, hence relative to the unit's origin */
    int64_t begin;
    uint64_t size; /* 0 for dynamic shared memory */
    const char *name;
    uint64_t is_own; /* this package's, of an OS thread: no two lanes exchange anything there */
};

/* Python knows these numbers. */
enum finding_kind {
    IN_NOTHING = 1, IN_ARRAY, IN_SHARED, IN_DYNAMIC, IN_GLOBAL, IN_HEAP, IN_OTHER_STACK, READ_ONLY,
    MISALIGNED, NOT_ALLOCATED
};

static inline int is_inside(uintptr_t at, size_t size, uintptr_t start, size_t have) {
    uintptr_t offset = at - start;
    return offset <= have && size <= have - offset;
}

/* Writes down the object that an access belongs to. */
static void belongs_to(struct finding *f, int kind, const char *name, uintptr_t start, size_t size) {
    f->kind = kind;
    f->name = name;
    f->offset = (int64_t)(f->address - start);
    f->object_size = size;
}

/* Where a shared variable of this thread is, of how many bytes. */
static size_t find_shared(const struct engine *e, const struct shared_variable *s, uintptr_t *start) {
    *start = (uintptr_t)e->origin + (uintptr_t)s->begin;
    return s->size ? s->size : e->head->dynamic_shared;
}

/* exchanges.c */
static void begin_exchanges(struct engine *e);
static void note_access(struct engine *e, uintptr_t at, size_t size, unsigned how,
                        const void *frame);
static void note_atomic(struct engine *e);
static void join_block(struct engine *e);
static void forget_accesses(struct engine *e, uintptr_t at, size_t size);

static void enter_checked(struct engine *e) {
    e->origin = e->unit->memory->origin();
    begin_exchanges(e);
}

/* ---- what kernels allocate ---- */

struct allocation {
    uintptr_t start;
    size_t size;
};

static struct allocation *heap; /* by where they start */
static size_t heap_count, heap_space;

/* A thread that holds the lock must not be stopped. */
static int lock_heap(struct engine *e) {
    int before = atomic_exchange(&e->critical, 1);
    pthread_mutex_lock(&heap_lock);
    return before;
}

static void unlock_heap(struct engine *e, int before) {
    pthread_mutex_unlock(&heap_lock);
    atomic_store(&e->critical, before);
}

/* Returns how many begin at or before an address. With the lock held. */
static size_t heap_rank(uintptr_t at) {
    size_t low = 0, high = heap_count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (heap[middle].start <= at)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void *call_allocate(size_t size) {
    struct engine *e = own_engine;
    int before = lock_heap(e);
    char *block = NULL;
    if (heap_count == heap_space) {
        size_t space = heap_space ? 2 * heap_space : 64;
        struct allocation *more = (struct allocation *)realloc(heap, space * sizeof *heap);
        if (more) {
            heap = more;
            heap_space = space;
        }
    }
    if (heap_count < heap_space && size < SIZE_MAX / 2) block = (char *)malloc(size + 128);
    if (block) {
        /* Not at the allocator's own alignment only: CUDA promises 16 bytes. */
        uintptr_t start = ((uintptr_t)block + 64 + 15) & ~(uintptr_t)15;
        size_t rank = heap_rank(start);
        ((char **)start)[-1] = block;
        memmove(heap + rank + 1, heap + rank, (heap_count - rank) * sizeof *heap);
        heap[rank] = (struct allocation){start, size};
        ++heap_count;
        block = (char *)start;
    }
    unlock_heap(e, before);
    if (block && e->watched) forget_accesses(e, (uintptr_t)block, size);
    return block;
}

static int is_allocated(struct engine *e, uintptr_t at, size_t size, struct allocation *near) {
    int before = lock_heap(e), found = 0;
    size_t rank = heap_rank(at);
    near->start = 0;
    if (rank) {
        *near = heap[rank - 1];
        found = is_inside(at, size, near->start, near->size);
    }
    if (!found && rank < heap_count && heap[rank].start - at <= 64) *near = heap[rank];
    unlock_heap(e, before);
    return found;
}

/* ---- what is told ---- */

static void stack_of_thread(struct engine *e, uintptr_t *low, uintptr_t *high) {
    if (e->current != &e->native) {
        *low = (uintptr_t)e->current->low;
        *high = (uintptr_t)e->current->top;
        return;
    }
    if (!e->native_high) {
        pthread_attr_t attributes;
        void *start = NULL;
        size_t size = 0;
        if (!pthread_getattr_np(pthread_self(), &attributes)) {
            pthread_attr_getstack(&attributes, &start, &size);
            pthread_attr_destroy(&attributes);
        }
        e->native_low = (uintptr_t)start;
        e->native_high = (uintptr_t)start + size;
    }
    *low = e->native_low;
    *high = e->native_high;
}

static __attribute__((noreturn, cold)) void end_with(struct engine *e, struct finding *f,
                                                     const void *frame) {
    if (frame) {
        uintptr_t low, high;
        stack_of_thread(e, &low, &high);
        f->frames = 0;
        note_frames(f, (uintptr_t)frame, low, high);
    }
    fail_with(e, KT_FAULT, f, "%s", "");
}

/* Bytes between an object and an access outside of it. */
static uintptr_t distance(uintptr_t at, size_t size, uintptr_t start, size_t have) {
    if (at + size <= start) return start - (at + size);
    if (at >= start + have) return at - (start + have);
    return 0;
}

/* ---- addresses that arguments hold ---- */

static int is_mapped(uintptr_t at) {
    static _Atomic uintptr_t page;
    uintptr_t size = atomic_load_explicit(&page, memory_order_relaxed);
    if (!size) atomic_store(&page, size = (uintptr_t)sysconf(_SC_PAGESIZE));
    return at >= size && at < (uintptr_t)1 << 56 && !msync((void *)(at & -size), 1, MS_ASYNC);
}

static int is_known(const struct engine *e, const struct grid_launch *l, uintptr_t at) {
    const struct unit_memory *m = e->unit->memory;
    for (int k = 0; k < l->array_count; ++k) /* the end, too */
        if (at - l->arrays[k].start <= l->arrays[k].size) return 1;
    return at - m->image < m->image_end - m->image;
}

static int holds_addresses(const struct engine *e, const struct grid_launch *l, uintptr_t start,
                           size_t size) {
    uintptr_t at = (start + 7) & ~(uintptr_t)7;
    for (; at + 8 <= start + size; at += 8) {
        uintptr_t word = *(const uintptr_t *)at;
        if (word >> 16 && !is_known(e, l, word) && is_mapped(word)) return 1;
    }
    return 0;
}

/* Tells whether some argument or variable of the unit holds an address that is in none of them. */
static __attribute__((cold)) int may_wander(struct engine *e, struct grid_launch *l) {
    int known = atomic_load(&l->may_wander);
    if (known) return known == 2;
    int found = 0, before = errno;
    const struct unit_memory *m = e->unit->memory;
    for (int k = 0; k < l->array_count && !found; ++k) {
        const struct array_note *a = &l->arrays[k];
        size_t head = a->flags & IS_PARAMETERS ? sizeof(struct launch_head) : 0;
        if (a->flags & HOLDS_ADDRESSES && a->size > head)
            found = holds_addresses(e, l, a->start + head, a->size - head);
    }
    for (size_t k = 0; k < m->global_count && !found; ++k) {
        const struct global_variable *g = &m->globals[k];
        found = g->begin != (uintptr_t)m && holds_addresses(e, l, g->begin, g->size);
    }
    errno = before;
    atomic_store(&l->may_wander, found ? 2 : 1);
    return found;
}

/* ---- checks ---- */

/* An address among or near this thread's shared variables: returns if the access is within one, and
 * whether that is the user's. The C library may have put other memory right behind them. */
static int check_shared(struct engine *e, struct grid_launch *l, struct finding *f,
                        const void *frame) {
    const struct unit_memory *m = e->unit->memory;
    int64_t offset = (int64_t)(f->address - (uintptr_t)e->origin);
    size_t low = 0, high = m->shared_count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (m->shared[middle].begin <= offset)
            low = middle + 1;
        else
            high = middle;
    }
    uintptr_t best = UINTPTR_MAX;
    for (size_t k = low ? low - 1 : 0; k <= low && k < m->shared_count; ++k) {
        const struct shared_variable *s = &m->shared[k];
        uintptr_t start;
        size_t size = find_shared(e, s, &start);
        if (is_inside(f->address, f->size, start, size)) return !s->is_own;
        uintptr_t apart = distance(f->address, f->size, start, size);
        if (apart > best) continue;
        best = apart;
        belongs_to(f, s->size ? IN_SHARED : IN_DYNAMIC, s->name, start, size);
    }
    struct allocation near;
    if (is_allocated(e, f->address, f->size, &near)) return 1;
    if (low == m->shared_count && best >= LEAST_GAP && may_wander(e, l) && is_mapped(f->address))
        return 1;
    end_with(e, f, frame);
}

/* An address in the unit's image: returns if it is not next to a variable, and whether it is in one. */
static int check_global(struct engine *e, struct finding *f, const void *frame) {
    const struct unit_memory *m = e->unit->memory;
    uintptr_t best = UINTPTR_MAX;
    int is_wrong = 0;
    for (size_t k = 0; k < m->global_count; ++k) {
        const struct global_variable *g = &m->globals[k];
        if (is_inside(f->address, f->size, g->begin, g->size)) return 1;
        is_wrong |= f->address + f->size > g->begin && f->address < g->begin + g->size_with_gap;
        uintptr_t apart = distance(f->address, f->size, g->begin, g->size);
        if (apart >= best || g->name[0] == '*' || g->name[0] == '.') continue; /* no user's name */
        best = apart;
        /* The first variable of a section has no gap of another one's in front of it. */
        is_wrong |= f->address < g->begin && apart < FRONT_GAP;
        belongs_to(f, IN_GLOBAL, g->name, g->begin, g->size);
    }
    if (is_wrong) end_with(e, f, frame);
    return 0;
}

/* Finds the array that an access is nearest to. */
static uintptr_t nearest_array(const struct grid_launch *l, struct finding *f) {
    uintptr_t best = UINTPTR_MAX;
    for (int k = 0; k < l->array_count; ++k) {
        const struct array_note *a = &l->arrays[k];
        if (a->flags & IS_PARAMETERS || !a->start) continue;
        uintptr_t apart = distance(f->address, f->size, a->start, a->size);
        /* What lies behind an array is rather meant than what lies in front of the next. */
        if (apart > best || (apart == best && f->address < a->start)) continue;
        best = apart;
        f->index = a->index;
        belongs_to(f, is_inside(f->address, f->size, a->start, a->size) ? READ_ONLY : IN_ARRAY, NULL, a->start,
                   a->size);
    }
    return best;
}

/* Functions for both sides write to the host's streams, and read why a call has failed. */
static int is_of_c_library(uintptr_t at, size_t size) {
    const void *const streams[] = {&stdin, &stdout, &stderr};
    for (int k = 0; k < 3; ++k)
        if (is_inside(at, size, (uintptr_t)streams[k], sizeof(FILE *))) return 1;
    return is_inside(at, size, (uintptr_t)&errno, sizeof errno);
}

/* Returns whether other threads can reach the memory. */
static __attribute__((noinline)) int check_elsewhere(struct engine *e, struct grid_launch *l,
                                                     uintptr_t at, size_t size, unsigned how,
                                                     const void *frame) {
    const struct unit_memory *m = e->unit->memory;
    uintptr_t low, high;
    stack_of_thread(e, &low, &high);
    if (is_inside(at, size, low, high - low)) return 0;
    if (l->own && is_inside(at, size, (uintptr_t)l->head, l->own->size)) return 0;
    struct finding f = {.address = at, .size = size, .kind = IN_NOTHING, .how = (int32_t)how};
    if (is_inside(at, size, (uintptr_t)e, sizeof *e) ||
        is_inside(at, size, (uintptr_t)&calls, sizeof calls))
        return 0;
    uintptr_t shared = (uintptr_t)e->origin + (uintptr_t)m->shared_begin;
    if (at - shared < (uintptr_t)(m->shared_end - m->shared_begin))
        return check_shared(e, l, &f, frame);
    if (at - m->image < m->image_end - m->image) return check_global(e, &f, frame);
    struct allocation near;
    if (is_allocated(e, at, size, &near)) return 1;
    if (near.start && distance(at, size, near.start, near.size) <= 64) {
        belongs_to(&f, IN_HEAP, NULL, near.start, near.size);
        end_with(e, &f, frame);
    }
    if (is_of_c_library(at, size)) return 0;
    uintptr_t apart = nearest_array(l, &f);
    if (f.kind != READ_ONLY) {
        if (slab_of(e, (const void *)at) >= 0 || (e->native_high && at - e->native_low < e->native_high - e->native_low))
            f.kind = IN_OTHER_STACK;
        /* An array of the allocator's begins no sooner behind another. */
        if (apart >= LEAST_GAP && f.kind != IN_OTHER_STACK && may_wander(e, l) && is_mapped(at))
            return 1;
    }
    end_with(e, &f, frame);
}

static void call_check(const void *address, size_t size, unsigned how, const void *frame) {
    struct engine *e = own_engine;
    struct grid_launch *l = e ? atomic_load_explicit(&e->launch, memory_order_relaxed) : NULL;
    if (!l || !e->unit || !size) return; /* not in a kernel yet */
    uintptr_t at = (uintptr_t)address;
    const struct array_note *a = l->arrays;
    int k = 0, is_reached = 1;
    while (k < l->array_count && !(is_inside(at, size, a[k].start, a[k].size) &&
                                   (!(how & WRITES) || a[k].flags & WRITABLE)))
        ++k;
    if (k == l->array_count)
        is_reached = check_elsewhere(e, l, at, size, how & WRITES, frame);
    else if (!(a[k].flags & WRITABLE))
        is_reached = 0; /* nobody writes to it */
    if (!(how & ATOMIC) && !is_reached) return;
    /* No stop meanwhile: the frames that are then walked lead to the kernel. */
    int before = atomic_load_explicit(&e->critical, memory_order_relaxed);
    atomic_store_explicit(&e->critical, 1, memory_order_relaxed);
    atomic_signal_fence(memory_order_seq_cst);
    if (how & ATOMIC)
        note_atomic(e);
    else
        note_access(e, at, size, how, frame);
    atomic_signal_fence(memory_order_seq_cst);
    atomic_store_explicit(&e->critical, before, memory_order_relaxed);
}

static void *call_move(void *to, const void *from, size_t size, const void *frame) {
    call_check(from, size, 0, frame);
    call_check(to, size, WRITES, frame);
    return memmove(to, from, size);
}

static void *call_fill(void *to, int value, size_t size, const void *frame) {
    call_check(to, size, WRITES, frame);
    return memset(to, value, size);
}

static void call_release(void *block, const void *frame) {
    struct engine *e = own_engine;
    if (!block) return;
    if (e->watched) finish_touches(e);
    int before = lock_heap(e), found;
    size_t rank = heap_rank((uintptr_t)block);
    found = rank && heap[rank - 1].start == (uintptr_t)block;
    if (found) {
        free(((void **)block)[-1]);
        memmove(heap + rank - 1, heap + rank, (heap_count - rank) * sizeof *heap);
        --heap_count;
    }
    unlock_heap(e, before);
    if (!found) {
        struct finding f = {.address = (uintptr_t)block, .kind = NOT_ALLOCATED};
        end_with(e, &f, frame);
    }
}

static void call_misaligned(const void *address, unsigned alignment, const char *type,
                            const char *file, unsigned line) {
    struct engine *e = own_engine;
    if (!e || !atomic_load(&e->launch) || !e->unit) return;
    struct finding f = {.address = (uintptr_t)address, .kind = MISALIGNED, .name = type,
                        .file = file, .line = (int32_t)line, .alignment = (int32_t)alignment};
    end_with(e, &f, NULL);
}

/* A fence. */
static void call_order(void) {
    if (own_engine && own_engine->unit && atomic_load(&own_engine->launch)) note_atomic(own_engine);
}

/* A barrier that was compiled away: all threads are there. */
static void call_pass_barrier(void) {
    if (own_engine && own_engine->watched && atomic_load(&own_engine->launch)) join_block(own_engine);
}

static const struct memory_calls memory_calls = {
    call_check,   call_move,       call_fill,  call_allocate,
    call_release, call_misaligned, call_order, call_pass_barrier};

static const struct calls calls = {
    call_enter, call_barrier,   call_vote,  call_warp,  call_grid_barrier, call_yield,
    call_leave, call_assertion, call_sleep, call_time,  &memory_calls,     call_meet,
    call_refused, call_child,   call_ended, call_excuse, call_guard_shared,
};

/* Says what the arguments of this thread's next launches are. */
EXPORT void kt_note_arrays(const struct array_note *arrays, int count) {
    noted_arrays = arrays;
    noted_array_count = count;
}

/* The access that ended this thread's last launch that failed; NULL if it was something else. */
EXPORT const void *kt_finding(void) { return fault_finding.kind ? &fault_finding : NULL; }

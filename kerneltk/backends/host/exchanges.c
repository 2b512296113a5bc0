/* Exchanges through memory between lanes of a warp that nothing orders, in units that check memory.
 *
 * On a GPU before Volta such code works, since lanes run in step. Here a lane runs on until it waits:
 * it reads what another has not written yet. The last writer and two readers of each word are written
 * down, and each thread has a vector clock over the lanes of its warp (Mattern, 1989). A collective, a
 * meeting point, an atomic operation or a fence orders what lanes have done before it; a barrier of
 * the block orders all. A store that leaves memory as it was is no exchange: all lanes may store one
 * value. Which of different values stays is undefined (CUDA C++ Programming Guide, "SIMT
 * Architecture").
 *
 * Compilers check an address once for several accesses in a row, be they loads or stores. So what a
 * thread has touched is looked at again when it waits or another one runs: what has changed, it wrote.
 */

#define CELL_BITS 14u /* a processor keeps so many close by */
#define CELLS (1u << CELL_BITS)
#define GRANULE 4u /* bytes */
#define MOST_VALUE 16u /* bytes of an access whose effect is looked at */
#define TOUCHES 64u /* that are kept, of the thread that runs */
/* How memory is accessed, beside WRITES: Python knows it. */
#define EXCHANGED 4u
#define OTHER_WRITES 8u /* as this access does */

struct access {
    uint32_t thread, time;
    uintptr_t caller[2]; /* return addresses, the innermost first */
    uint8_t bytes;       /* of the granule, as bits; 0 if there was none */
};

struct cell {
    uintptr_t granule;
    uint32_t epoch;
    uint32_t same; /* lanes that have written what is there */
    struct access writer, reader[2];
};

/* An access whose effect is not known yet. */
struct touch {
    uintptr_t at;
    uint32_t size, how;
    struct access own;
    unsigned char before[MOST_VALUE];
};

struct exchanges {
    uint32_t epoch; /* counts barriers and blocks */
    uint32_t time[MOST_THREADS][WARP]; /* what each thread knows of each lane */
    uint32_t atomics[MOST_WARPS][WARP]; /* what lanes knew at their atomic operations */
    struct cell cells[CELLS];
    struct touch touches[TOUCHES]; /* in order, of one thread */
    uint32_t first, count;
    uint32_t block[3];
};

static void begin_exchanges(struct engine *e) {
    if (!e->exchanges) {
        e->exchanges = (struct exchanges *)calloc(1, sizeof *e->exchanges);
        for (uint32_t t = 0; e->exchanges && t < MOST_THREADS; ++t)
            e->exchanges->time[t][t % WARP] = 1;
    }
    e->watched = e->exchanges;
    if (e->watched) {
        ++e->watched->epoch;
        e->watched->count = 0;
    }
}

static struct cell *cell_of(struct exchanges *x, uintptr_t granule) {
    /* Neighbours stay neighbours, and arrays that are alike in their addresses do not meet. */
    uintptr_t far = (granule >> CELL_BITS) * 0x9e3779b97f4a7c15ull >> (64 - CELL_BITS);
    struct cell *c = &x->cells[(granule + far) % CELLS];
    if (c->granule != granule || c->epoch != x->epoch) {
        c->granule = granule;
        c->epoch = x->epoch;
        c->same = 0;
        c->writer.bytes = c->reader[0].bytes = c->reader[1].bytes = 0;
    }
    return c;
}

/* The bytes of an access in a granule, as bits. */
static uint8_t bytes_within(uintptr_t at, size_t size, uintptr_t granule) {
    uintptr_t low = granule * GRANULE, begin = at > low ? at - low : 0;
    uintptr_t end = at + size < low + GRANULE ? at + size - low : GRANULE;
    return (uint8_t)(((1u << end) - 1) & ~((1u << begin) - 1));
}

/* Tells whether nothing orders an access of a thread behind another one. */
static int is_unordered(const struct exchanges *x, const struct access *other, uint32_t thread,
                        uint8_t bytes) {
    return other->bytes & bytes && other->thread != thread && other->thread / WARP == thread / WARP &&
           x->time[thread][other->thread % WARP] < other->time;
}

static void place_of(const struct engine *e, uint32_t thread, int32_t at[3]) {
    const uint32_t *size = e->head->block;
    at[0] = (int32_t)(thread % size[0]);
    at[1] = (int32_t)(thread / size[0] % size[1]);
    at[2] = (int32_t)(thread / size[0] / size[1]);
}

/* Tells whether one of the kernel's threads runs, and not what is around them. */
static int is_in_thread(const struct engine *e) {
    uint32_t at[6];
    const uint32_t *size = e->head->block;
    if (e->current->bound) return 1;
    e->unit->where(at);
    return at[3] < size[0] && at[4] < size[1] && at[5] < size[2];
}

/* Finds what an address belongs to. */
static void locate(const struct engine *e, const struct grid_launch *l, struct finding *f) {
    const struct unit_memory *m = e->unit->memory;
    f->kind = IN_NOTHING;
    for (int k = 0; k < l->array_count; ++k) {
        const struct array_note *a = &l->arrays[k];
        if (!is_inside(f->address, f->size, a->start, a->size)) continue;
        f->index = a->index;
        belongs_to(f, IN_ARRAY, NULL, a->start, a->size);
        return;
    }
    for (size_t k = 0; k < m->shared_count; ++k) {
        const struct shared_variable *s = &m->shared[k];
        uintptr_t start;
        size_t size = find_shared(e, s, &start);
        if (!is_inside(f->address, f->size, start, size)) continue;
        belongs_to(f, s->size ? IN_SHARED : IN_DYNAMIC, s->name, start, size);
        return;
    }
    for (size_t k = 0; k < m->global_count; ++k) {
        const struct global_variable *g = &m->globals[k];
        if (is_inside(f->address, f->size, g->begin, g->size)) belongs_to(f, IN_GLOBAL, g->name, g->begin, g->size);
    }
}

static __attribute__((noreturn, cold)) void fail_exchange(struct engine *e, const struct touch *t,
                                                          unsigned how,
                                                          const struct access *other) {
    struct grid_launch *l = atomic_load(&e->launch);
    struct finding f = {.address = t->at, .size = t->size, .how = (int32_t)(how | EXCHANGED)};
    locate(e, l, &f);
    for (int k = 0; k < 2; ++k) {
        f.frame[k] = t->own.caller[k];
        f.other[k] = other->caller[k];
    }
    f.frames = 2;
    place_of(e, other->thread, f.other_thread);
    if (claim_text(e, KT_FAULT)) {
        const uint32_t *block = e->watched->block;
        append(l->text, sizeof l->text, ", block (%u, %u, %u), ", block[0], block[1], block[2]);
        append_thread(e, l->text, sizeof l->text, t->own.thread);
        l->finding = f;
        l->has_finding = 1;
    }
    leave_kernel(e, KT_FAULT);
}

/* Looks at what an access has done to memory. */
static void finish_touch(struct engine *e, struct touch *t) {
    struct exchanges *x = e->watched;
    uint32_t own = 1u << t->own.thread % WARP;
    int changed = t->size > MOST_VALUE ? t->how & WRITES
                                       : memcmp((const void *)t->at, t->before, t->size) != 0;
    if (!changed && !(t->how & WRITES)) return;
    for (uintptr_t g = t->at / GRANULE; g <= (t->at + t->size - 1) / GRANULE; ++g) {
        struct cell *c = cell_of(x, g);
        uint8_t bytes = bytes_within(t->at, t->size, g);
        if (changed) {
            for (int k = 0; k < 2; ++k)
                if (is_unordered(x, &c->reader[k], t->own.thread, bytes))
                    fail_exchange(e, t, WRITES, &c->reader[k]);
            /* What a large one, as of memset, has changed is not known. */
            if (t->size <= MOST_VALUE && is_unordered(x, &c->writer, t->own.thread, bytes))
                fail_exchange(e, t, WRITES | OTHER_WRITES, &c->writer);
            c->writer = t->own;
            c->writer.bytes = bytes;
            c->same = own;
        } else if (c->writer.bytes & bytes && c->writer.thread / WARP == t->own.thread / WARP) {
            c->same |= own;
        }
    }
}

static void finish_touches(struct engine *e) {
    struct exchanges *x = e->watched;
    for (; x->count; --x->count, ++x->first) finish_touch(e, &x->touches[x->first % TOUCHES]);
}

static void note_access(struct engine *e, uintptr_t at, size_t size, unsigned how,
                        const void *frame) {
    struct exchanges *x = e->watched;
    if (!x || !is_in_thread(e)) return;
    uint32_t thread = current_thread(e);
    struct touch *t = &x->touches[x->first % TOUCHES];
    if (x->count && t->own.thread != thread) finish_touches(e);
    if (!x->count) memcpy(x->block, e->at_block, sizeof x->block);
    if (x->count == TOUCHES) {
        finish_touch(e, t);
        --x->count;
        ++x->first;
    }
    t = &x->touches[(x->first + x->count) % TOUCHES];
    const uintptr_t *words = (const uintptr_t *)frame, *outer = (const uintptr_t *)words[0];
    t->at = at;
    t->size = size > UINT32_MAX ? UINT32_MAX : (uint32_t)size;
    t->how = how;
    t->own = (struct access){.thread = thread, .time = x->time[thread][thread % WARP]};
    t->own.caller[0] = words[1];
    t->own.caller[1] = outer > words ? outer[1] : 0;
    if (size <= MOST_VALUE) memcpy(t->before, (const void *)at, size);
    ++x->count;
    for (uintptr_t g = at / GRANULE; !(how & WRITES) && g <= (at + size - 1) / GRANULE; ++g) {
        struct cell *c = cell_of(x, g);
        struct access now = t->own;
        now.bytes = bytes_within(at, size, g);
        if (is_unordered(x, &c->writer, thread, now.bytes) && !(c->same >> thread % WARP & 1))
            fail_exchange(e, t, 0, &c->writer);
        int slot = c->reader[0].bytes && c->reader[0].thread == thread ? 0 : 1;
        if (slot && !(c->reader[1].bytes && c->reader[1].thread == thread)) {
            c->reader[1] = c->reader[0];
            slot = 0;
        }
        c->reader[slot] = now;
    }
}

/* Memory that was somebody else's before it was released. */
static void forget_accesses(struct engine *e, uintptr_t at, size_t size) {
    size_t count = size / GRANULE + 1 < CELLS ? size / GRANULE + 1 : CELLS;
    for (uintptr_t g = at / GRANULE; count-- > 0; ++g) cell_of(e->watched, g)->epoch = 0;
}

/* What a thread has done is before what all do that come to an atomic operation later. */
static void note_atomic(struct engine *e) {
    struct exchanges *x = e->watched;
    if (!x || !is_in_thread(e)) return;
    uint32_t thread = current_thread(e);
    finish_touches(e);
    uint32_t *own = x->time[thread], *all = x->atomics[thread / WARP];
    for (uint32_t k = 0; k < WARP; ++k) {
        if (all[k] > own[k]) own[k] = all[k];
        all[k] = own[k];
    }
    ++own[thread % WARP];
}

/* Orders what lanes of `before` have done before what those of `lanes` do next. */
static void join_lanes(struct engine *e, uint32_t warp, uint32_t before, uint32_t lanes) {
    struct exchanges *x = e->watched;
    uint32_t all[WARP] = {0};
    finish_touches(e);
    for (uint32_t rest = before; rest; rest &= rest - 1) {
        uint32_t lane = (uint32_t)__builtin_ctz(rest), *own = x->time[warp * WARP + lane];
        for (uint32_t k = 0; k < WARP; ++k)
            if (own[k] > all[k]) all[k] = own[k];
        ++own[lane];
    }
    for (uint32_t rest = lanes; rest; rest &= rest - 1) {
        uint32_t lane = (uint32_t)__builtin_ctz(rest), *own = x->time[warp * WARP + lane];
        uint32_t now = own[lane];
        memcpy(own, all, sizeof all);
        own[lane] = now;
    }
}

static void join_block(struct engine *e) {
    finish_touches(e);
    ++e->watched->epoch;
}

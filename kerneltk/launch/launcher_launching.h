/* Marshals the parameters into a block, and launches. A part of _launcher.c. */

/* ---- marshalling ---- */

struct packer {
    const struct code *code, *end;
    char *block;
};

static int pack_bits(struct packer *pack, uint64_t bits) {
    if (pack->code == pack->end || pack->code->letter == 's') return 0;
    char *at = pack->block + pack->code->offset;
    if (pack->code->size == sizeof bits)
        memcpy(at, &bits, sizeof bits); /* one instruction, and what there is most of */
    else
        memcpy(at, &bits, (size_t)pack->code->size); /* little-endian */
    ++pack->code;
    return 1;
}

/* Packs bytes, as many as the next value has. */
static int pack_bytes(struct packer *pack, const void *bytes) {
    memcpy(pack->block + pack->code->offset, bytes, (size_t)pack->code->size);
    ++pack->code;
    return 1;
}

static int pack_float(struct packer *pack, PyObject *value, int may_round_to_infinity) {
    double number = PyFloat_AsDouble(value);
    float rounded = (float)number;
    char half[2];
    if (number == -1 && PyErr_Occurred()) return 0;
    switch (pack->code->letter) {
    case 'd': return pack_bytes(pack, &number);
    case 'e': return !PyFloat_Pack2(number, half, 1) && pack_bytes(pack, half);
    case 'f':
        if (__builtin_isinf(rounded) && !__builtin_isinf(number) && !may_round_to_infinity) return 0;
        return pack_bytes(pack, &rounded);
    default: return 0;
    }
}

/* Packs a number as ``struct`` does; 0 where that would raise. */
static int pack_number(struct packer *pack, PyObject *value) {
    if (pack->code == pack->end) return 0;
    char letter = (char)pack->code->letter;
    if (letter == 'f' || letter == 'd' || letter == 'e') return pack_float(pack, value, 0);
    if (letter == '?') {
        int truth = PyObject_IsTrue(value);
        return truth >= 0 && pack_bits(pack, (uint64_t)truth);
    }
    if (letter == 's')
        return PyBytes_Check(value) && PyBytes_GET_SIZE(value) == pack->code->size &&
               pack_bytes(pack, PyBytes_AS_STRING(value));
    PyObject *whole = PyLong_CheckExact(value) ? Py_NewRef(value) : PyNumber_Index(value);
    if (!whole) return 0;
    int bits = 8 * pack->code->size, done;
    uint64_t stored;
    if (letter >= 'a') { /* signed */
        int overflow;
        long long number = PyLong_AsLongLongAndOverflow(whole, &overflow);
        done = !overflow && !(number == -1 && PyErr_Occurred());
        if (done && bits < 64) done = number >= -(1ll << (bits - 1)) && number < 1ll << (bits - 1);
        stored = (uint64_t)number;
    } else {
        stored = PyLong_AsUnsignedLongLong(whole);
        done = !(stored == (uint64_t)-1 && PyErr_Occurred());
        if (done && bits < 64) done = stored < 1ull << bits;
    }
    Py_DECREF(whole);
    return done && pack_bits(pack, stored);
}

static int pack_leaf(struct packer *pack, const struct leaf *leaf, PyObject *value) {
    PyObject *made;
    int done;
    if (leaf->marshal == NOTHING) return 1;
    if (leaf->marshal == CONVERTED) {
        made = PyObject_CallOneArg(leaf->convert, value); /* a tuple */
        done = made != NULL;
        for (Py_ssize_t k = 0; done && k < PyTuple_GET_SIZE(made); ++k)
            done = pack_number(pack, PyTuple_GET_ITEM(made, k));
    } else if (leaf->marshal == BYTES) {
        made = PyObject_CallMethodNoArgs(value, str_tobytes);
        done = made && pack_number(pack, made);
    } else if (pack->code == pack->end) {
        return 0;
    } else if (leaf->marshal == FLOAT32) {
        return pack_float(pack, value, 1);
    } else if (pack->code->letter == leaf->scalar) {
        return pack_bytes(pack, (const char *)value + sizeof(PyObject));
    } else {
        return pack_number(pack, value);
    }
    Py_XDECREF(made);
    return done;
}

static int pack_all(Launcher *l, struct call *c, const struct launch *launch, int64_t scratch,
                    char *block) {
    const Plan *p = launch->plan;
    struct packer pack = {p->codes, p->codes + p->code_count, block};
    for (int k = 0; k < l->head_count; ++k)
        if (!pack_bits(&pack, (uint64_t)value_of(&l->head[k], launch))) return 0;
    if (l->takes_scratch && !pack_bits(&pack, (uint64_t)scratch)) return 0;
    for (int k = 0; k < l->packed_count; ++k) {
        int index = l->packed[k];
        const struct leaf *leaf = &l->leaves[index];
        if (leaf->marshal != ADDRESS) {
            if (!pack_leaf(&pack, leaf, c->values[index])) return 0;
            continue;
        }
        if (!pack_bits(&pack, c->arrays[index].address)) return 0;
        for (Py_ssize_t j = p->extent_starts[index]; j < p->extent_starts[index + 1]; ++j)
            if (!pack_bits(&pack, (uint64_t)p->numbers[j])) return 0;
    }
    return pack.code == pack.end;
}

/* ---- launching ---- */

typedef int (*loop_function)(void *, void *, long long, long long, int);
typedef int (*cooperative_function)(void *, void *, long long);
typedef int (*cuda_function)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                             void *, void **, void **);
typedef int (*cuda_cooperative_function)(void *, unsigned, unsigned, unsigned, unsigned, unsigned,
                                         unsigned, unsigned, void *, void **);

#define ADDRESS_OF(k) ((void *)(uintptr_t)v[k])
#define EXTENT(k) ((unsigned)v[k])

static int call_native(uintptr_t native, const int64_t *v, Py_ssize_t count) {
    switch (count) {
    case 3: return ((cooperative_function)native)(ADDRESS_OF(0), ADDRESS_OF(1), v[2]);
    case 5: return ((loop_function)native)(ADDRESS_OF(0), ADDRESS_OF(1), v[2], v[3], (int)v[4]);
    case 10:
        return ((cuda_cooperative_function)native)(ADDRESS_OF(0), EXTENT(1), EXTENT(2), EXTENT(3),
                                                   EXTENT(4), EXTENT(5), EXTENT(6), EXTENT(7),
                                                   ADDRESS_OF(8), (void **)ADDRESS_OF(9));
    default:
        return ((cuda_function)native)(ADDRESS_OF(0), EXTENT(1), EXTENT(2), EXTENT(3), EXTENT(4),
                                       EXTENT(5), EXTENT(6), EXTENT(7), ADDRESS_OF(8),
                                       (void **)ADDRESS_OF(9), (void **)ADDRESS_OF(10));
    }
}

/* Finds what launches, at the first launch. */
static int resolve(Launcher *l) {
    int64_t address = 0;
    Py_ssize_t count = l->value_count;
    if (!take_integer(PyObject_CallNoArgs(l->resolve), &address)) return 0;
    if (count != 3 && count != 5 && count != 10 && count != 11) address = 0;
    __atomic_store_n(&l->native, (uintptr_t)address, __ATOMIC_RELAXED); /* another thread may have found it, too */
    __atomic_store_n(&l->is_resolved, 1, __ATOMIC_RELEASE);
    return 1;
}

/* Launches; -1 with an exception. */
static int launch_now(Launcher *l, const struct launch *launch) {
    if (!__atomic_load_n(&l->is_resolved, __ATOMIC_ACQUIRE) && !resolve(l)) return -1;
    int64_t v[MOST_VALUES];
    memcpy(v, launch->plan->values, sizeof v);
    for (int k = 0; k < l->changing_count; ++k)
        v[l->changing[k]] = value_of(&l->values[l->changing[k]], launch);
    int status = 0;
    uintptr_t native = __atomic_load_n(&l->native, __ATOMIC_RELAXED);
    if (native) {
        /* A loop of one chunk is run by this thread at once, and is short. */
        if (!l->is_grid && l->value_count == 5 && v[3] >= 0 && (v[3] & ~QUIET) >= v[2]) {
            status = call_native(native, v, 5);
        } else {
            Py_BEGIN_ALLOW_THREADS
            status = call_native(native, v, l->value_count);
            Py_END_ALLOW_THREADS
        }
        if (!status) return 0;
    }
    PyObject *values = numbers_tuple(v, (int)l->value_count);
    PyObject *done = !values  ? NULL
                     : native ? PyObject_CallFunction(l->launch_failed, "iO", status, values)
                              : PyObject_CallOneArg(l->launch, values);
    Py_XDECREF(values);
    Py_XDECREF(done);
    return done ? 0 : -1;
}

/* See `kerneltk.interop.exchange.Maker`. */
enum { MAKER, ARGUMENTS, WORDS, QUICK, QUICK_ARGUMENTS };

static PyObject *make_foreign(PyObject *maker, int is_intercepted) {
    PyObject *quick = PyTuple_GET_ITEM(maker, QUICK);
    if (quick != Py_None && !is_intercepted)
        return PyObject_Call(quick, PyTuple_GET_ITEM(maker, QUICK_ARGUMENTS), NULL);
    return PyObject_Call(PyTuple_GET_ITEM(maker, MAKER), PyTuple_GET_ITEM(maker, ARGUMENTS),
                         PyTuple_GET_ITEM(maker, WORDS));
}

/* What makes a plan's outputs where the arrays are a library's: a new reference. */
static PyObject *makers_of(Launcher *l, const struct call *c, Plan *p) {
    PyObject *makers = NULL;
    LOCK(p);
    if (p->makers_library == c->library && p->makers_device == c->device) makers = Py_XNewRef(p->makers);
    UNLOCK();
    if (makers) return makers;
    PyObject *device = l->layout.kind ? PyLong_FromLongLong(c->device) : Py_NewRef(Py_None);
    makers = device ? PyTuple_New(l->output_count) : NULL;
    for (Py_ssize_t k = 0; makers && k < l->output_count; ++k) {
        PyObject *dtype = PyTuple_GET_ITEM(p->row, 11 + 2 * k);
        PyObject *maker = PyObject_CallFunctionObjArgs(c->library->maker, p->shape, dtype, p->order, device, NULL);
        if (maker)
            PyTuple_SET_ITEM(makers, k, maker);
        else
            Py_CLEAR(makers);
    }
    Py_XDECREF(device);
    if (!makers) return NULL;
    LOCK(p);
    Py_XSETREF(p->makers, Py_NewRef(makers));
    p->makers_library = c->library;
    p->makers_device = c->device;
    UNLOCK();
    return makers;
}

/* Allocates an output by the library whose arrays the others are; MISSED where what it makes has no memory, as
 * under torch's modes and transformations. */
static enum step allocate_foreign(Launcher *l, struct call *c, PyObject *maker, int intercepted, struct array *array) {
    struct dl_tensor tensor;
    PyObject *made = make_foreign(maker, intercepted);
    if (!own(c, made)) return FAILED;
    if (library_of(Py_TYPE(made)) != c->library) return MISSED;
    if (c->library->table->read(made, &tensor)) return missed();
    if (!tensor.data || (l->layout.kind && tensor.device_id != c->device)) return MISSED;
    array->object = made;
    array->address = (uintptr_t)tensor.data + tensor.byte_offset;
    return GO;
}

/* Allocates an output of the backend's own; `row` has its dtype and its size in bytes. */
static enum step allocate_own(Launcher *l, struct call *c, const Plan *p, PyObject *const *row, struct array *array) {
    PyObject *made, *given[] = {p->shape, row[0], p->order, Py_None, p->order};
    if (p->extents) {
        const int64_t *shape[3] = {p->extents, p->extents + p->ndim, p->extents + p->ndim};
        made = l->new_array(l->layout.kind, shape, row[0], Py_None);
    } else {
        if (l->layout.kind && !own(c, given[2] = PyObject_CallOneArg(l->allocate_memory, row[1]))) return FAILED;
        int is_plain = !l->layout.kind || PyUnicode_Compare(p->order, str_C) == 0;
        made = PyObject_Vectorcall(l->allocate, given, is_plain ? 3 : 5, NULL);
    }
    array->object = made;
    if (!own(c, made)) return FAILED;
    return read_own(&l->layout, made, array) ? GO : SLOW;
}

/* Allocates the outputs that callers do not give. */
static enum step allocate(Launcher *l, struct call *c, Plan *p) {
    PyObject *makers = NULL;
    int intercepted = 0;
    enum step step = GO;
    for (Py_ssize_t k = 0; step == GO && k < l->output_count; ++k) {
        int index = l->outputs[k];
        if (l->leaves[index].is_given) continue;
        if (c->library && !makers) {
            if (!own(c, makers = makers_of(l, c, p))) return FAILED;
            if ((intercepted = is_intercepted(c->library)) < 0) return FAILED;
        }
        step = c->library ? allocate_foreign(l, c, PyTuple_GET_ITEM(makers, k), intercepted, &c->arrays[index])
                          : allocate_own(l, c, p, &PyTuple_GET_ITEM(p->row, 11 + 2 * k), &c->arrays[index]);
        c->values[index] = c->arrays[index].object;
    }
    return step;
}

static int find_stream(Launcher *l, const struct call *c, PyObject *given, uintptr_t *stream) {
    int64_t own = 0;
    *stream = 0;
    if (given != Py_None) {
        int done = take_integer(Py_NewRef(given), &own);
        *stream = (uintptr_t)own;
        return done;
    }
    if (!l->current_stream) return 1;
    if (c->library && !foreign_stream(c, l->dlpack_devices[0], stream)) return 0;
    if (c->library && !c->has_own) return 1;
    if (!l->stream_function && !take_integer(PyObject_CallNoArgs(l->current_stream), &own)) return 0;
    if (l->stream_function && (own = l->stream_function()) == -1 && PyErr_Occurred()) return 0;
    if (c->library) return (uintptr_t)own == *stream; /* else Python orders them */
    *stream = (uintptr_t)own;
    return 1;
}

/* Scratch memory of a stream; that of the default one is known once it was asked for. */
static int find_scratch(Launcher *l, uintptr_t stream, int64_t size, int64_t *scratch) {
    int64_t device = 0;
    int is_default = stream <= LEGACY_STREAM, is_known;
    *scratch = 0;
    if (!size) return 1;
    if (is_default && l->current_device && !take_integer(PyObject_CallNoArgs(l->current_device), &device)) return 0;
    LOCK(l);
    is_known = is_default && l->scratch.device == device && size <= l->scratch.size;
    if (is_known) *scratch = l->scratch.address;
    UNLOCK();
    if (is_known) return 1;
    if (!take_integer(PyObject_CallFunction(l->scratch_for, "KL", stream, size), scratch)) return 0;
    if (is_default) {
        LOCK(l);
        l->scratch.device = device;
        l->scratch.size = size;
        l->scratch.address = *scratch;
        UNLOCK();
    }
    return 1;
}

static PyObject *result_of(Launcher *l, struct call *c) {
    if (l->returns_none) Py_RETURN_NONE;
    if (!l->returns_tuple) return Py_NewRef(c->values[l->outputs[0]]);
    PyObject *result = PyTuple_New(l->output_count);
    for (Py_ssize_t k = 0; result && k < l->output_count; ++k)
        PyTuple_SET_ITEM(result, k, Py_NewRef(c->values[l->outputs[k]]));
    return result;
}

/* Takes a block that is too large for the stack; NULL if there is no memory. */
static char *take_block(Plan *p) {
    char *block;
    LOCK(p);
    block = p->spare;
    p->spare = NULL;
    UNLOCK();
    if (block) return block;
    void *large;
    if (posix_memalign(&large, 64, (size_t)p->size)) return NULL;
    memcpy(large, p->content, (size_t)p->filled);
    memset((char *)large + p->filled, 0, (size_t)(p->size - p->filled));
    return large;
}

/* Gives it back. One of a launch that failed may hold scratch memory in any state. */
static void give_block(Plan *p, char *block, int is_good) {
    LOCK(p);
    if (is_good && !p->spare) {
        p->spare = block;
        block = NULL;
    }
    UNLOCK();
    free(block);
}

/* Marshals and launches by a plan. */
static enum step launch_by(Launcher *l, struct call *c, Plan *p, PyObject *const *shape,
                           PyObject *stream, PyObject **result) {
    struct launch launch = {.plan = p};
    TRY(check_arrays(l, c, p));
    /* What is allocated for another stream than the library's is ordered by Python, and so are several libraries. */
    if (c->importer && stream != Py_None) return MISSED;
    if (c->library && stream != Py_None && (l->output_count || c->has_own)) return MISSED;
    TRY(l->is_grid ? find_shape(p, shape[0], shape[1], shape[2], launch.shape) : allocate(l, c, p));
    if (!find_stream(l, c, stream, &launch.stream)) return slowly();
    int64_t scratch = 0;
    if (l->takes_scratch && !find_scratch(l, launch.stream, p->scratch, &scratch)) return FAILED;
    _Alignas(64) char small[STACK_BLOCK];
    void *pointers[256];
    char *block = small;
    if (p->pointer_count > 256) return SLOW;
    if (p->size > STACK_BLOCK && !(block = take_block(p))) return SLOW;
    if (block == small) memcpy(block, p->content, (size_t)p->size);
    for (int k = 0; k < p->pointer_count; ++k) pointers[k] = block + p->pointers[k];
    launch.parameters = p->pointer_count ? (uintptr_t)pointers : (uintptr_t)block;
    enum step step = GO;
    if (!pack_all(l, c, &launch, scratch, block))
        step = slowly();
    else if (launch_now(l, &launch))
        step = FAILED;
    if (block != small) give_block(p, block, step == GO);
    if (step == GO && c->library && !note_writes(l, c)) step = FAILED;
    if (step == GO && !(*result = result_of(l, c))) step = FAILED;
    return step;
}

/* Plans: made from the rows of Python's, found by what was read, and checked. A part of _launcher.c. */

/* ---- plans ---- */

static int plan_traverse(Plan *p, visitproc visit, void *arg) {
    Py_VISIT(Py_TYPE(p));
    Py_VISIT(p->row);
    Py_VISIT(p->extra);
    Py_VISIT(p->key);
    Py_VISIT(p->read);
    Py_VISIT(p->makers);
    return 0;
}

static void plan_dealloc(Plan *p) {
    PyTypeObject *type = Py_TYPE(p);
    PyObject_GC_UnTrack(p);
    PyObject *owned[] = {p->row, p->extra, p->words, p->key, p->read, p->makers};
    for (size_t k = 0; k < sizeof owned / sizeof *owned; ++k) Py_XDECREF(owned[k]);
    free(p->spare);
    type->tp_free(p);
    Py_DECREF(type);
}

/* ---- values ---- */

struct launch {
    const Plan *plan;
    int64_t shape[7];
    uintptr_t stream, parameters;
};

/* Whether a value is another one at each launch by the same plan. */
static int is_of_launch(enum value_code code) {
    return code == STREAM || code == PARAMETERS || (code >= GX && code <= BLOCKS) || code == BLOCKS_OF;
}

static int64_t value_of(const struct launch_value *value, const struct launch *launch) {
    const int64_t *shape = launch->shape;
    switch (value->code) {
    case FUNCTION: return launch->plan->function;
    case STREAM: return (int64_t)launch->stream;
    case PARAMETERS: return (int64_t)launch->parameters;
    case GRID: return launch->plan->grid;
    case CHUNK: return launch->plan->chunk;
    case BLOCK: return launch->plan->block;
    case BLOCKS: return shape[0] * shape[1] * shape[2];
    case CONSTANT: return value->number;
    case BLOCKS_OF: {
        int64_t blocks = value->number / (shape[3] * shape[4] * shape[5]);
        return blocks ? blocks : 1;
    }
    default: return shape[value->code - GX];
    }
}

/* Takes what `kerneltk.launch.compiled.RowReader` has made of a row. */
static int take_row(Launcher *l, Plan *p) {
    const int64_t *extents;
    if (!PyArg_ParseTuple(p->read, "KLLLLny#nO&nO&O&O&nO&OOO", &p->function, &p->grid, &p->chunk, &p->block,
                          &p->scratch, &p->size, &p->content, &p->filled, &p->code_count, to_items, &p->codes,
                          &p->pointer_count, to_items, &p->pointers, to_items, &p->numbers, to_items,
                          &p->extent_starts, &p->ndim, to_items, &extents, &p->shapes, &p->shape, &p->order))
        return 0;
    p->limits = p->numbers + p->extent_starts[l->leaf_count];
    if (l->new_array && l->layout.kind && PyUnicode_Compare(p->order, str_C) == 0) p->extents = extents;
    struct launch launch = {.plan = p};
    for (Py_ssize_t k = 0; k < l->value_count; ++k)
        if (!is_of_launch(l->values[k].code)) p->values[k] = value_of(&l->values[k], &launch);
    p->is_slow = 0;
    return 1;
}

/* A plan for a row, and for what was read if it is one of several; it is slow where something in the row is for Python
 * alone. NULL with an exception. */
static Plan *make_plan(Launcher *l, PyObject *row, PyObject *extra, PyObject *words, PyObject *key) {
    Plan *p = (Plan *)plan_type->tp_alloc(plan_type, 0);
    if (!p) return NULL;
    p->row = Py_NewRef(row);
    p->extra = Py_NewRef(extra);
    p->words = Py_XNewRef(words);
    p->key = Py_XNewRef(key);
    p->is_slow = 1;
    if (key && l->is_grid && PyTuple_GET_ITEM(row, 0) != (PyObject *)l) {
        p->other = PyTuple_GET_ITEM(row, 0);
        return p;
    }
    p->read = PyObject_CallOneArg(l->read_row, row);
    int done = p->read && (p->read == Py_None || take_row(l, p));
    if (!done && slowly() == FAILED) Py_CLEAR(p);
    return p;
}

static size_t size_of_words(const struct call *c) { return sizeof *c->words * (size_t)c->word_count; }

/* Whether a plan is for what was read; -1 with an exception. */
static int is_for(const Plan *p, const struct call *c, PyObject *extra) {
    if ((size_t)PyBytes_GET_SIZE(p->words) != size_of_words(c)) return 0;
    if (memcmp(PyBytes_AS_STRING(p->words), c->words, size_of_words(c))) return 0;
    return PyObject_RichCompareBool(p->extra, extra, Py_EQ);
}

/* Finds a plan among those that are known by the words of a call and `extra`, or by its row. */
static enum step known_plan(Launcher *l, struct call *c, PyObject *extra, PyObject *words, PyObject *known_by,
                            Plan **found) {
    PyObject *known, *row = NULL;
    if (PyDict_GetItemRef(l->known, known_by, &known) < 0) return slowly();
    *found = (Plan *)known;
    if (known) return GO;
    PyObject *key = make_key(c, extra);
    int has_row = key ? PyDict_GetItemRef(l->plans, key, &row) : -1;
    Plan *p = has_row > 0 ? make_plan(l, row, extra, words, key) : NULL;
    Py_XDECREF(key);
    Py_XDECREF(row);
    if (!p) return PyErr_Occurred() ? slowly() : MISSED;
    int64_t more = p->size > STACK_BLOCK ? p->size : 0;
    int64_t held = __atomic_add_fetch(&l->held, more, __ATOMIC_RELAXED);
    if (PyDict_GET_SIZE(l->known) >= MOST_KNOWN || held > MOST_HELD) {
        __atomic_store_n(&l->held, 0, __ATOMIC_RELAXED);
        PyDict_Clear(l->known);
    }
    *found = p;
    if (!PyDict_SetItem(l->known, known_by, (PyObject *)p)) return GO;
    Py_DECREF(p);
    return FAILED;
}

/* Finds the plan for what was read: a new reference. */
static enum step find_plan(Launcher *l, struct call *c, PyObject *extra, Plan **found) {
    if ((*found = (Plan *)Py_XNewRef(l->bound))) return GO;
    PyObject *last = get_shared((PyObject *)l, &l->last);
    int is_last = last ? is_for((Plan *)last, c, extra) : 0;
    if (is_last > 0) {
        *found = (Plan *)last;
        return GO;
    }
    Py_XDECREF(last);
    if (is_last < 0) return slowly();
    PyObject *words = PyBytes_FromStringAndSize((const char *)c->words, (Py_ssize_t)size_of_words(c));
    PyObject *known_by = !words || extra == Py_None ? Py_XNewRef(words) : PyTuple_Pack(2, words, extra);
    enum step step = known_by ? known_plan(l, c, extra, words, known_by, found) : FAILED;
    Py_XDECREF(known_by);
    Py_XDECREF(words);
    if (step == GO) set_shared((PyObject *)l, &l->last, (PyObject *)*found);
    return step;
}

/* ---- checks ---- */

static enum step check_arrays(Launcher *l, struct call *c, const Plan *p) {
    for (int k = 0; k < l->leaf_count; ++k) {
        const struct leaf *leaf = &l->leaves[k];
        const struct array *array = &c->arrays[k];
        int64_t number;
        if (leaf->marshal != ADDRESS || !leaf->guards || !leaf->is_given) continue;
        PyObject *object = array->object;
        if (is_view(object) && !array->is_foreign) return SLOW;
        if (leaf->guards & SAME_DTYPE && !is_guarded_dtype(leaf, array->dtype)) return SLOW;
        if (leaf->guards & HAS_MEMORY && !array->address) return SLOW;
        if (array->address & leaf->address_unit) return SLOW;
        if (leaf->guards & DENSE) {
            int dense = array->is_in_order;
            if (array->is_foreign)
                dense = is_contiguous(array, 0) || is_contiguous(array, 1);
            else if (!l->layout.kind)
                dense = ((const struct numpy_array *)object)->flags & (C_CONTIGUOUS | F_CONTIGUOUS);
            else if (!dense)
                dense = is_true(l->dense, object);
            if (dense <= 0) return slowly();
        }
        if (leaf->guards & WRITABLE && !array->is_writable) return SLOW;
        if (leaf->guards & ON_DEVICE && !array->is_foreign)
            if (!call_for_integer(l->device_of, array->memory, &number) || number != l->device) return slowly();
        if (leaf->bytes_unit && array->is_foreign) {
            if ((uint64_t)bytes_of(array) % (leaf->bytes_unit + 1)) return SLOW;
        } else if (leaf->bytes_unit) {
            if (!take_integer(PyObject_GetAttr(object, str_nbytes), &number)) return slowly();
            if ((uint64_t)number % (leaf->bytes_unit + 1)) return SLOW;
        }
    }
    for (Py_ssize_t k = 0; k < l->overlap_count; ++k) {
        const int64_t *limit = p->limits + 3 * k;
        int64_t distance = (int64_t)(c->arrays[l->overlaps[k].output].address -
                                     c->arrays[l->overlaps[k].input].address);
        if (limit[0] < distance && distance < limit[1] && distance != limit[2]) return SLOW;
    }
    return GO;
}

/* Reads up to three extents; 0 if that is for Python to read. */
static int read_extents(PyObject *given, int64_t *extents) {
    extents[0] = extents[1] = extents[2] = 1;
    if (PyLong_CheckExact(given)) {
        extents[0] = PyLong_AsLongLong(given);
    } else if (PyTuple_CheckExact(given)) {
        Py_ssize_t count = PyTuple_GET_SIZE(given);
        if (count < 1 || count > 3) return 0;
        for (Py_ssize_t k = 0; k < count; ++k) {
            PyObject *item = PyTuple_GET_ITEM(given, k);
            if (!PyLong_CheckExact(item)) return 0;
            extents[k] = PyLong_AsLongLong(item);
        }
    } else {
        return 0;
    }
    return !PyErr_Occurred();
}

/* Finds a launch's shape; MISSED for a grid that needs another kernel. */
static enum step find_shape(Plan *p, PyObject *grid, PyObject *block, PyObject *shared,
                            int64_t *numbers) {
    int64_t given[7];
    if (!read_extents(grid, given) || !read_extents(block, given + 3)) return slowly();
    if (!PyLong_CheckExact(shared)) return SLOW;
    given[6] = PyLong_AsLongLong(shared);
    if (given[6] == -1 && PyErr_Occurred()) return slowly();
    int found = 0;
    LOCK(p);
    for (int k = 0; k < KNOWN_SHAPES && !found; ++k) {
        const struct shape *shape = &p->known_shapes[k];
        if (!shape->is_known || memcmp(shape->given, given, sizeof given)) continue;
        memcpy(numbers, shape->numbers, sizeof shape->numbers);
        found = 1;
    }
    UNLOCK();
    if (found) return GO;
    PyObject *checked = PyObject_CallMethodObjArgs(p->shapes, str_configure, grid, block, shared, NULL);
    if (!checked) return FAILED;
    if (checked == Py_None) {
        Py_DECREF(checked);
        return MISSED;
    }
    struct shape shape = {.is_known = 1};
    memcpy(shape.given, given, sizeof given);
    int done = PyTuple_Check(checked) && PyTuple_GET_SIZE(checked) == 7;
    for (int k = 0; k < 7 && done; ++k) shape.numbers[k] = PyLong_AsLongLong(PyTuple_GET_ITEM(checked, k));
    Py_DECREF(checked);
    if (!done || PyErr_Occurred()) return slowly();
    LOCK(p);
    p->known_shapes[p->next_shape++ % KNOWN_SHAPES] = shape;
    p->next_shape %= KNOWN_SHAPES;
    UNLOCK();
    memcpy(numbers, shape.numbers, sizeof shape.numbers);
    return GO;
}

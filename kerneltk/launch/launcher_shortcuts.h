/* Shortcuts of functions of arrays: `kerneltk.launch.shortcuts` makes them. A part of _launcher.c.
 *
 * A shortcut compares the arguments' types, what arrays are and their distances in memory, and constants. It
 * calls what is for them, or what finds another one. What is for them may be the steps of a program: new arrays, calls
 * with some of the values that are known by then, and which value is the result.
 */

struct shortcut_argument {
    PyObject *type, *dtype; /* what is asked of the argument; NULL: of what is no array all below is not asked */
    PyObject *constant;     /* a tuple of the argument itself, or an empty one */
    int is_written, ndim;   /* the last -1: any */
    PyObject *shape;        /* as bytes; NULL: any */
    PyObject *layout; /* the strides as bytes, of a library's with a table in elements; whether it is in the order of
                       * C; NULL: any */
    int is_foreign, device_type, device; /* of another library's array, its memory */
};

struct distance { /* of an array that is written to and another one, between which they would overlap */
    int written, other;
    PyObject *array; /* the other one, where it is no argument; or NULL */
    long long low, high;
};

typedef struct {
    PyObject_HEAD
    vectorcallfunc vectorcall;
    PyObject *kept; /* what is not counted below belongs to it */
    PyObject *names; /* a tuple of triples: an owner, a name, and a tuple of what it stands for, or an empty one */
    PyObject *typed, *otherwise, *guard; /* the first may be a list, by the number of arguments, or steps; the last NULL */
    Py_ssize_t count;
    struct shortcut_argument *arguments;
    const int *passed;
    Py_ssize_t passed_count, distance_count;
    struct distance *distances;
    const struct library *library; /* whose arrays are among the arguments, or NULL */
    const struct importer *importer; /* of all other libraries' arrays, or NULL */
    struct layout layout;          /* of the backend's own arrays; without a kind: they are NumPy's */
    PyObject *(*new_array)(PyObject *kind, const void *shape, PyObject *dtype, PyObject *none); /* or NULL */
} Shortcut;

static PyTypeObject *shortcut_type;

static int are_equal(PyObject *numbers, const int64_t *found, int count) {
    Py_ssize_t size = (Py_ssize_t)sizeof *found * count;
    return PyBytes_GET_SIZE(numbers) == size && !memcmp(PyBytes_AS_STRING(numbers), found, (size_t)size);
}

/* Whether an array is as another one was. */
static int is_like(const struct shortcut_argument *known, const struct array *array) {
    if (array->dtype != known->dtype || (known->ndim >= 0 && array->ndim != known->ndim)) return 0;
    if (known->is_written && !array->is_writable) return 0;
    if (known->shape && !are_equal(known->shape, array->shape, array->ndim)) return 0;
    if (known->layout && PyBytes_Check(known->layout)) return are_equal(known->layout, array->strides, array->ndim);
    return !known->layout || !array->is_in_order == (known->layout == Py_False);
}

/* The same of an array of the library's, in such memory; -1 with an exception. What the library refuses is said by who
 * finds another kernel. */
static int is_like_foreign(const Shortcut *s, const struct shortcut_argument *known, struct array *array) {
    const int types[] = {known->device_type, known->device_type};
    int may = !known->is_written || may_write(s->library, array->object);
    enum step step = may > 0 ? read_tensor(s->library, types, array) : may ? missed() : MISSED;
    if (step != GO) return step == FAILED ? -1 : 0;
    array->is_in_order = known->layout && PyBool_Check(known->layout) && is_contiguous(array, 0);
    return array->device == known->device && is_like(known, array);
}

/* Whether a shortcut is for an argument; -1 with an exception. */
static int is_of_kind(const Shortcut *s, Py_ssize_t index, PyObject *given, uintptr_t *address) {
    const struct shortcut_argument *known = &s->arguments[index];
    struct array array = {.object = given};
    int is_known;
    if (known->is_foreign && s->importer && is_imported(given)) {
        array = ((View *)given)->array;
        is_known = is_like(known, &array) && (!known->is_written || !is_broadcast(&array));
    } else {
        if ((PyObject *)Py_TYPE(given) != known->type) return 0;
        if (PyTuple_GET_SIZE(known->constant)) return PyTuple_GET_ITEM(known->constant, 0) == given;
        if (!known->dtype) return 1;
        is_known = known->is_foreign ? is_like_foreign(s, known, &array)
                                     : read_own(&s->layout, given, &array) && is_like(known, &array);
    }
    address[index] = array.address;
    return is_known;
}

/* What a name stands for, as `kerneltk.launch.shortcuts.named` says; NULL for nothing, or with an exception. */
static PyObject *named(PyObject *owner, PyObject *name) {
    PyObject *found;
    if (PyDict_CheckExact(owner)) return PyDict_GetItemRef(owner, name, &found) > 0 ? found : NULL;
    owner = PyWeakref_CheckRefExact(owner) ? PyObject_CallNoArgs(owner) : Py_NewRef(owner);
    found = owner ? PyObject_GetAttr(owner, name) : NULL;
    Py_XDECREF(owner);
    if (!found && (PyErr_ExceptionMatches(PyExc_AttributeError) || PyErr_ExceptionMatches(PyExc_ValueError)))
        PyErr_Clear();
    return found;
}

/* Whether names stand for what they did; -1 with an exception. */
static int has_names(const Shortcut *s) {
    for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(s->names); ++k) {
        PyObject *triple = PyTuple_GET_ITEM(s->names, k), *known = PyTuple_GET_ITEM(triple, 2);
        PyObject *found = named(PyTuple_GET_ITEM(triple, 0), PyTuple_GET_ITEM(triple, 1));
        if (!found && PyErr_Occurred()) return -1;
        int is_same = found == (PyTuple_GET_SIZE(known) ? PyTuple_GET_ITEM(known, 0) : NULL);
        Py_XDECREF(found);
        if (!is_same) return 0;
    }
    return 1;
}

/* Whether no array that is written to overlaps another one. `addresses` has those of the arguments. */
static int are_apart(const Shortcut *s, const uintptr_t *addresses) {
    for (Py_ssize_t k = 0; k < s->distance_count; ++k) {
        const struct distance *known = &s->distances[k];
        struct array other = {.address = known->array ? 0 : addresses[known->other]};
        if (known->array && !read_own(&s->layout, known->array, &other)) return 0;
        long long distance = (long long)(addresses[known->written] - other.address);
        if (known->low < distance && distance < known->high) return 0;
    }
    return 1;
}

/* ---- programs ---- */

/* A new array of a program, described as `kerneltk.launch.shortcuts.New`. */
static enum step make_new(const Shortcut *s, PyObject *described, int intercepted, PyObject **made) {
    PyObject *shape = PyTuple_GET_ITEM(described, 1), *dtype = PyTuple_GET_ITEM(described, 2);
    PyObject *maker = PyTuple_GET_ITEM(described, 3);
    Py_ssize_t count = PyTuple_GET_SIZE(shape);
    if (s->new_array && PyTuple_GET_ITEM(described, 4) == Py_True && count <= MOST_LEAVES) {
        int64_t extents[MOST_LEAVES];
        for (Py_ssize_t k = 0; k < count; ++k) extents[k] = PyLong_AsLongLong(PyTuple_GET_ITEM(shape, k));
        const int64_t *vector[3] = {extents, extents + count, extents + count};
        *made = s->new_array(s->layout.kind, vector, dtype, Py_None);
    } else {
        *made = make_foreign(maker, intercepted);
    }
    if (!*made) return FAILED;
    struct dl_tensor tensor; /* without memory under torch's modes and transformations */
    if (!s->library) return GO;
    if (library_of(Py_TYPE(*made)) != s->library) return MISSED;
    return s->library->table->read(*made, &tensor) ? missed() : GO;
}

/* Makes a call of a program: a tuple of what is called, the indices of the values that it takes or None for a tuple of
 * all, options or none, and where results are stored. */
static int make_call(PyObject *call, PyObject **values, Py_ssize_t count) {
    PyObject *run = PyTuple_GET_ITEM(call, 0), *operands = PyTuple_GET_ITEM(call, 1), *given[MOST_OPERANDS + 2];
    PyObject *options = PyTuple_GET_ITEM(call, 2), *slots = PyTuple_GET_ITEM(call, 3), *all = NULL, *result = NULL;
    int takes_all = operands == Py_None, is_done = 1;
    Py_ssize_t taken = takes_all ? count : PyTuple_GET_SIZE(operands), slot_count = PyTuple_GET_SIZE(slots);
    run = PyList_CheckExact(run) ? PyList_GetItemRef(run, takes_all ? 1 : taken) : Py_NewRef(run);
    int takes_views = !run || Py_IS_TYPE(run, launcher_type) || Py_IS_TYPE(run, viewing_type);
    if (takes_all) is_done = (all = PyTuple_New(count)) != NULL;
    for (Py_ssize_t k = 0; run && is_done && k < taken; ++k) {
        PyObject **value = &values[takes_all ? k : PyLong_AsSsize_t(PyTuple_GET_ITEM(operands, k))];
        if (!takes_views && *value && is_view(*value)) {
            PyObject *array = as_array(*value);
            if (!(is_done = array != NULL)) break;
            Py_SETREF(*value, array);
        }
        if (takes_all)
            PyTuple_SET_ITEM(all, k, Py_NewRef(*value ? *value : Py_None));
        else
            given[k] = *value;
    }
    if (takes_all) {
        given[0] = all;
        taken = 1;
    }
    if (PyTuple_GET_SIZE(options)) {
        given[taken++] = Py_None; /* the stream */
        given[taken++] = PyTuple_GET_ITEM(options, 0);
    }
    if (run && is_done)
        result = Py_IS_TYPE(run, viewing_type) ? make_view((Viewing *)run, given[0])
                                               : PyObject_Vectorcall(run, given, (size_t)taken, NULL);
    Py_XDECREF(run);
    Py_XDECREF(all);
    if (result && slot_count > 1 && (!PyTuple_Check(result) || PyTuple_GET_SIZE(result) != slot_count)) {
        Py_CLEAR(result);
        PyErr_SetString(PyExc_TypeError, "no result for each slot");
    }
    for (Py_ssize_t k = 0; result && k < slot_count; ++k) {
        PyObject **slot = &values[PyLong_AsSsize_t(PyTuple_GET_ITEM(slots, k))];
        Py_XSETREF(*slot, Py_NewRef(slot_count > 1 ? PyTuple_GET_ITEM(result, k) : result));
    }
    Py_XDECREF(result);
    return result != NULL;
}

/* Executes a program, described as `kerneltk.launch.shortcuts.Steps`. MISSED before anything is called. */
static enum step execute(const Shortcut *s, PyObject *const *args, PyObject **result) {
    PyObject *steps = s->typed, *few[MOST_SLOTS], **values = few;
    Py_ssize_t count = PyLong_AsSsize_t(PyTuple_GET_ITEM(steps, 0)), at = PyLong_AsSsize_t(PyTuple_GET_ITEM(steps, 4));
    PyObject *constants = PyTuple_GET_ITEM(steps, 1), *new = PyTuple_GET_ITEM(steps, 2), *calls = PyTuple_GET_ITEM(steps, 3);
    if (count > MOST_SLOTS && !(values = PyMem_Malloc(sizeof *values * (size_t)count))) {
        PyErr_NoMemory();
        return FAILED;
    }
    memset(values, 0, sizeof *values * (size_t)count);
    for (Py_ssize_t k = 0; k < s->count; ++k) values[k] = Py_NewRef(args[k]);
    for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(constants); ++k) {
        PyObject *pair = PyTuple_GET_ITEM(constants, k);
        values[PyLong_AsSsize_t(PyTuple_GET_ITEM(pair, 0))] = Py_NewRef(PyTuple_GET_ITEM(pair, 1));
    }
    PyObject *memory = PyTuple_GET_ITEM(steps, 5) == Py_True ? keep_memory() : NULL;
    int intercepted = s->library && PyTuple_GET_SIZE(new) ? is_intercepted(s->library) : 0;
    enum step step = intercepted < 0 ? FAILED : GO;
    for (Py_ssize_t k = 0; step == GO && k < PyTuple_GET_SIZE(new); ++k) {
        PyObject *described = PyTuple_GET_ITEM(new, k);
        step = make_new(s, described, intercepted, &values[PyLong_AsSsize_t(PyTuple_GET_ITEM(described, 0))]);
    }
    for (Py_ssize_t k = 0; step == GO && k < PyTuple_GET_SIZE(calls); ++k)
        if (!make_call(PyTuple_GET_ITEM(calls, k), values, count)) step = FAILED;
    if (step == GO) *result = as_array(at < 0 || !values[at] ? Py_None : values[at]);
    restore_memory(memory);
    for (Py_ssize_t k = 0; k < count; ++k) Py_XDECREF(values[k]);
    if (values != few) PyMem_Free(values);
    return step;
}

/* Calls what a shortcut is for: MISSED before anything is launched, where it is for other arguments. */
static enum step call_known(Shortcut *s, PyObject *const *args, Py_ssize_t count, PyObject **result) {
    PyObject *given[MOST_LEAVES];
    uintptr_t addresses[MOST_LEAVES];
    int is_known = 1;
    for (Py_ssize_t k = 0; is_known > 0 && k < count; ++k) is_known = is_of_kind(s, k, args[k], addresses);
    if (is_known > 0) is_known = has_names(s);
    if (is_known > 0) is_known = are_apart(s, addresses);
    if (is_known > 0 && s->guard) {
        PyObject *said = call_with_arrays(s->guard, args, count);
        is_known = said ? PyObject_IsTrue(said) : -1;
        Py_XDECREF(said);
    }
    if (is_known <= 0) return is_known < 0 ? FAILED : MISSED;
    if (PyTuple_CheckExact(s->typed)) return execute(s, args, result);
    PyObject *run = PyList_CheckExact(s->typed) ? PyList_GetItemRef(s->typed, s->passed_count) : Py_NewRef(s->typed);
    for (int k = 0; k < s->passed_count; ++k) given[k] = args[s->passed[k]];
    if (run && Py_IS_TYPE(run, launcher_type))
        *result = PyObject_Vectorcall(run, given, (size_t)s->passed_count, NULL);
    else if (run)
        *result = call_with_arrays(run, given, s->passed_count);
    Py_XDECREF(run);
    return *result ? GO : FAILED;
}

static PyObject *call_shortcut(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *names) {
    Shortcut *s = (Shortcut *)self;
    Py_ssize_t count = PyVectorcall_NARGS(nargsf), taken = 0;
    PyObject *own[MOST_LEAVES], *result = NULL;
    enum step step = !names && count == s->count ? GO : MISSED;
    for (; step == GO && s->importer && taken < count; taken += step == GO) {
        const struct shortcut_argument *known = &s->arguments[taken];
        int is_other = known->is_foreign && (PyObject *)Py_TYPE(args[taken]) == known->type;
        own[taken] = is_other ? import_view(s->importer, args[taken]) : Py_NewRef(args[taken]);
        if (!own[taken]) step = PyErr_Occurred() ? FAILED : MISSED;
    }
    if (step == GO) step = call_known(s, s->importer ? own : args, count, &result);
    if (step == GO && s->importer) result = finish_imports(s->importer, result, own, count, own, count);
    while (taken) Py_DECREF(own[--taken]);
    return step == MISSED ? PyObject_Vectorcall(s->otherwise, args, (size_t)count, names) : result;
}

static int takes_so_many(PyObject *run, Py_ssize_t count) {
    return Py_IS_TYPE(run, shortcut_type) && ((Shortcut *)run)->count == count;
}

static int read_argument(Shortcut *s, PyObject *described, struct shortcut_argument *argument) {
    if (!PyArg_ParseTuple(described, "OOO&piO&O&pii", &argument->type, &argument->constant, or_null, &argument->dtype,
                          &argument->is_written, &argument->ndim, or_null, &argument->shape, or_null, &argument->layout,
                          &argument->is_foreign, &argument->device_type, &argument->device))
        return 0;
    if (!argument->is_foreign) return 1;
    const struct importer *importer = importer_of((PyTypeObject *)argument->type, s->layout.kind);
    const struct library *library = library_of((PyTypeObject *)argument->type);
    int is_first = !s->importer && !s->library;
    if ((!importer && !library) || (!is_first && (importer != s->importer || library != s->library))) {
        PyErr_SetString(PyExc_ValueError, "no library, or several");
        return 0;
    }
    s->importer = importer;
    s->library = library;
    return 1;
}

/* Shortcut(...): a tuple of the arguments, each a type, a tuple of a constant or none, and of an array what the fields
 * say; those that are passed; what they are passed to; what is called with others; a guard or None; names;
 * distances; the layout of arrays or None; and the address of what makes new ones. */
static PyObject *shortcut_new(PyTypeObject *type, PyObject *args, PyObject *words) {
    PyObject *arguments, *distances, *layout;
    Shortcut *s = (Shortcut *)type->tp_alloc(type, 0);
    (void)words;
    if (!s) return NULL;
    s->vectorcall = call_shortcut;
    s->kept = Py_NewRef(args);
    int done = PyArg_ParseTuple(args, "OnO&OOO&OOOO&", &arguments, &s->passed_count, to_items, &s->passed, &s->typed,
                                &s->otherwise, or_null, &s->guard, &s->names, &distances, &layout, to_function,
                                &s->new_array) &&
               read_layout(layout, &s->layout);
    if (done) {
        s->count = PyTuple_GET_SIZE(arguments);
        s->arguments = PyMem_Calloc((size_t)s->count + 1, sizeof *s->arguments);
        s->distance_count = PyTuple_GET_SIZE(distances);
        s->distances = PyMem_Calloc((size_t)s->distance_count + 1, sizeof *s->distances);
        if (!s->arguments || !s->distances) done = PyErr_NoMemory() != NULL;
    }
    for (Py_ssize_t k = 0; done && k < s->count; ++k)
        done = read_argument(s, PyTuple_GET_ITEM(arguments, k), &s->arguments[k]);
    for (Py_ssize_t k = 0; done && k < s->distance_count; ++k) {
        struct distance *known = &s->distances[k];
        done = PyArg_ParseTuple(PyTuple_GET_ITEM(distances, k), "iiO&LL", &known->written, &known->other, or_null,
                                &known->array, &known->low, &known->high);
    }
    if (!done) Py_CLEAR(s);
    return (PyObject *)s;
}

static int shortcut_traverse(Shortcut *s, visitproc visit, void *arg) {
    Py_VISIT(Py_TYPE(s));
    Py_VISIT(s->kept);
    return 0;
}

static void shortcut_dealloc(Shortcut *s) {
    PyTypeObject *type = Py_TYPE(s);
    PyObject_GC_UnTrack(s);
    Py_XDECREF(s->kept);
    PyMem_Free(s->arguments);
    PyMem_Free(s->distances);
    type->tp_free(s);
    Py_DECREF(type);
}

static PyType_Slot shortcut_slots[] = {
    {Py_tp_new, shortcut_new},
    {Py_tp_call, PyVectorcall_Call},
    {Py_tp_traverse, shortcut_traverse},
    {Py_tp_dealloc, shortcut_dealloc},
    {Py_tp_members, vectorcall_members},
    {0, NULL},
};

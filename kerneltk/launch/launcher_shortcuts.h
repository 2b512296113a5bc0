/* Shortcuts of functions of arrays: `kerneltk.launch.shortcuts` makes them. A part of _launcher.c.
 *
 * A shortcut compares the arguments' types, the arrays' dtypes, attributes and distances in memory, and constants. It
 * calls what is for them, or what finds another one.
 */

struct shortcut_argument {
    PyObject *type, *dtype; /* what is asked of the argument; NULL: of what is no array no dtype is */
    Py_ssize_t offset;      /* of the dtype in the argument's memory; 0: it is asked for */
    PyObject *attributes;   /* a tuple of pairs: a tuple of names, one of the other, and a value */
    PyObject *constant;     /* a tuple of the argument itself, or an empty one */
};

struct distance { /* of an array that is written to and another one, between which they would overlap */
    int written, other;
    PyObject *array; /* the other one, where it is no argument */
    long long low, high;
};

typedef struct {
    PyObject_HEAD
    vectorcallfunc vectorcall;
    PyObject *kept; /* what is not counted below belongs to it */
    PyObject *names; /* a tuple of triples: an owner, a name, and a tuple of what it stands for, or an empty one */
    PyObject *typed, *otherwise, *guard; /* the first may be a list, by the number of arguments; the last NULL */
    Py_ssize_t count;
    struct shortcut_argument *arguments;
    int passed[MOST_LEAVES], passed_count;
    int returns_none; /* whatever `typed` returns */
    struct path memory; /* where an array's address is read */
    struct access address;
    Py_ssize_t distance_count;
    struct distance *distances;
} Shortcut;

static PyTypeObject *shortcut_type;

static int is_of_dtype(const struct shortcut_argument *known, PyObject *given) {
    if (!known->dtype) return 1;
    if (known->offset) return FIELD(PyObject *, given, known->offset) == known->dtype;
    PyObject *dtype = PyObject_GetAttr(given, str_dtype);
    if (!dtype) return -1;
    int is_same = dtype == known->dtype;
    Py_DECREF(dtype);
    return is_same;
}

static int has_attribute(PyObject *given, PyObject *names, PyObject *value) {
    PyObject *found = Py_NewRef(given);
    for (Py_ssize_t k = 0; found && k < PyTuple_GET_SIZE(names); ++k)
        Py_SETREF(found, PyObject_GetAttr(found, PyTuple_GET_ITEM(names, k)));
    if (!found) return -1;
    int is_equal = PyObject_RichCompareBool(found, value, Py_EQ);
    Py_DECREF(found);
    return is_equal;
}

/* Whether a shortcut is for an argument; -1 with an exception. */
static int is_of_kind(const struct shortcut_argument *known, PyObject *given) {
    if ((PyObject *)Py_TYPE(given) != known->type) return 0;
    if (PyTuple_GET_SIZE(known->constant)) return PyTuple_GET_ITEM(known->constant, 0) == given;
    int is_known = is_of_dtype(known, given);
    for (Py_ssize_t k = 0; is_known > 0 && k < PyTuple_GET_SIZE(known->attributes); ++k) {
        PyObject *pair = PyTuple_GET_ITEM(known->attributes, k);
        is_known = has_attribute(given, PyTuple_GET_ITEM(pair, 0), PyTuple_GET_ITEM(pair, 1));
    }
    return is_known;
}

/* Whether an argument is in another kind of memory than the arrays of libraries before it: torch's tensors of the
 * host are numbers beside those on a GPU. 0 stands for none so far in `device_type`. */
static int is_elsewhere(const struct shortcut_argument *known, PyObject *given, int *device_type) {
    if (!known->dtype || known->offset) return 0;
    const struct library *library = library_of(Py_TYPE(given));
    struct dl_tensor tensor;
    if (!library) return 0;
    if (library->table->read(given, &tensor)) {
        PyErr_Clear(); /* who finds another kernel says it */
        return 1;
    }
    if (!*device_type) *device_type = tensor.device_type;
    return tensor.device_type != *device_type;
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

static int read_distant(const Shortcut *s, PyObject *array, uintptr_t *address) {
    PyObject *memory = follow(array, &s->memory);
    int done = memory && read_address(&s->address, memory, address);
    Py_XDECREF(memory);
    return done;
}

/* Whether no array that is written to overlaps another one; -1 with an exception. */
static int are_apart(const Shortcut *s, PyObject *const *args) {
    for (Py_ssize_t k = 0; k < s->distance_count; ++k) {
        const struct distance *known = &s->distances[k];
        uintptr_t written, other;
        if (!read_distant(s, args[known->written], &written) ||
            !read_distant(s, known->array ? known->array : args[known->other], &other))
            return -1;
        long long distance = (long long)(written - other);
        if (known->low < distance && distance < known->high) return 0;
    }
    return 1;
}

static PyObject *call_shortcut(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *names) {
    Shortcut *s = (Shortcut *)self;
    Py_ssize_t count = PyVectorcall_NARGS(nargsf);
    PyObject *given[MOST_LEAVES];
    if (!s->kept) return raise_collected();
    int is_known = !names && count == s->count, device_type = 0;
    for (Py_ssize_t k = 0; is_known > 0 && k < count; ++k) {
        is_known = is_of_kind(&s->arguments[k], args[k]);
        if (is_known > 0 && is_elsewhere(&s->arguments[k], args[k], &device_type)) is_known = 0;
    }
    if (is_known > 0) is_known = has_names(s);
    if (is_known > 0) is_known = are_apart(s, args);
    if (is_known > 0 && s->guard) {
        PyObject *said = PyObject_Vectorcall(s->guard, args, (size_t)count, NULL);
        is_known = said ? PyObject_IsTrue(said) : -1;
        Py_XDECREF(said);
    }
    if (is_known < 0) return NULL;
    if (!is_known) return PyObject_Vectorcall(s->otherwise, args, (size_t)count, names);
    for (int k = 0; k < s->passed_count; ++k) given[k] = args[s->passed[k]];
    PyObject *run = PyList_CheckExact(s->typed) ? PyList_GetItemRef(s->typed, s->passed_count) : Py_NewRef(s->typed);
    PyObject *result = run ? PyObject_Vectorcall(run, given, (size_t)s->passed_count, NULL) : NULL;
    Py_XDECREF(run);
    if (result && s->returns_none) Py_SETREF(result, Py_NewRef(Py_None));
    return result;
}

static int takes_so_many(PyObject *run, Py_ssize_t count) {
    return Py_IS_TYPE(run, shortcut_type) && ((Shortcut *)run)->count == count;
}

/* Shortcut(...): a tuple of the arguments, each a type, a dtype or None, where its memory has the dtype, attributes
 * and a constant; the indices of those that are passed; what they are passed to; what is called with others; a guard or
 * None; names; whether None is returned; where arrays have their addresses; distances. */
static PyObject *shortcut_new(PyTypeObject *type, PyObject *args, PyObject *words) {
    PyObject *arguments, *passed, *typed, *otherwise, *guard, *names, *memory, *address, *distances;
    if (words && PyDict_GET_SIZE(words)) {
        PyErr_SetString(PyExc_TypeError, "a shortcut takes no keywords");
        return NULL;
    }
    int returns_none;
    if (!PyArg_ParseTuple(args, "O!O!OOOO!pOOO!", &PyTuple_Type, &arguments, &PyTuple_Type, &passed, &typed, &otherwise,
                          &guard, &PyTuple_Type, &names, &returns_none, &memory, &address, &PyTuple_Type, &distances))
        return NULL;
    if (PyTuple_GET_SIZE(arguments) > MOST_LEAVES || PyTuple_GET_SIZE(passed) > MOST_LEAVES) {
        PyErr_SetString(PyExc_ValueError, "too many arguments");
        return NULL;
    }
    Shortcut *s = (Shortcut *)type->tp_alloc(type, 0);
    if (!s) return NULL;
    s->vectorcall = call_shortcut;
    s->kept = Py_NewRef(args);
    s->typed = typed;
    s->otherwise = otherwise;
    s->guard = or_null(guard);
    s->names = names;
    s->returns_none = returns_none;
    s->count = PyTuple_GET_SIZE(arguments);
    s->arguments = PyMem_Calloc((size_t)s->count + 1, sizeof *s->arguments);
    s->distance_count = PyTuple_GET_SIZE(distances);
    s->distances = PyMem_Calloc((size_t)s->distance_count + 1, sizeof *s->distances);
    if (!s->arguments || !s->distances) {
        Py_DECREF(s);
        return PyErr_NoMemory();
    }
    int done = read_indices(passed, s->passed, &s->passed_count, (int)s->count) && read_path(memory, &s->memory) &&
               parse_access(address, &s->address);
    for (Py_ssize_t k = 0; done && k < s->count; ++k) {
        struct shortcut_argument *argument = &s->arguments[k];
        done = PyArg_ParseTuple(PyTuple_GET_ITEM(arguments, k), "O!OnO!O!", &PyType_Type, &argument->type,
                                &argument->dtype, &argument->offset, &PyTuple_Type, &argument->attributes,
                                &PyTuple_Type, &argument->constant);
        argument->dtype = done ? or_null(argument->dtype) : NULL;
    }
    for (Py_ssize_t k = 0; done && k < s->distance_count; ++k) {
        struct distance *known = &s->distances[k];
        done = PyArg_ParseTuple(PyTuple_GET_ITEM(distances, k), "iOLL", &known->written, &known->array, &known->low,
                                &known->high);
        if (done && PyLong_CheckExact(known->array)) {
            known->other = (int)PyLong_AsLong(known->array);
            known->array = NULL;
        }
        if (done && (known->written < 0 || known->written >= s->count || known->other < 0 || known->other >= s->count)) {
            PyErr_SetString(PyExc_ValueError, "no such argument");
            done = 0;
        }
    }
    if (!done) Py_CLEAR(s);
    return (PyObject *)s;
}

static int shortcut_traverse(Shortcut *s, visitproc visit, void *arg) {
    Py_VISIT(Py_TYPE(s));
    Py_VISIT(s->kept);
    return 0;
}

static int shortcut_clear(Shortcut *s) {
    Py_CLEAR(s->kept);
    return 0;
}

static void shortcut_dealloc(Shortcut *s) {
    PyTypeObject *type = Py_TYPE(s);
    PyObject_GC_UnTrack(s);
    shortcut_clear(s);
    PyMem_Free(s->arguments);
    PyMem_Free(s->distances);
    type->tp_free(s);
    Py_DECREF(type);
}

static PyMemberDef shortcut_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(Shortcut, vectorcall), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

PyDoc_STRVAR(shortcut_doc, "Calls what is for arguments of some kinds; `kerneltk.launch.shortcuts` makes it.");

static PyType_Slot shortcut_slots[] = {
    {Py_tp_doc, (void *)shortcut_doc},
    {Py_tp_new, shortcut_new},
    {Py_tp_call, PyVectorcall_Call},
    {Py_tp_traverse, shortcut_traverse},
    {Py_tp_clear, shortcut_clear},
    {Py_tp_dealloc, shortcut_dealloc},
    {Py_tp_members, shortcut_members},
    {0, NULL},
};

static PyType_Spec shortcut_spec = {
    "kerneltk.launch._launcher.Shortcut", sizeof(Shortcut), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_IMMUTABLETYPE,
    shortcut_slots,
};

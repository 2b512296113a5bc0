/* Shortcuts of functions of elements: `kerneltk.jit.frontends.shortcuts` makes them. A part of _launcher.c.
 *
 * A shortcut compares the arguments' types and the arrays' dtypes, and calls the kernel for them, or what finds
 * another one.
 */

struct shortcut_argument {
    PyObject *type, *dtype; /* what is asked of the argument; NULL: of what is no array no dtype is */
    Py_ssize_t offset;      /* of the dtype in the argument's memory; 0: it is asked for */
    int is_passed;
};

typedef struct {
    PyObject_HEAD
    vectorcallfunc vectorcall;
    PyObject *kept; /* what is not counted below belongs to it */
    PyObject *typed, *otherwise;
    Py_ssize_t count;
    struct shortcut_argument *arguments;
} Shortcut;

static PyTypeObject *shortcut_type;

/* Whether a shortcut is for an argument; -1 with an exception. */
static int is_of_kind(const struct shortcut_argument *known, PyObject *given) {
    if ((PyObject *)Py_TYPE(given) != known->type) return 0;
    if (!known->dtype) return 1;
    if (known->offset) return FIELD(PyObject *, given, known->offset) == known->dtype;
    PyObject *dtype = PyObject_GetAttr(given, str_dtype);
    if (!dtype) return -1;
    int is_same = dtype == known->dtype;
    Py_DECREF(dtype);
    return is_same;
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

static PyObject *call_shortcut(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *names) {
    Shortcut *s = (Shortcut *)self;
    Py_ssize_t count = PyVectorcall_NARGS(nargsf), passed = 0;
    PyObject *given[MOST_LEAVES];
    if (!s->kept) return raise_collected();
    int is_known = !names && count == s->count, device_type = 0;
    for (Py_ssize_t k = 0; is_known > 0 && k < count; ++k) {
        is_known = is_of_kind(&s->arguments[k], args[k]);
        if (is_known > 0 && is_elsewhere(&s->arguments[k], args[k], &device_type)) is_known = 0;
        if (s->arguments[k].is_passed) given[passed++] = args[k];
    }
    if (is_known < 0) return NULL;
    if (!is_known) return PyObject_Vectorcall(s->otherwise, args, (size_t)count, names);
    return PyObject_Vectorcall(s->typed, given, (size_t)passed, NULL);
}

static int takes_so_many(PyObject *run, Py_ssize_t count) {
    return Py_IS_TYPE(run, shortcut_type) && ((Shortcut *)run)->count == count;
}

/* Shortcut(kept, ...): a tuple of the arguments, each a type, a dtype or None, where its memory has the dtype, and
 * whether it is passed; the kernel; what is called with other arguments. */
static PyObject *shortcut_new(PyTypeObject *type, PyObject *args, PyObject *words) {
    PyObject *arguments, *typed, *otherwise;
    if (words && PyDict_GET_SIZE(words)) {
        PyErr_SetString(PyExc_TypeError, "a shortcut takes no keywords");
        return NULL;
    }
    if (!PyArg_ParseTuple(args, "O!OO", &PyTuple_Type, &arguments, &typed, &otherwise)) return NULL;
    if (PyTuple_GET_SIZE(arguments) > MOST_LEAVES) {
        PyErr_SetString(PyExc_ValueError, "too many arguments");
        return NULL;
    }
    Shortcut *s = (Shortcut *)type->tp_alloc(type, 0);
    if (!s) return NULL;
    s->vectorcall = call_shortcut;
    s->kept = Py_NewRef(args);
    s->typed = typed;
    s->otherwise = otherwise;
    s->count = PyTuple_GET_SIZE(arguments);
    s->arguments = PyMem_Calloc((size_t)s->count + 1, sizeof *s->arguments);
    if (!s->arguments) {
        Py_DECREF(s);
        return PyErr_NoMemory();
    }
    for (Py_ssize_t k = 0; k < s->count; ++k) {
        struct shortcut_argument *argument = &s->arguments[k];
        if (!PyArg_ParseTuple(PyTuple_GET_ITEM(arguments, k), "O!Onp", &PyType_Type, &argument->type,
                              &argument->dtype, &argument->offset, &argument->is_passed)) {
            Py_DECREF(s);
            return NULL;
        }
        if (argument->dtype == Py_None) argument->dtype = NULL;
    }
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
    type->tp_free(s);
    Py_DECREF(type);
}

static PyMemberDef shortcut_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(Shortcut, vectorcall), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

PyDoc_STRVAR(shortcut_doc, "Calls a kernel with arguments of its types; `kerneltk.jit.frontends.shortcuts` makes it.");

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

/* Calls of kernels' objects: the common ones go to a launcher, without a tuple of arguments and without a
 * frame of Python's. A part of _launcher.c.
 *
 * `Called` is the base of a kernel's class, which has its method `__call__` as any other. What is common is
 * called as that method would; for all else it is called.
 */

enum call_kind { BY_COUNT, REDUCES, ON_GRID, CONFIGURED, SHORTCUT };

typedef struct {
    PyObject_HEAD
    vectorcallfunc vectorcall;
    long kind;
} Called;

static PyTypeObject *called_type;
static int are_by_methods; /* whether all calls are those of the methods */

/* Python before 3.12 keeps its flag for these calls where a program sets another `__call__` of a class: the method that
 * the class had is compared. */
static int has_own_method(PyTypeObject *type) {
#if PY_VERSION_HEX < 0x030C0000
    static unsigned known[8]; /* versions of classes that have it: they change with the classes */
    unsigned version = type->tp_version_tag;
    if (version && known[version % 8] == version) return 1;
    if (_PyType_Lookup(type, str_call) != _PyType_Lookup(type, str_common_call)) return 0;
    known[type->tp_version_tag % 8] = type->tp_version_tag;
#endif
    return type != NULL;
}

/* ---- attributes ---- */

/* Where objects of a class and its subclasses have an attribute: found once, in the slot of the class. */
struct field {
    PyTypeObject *of;
    Py_ssize_t offset;
};

/* An attribute, which is read from its slot. Without a lock of the interpreter another thread may set it meanwhile: it
 * is asked for then. */
static PyObject *attribute(PyObject *object, PyObject *name, struct field *field) {
#ifndef Py_GIL_DISABLED
    if (!field->of) {
        PyObject *found = PyObject_GetAttr((PyObject *)Py_TYPE(object), name);
        if (found && Py_IS_TYPE(found, &PyMemberDescr_Type)) {
            field->offset = ((PyMemberDescrObject *)found)->d_member->offset;
            field->of = (PyTypeObject *)Py_NewRef(PyDescr_TYPE(found));
        }
        Py_XDECREF(found);
        PyErr_Clear();
    }
    int has_field = field->of && PyObject_TypeCheck(object, field->of);
    PyObject *value = has_field ? FIELD(PyObject *, object, field->offset) : NULL;
    if (value) return Py_NewRef(value);
#else
    (void)field;
#endif
    return PyObject_GetAttr(object, name);
}

#define ATTRIBUTE(object, name)                                                                          \
    ({                                                                                                   \
        static struct field known_field;                                                                 \
        attribute(object, name, &known_field);                                                           \
    })

/* ---- kinds of calls ---- */

/* Whether the only keyword is `out`, and that one array. */
static int is_out(PyObject *names, PyObject *out) {
    PyObject *name = PyTuple_GET_ITEM(names, 0); /* mostly interned */
    return PyTuple_GET_SIZE(names) == 1 && (name == str_out || PyUnicode_Compare(name, str_out) == 0) &&
           out != Py_None && !PyTuple_Check(out) && !PyList_Check(out);
}

/* Whether something is a launcher with one output. */
static int has_one_output(PyObject *run) {
    return Py_IS_TYPE(run, launcher_type) && ((const Launcher *)run)->output_count == 1;
}

/* Whether something is a shortcut for as many arguments; defaults may be missing. */
static int takes_so_many(PyObject *run, Py_ssize_t count);

/* What a common call without a configuration goes to: a new reference; NULL where it is none, with an exception or
 * without. `given` counts the arguments with `out`. */
static PyObject *common_run(Called *kernel, PyObject *const *args, Py_ssize_t given, PyObject *names) {
    PyObject *own = (PyObject *)kernel, *of = NULL, *run = NULL;
    Py_ssize_t count = given - (names != NULL);
    if (names && ((kernel->kind != REDUCES && kernel->kind != SHORTCUT) || !is_out(names, args[count]))) return NULL;
    if (kernel->kind == ON_GRID) { /* with a grid, a block and a tuple of arguments: the dispatcher's last launcher */
        of = count == 3 ? ATTRIBUTE(own, str_dispatcher) : NULL;
        run = of ? ATTRIBUTE(of, str_recent) : NULL;
    } else if (kernel->kind == SHORTCUT) { /* for the last kinds of arguments */
        run = names ? ATTRIBUTE(own, str_shortcut_out) : ATTRIBUTE(own, str_shortcut);
        if (run && !takes_so_many(run, given)) Py_CLEAR(run);
    } else { /* launchers in a list by the number of arguments */
        of = ATTRIBUTE(own, str_inline_cache);
        Py_ssize_t most = of && PyList_CheckExact(of) ? PyList_GET_SIZE(of) - 1 : -1;
        if (given == most || (!names && given < most)) run = PyList_GetItemRef(of, given);
        if (run && names && !has_one_output(run)) Py_CLEAR(run);
    }
    Py_XDECREF(of);
    return run;
}

/* A kernel in Python with a grid and a block: it has a tuple of its dispatcher, the number of arguments, the
 * grid, the block, the shared memory and the stream. */
static enum step call_configured(PyObject *own, PyObject *const *args, Py_ssize_t count, PyObject **result) {
    PyObject *launch = ATTRIBUTE(own, str_launch), *run = NULL;
    PyObject *const *items = launch ? &PyTuple_GET_ITEM(launch, 0) : NULL;
    if (items && PyLong_AsSsize_t(items[1]) == count) run = ATTRIBUTE(items[0], str_recent);
    if (run) {
        struct grid_call g = {{items[2], items[3], items[4]}, items[5], args, count, NULL};
        Launcher *l = Py_IS_TYPE(run, launcher_type) ? (Launcher *)run : NULL;
        *result = l && l->is_grid ? launch_grid(l, &g) : call_with_grid(run, &g);
        Py_DECREF(run);
    }
    Py_XDECREF(launch);
    return run ? GO : slowly();
}

/* Calls the class's method. */
static PyObject *call_method(PyObject *kernel, PyObject *const *args, size_t nargsf, PyObject *names) {
    PyObject *function = PyObject_GetAttr((PyObject *)Py_TYPE(kernel), str_call);
    PyObject *method = function ? PyMethod_New(function, kernel) : NULL;
    PyObject *result = method ? PyObject_Vectorcall(method, args, nargsf, names) : NULL;
    Py_XDECREF(function);
    Py_XDECREF(method);
    return result;
}

static PyObject *call_kernel(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *names) {
    Called *kernel = (Called *)self;
    PyObject *words = names && PyTuple_GET_SIZE(names) ? names : NULL, *result = NULL;
    Py_ssize_t given = PyVectorcall_NARGS(nargsf) + (words != NULL);
    if (__atomic_load_n(&are_by_methods, __ATOMIC_ACQUIRE) || !has_own_method(Py_TYPE(self)))
        return call_method(self, args, nargsf, names);
    if (kernel->kind == CONFIGURED) {
        enum step step = words ? SLOW : call_configured(self, args, given, &result);
        return step == SLOW ? call_method(self, args, nargsf, names) : result;
    }
    PyObject *run = common_run(kernel, args, given, words);
    if (!run) return slowly() == FAILED ? NULL : call_method(self, args, nargsf, names);
    result = PyObject_Vectorcall(run, args, (size_t)given, NULL);
    Py_DECREF(run);
    return result;
}

/* ---- the type ---- */

static PyObject *called_new(PyTypeObject *type, PyObject *args, PyObject *words) {
    (void)args, (void)words; /* the class's own `__init__` reads them */
    int64_t kind;
    if (!take_integer(PyObject_GetAttr((PyObject *)type, str_call_kind), &kind)) return NULL;
    Called *made = (Called *)type->tp_alloc(type, 0);
    if (!made) return NULL;
    made->vectorcall = call_kernel;
    made->kind = kind;
    return (PyObject *)made;
}

static void called_dealloc(PyObject *self) {
    PyTypeObject *type = Py_TYPE(self);
    type->tp_free(self);
    Py_DECREF(type);
}

static PyType_Slot called_slots[] = {
    {Py_tp_new, called_new},
    {Py_tp_call, PyVectorcall_Call},
    {Py_tp_dealloc, called_dealloc},
    {Py_tp_members, vectorcall_members},
    {0, NULL},
};

/* call_by_kind(type): let calls of a class's objects be by their kind, which calls its `__call__` for what is not
 * common. A subclass with a `__call__` of its own has its calls as ever. */
static PyObject *call_by_kind(PyObject *module, PyObject *type) {
    (void)module;
    if (!PyType_Check(type) || !PyType_IsSubtype((PyTypeObject *)type, called_type)) {
        PyErr_SetString(PyExc_TypeError, "no subclass of 'Called'");
        return NULL;
    }
    /* Python leaves the flag out where a class in Python has `__call__`, which might say another thing. */
    ((PyTypeObject *)type)->tp_flags |= Py_TPFLAGS_HAVE_VECTORCALL;
    PyType_Modified((PyTypeObject *)type);
    Py_RETURN_NONE;
}

/* call_methods(whether): let all calls of all kernels be those of their methods, or no longer. */
static PyObject *call_methods(PyObject *module, PyObject *whether) {
    (void)module;
    __atomic_store_n(&are_by_methods, whether == Py_True, __ATOMIC_RELEASE);
    Py_RETURN_NONE;
}

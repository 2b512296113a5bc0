/* Calls of kernels' objects: the common ones go to a launcher, without a tuple of arguments and without a
 * frame of Python's. A part of _launcher.c.
 *
 * `Called` is the base of a kernel's class, which has its method `__call__` as any other. What is common is
 * called as that method would; for all else it is called.
 */

enum call_kind { BY_COUNT, REDUCES, ON_GRID, CONFIGURED, SHORTCUT, CALL_KINDS };

typedef struct {
    PyObject_HEAD
    vectorcallfunc vectorcall;
} Called;

static PyTypeObject *called_type;
static int are_by_methods; /* whether all calls are those of the methods */

#define KNOWN_SLOTS 8

/* Python before 3.12 keeps its flag for these calls where a program sets another `__call__` of a class: the method that
 * the class had is compared. */
static int has_own_method(PyTypeObject *type) {
#if PY_VERSION_HEX < 0x030C0000
    static unsigned known[KNOWN_SLOTS]; /* versions of classes that have it: they change with the classes */
    unsigned version = type->tp_version_tag;
    if (version && known[version % KNOWN_SLOTS] == version) return 1;
    if (_PyType_Lookup(type, str_call) != _PyType_Lookup(type, str_common_call)) return 0;
    known[type->tp_version_tag % KNOWN_SLOTS] = type->tp_version_tag;
    return 1;
#else
    return type != NULL;
#endif
}

/* ---- attributes ---- */

#define NO_SLOT (-1)

/* Where objects of a class have a slot, by the version of the class: it changes with the class, and is no other
 * class's. */
struct slot {
    unsigned version;
    Py_ssize_t offset;
};

#ifndef Py_GIL_DISABLED
static void find_slot(PyTypeObject *type, PyObject *name, struct slot *slot) {
    Py_ssize_t offset = NO_SLOT;
    PyObject *found = PyObject_GetAttr((PyObject *)type, name);
    if (found && Py_IS_TYPE(found, &PyMemberDescr_Type) && type->tp_getattro == PyObject_GenericGetAttr) {
        const PyMemberDescrObject *member = (const PyMemberDescrObject *)found;
        if (member->d_member->type == T_OBJECT_EX && PyType_IsSubtype(type, PyDescr_TYPE(member)))
            offset = member->d_member->offset;
    }
    if (!found) PyErr_Clear();
    Py_XDECREF(found);
    slot->version = type->tp_version_tag;
    slot->offset = offset;
}
#endif

/* An attribute, which is read from its slot where its class has one. Without a lock of the interpreter another
 * thread may set it meanwhile: it is asked for then. */
static PyObject *attribute(PyObject *object, PyObject *name, struct slot *slots) {
#ifndef Py_GIL_DISABLED
    PyTypeObject *type = Py_TYPE(object);
    struct slot *slot = &slots[type->tp_version_tag % KNOWN_SLOTS];
    if (!type->tp_version_tag || slot->version != type->tp_version_tag) {
        struct slot found;
        find_slot(type, name, &found);
        slot = &slots[found.version % KNOWN_SLOTS];
        *slot = found;
    }
    if (slot->version && slot->offset != NO_SLOT) {
        PyObject *value = FIELD(PyObject *, object, slot->offset);
        if (value) return Py_NewRef(value);
    }
#else
    (void)slots;
#endif
    return PyObject_GetAttr(object, name);
}

#define ATTRIBUTE(object, name)                                                                          \
    ({                                                                                                   \
        static struct slot known_slots[KNOWN_SLOTS];                                                     \
        attribute(object, name, known_slots);                                                            \
    })

/* ---- kinds of calls ---- */

/* Whether `out` is the only keyword. */
static int is_out(PyObject *names) {
    return PyTuple_GET_SIZE(names) == 1 && PyUnicode_Compare(PyTuple_GET_ITEM(names, 0), str_out) == 0;
}

/* A kernel whose launchers are in a list by the number of arguments. */
static enum step call_by_count(enum call_kind kind, PyObject *kernel, PyObject *const *args, Py_ssize_t count,
                               PyObject *names, PyObject **result) {
    PyObject *runs;
    Py_ssize_t given = count;
    if (names) {
        PyObject *out = args[count];
        if (kind != REDUCES || !is_out(names) || out == Py_None || PyTuple_Check(out) ||
            PyList_Check(out))
            return SLOW;
        ++given;
    }
    runs = ATTRIBUTE(kernel, str_inline_cache);
    if (!runs) return slowly();
    Py_ssize_t most = PyList_CheckExact(runs) ? PyList_GET_SIZE(runs) - 1 : -1;
    int is_known = given <= most;
    if (is_known && kind == REDUCES && (names || given != most)) {
        int64_t inputs = -1;
        PyObject *number = PyObject_GetAttr(kernel, str_nin);
        if (number) inputs = PyLong_AsLongLong(number);
        Py_XDECREF(number);
        is_known = inputs == count && (!names || most == inputs + 1);
    }
    PyObject *run = is_known ? PyList_GetItemRef(runs, given) : NULL;
    Py_DECREF(runs);
    if (!run) return slowly();
    *result = PyObject_Vectorcall(run, args, (size_t)given, NULL);
    Py_DECREF(run);
    return *result ? GO : FAILED;
}

/* A kernel that is called with a grid, a block and a tuple of arguments. */
static enum step call_on_grid(PyObject *kernel, PyObject *const *args, Py_ssize_t count, PyObject *names, PyObject **result) {
    if (names || count != 3) return SLOW;
    PyObject *dispatcher = ATTRIBUTE(kernel, str_dispatcher);
    PyObject *run = dispatcher ? ATTRIBUTE(dispatcher, str_recent) : NULL;
    Py_XDECREF(dispatcher);
    if (!run) return slowly();
    *result = PyObject_Vectorcall(run, args, 3, NULL);
    Py_DECREF(run);
    return *result ? GO : FAILED;
}

/* A kernel in Python with a grid and a block: it has a tuple of its dispatcher, the number of arguments, the
 * grid, the block, the shared memory and the stream. */
static enum step call_configured(PyObject *own, PyObject *const *args, Py_ssize_t count, PyObject *names,
                                 PyObject **result) {
    if (names) return SLOW;
    PyObject *launch = ATTRIBUTE(own, str_launch), *run = NULL;
    if (!launch) return slowly();
    PyObject *const *items = PyTuple_Check(launch) ? &PyTuple_GET_ITEM(launch, 0) : NULL;
    if (items && PyTuple_GET_SIZE(launch) == 6 && PyLong_AsSsize_t(items[1]) == count)
        run = ATTRIBUTE(items[0], str_recent);
    if (run) {
        struct grid_call g = {{items[2], items[3], items[4]}, items[5], args, count, NULL};
        Launcher *l = Py_IS_TYPE(run, launcher_type) ? (Launcher *)run : NULL;
        *result = l && l->kept && l->is_grid ? launch_grid(l, &g) : call_with_grid(run, &g);
        Py_DECREF(run);
    }
    Py_DECREF(launch);
    return !run ? slowly() : *result ? GO : FAILED;
}

/* Whether something is a shortcut for as many arguments; defaults may be missing. */
static int takes_so_many(PyObject *run, Py_ssize_t count);

/* A function of elements, which has a shortcut for its last kinds of arguments. */
static enum step call_function(PyObject *kernel, PyObject *const *args, Py_ssize_t count, PyObject *names, PyObject **result) {
    if (names && (!is_out(names) || args[count] == Py_None || PyTuple_CheckExact(args[count]))) return SLOW;
    Py_ssize_t given = count + (names != NULL);
    PyObject *run = names ? ATTRIBUTE(kernel, str_shortcut_out) : ATTRIBUTE(kernel, str_shortcut);
    if (!run) return slowly();
    if (!takes_so_many(run, given)) {
        Py_DECREF(run);
        return SLOW;
    }
    *result = PyObject_Vectorcall(run, args, (size_t)given, NULL);
    Py_DECREF(run);
    return *result ? GO : FAILED;
}

/* Calls the class's method. */
static PyObject *call_method(PyObject *kernel, PyObject *const *args, size_t nargsf, PyObject *names) {
    PyObject *method = PyObject_GetAttr((PyObject *)Py_TYPE(kernel), str_call);
    if (!method) return NULL;
    Py_ssize_t count = PyVectorcall_NARGS(nargsf), words = names ? PyTuple_GET_SIZE(names) : 0;
    PyObject **all = PyMem_Malloc(sizeof *all * (size_t)(count + words + 1));
    PyObject *result = NULL;
    if (all) {
        all[0] = kernel;
        memcpy(all + 1, args, sizeof *all * (size_t)(count + words));
        result = PyObject_Vectorcall(method, all, (size_t)count + 1, names);
        PyMem_Free(all);
    } else {
        PyErr_NoMemory();
    }
    Py_DECREF(method);
    return result;
}

static PyObject *call_kernel(enum call_kind kind, PyObject *kernel, PyObject *const *args, size_t nargsf,
                             PyObject *names) {
    Py_ssize_t count = PyVectorcall_NARGS(nargsf);
    PyObject *result = NULL, *words = names && PyTuple_GET_SIZE(names) ? names : NULL;
    enum step step = SLOW;
    if (!__atomic_load_n(&are_by_methods, __ATOMIC_ACQUIRE) && has_own_method(Py_TYPE(kernel))) {
        switch (kind) {
        case ON_GRID: step = call_on_grid(kernel, args, count, words, &result); break;
        case CONFIGURED: step = call_configured(kernel, args, count, words, &result); break;
        case SHORTCUT: step = call_function(kernel, args, count, words, &result); break;
        default: step = call_by_count(kind, kernel, args, count, words, &result);
        }
    }
    if (step == GO || step == FAILED) return result;
    return call_method(kernel, args, nargsf, names);
}

#define CALL_AS(name, kind)                                                                              \
    static PyObject *name(PyObject *kernel, PyObject *const *args, size_t nargsf, PyObject *names) {     \
        return call_kernel(kind, kernel, args, nargsf, names);                                           \
    }
CALL_AS(vectorcall_by_count, BY_COUNT)
CALL_AS(vectorcall_reduces, REDUCES)
CALL_AS(vectorcall_on_grid, ON_GRID)
CALL_AS(vectorcall_configured, CONFIGURED)
CALL_AS(vectorcall_shortcut, SHORTCUT)
#undef CALL_AS

static const vectorcallfunc calls[CALL_KINDS] = {
    vectorcall_by_count, vectorcall_reduces, vectorcall_on_grid, vectorcall_configured, vectorcall_shortcut,
};

/* ---- the type ---- */

static PyObject *called_new(PyTypeObject *type, PyObject *args, PyObject *words) {
    (void)args, (void)words; /* the class's own `__init__` reads them */
    PyObject *number = PyObject_GetAttr((PyObject *)type, str_call_kind);
    if (!number) return NULL;
    long kind = PyLong_AsLong(number);
    Py_DECREF(number);
    if (kind < 0 || kind >= CALL_KINDS) {
        if (!PyErr_Occurred()) PyErr_SetString(PyExc_ValueError, "no such kind of calls");
        return NULL;
    }
    Called *made = (Called *)type->tp_alloc(type, 0);
    if (made) made->vectorcall = calls[kind];
    return (PyObject *)made;
}

static void called_dealloc(PyObject *self) {
    PyTypeObject *type = Py_TYPE(self);
    type->tp_free(self);
    Py_DECREF(type);
}

PyDoc_STRVAR(called_doc, "The base of kernels' classes; `kerneltk.launch.called` has it.");

static PyType_Slot called_slots[] = {
    {Py_tp_doc, (void *)called_doc},
    {Py_tp_new, called_new},
    {Py_tp_call, PyVectorcall_Call},
    {Py_tp_dealloc, called_dealloc},
    {Py_tp_members, vectorcall_members},
    {0, NULL},
};

static PyType_Spec called_spec = {
    "kerneltk.launch._launcher.Called", sizeof(Called), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_IMMUTABLETYPE,
    called_slots,
};

PyDoc_STRVAR(call_by_kind_doc,
             "call_by_kind(type)\n--\n\nLet calls of a class's objects be by their kind, which calls its "
             "`__call__` for what is not common. A subclass with a `__call__` of its own has its calls as "
             "ever.");

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

PyDoc_STRVAR(call_methods_doc, "call_methods(whether)\n--\n\nLet all calls of all kernels be those of their methods, or no longer.");

static PyObject *call_methods(PyObject *module, PyObject *whether) {
    (void)module;
    int is_true = PyObject_IsTrue(whether);
    if (is_true < 0) return NULL;
    __atomic_store_n(&are_by_methods, is_true, __ATOMIC_RELEASE);
    Py_RETURN_NONE;
}

/* Views of a program's arrays, and arrays of other libraries: launchers read them without an object of the backend's
 * library, which takes CuPy 5 µs. A part of _launcher.c.
 *
 * They are values of launchers and programs only. What is no launcher gets an array, which is made then.
 */

struct importer;

/* What makes a view of arrays that lie alike; `kerneltk.launch.shortcuts.Viewing` describes it. */
typedef struct {
    PyObject_HEAD
    PyObject *kept; /* what is not counted below belongs to it */
    PyObject *make, *kind; /* the library's own function of an array; the arrays' type */
    struct layout layout;
    int is_in_order;
    Py_ssize_t whole_ndim, ndim;
    long long offset; /* bytes */
    const int64_t *numbers; /* shape and strides (bytes) of the whole, then of the view */
} Viewing;

typedef struct {
    PyObject_HEAD
    PyObject *of, *whole; /* a Viewing, and an array or a View; of other libraries', what keeps it, and the array */
    PyObject *made;       /* the backend's own array, or NULL */
    PyObject *kind;       /* the type of that */
    const struct importer *importer; /* of other libraries', or NULL */
    int64_t *numbers;                /* theirs: shape and strides */
    struct array array;              /* has a reference to its dtype */
} View;

static PyTypeObject *viewing_type, *view_type;
static PyObject *take_import(const View *view);
static void *current_context(const struct importer *i);
static void restore_context(const struct importer *i, void *before);

static int is_view(const PyObject *value) { return Py_IS_TYPE(value, view_type); }

/* The library's array for a view; all else as it is: a new reference. */
static PyObject *as_array(PyObject *value) {
    if (!is_view(value)) return Py_NewRef(value);
    View *view = (View *)value;
    if (!view->made && view->importer) {
        view->made = take_import(view);
    } else if (!view->made) {
        PyObject *whole = as_array(view->whole);
        view->made = whole ? PyObject_CallOneArg(((Viewing *)view->of)->make, whole) : NULL;
        Py_XDECREF(whole);
    }
    return Py_XNewRef(view->made);
}

/* Arguments as arrays alone. */
static PyObject *given_tuple(PyObject *const *args, Py_ssize_t count) {
    PyObject *tuple = PyTuple_New(count);
    for (Py_ssize_t k = 0; tuple && k < count; ++k) {
        PyObject *array = as_array(args[k]);
        if (array)
            PyTuple_SET_ITEM(tuple, k, array);
        else
            Py_CLEAR(tuple);
    }
    return tuple;
}

/* Calls a function that takes arrays alone. */
static PyObject *call_with_arrays(PyObject *function, PyObject *const *args, Py_ssize_t count) {
    PyObject *arrays = given_tuple(args, count), *result = arrays ? PyObject_Call(function, arrays, NULL) : NULL;
    Py_XDECREF(arrays);
    return result;
}

/* A view of an array, or the library's where the array lies otherwise than those that are known. */
static PyObject *make_view(Viewing *of, PyObject *whole) {
    struct array array = {.object = whole};
    size_t size = sizeof(int64_t) * (size_t)of->whole_ndim;
    int is_known = is_view(whole) ? ((View *)whole)->kind == of->kind : (PyObject *)Py_TYPE(whole) == of->kind;
    if (is_known && is_view(whole))
        array = ((View *)whole)->array;
    else if (is_known)
        is_known = read_own(&of->layout, whole, &array);
    if (is_known && array.ndim == of->whole_ndim && !memcmp(array.shape, of->numbers, size) &&
        !memcmp(array.strides, of->numbers + of->whole_ndim, size)) {
        View *made = (View *)view_type->tp_alloc(view_type, 0);
        if (!made) return NULL;
        made->of = Py_NewRef((PyObject *)of);
        made->whole = Py_NewRef(whole);
        made->kind = of->kind;
        array.dtype = Py_NewRef(array.dtype);
        array.address += (uintptr_t)of->offset;
        array.shape = of->numbers + 2 * of->whole_ndim;
        array.strides = array.shape + of->ndim;
        array.ndim = (int)of->ndim;
        array.is_in_order = of->is_in_order;
        made->array = array;
        return (PyObject *)made;
    }
    PyObject *own = as_array(whole), *made = own ? PyObject_CallOneArg(of->make, own) : NULL;
    Py_XDECREF(own);
    return made;
}

static void view_dealloc(View *view) {
    PyTypeObject *type = Py_TYPE(view);
    void *before = current_context(view->importer);
    Py_XDECREF(view->of);
    Py_XDECREF(view->whole);
    Py_XDECREF(view->made);
    Py_XDECREF(view->array.dtype);
    restore_context(view->importer, before);
    PyMem_Free(view->numbers);
    type->tp_free(view);
    Py_DECREF(type);
}

static int read_layout(PyObject *given, struct layout *layout) {
    return given == Py_None ||
           PyArg_ParseTuple(given, "OOnnnnnn", &layout->kind, &layout->memory_kind, &layout->dtype, &layout->shape,
                            &layout->strides, &layout->memory, &layout->address, &layout->contiguous);
}

/* Viewing(make, kind, layout, offset, is_in_order, whole_ndim, ndim, numbers) */
static PyObject *viewing_new(PyTypeObject *type, PyObject *args, PyObject *words) {
    PyObject *layout;
    Viewing *of = (Viewing *)type->tp_alloc(type, 0);
    (void)words;
    if (!of) return NULL;
    of->kept = Py_NewRef(args);
    int done = PyArg_ParseTuple(args, "OOOLpnnO&", &of->make, &of->kind, &layout, &of->offset, &of->is_in_order,
                                &of->whole_ndim, &of->ndim, to_items, &of->numbers) &&
               read_layout(layout, &of->layout);
    if (!done) Py_CLEAR(of);
    return (PyObject *)of;
}

static void viewing_dealloc(Viewing *of) {
    PyTypeObject *type = Py_TYPE(of);
    Py_XDECREF(of->kept);
    type->tp_free(of);
    Py_DECREF(type);
}

static PyType_Slot viewing_slots[] = {{Py_tp_new, viewing_new}, {Py_tp_dealloc, viewing_dealloc}, {0, NULL}};
static PyType_Slot view_slots[] = {{Py_tp_dealloc, view_dealloc}, {0, NULL}};

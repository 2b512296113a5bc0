/* Reads arrays of libraries without an exchange table by what they say of themselves, once a call: by
 * `__cuda_array_interface__`, or by the capsule of `__dlpack__`. A part of _launcher.c.
 *
 * `kerneltk.interop.exchange.Importer` describes them. What is unusual is left to Python before anything has happened:
 * its import has the rules and the messages.
 */

#define MOST_IMPORTERS 8
enum { MEMORY_TYPE = 2, DEVICE_ORDINAL = 9, DEVICE_MEMORY = 2 }; /* of cuPointerGetAttribute */

struct importer {
    PyTypeObject *kind;
    PyObject *own_kind; /* the type of the backend's arrays that stand for them */
    int device_type;    /* DLPack's; 0: what has the interface */
    PyObject *take, *convert, *keep; /* see `Importer`; the last may be NULL */
    PyObject *dtypes;                /* by the interface's names */
    struct library library;          /* its dtypes alone */
    intptr_t (*stream_function)(void);
    int (*pointer_attribute)(void *found, int attribute, uintptr_t address);
    PyObject *current_device; /* NULL: there is one */
    int (*read_context)(void **context), (*make_current)(void *context); /* NULL then */
};

/* They are never forgotten: the count is written last. */
static struct importer importers[MOST_IMPORTERS];
static int importer_count;

/* That of a type for a type of own arrays; NULL are NumPy's. */
static const struct importer *importer_of(PyTypeObject *kind, PyObject *own_kind) {
    int count = __atomic_load_n(&importer_count, __ATOMIC_ACQUIRE);
    for (int k = 0; k < count; ++k)
        if (importers[k].kind == kind &&
            (own_kind ? importers[k].own_kind == own_kind : importers[k].device_type == DL_CPU))
            return &importers[k];
    return NULL;
}

/* What a library does may make another device current: the context before it, and that made current again. */
static void *current_context(const struct importer *i) {
    void *context = NULL;
    if (i && i->read_context) i->read_context(&context);
    return context;
}

static void restore_context(const struct importer *i, void *before) {
    if (current_context(i) != before) i->make_current(before);
}

/* The backend's own array for one of another library's. */
static PyObject *take_import(const View *view) {
    void *before = current_context(view->importer);
    PyObject *taken = PyObject_CallOneArg(view->importer->take, view->whole);
    restore_context(view->importer, before);
    return taken;
}

static int is_imported(const PyObject *value) { return is_view(value) && ((const View *)value)->importer; }

/* Room for extents and strides; 0 where there is none. */
static int make_room(View *view, int count) {
    view->numbers = PyMem_Calloc(2 * (size_t)count + 1, sizeof *view->numbers);
    view->array.ndim = count;
    view->array.shape = view->numbers;
    view->array.strides = view->numbers + count;
    return view->numbers != NULL;
}

/* Stores extents, and strides in bytes, which may be None; 0 where they are others than a protocol's. */
static int read_extents_of(View *view, PyObject *shape, PyObject *strides) {
    if (!PyTuple_CheckExact(shape) || PyTuple_GET_SIZE(shape) > MOST_LEAVES) return 0;
    int count = (int)PyTuple_GET_SIZE(shape);
    if (strides && strides != Py_None && (!PyTuple_CheckExact(strides) || PyTuple_GET_SIZE(strides) != count)) return 0;
    if (!make_room(view, count)) return 0;
    int64_t step = view->array.item, *numbers = view->numbers;
    for (int k = count - 1; k >= 0; --k) {
        numbers[k] = PyLong_AsLongLong(PyTuple_GET_ITEM(shape, k));
        numbers[count + k] = !strides || strides == Py_None ? step : PyLong_AsLongLong(PyTuple_GET_ITEM(strides, k));
        if (numbers[k] < 0 || __builtin_mul_overflow(step, numbers[k], &step)) return 0;
    }
    return !PyErr_Occurred();
}

static int read_interface(const struct importer *i, View *view) {
    PyObject *interface = view->of = PyObject_GetAttr(view->whole, str_cuda_interface);
    if (!interface || !PyDict_CheckExact(interface)) return 0;
    PyObject *data = PyDict_GetItem(interface, str_data), *name = PyDict_GetItem(interface, str_typestr);
    PyObject *shape = PyDict_GetItem(interface, str_shape), *mask = PyDict_GetItem(interface, str_mask);
    PyObject *stream = PyDict_GetItem(interface, str_stream), *size;
    int64_t handle = 0;
    if (!data || !name || !shape || !PyTuple_CheckExact(data) || PyTuple_GET_SIZE(data) != 2) return 0;
    if (mask && mask != Py_None) return 0;
    if (stream && stream != Py_None) handle = PyLong_AsLongLong(stream);
    if (handle < 0 || handle > LEGACY_STREAM) return 0;
    view->array.dtype = PyObject_GetItem(i->dtypes, name);
    size = view->array.dtype ? PyObject_GetAttr(view->array.dtype, str_itemsize) : NULL;
    if (!take_integer(size, &view->array.item)) return 0;
    int is_read_only = PyObject_IsTrue(PyTuple_GET_ITEM(data, 1));
    view->array.is_writable = !is_read_only;
    view->array.address = (uintptr_t)PyLong_AsUnsignedLongLong(PyTuple_GET_ITEM(data, 0));
    if (PyErr_Occurred() || !read_extents_of(view, shape, PyDict_GetItem(interface, str_strides))) return 0;
    unsigned type = 0, device = 0;
    if (!bytes_of(&view->array)) return 1;
    if (i->pointer_attribute(&type, MEMORY_TYPE, view->array.address) || type != DEVICE_MEMORY) return 0;
    if (i->pointer_attribute(&device, DEVICE_ORDINAL, view->array.address)) return 0;
    view->array.device = (int)device;
    return 1;
}

struct dl_versioned {
    uint32_t major, minor;
    void *context, *deleter;
    uint64_t flags;
    struct dl_tensor tensor;
};

static int read_capsule(const struct importer *i, View *view) {
    PyObject *given[] = {NULL, view->whole, i->device_type == DL_CPU ? Py_None : number_one, dl_version};
    PyObject *capsule = PyObject_VectorcallMethod(str_dlpack, given + 1, 1 | PY_VECTORCALL_ARGUMENTS_OFFSET, dl_words);
    const struct dl_tensor *tensor;
    view->of = capsule;
    if (capsule && PyCapsule_IsValid(capsule, "dltensor_versioned"))
        tensor = &((const struct dl_versioned *)PyCapsule_GetPointer(capsule, "dltensor_versioned"))->tensor;
    else if (!capsule || !(tensor = PyCapsule_GetPointer(capsule, "dltensor")))
        return 0;
    if (tensor->device_type != i->device_type || tensor->ndim > MOST_LEAVES) return 0;
    PyObject *dtype = dtype_for(&i->library, tensor);
    if (!dtype || dtype == Py_None) return 0;
    set_tensor(&view->array, tensor);
    if (!make_room(view, tensor->ndim)) return 0;
    int64_t step = 1, *numbers = view->numbers;
    view->array.dtype = Py_NewRef(dtype);
    view->array.unit = 1;
    view->array.is_writable = 0;
    for (int k = tensor->ndim - 1; k >= 0; --k) {
        numbers[k] = tensor->shape[k];
        numbers[tensor->ndim + k] = (tensor->strides ? tensor->strides[k] : step) * view->array.item;
        step *= numbers[k];
    }
    return 1;
}

/* An array of another library as a view: a new reference. NULL for what Python takes, or with an exception that it
 * cannot raise. A library's work is queued on the default stream, or ordered with that: it has to be the current one. */
static PyObject *import_view(const struct importer *i, PyObject *value) {
    intptr_t stream = i->stream_function ? i->stream_function() : 0;
    View *view = NULL;
    if (stream >= 0 && stream <= LEGACY_STREAM) view = (View *)view_type->tp_alloc(view_type, 0);
    if (!view) {
        missed();
        return NULL;
    }
    view->importer = i;
    view->kind = i->own_kind;
    view->whole = Py_NewRef(value);
    view->array.is_foreign = view->array.unit = 1;
    int64_t device = 0;
    void *before = current_context(i);
    int done = i->device_type ? read_capsule(i, view) : read_interface(i, view);
    restore_context(i, before);
    if (done && i->current_device)
        done = take_integer(PyObject_CallNoArgs(i->current_device), &device) && device == view->array.device;
    if (done && !view->array.address && bytes_of(&view->array)) done = 0;
    if (done) {
        view->array.is_in_order = is_contiguous(&view->array, 0);
        return (PyObject *)view;
    }
    Py_DECREF(view);
    missed();
    return NULL;
}

/* A call's result as its caller's kind of array: what was given as it was given. Takes the result, and returns a new
 * reference. `given` are the call's arguments, or views of them. */
static PyObject *given_back(const struct importer *i, PyObject *result, PyObject *const *given, Py_ssize_t count) {
    PyObject *back = NULL;
    if (!result) return NULL;
    if (is_imported(result)) {
        back = Py_NewRef(((View *)result)->whole);
    } else if (PyTuple_CheckExact(result)) {
        back = PyTuple_New(PyTuple_GET_SIZE(result));
        for (Py_ssize_t k = 0; back && k < PyTuple_GET_SIZE(result); ++k) {
            PyObject *item = given_back(i, Py_NewRef(PyTuple_GET_ITEM(result, k)), given, count);
            if (item)
                PyTuple_SET_ITEM(back, k, item);
            else
                Py_CLEAR(back);
        }
    } else if ((PyObject *)Py_TYPE(result) != i->own_kind) {
        return result;
    } else {
        for (Py_ssize_t k = 0; !back && k < count; ++k) {
            if (given[k] == result) return result;
            if (is_imported(given[k]) && ((View *)given[k])->made == result) back = Py_NewRef(((View *)given[k])->whole);
        }
        void *before = current_context(i);
        if (!back) back = PyObject_CallOneArg(i->convert, result);
        restore_context(i, before);
    }
    Py_DECREF(result);
    return back;
}

/* Ends a call whose result is given: the imported arrays among values are kept until the work on them is done, and what
 * is returned is as given_back has it. */
static PyObject *finish_imports(const struct importer *i, PyObject *result, PyObject *const *given, Py_ssize_t count,
                                PyObject *const *values, Py_ssize_t value_count) {
    PyObject *held = i->keep ? PyList_New(0) : NULL;
    for (Py_ssize_t k = 0; held && k < value_count; ++k)
        if (values[k] && is_imported(values[k]) && PyList_Append(held, ((View *)values[k])->of)) Py_CLEAR(held);
    if (i->keep && !call_with_list(i->keep, held)) Py_CLEAR(result);
    return given_back(i, result, given, count);
}

/* add_importer(kind, own_kind, device_type, take, convert, keep, dtypes, dtype_of, stream, attribute, current_device,
 * read_context, make_current): take arrays of a type; see `kerneltk.interop.exchange`. */
static PyObject *add_importer(PyObject *module, PyObject *args) {
    struct importer new = {0};
    (void)module;
    if (!PyArg_ParseTuple(args, "OOiOOO&OOO&O&O&O&O&", &new.kind, &new.own_kind, &new.device_type, &new.take, &new.convert,
                          or_null, &new.keep, &new.dtypes, &new.library.dtype_of, to_function, &new.stream_function,
                          to_function, &new.pointer_attribute, or_null, &new.current_device, to_function,
                          &new.read_context, to_function, &new.make_current))
        return NULL;
    if (importer_count == MOST_IMPORTERS || (!new.device_type && !new.pointer_attribute)) Py_RETURN_FALSE;
    Py_INCREF(args);
    importers[importer_count] = new;
    __atomic_store_n(&importer_count, importer_count + 1, __ATOMIC_RELEASE);
    Py_RETURN_TRUE;
}

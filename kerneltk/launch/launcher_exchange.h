/* Reads arrays of other libraries by DLPack's C exchange table. A part of _launcher.c.
 *
 * A library that has the table says by it where an array lies and on which stream its work is queued,
 * in less time than one attribute takes. What the table does not say (lazy views, freed storage,
 * gradients) is read of memory where that is known, or asked of the library's own functions, which
 * `kerneltk.interop.exchange` has.
 */

/* ---- DLPack ---- */

struct dl_tensor {
    void *data;
    int32_t device_type, device_id, ndim;
    uint8_t code, bits;
    uint16_t lanes;
    int64_t *shape, *strides; /* in elements */
    uint64_t byte_offset;
};

struct dl_table {
    uint32_t major, minor;
    const struct dl_table *older;
    void *allocate, *take, *give;
    int (*read)(void *object, struct dl_tensor *tensor);
    int (*current_stream)(int device_type, int32_t device, void **stream);
};

enum { DL_CPU = 1, DL_MAJOR = 1, DL_FLOAT = 2, DL_COMPLEX = 5, DL_CODES = 32, DL_SIZES = 5 };

/* ---- libraries ---- */

#define MOST_LIBRARIES 4
#define MOST_KINDS 4

struct library {
    PyTypeObject *kinds[MOST_KINDS];
    int kind_count;
    const struct dl_table *table;
    PyObject *dtypes[DL_CODES][DL_SIZES]; /* by code and the logarithm of the size; None: there is none */
    PyObject *dtype_of, *is_lazy, *storage, *offset, *requires_grad, *may_write, *note_writes, *maker;
    PyObject *is_intercepted;
    int has_layout;
    Py_ssize_t at_implementation, at_storage, at_size, at_first, at_keys; /* offsets in bytes */
    uint64_t lazy_keys;
};

/* They are never forgotten: `library_count` is written last. */
static struct library libraries[MOST_LIBRARIES];
static int library_count;

static const struct library *library_of(PyTypeObject *kind) {
    int count = __atomic_load_n(&library_count, __ATOMIC_ACQUIRE);
    for (int k = 0; k < count; ++k)
        for (int j = 0; j < libraries[k].kind_count; ++j)
            if (libraries[k].kinds[j] == kind) return &libraries[k];
    return NULL;
}

/* The dtype of NumPy's for DLPack's, or None: a borrowed reference that lasts; NULL with an exception. */
static PyObject *dtype_for(const struct library *library, const struct dl_tensor *tensor) {
    int bytes = tensor->bits / 8, size = 0;
    while (1 << size < bytes) ++size;
    if (tensor->lanes != 1 || tensor->bits != 8 << size || tensor->code >= DL_CODES || size >= DL_SIZES)
        return Py_None;
    PyObject **at = (PyObject **)&library->dtypes[tensor->code][size];
    PyObject *known = __atomic_load_n(at, __ATOMIC_ACQUIRE);
    if (known) return known;
    PyObject *found = PyObject_CallFunction(library->dtype_of, "ii", tensor->code, tensor->bits);
    if (!found) return NULL;
    if (__atomic_compare_exchange_n(at, &known, found, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) return found;
    Py_DECREF(found); /* another thread's */
    return known;
}

/* What a tensor says of where an array lies, with its strides in elements. */
static void set_tensor(struct array *array, const struct dl_tensor *tensor) {
    array->address = (uintptr_t)tensor->data + tensor->byte_offset;
    array->shape = tensor->shape;
    array->strides = tensor->strides;
    array->ndim = tensor->ndim;
    array->device = tensor->device_id;
    array->item = array->unit = tensor->bits / 8;
    array->is_writable = 1;
}

/* Whether an array's memory holds other numbers than its elements; -1 with an exception. */
static int is_lazy(const struct library *library, PyObject *object, int code) {
    if (library->has_layout) {
        const void *implementation = FIELD(const void *, object, library->at_implementation);
        return (FIELD(uint64_t, implementation, library->at_keys) & library->lazy_keys) != 0;
    }
    if (code != DL_FLOAT && code != DL_COMPLEX) return 0;
    for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(library->is_lazy); ++k) {
        int result = is_true(PyTuple_GET_ITEM(library->is_lazy, k), object);
        if (result) return result;
    }
    return 0;
}

/* Whether the storage of an array ends before its elements do, as it does where it was freed; -1 with
 * an exception. */
static int is_beyond(const struct library *library, const struct array *array) {
    if (library->storage == Py_None) return 0;
    int64_t last = 0, owned, first;
    for (int k = 0; k < array->ndim; ++k) {
        if (!array->shape[k]) return 0;
        last += array->strides[k] > 0 ? (array->shape[k] - 1) * array->strides[k] : 0;
    }
    if (library->has_layout) {
        const void *implementation = FIELD(const void *, array->object, library->at_implementation);
        owned = FIELD(int64_t, FIELD(const void *, implementation, library->at_storage), library->at_size);
        first = FIELD(int64_t, implementation, library->at_first);
        return (first + last + 1) * array->unit > owned;
    }
    PyObject *storage = PyObject_CallOneArg(library->storage, array->object);
    if (!storage) return -1;
    int done = take_integer(PyObject_CallMethodNoArgs(storage, str_nbytes), &owned);
    Py_DECREF(storage);
    if (!done || !call_for_integer(library->offset, array->object, &first)) return -1;
    return (first + last + 1) * array->unit > owned;
}

/* Whether a kernel may write to an array; -1 with an exception. */
static int may_write(const struct library *library, PyObject *object) {
    int is_required = take_truth(PyObject_GetAttr(object, library->requires_grad));
    return is_required > 0 ? is_true(library->may_write, object) : is_required < 0 ? -1 : 1;
}

/* ---- arrays ---- */

/* Whether the elements lie in the order of C (or Fortran), without gaps. */
static int is_contiguous(const struct array *array, int is_fortran) {
    int64_t step = array->item / array->unit;
    for (int k = 0; k < array->ndim; ++k)
        if (!array->shape[k]) return 1;
    for (int k = 0; k < array->ndim; ++k) {
        int axis = is_fortran ? k : array->ndim - 1 - k;
        if (array->shape[axis] != 1 && array->strides[axis] != step) return 0;
        step *= array->shape[axis];
    }
    return 1;
}

static int64_t bytes_of(const struct array *array) {
    int64_t bytes = array->item;
    for (int k = 0; k < array->ndim; ++k) bytes *= array->shape[k];
    return bytes;
}

/* What a library's function raised is said by the launch in Python, which asks the library again. What
 * is no error of it, as an interrupt, leaves this one, too. */
static __attribute__((cold)) enum step missed(void) {
    if (PyErr_Occurred() && !PyErr_ExceptionMatches(PyExc_Exception)) return FAILED;
    PyErr_Clear();
    return MISSED;
}

/* Whether a kernel may write to all outputs of the call's library. This is asked before any array is read:
 * what runs in Python lets other threads change the shapes and memory of tensors. */
static enum step check_writes(Launcher *l, const struct call *c) {
    for (int k = 0; k < l->leaf_count; ++k) {
        const struct leaf *leaf = &l->leaves[k];
        if (leaf->marshal != ADDRESS || !leaf->is_given || !leaf->is_written) continue;
        if ((PyObject *)Py_TYPE(c->values[k]) == leaf->type) continue;
        if (may_write(c->library, c->values[k]) <= 0) return missed();
    }
    return GO;
}

/* Whether several elements are one location in memory, as in what is broadcast. */
static int is_broadcast(const struct array *array) {
    int found = 0;
    for (int k = 0; k < array->ndim; ++k) {
        if (!array->shape[k]) return 0;
        found |= !array->strides[k] && array->shape[k] > 1;
    }
    return found;
}

/* Reads an array of a library, in memory of one of two kinds. */
static enum step read_tensor(const struct library *library, const int *device_types, struct array *array) {
    struct dl_tensor tensor;
    if (library->table->read(array->object, &tensor)) return missed();
    if (tensor.device_type != device_types[0] && tensor.device_type != device_types[1]) return MISSED;
    if (tensor.ndim && !tensor.strides) return MISSED;
    set_tensor(array, &tensor);
    array->dtype = dtype_for(library, &tensor);
    if (!array->dtype || array->dtype == Py_None) return missed();
    if (!tensor.data && bytes_of(array)) return MISSED; /* wrapped, or without memory */
    return is_lazy(library, array->object, tensor.code) || is_beyond(library, array) ? missed() : GO;
}

/* As read_array, for an array of the call's library. */
static enum step read_foreign(Launcher *l, struct call *c, const struct leaf *leaf, struct array *array) {
    TRY(read_tensor(c->library, l->dlpack_devices, array));
    if (l->device >= 0 && array->device != l->device) return MISSED;
    if (c->device >= 0 && array->device != c->device) return MISSED;
    c->device = array->device;
    if (leaf->is_written && is_broadcast(array)) return MISSED; /* Python refuses it */
    array->is_in_order = l->layout.kind && l->has_plans && is_contiguous(array, 0);
    return GO;
}

/* The stream that the library's work is queued on: of the arrays, there is at least one. */
static int foreign_stream(const struct call *c, int device_type, uintptr_t *stream) {
    void *found = NULL;
    if (c->library->table->current_stream(device_type, (int32_t)c->device, &found)) return 0;
    *stream = (uintptr_t)found;
    return 1;
}

/* Calls a function of a list that is not empty, whose reference it takes; 0 with an exception. */
static int call_with_list(PyObject *function, PyObject *list) {
    int is_empty = list && !PyList_GET_SIZE(list);
    PyObject *done = list && !is_empty ? PyObject_CallOneArg(function, list) : NULL;
    Py_XDECREF(list);
    Py_XDECREF(done);
    return is_empty || done;
}

/* Tells the library of arrays that were written to. */
static int note_writes(Launcher *l, struct call *c) {
    PyObject *written = PyList_New(0);
    for (int k = 0; written && k < l->leaf_count; ++k) {
        const struct leaf *leaf = &l->leaves[k];
        if (leaf->marshal != ADDRESS || !leaf->is_given || !leaf->is_written || !c->arrays[k].is_foreign) continue;
        if (PyList_Append(written, c->values[k])) Py_CLEAR(written);
    }
    return call_with_list(c->library->note_writes, written);
}

/* Whether programs have put something in the way of new arrays; -1 with an exception. */
static int is_intercepted(const struct library *library) {
    for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(library->is_intercepted); ++k) {
        int result = take_truth(PyObject_CallNoArgs(PyTuple_GET_ITEM(library->is_intercepted, k)));
        if (result) return result;
    }
    return 0;
}

/* ---- making them known ---- */

/* add_library(kinds, table, dtype_of, is_lazy, storage, offset, requires_grad, may_write, note_writes, maker,
 * is_intercepted, layout): take arrays of these types by a capsule of DLPack's exchange table; whether this version of
 * it is known. See `kerneltk.interop.exchange`. */
static PyObject *add_library(PyObject *module, PyObject *args) {
    (void)module;
    PyObject *kinds, *capsule, *layout;
    struct library new = {0};
    if (!PyArg_ParseTuple(args, "OOOOOOOOOOOO&", &kinds, &capsule, &new.dtype_of, &new.is_lazy, &new.storage, &new.offset,
                          &new.requires_grad, &new.may_write, &new.note_writes, &new.maker, &new.is_intercepted, or_null,
                          &layout))
        return NULL;
    new.has_layout = layout != NULL;
    if (layout && !PyArg_ParseTuple(layout, "nnnnnK", &new.at_implementation, &new.at_storage, &new.at_size,
                                    &new.at_first, &new.at_keys, &new.lazy_keys))
        return NULL;
    new.kind_count = (int)PyTuple_GET_SIZE(kinds);
    if (new.kind_count > MOST_KINDS || library_count == MOST_LIBRARIES) Py_RETURN_FALSE;
    for (int k = 0; k < new.kind_count; ++k) new.kinds[k] = (PyTypeObject *)PyTuple_GET_ITEM(kinds, k);
    if (!(new.table = PyCapsule_GetPointer(capsule, "dlpack_exchange_api"))) return NULL;
    while (new.table && new.table->major != DL_MAJOR) new.table = new.table->older;
    if (!new.table || !new.table->read || !new.table->current_stream) Py_RETURN_FALSE;
    Py_INCREF(args); /* it has all that is not counted */
    libraries[library_count] = new;
    __atomic_store_n(&library_count, library_count + 1, __ATOMIC_RELEASE);
    Py_RETURN_TRUE;
}

/* dlpack_device(array): DLPack's numbers of its kind of memory and its device; None where it is of no library that is
 * known. */
static PyObject *dlpack_device(PyObject *module, PyObject *object) {
    (void)module;
    const struct library *library = library_of(Py_TYPE(object));
    struct dl_tensor tensor;
    if (!library) Py_RETURN_NONE;
    if (!library->table->read(object, &tensor)) return Py_BuildValue("ii", tensor.device_type, tensor.device_id);
    return missed() == FAILED ? NULL : Py_NewRef(Py_None);
}

/* Reads a call's arguments: their types, where arrays lie, and what their plans depend on. A part of _launcher.c. */

/* ---- a call ---- */

struct array {
    PyObject *object, *memory, *dtype; /* borrowed */
    uintptr_t address;
    const int64_t *shape, *strides;
    int ndim, unit; /* of the strides (bytes): 1, and of a table's the size of an element */
    int64_t item;   /* that size (bytes), of another library's */
    int device;     /* of another library's */
    int is_in_order, is_writable, is_foreign;
};

struct call {
    PyObject *owned[MOST_OWNED];
    int owned_count;
    PyObject *values[MOST_LEAVES];
    struct array arrays[MOST_LEAVES];
    int64_t words[MOST_WORDS];
    int word_count;
    PyObject *dtypes[MOST_LEAVES]; /* among the words, there are their addresses */
    int dtypes_at[MOST_LEAVES], dtype_count;
    const struct library *library; /* whose some of the arrays are; NULL: all are the backend's own */
    int64_t device;                /* of all arrays then, or -1 */
    const struct importer *importer; /* of those that are imported for this call, or NULL */
    int has_own;                   /* whether there are arrays of the backend's own, or imported ones */
    int is_read;                   /* all of this */
};

/* What a step says: go on, an exception is set, do it in Python, another launcher's, no plan. */
enum step { GO, FAILED, SLOW, MISSED };

/* Goes on where a step says so. */
#define TRY(taken)                            \
    do {                                      \
        enum step step_ = (taken);            \
        if (step_ != GO) return step_;        \
    } while (0)

/* The rest of it is written before it is read: it takes pages. */
static void begin_call(struct call *c) {
    c->owned_count = c->word_count = c->dtype_count = c->has_own = c->is_read = 0;
    c->library = NULL;
    c->importer = NULL;
    c->device = -1;
}

static int own(struct call *c, PyObject *object) {
    if (!object) return 0;
    if (c->owned_count == MOST_OWNED) {
        Py_DECREF(object);
        PyErr_SetString(PyExc_OverflowError, "too many arguments");
        return 0;
    }
    c->owned[c->owned_count++] = object;
    return 1;
}

static void release(struct call *c) {
    while (c->owned_count) Py_DECREF(c->owned[--c->owned_count]);
}

/* What launchers in Python handle raises again there, with its own message. All else leaves them, as
 * it leaves this one: trying again would have twice the effects, and from inside of launches inside of
 * launches, a power of two. */
static __attribute__((cold)) enum step slowly(void) {
    PyObject *handled[] = {PyExc_TypeError, PyExc_ValueError, PyExc_AttributeError, PyExc_OverflowError};
    if (!PyErr_Occurred()) return SLOW;
    for (size_t k = 0; k < sizeof handled / sizeof *handled; ++k) {
        if (!PyErr_ExceptionMatches(handled[k])) continue;
        PyErr_Clear();
        return SLOW;
    }
    return FAILED;
}

/* Gives a reference back, and says whether that was true; -1 with an exception. */
static int take_truth(PyObject *found) {
    int result = found ? PyObject_IsTrue(found) : -1;
    Py_XDECREF(found);
    return result;
}

/* Whether what a function says of an array is true; -1 with an exception. */
static int is_true(PyObject *function, PyObject *object) { return take_truth(PyObject_CallOneArg(function, object)); }

/* As PyArg_ParseTuple converts: NULL for None, and the address of a function. */
static int or_null(PyObject *object, void *at) {
    *(PyObject **)at = object == Py_None ? NULL : object;
    return 1;
}

static int to_function(PyObject *address, void *at) {
    *(void **)at = PyLong_AsVoidPtr(address);
    return !PyErr_Occurred();
}

/* What is in an object's bytes, which are kept. */
static int to_items(PyObject *bytes, void *items) {
    *(const void **)items = PyBytes_AS_STRING(bytes);
    return 1;
}

/* Gives a reference to an integer back; 0 with an exception where it is none. */
static int take_integer(PyObject *found, int64_t *number) {
    if (!found) return 0;
    *number = PyLong_AsLongLong(found);
    Py_DECREF(found);
    return *number != -1 || !PyErr_Occurred();
}

static int call_for_integer(PyObject *function, PyObject *object, int64_t *number) {
    return take_integer(PyObject_CallOneArg(function, object), number);
}

static int add_word(struct call *c, int64_t word) {
    if (c->word_count == MOST_WORDS) return 0;
    c->words[c->word_count++] = word;
    return 1;
}

static int add_dtype(struct call *c, PyObject *dtype) {
    c->dtypes_at[c->dtype_count] = c->word_count;
    c->dtypes[c->dtype_count++] = dtype;
    return add_word(c, (int64_t)(uintptr_t)dtype);
}

/* Adds an array's dtype, shape and strides in bytes, or that it is in the order of C without gaps. */
static inline enum step add_array(struct call *c, const struct array *array, int is_in_order) {
    int nd = array->ndim;
    if (nd > MOST_WORDS || c->word_count + 2 * nd + 3 > MOST_WORDS) return SLOW;
    add_dtype(c, array->dtype);
    int64_t *word = &c->words[c->word_count];
    *word++ = nd;
    for (int k = 0; k < nd; ++k) *word++ = array->shape[k];
    *word++ = is_in_order ? -1 : nd;
    for (int k = 0; !is_in_order && k < nd; ++k) *word++ = array->strides[k] * array->unit;
    c->word_count = (int)(word - c->words);
    return GO;
}

/* Whether a dtype is the one that is compared; another thread may change that, and frees nothing before this one
 * gives the lock of the interpreter back. */
static int is_guarded_dtype(const struct leaf *leaf, const PyObject *dtype) {
    return __atomic_load_n(&leaf->dtype, __ATOMIC_RELAXED) == dtype;
}

static PyObject *numbers_tuple(const int64_t *numbers, int count) {
    PyObject *tuple = PyTuple_New(count);
    for (int k = 0; tuple && k < count; ++k) {
        PyObject *number = PyLong_FromLongLong(numbers[k]);
        if (number)
            PyTuple_SET_ITEM(tuple, k, number);
        else
            Py_CLEAR(tuple);
    }
    return tuple;
}

#define FIELD(type, object, offset) (*(type const *)((const char *)(object) + (offset)))

/* Reads an array of NumPy's, or by a layout; 0 where that does not say where its memory is. Both can be set:
 * what is read is borrowed. */
static inline int read_own(const struct layout *layout, PyObject *object, struct array *array) {
    array->unit = 1;
    if (!layout->kind) {
        const struct numpy_array *known = (const struct numpy_array *)object;
        array->dtype = known->descr;
        array->address = (uintptr_t)known->data;
        array->shape = (const int64_t *)known->dimensions;
        array->strides = (const int64_t *)known->strides;
        array->ndim = known->nd;
        array->is_in_order = (known->flags & C_CONTIGUOUS) != 0;
        array->is_writable = (known->flags & WRITEABLE) != 0;
        return 1;
    }
    array->dtype = FIELD(PyObject *, object, layout->dtype);
    array->memory = FIELD(PyObject *, object, layout->memory);
    if (!array->dtype || !array->memory || (PyObject *)Py_TYPE(array->memory) != layout->memory_kind) return 0;
    array->address = FIELD(uintptr_t, array->memory, layout->address);
    /* Both are vectors of C++: where they begin and end. */
    array->shape = FIELD(const int64_t *, object, layout->shape);
    array->strides = FIELD(const int64_t *, object, layout->strides);
    array->ndim = (int)(FIELD(const int64_t *, object, layout->shape + (Py_ssize_t)sizeof(void *)) - array->shape);
    array->is_in_order = FIELD(char, object, layout->contiguous);
    array->is_writable = 1;
    return 1;
}

#include "launcher_views.h"
#include "launcher_exchange.h"
#include "launcher_imports.h"

/* Reads where an array lies and, where there are plans, what it is. */
static enum step read_array(Launcher *l, struct call *c, int index) {
    const struct leaf *leaf = &l->leaves[index];
    struct array *array = &c->arrays[index];
    PyObject *object = array->object = c->values[index];
    int64_t device;
    array->is_foreign = !is_view(object) && (PyObject *)Py_TYPE(object) != leaf->type;
    if (array->is_foreign) {
        TRY(read_foreign(l, c, leaf, array));
        device = array->device;
    } else {
        if (is_view(object))
            *array = ((View *)object)->array;
        else if (!read_own(&l->layout, object, array))
            return SLOW;
        array->object = object;
        device = array->is_foreign ? array->device : 0;
        if (array->is_foreign && (leaf->is_written || l->is_grid) && (!array->is_writable || is_broadcast(array)))
            return MISSED; /* Python refuses it */
        if (l->device_of && !array->is_foreign && !own(c, Py_NewRef(array->memory))) return slowly();
        /* What is equal to a dtype that is kept need not be kept once more. */
#ifdef Py_GIL_DISABLED
        int is_kept = 0;
#else
        int is_kept = !l->has_plans && (!(leaf->guards & SAME_DTYPE) || is_guarded_dtype(leaf, array->dtype));
#endif
        if (!is_kept && !own(c, Py_NewRef(array->dtype))) return slowly();
    }
    if (!l->has_plans) return GO;
    TRY(add_array(c, array, l->layout.kind && array->is_in_order));
    if (l->device_of && !array->is_foreign) {
        if (!call_for_integer(l->device_of, array->memory, &device)) return slowly();
        if (c->library && c->device >= 0 && device != c->device) return MISSED;
        if (c->library) c->device = device;
    }
    if (l->device_of && !add_word(c, device)) return SLOW;
    return leaf->is_written && !l->layout.kind && !add_word(c, array->is_writable) ? SLOW : GO;
}

/* Whether an argument is an array of another library's instead of the backend's own. All that are no such ones are
 * of one library, whose stream has to be the backend's where there are both: else their work has to be ordered. */
static int is_foreign(Launcher *l, struct call *c, PyObject *value) {
    if (!l->dlpack_devices[0]) return 0;
    const struct library *library = library_of(Py_TYPE(value));
    if (!library || (c->library && c->library != library)) return 0;
    c->library = library;
    return 1;
}

/* Takes an argument apart; a type that differs is for another launcher. */
static enum step take(Launcher *l, struct call *c, const struct node *node, PyObject *value) {
    if ((PyObject *)Py_TYPE(value) != node->type) {
        if (node->leaf < 0 || l->leaves[node->leaf].marshal != ADDRESS) return MISSED;
        const struct importer *importer = l->dlpack_devices[0] ? importer_of(Py_TYPE(value), (PyObject *)node->type) : NULL;
        if (importer && (l->stream_function || !importer->stream_function)) { /* else it records */
            if (c->importer && c->importer != importer) return MISSED;
            c->importer = importer;
            value = import_view(importer, value);
            if (!value) return PyErr_Occurred() ? FAILED : MISSED;
            if (!own(c, value)) return slowly();
        }
        if (is_view(value) && ((View *)value)->kind == (PyObject *)node->type)
            c->has_own = 1;
        else if (!is_foreign(l, c, value))
            return MISSED;
    } else if (node->leaf >= 0) {
        c->has_own |= l->leaves[node->leaf].marshal == ADDRESS;
    }
    if (node->leaf >= 0) {
        c->values[node->leaf] = value;
        return GO;
    }
    if (!node->fields && PyTuple_GET_SIZE(value) != node->count) return MISSED;
    for (Py_ssize_t k = 0; k < node->count; ++k) {
        PyObject *item;
        if (node->fields) {
            item = PyObject_GetAttr(value, node->fields[k]);
            if (!own(c, item)) return slowly();
        } else {
            item = PyTuple_GET_ITEM(value, k);
        }
        TRY(take(l, c, &node->items[k], item));
    }
    return GO;
}

static enum step call_for_number(PyObject *function, int64_t *number) {
    return take_integer(PyObject_CallNoArgs(function), number) ? GO : slowly();
}

/* Reads all arrays, and what else plans depend on. */
static enum step read_arguments(Launcher *l, struct call *c) {
    unsigned every = 0;
    int read = 0;
    if (c->library && c->importer) return MISSED;
    if (c->library) TRY(check_writes(l, c));
    for (int k = 0; k < l->leaf_count; ++k) {
        const struct leaf *leaf = &l->leaves[k];
        if (leaf->marshal == ADDRESS && leaf->is_given) {
            TRY(read_array(l, c, k));
            every |= (unsigned)(c->arrays[k].address & 15);
            read = 1;
        } else if (leaf->marshal == BYTES && l->has_plans) {
            PyObject *dtype = PyObject_GetAttr(c->values[k], str_dtype);
            if (!own(c, dtype)) return slowly();
            if (!add_dtype(c, dtype)) return SLOW;
        }
    }
    if (!l->has_plans) return GO;
    if (l->current_device_in_key) {
        int64_t device;
        TRY(call_for_number(l->current_device, &device));
        if (c->library && device != c->device) return MISSED;
        if (!add_word(c, device)) return SLOW;
    }
    if (!read) return GO;
    if (!every) return add_word(c, 0) ? GO : SLOW;
    for (int k = 0; k < l->leaf_count; ++k)
        if (l->leaves[k].marshal == ADDRESS && l->leaves[k].is_given)
            if (!add_word(c, 1 + (int64_t)(c->arrays[k].address & 15))) return SLOW;
    return GO;
}

/* The key of a call's plan, whose arguments were read: the words, with dtypes in place of their addresses. It is that of
 * `Interpreter.key_of`. */
static PyObject *make_key(const struct call *c, PyObject *extra) {
    PyObject *key = PyTuple_New(c->word_count + 1);
    for (int k = 0, known = 0; key && k < c->word_count; ++k) {
        int is_dtype = known < c->dtype_count && c->dtypes_at[known] == k;
        PyObject *word = is_dtype ? Py_NewRef(c->dtypes[known++]) : PyLong_FromLongLong(c->words[k]);
        if (!word) Py_CLEAR(key);
        if (key) PyTuple_SET_ITEM(key, k, word);
    }
    if (key) PyTuple_SET_ITEM(key, c->word_count, Py_NewRef(extra));
    return key;
}

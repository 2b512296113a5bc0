/* Launchers that interpret a description of a kernel's arguments: `kerneltk.launch.compiled` makes them.
 *
 * A launcher does a call whose plan it knows by itself: it compares the arguments' types, reads the
 * arrays, finds the plan, allocates outputs, marshals the parameters into a block on its stack, and
 * launches. It calls Python for all else, before anything has happened: a first call, what does not fit,
 * what a plan cannot hold. So messages are written in one place.
 *
 * A block is on the caller's stack, plans do not change, and what is found is counted as a reference
 * before a lock is given back: launchers are called by several threads, and by what they call.
 */

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <structmember.h>

#ifndef SOURCES
#define SOURCES "" /* the digest of what was compiled; the package takes a module of its own sources only */
#endif

#define MOST_LEAVES 64
#define MOST_OPERANDS 1024 /* of a call of a program, which may be one in Python */
#define MOST_WORDS 512   /* of what a call's arrays are */
#define MOST_VALUES 16   /* of a launch */
#define MOST_SLOTS 256   /* of a program's values */
#define MOST_OWNED 320   /* references that a call holds */
#define STACK_BLOCK 1024 /* bytes; larger blocks are allocated */
#define MOST_KNOWN 16384 /* plans, by what arrays are */
#define MOST_HELD (64ll << 20) /* bytes of blocks that they may keep */
#define KNOWN_SHAPES 4   /* of launches, in a plan */
#define LEGACY_STREAM 1 /* CUDA's handle of the default stream, as 0 is */
#define QUIET (1ll << 62) /* see `kerneltk.backends.base` */

#ifdef Py_BEGIN_CRITICAL_SECTION
#define LOCK(object) Py_BEGIN_CRITICAL_SECTION(object)
#define UNLOCK() Py_END_CRITICAL_SECTION()
#else
#define LOCK(object) {
#define UNLOCK() }
#endif

#if PY_VERSION_HEX < 0x030D0000
/* As CPython's of 3.13, which give new references. 1 if found, 0 if not, -1 with an exception. */
static int PyDict_GetItemRef(PyObject *dict, PyObject *key, PyObject **found) {
    *found = Py_XNewRef(PyDict_GetItemWithError(dict, key));
    return *found ? 1 : PyErr_Occurred() ? -1 : 0;
}

static PyObject *PyList_GetItemRef(PyObject *list, Py_ssize_t index) {
    return Py_XNewRef(PyList_GetItem(list, index));
}
#endif

/* A new reference to what threads set. */
static PyObject *get_shared(PyObject *of, PyObject **at) {
    PyObject *value;
    LOCK(of);
    value = Py_XNewRef(*at);
    UNLOCK();
    return value;
}

static void set_shared(PyObject *of, PyObject **at, PyObject *value) {
    PyObject *before;
    LOCK(of);
    before = *at;
    __atomic_store_n(at, Py_XNewRef(value), __ATOMIC_RELAXED);
    UNLOCK();
    Py_XDECREF(before);
}

#include "launcher_description.h"
#include "launcher_arguments.h"
#include "launcher_plans.h"
#include "launcher_launching.h"

/* ---- calls ---- */

/* The launcher in Python, made when it is first needed: a pair of what runs and what makes keys. */
static PyObject *in_python(Launcher *l) {
    PyObject *pair = get_shared((PyObject *)l, &l->in_python);
    if (!pair && (pair = PyObject_CallNoArgs(l->make_slow))) set_shared((PyObject *)l, &l->in_python, pair);
    return pair;
}

static PyObject *run_slowly(Launcher *l, PyObject *const *args, size_t nargsf, PyObject *names) {
    PyObject *pair = in_python(l);
    if (!pair) return NULL;
    Py_ssize_t count = PyVectorcall_NARGS(nargsf);
    PyObject *slow = PyTuple_GET_ITEM(pair, 0), *result;
    result = names ? PyObject_Vectorcall(slow, args, (size_t)count, names) : call_with_arrays(slow, args, count);
    Py_DECREF(pair);
    return result;
}

/* A dtype that Python has let pass is the one that is compared next. */
static void learn_dtypes(Launcher *l, struct call *c) {
    for (int k = 0; k < l->leaf_count; ++k) {
        struct leaf *leaf = &l->leaves[k];
        if (leaf->guards & SAME_DTYPE && !is_guarded_dtype(leaf, c->arrays[k].dtype))
            set_shared((PyObject *)l, &leaf->dtype, c->arrays[k].dtype);
    }
}

static enum step read_call(Launcher *l, struct call *c, PyObject *const *values) {
    for (int k = 0; k < l->arguments; ++k) {
        TRY(take(l, c, &l->nodes[k], values[k]));
    }
    if (l->device >= 0 && l->current_device) {
        int64_t device;
        TRY(call_for_number(l->current_device, &device));
        if (device != l->device) return MISSED;
    }
    return read_arguments(l, c);
}

/* Launches by the plan of a call. Where it is MISSED, the result may be another launcher that it is for. */
static enum step launch_known(Launcher *l, struct call *c, PyObject *const *values, PyObject *const *shape,
                              PyObject *stream, PyObject *extra, PyObject **result) {
    Plan *p;
    begin_call(c);
    TRY(read_call(l, c, values));
    c->is_read = 1;
    TRY(find_plan(l, c, extra, &p));
    enum step step = MISSED;
    if (p->other)
        *result = Py_NewRef(p->other);
    else
        step = p->is_slow ? SLOW : launch_by(l, c, p, shape, stream, result);
    Py_DECREF(p);
    return step;
}

static PyObject *call_loop(Launcher *l, PyObject *const *args, size_t nargsf, PyObject *names) {
    Py_ssize_t count = PyVectorcall_NARGS(nargsf), given = l->arguments;
    if (names || count < given || count > given + 2) return run_slowly(l, args, nargsf, names);
    PyObject *stream = count > given ? args[given] : Py_None;
    PyObject *extra = count > given + 1 ? args[given + 1] : Py_None;
    struct call c;
    PyObject *result = NULL;
    enum step step = launch_known(l, &c, args, NULL, stream, extra, &result);
    /* Python plans for the backend's own arrays. */
    PyObject *elsewhere = !c.is_read || c.library || c.importer ? l->dispatch : l->unplanned;
    if (c.importer && step == GO) result = finish_imports(c.importer, result, args, given, c.values, l->leaf_count);
    release(&c);
    if (step == SLOW) return run_slowly(l, args, nargsf, names);
    if (step != MISSED) return result;
    PyObject *values = given_tuple(args, given);
    if (!values) return NULL;
    result = PyObject_CallFunctionObjArgs(elsewhere, values, stream, extra, NULL);
    Py_DECREF(values);
    return result;
}

/* A launch over a caller's grid: its shape is the grid, the block and the shared memory. */
struct grid_call {
    PyObject *shape[3], *stream;
    PyObject *const *values;
    Py_ssize_t count;
    PyObject *tuple; /* of the values, or NULL: only Python needs it */
};

static PyObject *call_with_grid(PyObject *function, const struct grid_call *g) {
    PyObject *tuple = g->tuple ? Py_NewRef(g->tuple) : given_tuple(g->values, g->count);
    if (!tuple) return NULL;
    PyObject *arguments[] = {g->shape[0], g->shape[1], tuple, g->shape[2], g->stream};
    PyObject *result = PyObject_Vectorcall(function, arguments, 5, NULL);
    Py_DECREF(tuple);
    return result;
}

static PyObject *launch_grid(Launcher *l, const struct grid_call *g) {
    PyObject *result = NULL, *pair = NULL, *elsewhere = NULL;
    struct call c;
    c.owned_count = 0;
    enum step step = MISSED;
    if (g->count == l->arguments) step = launch_known(l, &c, g->values, g->shape, g->stream, Py_None, &result);
    if (step == MISSED)
        elsewhere = result ? result : Py_NewRef(l->dispatch); /* other arguments, or too large a grid */
    else if (step == SLOW && (pair = in_python(l)))
        elsewhere = Py_NewRef(PyTuple_GET_ITEM(pair, 0));
    if (elsewhere) result = call_with_grid(elsewhere, g);
    if (pair && result && c.is_read) learn_dtypes(l, &c);
    Py_XDECREF(elsewhere);
    Py_XDECREF(pair);
    release(&c);
    return result;
}

static PyObject *call_grid(Launcher *l, PyObject *const *args, size_t nargsf, PyObject *names) {
    Py_ssize_t count = PyVectorcall_NARGS(nargsf);
    if (names || count < 3 || count > 5 || !PyTuple_CheckExact(args[2]))
        return run_slowly(l, args, nargsf, names);
    struct grid_call g = {
        {args[0], args[1], count > 3 ? args[3] : number_zero}, count > 4 ? args[4] : Py_None,
        &PyTuple_GET_ITEM(args[2], 0), PyTuple_GET_SIZE(args[2]), args[2],
    };
    return launch_grid(l, &g);
}

static PyObject *call_launcher(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *names) {
    Launcher *l = (Launcher *)self;
    return l->is_grid ? call_grid(l, args, nargsf, names) : call_loop(l, args, nargsf, names);
}

/* key_of(args, extra=None): the key of the plan for a tuple of arguments of the launcher's types. */
static PyObject *key_of(Launcher *l, PyObject *args) {
    PyObject *values, *extra = Py_None, *key = NULL;
    if (!PyArg_ParseTuple(args, "O!|O", &PyTuple_Type, &values, &extra)) return NULL;
    struct call c;
    begin_call(&c);
    enum step step = MISSED;
    if (PyTuple_GET_SIZE(values) == l->arguments)
        step = read_call(l, &c, &PyTuple_GET_ITEM(values, 0));
    if (step == GO) key = make_key(&c, extra);
    release(&c);
    if (step == GO || step == FAILED) return key;
    PyObject *pair = in_python(l);
    if (pair) key = PyObject_Call(PyTuple_GET_ITEM(pair, 1), args, NULL);
    Py_XDECREF(pair);
    return key;
}

/* forget(): forget all plans, as their table does. */
static PyObject *forget(Launcher *l, PyObject *nothing) {
    (void)nothing;
    set_shared((PyObject *)l, &l->last, NULL);
    __atomic_store_n(&l->held, 0, __ATOMIC_RELAXED);
    PyDict_Clear(l->known);
    Py_RETURN_NONE;
}

#include "launcher_calls.h"

/* ---- the types ---- */

#include "launcher_making.h"
#include "launcher_memory.h"
#include "launcher_shortcuts.h"

/* What a launcher visits and gives up, but for its leaves. */
#define OWNED_BY(l) {(l)->kept, (l)->in_python, (l)->known, (l)->last, (l)->bound}

static int launcher_traverse(Launcher *l, visitproc visit, void *arg) {
    PyObject *owned[] = OWNED_BY(l);
    Py_VISIT(Py_TYPE(l));
    for (size_t k = 0; k < sizeof owned / sizeof *owned; ++k) Py_VISIT(owned[k]);
    for (int k = 0; k < l->leaf_count; ++k) Py_VISIT(l->leaves[k].dtype);
    return 0;
}

/* All other cycles have a dictionary in them. */
static int launcher_clear(Launcher *l) {
    Py_CLEAR(l->last);
    return 0;
}

static void launcher_dealloc(Launcher *l) {
    PyTypeObject *type = Py_TYPE(l);
    PyObject *owned[] = OWNED_BY(l);
    PyObject_GC_UnTrack(l);
    for (size_t k = 0; k < sizeof owned / sizeof *owned; ++k) Py_XDECREF(owned[k]);
    for (int k = 0; k < l->leaf_count; ++k) Py_DECREF(l->leaves[k].dtype);
    free_nodes(l->nodes, l->arguments);
    type->tp_free(l);
    Py_DECREF(type);
}

static PyMethodDef launcher_methods[] = {
    {"key_of", (PyCFunction)key_of, METH_VARARGS, NULL},
    {"forget", (PyCFunction)forget, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot launcher_slots[] = {
    {Py_tp_new, launcher_new},
    {Py_tp_call, PyVectorcall_Call},
    {Py_tp_traverse, launcher_traverse},
    {Py_tp_clear, launcher_clear},
    {Py_tp_dealloc, launcher_dealloc},
    {Py_tp_methods, launcher_methods},
    {Py_tp_members, vectorcall_members},
    {0, NULL},
};

static PyType_Slot plan_slots[] = {
    {Py_tp_traverse, plan_traverse},
    {Py_tp_dealloc, plan_dealloc},
    {0, NULL},
};

#define MAKE_TYPE(name, object, slots, flags) make_type("kerneltk.launch._launcher." name, sizeof(object), slots, flags)

static PyTypeObject *make_type(const char *name, size_t size, PyType_Slot *slots, unsigned long flags) {
    PyType_Spec spec = {name, (int)size, 0, (unsigned)(Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE | flags), slots};
    return (PyTypeObject *)PyType_FromSpec(&spec);
}

static PyMethodDef module_methods[] = {
    {"add_library", add_library, METH_VARARGS, NULL},
    {"add_importer", add_importer, METH_VARARGS, NULL},
    {"dlpack_device", dlpack_device, METH_O, NULL},
    {"call_methods", call_methods, METH_O, NULL},
    {"call_by_kind", call_by_kind, METH_O, NULL},
    {NULL, NULL, 0, NULL},
};

static int prepare_module(PyObject *module) {
    if (launcher_type) {
        PyErr_SetString(PyExc_ImportError, "compiled launchers are for one interpreter of a process");
        return -1;
    }
#define INTERN(name, value) if (!((name) = PyUnicode_InternFromString(value))) return -1;
    NAMES(INTERN)
#undef INTERN
    if (!(number_zero = PyLong_FromLong(0)) || !(number_one = PyLong_FromLong(1))) return -1;
    if (!(dl_words = PyTuple_Pack(2, str_stream, str_max_version))) return -1;
    if (!(dl_version = Py_BuildValue("ii", 1, 0))) return -1;
    const unsigned long called = Py_TPFLAGS_HAVE_VECTORCALL, counted = Py_TPFLAGS_HAVE_GC;
    plan_type = MAKE_TYPE("Plan", Plan, plan_slots, counted | Py_TPFLAGS_DISALLOW_INSTANTIATION);
    launcher_type = MAKE_TYPE("Launcher", Launcher, launcher_slots, counted | called);
    called_type = MAKE_TYPE("Called", Called, called_slots, called | Py_TPFLAGS_BASETYPE);
    shortcut_type = MAKE_TYPE("Shortcut", Shortcut, shortcut_slots, counted | called);
    viewing_type = MAKE_TYPE("Viewing", Viewing, viewing_slots, 0);
    view_type = MAKE_TYPE("View", View, view_slots, Py_TPFLAGS_DISALLOW_INSTANTIATION);
    PyTypeObject *const types[] = {launcher_type, called_type, shortcut_type, viewing_type, view_type, plan_type};
    for (size_t k = 0; k < sizeof types / sizeof *types; ++k)
        if (!types[k] || (k < 4 && PyModule_AddType(module, types[k]))) return -1;
    return PyModule_AddStringConstant(module, "SOURCES", SOURCES);
}

static PyModuleDef_Slot module_slots[] = {
    {Py_mod_exec, prepare_module},
#ifdef Py_mod_multiple_interpreters
    {Py_mod_multiple_interpreters, Py_MOD_MULTIPLE_INTERPRETERS_NOT_SUPPORTED},
#endif
#ifdef Py_mod_gil
    {Py_mod_gil, Py_MOD_GIL_NOT_USED},
#endif
    {0, NULL},
};

PyDoc_STRVAR(module_doc, "Launchers that interpret a description of a kernel's arguments.");

static struct PyModuleDef module_definition = {
    PyModuleDef_HEAD_INIT, "_launcher", module_doc, 0, module_methods, module_slots, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit__launcher(void) { return PyModuleDef_Init(&module_definition); }

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

#include "launcher_description.h"
#include "launcher_arguments.h"
#include "launcher_plans.h"
#include "launcher_launching.h"

/* ---- calls ---- */

/* The launcher in Python, made when it is first needed: a pair of what runs and what makes keys. */
static PyObject *in_python(Launcher *l) {
    PyObject *pair = NULL;
    LOCK(l);
    pair = Py_XNewRef(l->in_python);
    UNLOCK();
    if (pair) return pair;
    PyObject *made = PyObject_CallNoArgs(l->make_slow);
    if (made && (!PyTuple_Check(made) || PyTuple_GET_SIZE(made) != 2)) {
        Py_CLEAR(made);
        PyErr_SetString(PyExc_TypeError, "no pair of functions");
    }
    if (!made) return NULL;
    LOCK(l);
    if (!l->in_python) l->in_python = Py_NewRef(made);
    pair = Py_NewRef(l->in_python);
    UNLOCK();
    Py_DECREF(made);
    return pair;
}

static PyObject *run_slowly(Launcher *l, PyObject *const *args, size_t nargsf, PyObject *names) {
    PyObject *pair = in_python(l);
    if (!pair) return NULL;
    Py_ssize_t count = PyVectorcall_NARGS(nargsf);
    PyObject *slow = PyTuple_GET_ITEM(pair, 0), *result;
    if (names || count > MOST_LEAVES + 2)
        result = PyObject_Vectorcall(slow, args, (size_t)count, names);
    else
        result = call_with_arrays(slow, args, count);
    Py_DECREF(pair);
    return result;
}

/* A dtype that Python has let pass is the one that is compared next. */
static void learn_dtypes(Launcher *l, struct call *c) {
    for (int k = 0; k < l->leaf_count; ++k) {
        struct leaf *leaf = &l->leaves[k];
        PyObject *dtype = c->arrays[k].dtype;
        if (!(leaf->guards & SAME_DTYPE) || !dtype || is_guarded_dtype(leaf, dtype)) continue;
        PyObject *before;
        LOCK(l);
        before = leaf->dtype;
        __atomic_store_n(&leaf->dtype, Py_NewRef(dtype), __ATOMIC_RELAXED);
        UNLOCK();
        Py_XDECREF(before);
    }
}

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

static enum step read_call(Launcher *l, struct call *c, PyObject *const *values) {
    for (int k = 0; k < l->arguments; ++k) {
        enum step step = take(l, c, &l->nodes[k], values[k]);
        if (step != GO) return step;
    }
    if (l->device >= 0 && l->current_device) {
        int64_t device;
        enum step step = call_for_number(l->current_device, &device);
        if (step != GO) return step;
        if (device != l->device) return MISSED;
    }
    return read_arguments(l, c);
}

static PyObject *call_loop(Launcher *l, PyObject *const *args, size_t nargsf, PyObject *names) {
    Py_ssize_t count = PyVectorcall_NARGS(nargsf), given = l->arguments;
    if (names || count < given || count > given + 2) return run_slowly(l, args, nargsf, names);
    PyObject *stream = count > given ? args[given] : Py_None;
    PyObject *extra = count > given + 1 ? args[given + 1] : Py_None;
    struct call c;
    begin_call(&c);
    PyObject *result = NULL, *elsewhere = l->dispatch;
    enum step step = read_call(l, &c, args);
    if (step == GO) {
        Plan *p;
        step = find_plan(l, &c, extra, &p);
        /* Python plans for the backend's own arrays. */
        elsewhere = c.library || c.importer ? l->dispatch : l->unplanned;
        if (step == GO) {
            step = p->is_slow ? SLOW : launch_by(l, &c, p, NULL, stream, &result);
            Py_DECREF(p);
        }
    }
    if (c.importer && step == GO) {
        if (!keep_imports(c.importer, c.values, l->leaf_count)) Py_CLEAR(result);
        result = given_back(c.importer, result, args, given);
    }
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
    PyObject *result = NULL;
    struct call c;
    begin_call(&c);
    memset(c.arrays, 0, sizeof *c.arrays * (size_t)l->leaf_count);
    enum step step = MISSED;
    if (g->count == l->arguments) step = read_call(l, &c, g->values);
    Plan *p = NULL;
    if (step == GO) {
        if (l->bound)
            p = (Plan *)Py_NewRef(l->bound);
        else
            step = find_plan(l, &c, Py_None, &p);
    }
    int learns = 0;
    if (step == GO && p->other) {
        result = call_with_grid(p->other, g);
    } else if (step == GO) {
        step = p->is_slow ? SLOW : launch_by(l, &c, p, g->shape, g->stream, &result);
        learns = step == SLOW;
    }
    Py_XDECREF(p);
    if (step == SLOW) {
        PyObject *pair = in_python(l);
        result = pair ? call_with_grid(PyTuple_GET_ITEM(pair, 0), g) : NULL;
        Py_XDECREF(pair);
        if (result && learns) learn_dtypes(l, &c);
    }
    release(&c);
    if (step == MISSED) result = call_with_grid(l->dispatch, g); /* other arguments, or too large a grid */
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

static PyObject *raise_collected(void) {
    PyErr_SetString(PyExc_RuntimeError, "the launcher was collected as garbage");
    return NULL;
}

static PyObject *call_launcher(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *names) {
    Launcher *l = (Launcher *)self;
    if (!l->kept) return raise_collected();
    return l->is_grid ? call_grid(l, args, nargsf, names) : call_loop(l, args, nargsf, names);
}

PyDoc_STRVAR(key_of_doc, "key_of(args, extra=None)\n--\n\nThe key of the plan for a tuple of arguments "
                         "of the launcher's types.");

static PyObject *key_of(Launcher *l, PyObject *args) {
    PyObject *values, *extra = Py_None, *key = NULL;
    if (!PyArg_ParseTuple(args, "O!|O", &PyTuple_Type, &values, &extra)) return NULL;
    if (!l->kept) return raise_collected();
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

PyDoc_STRVAR(forget_doc, "forget()\n--\n\nForget all plans, as their table does.");

static PyObject *forget(Launcher *l, PyObject *nothing) {
    (void)nothing;
    PyObject *last;
    LOCK(l);
    last = l->last;
    l->last = NULL;
    UNLOCK();
    Py_XDECREF(last);
    __atomic_store_n(&l->held, 0, __ATOMIC_RELAXED);
    if (l->known) PyDict_Clear(l->known);
    Py_RETURN_NONE;
}

#include "launcher_calls.h"

/* ---- the types ---- */

#include "launcher_making.h"
#include "launcher_memory.h"
#include "launcher_shortcuts.h"

static int launcher_traverse(Launcher *l, visitproc visit, void *arg) {
    Py_VISIT(Py_TYPE(l));
    Py_VISIT(l->kept);
    Py_VISIT(l->in_python);
    Py_VISIT(l->known);
    Py_VISIT(l->last);
    Py_VISIT(l->bound);
    for (int k = 0; k < l->leaf_count; ++k) Py_VISIT(l->leaves[k].dtype);
    return 0;
}

static int launcher_clear(Launcher *l) {
    Py_CLEAR(l->kept);
    Py_CLEAR(l->in_python);
    Py_CLEAR(l->known);
    Py_CLEAR(l->last);
    Py_CLEAR(l->bound);
    for (int k = 0; k < l->leaf_count; ++k) Py_CLEAR(l->leaves[k].dtype);
    return 0;
}

static void launcher_dealloc(Launcher *l) {
    PyTypeObject *type = Py_TYPE(l);
    PyObject_GC_UnTrack(l);
    free_nodes(l->nodes, l->arguments);
    PyMem_Free(l->overlaps);
    launcher_clear(l);
    type->tp_free(l);
    Py_DECREF(type);
}

static PyMethodDef launcher_methods[] = {
    {"key_of", (PyCFunction)key_of, METH_VARARGS, key_of_doc},
    {"forget", (PyCFunction)forget, METH_NOARGS, forget_doc},
    {NULL, NULL, 0, NULL},
};

PyDoc_STRVAR(launcher_doc, "What launches a kernel; `kerneltk.launch.compiled` makes it.");

static PyType_Slot launcher_slots[] = {
    {Py_tp_doc, (void *)launcher_doc},
    {Py_tp_new, launcher_new},
    {Py_tp_call, PyVectorcall_Call},
    {Py_tp_traverse, launcher_traverse},
    {Py_tp_clear, launcher_clear},
    {Py_tp_dealloc, launcher_dealloc},
    {Py_tp_methods, launcher_methods},
    {Py_tp_members, vectorcall_members},
    {0, NULL},
};

static PyType_Spec launcher_spec = {
    "kerneltk.launch._launcher.Launcher", sizeof(Launcher), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_IMMUTABLETYPE,
    launcher_slots,
};

static PyType_Slot plan_slots[] = {
    {Py_tp_traverse, plan_traverse},
    {Py_tp_dealloc, plan_dealloc},
    {0, NULL},
};

static PyType_Spec plan_spec = {
    "kerneltk.launch._launcher.Plan", sizeof(Plan), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION |
        Py_TPFLAGS_IMMUTABLETYPE,
    plan_slots,
};

static PyMethodDef module_methods[] = {
    {"add_library", add_library, METH_VARARGS, add_library_doc},
    {"add_importer", add_importer, METH_VARARGS, add_importer_doc},
    {"dlpack_device", dlpack_device, METH_O, dlpack_device_doc},
    {"call_methods", call_methods, METH_O, call_methods_doc},
    {"call_by_kind", call_by_kind, METH_O, call_by_kind_doc},
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
    plan_type = (PyTypeObject *)PyType_FromSpec(&plan_spec);
    launcher_type = (PyTypeObject *)PyType_FromSpec(&launcher_spec);
    called_type = (PyTypeObject *)PyType_FromSpec(&called_spec);
    shortcut_type = (PyTypeObject *)PyType_FromSpec(&shortcut_spec);
    viewing_type = (PyTypeObject *)PyType_FromSpec(&viewing_spec);
    view_type = (PyTypeObject *)PyType_FromSpec(&view_spec);
    if (!viewing_type || !view_type || !plan_type || !launcher_type || !called_type || !shortcut_type) return -1;
    if (PyModule_AddObjectRef(module, "Shortcut", (PyObject *)shortcut_type)) return -1;
    if (PyModule_AddObjectRef(module, "Viewing", (PyObject *)viewing_type)) return -1;
    if (PyModule_AddIntConstant(module, "NUMPY_DTYPE", offsetof(struct numpy_array, descr))) return -1;
    if (PyModule_AddObjectRef(module, "Called", (PyObject *)called_type)) return -1;
    if (PyModule_AddStringConstant(module, "SOURCES", SOURCES)) return -1;
    return PyModule_AddObjectRef(module, "Launcher", (PyObject *)launcher_type);
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

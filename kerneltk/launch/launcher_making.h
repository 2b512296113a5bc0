/* Makes launchers from descriptions, as `kerneltk.launch.compiled` arranges them. A part of _launcher.c. */

/* ---- making launchers ---- */

static int read_node(PyObject *form, struct node *node, Launcher *l) {
    if (PyLong_Check(form)) {
        node->leaf = (int)PyLong_AsLong(form);
        if (node->leaf < 0 || node->leaf >= l->leaf_count) {
            PyErr_SetString(PyExc_ValueError, "no such leaf");
            return 0;
        }
        node->type = l->leaves[node->leaf].type;
        return 1;
    }
    PyObject *type, *fields, *items;
    if (!PyArg_ParseTuple(form, "OOO!", &type, &fields, &PyTuple_Type, &items)) return 0;
    node->leaf = -1;
    node->type = type;
    node->count = PyTuple_GET_SIZE(items);
    if (fields != Py_None && (!PyTuple_Check(fields) || PyTuple_GET_SIZE(fields) != node->count)) {
        PyErr_SetString(PyExc_ValueError, "a field for each item");
        return 0;
    }
    if (fields != Py_None) node->fields = ((PyTupleObject *)fields)->ob_item;
    node->items = PyMem_Calloc((size_t)node->count + 1, sizeof *node->items);
    if (!node->items) {
        PyErr_NoMemory();
        return 0;
    }
    for (Py_ssize_t k = 0; k < node->count; ++k)
        if (!read_node(PyTuple_GET_ITEM(items, k), &node->items[k], l)) return 0;
    return 1;
}

static void free_nodes(struct node *nodes, Py_ssize_t count) {
    for (Py_ssize_t k = 0; nodes && k < count; ++k) free_nodes(nodes[k].items, nodes[k].count);
    PyMem_Free(nodes);
}

static int read_values(PyObject *tuple, struct launch_value *values, int *count) {
    if (PyTuple_GET_SIZE(tuple) > MOST_VALUES) {
        PyErr_SetString(PyExc_ValueError, "too many values");
        return 0;
    }
    *count = (int)PyTuple_GET_SIZE(tuple);
    for (int k = 0; k < *count; ++k) {
        int code;
        unsigned long long number;
        if (!PyArg_ParseTuple(PyTuple_GET_ITEM(tuple, k), "iK", &code, &number)) return 0;
        values[k] = (struct launch_value){(enum value_code)code, (int64_t)number};
    }
    return 1;
}

static int read_leaf(PyObject *described, struct leaf *leaf) {
    int marshal;
    unsigned long long address_unit, bytes_unit;
    PyObject *dtype;
    const char *scalar;
    if (!PyArg_ParseTuple(described, "OippiiKKOOs", &leaf->type, &marshal, &leaf->is_given,
                          &leaf->is_written, &leaf->extents, &leaf->guards, &address_unit, &bytes_unit,
                          &dtype, &leaf->convert, &scalar))
        return 0;
    leaf->scalar = *scalar;
    leaf->marshal = (enum marshal)marshal;
    leaf->address_unit = address_unit;
    leaf->bytes_unit = bytes_unit;
    leaf->dtype = Py_NewRef(dtype); /* it changes */
    return 1;
}

static int read_indices(PyObject *tuple, int *indices, int *count, int limit) {
    *count = (int)PyTuple_GET_SIZE(tuple);
    for (int k = 0; k < *count && k < MOST_LEAVES; ++k) {
        long index = PyLong_AsLong(PyTuple_GET_ITEM(tuple, k));
        if (index < 0 || index >= limit) {
            if (!PyErr_Occurred()) PyErr_SetString(PyExc_ValueError, "no such argument");
            return 0;
        }
        indices[k] = (int)index;
    }
    return 1;
}

static PyObject *or_null(PyObject *object) { return object == Py_None ? NULL : object; }

/* Launcher(kept): a tuple of what follows, which `kerneltk.launch.compiled` arranges. */
static PyObject *launcher_new(PyTypeObject *type, PyObject *args, PyObject *words) {
    PyObject *nodes, *leaves, *packed, *head, *values, *overlaps, *outputs, *readers, *calls, *functions;
    unsigned long long stream_function, new_array;
    PyObject *layout, *bound, *plans, *dispatch, *unplanned, *make_slow;
    int is_grid, is_numpy, takes_scratch, key_has_device;
    const char *returns;
    long long device;
    int devices[2];
    if (words && PyDict_GET_SIZE(words)) {
        PyErr_SetString(PyExc_TypeError, "a launcher takes no keywords");
        return NULL;
    }
    if (!PyArg_ParseTuple(args, "ppppL(ii)sO!O!O!O!O!O!O!O!OO!(KK)O!OOOOO", &is_grid, &is_numpy, &takes_scratch,
                          &key_has_device, &device, &devices[0], &devices[1], &returns, &PyTuple_Type, &leaves, &PyTuple_Type,
                          &nodes, &PyTuple_Type, &packed, &PyTuple_Type, &head, &PyTuple_Type, &values,
                          &PyTuple_Type, &overlaps, &PyTuple_Type, &outputs, &PyTuple_Type, &readers,
                          &layout, &PyTuple_Type, &calls, &stream_function, &new_array, &PyTuple_Type, &functions, &bound, &plans,
                          &dispatch, &unplanned, &make_slow))
        return NULL;
    if (PyTuple_GET_SIZE(leaves) > MOST_LEAVES || PyTuple_GET_SIZE(packed) > MOST_LEAVES ||
        PyTuple_GET_SIZE(outputs) > MOST_LEAVES || PyTuple_GET_SIZE(readers) != 2 ||
        PyTuple_GET_SIZE(calls) != 4 || PyTuple_GET_SIZE(functions) != 5) {
        PyErr_SetString(PyExc_ValueError, "no such launcher");
        return NULL;
    }
    Launcher *l = (Launcher *)type->tp_alloc(type, 0);
    if (!l) return NULL;
    l->vectorcall = call_launcher;
    l->kept = Py_NewRef(args);
    l->is_grid = is_grid;
    l->is_numpy = is_numpy;
    l->takes_scratch = takes_scratch;
    l->current_device_in_key = key_has_device;
    l->device = device;
    memcpy(l->dlpack_devices, devices, sizeof devices);
    l->returns_none = !strcmp(returns, "none");
    l->returns_tuple = !strcmp(returns, "tuple");
    l->leaf_count = (int)PyTuple_GET_SIZE(leaves);
    for (int k = 0; k < l->leaf_count; ++k)
        if (!read_leaf(PyTuple_GET_ITEM(leaves, k), &l->leaves[k])) goto failed;
    l->arguments = (int)PyTuple_GET_SIZE(nodes);
    l->nodes = PyMem_Calloc((size_t)l->arguments + 1, sizeof *l->nodes);
    l->overlaps = PyMem_Calloc((size_t)PyTuple_GET_SIZE(overlaps) + 1, sizeof *l->overlaps);
    if (!l->nodes || !l->overlaps) {
        PyErr_NoMemory();
        goto failed;
    }
    for (int k = 0; k < l->arguments; ++k)
        if (!read_node(PyTuple_GET_ITEM(nodes, k), &l->nodes[k], l)) goto failed;
    if (!read_indices(packed, l->packed, &l->packed_count, l->leaf_count)) goto failed;
    if (!read_indices(outputs, l->outputs, &l->output_count, l->leaf_count)) goto failed;
    if (!read_values(head, l->head, &l->head_count)) goto failed;
    if (!read_values(values, l->values, &l->value_count)) goto failed;
    for (int k = 0; k < l->value_count; ++k)
        if (is_of_launch(l->values[k].code)) l->changing[l->changing_count++] = k;
    l->overlap_count = (int)PyTuple_GET_SIZE(overlaps);
    for (int k = 0; k < l->overlap_count; ++k) {
        struct overlap *overlap = &l->overlaps[k];
        if (!PyArg_ParseTuple(PyTuple_GET_ITEM(overlaps, k), "ii", &overlap->input, &overlap->output))
            goto failed;
    }
    l->dense = or_null(PyTuple_GET_ITEM(readers, 0));
    l->device_of = or_null(PyTuple_GET_ITEM(readers, 1));
    if (!read_layout(layout, &l->layout)) goto failed;
    l->has_layout = layout != Py_None;
    l->stream_function = (intptr_t(*)(void))(uintptr_t)stream_function;
    l->new_array = (PyObject * (*)(PyObject *, const void *, PyObject *, PyObject *))(uintptr_t) new_array;
    l->current_stream = or_null(PyTuple_GET_ITEM(calls, 0));
    l->current_device = or_null(PyTuple_GET_ITEM(calls, 1));
    l->scratch_for = or_null(PyTuple_GET_ITEM(calls, 2));
    l->resolve = PyTuple_GET_ITEM(calls, 3);
    l->allocate = PyTuple_GET_ITEM(functions, 0);
    l->allocate_memory = or_null(PyTuple_GET_ITEM(functions, 1));
    l->launch = PyTuple_GET_ITEM(functions, 2);
    l->launch_failed = PyTuple_GET_ITEM(functions, 3);
    l->read_row = PyTuple_GET_ITEM(functions, 4);
    l->known = PyDict_New();
    if (!l->known) goto failed;
    l->dispatch = dispatch;
    l->unplanned = unplanned;
    l->plans = plans;
    l->make_slow = make_slow;
    l->has_plans = bound == Py_None;
    if (!l->has_plans && !(l->bound = (PyObject *)make_plan(l, bound, Py_None, NULL, NULL))) goto failed;
    return (PyObject *)l;
failed:
    Py_DECREF(l);
    return NULL;
}

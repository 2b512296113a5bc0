/* Makes launchers from descriptions, as `kerneltk.launch.compiled` arranges them, which checks them. A part of
 * _launcher.c.
 */

static int read_node(PyObject *form, struct node *node, Launcher *l) {
    if (PyLong_Check(form)) {
        node->leaf = (int)PyLong_AsLong(form);
        node->type = l->leaves[node->leaf].type;
        return 1;
    }
    PyObject *fields, *items;
    if (!PyArg_ParseTuple(form, "OO&O", &node->type, or_null, &fields, &items)) return 0;
    node->leaf = -1;
    node->count = PyTuple_GET_SIZE(items);
    if (fields) node->fields = ((PyTupleObject *)fields)->ob_item;
    node->items = PyMem_Calloc((size_t)node->count + 1, sizeof *node->items);
    int done = node->items != NULL;
    for (Py_ssize_t k = 0; done && k < node->count; ++k)
        done = read_node(PyTuple_GET_ITEM(items, k), &node->items[k], l);
    return done;
}

static void free_nodes(struct node *nodes, Py_ssize_t count) {
    for (Py_ssize_t k = 0; nodes && k < count; ++k) free_nodes(nodes[k].items, nodes[k].count);
    PyMem_Free(nodes);
}

static int read_leaf(PyObject *described, struct leaf *leaf) {
    int done = PyArg_ParseTuple(described, "OippiKKOOi", &leaf->type, &leaf->marshal, &leaf->is_given,
                                &leaf->is_written, &leaf->guards, &leaf->address_unit, &leaf->bytes_unit,
                                &leaf->dtype, &leaf->convert, &leaf->scalar);
    if (done) Py_INCREF(leaf->dtype); /* it changes */
    return done;
}

/* Launcher(kept): a tuple of what follows, which `kerneltk.launch.compiled` arranges. */
static PyObject *launcher_new(PyTypeObject *type, PyObject *args, PyObject *words) {
    PyObject *nodes, *leaves, *layout, *bound;
    Launcher *l = (Launcher *)type->tp_alloc(type, 0);
    (void)words;
    if (!l) return NULL;
    l->vectorcall = call_launcher;
    l->kept = Py_NewRef(args);
    int done = PyArg_ParseTuple(
        args, "pppL(ii)ppOOnO&nO&nO&nO&nO&O&O&OO&O&O&OO&O&OO&OOOO&OOOO", &l->is_grid, &l->takes_scratch,
        &l->current_device_in_key, &l->device, &l->dlpack_devices[0], &l->dlpack_devices[1], &l->returns_none,
        &l->returns_tuple, &leaves, &nodes, &l->packed_count, to_items, &l->packed, &l->head_count, to_items,
        &l->head, &l->value_count, to_items, &l->values, &l->overlap_count, to_items, &l->overlaps, &l->output_count,
        to_items, &l->outputs, or_null, &l->dense, or_null, &l->device_of, &layout, or_null, &l->current_stream,
        or_null, &l->current_device, or_null, &l->scratch_for, &l->resolve, to_function, &l->stream_function,
        to_function, &l->new_array, &l->allocate, or_null, &l->allocate_memory, &l->launch, &l->launch_failed,
        &l->read_row, or_null, &bound, &l->plans, &l->dispatch, &l->unplanned, &l->make_slow);
    done = done && read_layout(layout, &l->layout) && (l->known = PyDict_New());
    if (done) {
        l->arguments = (int)PyTuple_GET_SIZE(nodes);
        done = (l->nodes = PyMem_Calloc((size_t)l->arguments + 1, sizeof *l->nodes)) != NULL;
    }
    for (; done && l->leaf_count < PyTuple_GET_SIZE(leaves); l->leaf_count += done)
        done = read_leaf(PyTuple_GET_ITEM(leaves, l->leaf_count), &l->leaves[l->leaf_count]);
    for (int k = 0; done && k < l->arguments; ++k) done = read_node(PyTuple_GET_ITEM(nodes, k), &l->nodes[k], l);
    for (int k = 0; done && k < l->value_count; ++k)
        if (is_of_launch(l->values[k].code)) l->changing[l->changing_count++] = k;
    if (done) {
        l->has_plans = !bound;
        done = !bound || (l->bound = (PyObject *)make_plan(l, bound, Py_None, NULL, NULL));
    }
    if (!done && !PyErr_Occurred()) PyErr_NoMemory();
    if (!done) Py_CLEAR(l);
    return (PyObject *)l;
}

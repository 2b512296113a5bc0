/* Memory of the arrays that programs make: blocks that are freed are kept for the arrays of later calls. A system's
 * allocator gives them back, and each page of new memory is a fault (.2 to 1 us), which takes longer than a kernel's
 * work on it. NumPy's arrays know their allocator (NEP 49). */

#define LEAST_KEPT (4 << 10) /* bytes */
#define MOST_KEPT (16ll << 20)
#define ALL_KEPT (64ll << 20)
#define KEPT_BLOCKS 128
#define HEADER 48 /* in front of an array, with its size: large blocks of glibc begin 16 bytes behind a page */

/* As `PyDataMem_Handler` of NumPy's. */
struct memory_handler {
    char name[127];
    uint8_t version;
    void *context;
    void *(*allocate)(void *, size_t);
    void *(*clear)(void *, size_t, size_t);
    void *(*resize)(void *, void *, size_t);
    void (*release)(void *, void *, size_t);
};

static struct memory_handler *numpys; /* the default one, which has the memory */

static struct {
    char lock;
    int count;
    size_t total; /* bytes */
    char *blocks[KEPT_BLOCKS]; /* the latest last */
} kept;

/* A lock that is taken is not waited for: a thread that had it may be gone, in a forked child. */
static int lock_kept(void) { return !__atomic_test_and_set(&kept.lock, __ATOMIC_ACQUIRE); }
static void unlock_kept(void) { __atomic_clear(&kept.lock, __ATOMIC_RELEASE); }

static size_t *size_in(char *block) { return (size_t *)block; }

static char *remove_kept(int index) {
    char *block = kept.blocks[index];
    kept.total -= *size_in(block);
    --kept.count;
    memmove(&kept.blocks[index], &kept.blocks[index + 1], sizeof block * (size_t)(kept.count - index));
    return block;
}

static int is_kept_size(size_t size) {
#if defined(__SANITIZE_ADDRESS__)
    return 0; /* which finds uses of freed memory */
#endif
    return LEAST_KEPT <= size && size <= MOST_KEPT;
}

static char *taken_block(size_t size) {
    char *found = NULL;
    if (!is_kept_size(size) || !lock_kept()) return NULL;
    for (int k = kept.count; !found && k--;)
        if (*size_in(kept.blocks[k]) == size) found = remove_kept(k);
    unlock_kept();
    return found;
}

static void *array_memory(void *context, size_t size) {
    char *block = taken_block(size);
    if (!block && size < SIZE_MAX - HEADER && (block = numpys->allocate(numpys->context, size + HEADER)))
        *size_in(block) = size;
    return block ? block + HEADER : NULL;
}

static void *clear_memory(void *context, size_t count, size_t size) {
    if (size && count > SIZE_MAX / size) return NULL;
    void *memory = array_memory(context, count * size);
    return memory ? memset(memory, 0, count * size) : NULL;
}

static void free_block(char *block) { numpys->release(numpys->context, block, *size_in(block) + HEADER); }

static void release_memory(void *context, void *memory, size_t size) {
    if (!memory) return;
    char *block = (char *)memory - HEADER;
    if (!is_kept_size(*size_in(block)) || !lock_kept()) {
        free_block(block);
        return;
    }
    while (kept.count == KEPT_BLOCKS || kept.total + *size_in(block) > ALL_KEPT) free_block(remove_kept(0));
    kept.total += *size_in(block);
    kept.blocks[kept.count++] = block;
    unlock_kept();
}

static void *resize_memory(void *context, void *memory, size_t size) {
    if (!memory) return array_memory(context, size);
    char *block = (char *)memory - HEADER;
    block = size < SIZE_MAX - HEADER ? numpys->resize(numpys->context, block, size + HEADER) : NULL;
    if (block) *size_in(block) = size;
    return block ? block + HEADER : NULL;
}

static struct memory_handler own_handler = {
    "kerneltk", 1, NULL, array_memory, clear_memory, resize_memory, release_memory,
};

static struct {
    PyObject *(*set)(PyObject *), *(*get)(void), *own; /* NULL without NumPy's functions */
    int is_known;
} handlers;

static void find_handlers(void) {
    PyObject *module = PyImport_ImportModule("numpy._core._multiarray_umath");
    PyObject *capsule = module ? PyObject_GetAttrString(module, "_ARRAY_API") : NULL;
    void **functions = capsule ? PyCapsule_GetPointer(capsule, NULL) : NULL;
    PyObject *own = functions ? PyCapsule_New(&own_handler, "mem_handler", NULL) : NULL;
    if (own) {
        handlers.set = (PyObject * (*)(PyObject *)) functions[304]; /* as NumPy's headers have them */
        handlers.get = (PyObject * (*)(void)) functions[305];
        handlers.own = own;
    }
    PyErr_Clear();
    Py_XDECREF(capsule);
    Py_XDECREF(module);
    handlers.is_known = 1;
}

/* Has NumPy's arrays made of blocks that are kept; returns the handler to set again, or NULL if the user has another
 * one than NumPy's. */
static PyObject *keep_memory(void) {
    if (!handlers.is_known) find_handlers();
    PyObject *before = handlers.own ? handlers.get() : NULL;
    struct memory_handler *known = before ? PyCapsule_GetPointer(before, "mem_handler") : NULL;
    if (!numpys && known && !strcmp(known->name, "default_allocator")) numpys = known;
    Py_XDECREF(before);
    before = known && known == numpys ? handlers.set(handlers.own) : NULL;
    if (!before) PyErr_Clear();
    return before;
}

static void restore_memory(PyObject *before) {
    PyObject *type, *value, *traceback;
    if (!before) return;
    PyErr_Fetch(&type, &value, &traceback);
    Py_XDECREF(handlers.set(before));
    PyErr_Restore(type, value, traceback);
    Py_DECREF(before);
}

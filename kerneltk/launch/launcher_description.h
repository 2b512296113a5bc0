/* What a launcher knows of its arguments and its plans. A part of _launcher.c. */

/* ---- what is known of arrays of NumPy ---- */

/* The public fields of an array, since NumPy 1.0. */
struct numpy_array {
    PyObject_HEAD
    char *data;
    int nd;
    Py_ssize_t *dimensions, *strides;
    PyObject *base, *descr;
    int flags;
};

enum { C_CONTIGUOUS = 1, F_CONTIGUOUS = 2, WRITEABLE = 0x400 };

/* ---- the description ---- */

enum marshal { ADDRESS, NUMBER, CONVERTED, FLOAT32, BYTES, NOTHING };
enum guard { SAME_DTYPE = 1, DENSE = 2, HAS_MEMORY = 4, ON_DEVICE = 8, WRITABLE = 16 };
enum value_code {
    FUNCTION, STREAM, PARAMETERS, GRID, CHUNK, BLOCK, GX, GY, GZ, BX, BY, BZ, SHARED, BLOCKS, CONSTANT, BLOCKS_OF,
};

struct library;

struct layout { /* of arrays in memory; see `kerneltk.backends.base.ArrayLayout` */
    PyObject *kind, *memory_kind;
    Py_ssize_t dtype, shape, strides, memory, address, contiguous;
};

struct leaf {
    PyObject *type;
    int marshal, is_given, is_written, guards;
    unsigned long long address_unit, bytes_unit; /* what they must be multiples of, less one */
    int scalar; /* the letter of `struct` for a scalar of NumPy's that has its value behind its head; or 0 */
    PyObject *dtype, *convert;
};

struct node { /* an argument, or an item of a structure */
    int leaf; /* -1 for a structure */
    PyObject *type, **fields;
    Py_ssize_t count;
    struct node *items;
};

struct launch_value {
    int64_t code, number;
};

struct overlap {
    int input, output;
};

typedef struct {
    PyObject_HEAD
    vectorcallfunc vectorcall;
    PyObject *kept;    /* what all that is not counted below belongs to */
    PyObject *in_python, *make_slow; /* the launcher in Python, when it is needed */
    PyObject *dispatch, *unplanned, *plans; /* of `kept` */
    PyObject *known;
    PyObject *last;    /* a plan, or NULL */
    PyObject *bound;   /* the plan of a launcher that has one, or NULL */
    int64_t held;      /* bytes of blocks that the known plans may keep */
    int is_grid, has_plans, takes_scratch, returns_tuple, returns_none;
    int current_device_in_key, arguments, leaf_count;
    long long device; /* -1 for none */
    int dlpack_devices[2]; /* DLPack's numbers of where the backend's arrays are; 0 for none */
    struct node *nodes;
    struct leaf leaves[MOST_LEAVES];
    const int *packed, *outputs; /* leaves */
    const struct launch_value *head, *values;
    const struct overlap *overlaps;
    Py_ssize_t packed_count, output_count, head_count, value_count, overlap_count;
    int changing[MOST_VALUES], changing_count; /* the values that a plan does not have */
    PyObject *dense, *device_of; /* functions of an array and of memory; or NULL */
    struct layout layout; /* without a kind: the arrays are NumPy's */
    PyObject *allocate, *allocate_memory, *current_stream, *current_device, *scratch_for;
    intptr_t (*stream_function)(void); /* what `current_stream` returns, or NULL */
    PyObject *(*new_array)(PyObject *kind, const void *shape, PyObject *dtype, PyObject *none); /* or NULL */
    struct {
        int64_t device, size, address;
    } scratch; /* of the default stream, which is not captured; memory for scratch is kept for good */
    PyObject *read_row; /* a `RowReader` */
    PyObject *resolve; /* returns the address of what launches, or 0 */
    uintptr_t native;
    int is_resolved;
    PyObject *launch, *launch_failed; /* of values; of a status and values */
} Launcher;

struct code { /* of a `struct` format */
    int letter, offset, size;
};

struct shape {
    int64_t given[7];
    int64_t numbers[7];
    int is_known;
};

typedef struct {
    PyObject_HEAD
    PyObject *row, *extra;
    PyObject *words; /* of the calls that it is for, as bytes */
    PyObject *key;   /* what the words' addresses stand for is in it */
    PyObject *read;  /* what `RowReader` has made of the row: all below belongs to it */
    PyObject *other; /* another launcher that the plan is for, or NULL; the row's */
    int is_slow, next_shape;
    Py_ssize_t code_count, pointer_count;
    long long grid, chunk, block, scratch;
    int64_t function;
    PyObject *shape, *order, *shapes;
    const int64_t *extents; /* of an array in the order of C that a launch allocates, or NULL */
    Py_ssize_t ndim;
    Py_ssize_t size; /* of a block; scratch memory that is in it begins as zeros, too */
    const char *content; /* of a new block, up to `filled` bytes; the others are zeros */
    Py_ssize_t filled;
    char *spare; /* a block that is not on the stack and that no launch uses, or NULL */
    const struct code *codes;
    int64_t values[MOST_VALUES]; /* of launches, but for those that change */
    const int *pointers;    /* offsets of what the parameters' addresses are of; none: the block itself */
    const int64_t *numbers; /* extents of all leaves, then limits of overlaps */
    const int *extent_starts; /* where among them a leaf's begin, and behind the last one's */
    const int64_t *limits;
    struct shape known_shapes[KNOWN_SHAPES];
    const struct library *makers_library; /* whose outputs `makers` make, on `makers_device` */
    int64_t makers_device;
    PyObject *makers; /* a tuple, or NULL */
} Plan;

/* Of all types that are called: the function lies behind the object's head. */
static PyMemberDef vectorcall_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(Launcher, vectorcall), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

static PyTypeObject *plan_type, *launcher_type;
/* Names: what C calls them, and what they are. */
#define NAMES(name)                                                                                     \
    name(str_dtype, "dtype") name(str_nbytes, "nbytes") name(str_tobytes, "tobytes")                    \
    name(str_configure, "configure") name(str_C, "C") name(str_inline_cache, "_inline_cache")           \
    name(str_dispatcher, "_dispatcher") name(str_recent, "recent") name(str_launch, "_launch")          \
    name(str_shortcut, "_shortcut") name(str_shortcut_out, "_shortcut_out") name(str_out, "out")        \
    name(str_call, "__call__") name(str_common_call, "_common_call") name(str_call_kind, "_call_kind")  \
    name(str_cuda_interface, "__cuda_array_interface__") name(str_itemsize, "itemsize")                 \
    name(str_dlpack, "__dlpack__") name(str_stream, "stream") name(str_max_version, "max_version")      \
    name(str_data, "data") name(str_typestr, "typestr") name(str_shape, "shape")                        \
    name(str_strides, "strides") name(str_mask, "mask")
#define DECLARE(name, value) static PyObject *name;
NAMES(DECLARE)
#undef DECLARE
static PyObject *number_zero, *number_one;
static PyObject *dl_words, *dl_version; /* of calls of `__dlpack__` */

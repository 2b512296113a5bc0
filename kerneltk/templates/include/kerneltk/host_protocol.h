// How units for CPU cores and the runtime reach each other. C++ for units; in C it is the first part of
// the runtime's source.
#ifndef KERNELTK_HOST_PROTOCOL
#define KERNELTK_HOST_PROTOCOL
#ifdef __cplusplus
namespace kerneltk::grid {
#endif

struct engine; /* of an OS thread; it begins with the address of `struct calls` */
struct calls;
struct shared_variable;

/* What a kernel's entry is given; its parameters follow. */
struct launch_head {
    unsigned int grid[3], block[3], dynamic_shared, flags;
    const struct calls *runtime;
    const char *kernel;
};

/* Runs blocks, or items, of a range. */
typedef void (*kernel_function)(const void *args, long long begin, long long end);

/* What a unit says of itself: where its thread is (block and thread), how the loop over the threads of
 * the block is continued, and its memory, in a build that checks it. */
struct unit {
    void (*where)(unsigned int *at);
    void (*go_on)(const void *block, unsigned int first_thread);
    const struct unit_memory *memory;
};

/* Computes what each lane of a collective gets from what each has brought. */
typedef void (*combine_function)(const unsigned long long *in, const unsigned int *extra,
                                 unsigned long long *out, unsigned int lanes);

/* The runtime. Functions that return int say whether other threads ran meanwhile. */
struct calls {
    struct engine *(*enter)(const struct launch_head *, const struct unit *);
    int (*barrier)(struct engine *, const char *file, int line);
    int (*vote)(struct engine *, unsigned int value, unsigned long long *result, const char *file, int line);
    int (*warp)(struct engine *, unsigned int mask, combine_function, unsigned long long value,
                unsigned int extra, unsigned long long *result, const char *file, int line);
    int (*grid_barrier)(struct engine *, const char *file, int line);
    int (*yield)(struct engine *);
    void (*leave)(struct engine *);
    void (*assertion)(struct engine *, const char *condition, const char *file, int line);
    void (*sleep)(struct engine *, unsigned int nanoseconds);
    long long (*time)(void);
    const struct memory_calls *memory;
    int (*meet)(struct engine *, unsigned long long position, int stores);
    void (*refused)(struct engine *, const char *what, const char *lacking, const char *file, int line);
    void (*child)(struct engine *, kernel_function entry, const void *block, unsigned long size);
    void (*ended)(struct engine *, const char *name, const void *address);
    void (*excuse)(struct engine *);
    void (*guard_shared)(struct engine *, char *memory, unsigned long size);
};

/* ---- checks of memory ---- */

/* A frame is where a function's caller's frame and its return address are noted. */
struct memory_calls {
    void (*check)(const void *, unsigned long size, unsigned int how, const void *frame);
    void *(*move)(void *, const void *, unsigned long size, const void *frame);
    void *(*fill)(void *, int, unsigned long size, const void *frame);
    void *(*allocate)(unsigned long size);
    void (*release)(void *, const void *frame);
    void (*misaligned)(const void *, unsigned int alignment, const char *type, const char *file,
                       unsigned int line);
    void (*order)(void);
    void (*pass_barrier)(void);
};

/* As compilers describe a variable. The memory between the two sizes is left free. */
struct global_variable {
    unsigned long begin, size, size_with_gap;
    const char *name, *file;
    unsigned long late;
    const void *place;
    unsigned long other;
};

/* What the runtime knows of a unit. What is behind `origin` is filled in when it is loaded. */
struct unit_memory {
    const struct memory_calls *checks; /* none before the first launch has begun */
    const struct global_variable *globals;
    unsigned long global_count;
    const char *(*origin)(void);
    unsigned long image, image_end;
    long long shared_begin, shared_end;
    const struct shared_variable *shared; /* by where they begin */
    unsigned long shared_count;
};

#ifdef __cplusplus
}  // namespace kerneltk::grid
#endif
#endif

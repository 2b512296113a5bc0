// Entries of kernels: from a block of packed arguments and a range of blocks to calls.
#pragma once

// The memory that all dynamic shared arrays of a unit are: as large as a block's can be.
#define KERNELTK_MOST_SHARED 232448
// A multiple of every page size: launches without dynamic shared memory cannot access its pages.
#ifdef __aarch64__
#define KERNELTK_SHARED_ALIGNMENT 65536
#else
#define KERNELTK_SHARED_ALIGNMENT 4096
#endif
#define KERNELTK_TEXT(number) KERNELTK_TEXT_OF(number)
#define KERNELTK_TEXT_OF(text) #text
#ifdef KERNELTK_DYNAMIC
extern "C" __attribute__((visibility("hidden"))) __thread char
    _kt_dynamic_shared[KERNELTK_MOST_SHARED];
#endif

namespace kerneltk::grid {

// Blocks of a launch with no dynamic shared memory must not use that of their unit. Checks of memory
// find it themselves.
inline void guard_shared([[maybe_unused]] engine* e, [[maybe_unused]] const void* block) {
#if defined(KERNELTK_DYNAMIC) && !defined(KERNELTK_CHECK_MEMORY)
    if (static_cast<const launch*>(block)->dynamic_shared == 0)
        e->runtime->guard_shared(e, _kt_dynamic_shared, KERNELTK_MOST_SHARED);
#endif
}

#ifdef KERNELTK_CHECK_MEMORY
KERNELTK_UNCHECKED  // it is called on the stack of a signal, too, which is no thread's
#endif
inline void where(unsigned int* at) {
    at[0] = blockIdx.x;
    at[3] = threadIdx.x;
    apart();
    at[1] = blockIdx.y;
    at[4] = threadIdx.y;
    apart();
    at[2] = blockIdx.z;
    at[5] = threadIdx.z;
}

// How a parameter is stored: one of a reference type as an address.
template <class P>
struct stored {
    static constexpr bool is_address = false;
    P value;
};
template <class P>
struct stored<P&> {
    static constexpr bool is_address = true;
    P* value;
};

// A parameter is read where a C struct would have it; one that wants more than the block's own
// alignment is copied.
template <class P>
inline __attribute__((always_inline)) P parameter(const char* place) {
    if constexpr (stored<P>::is_address) {
        return *reinterpret_cast<const stored<P>*>(place)->value;
    } else if constexpr (alignof(P) <= 16) {
        return *reinterpret_cast<const P*>(place);
    } else {
        alignas(P) char copy[sizeof(P)];
        __builtin_memcpy(copy, place, sizeof(P));
        return *reinterpret_cast<const P*>(copy);
    }
}

template <class... P>
constexpr size_t parameter_offset(int index) {
    constexpr size_t sizes[] = {sizeof(stored<P>)..., 0};
    constexpr size_t alignments[] = {alignof(stored<P>)..., 1};
    size_t offset = 0;  // from the first parameter
    for (int k = 0;; ++k) {
        offset = (offset + alignments[k] - 1) / alignments[k] * alignments[k];
        if (k == index) return launch_size + offset;
        offset += sizes[k];
    }
}

template <int... K>
struct indices {};
template <int N, int... K>
struct count_up : count_up<N - 1, N - 1, K...> {};
template <int... K>
struct count_up<0, K...> {
    using type = indices<K...>;
};

template <int K, class P>
struct argument {
    P value;
};
template <class Indices, class... P>
struct arguments;
template <int... K, class... P>
struct arguments<indices<K...>, P...> : argument<K, P>... {};

#ifdef KERNELTK_CHECK_MEMORY
constexpr const unit_memory* checked_memory = &_kt_memory;
#else
constexpr const unit_memory* checked_memory = nullptr;
#endif

constexpr unsigned int nobody = ~0u;  // a thread's coordinate

// Tells the runtime that an entry has begun.
inline __attribute__((always_inline)) engine* enter(const void* block, const unit& own) {
    const launch& l = *static_cast<const launch*>(block);
#ifdef KERNELTK_CHECK_MEMORY
    _kt_memory.checks = l.runtime->memory;
    memory::_kt_atomic = 0;  // a launch may have been left within an atomic operation
    set_thread(nobody, 0, 0);
#endif
    own_launch = &l;
    return l.runtime->enter(&l, &own);
}

// Calls `run` for each block of a range, when the coordinates are those of the block.
template <class Run>
inline __attribute__((always_inline)) void each_block(const void* block, long long begin,
                                                      long long end, Run run) {
    const launch& l = *static_cast<const launch*>(block);
    gridDim.x = l.grid[0];
    blockDim.x = l.block[0];
    apart();
    gridDim.y = l.grid[1];
    blockDim.y = l.block[1];
    apart();
    gridDim.z = l.grid[2];
    blockDim.z = l.block[2];
    const long long row = begin / l.grid[0];
    unsigned int x = static_cast<unsigned int>(begin % l.grid[0]);
    unsigned int y = static_cast<unsigned int>(row % l.grid[1]);
    unsigned int z = static_cast<unsigned int>(row / l.grid[1]);
    for (; begin < end; ++begin) {
        blockIdx.x = x;
        apart();
        blockIdx.y = y;
        apart();
        blockIdx.z = z;
        ++blocks_begun;
#ifdef KERNELTK_CHECK_MEMORY
        set_thread(nobody, 0, 0);  // until the first one begins
#endif
        run();
        if (++x < l.grid[0]) continue;
        x = 0;
        if (++y < l.grid[1]) continue;
        y = 0;
        ++z;
    }
}

constexpr unsigned int most_threads = 1024, most_rows = 65535;
constexpr unsigned int farthest = 0x7fffffffu - most_threads;

// Whether the first thread's index along x is far from wrapping around as an int.
inline bool is_near() {
    return static_cast<word>(blockIdx.x) * blockDim.x <= farthest;
}

template <auto F, bool HasDynamic, class Type = decltype(F)>
struct kernel;

template <auto F, bool HasDynamic, class... P>
struct kernel<F, HasDynamic, void (*)(P...) noexcept> : kernel<F, HasDynamic, void (*)(P...)> {};

template <auto F, bool HasDynamic, class... P>
struct kernel<F, HasDynamic, void (*)(P...)> {
    // Runs the threads of a block from one of them on, a row at a time. Returns true when a thread
    // has ended that had been suspended: the others are then somebody else's.
    template <int... K>
    static __attribute__((noinline)) bool near(const char* block, unsigned int x, unsigned int y,
                                               unsigned int z, indices<K...>) {
        // GCC has to meet the call right here, next to what is assumed, to make use of it.
        const arguments<indices<K...>, P...> own = {
            {parameter<P>(block + parameter_offset<P...>(K))}...};
        const unsigned int width = blockDim.x, height = blockDim.y, depth = blockDim.z;
        __builtin_assume(width <= most_threads);
        __builtin_assume(height <= most_threads);
        __builtin_assume(depth <= 64);
        for (; z < depth; ++z, y = 0) {
            for (; y < height; ++y, x = 0) {
                // For who asks while the row runs, if its threads are not written down one by one.
                set_thread(width, y, z);
                apart();
                // With these, index arithmetic on unsigned coordinates is known not to wrap around.
                __builtin_assume(blockIdx.x * blockDim.x <= farthest);
                __builtin_assume(blockIdx.y <= most_rows);
                __builtin_assume(blockIdx.z <= most_rows);
                // Counted along the grid, since that is what kernels compare with their limit: GCC
                // then splits the loop there, and needs no masks.
                const unsigned int first = blockIdx.x * blockDim.x;
                [[maybe_unused]] const unsigned int block_x = blockIdx.x;
                const int end = static_cast<int>(first + width);
                for (int k = static_cast<int>(first + (x & (most_threads - 1))); k < end; ++k) {
                    const unsigned int before = suspensions;
                    threadIdx.x = static_cast<unsigned int>(k) - first;
#ifdef __clang__
                    // It takes any store for one that may change these: written again, they are known.
                    blockIdx.x = block_x;
                    blockDim.x = width;
#endif
#ifdef KERNELTK_EXACT_THREADS
                    apart(); // a fault then names its thread, and nothing is vectorised
#endif
                    F(static_cast<const argument<K, P>&>(own).value...);
                    if (suspensions != before) return true;
                }
            }
        }
        return false;
    }

#ifdef KERNELTK_COLUMNS
    // The same for blocks that are one thread wide: the threads of a column in a row.
    template <int... K>
    static __attribute__((noinline)) bool column(const char* block, unsigned int y, unsigned int z,
                                                 indices<K...>) {
        const arguments<indices<K...>, P...> own = {
            {parameter<P>(block + parameter_offset<P...>(K))}...};
        const unsigned int height = blockDim.y, depth = blockDim.z;
        __builtin_assume(height <= most_threads);
        __builtin_assume(depth <= 64);
        for (; z < depth; ++z, y = 0) {
            set_thread(0, height, z);
            apart();
            __builtin_assume(blockIdx.x <= farthest);
            __builtin_assume(blockIdx.y <= most_rows);
            __builtin_assume(blockIdx.z <= most_rows);
            for (int k = static_cast<int>(y & (most_threads - 1)); k < static_cast<int>(height); ++k) {
                const unsigned int before = suspensions;
                threadIdx.y = static_cast<unsigned int>(k);
#ifdef KERNELTK_EXACT_THREADS
                apart();
#endif
                F(static_cast<const argument<K, P>&>(own).value...);
                if (suspensions != before) return true;
            }
        }
        return false;
    }
#endif

    // The same for blocks so far along x that indices may wrap around: nothing is assumed.
    template <int... K>
    static __attribute__((noinline, cold)) bool far(const char* block, unsigned int x,
                                                    unsigned int y, unsigned int z, indices<K...>) {
        void (*volatile call)(P...) = F;
        for (; z < blockDim.z; ++z, y = 0) {
            for (; y < blockDim.y; ++y, x = 0) {
                for (; x < blockDim.x; ++x) {
                    const unsigned int before = suspensions;
                    set_thread(x, y, z);
                    call(parameter<P>(block + parameter_offset<P...>(K))...);
                    if (suspensions != before) return true;
                }
            }
        }
        return false;
    }

    static inline __attribute__((always_inline)) bool walk(const void* block, unsigned int x,
                                                           unsigned int y, unsigned int z) {
        using every = typename count_up<sizeof...(P)>::type;
        const char* const start = static_cast<const char*>(block);
        if (__builtin_expect(!is_near(), false)) return far(start, x, y, z, every());
#ifdef KERNELTK_COLUMNS
        if (__builtin_expect(blockDim.x == 1, false)) return column(start, y, z, every());
#endif
        return near(start, x, y, z, every());
    }

    static void go_on(const void* block, unsigned int first) {
        const unsigned int row = first / blockDim.x;
        walk(block, first % blockDim.x, row % blockDim.y, row / blockDim.y);
    }

    static inline __attribute__((always_inline)) void blocks(const void* block, long long begin,
                                                             long long end) {
        static constexpr unit own = {where, go_on, checked_memory};
        engine* const e = enter(block, own);
        own_engine = e;
        if constexpr (HasDynamic) guard_shared(e, block);
        each_block(block, begin, end, [=]() __attribute__((always_inline)) {
            if (walk(block, 0, 0, 0)) e->runtime->leave(e);
        });
    }
};

}  // namespace kerneltk::grid

// A kernel's own source may have macros of any name that is not reserved.
template <auto _kt_F, bool _kt_HasDynamic = true>
inline __attribute__((always_inline)) void _kt_run(const void* block, long long begin,
                                                   long long end) {
    kerneltk::grid::kernel<_kt_F, _kt_HasDynamic>::blocks(block, begin, end);
}

namespace kerneltk::grid {

// What `f<<<grid, block, shared, stream>>>` is in a kernel. The launch begins when that of the kernel
// has ended, in the order of all such launches.
template <auto F, class Type>
struct child;
template <auto F, class... P>
struct child<F, void (*)(P...) noexcept> : child<F, void (*)(P...)> {};
template <auto F, class... P>
struct child<F, void (*)(P...)> {
    launch head;

    void operator()(P... values) const {
        static_assert((!stored<P>::is_address && ...),
                      "a kernel that a kernel launches takes pointers, not references");
        constexpr size_t size = parameter_offset<P...>(sizeof...(P));
        alignas(16) char block[size];
        __builtin_memcpy(block, &head, launch_size);
        [[maybe_unused]] int index = 0;
        (static_cast<void>(__builtin_memcpy(block + parameter_offset<P...>(index++),
                                            __builtin_addressof(values), sizeof(P))),
         ...);
        own_engine->runtime->child(own_engine, ::_kt_run<F>, block, size);
    }
};

}  // namespace kerneltk::grid

template <auto _kt_F>
inline auto _kt_child(const char* name, dim3 grid, dim3 block, unsigned long shared = 0,
                      const void* = nullptr) {
    kerneltk::grid::child<_kt_F, decltype(_kt_F)> result{};
    result.head = {{grid.x, grid.y, grid.z}, {block.x, block.y, block.z},
                   static_cast<unsigned int>(shared > ~0u ? ~0u : shared),
                   kerneltk::grid::own_launch->flags & kerneltk::grid::exits_flag,
                   kerneltk::grid::own_launch->runtime, name};
    return result;
}

#define KERNELTK_UNWRAP(...) __VA_ARGS__

// Defines the entry of a kernel, which is named in parentheses: KERNELTK_ENTRY(f_double, (f<double>))
// It is followed by `, false` where the kernel cannot use dynamic shared memory.
#define KERNELTK_ENTRY(symbol, name)                                                             \
    extern "C" __attribute__((__visibility__("default"))) void symbol(                           \
        const void* _kt_block, long long _kt_begin, long long _kt_end) {                         \
        ::_kt_run<&KERNELTK_UNWRAP name>(_kt_block, _kt_begin, _kt_end);                         \
    }

// Defines the memory of dynamic shared arrays, KERNELTK_MOST_SHARED bytes in pages of their own.
#define KERNELTK_DYNAMIC_MEMORY                                                                  \
    asm(".ifndef _kt_dynamic_shared\n"                                                           \
        ".pushsection .tbss,\"awT\"," KERNELTK_NOBITS "\n"                                       \
        ".balign " KERNELTK_TEXT(KERNELTK_SHARED_ALIGNMENT) "\n"                                 \
        ".type _kt_dynamic_shared," KERNELTK_OBJECT "\n"                                         \
        "_kt_dynamic_shared:\n"                                                                  \
        ".zero " KERNELTK_TEXT(KERNELTK_MOST_SHARED) "\n"                                        \
        ".size _kt_dynamic_shared," KERNELTK_TEXT(KERNELTK_MOST_SHARED) "\n"                     \
        ".balign " KERNELTK_TEXT(KERNELTK_SHARED_ALIGNMENT) "\n"                                 \
        ".popsection\n"                                                                          \
        ".endif\n");
// Defines what `extern __shared__ T s[];` declares, by its mangled name. All such arrays of a unit
// are one and the same memory, as on a GPU.
#define KERNELTK_DYNAMIC_SHARED(mangled)                                                         \
    KERNELTK_DYNAMIC_MEMORY                                                                      \
    asm(".globl " mangled "\n"                                                                   \
        ".hidden " mangled "\n"                                                                  \
        ".set " mangled ",_kt_dynamic_shared\n");
#ifdef __aarch64__
#define KERNELTK_NOBITS "%nobits"
#define KERNELTK_OBJECT "%object"
#else
#define KERNELTK_NOBITS "@nobits"
#define KERNELTK_OBJECT "@object"
#endif

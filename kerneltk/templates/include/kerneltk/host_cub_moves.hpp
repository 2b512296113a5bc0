// CUB's functions that move a thread's items from and to memory, for host compilers.
#pragma once
#include <kerneltk/host_cub_base.hpp>

namespace cub {

namespace kerneltk_details {

// Where an item of a thread lies: beside its others, as far from them as the block or the warp has
// threads.
template <int N>
struct blocked {
    int first;
    explicit blocked(int rank) : first(rank * N) {}
    int operator()(int item) const { return first + item; }
};
template <int Threads>
struct striped {
    int first;
    explicit striped(int rank) : first(rank) {}
    int operator()(int item) const { return first + item * Threads; }
};
template <int N>
struct warp_striped {
    int first;
    explicit warp_striped(int rank) : first(rank / 32 * 32 * N + rank % 32) {}
    int operator()(int item) const { return first + item * 32; }
};

}  // namespace kerneltk_details

#define KERNELTK_CUB_MOVES(Where, THREADS, index)                                                \
    template <THREADS class T, int N, class Iterator>                                            \
    inline void LoadDirect##Where(int rank, Iterator from, T (&items)[N]) {                      \
        const kerneltk_details::index at(rank);                                                  \
        for (int k = 0; k < N; ++k) items[k] = from[at(k)];                                      \
    }                                                                                            \
    template <THREADS class T, int N, class Iterator>                                            \
    inline void LoadDirect##Where(int rank, Iterator from, T (&items)[N], int valid) {           \
        const kerneltk_details::index at(rank);                                                  \
        for (int k = 0; k < N; ++k)                                                              \
            if (at(k) < valid) items[k] = from[at(k)];                                           \
    }                                                                                            \
    template <THREADS class T, class Default, int N, class Iterator>                             \
    inline void LoadDirect##Where(int rank, Iterator from, T (&items)[N], int valid,             \
                                  Default otherwise) {                                           \
        for (int k = 0; k < N; ++k) items[k] = otherwise;                                        \
        const kerneltk_details::index at(rank);                                                  \
        for (int k = 0; k < N; ++k)                                                              \
            if (at(k) < valid) items[k] = from[at(k)];                                           \
    }                                                                                            \
    template <THREADS class T, int N, class Iterator>                                            \
    inline void StoreDirect##Where(int rank, Iterator to, T (&items)[N]) {                       \
        const kerneltk_details::index at(rank);                                                  \
        for (int k = 0; k < N; ++k) to[at(k)] = items[k];                                        \
    }                                                                                            \
    template <THREADS class T, int N, class Iterator>                                            \
    inline void StoreDirect##Where(int rank, Iterator to, T (&items)[N], int valid) {            \
        const kerneltk_details::index at(rank);                                                  \
        for (int k = 0; k < N; ++k)                                                              \
            if (at(k) < valid) to[at(k)] = items[k];                                             \
    }
#define KERNELTK_CUB_NONE
#define KERNELTK_CUB_THREADS int THREADS,
KERNELTK_CUB_MOVES(Blocked, KERNELTK_CUB_NONE, blocked<N>)
KERNELTK_CUB_MOVES(WarpStriped, KERNELTK_CUB_NONE, warp_striped<N>)
KERNELTK_CUB_MOVES(Striped, KERNELTK_CUB_THREADS, striped<THREADS>)
#undef KERNELTK_CUB_NONE
#undef KERNELTK_CUB_THREADS
#undef KERNELTK_CUB_MOVES

template <class T, int N>
inline void LoadDirectBlockedVectorized(int rank, T* from, T (&items)[N]) {
    LoadDirectBlocked(rank, from, items);
}
template <class T, int N>
inline void StoreDirectBlockedVectorized(int rank, T* to, T (&items)[N]) {
    StoreDirectBlocked(rank, to, items);
}

namespace kerneltk_details {

// What blocks and warps load and store by, whose `At` says where a thread's item lies.
template <class T, int N, class At>
struct loads {
    template <class Iterator>
    void Load(Iterator from, T (&items)[N]) {
        for (int k = 0; k < N; ++k) items[k] = from[At::at(k)];
    }
    template <class Iterator>
    void Load(Iterator from, T (&items)[N], int valid) {
        for (int k = 0; k < N; ++k)
            if (At::at(k) < valid) items[k] = from[At::at(k)];
    }
    template <class Iterator, class Default>
    void Load(Iterator from, T (&items)[N], int valid, Default otherwise) {
        for (int k = 0; k < N; ++k)
            items[k] = At::at(k) < valid ? static_cast<T>(from[At::at(k)]) : static_cast<T>(otherwise);
    }
};
template <class T, int N, class At>
struct stores {
    template <class Iterator>
    void Store(Iterator to, T (&items)[N]) {
        for (int k = 0; k < N; ++k) to[At::at(k)] = items[k];
    }
    template <class Iterator>
    void Store(Iterator to, T (&items)[N], int valid) {
        for (int k = 0; k < N; ++k)
            if (At::at(k) < valid) to[At::at(k)] = items[k];
    }
};

// A thread's items are neighbours, or as far apart as the group has threads.
template <int Threads, int N, bool IsStriped, class Group>
struct items_of {
    static int at(int item) {
        const int rank = static_cast<int>(Group::rank());
        return IsStriped ? item * Threads + rank : rank * N + item;
    }
};

}  // namespace kerneltk_details

}  // namespace cub

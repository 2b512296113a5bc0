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
struct warp_striped : striped<32> {
    explicit warp_striped(int rank) : striped<32>(rank / 32 * 32 * N + rank % 32) {}
};

// All items, those before the end of what is valid, and another value for the rest.
template <class At, class Iterator, class T, int N>
inline void load(const At& at, Iterator from, T (&items)[N]) {
    for (int k = 0; k < N; ++k) items[k] = from[at(k)];
}
template <class At, class Iterator, class T, int N>
inline void load(const At& at, Iterator from, T (&items)[N], int valid) {
    for (int k = 0; k < N; ++k)
        if (at(k) < valid) items[k] = from[at(k)];
}
template <class At, class Iterator, class T, int N, class Default>
inline void load(const At& at, Iterator from, T (&items)[N], int valid, Default otherwise) {
    for (T& item : items) item = static_cast<T>(otherwise);
    kerneltk_details::load(at, from, items, valid);
}
template <class At, class Iterator, class T, int N>
inline void store(const At& at, Iterator to, T (&items)[N]) {
    for (int k = 0; k < N; ++k) to[at(k)] = items[k];
}
template <class At, class Iterator, class T, int N>
inline void store(const At& at, Iterator to, T (&items)[N], int valid) {
    for (int k = 0; k < N; ++k)
        if (at(k) < valid) to[at(k)] = items[k];
}

}  // namespace kerneltk_details

#define KERNELTK_CUB_MOVES(Where, THREADS, index)                                                \
    template <THREADS class T, int N, class Iterator, class... Limit>                            \
    inline void LoadDirect##Where(int rank, Iterator from, T (&items)[N], Limit... limit) {      \
        kerneltk_details::load(kerneltk_details::index(rank), from, items, limit...);            \
    }                                                                                            \
    template <THREADS class T, int N, class Iterator, class... Limit>                            \
    inline void StoreDirect##Where(int rank, Iterator to, T (&items)[N], Limit... limit) {       \
        kerneltk_details::store(kerneltk_details::index(rank), to, items, limit...);             \
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

// What blocks and warps load, store and exchange by.
template <int Threads, int N, bool IsStriped>
using items_of =
    typename ::kerneltk::conditional<IsStriped, striped<Threads>, blocked<N>>::type;
struct without_storage {
    struct TempStorage {};
    without_storage() = default;
    explicit without_storage(TempStorage&) {}
};
template <class T, int N, class At, class Group>
struct loads : without_storage {
    using without_storage::without_storage;
    template <class Iterator, class... Limit>
    void Load(Iterator from, T (&items)[N], Limit... limit) {
        kerneltk_details::load(At(static_cast<int>(Group::rank())), from, items, limit...);
    }
};
template <class T, int N, class At, class Group>
struct stores : without_storage {
    using without_storage::without_storage;
    template <class Iterator, class... Limit>
    void Store(Iterator to, T (&items)[N], Limit... limit) {
        kerneltk_details::store(At(static_cast<int>(Group::rank())), to, items, limit...);
    }
};
template <class G, class Exchange>
using if_blocks = typename ::kerneltk::enable_if<
    ::kerneltk::is_same<G, typename Exchange::group>::value>::type;
template <class T, int N, int Threads, class Group>
class exchanges {
    using base = exchanges;

public:
    using group = Group;
    using TempStorage = storage<T, Threads * N>;
    explicit exchanges(TempStorage& storage) : storage_(storage) {}

// In place, blocks exchange alone, as CUB has it.
#define KERNELTK_CUB_EXCHANGE(Name, from, to)                                                  \
    template <class U>                                                                         \
    void Name(const T (&in)[N], U (&out)[N], KERNELTK_CUB_PLACE) {                             \
        this->template exchange<to>(in, out, base::template own<from>(), at);                  \
    }                                                                                          \
    template <class G = kerneltk_details::block_group, kerneltk_details::if_blocks<G, base> = 0> \
    void Name(T (&items)[N], KERNELTK_CUB_PLACE) {                                             \
        Name(items, items, at);                                                                \
    }
    KERNELTK_CUB_EXCHANGE(StripedToBlocked, striped<Threads>, blocked<N>)
    KERNELTK_CUB_EXCHANGE(BlockedToStriped, blocked<N>, striped<Threads>)
    // An item of a rank below zero goes nowhere.
#define KERNELTK_CUB_SCATTER(Name, to)                                                         \
    template <class U, class Rank>                                                             \
    void Name(const T (&in)[N], U (&out)[N], Rank (&ranks)[N], KERNELTK_CUB_PLACE) {           \
        const auto from = [&](int k) { return static_cast<int>(ranks[k]); };                   \
        this->template exchange<to>(in, out, from, at);                                        \
    }                                                                                          \
    template <class Rank>                                                                      \
    void Name(T (&items)[N], Rank (&ranks)[N], KERNELTK_CUB_PLACE) {                           \
        Name(items, items, ranks, at);                                                         \
    }
    KERNELTK_CUB_SCATTER(ScatterToStriped, striped<Threads>)

protected:
    template <class At>
    static At own() {
        return At(static_cast<int>(Group::rank()));
    }
    template <class To, class From, class U>
    void exchange(const T (&in)[N], U (&out)[N], From from, const place& at) {
        for (int k = 0; k < N; ++k)
            if (from(k) >= 0) storage_.set(from(k), in[k]);
        Group::wait(at);
        for (int k = 0; k < N; ++k) out[k] = storage_.data()[own<To>()(k)];
        Group::wait_behind(at);
    }

private:
    TempStorage& storage_;
};

}  // namespace kerneltk_details

}  // namespace cub

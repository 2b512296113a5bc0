// Blocks of CUB whose threads look at their neighbours' items, for host compilers.
#pragma once
#include <kerneltk/host_cub_base.hpp>

namespace cub {

namespace kerneltk_details {

// The first and the last item of each thread.
template <class T, int Threads>
struct edges {
    storage<T, Threads> firsts, lasts;

    template <int N>
    void bring(const T (&items)[N], const kerneltk_details::place& at) {
        firsts.set(rank(), items[0]);
        lasts.set(rank(), items[N - 1]);
        kerneltk_details::wait(at);
    }
    const T& before() { return lasts.data()[rank() - 1]; }
    const T& behind() { return firsts.data()[rank() + 1]; }
};

// A predicate of two neighbours may take the later one's index in the block as well.
template <class Predicate, class T>
inline auto differ(Predicate& predicate, const T& x, const T& y, int index, int)
    -> decltype(static_cast<bool>(predicate(x, y, index))) {
    return static_cast<bool>(predicate(x, y, index));
}
template <class Predicate, class T>
inline bool differ(Predicate& predicate, const T& x, const T& y, int, long) {
    return static_cast<bool>(predicate(x, y));
}

}  // namespace kerneltk_details

template <class T, int X, int Y = 1, int Z = 1, int = 0>
class BlockDiscontinuity {
    static constexpr int threads = X * Y * Z;
    using storage_type = kerneltk_details::edges<T, threads>;
    KERNELTK_CUB_STORAGE(BlockDiscontinuity)

    // Whether each item differs from the one before it; the first of the block does, if nothing
    // is before it.
    template <int N, class Flag, class Predicate>
    void heads(Flag (&flags)[N], const T (&items)[N], T* before, Predicate& predicate,
               const T* first) {
        const int rank = kerneltk_details::rank();
        const T* const other = rank == 0 ? first : &storage_.before();
        if (other != nullptr && before != nullptr) before[0] = *other;
        flags[0] = static_cast<Flag>(
            other == nullptr || kerneltk_details::differ(predicate, *other, items[0], rank * N, 0));
        for (int k = 1; k < N; ++k) {
            if (before != nullptr) before[k] = items[k - 1];
            flags[k] = static_cast<Flag>(
                kerneltk_details::differ(predicate, items[k - 1], items[k], rank * N + k, 0));
        }
    }
    template <int N, class Flag, class Predicate>
    void tails(Flag (&flags)[N], const T (&items)[N], Predicate& predicate, const T* last) {
        const int rank = kerneltk_details::rank();
        const T* const other = rank == threads - 1 ? last : &storage_.behind();
        for (int k = 0; k + 1 < N; ++k)
            flags[k] = static_cast<Flag>(
                kerneltk_details::differ(predicate, items[k], items[k + 1], rank * N + k + 1, 0));
        flags[N - 1] =
            static_cast<Flag>(other == nullptr || kerneltk_details::differ(predicate, items[N - 1],
                                                                           *other, rank * N + N, 0));
    }
    template <int N, class Flag, class Predicate>
    void both(Flag (&head_flags)[N], Flag (&tail_flags)[N], const T (&items)[N],
              Predicate& predicate, const T* first, const T* last, const kerneltk_details::place& at) {
        storage_.bring(items, at);
        heads(head_flags, items, nullptr, predicate, first);
        tails(tail_flags, items, predicate, last);
    }

public:
    using neighbour = kerneltk_details::maybe<T>;

    template <int N, class Flag, class Predicate>
    void FlagHeads(Flag (&flags)[N], T (&items)[N], Predicate predicate, neighbour first = {},
                   KERNELTK_CUB_PLACE) {
        storage_.bring(items, at);
        heads(flags, items, nullptr, predicate, first.item);
    }
    // Also gives the item before each; the first of the block has none.
    template <int N, class Flag, class Predicate>
    void FlagHeads(Flag (&flags)[N], T (&items)[N], T (&before)[N], Predicate predicate,
                   neighbour first = {}, KERNELTK_CUB_PLACE) {
        storage_.bring(items, at);
        heads(flags, items, before, predicate, first.item);
    }
    template <int N, class Flag, class Predicate>
    void FlagTails(Flag (&flags)[N], T (&items)[N], Predicate predicate, neighbour last = {},
                   KERNELTK_CUB_PLACE) {
        storage_.bring(items, at);
        tails(flags, items, predicate, last.item);
    }
#define KERNELTK_CUB_BOTH(FIRST, LAST, first, last)                                              \
    template <int N, class Flag, class Predicate>                                                \
    void FlagHeadsAndTails(Flag (&head_flags)[N] FIRST, Flag (&tail_flags)[N] LAST,              \
                           T (&items)[N], Predicate predicate, KERNELTK_CUB_PLACE) {             \
        both(head_flags, tail_flags, items, predicate, first, last, at);                         \
    }
#define KERNELTK_CUB_ITEM(name) , T name
    KERNELTK_CUB_BOTH(, , nullptr, nullptr)
    KERNELTK_CUB_BOTH(, KERNELTK_CUB_ITEM(last), nullptr, &last)
    KERNELTK_CUB_BOTH(KERNELTK_CUB_ITEM(first), , &first, nullptr)
    KERNELTK_CUB_BOTH(KERNELTK_CUB_ITEM(first), KERNELTK_CUB_ITEM(last), &first, &last)
#undef KERNELTK_CUB_ITEM
#undef KERNELTK_CUB_BOTH
};

// Results may be written where the items are.
template <class T, int X, int Y = 1, int Z = 1, int = 0>
class BlockAdjacentDifference {
    static constexpr int threads = X * Y * Z;
    using storage_type = kerneltk_details::edges<T, threads>;
    KERNELTK_CUB_STORAGE(BlockAdjacentDifference)

    // Items behind the valid ones are copied, and the block's first one, if nothing is before it.
    template <int N, class Out, class Operation>
    void left(T (&items)[N], Out (&out)[N], Operation& operation, int valid, const T* first,
              const kerneltk_details::place& at) {
        storage_.bring(items, at);
        const int rank = kerneltk_details::rank();
        for (int k = N - 1; k >= 0; --k) {
            const T* before = nullptr;
            if (rank * N + k < valid)
                before = k > 0 ? &items[k - 1] : rank > 0 ? &storage_.before() : first;
            if (before != nullptr)
                out[k] = operation(items[k], *before);
            else
                out[k] = items[k];
        }
    }
    template <int N, class Out, class Operation>
    void right(T (&items)[N], Out (&out)[N], Operation& operation, int valid, const T* last,
               const kerneltk_details::place& at) {
        storage_.bring(items, at);
        const int rank = kerneltk_details::rank();
        for (int k = 0; k < N; ++k) {
            const T* behind = rank * N + k == threads * N - 1 ? last : nullptr;
            if (rank * N + k < valid - 1)
                behind = k + 1 < N ? &items[k + 1] : &storage_.behind();
            if (behind != nullptr)
                out[k] = operation(items[k], *behind);
            else
                out[k] = items[k];
        }
    }

public:
    using neighbour = kerneltk_details::maybe<T>;

    template <int N, class Out, class Operation>
    void SubtractLeft(T (&items)[N], Out (&out)[N], Operation operation, neighbour first = {},
                      KERNELTK_CUB_PLACE) {
        left(items, out, operation, threads * N, first.item, at);
    }
    template <int N, class Out, class Operation>
    void SubtractLeftPartialTile(T (&items)[N], Out (&out)[N], Operation operation, int valid,
                                 neighbour first = {}, KERNELTK_CUB_PLACE) {
        left(items, out, operation, valid, first.item, at);
    }
    template <int N, class Out, class Operation>
    void SubtractRight(T (&items)[N], Out (&out)[N], Operation operation, neighbour last = {},
                       KERNELTK_CUB_PLACE) {
        right(items, out, operation, threads * N, last.item, at);
    }
    template <int N, class Out, class Operation>
    void SubtractRightPartialTile(T (&items)[N], Out (&out)[N], Operation operation, int valid,
                                  KERNELTK_CUB_PLACE) {
        right(items, out, operation, valid, nullptr, at);
    }
};

// What comes from beyond the block leaves a thread's own variable as it was.
template <class T, int X, int Y = 1, int Z = 1, int = 0>
class BlockShuffle {
    static constexpr int threads = X * Y * Z;
    using storage_type = kerneltk_details::storage<T, threads>;
    KERNELTK_CUB_STORAGE(BlockShuffle)

    const T* bring(const T& item, const kerneltk_details::place& at) {
        storage_.set(kerneltk_details::rank(), item);
        kerneltk_details::wait(at);
        return storage_.data();
    }

public:
    void Offset(T item, T& out, int distance = 1, KERNELTK_CUB_PLACE) {
        const T* const items = bring(item, at);
        const long long from = static_cast<long long>(kerneltk_details::rank()) + distance;
        if (from >= 0 && from < threads) out = items[from];
    }
    void Rotate(T item, T& out, unsigned int distance = 1, KERNELTK_CUB_PLACE) {
        const T* const items = bring(item, at);
        out = items[(kerneltk_details::rank() + distance) % threads];
    }
    template <int N>
    void Up(T (&items)[N], T (&out)[N], KERNELTK_CUB_PLACE) {
        const T* const lasts = bring(items[N - 1], at);
        for (int k = N - 1; k > 0; --k) out[k] = items[k - 1];
        if (kerneltk_details::rank() > 0) out[0] = lasts[kerneltk_details::rank() - 1];
    }
    // Also gives the block's last item.
    template <int N>
    void Up(T (&items)[N], T (&out)[N], T& suffix, KERNELTK_CUB_PLACE) {
        Up(items, out, at);
        suffix = storage_.data()[threads - 1];
    }
    template <int N>
    void Down(T (&items)[N], T (&out)[N], KERNELTK_CUB_PLACE) {
        const T* const firsts = bring(items[0], at);
        for (int k = 0; k + 1 < N; ++k) out[k] = items[k + 1];
        if (kerneltk_details::rank() < threads - 1)
            out[N - 1] = firsts[kerneltk_details::rank() + 1];
    }
    // Also gives the block's first item.
    template <int N>
    void Down(T (&items)[N], T (&out)[N], T& prefix, KERNELTK_CUB_PLACE) {
        Down(items, out, at);
        prefix = storage_.data()[0];
    }
};

}  // namespace cub

// What generated text says around the collectives of jit_block.hpp and jit_sort.hpp.
#pragma once
#include <kerneltk/jit_block.hpp>

namespace kerneltk::jit {

// Where a collective has its storage: what functions pass to each other.
template <class S>
struct storage_place {
    S* place;
};
template <class S, int COUNT>
struct several {
    S items[COUNT];
};
// Warps exchange registers.
struct no_storage {};

namespace ops {

// An operation on `indexed` for a pair whose first item is the index, the second the value.
template <class Op>
struct of_pairs {
    template <class P>
    __device__ __forceinline__ P operator()(const P& a, const P& b) const {
        using pair = indexed<decltype(P::item1), decltype(P::item0)>;
        const pair found = Op()(pair{a.item0, a.item1}, pair{b.item0, b.item1});
        return P{found.index, found.value};
    }
};

}  // namespace ops
}  // namespace kerneltk::jit

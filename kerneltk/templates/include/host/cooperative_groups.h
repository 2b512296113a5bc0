// CUDA's <cooperative_groups.h> for host compilers: groups of a block's threads and the grid.
// A tile has 32 threads or fewer. Functions that wait get the place of their call, for messages.
#pragma once
#include <kerneltk/host_grid.hpp>

namespace cooperative_groups {

namespace kerneltk_details {

__forceinline__ unsigned int block_size() { return blockDim.x * blockDim.y * blockDim.z; }
__forceinline__ unsigned int rank_in_block() {
    return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
}
inline unsigned long long rank_of_block() {
    const unsigned long long row = blockIdx.y + 1ull * gridDim.y * blockIdx.z;
    return blockIdx.x + gridDim.x * row;
}
__forceinline__ unsigned int lane() { return rank_in_block() % 32; }
__forceinline__ unsigned int lanes_below() { return (1u << lane()) - 1; }
__forceinline__ unsigned int count(unsigned int mask) {
    return static_cast<unsigned int>(__builtin_popcount(mask));
}
// The lane of the member of a rank; of none, the own.
inline unsigned int lane_of(unsigned int mask, unsigned int rank) {
    for (unsigned int left = rank; mask != 0; mask &= mask - 1, --left)
        if (left == 0) return static_cast<unsigned int>(__builtin_ctz(mask));
    return lane();
}
// The bits of `bits` at the places of `mask`, packed.
inline unsigned int packed(unsigned int bits, unsigned int mask) {
    unsigned int result = 0;
    for (unsigned int place = 0; mask != 0; mask &= mask - 1, ++place)
        result |= (bits >> __builtin_ctz(mask) & 1u) << place;
    return result;
}

// Gives a value to `exchange`, which takes numbers, in words where it is none.
template <class Value, class Exchange>
__forceinline__ Value by_words(const Value& value, Exchange exchange) {
    if constexpr (kerneltk::is_number<Value>::value && !__is_class(Value)) {
        return exchange(value);
    } else {
        constexpr int words = (sizeof(Value) + 7) / 8;
        unsigned long long word[words] = {};
        __builtin_memcpy(word, &value, sizeof(Value));
        for (int k = 0; k < words; ++k) word[k] = exchange(word[k]);
        Value result = value;
        __builtin_memcpy(&result, word, sizeof(Value));
        return result;
    }
}
template <class Value>
inline Value from_lane(unsigned int mask, const Value& value, unsigned int source, const char* file,
                       int line) {
    return by_words(value, [=](const auto& word) {
        return __shfl_sync(mask, word, static_cast<int>(source), 32, file, line);
    });
}
// A value's bits, for comparisons.
template <class Value>
__forceinline__ unsigned long long bits(const Value& value) {
    static_assert(sizeof(Value) <= 8, "a value of at most eight bytes");
    unsigned long long word = 0;
    __builtin_memcpy(&word, &value, sizeof(Value));
    return word;
}

enum class kind : unsigned char { none, block, grid, lanes };

}  // namespace kerneltk_details

// ---- any group ----

class thread_group {
protected:
    kerneltk_details::kind kind_ = kerneltk_details::kind::none;
    unsigned int mask_ = 0;  // its lanes
    unsigned int meta_rank_ = 0, meta_size_ = 1;

    constexpr explicit thread_group(kerneltk_details::kind kind, unsigned int mask = 0,
                                    unsigned int meta_rank = 0, unsigned int meta_size = 1)
        : kind_(kind), mask_(mask), meta_rank_(meta_rank), meta_size_(meta_size) {}
    friend thread_group tiled_partition(const thread_group&, unsigned int);

public:
    constexpr thread_group() = default;

    unsigned long long num_threads() const {
        using kerneltk_details::kind;
        const unsigned long long in_block = kerneltk_details::block_size();
        if (kind_ == kind::lanes) return kerneltk_details::count(mask_);
        return kind_ == kind::block ? in_block : in_block * gridDim.x * gridDim.y * gridDim.z;
    }
    unsigned long long size() const { return num_threads(); }
    unsigned long long thread_rank() const {
        using kerneltk_details::kind;
        const unsigned long long in_block = kerneltk_details::rank_in_block();
        if (kind_ == kind::lanes)
            return kerneltk_details::count(mask_ & kerneltk_details::lanes_below());
        if (kind_ == kind::block) return in_block;
        return kerneltk_details::rank_of_block() * kerneltk_details::block_size() + in_block;
    }
    bool is_valid() const { return kind_ != kerneltk_details::kind::none; }
    void sync(KERNELTK_PLACE) const {
        using kerneltk_details::kind;
        if (kind_ == kind::block)
            _kt_block_barrier(_kt_file, _kt_line);
        else if (kind_ == kind::grid)
            _kt_grid_barrier(_kt_file, _kt_line);
        else
            _kt_warp_barrier(mask_, _kt_file, _kt_line);
    }
};

// ---- the block ----

template <unsigned int MaxBlockSize = 1024>
struct block_tile_memory {};

class thread_block : public thread_group {
public:
    struct arrival_token {};

    constexpr thread_block() : thread_group(kerneltk_details::kind::block) {}

    static void sync(KERNELTK_PLACE) { _kt_block_barrier(_kt_file, _kt_line); }
    // All of the waiting is done by barrier_wait(): what a thread does before it needs no other.
    arrival_token barrier_arrive() const { return {}; }
    void barrier_wait(arrival_token&&, KERNELTK_PLACE) const { sync(_kt_file, _kt_line); }
    static unsigned int size() { return kerneltk_details::block_size(); }
    static unsigned int num_threads() { return kerneltk_details::block_size(); }
    static unsigned int thread_rank() { return kerneltk_details::rank_in_block(); }
    static dim3 group_index() { return {blockIdx.x, blockIdx.y, blockIdx.z}; }
    static dim3 thread_index() { return {threadIdx.x, threadIdx.y, threadIdx.z}; }
    static dim3 group_dim() { return {blockDim.x, blockDim.y, blockDim.z}; }
    static dim3 dim_threads() { return group_dim(); }
};

inline thread_block this_thread_block() { return {}; }
template <unsigned int MaxBlockSize>
inline thread_block this_thread_block(block_tile_memory<MaxBlockSize>&) {
    return {};
}

// ---- the grid ----

class grid_group : public thread_group {
public:
    struct arrival_token {};

    constexpr grid_group() : thread_group(kerneltk_details::kind::grid) {}

    bool is_valid() const { return _kt_is_cooperative(); }
    void sync(KERNELTK_PLACE) const { _kt_grid_barrier(_kt_file, _kt_line); }
    arrival_token barrier_arrive() const { return {}; }
    void barrier_wait(arrival_token&&, KERNELTK_PLACE) const { sync(_kt_file, _kt_line); }
    static unsigned long long num_blocks() {
        return static_cast<unsigned long long>(gridDim.x) * gridDim.y * gridDim.z;
    }
    static unsigned long long block_rank() { return kerneltk_details::rank_of_block(); }
    static unsigned long long num_threads() {
        return num_blocks() * kerneltk_details::block_size();
    }
    static unsigned long long size() { return num_threads(); }
    static unsigned long long thread_rank() {
        return block_rank() * kerneltk_details::block_size() + kerneltk_details::rank_in_block();
    }
    static dim3 group_dim() { return {gridDim.x, gridDim.y, gridDim.z}; }
    static dim3 dim_blocks() { return group_dim(); }
    static dim3 dim_threads() {
        return {gridDim.x * blockDim.x, gridDim.y * blockDim.y, gridDim.z * blockDim.z};
    }
    static dim3 block_index() { return {blockIdx.x, blockIdx.y, blockIdx.z}; }
    static dim3 thread_index() {
        return {blockIdx.x * blockDim.x + threadIdx.x, blockIdx.y * blockDim.y + threadIdx.y,
                blockIdx.z * blockDim.z + threadIdx.z};
    }
};

inline grid_group this_grid() { return {}; }

// ---- threads that run together, or were chosen ----

class coalesced_group : public thread_group {
    unsigned int rank_of(unsigned int mask) const {
        return kerneltk_details::count(mask & kerneltk_details::lanes_below());
    }

public:
    coalesced_group() : coalesced_group(0, 0, 1) {}
    coalesced_group(unsigned int mask, unsigned int meta_rank, unsigned int meta_size)
        : thread_group(kerneltk_details::kind::lanes, mask, meta_rank, meta_size) {}

    unsigned int get_mask() const { return mask_; }
    unsigned int size() const { return kerneltk_details::count(mask_); }
    unsigned int num_threads() const { return size(); }
    unsigned int thread_rank() const { return rank_of(mask_); }
    unsigned int meta_group_rank() const { return meta_rank_; }
    unsigned int meta_group_size() const { return meta_size_; }
    void sync(KERNELTK_PLACE) const { _kt_warp_barrier(mask_, _kt_file, _kt_line); }

    template <class Value>
    Value shfl(const Value& value, unsigned int rank, KERNELTK_PLACE) const {
        return kerneltk_details::from_lane(mask_, value, kerneltk_details::lane_of(mask_, rank),
                                           _kt_file, _kt_line);
    }
    template <class Value>
    Value shfl_up(const Value& value, unsigned int delta, KERNELTK_PLACE) const {
        const unsigned int rank = thread_rank();
        return shfl(value, rank < delta ? rank : rank - delta, _kt_file, _kt_line);
    }
    template <class Value>
    Value shfl_down(const Value& value, unsigned int delta, KERNELTK_PLACE) const {
        const unsigned int rank = thread_rank();
        return shfl(value, rank + delta < size() ? rank + delta : rank, _kt_file, _kt_line);
    }
    int any(int predicate, KERNELTK_PLACE) const {
        return __any_sync(mask_, predicate, _kt_file, _kt_line);
    }
    int all(int predicate, KERNELTK_PLACE) const {
        return __all_sync(mask_, predicate, _kt_file, _kt_line);
    }
    unsigned int ballot(int predicate, KERNELTK_PLACE) const {
        return kerneltk_details::packed(__ballot_sync(mask_, predicate, _kt_file, _kt_line), mask_);
    }
    template <class Value>
    unsigned int match_any(const Value& value, KERNELTK_PLACE) const {
        const unsigned long long word = kerneltk_details::bits(value);
        return kerneltk_details::packed(__match_any_sync(mask_, word, _kt_file, _kt_line), mask_);
    }
    template <class Value>
    unsigned int match_all(const Value& value, int& same, KERNELTK_PLACE) const {
        const unsigned long long word = kerneltk_details::bits(value);
        return kerneltk_details::packed(__match_all_sync(mask_, word, &same, _kt_file, _kt_line),
                                        mask_);
    }
};

inline coalesced_group coalesced_threads(KERNELTK_PLACE) {
    return {__activemask(_kt_file, _kt_line), 0, 1};
}

// ---- tiles ----

template <unsigned int Size, class Parent = void>
class thread_block_tile;

template <unsigned int Size>
class thread_block_tile<Size, void> : public thread_group {
    static_assert(Size != 0 && (Size & (Size - 1)) == 0, "a tile's size is a power of two");
    static_assert(Size <= 32, "on CPU cores a tile has 32 threads or fewer");

    static constexpr unsigned int low_ = ~0u >> (32 - Size);
    static unsigned int first_lane() { return kerneltk_details::lane() & ~(Size - 1); }
    static unsigned int mask() { return low_ << first_lane(); }

protected:
    // A part of a group of that size.
    explicit thread_block_tile(unsigned int parent)
        : thread_group(kerneltk_details::kind::lanes, mask(),
                       kerneltk_details::rank_in_block() % parent / Size,
                       (parent + Size - 1) / Size) {}

public:
    thread_block_tile() : thread_block_tile(kerneltk_details::block_size()) {}

    static constexpr unsigned int size() { return Size; }
    static constexpr unsigned int num_threads() { return Size; }
    static unsigned int get_mask() { return mask(); }
    static unsigned int thread_rank() { return kerneltk_details::rank_in_block() & (Size - 1); }
    unsigned int meta_group_rank() const { return meta_rank_; }
    unsigned int meta_group_size() const { return meta_size_; }
    static void sync(KERNELTK_PLACE) { _kt_warp_barrier(mask(), _kt_file, _kt_line); }

    template <class Value>
    Value shfl(const Value& value, int rank, KERNELTK_PLACE) const {
        const unsigned int lanes = mask();
        return kerneltk_details::by_words(value, [=](const auto& word) {
            return __shfl_sync(lanes, word, rank, Size, _kt_file, _kt_line);
        });
    }
    template <class Value>
    Value shfl_up(const Value& value, unsigned int delta, KERNELTK_PLACE) const {
        const unsigned int lanes = mask();
        return kerneltk_details::by_words(value, [=](const auto& word) {
            return __shfl_up_sync(lanes, word, delta, Size, _kt_file, _kt_line);
        });
    }
    template <class Value>
    Value shfl_down(const Value& value, unsigned int delta, KERNELTK_PLACE) const {
        const unsigned int lanes = mask();
        return kerneltk_details::by_words(value, [=](const auto& word) {
            return __shfl_down_sync(lanes, word, delta, Size, _kt_file, _kt_line);
        });
    }
    template <class Value>
    Value shfl_xor(const Value& value, unsigned int lane_mask, KERNELTK_PLACE) const {
        const unsigned int lanes = mask();
        return kerneltk_details::by_words(value, [=](const auto& word) {
            return __shfl_xor_sync(lanes, word, static_cast<int>(lane_mask), Size, _kt_file,
                                   _kt_line);
        });
    }
    int any(int predicate, KERNELTK_PLACE) const {
        return __any_sync(mask(), predicate, _kt_file, _kt_line);
    }
    int all(int predicate, KERNELTK_PLACE) const {
        return __all_sync(mask(), predicate, _kt_file, _kt_line);
    }
    unsigned int ballot(int predicate, KERNELTK_PLACE) const {
        return __ballot_sync(mask(), predicate, _kt_file, _kt_line) >> first_lane() & low_;
    }
    template <class Value>
    unsigned int match_any(const Value& value, KERNELTK_PLACE) const {
        const unsigned long long word = kerneltk_details::bits(value);
        return __match_any_sync(mask(), word, _kt_file, _kt_line) >> first_lane() & low_;
    }
    template <class Value>
    unsigned int match_all(const Value& value, int& same, KERNELTK_PLACE) const {
        const unsigned long long word = kerneltk_details::bits(value);
        return __match_all_sync(mask(), word, &same, _kt_file, _kt_line) >> first_lane() & low_;
    }
};

template <unsigned int Size, class Parent>
class thread_block_tile : public thread_block_tile<Size, void> {
public:
    explicit thread_block_tile(const Parent& parent)
        : thread_block_tile<Size, void>(static_cast<unsigned int>(parent.size())) {}
};

template <unsigned int Size, class Parent>
inline thread_block_tile<Size, Parent> tiled_partition(const Parent& parent) {
    return thread_block_tile<Size, Parent>(parent);
}

// ---- parts of groups ----

// Members of ranks [k size, k size + size) are one part.
inline thread_group tiled_partition(const thread_group& parent, unsigned int size) {
    using kerneltk_details::kind;
    assert(parent.kind_ != kind::grid && size != 0 && (size & (size - 1)) == 0 && size <= 32);
    const unsigned int members = static_cast<unsigned int>(parent.size());
    const unsigned int part = static_cast<unsigned int>(parent.thread_rank()) / size;
    unsigned int mask = 0;
    if (parent.kind_ == kind::block)
        mask = ~0u >> (32 - size) << (kerneltk_details::lane() & ~(size - 1));
    else
        for (unsigned int rank = part * size; rank < part * size + size && rank < members; ++rank)
            mask |= 1u << kerneltk_details::lane_of(parent.mask_, rank);
    return thread_group(kind::lanes, mask, part, (members + size - 1) / size);
}
inline thread_group tiled_partition(const thread_block& parent, unsigned int size) {
    return tiled_partition(static_cast<const thread_group&>(parent), size);
}
inline coalesced_group tiled_partition(const coalesced_group& parent, unsigned int size) {
    assert(size != 0 && (size & (size - 1)) == 0 && size <= 32);
    const unsigned int part = parent.thread_rank() / size;
    unsigned int mask = 0;
    for (unsigned int rank = part * size; rank < part * size + size && rank < parent.size(); ++rank)
        mask |= 1u << kerneltk_details::lane_of(parent.get_mask(), rank);
    return {mask, part, (parent.size() + size - 1) / size};
}

// Members of equal labels are one part; of a tile or of coalesced threads.
template <class Group, class Label>
inline coalesced_group labeled_partition(const Group& group, Label label, KERNELTK_PLACE) {
    const unsigned int all = group.get_mask();
    const unsigned int own =
        __match_any_sync(all, kerneltk_details::bits(label), _kt_file, _kt_line);
    const unsigned int first = own & (0u - own);
    const bool leads = first == 1u << kerneltk_details::lane();
    const unsigned int leaders = __ballot_sync(all, leads, _kt_file, _kt_line);
    return {own, kerneltk_details::count(leaders & (first - 1)), kerneltk_details::count(leaders)};
}
template <class Group>
inline coalesced_group binary_partition(const Group& group, bool predicate, KERNELTK_PLACE) {
    const unsigned int all = group.get_mask();
    const unsigned int chosen = __ballot_sync(all, predicate, _kt_file, _kt_line);
    return {predicate ? chosen : all & ~chosen, predicate ? 1u : 0u, 2};
}

// ---- functions of any group ----

template <class Group>
inline void sync(const Group& group, KERNELTK_PLACE) {
    group.sync(_kt_file, _kt_line);
}
template <class Group>
inline auto thread_rank(const Group& group) -> decltype(group.thread_rank()) {
    return group.thread_rank();
}
template <class Group>
inline auto group_size(const Group& group) -> decltype(group.size()) {
    return group.size();
}
template <class Group>
inline auto num_threads(const Group& group) -> decltype(group.num_threads()) {
    return group.num_threads();
}
inline dim3 group_index(const thread_block&) { return thread_block::group_index(); }
inline dim3 thread_index(const thread_block&) { return thread_block::thread_index(); }

// One member calls a function.
template <class Group, class Function, class... Arguments>
inline void invoke_one(const Group& group, Function&& function, Arguments&&... arguments) {
    if (group.thread_rank() == 0) function(static_cast<Arguments&&>(arguments)...);
}
// One member calls a function, and all get its result.
template <class Group, class Function, class... Arguments>
inline auto invoke_one_broadcast(const Group& group, Function&& function,
                                 Arguments&&... arguments)
    -> decltype(function(static_cast<Arguments&&>(arguments)...)) {
    decltype(function(static_cast<Arguments&&>(arguments)...)) result{};
    if (group.thread_rank() == 0) result = function(static_cast<Arguments&&>(arguments)...);
    return group.shfl(result, 0);
}

}  // namespace cooperative_groups

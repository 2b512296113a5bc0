// Totals of a reduction on a GPU: how threads, warps and blocks put theirs together.
//
// Every combination is in a fixed order of threads and blocks. Where several blocks share an
// output, each publishes its total in scratch memory and takes a ticket; the one with the last
// ticket reads them all (the scheme of CUDA's threadFenceReduction sample). Tickets wrap around,
// so that the counters are zero again afterwards.
#pragma once

namespace kerneltk {

// Memory for a value that is not there yet: its type needs no default constructor.
template <class A>
union slot {
    A value;
    __device__ __forceinline__ slot() {}
};

// An element as a word whose lower part is a T: the total of such words has that of their lower parts.
template <class T, class V>
__device__ __forceinline__ unsigned int as_word(const V& value) {
    return static_cast<T>(value);
}
template <class T>
__device__ __forceinline__ unsigned int as_word(int value) {
    return value;
}

// What was reduced so far, where there is no identity: maybe nothing.
template <class A>
struct total {
    slot<A> held;
    bool any = false;

    __device__ __forceinline__ A kt_get() const { return held.value; }
    template <class Reduce>
    __device__ __forceinline__ void kt_add(const Reduce& reduce, const A& x) {
        held.value = any ? reduce(held.value, x) : x;
        any = true;
    }
    template <class Reduce>
    __device__ __forceinline__ void kt_merge(const Reduce& reduce, const total& other) {
        if (other.any) kt_add(reduce, other.held.value);
    }
};

// The alignment of SIZE bytes that are moved as whole words or vectors, where they are some.
template <int SIZE, int LEAST>
constexpr int alignment_of = SIZE % 16 == 0 ? 16
                             : SIZE % 8 == 0 && LEAST <= 8 ? 8
                             : SIZE % 4 == 0 && LEAST <= 4 ? 4 : LEAST;

// A value as words, in which it is moved between lanes and through memory.
template <class A>
union words {
    static constexpr int count = (sizeof(A) + 3) / 4;
    A value;
    unsigned int word[count];
    __device__ __forceinline__ words() {}
};

// The type that a value of 4 or 8 bytes is moved as. Its words would take a compiler a fifth of the
// time of a whole kernel.
template <class T>
constexpr bool is_one_word = (sizeof(T) == 4 || sizeof(T) == 8) && alignof(T) == sizeof(T);

// Reduces over groups of LANES neighbouring lanes, a power of two; the first has the total.
template <int LANES, class Merge, class T>
__device__ __forceinline__ void reduce_lanes(const Merge& merge, T& own) {
#pragma unroll
    for (int distance = LANES / 2; distance > 0; distance /= 2) {
        if constexpr (is_one_word<T>) {
            using word = word_of<sizeof(T)>;
            const word there =
                __shfl_down_sync(0xffffffffu, __builtin_bit_cast(word, own), distance, LANES);
            own = merge(own, __builtin_bit_cast(T, there));
        } else {
            words<T> here, there;
            here.value = own;
#pragma unroll
            for (int k = 0; k < words<T>::count; ++k)
                there.word[k] = __shfl_down_sync(0xffffffffu, here.word[k], distance, LANES);
            own = merge(own, there.value);
        }
    }
}

// What a block publishes: a value in a slot of whole words, or whole vectors where it is as large.
template <class T>
struct alignas(sizeof(words<T>) % 16 ? alignof(words<T>) : 16) published {
    words<T> content;
};

template <class T>
__device__ __forceinline__ void publish(published<T>* to, const T& value) {
    if constexpr (is_one_word<T>) {
        to->content.value = value;
    } else {
        words<T> content;
#pragma unroll
        for (int k = 0; k < words<T>::count; ++k) content.word[k] = 0;  // padding is read as well
        content.value = value;
#pragma unroll
        for (int k = 0; k < words<T>::count; ++k) to->content.word[k] = content.word[k];
    }
}

// Reads what another block has published; the first level of cache may hold older bytes.
template <class T>
__device__ __forceinline__ void read_published(words<T>& value, const published<T>* from) {
    if constexpr (is_one_word<T>) {
        using word = word_of<sizeof(T)>;
        value.value = __builtin_bit_cast(T, __ldcg(reinterpret_cast<const word*>(from)));
    } else if constexpr (sizeof(words<T>) % 16 == 0) {
#pragma unroll
        for (int k = 0; k < words<T>::count / 4; ++k) {
            const uint4 vector = __ldcg(reinterpret_cast<const uint4*>(from) + k);
            value.word[4 * k] = vector.x;
            value.word[4 * k + 1] = vector.y;
            value.word[4 * k + 2] = vector.z;
            value.word[4 * k + 3] = vector.w;
        }
    } else {
#pragma unroll
        for (int k = 0; k < words<T>::count; ++k) value.word[k] = __ldcg(from->content.word + k);
    }
}

// Returns whether this block is the last of `count` to come here; all its threads must call it
// after they have published. The barriers and the ticket's order make what was published before
// any ticket visible behind the last one.
__device__ __forceinline__ bool is_last_block(unsigned int* counter, unsigned int count) {
    __shared__ bool last;
    __syncthreads();
    if (threadIdx.x == 0) {
        unsigned int ticket;
        asm volatile("atom.acq_rel.gpu.global.inc.u32 %0, [%1], %2;"
                     : "=r"(ticket)
                     : "l"(counter), "r"(count - 1)
                     : "memory");
        last = ticket == count - 1;
    }
    __syncthreads();
    return last;
}

}  // namespace kerneltk

// Copies by all threads of a group.
#pragma once

namespace kerneltk::jit {

// An empty value that stands for a group of threads; what it is asked is known where it is asked.
struct thread_group {};

template <class Word>
__device__ __forceinline__ void copy_words(void* to, const void* from, unsigned long long size,
                                           unsigned long long rank, unsigned long long threads) {
    Word* const into = static_cast<Word*>(to);
    const Word* const source = static_cast<const Word*>(from);
    for (unsigned long long k = rank; k < size / sizeof(Word); k += threads) into[k] = source[k];
}

// Copies `size` bytes: the part of the thread of this rank among so many. It is promised that both
// places and the size are multiples of ALIGNMENT bytes.
template <int ALIGNMENT>
__device__ __forceinline__ void copy_part(void* to, const void* from, unsigned long long size,
                                          unsigned long long rank, unsigned long long threads) {
    struct alignas(16) wide {
        unsigned int words[4];
    };
    const unsigned long long bits = reinterpret_cast<unsigned long long>(to) |
                                    reinterpret_cast<unsigned long long>(from) | size;
    if (ALIGNMENT >= 16 || bits % 16 == 0)
        copy_words<wide>(to, from, size, rank, threads);
    else if (ALIGNMENT >= 4 || bits % 4 == 0)
        copy_words<unsigned int>(to, from, size, rank, threads);
    else
        copy_words<unsigned char>(to, from, size, rank, threads);
}

}  // namespace kerneltk::jit

// PTX's products of small matrices for CPU cores: what the lanes of a warp hold of each, brought
// together, and multiplied one element after the other.
#pragma once
#include <kerneltk/host_ptx_half.hpp>

namespace kerneltk::ptx {

struct tf32 {
    unsigned int bits;
    operator float() const { return __builtin_bit_cast(float, bits & ~0x1fffu); }
};
template <class T>
struct sum_of {
    using type = float;
};
template <>
struct sum_of<int> {
    using type = unsigned int;  // wraps around
};

// Of each lane of each warp: eight words at most. A block has a thread of the OS for itself.
static thread_local unsigned int lane_words[32][32][8];

// The words of all lanes. They stay until the lanes have met again.
template <int COUNT>
inline unsigned int (*gathered(const unsigned int* words, const char* file, int line))[8] {
    auto* const all = lane_words[_kt_warp()];
    for (int k = 0; k < COUNT; ++k) all[_kt_lane()][k] = words[k];
    __syncwarp(~0u, file, line);
    return all;
}

// 8 by 8 elements of 16 bits each; lanes 8k to 8k+7 have the addresses of the k-th matrix's rows.
template <int COUNT, bool TRANSPOSED>
inline void load_matrices(unsigned int* result, const char* row, KERNELTK_PLACE) {
    const unsigned long long address = reinterpret_cast<unsigned long long>(row);
    const unsigned int words[2] = {static_cast<unsigned int>(address),
                                   static_cast<unsigned int>(address >> 32)};
    const auto* all = gathered<2>(words, _kt_file, _kt_line);
    const unsigned int lane = _kt_lane();
    for (int matrix = 0; matrix < COUNT; ++matrix) {
        unsigned short elements[2];
        for (unsigned int k = 0; k < 2; ++k) {
            unsigned int i = lane / 4, j = lane % 4 * 2 + k;
            if (TRANSPOSED) {
                const unsigned int other = i;
                i = j;
                j = other;
            }
            const unsigned int* from = all[8 * matrix + i];
            const char* rows = reinterpret_cast<const char*>(
                from[0] | static_cast<unsigned long long>(from[1]) << 32);
            __builtin_memcpy(&elements[k], rows + 2 * j, 2);
        }
        __builtin_memcpy(&result[matrix], elements, 4);
    }
    __syncwarp(~0u, _kt_file, _kt_line);
}

// D = A B + C of 16 rows, 8 columns and a depth. Registers hold elements as the chapter "Matrix
// multiply-accumulate operation using mma instruction" draws them: lane 4 g + t has of A rows g and
// g + 8, of B column g, of C columns 2 t and 2 t + 1.
template <class Element, class Sum, int DEPTH>
inline void multiply_matrices(unsigned int* d, const unsigned int* a, const unsigned int* b,
                              const unsigned int* c, KERNELTK_PLACE) {
    constexpr int in_word = 4 / static_cast<int>(sizeof(Element));
    constexpr int steps = DEPTH / (4 * in_word);  // words of a row that a lane has
    unsigned int words[8];
    for (int k = 0; k < 2 * steps; ++k) words[k] = a[k];
    for (int k = 0; k < steps; ++k) words[2 * steps + k] = b[k];
    const auto* all = gathered<3 * steps>(words, _kt_file, _kt_line);
    const unsigned int group = _kt_lane() / 4, column = _kt_lane() % 4 * 2;
    Sum sums[4];
    __builtin_memcpy(static_cast<void*>(sums), c, sizeof(sums));
    for (unsigned int n = 0; n < 4; ++n) {
        typename sum_of<Sum>::type sum = sums[n];
        for (int step = 0; step < steps; ++step)
            for (unsigned int t = 0; t < 4; ++t) {
                Element x[in_word], y[in_word];
                __builtin_memcpy(static_cast<void*>(x), &all[4 * group + t][2 * step + n / 2], 4);
                __builtin_memcpy(static_cast<void*>(y),
                                 &all[4 * (column + n % 2) + t][2 * steps + step], 4);
                for (int k = 0; k < in_word; ++k)
                    sum += static_cast<typename sum_of<Sum>::type>(x[k]) *
                           static_cast<typename sum_of<Sum>::type>(y[k]);
            }
        sums[n] = static_cast<Sum>(sum);
    }
    __builtin_memcpy(d, static_cast<const void*>(sums), sizeof(sums));
    __syncwarp(~0u, _kt_file, _kt_line);
}

}  // namespace kerneltk::ptx

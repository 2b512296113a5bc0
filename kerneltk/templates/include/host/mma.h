// CUDA's <mma.h> for host compilers: products of matrices that the lanes of a warp share, computed one
// element after the other. Products of 16-bit numbers are added up as float, in the order of k, where a
// tensor core has an order of its own.
#pragma once
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <kerneltk/host_grid.hpp>

namespace nvcuda::wmma {

struct matrix_a {};
struct matrix_b {};
struct accumulator {};
struct row_major {};
struct col_major {};
namespace precision {
struct tf32;
}
enum layout_t { mem_row_major, mem_col_major };

namespace kerneltk_details {

// The element's type in registers, what it is multiplied as, and what products are added up as.
template <class T>
struct element {
    using storage = T;
    static float value(T x) { return static_cast<float>(x); }
};
template <>
struct element<precision::tf32> {
    using storage = float;
    // The lowest bits take no part.
    static float value(float x) {
        return __builtin_bit_cast(float, __builtin_bit_cast(unsigned int, x) & ~0x1fffu);
    }
};
template <>
struct element<double> {
    using storage = double;
    static double value(double x) { return x; }
};
template <>
struct element<signed char> {
    using storage = signed char;
    static int value(signed char x) { return x; }
};
template <>
struct element<unsigned char> {
    using storage = unsigned char;
    static int value(unsigned char x) { return x; }
};
template <class T>
struct sum_of {
    using type = float;
};
template <>
struct sum_of<double> {
    using type = double;
};
template <>
struct sum_of<int> {
    using type = unsigned int;  // wraps around
};

template <class T, class Sum>
struct is_known {
    static constexpr bool value = false;
};
#define KERNELTK_WMMA(T, Sum)                \
    template <>                              \
    struct is_known<T, Sum> {                \
        static constexpr bool value = true;  \
    };
KERNELTK_WMMA(__half, float)
KERNELTK_WMMA(__half, __half)
KERNELTK_WMMA(__nv_bfloat16, float)
KERNELTK_WMMA(signed char, int)
KERNELTK_WMMA(unsigned char, int)
KERNELTK_WMMA(precision::tf32, float)
KERNELTK_WMMA(double, double)
#undef KERNELTK_WMMA

template <class Use, int M, int N, int K>
struct extent;
template <int M, int N, int K>
struct extent<matrix_a, M, N, K> {
    static constexpr int rows = M, columns = K;
};
template <int M, int N, int K>
struct extent<matrix_b, M, N, K> {
    static constexpr int rows = K, columns = N;
};
template <int M, int N, int K>
struct extent<accumulator, M, N, K> {
    static constexpr int rows = M, columns = N;
};

template <class T, class Sum, int M, int N, int K>
constexpr bool has_shape =
    __is_same(T, double)            ? M == 8 && N == 8 && K == 4
    : __is_same(T, precision::tf32) ? M == 16 && N == 16 && K == 8
                                    : K == 16 && ((M == 16 && N == 16) || (M == 32 && N == 8) ||
                                                  (M == 8 && N == 32));

// What the lanes of each warp bring. A block has a thread of the OS for itself.
static thread_local unsigned char brought[32][2][512 * 4];

}  // namespace kerneltk_details

// Which lane has which element is not specified, nor how many there are: here lane l has the
// (32 i + l)-th element by rows as its i-th.
template <class Use, int M, int N, int K, class T, class Layout = void>
class fragment {
    using extent_ = kerneltk_details::extent<Use, M, N, K>;

public:
    using element_type = T;
    using storage_element_type = typename kerneltk_details::element<T>::storage;
    static constexpr int num_elements = extent_::rows * extent_::columns / 32;
    static constexpr int num_storage_elements = num_elements;
    storage_element_type x[num_elements];

    // Calls a function with the number of each of this lane's elements, its row and its column.
    template <class Function>
    static __forceinline__ void _kt_each(Function function) {
        const int lane = static_cast<int>(_kt_lane());
        for (int k = 0; k < num_elements; ++k)
            function(k, (32 * k + lane) / extent_::columns, (32 * k + lane) % extent_::columns);
    }
};

template <class Use, int M, int N, int K, class T, class Layout, class Value>
inline void fill_fragment(fragment<Use, M, N, K, T, Layout>& a, const Value& value) {
    for (auto& x : a.x) x = value;
}

template <class Use, int M, int N, int K, class T, class Layout, class Memory>
inline void load_matrix_sync(fragment<Use, M, N, K, T, Layout>& a, const Memory* from,
                             unsigned int stride, KERNELTK_PLACE) {
    static_assert(!__is_same(Use, accumulator), "an accumulator is loaded with its layout");
    _kt_warp_barrier(~0u, _kt_file, _kt_line);
    a._kt_each([&](int k, int row, int column) {
        a.x[k] = __is_same(Layout, row_major) ? from[row * static_cast<size_t>(stride) + column]
                                              : from[column * static_cast<size_t>(stride) + row];
    });
}
template <int M, int N, int K, class T, class Memory>
inline void load_matrix_sync(fragment<accumulator, M, N, K, T>& a, const Memory* from,
                             unsigned int stride, layout_t layout, KERNELTK_PLACE) {
    _kt_warp_barrier(~0u, _kt_file, _kt_line);
    a._kt_each([&](int k, int row, int column) {
        a.x[k] = layout == mem_row_major ? from[row * static_cast<size_t>(stride) + column]
                                         : from[column * static_cast<size_t>(stride) + row];
    });
}
template <int M, int N, int K, class T, class Memory>
inline void store_matrix_sync(Memory* to, const fragment<accumulator, M, N, K, T>& a,
                              unsigned int stride, layout_t layout, KERNELTK_PLACE) {
    a._kt_each([&](int k, int row, int column) {
        (layout == mem_row_major ? to[row * static_cast<size_t>(stride) + column]
                                 : to[column * static_cast<size_t>(stride) + row]) = a.x[k];
    });
    _kt_warp_barrier(~0u, _kt_file, _kt_line);
}

// D = A B + C
template <int M, int N, int K, class T, class LayoutA, class LayoutB, class Sum, class Start>
inline void mma_sync(fragment<accumulator, M, N, K, Sum>& d,
                     const fragment<matrix_a, M, N, K, T, LayoutA>& a,
                     const fragment<matrix_b, M, N, K, T, LayoutB>& b,
                     const fragment<accumulator, M, N, K, Start>& c, bool saturate = false,
                     KERNELTK_PLACE) {
    using details = kerneltk_details::element<T>;
    using storage = typename details::storage;
    using sum_type = typename kerneltk_details::sum_of<Sum>::type;
    static_assert(kerneltk_details::is_known<T, Sum>::value &&
                      kerneltk_details::is_known<T, Start>::value,
                  "tensor cores do not multiply these types");
    static_assert(kerneltk_details::has_shape<T, Sum, M, N, K>,
                  "tensor cores have no matrices of this shape for this type");
    auto& memory = kerneltk_details::brought[_kt_warp()];
    storage* const left = reinterpret_cast<storage*>(memory[0]);
    storage* const right = reinterpret_cast<storage*>(memory[1]);
    a._kt_each([&](int k, int row, int column) { left[row * K + column] = a.x[k]; });
    b._kt_each([&](int k, int row, int column) { right[column * K + row] = b.x[k]; });
    _kt_warp_barrier(~0u, _kt_file, _kt_line);
    d._kt_each([&](int k, int row, int column) {
        sum_type sum{};
        long long exact = 0;  // of integers
        for (int i = 0; i < K; ++i) {
            const auto product =
                details::value(left[row * K + i]) * details::value(right[column * K + i]);
            sum += static_cast<sum_type>(product);
            if (__is_same(Sum, int)) exact += static_cast<long long>(product);
        }
        if (__is_same(Sum, int) && saturate) {
            exact += static_cast<long long>(c.x[k]);
            d.x[k] = static_cast<Sum>(exact > 2147483647    ? 2147483647
                                      : exact < -2147483648 ? -2147483648
                                                            : exact);
        } else {
            d.x[k] = static_cast<Sum>(sum + static_cast<sum_type>(c.x[k]));
        }
    });
    _kt_warp_barrier(~0u, _kt_file, _kt_line);
}

// Rounded to ten bits behind the point; a tie goes away from zero.
inline float __float_to_tf32(float x) {
    const unsigned int bits = __builtin_bit_cast(unsigned int, x);
    if ((bits & 0x7f800000u) == 0x7f800000u) return x;
    return __builtin_bit_cast(float, (bits + 0x1000u) & ~0x1fffu);
}

}  // namespace nvcuda::wmma

// Products of matrices by the lanes of a warp. Sums are whole numbers, and so exact.
#include <mma.h>

using namespace nvcuda;

template <class T> struct number {
    static __device__ T of(int x) { return T(x); }
};
template <> struct number<half> {
    static __device__ half of(int x) { return __int2half_rn(x); }
};
template <> struct number<__nv_bfloat16> {
    static __device__ __nv_bfloat16 of(int x) { return __int2bfloat16_rn(x); }
};

// A by rows, B by columns: D = 2 (A B + C), one warp a tile, the depth in steps.
template <class T, class Memory, class Sum, int M, int N, int K, class LayoutB>
__global__ void multiply(const int* a, const int* b, const int* c, int* d, int depth)
{
    __shared__ __align__(32) Memory left[32 * 16], right[32 * 16];
    __shared__ __align__(32) Sum tile[M * N];
    wmma::fragment<wmma::matrix_a, M, N, K, T, wmma::row_major> x;
    wmma::fragment<wmma::matrix_b, M, N, K, T, LayoutB> y;
    wmma::fragment<wmma::accumulator, M, N, K, Sum> sums, start;
    for (int k = threadIdx.x; k < M * N; k += 32) tile[k] = number<Sum>::of(c[k]);
    __syncwarp();
    wmma::load_matrix_sync(start, tile, N, wmma::mem_row_major);
    wmma::fill_fragment(sums, number<Sum>::of(0));
    for (int first = 0; first < depth; first += K) {
        __syncwarp();
        for (int k = threadIdx.x; k < M * K; k += 32)
            left[k] = number<Memory>::of(a[k / K * depth + first + k % K]);
        for (int k = threadIdx.x; k < K * N; k += 32)
            right[k] = number<Memory>::of(b[(first + k / N) * N + k % N]);
        __syncwarp();
        wmma::load_matrix_sync(x, left, K);
        wmma::load_matrix_sync(y, right, N);
        wmma::mma_sync(sums, x, y, sums);
    }
    for (int k = 0; k < sums.num_elements; ++k)
        sums.x[k] = (sums.x[k] + start.x[k]) * number<Sum>::of(2);
    wmma::store_matrix_sync(tile, sums, M, wmma::mem_col_major);
    for (int k = threadIdx.x; k < M * N; k += 32)
        d[k % M * N + k / M] = static_cast<int>(static_cast<float>(tile[k]));
}

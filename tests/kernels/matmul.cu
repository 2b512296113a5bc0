// Dense matrix products.

// c (m × n) = a (m × k) · b (k × n), all in row-major order; blocks of TILE × TILE threads.
template <typename T, int TILE>
__global__ void matmul_tiled(const T* a, const T* b, T* c, int m, int n, int k)
{
    __shared__ T a_tile[TILE][TILE];
    __shared__ T b_tile[TILE][TILE];
    const int tx = threadIdx.x;
    const int ty = threadIdx.y;
    const int row = blockIdx.y * TILE + ty;
    const int column = blockIdx.x * TILE + tx;

    T sum = T(0);
    for (int start = 0; start < k; start += TILE) {
        a_tile[ty][tx] = row < m && start + tx < k ? a[row * k + start + tx] : T(0);
        b_tile[ty][tx] = start + ty < k && column < n ? b[(start + ty) * n + column] : T(0);
        __syncthreads();
#pragma unroll
        for (int i = 0; i < TILE; ++i) {
            sum += a_tile[ty][i] * b_tile[i][tx];
        }
        __syncthreads();
    }
    if (row < m && column < n) {
        c[row * n + column] = sum;
    }
}

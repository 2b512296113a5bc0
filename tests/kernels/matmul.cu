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

// Every thread computes a column of four results from registers.
extern "C" __global__ void __launch_bounds__(128)
matmul_registers(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c,
                 int n)
{
    constexpr int WIDTH = 32;
    constexpr int DEPTH = 4;
    __shared__ float a_tile[16][WIDTH];
    __shared__ float b_tile[WIDTH][WIDTH];
    const int column = blockIdx.x * WIDTH + threadIdx.x;
    const int row = blockIdx.y * 16;
    float sums[DEPTH] = {};

    for (int start = 0; start < n; start += WIDTH) {
        for (int y = threadIdx.y; y < WIDTH; y += 4) {
            b_tile[y][threadIdx.x] = b[(start + y) * n + column];
            if (y < 16) {
                a_tile[y][threadIdx.x] = a[(row + y) * n + start + threadIdx.x];
            }
        }
        __syncthreads();
        for (int i = 0; i < WIDTH; ++i) {
            float factor = b_tile[i][threadIdx.x];
            for (int d = 0; d < DEPTH; ++d) {
                sums[d] += a_tile[threadIdx.y * DEPTH + d][i] * factor;
            }
        }
        __syncthreads();
    }
    for (int d = 0; d < DEPTH; ++d) {
        c[(row + threadIdx.y * DEPTH + d) * n + column] = sums[d];
    }
}

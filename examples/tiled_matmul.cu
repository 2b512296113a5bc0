// A product of matrices, by square tiles that a block keeps in its shared memory.

constexpr int TILE = 16;

// c (rows x columns) = a (rows x depth) * b (depth x columns), all in C order.
extern "C" __global__ void matmul(const float* a, const float* b, float* c, int rows, int columns,
                                  int depth) {
    __shared__ float tile_a[TILE][TILE], tile_b[TILE][TILE];
    const int row = blockIdx.y * TILE + threadIdx.y;
    const int column = blockIdx.x * TILE + threadIdx.x;
    float sum = 0;
    for (int first = 0; first < depth; first += TILE) {
        const int k = first + threadIdx.x, l = first + threadIdx.y;
        tile_a[threadIdx.y][threadIdx.x] = row < rows && k < depth ? a[row * depth + k] : 0;
        tile_b[threadIdx.y][threadIdx.x] = l < depth && column < columns ? b[l * columns + column] : 0;
        __syncthreads();  // both tiles are there
        for (int m = 0; m < TILE; ++m) sum += tile_a[threadIdx.y][m] * tile_b[m][threadIdx.x];
        __syncthreads();  // nobody reads them any more
    }
    if (row < rows && column < columns) c[row * columns + column] = sum;
}

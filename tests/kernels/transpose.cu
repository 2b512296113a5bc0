// Matrix transpose through a shared tile, padded against bank conflicts.

#define TILE 32
#define ROWS 8

template <typename T>
__global__ void transpose(const T* __restrict__ in, T* __restrict__ out, int rows, int columns)
{
    __shared__ T tile[TILE][TILE + 1];

    int column = blockIdx.x * TILE + threadIdx.x;
    int row = blockIdx.y * TILE + threadIdx.y;
    for (int k = 0; k < TILE; k += ROWS) {
        if (column < columns && row + k < rows) {
            tile[threadIdx.y + k][threadIdx.x] = in[(row + k) * columns + column];
        }
    }
    __syncthreads();

    column = blockIdx.y * TILE + threadIdx.x;
    row = blockIdx.x * TILE + threadIdx.y;
    for (int k = 0; k < TILE; k += ROWS) {
        if (column < rows && row + k < columns) {
            out[(row + k) * rows + column] = tile[threadIdx.x][threadIdx.y + k];
        }
    }
}

// A square matrix in place: blocks on and above the diagonal swap two tiles.
extern "C" __global__ void transpose_in_place(int* matrix, int n)
{
    __shared__ int upper[16][17];
    __shared__ int lower[16][17];
    if (blockIdx.y > blockIdx.x) {
        return;
    }
    const int x = threadIdx.x;
    const int y = threadIdx.y;
    const int column = blockIdx.x * 16;
    const int row = blockIdx.y * 16;
    const bool in_upper = row + y < n && column + x < n;
    const bool in_lower = column + y < n && row + x < n;

    if (in_upper) upper[y][x] = matrix[(row + y) * n + column + x];
    if (in_lower) lower[y][x] = matrix[(column + y) * n + row + x];
    __syncthreads();
    if (in_upper) matrix[(row + y) * n + column + x] = lower[x][y];
    if (in_lower) matrix[(column + y) * n + row + x] = upper[x][y];
}

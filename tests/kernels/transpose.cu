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

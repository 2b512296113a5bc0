// How high each cell of a grid lies above the mean of its neighbourhood: crests are positive,
// valleys negative (the topographic position index).

namespace {

constexpr int SIDE = 32;  // cells along each side of the square that a block works on

__device__ int clamped(int place, int count) {
    return place < 0 ? 0 : place < count ? place : count - 1;
}

}  // namespace

// The neighbourhood is a square of 2 * RADIUS + 1 cells; cells beyond the border repeat it.
// Blocks are 32 wide and of any height.
template <int RADIUS>
__global__ void position(const float* __restrict__ height, float* __restrict__ above, int rows,
                         int columns) {
    constexpr int HALO = SIDE + 2 * RADIUS, WIDTH = 2 * RADIUS + 1;
    __shared__ float cells[HALO][HALO];
    __shared__ double sums[HALO][SIDE];  // of WIDTH neighbours in a row
    const int first_row = blockIdx.y * SIDE, first_column = blockIdx.x * SIDE;

    for (int y = threadIdx.y; y < HALO; y += blockDim.y) {
        const long long row = clamped(first_row + y - RADIUS, rows);
        for (int x = threadIdx.x; x < HALO; x += SIDE)
            cells[y][x] = height[row * columns + clamped(first_column + x - RADIUS, columns)];
    }
    __syncthreads();

    for (int y = threadIdx.y; y < HALO; y += blockDim.y) {
        double sum = 0;
        for (int x = 0; x < WIDTH; ++x) sum += cells[y][threadIdx.x + x];
        sums[y][threadIdx.x] = sum;
    }
    __syncthreads();

    const int column = first_column + threadIdx.x;
    if (column >= columns) return;
    for (int y = threadIdx.y; y < SIDE && first_row + y < rows; y += blockDim.y) {
        double sum = 0;
        for (int k = 0; k < WIDTH; ++k) sum += sums[y + k][threadIdx.x];
        const double centre = cells[y + RADIUS][threadIdx.x + RADIUS];
        above[(long long)(first_row + y) * columns + column] = centre - sum / (WIDTH * WIDTH);
    }
}

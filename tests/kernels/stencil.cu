// Stencils whose halo is loaded to shared memory.
#include "common.cuh"

namespace {
constexpr int TILE_X = 16;
constexpr int TILE_Y = 8;
}  // namespace

// One explicit step of the heat equation; the border repeats.
extern "C" __global__ void heat_2d(const float* in, float* out, int rows, int columns, float rate)
{
    __shared__ float tile[TILE_Y + 2][TILE_X + 2];
    const int first_row = blockIdx.y * TILE_Y - 1;
    const int first_column = blockIdx.x * TILE_X - 1;

    const int threads = TILE_X * TILE_Y;
    for (int k = threadIdx.y * TILE_X + threadIdx.x; k < (TILE_Y + 2) * (TILE_X + 2);
         k += threads) {
        const int y = k / (TILE_X + 2);
        const int x = k % (TILE_X + 2);
        const int row = common::clamp(first_row + y, 0, rows - 1);
        const int column = common::clamp(first_column + x, 0, columns - 1);
        tile[y][x] = in[row * columns + column];
    }
    __syncthreads();

    const int row = first_row + 1 + threadIdx.y;
    const int column = first_column + 1 + threadIdx.x;
    if (row < rows && column < columns) {
        const int y = threadIdx.y + 1;
        const int x = threadIdx.x + 1;
        const float centre = tile[y][x];
        const float around = tile[y - 1][x] + tile[y + 1][x] + tile[y][x - 1] + tile[y][x + 1];
        out[row * columns + column] = centre + rate * (around - 4.0f * centre);
    }
}

// Seven points in three dimensions; outside of the volume everything is zero.
extern "C" __global__ void laplace_3d(const double* in, double* out, int nx, int ny, int nz)
{
    __shared__ double cube[6][10][10];
    const int x = blockIdx.x * 8 + threadIdx.x;
    const int y = blockIdx.y * 8 + threadIdx.y;
    const int z = blockIdx.z * 4 + threadIdx.z;
    const int sx = threadIdx.x + 1;
    const int sy = threadIdx.y + 1;
    const int sz = threadIdx.z + 1;
    auto value = [=](int i, int j, int k) {
        const bool inside = i >= 0 && i < nx && j >= 0 && j < ny && k >= 0 && k < nz;
        return inside ? in[(k * ny + j) * nx + i] : 0.0;
    };

    cube[sz][sy][sx] = value(x, y, z);
    if (threadIdx.x == 0) cube[sz][sy][0] = value(x - 1, y, z);
    if (threadIdx.x == 7) cube[sz][sy][9] = value(x + 1, y, z);
    if (threadIdx.y == 0) cube[sz][0][sx] = value(x, y - 1, z);
    if (threadIdx.y == 7) cube[sz][9][sx] = value(x, y + 1, z);
    if (threadIdx.z == 0) cube[0][sy][sx] = value(x, y, z - 1);
    if (threadIdx.z == 3) cube[5][sy][sx] = value(x, y, z + 1);
    __syncthreads();

    if (x >= nx || y >= ny || z >= nz) return;
    out[(z * ny + y) * nx + x] = cube[sz - 1][sy][sx] + cube[sz + 1][sy][sx] +
                                 cube[sz][sy - 1][sx] + cube[sz][sy + 1][sx] +
                                 cube[sz][sy][sx - 1] + cube[sz][sy][sx + 1] -
                                 6.0 * cube[sz][sy][sx];
}

// Sum of the 2 * RADIUS + 1 neighbours in one dimension. Dynamic shared memory:
// (blockDim.x + 2 * RADIUS) ints.
template <int RADIUS>
__global__ void moving_sum(const int* in, int* out, int n)
{
    extern __shared__ int window[];
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const int s = threadIdx.x + RADIUS;

    window[s] = i < n ? in[i] : 0;
    if (threadIdx.x < RADIUS) {
        const int left = i - RADIUS;
        const int right = i + static_cast<int>(blockDim.x);
        window[s - RADIUS] = left >= 0 ? in[left] : 0;
        window[s + blockDim.x] = right < n ? in[right] : 0;
    }
    __syncthreads();
    if (i < n) {
        int sum = 0;
        for (int k = -RADIUS; k <= RADIUS; k++) sum += window[s + k];
        out[i] = sum;
    }
}

// The z axis is walked with three planes in registers, the plane in shared memory.
extern "C" __global__ void walk_planes(const int* in, int* out, int nx, int ny, int nz)
{
    __shared__ int plane[10][10];
    const int tx = threadIdx.x;
    const int ty = threadIdx.y;
    const int x = blockIdx.x * 8 + tx - 1;
    const int y = blockIdx.y * 8 + ty - 1;
    const bool loads = x >= 0 && x < nx && y >= 0 && y < ny;
    const bool stores = loads && tx > 0 && tx < 9 && ty > 0 && ty < 9;

    int behind = 0;
    int current = loads ? in[y * nx + x] : 0;
    for (int z = 0; z < nz; ++z) {
        const int ahead = loads && z + 1 < nz ? in[((z + 1) * ny + y) * nx + x] : 0;
        plane[ty][tx] = current;
        __syncthreads();
        if (stores) {
            out[(z * ny + y) * nx + x] = plane[ty][tx - 1] + plane[ty][tx + 1] +
                                         plane[ty - 1][tx] + plane[ty + 1][tx] + behind + ahead;
        }
        __syncthreads();
        behind = current;
        current = ahead;
    }
}

// Simulations: fractals, bodies, cells, graphs, linear systems.
#include <math_constants.h>

// Steps until a point of the plane escapes.
extern "C" __global__ void mandelbrot(int* steps, int width, int height, double left, double top,
                                      double pixel, int limit)
{
    const int column = blockIdx.x * blockDim.x + threadIdx.x;
    const int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (column >= width || row >= height) return;
    const double cx = left + column * pixel;
    const double cy = top - row * pixel;
    double x = 0.0, y = 0.0;
    int step = 0;
    while (step < limit && x * x + y * y <= 4.0) {
        const double next = x * x - y * y + cx;
        y = 2.0 * x * y + cy;
        x = next;
        ++step;
    }
    steps[row * width + column] = step;
}

__device__ float3 attraction(float4 on, float4 from, float3 sum, float softening)
{
    const float dx = from.x - on.x;
    const float dy = from.y - on.y;
    const float dz = from.z - on.z;
    const float distance = rsqrtf(dx * dx + dy * dy + dz * dz + softening);
    const float strength = from.w * distance * distance * distance;
    sum.x += dx * strength;
    sum.y += dy * strength;
    sum.z += dz * strength;
    return sum;
}

// Accelerations of bodies (x, y, z, mass), one tile of blockDim.x bodies after another.
extern "C" __global__ void n_body(const float4* bodies, float3* accelerations, int n,
                                  float softening)
{
    extern __shared__ float4 body_tile[];
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const float4 mine = i < n ? bodies[i] : make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    float3 sum = {0.0f, 0.0f, 0.0f};
    for (int start = 0; start < n; start += blockDim.x) {
        const int other = start + threadIdx.x;
        body_tile[threadIdx.x] =
            other < n ? bodies[other] : make_float4(0.0f, 0.0f, 0.0f, 0.0f);
        __syncthreads();
        for (unsigned int k = 0; k < blockDim.x; ++k) {
            sum = attraction(mine, body_tile[k], sum, softening);
        }
        __syncthreads();
    }
    if (i < n) accelerations[i] = sum;
}

// One generation of the game of life on a torus.
extern "C" __global__ void life(const unsigned char* cells, unsigned char* next, int width,
                                int height)
{
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    int neighbours = 0;
    for (int dy = -1; dy <= 1; ++dy) {
        for (int dx = -1; dx <= 1; ++dx) {
            if (dx == 0 && dy == 0) continue;
            neighbours += cells[(y + dy + height) % height * width + (x + dx + width) % width];
        }
    }
    const bool alive = cells[y * width + x] != 0;
    next[y * width + x] = neighbours == 3 || (alive && neighbours == 2);
}

// Sparse matrix times vector: a warp for each row in CSR form.
extern "C" __global__ void spmv_csr(const int* row_starts, const int* columns, const float* values,
                                    const float* x, float* y, int rows)
{
    const int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
    const int lane = threadIdx.x % 32;
    if (row >= rows) return;
    float sum = 0.0f;
    for (int k = row_starts[row] + lane; k < row_starts[row + 1]; k += 32) {
        sum += values[k] * x[columns[k]];
    }
    for (int offset = 16; offset > 0; offset >>= 1) {
        sum += __shfl_down_sync(0xffffffffu, sum, offset);
    }
    if (lane == 0) y[row] = sum;
}

// The nearest centre of every point, and sums over the points of each centre.
extern "C" __global__ void k_means_assign(const float2* points, const float2* centres, int* nearest,
                                          float2* sums, int* counts, int n, int clusters)
{
    extern __shared__ float2 centre_cache[];
    for (int c = threadIdx.x; c < clusters; c += blockDim.x) centre_cache[c] = centres[c];
    __syncthreads();
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const float2 p = points[i];
    float best = 3.4e38f;
    int where = -1;
    for (int c = 0; c < clusters; ++c) {
        const float dx = p.x - centre_cache[c].x;
        const float dy = p.y - centre_cache[c].y;
        const float distance = dx * dx + dy * dy;
        if (distance < best) {
            best = distance;
            where = c;
        }
    }
    nearest[i] = where;
    atomicAdd(&sums[where].x, p.x);
    atomicAdd(&sums[where].y, p.y);
    atomicAdd(&counts[where], 1);
}

// Shortest paths that may go through the vertex `via`.
extern "C" __global__ void floyd_warshall(int* distances, int n, int via)
{
    const int column = blockIdx.x * blockDim.x + threadIdx.x;
    const int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= n || column >= n || row == via || column == via) return;
    const int through = distances[row * n + via] + distances[via * n + column];
    if (through < distances[row * n + column]) distances[row * n + column] = through;
}

// One level of a breadth-first search.
extern "C" __global__ void bfs_level(const int* starts, const int* edges, int* levels, int level,
                                     int vertices, int* changed)
{
    const int v = blockIdx.x * blockDim.x + threadIdx.x;
    if (v >= vertices || levels[v] != level) return;
    for (int e = starts[v]; e < starts[v + 1]; ++e) {
        if (atomicCAS(&levels[edges[e]], -1, level + 1) == -1) {
            atomicAdd(changed, 1);
        }
    }
}

// One step of Jacobi's method for A · x = b.
extern "C" __global__ void jacobi(const double* a, const double* b, const double* x, double* next,
                                  int n)
{
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= n) return;
    double sum = b[row];
    for (int column = 0; column < n; ++column) {
        if (column == row) continue;
        sum -= a[row * n + column] * x[column];
    }
    next[row] = sum / a[row * n + row];
}

// LU decomposition without pivoting of one matrix of n × n a block, in shared memory.
extern "C" __global__ void lu_blocks(double* matrices, int n)
{
    extern __shared__ double lu[];
    double* matrix = matrices + blockIdx.x * n * n;
    for (int k = threadIdx.x; k < n * n; k += blockDim.x) lu[k] = matrix[k];
    __syncthreads();
    for (int pivot = 0; pivot < n - 1; ++pivot) {
        for (int row = pivot + 1 + threadIdx.x; row < n; row += blockDim.x) {
            lu[row * n + pivot] /= lu[pivot * n + pivot];
        }
        __syncthreads();
        const int rest = n - pivot - 1;
        for (int k = threadIdx.x; k < rest * rest; k += blockDim.x) {
            const int row = pivot + 1 + k / rest;
            const int column = pivot + 1 + k % rest;
            lu[row * n + column] -= lu[row * n + pivot] * lu[pivot * n + column];
        }
        __syncthreads();
    }
    for (int k = threadIdx.x; k < n * n; k += blockDim.x) matrix[k] = lu[k];
}

// Depth and colour of a sphere that parallel rays along z meet.
extern "C" __global__ void ray_sphere(const float4* spheres, int count, float* depth, int* which,
                                      int width, int height)
{
    const int px = blockIdx.x * blockDim.x + threadIdx.x;
    const int py = blockIdx.y * blockDim.y + threadIdx.y;
    if (px >= width || py >= height) return;
    float nearest = CUDART_INF_F;
    int hit = -1;
    for (int s = 0; s < count; ++s) {
        const float dx = px - spheres[s].x;
        const float dy = py - spheres[s].y;
        const float radius = spheres[s].w;
        const float inside = radius * radius - dx * dx - dy * dy;
        if (inside < 0.0f) continue;
        const float z = spheres[s].z - sqrtf(inside);
        if (z < nearest) {
            nearest = z;
            hit = s;
        }
    }
    depth[py * width + px] = nearest;
    which[py * width + px] = hit;
}

// Dynamic programming by anti-diagonals: the length of the longest common subsequence.
extern "C" __global__ void common_subsequence(const char* a, const char* b, int* length, int n)
{
    extern __shared__ int diagonals[];  // three of n + 1
    const int t = threadIdx.x;          // the row, from 0 to n
    for (int d = 0; d <= 2 * n; ++d) {
        int* now = diagonals + d % 3 * (n + 1);
        const int* last = diagonals + (d + 2) % 3 * (n + 1);
        const int* before = diagonals + (d + 1) % 3 * (n + 1);
        const int column = d - t;
        if (t <= n && column >= 0 && column <= n) {
            int value = 0;
            if (t > 0 && column > 0) {
                value = a[t - 1] == b[column - 1] ? before[t - 1] + 1 : max(last[t - 1], last[t]);
            }
            now[t] = value;
        }
        __syncthreads();
    }
    if (t == n) *length = diagonals[2 * n % 3 * (n + 1) + n];
}

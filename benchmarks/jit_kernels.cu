// What jit.py compares kernels in restricted Python with: the same in CUDA C++.

extern "C" __global__ void add(const float* x, const float* y, float* z, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) z[i] = x[i] + y[i];
}

extern "C" __global__ void saxpy(float a, const float* x, const float* y, float* z, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) z[i] = a * x[i] + y[i];
}

// Slope and hillshade, by differences of neighbours, on the rim by one-sided ones.
extern "C" __global__ void relief(const float* height, float* slope, float* shade, int rows,
                                  int columns, float dx, float dy, float light_east,
                                  float light_north, float light_up) {
    const int column = blockIdx.x * blockDim.x + threadIdx.x;
    const int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= rows || column >= columns) return;
    const int west = max(column - 1, 0), east = min(column + 1, columns - 1);
    const int north = max(row - 1, 0), south = min(row + 1, rows - 1);
    const float to_east = (height[row * columns + east] - height[row * columns + west]) /
                          ((east - west) * dx);
    const float to_north = (height[north * columns + column] - height[south * columns + column]) /
                           ((south - north) * dy);
    const float square = to_east * to_east + to_north * to_north;
    slope[row * columns + column] = 57.29577951f * atanf(sqrtf(square));
    const float lit =
        (light_up - light_east * to_east - light_north * to_north) / sqrtf(1.0f + square);
    shade[row * columns + column] = lit < 0.0f ? 0.0f : lit;
}

// -- products of square matrices ------------------------------------------------------------------

template <int TILE>
__device__ void tiles(const float* a, const float* b, float* c, int n) {
    __shared__ float tile_a[TILE][TILE], tile_b[TILE][TILE];
    const int row = blockIdx.y * TILE + threadIdx.y, column = blockIdx.x * TILE + threadIdx.x;
    float sum = 0;
    for (int first = 0; first < n; first += TILE) {
        tile_a[threadIdx.y][threadIdx.x] = a[row * n + first + threadIdx.x];
        tile_b[threadIdx.y][threadIdx.x] = b[(first + threadIdx.y) * n + column];
        __syncthreads();
        for (int k = 0; k < TILE; ++k) sum += tile_a[threadIdx.y][k] * tile_b[k][threadIdx.x];
        __syncthreads();
    }
    c[row * n + column] = sum;
}

extern "C" __global__ void matmul16(const float* a, const float* b, float* c, int n) {
    tiles<16>(a, b, c, n);
}

extern "C" __global__ void matmul32(const float* a, const float* b, float* c, int n) {
    tiles<32>(a, b, c, n);
}

// Loops over i, j, k in this order; a thread has a row and a part of its columns.
extern "C" __global__ void plain_matmul(const float* a, const float* b, float* c, int n) {
    const int i = blockIdx.x, part = n / blockDim.x, first = threadIdx.x * part;
    for (int j = first; j < first + part; ++j) {
        float sum = 0;
        for (int k = 0; k < n; ++k) sum += a[i * n + k] * b[k * n + j];
        c[i * n + j] = sum;
    }
}

// -- sums of blocks -------------------------------------------------------------------------------

extern "C" __global__ void shared_sum(const float* x, float* sums, int n) {
    __shared__ float part[256];
    float sum = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        sum += x[i];
    part[threadIdx.x] = sum;
    __syncthreads();
    for (int half = 128; half > 0; half /= 2) {
        if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0) sums[blockIdx.x] = part[0];
}

extern "C" __global__ void warp_sum(const float* x, float* sums, int n) {
    __shared__ float part[8];
    float sum = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        sum += x[i];
    for (int step = 16; step > 0; step /= 2) sum += __shfl_down_sync(0xffffffff, sum, step);
    if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x < 32) {
        sum = threadIdx.x < 8 ? part[threadIdx.x] : 0.0f;
        for (int step = 4; step > 0; step /= 2) sum += __shfl_down_sync(0xffffffff, sum, step);
        if (threadIdx.x == 0) sums[blockIdx.x] = sum;
    }
}

extern "C" __global__ void plain_sum(const float* x, float* sums, int n) {
    const int part = blockIdx.x * blockDim.x + threadIdx.x, parts = gridDim.x * blockDim.x;
    const int first = (long long)n * part / parts, last = (long long)n * (part + 1) / parts;
    float sum = 0;
    for (int i = first; i < last; ++i) sum += x[i];
    sums[part] = sum;
}

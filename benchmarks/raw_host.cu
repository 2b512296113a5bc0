// What raw_host.py measures: kernels as people write them for a GPU, and the same work as plain
// loops, one thread a part, without shared memory and barriers.

extern "C" __global__ void saxpy(int n, float a, const float* x, const float* y, float* z) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) z[i] = a * x[i] + y[i];
}

extern "C" __global__ void sine(int n, float a, float b, const float* x, float* z) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) z[i] = a * x[i] * x[i] + b * sinf(x[i]);
}

// -- a product of square matrices -----------------------------------------------------------------

constexpr int TILE = 16;

extern "C" __global__ void matmul(int n, const float* a, const float* b, float* c) {
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

// Loops over i, j, k in this order; a thread has a row and a part of its columns.
extern "C" __global__ void plain_matmul(int n, const float* a, const float* b, float* c) {
    const int i = blockIdx.x, part = n / blockDim.x, first = threadIdx.x * part;
    for (int j = first; j < first + part; ++j) {
        float sum = 0;
        for (int k = 0; k < n; ++k) sum += a[i * n + k] * b[k * n + j];
        c[i * n + j] = sum;
    }
}

// -- the sum of an array ---------------------------------------------------------------------------

extern "C" __global__ void block_sum(int n, const float* x, float* sums) {
    __shared__ float part[256];
    float sum = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        sum += x[i];
    part[threadIdx.x] = sum;
    __syncthreads();
    for (int half = blockDim.x / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0) sums[blockIdx.x] = part[0];
}

extern "C" __global__ void plain_sum(int n, const float* x, float* sums) {
    const int part = blockIdx.x * blockDim.x + threadIdx.x, parts = gridDim.x * blockDim.x;
    const int first = (long long)n * part / parts, last = (long long)n * (part + 1) / parts;
    float sum = 0;
    for (int i = first; i < last; ++i) sum += x[i];
    sums[part] = sum;
}

// -- a histogram -----------------------------------------------------------------------------------

extern "C" __global__ void histogram(int n, const unsigned char* x, unsigned int* counts) {
    __shared__ unsigned int own[256];
    own[threadIdx.x] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        atomicAdd(&own[x[i]], 1u);
    __syncthreads();
    atomicAdd(&counts[threadIdx.x], own[threadIdx.x]);
}

extern "C" __global__ void plain_histogram(int n, const unsigned char* x, unsigned int* counts) {
    const int part = blockIdx.x * blockDim.x + threadIdx.x, parts = gridDim.x * blockDim.x;
    const int first = (long long)n * part / parts, last = (long long)n * (part + 1) / parts;
    unsigned int own[256] = {};
    for (int i = first; i < last; ++i) ++own[x[i]];
    for (int bin = 0; bin < 256; ++bin) atomicAdd(&counts[bin], own[bin]);
}

// -- seven points of a cube ------------------------------------------------------------------------

__device__ float seven(float middle, float west, float east, float north, float south, float up,
                       float down) {
    return 0.4f * middle + 0.1f * (west + east + north + south + up + down);
}

extern "C" __global__ void stencil(int n, const float* x, float* y) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y * blockDim.y + threadIdx.y;
    const int k = blockIdx.z * blockDim.z + threadIdx.z;
    if (i < 1 || j < 1 || k < 1 || i >= n - 1 || j >= n - 1 || k >= n - 1) return;
    const int at = (k * n + j) * n + i, plane = n * n;
    y[at] = seven(x[at], x[at - 1], x[at + 1], x[at - n], x[at + n], x[at - plane], x[at + plane]);
}

constexpr int WIDE = 32, HIGH = 8;

// The block's plane and its halo are in shared memory, and it walks through a part of the planes.
extern "C" __global__ void shared_stencil(int n, int planes, const float* x, float* y) {
    __shared__ float middle[HIGH + 2][WIDE + 2];
    const int i = blockIdx.x * WIDE + threadIdx.x, j = blockIdx.y * HIGH + threadIdx.y;
    const int first = blockIdx.z * planes, plane = n * n, to = j * n + i;
    const bool exists = i < n && j < n, inside = i > 0 && j > 0 && i < n - 1 && j < n - 1;
    float(*const own)[WIDE + 2] = &middle[threadIdx.y + 1];
    const int column = threadIdx.x + 1;
    for (int k = max(first, 1); k < min(first + planes, n - 1); ++k) {
        const int at = k * plane + to;
        if (exists) {
            own[0][column] = x[at];
            if (threadIdx.x == 0 && i > 0) own[0][0] = x[at - 1];
            if (threadIdx.x == WIDE - 1 && i < n - 1) own[0][WIDE + 1] = x[at + 1];
            if (threadIdx.y == 0 && j > 0) own[-1][column] = x[at - n];
            if (threadIdx.y == HIGH - 1 && j < n - 1) own[1][column] = x[at + n];
        }
        __syncthreads();
        if (inside)
            y[at] = seven(own[0][column], own[0][column - 1], own[0][column + 1], own[-1][column],
                          own[1][column], x[at - plane], x[at + plane]);
        __syncthreads();
    }
}

// A thread has rows of one plane.
extern "C" __global__ void plain_stencil(int n, const float* x, float* y) {
    const int k = blockIdx.x + 1, plane = n * n;
    for (int j = threadIdx.x + 1; j < n - 1; j += blockDim.x) {
        for (int i = 1; i < n - 1; ++i) {
            const int at = (k * n + j) * n + i;
            y[at] = seven(x[at], x[at - 1], x[at + 1], x[at - n], x[at + n], x[at - plane],
                          x[at + plane]);
        }
    }
}

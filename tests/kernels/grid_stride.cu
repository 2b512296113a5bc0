// Grids of one, two and three dimensions, with and without strides.

extern "C" __global__ void saxpy(int n, float a, const float* x, float* y)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) {
        y[i] = a * x[i] + y[i];
    }
}

extern "C" __global__ void add_64bit(const long long* x, const long long* y, long long* z, size_t n)
{
    size_t stride = static_cast<size_t>(blockDim.x) * gridDim.x;
    size_t first = static_cast<size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    for (size_t i = first; i < n; i += stride) {
        z[i] = x[i] + y[i];
    }
}

// What each block knows about the launch: ten numbers a block.
extern "C" __global__ void launch_shape(unsigned int* out)
{
    if (threadIdx.x != 0 || threadIdx.y != 0 || threadIdx.z != 0) {
        return;
    }
    const unsigned int block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
    unsigned int* row = out + 10 * block;
    row[0] = gridDim.x;
    row[1] = gridDim.y;
    row[2] = gridDim.z;
    row[3] = blockDim.x;
    row[4] = blockDim.y;
    row[5] = blockDim.z;
    row[6] = blockIdx.x;
    row[7] = blockIdx.y;
    row[8] = blockIdx.z;
    row[9] = static_cast<unsigned int>(warpSize);
}

// Linear rank of every thread in its block, in the order that warps are made of.
extern "C" __global__ void thread_ranks(int* out)
{
    const int rank = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
    const int size = blockDim.x * blockDim.y * blockDim.z;
    out[blockIdx.x * size + rank] = rank / warpSize * 1000 + rank % warpSize;
}

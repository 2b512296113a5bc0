// Histograms by atomics on global and on shared memory.

#define BINS 256

extern "C" __global__ void histogram_shared(const unsigned char* data, unsigned int* bins, int n)
{
    __shared__ unsigned int local[BINS];
    for (int b = threadIdx.x; b < BINS; b += blockDim.x) local[b] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) {
        atomicAdd(&local[data[i]], 1u);
    }
    __syncthreads();
    for (int b = threadIdx.x; b < BINS; b += blockDim.x) {
        if (local[b] != 0) atomicAdd(bins + b, local[b]);
    }
}

// Bins of equal width over [low, high); values outside of it are counted in outside[0].
extern "C" __global__ void histogram_float(const float* data, int n, float low, float high,
                                           int bin_count, int* bins, int* outside)
{
    extern __shared__ int counts[];
    for (int b = threadIdx.x; b <= bin_count; b += blockDim.x) counts[b] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) {
        const float value = data[i];
        if (!(value >= low && value < high)) {
            atomicAdd(&counts[bin_count], 1);
            continue;
        }
        const int bin = static_cast<int>((value - low) / (high - low) * bin_count);
        atomicAdd(&counts[bin], 1);
    }
    __syncthreads();
    for (int b = threadIdx.x; b < bin_count; b += blockDim.x) atomicAdd(&bins[b], counts[b]);
    if (threadIdx.x == 0) atomicAdd(outside, counts[bin_count]);
}

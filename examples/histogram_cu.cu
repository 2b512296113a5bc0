// Histograms of bytes and shorts, each value weighted by its class.

// What a value of each of four classes counts.
__constant__ unsigned int weights[4];

// How many values all launches since the module was loaded have counted.
__device__ unsigned long long counted;

// Counts go to shared memory first, so that few blocks meet in global memory.
// A value's class is its two lowest bits; its bin is the rest.
template <class T, int BINS>
__global__ void histogram(const T* values, int n, unsigned int* counts) {
    __shared__ unsigned int own[BINS];
    for (int bin = threadIdx.x; bin < BINS; bin += blockDim.x) own[bin] = 0;
    __syncthreads();

    int taken = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        const T value = values[i];
        const int bin = value >> 2;
        if (bin < BINS) {
            atomicAdd(&own[bin], weights[value & 3]);
            ++taken;
        }
    }
    atomicAdd(&counted, (unsigned long long)taken);
    __syncthreads();

    for (int bin = threadIdx.x; bin < BINS; bin += blockDim.x) {
        if (own[bin]) atomicAdd(&counts[bin], own[bin]);
    }
}

// Static and dynamic shared memory in its usual forms.

extern __shared__ int at_namespace_scope[];

// Alignments behind __shared__, of a type and of a number.
template <int SIZE>
__global__ void aligned_tiles(const float* in, float* out)
{
    __shared__ alignas(alignof(float4)) float tile[SIZE + 1][SIZE];
    __shared__ alignas(16) struct { float4 first; } other;
    const int t = threadIdx.x;
    const float4* parts = reinterpret_cast<const float4*>(in);
    if (t < SIZE / 4) *reinterpret_cast<float4*>(&tile[1][4 * t]) = parts[t];
    if (t == 0) other.first = parts[1];
    __syncthreads();
    out[t] = tile[1][SIZE - 1 - t] + other.first.y;
}

// Three arrays out of one buffer: doubles, ints, bytes.
extern "C" __global__ void carved(const double* x, const int* k, const unsigned char* b,
                                  double* out, int n)
{
    extern __shared__ __align__(8) char buffer[];
    double* doubles = reinterpret_cast<double*>(buffer);
    int* ints = reinterpret_cast<int*>(doubles + n);
    unsigned char* bytes = reinterpret_cast<unsigned char*>(ints + n);
    const int t = threadIdx.x;
    if (t < n) {
        doubles[t] = x[t];
        ints[t] = k[t];
        bytes[t] = b[t];
    }
    __syncthreads();
    if (t < n) {
        out[t] = doubles[ints[t]] + bytes[n - 1 - t];
    }
}

// Dynamic shared memory of a template's type, by way of a class.
template <typename T>
struct SharedMemory {
    __device__ operator T*() const
    {
        extern __shared__ __align__(16) unsigned char raw_memory[];
        return reinterpret_cast<T*>(raw_memory);
    }
};

template <typename T>
__global__ void reverse_blocks(const T* in, T* out)
{
    T* shared = SharedMemory<T>();
    const unsigned int base = blockIdx.x * blockDim.x;
    shared[threadIdx.x] = in[base + threadIdx.x];
    __syncthreads();
    out[base + threadIdx.x] = shared[blockDim.x - 1 - threadIdx.x];
}

struct Bucket {
    int count;
    short items[6];
};

// Arrays of structs, in two dimensions and with bit fields of flags.
extern "C" __global__ void buckets(const short* in, int* counts, int* sums, int n)
{
    __shared__ Bucket held[2][4];
    __shared__ unsigned int seen;
    if (threadIdx.x < 8) held[threadIdx.x / 4][threadIdx.x % 4].count = 0;
    if (threadIdx.x == 0) seen = 0;
    __syncthreads();
    if (static_cast<int>(threadIdx.x) < n) {
        const short value = in[threadIdx.x];
        Bucket& bucket = held[value & 1][(value >> 1) & 3];
        const int place = atomicAdd(&bucket.count, 1);
        if (place < 6) bucket.items[place] = value;
        atomicOr(&seen, 1u << (value & 7));
    }
    __syncthreads();
    if (threadIdx.x < 8) {
        const Bucket& bucket = held[threadIdx.x / 4][threadIdx.x % 4];
        int sum = 0;
        for (int k = 0; k < bucket.count && k < 6; ++k) sum += bucket.items[k];
        counts[threadIdx.x] = bucket.count;
        sums[threadIdx.x] = sum;
    }
    if (threadIdx.x == 0) counts[8] = static_cast<int>(seen);
}

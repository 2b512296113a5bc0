// Prefix sums: Hillis and Steele, Blelloch, by warps, by segments.

// Inclusive, one block; dynamic shared memory holds two rows of n ints.
extern "C" __global__ void scan_hillis_steele(const int* in, int* out, int n)
{
    extern __shared__ int rows[];
    const int t = threadIdx.x;
    int source = 0;
    int target = 1;
    rows[t] = t < n ? in[t] : 0;
    __syncthreads();
    for (int offset = 1; offset < n; offset *= 2) {
        const int* from = rows + source * blockDim.x;
        int* to = rows + target * blockDim.x;
        to[t] = t >= offset ? from[t] + from[t - offset] : from[t];
        source = 1 - source;
        target = 1 - target;
        __syncthreads();
    }
    if (t < n) {
        out[t] = rows[source * blockDim.x + t];
    }
}

// Exclusive; a block scans 2 * blockDim.x elements (a power of two) and stores its total.
template <typename T>
__global__ void scan_blelloch(const T* in, T* out, T* totals, int n)
{
    extern __shared__ __align__(16) unsigned char scan_bytes[];
    T* tree = reinterpret_cast<T*>(scan_bytes);
    const int width = 2 * blockDim.x;
    const int t = threadIdx.x;
    const int base = blockIdx.x * width;

    tree[2 * t] = base + 2 * t < n ? in[base + 2 * t] : T(0);
    tree[2 * t + 1] = base + 2 * t + 1 < n ? in[base + 2 * t + 1] : T(0);

    int offset = 1;
    for (int d = width >> 1; d > 0; d >>= 1) {
        __syncthreads();
        if (t < d) {
            const int a = offset * (2 * t + 1) - 1;
            const int b = offset * (2 * t + 2) - 1;
            tree[b] += tree[a];
        }
        offset *= 2;
    }
    __syncthreads();
    if (t == 0) {
        totals[blockIdx.x] = tree[width - 1];
        tree[width - 1] = T(0);
    }
    for (int d = 1; d < width; d *= 2) {
        offset >>= 1;
        __syncthreads();
        if (t < d) {
            const int a = offset * (2 * t + 1) - 1;
            const int b = offset * (2 * t + 2) - 1;
            const T left = tree[a];
            tree[a] = tree[b];
            tree[b] += left;
        }
    }
    __syncthreads();
    if (base + 2 * t < n) out[base + 2 * t] = tree[2 * t];
    if (base + 2 * t + 1 < n) out[base + 2 * t + 1] = tree[2 * t + 1];
}

__device__ int warp_inclusive_scan(int value)
{
    const int lane = threadIdx.x & 31;
    for (int offset = 1; offset < 32; offset <<= 1) {
        const int below = __shfl_up_sync(0xffffffffu, value, offset);
        if (lane >= offset) value += below;
    }
    return value;
}

// Inclusive, by warps, then over the warps' totals; a block of whole warps scans one row.
extern "C" __global__ void scan_rows_by_warps(const int* in, int* out, int columns)
{
    __shared__ int warp_totals[32];
    const int warp = threadIdx.x / 32;
    const int lane = threadIdx.x % 32;
    const int* row_in = in + blockIdx.x * columns;
    int* row_out = out + blockIdx.x * columns;
    int carry = 0;

    for (int start = 0; start < columns; start += blockDim.x) {
        const int k = start + threadIdx.x;
        int value = warp_inclusive_scan(k < columns ? row_in[k] : 0);
        if (lane == 31) warp_totals[warp] = value;
        __syncthreads();
        if (warp == 0) {
            const int total = lane < static_cast<int>(blockDim.x / 32) ? warp_totals[lane] : 0;
            warp_totals[lane] = warp_inclusive_scan(total);
        }
        __syncthreads();
        if (warp > 0) value += warp_totals[warp - 1];
        if (k < columns) row_out[k] = value + carry;
        carry += warp_totals[blockDim.x / 32 - 1];
        __syncthreads();
    }
}

// Sums that start anew where a flag is set, one block; values and flags share one buffer.
extern "C" __global__ void scan_segments(const int* in, const unsigned char* heads, int* out, int n)
{
    extern __shared__ int segment_buffer[];
    int* values = segment_buffer;
    int* flags = segment_buffer + blockDim.x;
    const int t = threadIdx.x;
    values[t] = t < n ? in[t] : 0;
    flags[t] = t < n ? heads[t] : 1;
    __syncthreads();
    for (int offset = 1; offset < n; offset <<= 1) {
        int value = values[t];
        int flag = flags[t];
        if (t >= offset) {
            if (!flag) value += values[t - offset];
            flag |= flags[t - offset];
        }
        __syncthreads();
        values[t] = value;
        flags[t] = flag;
        __syncthreads();
    }
    if (t < n) out[t] = values[t];
}

// Keeps the positive elements of every block, in order: a scan of flags gives the places.
extern "C" __global__ void compact_blocks(const int* in, int* out, int* counts, int n)
{
    __shared__ int places[256];
    const int t = threadIdx.x;
    const int i = blockIdx.x * 256 + t;
    const int keep = i < n && in[i] > 0 ? 1 : 0;
    places[t] = keep;
    __syncthreads();
    for (int offset = 1; offset < 256; offset <<= 1) {
        int below = 0;
        if (t >= offset) below = places[t - offset];
        __syncthreads();
        places[t] += below;
        __syncthreads();
    }
    if (keep) out[blockIdx.x * 256 + places[t] - 1] = in[i];
    if (t == 255) counts[blockIdx.x] = places[255];
}

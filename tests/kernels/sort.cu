// Sorting: bitonic in a block and in steps over a grid, digits, merging, ranking.

// Sorts the blockDim.x elements of each block, padded by the caller.
template <typename T>
__global__ void bitonic_block(T* data)
{
    extern __shared__ double sort_memory[];
    T* keys = reinterpret_cast<T*>(sort_memory);
    const unsigned int t = threadIdx.x;
    keys[t] = data[blockIdx.x * blockDim.x + t];
    __syncthreads();
    for (unsigned int k = 2; k <= blockDim.x; k <<= 1) {
        for (unsigned int j = k >> 1; j > 0; j >>= 1) {
            const unsigned int other = t ^ j;
            if (other > t) {
                const bool ascending = (t & k) == 0;
                if ((keys[t] > keys[other]) == ascending) {
                    const T swap = keys[t];
                    keys[t] = keys[other];
                    keys[other] = swap;
                }
            }
            __syncthreads();
        }
    }
    data[blockIdx.x * blockDim.x + t] = keys[t];
}

// One step of the network over the whole array: the caller launches all (j, k).
extern "C" __global__ void bitonic_step(float* values, int j, int k)
{
    const unsigned int i = threadIdx.x + blockDim.x * blockIdx.x;
    const unsigned int other = i ^ static_cast<unsigned int>(j);
    if (other <= i) {
        return;
    }
    const bool swap_needed =
        (i & k) == 0 ? values[i] > values[other] : values[i] < values[other];
    if (swap_needed) {
        const float temp = values[i];
        values[i] = values[other];
        values[other] = temp;
    }
}

// Counts of the 16 values of one hexadecimal digit, for each block of 256 keys.
extern "C" __global__ void radix_count(const unsigned int* keys, unsigned int* counts, int n,
                                       int shift)
{
    __shared__ unsigned int digits[16];
    if (threadIdx.x < 16) digits[threadIdx.x] = 0;
    __syncthreads();
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomicAdd(&digits[(keys[i] >> shift) & 0xf], 1u);
    __syncthreads();
    if (threadIdx.x < 16) counts[blockIdx.x * 16 + threadIdx.x] = digits[threadIdx.x];
}

// Each thread finds by bisection where its part of the merged array begins, then merges.
extern "C" __global__ void merge_path(const int* a, int a_size, const int* b, int b_size, int* out,
                                      int items)
{
    const int total = a_size + b_size;
    const int diagonal = (blockIdx.x * blockDim.x + threadIdx.x) * items;
    if (diagonal >= total) return;

    int low = max(0, diagonal - b_size);
    int high = min(diagonal, a_size);
    while (low < high) {
        const int middle = (low + high) / 2;
        if (a[middle] <= b[diagonal - 1 - middle]) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    int i = low;
    int j = diagonal - low;
    const int end = min(diagonal + items, total);
    for (int k = diagonal; k < end; ++k) {
        if (j >= b_size || (i < a_size && a[i] <= b[j])) {
            out[k] = a[i++];
        } else {
            out[k] = b[j++];
        }
    }
}

// The rank of an element is the number of those before it in sorted order.
extern "C" __global__ void rank_sort(const short* in, short* out, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const short mine = in[i];
    int rank = 0;
    for (int k = 0; k < n; ++k) {
        rank += in[k] < mine || (in[k] == mine && k < i);
    }
    out[rank] = mine;
}

// The WIDTH largest of each row, in descending order, kept by insertion; one thread a row.
template <typename T, int WIDTH>
__global__ void top_k(const T* matrix, T* best, int* where, int rows, int columns)
{
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    T values[WIDTH];
    int places[WIDTH];
    int held = 0;
    for (int column = 0; column < columns; ++column) {
        const T value = matrix[row * columns + column];
        if (held == WIDTH && !(value > values[WIDTH - 1])) continue;
        int k = held < WIDTH ? held++ : WIDTH - 1;
        for (; k > 0 && value > values[k - 1]; --k) {
            values[k] = values[k - 1];
            places[k] = places[k - 1];
        }
        values[k] = value;
        places[k] = column;
    }
    for (int k = 0; k < WIDTH; ++k) {
        best[row * WIDTH + k] = values[k];
        where[row * WIDTH + k] = places[k];
    }
}

// Where each needle would be inserted in a sorted array.
extern "C" __global__ void lower_bound(const double* sorted, int n, const double* needles,
                                       int* places, int count)
{
    for (int i = threadIdx.x + blockIdx.x * blockDim.x; i < count; i += blockDim.x * gridDim.x) {
        int first = 0;
        int length = n;
        while (length > 0) {
            const int half = length / 2;
            if (sorted[first + half] < needles[i]) {
                first += half + 1;
                length -= half + 1;
            } else {
                length = half;
            }
        }
        places[i] = first;
    }
}

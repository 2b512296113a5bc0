// Barriers that count, and barriers in loops.

extern "C" __global__ void barrier_votes(const int* in, int* counts, int* ands, int* ors, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const int odd = i < n ? in[i] & 1 : 0;
    const int count = __syncthreads_count(odd);
    const int every = __syncthreads_and(odd);
    const int some = __syncthreads_or(odd);
    if (threadIdx.x == 0) {
        counts[blockIdx.x] = count;
        ands[blockIdx.x] = every != 0;
        ors[blockIdx.x] = some != 0;
    }
}

// Each block halves its numbers until all of them are odd or zero.
extern "C" __global__ void halve_until_done(int* values, int* rounds)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    int value = values[i];
    int round = 0;
    while (__syncthreads_or(value != 0 && value % 2 == 0)) {
        if (value % 2 == 0) value /= 2;
        ++round;
    }
    values[i] = value;
    if (threadIdx.x == 0) rounds[blockIdx.x] = round;
}

// Bubble sort with neighbours in turn; a block of 2-D shape; stops when nothing was swapped.
extern "C" __global__ void odd_even_sort(unsigned short* data, int n)
{
    extern __shared__ unsigned short items[];
    const int t = threadIdx.y * blockDim.x + threadIdx.x;
    unsigned short* row = data + blockIdx.x * n;
    if (t < n) items[t] = row[t];
    int quiet = 0;
    int phase = 0;
    while (quiet < 2) {
        const int left = 2 * t + phase;
        int swapped = 0;
        __syncthreads();
        if (left + 1 < n && items[left] > items[left + 1]) {
            const unsigned short held = items[left];
            items[left] = items[left + 1];
            items[left + 1] = held;
            swapped = 1;
        }
        quiet = __syncthreads_or(swapped) ? 0 : quiet + 1;
        phase ^= 1;
    }
    if (t < n) row[t] = items[t];
}

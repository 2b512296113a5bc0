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

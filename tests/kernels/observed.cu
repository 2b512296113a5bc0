// What a kernel shows beside its results: text, time, assertions.

extern "C" __global__ void report_formats(double value, long long wide, const char* unused)
{
    if (threadIdx.x == 0 && blockIdx.x == 0) {
        printf("%s|%6.3f|%-8.2e|%g\n", "text", value, value, value);
        printf("%lld|%llu|%x|%08X|%c|%%\n", wide, 18446744073709551615ull, 48879u, 48879u, 'k');
        printf("%p|done\n", static_cast<const void*>(unused));
    }
}

// Clock ticks before and after some work, and whether time went backwards.
extern "C" __global__ void timed(const float* x, float* y, long long* ticks, int n)
{
    const long long start = clock64();
    float sum = 0.0f;
    for (int i = 0; i < n; ++i) {
        sum += x[i] * 0.5f;
    }
    y[blockIdx.x * blockDim.x + threadIdx.x] = sum;
    const long long end = clock64();
    ticks[blockIdx.x * blockDim.x + threadIdx.x] = end - start;
}

extern "C" __global__ void checked_sqrt(const float* x, float* y, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        assert(x[i] >= 0.0f);
        y[i] = sqrtf(x[i]);
    }
}

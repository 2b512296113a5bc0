#include <kerneltk/jit_array.hpp>

extern "C" __global__ void collatz(kerneltk::jit::array<long long, 1> x, kerneltk::jit::array<int, 1> steps) {
    // i = jit.grid(1)
#line 2 "kernel.py"
    const long long i = ((long long)blockIdx.x * blockDim.x + threadIdx.x);
    // n = x[i]
#line 3 "kernel.py"
    long long n = x[i];
    // for k in range(1000):
#line 4 "kernel.py"
    bool ended = true;
#line 4 "kernel.py"
    for (long long k = 0; k < 1000; ++k) {
        // if n <= 1:
#line 5 "kernel.py"
        if (n <= 1) {
            // steps[i] = k
#line 6 "kernel.py"
            steps[i] = (int)k;
            // break
#line 7 "kernel.py"
            ended = false;
#line 7 "kernel.py"
            break;
        }
        // n = n // 2 if n % 2 == 0 else 3 * n + 1
#line 8 "kernel.py"
        n = n % 2 == 0 ? n / 2 : (long long)(3ull * n + 1);
    }
    // for k in range(1000):
#line 4 "kernel.py"
    if (ended) {
        // steps[i] = -1
#line 10 "kernel.py"
        steps[i] = -1;
    }
}

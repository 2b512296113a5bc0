#include <kerneltk/jit_array.hpp>
#include <kerneltk/jit_divisor.hpp>

__constant__ const float _kt_constant0[3] = {0.25f, 0.5f, 0.25f};

extern "C" __global__ void convolution(kerneltk::jit::array<float, 1> x, kerneltk::jit::array<float, 1> y) {
    // weights = jit.cuda.const.array_like(WEIGHTS)
#line 2 "kernel.py"
    const float (&weights)[3] = reinterpret_cast<const float (&)[3]>(_kt_constant0);
    // window = jit.local_memory(np.float32, 3)
#line 3 "kernel.py"
    float window[3];
    // i = jit.grid(1)
#line 4 "kernel.py"
    const long long i = ((long long)blockIdx.x * blockDim.x + threadIdx.x);
    // for k in jit.range(3, unroll=True):
#line 5 "kernel.py"
    #pragma unroll
    for (long long k = 0; k < 3; ++k) {
        // window[k] = x[(i + k) % x.size]
#line 6 "kernel.py"
        window[k] = x[(i + k) % kerneltk::jit::checked_divisor(x.shape[0])];
    }
    // total = np.float32(0)
#line 7 "kernel.py"
    float total = 0.0f;
    // for k in range(2, -1, -1):
#line 8 "kernel.py"
    for (long long k = 2; k > -1; --k) {
        // total += weights[k] * window[k]
#line 9 "kernel.py"
        total = total + weights[k] * window[k];
    }
    // y[i] = total
#line 10 "kernel.py"
    y[i] = total;
}

#include <kerneltk/jit_array.hpp>
#include <kerneltk/jit_numbers.hpp>
#include <kerneltk/jit_assert.hpp>

extern "C" __global__ void branches(kerneltk::jit::array<int, 1> x, kerneltk::jit::array<int, 1> y, long long step) {
    // i = jit.grid(1)
#line 2 "kernel.py"
    const long long i = ((long long)blockIdx.x * blockDim.x + threadIdx.x);
    // match x[i]:
#line 3 "kernel.py"
    const int t = x[i];
    // case 0 | 1:
#line 4 "kernel.py"
    if (t == 0 || t == 1) {
        // y[i] = 10
#line 5 "kernel.py"
        y[i] = 10;
    } else {
        // case k if k > 5:
#line 6 "kernel.py"
        const int k = t;
#line 6 "kernel.py"
        if (k > 5) {
            // y[i] = k
#line 7 "kernel.py"
            y[i] = k;
        } else {
            // y[i] = ((v := x[i] % 3) and v * v) or -1
#line 9 "kernel.py"
            const int v = kerneltk::jit::modulo(x[i], 3);
#line 9 "kernel.py"
            const int t_2 = v;
#line 9 "kernel.py"
            const int t_3 = t_2 != 0 ? (int)((unsigned int)v * v) : t_2;
#line 9 "kernel.py"
            y[i] = t_3 != 0 ? t_3 : -1;
        }
    }
    // for j in range(i, -i, step):
#line 10 "kernel.py"
    const long long t_4 = step;
#line 10 "kernel.py"
    const long long t_5 = -i;
#line 10 "kernel.py"
    for (long long j = i; t_4 > 0 ? j < t_5 : t_4 < 0 && j > t_5; j += t_4) {
        // if y[j] == 3:
#line 11 "kernel.py"
        if (y[kerneltk::jit::wrapped(j, y.shape[0])] == 3) {
            // continue
#line 12 "kernel.py"
            continue;
        }
        // assert y[j] > -100, "too low"
#line 13 "kernel.py"
        KERNELTK_ASSERT(y[kerneltk::jit::wrapped(j, y.shape[0])] > -100, "too low");
        // print("y", j, y[j], y[j] > 0)
#line 14 "kernel.py"
        printf("y %lld %lld %s\n", j, (long long)y[kerneltk::jit::wrapped(j, y.shape[0])], (y[kerneltk::jit::wrapped(j, y.shape[0])] > 0) ? "True" : "False");
    }
}

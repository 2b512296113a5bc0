#include <kerneltk/jit_array.hpp>

struct _kt_Box0 { kerneltk::jit::array<float, 1> low; kerneltk::jit::strided<float, 1> high; double scale; };

extern "C" __global__ void structures(_kt_Box0 box, kerneltk::jit::array<bool, 1> inside) {
    // i = jit.grid(1)
#line 2 "kernel.py"
    const long long i = ((long long)blockIdx.x * blockDim.x + threadIdx.x);
    // low, high = box.low[i], box.high[-i]
#line 3 "kernel.py"
    const float t = box.low[i];
#line 3 "kernel.py"
    const float t_2 = box.high[kerneltk::jit::wrapped(-i, box.high.shape[0])];
#line 3 "kernel.py"
    float low = t;
#line 3 "kernel.py"
    float high = t_2;
    // if low > high:
#line 6 "kernel.py"
    if (low > high) {
        // low, high = high, low
#line 7 "kernel.py"
        const float t_3 = high;
#line 7 "kernel.py"
        const float t_4 = low;
#line 7 "kernel.py"
        low = t_3;
#line 7 "kernel.py"
        high = t_4;
    }
    // inside[i] = low <= box.scale < high or (low, high) == (0, 1)
#line 8 "kernel.py"
    const double t_5 = box.scale;
#line 8 "kernel.py"
    inside[i] = (low <= (float)t_5 && (float)t_5 < high) || (low == 0.0f && high == 1.0f);
}

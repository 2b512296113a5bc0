#include <kerneltk/jit_array.hpp>
#include <kerneltk/jit_numbers.hpp>

struct _kt_tuple0 { double item0; double item1; double item2; };

static __device__ inline double v_horner(_kt_tuple0 coefficients, double x) {
    // value = x * 0
#line 2 "kernel.py"
    double value = x * 0.0;
    // for c in coefficients:
#line 3 "kernel.py"
    const double t = coefficients.item0;
    // value = value * x + c
#line 4 "kernel.py"
    value = value * x + t;
    // for c in coefficients:
#line 3 "kernel.py"
    const double t_2 = coefficients.item1;
    // value = value * x + c
#line 4 "kernel.py"
    value = value * x + t_2;
    // for c in coefficients:
#line 3 "kernel.py"
    const double t_3 = coefficients.item2;
    // value = value * x + c
#line 4 "kernel.py"
    value = value * x + t_3;
    // return value
#line 5 "kernel.py"
    return value;
}

static __device__ inline float v_horner_2(_kt_tuple0 coefficients, float x) {
    // value = x * 0
#line 2 "kernel.py"
    float value = x * 0.0f;
    // for c in coefficients:
#line 3 "kernel.py"
    const double t = coefficients.item0;
    // value = value * x + c
#line 4 "kernel.py"
    value = value * x + (float)t;
    // for c in coefficients:
#line 3 "kernel.py"
    const double t_2 = coefficients.item1;
    // value = value * x + c
#line 4 "kernel.py"
    value = value * x + (float)t_2;
    // for c in coefficients:
#line 3 "kernel.py"
    const double t_3 = coefficients.item2;
    // value = value * x + c
#line 4 "kernel.py"
    value = value * x + (float)t_3;
    // return value
#line 5 "kernel.py"
    return value;
}

static __device__ inline float clipped(float v, long long low, long long high) {
    // return min(max(v, low), high)
#line 11 "kernel.py"
    return kerneltk::jit::py_min(kerneltk::jit::py_max(v, (float)low), (float)high);
}

extern "C" __global__ void polynomial(kerneltk::jit::array<float, 1> x, _kt_tuple0 coefficients, kerneltk::jit::array<double, 1> y, kerneltk::jit::array<float, 1> z) {
    // i = jit.grid(1)
#line 13 "kernel.py"
    const long long i = ((long long)blockIdx.x * blockDim.x + threadIdx.x);
    // y[i] = _horner(coefficients, float(i))
#line 14 "kernel.py"
    y[i] = v_horner(coefficients, (double)i);
    // z[i] = clipped(_horner(coefficients, x[i]), -1)
#line 15 "kernel.py"
    z[i] = clipped(v_horner_2(coefficients, x[i]), -1ll, 1ll);
}

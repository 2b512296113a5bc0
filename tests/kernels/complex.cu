// Complex numbers by the functions of cuComplex.h.
#include <cuComplex.h>

extern "C" __global__ void multiply_add(const cuFloatComplex* x, const cuFloatComplex* y,
                                        cuFloatComplex factor, cuFloatComplex* out, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        out[i] = cuCaddf(cuCmulf(factor, x[i]), y[i]);
    }
}

extern "C" __global__ void polar(const cuDoubleComplex* x, double* magnitude, double* angle,
                                 cuDoubleComplex* conjugate, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    magnitude[i] = cuCabs(x[i]);
    angle[i] = atan2(cuCimag(x[i]), cuCreal(x[i]));
    conjugate[i] = cuConj(x[i]);
}

extern "C" __global__ void quotients(const cuDoubleComplex* x, const cuDoubleComplex* y,
                                     cuDoubleComplex* out, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        out[i] = cuCsub(cuCdiv(x[i], y[i]), make_cuDoubleComplex(1.0, 0.0));
    }
}

// Points after some steps of z² + c, stopped where they leave the circle.
extern "C" __global__ void julia(const cuFloatComplex* start, float c_real, float c_imag,
                                 cuFloatComplex* out, int steps, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    cuFloatComplex z = start[i];
    const cuFloatComplex c = make_cuFloatComplex(c_real, c_imag);
    for (int step = 0; step < steps; ++step) {
        z = cuCaddf(cuCmulf(z, z), c);
    }
    out[i] = z;
}

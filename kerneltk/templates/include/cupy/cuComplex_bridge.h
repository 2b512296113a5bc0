// What raw kernels with translate_cucomplex=True have in place of <cuComplex.h>: its names for
// complex<T>, so that operators work too. Functions of both precisions take either.
#pragma once
#define CU_COMPLEX_H_  // CUDA's own header, which another one may include, would declare them again
#include <cupy/complex.cuh>

typedef complex<float> cuFloatComplex;
typedef complex<double> cuDoubleComplex;
typedef cuFloatComplex cuComplex;

__device__ inline cuFloatComplex make_cuFloatComplex(float re, float im) {
    return cuFloatComplex(re, im);
}
__device__ inline cuComplex make_cuComplex(float re, float im) { return cuComplex(re, im); }
__device__ inline cuDoubleComplex make_cuDoubleComplex(double re, double im) {
    return cuDoubleComplex(re, im);
}
__device__ inline cuDoubleComplex cuComplexFloatToDouble(const cuFloatComplex& z) {
    return cuDoubleComplex(z.real(), z.imag());
}
__device__ inline cuFloatComplex cuComplexDoubleToFloat(const cuDoubleComplex& z) {
    return cuFloatComplex(z.real(), z.imag());
}

// Names end in f for float.
#define KERNELTK_CUCOMPLEX_BRIDGE(f)                                                       \
    template <class T> __device__ T cuCreal##f(const complex<T>& z) { return z.real(); }   \
    template <class T> __device__ T cuCimag##f(const complex<T>& z) { return z.imag(); }   \
    template <class T> __device__ T cuCabs##f(const complex<T>& z) { return abs(z); }      \
    template <class T> __device__ complex<T> cuConj##f(const complex<T>& z) {              \
        return conj(z);                                                                    \
    }                                                                                      \
    template <class A, class B>                                                            \
    __device__ auto cuCadd##f(const A& a, const B& b) -> decltype(a + b) { return a + b; } \
    template <class A, class B>                                                            \
    __device__ auto cuCsub##f(const A& a, const B& b) -> decltype(a - b) { return a - b; } \
    template <class A, class B>                                                            \
    __device__ auto cuCmul##f(const A& a, const B& b) -> decltype(a * b) { return a * b; } \
    template <class A, class B>                                                            \
    __device__ auto cuCdiv##f(const A& a, const B& b) -> decltype(a / b) { return a / b; } \
    template <class A, class B, class C>                                                   \
    __device__ auto cuCfma##f(const A& a, const B& b, const C& c) -> decltype(a * b + c) { \
        return a * b + c;                                                                  \
    }
KERNELTK_CUCOMPLEX_BRIDGE(f)
KERNELTK_CUCOMPLEX_BRIDGE()
#undef KERNELTK_CUCOMPLEX_BRIDGE

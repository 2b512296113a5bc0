// CUDA's <cuComplex.h> for host compilers: complex numbers as vectors of two, without operators.
#pragma once
#include <kerneltk/core.hpp>
#include <kerneltk/host_vector.hpp>

using cuFloatComplex = float2;
using cuDoubleComplex = double2;
using cuComplex = cuFloatComplex;

// Names end in f for float. A quotient is taken of both numbers divided by the sum of the
// divisor's sizes, so that its square does not overflow; the absolute value is scaled alike.
#define KERNELTK_CUCOMPLEX(T, R, f, Long)                                                  \
    __forceinline__ R cuCreal##f(T z) { return z.x; }                                      \
    __forceinline__ R cuCimag##f(T z) { return z.y; }                                      \
    __forceinline__ T make_##Long(R re, R im) { return {re, im}; }                         \
    __forceinline__ T cuConj##f(T z) { return {z.x, -z.y}; }                               \
    __forceinline__ T cuCadd##f(T x, T y) { return {x.x + y.x, x.y + y.y}; }               \
    __forceinline__ T cuCsub##f(T x, T y) { return {x.x - y.x, x.y - y.y}; }               \
    __forceinline__ T cuCmul##f(T x, T y) {                                                \
        return {x.x * y.x - x.y * y.y, x.x * y.y + x.y * y.x};                             \
    }                                                                                      \
    __forceinline__ T cuCdiv##f(T x, T y) {                                                \
        const R scale = 1 / (fabs(y.x) + fabs(y.y));                                       \
        const R a = x.x * scale, b = x.y * scale, c = y.x * scale, d = y.y * scale;        \
        const R inverse = 1 / (c * c + d * d);                                             \
        return {(a * c + b * d) * inverse, (b * c - a * d) * inverse};                     \
    }                                                                                      \
    __forceinline__ R cuCabs##f(T z) { return hypot(z.x, z.y); }                           \
    __forceinline__ T cuCfma##f(T x, T y, T z) {                                           \
        return {x.x * y.x + z.x - x.y * y.y, x.x * y.y + z.y + x.y * y.x};                 \
    }
KERNELTK_CUCOMPLEX(cuFloatComplex, float, f, cuFloatComplex)
KERNELTK_CUCOMPLEX(cuDoubleComplex, double, , cuDoubleComplex)
#undef KERNELTK_CUCOMPLEX

__forceinline__ cuComplex make_cuComplex(float re, float im) { return {re, im}; }
__forceinline__ cuDoubleComplex cuComplexFloatToDouble(cuFloatComplex z) { return {z.x, z.y}; }
__forceinline__ cuFloatComplex cuComplexDoubleToFloat(cuDoubleComplex z) {
    return {static_cast<float>(z.x), static_cast<float>(z.y)};
}

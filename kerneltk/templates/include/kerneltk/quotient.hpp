// Quotients of float32 that are correctly rounded, as those of `/`.
#pragma once

namespace kerneltk {

#ifdef __CUDACC_RTC__

// The steps of the compiler's `/`: Newton's for the inverse, and two corrections by the remainder,
// which is exact for such sizes. What is computed of `b` alone is computed once for quotients by the
// same number, as rows have them, and one question is asked of the result.
//
// Others are divided as doubles: a quotient of two float32 that is no float32, nor halfway between
// two, is 2^-49 of it apart from these, so that rounding it twice does no harm. The compiler calls a
// function of a hundred instructions there, for 0 as well, whose branches the lanes of a warp go
// through in turn: where exponentials underflow, rows took up to twice as long on an H200. Here the
// quotient of 0 is the first product.
static __device__ __forceinline__ float quotient(float a, float b) {
    const float infinity = __int_as_float(0x7f800000);
    float inverse;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(inverse) : "f"(b));
    inverse = fmaf(inverse, fmaf(-b, inverse, 1.0f), inverse);
    if (!(fabsf(b) > 0x1p-16f && fabsf(b) < 0x1p40f)) inverse = __int_as_float(0x7fc00000);
    const float near = __fmul_rn(a, inverse);
    float found = fmaf(inverse, fmaf(-b, near, a), near);
    found = fmaf(inverse, fmaf(-b, found, a), found);
    if (a == 0) found = near;  // -0 has lost its sign
    if ((fabsf(found) >= 0x1p-84f || a == 0) && fabsf(found) < 0x1p127f) return found;
    const double numerator = a, divisor = b;
    double wide;
    asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(wide) : "d"(divisor));
    double exact = numerator * wide;
    // Of others that is it; a correction of -0 would be 0.
    if (fabsf(b) > 0 && fabsf(b) < infinity && fabsf(a) > 0 && fabsf(a) < infinity) {
#pragma unroll
        for (int k = 0; k < 2; ++k) wide = fma(wide, fma(-divisor, wide, 1.0), wide);
        exact = numerator * wide;
        // Halfway between two subnormal float32 it must be the quotient itself.
        exact = fma(fma(-divisor, exact, numerator), wide, exact);
    }
    return static_cast<float>(exact);
}

#else

__forceinline__ float quotient(float a, float b) { return a / b; }

#endif

}  // namespace kerneltk

// Quotients of float32 that are correctly rounded, as those of `/`.
#pragma once

namespace kerneltk {

#ifdef __CUDACC_RTC__

// The steps of the compiler's `/`: Newton's for the inverse, and two corrections by the remainder,
// which is exact for such sizes. What is computed of `b` alone is computed once for quotients by the
// same number, as rows have them, and one question is asked of the result.
//
// Small ones are had of 2^64 times the numerator. Where that is halfway between two subnormal float32,
// the remainder says on which side the quotient is. The compiler calls a function of a hundred
// instructions there, for 0 as well, whose branches the lanes of a warp go through in turn: where
// exponentials underflow, rows took up to twice as long on an H200.
static __device__ __forceinline__ float quotient(float a, float b) {
    float inverse;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(inverse) : "f"(b));
    inverse = fmaf(inverse, fmaf(-b, inverse, 1.0f), inverse);
    if (!(fabsf(b) > 0x1p-16f && fabsf(b) < 0x1p40f)) inverse = __int_as_float(0x7fc00000);
    const float near = __fmul_rn(a, inverse);
    float found = fmaf(inverse, fmaf(-b, near, a), near);
    found = fmaf(inverse, fmaf(-b, found, a), found);
    if (a == 0) found = near;  // -0 has lost its sign
    if ((fabsf(found) >= 0x1p-84f || a == 0) && fabsf(found) < 0x1p127f) return found;
    if (!(fabsf(found) < 0x1p127f)) return a / b;
    const float large = a * 0x1p64f;
    float scaled = __fmul_rn(large, inverse);
    scaled = fmaf(inverse, fmaf(-b, scaled, large), scaled);
    scaled = fmaf(inverse, fmaf(-b, scaled, large), scaled);
    const float rest = fmaf(-b, scaled, large);
    found = scaled * 0x1p-64f;
    const float apart = fmaf(found, -0x1p64f, scaled);
    const int signs = __float_as_int(rest) ^ __float_as_int(b) ^ __float_as_int(apart);
    if (fabsf(apart) == 0x1p-86f && rest != 0 && signs >= 0) found += copysignf(0x1p-149f, apart);
    return found;
}

#else

__forceinline__ float quotient(float a, float b) { return a / b; }

#endif

}  // namespace kerneltk

// Functions of floating point numbers: approximate intrinsics, exact ones, conversions.

// Fast and approximate.
extern "C" __global__ void fast_functions(const float* x, float* out, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const float v = x[i];
    int row = 0;
    auto put = [&](float value) { out[row++ * n + i] = value; };
    put(__expf(v));
    put(__exp10f(v));
    put(__logf(v));
    put(__log2f(v));
    put(__log10f(v));
    put(__sinf(v));
    put(__cosf(v));
    put(__powf(v, 1.5f));
    put(__fdividef(1.0f, v));
    put(rsqrtf(v));
    float s, c;
    __sincosf(v, &s, &c);
    put(s);
    put(c);
}

// Exactly rounded by definition.
extern "C" __global__ void exact_functions(const float* x, const float* y, float* out, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const float a = x[i];
    const float b = y[i];
    int row = 0;
    auto put = [&](float value) { out[row++ * n + i] = value; };
    put(__fmaf_rn(a, b, 1.0f));
    put(fmaf(a, b, -1.0f));
    put(__fadd_rn(__fmul_rn(a, b), a));
    put(__fsub_rn(__fmul_rn(a, a), __fmul_rn(b, b)));
    put(__fdiv_rn(a, b));
    put(__frcp_rn(b));
    put(__fsqrt_rn(fabsf(a)));
    put(sqrtf(fabsf(b)));
    put(floorf(a));
    put(ceilf(a));
    put(truncf(a));
    put(rintf(a));
    put(roundf(a));
    put(nearbyintf(b));
    put(fabsf(a));
    put(fminf(a, b));
    put(fmaxf(a, b));
    put(copysignf(a, b));
    put(fdimf(a, b));
    put(fmodf(a, b));
    put(remainderf(a, b));
    put(ldexpf(a, 3));
    put(scalbnf(b, -2));
    put(__saturatef(a));
    put(nextafterf(a, b));
    put(min(a, b) + max(a, b));
}

// Double rounding must not happen: products and sums are kept apart.
extern "C" __global__ void exact_double(const double* x, const double* y, double* out, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const double a = x[i];
    const double b = y[i];
    int row = 0;
    auto put = [&](double value) { out[row++ * n + i] = value; };
    put(__dadd_rn(__dmul_rn(a, b), a));
    put(__fma_rn(a, b, a));
    put(fma(a, b, -a));
    put(__ddiv_rn(a, b));
    put(__dsqrt_rn(fabs(a)));
    put(floor(a) + ceil(b));
    put(fmin(a, b));
    put(fmax(a, b));
    put(trunc(a));
    put(rint(b));
    put(fmod(a, b));
    put(copysign(a, b));
    put(ldexp(a, 5));
}

// The library's functions, correct to a few units in the last place.
template <typename T>
__global__ void library_functions(const T* x, T* out, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const T v = x[i];
    int row = 0;
    auto put = [&](T value) { out[row++ * n + i] = value; };
    put(exp(v));
    put(exp2(v));
    put(expm1(v));
    put(log(v));
    put(log2(v));
    put(log10(v));
    put(log1p(v));
    put(sin(v));
    put(cos(v));
    put(tan(v));
    put(asin(v / 8));
    put(acos(v / 8));
    put(atan(v));
    put(atan2(v, T(2)));
    put(sinh(v));
    put(cosh(v));
    put(tanh(v));
    put(asinh(v));
    put(acosh(v + 1));
    put(atanh(v / 8));
    put(pow(v, T(1.25)));
    put(cbrt(v));
    put(hypot(v, T(3)));
    put(erf(v));
    put(erfc(v));
    put(tgamma(v));
    put(lgamma(v + 3));
}

// Those that only CUDA has.
extern "C" __global__ void cuda_functions(const float* x, float* out, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const float v = x[i];
    int row = 0;
    auto put = [&](float value) { out[row++ * n + i] = value; };
    put(sinpif(v));
    put(cospif(v));
    put(exp10f(v));
    put(rhypotf(v, 4.0f));
    put(rcbrtf(v));
    put(norm3df(v, 2.0f, 3.0f));
    put(normcdff(v - 2.0f));
    float s, c;
    sincosf(v, &s, &c);
    put(s);
    put(c);
    sincospif(v, &s, &c);
    put(s + c);
    put(fdividef(v, 3.0f));
    put(static_cast<float>(rsqrt(static_cast<double>(v))));
}

extern "C" __global__ void parts(const float* x, float* fraction, float* whole, float* mantissa,
                                 int* exponent, int* logarithm, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    fraction[i] = modff(x[i], &whole[i]);
    mantissa[i] = frexpf(x[i], &exponent[i]);
    logarithm[i] = ilogbf(x[i]);
}

extern "C" __global__ void classify(const double* x, int* flags, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int found = 0;
    if (isnan(x[i])) found |= 1;
    if (isinf(x[i])) found |= 2;
    if (isfinite(x[i])) found |= 4;
    if (signbit(x[i])) found |= 8;
    if (isnan(static_cast<float>(x[i]))) found |= 16;
    if (isinf(static_cast<float>(x[i]))) found |= 32;
    flags[i] = found;
}

// Casts that saturate, by rounding mode.
extern "C" __global__ void saturating_casts(const float* x, int* out, unsigned int* unsigned_out,
                                            int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    out[0 * n + i] = __float2int_rn(x[i]);
    out[1 * n + i] = __float2int_rz(x[i]);
    out[2 * n + i] = __float2int_ru(x[i]);
    out[3 * n + i] = __float2int_rd(x[i]);
    out[4 * n + i] = __double2int_rn(static_cast<double>(x[i]) * 0.5);
    unsigned_out[0 * n + i] = __float2uint_rn(x[i]);
    unsigned_out[1 * n + i] = __float2uint_rz(x[i]);
    unsigned_out[2 * n + i] = __double2uint_rd(x[i]);
}

extern "C" __global__ void reinterpretations(const float* x, const double* y, int* bits,
                                             long long* wide_bits, float* back, double* joined,
                                             long long* rounded, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    bits[i] = __float_as_int(x[i]) ^ static_cast<int>(__float_as_uint(x[i]) >> 16);
    wide_bits[i] = __double_as_longlong(y[i]);
    back[i] = __int_as_float(__float_as_int(x[i]) + 1) + __uint_as_float(0x3f800000u);
    joined[i] = __hiloint2double(__double2hiint(y[i]), __double2loint(y[i]) & ~0xff) +
                __longlong_as_double(0x3ff0000000000000ll);
    rounded[i] = __float2ll_rn(x[i]) + __double2ll_rz(y[i]) + __float2ll_rd(x[i]);
}

// From integers, where the result must be rounded.
extern "C" __global__ void from_integers(const int* x, const long long* y, float* out,
                                         double* doubles, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    out[0 * n + i] = __int2float_rn(x[i]);
    out[1 * n + i] = __int2float_rz(x[i]);
    out[2 * n + i] = __uint2float_rn(static_cast<unsigned int>(x[i]));
    out[3 * n + i] = __ll2float_rn(y[i]);
    doubles[0 * n + i] = __ll2double_rn(y[i]);
    doubles[1 * n + i] = __int2double_rn(x[i]);
}

extern "C" __global__ void integer_rounding(const float* x, int* out, long long* wide, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    out[i] = static_cast<int>(lrintf(x[i])) * 3 + static_cast<int>(lroundf(x[i]));
    wide[i] = llrintf(x[i]) - llround(static_cast<double>(x[i]) * 1.5);
}

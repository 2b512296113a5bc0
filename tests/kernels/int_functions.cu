// Functions of integers.

extern "C" __global__ void bit_functions(const unsigned int* x, int* out, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const unsigned int v = x[i];
    const unsigned long long w = static_cast<unsigned long long>(v) << 20 | 0x80;
    int row = 0;
    auto put = [&](int value) { out[row++ * n + i] = value; };
    put(__popc(v));
    put(__clz(static_cast<int>(v)));
    put(__ffs(static_cast<int>(v)));
    put(static_cast<int>(__brev(v)));
    put(__popcll(w));
    put(__clzll(static_cast<long long>(w)));
    put(__ffsll(static_cast<long long>(w)));
    put(static_cast<int>(__brevll(w) >> 24));
    put(static_cast<int>(__byte_perm(v, 0x01020304u, 0x6510u)));
    put(static_cast<int>(__byte_perm(v, ~v, v & 0x7777u)));
    put(static_cast<int>(__funnelshift_l(v, 0xdeadbeefu, 13)));
    put(static_cast<int>(__funnelshift_r(v, 0xdeadbeefu, v & 63)));
    put(static_cast<int>(__funnelshift_lc(v, 1u, 40)));
    put(static_cast<int>(__funnelshift_rc(v, 1u, 7)));
}

extern "C" __global__ void high_products(const int* x, const int* y, int* out,
                                         unsigned int* unsigned_out, long long* wide, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const unsigned int a = static_cast<unsigned int>(x[i]);
    const unsigned int b = static_cast<unsigned int>(y[i]);
    const long long p = static_cast<long long>(x[i]) * 1000003;
    const long long q = static_cast<long long>(y[i]) * 998244353;
    out[i] = __mulhi(x[i], y[i]);
    unsigned_out[i] = __umulhi(a, b);
    wide[0 * n + i] = __mul64hi(p, q);
    wide[1 * n + i] = static_cast<long long>(
        __umul64hi(static_cast<unsigned long long>(p), static_cast<unsigned long long>(q)));
    wide[2 * n + i] = __mul24(x[i] % 5000, y[i] % 3000);
    wide[3 * n + i] = __umul24(a & 0xffffu, b & 0xffu);
}

// Averages that do not overflow, absolute differences, dot products of bytes.
extern "C" __global__ void small_arithmetic(const int* x, const int* y, int* out, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const unsigned int a = static_cast<unsigned int>(x[i]);
    const unsigned int b = static_cast<unsigned int>(y[i]);
    int row = 0;
    auto put = [&](int value) { out[row++ * n + i] = value; };
    put(__hadd(x[i], y[i]));
    put(__rhadd(x[i], y[i]));
    put(static_cast<int>(__uhadd(a, b)));
    put(static_cast<int>(__urhadd(a, b)));
    put(static_cast<int>(__sad(x[i] / 4, y[i] / 4, 7u)));
    put(static_cast<int>(__usad(a, b, 5u)));
    put(__dp4a(x[i], y[i], 100));
    put(static_cast<int>(__dp4a(a, b, 100u)));
    put(abs(x[i] / 2));
    put(min(x[i], y[i]));
    put(max(x[i], y[i]));
    put(static_cast<int>(min(a, b)));
    put(static_cast<int>(max(static_cast<long long>(x[i]), 5ll)));
    put(static_cast<int>(llabs(static_cast<long long>(y[i])) / 2));
}

// Division and remainder of negative numbers, and shifts, as C has them.
extern "C" __global__ void divisions(const int* x, const int* y, int* out, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    out[0 * n + i] = x[i] / y[i];
    out[1 * n + i] = x[i] % y[i];
    out[2 * n + i] = x[i] >> 3;
    out[3 * n + i] = static_cast<int>(static_cast<unsigned int>(x[i]) >> 3);
    out[4 * n + i] = static_cast<signed char>(x[i]);
    out[5 * n + i] = static_cast<unsigned short>(x[i]);
}

// Arithmetic of narrow types: promotion, and conversion back.
extern "C" __global__ void narrow_types(const signed char* a, const unsigned short* b, short c,
                                        unsigned char d, signed char* sum, unsigned short* product,
                                        long long* wide, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    sum[i] = static_cast<signed char>(a[i] + c);
    product[i] = static_cast<unsigned short>(b[i] * static_cast<unsigned int>(d));
    wide[i] = static_cast<long long>(a[i]) * b[i] * c * d;
}

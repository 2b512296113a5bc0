#include <kerneltk/host_grid.hpp>
#include <kerneltk/host_device.hpp>
#include <kerneltk/host_block.hpp>
#include <kerneltk/float16.hpp>
#include <kerneltk/complex.hpp>
#include <kerneltk/jit_array.hpp>
#include <kerneltk/jit_numbers.hpp>
#include <kerneltk/jit_numbers_complex.hpp>

static inline __attribute__((always_inline)) void dtypes(kerneltk::jit::array<signed char, 1> a, kerneltk::jit::array<unsigned short, 1> b, kerneltk::jit::array<float16, 1> h, kerneltk::jit::array<float, 1> x, kerneltk::jit::array<complex<float>, 1> z, long long n) {
    KERNELTK_BLOCK_BEGIN
    // i = jit.grid(1)
#line 2 "kernel.py"
    KERNELTK_THREADS_BEGIN
#line 2 "kernel.py"
        const long long i = ((long long)blockIdx.x * blockDim.x + threadIdx.x);
        // a[i] = a[i] * 2 - n
#line 3 "kernel.py"
        a[i] = (signed char)((signed char)(a[i] * (signed char)2) - (signed char)n);
        // b[i] += a[i] << 1
#line 4 "kernel.py"
        {
            unsigned short& place = b[i];
            place = (unsigned short)(int)((unsigned int)(int)place + (int)(signed char)((unsigned int)a[i] << 1));
        }
        // h[i] = h[i] * h[i] + 1.5
#line 5 "kernel.py"
        h[i] = (float16)((float16)(h[i] * h[i]) + float16(1.5f));
        // x[i] = (a[i] + x[i]) // 3 + b[i] ** 2
#line 6 "kernel.py"
        x[i] = kerneltk::jit::floor_divide((float)a[i] + x[i], 3.0f) + (float)kerneltk::jit::power_constant<2>(b[i]);
        // z[i] = z[i] * 1j + x[i] if a[i] != 0 and not b[i] > 7 else z[i]
#line 7 "kernel.py"
        z[i] = a[i] != (signed char)0 && !(b[i] > (unsigned short)7) ? z[i] * complex<float>(0.0f, 1.0f) + kerneltk::jit::convert<complex<float>>(x[i]) : z[i];
    KERNELTK_THREADS_END
}

KERNELTK_BLOCK_ENTRY(_kt_entry_dtypes, (dtypes))

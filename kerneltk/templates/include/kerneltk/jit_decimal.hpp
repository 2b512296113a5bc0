// Python's round(x, n): the double that is nearest to the decimal number that is nearest to x.
#pragma once
#include <kerneltk/core.hpp>

namespace kerneltk::jit {

// A number as an unevaluated sum, of which `high` is the rounded value (Dekker, 1971).
struct double_double {
    double high, low;
};

// x * 10**digits in steps of powers that a double holds.
__device__ inline double_double times_power_of_ten(double_double x, int digits) {
    for (int rest = digits < 0 ? -digits : digits; rest > 0; rest -= 22) {
        double ten = 1;
        for (int k = rest < 22 ? rest : 22; k > 0; --k) ten *= 10;
        // Explicitly rounded, so that no compiler fuses it into the sum behind it.
        const double high = digits < 0 ? x.high / ten : __dmul_rn(x.high, ten);
        const double low = digits < 0 ? (fma(-high, ten, x.high) + x.low) / ten
                                      : fma(x.high, ten, -high) + x.low * ten;
        if (!isfinite(high)) return {high, 0};
        const double sum = high + low;
        x = {sum, low - (sum - high)};
    }
    return x;
}

__device__ inline double round_decimal(double x, long long digits) {
    if (!isfinite(x) || x == 0 || digits > 323) return x;  // there is no such digit
    if (digits < -308) return copysign(0.0, x);
    const int n = static_cast<int>(digits);
    const double unit = n > 22 ? 0x1p600 : 1;  // the parts of a small number must not underflow
    const double_double scaled = times_power_of_ten({x * unit, 0}, n);
    const double value = scaled.high / unit, rest = scaled.low / unit;
    if (!(fabs(value) < 0x1p53)) return x;  // doubles are further apart there than decimals
    double whole = rint(value);
    const double part = value - whole;
    if (part == 0.5 && rest > 0) whole += 1;
    if (part == -0.5 && rest < 0) whole -= 1;
    if (part == 0 && fabs(rest) == 0.5 && fmod(whole, 2.0) != 0) whole += 2 * rest;
    const double_double found = times_power_of_ten({whole * unit, 0}, -n);
    double result = found.high / unit;
    // A subnormal number was rounded twice.
    const double left = found.high - result * unit + found.low;
    if (fabs(result) < 0x1p-1021 && fabs(left) > 0x1p-475)  // half of 2**-1074, times the unit
        result += left < 0 ? -0x1p-1074 : 0x1p-1074;
    return copysign(result, x);
}

}  // namespace kerneltk::jit

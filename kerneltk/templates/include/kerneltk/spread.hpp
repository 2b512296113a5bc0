// Sums of squares about the mean, in one read.
#pragma once

namespace kerneltk {

__device__ __forceinline__ double squared(double value) { return value * value; }

// The value; of an infinite one no number.
__device__ __forceinline__ double finite(double value) { return value + (value - value); }

// From the sums of the elements and of their squares; rounding makes it no less than nothing, and
// no elements have none. Squares that overflow are infinite, whatever the sum is then.
__device__ __forceinline__ double spread(double sum, double squares, double count) {
    if (!(squares <= 0x1.fffffffffffffp1023)) return squares;
    const double found = count > 0 ? squares - sum / count * sum : 0;
    return found < 0 ? 0 : found;
}

// Sums of two parts, and of their squares, each about an element of the part's own, about that of the
// first; of a part of one element both are nothing, or no numbers where the element is not finite.
__device__ __forceinline__ double shifted_sum(double count, double shift, double sum, double,
                                              double more, double other, double further, double) {
    return sum + (count > 0 ? fma(more, other - shift, further) : further);
}
__device__ __forceinline__ double shifted_squares(double count, double shift, double, double squares,
                                                  double more, double other, double further,
                                                  double others) {
    const double apart = count > 0 ? other - shift : 0, both = squares + others;
    if (more == 1) return fma(apart, apart, both);
    // Of squares that overflow, sums may be no numbers.
    if (!(both <= 0x1.fffffffffffffp1023)) return both;
    return fma(apart, fma(more, apart, 2 * further), both);
}

// As `spread`, about the mean as rounded to float16. Distances from 255.9375 on are 256 and more as
// float16, whose squares are infinite.
template <class Half>
__device__ __forceinline__ float half_spread(double sum, double squares, float least, float most,
                                             double count) {
    const double mean =
        static_cast<float>(static_cast<Half>(static_cast<float>(sum) / static_cast<float>(count)));
    const double found = count > 0 ? squares + (count * mean - 2 * sum) * mean : 0;
    const bool overflows = fmax(most - mean, mean - least) >= 255.9375;
    return overflows && found == found ? INFINITY : found < 0 ? 0 : static_cast<float>(found);
}

}  // namespace kerneltk

// Sums of squares of float16 about their mean, in one read.
#pragma once

namespace kerneltk {

// From the sums of elements and of their squares, which doubles hold, about the mean as a float16.
// Distances from 255.9375 on are 256 and more as float16, whose squares are infinite.
__device__ __forceinline__ float half_spread(double sum, double squares, float least, float most,
                                             double count) {
    const double mean = static_cast<float>(
        static_cast<float16>(static_cast<float>(sum) / static_cast<float>(count)));
    const double found = count > 0 ? squares + (count * mean - 2 * sum) * mean : 0;
    const bool overflows = fmax(most - mean, mean - least) >= 255.9375;
    return overflows && found == found ? INFINITY : found < 0 ? 0 : static_cast<float>(found);
}

}  // namespace kerneltk

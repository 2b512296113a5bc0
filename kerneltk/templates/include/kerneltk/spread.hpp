// Sums of squares about the mean, in one read.
#pragma once

namespace kerneltk {

__device__ __forceinline__ double squared(double value) { return value * value; }

// From the sums of the elements and of their squares; rounding makes it no less than nothing.
__device__ __forceinline__ double spread(double sum, double squares, double count) {
    const double found = squares - sum / count * sum;
    return found < 0 ? 0 : found;
}

// The mean of two parts of some elements each.
__device__ __forceinline__ double joint_mean(double count, double mean, double more, double other) {
    const double all = count + more;
    return mean + (other - mean) * (all > 0 ? more / all : 0);
}

// What the distance of two means adds to the squares of the parts. A part without elements adds
// nothing, however far it is away.
__device__ __forceinline__ double between(double count, double mean, double more, double other) {
    const double all = count + more, apart = other - mean;
    return apart * (count * (all > 0 ? more / all : 0)) * apart;
}

}  // namespace kerneltk

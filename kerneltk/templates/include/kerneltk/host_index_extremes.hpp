// Where the largest or the least float is, for loops over lanes: conditions by arithmetic on masks, without
// which GCC makes branches, and no vectors.
#pragma once

namespace kerneltk {

// A mask of all bits where the first value stays: it is greater (less), or equal and its index is lower. NaN comes
// before all numbers, as in NumPy's argmax and argmin.
template <bool LEAST, class T, class I>
inline int stays(T a, I a_index, T b, I b_index) {
    const int is_better = LEAST ? a < b : a > b;
    const int is_tie = (a == b) | ((a != a) & (b != b));
    const int is_first = a_index < b_index;
    return -(is_better | ((a != a) & (b == b)) | (is_tie & is_first));
}

// `mask ? a : b` by bits.
inline int chosen(int mask, int a, int b) { return (a & mask) | (b & ~mask); }
inline long long chosen(int mask, long long a, long long b) {
    const long long wide = mask;
    return (a & wide) | (b & ~wide);
}
template <class F>
inline F chosen(int mask, F a, F b) {
    typename conditional<sizeof(F) == 8, long long, int>::type x, y;
    __builtin_memcpy(&x, &a, sizeof(x));
    __builtin_memcpy(&y, &b, sizeof(y));
    x = chosen(mask, x, y);
    __builtin_memcpy(&a, &x, sizeof(x));
    return a;
}

}  // namespace kerneltk

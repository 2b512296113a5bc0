"""Mean and variance in one pass, by a struct of the preamble: of a whole, and of its tiles.

Elements far from zero would lose the variance to rounding if their squares were added up.
Run with ``python examples/welford.py``, or ``python examples/welford.py cupy`` on a GPU.
"""

import importlib
import sys

import kerneltk

xp = importlib.import_module(sys.argv[1] if len(sys.argv) > 1 else "numpy")

# Two sets of elements put together, each by its count, its mean and its squared distances from that
# mean: T. F. Chan, G. H. Golub, R. J. LeVeque, Updating formulae and a pairwise algorithm for
# computing sample variances, 1979.
moments = kerneltk.ReductionKernel(
    "T x, int64 less",
    "T mean, T variance",
    "moments{1, x, 0}",
    "together(a, b)",
    "mean = a.mean; variance = a.squares / (a.count - less)",
    "moments{0, 0, 0}",
    name="mean_and_variance",
    reduce_type="moments",
    preamble="""
    struct moments {
        long long count;
        T mean, squares;
    };
    __device__ moments together(const moments& a, const moments& b) {
        const long long count = a.count + b.count;
        const T share = count ? T(b.count) / T(count) : T(0), apart = b.mean - a.mean;
        return {
            count,
            a.mean + share * apart,
            a.squares + b.squares + share * T(a.count) * apart * apart
        };
    }
    """,
)

x = 1e4 + xp.sin(xp.arange(256 * 384, dtype=xp.float64)).reshape(256, 384)
mean, variance = moments(x, 1)
xp.testing.assert_allclose(mean, x.mean(), rtol=1e-14)
xp.testing.assert_allclose(variance, x.var(ddof=1), rtol=1e-9)

# In float32, where the squares are multiples of 8.
y = x.astype(xp.float32)
expected = y.var(axis=0, dtype=xp.float64)
mean, variance = moments(y, 0, axis=0)
xp.testing.assert_allclose(variance, expected, rtol=1e-3)
from_squares = xp.mean(y * y, axis=0) - xp.mean(y, axis=0) ** 2
assert float(abs(from_squares - expected).max()) > 1

# Tiles of 32 × 32: a view with four dimensions, two of which are reduced.
tiles = x.reshape(8, 32, 12, 32)
mean, variance = moments(tiles, 0, axis=(1, 3))
assert mean.shape == variance.shape == (8, 12)
xp.testing.assert_allclose(mean, tiles.mean(axis=(1, 3)), rtol=1e-14)
xp.testing.assert_allclose(variance, tiles.var(axis=(1, 3)), rtol=1e-9)

print(f"welford: {x.size} elements agree")

"""Array code as few kernels: the prices of options, a normalised layer, a reaction that spreads,
standardised columns, and shaded terrain.

Run with ``python examples/fused.py``, or ``python examples/fused.py cupy`` on a GPU.
"""

import importlib
import math
import sys

import numpy as np

import kerneltk

xp = importlib.import_module(sys.argv[1] if len(sys.argv) > 1 else "numpy")


def black_scholes(price, strike, years, rate, volatility):
    """The prices of a call and of a put; the normal distribution by its tails' logistic form."""
    spread = volatility * np.sqrt(years)
    d1 = (np.log(price / strike) + (rate + volatility**2 / 2) * years) / spread
    d2 = d1 - spread
    discounted = strike * np.exp(-rate * years)
    below = [1 / (1 + np.exp(-1.5976 * d - 0.070566 * d**3)) for d in (d1, d2)]
    call = price * below[0] - discounted * below[1]
    return call, call + discounted - price


def layernorm(x, weight, bias):
    """Each row with mean zero and variance one, scaled and moved."""
    centred = x - x.mean(axis=-1, keepdims=True)
    return centred / np.sqrt(x.var(axis=-1, keepdims=True) + 1e-5) * weight + bias


def gray_scott(u, v, steps, feed=0.035, kill=0.065):
    """Two substances that react and spread: `steps` steps, in place, but for the border."""

    def spread(w):
        return w[:-2, 1:-1] + w[2:, 1:-1] + w[1:-1, :-2] + w[1:-1, 2:] - 4 * w[1:-1, 1:-1]

    for _ in range(steps):
        a, b = u[1:-1, 1:-1], v[1:-1, 1:-1]
        reaction = a * b * b
        a_next = a + 0.16 * spread(u) - reaction + feed * (1 - a)
        b_next = b + 0.08 * spread(v) + reaction - (feed + kill) * b
        u[1:-1, 1:-1] = a_next
        v[1:-1, 1:-1] = b_next


def standardise(x):
    """Each column with mean zero and deviation one; columns of one number are left at zero."""
    deviation = x.std(axis=0)
    return (x - x.mean(axis=0)) / np.where(deviation > 0, deviation, 1)


def hillshade(z, azimuth, altitude):
    """How bright the inner part of a terrain is, with the sun at two angles (radians)."""
    east = (z[1:-1, 2:] - z[1:-1, :-2]) / 2
    north = (z[2:, 1:-1] - z[:-2, 1:-1]) / 2
    slope = np.arctan(np.hypot(east, north))
    aspect = np.arctan2(-east, north)
    light = np.sin(altitude) * np.cos(slope)
    return np.clip(light + np.cos(altitude) * np.sin(slope) * np.cos(azimuth - aspect), 0, 1)


generator = np.random.default_rng(0)
options = [generator.uniform(*limits, 10_000) for limits in ((5, 30), (1, 100), (0.25, 10))]
terrain = np.add.outer(np.sin(np.arange(120) / 9), np.cos(np.arange(90) / 7)) * 5
plates = [np.ones((40, 50)), np.zeros((40, 50))]
plates[1][15:25, 20:30] = 0.5

print("fused: kernels, and bytes moved as a multiple of what must be")
for function, arguments in (
    (black_scholes, [*options, 0.02, 0.3]),
    (layernorm, [generator.random((256, 1000)), np.linspace(0.5, 1, 1000), np.zeros(1000)]),
    (gray_scott, [*plates, 4]),
    (standardise, [generator.random((500, 40))]),
    (hillshade, [terrain, math.radians(315), math.radians(45)]),
):
    fused = kerneltk.fuse(function)
    given = [xp.asarray(a) if isinstance(a, np.ndarray) else a for a in arguments]
    plain = [a.copy() if isinstance(a, np.ndarray) else a for a in arguments]
    shown = fused.explain(*given)
    found, wanted = fused(*given), function(*plain)
    if wanted is None:  # it worked in place
        found, wanted = given[:2], plain[:2]
    for one, other in zip(found, wanted, strict=True):
        xp.testing.assert_allclose(one, xp.asarray(other), rtol=1e-6, atol=1e-9)
    print(f"  {function.__name__:14} {len(shown.kernels)}  {shown.bytes / shown.floor:.2f}")

"""A graph: the steps of a simulation are recorded once, and launched together each time.

Run with ``python examples/graph.py``, or ``python examples/graph.py cupy`` on a GPU.
"""

import importlib
import sys

import kerneltk
from kerneltk import jit

xp = importlib.import_module(sys.argv[1] if len(sys.argv) > 1 else "numpy")

n = 1000
energy = kerneltk.ReductionKernel("T u", "T e", "u * u", "a + b", "e = a", "0", "energy")
damp = kerneltk.ElementwiseKernel("T v, T rate", "T w", "w = v * (1 - rate)", "damp")


@jit.rawkernel
def diffuse(old, new, c):
    """Move a part of each value to its neighbours."""
    i = jit.grid(1)
    if i < new.size:
        left, right = old[max(i - 1, 0)], old[min(i + 1, old.size - 1)]
        new[i] = old[i] + c * (left - 2 * old[i] + right)


def steps(state, next_state, rate, c):
    """Two kernels and a total: each call is recorded where a graph is, and runs elsewhere."""
    diffuse[(n + 255) // 256, 256](state, next_state, c)
    damp(next_state, rate, next_state)
    return energy(next_state)


state = xp.zeros(n)
state[n // 2] = 1
other = xp.empty_like(state)

# Nothing runs in the block. The names are for what later launches replace.
with kerneltk.graph(state=state, next_state=other) as g:
    total = steps(state, other, 0.01, 0.2)

# The same by calls.
want, want_next = state.copy(), other.copy()
want_totals = []
for _ in range(20):
    want_totals.append(float(steps(want, want_next, 0.01, 0.2)))
    want, want_next = want_next, want

# The two arrays change places from launch to launch; `total` has the value of the last one.
now, then = state, other
for step in range(20):
    g.launch(state=now, next_state=then)
    assert float(total) == want_totals[step]
    now, then = then, now
xp.testing.assert_array_equal(now, want)

# Numbers are replaced by the names of their parameters, for one launch.
g.launch(rate=1.0)
assert float(total) == 0
g.launch()
assert float(total) > 0

print(f"graph: {len(want_totals)} launches of a graph agree with the calls that it has")

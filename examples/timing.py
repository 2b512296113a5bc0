"""How long a call takes, and what bounds it: `kerneltk.report`.

It makes the call up to 500 times, between CUDA events on a GPU and by a clock on a CPU, and
compares it with a copy on the same device. On a GPU it also counts the operations in the kernel's
code, which says how long each unit of the device needs for them.
Run with ``python examples/timing.py``, or ``python examples/timing.py cupy`` on a GPU.
"""

import importlib
import sys

import kerneltk
from kerneltk import jit

xp = importlib.import_module(sys.argv[1] if len(sys.argv) > 1 else "numpy")


@jit.kernel
def axpb(x, a, b):
    """Return ``a * x + b``."""
    return a * x + b


x = xp.arange(1 << 22, dtype=xp.float32) % 1000
y = xp.empty_like(x)
found = kerneltk.report(axpb, x, 2, 1, out=y)
xp.testing.assert_array_equal(y, 2 * x + 1)

assert 0 < found.seconds < 60
assert found.explanation.bytes == x.nbytes + y.nbytes
assert found.bound in found.alone or found.bound in (
    "caches",
    "latency",
    "launch",
    "instructions or launch",
)
print(f"timing: {found}")

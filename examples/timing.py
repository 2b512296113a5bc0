"""How long a kernel takes: pairs of CUDA events on a GPU, a clock on a CPU.

A launch on a GPU returns before the kernel has run, so that a clock around it measures the launch.
Events are marks in the stream itself. On a CPU a launch returns when the work is done.
Run with ``python examples/timing.py``, or ``python examples/timing.py cupy`` on a GPU.
"""

import importlib
import statistics
import sys
import time

from kerneltk import jit

xp = importlib.import_module(sys.argv[1] if len(sys.argv) > 1 else "numpy")


@jit.kernel
def axpb(x, a, b):
    """Return ``a * x + b``."""
    return a * x + b


def seconds_by_events(call, times=20):
    """Return the median time (s) that work queued by a call takes on the device."""
    found = []
    for _ in range(times):
        begin, end = xp.cuda.Event(), xp.cuda.Event()
        begin.record()
        call()
        end.record()
        end.synchronize()
        found.append(xp.cuda.get_elapsed_time(begin, end) / 1e3)
    return statistics.median(found)


def seconds_by_clock(call, times=20):
    """Return the median time (s) of a call."""
    found = []
    for _ in range(times):
        begin = time.perf_counter()
        call()
        found.append(time.perf_counter() - begin)
    return statistics.median(found)


x = xp.arange(1 << 22, dtype=xp.float32) % 1000
y = xp.empty_like(x)


def call():
    """Run the kernel once, into the array that is there."""
    axpb(x, 2, 1, out=y)


begin = time.perf_counter()
call()
first = time.perf_counter() - begin  # with the compilation, or the cache
xp.testing.assert_array_equal(y, 2 * x + 1)

on_gpu = xp.__name__ == "cupy"
median = (seconds_by_events if on_gpu else seconds_by_clock)(call)
bandwidth = (x.nbytes + y.nbytes) / median
assert 0 < median < 60
xp.testing.assert_array_equal(y, 2 * x + 1)

how = "by CUDA events" if on_gpu else "by the host's clock, as there are no events on a CPU"
print(
    f"timing: {median * 1e3:.3f} ms, {bandwidth / 1e9:.1f} GB/s, {how}; the first call took "
    f"{first * 1e3:.1f} ms"
)

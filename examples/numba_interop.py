"""numba and kerneltk on the same memory, nothing copied: arrays of numba.cuda on a GPU, compiled
loops of numba on a CPU.

Run with ``python examples/numba_interop.py``, or on a GPU with
``python examples/numba_interop.py cupy``. Where numba is missing, a loop in plain Python takes its
part.
"""

import importlib.util
import sys

import numpy as np

from kerneltk import jit

N, THREADS = 1 << 18, 256
on_gpu = len(sys.argv) > 1 and sys.argv[1] == "cupy"
has_numba = importlib.util.find_spec("numba") is not None


@jit.rawkernel
def scale(x, a):
    """Multiply by a number, in place."""
    i = jit.grid(1)
    if i < x.size:
        x[i] *= a


def on_the_host():
    """Let a loop of numba's and our kernel take turns on one NumPy array."""

    def add_one(x):
        for i in range(x.size):
            x[i] += 1

    if has_numba:
        import numba

        add_one = numba.njit(add_one)
    x = np.arange(N, dtype=np.float32) % 1000
    expected = 3 * (x + 1) + 1
    address = x.ctypes.data
    add_one(x)
    scale[N // THREADS, THREADS](x, 3)
    add_one(x)
    assert x.ctypes.data == address
    np.testing.assert_array_equal(x, expected)
    return f"{'numba.njit' if has_numba else 'plain Python'} and kerneltk share a NumPy array"


def on_the_device():
    """Let kernels of numba's and ours take turns on one array of numba.cuda, and of CuPy."""
    import cupy
    from numba import cuda

    @cuda.jit
    def add_one(x):
        i = cuda.grid(1)
        if i < x.size:
            x[i] += 1

    start = np.arange(N, dtype=np.float32) % 1000
    x = cuda.to_device(start)
    add_one[N // THREADS, THREADS](x)
    scale[N // THREADS, THREADS](x, 3)  # numba's array itself
    add_one[N // THREADS, THREADS](x)
    view = cupy.asarray(x)  # the same memory, as an array of CuPy
    assert view.data.ptr == x.__cuda_array_interface__["data"][0]
    scale[N // THREADS, THREADS](view, 2)
    np.testing.assert_array_equal(x.copy_to_host(), 2 * (3 * (start + 1) + 1))
    return "numba.cuda, CuPy and kerneltk share an array on the GPU"


done = on_the_device() if on_gpu and has_numba else on_the_host()
if not has_numba:
    done += "; numba is not installed"
elif not on_gpu:
    done += "; arrays of numba.cuda need a GPU"
print(f"numba_interop: {done}")

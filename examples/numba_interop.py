"""numba and kerneltk on the same memory, nothing copied: arrays of numba.cuda on a GPU, compiled
loops of numba on a CPU.

Run with ``python examples/numba_interop.py``, or on a GPU with
``python examples/numba_interop.py cupy``. Where numba is missing, or refuses a NumPy that is newer
than it knows, a loop in plain Python takes its part.
"""

import sys

import numpy as np

from kerneltk import jit

N, THREADS = 1 << 18, 256
on_gpu = len(sys.argv) > 1 and sys.argv[1] == "cupy"
try:
    import numba

    if on_gpu:
        import numba.cuda.cudaimpl  # what compiles: it fails beside a NumPy that it does not know
        from numba import cuda
except (ImportError, AttributeError, DeprecationWarning) as error:  # or one does not fit NumPy
    numba, why_no_numba = None, str(error)


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

    if numba is not None:
        add_one = numba.njit(add_one)
    x = np.arange(N, dtype=np.float32) % 1000
    expected = 3 * (x + 1) + 1
    address = x.ctypes.data
    add_one(x)
    scale[N // THREADS, THREADS](x, 3)
    add_one(x)
    assert x.ctypes.data == address
    np.testing.assert_array_equal(x, expected)
    partner = "plain Python" if numba is None else "numba.njit"
    return f"{partner} and kerneltk share a NumPy array"


def on_the_device():
    """Let kernels of numba's and ours take turns on one array of numba.cuda, and of CuPy."""
    import cupy

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


done = on_the_device() if on_gpu and numba is not None else on_the_host()
if numba is None:
    done += f"; numba cannot be imported: {why_no_numba}"
elif not on_gpu:
    done += "; arrays of numba.cuda need a GPU"
print(f"numba_interop: {done}")

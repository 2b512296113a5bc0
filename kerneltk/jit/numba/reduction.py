"""``cuda.reduce``: a function of two values, by which the elements of an array are combined."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from kerneltk.errors import ArgumentTypeError
from kerneltk.jit.frontends.rawkernel import checked_function
from kerneltk.jit.intrinsics.execution.memory import shared_array
from kerneltk.jit.intrinsics.execution.threads import INTRINSICS as _THREADS_OF
from kerneltk.jit.numba import host_arrays
from kerneltk.jit.numba.kernel import CudaKernel, jit

_THREADS = 128  # of a block
_BLOCKS = 64  # at most; each makes a partial result
grid, gridsize, syncthreads = (_THREADS_OF[name] for name in ("grid", "gridsize", "syncthreads"))
blockDim, blockIdx, threadIdx = (  # noqa: N816 (CUDA's names)
    _THREADS_OF[name] for name in ("blockDim", "blockIdx", "threadIdx")
)


def _kernel_of(function: Callable[..., Any]) -> CudaKernel:
    """Return the kernel of a reduction: each block combines its elements into one of `partials`."""

    def reduce_blocks(x: Any, partials: Any, init: Any, is_first: Any) -> None:
        own = shared_array(_THREADS, x.dtype)
        t, i = threadIdx.x, grid(1)
        # A thread without an element has no value to begin with.
        count = min(blockDim.x, x.size - blockIdx.x * blockDim.x)
        if t < count:
            own[t] = x[i]
            for k in range(i + gridsize(1), x.size, gridsize(1)):
                own[t] = function(own[t], x[k])
        syncthreads()
        step = _THREADS // 2
        while step > 0:
            if t + step < min(count, 2 * step):
                own[t] = function(own[t], own[t + step])
            syncthreads()
            step //= 2
        if t == 0:
            if is_first and blockIdx.x == 0:
                own[0] = function(own[0], init)
            partials[blockIdx.x] = own[0]

    made: CudaKernel = jit(reduce_blocks)
    return made


class Reduce:
    """A reduction by a function of two values, which has to be associative and commutative.

    Parameters
    ----------
    functor : function
        In restricted Python, as device functions are.

    Examples
    --------
    >>> import numpy as np
    >>> from kerneltk.jit import cuda
    >>> @cuda.reduce
    ... def largest(a, b):
    ...     return max(a, b)
    >>> largest(np.array([3, 8, 5]))
    np.int64(8)
    """

    def __init__(self, functor: Callable[..., Any]) -> None:
        self._kernel = _kernel_of(checked_function(functor, "cuda.reduce"))

    def __call__(
        self, arr: Any, size: int | None = None, res: Any = None, init: Any = 0, stream: Any = 0
    ) -> Any:
        """Combine the elements of an array.

        Parameters
        ----------
        arr : array
            Of one dimension; NumPy's arrays are reduced on the CPU cores.
        size : int, optional
            Of how many elements.
        res : array, optional
            On the same device; its first element becomes the result, and nothing is returned.
        init : number
            Combined with the elements, as numba does: of a product 1 has to be given.
        stream : optional

        Returns
        -------
        number or None
            Of the array's dtype.

        Raises
        ------
        ArgumentTypeError
            The array has another number of dimensions.
        """
        if arr.ndim != 1:
            raise ArgumentTypeError(
                f"'cuda.reduce' takes arrays of one dimension, not of {arr.ndim}."
            )
        arr = arr if size is None else arr[:size]
        if not arr.size:
            found = np.dtype(arr.dtype).type(init)
            if res is None:
                return found
            res[:1] = found
            return None
        return self.combined(arr, init, stream, res)

    def combined(self, arr: Any, init: Any, stream: Any, res: Any = None) -> Any:
        """Combine the elements of an array that has some, and `init`, if it is not None."""
        start = np.dtype(arr.dtype).type(0 if init is None else init)
        blocks = min(_BLOCKS, -(-arr.size // _THREADS))
        device: Any = (
            host_arrays.HostLibrary() if isinstance(arr, np.ndarray) else host_arrays.library()
        )
        partials = device.empty(blocks, arr.dtype, None, "C", stream)
        self._kernel[blocks, _THREADS, stream](arr, partials, start, init is not None)
        if blocks > 1:
            self._kernel[1, _THREADS, stream](partials, partials, start, False)
        if res is None:
            return partials[:1].copy_to_host(stream=stream)[0]
        device.copied(partials[:1], True, res[:1], stream)
        return None

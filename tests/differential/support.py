"""Cases of the differential tests: arguments laid out in guarded memory, and their comparison."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt

from kerneltk import ElementwiseKernel

Array = npt.NDArray[Any]

GUARD = 64  # bytes around every array, which nothing may touch
BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
INTEGERS = tuple(np.dtype(f"{kind}{bits}") for kind in ("int", "uint") for bits in (8, 16, 32, 64))
FLOATS = (np.dtype("float16"), BFLOAT16, np.dtype("float32"), np.dtype("float64"))
COMPLEX = (np.dtype("complex64"), np.dtype("complex128"))
DTYPES = (np.dtype("bool"), *INTEGERS, *FLOATS, *COMPLEX)

# Units in the last place that one multiplication and one addition may differ by, since a compiler
# may contract them; 16-bit types compute in float32 and round once, or after each operation.
TOLERANCE: dict[np.dtype[Any], float] = {
    np.dtype("float16"): 2e-3,
    BFLOAT16: 1.6e-2,
    np.dtype("float32"): 5e-7,
    np.dtype("float64"): 1e-15,
    np.dtype("complex64"): 1e-6,
    np.dtype("complex128"): 2e-15,
}


def values(dtype: npt.DTypeLike, shape: int | Sequence[int], seed: int = 0) -> Array:
    """Return numbers that every operation of the cases keeps exact or well conditioned."""
    kind = np.dtype(dtype)
    extents = (shape,) if isinstance(shape, int) else tuple(shape)
    numbers = (np.arange(math.prod(extents)) * 7 + seed * 3) % 23
    if kind.kind == "b":
        numbers = numbers % 2
    elif kind.kind == "c":
        return (numbers + 1j * (numbers[::-1] - 5)).astype(kind).reshape(extents)
    elif kind.kind != "u":
        numbers = numbers - 9
    return numbers.astype(kind).reshape(extents)


def place(array: Array, strides: Sequence[int], offset: int = 0) -> Array:
    """Return `array` in fresh memory with these strides (bytes), at an address modulo 16."""
    low = sum(min(0, step * (n - 1)) for n, step in zip(array.shape, strides, strict=True))
    high = sum(max(0, step * (n - 1)) for n, step in zip(array.shape, strides, strict=True))
    start = GUARD - low + (offset - (GUARD - low)) % 16
    memory = np.full(start + high + array.itemsize + GUARD, 0xA5, np.uint8)
    assert memory.ctypes.data % 16 == 0
    view = np.ndarray(array.shape, array.dtype, memory, start, tuple(strides))
    view[...] = array
    return view


def _dense(shape: Sequence[int], order: Sequence[int], unit: int) -> list[int]:
    """Return strides (bytes) of an array whose axes are stored in `order`, outermost first."""
    strides = [0] * len(shape)
    for axis in reversed(order):
        strides[axis] = unit
        unit *= max(shape[axis], 1)
    return strides


def c_order(array: Array) -> Array:
    return place(array, _dense(array.shape, range(array.ndim), array.itemsize))


def f_order(array: Array) -> Array:
    return place(array, _dense(array.shape, range(array.ndim)[::-1], array.itemsize))


def sliced(array: Array) -> Array:
    """As x[1:]: dense, at an address that is a multiple of the element's size only."""
    strides = _dense(array.shape, range(array.ndim), array.itemsize)
    return place(array, strides, array.itemsize % 16)


def misaligned(array: Array, offset: int = 1) -> Array:
    return place(array, _dense(array.shape, range(array.ndim), array.itemsize), offset)


def backwards(array: Array) -> Array:
    strides = _dense(array.shape, range(array.ndim), array.itemsize)
    return place(array, [-step for step in strides])


def stepped(array: Array) -> Array:
    """As x[..., ::2]."""
    return place(array, _dense(array.shape, range(array.ndim), 2 * array.itemsize))


def pitched(array: Array) -> Array:
    """Rows are dense, and the next one begins three elements and one behind."""
    if not array.ndim:
        return c_order(array)
    row = [*array.shape[:-1], array.shape[-1] + 3]
    return place(array, _dense(row, range(array.ndim), array.itemsize))


def rotated(array: Array) -> Array:
    """The last axis is stored outermost."""
    order = [*range(array.ndim)[-1:], *range(array.ndim)[:-1]]
    return place(array, _dense(array.shape, order, array.itemsize))


LAYOUTS: dict[str, Callable[[Array], Array]] = {
    "c": c_order,
    "f": f_order,
    "sliced": sliced,
    "misaligned": misaligned,
    "backwards": backwards,
    "stepped": stepped,
    "pitched": pitched,
    "rotated": rotated,
}


@dataclass(frozen=True)
class Case:
    """One call and what NumPy makes of it.

    `make` returns the arguments, outputs included if they are given; `expected` gets copies of
    them and returns what the outputs must hold.
    """

    name: str
    kernel: ElementwiseKernel
    make: Callable[..., tuple[Any, ...]]
    expected: Callable[..., Any]
    size: int | None = None
    tolerance: float | None = None
    options: dict[str, Any] = field(default_factory=dict)

    @property
    def keywords(self) -> dict[str, Any]:
        return self.options if self.size is None else {**self.options, "size": self.size}


def assert_close(found: Array, wanted: Array, tolerance: float | None = None) -> None:
    assert found.dtype == wanted.dtype
    assert found.shape == wanted.shape
    if found.dtype.names is not None:
        np.testing.assert_array_equal(found, wanted)
        return
    limit = TOLERANCE.get(found.dtype, 0.0) if tolerance is None else tolerance
    if found.dtype == BFLOAT16:
        found, wanted = found.astype(np.float32), wanted.astype(np.float32)
    if limit:
        np.testing.assert_allclose(found, wanted, rtol=limit, atol=limit)
    else:
        np.testing.assert_array_equal(found, wanted)


def memory_of(array: Array) -> Array:
    """Return the bytes of the allocation that `array` is a view of."""
    root = array
    while isinstance(root.base, np.ndarray):
        root = root.base
    return root.reshape(-1).view(np.uint8)


def covered(array: Array, memory: Array) -> Array:
    """Return which bytes of `memory` the elements of `array` occupy."""
    mask = np.zeros(memory.size, np.uint8)
    start = array.ctypes.data - memory.ctypes.data
    shape, strides = (*array.shape, array.itemsize), (*array.strides, 1)
    np.ndarray(shape, np.uint8, mask, start, strides)[...] = 1
    return mask.astype(bool)


class Guarded:
    """A call's arguments on a backend: `call` has copies of the arrays, in memory that is looked at
    again when they were written.
    """

    def __init__(self, backend: Any, arguments: Sequence[Any]) -> None:
        self._backend = backend
        positions = [k for k, a in enumerate(arguments) if isinstance(a, np.ndarray)]
        arrays = [arguments[k] for k in positions]
        self._memories = [memory_of(array) for array in arrays if array.size]
        self._before = [memory.copy() for memory in self._memories]
        copies = backend.asarrays(*arrays, *self._memories)
        self._after = copies[len(arrays) :]
        self.call = list(arguments)
        for k, copy in zip(positions, copies, strict=False):
            self.call[k] = copy
        # A call without arrays is told where to run; others take the backend from their arrays.
        has_arrays = any(hasattr(value, "dtype") for value in arguments)
        self.where = {} if has_arrays else {"backend": backend.name}

    def check(self, written: Iterable[Array]) -> None:
        """See that only bytes of the arrays `written` have changed."""
        allowed: dict[int, Array] = {}
        for array in written:
            memory = memory_of(array)
            key = memory.ctypes.data
            allowed[key] = allowed.get(key, False) | covered(array, memory)
        for memory, old, new in zip(self._memories, self._before, self._after, strict=True):
            inside = allowed.get(memory.ctypes.data, np.zeros(memory.size, bool))
            np.testing.assert_array_equal(self._backend.asnumpy(new)[~inside], old[~inside])


def check(backend: Any, case: Case) -> None:
    """Run a case, compare the outputs, and see that nothing else was written."""
    arguments = case.make()
    wanted = case.expected(*(np.array(a) if isinstance(a, np.ndarray) else a for a in arguments))
    wanted = wanted if isinstance(wanted, tuple) else (wanted,)
    kernel, guarded = case.kernel, Guarded(backend, arguments)
    call = guarded.call
    result = kernel(*call, **case.keywords, **guarded.where)
    outputs = call[kernel.nin :] or (result if isinstance(result, tuple) else (result,))
    if kernel.no_return:
        assert result is None
    elif call[kernel.nin :]:
        returned = result if isinstance(result, tuple) else (result,)
        assert all(a is b for a, b in zip(returned, outputs, strict=True))
    for output, want in zip(outputs, wanted, strict=True):
        assert_close(backend.asnumpy(output), np.asarray(want), case.tolerance)
    guarded.check(
        array for array, parameter in zip(arguments, kernel.params, strict=False)
        if isinstance(array, np.ndarray) and array.size and not parameter.is_const
    )  # fmt: skip


def grid(*axes: Iterable[Any]) -> list[tuple[Any, ...]]:
    return list(itertools.product(*axes))

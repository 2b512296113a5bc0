"""What the reduction benchmark computes on a GPU, on which arrays, and what must come out."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from device import GIB, Array, Device, small_integers

_SIDE = 16384
_MEAN_SQUARE = (125**2 - 1) / 12  # of the integers from -62 to 62
_FLOAT16_SCALE = 2.0**-12  # so that no sum of squares overflows
_TOLERANCES = {"float16": 5e-3, "float32": 1e-3, "float64": 1e-9, "complex64": 1e-3}
_WIDE = {"b": "bool", "i": "int64", "f": "float64", "c": "complex128"}

Axes = int | tuple[int, ...] | None


@dataclass(frozen=True, slots=True)
class Work:
    """A row of the first tables.

    Parameters
    ----------
    name : str
    target : float or None
        The fraction of a copy's bandwidth to reach.
    axis : int, tuple of int or None
    shape : callable
        Takes 1 GiB of elements in one dimension; returns the input.
    dtype, result : str
        Of the input and of the output.
    whole_sectors : bool
        Whether the input's gaps must be read too, since sectors are 32 bytes.
    """

    name: str
    target: float | None
    axis: Axes
    shape: Callable[[Array], Array]
    dtype: str = "float32"
    result: str = "float32"
    whole_sectors: bool = False


def shaped(*shape: int) -> Callable[[Array], Array]:
    return lambda flat: flat[: math.prod(shape)].reshape(shape)


SHAPES = (
    Work("2²⁸, all", 0.98, None, shaped(2**28)),
    Work("16384², 0", 0.97, 0, shaped(_SIDE, _SIDE)),
    Work("16384², 1", 0.98, 1, shaped(_SIDE, _SIDE)),
    Work("(2²⁶, 4), 1", 0.95, 1, shaped(2**26, 4)),
    Work("(2²³, 32), 1", 0.95, 1, shaped(2**23, 32)),
    Work("(2²⁰, 256), 1", 0.95, 1, shaped(2**20, 256)),
    Work("(4, 2²⁶), 0", 0.95, 0, shaped(4, 2**26)),
    Work("(4, 2²⁶), 1", 0.97, 1, shaped(4, 2**26)),
    Work("(2²⁶, 4), 0", 0.97, 0, shaped(2**26, 4)),
    Work("(64, 2048, 2048), 1", 0.97, 1, shaped(64, 2048, 2048)),
    Work("(64, 2048, 2048), (0, 2)", 0.95, (0, 2), shaped(64, 2048, 2048)),
    Work("(1000003, 256), 0", 0.95, 0, shaped(1000003, 256)),
    Work(
        "16384²[:, ::2], all",
        0.95,
        None,
        lambda flat: flat.reshape(_SIDE, _SIDE)[:, ::2],
        whole_sectors=True,
    ),
    Work("16384² in F order, all", None, None, lambda flat: flat.reshape(_SIDE, _SIDE).T),
    Work("x[1:], all", None, None, lambda flat: flat[1:]),
    Work("float16, all", 0.95, None, shaped(2**29), "float16", "float16"),
    Work("int8, all", 0.95, None, shaped(2**30), "int8", "int8"),
    Work("int8 into int64, all", 0.95, None, shaped(2**30), "int8", "int64"),
)


def _squares() -> Iterator[Work]:
    for dtype, result in (
        ("float64", "float64"),
        ("complex64", "complex64"),
        ("float16", "float16"),
        ("int32", "int64"),
        ("int8", "int64"),
        ("bool", "bool"),
    ):
        count = GIB // np.dtype(dtype).itemsize
        columns = 2 ** (int(math.log2(count)) // 2)
        into = "" if result == dtype else f" into {result}"
        what = "any" if dtype == "bool" else "sum of squares"
        for axis in (None, 0, 1):
            shape = shaped(count // columns, columns)
            name = f"{dtype}{into}, {what}, {'all' if axis is None else axis}"
            yield Work(name, None, axis, shape, dtype, result)


DTYPES = tuple(_squares())


@dataclass(slots=True)
class Case:
    """One reduction of an array that is there.

    Parameters
    ----------
    x : array
    axis : int, tuple of int or None
        As the classes take it; `axes` are the same, all by their numbers.
    y : array
        The output.
    read : int
        Bytes that must be read.
    reference : array or None
        The result, computed with 64-bit numbers by a library, as y's dtype where that is exact.
    unchecked : str
        Why there is no reference.
    produced : tensor or None
        What torch.compile returned last.
    """

    x: Array
    axis: Axes
    axes: tuple[int, ...]
    y: Array
    read: int
    reference: Array | None = None
    unchecked: str = ""
    produced: Any = None

    @property
    def is_any(self) -> bool:
        return bool(self.x.dtype == np.bool_)

    @property
    def moved(self) -> int:
        """Bytes that must move."""
        return self.read + int(self.y.nbytes)

    @property
    def copied(self) -> int:
        """Bytes of the copy to compare with."""
        return min(self.read, GIB)

    def poison(self) -> None:
        """Overwrite the output with what it must not be."""
        if self.is_any and self.reference is not None:
            self.y[...] = ~self.reference
        else:
            self.y.fill(77)


def axes_of(x: Array, axis: Axes) -> tuple[int, ...]:
    if axis is None:
        return tuple(range(x.ndim))
    return axis if isinstance(axis, tuple) else (axis,)


def kernel_of(library: Any, case: Case) -> Any:
    """Return the class's kernel, CuPy's or ours, from the same texts."""
    x, y = case.x.dtype.name, case.y.dtype.name
    if case.is_any:
        texts = (f"{x} x", f"{y} y", "x", "a || b", "y = a", "false", "any_of")
    else:
        texts = (f"{x} x", f"{y} y", "x * x", "a + b", "y = a", "0", "sum_of_squares")
    # CuPy's class adds float16 as float16 unless told.
    return library.ReductionKernel(*texts, reduce_type="float" if y == "float16" else None)


def numbers(cupy: Any, dtype: str) -> Array:
    """Return 1 GiB of small numbers whose sums of squares the dtype's result can hold."""
    count = GIB // np.dtype(dtype).itemsize
    if dtype == "bool":
        array = cupy.zeros(count, np.bool_)
        array[-1] = True
        return array
    if dtype == "complex64":
        return small_integers(cupy, 2 * count, np.float32).view(np.complex64)
    array = small_integers(cupy, count, dtype)
    if dtype == "float16":
        array *= np.float16(_FLOAT16_SCALE)
    return array


def reference_of(device: Device, case: Case) -> Array:
    """Return the result, computed with 64-bit numbers by torch, else by CuPy's functions."""
    cupy, torch = device.cupy, device.torch
    wide = _WIDE[case.x.dtype.kind]
    if torch is None:
        if case.is_any:
            return cupy.any(case.x, axis=case.axis)
        elements = case.x.astype(wide)
        total = cupy.sum(elements * elements, axis=case.axis)
    elif case.is_any:
        found = torch.any(device.view(case.x), dim=case.axes)
        return cupy.from_dlpack(found.view(torch.uint8)).view(np.bool_)
    else:
        elements = device.view(case.x).to(getattr(torch, wide))
        total = cupy.from_dlpack(torch.sum(elements * elements, dim=case.axes))
    return total.astype(case.y.dtype) if case.y.dtype.kind == "i" else total


def what_is_wrong(device: Device, case: Case, name: str) -> str:
    """Return what is wrong with an entrant's result, or nothing; waits for the device."""
    cupy = device.cupy
    cupy.cuda.runtime.deviceSynchronize()
    if case.reference is None or name not in ("ours", "CuPy", "torch.compile"):
        return ""
    result = cupy.from_dlpack(case.produced) if name == "torch.compile" else case.y
    if case.y.dtype.kind in "ib":
        count = int(cupy.count_nonzero(result != case.reference))
        return f"{count} of {case.y.size} results are wrong" if count else ""
    scale = _MEAN_SQUARE * case.x.size / case.y.size
    if case.x.dtype.name == "float16":
        scale *= _FLOAT16_SCALE**2
    if case.x.dtype.kind == "c":
        scale *= 2
    error = float(abs(result - case.reference).max()) / scale
    right = error <= _TOLERANCES[case.x.dtype.name]  # not so for a NaN
    return "" if right else f"wrong by {error:.1e} of the sum of the absolute values"

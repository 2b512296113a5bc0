"""Calls of the arrays' library between kernels: which of its functions they are.

Each takes the library (NumPy or CuPy), the shape of its result, and whole arrays.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from kerneltk.fusion.plan.steps import LibraryCall


def _reshaped(library: Any, shape: Sequence[int], array: Any, copies: bool) -> Any:
    """A view where that is possible, as NumPy; `copies` says that the array is written to later."""
    found = array.reshape(shape)
    return found.copy() if copies and library.may_share_memory(found, array) else found


def _einsum(library: Any, shape: Any, *arrays: Any, subscripts: str, optimize: bool) -> Any:
    return library.asarray(library.einsum(subscripts, *arrays, optimize=optimize))


def _histogram(library: Any, shape: Any, *arrays: Any, bins: int, part: int) -> Any:
    array, weights = (*arrays, None)[:2]
    return library.histogram(array, bins, weights=weights)[part]


def _accumulated(library: Any, shape: Any, array: Any, ufunc: str, axis: int) -> Any:
    """Running totals: by a kernel of rows; by the library where those are few, or short."""
    is_numpys = library is np
    if is_numpys and array.size < _WORTH:
        return getattr(np, ufunc).accumulate(array, axis, array.dtype)
    if not is_numpys and ufunc in ("add", "multiply"):
        function = library.cumsum if ufunc == "add" else library.cumprod
        return function(array, axis, array.dtype)
    from kerneltk.fusion.plan.running import RUNNING  # a plan may have none

    out = library.empty(shape, array.dtype)
    if array.size:
        RUNNING[ufunc](library.moveaxis(array, axis, -1), out=library.moveaxis(out, axis, -1))
    return out


_WORTH = 1 << 13  # elements for which a kernel is faster than NumPy
_OWN: dict[str, Callable[..., Any]] = {
    "reshape": _reshaped,
    "accumulate": _accumulated,
    "einsum": _einsum,
    "histogram": _histogram,
    "diagonal": lambda library, shape, array, **options: array.diagonal(**options).copy(),
}


def library_function(call: LibraryCall, library: Any, dtype: np.dtype[Any]) -> Callable[..., Any]:
    """``function(shape, *arrays)``: an array of such a dtype, also where NumPy has a scalar; or a
    ufunc, ``function(*arrays, out)``.
    """
    options = dict(call.options)
    own = _OWN.get(call.function)
    named: Any = None if own is not None else operator.attrgetter(call.function)(library)
    if isinstance(named, np.ufunc) and not options:
        return named
    asarray, kind = library.asarray, library.ndarray

    def function(shape: Sequence[int], *arrays: Any) -> Any:
        if own is not None:
            return own(library, shape, *arrays, **options)
        found = named(*arrays, **options)
        if type(found) is kind and found.dtype == dtype:
            return found
        return asarray(found, dtype)

    return function

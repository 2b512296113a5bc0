"""NumPy's functions, ufuncs and methods that few fused functions call: which of ours they are.

`trace.functions` has the others; `start` asks there first.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from kerneltk.errors import NoSuchAttributeError
from kerneltk.fusion.functions.arrangement import ARRANGEMENT, ARRANGEMENT_METHODS
from kerneltk.fusion.functions.composed import COMPOSED
from kerneltk.fusion.functions.products import PRODUCT_METHODS, PRODUCTS, accumulate, matmul, outer
from kerneltk.fusion.functions.selections import (
    OF_VALUES,
    PUT,
    Flat,
    call_of_selections,
    choose,
    chosen,
    put_at,
    take,
    ufunc_of_selections,
)
from kerneltk.fusion.functions.sources import OWN_CODE
from kerneltk.fusion.trace import operations
from kerneltk.fusion.trace.creation import CREATION
from kerneltk.fusion.trace.functions import by_function, checked_call, is_selected
from kerneltk.fusion.trace.lazy import FIELD_HINT, LazyArray, hint_for_torchs
from kerneltk.fusion.trace.operations import trace_of
from kerneltk.fusion.trace.state import at_line, unsupported

_FUNCTIONS = by_function({**ARRANGEMENT, **PRODUCTS, **COMPOSED, **OWN_CODE, "take": take})
_METHODS = {
    **ARRANGEMENT_METHODS, **PRODUCT_METHODS, "take": take,
    "fill": lambda a, value: a.__setitem__(..., value), "choose": COMPOSED["choose"],
    "searchsorted": COMPOSED["searchsorted"],
    "sort": lambda a, axis=-1, **options: a.__setitem__(..., np.sort(a, axis, **options)),
}  # fmt: skip


def call_function(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A call of one of NumPy's functions with traced values."""
    name = function.__name__
    if is_selected(*args, *kwargs.values()):
        return call_of_selections(name, args, kwargs)
    if name in CREATION and getattr(np, name, None) is function:
        given = [*args, *kwargs.values()]
        return CREATION[name](trace_of(*given), function, args, kwargs)
    known = _FUNCTIONS.get(function)
    if known is None:
        raise unsupported(f"'{name}' is not fused.", _hint(name))
    return checked_call(known, name, args, kwargs)


def call_ufunc(
    ufunc: np.ufunc, method: str, inputs: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """A call of a ufunc, or of one of its methods, with traced values."""
    if is_selected(*inputs, *kwargs.values()):
        return ufunc_of_selections(ufunc, method, inputs, kwargs)
    if method in ("outer", "accumulate"):
        own = outer if method == "outer" else accumulate
        name = f"np.{ufunc.__name__}.{method}"
        return checked_call(functools.partial(own, ufunc), name, inputs, kwargs)
    if method == "at" and ufunc in PUT:
        return put_at(ufunc, *inputs)
    if ufunc is np.matmul and method == "__call__":
        return checked_call(matmul, "matmul", inputs, kwargs)
    return operations.call_ufunc(ufunc, method, inputs, kwargs)  # which refuses other methods


__all__ = ["Flat", "call_function", "call_ufunc", "choose", "chosen", "method_of"]

_SIZES = ("nonzero", "argwhere", "flatnonzero", "compress", "extract", "unique")
_BETWEEN = "make the function two: fuse what comes before and behind, and call '{}' between them."
_HINTS = {
    **dict.fromkeys(_SIZES, OF_VALUES),
    "put": "write 'x[indices] = value'.",
    **dict.fromkeys(("place", "putmask"), "write 'x[mask] = value'."),
    "bincount": "write 'counts = np.zeros(n, int); np.add.at(counts, x, 1)'.",
    "trace": "write 'np.trace(x)'.",
    "block": "write 'np.concatenate'.",
    "piecewise": "write 'np.where' for each condition.",
}  # fmt: skip


def _hint(name: str) -> str:
    return _HINTS.get(name) or _BETWEEN.format(name)


def method_of(array: LazyArray, name: str) -> Any:
    """What stands for a method of an array, which it takes first."""
    own = _METHODS.get(name)
    if own is None:
        if hasattr(np.ndarray, name):
            raise unsupported(f"'{name}' of an array is not fused.", _hint(name))
        if hasattr(array.library_kind, name):
            raise unsupported(f"'{name}' of a tensor is not fused.", hint_for_torchs(name))
        raise at_line(
            NoSuchAttributeError,
            f"A traced array has no attribute '{name}': it has those of NumPy's arrays.",
            FIELD_HINT if array.dtype.names else hint_for_torchs(name),
        )
    return own

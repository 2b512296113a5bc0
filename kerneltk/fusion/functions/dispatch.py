"""Calls of NumPy's functions, ufuncs and methods with traced values: which of ours they are."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from kerneltk.errors import NoSuchAttributeError
from kerneltk.fusion.functions.arrangement import ARRANGEMENT, ARRANGEMENT_METHODS
from kerneltk.fusion.functions.composed import COMPOSED
from kerneltk.fusion.functions.creation import CREATION
from kerneltk.fusion.functions.products import PRODUCT_METHODS, PRODUCTS, accumulate, matmul, outer
from kerneltk.fusion.functions.selections import (
    OF_VALUES,
    call_of_selections,
    is_selected,
    take,
    ufunc_of_selections,
)
from kerneltk.fusion.trace.functions import FUNCTIONS, METHODS, checked_call, reduce_by_ufunc
from kerneltk.fusion.trace.lazy import LazyArray, hint_for_torchs
from kerneltk.fusion.trace.operations import call_ufunc, trace_of
from kerneltk.fusion.trace.state import at_line, unsupported

_FUNCTIONS: dict[str, Callable[..., Any]] = {
    **FUNCTIONS, **ARRANGEMENT, **PRODUCTS, **COMPOSED, "take": take,
}  # fmt: skip
_METHODS = {
    **METHODS, **ARRANGEMENT_METHODS, **PRODUCT_METHODS, "take": take,
    "fill": lambda a, value: a.__setitem__(..., value),
}  # fmt: skip
_BY_FUNCTION = {}
for _name in _FUNCTIONS:
    try:
        _BY_FUNCTION[operator.attrgetter(_name)(np)] = _name
    except AttributeError:
        continue  # of a later NumPy


def call_function(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A call of one of NumPy's functions with traced values."""
    name = function.__name__
    if is_selected(*args, *kwargs.values()):
        return call_of_selections(name, args, kwargs)
    if name in CREATION and getattr(np, name, None) is function:
        given = [*args, *kwargs.values()]
        return CREATION[name](trace_of(*given), function, args, kwargs)
    known = _BY_FUNCTION.get(function)
    if known is None:
        raise unsupported(f"'{name}' is not fused.", _hint(name))
    return checked_call(_FUNCTIONS[known], name, args, kwargs)


def call_any_ufunc(
    ufunc: np.ufunc, method: str, inputs: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """A call of a ufunc, or of one of its methods, with traced values."""
    if is_selected(*inputs, *kwargs.values()):
        return ufunc_of_selections(ufunc, method, inputs, kwargs)
    name = f"np.{ufunc.__name__}.{method}"
    if method == "reduce":
        return reduce_by_ufunc(ufunc, inputs, kwargs)
    if method in ("outer", "accumulate"):
        own = outer if method == "outer" else accumulate
        return checked_call(functools.partial(own, ufunc), name, inputs, kwargs)
    if ufunc is np.matmul and method == "__call__":
        return checked_call(matmul, "matmul", inputs, kwargs)
    return call_ufunc(ufunc, method, inputs, kwargs)


_SIZES = ("nonzero", "argwhere", "flatnonzero", "compress", "extract", "unique")
_BETWEEN = "make the function two: fuse what comes before and behind, and call '{}' between them."
_HINTS = {
    **dict.fromkeys(_SIZES, OF_VALUES),
    "sort": "write 'x = np.sort(x)'.",
    "trace": "write 'np.trace(x)'.",
    "block": "write 'np.concatenate'.",
    "piecewise": "write 'np.where' for each condition.",
}  # fmt: skip


def _hint(name: str) -> str:
    return _HINTS.get(name) or _BETWEEN.format(name)


def method_of(array: LazyArray, name: str) -> Any:
    """A method of an array."""
    own = _METHODS.get(name)
    if own is None:
        if hasattr(np.ndarray, name):
            raise unsupported(f"'{name}' of an array is not fused.", _hint(name))
        if hasattr(array.library_kind, name):
            raise unsupported(f"'{name}' of a tensor is not fused.", hint_for_torchs(name))
        raise at_line(
            NoSuchAttributeError,
            f"A traced array has no attribute '{name}': it has those of NumPy's arrays.",
            hint_for_torchs(name),
        )
    return lambda *args, **kwargs: checked_call(own, name, (array, *args), kwargs)

"""NumPy's functions that are made of others: a composition that is traced in their place."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from kerneltk.fusion.functions.arrangement import ARRANGEMENT
from kerneltk.fusion.functions.products import called, dtype_called
from kerneltk.fusion.trace.functions import arange, finished
from kerneltk.fusion.trace.graph import Shape
from kerneltk.fusion.trace.lazy import LazyArray
from kerneltk.fusion.trace.operations import array_of, as_array, as_operand, promoted, trace_of
from kerneltk.fusion.trace.state import unsupported, wrong_type, wrong_value
from kerneltk.fusion.trace.symbols import Symbol, applied, constant


def _isclose(a: Any, b: Any, rtol: Any = 1e-5, atol: Any = 1e-8, equal_nan: Any = False) -> Any:
    operand = as_operand(trace_of(a, b, rtol, atol), b)
    # Differences of integers are not cut off.
    if isinstance(operand, LazyArray):
        b = operand.astype(np.float64) if operand.dtype.kind in "biu" else operand
    elif isinstance(operand.value, int | np.integer | np.bool_):
        b = b * 1.0
    finite = np.isfinite(b)
    close = np.less_equal(np.absolute(np.subtract(a, b)), atol + rtol * np.absolute(b))
    found = np.logical_or(np.logical_and(close, finite), np.equal(a, b))
    if equal_nan:
        found = np.logical_or(found, np.logical_and(np.isnan(a), np.isnan(b)))
    return found


# -- choices ---------------------------------------------------------------------------------------


def _take_along_axis(arr: Any, indices: Any, axis: Any = -1) -> Any:
    array, index = array_of(arr, indices), array_of(indices, arr)
    if index.dtype.kind not in "iu":
        raise wrong_type("The indices of 'take_along_axis' are integers.")
    if axis is None:
        array, axis = ARRANGEMENT["ravel"](array), 0
    if index.ndim != array.ndim:
        raise wrong_value("'take_along_axis' takes indices with as many dimensions as the array.")
    at = array.axis(axis)
    trace = array.trace
    sides = [(*extents[:at], constant(1), *extents[at + 1 :])
             for extents in (array.extents, index.extents)]  # fmt: skip
    shape = list(trace.broadcast(*sides))
    shape[at] = index.extents[at]
    return called("take_along_axis", [array, index], tuple(shape), array.dtype, axis=at)


def _fill_diagonal(a: Any, val: Any) -> None:
    array = array_of(a, val)
    least = min(array.shape)
    if array.ndim < 2 or (array.ndim > 2 and max(array.shape) != least):
        raise wrong_value("'fill_diagonal' takes arrays of two dimensions or more, equal if more.")
    one_each = val if np.ndim(val) == 0 else np.ravel(val)
    if np.ndim(one_each) and len(one_each) not in (1, least):
        raise unsupported("'fill_diagonal' with more or fewer values than elements is not fused.",
                          "give a number, or one value for each element.")  # fmt: skip
    array[(arange(array.trace, least),) * array.ndim] = one_each


def _choose(a: Any, choices: Any, out: Any = None, mode: Any = "raise") -> Any:
    index = array_of(a, *choices)
    arrays = [array_of(choice, index) for choice in choices]
    kind = promoted([as_operand(index.trace, choice) for choice in choices])
    shape = index.trace.broadcast(*(one.extents for one in (index, *arrays)))
    arrays = [one.astype(kind) for one in arrays]
    made = called("choose", [index, *arrays], shape, kind, mode=mode)
    return finished(made, made.node, out)


# -- without NaN -----------------------------------------------------------------------------------


def _number(array: LazyArray) -> Any:
    return np.logical_not(np.isnan(array)) if array.dtype.kind in "fc" else True


def _is_infinity(value: float) -> Callable[..., Any]:
    """``isposinf`` or ``isneginf`` by a comparison: NumPy's ``signbit`` is not vectorized on CPU
    cores.
    """

    def test(x: Any, out: Any = None) -> Any:
        if array_of(x, out).dtype.kind == "c":
            raise wrong_type("Complex numbers have no signs.", "test a part: 'x.real'.")
        return np.equal(x, value, out=out)

    return test


def _nan_extreme(name: str, least: float) -> Callable[..., Any]:
    def reduce(a: Any, axis: Any = None, out: Any = None, keepdims: Any = False) -> Any:
        array = array_of(a)
        if array.dtype.kind == "c":
            raise unsupported(f"'nan{name}' of complex numbers is not fused.",
                              "take that of the parts.")  # fmt: skip
        function: Any = getattr(np, name)
        if array.dtype.kind != "f" or array.size == 0:
            return function(array, axis=axis, out=out, keepdims=keepdims)
        chosen = np.logical_not(np.isnan(array))
        found = function(array, axis=axis, keepdims=keepdims, initial=least, where=chosen)
        found = np.where(
            np.any(chosen, axis=axis, keepdims=keepdims), found, array.dtype.type(np.nan)
        )
        return finished(array, found.node, out)

    return reduce


def _nan_mean(
    a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = False
) -> Any:
    array = array_of(a)
    return np.mean(array, axis, dtype, out, keepdims, where=_number(array))


def _nan_spread(name: str) -> Callable[..., Any]:
    def reduce(a: Any, axis: Any = None, dtype: Any = None, out: Any = None, ddof: Any = 0,
               keepdims: Any = False) -> Any:  # fmt: skip
        array = array_of(a)
        chosen = _number(array)
        function: Any = getattr(np, name)
        found = function(array, axis, dtype, out, ddof, keepdims, where=chosen)
        if chosen is True or out is not None or not ddof:
            return found
        # var divides by no less than 0, where nanvar has NaN
        count = np.sum(chosen, axis=axis, keepdims=keepdims)
        return np.where(count > ddof, found, found.dtype.type(np.nan))

    return reduce


# -- products of vectors ---------------------------------------------------------------------------


def _moved(array: Any, source: Any, to: Any) -> Any:
    moveaxis: Any = np.moveaxis
    return moveaxis(array, source, to)


def _cross(a: Any, b: Any, axisa: Any = -1, axisb: Any = -1, axisc: Any = -1,
           axis: Any = None) -> Any:  # fmt: skip
    if axis is not None:
        axisa = axisb = axisc = axis
    one, other = (_moved(array, at, -1) for array, at in
                  ((array_of(a, b), axisa), (array_of(b, a), axisb)))  # fmt: skip
    if not (one.shape[-1] == 3 and other.shape[-1] == 3):
        raise unsupported("'cross' is fused for vectors of three numbers.",
                          "write 'a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0]'.")  # fmt: skip
    parts = [one[..., (k + 1) % 3] * other[..., (k + 2) % 3]
             - one[..., (k + 2) % 3] * other[..., (k + 1) % 3] for k in range(3)]  # fmt: skip
    return _moved(np.stack(parts, axis=-1), -1, axisc)


# -- calls of the library --------------------------------------------------------------------------


def _called(name: str, operands: Sequence[LazyArray], shape: Shape, **options: Any) -> Any:
    kind = dtype_called(name, operands, 1)
    return called(name, operands, shape, kind, **options)


def _searchsorted(a: Any, v: Any, side: Any = "left", sorter: Any = None) -> Any:
    if sorter is not None:
        raise unsupported("'searchsorted' with 'sorter' is not fused.", "write 'a[sorter]'.")
    array, values = array_of(a, v), array_of(v, a)
    if array.ndim != 1:
        raise wrong_value("'searchsorted' looks in one dimension.")
    return _called("searchsorted", [array, values], values.extents, side=side)


def _digitize(x: Any, bins: Any, right: Any = False) -> Any:
    array, edges = array_of(x, bins), array_of(bins, x)
    if edges.ndim != 1:
        raise wrong_value("'digitize' takes bins of one dimension.")
    return _called("digitize", [array, edges], array.extents, right=bool(right))


def _isin(element: Any, test_elements: Any, *, invert: Any = False) -> Any:
    operands = [array_of(element, test_elements), array_of(test_elements, element)]
    return _called("isin", operands, operands[0].extents, invert=bool(invert))


def _interp(x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None,
            period: Any = None) -> Any:  # fmt: skip
    ends = {"left": left, "right": right, "period": period}
    trace = trace_of(x, xp, fp)
    if not all(item is None or isinstance(item, int | float) for item in ends.values()):
        raise unsupported("'interp' takes ends that are known in the trace.", "write numbers.")
    operands = [as_array(trace, item) for item in (x, xp, fp)]
    if operands[1].ndim != 1 or operands[2].ndim != 1:
        raise wrong_value("'interp' takes points of one dimension.")
    return _called("interp", operands, operands[0].extents, **ends)


_LENGTHS: dict[str, Callable[[int, int], int]] = {
    "full": lambda n, m: n + m - 1,
    "same": max,
    "valid": lambda n, m: max(n, m) - min(n, m) + 1,
}


def _sliding(name: str, usual: str) -> Callable[..., Any]:
    def slide(a: Any, v: Any, mode: Any = usual) -> Any:
        operands = [array_of(a, v), array_of(v, a)]
        if mode not in _LENGTHS or any(operand.ndim != 1 for operand in operands):
            raise wrong_value(f"'{name}' takes two vectors, and mode='full', 'same' or 'valid'.")
        extents = [operand.extents[0] for operand in operands]
        if any(operand.shape[0] == 0 for operand in operands):
            raise wrong_value(f"'{name}' takes vectors that are not empty.")
        return _called(name, operands, (applied(_LENGTHS[mode], *extents),), mode=mode)

    return slide


def _quantile(name: str) -> Callable[..., Any]:
    def run(a: Any, q: Any, axis: Any = None, *, method: Any = "linear",
            keepdims: Any = False) -> Any:  # fmt: skip
        parts = np.asarray(q, np.float64) if not isinstance(q, LazyArray) else None
        if parts is None or parts.ndim > 1:
            raise unsupported(f"'{name}' takes numbers that are known in the trace for 'q'.",
                              f"call 'np.{name}' between two fused functions.")  # fmt: skip
        lead = tuple(constant(n) for n in parts.shape)
        given = float(parts) if not parts.ndim else tuple(parts.tolist())
        return _reduced(name, a, axis, keepdims, lead, q=given, method=method)

    return run


def _median(name: str) -> Callable[..., Any]:
    return lambda a, axis=None, *, keepdims=False: _reduced(name, a, axis, keepdims)


def _reduced(
    name: str, a: Any, axis: Any, keepdims: bool, lead: tuple[Symbol, ...] = (), **options: Any
) -> Any:
    array = array_of(a)
    axes = tuple(range(array.ndim)) if axis is None else array.axes(axis)
    kept = [constant(1) if k in axes else extent for k, extent in enumerate(array.extents)
            if keepdims or k not in axes]  # fmt: skip
    kind = dtype_called(name, [array], 1, **options)
    return called(name, [array], (*lead, *kept), kind,
                  axis=axes, keepdims=bool(keepdims), **options)  # fmt: skip


COMPOSED: dict[str, Any] = {
    "choose": _choose, "take_along_axis": _take_along_axis, "isclose": _isclose,
    "fill_diagonal": _fill_diagonal,
    "nanmax": _nan_extreme("max", -np.inf), "nanmin": _nan_extreme("min", np.inf),
    "nanmean": _nan_mean, "nanvar": _nan_spread("var"), "nanstd": _nan_spread("std"),
    "isposinf": _is_infinity(np.inf), "isneginf": _is_infinity(-np.inf),
    "cross": _cross, "linalg.cross": _cross,
    "searchsorted": _searchsorted, "digitize": _digitize, "interp": _interp,
    "convolve": _sliding("convolve", "full"), "correlate": _sliding("correlate", "valid"),
    "isin": _isin, "median": _median("median"), "nanmedian": _median("nanmedian"),
    "quantile": _quantile("quantile"),
    "percentile": _quantile("percentile"),
}  # fmt: skip

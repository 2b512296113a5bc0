"""NumPy's functions that are made of others: a composition that is traced in their place."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from kerneltk.fusion.functions.arrangement import ARRANGEMENT, at_least
from kerneltk.fusion.functions.products import PRODUCTS, called, dtype_called
from kerneltk.fusion.trace.creation import along, key_along
from kerneltk.fusion.trace.functions import arange, finished
from kerneltk.fusion.trace.graph import Shape
from kerneltk.fusion.trace.lazy import LazyArray
from kerneltk.fusion.trace.operations import as_array, as_operand, promoted, trace_of
from kerneltk.fusion.trace.state import unsupported, wrong_type, wrong_value
from kerneltk.fusion.trace.symbols import Symbol, applied, constant


def _array(a: Any, *others: Any) -> LazyArray:
    return as_array(trace_of(a, *others), a)


# -- choices ---------------------------------------------------------------------------------------


def _select(condlist: Any, choicelist: Any, default: Any = 0) -> Any:
    conditions, choices = list(condlist), list(choicelist)
    if len(conditions) != len(choices):
        raise wrong_value("'select' takes as many choices as conditions.")
    if not conditions:
        raise wrong_value("'select' takes one condition or more.")
    trace = trace_of(*conditions, *choices, default)
    if any(as_array(trace, condition).dtype != bool for condition in conditions):
        raise wrong_type("The conditions of 'select' are bools.", "compare: 'x != 0'.")
    kind = np.result_type(*choices, default)
    *values, found = (as_array(trace, item).astype(kind) for item in (*choices, default))
    for condition, value in zip(reversed(conditions), reversed(values), strict=True):
        found = np.where(condition, value, found)
    return found


def _take_along_axis(arr: Any, indices: Any, axis: Any = -1) -> Any:
    array, index = _array(arr, indices), _array(indices, arr)
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
    return called(trace, "take_along_axis", [array, index], tuple(shape), array.dtype, axis=at)


def _put_along_axis(arr: Any, indices: Any, values: Any, axis: Any) -> None:
    array, index = _array(arr, indices), _array(indices, arr)
    if axis is None or index.ndim != array.ndim:
        raise unsupported("'put_along_axis' takes indices with as many dimensions as the array.",
                          "give an axis, and an index for each dimension.")  # fmt: skip
    key: list[Any] = [_indices_along(array, k) for k in range(array.ndim)]
    key[array.axis(axis)] = index
    array[tuple(key)] = values


def _indices_along(array: LazyArray, axis: int) -> Any:
    return along(arange(array.trace, array.shape[axis]), axis, array.ndim)


def _fill_diagonal(a: Any, val: Any) -> None:
    array = _array(a, val)
    least = min(array.shape)
    if array.ndim < 2 or (array.ndim > 2 and max(array.shape) != least):
        raise wrong_value("'fill_diagonal' takes arrays of two dimensions or more, equal if more.")
    one_each = val if np.ndim(val) == 0 else np.ravel(val)
    if np.ndim(one_each) and len(one_each) not in (1, least):
        raise unsupported("'fill_diagonal' with more or fewer values than elements is not fused.",
                          "give a number, or one value for each element.")  # fmt: skip
    array[(arange(array.trace, least),) * array.ndim] = one_each


def _choose(a: Any, choices: Any, out: Any = None, mode: Any = "raise") -> Any:
    index = _array(a, *choices)
    arrays = [_array(choice, index) for choice in choices]
    kind = promoted([as_operand(index.trace, choice) for choice in choices])
    shape = index.trace.broadcast(*(one.extents for one in (index, *arrays)))
    arrays = [one.astype(kind) for one in arrays]
    made = called(index.trace, "choose", [index, *arrays], shape, kind, mode=mode)
    return finished(made, made.node, out)


# -- without NaN -----------------------------------------------------------------------------------


def _number(array: LazyArray) -> Any:
    return np.logical_not(np.isnan(array)) if array.dtype.kind in "fc" else True


def _nan_extreme(name: str, least: float) -> Callable[..., Any]:
    def reduce(a: Any, axis: Any = None, out: Any = None, keepdims: Any = False) -> Any:
        array = _array(a)
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
    array = _array(a)
    return np.mean(array, axis, dtype, out, keepdims, where=_number(array))


def _nan_spread(name: str) -> Callable[..., Any]:
    def reduce(a: Any, axis: Any = None, dtype: Any = None, out: Any = None, ddof: Any = 0,
               keepdims: Any = False) -> Any:  # fmt: skip
        array = _array(a)
        chosen = _number(array)
        function: Any = getattr(np, name)
        found = function(array, axis, dtype, out, ddof, keepdims, where=chosen)
        if chosen is True or out is not None or not ddof:
            return found
        # var divides by no less than 0, where nanvar has NaN
        count = np.sum(chosen, axis=axis, keepdims=keepdims)
        return np.where(count > ddof, found, found.dtype.type(np.nan))

    return reduce


# -- differences and sums --------------------------------------------------------------------------


def _gradient(f: Any, *varargs: Any, axis: Any = None, edge_order: Any = 1) -> Any:
    array = _array(f, *varargs)
    given = (
        range(array.ndim) if axis is None else axis if isinstance(axis, tuple | list) else (axis,)
    )
    axes = [array.axis(k) for k in given]
    array.axes(tuple(axes))  # which differ
    steps = varargs * len(axes) if len(varargs) == 1 else varargs or (1.0,) * len(axes)
    if len(steps) != len(axes):
        raise wrong_type("'gradient' takes one distance, or one for each axis.")
    if edge_order not in (1, 2):
        raise wrong_value("'edge_order' of 'gradient' is 1 or 2.")
    if array.dtype.kind in "iu":  # bools have no differences
        array = array.astype(np.float64)
    found = [_gradient_along(array, k, step, edge_order)
             for k, step in zip(axes, steps, strict=True)]  # fmt: skip
    return found[0] if len(found) == 1 else tuple(found)


def _gradient_along(array: LazyArray, axis: int, step: Any, order: int) -> Any:
    """Second-order differences inside, one-sided ones of an order at both ends."""
    if np.ndim(step):
        raise unsupported("'gradient' with the coordinates of an axis is not fused.",
                          "give the distance of its elements, where they are even.")  # fmt: skip
    if array.shape[axis] < order + 1:
        raise wrong_value(f"'gradient' takes axes of at least {order + 1} elements here.")
    key = functools.partial(key_along, axis)
    out: Any = np.empty_like(array)
    out[key(slice(1, -1))] = (array[key(slice(2, None))] - array[key(slice(None, -2))]) / (
        2.0 * step
    )
    if order == 1:
        out[key(0)] = (array[key(1)] - array[key(0)]) / step
        out[key(-1)] = (array[key(-1)] - array[key(-2)]) / step
        return out
    for end, sign in ((0, 1), (-1, -1)):
        first, second, third = (array[key(end + sign * k)] for k in range(3))
        a, b, c = -1.5 * sign / step, 2.0 * sign / step, -0.5 * sign / step
        out[key(end)] = a * first + b * second + c * third
    return out


def _trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: Any = -1) -> Any:
    array = _array(y, x, dx)
    at = array.axis(axis)
    distance = dx
    if x is not None:
        distance = np.diff(x) if np.ndim(x) == 1 else np.diff(x, axis=axis)
        if np.ndim(x) == 1:
            distance = along(_array(distance, array), at, array.ndim)
    pairs = array[key_along(at, slice(1, None))] + array[key_along(at, slice(None, -1))]
    return np.sum(distance * pairs / 2.0, axis=at)


def _cumulative(name: str, start: int) -> Callable[..., Any]:
    def run(x: Any, /, *, axis: Any = None, dtype: Any = None, out: Any = None,
            include_initial: Any = False) -> Any:  # fmt: skip
        array = _array(x)
        if axis is None and array.ndim != 1:
            raise wrong_value(f"'axis' of 'cumulative_{name}' is left out for one dimension only.")
        at = array.axis(0 if axis is None else axis)
        if not include_initial:
            return PRODUCTS[f"cum{name}"](array, at, dtype, out)
        if out is not None:
            raise unsupported("'include_initial' with 'out' is not fused.", "leave 'out' away.")
        found = PRODUCTS[f"cum{name}"](array, at, dtype)
        shape = tuple(1 if k == at else n for k, n in enumerate(array.shape))
        return np.concatenate([np.full_like(found, start, shape=shape), found], at)

    return run


def _polyval(p: Any, x: Any) -> Any:
    coefficients = p if isinstance(p, LazyArray) else np.asarray(p)
    found: Any = np.zeros_like(_array(x, p))
    for k in range(coefficients.shape[0]):
        found = found * x + coefficients[k]
    return found


def _moved(array: Any, source: Any, to: Any) -> Any:
    moveaxis: Any = np.moveaxis
    return moveaxis(array, source, to)


def _cross(a: Any, b: Any, axisa: Any = -1, axisb: Any = -1, axisc: Any = -1,
           axis: Any = None) -> Any:  # fmt: skip
    if axis is not None:
        axisa = axisb = axisc = axis
    one, other = (_moved(array, at, -1) for array, at in
                  ((_array(a, b), axisa), (_array(b, a), axisb)))  # fmt: skip
    if not (one.shape[-1] == 3 and other.shape[-1] == 3):
        raise unsupported("'cross' is fused for vectors of three numbers.",
                          "write 'a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0]'.")  # fmt: skip
    parts = [one[..., (k + 1) % 3] * other[..., (k + 2) % 3]
             - one[..., (k + 2) % 3] * other[..., (k + 1) % 3] for k in range(3)]  # fmt: skip
    return _moved(np.stack(parts, axis=-1), -1, axisc)


# -- arrangements ----------------------------------------------------------------------------------


def _rot90(m: Any, k: Any = 1, axes: Any = (0, 1)) -> Any:
    array = _array(m)
    first, second = map(array.axis, axes)
    if first == second:
        raise wrong_value("The axes of 'rot90' must differ.")
    turns = operator.index(k) % 4
    if turns in (0, 2):
        return np.flip(array, (first, second)) if turns else array[...]
    if turns == 1:
        return np.swapaxes(np.flip(array, second), first, second)
    return np.flip(np.swapaxes(array, first, second), second)


def _at_least(ndim: int) -> Callable[..., Any]:
    def grown(*arys: Any) -> Any:
        trace = trace_of(*arys)
        found = tuple(at_least(as_array(trace, item), ndim) for item in arys)
        return found[0] if len(found) == 1 else found

    return grown


def _split_along(name: str, axis: int, least: int) -> Callable[..., Any]:
    def split(ary: Any, indices_or_sections: Any) -> Any:
        array = _array(ary)
        if array.ndim < least:
            raise wrong_value(f"'{name}' takes arrays of {least} dimensions or more.")
        return ARRANGEMENT["split"](array, indices_or_sections, min(axis, array.ndim - 1))

    return split


def _unstack(x: Any, /, *, axis: Any = 0) -> Any:
    array = _moved(_array(x), axis, 0)
    return tuple(array[k] for k in range(int(array.trace.guards.value(array.extents[0]))))


# -- calls of the library --------------------------------------------------------------------------


def _called(name: str, operands: Sequence[LazyArray], shape: Shape, **options: Any) -> Any:
    kind = dtype_called(name, operands, 1)
    return called(operands[0].trace, name, operands, shape, kind, **options)


def _searchsorted(a: Any, v: Any, side: Any = "left", sorter: Any = None) -> Any:
    if sorter is not None:
        raise unsupported("'searchsorted' with 'sorter' is not fused.", "write 'a[sorter]'.")
    array, values = _array(a, v), _array(v, a)
    if array.ndim != 1:
        raise wrong_value("'searchsorted' looks in one dimension.")
    return _called("searchsorted", [array, values], values.extents, side=side)


def _digitize(x: Any, bins: Any, right: Any = False) -> Any:
    array, edges = _array(x, bins), _array(bins, x)
    if edges.ndim != 1:
        raise wrong_value("'digitize' takes bins of one dimension.")
    return _called("digitize", [array, edges], array.extents, right=bool(right))


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
        operands = [_array(a, v), _array(v, a)]
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


def _median(a: Any, axis: Any = None, *, keepdims: Any = False) -> Any:
    return _reduced("median", a, axis, keepdims)


def _reduced(
    name: str, a: Any, axis: Any, keepdims: bool, lead: tuple[Symbol, ...] = (), **options: Any
) -> Any:
    array = _array(a)
    axes = tuple(range(array.ndim)) if axis is None else array.axes(axis)
    kept = [constant(1) if k in axes else extent for k, extent in enumerate(array.extents)
            if keepdims or k not in axes]  # fmt: skip
    kind = dtype_called(name, [array], 1, **options)
    return called(array.trace, name, [array], (*lead, *kept), kind,
                  axis=axes, keepdims=bool(keepdims), **options)  # fmt: skip


COMPOSED: dict[str, Any] = {
    "select": _select, "choose": _choose, "take_along_axis": _take_along_axis,
    "put_along_axis": _put_along_axis, "fill_diagonal": _fill_diagonal,
    "nanmax": _nan_extreme("max", -np.inf), "nanmin": _nan_extreme("min", np.inf),
    "nanmean": _nan_mean, "nanvar": _nan_spread("var"), "nanstd": _nan_spread("std"),
    "gradient": _gradient, "trapezoid": _trapezoid, "trapz": _trapezoid,
    "cumulative_sum": _cumulative("sum", 0), "cumulative_prod": _cumulative("prod", 1),
    "polyval": _polyval, "cross": _cross, "linalg.cross": _cross,
    "isreal": lambda x: np.imag(_array(x)) == 0, "iscomplex": lambda x: np.imag(_array(x)) != 0,
    "rot90": _rot90, "atleast_1d": _at_least(1), "atleast_2d": _at_least(2),
    "atleast_3d": _at_least(3), "unstack": _unstack,
    "vsplit": _split_along("vsplit", 0, 2), "hsplit": _split_along("hsplit", 1, 1),
    "dsplit": _split_along("dsplit", 2, 3),
    "searchsorted": _searchsorted, "digitize": _digitize, "interp": _interp,
    "convolve": _sliding("convolve", "full"), "correlate": _sliding("correlate", "valid"),
    "median": _median, "quantile": _quantile("quantile"), "percentile": _quantile("percentile"),
}  # fmt: skip

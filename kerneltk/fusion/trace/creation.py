"""NumPy's functions that make arrays of numbers: grids, ranges and matrices of the identity."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from kerneltk.fusion.trace.functions import (
    arange,
    array_of_number,
    checked_call,
    empty,
    filled,
    no_scalar,
    shape_from,
)
from kerneltk.fusion.trace.lazy import Lazy, LazyArray, LazyNumber, plain_number, symbol_of
from kerneltk.fusion.trace.operations import as_array, has_lazy, is_negative, of_list
from kerneltk.fusion.trace.state import Trace, unsupported, wrong_type, wrong_value
from kerneltk.fusion.trace.symbols import Symbol, applied

Maker = Callable[[Trace, Any, tuple[Any, ...], dict[str, Any]], Any]


def _arange(
    trace: Trace, start: Any = None, stop: Any = None, step: Any = None, dtype: Any = None
) -> Any:
    if stop is None:
        start, stop = 0, start
    places = (0 if start is None else start, stop, 1 if step is None else step)
    return arange(trace, *places, dtype=dtype)


def _full(trace: Trace, shape: Any, fill_value: Any, dtype: Any = None, order: Any = "C") -> Any:
    made = filled(trace, shape_from(shape), fill_value, dtype)
    trace.layouts.ask(made.node, order)
    return made


def _of_value(name: str, value: Any) -> Maker:
    def make(trace: Trace, shape: Any, dtype: Any = None, order: Any = "C") -> Any:
        return _full(trace, shape, value, np.float64 if dtype is None else dtype, order)

    return _made(name, make)


def _empty(trace: Trace, shape: Any, dtype: Any = None, order: Any = "C") -> Any:
    made = empty(trace, shape_from(shape), np.dtype(dtype))
    trace.layouts.ask(made.node, order)
    return made


def _of_array(copies: bool) -> Maker:
    def make(trace: Trace, own: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if args and has_lazy(args[0]):
            args = (of_list(trace, args[0]), *args[1:])
        elif not (args and isinstance(args[0], Lazy)):
            return own(*args, **kwargs)
        return checked_call(functools.partial(convert, trace), own.__name__, args, kwargs)

    def convert(trace: Trace, value: Lazy, dtype: Any = None, *, copy: Any = copies) -> Any:
        if isinstance(value, LazyNumber):
            return array_of_number(trace, value, dtype)
        array = as_array(trace, value)
        return array.astype(array.dtype if dtype is None else dtype, copy=bool(copy))

    return make


def _in_order(turned: bool) -> Maker:
    """``ascontiguousarray`` or, of the transpose, ``asfortranarray``."""

    def make(trace: Trace, own: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        array = CREATION["asarray"](trace, np.asarray, args, kwargs)
        if not isinstance(array, LazyArray):
            return own(array)
        array = array if array.ndim else array[None]
        array = array.T if turned else array
        found: Any = np.reshape(np.ravel(array), array.shape)
        return found.T if turned else found

    return make


def _linspace(
    trace: Trace, start: Any, stop: Any, num: Any = 50, endpoint: Any = True, retstep: Any = False,
    dtype: Any = None, axis: Any = 0, *, device: Any = None,
) -> Any:  # fmt: skip
    symbols = [symbol_of(value) for value in (start, stop)]
    if any(symbol is None for symbol in symbols) or retstep or axis != 0:
        raise unsupported(
            "'linspace' is fused between numbers, without 'retstep' and 'axis'.",
            "write 'start + np.arange(n) * step'.",
        )
    first, last = (symbol for symbol in symbols if symbol is not None)
    (count,) = shape_from((num,))
    if trace.guards.decide(is_negative, count):
        raise wrong_value("The number of samples of 'linspace' cannot be negative.")
    whole = np.result_type(first.value, last.value, 1.0)
    kind = whole if dtype is None else np.dtype(dtype)
    parts = max(int(trace.guards.value(count)) - int(bool(endpoint)), 1)
    begin, end = (plain_number(trace, applied(whole.type, s)) for s in (first, last))
    step = (end - begin) / parts
    places = arange(trace, num, dtype=whole)
    found = places * step + begin
    if endpoint and int(trace.guards.value(count)) > 1:
        found = np.where(places == parts, end, found)
    if kind.kind in "iu":
        found = np.floor(found)
    return no_scalar(found.astype(kind, copy=False))


def along(vector: LazyArray, axis: int, ndim: int) -> LazyArray:
    """A vector as an array of several dimensions, of which all but one have one element."""
    return vector[tuple(slice(None) if k == axis else None for k in range(ndim))]  # type: ignore[no-any-return]


def key_along(axis: int, item: Any) -> tuple[Any, ...]:
    """The key of a part of an array along an axis, of all that the axes before have."""
    return (*[slice(None)] * axis, item)


def indices_of(trace: Trace, rows: Symbol, columns: Symbol) -> tuple[Any, Any]:
    """The indices of rows, as a column, and of columns."""
    row = arange(trace, plain_number(trace, rows))
    return row[:, None], arange(trace, plain_number(trace, columns))


def _eye(
    trace: Trace, N: Any, M: Any = None, k: Any = 0, dtype: Any = float, order: Any = "C",  # noqa: N803
    *, device: Any = None,
) -> Any:  # fmt: skip
    rows, columns = indices_of(trace, *shape_from((N, N if M is None else M)))
    made = (columns - rows == k).astype(np.dtype(dtype))
    trace.layouts.ask(made.node, order)
    return made


def _identity(trace: Trace, n: Any, dtype: Any = None) -> Any:
    return _eye(trace, n, dtype=float if dtype is None else dtype)


def _tri(trace: Trace, N: Any, M: Any = None, k: Any = 0, dtype: Any = float) -> Any:  # noqa: N803
    rows, columns = indices_of(trace, *shape_from((N, N if M is None else M)))
    return (columns - rows <= k).astype(np.dtype(dtype))


def _meshgrid(
    trace: Trace, *xi: Any, copy: Any = True, sparse: Any = False, indexing: Any = "xy"
) -> Any:
    if indexing not in ("xy", "ij"):
        raise wrong_type("'indexing' of 'meshgrid' is 'xy' or 'ij'.")
    arrays = [as_array(trace, x) for x in xi]
    found = []
    for k, array in enumerate(arrays):
        if array.ndim > 1:
            raise unsupported("'meshgrid' is fused of vectors.", "reshape them: 'x.reshape(-1)'.")
        vector = array if array.ndim else array[None]
        axis = 1 - k if indexing == "xy" and len(arrays) > 1 and k < 2 else k
        found.append(along(vector, axis, len(arrays)))
    if not sparse and found:
        shape = trace.broadcast(*(array.extents for array in found))
        found = [array.broadcast_to(shape) for array in found]
    return tuple(np.copy(array) for array in found) if copy else tuple(found)


def _grid(trace: Trace, ranges: list[LazyArray], sparse: bool) -> list[Any]:
    found = [along(one, k, len(ranges)) for k, one in enumerate(ranges)]
    if sparse:
        return found
    shape = tuple(one.extents[0] for one in ranges)
    return [array.broadcast_to(shape) for array in found]


def _rows(trace: Trace, arrays: list[Any]) -> Any:
    """Arrays as one, whose rows are computed where they are used."""
    place = arange(trace, len(arrays))[(slice(None), *[None] * arrays[0].ndim)]
    found = arrays[-1][None]
    for k in reversed(range(len(arrays) - 1)):
        found = np.where(place == k, arrays[k][None], found)
    return found if len(arrays) > 1 else np.copy(found)


def _indices(trace: Trace, dimensions: Any, dtype: Any = int, sparse: Any = False) -> Any:
    ranges = [arange(trace, extent, dtype=dtype) for extent in dimensions]
    found = _grid(trace, ranges, bool(sparse))
    if sparse:
        return tuple(found)
    return _rows(trace, found) if found else np.zeros((0,), dtype)


class Grid:
    """``np.mgrid`` and ``np.ogrid``, of slices whose ends each call knows."""

    def __init__(self, trace: Trace, sparse: bool) -> None:
        self._trace, self._sparse = trace, sparse

    def __getitem__(self, key: Any) -> Any:
        trace = self._trace
        items = key if isinstance(key, tuple) else (key,)
        ranges = [self._range(item) for item in items]
        kind = np.result_type(*(one.dtype for one in ranges))
        ranges = [one.astype(kind, copy=False) for one in ranges]
        if not isinstance(key, tuple):
            return ranges[0]
        found = _grid(trace, ranges, self._sparse)
        return tuple(found) if self._sparse else _rows(trace, found)

    def _range(self, item: Any) -> LazyArray:
        if not isinstance(item, slice):
            raise wrong_type("A grid is made of slices, such as '0:n'.")
        start = 0 if item.start is None else item.start
        step = 1 if item.step is None else item.step
        symbol = symbol_of(step)
        if symbol is not None and isinstance(symbol.value, complex):
            count = applied(_count, symbol)
            made = _linspace(self._trace, start, item.stop, plain_number(self._trace, count))
            return made  # type: ignore[no-any-return]
        return arange(self._trace, start, item.stop, step)


def _count(step: complex) -> int:
    return int(abs(step))


def _made(name: str, function: Callable[..., Any]) -> Maker:
    def make(trace: Trace, own: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return checked_call(functools.partial(function, trace), name, args, kwargs)

    return make


CREATION: dict[str, Maker] = {
    "arange": _made("arange", _arange), "full": _made("full", _full),
    "empty": _made("empty", _empty), "zeros": _of_value("zeros", 0), "ones": _of_value("ones", 1),
    "array": _of_array(True), "asarray": _of_array(False), "asanyarray": _of_array(False),
    "ascontiguousarray": _in_order(False), "asfortranarray": _in_order(True),
    "linspace": _made("linspace", _linspace), "eye": _made("eye", _eye),
    "identity": _made("identity", _identity), "tri": _made("tri", _tri),
    "meshgrid": _made("meshgrid", _meshgrid), "indices": _made("indices", _indices),
}  # fmt: skip
GRIDS = {"mgrid": False, "ogrid": True}

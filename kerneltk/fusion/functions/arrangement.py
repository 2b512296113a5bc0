"""NumPy's functions that arrange elements otherwise: reshaped, joined, repeated, moved, padded.

Each is made of views, writes to parts of a new array, and `where`; a reshape that is no view of a
trace is a call of the arrays' library.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from kerneltk.fusion.trace.creation import indices_of, key_along
from kerneltk.fusion.trace.functions import empty, shape_from
from kerneltk.fusion.trace.graph import WHOLE, Call, Index, Node, Shape
from kerneltk.fusion.trace.lazy import (
    LazyArray,
    PartStorage,
    plain_number,
    size_of,
    symbol_of,
)
from kerneltk.fusion.trace.operations import (
    array_of,
    arrays_of,
    as_array,
    as_operand,
    new_array,
    promoted,
    trace_of,
)
from kerneltk.fusion.trace.state import Storage, Trace, unsupported, wrong_type, wrong_value
from kerneltk.fusion.trace.symbols import Symbol, applied, constant, equal
from kerneltk.fusion.trace.users import user_location

# -- reshapes --------------------------------------------------------------------------------------


class ReshapedStorage(Storage):
    """The elements of an array in another shape, as they were then: NumPy has a view there, or a
    copy. So neither of them is written to while the other one is used.
    """

    __slots__ = ("_bases", "_function", "_location", "_trace", "_value")

    what = (
        "The result of '{}' is used",
        "call '{}' behind the write; or copy the result: 'y = np.copy(y)'.",
        "The result of '{}'",
        "write to the original; or copy the result: 'y = np.copy(y)'.",
    )

    def __init__(self, trace: Trace, base: Storage, value: Any) -> None:
        self._function = value.function
        self._trace = trace
        self._bases = [(one, one.writes) for one in _bases_of(base)]
        self._location = user_location()
        self._value: Node = value
        self.array = None
        self.is_taken = self.is_scalar = False
        self.writes = 0

    @property
    def node(self) -> Node:
        """The value; raises where the array was written to after it was reshaped."""
        if any(base.writes != seen for base, seen in self._bases):
            raise unsupported(
                f"{self._said(0)} after the original was written to.", self._said(1), self._location
            )
        return self._value

    @node.setter
    def node(self, value: Node) -> None:
        self._value = value

    def check_writable(self) -> None:
        """Refuse writes where the original may be used."""
        array = self._bases[-1][0].array
        is_given = array is not None and not self._trace.sources[array].is_local
        if self._trace.block is None and not is_given and not self._is_shared():
            return
        raise unsupported(
            f"{self._said(2)} is written to, while the original is used, too.", self._said(3)
        )

    def _said(self, which: int) -> str:
        return self.what[which].format(self._function)

    def _is_shared(self) -> bool:
        for ref in self._trace.values:
            other = ref()
            if type(other) is LazyArray and other.storage is not self:
                *_, last = _bases_of(other.storage)
                if last is self._bases[-1][0]:
                    return True
        return False


class ChosenStorage(ReshapedStorage):
    """Elements that NumPy's ``x[i]`` is a view of, where the integer ``i`` is a value: a copy."""

    __slots__ = ()

    what = (
        "A part of an array, which a value chose, is used",
        "copy the part: 'np.take(x, i, axis=0)' for 'x[i]'.",
        "A part of an array that a value chose",
        "write 'x[[i]] += value' for 'x[i] += value'; or copy the part: 'np.take(x, i, axis=0)'.",
    )


def _bases_of(storage: Storage) -> list[Storage]:
    """A storage, and those whose elements it may share, the original last."""
    found = [storage]
    if isinstance(storage, ReshapedStorage):
        found += [base for base, _ in storage._bases]
    elif isinstance(storage, PartStorage):
        found += _bases_of(storage.whole.storage)
    return found


def _reshape(a: Any, /, shape: Any = None, order: Any = "C", *, copy: Any = None) -> Any:
    array = as_array(trace_of(a, *(shape if isinstance(shape, tuple | list) else (shape,))), a)
    if order not in ("C", "F"):
        raise unsupported(f"'order={order!r}' of 'reshape' is not fused.", "write 'C' or 'F'.")
    if order == "F":
        items = shape if isinstance(shape, tuple | list) else (shape,)
        found = _reshaped(array.transpose(), items[::-1]).transpose()
    else:
        found = _reshaped(array, shape)
    return np.copy(found) if copy else found


def _reshape_method(a: LazyArray, *shape: Any, order: Any = "C", copy: Any = None) -> Any:
    is_whole = len(shape) == 1 and isinstance(shape[0], tuple | list | np.ndarray)
    return _reshape(a, tuple(shape[0]) if is_whole else shape, order, copy=copy)


def _reshaped(array: LazyArray, shape: Any) -> LazyArray:
    trace = array.trace
    given = tuple(shape) if isinstance(shape, tuple | list) else (shape,)
    whole = size_of(array.extents)
    unknown = [k for k, item in enumerate(given) if _is_minus_one(item)]
    if len(unknown) > 1:
        raise wrong_value("Only one extent of a shape can be -1.")
    extents = list(shape_from(tuple(1 if k in unknown else item for k, item in enumerate(given))))
    if unknown:
        others = size_of(tuple(extents))
        if not trace.guards.decide(_divides, others, whole):
            raise _wrong_size(array, given)
        extents[unknown[0]] = applied(operator.floordiv, whole, others)
    new = tuple(extents)
    is_equal = [a.value for a in array.extents] == [b.value for b in new]
    if is_equal and trace.same_shape(array.extents, new):
        return LazyArray(trace, array.storage, array.steps)
    size = size_of(new)
    if size.expression != whole.expression and not trace.guards.decide(equal, size, whole):
        raise _wrong_size(array, given)
    view = _with_ones(array, new)
    if view is not None:
        return view
    return _view_by_call(array, Call(array.dtype, new, "reshape", (settled(array).node,)))


def _view_by_call(array: LazyArray, node: Call) -> LazyArray:
    if array.trace.block is not None:
        raise unsupported(
            f"'{node.function}' is not recorded in a block.", "decorate a function with 'fuse'."
        )
    return LazyArray(array.trace, ReshapedStorage(array.trace, array.storage, node))


def settled(array: LazyArray) -> LazyArray:
    """An array, of which an argument has by now what was written to it: views are of that."""
    storage, trace = array.storage, array.trace
    if storage.is_taken and storage.array is not None and not trace.sources[storage.array].is_local:
        trace.flush(storage)
    return array


def reshaped_copy(array: LazyArray, shape: Shape) -> LazyArray:
    """A new array of the elements."""
    node = Call(array.dtype, shape, "reshape", (array.node,), (("copies", True),))
    return new_array(array.trace, node)


def _is_minus_one(item: Any) -> bool:
    symbol = symbol_of(item)
    return symbol is not None and symbol.value == -1


def _divides(divisor: int, number: int) -> bool:
    return divisor > 0 and number % divisor == 0


def _wrong_size(array: LazyArray, given: Sequence[Any]) -> Exception:
    shape = tuple(extent.value for extent in array.extents)
    wanted = tuple(item if symbol is None else symbol.value
                   for item in given for symbol in (symbol_of(item),))  # fmt: skip
    return wrong_value(f"An array of shape {shape} cannot be reshaped to {wanted}.")


def _with_ones(array: LazyArray, shape: Shape) -> LazyArray | None:
    """A view that adds and removes axes of one element; None where the shape differs in others."""
    trace = array.trace
    old = [k for k, extent in enumerate(array.extents) if extent.value != 1]
    new = [k for k, extent in enumerate(shape) if extent.value != 1]
    left, right = [array.extents[k] for k in old], [shape[k] for k in new]
    if [e.value for e in left] != [e.value for e in right]:
        return None
    for extent in (*array.extents, *shape):
        trace.is_one(extent)
    if not trace.same_shape(tuple(left), tuple(right)):
        return None
    without = tuple(WHOLE if k in old else 0 for k in range(array.ndim))
    restored = tuple(WHOLE if k in new else None for k in range(len(shape)))
    return array.view_of(Index(without), Index(restored))


def _ravel(a: Any, order: Any = "C") -> Any:
    return _reshape(a, (-1,), "C" if order in ("K", "A") and _is_in_c_order(a) else order)


def _is_in_c_order(a: Any) -> bool:
    array = array_of(a)
    layout = array.trace.layouts.of(array.node)
    known = [step for step in layout if step]
    return known == sorted(known, reverse=True)


# -- joined ----------------------------------------------------------------------------------------


def _arrays(given: Any) -> list[LazyArray]:
    if isinstance(given, LazyArray):
        raise unsupported(
            "The parts of a joined array are a list or a tuple of arrays, not one array.",
            "reshape it: 'x.reshape(shape)'.",
        )
    return arrays_of(*given)


def _sum(*numbers: int) -> int:
    return sum(numbers)


def _concatenate(
    arrays: Any, /, axis: Any = 0, out: Any = None, *, dtype: Any = None, casting: Any = "same_kind"
) -> Any:
    parts = _arrays(arrays)
    if axis is None:
        parts, axis = [_ravel(part) for part in parts], 0
    first = parts[0]
    trace = first.trace
    if not first.ndim:
        raise wrong_value("Arrays without dimensions cannot be joined.", "write 'np.stack'.")
    at = first.axis(axis)
    for part in parts[1:]:
        if part.ndim != first.ndim:
            raise wrong_value("Arrays of different numbers of dimensions cannot be joined.")
        for k, (one, other) in enumerate(zip(first.extents, part.extents, strict=True)):
            if k != at and not trace.same_shape((one,), (other,)):
                raise wrong_value(
                    f"Arrays that are joined along axis {at} differ along axis {k}: "
                    f"{one.value} and {other.value}."
                )
    kind = promoted(parts) if dtype is None else np.dtype(dtype)
    for part in parts:
        if not np.can_cast(part.dtype, kind, casting):
            raise wrong_type(f"Cannot cast from '{part.dtype}' to '{kind}' by '{casting}'.")
    # Numbers: an expression of lengths would be twice as long for each array of a chain.
    lengths = [int(trace.guards.value(part.extents[at])) for part in parts]
    shape = (*first.extents[:at], constant(sum(lengths)), *first.extents[at + 1 :])
    if out is None:
        out = empty(trace, shape, kind)
        trace.layouts.ask_joined(out.node, [part.node for part in parts])
    elif not isinstance(out, LazyArray) or not trace.same_shape(out.extents, shape):
        raise wrong_value("'out=' must be an array of the result's shape.")
    begin = 0
    for part, length in zip(parts, lengths, strict=True):
        out[key_along(at, slice(begin, begin + length))] = part
        begin += length
    return out


# -- repeated ------------------------------------------------------------------------------------


def _repeat(a: Any, repeats: Any, axis: Any = None) -> Any:
    array = array_of(a, repeats)
    if isinstance(as_operand(array.trace, repeats), LazyArray):
        raise unsupported(
            "'repeat' by an array is not fused: its result's size depends on values.",
            "give one number of repeats.",
        )
    if axis is None:
        array, axis = _ravel(array), 0
    at = array.axis(axis)
    count = shape_from((repeats,))[0]
    extents = array.extents
    wide = (*extents[: at + 1], count, *extents[at + 1 :])
    shape = (*extents[:at], applied(operator.mul, extents[at], count), *extents[at + 1 :])
    found = array[key_along(at + 1, None)].broadcast_to(wide)
    return reshaped_copy(found, shape)


def _tile(A: Any, reps: Any) -> Any:  # noqa: N803 (NumPy's name)
    items = tuple(reps) if isinstance(reps, tuple | list) else (reps,)
    array = array_of(A, *items)
    array = array[(*[None] * (len(items) - array.ndim), ...)]
    counts = shape_from((*(1,) * (array.ndim - len(items)), *items))
    wide: list[Symbol] = []
    shape: list[Symbol] = []
    key: list[Any] = []
    for count, extent in zip(counts, array.extents, strict=True):
        wide += [count, extent]
        shape.append(applied(operator.mul, extent, count))
        key += [None, slice(None)]
    found = array[tuple(key)].broadcast_to(tuple(wide))
    return reshaped_copy(found, tuple(shape))


# -- parts by their indices ------------------------------------------------------------------------


def _diagonal(a: Any, offset: Any = 0, axis1: Any = 0, axis2: Any = 1) -> Any:
    array = array_of(a)
    first, second = array.axis(axis1), array.axis(axis2)
    if first == second:
        raise wrong_value("'axis1' and 'axis2' of a diagonal must differ.")
    others = [k for k in range(array.ndim) if k not in (first, second)]
    moved = array.transpose(*others, first, second)
    distance = operator.index(offset)
    rows, columns = moved.extents[-2:]
    length = applied(_diagonal_length, rows, columns, constant(distance))
    shape = (*moved.extents[:-2], length)
    node = Call(array.dtype, shape, "diagonal", (moved.node,),
                (("offset", distance), ("axis1", -2), ("axis2", -1)))  # fmt: skip
    return _view_by_call(array, node)


def _windows(x: Any, window_shape: Any, axis: Any = None) -> Any:
    array = array_of(x)
    given = window_shape if isinstance(window_shape, tuple | list) else (window_shape,)
    windows = [operator.index(one) for one in given]
    ordered = axis if isinstance(axis, tuple | list) else array.axes(axis)
    axes = tuple(map(array.axis, ordered))  # as they are given, which 'array.axes' sorts
    if len(axes) != len(windows):
        raise wrong_value("'sliding_window_view' takes the length of a window for each axis.")
    counts = list(array.shape)
    for at, window in zip(axes, windows, strict=True):
        counts[at] = counts[at] - window + 1
        if window < 0 or counts[at] < 1:
            raise wrong_value(f"A window of {window} elements does not fit axis {at}.")
    shape = list(shape_from(counts))
    options = ("window_shape", (*windows,)), ("axis", axes)
    shape += map(constant, windows)
    operand = settled(array).node
    node = Call(array.dtype, (*shape,), "sliding_window_view", (operand,), options)
    return _view_by_call(array, node)


def _diagonal_length(rows: int, columns: int, offset: int) -> int:
    return max(0, min(rows + min(offset, 0), columns - max(offset, 0)))


def _diag(v: Any, k: Any = 0) -> Any:
    array = array_of(v)
    if array.ndim == 2:
        return _diagonal(array, k)
    if array.ndim != 1:
        raise wrong_value("'diag' takes arrays of one or two dimensions.")
    distance = operator.index(k)
    trace = array.trace
    extent = applied(_sum, array.extents[0], constant(abs(distance)))
    out: Any = np.zeros_like(array, shape=tuple(plain_number(trace, e) for e in (extent, extent)))
    rows, columns = indices_of(trace, *array.extents * 2)
    inner = np.where(columns == rows, array, array.dtype.type(0))
    length = int(trace.guards.value(array.extents[0]))
    row, column = max(0, -distance), max(0, distance)
    out[row : row + length, column : column + length] = inner
    return out


def _trace(a: Any, offset: Any = 0, axis1: Any = 0, axis2: Any = 1, dtype: Any = None,
           out: Any = None) -> Any:  # fmt: skip
    return np.sum(_diagonal(a, offset, axis1, axis2), axis=-1, dtype=dtype, out=out)


ARRANGEMENT: dict[str, Any] = {
    "reshape": _reshape, "ravel": _ravel, "concatenate": _concatenate, "concat": _concatenate,
    "repeat": _repeat, "tile": _tile, "diagonal": _diagonal, "diag": _diag,
    "trace": _trace, "lib.stride_tricks.sliding_window_view": _windows,
}  # fmt: skip
ARRANGEMENT_METHODS: dict[str, Any] = {
    "reshape": _reshape_method, "ravel": _ravel, "repeat": _repeat, "diagonal": _diagonal,
    "flatten": lambda a, order="C": np.copy(_ravel(a, order)),
}  # fmt: skip

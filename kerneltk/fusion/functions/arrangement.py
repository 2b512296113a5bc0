"""NumPy's functions that arrange elements otherwise: reshaped, joined, repeated, moved, padded.

Each is made of views, writes to parts of a new array, and `where`; a reshape that is no view of a
trace is a call of the arrays' library.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from kerneltk.fusion.trace.creation import indices_of, key_along
from kerneltk.fusion.trace.functions import FUNCTIONS, empty, shape_from
from kerneltk.fusion.trace.graph import WHOLE, Call, Index, Node, Shape
from kerneltk.fusion.trace.lazy import (
    LazyArray,
    PartStorage,
    plain_number,
    size_of,
    symbol_of,
)
from kerneltk.fusion.trace.operations import as_array, as_operand, new_array, promoted, trace_of
from kerneltk.fusion.trace.state import Storage, Trace, unsupported, wrong_type, wrong_value
from kerneltk.fusion.trace.symbols import Symbol, applied, constant, equal
from kerneltk.fusion.trace.users import user_location

# -- reshapes --------------------------------------------------------------------------------------


class ReshapedStorage(Storage):
    """The elements of an array in another shape, as they were then: NumPy has a view there, or a
    copy. So neither of them is written to while the other one is used.
    """

    __slots__ = ("_bases", "_location", "_trace", "_value", "_what")

    what = (
        "The result of '{}' is used",
        "call '{}' behind the write; or copy the result: 'y = np.copy(y)'.",
        "The result of '{}'",
        "write to the original; or copy the result: 'y = np.copy(y)'.",
    )

    def __init__(self, trace: Trace, base: Storage, value: Any) -> None:
        self._what = tuple(words.format(value.function) for words in self.what)
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
                f"{self._what[0]} after the original was written to.", self._what[1], self._location
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
            f"{self._what[2]} is written to, while the original is used, too.", self._what[3]
        )

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
    given = shape[0] if len(shape) == 1 and isinstance(shape[0], tuple | list) else shape
    return _reshape(a, given, order, copy=copy)


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
    array = as_array(trace_of(a), a)
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
    parts = list(given)
    trace = trace_of(*parts)
    return [as_array(trace, part) for part in parts]


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


def _stack(arrays: Any, axis: Any = 0, out: Any = None, *, dtype: Any = None,
           casting: Any = "same_kind") -> Any:  # fmt: skip
    parts = _arrays(arrays)
    trace = parts[0].trace
    for part in parts[1:]:
        if not trace.same_shape(part.extents, parts[0].extents):
            raise wrong_value("Arrays that are stacked must have one shape.")
    found = [FUNCTIONS["expand_dims"](part, axis) for part in parts]
    return _concatenate(found, axis, out, dtype=dtype, casting=casting)


def at_least(array: LazyArray, ndim: int) -> Any:
    """A view with leading axes of one element; as 'atleast_3d', also a last one."""
    if array.ndim >= ndim:
        return array
    if ndim < 3 or array.ndim == 0:
        return array[(*[None] * (ndim - array.ndim), ...)]
    return array[None, :, None] if array.ndim == 1 else array[:, :, None]


def _hstack(tup: Any, *, dtype: Any = None, casting: Any = "same_kind") -> Any:
    parts = [at_least(part, 1) for part in _arrays(tup)]
    return _concatenate(parts, 0 if parts[0].ndim == 1 else 1, dtype=dtype, casting=casting)


def _vstack(tup: Any, *, dtype: Any = None, casting: Any = "same_kind") -> Any:
    return _concatenate([at_least(p, 2) for p in _arrays(tup)], dtype=dtype, casting=casting)


def _dstack(tup: Any) -> Any:
    return _concatenate([at_least(part, 3) for part in _arrays(tup)], 2)


def _column_stack(tup: Any) -> Any:
    return _concatenate([p if p.ndim > 1 else at_least(p, 2).T for p in _arrays(tup)], 1)


def _append(arr: Any, values: Any, axis: Any = None) -> Any:
    return _concatenate([arr, values], axis)


def _split(ary: Any, indices_or_sections: Any, axis: Any = 0, *, is_even: bool = True) -> Any:
    array = as_array(trace_of(ary), ary)
    at = array.axis(axis)
    length = int(array.trace.guards.value(array.extents[at]))
    given = indices_or_sections
    if isinstance(given, tuple | list):
        ends = [*map(operator.index, given), None]
    else:
        count = operator.index(given)
        if count <= 0 or (is_even and length % count):
            raise wrong_value(f"An axis of {length} elements has no {count} equal parts.")
        ends = [length // count * k + min(k, length % count) for k in range(1, count + 1)]
    starts = [None, *ends[:-1]]
    return [array[key_along(at, slice(a, b))] for a, b in zip(starts, ends, strict=True)]


# -- repeated and moved ----------------------------------------------------------------------------


def _repeat(a: Any, repeats: Any, axis: Any = None) -> Any:
    array = as_array(trace_of(a, repeats), a)
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
    array = as_array(trace_of(A, *items), A)
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


def _whole_number(name: str, value: Any) -> int:
    try:
        return operator.index(value)
    except TypeError:
        raise wrong_type(f"'{name}' moves by integers.", "write 'int(n)'.") from None


def _roll(a: Any, shift: Any, axis: Any = None) -> Any:
    array = as_array(trace_of(a, *(shift if isinstance(shift, tuple) else (shift,))), a)
    if axis is None:
        flat = _ravel(array)
        shape = tuple(plain_number(array.trace, extent) for extent in array.extents)
        return _reshaped(_roll(flat, shift, 0), shape)
    axes = axis if isinstance(axis, tuple | list) else (axis,)
    shifts = shift if isinstance(shift, tuple | list) else (shift,)
    if len(axes) != len(shifts):
        axes = axes * len(shifts) if len(axes) == 1 else axes
        shifts = shifts * len(axes) if len(shifts) == 1 else shifts
    by_axis: dict[int, int] = {}
    for one, other in zip(shifts, axes, strict=True):
        at = array.axis(other)
        by_axis[at] = by_axis.get(at, 0) + _whole_number("roll", one)
    found: Any = np.copy(array, order="K")
    for at, distance in by_axis.items():
        length = int(array.trace.guards.value(array.extents[at]))
        moved = distance % length if length else 0
        if moved:
            before = found
            found = np.empty_like(before)
            found[key_along(at, slice(moved, None))] = before[
                key_along(at, slice(None, length - moved))
            ]
            found[key_along(at, slice(None, moved))] = before[
                key_along(at, slice(length - moved, None))
            ]
    return found


# -- padded ----------------------------------------------------------------------------------------


def _pairs(given: Any, ndim: int) -> list[tuple[Any, Any]]:
    """A width or a value for each side of each axis, as 'pad' takes them."""
    if isinstance(given, np.ndarray):
        given = given.tolist()
    if not isinstance(given, tuple | list):
        return [(given, given)] * ndim
    rows = [tuple(row) if isinstance(row, tuple | list) else row for row in given]
    if not any(isinstance(row, tuple) for row in rows):
        rows = [(rows[0], rows[-1])] if len(rows) <= 2 else rows
    rows = rows * ndim if len(rows) == 1 else rows
    if len(rows) != ndim or not all(isinstance(row, tuple) for row in rows):
        raise wrong_value(f"'pad' takes two numbers for each of {ndim} axes.")
    return [(row[0], row[-1]) for row in rows]


def _pad(array: Any, pad_width: Any, mode: Any = "constant", **options: Any) -> Any:
    given = as_array(trace_of(array), array)
    values = _pairs(options.pop("constant_values", 0), given.ndim)
    if mode not in ("constant", "edge", "wrap", "reflect", "symmetric") or options:
        raise unsupported(
            f"'pad' with {', '.join([f'mode={mode!r}', *sorted(options)])} is not fused.",
            "write 'out = np.empty(shape)', and each part of it: 'out[...] = ...'.",
        )
    if isinstance(pad_width, dict):
        widths = [(0, 0)] * given.ndim
        for axis, width in pad_width.items():
            widths[given.axis(axis)] = _pairs(width, 1)[0]
    else:
        widths = _pairs(pad_width, given.ndim)
    sizes = [tuple(map(operator.index, pair)) for pair in widths]
    if any(width < 0 for pair in sizes for width in pair):
        raise wrong_value("Widths of 'pad' cannot be negative.")
    if mode == "constant":
        return _padded_by_values(given, sizes, values)
    found = given
    for at, (before, after) in enumerate(sizes):
        if before or after:
            found = _padded_axis(found, at, before, after, mode)
    return np.copy(given) if found is given else found


def _padded_by_values(
    array: LazyArray, sizes: Sequence[tuple[int, ...]], values: Sequence[tuple[Any, Any]]
) -> LazyArray:
    """The value of the last axis that is padded counts in corners, as in NumPy."""
    trace = array.trace
    shape = tuple(
        applied(_sum, extent, constant(before), constant(after))
        for extent, (before, after) in zip(array.extents, sizes, strict=True)
    )
    out = empty(trace, shape, array.dtype)
    trace.layouts.ask(out.node, "A", array.node)
    for at, ((before, after), pair) in enumerate(zip(sizes, values, strict=True)):
        # Of the axes before, all; of those behind, what their values do not replace.
        inner = [slice(a, -b or None) for a, b in sizes[at + 1 :]]
        if before:
            out[(*key_along(at, slice(None, before)), *inner)] = pair[0]
        if after:
            out[(*key_along(at, slice(-after, None)), *inner)] = pair[1]
    out[tuple(slice(before, -after or None) for before, after in sizes)] = array
    return out


def _padded_axis(array: LazyArray, at: int, before: int, after: int, mode: str) -> LazyArray:
    length = int(array.trace.guards.value(array.extents[at]))

    def part(start: int | None, stop: int | None, step: int = 1) -> Any:
        return array[key_along(at, slice(start, stop, step))]

    most = {"wrap": length, "symmetric": length, "reflect": length - 1}.get(mode)
    if length == 0 or (most is not None and max(before, after) > most):
        raise unsupported(
            f"'pad' with mode={mode!r} by more than the axis has is not fused.",
            "pad twice, each time by less.",
        )
    if mode == "edge":
        left, right = part(0, 1), part(length - 1, length)
    elif mode == "wrap":
        left, right = part(length - before, length), part(0, after)
    else:
        k = int(mode == "reflect")
        left = part(k, before + k)[key_along(at, slice(None, None, -1))]
        right = part(length - after - k, length - k)[key_along(at, slice(None, None, -1))]
    out = _new_along(array, at, length + before + after)
    if before:
        out[key_along(at, slice(None, before))] = left
    if after:
        out[key_along(at, slice(before + length, None))] = right
    out[key_along(at, slice(before, before + length))] = array
    return out


def _new_along(array: LazyArray, at: int, length: int) -> LazyArray:
    shape = (*array.extents[:at], constant(length), *array.extents[at + 1 :])
    out = empty(array.trace, shape, array.dtype)
    array.trace.layouts.ask(out.node, "A", array.node)
    return out


# -- parts by their indices ------------------------------------------------------------------------


def _triangle(name: str) -> Any:
    def part(m: Any, k: Any = 0) -> Any:
        array = as_array(trace_of(m, k), m)
        if not array.ndim:
            raise wrong_value(f"'{name}' takes arrays of one dimension or more.")
        trace = array.trace
        rows, columns = indices_of(trace, array.extents[-2 if array.ndim > 1 else -1],
                                   array.extents[-1])  # fmt: skip
        inside = columns - rows <= k if name == "tril" else columns - rows >= k
        return np.where(inside, array, array.dtype.type(0))

    return part


def _diagonal(a: Any, offset: Any = 0, axis1: Any = 0, axis2: Any = 1) -> Any:
    array = as_array(trace_of(a), a)
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
    array = as_array(trace_of(x), x)
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
    array = as_array(trace_of(v), v)
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


def _diff(a: Any, n: Any = 1, axis: Any = -1, prepend: Any = None, append: Any = None) -> Any:
    array = as_array(trace_of(a), a)
    at = array.axis(axis)
    ends = [None if end is None else _end(array, at, end) for end in (prepend, append)]
    if any(end is not None for end in ends):
        parts = [part for part in (ends[0], array, ends[1]) if part is not None]
        array = _concatenate(parts, at)
    count = operator.index(n)
    if count < 0:
        raise wrong_value("'diff' is repeated a number of times that is not negative.")
    function = np.not_equal if array.dtype.kind == "b" else np.subtract
    for _ in range(count):
        array = function(
            array[key_along(at, slice(1, None))], array[key_along(at, slice(None, -1))]
        )
    return array


def _end(array: LazyArray, at: int, end: Any) -> LazyArray:
    found = as_array(array.trace, end)
    if found.ndim:
        return found
    shape = tuple(constant(1) if k == at else e for k, e in enumerate(array.extents))
    return found.broadcast_to(shape)


ARRANGEMENT: dict[str, Any] = {
    "reshape": _reshape, "ravel": _ravel, "concatenate": _concatenate, "concat": _concatenate,
    "stack": _stack, "hstack": _hstack, "vstack": _vstack, "dstack": _dstack,
    "column_stack": _column_stack, "append": _append, "split": _split, "repeat": _repeat,
    "array_split": functools.partial(_split, is_even=False),
    "tile": _tile, "roll": _roll, "pad": _pad, "triu": _triangle("triu"),
    "tril": _triangle("tril"), "diagonal": _diagonal, "diag": _diag, "trace": _trace,
    "diff": _diff, "lib.stride_tricks.sliding_window_view": _windows,
}  # fmt: skip
ARRANGEMENT_METHODS: dict[str, Any] = {
    "reshape": _reshape_method, "ravel": _ravel, "repeat": _repeat, "diagonal": _diagonal,
    "flatten": lambda a, order="C": np.copy(_ravel(a, order)),
}  # fmt: skip

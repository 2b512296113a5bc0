"""Elements that a mask or indices choose: ``x[mask]``, ``x[mask] = value``, ``x[indices]``.

How many a mask chooses depends on values, so there is no array of them. A `Selection` has the whole
array and the mask: functions of elements are computed for all of them, and `where` chooses what is
written.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, NamedTuple, NoReturn

import numpy as np

from kerneltk.fusion.functions.arrangement import ChosenStorage
from kerneltk.fusion.functions.products import called
from kerneltk.fusion.functions.sources import OWN_CODE
from kerneltk.fusion.trace.creation import key_along
from kerneltk.fusion.trace.functions import FUNCTIONS, SELECTIONS, is_selected, no_scalar
from kerneltk.fusion.trace.graph import (
    Apply,
    Cast,
    Load,
    Node,
    Progression,
    Reduce,
    Scalar,
    Shape,
    View,
    operands_of,
)
from kerneltk.fusion.trace.lazy import (
    Lazy,
    LazyArray,
    Operators,
    add_in_place,
    has_arrays,
    symbol_of,
)
from kerneltk.fusion.trace.operations import (
    as_array,
    as_operand,
    assigned_node,
    call_ufunc,
    kind_of,
    new_array,
    node_of,
    of_list,
    resolved_loop,
    trace_of,
    without_leading_ones,
    write,
)
from kerneltk.fusion.trace.rolling import ARRAYS_OF
from kerneltk.fusion.trace.state import (
    InvalidIndexError,
    Trace,
    at_line,
    unsupported,
    wrong_type,
    wrong_value,
)
from kerneltk.fusion.trace.symbols import constant
from kerneltk.fusion.trace.users import user_location

_BOOL = np.dtype(bool)
OF_VALUES = "reduce with 'where=mask', or choose by 'np.where(mask, x, y)'."
"""The hint where the size of a result depends on values."""


def _in_place(ufunc: np.ufunc) -> Callable[[Any, Any], Any]:
    def change(self: Selection, other: Any) -> Selection:
        whole = no_scalar(self.whole)  # one of an array without dimensions has one
        call_ufunc(ufunc, "__call__", (whole, _whole_beside(self, other)), {"out": (whole,)})
        return self

    return change


class Selection(Operators):
    """``x[mask]``: some elements of an array, whose number depends on values."""

    __slots__ = ("__weakref__", "_location", "mask", "trace", "whole")
    __hash__ = Operators.__hash__

    def __init__(self, whole: LazyArray, mask: LazyArray) -> None:
        self.trace: Trace = whole.trace
        self.whole = whole
        self.mask = mask
        self._location = user_location()

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of the elements."""
        return self.whole.dtype

    @property
    def ndim(self) -> int:
        """How many dimensions it has: one, and those behind the mask's."""
        return 1 + self.whole.ndim - self.mask.ndim

    @property
    def wide_mask(self) -> LazyArray:
        """The mask, with the dimensions of the array."""
        return _widened(self.mask, self.whole)

    def __pow__(self, other: Any) -> Any:
        if symbol_of(other) is None:
            return super().__pow__(other)
        return Selection(no_scalar(self.whole) ** other, self.mask)  # of some exponents, a function

    def refuse(self, is_over: bool = False) -> NoReturn:
        """Raise at the user's line; at the index, if the function has ended."""
        raise unsupported(
            "How many elements a mask chooses depends on values.",
            "count them by 'np.count_nonzero(mask)'; reduce them with 'where=mask'; or choose by "
            "'np.where(mask, x, y)'.",
            self._location if is_over else None,
        )

    shape = size = property(refuse)

    def _refused(self, *_: Any) -> Any:
        self.refuse()

    __len__ = __iter__ = __bool__ = __setitem__ = _refused

    def __getitem__(self, key: Any) -> Selection:
        first, *rest = key if isinstance(key, tuple) else (key,)
        if not isinstance(first, slice) or not first.start is first.stop is first.step is None:
            self.refuse()
        before = (slice(None),) * self.mask.ndim
        return Selection(no_scalar(self.whole[(*before, *rest)]), self.mask)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        function = _OF_SELECTIONS.get(name)
        if function is None:
            self.refuse()
        return lambda *args, **kwargs: function(self, *args, **kwargs)


SELECTIONS.add(Selection)
# Every name of these elements sees the change, and they keep their dtype.
add_in_place(Selection, _in_place)
ARRAYS_OF[Selection] = ("whole", "mask")


def _widened(mask: LazyArray, whole: LazyArray) -> LazyArray:
    ones = (None,) * (whole.ndim - mask.ndim)
    return mask[(..., *ones)] if ones else mask


# -- functions -------------------------------------------------------------------------------------


def of_selections(
    call: Callable[..., Any], name: str, inputs: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """A function of elements, of selections by one mask and of numbers."""
    first = next(value for value in inputs if type(value) is Selection)
    if is_selected(*kwargs.values()):
        raise unsupported(f"'out=' of '{name}' is a copy of elements that a mask chooses.",
                          "write 'x[mask] = ...'.")  # fmt: skip
    wholes = [_whole_beside(first, value) for value in inputs]
    found = call(*wholes, **kwargs)
    if isinstance(found, tuple):
        return tuple(Selection(one, first.mask) for one in found)
    return Selection(found, first.mask)


def _whole_beside(first: Selection, value: Any) -> Any:
    if type(value) is Selection:
        check_same_mask(first, value)
        if value.whole.ndim != first.whole.ndim:
            raise unsupported("Elements of arrays with other dimensions meet.",
                              "index both with all dimensions.")  # fmt: skip
        return value.whole
    operand = as_operand(first.trace, value)
    if isinstance(operand, LazyArray) and operand.ndim >= first.ndim:
        raise unsupported(
            "Elements that a mask chooses meet an array of others.",
            "choose of both by one mask: 'x[mask] + y[mask]'.",
        )
    return value


def check_same_mask(one: Selection, other: Selection) -> None:
    """Refuse two masks that are not known to be equal."""
    if one.mask.ndim != other.mask.ndim or not same_value(one.mask.node, other.mask.node):
        raise unsupported(
            "Elements meet that two masks choose, which may not be equal.",
            "name the mask, and choose by it: 'm = x > 0; x[m] = f(x[m])'.",
        )


def same_value(one: Node, other: Node) -> bool:
    """Whether two values are the same expression of the same arrays."""
    stack = [(one, other)]
    seen: set[tuple[int, int]] = set()
    while stack:
        a, b = stack.pop()
        if a is b or (id(a), id(b)) in seen:
            continue
        seen.add((id(a), id(b)))
        if type(a) is not type(b) or a.dtype != b.dtype or _facts(a) != _facts(b):
            return False
        below = operands_of(a), operands_of(b)
        if len(below[0]) != len(below[1]):
            return False
        stack += zip(*below, strict=True)
    return True


def _facts(node: Node) -> Any:
    """What a value is, beside its operands; a new object for what equals nothing else."""
    shape = tuple(extent.expression for extent in node.shape)
    if isinstance(node, Load):
        return shape, node.array, node.version
    if isinstance(node, Scalar):
        return node.symbol.expression
    if isinstance(node, Apply):
        return shape, node.function, node.part
    if isinstance(node, View):
        return shape, node.step
    if isinstance(node, Reduce):
        return shape, node.kind, node.axes
    return shape if isinstance(node, Cast | Progression) else object()


_REDUCTIONS = ("sum", "prod", "mean", "var", "std", "any", "all", "count_nonzero")


def _reduced(name: str) -> Callable[..., Any]:
    def reduce(a: Selection, axis: Any = None, **options: Any) -> Any:
        if axis not in (None, 0, -1) or (axis == -1 and a.ndim > 1) or "out" in options:
            a.refuse()
        axes = None if axis is None else tuple(range(a.mask.ndim))
        if options.get("keepdims"):
            a.refuse()
        options.pop("keepdims", None)
        mask = a.wide_mask.broadcast_to(a.whole.extents)
        if name == "count_nonzero":
            return np.count_nonzero(np.logical_and(a.whole, mask), axis=axes)
        return FUNCTIONS[name](a.whole, axes, where=mask, **options)

    return reduce


def _elementwise(name: str) -> Callable[..., Any]:
    def apply(*args: Any, **kwargs: Any) -> Any:
        return of_selections(getattr(np, name), name, args, kwargs)

    return apply


_OF_SELECTIONS: dict[str, Callable[..., Any]] = {
    **{name: _reduced(name) for name in _REDUCTIONS},
    **{name: _elementwise(name) for name in (
        "where", "clip", "round", "around", "real", "imag", "angle", "sinc", "i0", "fix",
        "nan_to_num", "isclose", "copy",
    )},
    "astype": lambda a, dtype, **options: Selection(a.whole.astype(dtype, **options), a.mask),
}  # fmt: skip


def call_of_selections(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A call of one of NumPy's functions with selections."""
    function = _OF_SELECTIONS.get(name)
    if function is None or not is_selected(*args):
        raise unsupported(
            f"'{name}' of elements that a mask chooses is not fused: their number depends on "
            "values.",
            OF_VALUES,
        )
    return function(*args, **kwargs)


def ufunc_of_selections(
    ufunc: np.ufunc, method: str, inputs: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """A call of a ufunc with selections."""
    if method != "__call__":
        return call_of_selections(f"{ufunc.__name__}.{method}", (), kwargs)
    return of_selections(
        lambda *wholes, **options: call_ufunc(ufunc, method, wholes, options),
        ufunc.__name__, inputs, kwargs,
    )  # fmt: skip


# -- indexing --------------------------------------------------------------------------------------


def _masked(array: LazyArray, key: Any) -> tuple[LazyArray, LazyArray, int] | None:
    """The part of an array that a mask chooses of, the mask, and how many axes of the part stand
    before those that it chooses along; None for another index.
    """
    items = list(key) if isinstance(key, tuple) else [key]
    arrays = [place for place, item in enumerate(items) if has_arrays((item,))]
    if len(arrays) != 1 or type(items[arrays[0]]) in (bool, np.bool_, Selection):
        return None
    (at,) = arrays
    mask = _index_array(array.trace, items[at])
    if mask.dtype != _BOOL:
        return None
    if mask.ndim > array.ndim:
        raise at_line(
            InvalidIndexError, "A mask has more dimensions than the array that it chooses of."
        )
    if len(items) > 1:
        items[at : at + 1] = [slice(None)] * mask.ndim
        missing = array.ndim - sum(item is not None and item is not Ellipsis for item in items)
        rest = next((k for k, item in enumerate(items) if item is Ellipsis), None)
        if rest is not None:
            items[rest : rest + 1] = [slice(None)] * missing
            at += (missing - 1) * (rest < at)
        array = array[tuple(items)]
        if array.is_scalar:  # a mask without dimensions, of an element
            return None
    before = sum(item is None or isinstance(item, slice) for item in items[:at])
    chosen = array.extents[before : before + mask.ndim]
    if not array.trace.same_shape(mask.extents, chosen):
        shapes = (tuple(e.value for e in one.extents) for one in (mask, array))
        sentence = "A mask of shape {} does not fit an array of shape {}."
        raise at_line(InvalidIndexError, sentence.format(*shapes))
    return array, mask, before


def _index_array(trace: Trace, item: Any) -> LazyArray:
    """An index that is an array; of a list, an array of the arguments' library."""
    if isinstance(item, tuple | list | range):
        return of_list(trace, item, None if len(item) else np.intp)
    return as_array(trace, item)


def chosen(array: LazyArray, key: Any) -> Any:
    """``array[key]``, for a mask or an array of indices."""
    found = _masked(array, key)
    if found is None:
        return _taken(array, key)
    part, mask, before = found
    if before:
        raise unsupported(
            "A mask behind slices is not fused: the shape depends on values.",
            "have the masked axis in front: 'x.T[mask]'; or write 'np.where(mask, x, y)'.",
        )
    trace = array.trace
    return Selection(new_array(trace, part.node), new_array(trace, mask.node))


def choose(array: LazyArray, key: Any, value: Any) -> None:
    """``array[key] = value``, for a mask or an array of indices."""
    found = _masked(array, key)
    if found is None:
        _put(array, key, value)
        return
    part, mask, before = found
    trace = array.trace
    if before:
        axes = range(before, before + mask.ndim)
        part = OWN_CODE["moveaxis"](part, (*axes,), (*range(mask.ndim),))
    if type(value) is Selection:
        check_same_mask(Selection(part, mask), value)
        if before or not trace.same_shape(value.whole.extents, part.extents):
            raise wrong_value("Elements are assigned to an array of another shape.")
        value = value.whole
    else:
        operand = as_operand(trace, value)
        most = 0 if before else part.ndim - mask.ndim
        if isinstance(operand, LazyArray) and operand.ndim > most:
            raise unsupported(
                "How many elements a mask chooses depends on values: an array of them is not "
                "assigned.",
                "choose by one mask on both sides: 'x[mask] = y[mask]'.",
            )
    node = assigned_node(part, value)
    wide = _widened(mask, part).node
    write(part, trace.apply(np.where, [wide, node, part.node], part.dtype))


class _Indexed(NamedTuple):
    """``whole[key]``, with arrays among the indices."""

    array: LazyArray  # what the slices of the key leave
    key: tuple[int | str | None, ...]  # ``"_"`` for an array of indices, ``":"`` for a slice
    indices: list[LazyArray]
    shape: Shape
    has_ellipsis: bool


def _indexed(array: LazyArray, key: Any) -> _Indexed:
    trace = array.trace
    items = list(key) if isinstance(key, tuple) else [key]
    _ = array[tuple(slice(None) if has_arrays((item,)) else item for item in items)]  # may raise
    at = next((k for k, item in enumerate(items) if item is Ellipsis), len(items))
    has_ellipsis = at < len(items)
    missing = array.ndim - sum(item is not None and item is not Ellipsis for item in items)
    items[at : at + 1] = [slice(None)] * missing
    # Slices are the same before other axes are indexed.
    array = array[tuple(item if isinstance(item, slice) else slice(None)
                        for item in items if item is not None)]  # fmt: skip
    indices: dict[int, LazyArray] = {}
    template: list[int | str | None] = []
    kept, axis = [], 0
    for place, item in enumerate(items):
        if item is None or isinstance(item, slice):
            template.append(None if item is None else ":")
            kept.append((place, constant(1) if item is None else array.extents[axis]))
        elif not has_arrays((item,)) and not isinstance(item, Lazy):
            template.append(operator.index(item))
        else:
            indices[place] = _checked_indices(trace, item)
            template.append("_")
        axis += item is not None
    found: Shape = ()
    for one in indices.values():
        found = trace.broadcast(found, one.extents)
    chosen = [place for place, item in enumerate(template) if item not in (None, ":")]
    # Dimensions of indices stand where these do, or first where a slice is between them.
    is_together = len(chosen) == chosen[-1] - chosen[0] + 1
    before = sum(place < chosen[0] for place, _ in kept) if is_together else 0
    extents = [extent for _, extent in kept]
    shape = (*extents[:before], *found, *extents[before:])
    return _Indexed(array, (*template,), [*indices.values()], shape, has_ellipsis)


def _taken(whole: LazyArray, key: Any, copies: bool = False) -> LazyArray:
    """Elements by integers that are values: by arrays of them, beside slices and other integers.
    `copies` says that they are no view where one integer chooses.
    """
    trace = whole.trace
    array, template, indices, shape, has_ellipsis = _indexed(whole, key)
    operands = [array, *indices]
    axes = [place for place, item in enumerate(template) if item != ":"]
    if len(axes) == 1 and None not in template:
        node = called("take", operands, shape, array.dtype, axis=axes[0]).node
    else:
        node = called("indexed", operands, shape, array.dtype, key=template).node
    is_view = not copies and all(one.is_scalar for one in indices)
    if is_view and (shape or has_ellipsis) and trace.array_type is np.ndarray:
        return LazyArray(trace, ChosenStorage(trace, whole.storage, node))
    return new_array(trace, node)


def _put(whole: LazyArray, key: Any, value: Any) -> None:
    """``whole[key] = value``."""
    if type(value) is Selection:
        value.refuse()
    found = _indexed(whole, key)
    node = assigned_node(found.array, value)
    _written(found, without_leading_ones(whole.trace, node, len(found.shape)))


def put_at(ufunc: np.ufunc, a: Any, indices: Any, b: Any) -> None:
    """``ufunc.at(a, indices, b)``: repeated indices accumulate."""
    trace = trace_of(a, indices, b)
    array, name = as_array(trace, a), ufunc.__name__
    operand = as_operand(trace, b)
    _, (kind,) = resolved_loop(ufunc, [array.dtype, kind_of(operand)], None, "same_kind")
    if not np.can_cast(kind, array.dtype, "same_kind"):
        raise wrong_type(f"'np.{name}.at' cannot write '{kind}' to an array of '{array.dtype}'.",
                         "convert the values: 'y.astype(x.dtype)'.")  # fmt: skip
    if not has_arrays(indices) or _masked(array, indices) is not None:
        raise unsupported(f"'np.{name}.at' is fused with arrays of indices.",
                          f"write 'x[...] = np.{name}(x[...], y)'.")  # fmt: skip
    own = operand.dtype if isinstance(operand, LazyArray) else array.dtype
    _written(_indexed(array, indices), node_of(trace, operand, own), name)


PUT = (np.add, np.maximum, np.minimum)
"""The ufuncs whose ``at`` is fused."""


def _written(found: _Indexed, node: Node, ufunc: str = "") -> None:
    """Write to the elements that indices choose; by the method `at` of a ufunc. The array has its
    values in memory before, where the library writes to it.
    """
    array, trace = found.array, found.array.trace
    if len(node.shape) > len(found.shape) or not trace.same_shape(
        trace.broadcast(node.shape, found.shape), found.shape
    ):
        raise wrong_value(
            f"A value of shape {tuple(e.value for e in node.shape)} cannot be written to elements "
            f"of shape {tuple(e.value for e in found.shape)}."
        )
    array.storage.check_writable()
    trace.flush(array.storage)
    operands = [array, new_array(trace, node), *found.indices]
    made = called("put", operands, array.extents, array.dtype, key=found.key, ufunc=ufunc)
    write(array, made.node)


def _checked_indices(trace: Trace, item: Any) -> LazyArray:
    if type(item) in (bool, np.bool_, Selection):
        raise unsupported(
            "Indexing by a bool, or by what a mask chooses, is not fused: its shape depends on "
            "values.",
            "write 'np.where(mask, x, y)'.",
        )
    indices = _index_array(trace, item)
    if indices.dtype == _BOOL:
        raise unsupported(
            "Indexing by a mask beside other indices is not fused: its shape depends on values.",
            "write 'np.where(mask, x, y)'.",
        )
    if indices.dtype.kind not in "iu":
        raise wrong_type(f"Indices are integers or bools, not '{indices.dtype}'.")
    return indices


def take(a: Any, indices: Any, axis: Any = None, out: Any = None, mode: Any = "raise") -> Any:
    """``np.take`` with indices that are in bounds."""
    if mode != "raise" or out is not None:
        raise unsupported("'take' with 'mode=' or 'out=' is not fused.",
                          "wrap the indices: 'np.take(x, indices % n)'.")  # fmt: skip
    array = a
    if axis is None:
        array, axis = np.ravel(array), 0
    at = array.axis(operator.index(axis))
    return _taken(array, key_along(at, indices), copies=True)


class Flat:
    """``x.flat``: the elements in C order, as values. Where they lie is not known, so the array is
    written as a whole.
    """

    def __init__(self, array: LazyArray) -> None:
        self._array = array

    def __len__(self) -> Any:
        return self._array.size

    def __iter__(self) -> Any:
        return iter(np.ravel(self._array))

    def __getitem__(self, key: Any) -> Any:
        found = np.ravel(self._array)[key]
        return np.copy(found) if found.ndim else found

    def __setitem__(self, key: Any, value: Any) -> None:
        elements = np.copy(np.ravel(self._array))
        elements[key] = value
        self._array[...] = np.reshape(elements, self._array.shape)

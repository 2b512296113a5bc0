"""NumPy's reductions, its functions of elements, views and new arrays, as traced."""

from __future__ import annotations

import contextlib
import functools
import operator
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from kerneltk.core.dtypes import describe
from kerneltk.errors import ScalarOverflowError
from kerneltk.fusion.trace.graph import (
    WHOLE,
    Broadcast,
    Call,
    Cast,
    Index,
    Node,
    Progression,
    Reduce,
    Shape,
    View,
    reduced_shape,
)
from kerneltk.fusion.trace.lazy import (
    LazyArray,
    LazyNumber,
    PartStorage,
    size_of,
    symbol_of,
)
from kerneltk.fusion.trace.operations import (
    apply_ufunc,
    array_of,
    arrays_of,
    as_array,
    as_operand,
    into,
    kind_of,
    known_truth,
    mask_of,
    new_array,
    node_of,
    promoted,
    result_dtype,
    trace_of,
    without_leading_ones,
)
from kerneltk.fusion.trace.state import Trace, at_line, unsupported, wrong_type, wrong_value
from kerneltk.fusion.trace.symbols import NumberFunction, Symbol, applied, constant, is_one
from kerneltk.fusion.trace.users import user_location

_MISSING = np._NoValue
_BOOL = np.dtype(bool)
_INDEX = np.dtype(np.int64)


def checked_call(
    own: Callable[..., Any], name: str, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """A call of what stands for a function; an argument that it does not take is an error."""
    given = {key: value for key, value in kwargs.items() if value is not _MISSING}
    try:
        return own(*args, **given)
    except TypeError as error:
        if error.__traceback__ is not None and error.__traceback__.tb_next is None:
            problem = str(error).split("() ", 1)[-1]  # of the call itself
            raise unsupported(f"'{name}' {problem}.", "leave it out.") from None
        raise


def by_function(table: dict[str, Callable[..., Any]]) -> dict[Any, Callable[..., Any]]:
    """What stands for NumPy's functions, by these instead of by their names."""
    found = {}
    for name, own in table.items():
        with contextlib.suppress(AttributeError):  # of a later NumPy
            found[operator.attrgetter(name)(np)] = own
    return found


def is_selected(*values: Any) -> bool:
    """Whether one of some operands is elements that a mask chooses."""
    return not SELECTIONS.isdisjoint(map(type, values))


SELECTIONS: set[type] = set()  # the class of these, once its module is loaded


# -- reductions ----------------------------------------------------------------------------------


def _reduction(
    kind: str,
    array: LazyArray,
    axis: Any,
    keepdims: Any,
    compute: np.dtype[Any] | None,
    result: np.dtype[Any],
    may_be_empty: bool = False,
) -> Node:
    """A reduction of an array; `compute` is the dtype of its values, `result` that of the total."""
    trace = array.trace
    # Of what has no axes, NumPy takes the first or last one for all of them.
    is_none = not array.ndim and isinstance(axis, int | np.integer) and axis in (0, -1)
    axes = () if is_none else array.axes(axis)
    node = array.node if compute is None else trace.cast(array.node, compute)
    return _kept(_reduced(trace, kind, node, axes, result, may_be_empty), axes, bool(keepdims))


def _reduced(
    trace: Trace,
    kind: str,
    node: Node,
    axes: tuple[int, ...],
    result: np.dtype[Any],
    may_be_empty: bool = False,
) -> Node:
    if not axes and kind not in ("argmin", "argmax"):
        return _total_of_one(trace, kind, node, result)
    is_of_some = kind in ("min", "max", "argmin", "argmax") and not may_be_empty
    if is_of_some and trace.guards.decide(operator.not_, _count(node.shape, axes)):
        raise wrong_value(f"The '{kind}' of no elements is not defined.")
    if node.dtype.names is not None:
        raise wrong_type(f"'{kind}' cannot be computed for '{node.dtype}'.")
    # The total of one element is the element, and that takes no kernel of its own.
    if kind in _OF_ELEMENTS and trace.guards.decide(is_one, _count(node.shape, axes)):
        for axis in axes:
            trace.guards.note_equal(node.shape[axis], constant(1))
        return _total_of_one(trace, kind, node, result)
    return Reduce(result, reduced_shape(node.shape, axes), kind, node, axes, user_location())


def _total_of_one(trace: Trace, kind: str, node: Node, result: np.dtype[Any]) -> Node:
    """The element; sums begin with 0.0, and -0.0 added to that is no -0.0."""
    value = trace.cast(node, result)
    if kind != "sum" or result.kind not in "fc":
        return value
    return trace.apply(np.add, [value, trace.scalar(constant(0.0), result)], result)


def _kept(node: Node, axes: tuple[int, ...], keepdims: bool) -> Node:
    if keepdims or not axes:
        return node
    items = tuple(0 if k in axes else WHOLE for k in range(len(node.shape)))
    shape = tuple(extent for k, extent in enumerate(node.shape) if k not in axes)
    return View(node.dtype, shape, node, Index(items))


def _count(shape: Shape, axes: tuple[int, ...]) -> Symbol:
    return size_of(tuple(shape[axis] for axis in axes))


def finished(array: LazyArray, node: Node, out: Any) -> LazyArray:
    """The result of a function: a new array, or `out` with the value written to it."""
    if node is array.node:
        node = Cast(node.dtype, node.shape, node)  # no view, also where nothing is computed
    made = new_array(array.trace, node)
    if out is None:
        return made
    if isinstance(out, LazyArray) and (
        out.ndim != made.ndim or not array.trace.same_shape(out.extents, made.extents)
    ):
        raise wrong_value(
            f"'out=' has the shape {tuple(e.value for e in out.extents)}, and the result "
            f"{tuple(e.value for e in made.extents)}.",
            "give an array of the result's shape.",
        )
    return into(out, made, True, "same_kind")


_UFUNCS = {
    "sum": np.add, "prod": np.multiply, "min": np.minimum, "max": np.maximum,
    "any": np.logical_or, "all": np.logical_and,
}  # fmt: skip
_OF_ELEMENTS = ("sum", "prod", "min", "max")
_KINDS: dict[Any, str] = {ufunc: kind for kind, ufunc in _UFUNCS.items()}
_NEUTRAL = {"sum": 0, "prod": 1, "any": False, "all": True}


def reduce_by_ufunc(ufunc: np.ufunc, inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """``np.add.reduce(x)`` and its like."""
    kind = _KINDS.get(ufunc)
    if kind is None:
        raise unsupported(f"'np.{ufunc.__name__}.reduce' is not fused.")
    options = dict(kwargs)
    out = options.pop("out", None)
    if isinstance(out, tuple):
        out = out[0]
    return checked_call(
        functools.partial(_plain, kind), f"np.{ufunc.__name__}.reduce", inputs,
        {"axis": 0, **options, "out": out},
    )  # fmt: skip


def _plain(
    kind: str,
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    keepdims: Any = False,
    initial: Any = None,
    where: Any = True,
) -> Any:
    array = array_of(a, where, out)
    trace = array.trace
    ufunc = _UFUNCS[kind]
    if dtype is not None:
        result = np.dtype(dtype)
    elif kind in ("any", "all"):
        result = _BOOL
    else:
        describe(array.dtype)  # raises for what no kernel takes; totals of objects have no dtype
        try:
            result = ufunc.reduce(np.zeros(1, array.dtype)).dtype
        except TypeError:
            raise wrong_type(f"'{kind}' cannot be computed for '{array.dtype}'.") from None
    where = known_truth(where)
    if where is not True:
        if kind not in _NEUTRAL and initial is None:
            raise wrong_value(f"'where=' of '{kind}' needs 'initial='.")
        neutral: Any = _NEUTRAL.get(kind)
        if neutral is None:
            neutral = new_array(trace, _initial(trace, initial, array.dtype))
        mask = mask_of(trace, where).broadcast_to(array.extents)
        array = _choose(mask, array, neutral, array.dtype)
    node = _reduction(kind, array, axis, keepdims, result, result, initial is not None)
    if initial is not None:
        first = new_array(trace, _initial(trace, initial, result))
        node = apply_ufunc(trace, ufunc, [new_array(trace, node), first])[0]
    return finished(array, node, out)


def _initial(trace: Trace, initial: Any, dtype: np.dtype[Any]) -> Node:
    """What a reduction begins with, as its dtype holds it."""
    operand = as_operand(trace, initial)
    if isinstance(operand, LazyArray):
        if operand.ndim:
            raise wrong_value("'initial' must be a number, or an array without dimensions.")
        return trace.cast(operand.node, dtype)
    given = np.asarray(operand.value).dtype
    if given.kind == "c" and dtype.kind != "c":
        raise wrong_type("'initial' of real numbers cannot be complex.")
    if dtype.kind in "iub":
        return trace.element(operand, dtype)
    return trace.scalar(operand, dtype, given)


def _choose(where: Any, array: LazyArray, other: Any, dtype: np.dtype[Any]) -> LazyArray:
    trace = array.trace
    condition = trace.cast(as_array(trace, where).node, _BOOL)
    value = node_of(trace, as_operand(trace, other), dtype)
    return new_array(
        trace, trace.apply(np.where, [condition, trace.cast(array.node, dtype), value], dtype)
    )


def _arg(kind: str, a: Any, axis: Any = None, out: Any = None, *, keepdims: Any = False) -> Any:
    array = array_of(a)
    if isinstance(axis, tuple | list):
        raise wrong_type(f"'axis' of '{kind}' must be an integer.")
    if out is not None and not np.can_cast(out.dtype, _INDEX, "safe"):
        raise wrong_type(f"'out' of '{kind}' must hold indices, not '{out.dtype}'.")
    given = array.astype(np.uint8) if array.dtype == np.bool_ else array  # whose loop is of vectors
    return finished(array, _reduction(kind, given, axis, keepdims, None, _INDEX), out)


def _mean_dtypes(array: LazyArray, dtype: Any) -> tuple[np.dtype[Any], np.dtype[Any]]:
    """What a mean is computed in, and its dtype."""
    if dtype is not None:
        result = np.dtype(dtype)
        return result, result
    if array.dtype.kind in "biu":
        return np.dtype(np.float64), np.dtype(np.float64)
    if array.dtype == np.float16 or array.dtype.name == "bfloat16":
        return np.dtype(np.float32), array.dtype
    return array.dtype, array.dtype


class _Selection(NamedTuple):
    """Which elements a mean is of: their axes, and a mask of them."""

    axes: tuple[int, ...]
    mask: LazyArray | None

    @classmethod
    def of(cls, array: LazyArray, axis: Any, where: Any) -> _Selection:
        """The elements along some axes, where a condition holds."""
        axes = array.axes(axis)
        where = known_truth(where)
        if where is True:
            return cls(axes, None)
        return cls(axes, mask_of(array.trace, where).broadcast_to(array.extents))

    def total(self, trace: Trace, node: Node) -> Node:
        """The sum of these elements."""
        if self.mask is not None:
            zero = trace.scalar(constant(0), node.dtype)
            node = trace.apply(np.where, [self.mask.node, node, zero], node.dtype)
        return _reduced(trace, "sum", node, self.axes, node.dtype)

    def divided(self, array: LazyArray, total: Node, less: Symbol | None = None) -> Node:
        """A total by the number of elements, less some degrees of freedom."""
        trace, kind = array.trace, total.dtype
        if self.mask is None:
            count = _count(array.extents, self.axes)
            number = applied(float, count) if less is None else applied(_degrees, count, less)
            return trace.apply(np.true_divide, [total, trace.scalar(number, kind)], kind)
        found = _reduced(trace, "sum", trace.cast(self.mask.node, _INDEX), self.axes, _INDEX)
        wide = np.result_type(kind, _INDEX)
        found = trace.cast(found, np.zeros((), wide).real.dtype)
        if less is not None:
            given = trace.scalar(less, found.dtype, np.asarray(less.value).dtype)
            found = trace.apply(np.subtract, [found, given], found.dtype)
            zero = trace.scalar(constant(0), found.dtype)
            found = trace.apply(np.maximum, [found, zero], found.dtype)
        ratio = trace.apply(
            np.true_divide, [trace.cast(total, wide), trace.cast(found, wide)], wide
        )
        return trace.cast(ratio, kind)


def _mean_node(array: LazyArray, chosen: _Selection, compute: np.dtype[Any]) -> Node:
    trace = array.trace
    return chosen.divided(array, chosen.total(trace, trace.cast(array.node, compute)))


def _mean(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    keepdims: Any = False,
    *,
    where: Any = True,
) -> Any:
    array = array_of(a)
    chosen = _Selection.of(array, axis, where)
    compute, result = _mean_dtypes(array, dtype)
    node = array.trace.cast(_mean_node(array, chosen, compute), result)
    return finished(array, _kept(node, chosen.axes, bool(keepdims)), out)


def _variance(array: LazyArray, chosen: _Selection, compute: np.dtype[Any], ddof: Any) -> Node:
    trace = array.trace
    mean = _mean_node(array, chosen, compute)
    if array.dtype.kind == "c" and compute.kind != "c":
        raise unsupported("The variance of complex numbers in a dtype of real ones is not fused.",
                          "leave 'dtype' out.")  # fmt: skip
    wide = result_dtype(array.dtype, compute)  # only totals are of a smaller dtype that is given
    if wide.kind == "b":
        raise wrong_type("A variance cannot be computed in 'bool'.", "leave 'dtype' out.")
    nodes = [trace.cast(array.node, wide), trace.cast(mean, wide)]
    apart = trace.apply(np.subtract, nodes, wide)
    real = wide
    if wide.kind == "c":
        real = np.zeros((), wide).real.dtype
        parts = [trace.apply(part, [apart], real) for part in (np.real, np.imag)]
        squares = [trace.apply(np.square, [part], real) for part in parts]
        square = trace.apply(np.add, squares, real)
    else:
        square = trace.apply(np.multiply, [apart, apart], real)
    real = np.zeros((), compute).real.dtype
    total = chosen.total(trace, trace.cast(square, real))
    symbol = symbol_of(ddof)
    if symbol is None:
        raise wrong_type("'ddof' must be a number.")
    return chosen.divided(array, total, symbol)


def _degrees(count: int, ddof: float) -> float:
    return float(max(count - ddof, 0))


def _spread(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    ddof: Any = 0,
    keepdims: Any = False,
    *,
    where: Any = True,
    correction: Any = None,
    root: bool,
) -> Any:
    array = array_of(a)
    chosen = _Selection.of(array, axis, where)
    compute, result = _mean_dtypes(array, dtype)
    node = _variance(array, chosen, compute, ddof if correction is None else correction)
    if result.kind == "c" and dtype is None:
        result = node.dtype
    trace = array.trace
    is_array = bool(array.ndim and keepdims) or len(chosen.axes) < array.ndim
    if root and is_array and result.kind not in "fc" and result.name != "bfloat16":
        raise wrong_type(
            f"'std' of dtype '{result}' cannot be an array: its square root is no integer.",
            "leave 'dtype' out, and convert the result.",
        )
    if (root and result == compute) or result.kind == "c":
        node = trace.apply(np.sqrt, [node], node.dtype) if root else node
        root = False
    node = trace.cast(node, result)
    if root and node.dtype != compute:
        node = apply_ufunc(trace, np.sqrt, [new_array(trace, node)])[0]
    elif root:
        node = trace.apply(np.sqrt, [node], node.dtype)
    return finished(array, _kept(node, chosen.axes, bool(keepdims)), out)


def _count_nonzero(a: Any, axis: Any = None, *, keepdims: Any = False) -> Any:
    array = array_of(a)
    truth = new_array(array.trace, array.trace.cast(array.node, _BOOL))
    return _plain("sum", truth, axis, _INDEX, None, keepdims)


def _skipping(kind: str) -> Callable[..., Any]:
    """A reduction that leaves NaN out."""

    def reduce(a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = False,
               ) -> Any:  # fmt: skip
        array = array_of(a)
        if array.dtype.kind in "fc":
            is_nan = np.isnan(array)
            array = _choose(np.logical_not(is_nan), array, _NEUTRAL[kind], array.dtype)
        return _plain(kind, array, axis, dtype, out, keepdims)

    return reduce


# -- functions of elements -----------------------------------------------------------------------


def _where(condition: Any, x: Any = None, y: Any = None) -> Any:
    if x is None or y is None:
        raise unsupported(
            "'np.where' with one argument is not fused: its result's size depends on values.",
            "write 'np.where(condition, x, y)'.",
        )
    trace = trace_of(condition, x, y)
    mask = as_operand(trace, condition)
    operands = [as_operand(trace, value) for value in (x, y)]
    dtype = promoted(operands)
    nodes = []
    for operand in operands:
        if isinstance(operand, LazyArray) or type(operand.value) is not int or not _where_wraps():
            nodes.append(node_of(trace, operand, dtype))
        else:
            nodes.append(trace.cast(trace.element(operand, _INDEX), dtype))
    truth = (
        trace.cast(as_array(trace, condition).node, _BOOL)
        if isinstance(mask, LazyArray)
        else (trace.scalar(applied(bool, mask), _BOOL))
    )
    return no_scalar(new_array(trace, trace.apply(np.where, [truth, *nodes], dtype)))


@functools.cache
def _where_wraps() -> bool:
    """Whether this NumPy lets Python's integers wrap around, where ufuncs refuse them, and `where`
    since NumPy 2.5.
    """
    try:
        np.where(np.ones(1, bool), np.zeros(1, np.uint8), 300)
    except OverflowError:
        return False
    return True


def _clip(
    a: Any, a_min: Any = None, a_max: Any = None, out: Any = None, *, min: Any = None,
    max: Any = None, dtype: Any = None,
) -> Any:  # fmt: skip
    low = a_min if min is None else min
    high = a_max if max is None else max
    trace = trace_of(a, low, high, out)
    kind = as_array(trace, a).dtype
    if kind.kind in "iu":  # Python's integers that it does not hold are no bounds
        limits = np.iinfo(kind)
        low = None if _is_python_integer(trace, low, operator.le, limits.min) else low
        high = None if _is_python_integer(trace, high, operator.ge, limits.max) else high
    options: dict[str, Any] = {} if dtype is None else {"dtype": dtype}
    if out is not None:
        options["out"] = out
    if low is None and high is None:
        return np.positive(a, **options)
    if low is None:
        return np.minimum(a, high, **options)
    if high is None:
        return np.maximum(a, low, **options)
    return np._core.umath.clip(a, low, high, **options)  # type: ignore[attr-defined]


def _is_python_integer(trace: Trace, value: Any, compare: Any, limit: int) -> bool:
    symbol = symbol_of(value)
    return (
        symbol is not None
        and type(symbol.value) is int
        and bool(trace.guards.decide(compare, symbol, constant(limit)))
    )


def _round(a: Any, decimals: Any = 0, out: Any = None) -> Any:
    trace = trace_of(a)
    array = as_array(trace, a)
    digits = operator.index(decimals)
    if abs(digits) >= 2**31:
        raise at_line(ScalarOverflowError, f"{digits} is too large for a number of digits.")
    node = array.node
    if node.dtype.kind == "c":
        raise unsupported("Complex numbers are not rounded in a fused function.")
    if node.dtype.kind == "b" and digits != 0:
        raise wrong_type("Bools are not rounded to digits.", "convert them: 'x.astype(float)'.")
    if node.dtype.kind == "b":
        node = trace.cast(node, np.dtype(np.float16))
    if not (node.dtype.kind in "iu" and digits >= 0):
        if digits == 0:
            node = trace.apply(np.rint, [node], node.dtype)
        elif node.dtype.kind in "iu":
            raise unsupported("Integers are not rounded to tens in a fused function.")
        else:
            power = 10.0 ** abs(digits) if abs(digits) <= 308 else np.inf  # as C's 'pow'
            factor = trace.scalar(constant(power), node.dtype)
            order: tuple[Any, Any] = (np.multiply, np.true_divide)
            first, last = order if digits > 0 else order[::-1]
            node = trace.apply(first, [node, factor], node.dtype)
            node = trace.apply(np.rint, [node], node.dtype)
            node = trace.apply(last, [node, factor], node.dtype)
            trace.layouts.ask(node, "A", array.node)  # as NumPy, which has another way then
    return finished(array, node, out)


def _astype(a: LazyArray, dtype: Any, order: Any = "K", casting: str = "unsafe",
            subok: Any = True, copy: Any = True) -> Any:  # fmt: skip
    wanted = np.dtype(dtype)
    if not np.can_cast(a.dtype, wanted, casting):  # type: ignore[arg-type]
        raise wrong_type(f"Cannot cast from '{a.dtype}' to '{wanted}' by the rule '{casting}'.")
    if not copy and a.dtype == wanted and order == "K":
        return a
    return _copied(a, a.trace.cast(a.node, wanted), order)


def _copy(a: Any, order: Any = "K", subok: Any = False) -> Any:
    array = array_of(a)
    return _copied(array, array.node, order)


def _copied(array: LazyArray, node: Node, order: Any) -> LazyArray:
    """An array of its own, also where nothing has to be computed."""
    node = Cast(node.dtype, node.shape, node)
    array.trace.layouts.ask(node, order, array.node)
    made = new_array(array.trace, node)
    made.storage.is_scalar = array.is_scalar
    return made


def _part(name: str) -> Callable[[Any], Any]:
    function = getattr(np, name)

    def part(val: Any) -> Any:
        array = array_of(val)
        trace = array.trace
        if array.dtype.kind != "c":
            if name == "real":
                return array
            zeros = _full(trace, array.extents, 0, array.dtype)
            trace.layouts.ask(zeros.node, "A", array.node)
            return zeros
        kind = np.zeros((), array.dtype).real.dtype
        return LazyArray(trace, PartStorage(array, function, kind))

    return part


def _angle(z: Any, deg: bool = False) -> Any:
    array = array_of(z)
    trace = array.trace
    kind = np.angle(np.zeros(1, array.dtype)).dtype
    node = array.node if array.dtype.kind == "c" else trace.cast(array.node, kind)
    found = new_array(trace, trace.apply(np.angle, [node], kind))
    return found * (180 / np.pi) if deg else found


def _of_floats(function: Any) -> Callable[[Any], Any]:
    def found(x: Any) -> Any:
        array = array_of(x)
        node = _floats(array)
        return new_array(array.trace, array.trace.apply(function, [node], node.dtype))

    return found


def _floats(array: LazyArray) -> Node:
    kind = array.dtype if array.dtype.kind in "fc" else np.dtype(np.float64)
    if array.dtype.name == "bfloat16":
        kind = np.dtype(np.float32)  # what NumPy's product by pi is
    return array.trace.cast(array.node, kind)


def _copyto(dst: Any, src: Any, casting: str = "same_kind", where: Any = True) -> None:
    if not isinstance(dst, LazyArray):
        raise wrong_type("'copyto' writes to an array.")
    trace = dst.trace
    operand = as_operand(trace, src)
    is_number = not isinstance(operand, LazyArray) and type(operand.value) in (int, float, complex)
    weak = is_number and casting != "equiv"  # which NumPy takes for the number's own dtype
    node = node_of(trace, operand, promoted([dst, operand])) if weak else as_array(trace, src).node
    node = without_leading_ones(trace, node, dst.ndim)
    into(dst, new_array(trace, node), where, casting)


# -- views and new arrays ------------------------------------------------------------------------


def _conjugate(a: LazyArray) -> Any:
    return np.conjugate(a) if a.dtype.kind == "c" else a


def _array_method(name: str) -> Callable[..., Any]:
    return lambda a, *args, **kwargs: getattr(array_of(a), name)(*args, **kwargs)


def _transpose(a: Any, axes: Any = None) -> Any:
    return array_of(a).transpose(axes)


def _expand_dims(a: Any, axis: Any) -> Any:
    array = array_of(a)
    given = tuple(axis) if isinstance(axis, tuple | list) else (axis,)
    ndim = array.ndim + len(given)
    places = {operator.index(k) % ndim for k in given}
    items = tuple(None if k in places else slice(None) for k in range(ndim))
    return array[items]


def shape_from(shape: Any) -> Shape:
    """A shape that the user gives: numbers, some of which only calls know."""
    extents = shape if isinstance(shape, tuple | list) else (shape,)
    found = []
    for extent in extents:
        symbol = symbol_of(extent)
        is_integer = symbol is not None and isinstance(symbol.value, int | np.integer)
        if symbol is None or not is_integer or isinstance(symbol.value, bool):
            raise wrong_type("A shape must be a tuple of integers.")
        found.append(constant(int(symbol.value)) if symbol.is_constant else symbol)
    return tuple(found)


def _broadcast_to(array: Any, shape: Any, subok: Any = False) -> Any:
    value = as_array(trace_of(array, *(shape if isinstance(shape, tuple) else ())), array)
    extents = shape_from(shape)
    found = value.broadcast_to(extents)
    return value.view_of(Broadcast(extents)) if found is value else found  # it is read-only


def _broadcast_arrays(*args: Any, subok: Any = False) -> Any:
    arrays = arrays_of(*args)
    shape = arrays[0].trace.broadcast(*(array.extents for array in arrays))
    return tuple(array.broadcast_to(shape) for array in arrays)


def _full(trace: Trace, shape: Shape, value: Any, dtype: np.dtype[Any]) -> LazyArray:
    operand = as_operand(trace, value)
    if isinstance(operand, LazyArray):
        node = trace.cast(operand.broadcast_to(shape).node, dtype)
        node = Cast(dtype, shape, node)  # no view of it
    else:
        node = node_of(trace, operand, dtype)
        node = View(dtype, shape, node, Broadcast(shape)) if shape else node
    made = new_array(trace, node)
    trace.layouts.ask(made.node, "K")
    return no_scalar(made)


def no_scalar(array: LazyArray) -> LazyArray:
    """What NumPy returns as an array also without dimensions."""
    array.storage.is_scalar = False
    return array


def array_of_number(trace: Trace, value: LazyNumber, dtype: Any) -> LazyArray:
    """``np.asarray`` of a number; each call refuses one that the dtype does not hold, as NumPy."""
    if dtype is None:
        return no_scalar(as_array(trace, value))
    node = trace.element(value.symbol, np.dtype(dtype), is_assigned=False)
    return no_scalar(new_array(trace, node))


def empty(trace: Trace, shape: Shape, dtype: np.dtype[Any]) -> LazyArray:
    """A new array without values."""
    return no_scalar(new_array(trace, Call(dtype, shape, "empty", ())))


def filled(trace: Trace, shape: Shape, value: Any, dtype: Any) -> LazyArray:
    """An array of a value, of its dtype if none is given."""
    if dtype is None:
        dtype = promoted([as_operand(trace, value)])
    return _full(trace, shape, value, np.dtype(dtype))


_NO_VALUE = object()  # of arrays whose elements have none


def _like(value: Any) -> Callable[..., Any]:
    def make(a: Any, dtype: Any = None, order: Any = "K", subok: Any = True, shape: Any = None,
             *, device: Any = None) -> Any:  # fmt: skip
        return _full_like(a, value, dtype, order, subok, shape)

    return make


def _full_like(a: Any, fill_value: Any, dtype: Any = None, order: Any = "K", subok: Any = True,
               shape: Any = None, *, device: Any = None) -> Any:  # fmt: skip
    trace = trace_of(a, fill_value)
    array = as_array(trace, a)
    wanted = array.dtype if dtype is None else np.dtype(dtype)
    extents = array.extents if shape is None else shape_from(shape)
    if fill_value is _NO_VALUE:
        made = empty(trace, extents, wanted)
    else:
        made = _full(trace, extents, fill_value, wanted)
    trace.layouts.ask(made.node, order, array.node)
    return made


def arange(trace: Trace, *args: Any, dtype: Any = None) -> LazyArray:
    """``np.arange``: of numbers that each call knows."""
    symbols = [symbol_of(value) for value in args]
    if not 1 <= len(symbols) <= 3 or any(symbol is None for symbol in symbols):
        raise wrong_type("'arange' takes one to three numbers.")
    known: list[Symbol] = symbols  # type: ignore[assignment]
    start, stop, step = (
        (constant(0), known[0], constant(1)) if len(known) == 1 else (*known, constant(1))[:3]
    )
    values = [symbol.value for symbol in (start, stop, step)]
    if any(isinstance(value, complex | np.complexfloating) for value in values):
        raise wrong_type("'arange' takes no complex numbers.")
    if dtype is None:
        dtype = np.result_type(np.int64, *(np.asarray(value).dtype for value in values))
    wanted = np.dtype(dtype)
    extent = applied(_arange_size, start, stop, step)
    first = trace.scalar(start, wanted, np.asarray(values[0]).dtype)
    # NumPy computes the second number, and goes on by the difference.
    apart = applied(_Difference(wanted), start, step)
    return new_array(trace, Progression(wanted, (extent,), first, trace.scalar(apart, wanted)))


class _Difference(NumberFunction):
    """How far apart the numbers of a progression are, as a dtype holds them."""

    __slots__ = ()

    def __call__(self, start: Any, step: Any) -> Any:
        kind = self.parts[0].type
        return kind(start + step) - kind(start)


def _arange_size(start: Any, stop: Any, step: Any) -> int:
    return max(0, int(np.ceil((stop - start) / step)))


_VIEWS: dict[str, Callable[..., Any]] = {
    "transpose": _transpose, "permute_dims": _transpose, "squeeze": _array_method("squeeze"),
    "swapaxes": _array_method("swapaxes"), "expand_dims": _expand_dims,
    "broadcast_to": _broadcast_to, "broadcast_arrays": _broadcast_arrays,
    "matrix_transpose": lambda x: array_of(x).mT,
}  # fmt: skip
_REDUCTIONS: dict[str, Callable[..., Any]] = {
    "sum": functools.partial(_plain, "sum"), "prod": functools.partial(_plain, "prod"),
    "min": lambda a, axis=None, out=None, **o: _plain("min", a, axis, None, out, **o),
    "max": lambda a, axis=None, out=None, **o: _plain("max", a, axis, None, out, **o),
    "any": lambda a, axis=None, out=None, **o: _plain("any", a, axis, None, out, **o),
    "all": lambda a, axis=None, out=None, **o: _plain("all", a, axis, None, out, **o),
    "argmin": functools.partial(_arg, "argmin"), "argmax": functools.partial(_arg, "argmax"),
    "mean": _mean, "var": functools.partial(_spread, root=False),
    "std": functools.partial(_spread, root=True),
}  # fmt: skip


def _result_type(*args: Any) -> np.dtype[Any]:
    trace = trace_of(*args)
    given: list[Any] = []
    for item in args:
        if isinstance(item, type | np.dtype | str):
            given.append(item)
        else:
            kind = kind_of(as_operand(trace, item))
            given.append(kind(0) if isinstance(kind, type) else kind)  # a weak number
    return result_dtype(*given)


FUNCTIONS: dict[str, Callable[..., Any]] = {
    **_VIEWS,
    **_REDUCTIONS,
    "amin": _REDUCTIONS["min"], "amax": _REDUCTIONS["max"],
    "count_nonzero": _count_nonzero, "nansum": _skipping("sum"), "nanprod": _skipping("prod"),
    "where": _where, "clip": _clip, "round": _round, "around": _round,
    "astype": lambda x, dtype, /, *, copy=True, device=None: _astype(x, dtype, copy=copy),
    "copy": _copy, "copyto": _copyto, "real": _part("real"), "imag": _part("imag"),
    "angle": _angle, "sinc": _of_floats(np.sinc), "i0": _of_floats(np.i0),
    "fix": lambda x, out=None: np.trunc(x, out=out),
    "zeros_like": _like(0), "ones_like": _like(1), "empty_like": _like(_NO_VALUE),
    "full_like": _full_like,
    "shape": lambda a: array_of(a).shape,
    "ndim": lambda a: array_of(a).ndim,
    "size": lambda a: array_of(a).size,
    "result_type": lambda *args: _result_type(*args),
    "iscomplexobj": lambda x: array_of(x).dtype.kind == "c",
    "isrealobj": lambda x: array_of(x).dtype.kind != "c",
}  # fmt: skip
METHODS: dict[str, Callable[..., Any]] = {
    **_REDUCTIONS,
    "clip": _clip, "round": _round, "astype": _astype,
    "copy": lambda a, order="C": _copy(a, order),
    "conj": _conjugate, "conjugate": _conjugate,
}  # fmt: skip

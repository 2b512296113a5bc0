"""Ufuncs and assignments of traced values: dtypes and conversions as NumPy's."""

from __future__ import annotations

import math
import operator
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from kerneltk.backends.foreign_arrays import own_array
from kerneltk.fusion.trace.graph import (
    VIEWS,
    Broadcast,
    Call,
    Cast,
    Index,
    Load,
    Node,
    Scalar,
    Slice,
    View,
)
from kerneltk.fusion.trace.lazy import Lazy, LazyArray, LazyNumber, symbol_of
from kerneltk.fusion.trace.state import (
    Storage,
    Trace,
    unsupported,
    wrong_type,
    wrong_value,
)
from kerneltk.fusion.trace.symbols import NumberFunction, Symbol, applied, constant
from kerneltk.fusion.trace.users import computes_otherwise, is_array

_COMPARISONS = frozenset(
    (np.less, np.less_equal, np.greater, np.greater_equal, np.equal, np.not_equal)
)
_CLIP: np.ufunc = np._core.umath.clip  # type: ignore[attr-defined]


# Functions of scipy.special that C has, by their names there.
_SPECIAL = {
    "erf": math.erf,
    "erfc": math.erfc,
    "gamma": math.gamma,
    "gammaln": math.lgamma,
    "loggamma": math.lgamma,
    "exp2": np.exp2,
    "expm1": np.expm1,
    "log1p": np.log1p,
    "cbrt": np.cbrt,
    "sinc": np.sinc,
    "i0": np.i0,
}


def trace_of(*values: Any) -> Trace:
    """The trace that values belong to."""
    for value in values:
        if type(value) is LazyArray or type(value) is LazyNumber:
            if value.trace.is_over:
                raise unsupported(
                    "A traced value is used after its function has ended.",
                    "return it from the function, and do not keep it elsewhere.",
                )
            return value.trace
    raise unsupported("A list of arrays is no operand of a fused function.", "give one array.")


def computed(value: Any) -> Any:
    """A value with arrays in place of those that a block has computed."""
    kind = type(value)
    if kind in (tuple, list):
        items = [computed(item) for item in value]
        if any(new is not old for new, old in zip(items, value, strict=True)):
            return kind(items)
    elif kind is not LazyArray and issubclass(kind, LazyArray):
        return object.__getattribute__(value, "_value")
    return value  # the same object, by which the next call finds its program


def as_operand(trace: Trace, value: Any) -> LazyArray | Symbol:
    """A value as an operand: an array, or a number that each call knows; raises for others."""
    if type(value) is not LazyArray:
        value = computed(value)
    if isinstance(value, LazyArray):
        if value.trace is not trace:
            raise unsupported("Values of two traces meet.", "keep them in one function or block.")
        return value
    symbol = symbol_of(value)
    if symbol is not None:
        return symbol
    if is_array(value):
        kind = type(value)
        if computes_otherwise(kind):
            raise wrong_type(
                f"An array of type '{kind.__name__}' computes otherwise than NumPy's arrays.",
                "take 'numpy.asarray(x)' of it outside of the function.",
            )
        array = own_array(value)[1]
        if isinstance(array, np.ndarray) and not trace.reads.is_named(value):
            number = symbol_of(array[()])
            if number is not None:  # of an array without dimensions, which no name has
                return number
        if trace.block is None and not isinstance(array, trace.array_type):
            raise wrong_type(
                f"An array of NumPy and one of CuPy are operands of one function; this is a "
                f"'{kind.__module__.partition('.')[0]}' array.",
                "make it by 'cupy.asarray', or pass it as an argument of the same library.",
            )
        return LazyArray(trace, trace.capture(array, value))
    if isinstance(value, list | tuple | range):
        if trace.array_type is np.ndarray:
            return of_list(trace, value)
        raise unsupported(
            "A list of numbers is no operand of a fused function.",
            "make an array of it outside of the function.",
        )
    if isinstance(value, Lazy):
        value.refuse()  # type: ignore[attr-defined]
    raise wrong_type(f"An object of type '{type(value).__name__}' is no operand.")


def as_array(trace: Trace, value: Any) -> LazyArray:
    """A value as an array: a number is one without dimensions."""
    operand = as_operand(trace, value)
    if isinstance(operand, LazyArray):
        return operand
    dtype = np.asarray(operand.value).dtype
    return LazyArray(trace, Storage(trace.scalar(operand, dtype)))


def arrays_of(*values: Any) -> list[LazyArray]:
    """Values of one trace as arrays."""
    trace = trace_of(*values)
    return [as_array(trace, value) for value in values]


def array_of(value: Any, *others: Any) -> LazyArray:
    """A value as an array of the trace that it or one of others belongs to."""
    return as_array(trace_of(value, *others), value)


def of_list(trace: Trace, value: Any, dtype: Any = None) -> LazyArray:
    """A list of values as an array of the arguments' library; `dtype` is for one of constants."""
    if has_lazy(value):
        stack: Any = np.stack
        return stack([of_list(trace, item) for item in value])  # type: ignore[no-any-return]
    if not isinstance(value, tuple | list | range):
        return as_array(trace, value)
    library = sys.modules[trace.array_type.__module__.partition(".")[0]]
    try:
        return as_array(trace, library.asarray(np.asarray(value, dtype)))
    except ValueError:
        raise wrong_value("The lists of an array have different lengths.") from None


def has_lazy(value: Any) -> bool:
    """Whether there are traced values in a list, or in lists of one."""
    return isinstance(value, tuple | list) and any(
        isinstance(item, Lazy) or has_lazy(item) for item in value
    )


def kind_of(operand: LazyArray | Symbol) -> Any:
    """What an operand is for NumPy's promotion: a dtype, or one of Python's number types."""
    if isinstance(operand, LazyArray):
        return operand.dtype
    value = operand.value
    if type(value) in (int, float, complex):
        return type(value)
    return np.asarray(value).dtype


def promoted(operands: Sequence[LazyArray | Symbol]) -> np.dtype[Any]:
    """The dtype that operands meet in, as `numpy.result_type` has it."""
    given = []
    for operand in operands:
        kind = kind_of(operand)
        given.append(kind(0) if isinstance(kind, type) else kind)
    return result_dtype(*given)


def result_dtype(*kinds: Any) -> np.dtype[Any]:
    """`numpy.result_type`; raises at the user's line for dtypes that do not go together."""
    try:
        return np.result_type(*kinds)
    except TypeError:
        names = [str(k) if isinstance(k, np.dtype) else type(k).__name__ for k in kinds]
        raise wrong_type(
            f"The dtypes {' and '.join(map(repr, names))} have no common dtype.",
            "convert one of them: 'x.astype(dtype)'.",
        ) from None


def node_of(trace: Trace, operand: LazyArray | Symbol, dtype: np.dtype[Any]) -> Node:
    """An operand as a value of a dtype."""
    if isinstance(operand, LazyArray):
        return trace.cast(operand.node, dtype)
    value = operand.value
    given = None if type(value) in (int, float, complex) else np.asarray(value).dtype
    return trace.scalar(operand, dtype, given)


def new_array(trace: Trace, node: Node) -> LazyArray:
    """A value that nothing else shares."""
    return LazyArray(trace, Storage(node))


# -- ufuncs ---------------------------------------------------------------------------------------


def function_key(ufunc: np.ufunc) -> Any:
    """The function that kernels call for one of NumPy's or SciPy's; None if they have none. Kernels
    have a rule for each of NumPy's ufuncs of elements.
    """
    if ufunc is _CLIP:
        return np.clip
    name = ufunc.__name__
    if is_special(ufunc, name):
        return _SPECIAL.get(name)
    is_numpys = ufunc.signature is None and getattr(np, name, None) is ufunc
    return ufunc if is_numpys and ufunc is not np.isnat else None


def is_special(function: Any, name: str) -> bool:
    """Whether a function is the one of scipy.special that has this name."""
    return any(
        getattr(sys.modules.get(module), name, None) is function
        for module in ("scipy.special", "cupyx.scipy.special")
    )


def _is_bfloat16(kind: np.dtype[Any] | type) -> bool:
    """Whether this is the dtype; names take long to ask NumPy for, and its own have others."""
    return isinstance(kind, np.dtype) and kind.isbuiltin == 2 and kind.name == "bfloat16"


def resolved_loop(
    ufunc: np.ufunc,
    operands: Sequence[np.dtype[Any] | type],
    dtype: np.dtype[Any] | None,
    casting: str,
) -> tuple[tuple[np.dtype[Any], ...], tuple[np.dtype[Any], ...]]:
    """The dtypes that a ufunc is computed in, and those of its results. Raises TypeError as NumPy.

    `operands` are dtypes, or Python's number types.
    """
    outputs = (None,) * ufunc.nout
    options: dict[str, Any] = {"casting": casting}
    if dtype is not None:
        options["signature"] = (*(None for _ in range(ufunc.nin)), *(dtype for _ in outputs))
    small = next((o for o in operands if _is_bfloat16(o)), None)
    if small is not None and ufunc is not np.ldexp:
        # Beside NumPy's dtypes alone, it does not ask for weak promotion.
        operands = [small if o is int else o for o in operands]
    found = ufunc.resolve_dtypes((*operands, *outputs), **options)
    return tuple(found[: ufunc.nin]), tuple(found[ufunc.nin :])


def call_ufunc(
    ufunc: np.ufunc, method: str, inputs: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """A call of a ufunc with traced values."""
    if method != "__call__":
        raise unsupported(f"'np.{ufunc.__name__}.{method}' is not fused.")
    options = dict(kwargs)
    out = options.pop("out", None)
    where = options.pop("where", True)
    dtype = options.pop("dtype", None)
    casting = options.pop("casting", "same_kind")
    order = options.pop("order", "K")
    options.pop("subok", None)
    if options:
        raise unsupported(f"'{next(iter(options))}' of 'np.{ufunc.__name__}' is not fused.")
    outputs = out if isinstance(out, tuple) else (out,) * (out is not None)
    trace = trace_of(*inputs, *outputs)
    operands = [as_operand(trace, value) for value in inputs]
    if all(isinstance(operand, tuple) for operand in operands) and not outputs:
        return _of_numbers(trace, ufunc, operands, dtype)  # type: ignore[arg-type]
    found = apply_ufunc(trace, ufunc, operands, dtype, casting)
    if order in ("C", "F"):
        for node in found:
            trace.layouts.ask(node, order)
    elif order not in ("K", None):
        raise unsupported(f"The order '{order}' of a result is not fused.", "leave it out.")
    results = tuple(new_array(trace, node) for node in found)
    if outputs:
        _check_apart(outputs)
        results = tuple(
            made if given is None else into(given, made, where, casting)
            for given, made in zip(outputs, results, strict=True)
        )
    elif where is not True:
        raise unsupported("'where=' needs 'out='.", "write 'np.where(condition, x, y)'.")
    return results if len(results) > 1 else results[0]


def _check_apart(outputs: tuple[Any, ...]) -> None:
    """Refuse several results in the same elements: NumPy leaves open which of them stays there."""
    given = [(id(o.storage), o.steps) for o in outputs if isinstance(o, LazyArray)]
    if len(set(given)) < len(given):
        raise unsupported(
            "Two results of a function are written to the same elements.",
            "give an array for each result.",
        )


def _of_numbers(
    trace: Trace, ufunc: np.ufunc, operands: list[Symbol], dtype: Any
) -> LazyNumber | tuple[LazyNumber, ...]:
    """A ufunc of numbers, which each call computes by itself."""
    function: Any = ufunc if dtype is None else _WithDtype(ufunc, np.dtype(dtype))
    if ufunc.nout == 1:
        return LazyNumber(trace, applied(function, *operands))
    return tuple(
        LazyNumber(trace, applied(_Part(function, part), *operands)) for part in range(ufunc.nout)
    )


class _WithDtype(NumberFunction):
    """A ufunc that is computed in a dtype."""

    __slots__ = ()

    def __call__(self, *values: Any) -> Any:
        function, dtype = self.parts
        return function(*values, dtype=dtype)


class _Part(NumberFunction):
    """One of the results of a ufunc."""

    __slots__ = ()

    def __call__(self, *values: Any) -> Any:
        function, part = self.parts
        return function(*values)[part]


def apply_ufunc(
    trace: Trace,
    ufunc: np.ufunc,
    operands: Sequence[LazyArray | Symbol],
    dtype: Any = None,
    casting: str = "same_kind",
) -> tuple[Node, ...]:
    """The results of a ufunc of operands."""
    found = _beyond(trace, ufunc, operands)
    if found is not None:
        return (found,)
    name = ufunc.__name__
    composed = _COMPOSED.get(name) if is_special(ufunc, name) else None
    key = function_key(ufunc)
    try:
        before, after = resolved_loop(
            ufunc,
            [kind_of(operand) for operand in operands],
            None if dtype is None else np.dtype(dtype),
            casting,
        )
    except TypeError:
        kinds = (kind_of(operand) for operand in operands)
        names = [kind.__name__ if isinstance(kind, type) else str(kind) for kind in kinds]
        raise wrong_type(
            f"'{ufunc.__name__}' cannot be computed for {' and '.join(map(repr, names))}.",
            "convert one of them: 'x.astype(dtype)'." if len(names) > 1 else "",
        ) from None
    nodes = [node_of(trace, o, d) for o, d in zip(operands, before, strict=True)]
    if key is None and composed is not None:
        return (composed(*(new_array(trace, node) for node in nodes)).node,)
    if key is None:
        raise unsupported(
            f"'{ufunc.__name__}' is not fused.",
            "compute it outside of the function, and pass the result.",
        )
    _check_power(trace, key, operands, nodes)
    if key in _DIVISIONS and before[0].kind in "iu" and not _is_nonzero(nodes[1]):
        return tuple(_divided(trace, key, nodes, kind, part) for part, kind in enumerate(after))
    results = tuple(trace.apply(key, nodes, kind, part) for part, kind in enumerate(after))
    if key is np.power and isinstance(nodes[1], Scalar) and before[0].kind == "f":
        return (_or_root(trace, nodes, results[0]),)
    return results


def _or_root(trace: Trace, nodes: Sequence[Node], power: Node) -> Node:
    """A power, which is a square root where the exponent is a half, as NumPy's."""
    exponent = nodes[1]
    assert isinstance(exponent, Scalar)
    if exponent.symbol.is_constant and exponent.symbol.value != 0.5:
        return power
    root = trace.apply(np.sqrt, [nodes[0]], power.dtype)
    if exponent.symbol.is_constant:
        return root
    half = trace.scalar(constant(0.5), exponent.dtype)
    is_root = trace.apply(np.equal, [exponent, half], np.dtype(bool))
    return trace.apply(np.where, [is_root, root, power], power.dtype)


_DIVISIONS = (np.floor_divide, np.remainder, np.fmod, np.divmod)


def _is_nonzero(node: Node) -> bool:
    return isinstance(node, Scalar) and node.symbol.is_constant and bool(node.symbol.value)


def _divided(
    trace: Trace, function: Any, nodes: Sequence[Node], dtype: np.dtype[Any], part: int
) -> Node:
    """A division of integers: by zero it is zero, as NumPy's, and no machine's."""
    x, y = nodes
    zero, one = (trace.scalar(constant(k), y.dtype) for k in (0, 1))
    is_zero = trace.apply(np.equal, [y, zero], np.dtype(bool))
    divisor = trace.apply(np.where, [is_zero, one, y], y.dtype)
    found = trace.apply(function, [x, divisor], dtype, part)
    nothing = trace.scalar(constant(0), dtype)
    return trace.apply(np.where, [is_zero, nothing, found], dtype)


def _check_power(
    trace: Trace, key: Any, operands: Sequence[LazyArray | Symbol], nodes: Sequence[Node]
) -> None:
    """Refuse an integer to a negative number, as NumPy."""
    if key is not np.power or nodes[0].dtype.kind not in "iu":
        return
    exponent = operands[1]
    if not isinstance(exponent, LazyArray) and trace.guards.decide(is_negative, exponent):
        raise wrong_value(
            "Integers to negative integer powers are not allowed.",
            "convert the base: 'x.astype(float)'.",
        )


def is_negative(value: Any) -> bool:
    """Whether a number is below zero."""
    return bool(value < 0)


def _beyond(trace: Trace, ufunc: np.ufunc, operands: Sequence[LazyArray | Symbol]) -> Node | None:
    """A comparison with one of Python's integers that the other operand's dtype does not hold."""
    if ufunc not in _COMPARISONS or len(operands) != 2:
        return None
    for k in (0, 1):
        number, other = operands[k], operands[1 - k]
        if isinstance(number, LazyArray) or not isinstance(other, LazyArray):
            continue
        if type(number.value) is not int or other.dtype.kind not in "iu":
            continue
        limits = np.iinfo(other.dtype)
        side = trace.guards.decide(_Side(int(limits.min), int(limits.max)), number)
        if side == 0:
            continue
        # As if the array held zeros, of which the number lies on that side.
        value = ufunc(0, side) if k == 1 else ufunc(side, 0)
        truth = Scalar(np.dtype(bool), (), constant(bool(value)))
        found = View(truth.dtype, other.extents, truth, Broadcast(other.extents))
        trace.layouts.ask(found, "K", other.node)
        return found
    return None


class _Side(NumberFunction):
    """On which side of a dtype's numbers, from the least to the largest, an integer lies."""

    __slots__ = ()

    def __call__(self, value: int) -> int:
        least, most = self.parts
        return int(value > most) - int(value < least)


def _by_log(x: Any, y: Any, log: Any) -> Any:
    """``x * log``, and zero where `x` is, also where the logarithm of `y` is infinite."""
    return np.where(np.logical_and(x == 0, np.logical_not(np.isnan(y))), 0, x * log)


_COMPOSED: dict[str, Any] = {
    "expit": lambda x: 1 / (1 + np.exp(-x)),
    "xlogy": lambda x, y: _by_log(x, y, np.log(y)),
    "xlog1py": lambda x, y: _by_log(x, y, np.log1p(y)),
}


# -- assignments -----------------------------------------------------------------------------------


def into(target: Any, made: LazyArray, where: Any, casting: str) -> LazyArray:
    """Write a result to where the user wants it."""
    if not isinstance(target, LazyArray):
        raise unsupported(
            "'out=' is an array from outside of the fused function.",
            "pass it as an argument, or return the result.",
        )
    if target.is_scalar:
        raise wrong_type(
            "'out=' must be an array, and not what NumPy has as a number.",
            "write 't = ...' for a new value.",
        )
    if not np.can_cast(made.dtype, target.dtype, casting):  # type: ignore[arg-type]
        raise wrong_type(
            f"A result of dtype '{made.dtype}' cannot be written to an array of dtype "
            f"'{target.dtype}' by the rule '{casting}'.",
            "convert it: 'x[...] = y.astype(x.dtype)'.",
        )
    trace = target.trace
    where = known_truth(where)
    if where is not True:
        nodes = [mask_of(trace, where).node, trace.cast(made.node, target.dtype), target.node]
        value = trace.apply(np.where, nodes, target.dtype)
        made = new_array(trace, value)
    write(target, made.node)
    return target


def known_truth(where: Any) -> Any:
    """A bool of Python's that each call computes, as the one that it is; anything else as it is."""
    if isinstance(where, LazyNumber) and type(where.symbol.value) is bool:
        return bool(where)
    return where


def mask_of(trace: Trace, where: Any) -> LazyArray:
    """What 'where=' is: bools, as in NumPy."""
    mask = as_array(trace, where)
    if mask.dtype != np.dtype(bool):
        raise wrong_type(
            f"'where=' must be an array of bools, not of '{mask.dtype}'.",
            "compare it: 'where=mask != 0'.",
        )
    return mask


def write(target: LazyArray, node: Node) -> None:
    """Have an array, or a view of one, hold a value."""
    trace = target.trace
    target.storage.check_writable()
    if any(isinstance(step, Broadcast) for step in target.steps):
        raise wrong_value("An array that was broadcast is read-only.")
    node = trace.cast(node, target.dtype)
    shape = target.extents
    if trace.guards.conditions:
        # A kernel would broadcast the target too, where NumPy raises.
        trace.guards.only_broadcast = False
    if len(node.shape) > len(shape) or not trace.same_shape(
        trace.broadcast(node.shape, shape), shape
    ):
        raise wrong_value(
            f"A value of shape {tuple(e.value for e in node.shape)} cannot be written to one of "
            f"shape {tuple(e.value for e in shape)}."
        )
    if any(extent.value == 0 and trace.guards.decide(operator.not_, extent) for extent in shape):
        return  # no element
    storage = target.storage
    storage.writes += 1
    array = storage.array
    if array is not None and trace.sources[array].captured is not None:
        raise unsupported(
            "An array from outside of the fused function is written to.",
            "pass it as an argument.",
        )
    if target.steps or (isinstance(node, Call) and node.function == "put"):
        trace.store_part(storage, target.steps, node)
        return
    if len(node.shape) != len(shape) or any(
        a.expression != b.expression for a, b in zip(node.shape, shape, strict=True)
    ):
        node = View(node.dtype, shape, node, Broadcast(shape))
    is_view = isinstance(node, Load | View) or (isinstance(node, Call) and node.function in VIEWS)
    if is_view and (array is None or trace.sources[array].is_local):
        node = Cast(node.dtype, shape, node)  # no view of what it was assigned from
    storage.node = trace.layouts.keep(node, storage.node)
    storage.is_taken = True


def assign(target: LazyArray, value: Any) -> None:
    """``target[...] = value``: converted as NumPy assigns, that is to any dtype."""
    if (
        isinstance(value, LazyArray)
        and value.storage is target.storage
        and (value.steps == target.steps)
    ):
        return  # what '+=' of a view leaves to do
    node = assigned_node(target, value)
    write(target, without_leading_ones(target.trace, node, target.ndim))


def assigned_node(target: LazyArray, value: Any) -> Node:
    """A value as elements of an array that it is assigned to."""
    trace = trace_of(target)
    operand = as_operand(trace, value)
    if not isinstance(operand, LazyArray):
        kind = kind_of(operand)
        given = kind(0) if isinstance(kind, type) else np.zeros((), kind)
        if np.asarray(given).dtype.kind == "c" and target.dtype.kind != "c":
            raise wrong_type("A complex number cannot be written to an array of real numbers.")
    if not isinstance(operand, LazyArray) and target.dtype.kind in "iub":
        return trace.element(operand, target.dtype)
    return node_of(trace, operand, target.dtype)


def without_leading_ones(trace: Trace, node: Node, ndim: int) -> Node:
    """A value that is assigned, without the leading axes of one element that it has too many."""
    count = len(node.shape) - ndim
    if count <= 0 or not all(trace.is_one(extent) for extent in node.shape[:count]):
        return node  # assigned as it is, or an error
    items = (0,) * count + (Slice(None, None, None),) * ndim
    return View(node.dtype, node.shape[count:], node, Index(items))

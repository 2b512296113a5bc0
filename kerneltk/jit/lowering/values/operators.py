"""Operators on numbers and tuples: what they are computed in, and what is computed now."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from kerneltk.jit import ir
from kerneltk.jit.intrinsics.base import Static, Value, is_object
from kerneltk.jit.intrinsics.execution.iterators import METHODS as ITERATORS
from kerneltk.jit.intrinsics.python import OPERATORS
from kerneltk.jit.ir.promotion import SHIFTS, operand_type
from kerneltk.jit.ir.types import (
    BOOL,
    FLOAT64,
    PY_FLOAT,
    PY_INT,
    UINT32,
    UINT64,
    Array,
    Number,
    Type,
)
from kerneltk.jit.lowering.context import Context
from kerneltk.jit.lowering.values.classes import called, class_of, operated, special
from kerneltk.jit.lowering.values.conversion import (
    as_number,
    is_tuple,
    items_of,
    make_tuple,
    not_computed,
    static_int,
    truth_of,
    without_value,
)
from kerneltk.jit.lowering.values.description import phrase_of
from kerneltk.jit.lowering.values.evaluation import evaluate, in_order, refuse_node
from kerneltk.jit.lowering.values.numbers import cast, check_constant

BINARY: dict[type[ast.operator], str] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%",
    ast.Pow: "**", ast.LShift: "<<", ast.RShift: ">>", ast.BitAnd: "&", ast.BitOr: "|",
    ast.BitXor: "^",
}  # fmt: skip
COMPARISONS: dict[type[ast.cmpop], tuple[str, Callable[[Any, Any], Any]]] = {
    ast.Lt: ("<", operator.lt),
    ast.LtE: ("<=", operator.le),
    ast.Gt: (">", operator.gt),
    ast.GtE: (">=", operator.ge),
    ast.Eq: ("==", operator.eq),
    ast.NotEq: ("!=", operator.ne),
}
_UNARY: dict[type[ast.unaryop], Callable[[Any], Any]] = {
    ast.USub: operator.neg, ast.UAdd: operator.pos, ast.Invert: operator.invert,
}  # fmt: skip
_FUNCTIONS = {**OPERATORS, **dict(COMPARISONS.values()), "@": operator.matmul}
COMPARED = frozenset(spelling for spelling, _ in COMPARISONS.values())


def _is_scalar(value: Any) -> bool:
    """Return whether an object is a number that kernels may have."""
    is_bfloat16 = isinstance(value, np.generic) and value.dtype.name == "bfloat16"
    return is_bfloat16 or isinstance(value, bool | int | float | complex | np.number | np.bool_)


def spelling_of(low: Context, op: ast.operator, span: ir.Span, *operands: Value) -> str:
    """Return how an operator is spelled; raises for one that kernels do not have."""
    if isinstance(op, ast.MatMult) and any(class_of(value) is not None for value in operands):
        return "@"
    if type(op) not in BINARY:
        refuse_node(low, op, span)
    return BINARY[type(op)]


def binary_node(low: Context, node: ast.BinOp) -> Value:
    """Lower ``a + b``."""
    left, right = in_order(low, (node.left, node.right))
    spans = (low.span(node.left), low.span(node.right))
    op = spelling_of(low, node.op, low.span(node), left, right)
    return operate(low, op, left, right, low.span(node), spans)


def operate(
    low: Context,
    op: str,
    left: Value,
    right: Value,
    span: ir.Span,
    spans: tuple[ir.Span, ir.Span] | None = None,
    *,
    in_place: bool = False,
) -> Value:
    """Return one of Python's operators, as `binary`; in the mode of numba integers are widened."""
    if low.mode == "numba" and op != "/":
        if op in ("//", "%") and _is_exact(op, left, right):  # a short division is faster
            found = binary(low, op, left, right, span, spans, in_place=in_place)
            return _widened(low, op, (found,), span)[0]
        if op in SHIFTS:  # the count does not change the type
            (left,) = _widened(low, op, (left,), span)
        else:
            left, right = _widened(low, op, (left, right), span)
    return binary(low, op, left, right, span, spans, in_place=in_place)


def _is_exact(op: str, left: Value, right: Value) -> bool:
    """Return whether a quotient or a rest of integers needs no more bits than the left one has."""
    if isinstance(left, Static) or not isinstance(left.type, Number) or left.type.weak:
        return False
    if not left.type.is_integer:
        return False
    if isinstance(right, Static):
        is_int = type(right.value) is int
        return is_int and 0 < right.value <= int(np.iinfo(left.type.dtype).max)
    return left.type == right.type and (op == "%" or left.type.dtype.kind == "u")


def _widened(low: Context, op: str, values: tuple[Value, ...], span: ir.Span) -> tuple[Value, ...]:
    """Return the operands of an operator in 64 bits, where all are integers and one is strong.

    numba's enhancement proposal 1 makes uint64 of unsigned ones, and int64 where a signed one
    follows. Here they are uint64 only where an int64 may not hold the result of two operands, so
    that a difference keeps its sign. Beside a Python int a uint64 stays one but in differences.
    """
    kinds = [kind for value in values if (kind := _number_type(value)) is not None]
    integers = [kind for kind in kinds if kind.is_integer]
    strong = [kind for kind in integers if not kind.weak]
    if len(integers) + kinds.count(BOOL) < len(values) or not strong:
        return values
    is_unsigned = all(kind.dtype.kind == "u" for kind in strong)
    is_signed = op == "-" and len(strong) < len(values)
    is_large = UINT64 in strong and not is_signed
    is_large = is_large or (op in ("*", "**") and strong == [UINT32, UINT32])
    wide = UINT64 if is_unsigned and is_large else Number(np.dtype(np.int64))
    return tuple(_as_wide(low, value, wide, span) for value in values)


def _number_type(value: Value) -> Number | None:
    """Return the type of a number; None for a value or a constant that is none."""
    if not isinstance(value, Static):
        return value.type if isinstance(value.type, Number) else None
    if isinstance(value.value, np.generic):
        return Number(value.value.dtype) if _is_scalar(value.value) else None
    if isinstance(value.value, bool):
        return BOOL
    if not isinstance(value.value, int):  # those of floats are not asked for
        return None
    return UINT64 if value.value >= 2**63 else PY_INT


def _as_wide(low: Context, value: Value, wide: Number, span: ir.Span) -> Value:
    if isinstance(value, Static):
        is_strong = isinstance(value.value, np.integer)
        return Static(value.value.astype(wide.dtype)) if is_strong else value
    kind = value.type
    assert isinstance(kind, Number)
    return value if kind.weak or kind == BOOL else cast(low, as_number(low, value, span), wide)


def fold(
    low: Context,
    op: str,
    left: Any,
    right: Any,
    span: ir.Span,
    spans: tuple[ir.Span, ir.Span] | None = None,
) -> Static:
    """Return an operation on Python objects."""
    is_power = op == "**" and isinstance(left, int) and isinstance(right, int)
    if is_power and right > 64 and left.bit_length() * right > 4096:  # it would take long
        raise low.fail("The result of this power does not fit 64 bits.", span)
    dtyped = isinstance(left, np.generic) or isinstance(right, np.generic)
    if dtyped and _is_scalar(left) and _is_scalar(right):
        left, right = _as_computed(low, op, left, right, spans or (span, span), span)
    try:
        with np.errstate(all="ignore"):
            found = _FUNCTIONS[op](left, right)
    except Exception as error:
        raise not_computed(low, error, (left, right), span, spans) from error
    if isinstance(found, np.ndarray) and found.ndim and op in COMPARED:
        raise without_value(low, found, span)
    return Static(found)


def _within(
    low: Context, given: Value, value: ir.Expression, other: Type, span: ir.Span
) -> ir.Expression:
    """Return an operand; a Python int beyond int64 as the other one's dtype holds it."""
    if not isinstance(given, Static) or type(given.value) is not int or value.type == PY_INT:
        return value  # else it is a uint64 literal
    assert isinstance(other, Number)
    if other.is_integer and not other.weak:
        check_constant(low, given.value, other, span)
    elif other.is_floating or other.is_complex:
        return ir.Literal_(float(given.value), PY_FLOAT, span)
    return value


def _as_computed(
    low: Context, op: str, left: Any, right: Any, spans: tuple[ir.Span, ir.Span], span: ir.Span
) -> tuple[Any, Any]:
    """Return two constants, one of them of a dtype, in the type that a thread computes in."""
    by_value = low.mode != "cuda" or not (
        isinstance(left, np.generic) and isinstance(right, np.generic)
    )
    if op in COMPARED and by_value:
        return left, right
    a = as_number(low, Static(left), spans[0])
    b = as_number(low, Static(right), spans[1])
    kind = operation_type(low, op, ir.number_type(a), ir.number_type(b), span)
    x, y = cast(low, a, kind), b if op in SHIFTS else cast(low, b, kind)
    assert isinstance(x, ir.Literal_)
    assert isinstance(y, ir.Literal_)
    if op not in SHIFTS:
        return x.value, y.value
    if not isinstance(x.value, np.generic):
        return x.value, int(y.value)
    # The count does not change the type. Beyond 127 no bit is left, either.
    return x.value, x.value.dtype.type(min(int(y.value), 127))


def binary(
    low: Context,
    op: str,
    left: Value,
    right: Value,
    span: ir.Span,
    spans: tuple[ir.Span, ir.Span] | None = None,
    *,
    in_place: bool = False,
) -> Value:
    """Return an operation with Python's meaning; `spans` are those of the operands."""
    own = class_of(left)
    if is_object(left) and is_object(right) and not (in_place and own is not None):
        return fold(low, op, left.value, right.value, span, spans)
    if own is not None or class_of(right) is not None:
        found = operated(
            low, _FUNCTIONS[op].__name__.strip("_"), left, right, span, in_place=in_place
        )
        if found is not None:
            return found
        if not (is_tuple(left) or is_tuple(right)) or op not in ("+", "*"):
            raise uncomputable(low, op, left, right, span)
    if op == "+" and _is_pointer(left):  # as of the pointers that CuPy's kernels have there
        begin = called(low, ITERATORS["begin"], (left,), span)
        assert begin is not None
        return binary(low, op, begin, right, span, spans)
    if op in ("+", "*") and (is_tuple(left) or is_tuple(right)):
        return _tuple_arithmetic(low, op, left, right, span)
    first, second = spans or (span, span)
    a, b = as_number(low, left, first), as_number(low, right, second)
    if low.mode != "cuda":
        a, b = _within(low, left, a, b.type, first), _within(low, right, b, a.type, second)
    kind = operation_type(low, op, ir.number_type(a), ir.number_type(b), span)
    if op == "**":
        return _power(low, a, b, kind, span)
    if op in ("<<", ">>"):
        count = cast(low, b, PY_INT) if b.type == BOOL else b
        return ir.Binary(op, cast(low, a, kind), count, kind, span)
    return ir.Binary(op, cast(low, a, kind), cast(low, b, kind), kind, span)


def _is_pointer(value: Value) -> bool:
    """Whether a value is an array of one dimension in shared or local memory."""
    if isinstance(value, Static) or not isinstance(value.type, Array):
        return False
    return value.type.ndim == 1 and value.type.space in ("shared", "local")


def operation_type(low: Context, op: str, left: Number, right: Number, span: ir.Span) -> Number:
    """Return the type that an operation is computed in; raises where it has none."""
    if op in ("<<", ">>"):  # the count does not change the type
        left = PY_INT if left == BOOL else left  # 1 << 9 is 512, whatever the count's dtype is
        right = left if right.is_integer and left.is_integer else right
    kind = operand_type(op, left, right, low.mode)
    if kind is None:
        hint = ""
        if op in ("&", "|", "^", "<<", ">>"):
            hint = "convert with 'int(x)', or use 'and', 'or' and 'not' for conditions."
            if low.mode == "numba" and FLOAT64 in (left, right):
                hint = (
                    "convert with 'int(x)' or 'np.uint64(x)': a variable that is assigned uint64 "
                    "and signed integers is a float64."
                )
        elif {str(left), str(right)} == {"float16", "bfloat16"}:
            hint = "convert one of them with 'np.float32(x)'."
        elif op in COMPARED:  # of Python's complex numbers
            hint = "compare 'abs(z)' or the parts, or convert one with 'np.complex128(z)'."
        raise low.fail(f"'{op}' cannot be computed for '{left}' and '{right}'.", span, hint)
    return kind


def _tuple_arithmetic(low: Context, op: str, left: Value, right: Value, span: ir.Span) -> Value:
    if op == "+" and is_tuple(left) and is_tuple(right):
        return make_tuple(low, [*items_of(low, left, span), *items_of(low, right, span)], span)
    if op == "*" and not (is_tuple(left) and is_tuple(right)):
        items, times = (left, right) if is_tuple(left) else (right, left)
        count = static_int(low, times, span, "The number of repetitions")
        return make_tuple(low, items_of(low, items, span) * count, span)
    raise uncomputable(low, op, left, right, span)


def uncomputable(low: Context, op: str, left: Value, right: Value, span: ir.Span) -> Exception:
    """Return the error for an operator that two values do not have."""
    kinds = f"{phrase_of(left)} and {phrase_of(right)}"
    return low.fail(f"'{op}' cannot be computed for {kinds}.", span)


def _power(
    low: Context, base: ir.Expression, exponent: ir.Expression, kind: Number, span: ir.Span
) -> ir.Expression:
    if kind.is_integer and isinstance(exponent, ir.Literal_) and exponent.value < 0:
        if not kind.weak:
            raise low.fail(
                "Integers cannot be raised to a negative power.",
                span,
                "convert the base, for example with 'float(x)'.",
            )
        kind = PY_FLOAT
    return ir.Binary("**", cast(low, base, kind), cast(low, exponent, kind), kind, span)


def unary_node(low: Context, node: ast.UnaryOp) -> Value:
    """Lower ``-a``."""
    return unary(low, node.op, evaluate(low, node.operand), low.span(node))


def unary(low: Context, op: ast.unaryop, value: Value, span: ir.Span) -> Value:
    """Return ``-a``, ``+a``, ``~a`` or ``not a``. numba widens integers after the operation."""
    found = _unary(low, op, value, span)
    return _widened(low, "-", (found,), span)[0] if low.mode == "numba" else found


def _unary(low: Context, op: ast.unaryop, value: Value, span: ir.Span) -> Value:
    if isinstance(op, ast.Not):
        truth = truth_of(low, value, span)
        return Static(not truth.value) if isinstance(truth, Static) else ir.Not(truth, span)
    function = _UNARY[type(op)]
    if is_object(value):
        assert isinstance(value, Static)
        if isinstance(value.value, np.bool_):
            value = Static(bool(value.value))
        try:
            with np.errstate(all="ignore"):
                if isinstance(op, ast.Invert) and isinstance(value.value, bool):
                    return Static(not value.value)
                return Static(function(value.value))
        except TypeError as error:
            raise not_computed(low, error, (value.value,), span) from error
    found = special(low, value, f"__{function.__name__}__", span)
    if found is not None:
        return found
    number = as_number(low, value, span)
    kind = ir.number_type(number)
    if isinstance(op, ast.Invert):
        if kind == BOOL:
            return ir.Not(number, span)
        if not kind.is_integer:
            raise low.fail(f"'~' cannot be computed for '{kind}'.", span)
        return ir.Unary("~", number, kind, span)
    if kind == BOOL:
        number, kind = cast(low, number, PY_INT), PY_INT
    return number if isinstance(op, ast.UAdd) else ir.Unary("-", number, kind, span)

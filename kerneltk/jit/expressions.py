"""Expressions of Python's syntax tree -> typed expressions of the IR, or Python objects.

What is known when the kernel is compiled stays a Python object (`Static`) and is computed by Python
itself; everything else becomes an expression with a type.
"""

from __future__ import annotations

import ast
import builtins
import dataclasses
import operator
import types
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Never

import numpy as np

from kerneltk.dtypes import as_dtype, describe, is_supported
from kerneltk.errors import ArgumentTypeError, TypingError, UnsupportedError, render_message
from kerneltk.jit import ir
from kerneltk.jit.attributes import FIELD_VIEW, array_attribute, number_attribute
from kerneltk.jit.intrinsics.base import CallSite, Intrinsic, Static, Value
from kerneltk.jit.refusals import REFUSED_CALLS, refusal_of
from kerneltk.jit.rules import operand_type
from kerneltk.jit.types import (
    BOOL,
    PY_COMPLEX,
    PY_FLOAT,
    PY_INT,
    Array,
    Number,
    Opaque,
    Record,
    Tuple,
    Type,
    Void,
)

if TYPE_CHECKING:
    from kerneltk.jit.program import ProgramBuilder
    from kerneltk.jit.source import FunctionSource

__all__ = ["Expressions", "element_type", "type_of_annotation"]

_BINARY: dict[type[ast.operator], tuple[str, Callable[[Any, Any], Any]]] = {
    ast.Add: ("+", operator.add),
    ast.Sub: ("-", operator.sub),
    ast.Mult: ("*", operator.mul),
    ast.Div: ("/", operator.truediv),
    ast.FloorDiv: ("//", operator.floordiv),
    ast.Mod: ("%", operator.mod),
    ast.Pow: ("**", operator.pow),
    ast.LShift: ("<<", operator.lshift),
    ast.RShift: (">>", operator.rshift),
    ast.BitAnd: ("&", operator.and_),
    ast.BitOr: ("|", operator.or_),
    ast.BitXor: ("^", operator.xor),
}
_BY_SPELLING = dict(_BINARY.values())
_COMPARISONS: dict[type[ast.cmpop], tuple[str, Callable[[Any, Any], Any]]] = {
    ast.Lt: ("<", operator.lt),
    ast.LtE: ("<=", operator.le),
    ast.Gt: (">", operator.gt),
    ast.GtE: (">=", operator.ge),
    ast.Eq: ("==", operator.eq),
    ast.NotEq: ("!=", operator.ne),
}
_BY_SPELLING.update(_COMPARISONS.values())
_COMPARED = frozenset(spelling for spelling, _ in _COMPARISONS.values())

_EVERYTHING = slice(None)


def _is_object(value: Value) -> bool:
    """Return whether a value is a plain Python object, not one that only a thread has."""
    return isinstance(value, Static) and not hasattr(value.value, "value_rule")


def _name_of(value: Any) -> str:
    return str(getattr(value, "__name__", type(value).__name__))


def reason_of(error: Exception) -> str:
    """Return what an exception of Python's says, as the end of a sentence."""
    return str(error).rstrip(".")


def _is_huge(base: Any, exponent: Any) -> bool:
    """Return whether a power has so many digits that computing them takes long."""
    return (
        isinstance(base, int)
        and isinstance(exponent, int)
        and exponent > 64
        and base.bit_length() * exponent > 4096
    )


def element_type(dtype: np.dtype[Any]) -> Number | Record | Array:
    """Return the type of a value of a dtype; a field with a shape is a fixed array."""
    if dtype.shape:
        inner = element_type(dtype.base)
        assert isinstance(inner, Number | Record)
        return Array(inner, len(dtype.shape), "fixed", dtype.shape, "local")
    return Record(dtype) if dtype.names is not None else Number(dtype)


def type_of_annotation(value: Any) -> Number | None:
    """Return the type that an annotation names; None if it names none of numbers."""
    if isinstance(value, type) and value in (int, float, complex, bool):
        return {int: PY_INT, float: PY_FLOAT, complex: PY_COMPLEX, bool: BOOL}[value]
    if isinstance(value, np.dtype | str) or (
        isinstance(value, type) and issubclass(value, np.generic)
    ):
        try:
            dtype = as_dtype(value)
        except (TypeError, ValueError):
            return None
        return Number(dtype) if dtype.names is None and is_supported(dtype) else None
    if getattr(value, "__name__", "") == "bfloat16":
        return Number(as_dtype("bfloat16"))
    return None


class Expressions:
    """The part of the lowering that knows expressions; implements `intrinsics.base.Builder`.

    Parameters
    ----------
    program : ProgramBuilder
    source : FunctionSource
        The function that is being lowered.
    """

    def __init__(self, program: ProgramBuilder, source: FunctionSource) -> None:
        self.program = program
        self.source = source
        self.statements: list[ir.Statement] = []
        self._handlers: dict[type[ast.AST], Callable[[Any], Value]] = {
            ast.Constant: self._constant,
            ast.Name: self._name,
            ast.BinOp: self._binary_node,
            ast.UnaryOp: self._unary_node,
            ast.BoolOp: self._bool_node,
            ast.Compare: self._compare_node,
            ast.IfExp: self._ternary,
            ast.Call: self._call_node,
            ast.Attribute: self._attribute_node,
            ast.Subscript: self._subscript_node,
            ast.Tuple: self._tuple_node,
            ast.Lambda: self._lambda,
            ast.NamedExpr: self._walrus,
        }

    # -- messages ------------------------------------------------------------------------------

    @property
    def mode(self) -> str:
        """``"cuda"`` or ``"numpy"``."""
        return self.program.mode

    def span(self, node: ast.AST) -> ir.Span:
        """Return the place of a syntax node."""
        return self.source.span(node)

    def fail(self, sentence: str, span: ir.Span, hint: str = "", label: str = "") -> TypingError:
        """Return the error for types that do not fit."""
        return TypingError(render_message(sentence, self.source.snippet(span, label), hint=hint))

    def refuse(
        self, sentence: str, span: ir.Span, hint: str = "", label: str = ""
    ) -> UnsupportedError:
        """Return the error for what restricted Python does not have."""
        return UnsupportedError(
            render_message(sentence, self.source.snippet(span, label), hint=hint)
        )

    # -- what subclasses know ------------------------------------------------------------------

    def lookup(self, name: str, span: ir.Span) -> Value:
        """Return what a name means here."""
        raise NotImplementedError

    def assign_name(self, name: str, value: Value, span: ir.Span) -> None:
        """Bind a name to a value."""
        raise NotImplementedError

    def local_function(self, node: ast.FunctionDef | ast.Lambda) -> Static:
        """Return a function that is defined inside of this one."""
        raise NotImplementedError

    def fresh(self, stem: str) -> str:
        """Return a name that no variable has."""
        raise NotImplementedError

    def add_local(self, stem: str, kind: Type) -> str:
        """Return the name of a new variable."""
        raise NotImplementedError

    def declare(
        self,
        element: Any,
        shape: tuple[int, ...] | None,
        space: str,
        span: ir.Span,
        alignment: int = 0,
        data: bytes = b"",
    ) -> ir.Expression:
        """Declare memory where the call stands, and return it."""
        raise NotImplementedError

    def declare_opaque(self, kind: Type, span: ir.Span, stem: str, shared: bool) -> ir.Expression:
        """Declare a variable of a type that only intrinsics know."""
        raise NotImplementedError

    # -- statements that expressions need ----------------------------------------------------------

    def emit(self, statement: ir.Statement) -> None:
        """Add a statement before the one that is being lowered."""
        self.statements.append(statement)

    def temporary(self, value: ir.Expression) -> ir.Expression:
        """Return an expression that can be used several times and is evaluated once, now."""
        if isinstance(value, ir.Literal_):
            return value
        name = self.add_local("t", value.type)
        local = ir.Local(name, value.type, value.span)
        self.emit(ir.Store(local, value, value.span))
        return local

    def captured(self, make: Callable[[], Value]) -> tuple[Value, tuple[ir.Statement, ...]]:
        """Return what `make` returns, and the statements that it adds, which are taken away."""
        outer, self.statements = self.statements, []
        try:
            value = make()
            return value, tuple(self.statements)
        finally:
            self.statements = outer

    def in_order(self, nodes: Sequence[ast.expr]) -> list[Value]:
        """Return the values of expressions that Python evaluates one after the other.

        Where a later one needs statements before it, an earlier one that they may change is
        evaluated before them.
        """
        values: list[Value] = []
        for node in nodes:
            before = len(self.statements)
            value = self.value(node)
            if len(self.statements) > before:
                late = self.statements[before:]
                del self.statements[before:]
                values = [self._settled(earlier) for earlier in values]
                self.statements += late
            values.append(value)
        return values

    def _settled(self, value: Value) -> Value:
        """Return a value that statements to come do not change."""
        if isinstance(value, Static | ir.Literal_):
            return value
        if isinstance(value.type, Array):  # memory of a known shape is never another one
            changes = isinstance(value, ir.Local) and not self.is_constant(value.name)
            return self.temporary(value) if changes else value
        if not isinstance(value.type, Number | Record | Tuple):
            return value
        if isinstance(value, ir.Construct):
            settled = tuple(self.as_item(self._settled(item), item.span) for item in value.items)
            return dataclasses.replace(value, items=settled)
        if isinstance(value, ir.Extent):
            return value
        if isinstance(value, ir.Call) and not value.arguments:
            is_coordinate = value.operation.effects <= {"thread"}
            return value if is_coordinate else self.temporary(value)
        if isinstance(value, ir.Local) and self.is_constant(value.name):
            return value
        return self.temporary(value)

    def is_constant(self, name: str) -> bool:
        """Return whether a variable never changes once it is read."""
        raise NotImplementedError

    # -- expressions ---------------------------------------------------------------------------

    def value(self, node: ast.expr) -> Value:
        """Return the value of an expression."""
        handler = self._handlers.get(type(node))
        if handler is not None:
            return handler(node)
        self.refuse_node(node)

    def refuse_node(self, node: ast.AST) -> Never:
        """Raise for a construct that restricted Python does not have."""
        words, hint = refusal_of(node) or (f"This construct ('{type(node).__name__}')", "")
        raise self.refuse(f"{words} cannot be used in a kernel.", self.span(node), hint)

    def _constant(self, node: ast.Constant) -> Value:
        if isinstance(node.value, bytes):
            raise self.refuse(
                "Bytes cannot be used in a kernel.", self.span(node), "pass them as a uint8 array."
            )
        return Static(node.value)

    def _name(self, node: ast.Name) -> Value:
        return self.lookup(node.id, self.span(node))

    def _tuple_node(self, node: ast.Tuple) -> Value:
        values: list[Value] = []
        for element, value in zip(node.elts, self._starred_values(node.elts), strict=True):
            if isinstance(element, ast.Starred):
                values += self.items_of(value, self.span(element))
            else:
                values.append(value)
        return self.make_tuple(values, self.span(node))

    def _starred_values(self, nodes: Sequence[ast.expr]) -> list[Value]:
        return self.in_order([n.value if isinstance(n, ast.Starred) else n for n in nodes])

    def make_tuple(
        self, values: Sequence[Value], span: ir.Span, like: Tuple | None = None
    ) -> Value:
        """Return a tuple of values."""
        if like is None and all(map(_is_object, values)):
            return Static(tuple(value.value for value in values))  # type: ignore[union-attr]
        items = tuple(self.as_item(value, span) for value in values)
        types = tuple(item.type for item in items)
        kind = Tuple(types, like.names, like.maker) if like else Tuple(types)
        return ir.Construct(items, kind, span)

    def items_of(self, value: Value, span: ir.Span) -> list[Value]:
        """Return the items of a tuple."""
        if isinstance(value, Static) and isinstance(value.value, tuple | list | range):
            return [Static(item) for item in value.value]
        if isinstance(value, ir.Construct):
            return list(value.items)
        if isinstance(value, ir.Expression) and isinstance(value.type, Tuple):
            once = value if isinstance(value, ir.Local | ir.Field) else self.temporary(value)
            return [self._item(once, k, span) for k in range(len(value.type.items))]
        raise self.fail(
            f"{self.describe(value)} cannot be unpacked: a tuple is needed.",
            span,
        )

    def _lambda(self, node: ast.Lambda) -> Value:
        return self.local_function(node)

    def _walrus(self, node: ast.NamedExpr) -> Value:
        value = self.value(node.value)
        self.assign_name(node.target.id, value, self.span(node))
        return self.lookup(node.target.id, self.span(node.target))

    # -- values --------------------------------------------------------------------------------

    def describe(self, value: Value) -> str:
        """Return what messages call a value."""
        if isinstance(value, Static):
            found = value.value
            if found is None:
                return "None"
            if isinstance(found, bool | int | float | complex | str | np.generic):
                return f"The constant {found!r}"
            if isinstance(found, tuple):
                return "A tuple"
            if isinstance(found, BoundMethod) or hasattr(found, "around"):
                return f"The function '{_name_of(found)}'"
            name = getattr(found, "__name__", "")
            if not isinstance(name, str) or not name:
                return f"An object of type '{type(found).__name__}'"
            if isinstance(found, type | types.ModuleType):
                return f"The {'class' if isinstance(found, type) else 'module'} '{name}'"
            return f"The function '{name}'" if callable(found) else f"'{name}'"
        kind = value.type
        if isinstance(kind, Number):
            return f"A number of type '{kind}'"
        return f"A value of type '{kind}'"

    def phrase(self, value: Value) -> str:
        """Return what messages call a value within a sentence."""
        text = self.describe(value)
        return text if text == "None" else text[:1].lower() + text[1:]

    def as_item(self, value: Value, span: ir.Span) -> ir.Expression:
        """Return a value as an item of a tuple, in which None may stand."""
        if isinstance(value, Static) and value.value is None:
            return ir.Nothing(span)
        found = self.as_expression(value, span)
        kind = found.type
        if isinstance(kind, Array) and kind.layout == "fixed":  # a reference to it
            view = Array(kind.element, kind.ndim, "C", (), kind.space, kind.writable)
            return self.as_view(found, view, span) or found
        return found

    def as_expression(self, value: Value, span: ir.Span) -> ir.Expression:
        """Return a value as an expression; raises for what has no value at run time."""
        if not isinstance(value, Static):
            return value
        found = value.value
        if isinstance(found, bool | np.bool_):
            return ir.Literal_(bool(found), BOOL, span)
        if isinstance(found, int) and not isinstance(found, np.generic):
            if not -(2**63) <= found < 2**64:
                shown = "This number" if found.bit_length() > 200 else f"The number {found}"
                raise self.fail(f"{shown} does not fit 64 bits.", span)
            if found >= 2**63:
                return ir.Literal_(np.uint64(found), Number(np.dtype(np.uint64)), span)
            return ir.Literal_(int(found), PY_INT, span)
        if isinstance(found, float) and not isinstance(found, np.generic):
            return ir.Literal_(float(found), PY_FLOAT, span)
        if isinstance(found, complex) and not isinstance(found, np.generic):
            return ir.Literal_(complex(found), PY_COMPLEX, span)
        if isinstance(found, np.generic) or (
            isinstance(found, np.ndarray) and found.ndim == 0 and found.dtype.names is None
        ):
            scalar: Any = found[()]  # type: ignore[index]
            self.check_dtype(scalar.dtype, span)
            if scalar.dtype.names is not None:
                raise self.fail(
                    "A structured scalar from outside cannot be used in a kernel.",
                    span,
                    "pass it as an argument.",
                )
            return ir.Literal_(scalar, Number(scalar.dtype), span)
        if isinstance(found, tuple):
            items = tuple(self.as_item(Static(item), span) for item in found)
            names = tuple(getattr(found, "_fields", ()))
            maker = type(found) if names else None
            kind = Tuple(tuple(item.type for item in items), names, maker)
            return ir.Construct(items, kind, span)
        if dataclasses.is_dataclass(found) and not hasattr(found, "__name__"):  # no function
            fields = [field.name for field in dataclasses.fields(found)]
            items = tuple(self.as_item(Static(getattr(found, name)), span) for name in fields)
            kind = Tuple(tuple(item.type for item in items), tuple(fields), type(found))
            return ir.Construct(items, kind, span)
        rule = getattr(found, "value_rule", None)
        if rule is not None:  # a coordinate, a constant of the device
            made: ir.Expression = rule(self, span)
            return made
        raise self._without_value(found, span)

    def _without_value(self, found: Any, span: ir.Span) -> TypingError:
        if found is None:
            return self.fail("None has no value to compute with.", span, "test with 'is None'.")
        if isinstance(found, str):
            return self.fail(
                f"The string {found!r} has no value in a kernel.",
                span,
                "strings can be printed, and name fields and dtypes.",
            )
        if isinstance(found, np.ndarray):
            return self.fail(
                "An array from outside cannot be used in a kernel.",
                span,
                "pass it as an argument, or copy it into the kernel with "
                "'jit.cuda.const.array_like(x)'.",
            )
        name = _name_of(found)
        hint = getattr(found, "instead", "") or (
            "use numbers, tuples, named tuples, instances of dataclasses or NumPy scalars; arrays "
            "are passed as arguments."
        )
        from kerneltk.jit.program import LocalFunction  # it calls back

        if isinstance(found, list):
            hint = "make it a tuple."
        elif isinstance(found, type | types.ModuleType):
            hint = ""
        elif isinstance(found, BoundMethod | LocalFunction) or callable(found):
            return self.fail(f"'{name}' is a function: it has to be called.", span)
        return self.fail(f"{self.describe(Static(found))} has no value in a kernel.", span, hint)

    def check_dtype(self, dtype: np.dtype[Any], span: ir.Span) -> None:
        """Raise unless kernels have values of a dtype."""
        try:
            describe(dtype)
        except ArgumentTypeError as error:
            sentence, _, hint = str(error.args[0]).partition("\n  Hint: ")
            raise self.fail(sentence, span, hint) from None

    def as_number(self, value: Value, span: ir.Span, what: str = "") -> ir.Expression:
        """Return a value as a number; raises for anything else."""
        found = self.as_expression(value, span)
        if isinstance(found.type, Number):
            return found
        hint = "index it, for example 'x[i]'." if isinstance(found.type, Array) else ""
        if what:
            raise self.fail(f"{what} must be a number, not {self.phrase(found)}.", span, hint)
        raise self.fail(f"{self.describe(found)} was given, and a number is needed.", span, hint)

    def cast(self, value: ir.Expression, target: Number) -> ir.Expression:
        """Return a number as one of another type."""
        if value.type == target:
            return value
        if isinstance(value, ir.Literal_):
            return self._cast_literal(value, target)
        return ir.Cast(value, target, value.span)

    def _cast_literal(self, value: ir.Literal_, target: Number) -> ir.Expression:
        found = value.value
        if value.type.is_complex and not target.is_complex:
            return ir.Cast(value, target, value.span)
        if target == PY_INT:
            plain = float(found) if value.type.is_floating else int(found)
            if not -(2**63) <= plain < 2**63:  # nor is NaN
                raise self.fail(f"The number {found} does not fit 'int'.", value.span)
        if target.weak:
            python = {"i": int, "f": float, "c": complex}[target.dtype.kind]
            return ir.Literal_(python(found), target, value.span)
        if target == BOOL:
            return ir.Literal_(bool(found), BOOL, value.span)
        if target.is_integer and value.type == PY_INT:
            limits = np.iinfo(target.dtype)
            if not limits.min <= found <= limits.max:
                raise self.fail(
                    f"The number {found} does not fit '{target}'.",
                    value.span,
                    f"use a wider dtype, or write 'np.{target}({found})' to wrap it around.",
                )
        with np.errstate(all="ignore"):
            return ir.Literal_(np.array(found).astype(target.dtype)[()], target, value.span)

    def convert(self, value: Value, target: Type, span: ir.Span, what: str) -> ir.Expression:
        """Return a value as one of a type that it can be stored to; raises where it cannot.

        Parameters
        ----------
        what : str
            What it is stored to, for messages: ``"'y'"``, ``"an element of 'x'"``.
        """
        found = self.as_expression(value, span)
        if found.type == target:
            return found
        if isinstance(target, Number) and isinstance(found.type, Number):
            if found.type.is_complex and not target.is_complex:
                raise self.fail(
                    f"A complex number cannot be stored to {what} of type '{target}'.",
                    span,
                    "take '.real' or 'abs(x)'.",
                )
            if target == BOOL:
                truth = self.truth(found, span)
                return self.as_expression(truth, span)
            return self.cast(found, target)
        if (
            isinstance(target, Tuple)
            and isinstance(found.type, Tuple)
            and len(target.items) == len(found.type.items)
            and target.maker in (None, found.type.maker)
        ):
            parts = zip(self.items_of(found, span), target.items, strict=True)
            items = tuple(self.convert(item, kind, span, what) for item, kind in parts)
            return ir.Construct(items, target, span)
        if isinstance(target, Array) and isinstance(found.type, Array):
            view = self.as_view(found, target, span)
            if view is not None:
                return view
        raise self.fail(
            f"{self.describe(found)} cannot be stored to {what} of type '{target}'.", span
        )

    def as_view(self, value: ir.Expression, target: Array, span: ir.Span) -> ir.Expression | None:
        """Return an array as a view of a more general type; None if it is none."""
        found = value.type
        assert isinstance(found, Array)
        if found == target:
            return value
        fits = (found.element, found.ndim, found.space, found.writable) == (
            target.element,
            target.ndim,
            target.space,
            target.writable,
        )
        general = {"fixed": 0, "C": 1, "strided": 2}
        if not fits or general[found.layout] >= general[target.layout]:
            return None
        every = tuple(ir.Slice(None, None, None, span) for _ in range(found.ndim))
        return ir.Section(value, every, target, span)

    def truth(self, value: Value, span: ir.Span) -> ir.Expression | Static:
        """Return whether a value is true."""
        if isinstance(value, Static):
            if isinstance(value.value, Intrinsic) or not hasattr(value.value, "value_rule"):
                if isinstance(value.value, np.ndarray) and value.value.ndim:
                    raise self._without_value(value.value, span)
                try:
                    return Static(bool(value.value))
                except Exception as error:
                    raise self.not_computed(error, (value.value,), span) from error
            value = self.as_expression(value, span)
        kind = value.type
        if isinstance(kind, Number):
            if kind == BOOL:
                return value
            zero = self.cast(ir.Literal_(0, PY_INT, value.span), kind)
            return ir.Compare("!=", value, zero, value.span)
        if isinstance(kind, Tuple):
            return Static(bool(kind.items))
        hint = "test an element, or 'x.size'." if isinstance(kind, Array) else ""
        raise self.fail(f"{self.describe(value)} is neither true nor false.", span, hint)

    def static_int(self, value: Value, span: ir.Span, what: str) -> int:
        """Return an integer that has to be known when the kernel is compiled."""
        if isinstance(value, Static) and isinstance(value.value, int | np.integer):
            return int(value.value)
        raise self.fail(
            f"{what} must be an integer that is known when the kernel is compiled.",
            span,
            "use a literal, a global, or a variable that is assigned once, to a constant.",
        )

    # -- operators -----------------------------------------------------------------------------

    def _binary_node(self, node: ast.BinOp) -> Value:
        row = _BINARY.get(type(node.op))
        if row is None:
            words, hint = refusal_of(node.op) or ("This operator", "")
            raise self.refuse(f"{words} cannot be used in a kernel.", self.span(node), hint)
        left, right = self.in_order((node.left, node.right))
        places = (self.span(node.left), self.span(node.right))
        return self.binary(row[0], left, right, self.span(node), places)

    def fold(
        self,
        op: str,
        left: Any,
        right: Any,
        span: ir.Span,
        places: tuple[ir.Span, ir.Span] | None = None,
    ) -> Static:
        """Return an operation on Python objects."""
        if op == "**" and _is_huge(left, right):
            raise self.fail("The result of this power does not fit 64 bits.", span)
        try:
            with np.errstate(all="ignore"):
                found = _BY_SPELLING[op](left, right)
        except Exception as error:
            raise self.not_computed(error, (left, right), span, places) from error
        if isinstance(found, np.ndarray) and found.ndim and op in _COMPARED:
            raise self._without_value(found, span)
        return Static(found)

    def not_computed(
        self,
        error: Exception,
        operands: Sequence[Any],
        span: ir.Span,
        places: Sequence[ir.Span] | None = None,
    ) -> TypingError:
        """Return the error for constants that Python itself cannot compute with."""
        for k, operand in enumerate(operands):
            if not isinstance(operand, str | tuple):  # says why, if it is no number
                self.as_expression(Static(operand), places[k] if places else span)
        return self.fail(f"This expression cannot be computed: {reason_of(error)}.", span)

    def binary(
        self,
        op: str,
        left: Value,
        right: Value,
        span: ir.Span,
        places: tuple[ir.Span, ir.Span] | None = None,
    ) -> Value:
        """Return an operation with Python's meaning; `places` are those of the operands."""
        if isinstance(left, Static) and isinstance(right, Static):
            plain = not (hasattr(left.value, "value_rule") or hasattr(right.value, "value_rule"))
            if plain:
                return self.fold(op, left.value, right.value, span, places)
        if op in ("+", "*") and (self._is_tuple(left) or self._is_tuple(right)):
            return self._tuple_arithmetic(op, left, right, span)
        first, second = places or (span, span)
        a, b = self.as_number(left, first), self.as_number(right, second)
        assert isinstance(a.type, Number)
        assert isinstance(b.type, Number)
        kind = self.operation_type(op, a.type, b.type, span)
        if op == "**":
            return self._power(a, b, kind, span)
        if op in ("<<", ">>"):
            count = self.cast(b, PY_INT) if b.type == BOOL else b
            return ir.Binary(op, self.cast(a, kind), count, kind, span)
        return ir.Binary(op, self.cast(a, kind), self.cast(b, kind), kind, span)

    def operation_type(self, op: str, left: Number, right: Number, span: ir.Span) -> Number:
        """Return the type that an operation is computed in; raises where it has none."""
        if op in ("<<", ">>"):  # the number of places does not change the type
            right = left if right.is_integer and left.is_integer else right
        kind = operand_type(op, left, right, self.mode)
        if kind is None:
            hint = ""
            if op in ("&", "|", "^", "<<", ">>"):
                hint = "convert with 'int(x)', or use 'and', 'or' and 'not' for conditions."
            elif {str(left), str(right)} == {"float16", "bfloat16"}:
                hint = "convert one of them with 'np.float32(x)'."
            elif op in _COMPARED:  # of complex numbers
                hint = "compare 'abs(z)', or the parts."
            raise self.fail(f"'{op}' cannot be computed for '{left}' and '{right}'.", span, hint)
        return kind

    def _is_tuple(self, value: Value) -> bool:
        if isinstance(value, Static):
            return isinstance(value.value, tuple)
        return isinstance(value.type, Tuple)

    def _tuple_arithmetic(self, op: str, left: Value, right: Value, span: ir.Span) -> Value:
        if op == "+" and self._is_tuple(left) and self._is_tuple(right):
            return self.make_tuple([*self.items_of(left, span), *self.items_of(right, span)], span)
        if op == "*" and not (self._is_tuple(left) and self._is_tuple(right)):
            items, times = (left, right) if self._is_tuple(left) else (right, left)
            count = self.static_int(times, span, "The number of repetitions")
            return self.make_tuple(self.items_of(items, span) * count, span)
        raise self.fail(
            f"'{op}' cannot be computed for {self.phrase(left)} and {self.phrase(right)}.",
            span,
        )

    def _power(
        self, base: ir.Expression, exponent: ir.Expression, kind: Number, span: ir.Span
    ) -> ir.Expression:
        if kind.is_integer and isinstance(exponent, ir.Literal_) and exponent.value < 0:
            if not kind.weak:
                raise self.fail(
                    "Integers cannot be raised to a negative power.",
                    span,
                    "convert the base, for example with 'float(x)'.",
                )
            kind = PY_FLOAT
        return ir.Binary("**", self.cast(base, kind), self.cast(exponent, kind), kind, span)

    def _unary_node(self, node: ast.UnaryOp) -> Value:
        span = self.span(node)
        value = self.value(node.operand)
        if isinstance(node.op, ast.Not):
            truth = self.truth(value, span)
            return Static(not truth.value) if isinstance(truth, Static) else ir.Not(truth, span)
        if isinstance(value, Static) and not hasattr(value.value, "value_rule"):
            functions: dict[type[ast.unaryop], Callable[[Any], Any]] = {
                ast.USub: operator.neg,
                ast.UAdd: operator.pos,
                ast.Invert: operator.invert,
            }
            try:
                with np.errstate(all="ignore"):
                    if isinstance(node.op, ast.Invert) and isinstance(value.value, bool):
                        return Static(not value.value)
                    return Static(functions[type(node.op)](value.value))
            except TypeError as error:
                raise self.not_computed(error, (value.value,), span) from error
        number = self.as_number(value, span)
        kind = number.type
        assert isinstance(kind, Number)
        if isinstance(node.op, ast.Invert):
            if kind == BOOL:
                return ir.Not(number, span)
            if not kind.is_integer:
                raise self.fail(f"'~' cannot be computed for '{kind}'.", span)
            return ir.Unary("~", number, kind, span)
        if kind == BOOL:
            number, kind = self.cast(number, PY_INT), PY_INT
        return number if isinstance(node.op, ast.UAdd) else ir.Unary("-", number, kind, span)

    # -- conditions ----------------------------------------------------------------------------

    def condition(self, node: ast.expr) -> ir.Expression | Static:
        """Return whether an expression is true; its value beside that is of no interest."""
        span = self.span(node)
        if isinstance(node, ast.BoolOp):
            return self._logical(node, span)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            inner = self.condition(node.operand)
            return Static(not inner.value) if isinstance(inner, Static) else ir.Not(inner, span)
        return self.truth(self.value(node), span)

    def _logical(self, node: ast.BoolOp, span: ir.Span) -> ir.Expression | Static:
        is_and = isinstance(node.op, ast.And)
        word = "and" if is_and else "or"
        operands: list[ir.Expression] = []
        for index, part in enumerate(node.values):
            found, added = self.captured(lambda part=part: self.condition(part))  # type: ignore[misc]
            if isinstance(found, Static):
                self.statements += added if not operands else ()
                if bool(found.value) != is_and:  # what follows is never evaluated
                    if not operands:
                        return found
                    operands.append(ir.Literal_(bool(found.value), BOOL, self.span(part)))
                    break
                continue
            if added and operands:
                return self._stepwise(word, operands, node.values[index:], found, added, span)
            self.statements += added
            operands.append(found)
        if not operands:
            return Static(is_and)
        return operands[0] if len(operands) == 1 else ir.Logical(word, tuple(operands), span)  # type: ignore[arg-type]

    def _stepwise(
        self,
        word: str,
        before: list[ir.Expression],
        rest: Sequence[ast.expr],
        first: ir.Expression,
        added: tuple[ir.Statement, ...],
        span: ir.Span,
    ) -> ir.Expression:
        """Return a condition whose later part needs statements, which run only if it matters."""
        head = before[0] if len(before) == 1 else ir.Logical(word, tuple(before), span)  # type: ignore[arg-type]
        result = self.temporary(head)
        assert isinstance(result, ir.Local)

        def later() -> Value:
            self.statements += added
            operands = [first]
            if len(rest) > 1:
                tail = ast.BoolOp(ast.And() if word == "and" else ast.Or(), list(rest[1:]))
                found = self._logical(ast.copy_location(tail, rest[1]), span)
                operands.append(self.as_expression(found, span))
            whole = operands[0] if len(operands) == 1 else ir.Logical(word, tuple(operands), span)  # type: ignore[arg-type]
            self.emit(ir.Store(result, whole, span))
            return result

        _, statements = self.captured(later)
        test = result if word == "and" else ir.Not(result, span)
        self.emit(ir.If(test, statements, (), span))
        return result

    def _bool_node(self, node: ast.BoolOp) -> Value:
        """``a or b`` is one of its operands, as in Python."""
        span = self.span(node)
        is_and = isinstance(node.op, ast.And)
        found, added = self.captured(lambda: self.value(node.values[0]))
        self.statements += added
        place = self.span(node.values[0])
        for part in node.values[1:]:
            truth = self.truth(found, place)
            if isinstance(truth, Static):
                if bool(truth.value) == is_and:
                    found, place = self.value(part), self.span(part)
                    continue
                return found
            left = self.as_expression(found, place)
            if left.type == BOOL:
                right, added = self.captured(lambda part=part: self.value(part))  # type: ignore[misc]
                right_type = right.type if not isinstance(right, Static) else None
                plain = not added and (
                    right_type == BOOL
                    or (isinstance(right, Static) and isinstance(right.value, bool))
                )
                if plain:
                    operands = (left, self.as_expression(right, span))
                    found = ir.Logical("and" if is_and else "or", operands, span)
                    continue
            else:
                left = self.temporary(left)
                truth = self.truth(left, span)
                right, added = self.captured(lambda part=part: self.value(part))  # type: ignore[misc]
            assert not isinstance(truth, Static)
            if left.type == BOOL:
                left = self.temporary(left)
                truth = left
            first: tuple[Value, tuple[ir.Statement, ...]] = (right, added)
            second: tuple[Value, tuple[ir.Statement, ...]] = (left, ())
            places = (self.span(part), place) if is_and else (place, self.span(part))
            found = self._choose(
                truth, *(first if is_and else second), *(second if is_and else first), span, places
            )
            place = span
        return found

    def _ternary(self, node: ast.IfExp) -> Value:
        span = self.span(node)
        condition = self.condition(node.test)
        if isinstance(condition, Static):
            return self.value(node.body if condition.value else node.orelse)
        then, then_added = self.captured(lambda: self.value(node.body))
        orelse, orelse_added = self.captured(lambda: self.value(node.orelse))
        places = (self.span(node.body), self.span(node.orelse))
        return self._choose(condition, then, then_added, orelse, orelse_added, span, places)

    def _choose(
        self,
        condition: ir.Expression,
        then: Value,
        then_added: tuple[ir.Statement, ...],
        orelse: Value,
        orelse_added: tuple[ir.Statement, ...],
        span: ir.Span,
        places: tuple[ir.Span, ir.Span],
    ) -> Value:
        """Return one of two values, of the type that both join to."""
        a, b = self.as_expression(then, places[0]), self.as_expression(orelse, places[1])
        kind = self.program.join(a.type, b.type)
        if kind is None:
            raise TypingError(
                render_message(
                    "The types of the two values do not go together.",
                    self.source.snippet(places[0], f"here it is '{a.type}'"),
                    self.source.snippet(places[1], f"here it is '{b.type}'"),
                )
            )
        if not (then_added or orelse_added):
            a = self.convert(a, kind, span, "the result")
            b = self.convert(b, kind, span, "the result")
            return ir.Select(condition, a, b, kind, span)
        name = self.add_local("t", kind)
        local = ir.Local(name, kind, span)

        def branch(value: ir.Expression, added: tuple[ir.Statement, ...]) -> Any:
            def make() -> Value:
                self.statements += added
                self.emit(ir.Store(local, self.convert(value, kind, span, "the result"), span))
                return local

            return self.captured(make)[1]

        self.emit(ir.If(condition, branch(a, then_added), branch(b, orelse_added), span))
        return local

    def _compare_node(self, node: ast.Compare) -> Value:
        span = self.span(node)
        if len(node.ops) == 1:
            left, right = self.in_order((node.left, node.comparators[0]))
            places = (self.span(node.left), self.span(node.comparators[0]))
            return self.compare(node.ops[0], left, right, span, places)
        values = self.in_order([node.left, *node.comparators])
        # What stands between two comparisons is evaluated once.
        middle = [
            value
            if isinstance(value, Static | ir.Literal_ | ir.Local | ir.Extent)
            else self.temporary(value)
            for value in values[1:-1]
        ]
        values = [values[0], *middle, values[-1]]
        operands: list[ir.Expression] = []
        spans = [self.span(part) for part in (node.left, *node.comparators)]
        for k, (op, left, right) in enumerate(zip(node.ops, values, values[1:], strict=False)):
            found = self.compare(op, left, right, span, (spans[k], spans[k + 1]))
            if isinstance(found, Static):
                if not found.value:
                    return found
            else:
                operands.append(found)
        if not operands:
            return Static(True)
        return operands[0] if len(operands) == 1 else ir.Logical("and", tuple(operands), span)

    def compare(
        self,
        op: ast.cmpop,
        left: Value,
        right: Value,
        span: ir.Span,
        places: tuple[ir.Span, ir.Span] | None = None,
    ) -> Value:
        """Return a comparison; `places` are those of the operands."""
        if isinstance(op, ast.Is | ast.IsNot):
            return self._identity(op, left, right, span)
        if isinstance(op, ast.In | ast.NotIn):
            return self._membership(op, left, right, span)
        spelling, function = _COMPARISONS[type(op)]
        if _is_object(left) and _is_object(right):
            return self.fold(spelling, left.value, right.value, span, places)  # type: ignore[union-attr]
        if any(isinstance(v, Static) and isinstance(v.value, str) for v in (left, right)):
            return self._names_dtype(spelling, left, right, span)
        if self._is_tuple(left) and self._is_tuple(right):
            return self._compare_tuples(op, left, right, span)
        first, second = places or (span, span)
        a, b = self.as_number(left, first), self.as_number(right, second)
        assert isinstance(a.type, Number)
        assert isinstance(b.type, Number)
        kind = self.operation_type(spelling, a.type, b.type, span)
        for literal, other in ((a, b), (b, a)):
            # A constant beyond the other's range decides, as in NumPy.
            if (
                isinstance(literal, ir.Literal_)
                and literal.type == PY_INT
                and kind.is_integer
                and not kind.weak
            ):
                limits = np.iinfo(kind.dtype)
                if not limits.min <= literal.value <= limits.max:
                    probe = 0
                    pair = (literal.value, probe) if other is b else (probe, literal.value)
                    return Static(bool(function(*pair)))
        exact = self._compared_by_value(spelling, a, b, span)
        if exact is not None:
            return exact
        return ir.Compare(spelling, self.cast(a, kind), self.cast(b, kind), span)

    def _compared_by_value(
        self, spelling: str, a: ir.Expression, b: ir.Expression, span: ir.Span
    ) -> ir.Expression | None:
        """Return a comparison of integers whose common type does not hold both; else None.

        A Python int that is not known is compared by its value, not by what is left of it in the
        other's dtype.
        """
        kinds = (a.type, b.type)
        if not all(isinstance(kind, Number) and kind.is_integer for kind in kinds):
            return None
        weak = [kind == PY_INT for kind in kinds]
        literal = [isinstance(value, ir.Literal_) for value in (a, b)]
        unsigned = [kind.dtype == np.uint64 for kind in kinds]  # type: ignore[union-attr]
        if not any(unsigned):
            if not any(w and not known for w, known in zip(weak, literal, strict=True)):
                return None
            return ir.Compare(spelling, self.cast(a, PY_INT), self.cast(b, PY_INT), span)
        signed = 1 - unsigned.index(True)
        narrow = kinds[signed].dtype.kind == "i" and not literal[signed]  # type: ignore[union-attr]
        if all(unsigned) or not narrow or (self.mode == "cuda" and not weak[signed]):
            return None
        values = [a, b]
        values[signed] = self.temporary(self.cast(values[signed], PY_INT))
        zero = ir.Literal_(0, PY_INT, span)
        below = ir.Compare("<", values[signed], zero, span)
        wide = Number(np.dtype(np.uint64))
        same = ir.Compare(spelling, self.cast(values[0], wide), self.cast(values[1], wide), span)
        # A negative number is less than every unsigned one.
        less = ("<", "<=") if signed == 0 else (">", ">=")
        if spelling in (*less, "!="):
            return ir.Logical("or", (below, same), span)
        return ir.Logical("and", (ir.Not(below, span), same), span)

    def _names_dtype(self, spelling: str, left: Value, right: Value, span: ir.Span) -> Value:
        raise self.fail(
            f"'{spelling}' cannot be computed for {self.phrase(left)} and {self.phrase(right)}.",
            span,
        )

    def _compare_tuples(self, op: ast.cmpop, left: Value, right: Value, span: ir.Span) -> Value:
        if not isinstance(op, ast.Eq | ast.NotEq):
            raise self.fail("Tuples can only be compared by '==' and '!='.", span, "compare items.")
        a, b = self.items_of(left, span), self.items_of(right, span)
        if len(a) != len(b):
            return Static(isinstance(op, ast.NotEq))
        operands: list[ir.Expression] = []
        for first, second in zip(a, b, strict=True):
            found = self.compare(op, first, second, span)
            if isinstance(found, Static):
                if bool(found.value) == isinstance(op, ast.NotEq):
                    return found
            else:
                operands.append(found)
        if not operands:
            return Static(isinstance(op, ast.Eq))
        word = "and" if isinstance(op, ast.Eq) else "or"
        return operands[0] if len(operands) == 1 else ir.Logical(word, tuple(operands), span)  # type: ignore[arg-type]

    def _identity(self, op: ast.cmpop, left: Value, right: Value, span: ir.Span) -> Value:
        if isinstance(left, Static) and isinstance(right, Static):
            same = left.value is right.value
        elif any(isinstance(v, Static) and v.value is None for v in (left, right)):
            same = False  # what has a value at run time is not None
        else:
            raise self.refuse(
                "'is' cannot compare numbers in a kernel.", span, "use '==', or compare with None."
            )
        return Static(same == isinstance(op, ast.Is))

    def _membership(self, op: ast.cmpop, left: Value, right: Value, span: ir.Span) -> Value:
        if _is_object(left) and isinstance(right, Static):
            try:
                found = left.value in right.value  # type: ignore[union-attr]
            except Exception:  # objects compare as they like
                raise self._not_searched(right, span) from None
            return Static(bool(found) == isinstance(op, ast.In))
        if not self._is_tuple(right) and not (
            isinstance(right, Static) and isinstance(right.value, list | range)
        ):
            raise self._not_searched(right, span)
        items = self.items_of(right, span)
        once = left if isinstance(left, Static) else self.temporary(left)
        operands: list[ir.Expression] = []
        for item in items:
            same = self.compare(ast.Eq(), once, item, span)
            if isinstance(same, Static):
                if same.value:
                    return Static(isinstance(op, ast.In))
            else:
                operands.append(same)
        if not operands:
            return Static(isinstance(op, ast.NotIn))
        whole = operands[0] if len(operands) == 1 else ir.Logical("or", tuple(operands), span)
        return whole if isinstance(op, ast.In) else ir.Not(whole, span)

    def _not_searched(self, value: Value, span: ir.Span) -> TypingError:
        hint = "compare the elements in a loop."
        if isinstance(value, Static) or not isinstance(value.type, Array):
            hint = "write a tuple: 'x in (1, 2)'."
        return self.fail(f"{self.describe(value)} cannot be searched by 'in'.", span, hint)

    # -- attributes and items ------------------------------------------------------------------

    def _attribute_node(self, node: ast.Attribute) -> Value:
        value = self.value(node.value)
        return self.attribute(value, node.attr, self.span(node))

    def attribute(self, value: Value, name: str, span: ir.Span) -> Value:
        """Return an attribute of a value."""
        if isinstance(value, Static):
            found = value.value
            if not hasattr(found, "value_rule") or hasattr(found, name):
                try:
                    return Static(getattr(found, name))
                except AttributeError as error:
                    sentence, _, hint = str(error).partition("\n  Hint: ")
                    if hint:  # a namespace that knows what to use instead
                        raise self.refuse(sentence, span, hint) from None
                    import difflib  # only who has an error needs it

                    label = "None" if found is None else f"'{_name_of(found)}'"
                    close = difflib.get_close_matches(name, dir(found), n=1)
                    hint = f"did you mean '{close[0]}'?" if close else ""
                    raise self.fail(f"{label} has no attribute '{name}'.", span, hint) from None
                except Exception as error:  # a property may raise anything
                    sentence = f"'{name}' cannot be had: {reason_of(error)}."
                    raise self.fail(sentence, span) from error
            value = self.as_expression(value, span)
        kind = value.type
        if isinstance(kind, Array):
            return array_attribute(self, value, name, span)
        if isinstance(kind, Number):
            return number_attribute(self, value, name, span)
        if isinstance(kind, Record):
            return self.record_field(value, name, span)
        if isinstance(kind, Tuple) and name in kind.names:
            index = kind.names.index(name)
            return self._item(value, index, span)
        if isinstance(kind, Tuple) and kind.maker is not None and not hasattr(kind.maker, name):
            known = ", ".join(kind.names)
            raise self.fail(f"'{kind}' has no field '{name}'.", span, f"its fields are {known}.")
        if isinstance(kind, Opaque):
            methods = dict(kind.details).get("methods", {})
            if name in methods:
                return Static(BoundMethod(value, methods[name], name))
            hint = f"it has {', '.join(methods)}." if methods else ""
            raise self.fail(f"'{kind}' has no method '{name}'.", span, hint)
        raise self.fail(f"{self.describe(value)} has no attribute '{name}'.", span)

    def record_field(self, value: ir.Expression, name: str, span: ir.Span) -> ir.Expression:
        """Return a field of a record."""
        kind = value.type
        assert isinstance(kind, Record)
        fields = kind.dtype.fields
        assert fields is not None
        if name not in fields:
            known = ", ".join(kind.dtype.names or ())
            raise self.fail(f"The record has no field '{name}'.", span, f"its fields are {known}.")
        dtype: np.dtype[Any] = fields[name][0]
        self.check_dtype(dtype.base, span)
        return ir.Field(value, name, element_type(dtype), span)

    def _subscript_node(self, node: ast.Subscript) -> Value:
        value = self.value(node.value)
        span = self.span(node)
        if isinstance(value, Static) and not hasattr(value.value, "value_rule"):
            key = self._static_key(node.slice) if not isinstance(node.slice, ast.Slice) else None
            if key is None:
                key = Static(self._static_slice(node.slice))  # type: ignore[arg-type]
            if isinstance(key, Static) and _is_object(key):
                return self._static_item(value.value, key.value, span)
            value = self.as_expression(value, span)
            return self._tuple_item(value, key, span)
        value = self.as_expression(value, span)
        kind = value.type
        if isinstance(kind, Array):
            return self.subscript(value, node.slice, span)
        if isinstance(kind, Opaque) and "items" in dict(kind.details):
            item = dict(kind.details)["items"]
            return item(self, value, self.value(node.slice), span)  # type: ignore[no-any-return]
        if not isinstance(kind, Tuple | Record):
            raise self.fail(f"{self.describe(value)} has no items.", span)
        if isinstance(node.slice, ast.Slice):
            if isinstance(kind, Tuple):
                items = self.items_of(value, span)[self._static_slice(node.slice)]
                return self.make_tuple(items, span)
            raise self.fail(f"{self.describe(value)} has no items.", span)
        key = self.value(node.slice)
        if isinstance(kind, Tuple):
            return self._tuple_item(value, key, span)
        if isinstance(kind, Record) and isinstance(key, Static) and isinstance(key.value, str):
            return self.record_field(value, key.value, span)
        raise self.fail(f"{self.describe(value)} has no items.", span)

    def _static_key(self, node: ast.expr) -> Value:
        """Return what stands in the brackets behind an object that is known."""
        if not isinstance(node, ast.Tuple) or any(
            isinstance(part, ast.Starred) for part in node.elts
        ):
            return self.value(node)
        values = self._starred_values(node.elts)
        for part, value in zip(node.elts, values, strict=True):
            if not _is_object(value):
                raise self.fail(
                    "What stands in these brackets must be known when the kernel is compiled.",
                    self.span(part),
                    "use a literal, a global, or a variable that is assigned once, to a constant.",
                )
        return Static(tuple(value.value for value in values))  # type: ignore[union-attr]

    def _item(self, value: ir.Expression, index: int, span: ir.Span) -> Value:
        """Return an item of a tuple; None has no place in one."""
        kind = value.type
        assert isinstance(kind, Tuple)
        if isinstance(kind.items[index], Void):
            return Static(None)
        if isinstance(value, ir.Construct):
            return value.items[index]
        return ir.Field(value, index, kind.items[index], span)

    def _static_slice(self, node: ast.Slice) -> slice:
        bounds: list[int | None] = []
        for part in (node.lower, node.upper, node.step):
            if part is None:
                bounds.append(None)
            else:
                bounds.append(self.static_int(self.value(part), self.span(part), "A tuple's bound"))
        return slice(*bounds)

    def _static_item(self, container: Any, key: Any, span: ir.Span) -> Static:
        if not hasattr(container, "__getitem__") or isinstance(container, np.generic | type):
            raise self.fail(f"{self.describe(Static(container))} has no items.", span)
        count = len(container) if isinstance(container, tuple) else 0
        if count and isinstance(key, int | np.integer) and not -count <= key < count:
            raise self._no_item(count, int(key), span)
        try:
            return Static(container[key])
        except KeyError:
            raise self.fail(f"There is no item {key!r}.", span) from None
        except Exception as error:
            raise self.fail(f"This item cannot be had: {reason_of(error)}.", span) from error

    def _no_item(self, count: int, index: int, span: ir.Span) -> TypingError:
        items = "1 item" if count == 1 else f"{count or 'no'} items"
        return self.fail(f"The tuple has {items}, and no item {index}.", span)

    def _tuple_item(self, value: ir.Expression, key: Value, span: ir.Span) -> Value:
        kind = value.type
        if not isinstance(kind, Tuple):
            raise self.fail(f"{self.describe(value)} has no items.", span)
        if isinstance(key, Static) and isinstance(key.value, int | np.integer):
            index = int(key.value)
            if not -len(kind.items) <= index < len(kind.items):
                raise self._no_item(len(kind.items), index, span)
            return self._item(value, index % len(kind.items), span)
        joined: Type | None = kind.items[0] if kind.items else None
        for item in kind.items[1:]:
            joined = None if joined is None else self.program.join(joined, item)
        if not isinstance(joined, Number):
            raise self.fail(
                "An item of this tuple can only be chosen by a constant: its items have different "
                "types.",
                span,
            )
        chosen = self.temporary(self._index(key, span))
        items = [
            self.convert(item, joined, span, "the item") for item in self.items_of(value, span)
        ]
        count = len(items)
        found = items[-1]
        for index in range(count - 2, -1, -1):
            here = self.compare(ast.Eq(), chosen, Static(index), span)
            back = self.compare(ast.Eq(), chosen, Static(index - count), span)
            either = ir.Logical(
                "or", (self.as_expression(here, span), self.as_expression(back, span)), span
            )
            found = ir.Select(either, items[index], found, joined, span)
        return found

    # -- arrays --------------------------------------------------------------------------------

    def element(self, array: Value, index: Value, span: ir.Span) -> ir.Element:
        """Return an element of an array, by an index or a tuple of them."""
        base = self.as_expression(array, span)
        if not isinstance(base.type, Array):
            raise self.fail(f"{self.describe(base)} is no array.", span)
        indices = self.items_of(index, span) if self._is_tuple(index) else [index]
        if len(indices) != base.type.ndim:
            raise self._wrong_count(base.type, len(indices), span)
        found = self._index_array(base, [(value, span) for value in indices], span)
        assert isinstance(found, ir.Element)
        return found

    def _wrong_count(self, kind: Array, given: int, span: ir.Span) -> TypingError:
        return self.fail(
            f"The array has {kind.ndim} dimension{'' if kind.ndim == 1 else 's'}, and {given} "
            f"{'index was' if given == 1 else 'indices were'} given.",
            span,
        )

    def subscript(self, array: ir.Expression, node: ast.expr, span: ir.Span) -> Value:
        """Return an element of an array or a view of it."""
        nodes = list(node.elts) if isinstance(node, ast.Tuple) else [node]
        kind = array.type
        assert isinstance(kind, Array)
        parts: list[tuple[Value | ir.Slice, ir.Span]] = []
        for part in nodes:
            place = self.span(part)
            if isinstance(part, ast.Slice):
                parts.append((self._slice(part, place), place))
                continue
            if isinstance(part, ast.Starred):
                parts += [(v, place) for v in self.items_of(self.value(part.value), place)]
                continue
            found = self.value(part)
            if isinstance(found, Static) and found.value is Ellipsis:
                missing = kind.ndim - (len(nodes) - 1)
                parts += [(ir.Slice(None, None, None, place), place)] * missing
            elif isinstance(found, Static) and found.value is None:
                raise self.refuse(
                    "A new axis cannot be made in a kernel.", place, "reshape the array before."
                )
            elif self._is_tuple(found):
                parts += [(value, place) for value in self.items_of(found, place)]
            elif isinstance(found, Static) and isinstance(found.value, str):
                return self._field_view(array, found.value, place)
            else:
                parts.append((found, place))
        if len(parts) > kind.ndim:
            raise self._wrong_count(kind, len(parts), span)
        return self._index_array(array, parts, span)

    def _field_view(self, array: ir.Expression, name: str, span: ir.Span) -> Value:
        """Return a field of all elements as an array of its own."""
        kind = array.type
        assert isinstance(kind, Array)
        names = kind.element.dtype.names if isinstance(kind.element, Record) else None
        if names is None or name not in names:
            known = f"its fields are {', '.join(names)}." if names else ""
            raise self.fail(f"The array has no field '{name}'.", span, known)
        dtype = kind.element.dtype.fields[name][0]  # type: ignore[index]
        element = element_type(dtype)
        if isinstance(element, Array) or kind.layout == "fixed":
            raise self.refuse(
                "This field cannot be taken from a whole array in a kernel.",
                span,
                f"index the array first: x[i][{name!r}].",
            )
        view = Array(element, kind.ndim, "strided", (), kind.space, kind.writable)
        return ir.Call(FIELD_VIEW, (array,), view, span, (name,))

    def _slice(self, node: ast.Slice, span: ir.Span) -> ir.Slice:
        bounds: list[ir.Expression | None] = []
        for part in (node.lower, node.upper, node.step):
            found = None if part is None else self.value(part)
            if found is None or (isinstance(found, Static) and found.value is None):
                bounds.append(None)
                continue
            assert part is not None
            bounds.append(self._index(found, self.span(part), "A slice's bound"))
        step = bounds[2]
        if isinstance(step, ir.Literal_) and step.value == 0:
            raise self.fail("A slice's step cannot be zero.", span)
        return ir.Slice(bounds[0], bounds[1], step, span)

    def _index(self, value: Value, span: ir.Span, what: str = "An index") -> ir.Expression:
        found = self.as_expression(value, span)
        if not isinstance(found.type, Number) or not found.type.is_integer:
            hint = ""
            if isinstance(found.type, Number) and found.type.is_floating:
                hint = "use '//' instead of '/', or convert with 'int(x)'."
            elif found.type == BOOL:
                hint = "convert with 'int(x)', or use 'if'."
            elif isinstance(found.type, Array):
                hint = "take 'len(x)', or an element."
                if what == "An index":
                    hint = "index with its elements in a loop."
            raise self.fail(f"{what} must be an integer, not '{found.type}'.", span, hint)
        return found

    def _index_array(
        self, array: ir.Expression, parts: Sequence[tuple[Value | ir.Slice, ir.Span]], span: ir.Span
    ) -> ir.Element | ir.Section:
        array, merged = self._merged(array, parts)
        kind = array.type
        assert isinstance(kind, Array)
        found: list[ir.Expression | ir.Slice] = []
        wraps: list[bool] = []
        for axis, (part, place) in enumerate(merged):
            if isinstance(part, ir.Slice):
                found.append(part)
                wraps.append(False)
                continue
            index, wrap = self._bounded(array, axis, part, place)
            found.append(index)
            wraps.append(wrap)
        if len(found) == kind.ndim and not any(isinstance(part, ir.Slice) for part in found):
            return ir.Element(array, tuple(found), tuple(wraps), kind.element, span)  # type: ignore[arg-type]
        found += [ir.Slice(None, None, None, span)] * (kind.ndim - len(found))
        settled = tuple(
            self._wrapped(array, axis, part) if not isinstance(part, ir.Slice) and wrap else part
            for axis, (part, wrap) in enumerate(
                zip(found, [*wraps, *([False] * (kind.ndim - len(wraps)))], strict=True)
            )
        )
        return ir.Section(array, settled, self._section_type(kind, settled), span)

    def _merged(
        self, array: ir.Expression, parts: Sequence[tuple[Value | ir.Slice, ir.Span]]
    ) -> tuple[ir.Expression, list[tuple[Value | ir.Slice, ir.Span]]]:
        """Return ``x[i][j]`` as ``x[i, j]``."""
        pending = list(parts)
        while isinstance(array, ir.Section):
            whole = [
                isinstance(part, ir.Slice) and not (part.start or part.stop or part.step)
                for part in array.parts
            ]
            leading = whole.index(True) if True in whole else len(whole)
            if not all(whole[leading:]) or any(
                isinstance(p, ir.Slice) for p in array.parts[:leading]
            ):
                break
            inner = array.array.type
            assert isinstance(inner, Array)
            if leading == 0 and array.type.layout == "strided" != inner.layout:
                break
            pending = [(part, part.span) for part in array.parts[:leading]] + pending
            array = array.array
        return array, pending

    def _extent(self, array: ir.Expression, axis: int, span: ir.Span) -> ir.Expression:
        kind = array.type
        assert isinstance(kind, Array)
        if kind.layout == "fixed":
            return ir.Literal_(kind.shape[axis], PY_INT, span)
        return ir.Extent(array, axis, span)

    def _bounded(
        self, array: ir.Expression, axis: int, value: Value, span: ir.Span
    ) -> tuple[ir.Expression, bool]:
        """Return an index along an axis, and whether it may be negative."""
        kind = array.type
        assert isinstance(kind, Array)
        index = self._index(value, span)
        assert isinstance(index.type, Number)
        if isinstance(index, ir.Literal_):
            number = int(index.value)
            if kind.layout == "fixed":
                extent = kind.shape[axis]
                if not -extent <= number < extent:
                    raise self.fail(
                        f"The index {number} is beyond an axis of {extent} elements.", span
                    )
                return ir.Literal_(number % extent, PY_INT, span), False
            if number < 0:
                whole = self._extent(array, axis, span)
                return ir.Binary("+", whole, ir.Literal_(number, PY_INT, span), PY_INT, span), False
            return index, False
        return index, index.type.dtype.kind != "u"

    def _wrapped(self, array: ir.Expression, axis: int, index: Any) -> ir.Expression:
        """Return an index that counts from the end where it is negative, for a view."""
        once = self.temporary(self.cast(index, PY_INT))
        negative = ir.Compare("<", once, ir.Literal_(0, PY_INT, once.span), once.span)
        moved = ir.Binary("+", once, self._extent(array, axis, once.span), PY_INT, once.span)
        return ir.Select(negative, moved, once, PY_INT, once.span)

    def _section_type(self, kind: Array, parts: tuple[ir.Expression | ir.Slice, ...]) -> Array:
        slices = [part for part in parts if isinstance(part, ir.Slice)]
        first = next((k for k, part in enumerate(parts) if isinstance(part, ir.Slice)), len(parts))
        trailing = parts[first:]
        dense = (
            kind.layout != "strided"
            and all(isinstance(part, ir.Slice) for part in trailing)
            and all(part.step is None for part in slices[:1])
            and all(not (p.start or p.stop or p.step) for p in slices[1:])
        )
        layout: Any = "C" if dense else "strided"
        return Array(kind.element, len(slices), layout, (), kind.space, kind.writable)

    # -- calls ---------------------------------------------------------------------------------

    def _call_node(self, node: ast.Call) -> Value:
        span = self.span(node)
        function = self.value(node.func)
        name = ast.unparse(node.func)
        if not isinstance(function, Static):
            raise self.fail(f"{self.describe(function)} cannot be called.", span)
        if isinstance(function.value, type(print)) and function.value is print:
            return self._print(node, span)
        nodes: list[ast.expr] = [*node.args, *(keyword.value for keyword in node.keywords)]
        values = self._starred_values(nodes)
        arguments: list[Value] = []
        spans: list[ir.Span] = []
        for argument, value in zip(node.args, values, strict=False):
            if isinstance(argument, ast.Starred):
                items = self.items_of(value, self.span(argument))
                arguments += items
                spans += [self.span(argument)] * len(items)
            else:
                arguments.append(value)
                spans.append(self.span(argument))
        keywords: dict[str, Value] = {}
        keyword_spans: dict[str, ir.Span] = {}
        for keyword, value in zip(node.keywords, values[len(node.args) :], strict=True):
            if keyword.arg is None:
                raise self.refuse(
                    "'**' before an argument cannot be used in a kernel.",
                    self.span(keyword.value),
                    "write the keywords one by one.",
                )
            keywords[keyword.arg] = value
            keyword_spans[keyword.arg] = self.span(keyword.value)
        site = CallSite(name, tuple(arguments), keywords, span, tuple(spans), keyword_spans)
        return self.call(function.value, tuple(arguments), site)

    def call(self, function: Any, arguments: tuple[Value, ...], site: CallSite) -> Value:
        """Call a Python function, a class or an intrinsic."""
        site = dataclasses.replace(site, arguments=arguments)
        if isinstance(function, BoundMethod):
            inner = (function.value, *arguments)
            return function.rule(
                self,
                dataclasses.replace(site, arguments=inner, spans=(site.span, *site.spans)),
            )
        found = self.program.call(self, function, site)
        if found is not None:
            return found
        name = getattr(function, "__name__", "")
        hint = REFUSED_CALLS.get(name, "")
        if hint and function is getattr(builtins, name):
            raise self.refuse(f"'{site.name}' cannot be used in a kernel.", site.span, hint)
        if not callable(function):
            raise self.fail(f"{self.describe(Static(function))} cannot be called.", site.span)
        if function in (enumerate, zip):
            raise self.refuse(
                f"'{site.name}' can only be looped over.",
                site.span,
                f"for item in {site.name}(...): ...",
            )
        hint = (
            "call a Python function whose text can be had, a function of 'math' or NumPy's scalar "
            "functions."
        )
        if function in (np.array, np.empty, np.zeros, np.ones, np.full):
            hint = "declare 'jit.local_memory(dtype, shape)', or pass an array."
        raise self.refuse(f"'{site.name}' is no function that kernels can call.", site.span, hint)

    def _print(self, node: ast.Call, span: ir.Span) -> Value:
        raise NotImplementedError


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class BoundMethod:
    """A method of a value that exists at run time.

    Parameters
    ----------
    value : Expression
    rule : callable
    name : str
    """

    value: ir.Expression
    rule: Callable[[Any, CallSite], Value]
    name: str

    @property
    def __name__(self) -> str:
        """What messages call it."""
        return self.name

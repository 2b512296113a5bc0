"""Values of restricted Python and what is common to all expressions: constants and expressions,
conversions, truth, statements that an expression needs before it.
"""

from __future__ import annotations

import ast
import dataclasses
import math
import types
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Never

import numpy as np

from kerneltk.core.dtypes import as_dtype, describe, is_supported
from kerneltk.errors import ArgumentTypeError, TypingError, UnsupportedError, render_message
from kerneltk.jit import ir
from kerneltk.jit.intrinsics.base import BoundMethod, Intrinsic, Static, Value
from kerneltk.jit.ir.types import (
    BOOL,
    PY_COMPLEX,
    PY_FLOAT,
    PY_INT,
    Array,
    Number,
    Record,
    Reference,
    Tuple,
    Type,
    Void,
    value_type,
)
from kerneltk.jit.lowering.references import (
    is_part,
    joined_references,
    memory_of,
    record_at,
    reference_to,
)
from kerneltk.jit.lowering.unsupported import refusal_of

if TYPE_CHECKING:
    from kerneltk.jit.lowering.program import ProgramBuilder
    from kerneltk.jit.source.function_source import FunctionSource

__all__ = ["Values", "reason_of", "type_of_annotation"]


def is_object(value: Value) -> bool:
    """Return whether a value is a plain Python object, not one that only a thread has."""
    return isinstance(value, Static) and not hasattr(value.value, "value_rule")


def name_of(value: Any) -> str:
    return str(getattr(value, "__name__", type(value).__name__))


def reason_of(error: Exception) -> str:
    """Return what an exception of Python's says, as the end of a sentence."""
    return str(error).rstrip(".")


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


class Values:
    """What the lowering of expressions begins with; implements a part of `intrinsics.base.Builder`.

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
        self._handlers: dict[type[ast.AST], Callable[[Any], Value]] = {}

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

    def wrapped(self, array: ir.Expression, axis: int, index: Any) -> ir.Expression:
        """Return an index that counts from the end where it is negative, for a view."""
        raise NotImplementedError

    def temporary(self, value: ir.Expression) -> ir.Expression:
        """Return an expression that can be used several times and is evaluated once, now: of a
        record that lies in memory, where that is.
        """
        if isinstance(value, ir.Literal_):
            return value
        reference = reference_to(self, value)
        return self.copied(value) if reference is value else record_at(self.copied(reference))

    def copied(self, value: ir.Expression) -> ir.Expression:
        """Return a value as it is now, in a variable of its own."""
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
        if memory_of(value) is not None or is_part(value):
            found: Value = self._settled_place(value)
            return found
        if isinstance(value.type, Array):  # memory of a known shape is never another one
            changes = (
                any(map(self._may_change, ir.walk(value)))
                if isinstance(value, ir.Section)  # its bounds are evaluated where it is used
                else isinstance(value, ir.Local) and not self.is_constant(value.name)
            )
            return self.temporary(value) if changes else value
        if not isinstance(value.type, Number | Record | Tuple):
            return value
        if isinstance(value, ir.Construct):
            settled = tuple(self.as_item(self._settled(item), item.span) for item in value.items)
            return dataclasses.replace(value, items=settled)
        if isinstance(value, ir.Extent):
            return value
        if isinstance(value, ir.Call) and not value.arguments:
            is_coordinate = value.operation.is_repeatable
            return value if is_coordinate else self.temporary(value)
        if isinstance(value, ir.Local) and self.is_constant(value.name):
            return value
        is_item = isinstance(value, ir.Field) and isinstance(value.value.type, Tuple)
        if is_item and not any(map(self._may_change, ir.walk(value))):
            return value
        return self.temporary(value)

    def _settled_place(self, place: Any, lasts: Callable[[ir.Local], bool] | None = None) -> Any:
        """Return an element or a field that statements to come do not make another one; `lasts`
        says which variables never change, by default from now on.
        """
        if isinstance(place, ir.Field):
            return dataclasses.replace(place, value=self._settled_place(place.value, lasts))
        if isinstance(place, ir.Element):
            array: Any = place.array
            is_view = isinstance(array, ir.Local | ir.Section) or is_part(array)
            array = self._settled_place(array, lasts) if is_view else self.temporary(array)
            indices: Any = tuple(self._settled_place(index, lasts) for index in place.indices)
            return dataclasses.replace(place, array=array, indices=indices)
        if lasts is not None and isinstance(place, ir.Local) and not lasts(place):
            return self.temporary(place)
        if lasts is not None and isinstance(place, ir.Section):
            return self.temporary(place)
        return self._settled(place)

    def _may_change(self, node: Any) -> bool:
        """Return whether an expression itself, without its parts, may have another value later."""
        if isinstance(node, ir.Local):
            return not self.is_constant(node.name)
        return isinstance(node, ir.Element | ir.Call)

    def is_constant(self, name: str) -> bool:
        """Return whether a variable never changes once it is read."""
        raise NotImplementedError

    # -- any expression ------------------------------------------------------------------------

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

    def make_tuple(
        self, values: Sequence[Value], span: ir.Span, like: Tuple | None = None
    ) -> Value:
        """Return a tuple of values."""
        if like is None and all(map(is_object, values)):
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
            return [record_at(item) for item in value.items]
        if isinstance(value, ir.Expression) and isinstance(value.type, Tuple):
            once = value if isinstance(value, ir.Local | ir.Field) else self.temporary(value)
            return [self._item(once, k, span) for k in range(len(value.type.items))]
        raise self.fail(
            f"{self.describe(value)} cannot be unpacked: a tuple is needed.",
            span,
        )

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
                return f"The function '{name_of(found)}'"
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
        """Return a value as a tuple or a call takes it; None may stand there."""
        if isinstance(value, Static) and value.value is None:
            return ir.Nothing(span)
        return self.kept(value, span)

    def kept(self, value: Value, span: ir.Span) -> ir.Expression:
        """Return a value as variables have it: memory of a known shape as a view, a record that
        lies in memory as a reference.
        """
        found = self.as_expression(value, span)
        kind = found.type
        if isinstance(kind, Array) and kind.layout == "fixed":
            return self.as_view(found, kind.dense_view(), span) or found
        return reference_to(self, found)

    def exchanged(self, value: Value, span: ir.Span) -> ir.Expression:
        """Return a value as other threads can be given it: records themselves, no references."""
        found = self.as_expression(value, span)
        return self.convert(found, value_type(found.type), span, "the value")

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
        name = name_of(found)
        hint = getattr(found, "instead", "") or (
            "use numbers, tuples, named tuples, instances of dataclasses or NumPy scalars; arrays "
            "are passed as arguments."
        )
        from kerneltk.jit.lowering.program import LocalFunction  # it calls back

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

    def _check_constant(self, found: Any, target: Number, span: ir.Span) -> None:
        """Raise for one of Python's numbers that an integer type has no place for."""
        limits = np.iinfo(target.dtype)
        if type(found) is float and not math.isfinite(found):
            raise self.fail(f"The number {found} is no integer.", span)
        if type(found) is int and not limits.min <= found <= limits.max:
            raise self.fail(
                f"The number {found} does not fit '{target}'.",
                span,
                f"use a wider dtype, or write 'np.{target}({found})' to wrap it around.",
            )

    def convert(self, value: Value, target: Type, span: ir.Span, what: str) -> ir.Expression:
        """Return a value as one of a type that it can be stored to; raises where it cannot.

        Parameters
        ----------
        what : str
            What it is stored to, for messages: ``"'y'"``, ``"an element of 'x'"``.
        """
        if isinstance(value, Static) and isinstance(target, Number) and target.is_integer:
            self._check_constant(value.value, target, span)
        found = self.as_expression(value, span)
        if isinstance(target, Reference):
            found = reference_to(self, found)
        if found.type == target:
            return found
        if isinstance(target, Reference) and joined_references(found.type, target) == target:
            return ir.Section(found, (), target, span)
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
        fits = found.dense_view() == target.dense_view()
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

    def _item(self, value: ir.Expression, index: int, span: ir.Span) -> Value:
        """Return an item of a tuple; None has no place in one."""
        kind = value.type
        assert isinstance(kind, Tuple)
        if isinstance(kind.items[index], Void):
            return Static(None)
        if isinstance(value, ir.Construct):
            found: Value = record_at(value.items[index])
        else:
            found = record_at(ir.Field(value, index, kind.items[index], span))
        return found

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

    def _starred_values(self, nodes: Sequence[ast.expr]) -> list[Value]:
        return self.in_order([n.value if isinstance(n, ast.Starred) else n for n in nodes])

    def _is_tuple(self, value: Value) -> bool:
        if isinstance(value, Static):
            return isinstance(value.value, tuple)
        return isinstance(value.type, Tuple)

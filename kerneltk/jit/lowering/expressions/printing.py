"""``print``: from Python's arguments and format specifications to those of C's printf."""

from __future__ import annotations

import ast
from collections.abc import Callable
from numbers import Number

import numpy as np

from kerneltk.core.records import pattern
from kerneltk.errors import UnsupportedError
from kerneltk.jit import ir
from kerneltk.jit.intrinsics.attributes import IMAG, REAL
from kerneltk.jit.intrinsics.base import Static, Value
from kerneltk.jit.intrinsics.execution.threads import Coordinates
from kerneltk.jit.ir.types import BOOL, PY_COMPLEX, PY_FLOAT, PY_INT, Tuple
from kerneltk.jit.lowering.builder import FunctionBuilder
from kerneltk.jit.lowering.expressions.instances import shown_fields
from kerneltk.jit.lowering.values.classes import is_tuple_class
from kerneltk.jit.lowering.values.conversion import parts_of
from kerneltk.jit.lowering.values.evaluation import evaluate

Part = str | tuple[str, ir.Expression]

_SPECIFICATION = pattern(r"([<>]?)([+ ]?)(0?)(\d*)((?:\.\d+)?)([bcdeEfFgGnosxX%]?)")
_CONVERSIONS: dict[int, Callable[[object], str]] = {ord("s"): str, ord("r"): repr, ord("a"): ascii}


def print_call(low: FunctionBuilder, node: ast.Call) -> Value:
    """Lower ``print(...)``."""
    separator, end = " ", "\n"
    for keyword in node.keywords:
        found = evaluate(low, keyword.value)
        span = low.span(keyword.value)
        if keyword.arg not in ("sep", "end"):
            name = f"'{keyword.arg}'" if keyword.arg else "like this"
            raise low.fail(
                f"'print' takes no keyword {name} in a kernel.", span, "it takes 'sep' and 'end'."
            )
        if not isinstance(found, Static):
            raise low.fail(f"'{keyword.arg}' of 'print' must be a constant.", span)
        _note_printed(low, found)
        text = (" " if keyword.arg == "sep" else "\n") if found.value is None else str(found.value)
        if keyword.arg == "sep":
            separator = text
        else:
            end = text
    parts: list[Part] = []
    shown: list[list[Part]] = []
    for argument in node.args:
        if isinstance(argument, ast.Starred):
            span = low.span(argument)
            items = low.items_of(evaluate(low, argument.value), span)
            shown += [_shown(low, item, span) for item in items]
        else:
            shown.append(_argument(low, argument))
    for index, pieces in enumerate(shown):
        parts += [separator] if index else []
        parts += pieces
    parts.append(end)
    if any("\0" in part for part in parts if isinstance(part, str)):
        raise low.refuse("A null character cannot be printed in a kernel.", low.span(node))
    low.emit(ir.Print(tuple(parts), low.span(node)))
    return Static(None)


def print_text(low: FunctionBuilder, node: ast.JoinedStr) -> str:
    """Print an f-string if it depends on the thread, and return it as constants alone show it."""
    parts = _argument(low, node)
    if all(isinstance(part, str) for part in parts):
        return "".join(map(str, parts))
    low.emit(ir.Print((*parts, "\n"), low.span(node)))
    return "".join(
        str(part.value) if isinstance(part, ast.Constant) else f"{{{ast.unparse(part.value)}}}"
        for part in node.values
        if isinstance(part, ast.Constant | ast.FormattedValue)
    )


def _argument(low: FunctionBuilder, node: ast.expr) -> list[Part]:
    if not isinstance(node, ast.JoinedStr):
        return _shown(low, evaluate(low, node), low.span(node))
    parts: list[Part] = []
    for piece in node.values:
        if isinstance(piece, ast.Constant):
            parts.append(str(piece.value))
            continue
        assert isinstance(piece, ast.FormattedValue)
        value = evaluate(low, piece.value)
        span = low.span(piece.value)
        specification = ""
        for part in (
            piece.format_spec.values if isinstance(piece.format_spec, ast.JoinedStr) else ()
        ):
            if not isinstance(part, ast.Constant):
                raise low.refuse(
                    "A format that is computed cannot be used in a kernel.",
                    span,
                    "write the number of digits as a constant.",
                )
            specification += str(part.value)
        if isinstance(value, Static) and not _has_value(value.value):
            _note_printed(low, value)
            if piece.conversion in _CONVERSIONS:
                value = Static(_CONVERSIONS[piece.conversion](value.value))
            if specification.endswith("n") and isinstance(value.value, Number):
                raise _refused_format(low, specification, span)  # the locale decides what it is
            try:
                parts.append(format(value.value, specification))
            except (TypeError, ValueError) as error:
                raise low.not_computed(error, (value.value,), span) from None
        elif not specification:
            parts += _shown(low, value, span)
        else:
            if piece.conversion in _CONVERSIONS:  # makes a string, which has no number's format
                specification = f"!{chr(piece.conversion)}:{specification}"
            parts += _formatted(low, low.as_number(value, span), specification, span)
    return parts


def _note_printed(low: FunctionBuilder, value: Static) -> None:
    if type(value.value) not in (str, int, float, bool, type(None)):
        low.program.lookups.give_up()  # of others NumPy's settings decide, or where they lie


def _has_value(found: object) -> bool:
    """Whether a thread has a value of its own for an object."""
    return hasattr(type(found), "value_rule") or isinstance(found, Coordinates)


def _shown(low: FunctionBuilder, value: Value, span: ir.Span) -> list[Part]:
    """Return how a value is printed without a format."""
    if isinstance(value, Static) and isinstance(value.value, Coordinates):
        of_axes = [Static(getattr(value.value, axis)) for axis in "xyz"]
        value = low.make_tuple(of_axes, span)
    if isinstance(value, Static) and not _has_value(value.value):
        _note_printed(low, value)
        return [str(value.value)]
    found = low.as_expression(value, span)
    if isinstance(found, ir.Nothing):
        return ["None"]
    if isinstance(found.type, Tuple):
        if found.type.maker is not None:
            return _instance(low, found, found.type.maker, span)
        parts: list[Part] = ["("]
        items = low.items_of(found, span)
        for index, item in enumerate(items):
            parts += [", "] if index else []
            parts += _shown(low, item, span)
        return [*parts, ",)" if len(items) == 1 else ")"]
    number = low.as_number(found, span, "What is printed")
    kind = ir.number_type(number)
    if kind == BOOL:
        return [("%s", number)]
    if kind.is_complex:
        once = low.temporary(low.cast(number, PY_COMPLEX))
        real = ir.Call(REAL, (once,), PY_FLOAT, span)
        imag = ir.Call(IMAG, (once,), PY_FLOAT, span)
        return ["(", ("%g", real), ("%+g", imag), "j)"]
    if kind.is_integer:
        return [_integer(low, number, "")]
    return [("%g", low.cast(number, PY_FLOAT))]


def _instance(low: FunctionBuilder, value: ir.Expression, kind: type, span: ir.Span) -> list[Part]:
    """Return how Python prints a named tuple or a dataclass: its name and its fields."""
    values = parts_of(low, value, span)
    name = kind.__name__ if is_tuple_class(kind) else kind.__qualname__
    parts: list[Part] = [f"{name}("]
    for number, (field, index) in enumerate(shown_fields(low, kind, span)):
        parts += [f"{', ' if number else ''}{field}="]
        parts += _shown(low, values[index], span)
    return [*parts, ")"]


def _integer(low: FunctionBuilder, number: ir.Expression, flags: str, letter: str = "d") -> Part:
    kind = ir.number_type(number)
    if kind.dtype == np.uint64:
        return f"%{flags}ll{'u' if letter == 'd' else letter}", number
    return f"%{flags}ll{letter}", low.cast(number, PY_INT)


def _refused_format(low: FunctionBuilder, specification: str, span: ir.Span) -> UnsupportedError:
    return low.refuse(
        f"The format '{specification}' cannot be used in a kernel.",
        span,
        "formats have a width, a precision and one of the letters d, x, o, e, f, g.",
    )


def _formatted(
    low: FunctionBuilder, number: ir.Expression, specification: str, span: ir.Span
) -> list[Part]:
    match = _SPECIFICATION.fullmatch(specification)
    kind = ir.number_type(number)
    letter = match[6] if match else ""
    # With a side zeros are not put between a sign and its number, and C puts them nowhere else.
    is_filled = match is not None and match[1] and match[3]
    if match is None or is_filled or letter in ("b", "c", "n", "s", "%") or kind.is_complex:
        raise _refused_format(low, specification, span)
    side, sign, zero, width, precision, _ = match.groups()
    flags = f"{'-' if side == '<' else ''}{sign}{zero}{width}"
    if letter in ("d", "x", "X", "o") or (not letter and (kind.is_integer or kind == BOOL)):
        if not (kind.is_integer or kind == BOOL) or precision:
            raise low.fail(f"The format '{specification}' needs an integer, not '{kind}'.", span)
        return [_integer(low, number, flags, letter or "d")]
    return [(f"%{flags}{precision}{letter or 'g'}", low.cast(number, PY_FLOAT))]

"""Typed IR -> C++ source. Decides no types: every node becomes what its type and kind say."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from kerneltk.core.dtypes import describe
from kerneltk.core.identifiers import variable_problem
from kerneltk.core.records import cached_property
from kerneltk.jit import ir
from kerneltk.jit.codegen.declarations import declaration_sites
from kerneltk.jit.ir.types import (
    BOOL,
    PY_INT,
    Array,
    Number,
    Opaque,
    Record,
    Tuple,
    Type,
    Void,
)
from kerneltk.jit.passes.liveness import mentioned

# Precedences of C++, higher binds tighter.
PRIMARY, _UNARY, _PRODUCT, _SUM, _SHIFT, _ORDER, _EQUAL = 16, 15, 13, 12, 11, 9, 8
_PARTS = ("real", "imag")  # of complex numbers
_BIT_AND, _BIT_XOR, _BIT_OR, _AND, _OR, _CHOICE = 7, 6, 5, 4, 3, 2
_INFIX = {
    "+": _SUM, "-": _SUM, "*": _PRODUCT, "/": _PRODUCT, "div": _PRODUCT, "rem": _PRODUCT,
    "&": _BIT_AND, "^": _BIT_XOR, "|": _BIT_OR,
}  # fmt: skip
_NEGATED_BY_FUNCTION = (np.dtype("int8"), np.dtype("int16"))
_SYMBOLS = {"div": "/", "rem": "%"}
_FUNCTIONS = {
    "//": "kerneltk::jit::floor_divide",
    "%": "kerneltk::jit::modulo",
    "**": "kerneltk::jit::power",
}
_NUMBERS = "jit_numbers.hpp"

Text = tuple[str, int]


def literal(value: Any, kind: Number) -> Text:
    """Return a number as C++ source, and its precedence."""
    dtype = kind.dtype
    if kind == BOOL:
        return ("true" if value else "false"), PRIMARY
    if kind.is_integer:
        return _integer_literal(int(value), dtype)
    if dtype == np.float32:
        return _float_literal(np.float32(value), "f")
    if dtype == np.float64:
        return _float_literal(np.float64(value), "")
    if kind.is_complex:
        part = np.float32 if dtype == np.complex64 else np.float64
        texts = [
            _float_literal(part(x), "f" if part is np.float32 else "")[0]
            for x in (value.real, value.imag)
        ]
        return f"{describe(dtype).ctype}({', '.join(texts)})", PRIMARY
    return f"{describe(dtype).ctype}({_float_literal(np.float32(value), 'f')[0]})", PRIMARY


def _integer_literal(value: int, dtype: np.dtype[Any]) -> Text:
    unsigned = "u" if dtype.kind == "u" else ""
    if dtype.itemsize == 8:
        if value == -(2**63):
            return "(-9223372036854775807ll - 1)", PRIMARY
        return f"{value}{unsigned}ll", PRIMARY if value >= 0 else _UNARY
    if dtype.itemsize == 4:
        if value == -(2**31):
            return "(-2147483647 - 1)", PRIMARY
        return f"{value}{unsigned}", PRIMARY if value >= 0 else _UNARY
    return f"({describe(dtype).ctype}){value}", _UNARY


def _float_literal(value: Any, suffix: str) -> Text:
    if math.isnan(value) or math.isinf(value):
        bits = (
            f"__int_as_float({int(np.float32(value).view(np.int32))})"
            if suffix
            else f"__longlong_as_double({int(np.float64(value).view(np.int64))}ll)"
        )
        return bits, PRIMARY
    text = np.format_float_positional(value, unique=True, trim="0")
    if len(text) > 24:
        text = np.format_float_scientific(value, unique=True, trim="-")
    return text + suffix, _UNARY if math.copysign(1, value) < 0 else PRIMARY


def is_empty(kind: Type) -> bool:
    """Whether values of a type have no bytes: None, and tuples of nothing else."""
    if isinstance(kind, Tuple):
        return all(map(is_empty, kind.items))
    return isinstance(kind, Void)


def _constant_words(values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return numbers as constant memory is initialised with them: no constructors and functions can
    stand there, so that complex numbers are two, and the bits of others have to do.
    """
    if values.dtype.kind == "c":
        values = values.view(values.real.dtype)
    is_plain = values.dtype.name in ("float32", "float64") and np.isfinite(values).all()
    if is_plain or values.dtype.kind in "biu":
        return values
    return values.view(f"u{values.dtype.itemsize}")


def _in_brackets(index: str) -> str:
    """Return an index; two brackets in a row would begin an attribute."""
    return f"[({index})]" if index.startswith("[") else f"[{index}]"


def _is_coordinate(node: Any) -> bool:
    """Whether an expression is CUDA's variable for one, as a Python int."""
    coordinate = node.operation.coordinate if isinstance(node, ir.Call) else None
    return coordinate is not None and coordinate.variable not in ("grid", "gridsize")


def _is_promoted(kind: Type) -> bool:
    """Whether C++ computes with a wider type, so that a result must be cut."""
    if not isinstance(kind, Number) or kind == BOOL:
        return False
    return kind.dtype.itemsize < 4


def _may_fold_to_zero(node: ir.Expression) -> bool:
    """Whether a compiler may find that an expression is zero, as of `x - x`, or of a variable that
    was assigned that once.
    """
    if isinstance(node, ir.Cast):
        return _may_fold_to_zero(node.operand)
    return _is_zero(node) or isinstance(node, ir.Binary | ir.Local | ir.Select | ir.Unary)


def _has_no_minus_zero(node: ir.Expression) -> bool:
    """Whether g++ may see that an expression is not -0.0: it takes 0.0 - x for -x then,
    which is -0.0 where x is 0.0. It does so within one expression, before functions are inlined.
    """
    return isinstance(node, ir.Cast | ir.Call | ir.Select)


def _may_overflow(node: Any) -> bool:
    """Whether an operation has to wrap around where C++ leaves an overflow undefined, which
    compilers make use of. Python's own integers are not meant to overflow.
    """
    kind = node.type
    if not isinstance(kind, Number) or kind.weak:
        return False
    if isinstance(node, ir.Binary) and node.op == "*" and kind.dtype == np.uint16:
        return True  # computed in int
    if kind.dtype.kind != "i" or kind.dtype.itemsize < 4:
        return False
    if isinstance(node, ir.Unary):
        return node.op == "-"
    return isinstance(node, ir.Binary) and node.op in ("+", "-", "*")


class Emitter:
    """Writes a program; `launch_bounds` between ``__global__ void`` and the kernel's name. Offsets
    in arrays that are known to be 32-bit-indexable have 32 bits.
    """

    def __init__(
        self, program: ir.Program, launch_bounds: str = "", is_32bit_indexable: bool = False
    ) -> None:
        self._program = program
        self._is_32bit_indexable = is_32bit_indexable
        self._bounds = launch_bounds
        self.headers: dict[str, None] = {"jit_array.hpp": None}
        self.declarations: dict[str, None] = {}
        self._recursive = {f.name for f in program.functions if f.is_recursive}
        self._tuples: dict[Tuple, str] = {}
        self._constants: list[str] = []
        self._lines: list[str] = []
        self._depth = 0
        self._where: tuple[str, int] | None = None
        self._in_threads = False
        self._handlers: dict[type, Callable[[Any], Text]] = {
            ir.Literal_: self._literal,
            ir.Local: self._local,
            ir.Cast: self._cast,
            ir.Unary: self._unary,
            ir.Not: self._not,
            ir.Binary: self._binary,
            ir.Compare: self._compare,
            ir.Logical: self._logical,
            ir.Select: self._select,
            ir.Element: self._element,
            ir.Section: self._section,
            ir.Extent: self._extent,
            ir.Field: self._field,
            ir.Construct: self._construct,
            ir.Call: self._call,
            ir.Invoke: self._invoke,
        }
        self._statements: dict[type, Callable[[Any], None]] = {
            ir.Declare: self._declare,
            ir.Store: self._store,
            ir.Update: self._update,
            ir.Evaluate: lambda node: self._line(f"{self.text(node.value)};"),
            ir.If: self._if,
            ir.While: self._while,
            ir.For: self._for,
            ir.Break: lambda node: self._line("break;"),
            ir.Continue: lambda node: self._line("continue;"),
            ir.Return: self._return,
            ir.Assert: self._assert,
            ir.Print: self._print,
            ir.ThreadLoop: self._thread_loop,
        }

    # -- types ---------------------------------------------------------------------------------

    def ctype(self, kind: Type) -> str:
        """Return the C++ type of a type."""
        if isinstance(kind, Number | Record):
            info = describe(kind.dtype)
            for header in info.headers:
                self.headers[header] = None
            if info.declaration:
                self.declarations[info.declaration] = None
            return info.ctype
        if isinstance(kind, Array):
            if kind.layout == "fixed":
                raise AssertionError("memory has no type that can be written before a name")
            element = self.element_ctype(kind)
            const = "" if kind.writable else "const "
            name = "array" if kind.layout == "C" else "strided"
            if kind.ndim == 0:
                name = "array"
            return f"kerneltk::jit::{name}<{const}{element}, {kind.ndim}>"
        if isinstance(kind, Tuple):
            return self._tuple_type(kind)
        if isinstance(kind, Opaque):
            details = dict(kind.details)
            for header in details.get("headers", ()):
                self.headers[header] = None
            return kind.ctype.format(*map(self.ctype, details.get("types", ())))
        assert isinstance(kind, Void)
        return "void"

    def element_ctype(self, kind: Array) -> str:
        """Return the C++ type of an array's elements as they lie in memory."""
        element = self.ctype(kind.element)
        if (
            kind.packed
            and isinstance(kind.element, Number)
            and describe(kind.element.dtype).headers
        ):
            self.headers["unaligned.hpp"] = None
            element = f"kerneltk::unaligned<{element}>"  # compilers do not pack classes
        return f"kerneltk::jit::packed<{element}>" if kind.packed else element

    def _tuple_type(self, kind: Tuple) -> str:
        name = self._tuples.get(kind)
        if name is None:
            fields = "".join(
                f" {self.ctype(item)} {self._item_name(kind, k)};"
                for k, item in enumerate(kind.items)
                if not is_empty(item)
            )
            label = kind.maker.__name__ if kind.maker is not None else "tuple"
            label = label if label.isascii() else "tuple"
            name = self._tuples[kind] = f"_kt_{label}{len(self._tuples)}"
            self.declarations[f"struct {name} {{{fields} }};"] = None
        return name

    def _item_name(self, kind: Tuple, index: int) -> str:
        name = kind.names[index] if kind.names else ""
        is_own = not name or variable_problem(name) or name.removeprefix("item").isdecimal()
        return f"item{index}" if is_own else name

    def item_names(self, kind: Tuple) -> list[str]:
        """Return the names of a tuple's items in the source."""
        return [self._item_name(kind, index) for index in range(len(kind.items))]

    # -- expressions ---------------------------------------------------------------------------

    def text(self, node: ir.Expression, least: int = 0) -> str:
        """Return an expression's source, in parentheses if it binds less than `least`."""
        if isinstance(node, ir.Element | ir.Field) and self._is_misaligned(node):
            # Read as a value: a parameter that is a reference would have an aligned one.
            text = f"({self.ctype(node.type)}){self._lvalue(node, _UNARY)}"
            return text if least <= _UNARY else f"({text})"
        if _may_be_any_byte(node):
            return f"kerneltk::jit::truth({self._lvalue(node)})"
        return self._lvalue(node, least)

    def _lvalue(self, node: ir.Expression, least: int = 0) -> str:
        """Return the source of what is written or of what has an address; of others, as `text`."""
        text, precedence = self._handlers[type(node)](node)
        return text if precedence >= least else f"({text})"

    def _is_misaligned(self, node: ir.Element | ir.Field) -> bool:
        kind = node.type
        return (
            isinstance(kind, Number) and describe(kind.dtype).alignment > 1 and ir.is_packed(node)
        )

    def _infix(self, node: ir.Expression, least: int) -> str:
        """Return an operand whose partner decides its type: short ones stand as they are."""
        if isinstance(node, ir.Literal_) and node.type.dtype == np.int64:
            value = int(node.value)
            if -(2**31) < value < 2**31:
                return str(value) if value >= 0 or least <= _SUM else f"({value})"
        return self.text(node, least)

    def _literal(self, node: ir.Literal_) -> Text:
        self.ctype(node.type)
        return literal(node.value, node.type)

    def _local(self, node: ir.Local) -> Text:
        if node.name in self._function.per_thread:
            return f"{node.name}[_kt_rank]", PRIMARY
        return node.name, PRIMARY

    def _cast(self, node: ir.Cast) -> Text:
        source, target = ir.number_type(node.operand), node.type
        if source.dtype == target.dtype:
            return self._handlers[type(node.operand)](node.operand)
        ctype = self.ctype(target)
        self.ctype(source)
        is_plain = isinstance(node.operand, ir.Literal_) or _is_coordinate(node.operand)
        of_class = any(kind.is_complex or kind.is_half for kind in (source, target))
        if of_class or (not is_plain and self._may_keep_sign_of_zero(source, target)):
            return self.converted(self.text(node.operand), source, target), PRIMARY
        if target == BOOL:
            return f"{self.text(node.operand, _EQUAL + 1)} != 0", _EQUAL
        operand = self.text(node.operand, _UNARY)
        if target.is_integer and _is_coordinate(node.operand):
            operand = operand.removeprefix("(long long)")
        return f"({ctype}){operand}", _UNARY

    def converted(self, text: str, source: Number, target: Number) -> str:
        """Return the call that makes a number of one type one of another."""
        self._needs_numbers(source)
        self._needs_numbers(target)
        name = "whole" if self._may_keep_sign_of_zero(source, target) else "convert"
        return f"kerneltk::jit::{name}<{self.ctype(target)}>({text})"

    def _may_keep_sign_of_zero(self, source: Number, target: Number) -> bool:
        """Whether an integer that was a float may become one with its sign of zero."""
        is_of_float = source.is_integer and (target.is_floating or target.is_complex)
        return is_of_float and self._truncates

    @cached_property
    def _truncates(self) -> bool:
        """Whether floats become integers: back in a float, their zeros have no sign, which g++
        forgets.
        """
        nodes = ir.walk(*(node for function in self._program.functions for node in function.body))
        casts = ((n.operand.type, n.type) for n in nodes if isinstance(n, ir.Cast))
        return any(a.is_floating and b.is_integer for a, b in casts if isinstance(a, Number))

    def _needs_numbers(self, kind: Type) -> None:
        self.headers[_NUMBERS] = None
        if isinstance(kind, Number) and kind.is_complex:
            self.headers["jit_numbers_complex.hpp"] = None

    def _cut(self, kind: Type, text: str, precedence: int) -> Text:
        if not _is_promoted(kind):
            return text, precedence
        return f"({self.ctype(kind)})({text})", _UNARY

    def _wrapping(self, node: ir.Expression) -> Text:
        """Return an integer as an unsigned one, in which sums and products wrap around."""
        assert isinstance(node.type, Number)
        is_long = node.type.dtype.itemsize == 8
        if isinstance(node, ir.Literal_) and node.value >= 0:
            return f"{int(node.value)}{'ull' if is_long else 'u'}", PRIMARY
        if isinstance(node, ir.Unary) and _may_overflow(node):
            return f"{'0ull' if is_long else '0u'} - {self._infix(node.operand, _PRODUCT)}", _SUM
        if isinstance(node, ir.Binary) and _may_overflow(node):
            own = _INFIX[node.op]
            left, precedence = self._wrapping(node.left)
            left = left if precedence >= own else f"({left})"
            return f"{left} {node.op} {self._infix(node.right, own + 1)}", own
        ctype = "unsigned long long" if is_long else "unsigned int"
        return f"({ctype}){self.text(node, _UNARY)}", _UNARY

    def _negative(self, operand: ir.Expression) -> Text:
        """Return a small integer's negation by a function: ptxas's may not wrap around."""
        self._needs_numbers(operand.type)
        name = f"kerneltk::jit::negative<{self.ctype(operand.type)}>"
        return f"{name}({self.text(operand)})", PRIMARY

    def _unary(self, node: ir.Unary) -> Text:
        if node.op == "-" and node.type.dtype in _NEGATED_BY_FUNCTION:
            return self._negative(node.operand)
        if _may_overflow(node):
            return f"({self.ctype(node.type)})({self._wrapping(node)[0]})", _UNARY
        operand = self.text(node.operand, _UNARY)
        if node.op == "-" and operand.startswith("-"):
            operand = f"({operand})"
        return self._cut(node.type, f"{node.op}{operand}", _UNARY)

    def _not(self, node: ir.Not) -> Text:
        return f"!{self.text(node.operand, _UNARY)}", _UNARY

    def _binary(self, node: ir.Binary) -> Text:
        op, kind = node.op, node.type
        if op == "-" and kind.dtype in _NEGATED_BY_FUNCTION and _is_zero(node.left):
            return self._negative(node.right)
        if _may_overflow(node):
            return f"({self.ctype(kind)})({self._wrapping(node)[0]})", _UNARY
        if op == "/" and kind == node.left.type == node.right.type and kind.dtype.itemsize == 2:
            self._needs_numbers(kind)
            return (
                f"kerneltk::jit::quotient({self.text(node.left)}, {self.text(node.right)})",
                PRIMARY,
            )
        if op in ("//", "%") and kind.dtype.kind == "u":
            op = {"//": "div", "%": "rem"}[op]
        precedence = _INFIX.get(op)
        if precedence is not None:
            symbol = _SYMBOLS.get(op, op)
            # Two literals of Python's would be computed in 32 bits.
            both = isinstance(node.left, ir.Literal_) and isinstance(node.right, ir.Literal_)
            left = self.text(node.left, precedence) if both else self._infix(node.left, precedence)
            right = self._infix(node.right, precedence + 1)
            if op in _SYMBOLS and not (isinstance(node.right, ir.Literal_) and node.right.value):
                self.headers["jit_divisor.hpp"] = None
                right = f"kerneltk::jit::checked_divisor({self.text(node.right)})"
            if (
                op == "-"
                and kind.dtype.kind == "f"
                and _may_fold_to_zero(node.left)
                and _has_no_minus_zero(node.right)
            ):
                self._needs_numbers(kind)
                right = f"kerneltk::jit::positive({self.text(node.right)})"
            if precedence < _EQUAL:  # compilers warn where bits and sums mix
                left = self._grouped(node.left, left, precedence)
                right = self._grouped(node.right, right, precedence)
            if kind == BOOL:
                return f"(bool)({left} {symbol} {right})", _UNARY
            return self._cut(kind, f"{left} {symbol} {right}", precedence)
        if op in ("<<", ">>"):
            return self._shift(node)
        self._needs_numbers(kind)
        if op == "**" and kind.is_complex:
            self.headers["complex_powers.hpp"] = None
        if op == "**" and isinstance(node.right, ir.Literal_):
            exponent = node.right.value
            if (
                not kind.is_complex
                and exponent in (2, 3, 4)
                and (kind.is_integer or kind.is_floating)
            ):
                name = f"kerneltk::jit::power_constant<{int(exponent)}>"
                return f"{name}({self.text(node.left)})", PRIMARY
        return (f"{_FUNCTIONS[op]}({self.text(node.left)}, {self.text(node.right)})", PRIMARY)

    def _grouped(self, node: ir.Expression, text: str, precedence: int) -> str:
        if isinstance(node, ir.Binary) and _INFIX.get(node.op, precedence) != precedence:
            return text if text.startswith("(") and text.endswith(")") else f"({text})"
        return text

    def _shift(self, node: ir.Binary) -> Text:
        right, kind = node.right, node.type
        if isinstance(right, ir.Literal_) and 0 <= right.value < 8 * kind.dtype.itemsize:
            left = self.text(node.left, _SHIFT)
            if node.op == "<<" and kind.weak and right.value < 63:
                factor = ir.Literal_(1 << int(right.value), PY_INT, right.span)
                return f"{self.text(node.left, _PRODUCT)} * {self._infix(factor, 0)}", _PRODUCT
            if node.op == "<<" and kind.dtype.kind == "i":
                # Shifting a negative number to the left is not defined before C++20.
                text, precedence = self._wrapping(node.left)
                text = text if precedence >= _SHIFT else f"({text})"
                return f"({self.ctype(kind)})({text} << {int(right.value)})", _UNARY
            return self._cut(kind, f"{left} {node.op} {int(right.value)}", _SHIFT)
        self._needs_numbers(kind)
        name = "shift_left" if node.op == "<<" else "shift_right"
        return f"kerneltk::jit::{name}({self.text(node.left)}, {self.text(right)})", PRIMARY

    def _compare(self, node: ir.Compare) -> Text:
        precedence = _EQUAL if node.op in ("==", "!=") else _ORDER
        both = isinstance(node.left, ir.Literal_) and isinstance(node.right, ir.Literal_)
        left = self.text(node.left, _SHIFT) if both else self._infix(node.left, _SHIFT)
        return f"{left} {node.op} {self._infix(node.right, _SHIFT)}", precedence

    def _logical(self, node: ir.Logical) -> Text:
        symbol, precedence = ("&&", _AND) if node.op == "and" else ("||", _OR)
        parts = [self.text(part, _BIT_OR + 1) for part in node.operands]
        return f" {symbol} ".join(parts), precedence

    def _select(self, node: ir.Select) -> Text:
        condition = self.text(node.condition, _CHOICE + 1)
        then, orelse = self.text(node.then, _CHOICE + 1), self.text(node.orelse, _CHOICE)
        choices, kind = (node.condition, node.then, node.orelse), node.type
        is_plain = all(isinstance(one, ir.Local | ir.Literal_) for one in choices)
        if is_plain and isinstance(kind, Number) and kind.dtype.kind == "c":
            # GCC takes a choice between objects for a branch, and then makes no vectors.
            parts = [f"{condition} ? {then}.{part}() : {orelse}.{part}()" for part in _PARTS]
            return f"{self.ctype(kind)}({', '.join(parts)})", PRIMARY
        return self._cut(node.type, f"{condition} ? {then} : {orelse}", _CHOICE)

    def _indices(self, node: ir.Element) -> list[str]:
        texts = []
        array = ir.array_type(node.array)
        for axis, (index, wrap) in enumerate(zip(node.indices, node.wrap, strict=True)):
            text = self._infix(index, 0)
            if wrap:
                if array.layout == "fixed":
                    extent = str(array.shape[axis])
                else:
                    extent = f"{self.text(node.array, PRIMARY)}.shape[{axis}]"
                text = f"kerneltk::jit::wrapped({self.text(index)}, {extent})"
            texts.append(text)
        return texts

    def _element(self, node: ir.Element) -> Text:
        array = ir.array_type(node.array)
        base = self.text(node.array, PRIMARY)
        indices = self._indices(node)
        if array.layout == "fixed":
            return base + "".join(map(_in_brackets, indices)), PRIMARY
        inner = ".value" if array.packed else ""
        if len(indices) == 1:
            return f"{base}{_in_brackets(indices[0])}{inner}", PRIMARY
        in_32bit = self._is_32bit_indexable and array.layout == "C"
        near = ".near" if in_32bit and len(indices) > 1 else ""
        return f"{base}{near}({', '.join(indices)}){inner}", PRIMARY

    def _extent(self, node: ir.Extent) -> Text:
        return f"{self.text(node.array, PRIMARY)}.shape[{node.axis}]", PRIMARY

    def _section(self, node: ir.Section) -> Text:
        """A view: a call of a function object that computes pointer, shape and steps."""
        source, target = ir.array_type(node.array), node.type
        ctype = self.ctype(target)
        base = self.text(node.array, PRIMARY)
        fixed = source.layout == "fixed"
        leading: list[str] = []
        shapes: list[str] = []
        steps: list[str] = []
        prologue: list[str] = []
        element = self.ctype(source.element)
        for axis, part in enumerate(node.parts):
            extent = str(source.shape[axis]) + "ll" if fixed else f"{base}.shape[{axis}]"
            step = f"{base}.stride({axis})"
            if fixed:
                step = f"{math.prod(source.shape[axis + 1 :])} * (long long)sizeof({element})"
            if not isinstance(part, ir.Slice):
                leading.append(self._infix(part, 0))
                continue
            if part.start is None and part.stop is None and part.step is None:
                leading.append("0")
                shapes.append(extent)
                steps.append(step)
                continue
            name = f"_kt_r{len(prologue)}"
            prologue.append(f"const kerneltk::jit::range {name} = {self._range(part, extent)};")
            leading.append(f"{name}.start")
            shapes.append(f"{name}.count")
            steps.append(f"{name}.step * {step}")
        address = f"{base}.at({', '.join(leading)})"
        if fixed:
            address = f"&{base}" + "".join(map(_in_brackets, leading))
        if target.packed and (fixed or not source.packed):
            address = f"kerneltk::jit::at_any_byte({address})"
        if target.ndim == 0:
            body = f"{ctype}{{{address}}}"
        elif target.layout == "C":
            body = f"{ctype}{{{address}, {{{', '.join(shapes)}}}}}"
        else:
            body = f"{ctype}{{{address}, {{{', '.join(shapes)}}}, {{{', '.join(steps)}}}}}"
        if prologue:
            return f"[&] {{ {' '.join(prologue)} return {body}; }}()", PRIMARY
        return body, PRIMARY

    def _range(self, part: ir.Slice, extent: str) -> str:
        def bound(node: ir.Expression | None) -> str:
            return "kerneltk::jit::from_the_end" if node is None else self.text(node)

        if part.step is None or (isinstance(part.step, ir.Literal_) and part.step.value > 0):
            step = "1" if part.step is None else self.text(part.step)
            start = "0" if part.start is None else self.text(part.start)
            stop = extent if part.stop is None else self.text(part.stop)
            return f"kerneltk::jit::ascending({start}, {stop}, {step}, {extent})"
        texts = (bound(part.start), bound(part.stop), self.text(part.step))
        return f"kerneltk::jit::any_slice({', '.join(texts)}, {extent})"

    def _field(self, node: ir.Field) -> Text:
        base = self.text(node.value, PRIMARY)
        if isinstance(node.key, int):
            assert isinstance(node.value.type, Tuple)
            return f"{base}.{self._item_name(node.value.type, node.key)}", PRIMARY
        return f"{base}.{node.key}", PRIMARY

    def _construct(self, node: ir.Construct) -> Text:
        items = ", ".join(self.text(item) for item in node.items if not is_empty(item.type))
        return f"{self.ctype(node.type)}{{{items}}}", PRIMARY

    def _call(self, node: ir.Call) -> Text:
        operation = node.operation
        for header in operation.headers:
            self.headers[header] = None
        texts = [
            f"&{self._lvalue(argument, _UNARY)}"
            if k in operation.by_reference
            else self.text(argument)
            for k, argument in enumerate(node.arguments)
        ]
        for argument in node.arguments:
            if isinstance(argument.type, Number):
                self.ctype(argument.type)
                if argument.type.is_complex and _NUMBERS in operation.headers:
                    self.headers["jit_numbers_complex.hpp"] = None
        if callable(operation.source):
            return operation.source(self, node, texts), PRIMARY
        facts = {f"static{k}": fact for k, fact in enumerate(node.static)}
        facts["type"] = "" if isinstance(node.type, Void) else self.ctype(node.type)
        for k, argument in enumerate(node.arguments):
            if f"{{type{k}}}" in operation.source:
                facts[f"type{k}"] = self.ctype(argument.type)
        text = operation.source.format(*texts, **facts)
        return text, PRIMARY if text.endswith((")", ".x", ".y", ".z")) else _UNARY

    def _invoke(self, node: ir.Invoke) -> Text:
        arguments = [self.text(item) for item in node.arguments if not is_empty(item.type)]
        if node.function in self._recursive:
            depth = "_kt_depth" if self._function.is_recursive else "kerneltk::jit::depth()"
            arguments.insert(0, depth)
        # A variable may have the function's name: 'area = shapes.area(x)'.
        hidden = "::" if node.function in self._variables else ""
        return f"{hidden}{node.function}({', '.join(arguments)})", PRIMARY

    # -- statements ----------------------------------------------------------------------------

    def _line(self, text: str) -> None:
        self._lines.append("    " * self._depth + text)

    def _mark(self, span: ir.Span) -> None:
        """Say which of the user's lines the next line is from."""
        line = span.line
        if self._where != (self._function.source.path, line):
            self._where = (self._function.source.path, line)
            text = self._function.source.line(line).strip()
            # A backslash at its end would take the next line into the comment.
            self._line(f"// {text.rstrip(chr(92))}")
        self._lines.append(f'#line {line} "{_quoted(self._function.source.path)}"')

    def _block(self, statements: Iterable[ir.Statement]) -> None:
        self._depth += 1
        for statement in statements:
            self._mark(statement.span)
            self._statements[type(statement)](statement)
        self._depth -= 1

    def _declare(self, node: ir.Declare) -> None:
        kind = node.type
        if isinstance(kind, Opaque):
            self._line(f"__shared__ {self.ctype(kind)} {node.name};")
            return
        assert isinstance(kind, Array)
        element = self.ctype(kind.element)
        extents = "".join(f"[{extent or 1}]" for extent in kind.shape)  # constants may have none
        align = f"alignas({node.alignment}) " if node.alignment else ""
        if kind.space == "constant":
            self._constant(node, element, extents)
        elif node.dynamic:
            self._dynamic(node, element, align)
        elif kind.space == "shared":
            self._line(f"{align}__shared__ {element} {node.name}{extents};")
        elif node.name in self._function.per_thread:  # with the shared memory: stacks are small
            threads = "[kerneltk::grid::most_threads]"
            self._line(f"{align}static thread_local {element} {node.name}{threads}{extents};")
        else:
            self._line(f"{align}{element} {node.name}{extents};")

    def _dynamic(self, node: ir.Declare, element: str, align: str) -> None:
        self.headers["jit_dynamic.hpp"] = None
        name = f"kerneltk::jit::dynamic_shared<{element}>()"
        self._line(f"const {self.ctype(node.type)} {node.name} = {name};")

    def _constant(self, node: ir.Declare, element: str, extents: str) -> None:
        kind = ir.array_type(node)
        is_record = isinstance(kind.element, Record)
        unit = np.dtype(np.uint8) if is_record else kind.element.dtype
        held = _constant_words(np.frombuffer(node.data or bytes(kind.element.dtype.itemsize), unit))
        word = self.ctype(Number(held.dtype))
        numbers = ", ".join(literal(value, Number(held.dtype))[0] for value in held)
        name = f"_kt_constant{len(self._constants)}"
        align = f"alignas({element}) " if word != element else ""
        self._constants.append(
            f"{align}__constant__ const {word} {name}[{len(held)}] = {{{numbers}}};"
        )
        view = f"const {element} (&{node.name}){extents}"
        self._line(f"{view} = reinterpret_cast<const {element} (&){extents}>({name});")

    def _store(self, node: ir.Store) -> None:
        value = self.text(node.value)
        target = node.target
        if (
            isinstance(target, ir.Local)
            and id(node) in self._first
            and target.name not in self._function.per_thread
        ):
            const = "const " if target.name in self._once else ""
            self._line(f"{const}{self.ctype(target.type)} {target.name} = {value};")
            return
        self._line(f"{self._lvalue(target)} = {value};")

    def _update(self, node: ir.Update) -> None:
        value = node.value
        target = self._lvalue(node.target)
        packed = ir.is_packed(node.target)  # neither references nor `+=` heed that
        is_bool = node.target.type == BOOL
        if (
            not packed
            and isinstance(value, ir.Binary)
            and value.op in ("+", "-", "*", "/", "&", "|", "^")
            and isinstance(value.left, ir.Local)
            and value.left.name == node.name
            and value.type == node.target.type
            and not is_bool
            and not _is_promoted(value.type)
            and not _may_overflow(value)
            and node.name not in mentioned((value.right,))
        ):
            self._line(f"{target} {value.op}= {self.text(value.right)};")
            return
        self._line("{")
        self._depth += 1
        by_value = packed or is_bool
        read = self.text(node.target) if is_bool else target
        reference = "" if by_value else "&"
        self._line(f"{self.ctype(node.target.type)}{reference} {node.name} = {read};")
        self._line(f"{target if by_value else node.name} = {self.text(value)};")
        self._depth -= 1
        self._line("}")

    def _if(self, node: ir.If) -> None:
        if not node.body and node.orelse:
            self._line(f"if (!{self.text(node.condition, _UNARY)}) {{")
            self._block(node.orelse)
            self._line("}")
            return
        self._line(f"if ({self.text(node.condition)}) {{")
        self._block(node.body)
        if node.orelse:
            self._line("} else {")
            self._block(node.orelse)
        self._line("}")

    def _while(self, node: ir.While) -> None:
        self._line(f"while ({self.text(node.condition)}) {{")
        self._block(node.body)
        self._line("}")

    def _for(self, node: ir.For) -> None:
        name = node.variable.name
        start, stop = self._infix(node.start, 0), self._infix(node.stop, _SHIFT)
        step = self._infix(node.step, _SUM)
        if node.ascending is None:
            test = f"{step} > 0 ? {name} < {stop} : {step} < 0 && {name} > {stop}"
        else:
            test = f"{name} {'<' if node.ascending else '>'} {stop}"
        advance = f"{name} += {step}"
        if isinstance(node.step, ir.Literal_) and node.step.value in (1, -1):
            advance = f"{'++' if node.step.value == 1 else '--'}{name}"
        if node.unroll is None and self._in_threads and _is_short(node):
            self._line("KERNELTK_UNROLLED")
        elif node.unroll is True:
            self._line("#pragma unroll")
        elif node.unroll is not None:
            self._line(f"#pragma unroll {int(node.unroll)}" if node.unroll else "#pragma unroll 1")
        ctype = self.ctype(node.variable.type)
        self._line(f"for ({ctype} {name} = {start}; {test}; {advance}) {{")
        self._block(node.body)
        self._line("}")

    def _return(self, node: ir.Return) -> None:
        if self._in_threads:  # this thread's part ends
            self._line("goto _kt_done;")
            return
        self._line("return;" if node.value is None else f"return {self.text(node.value)};")

    def _assert(self, node: ir.Assert) -> None:
        self.headers["jit_assert.hpp"] = None
        condition = self.text(node.condition)
        if _has_open_comma(condition):  # which would divide the macro's arguments
            condition = f"({condition})"
        macro = "KERNELTK_DEBUG_ASSERT" if node.is_debug else "KERNELTK_ASSERT"
        self._line(f'{macro}({condition}, "{_quoted(node.message)}");')

    def _print(self, node: ir.Print) -> None:
        text = ""
        arguments = []
        for part in node.parts:
            if isinstance(part, str):
                text += _quoted(part).replace("%", "%%")
                continue
            form, value = part
            text += form
            shown = self.text(value)
            arguments.append(f'({shown}) ? "True" : "False"' if form == "%s" else shown)
        self._line(f"printf({', '.join([f'{chr(34)}{text}{chr(34)}', *arguments])});")

    def _thread_loop(self, node: ir.ThreadLoop) -> None:
        """The threads of a block one after the other; only functions that are split have these."""
        calling = "CALLING_" * self._asks_for_thread(node)
        # Only kernels with barriers have such loops, and others need not load what they take.
        from kerneltk.jit.passes.loop_bounds import tightened
        from kerneltk.jit.passes.thread_loops import loop_variables

        bounds = tightened(self._function, node)
        if bounds is None:
            self._line(f"KERNELTK_{calling}THREADS_BEGIN")
        else:
            sides = [
                " && ".join(self.text(part, _AND) for part in side) or "true"
                for side in (bounds.first, bounds.last)
            ]
            self._line(f"KERNELTK_{calling}SOME_THREADS_BEGIN(({sides[0]}), ({sides[1]}))")
        self._depth += 1
        for name, kind in loop_variables(self._function, node):
            if name in self._top:
                self._line(f"{self.ctype(kind)} {name};")
        self._depth -= 1
        self._in_threads = True
        self._block(node.body if bounds is None else bounds.body)
        self._in_threads = False
        self._line("KERNELTK_THREADS_END")

    def _asks_for_thread(self, node: ir.ThreadLoop) -> bool:
        """Whether functions are called that ask which thread it is, and find it written
        down: the coordinates in the loop itself are variables of its own.
        """
        return any(
            isinstance(item, ir.Assert)
            or (isinstance(item, ir.Invoke) and item.function in self._asking)
            for item in ir.walk(*node.body)
        )

    @cached_property
    def _asking(self) -> set[str]:
        """The functions that ask which thread it is."""
        by_name = {function.name: function for function in self._program.functions}

        def asks(function: ir.Function) -> bool:
            called = ir.reachable(function.body, by_name)
            return any(
                isinstance(item, ir.Assert)
                or (isinstance(item, ir.Call) and ir.Effect.THREAD in item.operation.effects)
                for part in (function, *called)
                for item in ir.walk(*part.body)
            )

        return {name for name, function in by_name.items() if asks(function)}

    # -- functions -----------------------------------------------------------------------------

    def _function_text(self, function: ir.Function) -> str:
        self._function = function
        self._lines = []
        self._where = None
        self._variables = ir.declared_names(function)
        self._first, self._once, self._top = declaration_sites(function)
        self._lines.append(f"{self._head(function)} {{")
        self._depth = 1
        if function.is_recursive:
            self._mark(function.source.span(function.source.node))
            self._line(f'KERNELTK_CHECK_DEPTH("{function.source.name}");')
        if function.is_split:
            self._line("KERNELTK_BLOCK_BEGIN")
        kinds = dict(function.locals)
        here = set(self._top)
        if function.is_split:
            from kerneltk.jit.passes.thread_loops import block_variables

            here &= block_variables(function)
        for name in self._top:
            if name in here and name not in function.per_thread:
                self._line(f"{self.ctype(kinds[name])} {name};")
        for name, kind in function.locals:
            if name in function.per_thread:
                self._line(f"KERNELTK_PER_THREAD({name}, {self.ctype(kind)})")
        self._depth = 0
        self._block(function.body)
        self._lines.append("}")
        return "\n".join(self._lines)

    def _head(self, function: ir.Function) -> str:
        parameters = ", ".join(
            [
                *(["kerneltk::jit::depth _kt_depth"] if function.is_recursive else []),
                *(
                    f"{self.ctype(p.type)} {p.name}"
                    for p in function.parameters
                    if not is_empty(p.type)
                ),
            ]
        )
        if function.is_split:
            head = f"static inline __attribute__((always_inline)) void {function.name}"
        elif function.is_kernel:
            head = f'extern "C" __global__ void {self._bounds}{function.name}'
        else:
            head = f"static __device__ inline {self.ctype(function.result)} {function.name}"
        return f"{head}({parameters})"

    def program(self) -> str:
        """Return declarations and functions; `headers` then has the headers that they need."""
        texts = [self._function_text(function) for function in self._program.functions]
        heads = [f"{self._head(f)};" for f in self._program.functions if f.is_recursive]
        if heads:
            self.headers["jit_assert.hpp"] = None
        return "\n\n".join([*self.declarations, *self._constants, *heads, *texts])


_SHORT = 64  # passes of a loop that is worth unrolling between barriers


def _may_be_any_byte(node: ir.Expression) -> bool:
    """Whether an expression is a bool in memory that others than generated code may have written:
    an array's element, a record's field.
    """
    if node.type != BOOL:
        return False
    if isinstance(node, ir.Element):
        declared = isinstance(node.array, ir.Local) and ir.array_type(node.array).layout == "fixed"
        return not declared
    return isinstance(node, ir.Field) and isinstance(node.key, str)


def _is_short(node: ir.For) -> bool:
    """Whether a loop has a known, small number of passes, and no loop in it."""
    bounds = [
        int(bound.value)
        for bound in (node.start, node.stop, node.step)
        if isinstance(bound, ir.Literal_)
    ]
    if len(bounds) < 3:
        return False
    start, stop, step = bounds
    return len(range(start, stop, step)) <= _SHORT and not any(
        isinstance(item, ir.For | ir.While) for item in ir.walk(*node.body)
    )


@functools.lru_cache(maxsize=64)
def _quoted(text: str) -> str:
    """Return text as it stands in a C++ string."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return escaped.replace("\n", "\\n").replace("\t", "\\t").replace("\r", "\\r")


def _has_open_comma(text: str) -> bool:
    """Whether a comma stands outside of parentheses."""
    commas = (k for k, letter in enumerate(text) if letter == ",")
    return any(text.count("(", 0, k) == text.count(")", 0, k) for k in commas)


def _is_zero(node: ir.Expression) -> bool:
    return isinstance(node, ir.Literal_) and bool(node.value == 0)

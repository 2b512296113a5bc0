"""Whether a program keeps the rules of `ir`: the tests ask after each pass (`verifying`).

What is found here is the toolkit's own mistake: whatever a user can write wrong has been refused
before there is a program.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from kerneltk.core.identifiers import identifier_problem
from kerneltk.jit import compile as middle
from kerneltk.jit import ir
from kerneltk.jit.ir.types import (
    BOOL,
    VOID,
    Array,
    Number,
    Opaque,
    Record,
    Reference,
    Tuple,
    Type,
    Void,
)

# The operators of each kind of dtype.
_ARITHMETIC = {"+", "-", "*", "**", "//", "%"}
_SHIFTS = {"<<", ">>"}
_OF_INTEGERS = _ARITHMETIC | _SHIFTS | {"&", "|", "^", "div", "rem"}
_OPERATORS = {
    "i": _OF_INTEGERS,
    "u": _OF_INTEGERS,
    "b": {"&", "|", "^"},
    "c": {"+", "-", "*", "/", "**"},
    "f": _ARITHMETIC | {"/"},
    "V": _ARITHMETIC | {"/"},  # bfloat16
}
_COMPARISONS = {"<", "<=", ">", ">=", "==", "!="}
_WEAK_DTYPES = {"int64", "float64", "complex128"}
_REAL = (int, float, np.integer, np.floating)
_LITERALS: dict[str, Any] = {
    "b": (bool, np.bool_),
    "i": (int, np.integer),
    "u": (int, np.integer),
    "c": (int, float, complex, np.number),
}


class IrError(RuntimeError):
    """A program breaks a rule of the IR: a fault of the toolkit, not of the kernel."""


def verify(program: ir.Program, *, of_elements: bool = False) -> None:
    """Check that a program keeps the rules of the IR; raises `IrError` if it does not.

    With `of_elements` its last function is one of elements, instead of a kernel.
    """
    if len({f.name for f in program.functions}) != len(program.functions) or not program.functions:
        raise IrError("a program has no functions, or two of one name")
    earlier = {f.name: f for f in program.functions if f.is_recursive}
    for function in program.functions:
        checker = _Checker(function, earlier)
        is_entry = function is program.functions[-1] and not of_elements
        checker.check(function.is_kernel == is_entry, function, "the kernel is the last function")
        checker.run()
        earlier[function.name] = function


def verifying(each: middle.Pass) -> middle.Pass:
    """A pass that verifies what it makes."""

    def run(program: ir.Program, context: middle.PassContext) -> ir.Program:
        made = each.run(program, context)
        verify(made, of_elements=context.of_elements)
        return made

    return each._replace(run=run)


VERIFICATION = verifying(
    middle.Pass("the rules of the IR", lambda made, _: made, middle.everywhere)
)


@lru_cache(maxsize=4096)
def _is_name(name: str) -> bool:
    """Whether it is an identifier, or one that is reserved for generated code."""
    return not identifier_problem(name) or (
        name.startswith("_kt") and not identifier_problem(f"x{name}")
    )


def _is_integer(kind: Type) -> bool:
    return isinstance(kind, Number) and kind.dtype.kind in "iu"


class _Checker:
    """One walk over a function: a method for each class of nodes."""

    def __init__(self, function: ir.Function, earlier: dict[str, ir.Function]) -> None:
        self.function = function
        self.earlier = earlier
        self.scope: dict[str, Type] = {}
        self.variables: frozenset[str] = frozenset()
        self.declared: set[str] = set()
        self.loops = 0
        self.in_threads = False
        self.sound_types: set[int] = set()  # by id: the program keeps them alive

    def run(self) -> None:
        function = self.function
        for parameter in function.parameters:
            self.span(parameter)
            self.variable(parameter, parameter.name, parameter.type)
        for name, kind in function.locals:
            self.variable(function, name, kind)
        self.variables = frozenset(self.scope)
        self.sound(function, function.result)
        self.check(_is_name(function.name), function, "its name is no identifier")
        self.check(not function.is_kernel or function.result == VOID, function, "a kernel's result")
        self.check(function.is_split or not function.per_thread, function, "it is not split")
        declared = {n.name for n in ir.walk(*function.body) if isinstance(n, ir.Declare)}
        is_local = function.per_thread <= {name for name, _ in function.locals} | declared
        self.check(is_local, function, "what each thread has is no local")
        self.block(function, function.body)

    def check(self, holds: Any, node: Any, rule: str) -> None:
        if not holds:
            kind, span = type(node).__name__, getattr(node, "span", None)
            raise IrError(f"{kind} in '{self.function.name}' at {span}: {rule}: {node!r:.999}")

    # -- names and types ----------------------------------------------------------------------

    def variable(self, node: Any, name: str, kind: Type) -> None:
        """Check a new name, and add it to the scope."""
        self.check(_is_name(name) and name not in self.scope, node, "a new name")
        self.check(kind != VOID, node, "a variable has a value")
        self.sound(node, kind)
        self.scope[name] = kind

    def sound(self, node: Any, kind: Type) -> None:
        """Check that a type is one."""
        if id(kind) in self.sound_types:
            return
        match kind:
            case Number(dtype, weak):
                self.check(not weak or dtype.name in _WEAK_DTYPES, node, "weak numbers are wide")
            case Array():
                self.sound(node, kind.element)
                self.check(isinstance(kind.element, Number | Record), node, "an array's elements")
                self.check(not getattr(kind.element, "weak", False), node, "elements are strong")
                dynamic = kind.space == "shared" and kind.ndim == 1 and not any(kind.shape)
                if not dynamic:
                    fixed = kind.layout == "fixed"
                    self.check(len(kind.shape) == fixed * kind.ndim, node, "a fixed shape")
                    self.shape(node, kind)
                constant = kind.space == "constant"
                self.check(not (constant and kind.writable), node, "constants are read-only")
            case Tuple(items, names):
                self.check(not names or len(names) == len(items), node, "a name for each item")
                for item in items:
                    self.sound(node, item)
            case Record(dtype):
                self.check(dtype.names is not None, node, "a record has fields")
            case _:
                self.check(isinstance(kind, Opaque | Void), node, "a type")
        self.sound_types.add(id(kind))

    def shape(self, node: Any, kind: Array) -> None:
        least = kind.space != "constant"
        self.check(all(extent >= least for extent in kind.shape), node, "extents are positive")

    def span(self, node: Any) -> None:
        span: Any = node.span
        self.check(
            span.__class__ is ir.Span
            and 0 < span[0] <= span[2]
            and span[1] >= 0 <= span[3]
            and (span[1] <= span[3] or span[0] < span[2]),
            node,
            "a span",
        )

    # -- expressions --------------------------------------------------------------------------

    def expression(self, node: Any) -> None:
        self.check(node.__class__ in _EXPRESSIONS, node, "an expression")
        self.span(node)
        _EXPRESSIONS[node.__class__](self, node)

    def typed(self, node: Any, kind: Type, *operands: Any) -> None:
        """Check operands of one type."""
        for operand in operands:
            self.expression(operand)
            self.check(operand.type == kind, node, "operands are of the type it is computed in")

    def integer(self, node: Any, operand: Any) -> None:
        self.expression(operand)
        self.check(_is_integer(operand.type), node, "an integer")

    def number(self, node: Any, kind: Type) -> Any:
        self.check(isinstance(kind, Number), node, "a number")
        self.sound(node, kind)
        return kind

    def literal(self, node: ir.Literal_) -> None:
        dtype = self.number(node, node.type).dtype
        value: Any = node.value
        if value.__class__ is dtype.type:  # bfloat16's scalars are no numbers of NumPy's
            return
        is_one = isinstance(value, _LITERALS.get(dtype.kind, _REAL))
        self.check(is_one and (value.__class__ is not bool or dtype.kind == "b"), node, "a value")
        if dtype.kind in "iu":
            limits = np.iinfo(dtype)
            self.check(limits.min <= value <= limits.max, node, "a value in range")

    def local(self, node: ir.Local) -> None:
        self.check(self.scope.get(node.name) == node.type, node, "a name in scope, of its type")

    def cast(self, node: ir.Cast) -> None:
        self.number(node, node.type)
        self.expression(node.operand)
        self.number(node, node.operand.type)

    def unary(self, node: ir.Unary) -> None:
        letter = self.number(node, node.type).dtype.kind
        self.typed(node, node.type, node.operand)
        valid = letter != "b" if node.op == "-" else node.op == "~" and letter in "iub"
        self.check(valid, node, "an operator of this type")

    def negation(self, node: ir.Not) -> None:
        self.typed(node, BOOL, node.operand)

    def binary(self, node: ir.Binary) -> None:
        letter = self.number(node, node.type).dtype.kind
        self.check(node.op in _OPERATORS[letter], node, "an operator of this type")
        self.typed(node, node.type, node.left)
        if node.op in _SHIFTS:
            self.integer(node, node.right)
        else:
            self.typed(node, node.type, node.right)

    def compare(self, node: ir.Compare) -> None:
        self.check(node.op in _COMPARISONS, node, "a comparison")
        self.expression(node.left)
        self.typed(node, self.number(node, node.left.type), node.right)

    def logical(self, node: ir.Logical) -> None:
        self.check(node.op in ("and", "or") and len(node.operands) > 1, node, "two operands")
        self.typed(node, BOOL, *node.operands)

    def select(self, node: ir.Select) -> None:
        self.typed(node, BOOL, node.condition)
        self.check(node.type != VOID, node, "a value")
        self.typed(node, node.type, node.then, node.orelse)

    def array(self, node: Any) -> Array:
        self.expression(node.array)
        kind: Any = node.array.type
        self.check(isinstance(kind, Array), node, "an array")
        return kind  # type: ignore[no-any-return]

    def element(self, node: ir.Element) -> None:
        kind = self.array(node)
        counts = len(node.indices), len(node.wrap)
        self.check(counts == (kind.ndim, kind.ndim), node, "an index and a flag for each axis")
        self.check(all(w.__class__ is bool for w in node.wrap), node, "flags are bools")
        for index in node.indices:
            self.integer(node, index)
        self.check(node.type == kind.element, node, "an element of its array's type")

    def section(self, node: ir.Section) -> None:
        kind, result = self.array(node), node.type
        self.check(isinstance(result, Array), node, "a view")
        self.sound(node, result)
        slices = [axis for axis, part in enumerate(node.parts) if isinstance(part, ir.Slice)]
        counts = len(node.parts), len(slices)
        self.check(counts == (kind.ndim, result.ndim), node, "a part for each axis")
        for part in node.parts:
            if isinstance(part, ir.Slice):
                self.span(part)
                bounds = (part.start, part.stop, part.step)
                for bound in filter(None, bounds):
                    self.integer(part, bound)
            else:
                self.integer(node, part)
        is_reference = isinstance(result, Reference)  # to what may lie in any of several memories
        same_space = result.space == kind.space or (is_reference and kind.space != "local")
        self.check(result.element == kind.element and same_space, node, "the same memory")
        self.check(kind.writable or not result.writable, node, "read-only as its array is")
        if result.layout == "strided" or is_reference:
            return
        # Dense is what follows leading integers: one slice without a step, and whole axes.
        whole = [_is_whole(node.parts[axis]) for axis in slices]
        leading = slices == list(range(kind.ndim - len(slices), kind.ndim))
        dense = leading and kind.layout != "strided" and all(whole[1:])
        if result.layout == "C":
            dense = dense and (not slices or _is_one(getattr(node.parts[slices[0]], "step", None)))
        else:
            of_its_shape = result.shape == kind.shape[kind.ndim - result.ndim :]
            dense = dense and kind.layout == "fixed" and all(whole) and of_its_shape
        self.check(dense, node, "a view that is dense where its type is")

    def extent(self, node: ir.Extent) -> None:
        self.check(0 <= node.axis < self.array(node).ndim, node, "an axis")

    def field(self, node: ir.Field) -> None:
        self.expression(node.value)
        kind: Any = node.value.type
        key: Any = node.key
        if isinstance(kind, Tuple):
            is_one = key.__class__ is int and 0 <= key < len(kind.items)
            self.check(is_one and node.type == kind.items[key], node, "an item of the tuple")
        else:
            fields = kind.dtype.fields if isinstance(kind, Record) else {}
            is_one = key in fields and _is_field_type(fields[key][0], node.type)
            self.check(is_one, node, "a field of the record")

    def construct(self, node: ir.Construct) -> None:
        kind: Any = node.type
        self.check(isinstance(kind, Tuple), node, "a tuple")
        self.sound(node, kind)
        self.check(len(node.items) == len(kind.items), node, "all items")
        for item, expected in zip(node.items, kind.items, strict=True):
            self.typed(node, expected, item)

    def nothing(self, node: ir.Nothing) -> None:
        """None as an item of a tuple says nothing that could be wrong."""

    def call(self, node: ir.Call) -> None:
        self.sound(node, node.type)
        self.check(isinstance(node.static, tuple), node, "static facts are a tuple")
        for argument in node.arguments:
            self.expression(argument)
            self.check(argument.type != VOID, node, "an argument has a value")
        for number in node.operation.by_reference:
            self.check(number < len(node.arguments), node, "an argument by reference")
            lvalue: Any = node.arguments[number]
            self.check(isinstance(lvalue, ir.Element | ir.Field), node, "a location in memory")
            if number in node.operation.writes:
                self.storable(node, lvalue)

    def invoke(self, node: ir.Invoke) -> None:
        function = self.earlier.get(node.function)
        self.check(function is not None, node, "a function before this one")
        assert function is not None
        kinds = [parameter.type for parameter in function.parameters]
        self.check(len(node.arguments) == len(kinds), node, "an argument for each parameter")
        for argument, kind in zip(node.arguments, kinds, strict=True):
            self.typed(node, kind, argument)
        self.check(node.type == function.result, node, "the function's result")

    # -- statements ---------------------------------------------------------------------------

    def block(self, node: Any, statements: Any) -> None:
        """Check statements; what they declare ends with them."""
        self.check(isinstance(statements, tuple), node, "a tuple of statements")
        for statement in statements:
            self.check(statement.__class__ in _STATEMENTS, statement, "a statement")
            self.span(statement)
            _STATEMENTS[statement.__class__](self, statement)
        for statement in statements:
            if isinstance(statement, ir.Declare):
                del self.scope[statement.name]

    def loop(self, node: Any) -> None:
        self.loops += 1
        self.block(node, node.body)
        self.loops -= 1

    def declare(self, node: ir.Declare) -> None:
        self.check(node.name not in self.declared, node, "a name that is declared once")
        kind = node.type
        data = 0
        if isinstance(kind, Array) and node.dynamic:
            self.check(kind.space == "shared", node, "the block's dynamic shared memory")
        elif isinstance(kind, Array):
            fixed = kind.layout == "fixed" and len(kind.shape) == kind.ndim
            self.check(fixed and kind.space != "global", node, "memory of a fixed shape")
            self.shape(node, kind)
            if kind.space == "constant":
                data = math.prod(kind.shape) * kind.element.dtype.itemsize
        else:
            self.check(not node.dynamic, node, "it is no array")
        self.check(len(node.data) == data, node, "the bytes of constant memory")
        self.check(node.alignment & (node.alignment - 1) == 0, node, "a power of two")
        self.variable(node, node.name, kind)
        self.declared.add(node.name)

    def store(self, node: ir.Store) -> None:
        if isinstance(node.target, ir.Local):
            self.expression(node.target)
            self.check(node.target.name in self.variables, node, "a variable")
        else:
            self.lvalue(node, node.target)
        self.typed(node, node.target.type, node.value)

    def lvalue(self, node: Any, target: Any) -> None:
        """Check an element or a field that is stored to."""
        self.check(isinstance(target, ir.Element | ir.Field), node, "a location in memory")
        self.expression(target)
        self.storable(node, target)

    def storable(self, node: Any, target: Any) -> None:
        """Check that an lvalue, which is sound, can be written to."""
        target = ir.base_of(target)
        if isinstance(target, ir.Element):
            kind: Any = target.array.type
            self.check(kind.writable and kind.space != "constant", node, "writable memory")
            if isinstance(target.array, ir.Field) and isinstance(target.array.value.type, Record):
                self.storable(node, target.array)
        else:
            known = self.variables | self.declared
            self.check(isinstance(target, ir.Local) and target.name in known, node, "a variable")

    def update(self, node: ir.Update) -> None:
        self.lvalue(node, node.target)
        self.variable(node, node.name, node.target.type)
        self.typed(node, node.target.type, node.value)
        del self.scope[node.name]

    def evaluate(self, node: ir.Evaluate) -> None:
        self.expression(node.value)

    def branch(self, node: ir.If) -> None:
        self.typed(node, BOOL, node.condition)
        self.block(node, node.body)
        self.block(node, node.orelse)

    def while_loop(self, node: ir.While) -> None:
        self.typed(node, BOOL, node.condition)
        self.loop(node)

    def for_loop(self, node: ir.For) -> None:
        variable = node.variable
        self.span(variable)
        self.check(_is_integer(variable.type), node, "an integer")
        self.typed(node, variable.type, node.start, node.stop, node.step)
        self.check(node.ascending in (None, False, True), node, "a direction")
        step: Any = node.step
        is_negated = isinstance(step, ir.Unary) and step.op == "-"
        if isinstance(literal := step.operand if is_negated else step, ir.Literal_):
            value = -int(literal.value) if is_negated else int(literal.value)
            agrees = value != 0 and node.ascending == (value > 0)
            self.check(node.ascending is None or agrees, node, "the direction of its step")
        is_count = isinstance(node.unroll, int) and node.unroll > 0  # True is one
        self.check(is_count or node.unroll in (None, False), node, "how often it is unrolled")
        if node.private:
            self.variable(node, variable.name, variable.type)
        else:
            self.local(variable)
            self.check(variable.name in self.variables, node, "a variable")
        self.loop(node)
        if node.private:
            del self.scope[variable.name]

    def leave(self, node: ir.Break) -> None:
        self.check(self.loops, node, "it is in a loop")

    def go_on(self, node: ir.Continue) -> None:
        # The loop over the threads is one: the thread is done with this part.
        self.check(self.loops or self.in_threads, node, "it is in a loop")

    def leave_function(self, node: ir.Return) -> None:
        result = self.function.result
        self.check((node.value is None) == (result == VOID), node, "a result if there is one")
        if node.value is not None:
            self.typed(node, result, node.value)

    def assertion(self, node: ir.Assert) -> None:
        self.typed(node, BOOL, node.condition)
        self.check(isinstance(node.message, str), node, "a message")

    def print(self, node: ir.Print) -> None:
        for part in node.parts:
            if not isinstance(part, str):
                form, value = part
                self.check(isinstance(form, str), node, "a format")
                self.expression(value)
                self.number(node, value.type)

    def thread_loop(self, node: ir.ThreadLoop) -> None:
        self.check(self.function.is_split and not self.in_threads, node, "one loop over threads")
        loops = self.loops
        self.in_threads, self.loops = True, 0
        self.block(node, node.body)
        self.in_threads, self.loops = False, loops


def _is_one(step: Any) -> bool:
    return step is None or (isinstance(step, ir.Literal_) and step.value == 1)


def _is_whole(part: Any) -> bool:
    start = part.start
    from_zero = start is None or (isinstance(start, ir.Literal_) and start.value == 0)
    return from_zero and part.stop is None and _is_one(part.step)


def _is_field_type(dtype: np.dtype[Any], kind: Any) -> bool:
    """Whether a field of a record is of a type."""
    if dtype.subdtype is not None:
        fixed = isinstance(kind, Array) and kind.layout == "fixed"
        return fixed and (kind.element.dtype, kind.shape) == dtype.subdtype
    if dtype.names is not None:
        return isinstance(kind, Record) and kind.dtype == dtype
    if dtype.kind == "S":
        return not isinstance(kind, Number)
    return isinstance(kind, Number) and kind.dtype == dtype and not kind.weak


_Check = Callable[[_Checker, Any], None]

_EXPRESSIONS: dict[type, _Check] = {
    ir.Literal_: _Checker.literal,
    ir.Local: _Checker.local,
    ir.Cast: _Checker.cast,
    ir.Unary: _Checker.unary,
    ir.Not: _Checker.negation,
    ir.Binary: _Checker.binary,
    ir.Compare: _Checker.compare,
    ir.Logical: _Checker.logical,
    ir.Select: _Checker.select,
    ir.Element: _Checker.element,
    ir.Section: _Checker.section,
    ir.Extent: _Checker.extent,
    ir.Field: _Checker.field,
    ir.Construct: _Checker.construct,
    ir.Nothing: _Checker.nothing,
    ir.Call: _Checker.call,
    ir.Invoke: _Checker.invoke,
}

_STATEMENTS: dict[type, _Check] = {
    ir.Declare: _Checker.declare,
    ir.Store: _Checker.store,
    ir.Update: _Checker.update,
    ir.Evaluate: _Checker.evaluate,
    ir.If: _Checker.branch,
    ir.While: _Checker.while_loop,
    ir.For: _Checker.for_loop,
    ir.Break: _Checker.leave,
    ir.Continue: _Checker.go_on,
    ir.Return: _Checker.leave_function,
    ir.Assert: _Checker.assertion,
    ir.Print: _Checker.print,
    ir.ThreadLoop: _Checker.thread_loop,
}

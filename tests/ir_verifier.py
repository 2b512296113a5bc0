"""Whether a program keeps the rules of `ir`: the tests ask after each pass (`verifying`).

What is found here is the toolkit's own mistake: whatever a user can write wrong has been refused
before there is a program.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any, NoReturn

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

_BITWISE = frozenset("&|^")
_SHIFTS = frozenset(("<<", ">>"))
_INTEGER_ONLY = frozenset(("div", "rem"))
_NO_COMPLEX = frozenset(("//", "%"))
_BINARY = frozenset(("+", "-", "*", "/", "**")) | _BITWISE | _SHIFTS | _INTEGER_ONLY | _NO_COMPLEX

_COMPARISONS = frozenset(("<", "<=", ">", ">=", "==", "!="))
_WEAK_DTYPES = frozenset(("int64", "float64", "complex128"))
_LITERALS: dict[str, Any] = {
    "b": (bool, np.bool_),
    "i": (int, np.integer),
    "u": (int, np.integer),
    "c": (int, float, complex, np.number),
}
_REAL = (int, float, np.integer, np.floating)


class IrError(RuntimeError):
    """A program breaks a rule of the IR: a fault of the toolkit, not of the kernel."""

    def __init__(self, function: str, kind: str, span: Any, problem: str) -> None:
        self.function = function
        self.kind = kind
        self.span = span
        self.problem = problem
        location = ""
        if isinstance(span, ir.Span):
            location = f" at line {span.line}, column {span.column}"
        super().__init__(
            f"{kind} in '{function}'{location}: {problem}. This is a fault of kerneltk, not of the "
            "kernel."
        )


def verify(program: ir.Program, *, of_elements: bool = False) -> None:
    """Check that a program keeps the rules of the IR; raises `IrError` if it does not.

    With `of_elements` its last function is one of elements, instead of a kernel.
    """
    if not program.functions:
        raise IrError("", "Program", None, "it has no functions")
    earlier = {f.name: f for f in program.functions if f.is_recursive}
    names: set[str] = set()
    for function in program.functions:
        name = function.name
        if name in names:
            raise IrError(name, "Function", None, "the name is another function's too")
        if function.is_kernel != (function is program.functions[-1] and not of_elements):
            problem = (
                "a kernel must be the last function"
                if function.is_kernel
                else "the last function must be a kernel"
            )
            raise IrError(name, "Function", None, problem)
        _Checker(function, earlier).run()
        names.add(name)
        earlier[name] = function


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
def _name_problem(name: str) -> str:
    problem = identifier_problem(name)
    if problem and name.startswith("_kt") and not identifier_problem(f"x{name}"):
        return ""  # the reserved names are for this
    return problem


class _Checker:
    """One walk over a function."""

    __slots__ = (
        "declared",
        "earlier",
        "function",
        "in_threads",
        "loops",
        "scope",
        "sound_types",
        "variables",
    )

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
        self.name(function, function.name)
        for parameter in function.parameters:
            self.span(parameter)
            self.variable(parameter, parameter.name, parameter.type)
        for name, kind in function.locals:
            self.variable(function, name, kind)
        self.variables = frozenset(self.scope)
        self.sound(function, function.result)
        if function.is_kernel and function.result != VOID:
            self.fail(function, f"a kernel returns nothing, but the result is {function.result}")
        if function.per_thread and not function.is_split:
            self.fail(function, "only a split function has locals of each thread")
        strangers = function.per_thread.difference(name for name, _ in function.locals)
        if strangers:  # memory that each thread declares
            nodes = ir.walk(*function.body)
            strangers -= {node.name for node in nodes if isinstance(node, ir.Declare)}
        if strangers:
            self.fail(function, f"'{min(strangers)}' of each thread is no local")
        self.block(function, function.body)

    def fail(self, node: Any, problem: str) -> NoReturn:
        raise IrError(
            self.function.name, node.__class__.__name__, getattr(node, "span", None), problem
        )

    # -- names and types ----------------------------------------------------------------------

    def name(self, node: Any, name: str) -> None:
        if not isinstance(name, str):
            self.fail(node, f"the name {name!r} is no string")
        problem = _name_problem(name)
        if problem:
            self.fail(node, f"the name '{name}' {problem}")

    def variable(self, node: Any, name: str, kind: Type) -> None:
        """Check a new name, and add it to the scope."""
        self.name(node, name)
        if name in self.scope:
            self.fail(node, f"the name '{name}' is another variable's too")
        self.sound(node, kind)
        if kind == VOID:
            self.fail(node, f"'{name}' has no value")
        self.scope[name] = kind

    def sound(self, node: Any, kind: Type) -> None:
        """Check that a type is one."""
        if id(kind) in self.sound_types:
            return
        match kind:
            case Number(dtype, weak):
                if weak and dtype.name not in _WEAK_DTYPES:
                    self.fail(node, f"the type is a weak {dtype.name}")
            case Array():
                self.sound(node, kind.element)
                if not isinstance(kind.element, Number) and not isinstance(kind.element, Record):
                    self.fail(node, f"the type is an array of {kind.element}")
                if isinstance(kind.element, Number) and kind.element.weak:
                    self.fail(node, "the type is an array of weak numbers")
                dynamic = kind.space == "shared" and kind.ndim == 1 and not any(kind.shape)
                if not dynamic and kind.layout == "fixed":
                    if len(kind.shape) != kind.ndim:
                        self.fail(node, f"a {kind} of the fixed shape {kind.shape}")
                    if any(extent < (kind.space != "constant") for extent in kind.shape):
                        self.fail(node, f"the shape {kind.shape} is not positive")
                elif not dynamic and kind.shape:
                    self.fail(node, f"an array of layout '{kind.layout}' has a shape")
                if kind.space == "constant" and kind.writable:
                    self.fail(node, "constant memory is writable")
            case Tuple(items, names):
                if names and len(names) != len(items):
                    self.fail(node, f"a tuple of {len(items)} items has {len(names)} names")
                for item in items:
                    self.sound(node, item)
            case Record(dtype):
                if dtype.names is None:
                    self.fail(node, f"a record of dtype '{dtype}', which has no fields")
            case Opaque() | Void():
                pass
            case _:
                self.fail(node, f"{kind!r} is no type")
        self.sound_types.add(id(kind))

    def span(self, node: Any) -> None:
        span = node.span
        try:
            good = (
                span.__class__ is ir.Span
                and 0 < span[0] <= span[2]
                and span[1] >= 0 <= span[3]
                and (span[1] <= span[3] or span[0] < span[2])
            )
        except TypeError:
            good = False
        if not good:
            self.fail(node, f"the span is {tuple(span) if isinstance(span, tuple) else span!r}")

    # -- expressions --------------------------------------------------------------------------

    def expression(self, node: Any) -> None:
        check = _EXPRESSIONS.get(node.__class__)
        if check is None:
            self.fail(node, f"{node!r} stands where an expression must be")
        self.span(node)
        check(self, node)

    def operand(self, node: Any, operand: Any, kind: Type, what: str) -> None:
        """Check an operand, and that its type is `kind`."""
        self.expression(operand)
        found = operand.type
        if found is not kind and found != kind:
            self.fail(node, f"{what} is {_described(found)}, not {_described(kind)}")

    def integer(self, node: Any, operand: Any, what: str) -> None:
        self.expression(operand)
        kind = operand.type
        if not isinstance(kind, Number) or kind.dtype.kind not in "iu":
            self.fail(node, f"{what} is {_described(kind)}, no integer")

    def number(self, node: Any, kind: Type) -> Number:
        if not isinstance(kind, Number):
            self.fail(node, f"the type is {_described(kind)}, no number")
        self.sound(node, kind)
        return kind

    def literal(self, node: ir.Literal_) -> None:
        kind = self.number(node, node.type)
        value: Any = node.value
        letter = kind.dtype.kind
        if not isinstance(value, _LITERALS.get(letter, _REAL)) or (
            value.__class__ is bool and letter != "b"
        ):
            # bfloat16's scalars are no numbers of NumPy's
            if value.__class__ is kind.dtype.type:
                return
            self.fail(node, f"the value {value!r} is no {kind}")
        if letter in "iu":
            low, high = _limits(letter, kind.dtype.itemsize)
            if not low <= value <= high:
                self.fail(node, f"the value {value!r} is out of the range of {kind}")

    def local(self, node: ir.Local) -> None:
        kind = self.scope.get(node.name)
        if kind is None:
            self.fail(node, f"the name '{node.name}' is not in scope")
        if node.type is not kind and node.type != kind:
            self.fail(node, f"'{node.name}' is {_described(kind)}, not {_described(node.type)}")

    def cast(self, node: ir.Cast) -> None:
        self.number(node, node.type)
        self.expression(node.operand)
        if not isinstance(node.operand.type, Number):
            self.fail(node, f"the operand is {_described(node.operand.type)}, no number")

    def unary(self, node: ir.Unary) -> None:
        kind = self.number(node, node.type)
        self.operand(node, node.operand, kind, "the operand")
        letter = kind.dtype.kind
        if node.op == "-":
            if letter == "b":
                self.fail(node, "'-' of a bool")
        elif node.op == "~":
            if letter not in "iub":
                self.fail(node, f"'~' of {_described(kind)}")
        else:
            self.fail(node, f"there is no operation '{node.op}'")

    def negation(self, node: ir.Not) -> None:
        self.operand(node, node.operand, BOOL, "the operand")

    def binary(self, node: ir.Binary) -> None:
        op = node.op
        if op not in _BINARY:
            self.fail(node, f"there is no operation '{op}'")
        kind = self.number(node, node.type)
        self.operand(node, node.left, kind, f"the left operand of '{op}'")
        if op in _SHIFTS:
            self.integer(node, node.right, f"the right operand of '{op}'")
        else:
            self.operand(node, node.right, kind, f"the right operand of '{op}'")
        letter = kind.dtype.kind
        if letter in "iu":
            refused = op == "/"
        elif letter == "b":
            refused = op not in _BITWISE
        else:
            refused = (
                op in _BITWISE
                or op in _SHIFTS
                or op in _INTEGER_ONLY
                or (letter == "c" and op in _NO_COMPLEX)
            )
        if refused:
            self.fail(node, f"'{op}' cannot be computed in {_described(kind)}")

    def compare(self, node: ir.Compare) -> None:
        if node.op not in _COMPARISONS:
            self.fail(node, f"there is no comparison '{node.op}'")
        self.expression(node.left)
        kind = node.left.type
        if not isinstance(kind, Number):
            self.fail(node, f"the left operand is {_described(kind)}, no number")
        self.operand(node, node.right, kind, f"the right operand of '{node.op}'")

    def logical(self, node: ir.Logical) -> None:
        if node.op not in ("and", "or"):
            self.fail(node, f"there is no operation '{node.op}'")
        if len(node.operands) < 2:
            self.fail(node, f"'{node.op}' has {len(node.operands)} operands")
        for operand in node.operands:
            self.operand(node, operand, BOOL, f"an operand of '{node.op}'")

    def select(self, node: ir.Select) -> None:
        self.operand(node, node.condition, BOOL, "the condition")
        self.operand(node, node.then, node.type, "the first value")
        self.operand(node, node.orelse, node.type, "the second value")
        if node.type == VOID:
            self.fail(node, "it selects between no values")

    def array(self, node: Any) -> Array:
        self.expression(node.array)
        kind = node.array.type
        if not isinstance(kind, Array):
            self.fail(node, f"the array is {_described(kind)}")
        return kind

    def element(self, node: ir.Element) -> None:
        kind = self.array(node)
        if len(node.indices) != kind.ndim:
            self.fail(node, f"{len(node.indices)} indices of a {kind}")
        if len(node.wrap) != kind.ndim:
            self.fail(node, f"'wrap' has {len(node.wrap)} items for {kind.ndim} indices")
        for wraps in node.wrap:
            if wraps is not True and wraps is not False:
                self.fail(node, f"'wrap' has the item {wraps!r}")
        for index in node.indices:
            self.integer(node, index, "an index")
        if node.type is not kind.element and node.type != kind.element:
            self.fail(node, f"an element of an array of {kind.element} is {_described(node.type)}")

    def section(self, node: ir.Section) -> None:
        kind = self.array(node)
        if len(node.parts) != kind.ndim:
            self.fail(node, f"{len(node.parts)} parts of a {kind}")
        slices = []
        for axis, part in enumerate(node.parts):
            if not isinstance(part, ir.Slice):
                self.integer(node, part, "a part")
                continue
            slices.append(axis)
            self.span(part)
            for bound in (part.start, part.stop, part.step):
                if bound is not None:
                    self.integer(part, bound, "a bound")
        result = node.type
        if not isinstance(result, Array):
            self.fail(node, f"the type is {_described(result)}, no array")
        self.sound(node, result)
        if result.ndim != len(slices):
            self.fail(node, f"{len(slices)} slices make a {result}")
        is_reference = isinstance(result, Reference)  # to what may lie in any of several memories
        same_space = result.space == kind.space or (is_reference and kind.space != "local")
        if result.element != kind.element or not same_space:
            self.fail(node, f"a section of a {kind} is a {result}")
        if result.writable and not kind.writable:
            self.fail(node, "a section of an array that cannot be written to is writable")
        if result.layout == "strided" or is_reference:
            return
        # Dense is what follows leading integers: one slice without a step, and whole axes.
        whole = [_is_whole(node.parts[axis]) for axis in slices]
        leading = slices == list(range(kind.ndim - len(slices), kind.ndim))
        dense = leading and kind.layout != "strided" and all(whole[1:])
        if result.layout == "C":
            if not dense or (slices and not _is_step_one(node.parts[slices[0]])):
                self.fail(node, "the section is not dense in C order, but its type is")
        elif kind.layout != "fixed" or not dense or not all(whole):
            self.fail(node, "the section has no fixed shape, but its type has")
        elif result.shape != kind.shape[kind.ndim - result.ndim :]:
            self.fail(node, f"the section of the shape {kind.shape} has the shape {result.shape}")

    def extent(self, node: ir.Extent) -> None:
        kind = self.array(node)
        if not 0 <= node.axis < kind.ndim:
            self.fail(node, f"the axis {node.axis} of a {kind}")

    def field(self, node: ir.Field) -> None:
        self.expression(node.value)
        kind: Any = node.value.type
        key = node.key
        if isinstance(kind, Tuple):
            if key.__class__ is not int or not 0 <= key < len(kind.items):
                self.fail(node, f"there is no item {key!r} in a {kind}")
            if node.type != kind.items[key]:
                self.fail(
                    node,
                    f"item {key} is {_described(kind.items[key])}, not {_described(node.type)}",
                )
        elif isinstance(kind, Record):
            fields: Any = kind.dtype.fields
            if not isinstance(key, str) or key not in fields:
                self.fail(node, f"there is no field {key!r} in a {kind}")
            if not _is_field_type(fields[key][0], node.type):
                self.fail(
                    node, f"the field '{key}' is {fields[key][0]}, not {_described(node.type)}"
                )
        else:
            self.fail(node, f"a field of {_described(kind)}")

    def construct(self, node: ir.Construct) -> None:
        kind = node.type
        if not isinstance(kind, Tuple):
            self.fail(node, f"the type is {_described(kind)}, no tuple")
        self.sound(node, kind)
        if len(node.items) != len(kind.items):
            self.fail(node, f"{len(node.items)} items for a {kind}")
        for item, expected in zip(node.items, kind.items, strict=True):
            self.operand(node, item, expected, "an item")

    def nothing(self, node: ir.Nothing) -> None:
        """None as an item of a tuple says nothing that could be wrong."""

    def call(self, node: ir.Call) -> None:
        operation = node.operation
        self.sound(node, node.type)
        for argument in node.arguments:
            self.expression(argument)
            if argument.type == VOID:
                self.fail(node, f"an argument of '{operation.name}' has no value")
        if not isinstance(node.static, tuple):
            self.fail(node, f"the static facts of '{operation.name}' are no tuple")
        for number in operation.by_reference:
            lvalue: Any = node.arguments[number] if number < len(node.arguments) else None
            if not isinstance(lvalue, ir.Element) and not isinstance(lvalue, ir.Field):
                self.fail(node, f"argument {number} of '{operation.name}' is no place in memory")
            if number in operation.writes:
                self.storable(node, lvalue)

    def invoke(self, node: ir.Invoke) -> None:
        function = self.earlier.get(node.function)
        if function is None:
            self.fail(node, f"there is no function '{node.function}' before this one")
        if len(node.arguments) != len(function.parameters):
            self.fail(
                node,
                f"'{node.function}' takes {len(function.parameters)} arguments, not "
                f"{len(node.arguments)}",
            )
        for argument, parameter in zip(node.arguments, function.parameters, strict=True):
            what = f"the argument '{parameter.name}' of '{node.function}'"
            self.operand(node, argument, parameter.type, what)
        if node.type != function.result:
            self.fail(
                node,
                f"'{node.function}' returns {_described(function.result)}, not "
                f"{_described(node.type)}",
            )

    # -- statements ---------------------------------------------------------------------------

    def block(self, node: Any, statements: Any) -> None:
        """Check statements; what they declare ends with them."""
        if not isinstance(statements, tuple):
            self.fail(node, "the statements are no tuple")
        declared: list[str] | None = None
        for statement in statements:
            kind = statement.__class__
            check = _STATEMENTS.get(kind)
            if check is None:
                self.fail(statement, f"{statement!r} stands where a statement must be")
            self.span(statement)
            check(self, statement)
            if kind is ir.Declare:
                declared = [*(declared or ()), statement.name]
        for name in declared or ():
            del self.scope[name]

    def condition(self, node: Any) -> None:
        self.operand(node, node.condition, BOOL, "the condition")

    def declare(self, node: ir.Declare) -> None:
        if node.name in self.declared:
            self.fail(node, f"the name '{node.name}' is declared twice")
        kind = node.type
        if isinstance(kind, Array):
            self.declared_array(node, kind)
        elif node.dynamic or node.data:
            self.fail(node, f"a {kind} is dynamic or has data")
        if node.alignment < 0 or node.alignment & (node.alignment - 1):
            self.fail(node, f"the alignment {node.alignment} is no power of two")
        self.variable(node, node.name, kind)
        self.declared.add(node.name)

    def declared_array(self, node: ir.Declare, kind: Array) -> None:
        if node.dynamic:
            if kind.space != "shared" or node.data:
                self.fail(node, f"a {kind} is the block's dynamic shared memory")
            return
        if kind.space == "global":
            self.fail(node, "global memory cannot be declared")
        if kind.layout != "fixed" or len(kind.shape) != kind.ndim:
            self.fail(node, f"the shape of the {kind} is not fixed")
        if any(extent < (kind.space != "constant") for extent in kind.shape):
            self.fail(node, f"the shape {kind.shape} is not positive")
        if kind.space == "constant":
            size = math.prod(kind.shape) * kind.element.dtype.itemsize
            if len(node.data) != size:
                self.fail(node, f"{len(node.data)} bytes of data for {size}")
        elif node.data:
            self.fail(node, f"a {kind} has data")

    def store(self, node: ir.Store) -> None:
        target = node.target
        if isinstance(target, ir.Local):
            self.expression(target)
            if target.name not in self.variables:
                self.fail(node, f"'{target.name}' cannot be assigned to")
        else:
            self.lvalue(node, target)
        self.operand(node, node.value, target.type, "the value")

    def lvalue(self, node: Any, target: Any) -> None:
        """Check an element or a field that is stored to."""
        if not isinstance(target, ir.Element) and not isinstance(target, ir.Field):
            self.fail(node, f"the target is a {target.__class__.__name__}")
        self.expression(target)
        self.storable(node, target)

    def storable(self, node: Any, target: Any) -> None:
        """Check that an lvalue, which is sound, can be written to."""
        while isinstance(target, ir.Field):
            target = target.value
        if isinstance(target, ir.Element):
            kind: Any = target.array.type
            if not kind.writable or kind.space == "constant":
                self.fail(node, f"it writes to a {kind} that is read-only")
            if isinstance(target.array, ir.Field) and _is_subarray(target.array):
                self.storable(node, target.array)
        elif not isinstance(target, ir.Local):
            self.fail(node, f"it writes to a field of a {target.__class__.__name__}")
        elif target.name not in self.variables and target.name not in self.declared:
            self.fail(node, f"'{target.name}' cannot be assigned to")

    def update(self, node: ir.Update) -> None:
        target = node.target
        self.lvalue(node, target)
        self.variable(node, node.name, target.type)
        self.operand(node, node.value, target.type, "the value")
        del self.scope[node.name]

    def evaluate(self, node: ir.Evaluate) -> None:
        self.expression(node.value)

    def branch(self, node: ir.If) -> None:
        self.condition(node)
        self.block(node, node.body)
        self.block(node, node.orelse)

    def while_loop(self, node: ir.While) -> None:
        self.condition(node)
        self.loops += 1
        self.block(node, node.body)
        self.loops -= 1

    def for_loop(self, node: ir.For) -> None:
        variable = node.variable
        if not isinstance(variable, ir.Local):
            self.fail(node, f"the variable is a {variable.__class__.__name__}")
        self.span(variable)
        kind = variable.type
        if not isinstance(kind, Number) or kind.dtype.kind not in "iu":
            self.fail(node, f"the variable is {_described(kind)}, no integer")
        for bound, what in ((node.start, "start"), (node.stop, "stop"), (node.step, "step")):
            self.operand(node, bound, kind, what)
        self.direction(node)
        unroll: Any = node.unroll
        counted = isinstance(unroll, int) and unroll > 0  # True is
        if not counted and unroll is not None and unroll is not False:
            self.fail(node, f"'unroll' is {unroll!r}")
        if node.private:
            self.variable(node, variable.name, kind)
        else:
            self.local(variable)
            if variable.name not in self.variables:
                self.fail(node, f"'{variable.name}' cannot be assigned to")
        self.loops += 1
        self.block(node, node.body)
        self.loops -= 1
        if node.private:
            del self.scope[variable.name]

    def direction(self, node: ir.For) -> None:
        ascending = node.ascending
        if ascending is not None and ascending.__class__ is not bool:
            self.fail(node, f"'ascending' is {ascending!r}")
        step = node.step
        sign = 1
        if isinstance(step, ir.Unary) and step.op == "-":
            sign, step = -1, step.operand
        if isinstance(step, ir.Literal_):
            value = sign * int(step.value)
            if ascending is not None and (value == 0 or ascending != (value > 0)):
                self.fail(node, f"'ascending' is {ascending}, but the step is {value}")

    def leave(self, node: ir.Break) -> None:
        if not self.loops:
            self.fail(node, "it is in no loop")

    def go_on(self, node: ir.Continue) -> None:
        # The loop over the threads is one: the thread is done with this part.
        if not self.loops and not self.in_threads:
            self.fail(node, "it is in no loop")

    def leave_function(self, node: ir.Return) -> None:
        result = self.function.result
        if node.value is None:
            if result != VOID:
                self.fail(node, f"it returns nothing, but the result is {_described(result)}")
            return
        if result == VOID:
            self.fail(node, "it returns a value, but the function has no result")
        self.operand(node, node.value, result, "the value")

    def assertion(self, node: ir.Assert) -> None:
        self.condition(node)
        if not isinstance(node.message, str):
            self.fail(node, f"the message {node.message!r} is no string")

    def print(self, node: ir.Print) -> None:
        for part in node.parts:
            if isinstance(part, str):
                continue
            if not isinstance(part, tuple) or len(part) != 2 or not isinstance(part[0], str):
                self.fail(node, f"{part!r} is no part of a line")
            value: Any = part[1]
            self.expression(value)
            if not isinstance(value.type, Number):
                self.fail(node, f"it prints {_described(value.type)}")

    def thread_loop(self, node: ir.ThreadLoop) -> None:
        if not self.function.is_split:
            self.fail(node, "the function is not split")
        if self.in_threads:
            self.fail(node, "it is in another one")
        loops = self.loops
        self.in_threads, self.loops = True, 0
        self.block(node, node.body)
        self.in_threads, self.loops = False, loops


def _described(kind: Type) -> str:
    """Return a type for messages; a weak one is told from a strong one."""
    return f"Python's {kind}" if isinstance(kind, Number) and kind.weak else str(kind)


@lru_cache(maxsize=16)
def _limits(letter: str, itemsize: int) -> tuple[int, int]:
    bits = 8 * itemsize
    return (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if letter == "i" else (0, (1 << bits) - 1)


def _is_step_one(part: Any) -> bool:
    return part.step is None or (isinstance(part.step, ir.Literal_) and part.step.value == 1)


def _is_whole(part: Any) -> bool:
    start = part.start
    from_zero = start is None or (isinstance(start, ir.Literal_) and start.value == 0)
    return from_zero and part.stop is None and _is_step_one(part)


def _is_subarray(node: ir.Field) -> bool:
    return isinstance(node.value.type, Record)


def _is_field_type(dtype: np.dtype[Any], kind: Type) -> bool:
    """Whether a field of a record is of a type."""
    if dtype.subdtype is not None:
        base, shape = dtype.subdtype
        return (
            isinstance(kind, Array)
            and kind.layout == "fixed"
            and kind.shape == shape
            and kind.element.dtype == base
        )
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

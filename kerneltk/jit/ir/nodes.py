"""The typed intermediate representation: what a restricted Python function means, with no Python
and no C++ in it.

A `Function` is a body of statements. An expression has a type; every node has a span, which is its
location in the user's own source. Nodes are immutable. Conversions are explicit: the operands of an
operation have the type that it is computed in (the tests verify that).
"""

from __future__ import annotations

import dataclasses
import functools
import operator
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from kerneltk.core.records import record
from kerneltk.jit.ir.types import BOOL, PY_INT, VOID, Array, Number, Record, Type
from kerneltk.jit.source.text import Span

if TYPE_CHECKING:
    from kerneltk.jit.ir.operations import Operation
    from kerneltk.jit.source.text import FunctionSource

__all__ = [
    "Assert", "Binary", "Break", "Call", "Cast", "Compare", "Construct", "Continue", "Declare",
    "Element", "Evaluate", "Expression", "Extent", "Field", "For", "Function", "If", "Invoke",
    "Literal_", "Local", "Logical", "Not", "Nothing", "Parameter", "Print", "Program", "Return",
    "Section", "Select", "Slice", "Span", "Statement", "Store", "ThreadLoop", "Unary", "Update",
    "While", "array_type", "base_of", "bodies", "children", "controls", "declared_names",
    "is_packed", "number_type", "reachable", "rebuilt", "statements", "taken_out", "unchanged",
    "walk", "with_bodies",
    "with_children", "with_recursion", "with_statements",
]  # fmt: skip


# -- expressions ----------------------------------------------------------------------------------


class Expression:
    """A value."""

    __slots__ = ()
    if TYPE_CHECKING:  # they are fields of each class

        @property
        def type(self) -> Type: ...  # noqa: D102

        @property
        def span(self) -> Span: ...  # noqa: D102


@record
class Literal_(Expression):  # noqa: N801 (typing has Literal)
    """A number that is known: of Python's own class, or a NumPy scalar's value."""

    value: Any
    type: Number
    span: Span


@record
class Local(Expression):
    """A parameter, a variable, or declared memory."""

    name: str
    type: Type
    span: Span


@record
class Cast(Expression):
    """A number in another type, converted as C does."""

    operand: Expression
    type: Number
    span: Span


@record
class Unary(Expression):
    """``-`` or ``~`` of a number of the same type."""

    op: Literal["-", "~"]
    operand: Expression
    type: Number
    span: Span


@record
class Not(Expression):
    """``not`` of a bool."""

    operand: Expression
    span: Span

    type: ClassVar[Number] = BOOL


@record
class Binary(Expression):
    """An operation with Python's meaning on two numbers of the type `type`.

    ``/`` is the true quotient, so that its type is no integer. The right operand of a shift may
    have another integer type.
    """

    op: str  # + - * / // % ** << >> & | ^; of integers also div and rem, which truncate as C does
    left: Expression
    right: Expression
    type: Number
    span: Span


@record
class Compare(Expression):
    """A comparison of two numbers of one type."""

    op: str  # < <= > >= == !=
    left: Expression
    right: Expression
    span: Span

    type: ClassVar[Number] = BOOL


@record
class Logical(Expression):
    """``and`` or ``or`` of bools; what comes later is evaluated only if it matters."""

    op: Literal["and", "or"]
    operands: tuple[Expression, ...]
    span: Span

    type: ClassVar[Number] = BOOL


@record
class Select(Expression):
    """One of two values of the same type; the other is not evaluated."""

    condition: Expression
    then: Expression
    orelse: Expression
    type: Type
    span: Span


@record
class Element(Expression):
    """An element of an array, which can be stored to.

    `wrap` tells for each index, an integer, whether it may be negative and then counts from the
    end.
    """

    array: Expression
    indices: tuple[Expression, ...]
    wrap: tuple[bool, ...]
    type: Type
    span: Span


@record
class Slice:
    """A part of an axis; None is Python's default. Bounds are clipped as Python does."""

    start: Expression | None
    stop: Expression | None
    step: Expression | None
    span: Span


@record
class Section(Expression):
    """A view of an array: one part an axis, an integer (which removes it) or a slice."""

    array: Expression
    parts: tuple[Expression | Slice, ...]
    type: Array
    span: Span


@record
class Extent(Expression):
    """The extent of an array along an axis (elements)."""

    array: Expression
    axis: int
    span: Span

    type: ClassVar[Number] = PY_INT


@record
class Field(Expression):
    """A field of a record, by name, or an item of a tuple, by number; can be stored to."""

    value: Expression
    key: str | int
    type: Type
    span: Span


@record
class Nothing(Expression):
    """None as an item of a tuple; it has no memory."""

    span: Span

    type: ClassVar[Type] = VOID


@record
class Construct(Expression):
    """A tuple of values."""

    items: tuple[Expression, ...]
    type: Type
    span: Span


@record
class Call(Expression):
    """An intrinsic: a row of the tables in `intrinsics`.

    `static` are the facts that its source depends on beside the arguments.
    """

    operation: Operation
    arguments: tuple[Expression, ...]
    type: Type
    span: Span
    static: tuple[Any, ...] = ()


@record
class Invoke(Expression):
    """A call of another function of the program, by its unique name."""

    function: str
    arguments: tuple[Expression, ...]
    type: Type
    span: Span


def array_type(node: Expression | Declare) -> Array:
    """The type of an expression that is an array."""
    assert isinstance(node.type, Array)
    return node.type


def number_type(node: Expression) -> Number:
    """The type of an expression that is a number."""
    assert isinstance(node.type, Number)
    return node.type


# -- statements -----------------------------------------------------------------------------------


class Statement:
    """A step of a function."""

    __slots__ = ()
    if TYPE_CHECKING:  # a field of each class

        @property
        def span(self) -> Span: ...  # noqa: D102


@record
class Declare(Statement):
    """Memory of a fixed shape that begins to exist here: shared, local or constant.

    `data` are the bytes of constant memory. A dynamic one is the block's dynamic shared memory.
    """

    name: str
    type: Array | Type
    span: Span
    alignment: int = 0
    dynamic: bool = False
    data: bytes = b""


@record
class Store(Statement):
    """An assignment to a local, an element or a field, of a value of its type."""

    target: Local | Element | Field
    value: Expression
    span: Span


@record
class Update(Statement):
    """An assignment to an element or a field that its value is computed from: ``x[i] += 1``.

    The target is evaluated once; in `value` it is the local `name`.
    """

    target: Element | Field
    name: str
    value: Expression
    span: Span


@record
class Evaluate(Statement):
    """An expression for its effect."""

    value: Expression
    span: Span


@record
class If(Statement):
    """A branch."""

    condition: Expression
    body: tuple[Statement, ...]
    orelse: tuple[Statement, ...]
    span: Span


@record
class While(Statement):
    """A loop as long as a condition holds."""

    condition: Expression
    body: tuple[Statement, ...]
    span: Span


@record
class For(Statement):
    """A loop over ``range(start, stop, step)``, integers of the variable's type.

    Bounds are evaluated once. `ascending` is None where the step's sign is not known. `private`
    says that the variable is neither assigned in the body nor used outside. `unroll` is None, a
    number of times, or True for all.
    """

    variable: Local
    start: Expression
    stop: Expression
    step: Expression
    ascending: bool | None
    private: bool
    unroll: int | bool | None
    body: tuple[Statement, ...]
    span: Span


@record
class Break(Statement):
    """Leaves the innermost loop."""

    span: Span


@record
class Continue(Statement):
    """Goes on with the innermost loop."""

    span: Span


@record
class Return(Statement):
    """Leaves the function."""

    value: Expression | None
    span: Span


@record
class Assert(Statement):
    """Ends the launch with an error unless a condition holds; one of debug mode is checked there
    alone.
    """

    condition: Expression
    message: str
    span: Span
    is_debug: bool = False


@record
class Print(Statement):
    """A line of output: strings, and numbers with their formats (of C's printf)."""

    parts: tuple[str | tuple[str, Expression], ...]
    span: Span


@record
class ThreadLoop(Statement):
    """The threads of a block one after the other: what stands between two barriers.

    Only barrier fission makes it, for CPU cores.
    """

    body: tuple[Statement, ...]
    span: Span


# -- functions ------------------------------------------------------------------------------------


@record
class Parameter:
    """A parameter of a function; its location for messages is `span`."""

    name: str
    type: Type
    span: Span


@record
class Function:
    """A function with all types decided."""

    name: str  # unique in the program, and a C++ identifier
    parameters: tuple[Parameter, ...]  # those that exist at run time
    result: Type
    body: tuple[Statement, ...]
    # Variables in the order of their first assignment: neither memory, nor private loop variables.
    locals: tuple[tuple[str, Type], ...]
    source: FunctionSource
    is_kernel: bool = False
    # Locals of a split function of which each thread has its own, across thread loops.
    per_thread: frozenset[str] = field(default=frozenset())
    is_split: bool = False  # it runs a whole block at a time: `barrier_fission`
    index_ndim: int = 0  # so many parameters, the last ones, are the index of an element
    is_recursive: bool = False  # it calls itself, or functions that do: it is known before its body


@record
class Program:
    """A kernel and the functions that it calls, callees first; the kernel is the last. Among
    functions that call each other any is first.
    """

    functions: tuple[Function, ...]

    @property
    def kernel(self) -> Function:
        """The entry point."""
        return self.functions[-1]


# What the fields that hold nodes are annotated with.
_OF_NODES = re.compile(r"\b(Expression|Statement|Slice|Local|Element|Field|Parameter|tuple\[Any)\b")


@functools.cache
def node_fields(kind: Any) -> tuple[str, ...]:
    """Return the fields of a class that may hold nodes, in the order of evaluation."""
    return tuple(f.name for f in dataclasses.fields(kind) if _OF_NODES.search(str(f.type)))


class _Readers(dict[Any, Callable[[Any], Sequence[Any]] | None]):
    """What returns the nodes directly below one of a class, the last one first, or None if there
    never are any.
    """

    def __missing__(self, kind: Any) -> Callable[[Any], Sequence[Any]] | None:
        types = {f.name: str(f.type) for f in dataclasses.fields(kind)}
        names = node_fields(kind)[::-1]
        reader = _reader(names, {name: types[name] for name in names}) if names else None
        self[kind] = reader
        return reader


_OF_ONES = re.compile(r"tuple\[(Expression|Statement|Parameter)( \| Slice)?, \.\.\.\]")


def _reader(names: Sequence[str], types: dict[str, str]) -> Callable[[Any], Sequence[Any]]:
    """What reads some fields; every stage walks over every node, so most have a short way."""
    is_single = all(not types[n].startswith("tuple[") and " | None" not in types[n] for n in names)
    if is_single and len(names) > 1:
        return operator.attrgetter(*names)
    if is_single:
        only = operator.attrgetter(*names)
        return lambda node: (only(node),)
    spread = [(n, types[n].startswith("tuple["), bool(_OF_ONES.fullmatch(types[n]))) for n in names]

    def read(node: Any) -> Sequence[Any]:
        found: list[Any] = []
        for name, is_tuple, is_of_nodes in spread:
            value = getattr(node, name)
            if is_tuple:
                found += (value if is_of_nodes else _nodes_among(value))[::-1]
            elif value is not None:
                found.append(value)
        return found

    return read


def _nodes_among(items: tuple[Any, ...]) -> list[Any]:
    """Return the nodes among what a field has, which may be text and pairs of text and a node."""
    found: list[Any] = []
    for item in items:
        if type(item) is tuple:
            found += [part for part in item[1:] if hasattr(part, "span")]
        elif hasattr(item, "span"):
            found.append(item)
    return found


_below = _Readers()


def children(node: Any) -> Iterator[Any]:
    """Yield the nodes directly below a node, in the order of evaluation."""
    below = _below[node.__class__]
    return iter(()) if below is None else iter(below(node)[::-1])


def walk(*nodes: Any) -> list[Any]:
    """Return nodes and everything below them, in the order of the source."""
    pending = [*reversed(nodes)]
    found: list[Any] = []
    while pending:  # a generator would take half as long again
        node = pending.pop()
        found.append(node)
        below = _below[node.__class__]
        if below is not None:
            pending += below(node)
    return found


def reachable(nodes: Iterable[Any], functions: Mapping[str, Function]) -> list[Function]:
    """Return the functions that nodes call, and those that these call, each once."""
    found: dict[str, Function] = {}
    pending = [*nodes]
    while pending:
        for node in walk(pending.pop()):
            if isinstance(node, Invoke) and node.function not in found:
                function = found[node.function] = functions[node.function]
                pending += function.body
    return [*found.values()]


def with_recursion(functions: Sequence[Function]) -> tuple[Function, ...]:
    """Return functions with a mark on those that come back to themselves."""
    by_name = {function.name: function for function in functions}
    called = {f.name: {part.name for part in reachable(f.body, by_name)} for f in functions}
    return tuple(dataclasses.replace(f, is_recursive=f.name in called[f.name]) for f in functions)


def bodies(statement: Statement) -> Iterator[tuple[Statement, ...]]:
    """Yield the statements that stand directly inside of one, body by body."""
    if isinstance(statement, If):
        yield statement.body
        yield statement.orelse
    elif isinstance(statement, For | While | ThreadLoop):
        yield statement.body


def controls(statement: If | While | For) -> tuple[Expression, ...]:
    """Return the expressions that control how a statement's bodies run."""
    if isinstance(statement, For):
        return (statement.start, statement.stop, statement.step)
    return (statement.condition,)


def statements(body: Iterable[Statement]) -> Iterator[Statement]:
    """Yield statements and those inside of them, without a look at their expressions."""
    for statement in body:
        yield statement
        for part in bodies(statement):
            yield from statements(part)


_WITH_BODIES = frozenset((If, For, While, ThreadLoop))


def with_bodies(
    statement: Statement, change: Callable[[tuple[Statement, ...]], tuple[Statement, ...]]
) -> Statement:
    """Return a statement with `change` applied to each of its bodies."""
    if statement.__class__ not in _WITH_BODIES:
        return statement
    changes: dict[str, Any] = {}
    for name, body in zip(("body", "orelse"), bodies(statement), strict=False):
        changed = change(body)
        if changed is not body:
            changes[name] = changed
    return dataclasses.replace(statement, **changes) if changes else statement  # type: ignore[type-var]


def with_statements(
    body: tuple[Statement, ...], change: Callable[[Statement], Statement]
) -> tuple[Statement, ...]:
    """Return statements with `change` applied to them and to all inside of them, from below."""

    def visit(part: tuple[Statement, ...]) -> tuple[Statement, ...]:
        return unchanged(part, [change(with_bodies(statement, visit)) for statement in part])

    return visit(body)


def taken_out(
    body: tuple[Statement, ...], is_taken: Callable[[Statement], bool]
) -> tuple[list[Statement], tuple[Statement, ...]]:
    """Return some of the statements of a body, wherever they stand, and what is left of it."""
    found: list[Statement] = []

    def rest(statements: tuple[Statement, ...]) -> tuple[Statement, ...]:
        remaining = []
        for statement in statements:
            if is_taken(statement):
                found.append(statement)
            else:
                remaining.append(with_bodies(statement, rest))
        return unchanged(statements, remaining)

    left = rest(body)
    return found, left


def unchanged(old: tuple[Any, ...], new: list[Any]) -> tuple[Any, ...]:
    """Return new items as a tuple: the old one if they are the same objects."""
    if len(old) == len(new) and all(map(operator.is_, old, new)):
        return old
    return tuple(new)


def with_children(node: Any, change: Callable[[Any], Any]) -> Any:
    """Return a node with `change` applied to each node directly below it; the same object if that
    changes nothing.
    """
    changes = {}
    for name in node_fields(node.__class__):
        old = getattr(node, name)
        new = _with_each(old, change)
        if new is not old:
            changes[name] = new
    return dataclasses.replace(node, **changes) if changes else node


def _with_each(value: Any, change: Callable[[Any], Any]) -> Any:
    if type(value) is tuple:
        return unchanged(value, [_with_each(item, change) for item in value])
    return change(value) if hasattr(value, "span") else value


def rebuilt(value: Any, change: Callable[[Any], Any]) -> Any:
    """Return nodes with `change` applied to them and to everything below them, from below."""

    def visit(node: Any) -> Any:
        return change(with_children(node, visit))

    return _with_each(value, visit)


def declared_names(function: Function) -> set[str]:
    """Return the names that a function declares."""
    names = {p.name for p in function.parameters} | {name for name, _ in function.locals}
    for node in statements(function.body):
        if isinstance(node, Declare | Update):
            names.add(node.name)
        elif isinstance(node, For):
            names.add(node.variable.name)
    return names


def base_of(lvalue: Any) -> Any:
    """Return the value that a field, or a field of one, belongs to; anything else as it is."""
    while isinstance(lvalue, Field):
        lvalue = lvalue.value
    return lvalue


def is_packed(lvalue: Any) -> bool:
    """Whether an lvalue may be at any byte, in a packed record or in a view of such."""
    while True:
        if isinstance(lvalue.type, Record) and lvalue.type.is_packed:
            return True
        if isinstance(lvalue, Field):
            lvalue = lvalue.value
        elif isinstance(lvalue, Element | Section):
            if isinstance(lvalue.array.type, Array) and lvalue.array.type.packed:
                return True
            lvalue = lvalue.array
        else:
            return False

"""Numbers that a call knows before it launches anything: extents, and arguments that are numbers.

A trace sees the value that a number has in the traced call, and keeps the expression that it came
from. What the trace decides by a value becomes a guard: the trace is used again for every call
whose arguments give the guards the same values.
"""

from __future__ import annotations

import functools
import operator
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from math import gcd
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from kerneltk.fusion.trace.users import in_try

# ("constant", its kind, value), ("argument", index), ("extent", array, axis),
# ("outside", OutsideNumber), ("call", function, operands), ("round", its kind, value): a constant
# that other rounds of a loop have others of, and so a parameter of one kernel for all; or
# ("index", loop, value): the index of a loop that may be rolled, in the round that was traced.
Expression: TypeAlias = tuple[Any, ...]


class NumberFunction:
    """A function of numbers that each trace makes anew: those of the same parts are the same."""

    __slots__ = ("parts",)

    def __init__(self, *parts: Any) -> None:
        self.parts = parts

    def __call__(self, *numbers: Any) -> Any:
        """What it makes of numbers."""
        raise NotImplementedError

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and other.parts == self.parts

    def __hash__(self) -> int:
        return hash((type(self), self.parts))


class OutsideNumber:
    """A number that a function reads from outside, in each call anew.

    Parameters
    ----------
    key : object
        Says what is read: traces with equal keys read the same.
    read : callable
        Takes a call's arguments.
    number : int
        Among those of the trace.
    """

    __slots__ = ("key", "number", "read")

    def __init__(self, key: Any, read: Callable[[Sequence[Any]], Any], number: int) -> None:
        self.key, self.read, self.number = key, read, number

    def __eq__(self, other: object) -> bool:
        return isinstance(other, OutsideNumber) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)

    def __repr__(self) -> str:
        return f"outside {self.number}"


class Environment(NamedTuple):
    """What expressions are evaluated with: the arguments, and the shapes of the arrays."""

    arguments: Sequence[Any]
    shapes: Sequence[Sequence[int]]


def evaluated(expression: Expression, environment: Environment) -> Any:
    """The value of an expression in a call."""
    kind = expression[0]
    if kind in ("constant", "round", "index"):
        return expression[2]
    if kind == "argument":
        return environment.arguments[expression[1]]
    if kind == "extent":
        return environment.shapes[expression[1]][expression[2]]
    if kind == "outside":
        return expression[1].read(environment.arguments)
    return expression[1](*(evaluated(operand, environment) for operand in expression[2]))


def has_argument(expression: Expression) -> bool:
    """Whether an expression depends on an argument that is a number, or on one from outside."""
    if expression[0] == "call":
        return any(map(has_argument, expression[2]))
    return expression[0] in ("argument", "outside")


def parts_of(expressions: Iterable[Expression]) -> set[Expression]:
    """Some numbers, and all that they are computed from."""
    found: set[Expression] = set()
    pending = {*expressions}
    while pending:
        found |= pending
        pending = {o for one in pending if one[0] == "call" for o in one[2]} - found
    return found


def leaves_of(expressions: Iterable[Expression]) -> set[Expression]:
    """What some numbers are computed from."""
    return {one for one in parts_of(expressions) if one[0] != "call"}


def indices_of(expression: Expression) -> frozenset[Expression]:
    """The indices of loops that a number is computed from."""
    if expression[0] == "call":
        return frozenset().union(*map(indices_of, expression[2]))
    return frozenset((expression,)) if expression[0] == "index" else _NO_INDICES


_NO_INDICES: frozenset[Expression] = frozenset()


def operands_change_type(expression: Expression) -> bool:
    """Whether the type of a result depends on the values of its operands: ``2**-1`` is a float,
    and ``(-1.0) ** 0.5`` complex.
    """
    if expression[0] != "call" or expression[1] is not operator.pow:
        return False
    exponent = expression[2][1]
    if exponent[0] != "constant":
        return True
    value = exponent[2]
    return not (isinstance(value, int | np.integer) or float(value.real).is_integer())


class Symbol(NamedTuple):
    """A number: where it comes from, and its value in the traced call."""

    expression: Expression
    value: Any

    @property
    def is_constant(self) -> bool:
        """Whether it is the same in every call."""
        return bool(self.expression[0] == "constant")


def constant(value: Any) -> Symbol:
    """A number that is the same in every call. Its expression tells numbers apart that Python takes
    for equal: of another type, or zeros of another sign.
    """
    kind: Any = type(value)
    if kind in _SIGNED or issubclass(kind, _SIGNED):
        kind = kind, repr(value)
    return Symbol(("constant", kind, value), value)  # of two kinds, numbers are not compared


_SIGNED = (float, complex, np.inexact)


def of_round(value: Any) -> Symbol:
    """A constant that other rounds of a loop have others of."""
    return Symbol(("round", *constant(value).expression[1:]), value)


def as_symbol(value: Any) -> Symbol:
    """A number of each call as it is; anything else is a constant."""
    kind = type(value)
    if kind is Symbol:
        return value  # type: ignore[no-any-return]
    return _plain(value) if value is None or kind is int else constant(value)


@functools.lru_cache(maxsize=4096)
def _plain(value: int | None) -> Symbol:
    return constant(value)


def applied(function: Callable[..., Any], *operands: Symbol) -> Symbol:
    """What a function makes of numbers, now and in later calls."""
    is_constant = all(operand.is_constant for operand in operands)
    guards = None if is_constant else _tracing.guards
    try:
        value = function(*(operand.value for operand in operands))
    except Exception:
        if guards is not None:  # the function may catch it
            guards.note_raising(function, operands)
        raise
    if is_constant:
        return constant(value)
    if guards is not None:
        if function not in _TOTAL and in_try():
            guards.note_raising(function, operands)
        elif function in _RAISING or isinstance(function, NumberFunction):
            guards.computed.append((function, operands))
    return Symbol(_expression(function, operands), value)


def _expression(function: Callable[..., Any], operands: Sequence[Symbol]) -> Expression:
    return ("call", function, tuple(operand.expression for operand in operands))


# Python's operators of numbers that some numbers have no results of.
_RAISING = frozenset(
    (operator.truediv, operator.floordiv, operator.mod, operator.pow, operator.lshift,
     operator.rshift)
)  # fmt: skip


class _Tracing(threading.local):
    """The guards of the trace that a thread is in, and of the one that it plans."""

    guards: Guards | None = None
    planned: Guards | None = None


_tracing = _Tracing()


class Raising(NumberFunction):
    """The name of the exception that a function of numbers raises; "" if it raises none."""

    __slots__ = ()

    def __call__(self, *numbers: Any) -> str:
        """The name for some numbers."""
        try:
            self.parts[0](*numbers)
        except Exception as error:
            return type(error).__name__
        return ""


def sliced_extent(extent: int, start: Any, stop: Any, step: Any) -> int:
    """How many elements a slice of an axis has."""
    return len(range(*slice(start, stop, step).indices(extent)))


def slice_start(extent: int, start: Any, stop: Any, step: Any) -> int:
    """The index of the first element of a slice of an axis."""
    return slice(start, stop, step).indices(extent)[0]


def moved_index(offset: int, begin: int, factor: int) -> int:
    """The index of a view's first element, in what is viewed."""
    return offset + begin * factor


def scale_along(extent: int, scale: int) -> int:
    """What an index along an axis that may be broadcast is multiplied by."""
    return 0 if extent == 1 else scale


def wrapped_index(index: int, extent: int) -> int:
    """An index from the beginning of an axis."""
    return index % extent


def real_part(number: Any) -> Any:
    """The real part of a number."""
    return number.real


def imaginary_part(number: Any) -> Any:
    """The imaginary part of a number."""
    return number.imag


def index_end(index: int) -> int | None:
    """The stop of a slice that an index alone is in."""
    return index + 1 or None


def has_index(extent: int, index: int) -> bool:
    """Whether an axis has an index."""
    return -extent <= index < extent


def product(*numbers: int) -> int:
    """The product of integers."""
    found = 1
    for number in numbers:
        found *= number
    return found


def are_apart(extent: int, count: int, *bounds: Any) -> bool:
    """Whether two parts of an axis have no index in common: `count` slices of slices, and others,
    each by start, stop and step.
    """
    one, other = range(extent), range(extent)
    for at in range(0, len(bounds), 3):
        item = slice(*bounds[at : at + 3])
        if at < 3 * count:
            one = one[item]
        else:
            other = other[item]
    if not one or not other:
        return True
    if max(one) < min(other) or max(other) < min(one):
        return True
    apart = gcd(*(own.step for own in (one, other) if len(own) > 1))
    return apart > 1 and (one[0] - other[0]) % apart != 0


class Guards:
    """What a trace decided by values: expressions, and the values that it took."""

    def __init__(self) -> None:
        self.conditions: dict[Expression, Any] = {}
        self.only_broadcast = True  # whether nothing else than broadcasting decided anything
        self.equals: dict[Expression, Expression] = {}
        # Of each expression, the calls in `equals` that have it as an operand.
        self._calls_of: dict[Expression, list[Expression]] = {}
        self._found: dict[Expression, Expression] = {}  # canonical ones, until others are equal
        # What may raise an exception in a later call, also if no result needs it.
        self.computed: list[tuple[Callable[..., Any], Sequence[Symbol]]] = []

    @contextmanager
    def noting_exceptions(self) -> Iterator[None]:
        """Take what functions of numbers raise within for decisions of the trace."""
        before, _tracing.guards = _tracing.guards, self
        try:
            yield
        finally:
            _tracing.guards = before

    @contextmanager
    def planning(self) -> Iterator[None]:
        """Have `canonical_shape` name equal extents by the same symbols within: all are known."""
        before, _tracing.planned = _tracing.planned, self
        try:
            yield
        finally:
            _tracing.planned = before

    def note_raising(self, function: Callable[..., Any], operands: Sequence[Symbol]) -> None:
        """Have later calls share whether a function of numbers raises an exception."""
        if not isinstance(function, Raising):
            raising = Raising(function)
            value = raising(*(operand.value for operand in operands))
            self.conditions[_expression(raising, operands)] = value
            self.only_broadcast = False

    def note_unneeded(self, needed: Sequence[Expression]) -> None:
        """As `note_raising`, for numbers that are no part of any that calls compute."""
        known = parts_of((*needed, *self.conditions))
        for function, operands in self.computed:
            if _expression(function, operands) not in known:
                self.note_raising(function, operands)

    def value(self, symbol: Symbol) -> Any:
        """The value of a number, which later calls must share."""
        if not symbol.is_constant:
            self.conditions[symbol.expression] = symbol.value
            self.only_broadcast = False
        return symbol.value

    def decide_broadcast(self, function: Callable[..., Any], *operands: Symbol) -> Any:
        """As `decide`, for what a kernel decides again when it broadcasts its operands."""
        symbol = applied(function, *operands)
        if not symbol.is_constant:
            self.conditions[symbol.expression] = symbol.value
        return symbol.value

    def decide(self, function: Callable[..., Any], *operands: Symbol) -> Any:
        """What a function makes of numbers, in which later calls must agree."""
        return self.value(applied(function, *operands))

    def is_decided(self, expression: Expression) -> bool:
        """Whether a number is the same in all calls of the trace."""
        kind = expression[0]
        if kind == "constant" or expression in self.conditions:
            return True
        return kind == "call" and all(map(self.is_decided, expression[2]))

    def index(self, symbol: Symbol) -> int | Symbol:
        """An integer as an index: a number of each call, if the trace has not decided it."""
        if self.is_decided(symbol.expression):
            return int(symbol.value)
        return symbol if type(symbol.value) is int else applied(operator.index, symbol)

    def canonical(self, symbol: Symbol) -> Symbol:
        """The one of equal numbers that stands for all of them, by what the trace decided."""
        return Symbol(self._canonical(symbol.expression), symbol.value)

    def _canonical(self, given: Expression) -> Expression:
        if given[0] == "constant":
            return given
        found = self._found.get(given)
        if found is None:
            found = self._found[given] = self._sought(given)
        return found

    def _sought(self, expression: Expression) -> Expression:
        if expression[0] == "call":
            operands = tuple(map(self._canonical, expression[2]))
            expression = ("call", expression[1], operands)
            if all(operand[0] == "constant" for operand in operands):
                return constant(evaluated(expression, Environment((), ()))).expression
        other = self.equals.get(expression)
        return expression if other is None else self._canonical(other)

    def note_equal(self, left: Symbol, right: Symbol) -> None:
        """Remember that two numbers are equal wherever the guards hold."""
        pending = [(left.expression, right.expression)]
        while pending:
            first, second = map(self._canonical, pending.pop())
            if first != second:
                if _rank(second) < _rank(first):
                    first, second = second, first
                self.equals[second] = first
                self._found = {}
                # Calls of the same function are equal where their operands are now.
                pending += ((call, self.equals[call]) for call in self._calls_of.get(second, ()))
                for operand in parts_of(second[2]) if second[0] == "call" else ():
                    self._calls_of.setdefault(operand, []).append(second)


def canonical_shape(shape: tuple[Symbol, ...]) -> tuple[Symbol, ...]:
    """A shape, whose extents are those that stand for all equal ones of the trace that is planned:
    an extent that was decided to be one is the number itself.
    """
    guards = _tracing.planned
    return shape if guards is None else tuple(map(guards.canonical, shape))


def _rank(expression: Expression) -> tuple[Any, ...]:
    """The place of an expression in an order where that of a call is lower with a lower operand:
    the lowest of equal ones stands for all, so none stands for itself by way of others. Shorter
    ones are lower, and constants are the lowest.
    """
    kind = expression[0]
    if kind != "call":
        return int(kind != "constant"), kind, tuple(map(repr, expression[1:]))
    operands = tuple(map(_rank, expression[2]))
    name = getattr(expression[1], "__name__", type(expression[1]).__name__)
    return 2 + sum(operand[0] for operand in operands), name, operands


def decision(value: Any) -> Any:
    """What equal decisions have in common; zeros of another sign are other numbers."""
    return type(value), repr(value) if isinstance(value, _SIGNED) else value


def decided(expression: Expression, environment: Environment) -> Any:
    """The decision by an expression in a call; None where it has no value."""
    try:
        return decision(evaluated(expression, environment))
    except Exception:  # the trace has decided by a value
        return None


def equal(left: Any, right: Any) -> bool:
    """Whether two extents are equal."""
    return bool(left == right)


def is_one(extent: int) -> bool:
    """Whether an extent is broadcast."""
    return extent == 1


# Of extents that there are: what none of them raises needs no guard in a 'try'.
_TOTAL = frozenset((equal, is_one, product, sliced_extent))


def broadcast_extent(guards: Guards, left: Symbol, right: Symbol) -> Symbol | None:
    """The extent that two meet in, or None where they do not go together."""
    if left.expression == right.expression:
        return left
    if guards.decide_broadcast(equal, left, right):
        guards.note_equal(left, right)
        return left
    for one, other in ((left, right), (right, left)):
        if guards.decide_broadcast(is_one, one):
            guards.note_equal(one, constant(1))
            return other
    return None


def broadcast_shapes(guards: Guards, *shapes: tuple[Symbol, ...]) -> tuple[Symbol, ...] | None:
    """The shape that several meet in, or None where they do not go together."""
    found: tuple[Symbol, ...] = ()
    for shape in shapes:
        longer, shorter = (found, shape) if len(found) >= len(shape) else (shape, found)
        lead = len(longer) - len(shorter)
        extents = list(longer[:lead])
        for left, right in zip(longer[lead:], shorter, strict=True):
            met = broadcast_extent(guards, left, right)
            if met is None:
                return None
            extents.append(met)
        found = tuple(extents)
    return found


class Exponent(NumberFunction):
    """The function that NumPy's operator has for a power of some kind of number; None for the power
    itself.
    """

    __slots__ = ()

    def __call__(self, exponent: Any) -> Any:
        """The function for an exponent."""
        if self.parts == ("b",):
            return np.square if type(exponent) is int and exponent == 2 else None
        return {2: np.square, 0.5: np.sqrt, -1: np.reciprocal}.get(exponent)

"""The rounds of nested loops, and whether all of them decide as the traced one.

The ends of an inner range may be computed from the index of a loop around it: ``for j in
range(i)``. What such a round decides by its indices is an `Obligation`: it must hold for all rounds
of all loops around it. Where it compares affine functions of the indices, it holds in all rounds
if it does in the corners of the loops, by one side of the comparison; else each round is asked.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator, Mapping, Sequence, Set
from typing import Any, NamedTuple, TypeAlias

from kerneltk.fusion.trace.symbols import (
    Environment,
    Expression,
    Symbol,
    applied,
    are_apart,
    constant,
    decision,
    evaluated,
    has_index,
    index_end,
    indices_of,
    product,
)

_MOST_ROUNDS = 1 << 16  # that are asked one by one


class Span(NamedTuple):
    """A range whose ends depend on indices of loops around it, and on constants."""

    start: Symbol
    stop: Symbol
    step: int

    @property
    def indices(self) -> frozenset[Expression]:
        """The indices that its ends depend on."""
        return indices_of(self.start.expression) | indices_of(self.stop.expression)


Domain: TypeAlias = range | Span
_At = Mapping[Expression, int]
_NOTHING = Environment((), ())


def rounds_in(domain: Domain, at: _At = {}) -> range:  # noqa: B006
    """The values of a loop's index, with those of the loops around it; else in the traced round."""
    if isinstance(domain, range):
        return domain
    start, stop = (value_at(end.expression, at, _NOTHING) for end in domain[:2])
    return range(start, stop, domain.step)


def value_at(expression: Expression, at: _At, environment: Environment) -> Any:
    """The value of an expression in a round."""
    if expression in at:
        return at[expression]
    if expression[0] != "call":
        return evaluated(expression, environment)
    return expression[1](*[value_at(one, at, environment) for one in expression[2]])


def decides(expression: Expression, expected: Any, at: _At, environment: Environment) -> bool:
    """Whether a round decides as expected."""
    try:
        return bool(decision(value_at(expression, at, environment)) == expected)
    except Exception:  # the trace has decided by a value
        return False


def rounds_that_hold(
    conditions: Mapping[Expression, Any],
    index: Expression,
    values: Sequence[int],
    environment: Environment,
) -> int:
    """How many rounds from the first one on decide as the traced one."""
    wanted = [(expression, decision(value)) for expression, value in conditions.items()]
    for count, value in enumerate(values):
        if not all(decides(*one, {index: value}, environment) for one in wanted):
            return count
    return len(values)


class Obligation(NamedTuple):
    """Decisions that a round of a loop shares with all of its rounds, in all loops around it."""

    conditions: dict[Expression, Any]  # with the values that they had in the traced round
    # The indices and rounds of the loop and of those around it, the outermost one last.
    loops: tuple[tuple[Expression, Domain], ...]
    key: Any  # of the loop to be unrolled where it does not hold
    way: Any = None  # how a loop is rolled now whose range depends on others

    def within(self, index: Expression, values: Domain) -> Obligation:
        """As it is in another loop, around those that it has."""
        return self._replace(loops=(*self.loops, (index, values)))

    @property
    def own_rounds(self) -> int:
        """How many rounds its own loop has in the traced round of those around."""
        return len(rounds_in(self.loops[0][1]))

    def later(self, rounds: int) -> Obligation:
        """As it is for later rounds of its own loop, whose range depends on others."""
        (index, values), *around = self.loops
        assert isinstance(values, Span)
        start = applied(operator.add, values.start, constant(rounds * values.step))
        return self._replace(loops=((index, Span(start, *values[1:])), *around))

    def depends_on(self, indices: Set[Expression]) -> bool:
        """Whether it depends on indices of loops that it does not have."""
        known = {index for index, _ in self.loops}
        used = [indices_of(expression) for expression in self.conditions]
        used += [values.indices for _, values in self.loops if isinstance(values, Span)]
        return not indices.isdisjoint(frozenset().union(*used) - known)

    def holds(self, environment: Environment) -> bool:
        """Whether all rounds decide as the traced one."""
        loops = _without_empty(self.loops)
        corners = _corners(loops)
        return all(
            _holds_between(expression, value, corners, environment)
            or _holds_in_each(expression, value, loops, environment)
            for expression, value in self.conditions.items()
        )


_Loops = Sequence[tuple[Expression, Domain]]


def _without_empty(loops: _Loops) -> _Loops:
    """Loops without the outermost rounds in which the next inner one has none."""
    index, values = loops[-1]
    inner = loops[-2][1] if len(loops) > 1 else None
    if not isinstance(inner, Span) or not inner.indices <= {index}:
        return loops
    found = [value for value in rounds_in(values) if rounds_in(inner, {index: value})]
    step = 1 if isinstance(values, range) and values.step > 0 else -1
    if not found:
        return (*loops[:-1], (index, range(0)))
    own = range(found[0], found[-1] + step, values.step)
    return (*loops[:-1], (index, own)) if len(own) == len(found) else loops


def _rounds(loops: _Loops, most: int) -> Iterator[_At]:
    """The indices of all rounds; raises OverflowError where there are more."""
    made: list[_At] = [{}]
    for index, values in reversed(loops):
        made = [{**at, index: value} for at in made for value in rounds_in(values, at)[: most + 1]]
        if len(made) > most:
            raise OverflowError
    return iter(made)


def _holds_in_each(
    expression: Expression, value: Any, loops: _Loops, environment: Environment
) -> bool:
    expected, used = decision(value), indices_of(expression)
    while loops and loops[0][0] not in used:  # inner loops that it does not depend on
        loops = loops[1:]
    try:
        if loops and used == {loops[0][0]}:
            index, values = loops[0]
            each: set[int] = set()
            for at in _rounds(loops[1:], _MOST_ROUNDS):
                each.update(rounds_in(values, at))
            return len(each) <= _MOST_ROUNDS and all(
                decides(expression, expected, {index: one}, environment) for one in each
            )
        every = _rounds(loops, _MOST_ROUNDS)
        return all(decides(expression, expected, at, environment) for at in every)
    except OverflowError:
        return False


# -- corners ---------------------------------------------------------------------------------------
#
# A function that is affine in the indices has its extremes in the corners of nested loops whose
# ends are affine, too: along the innermost index it has them at an end, which makes it an affine
# function of the other indices. Corners of rounds that there are not only make it stricter.


def _corners(loops: _Loops) -> list[_At] | None:
    """The indices in the corners; None where an end is not affine. A step is taken for 1, which has
    all rounds and more.
    """
    made: list[_At] = [{}]
    for index, values in reversed(loops):
        if isinstance(values, range):
            made = [{**at, index: one} for at in made for one in {*values[:1], *values[-1:]}]
            continue
        if not all(_is_affine(end.expression) for end in values[:2]):
            return None
        ends = []
        for at in made:
            start, stop = (value_at(end.expression, at, _NOTHING) for end in values[:2])
            ends.append((at, (start, stop - (1 if values.step > 0 else -1))))
        made = [{**at, index: one} for at, own in ends for one in own]
    return made


def _is_affine(expression: Expression) -> bool:
    kind = expression[0]
    if kind != "call":
        return kind != "constant" or type(expression[2]) is int
    function, operands = expression[1:]
    if function in (operator.mul, product):
        is_linear = sum(bool(indices_of(one)) for one in operands) <= 1
    else:
        is_linear = function in _LINEAR
    return is_linear and all(map(_is_affine, operands))


_LINEAR = (operator.add, operator.sub, operator.neg, operator.pos, operator.index)
_HOLDS = {operator.lt: operator.lt, operator.le: operator.le, operator.gt: operator.gt,
          operator.ge: operator.ge}  # fmt: skip
_FAILS = {operator.lt: operator.ge, operator.le: operator.gt, operator.gt: operator.le,
          operator.ge: operator.lt}  # fmt: skip


def _holds_between(
    expression: Expression, value: Any, corners: list[_At] | None, environment: Environment
) -> bool:
    """Whether the corners show that a comparison holds in all rounds."""
    if corners is None or expression[0] != "call":
        return False
    function, operands = expression[1:]
    if function is operator.truth and operands[0][0] == "call":
        function, operands = operands[0][1:]
        compare = (_HOLDS if value else _FAILS).get(function)
        if compare is None or not all(map(_is_affine, operands)):
            return False
        compared = _values(operands, corners, environment)
        # Floats are rounded in each round: they are affine functions only nearly.
        return all({*map(type, each)} == {int} and compare(*each) for each in compared)
    if function is has_index and value and all(map(_is_affine, operands)):
        return all(has_index(*each) for each in _values(operands, corners, environment))
    if function is are_apart and value and len(operands) == 8:
        extent, count, start, stop, step, other_start, other_stop, other_step = operands
        if any(one[0] != "constant" or one[2] != 1 for one in (count, step, other_step)):
            return False
        ends = [_end(one, extent) for one in (start, stop, other_start, other_stop)]
        if not all(map(_is_affine, ends)):
            return False
        found = [*_values(ends, corners, environment)]
        return all(min(each) >= 0 for each in found) and (
            all(each[1] <= each[2] for each in found) or all(each[3] <= each[0] for each in found)
        )
    return False


def _end(expression: Expression, extent: Expression) -> Expression:
    """An end of a slice, where indices are not negative."""
    if expression[0] == "call" and expression[1] is index_end:
        return "call", operator.add, (*expression[2], ("constant", int, 1))
    return extent if expression[0] == "constant" and expression[2] is None else expression


def _values(
    expressions: Sequence[Expression], corners: Sequence[_At], environment: Environment
) -> Iterator[Sequence[int]]:
    for at in corners:
        yield [value_at(one, at, environment) for one in expressions]

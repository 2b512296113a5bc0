"""A trace that has ended, as a string: all that its plan depends on.

Two traces of equal strings have the same plan. Their numbers may be others, which guards have
decided alike; so the string has expressions, and not their values. Nothing in it is known by its
identity: what has no description of its own meaning, such as a function of another library, makes
the trace one that is planned each time.
"""

from __future__ import annotations

import operator
import sys
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from kerneltk.core.dtypes import UndescribedError, described_dtype, described_number
from kerneltk.fusion.trace.graph import (
    Apply,
    Broadcast,
    Call,
    Cast,
    Effect,
    Index,
    Item,
    Load,
    Loop,
    Node,
    Progression,
    Reduce,
    Scalar,
    Shape,
    Slice,
    Transpose,
    View,
    ViewStep,
)
from kerneltk.fusion.trace.state import Trace
from kerneltk.fusion.trace.symbols import Expression, NumberFunction, Symbol

_HOMES = ("builtins", "math", "_operator", "numpy")
_OURS = ("kerneltk.fusion.", "kerneltk.schedule.")


def described_function(function: Any) -> str:
    """Describe a function of numbers or elements by where it is found; raises UndescribedError for
    one that is not found there.
    """
    if isinstance(function, NumberFunction):
        kind = type(function)
        if not kind.__module__.startswith(_OURS):
            raise UndescribedError(function)
        return f"{kind.__module__}.{kind.__qualname__}({_described_part(function.parts)})"
    if type(function) is operator.attrgetter:
        return repr(function)
    name = getattr(function, "__name__", None)
    home = getattr(function, "__module__", None)
    if isinstance(function, np.ufunc) or str(home).startswith("numpy."):
        home = "numpy"
    known = home in _HOMES or str(home).startswith(_OURS)
    if not known or getattr(sys.modules.get(str(home)), str(name), None) is not function:
        raise UndescribedError(function)
    return f"{home}.{name}"


def _described_part(part: Any) -> str:
    """Describe a number, a dtype, a type, a function, or several of these."""
    if isinstance(part, tuple):
        return f"({','.join(map(_described_part, part))})"
    if isinstance(part, np.dtype):
        return f"d{dtype_code(part)}"
    if callable(part):
        return f"<{described_function(part)}>"
    return described_number(part)


def dtype_code(dtype: np.dtype[Any]) -> str:
    """Describe a dtype: those that NumPy has itself, of the machine's byte order, by a letter."""
    return dtype.char if dtype.isbuiltin == 1 else f"<{described_dtype(dtype)}>"


class Description:
    """What the plan of some values of a trace depends on.

    Attributes
    ----------
    text : str
    nodes : list of Node
        The values, operands first; the text numbers them in this order.
    numbers : dict
        The place of each value, by identity.
    symbols : dict
        Numbers that each call knows, by their expressions, in the order of the text.
    dtypes : dict
        Those of the trace, by what the text calls them.
    """

    def __init__(self, trace: Trace, nodes: Sequence[Node], outputs: Sequence[Node]) -> None:
        self.nodes = nodes
        self.numbers = {id(node): number for number, node in enumerate(nodes)}
        self.symbols: dict[Expression, Symbol] = {}
        self.dtypes: dict[str, np.dtype[Any]] = {}
        self._places: dict[Expression, int] = {}
        self._codes: dict[int, str] = {}
        self._lines: list[str] = []
        add = self._lines.append
        for source in trace.sources:
            kind = "captured" if source.captured is not None else "local" * source.is_local
            add(f"array {self._head(source.dtype, source.shape)} {source.version} {kind}")
        for node in nodes:
            add(self._node(node))
        self._effects(trace.effects)
        add(f"outputs {[self.numbers[id(node)] for node in outputs]}")
        guards, layouts = trace.guards, trace.layouts
        add(f"broadcasts {guards.only_broadcast}")
        for expression, value in guards.conditions.items():
            add(f"where {self._of_expression(expression)} is {_described_part(value)}")
        for first, second in guards.equals.items():
            add(f"equal {self._of_expression(first)} {self._of_expression(second)}")
        add(f"layouts {layouts.is_asked_for} {sorted(layouts.sources.items())}")
        for number, node in enumerate(nodes):
            layout = layouts.asked(node)
            if layout is not None:
                add(f"layout {number} {layout}")
        self.text = "\n".join(self._lines)

    def _effects(self, effects: Iterable[Effect | Loop]) -> None:
        add = self._lines.append
        for effect in effects:
            if isinstance(effect, Loop):
                outside = [self.numbers[id(node)] for node in effect.outside]
                index = self._of_expression(effect.index)
                add(f"loop {index} {effect.values} {outside} {effect.versions}")
                add(f"makes {sorted(effect.arrays)}")
                self._effects(effect.effects)
                add("ended")
            else:
                steps = self.steps(effect.steps)
                value = self.numbers[id(effect.value)]
                add(f"effect {effect.array} {effect.version} {steps} {value}")

    # -- parts -----------------------------------------------------------------------------------

    def dtype(self, dtype: np.dtype[Any]) -> str:
        """A dtype."""
        code = self._codes.get(id(dtype))
        if code is None:
            code = self._codes[id(dtype)] = dtype_code(dtype)
            self.dtypes[code] = dtype
        return code

    def place(self, symbol: Symbol) -> int:
        """The number of a symbol. Its line says whether it is one: broadcasting depends on that,
        and everything else on guards.
        """
        found = self._places.get(symbol.expression)
        if found is None:
            line = f"{self._of_expression(symbol.expression)} {symbol.value == 1}"
            found = self._places[symbol.expression] = len(self._places)
            self.symbols[symbol.expression] = symbol
            self._lines.append(f"number {found} {line}")
        return found

    def _of_expression(self, expression: Expression) -> str:
        kind = expression[0]
        if kind == "constant":
            return described_number(expression[2])
        if kind == "round":
            return f"r{described_number(expression[2])}"
        if kind == "index":
            return f"i{expression[1]},{expression[2]}"
        if kind == "argument":
            return f"a{expression[1]}"
        if kind == "extent":
            return f"e{expression[1]},{expression[2]}"
        if kind == "outside":
            return f"o{expression[1].number}"
        operands = ",".join(map(self._of_expression, expression[2]))
        return f"[{described_function(expression[1])} {operands}]"

    def shape(self, shape: Shape) -> str:
        """A shape."""
        return f"({','.join([str(self.place(extent)) for extent in shape])})"

    def _head(self, dtype: np.dtype[Any], shape: Shape) -> str:
        return f"{self.dtype(dtype)}{self.shape(shape)}"

    def steps(self, steps: Sequence[ViewStep]) -> str:
        """The steps of a view."""
        return f"[{';'.join(map(self._step, steps))}]"

    def _step(self, step: ViewStep) -> str:
        if isinstance(step, Index):
            return f"index {','.join(map(self._item, step.items))}"
        if isinstance(step, Transpose):
            return f"transpose {step.axes}"
        assert isinstance(step, Broadcast)
        return f"broadcast {self.shape(step.shape)}"

    def _item(self, item: Item) -> str:
        if isinstance(item, Slice):
            return ":".join(map(self._item, (item.start, item.stop, item.step)))
        return f"n{self.place(item)}" if isinstance(item, Symbol) else described_number(item)

    def _node(self, node: Node) -> str:
        head = self._head(node.dtype, node.shape)
        number = self.numbers
        if isinstance(node, Load):
            return f"load {head} {node.array} {node.version}"
        if isinstance(node, Scalar):
            return f"scalar {head} {self.place(node.symbol)}"
        if isinstance(node, Apply):
            operands = [number[id(operand)] for operand in node.operands]
            return f"apply {head} {described_function(node.function)} {operands} {node.part}"
        if isinstance(node, Cast):
            return f"cast {head} {number[id(node.operand)]}"
        if isinstance(node, View):
            return f"view {head} {number[id(node.operand)]} {self._step(node.step)}"
        if isinstance(node, Reduce):
            return f"reduce {head} {node.kind} {number[id(node.operand)]} {node.axes}"
        if isinstance(node, Call):
            operands = [number[id(operand)] for operand in node.operands]
            return f"call {head} {node.function} {operands} {_described_part(node.options)}"
        assert isinstance(node, Progression)
        return f"progression {head} {number[id(node.start)]} {number[id(node.step)]}"

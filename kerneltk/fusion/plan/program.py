"""A plan as Python source: what a call with arguments of known kinds executes.

The source has one line a launch. Extents, numbers and views are computed from the arguments of each
call.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable, Sequence
from functools import cached_property, lru_cache
from types import CodeType
from typing import Any

import numpy as np

from kerneltk.backends.base import Backend
from kerneltk.fusion.plan.body import Leaf, Steps, same_extents, without_axes
from kerneltk.fusion.plan.planner import Plan, Step, Target
from kerneltk.fusion.results import is_named_tuple
from kerneltk.fusion.trace.graph import Index, Node, Shape, Transpose
from kerneltk.fusion.trace.state import Trace
from kerneltk.fusion.trace.symbols import Environment, Expression, Guards, has_argument


@lru_cache(maxsize=512)
def _compiled(source: str) -> CodeType:
    return compile(source, "<fused>", "exec")


class Program:
    """A traced function for arguments of some kinds.

    Attributes
    ----------
    run : callable
        ``run(*arguments)`` launches everything and returns what the function returned.
    plan : Plan
    trace : Trace
    source : str
        What `run` was made of.
    """

    def __init__(
        self, trace: Trace, plan: Plan, arrays: Sequence[int], count: int, backend: Backend,
        result: Any,
    ) -> None:  # fmt: skip
        self.trace = trace
        self.plan = plan
        self._arrays = arrays  # of each array that is an argument, which argument it is
        self._count = count
        self._backend = backend
        self.result = result
        self._lines: list[str] = []
        self._names: dict[str, Any] = {
            "empty": backend.empty, "broadcast_to": np.broadcast_to,
        }  # fmt: skip
        self._views: dict[Any, str] = {}
        for index, source in enumerate(trace.sources):
            if source.captured is not None:
                self._names[f"v{index}"] = source.captured
        self.written = sorted(
            {
                target.array
                for step in plan.steps
                for target in step.targets
                if not target.is_new and not trace.sources[target.array].is_local
            }
        )
        self.source = self._written()
        exec(_compiled(self.source), self._names)
        self.run: Callable[..., Any] = self._names["run"]

    @cached_property
    def record(self) -> Callable[..., Any]:
        """As `run`, by calls of kernels, which graphs record; `run` calls what launches."""
        source = self._written(by_calls=True)
        names = {**self._names, "empty": self._without_values}
        exec(_compiled(source), names)
        made: Callable[..., Any] = names["record"]
        return made

    def _without_values(self, shape: Sequence[int], dtype: np.dtype[Any], order: str) -> Any:
        """A new array that shows, where it can, that nothing has been written to it."""
        made = self._backend.empty(shape, dtype, order)
        if self._backend.capabilities.in_host_memory and dtype.kind in "fc":
            made.fill(np.nan)
        return made

    @property
    def depends_on_numbers(self) -> bool:
        """Whether the trace decided something by the value of an argument."""
        return any(map(has_argument, self.trace.guards.conditions))

    def fits(self, environment: Environment) -> bool:
        """Whether the trace is one of such a call."""
        guards: Guards = self.trace.guards
        return guards.hold(environment) and self.trace.is_current(environment.arguments)

    def argument(self, array: int) -> int:
        """Which argument an array is."""
        return self._arrays[array]

    def array_arguments(self, own: Sequence[Any]) -> dict[int, Any]:
        """The arrays that the function knows from the beginning, by their numbers."""
        found: dict[int, Any] = {}
        for number, source in enumerate(self.trace.sources):
            if source.captured is not None:
                found[number] = source.captured
            elif not source.is_local:
                found[number] = own[self._arrays[number]]
        return found

    def returned(self, arrays: Sequence[int]) -> str:
        """How the source names new arrays that are returned."""
        names = [self._array(array) for array in arrays]
        return names[0] if len(names) == 1 else "(" + "".join(f"{n}, " for n in names) + ")"

    # -- its source ----------------------------------------------------------------------------

    def _constant(self, value: Any, stem: str) -> str:
        for name, known in self._names.items():
            if known is value:
                return name
        name = f"{stem}{len(self._names)}"
        self._names[name] = value
        return name

    def _array(self, index: int) -> str:
        if index < len(self.trace.sources):
            source = self.trace.sources[index]
            if source.captured is None and not source.is_local:
                return f"a{self._arrays[index]}"
        return f"v{index}"

    def expression(self, expression: Expression) -> str:
        """A number that each call knows, as Python."""
        kind = expression[0]
        if kind == "constant":
            value = expression[2]
            if type(value) in (int, bool) or value is None:
                return f"({value!r})"
            return self._constant(value, "c")
        if kind == "argument":
            return f"a{expression[1]}"
        if kind == "extent":
            return f"{self._array(expression[1])}.shape[{expression[2]}]"
        operands = ", ".join(self.expression(operand) for operand in expression[2])
        return f"{self._constant(expression[1], 'f')}({operands})"

    def _shape(self, shape: Shape) -> str:
        return "(" + "".join(f"{self.expression(e.expression)}, " for e in shape) + ")"

    def _viewed(self, name: str, steps: Steps) -> str:
        for step in steps:
            if isinstance(step, Index):
                name = f"{name}[{self._constant((*step.key, Ellipsis), 'k')}]"
            elif isinstance(step, Transpose):
                name = f"{name}.transpose({step.axes})"
            else:
                name = f"broadcast_to({name}, {self._shape(step.shape)})"
        return name

    def leaf(self, leaf: Leaf) -> str:
        """An array that a launch reads, as Python."""
        return self._viewed(self._array(leaf.array), leaf.steps)

    def _line(self, text: str) -> None:
        self._lines.append(f"    {text}")

    def _written(self, *, by_calls: bool = False) -> str:
        self._lines = []
        for step in self.plan.steps:
            self._launch(step, by_calls)
        self._line(f"return {self._structure(self.result)}")
        parameters = ", ".join(f"a{k}" for k in range(self._count))
        name = "record" if by_calls else "run"
        return "\n".join([f"def {name}({parameters}):", *self._lines])

    def _launch(self, step: Step, by_calls: bool) -> None:
        arguments = [self.leaf(leaf) for leaf in step.leaves()]
        arguments += [
            self.expression(symbol.expression) for symbol in step.operands.scalars.values()
        ]
        outputs = [self._array(target.array) for target in step.targets]
        names = ", ".join(outputs)
        kernel = step.kernel
        if step.kind == "reduction":
            call = self._constant(kernel, "kernel")
            axes: Any = None if len(step.axes or ()) == len(step.shape) else step.axes
            if axes is not None and len(axes) == 1:
                axes = axes[0]
            outer = without_axes(step.shape, step.axes or ())
            orders = [self._order(node, outer, step.axes or ()) for node in step.nodes]
            is_own = self.trace.layouts.are_in_c_order(step.leaves())  # the kernel's: order 'K'
            if is_own and all(order == tuple(range(len(outer))) for order in orders):
                self._line(f"{names} = {call}({', '.join(arguments)}, axis={axes})")
                return
            for name, node, order in zip(outputs, step.nodes, orders, strict=True):
                self._line(f"{name} = {self._new(outer, node.dtype, order)}")
            self._line(f"{call}({', '.join([*arguments, *outputs])}, axis={axes})")
            return
        cache = self._constant(kernel._inline_cache, "launchers")
        by_name = self._constant(kernel, "kernel")
        if step.allocates:
            launch = by_name if by_calls else f"{cache}[{len(arguments)}]"
            self._line(f"{names} = {launch}({', '.join(arguments)})")
            return
        given = []
        for target, node in zip(step.targets, step.nodes, strict=True):
            shape = step.shape
            if step.schedule is not None and not same_extents(node.shape, shape):
                shape = without_axes(shape, (step.axis,))  # one element a row
            given.append(self._given(target, node, shape, step.axes or ()))
        arguments += given
        launch = by_name if by_calls else f"{cache}[{len(arguments)}]"
        if step.schedule is not None:
            schedule, inner = step.schedule, {step.axis}
            factors = []
            if schedule.width:
                inner.add(len(step.shape) - 1)
                across = self.expression(step.shape[-1].expression)
                factors.append(f"-(-{across} // {schedule.width})")
            factors += [
                self.expression(extent.expression)
                for d, extent in enumerate(step.shape)
                if d not in inner
            ]
            size, block = " * ".join([str(schedule.threads), *factors]), schedule.block
            if schedule.waiting:
                stacks = " * ".join(factors[1:]) or "1"
                length = self.expression(step.shape[step.axis].expression)
                threads = self._constant(schedule.waiting_threads, "threads")
                size = f"{threads}({stacks}, {length}, {across})"
            options = f"None, ({size}, {block})"
            if by_calls:
                options = f"size={size}, block_size={block}"
            self._line(f"{launch}({', '.join(arguments)}, {options})")
            return
        self._line(f"{launch}({', '.join(arguments)})")

    def _given(self, target: Target, node: Node, shape: Shape, axes: Sequence[int]) -> str:
        """An array that a launch writes to."""
        name = self._array(target.array)
        is_first = target.array < len(self.trace.sources) and (
            self.trace.sources[target.array].is_local and target.version == 0
        )
        if target.is_new or is_first:
            self._line(f"{name} = {self._new(shape, node.dtype, self._order(node, shape, axes))}")
        return self._viewed(name, target.steps)

    def _order(self, node: Node, shape: Shape, reduced: Sequence[int]) -> tuple[int, ...]:
        """The order of the axes of a new array of some shape, which has reduction axes no more."""
        has_reduced = len(node.shape) != len(shape)
        return self.trace.layouts.order(node, reduced if has_reduced else ())

    def _new(self, shape: Shape, dtype: np.dtype[Any], order: tuple[int, ...]) -> str:
        """A new array, as Python."""
        kind = self._constant(dtype, "dtype")
        plain = tuple(range(len(shape)))
        if order in (plain, plain[::-1]):
            return f"empty({self._shape(shape)}, {kind}, '{'C' if order == plain else 'F'}')"
        back = tuple(order.index(axis) for axis in plain)
        dense = self._shape(tuple(shape[axis] for axis in order))
        return f"empty({dense}, {kind}, 'C').transpose({back})"

    def _structure(self, result: Any) -> str:
        """What the function returns, as Python: `Result`s stand for arrays and numbers."""
        if isinstance(result, Result):
            return result.text(self)
        kind = type(result)
        if kind is tuple or is_named_tuple(kind):
            items = "(" + "".join(f"{self._structure(item)}, " for item in result) + ")"
            return items if kind is tuple else f"{self._constant(kind._make, 'make')}({items})"
        if kind is list:
            return "[" + ", ".join(map(self._structure, result)) + "]"
        if kind is dict or kind is OrderedDict:
            pairs = (f"({self._structure(k)}, {self._structure(v)})" for k, v in result.items())
            return f"{self._constant(kind, 'type')}([{', '.join(pairs)}])"
        return "None" if result is None else self._constant(result, "object")


CHANGEABLE = (np.ndarray, set, bytearray, deque)  # results that calls must not share


class Result:
    """What stands for an array or a number among what a function returns."""

    def __init__(self, leaf: Leaf | None, expression: Expression = ()) -> None:
        self.leaf = leaf
        self._expression = expression

    def text(self, program: Program) -> str:
        """The value, as Python."""
        if self.leaf is None:
            return program.expression(self._expression)
        return program.leaf(self.leaf)


class Copied(Result):
    """An object that the function has made, and that its caller may change."""

    def __init__(self, value: Any) -> None:
        super().__init__(None)
        # In the order of its axes in memory, if it is an array.
        self._options = () if isinstance(value, set | bytearray | deque) else ("K",)
        self._value = value.copy(*self._options)

    def text(self, program: Program) -> str:
        """A new one, as Python."""
        options = ", ".join(map(repr, self._options))
        return f"{program._constant(self._value, 'object')}.copy({options})"

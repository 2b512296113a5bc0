"""A plan as what a call with arguments of known kinds executes: its launches, one after the other.

Extents, numbers and views are computed from the arguments of each call.
"""

from __future__ import annotations

import functools
import operator
from collections import OrderedDict, deque
from collections.abc import Callable, Mapping, Sequence
from operator import itemgetter
from typing import Any

import numpy as np

from kerneltk.backends.base import Backend
from kerneltk.core.arrays import may_overlap_itself
from kerneltk.core.records import MAX_PLANS, BoundedTable, cached_property
from kerneltk.errors import UnsupportedError
from kerneltk.fusion.plan.described import (
    NOWHERE,
    Action,
    Called,
    Described,
    Empty,
    Known,
    Made,
    Part,
    Reader,
    Repeated,
    Turned,
    Values,
    Viewed,
    all_read,
    as_tuple,
    computed,
    slot_read,
    storing,
)
from kerneltk.fusion.plan.steps import (
    Leaf,
    LibraryCall,
    Plan,
    Rounds,
    Step,
    Target,
    all_launches,
    library_function,
    without_axes,
)
from kerneltk.fusion.trace.graph import Index, Item, Node, Shape, Slice, Transpose, indices_of_steps
from kerneltk.fusion.trace.graph import Steps as Views
from kerneltk.fusion.trace.state import Trace
from kerneltk.fusion.trace.symbols import (
    Expression,
    Symbol,
    decision,
    has_argument,
    indices_of,
    leaves_of,
    product,
)
from kerneltk.fusion.trace.users import is_named_tuple, with_parts
from kerneltk.interop.exchange import ExchangeLibrary
from kerneltk.launch.shortcuts import Steps

_Calls = Callable[[Any], Callable[..., Any]]  # of kernels


class Program:
    """A traced function for arguments of some kinds.

    Attributes
    ----------
    run : callable
        ``run(*arguments)`` launches everything and returns what the function returned.
    plan : Plan
    trace : Trace
    result : object
        What the function returns, with a `Result` for each array and number.
    by_shape : BoundedTable
        What runs calls by the shapes of their arrays, if their numbers lead to this program.
    """

    def __init__(self, trace: Trace, plan: Plan, count: int, backend: Backend, result: Any) -> None:
        self.trace, self.plan = trace, plan
        self.count = count  # of arguments
        self.backend = backend
        self.result = result
        self.by_shape: BoundedTable[Any, Callable[..., Any]] = BoundedTable(MAX_PLANS)
        self._new_arrays: Values = [None] * max(len(trace.sources), plan.arrays)
        self._new_arrays.append(None)  # for what has no result
        for index, source in enumerate(trace.sources):
            if source.captured is not None:
                self._new_arrays[index] = source.captured
        self.written = sorted(
            {
                target.array
                for step in plan.steps
                for target in step.targets
                if not target.is_new and not trace.sources[target.array].is_local
            }
        )
        self.run = self._executed(backend.empty)

    @cached_property
    def record(self) -> Callable[..., Any]:
        """As `run`, by calls of kernels, which graphs record; `run` calls what launches."""
        for step in all_launches(self.plan.steps):
            if isinstance(step.kernel, LibraryCall) and not step.kernel.is_allocation:
                raise UnsupportedError(
                    f"A call of '{step.kernel.function}' is no kernel, and graphs record kernels.\n"
                    "  Hint: record fused functions of what comes before and behind it."
                )
        return self._executed(self._without_values, calls=lambda kernel: kernel)

    def steps_for(
        self,
        args: Sequence[Any],
        library: ExchangeLibrary | None = None,
        foreign: Sequence[int] = (),
    ) -> Steps | Callable[..., Any]:
        """As `run`, for arguments with the same shapes and strides as these: extents are computed
        once. It is a function in Python where new arrays or options depend on more, and where the
        library, whose arrays the `foreign` arguments are, has no such views.
        """
        values = [*args, *self._new_arrays]
        execution = _Execution(self, self.backend.empty, shaped=values)
        steps = [each for step in self.plan.steps for each in execution.steps_of(step)]
        run = self._run_of(steps, execution.structure(self.result))
        parts: list[Any] = []
        with_parts(self.result, parts.append)
        if library is not None and any(type(part) is Copied for part in parts):
            return run  # which may be an array, and is to become one of the library's
        structure = functools.partial(execution.structure, self.result)
        own = set(range(len(values))).difference(foreign)
        described = Described(len(args), values, library, own)
        return described.steps(run, steps, structure) or run

    def shown(self, empty: Empty, calls: _Calls) -> Callable[..., Any]:
        """As `run`, with new arrays by `empty`, and in place of each kernel's call what `calls`
        makes of the kernel; that has no results.
        """
        return self._executed(empty, calls, makes_all=True)

    def _executed(self, *made_of: Any, **words: Any) -> Callable[..., Any]:
        execution = _Execution(self, *made_of, **words)
        steps = [each for step in self.plan.steps for each in execution.steps_of(step)]
        return self._run_of(steps, execution.structure(self.result))

    def _run_of(self, steps: Sequence[Action], result: Reader) -> Callable[..., Any]:
        new_arrays = self._new_arrays

        def run(*args: Any) -> Any:
            values = [*args, *new_arrays]
            for call, slot in steps:
                values[slot] = call(values)
            return result(values)

        return run

    def _without_values(self, shape: Sequence[int], dtype: np.dtype[Any], order: str) -> Any:
        """A new array that shows, where it can, that nothing has been written to it."""
        made = self.backend.empty(shape, dtype, order)
        if self.backend.capabilities.in_host_memory and dtype.kind in "fc":
            made.fill(np.nan)
        return made

    @cached_property
    def depends_on_numbers(self) -> bool:
        """Whether the trace decided something by the value of an argument."""
        return any(map(has_argument, self.trace.guards.conditions))

    def numbers_test(self, args: Sequence[Any]) -> Callable[..., bool]:
        """Whether the trace is for a call with arrays of the same shapes as these: what it decided
        by arguments that are numbers.
        """
        writer = _Execution(self, self.backend.empty, shaped=[*args, *self._new_arrays])
        writer.decided = {}
        asked = {e: v for e, v in self.trace.guards.conditions.items() if has_argument(e)}
        tests = [(writer.expression(e), decision(value)) for e, value in asked.items()]
        leaves = leaves_of(asked)
        numbers = [expression[1] for expression in leaves if expression[0] == "argument"]
        is_outside = any(expression[0] == "outside" for expression in leaves)
        known = None if is_outside else [decision(args[k]) for k in numbers]

        def test(*args: Any) -> bool:
            if known is not None and [decision(args[k]) for k in numbers] == known:
                return True
            values = [*args]
            try:
                return all(decision(read(values)) == wanted for read, wanted in tests)
            except Exception:  # the trace has decided by a value
                return False

        return test

    def argument(self, array: int) -> int:
        """Which argument an array is."""
        found = self.trace.sources[array].argument
        assert found is not None
        return found

    def array_arguments(self, own: Sequence[Any]) -> dict[int, Any]:
        """The arrays that the function knows from the beginning, by their numbers."""
        found: dict[int, Any] = {}
        for number, source in enumerate(self.trace.sources):
            if source.captured is not None:
                found[number] = source.captured
            elif source.argument is not None:
                found[number] = own[source.argument]
        return found

    def overlaps(self, own: Sequence[Any]) -> bool:
        """Whether an array that is written to may share memory with another one of the program's,
        or with itself.
        """
        arrays = self.array_arguments(own)
        extents = {n: extent_in_memory(array, self.backend) for n, array in arrays.items()}
        for number in self.written:
            low, high = extents[number]
            written = arrays[number]
            if may_overlap_itself(written.shape, written.strides, written.dtype.itemsize):
                return True
            for other, (begin, end) in extents.items():
                if other != number and begin < high and low < end:
                    return True
        return False


def extent_in_memory(array: Any, backend: Backend) -> tuple[int, int]:
    """The address of an array's first byte, and the one behind its last."""
    spec, address = backend.describe(array)
    if 0 in spec.shape:
        return address, address
    steps = [(n - 1) * s for n, s in zip(spec.shape, spec.strides, strict=True)]
    low = sum(min(0, step) for step in steps)
    high = sum(max(0, step) for step in steps)
    return address + low, address + high + spec.dtype.itemsize


class _Execution:
    """What a program's calls execute: functions of their values.

    Parameters
    ----------
    program : Program
    empty : callable
        Makes an array of a shape, a dtype and an order.
    calls : callable, optional
        What is called for a kernel; by default its launcher.
    shaped : list, optional
        The values of a call with the same shapes, and None for arrays that it makes.
    makes_all : bool
        Whether no kernel makes its own results, and nothing is called.
    """

    def __init__(
        self, program: Program, empty: Empty, calls: _Calls | None = None,
        shaped: Values | None = None, makes_all: bool = False,
    ) -> None:  # fmt: skip
        self._library, self.access = program.backend.array_library, program.backend.arrays
        self.trace, self._count = program.trace, program.count
        self._empty, self._calls, self._shaped = empty, calls, shaped
        self._makes_all = makes_all
        self._readers: dict[Any, Reader] = {}  # of numbers and views, which launches share
        self.decided = self.trace.guards.conditions  # what all calls of the trace have alike
        self._shapes = {n: source.shape for n, source in enumerate(self.trace.sources)}

    @property
    def calls_launchers(self) -> bool:
        """Whether kernels are called as fast as they can be."""
        return self._calls is None and not self._makes_all

    # -- what a call reads ---------------------------------------------------------------------

    def _slot(self, array: int) -> int:
        """Where a call's values have an array."""
        if array < len(self.trace.sources):
            argument = self.trace.sources[array].argument
            if argument is not None:
                return argument
        return self._count + array

    def expression(self, expression: Expression) -> Reader:
        """A number that each call knows; launches of one share it."""
        known = self._readers.get(expression)
        if known is None:
            known = self._readers[expression] = self._read(expression)
        return known

    def _read(self, expression: Expression) -> Reader:
        kind = expression[0]
        if expression in self.decided:
            return Known(self.decided[expression])
        if kind in ("constant", "round", "index"):
            return Known(expression[2])
        if kind == "argument":
            return itemgetter(expression[1])
        if kind == "extent":
            slot, axis = self._slot(expression[1]), expression[2]
            if self._shaped is not None and self._shaped[slot] is not None:
                return Known(self._shaped[slot].shape[axis])
            return lambda values: values[slot].shape[axis]
        if kind == "outside":
            return expression[1].read  # type: ignore[no-any-return]
        return computed(expression[1], list(map(self.expression, expression[2])))

    def _shape(self, shape: Shape) -> Reader:
        return computed(as_tuple, [self.expression(extent.expression) for extent in shape])

    def _viewed(self, slot: int, steps: Views) -> Reader:
        if not steps:
            return itemgetter(slot)
        known = self._readers.get((slot, steps))
        if known is None:
            parts = tuple(map(self._step, steps))
            known = Viewed(slot, parts, all(map(self._is_fixed, steps)))
            self._readers[slot, steps] = known
        return known

    def _is_fixed(self, step: Any) -> bool:
        """Whether a view has one offset and strides for all arrays of the same layouts."""
        if isinstance(step, Index):
            return all(type(self._item(item)) is Known for item in step.items)
        return isinstance(step, Transpose) or type(self._shape(step.shape)) is Known

    def _step(self, step: Any) -> Part:
        if isinstance(step, Index):
            key = computed(as_tuple, [*map(self._item, step.items), Known(Ellipsis)])
            return operator.getitem, (key,)
        if isinstance(step, Transpose):
            return operator.methodcaller("transpose", step.axes), ()
        return np.broadcast_to, (self._shape(step.shape),)

    def _item(self, item: Item) -> Reader:
        if isinstance(item, Slice):
            return computed(slice, [*map(self._item, (item.start, item.stop, item.step))])
        return self.expression(item.expression) if isinstance(item, Symbol) else Known(item)

    def leaf(self, leaf: Leaf) -> Reader:
        """An array that a launch reads."""
        return self._view_of(leaf.array, leaf.steps)

    def _view_of(self, array: int, steps: Views) -> Reader:
        return self._viewed(self._slot(array), steps)

    # -- what it does --------------------------------------------------------------------------

    def steps_of(self, step: Step) -> list[Action]:
        """What one step of the plan makes and launches."""
        scalars = [symbol.expression for symbol in step.operands.scalars.values()]
        reads = [*map(self.leaf, step.leaves()), *map(self.expression, scalars)]
        if isinstance(step.kernel, Rounds):
            return [(self._loop(step.kernel), NOWHERE)]
        slots = [self._slot(target.array) for target in step.targets]
        for target, node in zip(step.targets, step.nodes, strict=True):
            if self._is_made(target):
                self._shapes[target.array] = step.shape_of(node)
        if isinstance(step.kernel, LibraryCall):
            return self._called(step.kernel, step, reads, slots[0])
        if step.kind == "reduction":
            return self._reduction(step, reads, slots)
        if step.allocates and not self._makes_all:
            return [storing(self._call(step.kernel, reads), slots)]
        made: list[Action] = []
        for target, node, slot in zip(step.targets, step.nodes, slots, strict=True):
            shape = step.shape_of(node)
            if self._is_made(target):
                order = target.order or self._order(node, shape, step.axes or ())
                made.append((self._new(shape, node.dtype, order), slot))
            reads.append(self._view_of(target.array, target.steps))
        size = self._size(step)
        if size is None:
            return [*made, (self._call(step.kernel, reads), NOWHERE)]
        words: dict[str, Reader] = {
            "size": size,
            "block_size": Known(step.schedule and step.schedule.block),
        }
        options = computed(as_tuple, list(words.values()))
        return [*made, (self._call(step.kernel, reads, words, options), NOWHERE)]

    def _loop(self, rounds: Rounds) -> Reader:
        """A loop: its kernel, or the launches of each round where those are large."""
        from kerneltk.fusion.loops import kernel as loops  # a plan may have none

        is_one = self._library is np and self.calls_launchers
        found = loops.loop_kernel(rounds, self._shapes, self._is_made) if is_one else None
        if found is None:
            return _rounds(self, rounds)

        def read(compute: Callable[..., Any], expressions: Sequence[Expression]) -> Reader:
            return computed(compute, list(map(self.expression, expressions)))

        reads = [self._view_of(array, ()) for array in found.read]
        reads += [read(*number) for number in found.numbers]
        reads += [self._view_of(array, ()) for array in found.written]
        called = self._call(found.kernel, reads, None, Known((1, None)))
        is_small = computed(loops.are_all, [read(*limit) for limit in found.limits])
        if type(is_small) is Known:
            return called if is_small.value else _rounds(self, rounds)
        launched = _rounds(self, rounds)
        launched.small = is_small, called
        return launched

    def _called(
        self, call: LibraryCall, step: Step, reads: Sequence[Reader], slot: int
    ) -> list[Action]:
        node, slot = step.nodes[0], slot if self._is_made(step.targets[0]) else NOWHERE
        new = self._new(node.shape, node.dtype, self._order(node, node.shape, ()))
        if self._makes_all or call.is_allocation:
            return [(new, slot)]
        function = library_function(call, self._library, node.dtype)
        if isinstance(function, np.ufunc):
            if len(node.shape) == 1:  # NumPy takes a microsecond longer with 'out'
                return [(Called(function, reads, None, False), slot)]
            called = Called(function, [*reads, itemgetter(slot)], None, False)
            return [(new, slot), (called, NOWHERE)]
        return [(Called(function, [self._shape(node.shape), *reads], None, False), slot)]

    def _call(
        self,
        kernel: Any,
        reads: Sequence[Reader],
        words: Mapping[str, Reader] | None = None,
        options: Reader | None = None,
    ) -> Reader:
        """A call of a kernel with keywords, or of its launcher with options."""
        if self._calls is not None or (words and options is None):
            called = kernel if self._calls is None else self._calls(kernel)
            read, given = all_read(reads), words or {}
            if self._calls is None and all(type(word) is Known for word in given.values()):
                known = {name: word([]) for name, word in given.items()}
                return Called(functools.partial(kernel, **known), reads, None)
            return lambda values: called(
                *read(values), **{name: word(values) for name, word in given.items()}
            )
        return Called(kernel._inline_cache, reads, options)

    def _reduction(self, step: Step, reads: list[Reader], slots: Sequence[int]) -> list[Action]:
        axes: Any = None if len(step.axes or ()) == len(step.shape) else step.axes
        if axes is not None and len(axes) == 1:
            axes = axes[0]
        words: dict[str, Reader] = {} if axes is None else {"axis": Known(axes)}
        options = None if axes is None else Known((axes, False, None))  # as a call of the kernel
        outer = without_axes(step.shape, step.axes or ())
        orders = [self._order(node, outer, step.axes or ()) for node in step.nodes]
        is_own = self.trace.layouts.are_in_c_order(step.leaves())  # the kernel's: order 'K'
        if (
            not self._makes_all
            and is_own
            and step.allocates
            and all(order == tuple(range(len(outer))) for order in orders)
        ):
            called = self._call(step.kernel, reads, words, options)
            if type(called) is Called:
                called.shape = self._shape(outer)
                called.dtypes = [node.dtype for node in step.nodes]
            return [storing(called, slots)]
        made: list[Action] = [
            (self._new(outer, node.dtype, order), slot)
            for slot, node, order in zip(slots, step.nodes, orders, strict=True)
        ]
        reads += [itemgetter(slot) for slot in slots]
        return [*made, (self._call(step.kernel, reads, words, options), NOWHERE)]

    def _size(self, step: Step) -> Reader | None:
        """The number of threads of a launch; None for one an element."""
        schedule = step.schedule
        if schedule is None:
            return None
        inner = {*(step.axes or ())}
        factors: list[Reader] = []
        extents = [self.expression(step.shape[d].expression) for d in step.sides]
        across = computed(product, extents)
        if schedule.width:
            width = schedule.width
            inner.update(step.sides)
            factors.append(computed(lambda extent: -(-extent // width), [across]))
        for axis, extent in enumerate(step.shape):
            if axis not in inner:
                factors.append(self.expression(extent.expression))
        if schedule.lanes and not schedule.width:
            return computed(schedule.lane_threads, [computed(product, factors)])
        if not schedule.waiting:
            return computed(product, [Known(schedule.threads), *factors])
        stacks = computed(product, factors[1:])
        (axis,) = step.axes or ()
        length = self.expression(step.shape[axis].expression)
        return computed(schedule.waiting_threads, [stacks, length, across])

    def _is_made(self, target: Target) -> bool:
        """Whether a launch writes to an array that is not there before."""
        array, sources = target.array, self.trace.sources
        is_local = array < len(sources) and sources[array].is_local and target.version == 0
        return target.is_new or is_local

    def _order(self, node: Node, shape: Shape, reduced: Sequence[int]) -> tuple[int, ...]:
        """The order of the axes of a new array of some shape, which has reduction axes no more."""
        has_reduced = len(node.shape) != len(shape)
        return self.trace.layouts.order(node, reduced if has_reduced else ())

    def _new(self, shape: Shape, dtype: np.dtype[Any], order: Sequence[int]) -> Reader:
        """A new array."""
        plain, empty = tuple(range(len(shape))), self._empty
        is_turned = order not in (plain, plain[::-1])
        extents = self._shape(tuple(shape[axis] for axis in order) if is_turned else shape)
        letter = "C" if is_turned or order == plain else "F"
        if is_turned:
            back = tuple(order.index(axis) for axis in plain)
            return Turned(Made(empty, extents, dtype, letter), back)
        return Made(empty, extents, dtype, letter)

    def structure(self, result: Any, part: Callable[[Reader], Reader] | None = None) -> Reader:
        """What the function returns: `Result`s stand for arrays and numbers, each of which is read
        by what `part` makes of its reader.
        """
        if isinstance(result, Result):
            return result.reader(self) if part is None else part(result.reader(self))
        kind: Any = type(result)
        if kind is tuple or is_named_tuple(kind) or kind is list:
            read = computed(as_tuple, [self.structure(item, part) for item in result])
            if kind is tuple:
                return read
            make = list if kind is list else kind._make
            return lambda values: make(read(values))
        if kind is dict or kind is OrderedDict:
            if any(isinstance(key, Result) and key.leaf is not None for key in result):
                raise UnsupportedError(
                    "The function returns a dict with an array among its keys.\n"
                    "  Hint: return keys and values, and make the dict outside of the function."
                )
            keys = all_read([self.structure(key) for key in result])
            entries = all_read([self.structure(entry, part) for entry in result.values()])
            return lambda values: kind(zip(keys(values), entries(values), strict=True))
        if isinstance(result, str) and "<traced array" in result:
            sentence = "The function returns a string of an array that has no values yet.\n"
            hint = "  Hint: return the array, and make the string outside of the function."
            raise UnsupportedError(sentence + hint)
        return Known(result)


class _RoundExecution(_Execution):
    """What one round of a loop executes: functions of what it has from outside, of its index, and
    of the arrays that it makes.

    Parameters
    ----------
    outer : _Execution
    index : tuple
    made : dict
        The arrays that it makes, and their slots behind the index.
    count : int
        How many values it has from outside.
    """

    def __init__(
        self, outer: _Execution, index: Expression, made: Mapping[int, int], count: int
    ) -> None:
        vars(self).update(vars(outer), _readers={})
        self._outer, self._index, self._made, self._passed = outer, index, made, count
        self._shapes = outer._shapes
        self.given: list[Reader] = []  # values from outside

    def _given(self, key: Any, read: Reader) -> Reader:
        """A value from outside, which `read` reads there."""
        known = self._readers.get(("given", key))
        if known is None:
            known = self._readers["given", key] = itemgetter(len(self.given))
            self.given.append(read)
        return known

    def _slot(self, array: int) -> int:
        if array in self._made:
            return self._passed + 1 + self._made[array]
        slot = self._outer._slot(array)
        found = slot_read(self._given(slot, itemgetter(slot)))
        assert found is not None
        return found

    def _view_of(self, array: int, steps: Views) -> Reader:
        """A view, which all rounds share where it does not depend on theirs."""
        if not steps or array in self._made or self._index in indices_of_steps(steps):
            return super()._view_of(array, steps)
        view = self._outer._view_of(array, steps)
        return self._given((array, steps), view)

    def _read(self, expression: Expression) -> Reader:
        if expression == self._index:
            return itemgetter(self._passed)
        if expression[0] == "call" and self._index in indices_of(expression):
            return super()._read(expression)
        read = self._outer.expression(expression)
        return read if type(read) is Known else self._given(expression, read)


def _rounds(outer: _Execution, rounds: Rounds) -> Repeated:
    """A loop of an execution."""
    arrays = dict.fromkeys(target.array for target in rounds.targets if outer._is_made(target))
    made = {array: place for place, array in enumerate(arrays)}
    count = 0
    while True:  # the number of values from outside is known behind the first time
        execution = _RoundExecution(outer, rounds.index, made, count)
        steps = [each for step in rounds.steps for each in execution.steps_of(step)]
        if len(execution.given) == count:
            ends = () if isinstance(rounds.values, range) else rounds.values[:2]
            reads = [*execution.given, *[outer.expression(end.expression) for end in ends]]
            return Repeated(rounds.values, reads, len(made), steps, outer.access)
        count = len(execution.given)


CHANGEABLE = (np.ndarray, set, bytearray, deque)  # results that calls must not share


class Result:
    """What stands for an array or a number among what a function returns."""

    def __init__(self, leaf: Leaf | None, expression: Expression = ()) -> None:
        self.leaf = leaf
        self._expression = expression

    def reader(self, execution: _Execution) -> Reader:
        """The value of a call."""
        if self.leaf is None:
            return execution.expression(self._expression)
        return execution.leaf(self.leaf)


class Copied(Result):
    """An object that the function has made, and that its caller may change."""

    def __init__(self, value: Any) -> None:
        super().__init__(None)
        # In the order of its axes in memory, if it is an array.
        self._options = () if isinstance(value, set | bytearray | deque) else ("K",)
        self._value = value.copy(*self._options)

    def reader(self, execution: _Execution) -> Reader:
        """A new one."""
        copy, options = self._value.copy, self._options
        return lambda values: copy(*options)

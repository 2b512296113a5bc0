"""A plan as what a call with arguments of known kinds executes: its launches, one after the other.

Extents, numbers and views are computed from the arguments of each call.
"""

from __future__ import annotations

import functools
import operator
from collections import OrderedDict, deque
from collections.abc import Callable, Mapping, Sequence
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from kerneltk.backends.base import ArrayAccess, Backend
from kerneltk.core.arrays import c_strides, f_strides, may_overlap_itself
from kerneltk.core.artifacts import BackendName
from kerneltk.core.records import MAX_PLANS, BoundedTable, cached_property, record
from kerneltk.errors import UnsupportedError
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
from kerneltk.launch.shortcuts import Call, Kind, New, Steps, shortcut_of

if TYPE_CHECKING:
    from kerneltk.fusion.trace.domains import Domain

Values = list[Any]
"""A call's arguments, and behind them its arrays by their numbers in the trace."""
Reader = Callable[[Values], Any]
_Part = tuple[Callable[..., Any], tuple[Reader, ...]]  # of a view: takes an array, and operands
_Step = tuple[Reader, int]  # what is called, and where its result is stored
_Empty = Callable[[Sequence[int], np.dtype[Any], str], Any]
_Calls = Callable[[Any], Callable[..., Any]]  # of kernels
_LARGE = 1 << 20  # bytes of an array
_NOWHERE = -1  # behind the arrays


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
        described = _Described(len(args), values, library, own)
        return described.steps(run, steps, structure) or run

    @property
    def backend_name(self) -> BackendName:
        """The name of the backend whose arrays it takes."""
        return self.backend.capabilities.name

    def shown(self, empty: _Empty, calls: _Calls) -> Callable[..., Any]:
        """As `run`, with new arrays by `empty`, and in place of each kernel's call what `calls`
        makes of the kernel; that has no results.
        """
        return self._executed(empty, calls, makes_all=True)

    def _executed(self, *made_of: Any, **words: Any) -> Callable[..., Any]:
        execution = _Execution(self, *made_of, **words)
        steps = [each for step in self.plan.steps for each in execution.steps_of(step)]
        return self._run_of(steps, execution.structure(self.result))

    def _run_of(self, steps: Sequence[_Step], result: Reader) -> Callable[..., Any]:
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
        self, program: Program, empty: _Empty, calls: _Calls | None = None,
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
            return _Known(self.decided[expression])
        if kind in ("constant", "round", "index"):
            return _Known(expression[2])
        if kind == "argument":
            return itemgetter(expression[1])
        if kind == "extent":
            slot, axis = self._slot(expression[1]), expression[2]
            if self._shaped is not None and self._shaped[slot] is not None:
                return _Known(self._shaped[slot].shape[axis])
            return lambda values: values[slot].shape[axis]
        if kind == "outside":
            return expression[1].read  # type: ignore[no-any-return]
        return _computed(expression[1], list(map(self.expression, expression[2])))

    def _shape(self, shape: Shape) -> Reader:
        return _computed(_tuple, [self.expression(extent.expression) for extent in shape])

    def _viewed(self, slot: int, steps: Views) -> Reader:
        if not steps:
            return itemgetter(slot)
        known = self._readers.get((slot, steps))
        if known is None:
            parts = tuple(map(self._step, steps))
            known = _View(slot, parts, all(map(self._is_fixed, steps)))
            self._readers[slot, steps] = known
        return known

    def _is_fixed(self, step: Any) -> bool:
        """Whether a view has one offset and strides for all arrays of the same layouts."""
        if isinstance(step, Index):
            return all(type(self._item(item)) is _Known for item in step.items)
        return isinstance(step, Transpose) or type(self._shape(step.shape)) is _Known

    def _step(self, step: Any) -> _Part:
        if isinstance(step, Index):
            key = _computed(_tuple, [*map(self._item, step.items), _Known(Ellipsis)])
            return operator.getitem, (key,)
        if isinstance(step, Transpose):
            return operator.methodcaller("transpose", step.axes), ()
        return np.broadcast_to, (self._shape(step.shape),)

    def _item(self, item: Item) -> Reader:
        if isinstance(item, Slice):
            return _computed(slice, [*map(self._item, (item.start, item.stop, item.step))])
        return self.expression(item.expression) if isinstance(item, Symbol) else _Known(item)

    def leaf(self, leaf: Leaf) -> Reader:
        """An array that a launch reads."""
        return self._view_of(leaf.array, leaf.steps)

    def _view_of(self, array: int, steps: Views) -> Reader:
        return self._viewed(self._slot(array), steps)

    # -- what it does --------------------------------------------------------------------------

    def steps_of(self, step: Step) -> list[_Step]:
        """What one step of the plan makes and launches."""
        scalars = [symbol.expression for symbol in step.operands.scalars.values()]
        reads = [*map(self.leaf, step.leaves()), *map(self.expression, scalars)]
        if isinstance(step.kernel, Rounds):
            return [(self._loop(step.kernel), _NOWHERE)]
        slots = [self._slot(target.array) for target in step.targets]
        for target, node in zip(step.targets, step.nodes, strict=True):
            if self._is_made(target):
                self._shapes[target.array] = step.shape_of(node)
        if isinstance(step.kernel, LibraryCall):
            return self._called(step.kernel, step, reads, slots[0])
        if step.kind == "reduction":
            return self._reduction(step, reads, slots)
        if step.allocates and not self._makes_all:
            return [_storing(self._call(step.kernel, reads), slots)]
        made: list[_Step] = []
        for target, node, slot in zip(step.targets, step.nodes, slots, strict=True):
            shape = step.shape_of(node)
            if self._is_made(target):
                order = target.order or self._order(node, shape, step.axes or ())
                made.append((self._new(shape, node.dtype, order), slot))
            reads.append(self._view_of(target.array, target.steps))
        size = self._size(step)
        if size is None:
            return [*made, (self._call(step.kernel, reads), _NOWHERE)]
        words: dict[str, Reader] = {
            "size": size,
            "block_size": _Known(step.schedule and step.schedule.block),
        }
        options = _computed(_tuple, list(words.values()))
        return [*made, (self._call(step.kernel, reads, words, options), _NOWHERE)]

    def _loop(self, rounds: Rounds) -> Reader:
        """A loop: its kernel, or the launches of each round where those are large."""
        from kerneltk.fusion.loops import kernel as loops  # a plan may have none

        is_one = self._library is np and self.calls_launchers
        found = loops.loop_kernel(rounds, self._shapes, self._is_made) if is_one else None
        if found is None:
            return _rounds(self, rounds)

        def read(compute: Callable[..., Any], expressions: Sequence[Expression]) -> Reader:
            return _computed(compute, list(map(self.expression, expressions)))

        reads = [self._view_of(array, ()) for array in found.read]
        reads += [read(*number) for number in found.numbers]
        reads += [self._view_of(array, ()) for array in found.written]
        called = self._call(found.kernel, reads, None, _Known((1, None)))
        is_small = _computed(loops.are_all, [read(*limit) for limit in found.limits])
        if type(is_small) is _Known:
            return called if is_small.value else _rounds(self, rounds)
        launched = _rounds(self, rounds)
        launched.small = is_small, called
        return launched

    def _called(
        self, call: LibraryCall, step: Step, reads: Sequence[Reader], slot: int
    ) -> list[_Step]:
        node, slot = step.nodes[0], slot if self._is_made(step.targets[0]) else _NOWHERE
        new = self._new(node.shape, node.dtype, self._order(node, node.shape, ()))
        if self._makes_all or call.is_allocation:
            return [(new, slot)]
        function = library_function(call, self._library, node.dtype)
        if isinstance(function, np.ufunc):
            if len(node.shape) == 1:  # NumPy takes a microsecond longer with 'out'
                return [(_Called(function, reads, None, False), slot)]
            called = _Called(function, [*reads, itemgetter(slot)], None, False)
            return [(new, slot), (called, _NOWHERE)]
        return [(_Called(function, [self._shape(node.shape), *reads], None, False), slot)]

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
            read, given = _all(reads), words or {}
            if self._calls is None and all(type(word) is _Known for word in given.values()):
                known = {name: word([]) for name, word in given.items()}
                return _Called(functools.partial(kernel, **known), reads, None)
            return lambda values: called(
                *read(values), **{name: word(values) for name, word in given.items()}
            )
        return _Called(kernel._inline_cache, reads, options)

    def _reduction(self, step: Step, reads: list[Reader], slots: Sequence[int]) -> list[_Step]:
        axes: Any = None if len(step.axes or ()) == len(step.shape) else step.axes
        if axes is not None and len(axes) == 1:
            axes = axes[0]
        words: dict[str, Reader] = {} if axes is None else {"axis": _Known(axes)}
        options = None if axes is None else _Known((axes, False, None))  # as a call of the kernel
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
            if type(called) is _Called:
                called.shape = self._shape(outer)
            return [_storing(called, slots)]
        made: list[_Step] = [
            (self._new(outer, node.dtype, order), slot)
            for slot, node, order in zip(slots, step.nodes, orders, strict=True)
        ]
        reads += [itemgetter(slot) for slot in slots]
        return [*made, (self._call(step.kernel, reads, words, options), _NOWHERE)]

    def _size(self, step: Step) -> Reader | None:
        """The number of threads of a launch; None for one an element."""
        schedule = step.schedule
        if schedule is None:
            return None
        inner = {*(step.axes or ())}
        factors: list[Reader] = []
        extents = [self.expression(step.shape[d].expression) for d in step.sides]
        across = _computed(product, extents)
        if schedule.width:
            width = schedule.width
            inner.update(step.sides)
            factors.append(_computed(lambda extent: -(-extent // width), [across]))
        for axis, extent in enumerate(step.shape):
            if axis not in inner:
                factors.append(self.expression(extent.expression))
        if schedule.lanes and not schedule.width:
            return _computed(schedule.lane_threads, [_computed(product, factors)])
        if not schedule.waiting:
            return _computed(product, [_Known(schedule.threads), *factors])
        stacks = _computed(product, factors[1:])
        (axis,) = step.axes or ()
        length = self.expression(step.shape[axis].expression)
        return _computed(schedule.waiting_threads, [stacks, length, across])

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
            return _Turned(_Made(empty, extents, dtype, letter), back)
        return _Made(empty, extents, dtype, letter)

    def structure(self, result: Any, part: Callable[[Reader], Reader] | None = None) -> Reader:
        """What the function returns: `Result`s stand for arrays and numbers, each of which is read
        by what `part` makes of its reader.
        """
        if isinstance(result, Result):
            return result.reader(self) if part is None else part(result.reader(self))
        kind: Any = type(result)
        if kind is tuple or is_named_tuple(kind) or kind is list:
            read = _computed(_tuple, [self.structure(item, part) for item in result])
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
            keys = _all([self.structure(key) for key in result])
            entries = _all([self.structure(entry, part) for entry in result.values()])
            return lambda values: kind(zip(keys(values), entries(values), strict=True))
        if isinstance(result, str) and "<traced array" in result:
            sentence = "The function returns a string of an array that has no values yet.\n"
            hint = "  Hint: return the array, and make the string outside of the function."
            raise UnsupportedError(sentence + hint)
        return _Known(result)


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
        found = _slot_read(self._given(slot, itemgetter(slot)))
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
        return read if type(read) is _Known else self._given(expression, read)


def _rounds(outer: _Execution, rounds: Rounds) -> _Loop:
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
            return _Loop(rounds.values, reads, len(made), steps, outer.access)
        count = len(execution.given)


class _Loop:
    """The rounds of a loop: the same steps with each index. The ends of a `Span` are read last."""

    def __init__(
        self, values: Domain, reads: Sequence[Reader], made: int, steps: Sequence[_Step],
        access: ArrayAccess,
    ) -> None:  # fmt: skip
        self.values, self.reads, self.made, self.steps = values, reads, made, steps
        self._access = access
        self._read = _all(reads)
        self.small: tuple[Reader, Reader] | None = None  # whether its kernel is to execute it

    def __call__(self, values: Values) -> None:
        if self.small is not None and self.small[0](values):
            self.small[1](values)
        else:
            self.run(*self._read(values))

    def run(self, *given: Any) -> None:
        """All rounds, in Python."""
        values, given = self._rounds(given)
        for index in values:
            self.round(*given, index)

    def _rounds(self, given: tuple[Any, ...]) -> tuple[range, tuple[Any, ...]]:
        """The values of the index, and what each round has from outside."""
        if isinstance(self.values, range):
            return self.values, given
        *own, start, stop = given
        return range(start, stop, self.values.step), tuple(own)

    def round(self, *given: Any) -> None:
        """One round, of what it has from outside and of its index."""
        values = [*given, *[None] * (self.made + 1)]  # the last for what has no result
        for call, slot in self.steps:
            values[slot] = call(values)

    def described(self) -> Callable[..., None]:
        """All rounds, each by what executes the steps of calls."""
        count = len(self.reads) + 1 - 2 * (not isinstance(self.values, range))
        values: Values = [*[0] * count, *[None] * (self.made + 1)]
        described = _Described(count, values, None, set(range(len(values))))
        steps = described.steps(self.round, self.steps, lambda _: _Known(None))
        if steps is None:
            return self.run
        known: tuple[tuple[type, ...], Callable[..., Any]] = (), self.round

        def run(*given: Any) -> None:
            nonlocal known
            values, given = self._rounds(given)
            types, call = known  # at once: other threads may have other types
            own = tuple(map(type, given))
            if types != own:
                kinds = [Kind(kind) for kind in (*own, int)]
                call = shortcut_of(kinds, range(count), steps, self.round, self._access)
                known = own, call
            for index in values:
                call(*given, index)

        return run


class _Called:
    """A call of a launcher, or of a function, and its results."""

    __slots__ = ("_count", "_read", "is_kernel", "options", "reads", "run", "shape")

    def __init__(
        self, run: Any, reads: Sequence[Reader], options: Reader | None, is_kernel: bool = True
    ) -> None:
        self.run, self.reads, self.options, self.is_kernel = run, reads, options, is_kernel
        self.shape: Reader | None = None  # of its results, where they are in the order of C
        self._read, self._count = _all(reads), len(reads)

    def __call__(self, values: Values) -> Any:
        run = self.run[self._count] if type(self.run) is list else self.run
        if self.options is None:
            return run(*self._read(values))
        return run(*self._read(values), None, self.options(values))


@record
class _Made:
    """A new array."""

    empty: _Empty
    extents: Reader
    dtype: np.dtype[Any]
    order: str

    def __call__(self, values: Values) -> Any:
        return self.empty(self.extents(values), self.dtype, self.order)


@record
class _Turned:
    """A new array with its axes in another order."""

    made: _Made
    back: tuple[int, ...]

    def __call__(self, values: Values) -> Any:
        return self.made(values).transpose(self.back)


@record
class _View:
    """A view of one of a call's arrays, made of it step by step."""

    slot: int
    parts: tuple[_Part, ...]
    is_fixed: bool

    def __call__(self, values: Values) -> Any:
        array = values[self.slot]
        for function, operands in self.parts:
            array = function(array, *[read(values) for read in operands])
        return array


class _NotDescribedError(Exception):
    """A step depends on more than the layouts of arguments."""


class _Described:
    """The steps of a call as data: what is read of values by their indices is nothing to call.

    A library has views of its own: by the layouts of arrays, which are known.
    """

    def __init__(
        self, count: int, values: Sequence[Any], library: ExchangeLibrary | None, own: set[int]
    ) -> None:
        self._own = {slot for slot in own if values[slot] is not None}  # no arrays of the library
        self._numbers: set[int] = set()
        self._first, self._count = count, len(values)
        self._is_large = any(getattr(value, "nbytes", 0) >= _LARGE for value in values[:count])
        known = enumerate(values[count:], count)
        self._constants = [(slot, value) for slot, value in known if value is not None]
        self._new: list[New] = []
        self._calls: list[Call] = []
        self._library = library
        self._known: dict[int, tuple[int, Reader]] = {}  # slots of what was read, by identity
        self._layouts: Values = [without_memory(value) for value in values] if library else []

    def steps(
        self, run: Callable[..., Any], steps: Sequence[_Step], structure: Callable[..., Reader]
    ) -> Steps | None:
        """The whole; None where new arrays, options or views depend on more."""
        try:
            for call, slot in steps:
                self._add(call, slot)
            at = self._slot_of(structure(self._stored))
        except _NotDescribedError:
            return None
        self._reuse(at)
        constants, new = (*self._constants,), (*self._new,)
        return Steps(run, self._count, constants, new, (*self._calls,), at)

    def _add(self, call: Any, slot: int) -> None:
        stored: tuple[int, ...] = () if slot == _NOWHERE else (slot,)
        if type(call) is _Stored:
            call, stored = call.call, tuple(call.slots)
        if type(call) is _Made:
            self._make(call, slot)
        elif type(call) is _Turned:
            self._make(call.made, made := self._next())
            turned = operator.methodcaller("transpose", call.back), ()
            self._view(_View(made, (turned,), True), slot)
        elif type(call) is _Called and (call.is_kernel or not self._library):
            options = () if call.options is None else (_known(call.options),)
            operands = tuple(map(self._slot_of, call.reads))
            self._calls.append(Call(call.run, operands, options, stored))
            if all(slot in self._own or slot in self._numbers for slot in operands):
                self._own.update(stored)
            if self._library and call.shape is not None:
                for index in stored:
                    self._layouts[index] = in_order(_known(call.shape), np.dtype("u1"), "C")
        elif self._library:
            raise _NotDescribedError
        elif type(call) is _Loop:
            operands = tuple(map(self._slot_of, call.reads))
            self._calls.append(Call(call.described(), operands, (), ()))
        else:
            self._calls.append(Call(call, None, (), stored))

    def _reuse(self, result: int) -> None:
        """Have later results take the slots of those that nothing needs any more: that frees them,
        and their memory is in a cache.
        """
        if any(call.operands is None for call in self._calls):
            return  # which reads values by their slots
        last = {
            slot: place for place, call in enumerate(self._calls) for slot in call.operands or ()
        }
        lasting = {result, *range(self._first), *(slot for slot, _ in self._constants)}
        lasting.update(array.slot for array in self._new)
        places: dict[int, int] = {slot: slot for slot in lasting}
        free: list[int] = []
        calls, self._calls = self._calls, []
        for place, call in enumerate(calls):
            operands = tuple(places.get(slot, slot) for slot in call.operands or ())
            for slot in call.slots:
                if slot not in lasting:
                    places[slot] = free.pop() if free else slot
            slots = tuple(places[slot] for slot in call.slots)
            if self._is_large:  # of two arrays, the allocator returns the memory to the system
                again = set(slots).difference(call.slots)
                self._calls += [Call(type(None), (), (), (slot,)) for slot in again]
            self._calls.append(call._replace(operands=operands, slots=slots))
            ended = {*(call.operands or ()), *call.slots}.difference(lasting)
            free += (places[slot] for slot in ended if last.get(slot, place) == place)

    def _next(self) -> int:
        self._count += 1
        if self._library:
            self._layouts.append(None)
        return self._count - 1

    def _make(self, made: _Made, slot: int) -> None:
        if type(made.extents) is not _Known and not self._library:  # they depend on numbers
            given: list[Reader] = [made.extents, _Known(made.dtype), _Known(made.order)]
            self._calls.append(Call(made.empty, tuple(map(self._slot_of, given)), (), (slot,)))
            return
        shape = _known(made.extents)
        self._new.append(New(slot, shape, made.dtype, made.order, made.empty))
        if self._library:
            self._layouts[slot] = in_order(shape, made.dtype, made.order)

    def _view(self, view: _View, slot: int) -> None:
        if self._library is None or view.slot in self._own:
            at = view.slot
            for place, (function, operands) in enumerate(view.parts, 1):
                made = slot if place == len(view.parts) else self._next()
                given = (at, *map(self._slot_of, operands))
                self._calls.append(Call(function, given, (), (made,)))
                at = made
            self._own.add(slot)
            return
        whole = self._layouts[view.slot]
        if self._library.view is None or whole is None or not view.is_fixed:
            raise _NotDescribedError
        found, size = view(self._layouts), whole.itemsize
        if any(step < 0 for step in found.strides):
            raise _NotDescribedError
        strides = tuple(step // size for step in found.strides)
        offset = (found.ctypes.data - whole.ctypes.data) // size
        run = self._library.view(found.shape, strides, offset)
        self._calls.append(Call(run, (view.slot,), (), (slot,)))
        self._layouts[slot] = found

    def _slot_of(self, read: Reader) -> int:
        known = _slot_read(read)
        if known is not None:
            return known
        if id(read) in self._known:
            return self._known[id(read)][0]
        slot = self._next()
        self._known[id(read)] = slot, read
        if type(read) is _View:
            self._view(read, slot)
            return slot
        self._numbers.add(slot)
        if type(read) is _Known:
            self._constants.append((slot, read.value))
        elif type(read) is _Computed:
            operands = tuple(map(self._slot_of, read.operands))
            self._calls.append(Call(read.compute, operands, (), (slot,)))
        else:
            self._calls.append(Call(read, None, (), (slot,)))
        return slot

    def _stored(self, read: Reader) -> Reader:
        slot = self._slot_of(read)
        if self._library and slot in self._own and slot >= self._first:
            raise _NotDescribedError  # it is to become one of the library's
        return itemgetter(slot)


def _known(read: Reader) -> Any:
    if type(read) is not _Known:
        raise _NotDescribedError
    return read.value


def without_memory(value: Any) -> Any:
    """An array of NumPy's that lies as another one and has no memory; other values as they are."""
    if not hasattr(value, "strides") or isinstance(value, np.generic):
        return value
    return np.lib.stride_tricks.as_strided(np.empty(1, value.dtype), value.shape, value.strides)


def in_order(shape: Sequence[int], dtype: np.dtype[Any], order: str) -> Any:
    """A new array that has no memory."""
    strides = (f_strides if order == "F" else c_strides)(shape, dtype.itemsize)
    return np.lib.stride_tricks.as_strided(np.empty(1, dtype), shape, strides)


def _slot_read(read: Reader) -> int | None:
    """The slot of a value that is read as it is; None of others."""
    indices: Any = read.__reduce__()[1] if type(read) is itemgetter else ()
    return indices[0] if len(indices) == 1 else None


def _all(readers: Sequence[Reader]) -> Reader:
    """A tuple of what all of them read."""
    slots = [*map(_slot_read, readers)]
    if len(slots) > 1 and None not in slots:
        return itemgetter(*slots)  # at once
    return lambda values: tuple([read(values) for read in readers])


@record
class _Stored:
    """A call with several results, and where they are stored."""

    call: Reader
    slots: Sequence[int]

    def __call__(self, values: Values) -> None:
        for slot, result in zip(self.slots, self.call(values), strict=True):
            values[slot] = result


def _storing(call: Reader, slots: Sequence[int]) -> _Step:
    """A call, and where its results are stored."""
    return (call, slots[0]) if len(slots) == 1 else (_Stored(call, slots), _NOWHERE)


class _Known:
    """A number or a shape that is the same for all calls."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __call__(self, values: Values) -> Any:
        return self.value


def _computed(compute: Callable[..., Any], operands: Sequence[Reader]) -> Reader:
    """What is computed from operands: at once, where all are known."""
    if all(type(read) is _Known for read in operands):
        return _Known(compute(*[read([]) for read in operands]))
    return _Computed(compute, operands)


@record
class _Computed:
    """What is computed from operands in each call."""

    compute: Callable[..., Any]
    operands: Sequence[Reader]

    def __call__(self, values: Values) -> Any:
        return self.compute(*[read(values) for read in self.operands])


def _tuple(*items: Any) -> tuple[Any, ...]:
    return items


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

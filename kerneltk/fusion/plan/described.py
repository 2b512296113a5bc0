"""What an execution of a plan calls, as data: what each call reads, by the slots of its values, and
where its results are stored.

`Described` has the steps of a call as the launcher's shortcuts take them.
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from kerneltk.backends.base import ArrayAccess
from kerneltk.core.arrays import c_strides, f_strides
from kerneltk.core.records import record
from kerneltk.interop.exchange import ExchangeLibrary
from kerneltk.launch.shortcuts import Call, Kind, New, Steps, Viewing, shortcut_of

if TYPE_CHECKING:
    from kerneltk.fusion.trace.domains import Domain

Values = list[Any]
"""A call's arguments, and behind them its arrays by their numbers in the trace."""
Reader = Callable[[Values], Any]
Part = tuple[Callable[..., Any], tuple[Reader, ...]]
"""A step of a view: a function of an array, and of operands."""
Action = tuple[Reader, int]
"""What is called, and the slot where its result is stored."""
Empty = Callable[[Sequence[int], np.dtype[Any], str], Any]
NOWHERE = -1
"""The slot of what has no result: behind the arrays."""
_LARGE = 1 << 20  # bytes of an array
_KEPT = 1 << 16  # bytes; what is freed of them is kept, as `launcher_memory.h` says


class Repeated:
    """The rounds of a loop: the same steps with each index. The ends of a `Span` are read last."""

    def __init__(
        self, values: Domain, reads: Sequence[Reader], made: int, steps: Sequence[Action],
        access: ArrayAccess,
    ) -> None:  # fmt: skip
        self.values, self.reads, self.made, self.steps = values, reads, made, steps
        self._access = access
        self._read = all_read(reads)
        self.small: tuple[Reader, Reader] | None = None  # whether its kernel is to execute it

    def __call__(self, values: Values) -> None:
        """Execute all rounds: by a kernel, or by `run`."""
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
        described = Described(count, values, None, set(range(len(values))))
        steps = described.steps(self.round, self.steps, lambda _: Known(None))
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


class Called:
    """A call of a launcher, or of a function, and its results."""

    __slots__ = ("_count", "_read", "dtypes", "is_kernel", "options", "reads", "run", "shape")

    def __init__(
        self, run: Any, reads: Sequence[Reader], options: Reader | None, is_kernel: bool = True
    ) -> None:
        self.run, self.reads, self.options, self.is_kernel = run, reads, options, is_kernel
        # Of its results, where they are in the order of C.
        self.shape: Reader | None = None
        self.dtypes: Sequence[np.dtype[Any]] = ()
        self._read, self._count = all_read(reads), len(reads)

    def __call__(self, values: Values) -> Any:
        """Call it with what it reads."""
        run = self.run[self._count] if type(self.run) is list else self.run
        if self.options is None:
            return run(*self._read(values))
        return run(*self._read(values), None, self.options(values))


@record
class Made:
    """A new array."""

    empty: Empty
    extents: Reader
    dtype: np.dtype[Any]
    order: str

    def __call__(self, values: Values) -> Any:
        """Make it."""
        return self.empty(self.extents(values), self.dtype, self.order)


@record
class Turned:
    """A new array with its axes in another order."""

    made: Made
    back: tuple[int, ...]

    def __call__(self, values: Values) -> Any:
        """Make it."""
        return self.made(values).transpose(self.back)


@record
class Viewed:
    """A view of one of a call's arrays, made of it step by step."""

    slot: int
    parts: tuple[Part, ...]
    is_fixed: bool

    def __call__(self, values: Values) -> Any:
        """Make the view."""
        return self.of(values[self.slot], values)

    def of(self, array: Any, values: Values | None = None) -> Any:
        """The view of an array; a fixed one needs no values."""
        for function, operands in self.parts:
            array = function(array, *[read(values or []) for read in operands])
        return array


class _NotDescribedError(Exception):
    """A step depends on more than the layouts of arguments."""


class Described:
    """The steps of a call as data: what is read of values by their indices is nothing to call.

    A library has views of its own: by the layouts of arrays, which are known.
    """

    def __init__(
        self, count: int, values: Sequence[Any], library: ExchangeLibrary | None, own: set[int]
    ) -> None:
        self._own = {slot for slot in own if values[slot] is not None}  # no arrays of the library
        self._numbers: set[int] = set()
        self._first, self._count = count, len(values)
        self._is_numpys = any(isinstance(value, np.ndarray) for value in values[:count])
        given = [value for value in values[:count] if not isinstance(value, type)]
        self._most = max((getattr(value, "nbytes", 0) for value in given), default=0)
        known = enumerate(values[count:], count)
        self._constants = [(slot, value) for slot, value in known if value is not None]
        self._new: list[New] = []
        self._calls: list[Call] = []
        self._library = library
        self._known: dict[int, tuple[int, Reader]] = {}  # slots of what was read, by identity
        self._values = values
        self._layouts: dict[int, Any] = {}  # of arrays without memory, by their slots

    def steps(
        self, run: Callable[..., Any], steps: Sequence[Action], structure: Callable[..., Reader]
    ) -> Steps | None:
        """The whole; None where new arrays, options or views depend on more."""
        try:
            for call, slot in steps:
                self._add(call, slot)
            at = self._slot_of(structure(self._stored))
        except _NotDescribedError:
            return None
        made = sum(math.prod(array.shape) * array.dtype.itemsize for array in self._new)
        keeps = self._is_numpys and max(made, self._most) >= _KEPT and len(self._calls) > 1
        self._reuse(at, made >= _KEPT)
        constants, new = (*self._constants,), (*self._new,)
        return Steps(run, self._count, constants, new, (*self._calls,), at, keeps)

    def _add(self, call: Any, slot: int) -> None:
        stored: tuple[int, ...] = () if slot == NOWHERE else (slot,)
        if type(call) is _Stored:
            call, stored = call.call, tuple(call.slots)
        if type(call) is Made:
            self._make(call, slot)
        elif type(call) is Turned:
            self._make(call.made, made := self._next())
            turned = operator.methodcaller("transpose", call.back), ()
            self._view(Viewed(made, (turned,), True), slot)
        elif type(call) is Called and (call.is_kernel or not self._library):
            options = () if call.options is None else (_known(call.options),)
            operands = tuple(map(self._slot_of, call.reads))
            self._calls.append(Call(call.run, operands, options, stored))
            if all(slot in self._own or slot in self._numbers for slot in operands):
                self._own.update(stored)
            if type(call.shape) is Known:
                for index, dtype in zip(stored, call.dtypes, strict=True):
                    self._layouts[index] = in_order(call.shape.value, dtype, "C")
        elif self._library:
            raise _NotDescribedError
        elif type(call) is Repeated:
            operands = tuple(map(self._slot_of, call.reads))
            self._calls.append(Call(call.described(), operands, (), ()))
        else:
            self._calls.append(Call(call, None, (), stored))

    def _reuse(self, result: int, is_large: bool) -> None:
        """Have later results take the slots of those that nothing needs any more: that frees them,
        and their memory is in a cache. Large new arrays are made when they are needed.
        """
        if any(call.operands is None for call in self._calls):
            return  # which reads values by their slots
        if is_large and not self._library:
            self._make_late(result)
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
            if self._most >= _LARGE:  # of two arrays, the allocator gives memory back
                again = set(slots).difference(call.slots)
                self._calls += [Call(type(None), (), (), (slot,)) for slot in again]
            self._calls.append(call._replace(operands=operands, slots=slots))
            ended = {*(call.operands or ()), *call.slots}.difference(lasting)
            free += (places[slot] for slot in ended if last.get(slot, place) == place)

    def _make_late(self, result: int) -> None:
        wanted = {array.slot: array for array in self._new if array.slot != result}
        calls, self._calls = self._calls, []
        for call in calls:
            for array in filter(None, (wanted.pop(slot, None) for slot in call.operands or ())):
                make = functools.partial(array.make, array.shape, array.dtype, array.order)
                self._calls.append(Call(make, (), (), (array.slot,)))
                self._new.remove(array)
            self._calls.append(call)

    def _next(self) -> int:
        self._count += 1
        return self._count - 1

    def _make(self, made: Made, slot: int) -> None:
        if type(made.extents) is not Known and not self._library:  # they depend on numbers
            given: list[Reader] = [made.extents, Known(made.dtype), Known(made.order)]
            self._calls.append(Call(made.empty, tuple(map(self._slot_of, given)), (), (slot,)))
            return
        shape = _known(made.extents)
        make: Any = np.empty if self._is_numpys else made.empty
        self._new.append(New(slot, shape, made.dtype, made.order, make))
        self._layouts[slot] = in_order(shape, made.dtype, made.order)

    def _view(self, view: Viewed, slot: int) -> None:
        is_own = self._library is None or view.slot in self._own
        whole = self._layout_of(view.slot) if view.is_fixed else None
        if whole is None and is_own:
            at = view.slot
            for place, (function, operands) in enumerate(view.parts, 1):
                made = slot if place == len(view.parts) else self._next()
                given = (at, *map(self._slot_of, operands))
                self._calls.append(Call(function, given, (), (made,)))
                at = made
        elif whole is None:
            raise _NotDescribedError
        else:
            found = self._layouts[slot] = view.of(whole)
            lies = whole.shape, whole.strides, found.shape, found.strides
            offset = found.ctypes.data - whole.ctypes.data
            make = view.of if is_own else self._view_of_library(found, offset)
            run = Viewing(make, offset, found.flags.c_contiguous, *lies)
            self._calls.append(Call(run, (view.slot,), (), (slot,)))
        if is_own:
            self._own.add(slot)

    def _view_of_library(self, found: Any, offset: int) -> Callable[[Any], Any]:
        """What makes such a view of an array of the library's."""
        view = None if self._library is None else self._library.view
        if view is None or any(step < 0 for step in found.strides):
            raise _NotDescribedError
        size = found.itemsize
        return view(found.shape, tuple(step // size for step in found.strides), offset // size)

    def _layout_of(self, slot: int) -> Any:
        """An array without memory that lies as that of a slot; None where that is not known."""
        if slot not in self._layouts and slot < len(self._values):
            value = without_memory(self._values[slot])
            self._layouts[slot] = value if type(value) is np.ndarray else None
        return self._layouts.get(slot)

    def _slot_of(self, read: Reader) -> int:
        known = slot_read(read)
        if known is not None:
            return known
        if id(read) in self._known:
            return self._known[id(read)][0]
        slot = self._next()
        self._known[id(read)] = slot, read
        if type(read) is Viewed:
            self._view(read, slot)
            return slot
        self._numbers.add(slot)
        if type(read) is Known:
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
    if type(read) is not Known:
        raise _NotDescribedError
    return read.value


def without_memory(value: Any) -> Any:
    """An array of NumPy's that lies as another one and has no memory; other values as they are."""
    if not hasattr(value, "strides") or isinstance(value, np.generic | type):
        return value
    return np.lib.stride_tricks.as_strided(np.empty(1, value.dtype), value.shape, value.strides)


def in_order(shape: Sequence[int], dtype: np.dtype[Any], order: str) -> Any:
    """A new array that has no memory."""
    strides = (f_strides if order == "F" else c_strides)(shape, dtype.itemsize)
    return np.lib.stride_tricks.as_strided(np.empty(1, dtype), shape, strides)


def slot_read(read: Reader) -> int | None:
    """The slot of a value that is read as it is; None of others."""
    indices: Any = read.__reduce__()[1] if type(read) is itemgetter else ()
    return indices[0] if len(indices) == 1 else None


def all_read(readers: Sequence[Reader]) -> Reader:
    """A tuple of what all of them read."""
    slots = [*map(slot_read, readers)]
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


def storing(call: Reader, slots: Sequence[int]) -> Action:
    """A call, and where its results are stored."""
    return (call, slots[0]) if len(slots) == 1 else (_Stored(call, slots), NOWHERE)


class Known:
    """A number or a shape that is the same for all calls."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __call__(self, values: Values) -> Any:
        """Return it, whatever the values are."""
        return self.value


def computed(compute: Callable[..., Any], operands: Sequence[Reader]) -> Reader:
    """What is computed from operands: at once, where all are known."""
    if all(type(read) is Known for read in operands):
        return Known(compute(*[read([]) for read in operands]))
    return _Computed(compute, operands)


@record
class _Computed:
    """What is computed from operands in each call."""

    compute: Callable[..., Any]
    operands: Sequence[Reader]

    def __call__(self, values: Values) -> Any:
        return self.compute(*[read(values) for read in self.operands])


def as_tuple(*items: Any) -> tuple[Any, ...]:
    """A tuple of what is given one by one."""
    return items

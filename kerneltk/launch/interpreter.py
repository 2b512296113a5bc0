"""Launchers in Python: they execute a `LauncherSpec` step by step.

They serve machines without the extension module, and do what it leaves: first calls, arguments that
do not fit, specs that it cannot describe. The order of the steps is the module's.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import accumulate, pairwise
from marshal import dumps
from operator import attrgetter, is_, itemgetter
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from kerneltk.backends.base import Access, ArrayAccess, BlocksOf, Bound, LaunchValue, record_bytes
from kerneltk.launch.launcher_spec import (
    GRID_COLUMNS,
    LOOP_COLUMNS,
    Argument,
    Guard,
    LauncherSpec,
    MultipleOf,
    Structure,
)

_PACK_ERRORS = (struct.error, OverflowError, TypeError, ValueError)
_FLOAT32_MAX = (2 - 2**-23) * 2.0**127
# What the values of a launch are picked from, in this order; constants follow.
_OF_ALL = ("function", "stream", "parameters")
_FACTS = {
    "grid": (*_OF_ALL, "gx", "gy", "gz", "bx", "by", "bz", "shared", "blocks"),
    "loop": (*_OF_ALL, "grid", "chunk", "block"),
}

if TYPE_CHECKING:
    from kerneltk.launch.launch_config import GridShape, GridShapes

I = TypeVar("I", bound="Interpreter")  # noqa: E741


def _rounded(value: float) -> float:
    """A float as a float32 has it; beyond the largest it is infinite, as in NumPy."""
    if -_FLOAT32_MAX < value < _FLOAT32_MAX:
        return value
    with np.errstate(over="ignore"):
        return float(np.float32(value))


_MARSHALS: dict[str, Callable[[Any], tuple[Any, ...]]] = {
    "number": lambda value: (value,),
    "float32": lambda value: (_rounded(value),),
    "bytes": lambda value: (value.tobytes(),),
}


_pointer_at = ctypes.c_void_p.from_address


def _pointer_behind(offset: int, value: Any) -> int:
    return _pointer_at(id(value) + offset).value or 0


def _reader(access: Access) -> Callable[[Any], Any]:
    """The function that reads what an access names."""
    if isinstance(access, str):
        return attrgetter(access)
    return partial(_pointer_behind, access) if isinstance(access, int) else access


def address_of(arrays: ArrayAccess) -> Callable[[Any], int]:
    """The function that reads an array's address."""
    read = _reader(arrays.address)
    if not arrays.memory:
        return read
    owner = attrgetter(arrays.memory)
    return lambda array: read(owner(array))


_tuple_items: Callable[[Any], Iterator[Any]] = tuple.__iter__


def _leaves(arguments: Sequence[Argument | Structure]) -> list[Argument]:
    leaves: list[Argument] = []
    for argument in arguments:
        leaves += [argument] if isinstance(argument, Argument) else _leaves(argument.items)
    return leaves


def _take(argument: Argument | Structure, value: Any, values: list[Any]) -> bool:
    """Append the leaves of an argument; False if it has another form."""
    if type(value) is not argument.type:
        return False
    if isinstance(argument, Argument):
        values.append(value)
        return True
    if issubclass(argument.type, tuple):
        items = (*_tuple_items(value),)  # `__iter__` may be a method of the user's
    else:
        items = tuple(getattr(value, field) for field in argument.fields)
    return _take_all(argument.items, items, values)


def _take_all(arguments: Sequence[Any], given: Sequence[Any], values: list[Any]) -> bool:
    return len(given) == len(arguments) and all(
        _take(own, value, values) for own, value in zip(arguments, given, strict=True)
    )


def _picker(entry: str, wanted: Sequence[LaunchValue]) -> Callable[[tuple[Any, ...]], Any]:
    """The function that picks the values of a launch from its facts."""
    names = _FACTS[entry]
    positions: list[int] = []
    constants: list[Any] = []
    threads: list[int] = []
    for value in wanted:
        if isinstance(value, str):
            positions.append(names.index(value))
        elif isinstance(value, BlocksOf):
            positions.append(-1 - len(threads))
            threads.insert(0, value.threads)
        else:
            positions.append(len(names) + len(constants))
            constants.append(value.value if isinstance(value, Bound) else value)
    added = tuple(constants)
    # With a position twice, since `itemgetter` returns a tuple only where it has two.
    pick = itemgetter(*positions, 0, 0)

    def picked(facts: tuple[Any, ...]) -> Any:
        if threads:
            in_block = facts[6] * facts[7] * facts[8]
            return pick(facts + added + tuple([number // in_block or 1 for number in threads]))[:-2]
        return pick(facts + added)[:-2]

    return picked


class Interpreter:
    """A launcher of one spec; `bind` makes those of kernels.

    Parameters
    ----------
    spec : LauncherSpec
    """

    _dispatch: Any
    _unplanned: Any
    _plans: Any
    _of_rows: Any
    _is_outdated: Callable[[], bool] | None = None
    _last: tuple[Any, Any] = (None, None)

    def __init__(self, spec: LauncherSpec) -> None:
        arrays, call = spec.arrays, spec.call
        self._spec, self._access = spec, arrays
        self._call: Any = call
        self._wrote: Any = arrays.wrote
        self._leaves = leaves = _leaves(spec.arguments)
        indices = range(len(leaves))
        self._given = [a for a in spec.arguments if isinstance(a, Structure) or a.is_given]
        self._types = [argument.type for argument in self._given]
        self._is_flat = all(isinstance(argument, Argument) for argument in self._given)
        arrays_of = [k for k in indices if leaves[k].marshal == "address"]
        self._read = [k for k in arrays_of if leaves[k].is_given]
        self._records = [k for k in indices if leaves[k].marshal in ("bytes", "lent")]
        self._lent = [k for k in indices if leaves[k].marshal == "lent"]
        self._numbers = [k for k in indices if leaves[k].marshal == "number"]
        self._allocated = [k for k in indices if not leaves[k].is_given]
        self._address_of = address_of(arrays)
        device = f"{arrays.memory}.{arrays.device}".strip(".") if arrays.device else ""
        self._contiguous, self._device_of, writable = (
            attrgetter(name) if name else None
            for name in (arrays.contiguous, device, arrays.writable)
        )
        self._writable: Any = writable
        self._keyed = sorted(self._read + self._records)
        self._is_loop = spec.entry == "loop"
        self._device = spec.device if call.current_device is not None else None
        self._function, self._is_late = call.launch, call.is_late
        self._values = _picker(spec.entry, call.arguments)
        self._head = _picker(spec.entry, call.head_values) if call.head_values else None
        guarded = [k for k in arrays_of if leaves[k].guards]
        self._guarded = [
            (k, [self._test(g) for g in leaves[k].guards if g != "dtype"]) for k in guarded
        ]
        self._dtypes = {k: leaves[k].dtype for k in guarded if "dtype" in leaves[k].guards}
        self._row = None if spec.bound is None else spec.bound.row(None)
        self._written: list[int] = []
        if arrays.wrote is not None:  # all, but for launches without checks
            is_all = spec.bound is None
            written = [k for k in arrays_of if leaves[k].written]
            self._written = [k for k in written if is_all or "writable" in leaves[k].guards]
        self._takes_scratch = spec.has_scratch and call.scratch_for is not None
        # Where a plan has the outputs' dtypes and sizes, the leaves' extents, the overlaps' limits.
        at = GRID_COLUMNS if spec.entry == "grid" else LOOP_COLUMNS
        self._sizes = {k: slice(at + 2 * n, at + 2 * n + 2) for n, k in enumerate(spec.outputs)}
        at += 2 * len(spec.outputs)
        counts = (1 if leaf.extents is None else leaf.extents for leaf in leaves)
        ends = list(accumulate(counts, initial=at))
        self._extents = [slice(*pair) for pair in pairwise(ends)]
        self._limits = slice(ends[-1], None)
        order = spec.packed or indices
        self._packed = [self._marshal(k) for k in order if leaves[k].marshal != "nothing"]

    def _marshal(self, k: int) -> tuple[int, Any, slice | None, bool]:
        """How a leaf is packed: its number; what makes a tuple of it, None for an address; where a
        plan has the extents behind it; and whether they are a tuple there.
        """
        leaf = self._leaves[k]
        convert = leaf.convert if leaf.marshal == "converted" else _MARSHALS.get(leaf.marshal)
        columns = self._extents[k] if leaf.marshal == "address" and leaf.extents != 0 else None
        return k, convert, columns, leaf.extents is None

    def bind(
        self: I,
        dispatch: Callable[..., Any] | None = None,
        plans: dict[Any, tuple[Any, ...]] | None = None,
        unplanned: Callable[..., Any] | None = None,
        owner: Callable[..., Any] | None = None,
        is_outdated: Callable[[], bool] | None = None,
    ) -> I:
        """A launcher of a kernel, which is called as its spec's entry says.

        Parameters
        ----------
        dispatch : callable, optional
            Called with the launcher's own arguments where they are of other types, or on another
            device, or a grid has no plan or is too large for its kernel: it checks, compiles, and
            launches.
        plans : dict, optional
            Rows of `Plan`, or of `GridLaunches`, other launchers' among them, by keys.
        unplanned : callable, optional
            Called in place of `dispatch` with a loop's arguments that have no plan, or an output
            that overlaps an input.
        owner : callable, optional
            The launcher that rows of `GridLaunches` name for this one; by default itself.
        is_outdated : callable, optional
            Whether another launcher is to be bound in place of this one: all calls are dispatched.
        """
        made = object.__new__(type(self))
        made.__dict__.update(self.__dict__)
        made._dispatch, made._plans, made._unplanned = dispatch, plans, unplanned
        made._is_outdated, made._dtypes = is_outdated, dict(self._dtypes)
        made._of_rows = made if owner is None else owner
        return made

    @property
    def is_outdated(self) -> bool:
        """Whether another launcher is to be bound in place of this one."""
        return self._is_outdated is not None and self._is_outdated()

    # -- arguments -----------------------------------------------------------------------------

    def _taken(self, args: Sequence[Any]) -> list[Any] | None:
        """The leaves of the arguments; None where they are for another launcher."""
        values: list[Any] = []
        try:
            if not self._is_flat:
                if not _take_all(self._given, args, values):
                    return None
            elif len(args) == len(self._types) and all(map(is_, map(type, args), self._types)):
                values += args
            else:
                return None
        except (ValueError, TypeError, AttributeError):  # as of what cannot be taken apart
            return None
        if self._device is not None and self._call.current_device() != self._device:
            return None
        if self.is_outdated:
            return None
        return values

    def _addresses(self, values: Sequence[Any]) -> list[Any]:
        """The addresses of the arrays that are given, by leaf."""
        found: list[Any] = [0] * len(self._leaves)
        read = self._address_of
        for k in self._read:
            found[k] = read(values[k])
        return found

    def key_of(self, args: Sequence[Any], extra: Any = None) -> tuple[Any, ...]:
        """The key of the plan for arguments of the spec's types."""
        values: list[Any] = []
        _take_all(self._given, args, values)
        return self._key(values, self._addresses(values), extra)

    def _key(self, values: Sequence[Any], addresses: Sequence[Any], extra: Any) -> tuple[Any, ...]:
        """The key of a plan, as the extension module has it."""
        key: list[Any] = []
        contiguous, device_of = self._contiguous, self._device_of
        for k in self._keyed:
            value = values[k]
            key.append(value.dtype)
            if k in self._records:
                continue
            key += (len(value.shape), *value.shape)
            if contiguous is not None and contiguous(value):
                key.append(-1)
            else:
                key += (len(value.strides), *value.strides)
            if device_of is not None:
                key.append(device_of(value))
            if self._writable and self._leaves[k].written:
                key.append(int(self._writable(value)))
        if self._is_loop and self._call.current_device is not None:
            key.append(self._call.current_device())
        if self._read:
            offsets = [addresses[k] & 15 for k in self._read]
            key += [1 + offset for offset in offsets] if any(offsets) else [0]
        return *key, extra

    def _planned(self, values: Sequence[Any], addresses: Sequence[Any], extra: Any) -> Any:
        """The row of the plan for arguments, or None."""
        key = self._key(values, addresses, extra)
        last_key, row = self._last  # calls repeat: comparing is cheaper than hashing
        if key != last_key:
            row = self._plans.get(key)
            if row is not None:
                self._last = (key, row)
        return row

    def _check(self, loaded: Any, args: Any, values: Sequence[Any], addresses: Any) -> None:
        """Raise for an array that fails a guard; a dtype that was let pass is compared next."""
        dtypes = self._dtypes
        for k, tests in self._guarded:
            array, address = values[k], addresses[k]
            if (k in dtypes and array.dtype is not dtypes[k]) or any(
                fails(array, address) for fails in tests
            ):
                loaded.check(tuple(args))
                self._dtypes = {k: values[k].dtype for k in dtypes}
                return

    def _test(self, guard: Guard) -> Callable[[Any, int], object]:
        """Whether an array and its address fail a guard."""
        if isinstance(guard, MultipleOf):
            number = guard.number
            if guard.what == "address":
                return lambda array, address: address & number - 1
            return lambda array, address: array.nbytes % number
        if guard == "memory":
            return lambda array, address: not address
        if guard == "device":
            device, device_of = self._spec.device, self._device_of
            assert device_of is not None
            return lambda array, address: device_of(array) != device
        flag = attrgetter(self._access.dense if guard == "dense" else self._access.writable)
        return lambda array, address: not flag(array)

    # -- launches ------------------------------------------------------------------------------

    def _stream(self, given: Any) -> Any:
        if given is None and self._call.current_stream is not None:
            return self._call.current_stream().ptr
        return given

    def _parameters(
        self, row: Any, values: Any, addresses: Any, facts: Any, scratch: Sequence[int]
    ) -> list[Any]:
        """What is packed into the block of parameters."""
        packed = [*self._head(facts), *scratch] if self._head else [*scratch]
        for k, convert, columns, is_tuple in self._packed:
            if convert is not None:
                packed += convert(values[k])
                continue
            packed.append(addresses[k])
            if columns:
                packed += row[columns.start] if is_tuple else row[columns]
        return packed

    def _launch(self, facts: tuple[Any, ...]) -> None:
        if self._is_late:
            self._function, self._is_late = self._function(), False
        call, values = self._call, self._values(facts)
        try:
            failure = self._function(*values)
        except call.errors as error:
            failure = error
        if failure:
            call.launch_failed(failure, self._function, values)


class GridInterpreter(Interpreter):
    """A launcher of grids: ``run(grid, block, args, shared=0, stream=None)``."""

    def __call__(
        self, grid: Any, block: Any, args: Any, shared: Any = 0, stream: Any = None
    ) -> Any:
        """Launch."""
        values = self._taken(args)
        if values is None:
            return self._dispatch(grid, block, args, shared, stream)
        addresses, row = self._addresses(values), self._row
        if row is None:
            row = self._planned(values, addresses, None)
            if row is None:
                return self._dispatch(grid, block, args, shared, stream)
            if row[0] is not self._of_rows:
                return row[0](grid, block, args, shared, stream)
        function, shapes, buffers, pack_into, loaded = row[1:GRID_COLUMNS]
        self._check(loaded, args, values, addresses)
        shape = self._shape(shapes, grid, block, shared)
        if shape is None:  # a grid that is too large for this kernel
            return self._dispatch(grid, block, args, shared, stream)
        handle = self._stream(stream)
        copies = {k: self._lend(k, row, args, values, addresses, handle) for k in self._lent}
        try:  # a single step of Python's: threads never share a block
            buffer = buffers.pop()
        except IndexError:
            buffer = loaded.new_buffer()
        facts = (function, handle, buffer[1], *shape, shape[0] * shape[1] * shape[2])
        try:
            pack_into(buffer[0], 0, *self._parameters(row, values, addresses, facts, ()))
        except _PACK_ERRORS:
            loaded.refuse_number(tuple(args))
            raise
        if self._written:
            self._wrote(tuple([values[k] for k in self._written]))
        if self._call.note is not None:
            loaded.note(buffer[1], self._noted(values, copies))
        self._launch(facts)
        buffers.append(buffer)
        for k, copy in copies.items():
            if copy is not None and self._leaves[k].written:
                self._access.take_back(copy, values[k], handle)
        return None

    @staticmethod
    def _shape(shapes: GridShapes, grid: Any, block: Any, shared: Any) -> GridShape | None:
        last_grid, last_block, last_shared, *shape = shapes.last
        if grid is last_grid and block is last_block and shared is last_shared:
            return tuple(shape)
        try:
            return shapes.known[dumps((grid, block, shared), 2)]
        except (KeyError, ValueError):
            return shapes.configure(grid, block, shared)

    def _lend(self, k: int, row: Any, args: Any, values: Any, addresses: Any, stream: Any) -> Any:
        """Set a record's address to where the kernel finds it; a copy that lies there, or None."""
        value, least = values[k], row[self._extents[k]][0]  # of alignment, less 1
        if self._leaves[k].written and not value.flags.writeable:
            row[5].check(tuple(args))
        copy, record = None, self._access.record
        address = least if record is None else _reader(record)(value)
        if record is None or address & least:
            copy = self._access.lend(value, least + 1, stream)
            address = self._address_of(copy)
        addresses[k] = address
        return copy

    def _noted(self, values: Sequence[Any], copies: dict[int, Any]) -> list[Any]:
        """The memory of all arrays and records."""
        found = []
        for k, leaf in enumerate(self._leaves):
            if leaf.marshal == "address":
                found.append(values[k])
            elif leaf.marshal == "lent":
                found.append(record_bytes(values[k]) if copies[k] is None else copies[k])
        return found


class LoopInterpreter(Interpreter):
    """A launcher of loops over elements: ``run(*arguments, stream=None, extra=None)``."""

    def __call__(self, *args: Any) -> Any:
        """Launch."""
        count = len(self._types)
        given, (stream, extra) = args[:count], (*args[count:], None, None)[:2]
        values = self._taken(given)
        if values is None:
            return self._dispatch(given, stream, extra)
        addresses = self._addresses(values)
        row = self._planned(values, addresses, extra)
        if row is None or (self._spec.overlaps and self._overlaps(row, addresses)):
            self._last = (None, None)  # another row may take its place in the table
            return self._unplanned(given, stream, extra)
        function, size, chunk, block, pack_into, pack_checked, new_buffer, buffers = row[:8]
        if self._allocated:
            self._allocate(row, values, addresses)
        if not size:
            numbers = [values[k] for k in self._numbers]
            if numbers:
                pack_checked(*numbers)
            return self._result(values)
        scratch: tuple[int, ...] = ()
        handle = self._stream(stream)
        if self._takes_scratch:
            scratch = (self._call.scratch_for(handle, row[10]) if row[10] else 0,)
        try:  # a single step of Python's: threads never share a block
            buffer = buffers.pop()
        except IndexError:
            buffer = new_buffer()
        facts = (function, handle, buffer[1], size, chunk, block)
        try:
            pack_into(buffer[0], 0, *self._parameters(row, values, addresses, facts, scratch))
        except _PACK_ERRORS:
            packed = self._parameters(row, values, addresses, facts, scratch)
            pack_checked(buffer[0], 0, *packed)
        if self._written:
            self._wrote(tuple([values[k] for k in self._written]))
        self._launch(facts)
        buffers.append(buffer)
        return self._result(values)

    def _overlaps(self, row: Any, addresses: Sequence[int]) -> bool:
        """Whether an output overlaps another array in another way than its plan lets pass."""
        limits = iter(row[self._limits])
        for k, j in self._spec.overlaps:
            low, high, apart = next(limits), next(limits), next(limits)
            distance = addresses[j] - addresses[k]
            if low < distance < high and distance != apart:
                return True
        return False

    def _allocate(self, row: Any, values: list[Any], addresses: list[Any]) -> None:
        arrays, shape, order = self._access, row[8], row[9]
        for k in self._allocated:
            dtype, size = row[self._sizes[k]]
            if arrays.allocate_memory is None:
                made = arrays.allocate(shape, dtype, order)
            else:
                other = () if order == "C" else (None, order)
                made = arrays.allocate(shape, dtype, arrays.allocate_memory(size), *other)
            values.append(made)
            addresses[k] = self._address_of(made)

    def _result(self, values: Sequence[Any]) -> Any:
        returns, outputs = self._spec.returns, self._spec.outputs
        if returns == "one":
            return values[outputs[0]]
        return tuple([values[k] for k in outputs]) if returns == "tuple" else None


def interpreter_of(spec: LauncherSpec) -> Interpreter:
    """What executes a spec."""
    return (GridInterpreter if spec.entry == "grid" else LoopInterpreter)(spec)

"""Launchers of decorated kernels: what a repeated launch touches, and nothing else.

For each combination of Python types of the arguments a launcher is written as text, tuples and
dataclasses taken apart, and compiled once. What depends on dtypes, shapes, strides and on how
addresses are aligned is decided once a combination and kept in a plan: which kernel it is, its
extents, whether the arrays may be used at all. A repeated launch compares its key with the last
one.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from marshal import dumps
from typing import Any, NamedTuple, NoReturn, Protocol

import numpy as np

from kerneltk.backends import foreign_arrays
from kerneltk.backends.base import (
    Backend,
    Function,
    GridDialect,
    GridLimits,
    LaunchMode,
    record_bytes,
)
from kerneltk.errors import ArgumentTypeError, ArgumentValueError, Snippet
from kerneltk.interop.streams import stream_handle
from kerneltk.jit.codegen.assumptions import ShapeAssumptions, fits_32bit
from kerneltk.jit.ir.types import Array, Number, Record, Type, alignment_of, value_type
from kerneltk.jit.launch.marshalling import (
    Form,
    Leaf,
    Node,
    Place,
    field_names,
    form_of,
    items_of,
    leaves_of,
    members_of,
    packed_expression,
    rebuilt,
    refuse_number,
    type_of,
)
from kerneltk.jit.launch.shapes import assumptions_of
from kerneltk.launch.launch_config import GridShape, GridShapes, as_extents, grid_extents
from kerneltk.launch.launcher_source import (
    compiled,
    function_text,
    known_shape,
    launch_lines,
    take_buffer,
)

__all__ = ["MAX_PLANS", "CompiledKernel", "FrontEnd", "Launcher"]

MAX_PLANS = 4096
"""Plans that one launcher keeps; past that it forgets them all, which costs time, not results."""

_MAX_LAUNCHERS = 1024
_PACK_ERRORS = (struct.error, OverflowError, TypeError, ValueError)


@dataclass(frozen=True, slots=True)
class CompiledKernel:
    """A kernel for one tuple of argument types, on one device.

    Parameters
    ----------
    function : Function
        Takes the arguments' bytes as `kerneltk.jit.launch.marshalling` lays them out.
    limits : GridLimits
    written : tuple of bool
        One an argument: whether the kernel writes to the array, or to one inside the structure.
    mode : LaunchMode
    block : tuple of int or None
        The shape that blocks must have; None if they may have any.
    passed : tuple of Type
        One an argument: the types as which they are passed; empty if those are their own. Of a
        Python float it may be float32.
    """

    function: Function
    limits: GridLimits
    written: tuple[bool, ...]
    mode: LaunchMode
    block: tuple[int, int, int] | None = None
    passed: tuple[Type, ...] = ()


class FrontEnd(Protocol):
    """What a decorated function is to its launcher."""

    @property
    def name(self) -> str:
        """The kernel's name in messages."""

    def compiled(
        self, backend: Backend, types: tuple[Type, ...], shapes: ShapeAssumptions
    ) -> CompiledKernel:
        """Return the kernel for arguments of these types on the current device.

        It is asked once for each of them, each device and what is known of shapes.
        """

    def parameter(self, index: int) -> str:
        """Return how messages name the parameter that an argument is for."""

    def snippet(self, index: int) -> Snippet | None:
        """Return where that parameter is declared."""


# -- a compiled kernel and how it is launched ------------------------------------------------------


class _Variant:
    """A compiled kernel, with what all its launches share."""

    def __init__(
        self,
        name: str,
        backend: Backend,
        types: tuple[Type, ...],
        kernel: CompiledKernel,
        needs_small_grid: bool,
        place_of: Callable[[int], Place],
    ) -> None:
        self.backend, self.types, self.kernel = backend, types, kernel
        self._needs_small_grid = needs_small_grid
        self.dialect = backend.grid_dialect(kernel.mode, name)
        self._place_of = place_of
        self._places: dict[tuple[Any, ...], Place] = {}
        passed = kernel.passed or types
        self.lent = tuple(value_type(kind) != kind for kind in passed)
        offsets, layout = members_of(passed, backend.capabilities)
        head = self.dialect.head_size
        self._size = head + layout.size
        self._offsets = [head + offset for offset in offsets if offset is not None]
        gap = head - struct.calcsize("<" + self.dialect.head_format)
        self.pack_into = struct.Struct(
            f"<{self.dialect.head_format}{gap}x{layout.format}"
        ).pack_into
        self.launchers: dict[Any, _Specialized] = {}
        self.buffers: list[Any] = []
        self.new_buffer()  # raises here for parameters that a launch has no room for
        shapes = GridShapes(name, backend, kernel.function, kernel.limits)
        self.shapes, self._configure, self._name = shapes, shapes.configure, name
        self._check_shape = shapes.checked
        self.note: Callable[[int, Any], None] | None = None

    def configure(self, grid: Any, block: Any, shared: Any) -> GridShape | None:
        """Check a launch's shape that is not known yet; None for a grid that another kernel is
        for, since it has more threads along an axis than 32 bits count.
        """
        wanted = self.kernel.block
        if wanted is not None and as_extents(block, "block", self._name) != wanted:
            raise ArgumentValueError(
                f"Kernel '{self._name}' has a collective for blocks of {wanted} threads, and is "
                f"launched with blocks of {as_extents(block, 'block', self._name)}.\n"
                "  Hint: name the block's own shape in the brackets of the collective."
            )
        if self._needs_small_grid:
            pairs = grid_extents(grid, self._name), as_extents(block, "block", self._name)
            if not fits_32bit(blocks * threads for blocks, threads in zip(*pairs, strict=True)):
                self._check_shape(grid, block, shared)  # before anything is compiled for it
                return None
        return self._configure(grid, block, shared)

    def new_buffer(self) -> Any:
        """Return a block of parameters."""
        return self.backend.make_parameters(self._size, self._offsets)

    def leaves(self, values: Sequence[Any]) -> list[Leaf]:
        """Return the leaves of a call's arguments."""
        return [
            leaf
            for k, (value, type_) in enumerate(zip(values, self.types, strict=True))
            for leaf in leaves_of(value, type_, k)
        ]

    def place(self, leaf: Leaf) -> Place:
        """Return where a leaf goes, for messages."""
        way = (leaf.argument, *leaf.path)
        place = self._places.get(way)
        if place is None:
            place = self._places[way] = self._place_of(leaf.argument).at(*leaf.path)
        return place

    def prepare(self, leaves: Sequence[Leaf]) -> None:
        """Check arrays that a plan is made for; it holds for all of their shape and alignment."""
        written = self.kernel.written
        for leaf in leaves:
            if isinstance(leaf.type, Array):
                self._check(leaf, written[leaf.argument])
        if self.dialect.note is not None and self.note is None:
            named = [
                (self.place(leaf).name, written[leaf.argument])
                for leaf in leaves
                if isinstance(leaf.type, Array)
                or (isinstance(leaf.type, Record) and self.lent[leaf.argument])
            ]
            self.note = self.dialect.note(self._size, named)

    def _check(self, leaf: Leaf, written: bool) -> None:
        array, place = leaf.value, self.place(leaf)
        if array.size == 0:
            return
        address = self.backend.describe(array)[1]
        problem, hint = "", "pass a copy."
        alignment = alignment_of(array.dtype, self.backend.capabilities)
        steps = zip(array.shape, array.strides, strict=True)
        if not address:
            problem, hint = f"has {array.size} elements and no memory: it was freed", ""
        elif beyond := address % alignment:
            many = "byte" if beyond == 1 else "bytes"
            problem = f"begins {beyond} {many} beyond a multiple of {alignment}"
            problem += f", and elements of dtype '{array.dtype}' lie at multiples of that"
        elif any(extent > 1 and stride % alignment for extent, stride in steps):
            problem = f"has strides of {array.strides} bytes"
            problem += f", and elements of dtype '{array.dtype}' lie at multiples of {alignment}"
        elif written and not getattr(array.flags, "writeable", True):
            problem = "is read-only, and the kernel writes to it"
            hint = "pass a copy, or set 'array.flags.writeable = True' if you own it."
        if problem:
            raise ArgumentValueError(place.message(f"The array for {place} {problem}.", hint))
        self.backend.check_usable(array, place.name, written)

    def refuse_record(self, args: Sequence[Any], record: np.void) -> NoReturn:
        """Raise for a record of the arguments that is read-only, and that the kernel writes to."""
        place = next(self.place(leaf) for leaf in self.leaves(args) if leaf.value is record)
        raise ArgumentValueError(
            place.message(
                f"The record for {place} is read-only, and the kernel writes to it.",
                "pass a copy: 'record.copy()'.",
            )
        )

    def geometry(self, leaf: Leaf) -> tuple[int, ...]:
        """Return the numbers that a plan has for a leaf: of an array those that are passed with its
        address, of a record that is lent the bits that its address must not have.
        """
        if isinstance(leaf.type, Record) and self.lent[leaf.argument]:
            return (alignment_of(leaf.type.dtype, self.backend.capabilities) - 1,)
        return _geometry(leaf)

    def check_memory(self, args: Sequence[Any]) -> None:
        """Raise for an array at address zero, unless it is empty."""
        self.prepare(self.leaves(args))

    def refused(self, args: Sequence[Any]) -> None:
        """Raise for the first number that is not packed."""
        for leaf in self.leaves(args):
            refuse_number(leaf.type, leaf.value, self.place(leaf))


# -- their text ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Pattern:
    """What a launcher's text depends on, beside the dialects.

    Parameters
    ----------
    forms : tuple of Form
        One an argument.
    geometry : tuple of int
        For each array, how many numbers are passed with its address.
    written : tuple of bool
        One an argument.
    narrow : tuple of bool
        One an argument: whether a Python float is passed as a float32.
    lent : tuple of bool
        One an argument: whether its records are passed as references.
    """

    forms: tuple[Form, ...]
    geometry: tuple[int, ...]
    written: tuple[bool, ...]
    narrow: tuple[bool, ...]
    lent: tuple[bool, ...]


class _Parts:
    """An argument's leaves and structures as variables of a launcher.

    Attributes
    ----------
    lines : list of str
        Take the arguments apart.
    kinds : list of (str, type)
        All variables and the types that they must have.
    leaves : list of (str, type, int)
        The leaves: variable, type, index of the argument.
    """

    def __init__(self, forms: tuple[Form, ...]) -> None:
        self.lines: list[str] = []
        self.kinds: list[tuple[str, type]] = []
        self.leaves: list[tuple[str, type, int]] = []
        names = [f"a{k}" for k in range(len(forms))]
        self._unpack("args", names)
        for k, form in enumerate(forms):
            self._add(names[k], form, k)

    def _unpack(self, name: str, items: Sequence[str]) -> None:
        self.lines.append(f"({''.join(f'{item}, ' for item in items)}) = {name}")

    def _add(self, name: str, form: Form, argument: int) -> None:
        if not isinstance(form, Node):
            self.kinds.append((name, form))
            self.leaves.append((name, form, argument))
            return
        self.kinds.append((name, form.kind))
        items = [f"{name}_{k}" for k in range(len(form.items))]
        if issubclass(form.kind, tuple):
            self._unpack(name, items)
        else:
            fields = zip(items, form.names, strict=True)
            self.lines += [f"{item} = {name}.{field}" for item, field in fields]
        for item, inner in zip(items, form.items, strict=True):
            self._add(item, inner, argument)


def _launcher_text(pattern: _Pattern, parts: _Parts, backend: Backend, dialect: GridDialect) -> str:
    """Return the text of ``run``, which launches, and of ``key_of``, which tells a call's key."""
    keys = backend.dialect
    other = "return dispatch(grid, block, args, shared, stream)"
    arrays = [
        (name, f"p{name}", argument)
        for name, kind, argument in parts.leaves
        if issubclass(kind, backend.array_type)
    ]
    reads = [dialect.read.format(a=a, p=p) for a, p, _ in arrays]
    key = [keys.array_key.format(a=a) for a, _, _ in arrays]
    if keys.output_key:
        key += [keys.output_key.format(a=a) for a, _, k in arrays if pattern.written[k]]
    key += [f"{name}.dtype" for name, kind, _ in parts.leaves if issubclass(kind, np.void)]
    if arrays:
        every = " | ".join(p for _, p, _ in arrays)
        each = ", ".join(f"{p} & 15" for _, p, _ in arrays)
        key.append(f"({every}) & 15 and ({each},)")
    key_line = f"key = ({''.join(f'{part}, ' for part in key)})"
    lent = [
        (name, pattern.written[argument])
        for name, kind, argument in parts.leaves
        if issubclass(kind, np.void) and pattern.lent[argument]
    ]
    wrong = [f"type({name}) is not type_{name}" for name, _ in parts.kinds]
    wrong += ["device() != own_device"] if "device" in dialect.names else []

    extents = {
        a: [f"{a}_e{d}" for d in range(count)]
        for (a, _, _), count in zip(arrays, pattern.geometry, strict=True)
    }
    flat = ["_", "function", "shapes", "buffers", "pack_into", "variant"]
    extents |= {a: [f"{a}_mask"] for a, _ in lent}
    flat += [own for name, _, _ in parts.leaves for own in extents.get(name, ())]
    values = [dialect.head_values] if dialect.head_values else []
    for name, kind, argument in parts.leaves:
        if name in dict(lent):
            values.append(f"p{name}")
        elif name in extents:
            values += [f"p{name}", *extents[name]]
        elif pattern.narrow[argument]:
            values.append(f"{name} if -largest < {name} < largest else rounded({name})")
        elif expression := packed_expression(kind):
            values.append(expression.format(a=name))
    noted = {a: a for a, _, _ in arrays}
    noted |= {a: f"record_bytes({a}) if r{a} is None else r{a}" for a, _ in lent}
    given = ", ".join(noted[name] for name, _, _ in parts.leaves if name in noted)
    run = [
        "global last",
        "try:",
        *(f"    {line}" for line in parts.lines),
        "except (ValueError, TypeError, AttributeError):",
        f"    {other}",
        *([f"if {' or '.join(wrong)}:", f"    {other}"] if wrong else []),
        *reads,
        key_line,
        # Calls repeat: comparing with the last key is cheaper than hashing.
        "last_key, plan = last",
        "if key != last_key:",
        "    plan = plans.get(key)",
        "    if plan is None:",
        f"        {other}",
        "    if plan[0] is not run:",
        "        return plan[0](grid, block, args, shared, stream)",
        "    last = (key, plan)",
        f"{', '.join(flat)} = plan",
    ]
    if arrays:
        present = " and ".join(p for _, p, _ in arrays)
        run += [f"if not ({present}):", "    variant.check_memory(args)"]
    run += [
        *known_shape(),
        "        shape = variant.configure(grid, block, shared)",
        "        if shape is None:",
        "            return dispatch(grid, block, args, shared, stream, True)",
        "        gx, gy, gz, bx, by, bz, size, empty = shape",
        "shared = size",
        *(line for a, written in lent for line in _lending(a, written, dialect)),
        *take_buffer("variant.new_buffer"),
        "try:",
        f"    pack_into({', '.join(['buffer[0]', '0', *values])})",
        "except PackErrors:",
        "    variant.refused(args)",
        "    raise",
        # Numbers are checked also where nothing is computed with them.
        "if empty:",
        "    buffers.append(buffer)",
        "    return",
        *([f"variant.note(buffer[1], [{given}])"] if dialect.note else []),
        *(["if stream is None:", f"    stream = {dialect.stream}"] if dialect.stream else []),
        *launch_lines(dialect.launch),
        *(f"if r{a} is not None: take_back(r{a}, {a}, stream)" for a, written in lent if written),
    ]
    text = function_text("run(grid, block, args, shared=0, stream=None)", run)
    return text + function_text("key_of(args)", [*parts.lines, *reads, key_line, "return key"])


def _lending(record: str, written: bool, dialect: GridDialect) -> Iterator[str]:
    """Yield the lines that set ``p`` of a record to an address where the kernel finds it, and ``r``
    to the copy that lies there, or None.
    """
    if written:
        yield f"if not {record}.flags.writeable:"
        yield f"    variant.refuse_record(args, {record})"
    lend = f"r{record} = lend({record}, {record}_mask + 1, stream)"
    read = dialect.read.format(a=f"r{record}", p=f"p{record}")
    if not dialect.record:
        yield from (lend, read)
        return
    yield f"r{record} = None"
    yield f"p{record} = {dialect.record.format(a=record)}"
    yield f"if p{record} & {record}_mask:"
    yield from (f"    {lend}", f"    {read}")


class _Specialized:
    """The launcher of one pattern on one device.

    Those for the same Python types share their plans, each of which says whose it is: calls that
    differ in dtypes, dimensions or strides find each other's.

    Attributes
    ----------
    run : callable
        ``run(grid, block, args, shared=0, stream=None)``.
    """

    def __init__(
        self,
        pattern: _Pattern,
        variant: _Variant,
        device: int,
        plans: dict[Any, tuple[Any, ...]],
        dispatch: Callable[..., None],
    ) -> None:
        backend, dialect = variant.backend, variant.dialect
        parts = _Parts(pattern.forms)
        self._plans = plans
        names: dict[str, Any] = {
            **dialect.names,
            "plans": self._plans,
            "last": (None, None),
            "dispatch": dispatch,
            "own_device": device,
            "dumps": dumps,
            "launch_failed": backend.launch_failed,
            "LaunchErrors": dialect.errors,
            "PackErrors": _PACK_ERRORS,
            "largest": _LARGEST,
            "rounded": _rounded,
            "lend": backend.lend,
            "take_back": backend.take_back,
            "record_bytes": record_bytes,
            **{f"type_{name}": kind for name, kind in parts.kinds},
        }
        exec(compiled(_launcher_text(pattern, parts, backend, dialect)), names)
        self.run: Callable[..., None] = names["run"]
        self._key_of: Callable[[Sequence[Any]], tuple[Any, ...]] = names["key_of"]

    def learn(self, variant: _Variant, leaves: Sequence[Leaf], values: Sequence[Any]) -> None:
        """Make the plan for a call's arguments, if there is none; raises for those that the
        kernel cannot be launched with.
        """
        key = self._key_of(values)
        if key in self._plans:
            return
        variant.prepare(leaves)
        if len(self._plans) >= MAX_PLANS:
            self._plans.clear()
        self._plans[key] = (
            self.run,
            variant.kernel.function.handle,
            variant.shapes,
            variant.buffers,
            variant.pack_into,
            variant,
            *(number for leaf in leaves for number in variant.geometry(leaf)),
        )


_LARGEST = float(np.finfo(np.float32).max)


def _rounded(value: float) -> float:
    """Return a float as a float32 has it; beyond the largest it is infinite, as in NumPy."""
    with np.errstate(over="ignore"):
        return float(np.float32(value))


def _geometry(leaf: Leaf) -> tuple[int, ...]:
    """Return the numbers that are passed with an array's address."""
    if not isinstance(leaf.type, Array):
        return ()
    extents: tuple[int, ...] = leaf.value.shape
    return (*extents, *leaf.value.strides) if leaf.type.layout == "strided" else extents


# -- all launches of a kernel ----------------------------------------------------------------------


class Launcher:
    """Launches one decorated kernel, whatever its arguments are.

    Parameters
    ----------
    front_end : FrontEnd

    Attributes
    ----------
    run : callable
        ``run(grid, block, args, shared=0, stream=None)`` with a stream's handle: what was made for
        the last kind of arguments, and calls the others' by itself.
    """

    __slots__ = ("_front_end", "_launchers", "_places", "_plans", "_variants", "run")

    def __init__(self, front_end: FrontEnd) -> None:
        self._front_end = front_end
        self._variants: dict[Any, _Variant] = {}
        self._launchers: dict[Any, _Specialized] = {}
        self._plans: dict[Any, dict[Any, tuple[Any, ...]]] = {}
        self._places: dict[int, Place] = {}
        self.run: Callable[..., None] = self._dispatch

    def __call__(
        self, grid: Any, block: Any, args: Sequence[Any], shared: Any = 0, stream: Any = None
    ) -> None:
        """Launch the kernel.

        Parameters
        ----------
        grid : int or tuple of int
            Blocks along x, y and z; at least one along each.
        block : int or tuple of int
            Threads of a block along x, y and z.
        args : tuple
            One argument a parameter, in order.
        shared : int
            Dynamic shared memory of a block (bytes).
        stream : optional
            As `stream_handle` takes it; if not given, the current one of the library whose arrays
            they are. The host runs at once.

        Raises
        ------
        ArgumentTypeError
            An argument that no kernel takes; arrays in different places.
        ArgumentValueError
            An array that is read-only and written, misaligned, freed or on another device; a
            grid, a block or shared memory that the device does not have.
        ScalarOverflowError
            A Python int has more than 64 bits.
        LaunchError
            The launch failed.
        """
        self.run(
            grid,
            block,
            args,
            shared,
            stream if stream is None else stream_handle(stream),
        )

    def _dispatch(
        self,
        grid: Any,
        block: Any,
        args: Sequence[Any],
        shared: Any = 0,
        stream: Any = None,
        is_vast: bool = False,
    ) -> None:
        """Launch with arguments that no plan is known for, which is made.

        Plans are for grids whose threads 32 bits count along each axis; a vast one has others.
        """
        adoption = foreign_arrays.Adoption()
        backend, values, has_arrays = self._adopt(args, adoption)
        types = tuple(
            type_of(value, backend.array_type, self._place(k)) for k, value in enumerate(values)
        )
        device = backend.device_key()
        shapes = assumptions_of(values, types, backend.capabilities, is_64bit_grid=is_vast)
        variant = self._variant(backend, device, types, shapes)
        adoption.check_writes(lambda way: variant.kernel.written[way[0]], self._named)
        leaves = variant.leaves(values)
        own = self._specialized(variant, device, leaves, values, is_vast)
        own.learn(variant, leaves, values)
        # Where nothing but the default says that it is the host, a later launch may go elsewhere.
        if not is_vast and (has_arrays or not backend.capabilities.is_fallback):
            self.run = own.run
        with adoption.launching(stream) as handle:
            own.run(grid, block, values, shared, handle)

    def _variant(
        self, backend: Backend, device: int, types: tuple[Type, ...], shapes: ShapeAssumptions
    ) -> _Variant:
        key = (backend.name, device, types, shapes)
        variant = self._variants.get(key)
        if variant is None:
            name, kernel = self._front_end.name, self._front_end.compiled(backend, types, shapes)
            variant = _Variant(name, backend, types, kernel, shapes.is_32bit_indexable, self._place)
            # One of two threads that come at once wins; both work.
            variant = self._variants.setdefault(key, variant)
        return variant

    def _specialized(
        self,
        variant: _Variant,
        device: int,
        leaves: Sequence[Leaf],
        values: Sequence[Any],
        is_vast: bool,
    ) -> _Specialized:
        forms = tuple(map(form_of, values))
        known = variant.launchers.get((forms, is_vast))
        if known is not None:
            return known
        geometry = tuple(len(_geometry(leaf)) for leaf in leaves if isinstance(leaf.type, Array))
        passed = variant.kernel.passed or variant.types
        pairs = zip(passed, variant.types, strict=True)
        narrow = tuple(isinstance(a, Number) and a != b for a, b in pairs)
        pattern = _Pattern(forms, geometry, variant.kernel.written, narrow, variant.lent)
        key = (pattern, variant.backend.name, device, variant.kernel.mode, is_vast)
        own = self._launchers.get(key)
        if own is None:
            if len(self._launchers) >= _MAX_LAUNCHERS:
                self._launchers.clear()
                self._plans.clear()
                for other in list(self._variants.values()):
                    other.launchers.clear()
            place = (pattern.forms, variant.backend.name, device, is_vast)
            plans = self._plans.setdefault(place, {})
            own = _Specialized(pattern, variant, device, plans, self._dispatch)
            self._launchers[key] = own
        variant.launchers[forms, is_vast] = own
        return own

    def _place(self, index: int) -> Place:
        place = self._places.get(index)
        if place is None:
            front_end = self._front_end
            place = Place(front_end.name, front_end.parameter(index), front_end.snippet(index))
            self._places[index] = place
        return place

    def _named(self, way: tuple[Any, ...]) -> tuple[str, Snippet | None]:
        """Return what messages call an array, from the way to it, and where it is declared."""
        place = self._place(way[0]).at(*way[1:])
        return place.name, place.snippet

    # -- where the arrays are ----------------------------------------------------------------------

    def _adopt(
        self, args: Sequence[Any], adoption: foreign_arrays.Adoption
    ) -> tuple[Backend, tuple[Any, ...], bool]:
        """Return the backend whose arrays the arguments are, the arguments as its own, and whether
        there are arrays among them.
        """
        found: list[_Found] = []
        values = tuple(_adopted(value, k, (), found, adoption) for k, value in enumerate(args))
        if not found:
            return foreign_arrays.default_backend(), values, False
        for other in found:
            if other.backend.name != found[0].backend.name:
                raise self._mixed_places(found[0], other, found)
        return found[0].backend, values, True

    def _mixed_places(
        self, first: _Found, second: _Found, found: Sequence[_Found]
    ) -> ArgumentTypeError:
        """Return the error for arrays in different places."""
        names = [self._place(one.argument).at(*one.path).name for one in (first, second)]
        hint = "move one of them: 'cupy.asarray(x)' or 'cupy.asnumpy(x)'."
        if all(one.array.ndim == 0 for one in found if one.backend.capabilities.is_fallback):
            hint = "pass a number, 'x[()]' or 'x.item()', instead of an array without dimensions."
        return ArgumentTypeError(
            self._place(second.argument).message(
                f"The array for parameter '{names[0]}' of kernel '{self._front_end.name}' is in "
                f"{first.backend.capabilities.location}, and the one for '{names[1]}' is in "
                f"{second.backend.capabilities.location}.",
                hint,
            )
        )


class _Found(NamedTuple):
    """An array among the arguments: whose it is, in which argument, and the way into that."""

    backend: Backend
    array: Any
    argument: int
    path: tuple[int | str, ...]


def _adopted(
    value: Any,
    argument: int,
    path: tuple[int | str, ...],
    found: list[_Found],
    adoption: foreign_arrays.Adoption,
) -> Any:
    """Return a value with the arrays in it as a backend's own, and list them in `found`."""
    # A subclass lies in memory as its base does.
    own, value = adoption.take(value, (argument, *path), keep_subclasses=True)
    if own is not None:
        found.append(_Found(own, value, argument, path))
        return value
    names = field_names(type(value))
    if names is None:
        return value
    items = list(items_of(value, names))
    adopted = tuple(_adopted(item, argument, (*path, key), found, adoption) for key, item in items)
    if all(new is old for new, (_, old) in zip(adopted, items, strict=True)):
        return value
    return rebuilt(value, adopted)

"""Launches of decorated kernels.

There is a launcher for each combination of the arguments' Python types. What depends on dtypes,
shapes, strides and alignment is decided once a combination and kept in a plan: which kernel it is,
its extents, whether the arrays may be used at all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, Protocol

from kerneltk.backends import foreign_arrays
from kerneltk.backends.base import Backend, Function, GridLimits, LaunchMode
from kerneltk.errors import ArgumentTypeError, ArgumentValueError, Snippet
from kerneltk.interop.streams import stream_handle
from kerneltk.jit.codegen.assumptions import ShapeAssumptions, fits_32bit
from kerneltk.jit.ir.types import Array, Number, Record, Type, alignment_of, value_type
from kerneltk.jit.launch.marshalling import (
    Form,
    Leaf,
    Place,
    field_names,
    form_of,
    items_of,
    leaves_of,
    marshal_of,
    members_of,
    rebuilt,
    refuse_number,
    type_of,
)
from kerneltk.jit.launch.shapes import assumptions_of
from kerneltk.launch.launch_config import (
    GridLaunches,
    GridShape,
    GridShapes,
    as_extents,
    grid_extents,
)
from kerneltk.launch.launcher_spec import (
    Argument,
    LauncherSpec,
    Structure,
)
from kerneltk.launch.launcher_writer import write_launcher

__all__ = ["MAX_PLANS", "CompiledKernel", "FrontEnd", "Launcher"]

MAX_PLANS = 4096
"""Plans that one launcher keeps; past that it forgets them all, which costs time, not results."""

_MAX_LAUNCHERS = 1024


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


class _Variant(GridLaunches):
    """Launches of a compiled kernel."""

    def __init__(
        self,
        name: str,
        backend: Backend,
        types: tuple[Type, ...],
        kernel: CompiledKernel,
        needs_small_grid: bool,
        place_of: Callable[[int], Place],
    ) -> None:
        self.types, self.kernel, self._name = types, kernel, name
        self._needs_small_grid = needs_small_grid
        self._place_of = place_of
        self._places: dict[tuple[Any, ...], Place] = {}
        passed = kernel.passed or types
        self._lent = tuple(value_type(kind) != kind for kind in passed)
        pairs = zip(passed, types, strict=True)
        self._narrowed = tuple(isinstance(a, Number) and a != b for a, b in pairs)
        offsets, layout = members_of(passed, backend.capabilities)
        present = [offset for offset in offsets if offset is not None]
        call = backend.grid_call(kernel.mode, name)
        shapes = GridShapes(name, backend, kernel.function, kernel.limits)
        super().__init__(shapes, call, layout.format, layout.size, present)
        self.launchers: dict[Any, _Written] = {}
        self.new_buffer()  # raises here for parameters that a launch has no capacity for

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
                self.shapes.checked(grid, block, shared)  # before anything is compiled for it
                return None
        return super().configure(grid, block, shared)

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

    def is_lent(self, leaf: Leaf) -> bool:
        """Return whether a leaf is a record whose address is passed."""
        return isinstance(leaf.type, Record) and self._lent[leaf.argument]

    def argument(self, form: Form, leaves: Iterator[Leaf]) -> Argument | Structure:
        """Return how an argument is launched with, and take its leaves."""
        if isinstance(form, Structure):
            items = tuple(self.argument(item, leaves) for item in form.items)
            return Structure(form.type, form.fields, items)
        leaf = next(leaves)
        written, narrowed = self.kernel.written[leaf.argument], self._narrowed[leaf.argument]
        extents = len(self._numbers(leaf))
        if isinstance(leaf.type, Array):
            return Argument(form, "address", written, extents, ("memory",))
        if self.is_lent(leaf):
            return Argument(form, "lent", written, extents)
        return Argument(form, "float32" if narrowed else marshal_of(form))

    def plan(self, run: Callable[..., None], leaves: Sequence[Leaf]) -> tuple[Any, ...]:
        """Return the plan for a call's arguments; raises for those that cannot be passed."""
        self._prepare(leaves)
        return self.row(run, *(number for leaf in leaves for number in self._numbers(leaf)))

    def _numbers(self, leaf: Leaf) -> tuple[int, ...]:
        """Return the numbers that a plan has for a leaf: of an array those that are passed with its
        address, of a record whose address is passed the bits that it must not have.
        """
        if self.is_lent(leaf):
            return (alignment_of(leaf.value.dtype, self.backend.capabilities) - 1,)
        if not isinstance(leaf.type, Array):
            return ()
        extents: tuple[int, ...] = leaf.value.shape
        return (*extents, *leaf.value.strides) if leaf.type.layout == "strided" else extents

    def _prepare(self, leaves: Sequence[Leaf]) -> None:
        """Check arrays and records; what holds for them does for all of their shape and alignment,
        but that they have memory and that it can be written.
        """
        written = self.kernel.written
        memory = [leaf for leaf in leaves if isinstance(leaf.type, Array) or self.is_lent(leaf)]
        for leaf in memory:
            if isinstance(leaf.type, Array):
                self._check(leaf, written[leaf.argument])
            elif written[leaf.argument] and not leaf.value.flags.writeable:
                place = self.place(leaf)
                raise ArgumentValueError(
                    place.message(
                        f"The record for {place} is read-only, and the kernel writes to it.",
                        "pass a copy: 'record.copy()'.",
                    )
                )
        if self.call.note is not None and self.note is None:
            named = [(self.place(leaf).name, written[leaf.argument]) for leaf in memory]
            self.note = self.call.note(self.size, named)

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

    def check(self, args: Sequence[Any]) -> None:
        """Raise for an array at address zero, unless it is empty, and for a read-only record."""
        self._prepare(self.leaves(args))

    def refuse_number(self, args: Sequence[Any]) -> None:
        """Raise for the first number that is not packed."""
        for leaf in self.leaves(args):
            refuse_number(leaf.type, leaf.value, self.place(leaf))


class _Written(NamedTuple):
    """A launcher and its plans, which those for the same Python types share."""

    run: Callable[..., None]
    key_of: Callable[[Sequence[Any]], tuple[Any, ...]]
    plans: dict[Any, tuple[Any, ...]]


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
        self._launchers: dict[Any, _Written] = {}
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
            An argument that no kernel takes; arrays in different locations.
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
        own = self._written(variant, device, leaves, values, is_vast)
        key = own.key_of(values)
        if key not in own.plans:
            plan = variant.plan(own.run, leaves)
            if len(own.plans) >= MAX_PLANS:
                own.plans.clear()
            own.plans[key] = plan
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

    def _written(
        self,
        variant: _Variant,
        device: int,
        leaves: Sequence[Leaf],
        values: Sequence[Any],
        is_vast: bool,
    ) -> _Written:
        forms = tuple(map(form_of, values))
        known = variant.launchers.get((forms, is_vast))
        if known is not None:
            return known
        in_order = iter(leaves)
        arguments = tuple(variant.argument(form, in_order) for form in forms)
        backend = variant.backend
        key = (arguments, backend.name, device, variant.kernel.mode, is_vast)
        own = self._launchers.get(key)
        if own is None:
            if len(self._launchers) >= _MAX_LAUNCHERS:
                self._launchers.clear()
                self._plans.clear()
                for other in list(self._variants.values()):
                    other.launchers.clear()
            # Calls that differ in dtypes, dimensions or strides find each other's plans.
            plans = self._plans.setdefault((forms, backend.name, device, is_vast), {})
            spec = LauncherSpec(
                "grid",
                arguments,
                backend.arrays,
                variant.call,
                self._dispatch,
                plans,
                shares_plans=True,
                device=device,
                large_grid=partial(self._dispatch, is_vast=True),
            )
            run, key_of = write_launcher(spec)
            own = self._launchers[key] = _Written(run, key_of, plans)
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
                raise self._in_different_locations(found[0], other, found)
        return found[0].backend, values, True

    def _in_different_locations(
        self, first: _Found, second: _Found, found: Sequence[_Found]
    ) -> ArgumentTypeError:
        """Return the error for arrays in different locations."""
        hint = foreign_arrays.MOVE_HINT
        if all(one.array.ndim == 0 for one in found if one.backend.capabilities.is_fallback):
            hint = "pass a number, 'x[()]' or 'x.item()', instead of an array without dimensions."
        places = [self._place(one.argument).at(*one.path) for one in (first, second)]
        shown = [f"'{place.name}'" for place in places]
        return foreign_arrays.different_locations(
            self._front_end.name,
            (shown[0], first.backend),
            (shown[1], second.backend),
            places[1].snippet,
            hint,
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

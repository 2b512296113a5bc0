"""Launches of decorated kernels on a grid: their arguments as one backend's own, and what a kernel
may assume of them; and their launchers.

There is a launcher for each combination of the arguments' Python types. What depends on dtypes,
shapes, strides and alignment is decided once a combination and stored in a plan: which kernel,
its extents, whether the arrays may be used at all.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from kerneltk.backends import foreign_arrays
from kerneltk.backends.base import Backend, Function, GridLimits, LaunchMode
from kerneltk.core.artifacts import TranslationUnit
from kerneltk.core.records import MAX_PLANS, BoundedTable
from kerneltk.core.structures import field_names, named_items, rebuilt
from kerneltk.errors import ArgumentTypeError, ArgumentValueError, Snippet
from kerneltk.jit.ir.types import (
    Array,
    Number,
    Record,
    Type,
    alignment_of,
    fits_32bit,
    referred_type,
)
from kerneltk.jit.launch.marshalling import (
    ArgumentPath,
    Form,
    Leaf,
    form_of,
    leaves_of,
    marshal_as,
    members_of,
    refuse_number,
    type_of,
)
from kerneltk.launch.compiled import LauncherTemplate
from kerneltk.launch.dispatch import GridDispatcher, Run
from kerneltk.launch.launch_config import GridLaunches, GridShapes, is_beyond_32bit
from kerneltk.launch.launcher_spec import Argument, LauncherSpec, Structure

_MAX_LAUNCHERS = 1024


# -- a call's arguments ----------------------------------------------------------------------------


class Arguments(NamedTuple):
    """The arguments of a call, with arrays as those of the backend whose they are, or of the
    default one; and what is owed to the libraries that they came from. `device` is the one that the
    call runs on.

    `paths` are the parameters for messages. A grid is one of 64 bits if it has more threads along
    an axis than 32 bits count; `is_32bit` says that 32 bits index the grid and all arrays.
    """

    backend: Backend
    device: int
    values: tuple[Any, ...]
    types: tuple[Type, ...]
    is_32bit: bool
    paths: Sequence[ArgumentPath]
    has_arrays: bool
    is_64bit_grid: bool
    adoption: foreign_arrays.Adoption

    @property
    def key(self) -> tuple[Any, ...]:
        """All that a compiled kernel depends on."""
        return self.backend.name, self.device, self.types, self.is_32bit


Adapt = Callable[[tuple[Any, ...]], tuple[Any, ...]]
"""Turns a call's arguments into what a signature says; raises ArgumentTypeError."""


def arguments_of(
    args: Sequence[Any],
    paths: Sequence[ArgumentPath],
    adapt: Adapt | None = None,
    *,
    is_64bit_grid: bool = False,
) -> Arguments:
    """Take the arguments of a call, one a parameter. Their types are those of what `adapt` makes of
    them: launchers convert numbers to these. Raises ArgumentTypeError for an argument that
    no kernel takes and for arrays in different locations, ArgumentValueError for arrays of several
    devices.
    """
    adoption = foreign_arrays.Adoption()
    found: list[_Found] = []

    def named(way: tuple[Any, ...]) -> tuple[str, Snippet | None]:
        return paths[int(way[0])].at(*way[1:]).named

    def in_two_locations(first: int, second: int) -> ArgumentTypeError:
        return _in_different_locations(found[first], found[second], found, paths)

    values = tuple(_adopted(value, k, (), found, adoption, named) for k, value in enumerate(args))
    owners = {k: one.backend for k, one in enumerate(found)}
    backend = foreign_arrays.common_backend(owners, in_two_locations)
    backend = backend or foreign_arrays.default_backend()
    types = tuple(
        type_of(value, backend.array_type, path)
        for value, path in zip(values if adapt is None else adapt(values), paths, strict=True)
    )
    device = adoption.device
    return Arguments(
        backend,
        backend.device_key() if device is None else device,
        values,
        types,
        not is_64bit_grid and is_32bit_indexable(values, types),
        paths,
        bool(found),
        is_64bit_grid,
        adoption,
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
    name_of: foreign_arrays.NameOf,
) -> Any:
    """A value with the arrays in it as a backend's own, which are listed in `found`."""
    # A subclass lies in memory as its base does.
    own, value = adoption.take(value, (argument, *path), name_of, keep_subclasses=True)
    if own is not None:
        found.append(_Found(own, value, argument, path))
        return value
    names = field_names(type(value))
    if names is None:
        return value
    items = list(named_items(value, names))
    adopted = tuple(
        _adopted(item, argument, (*path, key), found, adoption, name_of) for key, item in items
    )
    if all(new is old for new, (_, old) in zip(adopted, items, strict=True)):
        return value
    return rebuilt(value, adopted)


def _in_different_locations(
    first: _Found, second: _Found, found: Sequence[_Found], paths: Sequence[ArgumentPath]
) -> ArgumentTypeError:
    hint = foreign_arrays.MOVE_HINT
    if all(one.array.ndim == 0 for one in found if one.backend.capabilities.is_fallback):
        hint = "pass a number, 'x[()]' or 'x.item()', instead of an array without dimensions."
    left, right = (paths[one.argument].at(*one.path) for one in (first, second))
    return foreign_arrays.different_locations(
        left.kernel,
        (f"'{left.name}'", first.backend),
        (f"'{right.name}'", second.backend),
        right.snippet,
        hint,
    )


def is_32bit_indexable(values: Sequence[Any], kinds: Sequence[Type]) -> bool:
    """Whether 32 bits index all of the arrays, or `ArraySpec` for them, in arguments of some types:
    these have less than 2**31 elements, along each axis, too.
    """
    return fits_32bit(
        number
        for k, (value, kind) in enumerate(zip(values, kinds, strict=True))
        for leaf in leaves_of(value, kind, k)
        if isinstance(leaf.type, Array)
        for number in (math.prod(leaf.value.shape), *leaf.value.shape)
    )


# -- a compiled kernel and how it is launched ------------------------------------------------------


class CompiledKernel(NamedTuple):
    """A kernel for one tuple of argument types, on one device.

    Parameters
    ----------
    function : Function
        Takes the arguments' bytes as `kerneltk.jit.launch.marshalling` lays them out.
    limits : GridLimits
    written : tuple of bool
        One an argument: whether the kernel writes to the array, or to one inside the structure.
    lent : tuple of bool
        One an argument: whether its records are passed by their addresses.
    mode : LaunchMode
    block : tuple of int or None
        The shape that blocks must have; None if they may have any.
    unit : TranslationUnit, optional
        Its source.
    """

    function: Function
    limits: GridLimits
    written: tuple[bool, ...]
    lent: tuple[bool, ...]
    mode: LaunchMode
    block: tuple[int, int, int] | None = None
    unit: TranslationUnit | None = None

    def is_written(self, way: tuple[Any, ...]) -> bool:
        """Whether it writes to an array, by the index of the argument and the path into that."""
        return self.written[int(way[0])]


class _Launches(GridLaunches):
    """Launches of a compiled kernel."""

    def __init__(self, name: str, kernel: CompiledKernel, arguments: Arguments) -> None:
        self.types, self.kernel, self._paths = arguments.types, kernel, arguments.paths
        backend = arguments.backend
        pairs = zip(self.types, kernel.lent, strict=True)
        passed = tuple(referred_type(kind) if lent else kind for kind, lent in pairs)
        offsets, layout = members_of(passed, backend.capabilities)
        present = [offset for offset in offsets if offset is not None]
        call = backend.grid_call(kernel.mode, name)
        shapes = GridShapes(
            name, backend, kernel.function, kernel.limits, kernel.block, arguments.is_32bit
        )
        super().__init__(shapes, call, layout.format, layout.size, present)
        self.new_buffer()  # raises here for parameters that a launch has no capacity for

    def leaves(self, values: Sequence[Any]) -> list[Leaf]:
        """The leaves of a call's arguments."""
        return [
            leaf
            for k, (value, type_) in enumerate(zip(values, self.types, strict=True))
            for leaf in leaves_of(value, type_, k)
        ]

    def _path(self, leaf: Leaf) -> ArgumentPath:
        return self._paths[leaf.argument].at(*leaf.path)

    def is_lent(self, leaf: Leaf) -> bool:
        """Whether a leaf is a record whose address is passed."""
        return isinstance(leaf.type, Record) and self.kernel.lent[leaf.argument]

    def argument(self, form: Form, leaves: Iterator[Leaf]) -> Argument | Structure:
        """How an argument is launched with; its leaves are taken."""
        if isinstance(form, Structure):
            items = tuple(self.argument(item, leaves) for item in form.items)
            return Structure(form.type, form.fields, items)
        leaf = next(leaves)
        written, extents = self.kernel.written[leaf.argument], len(self._numbers(leaf))
        if isinstance(leaf.type, Array):
            return Argument(form, "address", written, extents, ("memory",))
        if self.is_lent(leaf):
            return Argument(form, "lent", written, extents)
        dtype = leaf.type.dtype if isinstance(leaf.type, Number) and not leaf.type.weak else None
        marshal, convert = marshal_as(form, dtype)
        return Argument(form, marshal, convert=convert)

    def plan(self, run: Callable[..., Any], leaves: Sequence[Leaf]) -> tuple[Any, ...]:
        """The plan for a call's arguments; raises for those that cannot be passed."""
        self._prepare(leaves)
        return self.row(run, *(number for leaf in leaves for number in self._numbers(leaf)))

    def _numbers(self, leaf: Leaf) -> tuple[int, ...]:
        """The numbers that a plan has for a leaf: of an array those that are passed with its
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
                path = self._path(leaf)
                raise ArgumentValueError(
                    path.message(
                        f"The record for {path} is read-only, and the kernel writes to it.",
                        "pass a copy: 'record.copy()'.",
                    )
                )
        if self.call.note is not None and self.note is None:
            named = [(self._path(leaf).name, written[leaf.argument]) for leaf in memory]
            self.note = self.call.note(self.size, named)

    def _check(self, leaf: Leaf, written: bool) -> None:
        array, path = leaf.value, self._path(leaf)
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
            raise ArgumentValueError(path.message(f"The array for {path} {problem}.", hint))
        self.backend.check_usable(array, path.name, written)

    def check(self, args: Sequence[Any]) -> None:
        """Raise for an array at address zero, unless it is empty, and for a read-only record."""
        self._prepare(self.leaves(args))

    def refuse_number(self, args: Sequence[Any]) -> None:
        """Raise for the first number that is not packed."""
        for leaf in self.leaves(args):
            refuse_number(leaf.type, leaf.value, self._path(leaf))


class _Bound(NamedTuple):
    """A launcher, and its plans, which those for the same Python types share."""

    run: Run
    key_of: Callable[[Sequence[Any]], tuple[Any, ...]]
    forget: Callable[[], object]
    key: tuple[Any, ...]  # of the kernel
    plans: dict[Any, tuple[Any, ...]]
    launches: _Launches


# -- all launches of a kernel ----------------------------------------------------------------------


class JitDispatcher(GridDispatcher):
    """Launches one decorated kernel, whatever its arguments are.

    Parameters
    ----------
    name : str
        The kernel's, in messages.
    paths : callable
        Returns the parameters, for messages.
    specialized : callable
        Returns the `CompiledKernel` for `Arguments` on the current device.
    adapt : callable, optional
        See `arguments_of`.
    """

    __slots__ = ()

    def __init__(
        self,
        name: str,
        paths: Callable[[], Sequence[ArgumentPath]],
        specialized: Callable[[Arguments], CompiledKernel],
        adapt: Adapt | None = None,
        records: bool = False,
    ) -> None:
        super().__init__(name, paths, specialized, adapt, records=records)
        self.name, self._paths, self._compiled, self._adapt = name, paths, specialized, adapt
        self._launchers = BoundedTable(_MAX_LAUNCHERS)
        self.recent = self._dispatched(None)

    def parameter_names(self, count: int) -> tuple[str, ...]:
        """The names of `count` parameters."""
        return tuple(path.name for path in self._paths()[:count])

    def _described(self, way: Any, args: tuple[Any, ...], grid: Any, block: Any) -> Arguments:
        is_64bit = is_beyond_32bit(grid, block, self.name)
        return arguments_of(args, self._paths(), self._adapt, is_64bit_grid=is_64bit)

    def _specialized(self, call: Arguments) -> CompiledKernel:
        kernel: CompiledKernel | None = self.kernels.get(call.key)
        if kernel is None:
            kernel = self.kernels[call.key] = self._compiled(call)
        call.adoption.check_writes(kernel.is_written)
        return kernel

    def _planned(self, call: Arguments, kernel: CompiledKernel) -> Run:
        forms, values = tuple(map(form_of, call.values)), call.values
        # Calls that differ in dtypes, dimensions or strides find each other's plans: those of the
        # first launcher for these Python types.
        similar = forms, call.backend.name, call.device, call.is_64bit_grid
        make = functools.partial(self._made, call, kernel, forms)
        own: _Bound = self._launcher(similar, lambda _: make(BoundedTable(MAX_PLANS)))
        if own.key != call.key:
            plans = own.plans
            own = self._launcher((similar, call.key), lambda _: make(plans))
        key = own.key_of(values)
        if key not in own.plans:
            plan = own.launches.plan(own.run, own.launches.leaves(values))
            own.plans[key] = plan
        return own.run

    def _made(
        self,
        call: Arguments,
        kernel: CompiledKernel,
        forms: tuple[Form, ...],
        plans: dict[Any, tuple[Any, ...]],
    ) -> _Bound:
        backend = self._launching(call.backend)
        launches = _Launches(self.name, kernel, call._replace(backend=backend))
        leaves = iter(launches.leaves(call.values))
        described = tuple(launches.argument(form, leaves) for form in forms)
        spec = LauncherSpec("grid", described, backend.arrays, launches.call, device=call.device)
        bound = LauncherTemplate(spec).bind(self._dispatched(None), plans=plans)
        return _Bound(*bound, call.key, plans, launches)

    def _keep(self, call: Arguments, run: Run) -> None:
        # Where nothing but the default says that it is the host, a later launch may go elsewhere.
        is_default = not call.has_arrays and call.backend.capabilities.is_fallback
        # One for larger grids would launch smaller ones too, but not as fast.
        if not call.is_64bit_grid and not is_default:
            self.recent = run

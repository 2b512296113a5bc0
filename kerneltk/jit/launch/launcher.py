"""Launches of decorated kernels.

There is a launcher for each combination of the arguments' Python types. What depends on dtypes,
shapes, strides and alignment is decided once a combination and kept in a plan: which kernel it is,
its extents, whether the arrays may be used at all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from kerneltk.backends.base import Function, GridLimits, LaunchMode
from kerneltk.errors import ArgumentValueError, Snippet
from kerneltk.jit.ir.types import Array, Number, Record, Type, alignment_of, value_type
from kerneltk.jit.launch.arguments import Arguments
from kerneltk.jit.launch.marshalling import (
    ArgumentPath,
    Form,
    Leaf,
    form_of,
    leaves_of,
    marshal_of,
    members_of,
    refuse_number,
)
from kerneltk.launch.launch_config import GridLaunches, GridShapes
from kerneltk.launch.launcher_spec import Argument, LauncherSpec, Miss, Structure
from kerneltk.launch.launchers import LauncherTemplate, is_outdated
from kerneltk.launch.recording import recording_backend

MAX_PLANS = 4096
"""Plans that one launcher keeps; past that it forgets them all, which costs time, not results."""

_MAX_LAUNCHERS = 1024


class CompiledKernel(NamedTuple):
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


# -- a compiled kernel and how it is launched ------------------------------------------------------


class _Variant(GridLaunches):
    """Launches of a compiled kernel."""

    def __init__(self, name: str, kernel: CompiledKernel, arguments: Arguments) -> None:
        self.types, self.kernel, self._paths = arguments.types, kernel, arguments.paths
        backend, types = arguments.backend, arguments.types
        passed = kernel.passed or types
        self._lent = tuple(value_type(kind) != kind for kind in passed)
        pairs = zip(passed, types, strict=True)
        self._narrowed = tuple(isinstance(a, Number) and a != b for a, b in pairs)
        offsets, layout = members_of(passed, backend.capabilities)
        present = [offset for offset in offsets if offset is not None]
        call = backend.grid_call(kernel.mode, name)
        is_32bit = arguments.shapes.is_32bit_indexable
        shapes = GridShapes(name, backend, kernel.function, kernel.limits, kernel.block, is_32bit)
        super().__init__(shapes, call, layout.format, layout.size, present)
        self.launchers: dict[Any, _Bound] = {}
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
        return isinstance(leaf.type, Record) and self._lent[leaf.argument]

    def argument(self, form: Form, leaves: Iterator[Leaf]) -> Argument | Structure:
        """How an argument is launched with; its leaves are taken."""
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
    """A launcher and its plans, which those for the same Python types share."""

    run: Callable[..., Miss | None]
    key_of: Callable[[Sequence[Any]], tuple[Any, ...]]
    forget: Callable[[], object]
    plans: dict[Any, tuple[Any, ...]]


# -- all launches of a kernel ----------------------------------------------------------------------


class Launcher:
    """Launches one decorated kernel, whatever its arguments are.

    Parameters
    ----------
    name : str
        The kernel's, in messages.

    Attributes
    ----------
    run : callable or None
        ``run(grid, block, args, shared=0, stream=None)`` with a stream's handle: what was made for
        the last kind of arguments. It returns None, or the `Miss` because of which it has launched
        nothing.
    """

    __slots__ = ("_launchers", "_name", "_plans", "_recording", "_variants", "run")

    def __init__(self, name: str) -> None:
        self._name = name
        self._variants: dict[Any, _Variant] = {}
        self._launchers: dict[Any, _Bound] = {}
        self._plans: dict[Any, dict[Any, tuple[Any, ...]]] = {}
        self._recording: Launcher | None = None
        self.run: Callable[..., Miss | None] | None = None

    def record(self, arguments: Arguments, grid: Any, block: Any, shared: Any = 0) -> Miss | None:
        """As :meth:`launch`, with a launch that goes to the thread's recorder."""
        if self._recording is None:
            self._recording = Launcher(self._name)
        known = self._variants[arguments.key].kernel
        recorded = arguments._replace(backend=recording_backend(arguments.backend))
        self._recording.add(recorded, known)
        return self._recording.launch(recorded, grid, block, shared)

    def record_again(self, grid: Any, block: Any, args: Any, shared: Any = 0) -> Miss | None:
        """As :meth:`record` by the last launcher that recorded, if it is for such arguments."""
        run = None if self._recording is None else self._recording.run
        return "arguments" if run is None else run(grid, block, args, shared, None)

    def knows(self, arguments: Arguments) -> bool:
        """Whether there is a kernel for such arguments."""
        return arguments.key in self._variants

    def add(self, arguments: Arguments, kernel: CompiledKernel) -> None:
        """Take the kernel for such arguments; of two threads' the first."""
        if arguments.key not in self._variants:
            self._variants.setdefault(arguments.key, _Variant(self._name, kernel, arguments))

    def launch(
        self, arguments: Arguments, grid: Any, block: Any, shared: Any = 0, stream: Any = None
    ) -> Miss | None:
        """Launch with arguments for which there is a kernel, and perhaps no plan yet. None is
        returned if that is done; another thread may have taken the plan away.

        Raises
        ------
        ArgumentValueError
            An array that is read-only and written, misaligned, freed or on another device; a
            grid, a block or shared memory that the device does not have.
        ScalarOverflowError
            A Python int has more than 64 bits.
        LaunchError
            The launch failed.
        """
        with arguments.adoption.on_device():
            return self._launch(arguments, grid, block, shared, stream)

    def _launch(
        self, arguments: Arguments, grid: Any, block: Any, shared: Any, stream: Any
    ) -> Miss | None:
        variant = self._variants[arguments.key]
        written, paths, values = variant.kernel.written, arguments.paths, arguments.values

        def named(way: tuple[Any, ...]) -> tuple[str, Snippet | None]:
            path = paths[way[0]].at(*way[1:])
            return path.name, path.snippet

        arguments.adoption.check_writes(lambda way: written[way[0]], named)
        leaves = variant.leaves(values)
        own = self._written(variant, arguments, leaves)
        key = own.key_of(values)
        if key not in own.plans:
            plan = variant.plan(own.run, leaves)
            if len(own.plans) >= MAX_PLANS:
                own.plans.clear()
                own.forget()
            own.plans[key] = plan
        # A plan is for grids whose threads 32 bits count along each axis, or for others. Where
        # nothing but the default says that it is the host, a later launch may go elsewhere.
        is_default = not arguments.has_arrays and arguments.backend.capabilities.is_fallback
        if not arguments.is_64bit_grid and not is_default:
            self.run = own.run
        with arguments.adoption.launching(stream) as handle:
            return own.run(grid, block, values, shared, handle)

    def _written(self, variant: _Variant, arguments: Arguments, leaves: Sequence[Leaf]) -> _Bound:
        is_64bit = arguments.is_64bit_grid
        forms = tuple(map(form_of, arguments.values))
        known = variant.launchers.get((forms, is_64bit))
        if known is not None and not is_outdated(known.run):
            return known
        in_order = iter(leaves)
        described = tuple(variant.argument(form, in_order) for form in forms)
        backend, device = arguments.backend, arguments.device
        key = (described, backend.name, device, variant.kernel.mode, is_64bit)
        own = self._launchers.get(key)
        if own is None or is_outdated(own.run):
            if len(self._launchers) >= _MAX_LAUNCHERS:
                self._launchers.clear()
                self._plans.clear()
                for other in list(self._variants.values()):
                    other.launchers.clear()
            # Calls that differ in dtypes, dimensions or strides find each other's plans.
            similar = (forms, backend.name, device, is_64bit)
            if own is not None and self._plans.get(similar) is own.plans:
                del self._plans[similar]  # they name the launchers that are outdated
            plans = self._plans.setdefault(similar, {})
            spec = LauncherSpec("grid", described, backend.arrays, variant.call, device=device)
            own = _Bound(*LauncherTemplate(spec).bind(plans=plans), plans)
            self._launchers[key] = own
        variant.launchers[forms, is_64bit] = own
        return own

"""Dispatchers of loops over elements: kernels from expressions.

There is a launcher for each combination of argument types. It finds the plan by the arrays' dtypes,
shapes, strides and addresses modulo 16, and refuses outputs that overlap an input in another way
than exactly. Everything else is in the plan. After that a call is the launcher alone.
"""

from __future__ import annotations

import functools
import json
import math
from collections.abc import Callable, Iterator, Sequence
from struct import Struct
from typing import Any, Literal, NamedTuple, cast

import numpy as np

from kerneltk import pipeline
from kerneltk.backends import foreign_arrays
from kerneltk.backends.base import QUIET, ArrayAccess, Backend, DeviceBackend, Function, LaunchCall
from kerneltk.cache.derived import NOT_READ, Records, reader_of
from kerneltk.cache.fingerprint import Trace
from kerneltk.codegen.definition import KernelDefinition
from kerneltk.codegen.elementwise import ElementwiseDefinition, WaitingDefinition
from kerneltk.codegen.render import translation_unit_of
from kerneltk.codegen.specialization import LaunchGeometry
from kerneltk.codegen.template_input import template_input
from kerneltk.core.artifacts import BackendName, TranslationUnit, described_backend
from kerneltk.core.dtypes import alignment_on, describe, described
from kerneltk.core.recorders import Recordable
from kerneltk.core.records import MAX_PLANS, BoundedTable, Memo
from kerneltk.errors import ArgumentValueError, Snippet, render_message
from kerneltk.interop.texture_objects import as_number, class_of, handle_of
from kerneltk.launch import dispatch
from kerneltk.launch.compiled import LauncherTemplate, is_outdated
from kerneltk.launch.dispatch import Dispatcher, Run, launched
from kerneltk.launch.launcher_spec import Argument, LauncherSpec
from kerneltk.signature.parameters import parse_signature
from kerneltk.signature.resolve import (
    Binding,
    Resolved,
    convert_scalar,
    is_aligned,
    overlap_limits,
    share_memory,
    shared_outputs,
)

_NO_KEY = "0" * 64
_MOST_HELD = 64 << 20
"""Bytes of scratch memory that the plans of one kernel keep; past that it forgets them all."""


# -- launches in the compile cache -----------------------------------------------------------------


class Launch(NamedTuple):
    """What is launched, but for the function.

    Parameters
    ----------
    grid, chunk, block : int
        As `Plan` has them.
    dynamic : str
        The ``struct`` format of what changes from call to call.
    size, constant_offset : int
        Of the argument block (bytes).
    constants : str
        Of the argument block, as hexadecimal digits.
    scratch : int
        Bytes.
    raw_geometry : tuple of tuple of int
    """

    grid: int
    chunk: int
    block: int
    dynamic: str
    size: int
    constant_offset: int
    constants: str
    scratch: int
    raw_geometry: tuple[tuple[int, ...], ...]

    @classmethod
    def of(cls, geometry: LaunchGeometry) -> Launch:
        """The launch that was scheduled."""
        block = geometry.specialization.arguments
        return cls(
            geometry.grid,
            _chunk(geometry),
            geometry.specialization.block,
            block.dynamic.format,
            block.size,
            block.constant_offset,
            geometry.constants.hex(),
            geometry.scratch,
            geometry.raw_geometry,
        )


def _chunk(geometry: LaunchGeometry) -> int:
    """The chunk size of a launch, as the backend's call takes it."""
    if geometry.may_last:
        return -geometry.chunk_size
    return geometry.chunk_size if geometry.may_trap else geometry.chunk_size | QUIET


class KeptLaunches:
    """The launches of a definition that the compile cache has: a process whose kernels are known
    neither schedules loops nor makes sources.

    There is an entry for a definition, the dtypes of a call and a target. It has a few records,
    each for arguments of certain shapes, strides and alignments: a launch, and what tells that its
    object code would have the same key again.
    """

    def __init__(self, definition: KernelDefinition) -> None:
        self._definition = definition
        self._entries = Memo()

    def find(
        self, resolved: Resolved, backend: Backend, options: Any
    ) -> tuple[Launch, Function] | None:
        """The launch of such a call on the current device, and its function; None where that is not
        known, or would be another.
        """
        case, records = _case_of(resolved, options), self._records(resolved, backend)
        record = next((one for one in records.found if one[0] == case), None)
        if record is None:
            return None
        _, key, fast_compile, shared, fields = record
        try:
            found, launch = _provenance(shared), reader_of(Launch)(fields)
            bytes.fromhex(launch.constants)
            if len(bytes.fromhex(key)) != len(_NO_KEY) // 2:
                return None
        except NOT_READ:
            return None
        # All of a unit that chooses its compiler.
        bare = TranslationUnit(
            backend.name, found.outline, "", found.options, fast_compile=bool(fast_compile)
        )
        current = found.current(bare, backend)
        function = None if current is None else pipeline.kept_function(key, backend)
        if current is None or function is None:
            return None
        if current is not found:  # headers were written again as they were
            records.add((case, key, fast_compile, _shared(current), fields), 1)
        return launch, function

    def keep(
        self,
        resolved: Resolved,
        backend: Backend,
        options: Any,
        launch: Launch,
        unit: TranslationUnit,
        trace: Trace,
    ) -> None:
        """Keep a launch of a unit whose trace was found."""
        provenance = pipeline.Provenance.of(unit, backend, trace)
        if provenance is None:
            return
        record = (
            _case_of(resolved, options), trace.key, unit.fast_compile, _shared(provenance),
            launch,
        )  # fmt: skip
        self._records(resolved, backend).add(record, 1)

    def _records(self, resolved: Resolved, backend: Backend) -> Records:
        target = backend.target()
        inputs = (
            self._definition.description,
            described_backend(backend.capabilities),
            *(target.backend, target.architecture, target.compiler),
            str(backend.multiprocessors()),
            *map(described, resolved.binding.dtypes),
        )
        found: Records = self._entries.of(inputs, lambda: Records("launch", 5, *inputs))
        return found


def _shared(provenance: pipeline.Provenance) -> str:
    """What a unit's key was found by, but for the key: most units of a process have the same."""
    return json.dumps(provenance._replace(trace=provenance.trace._replace(key=_NO_KEY)))


@functools.lru_cache(maxsize=64)
def _provenance(text: str) -> pipeline.Provenance:
    """Read what `_shared` returned. Raises TypeError or ValueError for anything else."""
    found: pipeline.Provenance = reader_of(pipeline.Provenance)(json.loads(text))
    return found


def _case_of(resolved: Resolved, options: Any) -> str:
    """What tells the calls of one entry apart."""
    layouts = [
        None if spec is None else (spec.shape, spec.strides, spec.offset) for spec in resolved.specs
    ]
    return repr((options, resolved.shape, resolved.out_shape, layouts))


# -- plans and launchers ---------------------------------------------------------------------------


class Plan(NamedTuple):
    """Everything that one specialization and one set of shapes need at a launch.

    Parameters
    ----------
    function : object
        The backend's handle.
    grid, chunk, block : int
        See `LaunchGeometry`; a grid of 0 launches nothing. The chunk size is negative where a chunk
        may take long, and has `QUIET` added where no signal is raised.
    pack_into, pack_checked : callable
        Pack the dynamic part of the argument block: by ``struct`` alone, and after converting the
        scalars, which raises for those that do not fit.
    new_buffer : callable
        Makes an argument buffer with the constant part filled in.
    buffers : list
        Argument buffers that no launch uses; empty at first.
    shape : tuple of int
        Of the outputs that are allocated.
    order : {"C", "F"}
    scratch : int
        Bytes that a launch needs for itself; they lie behind the argument block, or where the
        backend's call says.
    dtypes : tuple of np.dtype
        One an output.
    raw_geometry : tuple of tuple of int
    limits : tuple of tuple
        For each pair of an array and an output, the differences of addresses between which they
        overlap, and one between these at which they do not.
    """

    function: Any
    grid: int
    chunk: int
    block: int
    pack_into: Callable[..., object]
    pack_checked: Callable[..., object]
    new_buffer: Callable[[], Any]
    buffers: list[Any]
    shape: tuple[int, ...]
    order: str
    scratch: int
    dtypes: tuple[Any, ...]
    raw_geometry: tuple[tuple[int, ...], ...]
    limits: tuple[tuple[int, int, int], ...]

    def row(self) -> tuple[Any, ...]:
        """The values that a launcher unpacks, in its order."""
        *head, dtypes, raw_geometry, limits = self
        elements = math.prod(self.shape)
        sizes = (part for dtype in dtypes for part in (dtype, elements * dtype.itemsize))
        return (*head, *sizes, *raw_geometry, *(number for limit in limits for number in limit))


def _overlap_pairs(
    is_raw: Sequence[bool],
    is_const: Sequence[bool],
    is_array: Sequence[bool],
    in_place: bool,
) -> tuple[tuple[int, int], ...]:
    """The pairs of given arrays whose overlap is checked, of which the second is written: each
    input that is read with each output, and each two outputs.

    An input that the body may write counts as an output too. Where elements are read before they
    are written, raw arrays are the body's affair, and those of two outputs always.
    """
    given = [k for k, own in enumerate(is_array) if own and not (is_raw[k] and in_place)]
    return tuple(
        (k, j)
        for k in given
        for j in given
        if not is_const[j] and (is_const[k] or (k < j and not (is_raw[k] or is_raw[j])))
    )


def loop_launcher(
    definition: KernelDefinition, types: tuple[type, ...], backend: Backend, copies: bool = True
) -> LauncherTemplate:
    """The launcher of a definition for arguments of these types: inputs, or inputs and outputs;
    `copies` says that inputs that an output overlaps are copied.
    """
    parameters = definition.signature.parameters
    call = backend.loop_call
    if isinstance(definition, WaitingDefinition):
        call = cast(DeviceBackend, backend).waiting_call(definition.shared)
    return _loop_launcher(
        tuple(parameter.raw for parameter in parameters),
        tuple(parameter.is_const for parameter in parameters),
        len(definition.signature.inputs),
        definition.in_place,
        definition.has_scratch,
        definition.returns,
        types,
        backend.array_type,
        backend.arrays,
        call,
        copies,
    )


@functools.lru_cache
def _loop_launcher(
    is_raw: tuple[bool, ...],
    is_const: tuple[bool, ...],
    nin: int,
    in_place: bool,
    has_scratch: bool,
    returns: Literal["none", "one", "tuple"],
    types: tuple[type, ...],
    array_type: type,
    access: ArrayAccess,
    call: LaunchCall,
    copies: bool,
) -> LauncherTemplate:
    """All that a launcher of loops depends on; it is bound to the plans of one kernel."""
    is_array = [issubclass(kind, array_type) for kind in types]
    is_array += [True] * (len(is_raw) - len(types))
    is_object = [
        not found and class_of(kind) is not None
        for kind, found in zip(types, is_array, strict=False)
    ]
    is_object += [False] * (len(is_raw) - len(types))
    arguments = tuple(
        Argument(
            types[k] if k < len(types) else array_type,
            "address" if is_array[k] else "converted" if is_object[k] else "number",
            written=not is_const[k],
            extents=None if raw and is_array[k] else 0,
            is_given=k < len(types),
            convert=handle_of if is_object[k] else None,
        )
        for k, raw in enumerate(is_raw)
    )
    raws = [k for k, argument in enumerate(arguments) if argument.extents is None]
    arrays = [k for k, argument in enumerate(arguments) if is_array[k] and argument.extents == 0]
    return LauncherTemplate(
        LauncherSpec(
            "loop",
            arguments,
            access,
            call,
            packed=(*raws, *arrays, *(k for k in range(nin) if not is_array[k])),
            overlaps=_overlap_pairs(is_raw, is_const, is_array[: len(types)], in_place)
            if copies
            else (),
            has_scratch=has_scratch,
            returns=returns,
            outputs=tuple(range(nin, len(is_raw))),
        )
    )


class _Launcher(NamedTuple):
    """A launcher, and what its plans are made of."""

    key: tuple[type, ...]  # the arguments' types; and the backend's where none is an array's
    is_array: tuple[bool, ...]
    backend: Backend
    overlaps: tuple[tuple[int, int], ...]
    plans: dict[Any, tuple[Any, ...]]
    run: Run
    key_of: Callable[..., Any]
    forget: Callable[[], object]

    def overlapping(
        self, args: Sequence[Any], row: tuple[Any, ...]
    ) -> Iterator[tuple[int, int, int, int]]:
        """Yield the pairs of arrays that overlap in another way than a plan lets pass: where its
        row has the limits of the pair, the arguments' indices, and the difference of addresses.
        """
        limits = range(len(row) - 3 * len(self.overlaps), len(row), 3)
        for at, (k, j) in zip(limits, self.overlaps, strict=True):
            low, high, apart = row[at : at + 3]
            distance = self.backend.describe(args[j])[1] - self.backend.describe(args[k])[1]
            if low < distance < high and distance != apart:
                yield at, k, j, distance


class LoopDispatcher(Dispatcher):
    """The launchers and plans of one definition.

    Parameters
    ----------
    definition : KernelDefinition
    kernel : object
        What was called, for an argument that takes the call over.
    codes : dict, optional
        Where the sources are remembered, if another dispatcher's are to be there, too.
    records : bool
        Whether its launches go to the thread's recorder, and not to the device.

    Attributes
    ----------
    inline_cache : list of callable
        The last launcher by the number of arguments: most calls are equal. A launcher is called
        as ``run(*arguments, stream=None, options=None)`` and finds another where it does not fit.
    codes : dict
        What makes the first source of each combination of dtypes.
    """

    def __init__(
        self,
        definition: KernelDefinition,
        kernel: object = None,
        codes: dict[tuple[np.dtype[Any], ...], Callable[[], str]] | None = None,
        records: bool = False,
    ) -> None:
        self.codes = {} if codes is None else codes
        super().__init__(definition, kernel, self.codes, records=records)
        self._definition = definition
        self._kernel = kernel
        self._nin = len(definition.signature.inputs)
        self._nargs = len(definition.signature.parameters)
        self._kept = KeptLaunches(definition)
        self._held = 0  # bytes of scratch memory in the plans' argument buffers
        self.inline_cache: list[Run] = [
            functools.partial(self._first, count) for count in range(self._nargs + 1)
        ]

    def _first(self, count: int, *args: Any) -> Any:
        """Stand for a launcher of so many arguments before there is one."""
        given = args[:count]
        override = dispatch.override_of(given, self._definition.override_method)
        if override is not None:
            return override(self._kernel, *given)
        arranged = dispatch.arrange(self._definition.name, self._definition.signature, given, {})
        stream, options = (*args[count:], None, None)[:2]
        return self.dispatch(arranged, stream, options)

    def dispatch(
        self,
        args: tuple[Any, ...],
        stream: int | None,
        options: Any,
        backend: BackendName | None = None,
    ) -> Any:
        """Launch by the launcher for these types, which is made if there is none."""
        launcher = self._launchers.get(tuple(map(type, args)))
        if launcher is not None and not is_outdated(launcher.run):
            self.inline_cache[len(args)] = launcher.run
            return launcher.run(*args, stream, options)
        override = dispatch.override_of(args, self._definition.override_method)
        if override is not None:
            return override(self._kernel, *args)
        values, own, adoption = dispatch.import_arrays(self._definition.signature, args, backend)
        launcher = self._launcher_for(values, self._launching(own))

        def run(handle: int | None) -> Any:
            if launcher.plans:
                return launcher.run(*values, handle, options)
            return self._launch(launcher.key, values, handle, options)

        return launched(adoption, stream, run)

    def recordable(
        self,
        args: tuple[Any, ...],
        options: Any,
        backend: BackendName | None,
        options_of_results: Any,
    ) -> Recordable:
        """A call that can be made again; with `options_of_results` for the results behind it."""
        recording, count = self.recording, len(args)

        def run(values: tuple[Any, ...]) -> Any:
            own = options if len(values) == count else options_of_results
            return recording.dispatch(values, None, own, backend)

        signature = self._definition.signature
        names = tuple(parameter.name.removeprefix("_kt_") for parameter in signature.parameters)
        as_numbers = foreign_arrays.host_scalars_as_numbers
        return Recordable(self._definition.name, names, args, self._nin, run, as_numbers)

    def _launch(
        self,
        launcher_key: tuple[type, ...],
        args: tuple[Any, ...],
        stream: int | None,
        options: Any,
    ) -> Any:
        """Launch by a plan, which is made if there is none, and with copies of inputs that are not
        aligned or that an output overlaps: the result is as if all inputs were read before
        anything is written.
        """
        launcher: _Launcher = self._launchers[launcher_key]
        key = launcher.key_of(args, options)
        row = launcher.plans.get(key)
        if row is None:
            resolved = self._resolved(launcher, args, options)
            values = self._aligned(args, launcher.backend, resolved, stream)
            if values is not args:
                return self._launch(launcher_key, values, stream, options)
            plan = self._plan(launcher, resolved, options)
            if launcher.backend.loop_call.scratch_for is None:
                self._held += plan.scratch
            if self._held > _MOST_HELD:
                for other in list(self._launchers.values()):
                    other.plans.clear()
                    other.forget()
                self._held = 0
            row = launcher.plans[key] = plan.row()
        if any(launcher.is_array):  # other types do not tell the backend
            self.inline_cache[len(args)] = launcher.run
        self._check_outputs(launcher, key, row, args)
        return launcher.run(*self._apart(launcher, args, row, stream), stream, options)

    # -- plans ------------------------------------------------------------------------------

    def _launcher_for(self, args: tuple[Any, ...], backend: Backend) -> _Launcher:
        types = tuple(map(type, args))
        is_array = tuple(issubclass(kind, backend.array_type) for kind in types)
        key = types if any(is_array) else (*types, type(backend))

        def make(_: Any) -> _Launcher:
            plans: BoundedTable[Any, tuple[Any, ...]] = BoundedTable(MAX_PLANS)
            # Graphs launch what was recorded with other arrays, too, which no plan has seen.
            copies = self._records or getattr(self._kernel, "copies_overlapping", True)
            template = loop_launcher(self._definition, types, backend, copies)
            bound = template.bind(self.dispatch, plans, functools.partial(self._launch, key))
            return _Launcher(key, is_array, backend, template.spec.overlaps, plans, *bound)

        found: _Launcher = self._launcher(key, make)
        return found

    def _resolved(self, launcher: _Launcher, args: tuple[Any, ...], options: Any) -> Resolved:
        backend, specs = launcher.backend, []
        parameters = self._definition.signature.parameters
        for argument, is_array, parameter in zip(args, launcher.is_array, parameters, strict=False):
            if is_array:
                backend.check_usable(argument, parameter.name, not parameter.is_const)
            specs.append(backend.describe(argument)[0] if is_array else None)
        inputs = zip(args[: self._nin], launcher.is_array, strict=False)
        values = tuple(value if is_array else as_number(value) for value, is_array in inputs)
        return self._definition.resolve(specs, values, options)

    def _aligned(
        self, args: tuple[Any, ...], backend: Backend, resolved: Resolved, stream: int | None
    ) -> tuple[Any, ...]:
        """Copy inputs that the body reads by references, if they are not aligned for that.

        Returns `args` itself where nothing was to be copied.
        """
        definition = self._definition
        unaligned = [
            index
            for index, spec in enumerate(resolved.specs[: len(args)])
            if spec is not None and not is_aligned(spec, backend.capabilities)
        ]
        if not unaligned:  # most have none, and what a body reads is lexed when it is asked for
            return args
        by_reference = definition.by_reference(resolved)
        copies = {}
        for index in unaligned:
            if not by_reference[index]:
                continue
            parameter, spec = definition.signature.parameters[index], resolved.specs[index]
            assert spec is not None
            if not parameter.is_const:
                raise ArgumentValueError(
                    render_message(
                        f"The array for {'raw ' if parameter.raw else ''}parameter "
                        f"'{parameter.name}' is written by references, but its elements are not at "
                        f"multiples of {alignment_on(backend.capabilities, spec.dtype)} bytes.",
                        definition.signature.snippet(index),
                        hint="pass a copy.",
                    )
                )
            copies[index] = self._copied(backend, args[index], stream)
        return _replaced(args, copies)

    def _copied(self, backend: Backend, array: Any, stream: int | None) -> Any:
        return copy_for_launch(backend, array, stream, records=self._records)

    def _check_outputs(
        self, launcher: _Launcher, key: Any, row: tuple[Any, ...], args: tuple[Any, ...]
    ) -> None:
        """Raise where two outputs share memory. Where they lie in each other's gaps, the plan
        learns that they do not at this distance.
        """
        signature, describe = self._definition.signature, launcher.backend.describe
        for at, k, j, distance in launcher.overlapping(args, row):
            if signature.parameters[k].is_const:
                continue
            if share_memory(describe(args[k])[0], describe(args[j])[0], distance):
                raise shared_outputs(signature, k, j)
            row = (*row[: at + 2], distance, *row[at + 3 :])
            launcher.plans[key] = row
            launcher.forget()

    def _apart(
        self, launcher: _Launcher, args: tuple[Any, ...], row: tuple[Any, ...], stream: int | None
    ) -> tuple[Any, ...]:
        """Copy the inputs that an output overlaps, as the launcher's plan tells."""
        parameters, copies = self._definition.signature.parameters, {}
        for _, k, _, _ in launcher.overlapping(args, row):
            if parameters[k].is_const and k not in copies:
                copies[k] = self._copied(launcher.backend, args[k], stream)
        return _replaced(args, copies)

    def _limits(self, resolved: Resolved, k: int, j: int) -> tuple[int, int, int]:
        """The limits of a plan for two arrays. Atomic operations may be on one from two outputs."""
        definition, is_output = self._definition, k >= self._nin
        if not definition.signature.parameters[k].is_const and definition.has_atomics:
            return 0, 0, 0
        in_place = definition.in_place and not is_output
        return overlap_limits(resolved.specs[k], resolved.specs[j], resolved.shape, in_place)

    def _plan(self, launcher: _Launcher, resolved: Resolved, options: Any) -> Plan:
        definition, backend = self._definition, launcher.backend
        outputs = resolved.binding.dtypes[self._nin :]
        limits = tuple(self._limits(resolved, k, j) for k, j in launcher.overlaps)
        found = self._kept.find(resolved, backend, options) or self._made(
            resolved, backend, options
        )
        if found is None:
            pairs = zip(definition.signature.parameters, resolved.specs, strict=True)
            raws = sum(parameter.raw and spec is not None for parameter, spec in pairs)
            check = functools.partial(
                _convert_scalars, self._scalars(resolved.binding, launcher.is_array)
            )
            return Plan(
                None, 0, 0, 0, check, check, _no_buffer, [], resolved.out_shape, resolved.order, 0,
                outputs, ((),) * raws, limits,
            )  # fmt: skip
        launch, function = found
        dtypes = tuple(spec.dtype for spec in resolved.specs if spec is not None)
        source = functools.partial(self._source, resolved, backend, options)
        self.codes.setdefault(dtypes, source)
        if isinstance(definition, WaitingDefinition):
            backend.allow_shared(function, definition.shared)
        pack = Struct(launch.dynamic).pack_into
        pack_checked = self._checked_pack(pack, resolved.binding, launcher.is_array)
        simple = all(
            is_array or _packs_equal(kind, dtype)
            for is_array, kind, dtype in zip(
                launcher.is_array, launcher.key, resolved.binding.dtypes, strict=False
            )
        )
        behind = launch.scratch if backend.loop_call.scratch_for is None else 0
        return Plan(
            function.handle,
            launch.grid,
            launch.chunk,
            launch.block,
            pack if simple else pack_checked,
            pack_checked,
            functools.partial(
                backend.make_buffer,
                launch.size + behind,
                launch.constant_offset,
                bytes.fromhex(launch.constants),
            ),
            [],
            resolved.out_shape,
            resolved.order,
            launch.scratch,
            outputs,
            launch.raw_geometry,
            limits,
        )

    def _geometry(
        self, resolved: Resolved, backend: Backend, options: Any
    ) -> LaunchGeometry | None:
        return self._definition.schedule(
            resolved, backend.capabilities, backend.multiprocessors(), options
        )

    def _source(self, resolved: Resolved, backend: Backend, options: Any) -> str:
        """The source of a call's unit, which is not made before somebody asks for it."""
        geometry = self._geometry(resolved, backend, options)
        assert geometry is not None
        return translation_unit_of(geometry.specialization).source

    def _made(
        self, resolved: Resolved, backend: Backend, options: Any
    ) -> tuple[Launch, Function] | None:
        """A call's launch, scheduled and compiled; None where nothing is to be computed."""
        geometry = self._geometry(resolved, backend, options)
        if geometry is None:
            return None
        own = geometry.specialization
        key = template_input(own).digest(), own.fast_compile, backend.name, backend.device_key()
        function, launch = self.kernels.get(key), Launch.of(geometry)
        if function is None:
            unit = translation_unit_of(own)
            function, trace = pipeline.traced_function(unit, backend)
            if trace is not None:  # other shapes of a unit are scheduled sooner than stored
                self._kept.keep(resolved, backend, options, launch, unit, trace)
            self.kernels[key] = function
        return launch, function

    def _scalars(
        self, binding: Binding, is_array: Sequence[bool]
    ) -> list[tuple[np.dtype[Any], Snippet]]:
        """The dtype and the location of every input that is a number."""
        signature = self._definition.signature
        return [
            (binding.dtypes[index], signature.snippet(index))
            for index in range(self._nin)
            if not is_array[index]
        ]

    def _checked_pack(
        self, pack: Callable[..., object], binding: Binding, is_array: Sequence[bool]
    ) -> Callable[..., None]:
        """A function that converts the scalars, the last values, before it packs."""
        scalars = self._scalars(binding, is_array)

        def pack_checked(buffer: Any, offset: int, *values: Any) -> None:
            first = len(values) - len(scalars)
            pack(buffer, offset, *values[:first], *_convert_scalars(scalars, *values[first:]))

        return pack_checked


@functools.cache
def _copier() -> LoopDispatcher:
    signature = parse_signature("T x", "T y")
    return LoopDispatcher(ElementwiseDefinition(signature, "copy", "", (), "y = x"))


def copy_for_launch(backend: Backend, array: Any, stream: int | None, *, records: bool) -> Any:
    """A copy of an array for one launch on a stream. A recorded one is made again at each launch of
    the graph.
    """
    if records:
        return _copier().recording.dispatch((array,), None, None)
    with backend.stream_context(stream):
        copy = copy_array(array)
        backend.retain(copy, stream)
    return copy


def copy_array(array: Any) -> Any:
    """Return a copy of an array of a backend's own.

    Unlike CuPy's copy, this takes elements at odd addresses.
    """
    return _copier().inline_cache[1](array)


def _replaced(args: tuple[Any, ...], values: dict[int, Any]) -> tuple[Any, ...]:
    """The arguments with some of them replaced; `args` itself where there are none."""
    return tuple(values.get(k, own) for k, own in enumerate(args)) if values else args


def _packs_equal(kind: type, dtype: np.dtype[Any]) -> bool:
    """Return whether ``struct`` packs numbers of type `kind` as `convert_scalar` does, or refuses.

    It would drop the imaginary part of NumPy's complex numbers.
    """
    info = describe(dtype)
    return (
        len(info.format) == 1
        and not info.as_bits
        and not issubclass(kind, complex | np.complexfloating)
    )


def _convert_scalars(
    scalars: Sequence[tuple[np.dtype[Any], Snippet]], *values: Any
) -> list[object]:
    """Return numbers as what ``struct`` packs; raises for one that its parameter cannot hold."""
    return [
        part
        for value, (dtype, location) in zip(values, scalars, strict=True)
        for part in convert_scalar(value, dtype, location)
    ]


def _no_buffer() -> None:
    """Make no buffer: a loop without elements has no arguments."""

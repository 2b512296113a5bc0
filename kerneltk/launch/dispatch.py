"""From a call's arguments to a launch: one dispatcher for each kernel from expressions.

The first call of a combination of argument types writes a launcher (`plan`); the first call of a
combination of dtypes, shapes and strides makes a plan. After that a call is the launcher alone.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from struct import Struct
from typing import Any, NamedTuple

import numpy as np

from kerneltk import pipeline
from kerneltk.backends.base import Backend, Function
from kerneltk.codegen.definition import KernelDefinition
from kerneltk.codegen.elementwise import WaitingDefinition
from kerneltk.codegen.render import translation_unit_of
from kerneltk.codegen.specialization import LaunchGeometry
from kerneltk.core.artifacts import BackendName
from kerneltk.core.dtypes import alignment_on, describe
from kerneltk.errors import ArgumentValueError, Snippet, render_message
from kerneltk.interop.texture_objects import as_number
from kerneltk.launch import call_arguments
from kerneltk.launch.kept import KeptLaunches, Launch
from kerneltk.launch.launchers import is_outdated
from kerneltk.launch.plan import Plan, loop_launcher
from kerneltk.signature.parser import parse_signature
from kerneltk.signature.resolve import Resolved, is_aligned, overlap_limits
from kerneltk.signature.type_binding import Binding, convert_scalar

Run = Callable[..., Any]

MAX_PLANS = 4096
"""Plans that one launcher keeps; past that it forgets them all, which costs time, not results."""

_MOST_HELD = 64 << 20
"""Bytes of scratch memory that the plans of one kernel keep; past that it forgets them all."""


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


class Dispatcher:
    """The launchers and plans of one definition.

    Parameters
    ----------
    definition : KernelDefinition
    kernel : object
        What an argument that takes the call over is told it was.
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
        self._definition = definition
        self._kernel = kernel
        self._records = records
        self._nin = len(definition.signature.inputs)
        self._nargs = len(definition.signature.parameters)
        self._launchers: dict[tuple[type, ...], _Launcher] = {}
        self.codes = {} if codes is None else codes
        self._kept = KeptLaunches(definition)
        self._held = 0  # bytes of scratch memory in the plans' argument buffers
        self.inline_cache: list[Run] = [
            functools.partial(self._first, count) for count in range(self._nargs + 1)
        ]

    @functools.cached_property
    def recording(self) -> Dispatcher:
        """A dispatcher of the same kernel for calls that are recorded."""
        return Dispatcher(self._definition, self._kernel, self.codes, records=True)

    def _first(self, count: int, *args: Any) -> Any:
        """Stand for a launcher of so many arguments before there is one."""
        given = args[:count]
        override = call_arguments.override_of(given, self._definition.override_method)
        if override is not None:
            return override(self._kernel, *given)
        arranged = call_arguments.arrange(
            self._definition.name, self._definition.signature, given, {}
        )
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
        override = call_arguments.override_of(args, self._definition.override_method)
        if override is not None:
            return override(self._kernel, *args)
        values, own, adoption = call_arguments.import_arrays(
            self._definition.signature, args, backend
        )
        if self._records:
            from kerneltk.launch.recording import (
                recording_backend,  # who records nothing needs none
            )

            own = recording_backend(own)
        launcher = self._launcher(values, own)
        with adoption.launching(stream) as handle:
            if launcher.plans:
                result = launcher.run(*values, handle, options)
            else:
                result = self._launch(launcher.key, values, handle, options)
            return adoption.give_back(result)

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
        launcher = self._launchers[launcher_key]
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
            if len(launcher.plans) >= MAX_PLANS or self._held > _MOST_HELD:
                for other in list(self._launchers.values()):
                    other.plans.clear()
                    other.forget()
                self._held = 0
            row = launcher.plans[key] = plan.row()
        if any(launcher.is_array):  # other types do not tell the backend
            self.inline_cache[len(args)] = launcher.run
        return launcher.run(*self._apart(launcher, args, row, stream), stream, options)

    # -- plans ------------------------------------------------------------------------------

    def _launcher(self, args: tuple[Any, ...], backend: Backend) -> _Launcher:
        types = tuple(map(type, args))
        is_array = tuple(issubclass(kind, backend.array_type) for kind in types)
        key = types if any(is_array) else (*types, type(backend))
        launcher = self._launchers.get(key)
        if launcher is not None and not is_outdated(launcher.run):
            return launcher
        definition = self._definition
        plans: dict[Any, tuple[Any, ...]] = {}
        unplanned = functools.partial(self._launch, key)
        template = loop_launcher(definition, types, backend)
        bound = template.bind(self.dispatch, plans, unplanned)
        launcher = _Launcher(key, is_array, backend, template.spec.overlaps, plans, *bound)
        self._launchers[key] = launcher
        return launcher

    def _resolved(self, launcher: _Launcher, args: tuple[Any, ...], options: Any) -> Resolved:
        backend, specs = launcher.backend, []
        parameters = self._definition.signature.parameters
        for argument, is_array, parameter in zip(args, launcher.is_array, parameters, strict=False):
            if is_array:
                backend.check_usable(argument, parameter.name, not parameter.is_const)
            specs.append(backend.describe(argument)[0] if is_array else None)
        values = tuple(map(as_number, args[: self._nin]))
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

    def _apart(
        self, launcher: _Launcher, args: tuple[Any, ...], row: tuple[Any, ...], stream: int | None
    ) -> tuple[Any, ...]:
        """Copy the inputs that an output overlaps, as the launcher's plan tells."""
        backend, pairs, copies = launcher.backend, launcher.overlaps, {}
        limits = iter(row[len(row) - 3 * len(pairs) :])
        for (k, j), low, high, same in zip(pairs, limits, limits, limits, strict=False):
            distance = backend.describe(args[j])[1] - backend.describe(args[k])[1]
            if k not in copies and low < distance < high and (same or distance):
                copies[k] = self._copied(backend, args[k], stream)
        return _replaced(args, copies)

    def _plan(self, launcher: _Launcher, resolved: Resolved, options: Any) -> Plan:
        definition, backend = self._definition, launcher.backend
        outputs = resolved.binding.dtypes[self._nin :]
        limits = tuple(
            overlap_limits(
                resolved.specs[k], resolved.specs[j], resolved.shape, definition.in_place
            )
            for k, j in launcher.overlaps
        )
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
                launch.constants,
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
        unit = translation_unit_of(geometry.specialization)
        function, trace = pipeline.traced_function(unit, backend)
        launch = Launch.of(geometry)
        if trace is not None:  # other shapes of a unit are scheduled sooner than they are kept
            self._kept.keep(resolved, backend, options, launch, unit, trace)
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
def _copier() -> Dispatcher:
    from kerneltk.codegen.elementwise import ElementwiseDefinition  # a reduction may need none

    signature = parse_signature("T x", "T y")
    return Dispatcher(ElementwiseDefinition(signature, "copy", "", (), "y = x"))


def copy_for_launch(backend: Backend, array: Any, stream: int | None, *, records: bool) -> Any:
    """A copy of an array for a launch on a stream, after which nobody needs it. It is made as
    launches are: a recorded one is made at each launch of the graph.
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

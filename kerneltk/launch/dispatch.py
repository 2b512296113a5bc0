"""From a call's arguments to a launch: one dispatcher for each kernel from expressions.

The first call of a combination of argument types writes a launcher (`plan`); the first call of a
combination of dtypes, shapes and strides makes a plan. After that a call is the launcher alone.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from kerneltk import pipeline
from kerneltk.backends.base import Backend
from kerneltk.codegen.definition import KernelDefinition
from kerneltk.codegen.elementwise import ElementwiseDefinition
from kerneltk.codegen.render import translation_unit_of
from kerneltk.codegen.specialization import Specialization
from kerneltk.core.arrays import ArraySpec, byte_extent
from kerneltk.core.artifacts import BackendName, TranslationUnit
from kerneltk.core.dtypes import alignment_on, describe
from kerneltk.errors import ArgumentValueError, NotCompiledError, Snippet, render_message
from kerneltk.launch import call_arguments
from kerneltk.launch.launcher_spec import SlowPaths
from kerneltk.launch.plan import MAX_PLANS, Pattern, Plan, make_launcher, overlap_pairs
from kerneltk.signature.parser import parse_signature
from kerneltk.signature.resolve import Resolved, is_aligned, overlap_limits
from kerneltk.signature.type_binding import Binding, convert_scalar

__all__ = ["Dispatcher", "copy_array"]

Run = Callable[..., Any]


class Dispatcher:
    """The launchers and plans of one definition.

    Parameters
    ----------
    definition : KernelDefinition
    kernel : object
        What an argument that takes the call over is told it was.
    codes : dict, optional
        Where the sources are remembered, if another dispatcher's are to be there, too.

    Attributes
    ----------
    inline_cache : list of callable
        The last launcher by the number of arguments: most calls are equal. A launcher is called
        as ``run(*arguments, stream=None, options=None)`` and finds another where it does not fit.
    codes : dict
        The first source of each combination of dtypes.
    """

    def __init__(
        self,
        definition: KernelDefinition,
        kernel: object = None,
        codes: dict[tuple[np.dtype[Any], ...], str] | None = None,
    ) -> None:
        self._definition = definition
        self._kernel = kernel
        self._nin = len(definition.signature.inputs)
        self._nargs = len(definition.signature.parameters)
        self._launchers: dict[tuple[type, ...], Run] = {}
        self.codes = {} if codes is None else codes
        self._plans: list[dict[Any, tuple[Any, ...]]] = []
        self._held = 0  # bytes of scratch memory in the plans' argument buffers
        self.inline_cache: list[Run] = [
            functools.partial(self._first, count) for count in range(self._nargs + 1)
        ]

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
        run = self._launchers.get(tuple(map(type, args)))
        if run is not None:
            self.inline_cache[len(args)] = run
            return run(*args, stream, options)
        override = call_arguments.override_of(args, self._definition.override_method)
        if override is not None:
            return override(self._kernel, *args)
        adopted = call_arguments.adopt(self._definition.signature, args, backend)
        run = self._launcher(adopted.values, adopted.backend)
        with adopted.adoption.launching(stream) as handle:
            return adopted.adoption.give_back(run(*adopted.values, handle, options))

    # -- plans ------------------------------------------------------------------------------

    def _pattern(self, args: Sequence[Any], backend: Backend) -> Pattern:
        parameters = self._definition.signature.parameters
        nout = self._nargs - self._nin
        return Pattern(
            tuple(isinstance(argument, backend.array_type) for argument in args),
            tuple(parameter.raw for parameter in parameters),
            tuple(not parameter.is_const for parameter in parameters),
            self._nin,
            nout,
            len(args) == self._nargs and nout > 0,
            self._definition.returns,
            self._definition.has_scratch,
            self._definition.in_place,
        )

    def _launcher(self, args: tuple[Any, ...], backend: Backend) -> Run:
        types = tuple(map(type, args))
        pattern = self._pattern(args, backend)
        # Types tell the backend only if there is an array among them.
        key = types if any(pattern.arrays) else (*types, type(backend))
        run = self._launchers.get(key)
        if run is not None:
            return run
        if len(args) not in (self._nin, self._nargs):
            raise call_arguments.wrong_number(
                self._definition.name, self._definition.signature, len(args)
            )
        plans: dict[Any, tuple[Any, ...]] = {}
        self._plans.append(plans)
        cache_miss = functools.partial(self._cache_miss, pattern, backend, plans, types)
        overlapped = functools.partial(self._overlapped, pattern, backend)
        slow = SlowPaths(self.dispatch, cache_miss, overlapped)
        run = make_launcher(pattern, backend, plans, types, slow)
        self._launchers[key] = run
        return run

    def _cache_miss(
        self,
        pattern: Pattern,
        backend: Backend,
        plans: dict[Any, tuple[Any, ...]],
        types: tuple[type, ...],
        run: Run,
        args: tuple[Any, ...],
        stream: int | None,
        options: Any,
        key: Any,
    ) -> Any:
        """Make the plan for these arguments, then launch by it."""
        for index, is_array in enumerate(pattern.arrays):
            if is_array:
                parameter = self._definition.signature.parameters[index]
                backend.check_usable(args[index], parameter.name, not parameter.is_const)
        specs = [
            backend.describe(argument)[0] if is_array else None
            for argument, is_array in zip(args, pattern.arrays, strict=True)
        ]
        resolved = self._definition.resolve(specs, args[: self._nin], options)
        aligned = self._aligned(args, backend, resolved, stream)
        if aligned is not args:
            return run(*aligned, stream, options)
        plan = self._plan(pattern, backend, resolved, types, options)
        if backend.loop_call.scratch_for is None:
            self._held += plan.scratch
        if len(plans) >= MAX_PLANS or self._held > _MOST_HELD:
            for others in self._plans:
                others.clear()
            self._held = 0
        plans[key] = plan.row()
        return run(*args, stream, options)

    def _overlapped(
        self,
        pattern: Pattern,
        backend: Backend,
        run: Run,
        args: tuple[Any, ...],
        stream: int | None,
        options: Any,
    ) -> Any:
        """Copy the inputs that an output overlaps, then launch: the result is as if all inputs
        were read before anything is written.
        """
        extents = []
        for argument, is_array in zip(args, pattern.arrays, strict=True):
            if not is_array:
                extents.append((0, 0))
                continue
            spec, address = backend.describe(argument)
            low, high = byte_extent(spec.shape, spec.strides, spec.dtype.itemsize)
            extents.append((address + low, address + high))
        values = list(args)
        for k, j in overlap_pairs(pattern):
            if extents[k][0] < extents[j][1] and extents[j][0] < extents[k][1]:
                with backend.stream_context(stream):
                    values[k] = copy_array(args[k])
        return run(*values, stream, options)

    def _aligned(
        self, args: tuple[Any, ...], backend: Backend, resolved: Resolved, stream: int | None
    ) -> tuple[Any, ...]:
        """Copy inputs that the body reads by references, if they are not aligned for that.

        Returns `args` itself where nothing was to be copied.
        """
        definition = self._definition
        by_reference = definition.by_reference(resolved)
        result = list(args)
        copied = False
        for index, spec in enumerate(resolved.specs[: len(args)]):
            parameter = definition.signature.parameters[index]
            if spec is None or not by_reference[index] or is_aligned(spec, backend.capabilities):
                continue
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
            with backend.stream_context(stream):
                result[index] = copy_array(args[index])
            copied = True
        return tuple(result) if copied else args

    def _plan(
        self,
        pattern: Pattern,
        backend: Backend,
        resolved: Resolved,
        types: tuple[type, ...],
        options: Any,
    ) -> Plan:
        geometry = self._definition.schedule(
            resolved, backend.capabilities, backend.multiprocessors(), options
        )
        outputs = resolved.binding.dtypes[self._nin :]
        limits = tuple(
            overlap_limits(
                resolved.specs[k], resolved.specs[j], resolved.shape, self._definition.in_place
            )
            for k, j in overlap_pairs(pattern)
        )
        if geometry is None:
            raws = sum(
                parameter.raw and spec is not None
                for parameter, spec in zip(
                    self._definition.signature.parameters, resolved.specs, strict=True
                )
            )
            check = functools.partial(
                _convert_scalars, self._scalars(resolved.binding, pattern.arrays)
            )
            return Plan(
                None, 0, 0, 0, check, check, _no_buffer, resolved.out_shape, outputs,
                resolved.order, ((),) * raws, limits,
            )  # fmt: skip
        specialization = geometry.specialization
        unit = translation_unit_of(specialization)
        self._remember_code(resolved.specs, unit)
        function = pipeline.get_function(unit, backend)
        block = specialization.arguments
        pack_checked = self._checked_pack(specialization)
        simple = all(
            is_array or _packs_equal(kind, dtype)
            for is_array, kind, dtype in zip(
                pattern.arrays, types, resolved.binding.dtypes, strict=False
            )
        )
        behind = geometry.scratch if backend.loop_call.scratch_for is None else 0
        return Plan(
            function.handle,
            geometry.grid,
            -geometry.chunk_size if geometry.may_last else geometry.chunk_size,
            specialization.block,
            block.dynamic.pack_into if simple else pack_checked,
            pack_checked,
            functools.partial(
                backend.make_buffer, block.size + behind, block.constant_offset, geometry.constants
            ),
            resolved.out_shape,
            outputs,
            resolved.order,
            geometry.raw_geometry,
            limits,
            geometry.scratch,
        )

    def _scalars(
        self, binding: Binding, is_array: Sequence[bool]
    ) -> list[tuple[np.dtype[Any], Snippet]]:
        """Return the dtype and the location of every input that is a number."""
        signature = self._definition.signature
        return [
            (binding.dtypes[index], signature.snippet(index))
            for index in range(self._nin)
            if not is_array[index]
        ]

    def _checked_pack(self, specialization: Specialization) -> Callable[..., None]:
        """Return a function that converts the scalars, the last values, before it packs."""
        scalars = self._scalars(specialization.binding, specialization.is_array)
        pack = specialization.arguments.dynamic.pack_into

        def pack_checked(buffer: Any, offset: int, *values: Any) -> None:
            first = len(values) - len(scalars)
            pack(buffer, offset, *values[:first], *_convert_scalars(scalars, *values[first:]))

        return pack_checked

    # -- what was made ------------------------------------------------------------------------

    def _remember_code(self, specs: Sequence[ArraySpec | None], unit: TranslationUnit) -> None:
        key = tuple(spec.dtype for spec in specs if spec is not None)
        self.codes.setdefault(key, unit.source)

    @property
    def cached_codes(self) -> dict[tuple[np.dtype[Any], ...], str]:
        """The generated sources by the dtypes of the array arguments."""
        if not self.codes:
            warnings.warn(
                "No codes are cached because nothing is compiled before the first call.",
                stacklevel=3,
            )
        return dict(self.codes)

    @property
    def cached_code(self) -> str:
        """The first generated source."""
        codes = self.codes
        if not codes:
            raise NotCompiledError(
                f"Kernel '{self._definition.name}' has not been called.\n"
                "  Hint: 'translation_unit(...)' renders the text without a call."
            )
        if len(codes) > 1:
            warnings.warn("Several texts are cached; 'cached_codes' has them all.", stacklevel=3)
        return next(iter(codes.values()))


@functools.cache
def _copier() -> Dispatcher:
    signature = parse_signature("T x", "T y")
    return Dispatcher(ElementwiseDefinition(signature, "copy", "", (), "y = x"))


def copy_array(array: Any) -> Any:
    """Return a copy of an array of a backend's own.

    Unlike CuPy's copy, this takes elements at odd addresses.
    """
    return _copier().inline_cache[1](array)


_MOST_HELD = 64 << 20
"""Bytes of scratch memory that the plans of one kernel keep; past that it forgets them all."""


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

"""Reductions; a call's types and layouts -> what its source and launch depend on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal, NamedTuple

import numpy as np

from kerneltk.codegen.accumulator import MOST_BYTES, Accumulator, HeldTotal, held_total
from kerneltk.codegen.argument_block import (
    ArgumentBlock,
    Field,
    build_block,
    divisor_field,
    divisor_numbers,
)
from kerneltk.codegen.definition import KernelDefinition
from kerneltk.codegen.specialization import (
    LaunchGeometry,
    RawView,
    Specialization,
    common_parts,
    ended,
)
from kerneltk.core.arrays import ArraySpec, broadcast_strides, c_strides
from kerneltk.core.artifacts import COUNTERS, Capabilities
from kerneltk.core.dtypes import alignment_on
from kerneltk.core.lexer import blanked
from kerneltk.core.records import cached_property, record
from kerneltk.errors import ArgumentTypeError, Snippet, render_message
from kerneltk.schedule.elementwise import Operand
from kerneltk.schedule.reduction import (
    STRIP_BYTES,
    Geometry,
    ReductionSchedule,
    merged_index_shape,
)
from kerneltk.signature.resolve import (
    Binding,
    Resolved,
    convert_scalar,
    normalize_axes,
    resolve_reduction,
)

_Options = tuple[Any, bool, int | None] | None
_EFFECTS = frozenset({"assert", "printf", "__trap"})
_Space = tuple[tuple[int, ...], tuple[tuple[int, ...], ...]]


@record(slots=False)
class ReductionDefinition(KernelDefinition):
    """What the user wrote: a reduction before any types.

    Parameters
    ----------
    signature, name, preamble, options : see `KernelDefinition`
    map_expr, reduce_expr, post_map_expr : str
        C++ source.
    identity : str
        C++ source; empty if there is none.
    accumulator : Accumulator
    reduce_dims : bool
    mask : bool
        Whether the last input, a mask, says which elements count.
    identity_number : int, float, complex or None
        The identity, if it was given as a number.
    extreme : int
        1 (-1) if a total is the largest (least) element, ``t0``, and its place, the lowest of
        equal ones, and nothing else;
        2 (-2) if more is to do for an element than to load it.
    """

    map_expr: str
    reduce_expr: str
    post_map_expr: str
    identity: str
    accumulator: Accumulator
    reduce_dims: bool = True
    mask: bool = False
    identity_number: complex | None = None
    extreme: int = 0

    has_scratch = True
    expression_paths = (
        *((name, name) for name in ("map_expr", "reduce_expr", "post_map_expr", "identity")),
        ("reduce_type", "accumulator.text"),
    )
    assigning = 2
    implicit = ("_j",)
    addressable = False

    @property
    def in_place(self) -> bool:
        """Whether an output may be an input: never, as others may still read it."""
        return False

    @property
    def returns(self) -> Literal["none", "one", "tuple"]:
        """What a call returns."""
        return "one" if len(self.signature.outputs) == 1 else "tuple"

    @property
    def is_batchable(self) -> bool:
        """Whether a call with stacked arguments gives the stacked results."""
        raw = any(p.raw or self.views(p) for p in self.signature.parameters)
        return not (raw or self.uses_output_number or self.facts.opaque)

    def resolve(
        self, specs: Sequence[ArraySpec | None], values: Sequence[Any], options: _Options
    ) -> Resolved:
        """Bind types and shapes; options are the axis, whether to keep it, and the size."""
        axis, keepdims, size = options or (None, False, None)
        resolved = resolve_reduction(
            self.name, self.signature, specs, values, axis, keepdims, size, bool(self.identity),
            self.mask,
        )  # fmt: skip
        if self.identity_number is not None:
            output = resolved.binding.dtypes[len(self.signature.inputs)]
            dtype = self.accumulator.dtype(resolved.binding, output)
            if dtype is not None:
                _check_identity(self.identity_number, dtype)
        self.check_written(len(specs))
        return resolved

    def schedule(
        self,
        resolved: Resolved,
        backend: Capabilities,
        multiprocessors: int | None,
        options: _Options,
    ) -> LaunchGeometry | None:
        """Choose the loops of a launch; None where there are no outputs."""
        if 0 in resolved.out_shape:
            return None
        axes = normalize_axes(options[0] if options else None, len(resolved.shape))
        geometry = self._geometry(resolved, backend, axes)
        held = self.held(backend, resolved.binding)
        size = self.accumulator.size(resolved.binding)
        if not (self.identity or held.identity):  # a total says whether there is a value
            size += min(size, 16)
        schedule: ReductionSchedule
        begins: tuple[int, ...] = ()
        # A process that calls kernels on one backend loads its schedules only.
        if backend.walks_chunks:
            from kerneltk.schedule import reduction_cpu

            schedule = reduction_cpu.plan_reduction_host(geometry, size)
        else:
            from kerneltk.schedule import reduction_cuda
            from kerneltk.schedule.reduction import forwards

            # The expressions index arrays that they see by name from the first element on.
            has_views = any(map(self.views, self.signature.parameters))
            walked, begins = (geometry, ()) if has_views else forwards(geometry)
            schedule = reduction_cuda.plan_reduction_cuda(
                walked, size, multiprocessors or reduction_cuda.DEFAULT_MULTIPROCESSORS
            )
        in_shape = self._in_space(geometry)[0] if self.uses_in_index else None
        out_shape = self._out_space(geometry)[0] if self.uses_out_index else None
        for name, shape in (("_in_ind", in_shape), ("_out_ind", out_shape)):
            if shape is not None:
                self.check_coordinates(name, len(shape), self.reduce_dims)
        views = self._views(resolved.specs, geometry)
        elements = geometry.outputs * geometry.length
        specialization = ReductionSpecialization(
            self,
            *common_parts(self, backend, resolved),
            schedule.block,
            tuple((name, RawView.of(array)) for name, array in views),
            schedule,
            None if in_shape is None else len(in_shape),
            None if out_shape is None else len(out_shape),
            geometry.outputs * max(geometry.length, 1) > 2**31 - 1,
            tuple(map(bool, begins)) if any(begins) else (),
        )
        values = [*specialization.constants(geometry), *filter(None, begins)]
        for extents, total in ((in_shape, elements), (out_shape, geometry.outputs)):
            if extents is not None:
                values += [total, *extents, *(0 for _ in extents)]
        for _, array in views:
            values += [array.size, *array.shape, *array.strides]
        constants = specialization.arguments.constant.pack(*values)
        scratch = schedule.scratch(-(-size // 16) * 16)
        return LaunchGeometry.of(
            specialization, resolved, constants, elements, schedule.launch, scratch
        )

    def held(self, backend: Capabilities, binding: Binding) -> HeldTotal:
        """How threads hold totals; on the host, whose loops are vectors, as what they are."""
        if backend.walks_chunks:
            return HeldTotal()
        has_names = bool(self.preamble) or any("-D" in option for option in self.options)
        return held_total(self.accumulator, binding, self.reduce_expr, has_names)

    def _geometry(self, resolved: Resolved, backend: Capabilities, axes: Sequence[int]) -> Geometry:
        shape = resolved.shape
        outer_axes = [axis for axis in range(len(shape)) if axis not in axes]
        outer = tuple(shape[axis] for axis in outer_axes)
        reduction = tuple(shape[axis] for axis in axes)
        operands = []
        for parameter, array in zip(self.signature.parameters, resolved.specs, strict=True):
            if array is None or parameter.raw:
                continue
            if parameter.is_const:
                steps = broadcast_strides(array.shape, array.strides, shape)
                row = (*(steps[k] for k in outer_axes), *(steps[k] for k in axes))
            else:
                row = (*_outer_strides(array, shape, axes), *(0 for _ in axes))
            operands.append(
                Operand(
                    array.dtype.itemsize,
                    row,
                    array.offset,
                    alignment_on(backend, array.dtype),
                    not parameter.is_const,
                )
            )
        if self.uses_number:
            row = (*(0 for _ in outer_axes), *c_strides(reduction, 1))
            operands.append(Operand(1, row, 0, 0))
        if self.uses_output_number:
            operands.append(Operand(1, (*c_strides(outer, 1), *(0 for _ in axes)), 0, 0))
        return Geometry(outer, reduction, tuple(operands))

    def _in_space(self, geometry: Geometry) -> _Space:
        """The index space of the inputs, reduction axes first, and each input's steps in it."""
        count = len(geometry.outer)
        rows = [
            (*o.strides[count:], *o.strides[:count])
            for o in geometry.operands
            if not (o.is_index or o.written)
        ]
        return merged_index_shape((*geometry.reduction, *geometry.outer), rows, self.reduce_dims)

    def _out_space(self, geometry: Geometry) -> _Space:
        """The index space of the outputs, and each output's steps in it."""
        rows = [o.strides[: len(geometry.outer)] for o in geometry.operands if o.written]
        return merged_index_shape(geometry.outer, rows, self.reduce_dims)

    def _views(
        self, arrays: Sequence[ArraySpec | None], geometry: Geometry
    ) -> list[tuple[str, ArraySpec]]:
        """The arrays that the expressions index by ``_raw_`` names, as they are seen."""
        if not any(map(self.views, self.signature.parameters)):
            return []
        (in_shape, in_rows), (out_shape, out_rows) = (
            self._in_space(geometry),
            self._out_space(geometry),
        )
        ins, outs = iter(in_rows), iter(out_rows)
        views: list[tuple[str, ArraySpec]] = []
        for parameter, array in zip(self.signature.parameters, arrays, strict=True):
            if array is None or parameter.raw:
                continue
            own, steps = (in_shape, next(ins)) if parameter.is_const else (out_shape, next(outs))
            if self.views(parameter):
                views.append((parameter.name, replace(array, shape=own, strides=steps)))
        return views

    def by_reference(self, resolved: Resolved) -> tuple[bool, ...]:
        """Whether the body reads the array itself, one a parameter."""
        return tuple(p.raw or self.views(p) for p in self.signature.parameters)

    def _observes(self, *names: str) -> bool:
        return not self.facts.observed.isdisjoint(names)

    @cached_property
    def uses_number(self) -> bool:
        """Whether the expressions read the number of an element within its reduction."""
        return self._observes("_J", "_j", "_in_ind")

    @cached_property
    def uses_output_number(self) -> bool:
        """Whether the expressions read the number of an output."""
        return self._observes("_i", "_j", "_in_ind", "_out_ind")

    @cached_property
    def uses_in_index(self) -> bool:
        """Whether the expressions mention ``_in_ind``."""
        return self._observes("_in_ind")

    @cached_property
    def uses_out_index(self) -> bool:
        """Whether the expressions mention ``_out_ind``."""
        return self._observes("_out_ind")

    @cached_property
    def calls_nothing(self) -> bool:
        """Whether the expressions are operators and names alone."""
        return not self.preamble and not any(
            "(" in text for text in (self.map_expr, self.reduce_expr, self.post_map_expr)
        )

    @cached_property
    def parts(self) -> dict[str, tuple[str, str, str]]:
        """What stands before an expression, the expression, and what stands behind it."""
        has_fields = bool(self.accumulator.fields)
        return {
            name: _parts(getattr(self, name), has_fields)
            for name in ("map_expr", "reduce_expr", "identity")
        }


@record(slots=False)
class ReductionSpecialization(Specialization):
    """Everything that the source of one translation unit depends on.

    Parameters
    ----------
    definition, backend, binding, is_array, raw, block : see `Specialization`
    views : tuple of (str, RawView)
        The arrays that the expressions index by ``_raw_`` names.
    schedule : ReductionSchedule
    in_ndim, out_ndim : int or None
        Dimensions of ``_in_ind`` and ``_out_ind`` where the expressions mention them.
    wide_space : bool
        Whether these need 64-bit numbers.
    moved : tuple of bool
        Of each array whether the loop begins elsewhere than at its first element; empty if none is.
    """

    definition: ReductionDefinition
    views: tuple[tuple[str, RawView], ...]
    schedule: ReductionSchedule
    in_ndim: int | None
    out_ndim: int | None
    wide_space: bool
    moved: tuple[bool, ...]

    template = "reduction"

    @property
    def strategy(self) -> str:
        """The schedule's kind."""
        return self.schedule.strategy

    @cached_property
    def walked(self) -> tuple[str, ...]:
        """The names of everything that has strides: arrays, then the numbers J and i."""
        names = [parameter.name for parameter in self.loop_arrays]
        names += ["_J"] if self.definition.uses_number else []
        names += ["_i"] if self.definition.uses_output_number else []
        return tuple(names)

    @cached_property
    def divisors(self) -> tuple[tuple[str, tuple[int, ...]], ...]:
        """Divisors that take apart the number of an output, and of a vector or an element: the
        innermost first. The outermost dimension is what remains.
        """
        schedule = self.schedule
        if self.backend.walks_chunks:
            return ()
        extents = ("outer", schedule.outer_extents), ("reduction", schedule.reduction_extents)
        return tuple((name, shape[:0:-1]) for name, shape in extents if len(shape) > 1)

    @cached_property
    def held(self) -> HeldTotal:
        """How threads hold totals."""
        return self.definition.held(self.backend, self.binding)

    @property
    def fast_compile(self) -> bool:
        """Where the template has done what a compiler would do: measured, it then is as fast.

        Narrow integers with wide totals are not: widening them is left to the compiler. Nor are
        vectors that begin anywhere, whose bytes it would leave in local memory.
        """
        if any(access.begins_anywhere for access in self.schedule.accesses):
            return False
        size = 4 if self.held.ctype else self.definition.accumulator.size(self.binding)
        widened = any(
            is_array and dtype.itemsize < 4 < size
            for is_array, dtype in zip(self.is_array, self.binding.dtypes, strict=True)
        )
        return self.schedule.strategy != "short" and not widened and self.definition.calls_nothing

    @property
    def _is_filled(self) -> bool:
        """Whether the elements behind a row, which its last vector has, may be mapped as well: they
        are another row's, or zero bytes where the array ends. Totals take an identity for them.
        """
        facts = self.definition.facts
        effects = facts.by_reference or not facts.names.isdisjoint(_EFFECTS)
        is_free = not (self.definition.uses_number or any(self.raw) or self.views or effects)
        return is_free and not self.definition.mask and self._identity is not None

    @property
    def _identity(self) -> tuple[str, str, str] | None:
        """What totals begin with: the user's identity, else one that is known."""
        if self.definition.identity:
            return self.definition.parts["identity"]
        return ("(", self.held.identity, ")") if self.held.identity else None

    @cached_property
    def arguments(self) -> ArgumentBlock:
        """The argument block of the entry point."""
        dynamic = self.dynamic_fields()
        if not self.backend.walks_chunks:
            dynamic.insert(0, Field("char* _kt_scratch", "P"))
        schedule = self.schedule
        outer, reduction = len(schedule.outer.shape), len(schedule.reduction.shape)
        constant = [
            Field("long long _kt_outputs", "q"),
            Field("long long _kt_length", "q"),
            Field("long long _kt_vectors", "q"),
            Field("long long _kt_work", "q"),
            Field("long long _kt_split", "q"),
            Field("long long _kt_chunk", "q"),
            Field(f"long long _kt_outer[{outer}]", "q" * outer),
            Field(f"long long _kt_reduction[{reduction}]", "q" * reduction),
        ]
        for name, divisors in self.divisors:
            constant.append(divisor_field(f"_kt_d_{name}", len(divisors), wide=schedule.wide_index))
        for name in self.walked:
            constant += [
                Field(f"long long _kt_k_{name}[{outer}]", "q" * outer),
                Field(f"long long _kt_r_{name}[{reduction}]", "q" * reduction),
            ]
        constant += [Field(f"long long _kt_o_{name}", "q") for name in self._moved]
        index = "long long" if self.wide_space else "int"
        for name, ndim in (("in", self.in_ndim), ("out", self.out_ndim)):
            if ndim is not None:
                kind = f"kerneltk::index_space<{ndim}, {index}>"
                constant.append(Field(f"{kind} _kt_{name}", "q" * (1 + 2 * ndim)))
        return build_block(dynamic, constant + self.view_fields(self.views))

    @property
    def _moved(self) -> list[str]:
        return [name for name, is_moved in zip(self.walked, self.moved, strict=False) if is_moved]

    @property
    def _is_in_order(self) -> bool:
        """Whether an output's elements are walked in the order of their numbers, ``_J``."""
        steps = dict(zip(self.walked, self.schedule.reduction.strides, strict=True)).get("_J", ())
        return min(steps, default=1) > 0 and list(steps) == sorted(steps, reverse=True)

    def constants(self, geometry: Geometry) -> list[int]:
        """The numbers of the argument block's constant part, but for index spaces and views."""
        schedule = self.schedule
        vectors, work, chunk = schedule.counts
        values = [
            *(geometry.outputs, geometry.length, vectors, work, schedule.split, chunk),
            *schedule.outer.shape,
            *schedule.reduction.shape,
        ]
        for _, divisors in self.divisors:
            values += divisor_numbers(divisors, wide=schedule.wide_index)
        for steps in zip(schedule.outer.strides, schedule.reduction.strides, strict=True):
            values += [*steps[0], *steps[1]]
        return values

    def headers(self) -> set[str]:
        """The package's headers that the kind of loop needs."""
        walks_chunks = self.backend.walks_chunks
        wanted = {"memory.hpp", "host_reduce.hpp" if walks_chunks else "reduce.hpp"}
        if any(self.raw) or self.views or (self.in_ndim, self.out_ndim) != (None, None):
            wanted.add("array_view.hpp")
        if self.divisors:
            wanted.add("divide.hpp")
        return wanted

    def context(self) -> dict[str, Any]:
        """What the reduction templates use beyond what all templates do."""
        definition, schedule = self.definition, self.schedule
        accumulator = definition.accumulator
        arrays = self.arrays(schedule.accesses)
        numbers = {
            name: _Number(name, access.kind)
            for name, access in list(zip(self.walked, schedule.accesses, strict=True))[
                len(arrays) :
            ]
        }
        index = "long long" if schedule.wide_index else "int"
        on_host = self.backend.walks_chunks
        totals = dict.fromkeys("ab", accumulator)
        inputs = [a for a in arrays if a.is_const]
        mask = [a for a in inputs if definition.mask and a.name == "_kt_where"]
        return {
            "accumulator": accumulator.declared(self.binding),
            # The user's own words where they are a type, so that messages show them.
            "accumulator_text": ended(accumulator.text)
            if accumulator.text.strip() == accumulator.ctype
            else "",
            "reduce_type": bool(accumulator.text),
            "fields": accumulator.fields,
            "extreme": definition.extreme if self._is_in_order else 0,
            "most_bytes": MOST_BYTES,
            **{
                name: (before, self.widened(part, totals, is_value=True), behind)
                for name, (before, part, behind) in definition.parts.items()
            },
            "held": self.held.ctype or "_type_reduce",
            "narrowed": ("kerneltk::as_word" if self.held.is_modular else "static_cast")
            + "<_type_reduce>",
            "identity": self._identity,
            "filled": self._is_filled,
            "post_map_expr": ended(self.widened(definition.post_map_expr, totals)),
            "arrays": arrays,
            "moved": self._moved,
            "inputs": inputs,
            "outputs": [a for a in arrays if not a.is_const],
            "mapped": [a for a in inputs if a not in mask],
            "walked": [*arrays, *numbers.values()],
            "walked_inputs": {a.name: a.kind for a in inputs}
            | {name: number.kind for name, number in numbers.items()},
            "masked": definition.mask,
            "mask_is_array": bool(mask),
            "number": numbers.get("_J"),
            "output_number": numbers.get("_i"),
            "uses_out_index": definition.uses_out_index,
            "in_ndim": self.in_ndim,
            "out_ndim": self.out_ndim,
            "views": self.seen(self.views),
            "overwritten": {
                p.name: p.name in definition.facts.overwritten for p in definition.signature.outputs
            },
            # CPUs' loops load inputs as 0 or 1; see `memory.hpp`.
            "settled": [
                a.name
                for a in arrays
                if a.is_bool
                and not (a.is_const and on_host)
                and a.name not in definition.facts.overwritten
            ],
            "on_host": on_host,
            "local_memory": definition.facts.local_memory,
            "inlined": "__attribute__((always_inline)) " if on_host else "",
            "strategy": schedule.strategy,
            # Loops that load single elements have no vectors.
            "width": getattr(schedule, "width", 1),
            "output_vector": getattr(schedule, "output_vector", 1),
            "spread": False,
            "overlapped": False,
            "stacked": False,
            "folded": 1,
            "partial": False,
            "strip_bytes": STRIP_BYTES,
            **{name: getattr(schedule, name) for name in schedule.source_fields()},
            # Vectors of 16 bytes that a thread stages of each input.
            "staged": {a.name: a.chunk for a in inputs if a.kind == "staged"},
            "shared": schedule.split > 1,
            "counters": COUNTERS,
            "outer_ndim": len(schedule.outer.shape),
            "reduction_ndim": len(schedule.reduction.shape),
            "index_type": index,
        }


class _Number(NamedTuple):
    """One of the numbers that expressions read, and how it changes along the inner dimension."""

    name: str
    kind: str


def _parts(text: str, has_fields: bool) -> tuple[str, str, str]:
    """What stands before an expression, the expression, and what stands behind it.

    One in braces makes a ``_type_reduce`` of its members.
    """
    seen = blanked(text)
    inner = seen.strip()
    if not (inner.startswith("{") and inner.endswith("}")):
        return "(", ended(text), ")"
    begin, end = seen.index("{"), seen.rindex("}")
    # A blank for each brace, so that columns stay as they are in messages.
    bare = ended(text[:begin] + " " + text[begin + 1 : end] + " " + text[end + 1 :])
    return ("_type_reduce(", bare, ")") if has_fields else ("_type_reduce{", bare, "}")


def _outer_strides(
    array: ArraySpec, shape: tuple[int, ...], axes: Sequence[int]
) -> tuple[int, ...]:
    """An output's strides (bytes) along the outer axes."""
    if array.ndim == len(shape):  # also where keepdims left extents of one
        return tuple(step for axis, step in enumerate(array.strides) if axis not in axes)
    return array.strides


def _check_identity(number: complex, dtype: np.dtype[Any]) -> None:
    """Raise where a total does not hold its identity: as of a scalar argument, but that would lose
    its fraction.
    """
    written = repr(number)
    shown = Snippet("identity", written, 0, len(written))
    (held, *_) = convert_scalar(number, dtype, shown)
    if dtype.kind in "iu" and held != number:
        sentence = f"The value {written} cannot become dtype '{dtype}'."
        raise ArgumentTypeError(render_message(sentence, shown))

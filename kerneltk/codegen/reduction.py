"""A reduction's types and layouts -> the specialization its text depends on, and its geometry."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from kerneltk.codegen.accumulator import MOST_BYTES, Accumulator
from kerneltk.codegen.argument_block import ArgumentBlock, Field, build_block
from kerneltk.codegen.definition import KernelDefinition
from kerneltk.codegen.divisors import multiplier_and_shift
from kerneltk.codegen.specialization import (
    Lowered,
    RawView,
    dynamic_fields,
    may_last,
    raw_views,
    visited,
)
from kerneltk.core.arrays import ArraySpec, broadcast_strides, c_strides
from kerneltk.core.capabilities import Capabilities
from kerneltk.core.dtypes import alignment_on
from kerneltk.core.lexer import always_assigns
from kerneltk.schedule.elementwise import Access, Operand
from kerneltk.schedule.reduction_cpu import plan_reduction_host
from kerneltk.schedule.reduction_cuda import (
    COUNTERS,
    DEFAULT_UNITS,
    Geometry,
    ReductionLayout,
    Strategy,
    merged_index_shape,
    plan_reduction_cuda,
)
from kerneltk.signature.parameters import Parameter
from kerneltk.signature.type_binding import Binding

__all__ = ["ReductionDefinition", "ReductionSpecialization", "specialize_reduction"]


@dataclass(frozen=True)
class ReductionDefinition(KernelDefinition):
    """What the user wrote: a reduction before any types.

    Parameters
    ----------
    signature, name, preamble, options : see `KernelDefinition`
    map_expr, reduce_expr, post_map_expr : str
        C++ text.
    identity : str
        C++ text; empty if there is none.
    accumulator : Accumulator
    reduce_dims : bool
    mask : bool
        Whether the last input, a mask, says which elements count.
    """

    map_expr: str
    reduce_expr: str
    post_map_expr: str
    identity: str
    accumulator: Accumulator
    reduce_dims: bool = True
    mask: bool = False

    @property
    def texts(self) -> tuple[tuple[str, str], ...]:
        """The texts inside of the kernel's function, by the names that messages give them."""
        return (
            ("map_expr", self.map_expr),
            ("reduce_expr", self.reduce_expr),
            ("post_map_expr", self.post_map_expr),
            ("identity", self.identity),
            ("reduce_type", self.accumulator.text),
        )

    def _mentions(self, *names: str) -> bool:
        return self.includes_others or not self.inner_names.isdisjoint(names)

    @cached_property
    def uses_number(self) -> bool:
        """Whether the texts read the number of an element within its reduction."""
        return self._mentions("_J", "_j") or self.uses_in_index

    @cached_property
    def uses_output_number(self) -> bool:
        """Whether the texts read the number of an output."""
        return self._mentions("_i", "_j") or self.uses_in_index or self.uses_out_index

    @cached_property
    def uses_in_index(self) -> bool:
        """Whether the texts mention ``_in_ind``."""
        return "_in_ind" in self.inner_names

    @cached_property
    def uses_out_index(self) -> bool:
        """Whether the texts mention ``_out_ind``."""
        return "_out_ind" in self.inner_names

    @cached_property
    def calls_nothing(self) -> bool:
        """Whether the expressions are operators and names alone."""
        return not self.preamble and not any(
            "(" in text for text in (self.map_expr, self.reduce_expr, self.post_map_expr)
        )

    def views(self, parameter: Parameter) -> bool:
        """Return whether the texts mention an array itself by its name with ``_raw_``."""
        return not parameter.raw and f"_raw_{parameter.name}" in self.inner_names

    def overwrites(self, parameter: Parameter) -> bool:
        """Return whether an output is plainly overwritten, never read."""
        return not self.opaque and always_assigns(self.post_map_expr, parameter.name)


@dataclass(frozen=True)
class ReductionSpecialization:
    """Everything that the text of one translation unit depends on.

    Parameters
    ----------
    definition : ReductionDefinition
    backend : Capabilities
    binding : Binding
    is_array : tuple of bool
        One a parameter: whether its argument is an array.
    raw : tuple of RawView or None
        One a parameter.
    views : tuple of (str, RawView)
        The arrays that the texts index by ``_raw_`` names.
    strategy, width, unroll, lanes, block, peeled, spread, exact, wide_index, rows, length,
    accesses :
        see `ReductionLayout`
    shared : bool
        Whether several blocks share an output.
    kept_ndim, reduced_ndim : int
        Dimensions of the two loops.
    in_ndim, out_ndim : int or None
        Dimensions of ``_in_ind`` and ``_out_ind`` where the texts mention them.
    wide_space : bool
        Whether these need 64-bit numbers.
    """

    definition: ReductionDefinition
    backend: Capabilities
    binding: Binding
    is_array: tuple[bool, ...]
    raw: tuple[RawView | None, ...]
    views: tuple[tuple[str, RawView], ...]
    strategy: Strategy
    width: int
    unroll: int
    lanes: int
    block: int
    peeled: bool
    spread: bool
    exact: bool
    wide_index: bool
    rows: int
    length: int
    accesses: tuple[Access, ...]
    shared: bool
    kept_ndim: int
    reduced_ndim: int
    in_ndim: int | None
    out_ndim: int | None
    wide_space: bool

    @cached_property
    def loop_arrays(self) -> tuple[Parameter, ...]:
        """The parameters whose elements the loops visit, in order."""
        return visited(self.definition.signature.parameters, self.is_array)

    @cached_property
    def walked(self) -> tuple[str, ...]:
        """The names of everything that has strides: arrays, then the numbers J and i."""
        names = [parameter.name for parameter in self.loop_arrays]
        names += ["_J"] if self.definition.uses_number else []
        names += ["_i"] if self.definition.uses_output_number else []
        return tuple(names)

    @cached_property
    def divisor_counts(self) -> tuple[int, int]:
        """How many divisors take apart the number of an output, and of a pack or an element."""
        if self.backend.walks_chunks:
            return 0, 0
        return self.kept_ndim - 1, self.reduced_ndim - 1

    @property
    def template(self) -> str:
        """The stem of the template's name."""
        return "reduction"

    @property
    def quick(self) -> bool:
        """Where the template has done what a compiler would do: measured, it then is as fast.

        Narrow integers with wide totals are not: widening them is left to the compiler.
        """
        size = self.definition.accumulator.size(self.binding)
        widened = any(
            is_array and dtype.itemsize < 4 < size
            for is_array, dtype in zip(self.is_array, self.binding.dtypes, strict=True)
        )
        return self.strategy != "short" and not widened and self.definition.calls_nothing

    @cached_property
    def arguments(self) -> ArgumentBlock:
        """The argument block of the entry point."""
        dynamic = dynamic_fields(
            self.definition.signature.parameters, self.is_array, self.raw, self.binding
        )
        if not self.backend.walks_chunks:
            dynamic.insert(0, Field("char* _kt_scratch", "P"))
        constant = [
            Field("long long _kt_outputs", "q"),
            Field("long long _kt_length", "q"),
            Field("long long _kt_packs", "q"),
            Field("long long _kt_work", "q"),
            Field("long long _kt_split", "q"),
            Field("long long _kt_chunk", "q"),
            Field(f"long long _kt_kept[{self.kept_ndim}]", "q" * self.kept_ndim),
            Field(f"long long _kt_reduced[{self.reduced_ndim}]", "q" * self.reduced_ndim),
        ]
        kind, row = ("64", "QQQ") if self.wide_index else ("32", "III")
        for name, count in zip(("kept", "reduced"), self.divisor_counts, strict=True):
            if count:
                constant.append(
                    Field(f"kerneltk::fast_divisor{kind} _kt_d_{name}[{count}]", row * count)
                )
        for name in self.walked:
            constant += [
                Field(f"long long _kt_k_{name}[{self.kept_ndim}]", "q" * self.kept_ndim),
                Field(f"long long _kt_r_{name}[{self.reduced_ndim}]", "q" * self.reduced_ndim),
            ]
        index = "long long" if self.wide_space else "int"
        for name, ndim in (("in", self.in_ndim), ("out", self.out_ndim)):
            if ndim is not None:
                kind = f"kerneltk::index_space<{ndim}, {index}>"
                constant.append(Field(f"{kind} _kt_{name}", "q" * (1 + 2 * ndim)))
        for name, view in self.views:
            constant.append(
                Field(f"long long _kt_v_{name}[{1 + 2 * view.ndim}]", "q" * (1 + 2 * view.ndim))
            )
        return build_block(dynamic, constant)


def _geometry(
    definition: ReductionDefinition,
    backend: Capabilities,
    arrays: Sequence[ArraySpec | None],
    shape: tuple[int, ...],
    axes: Sequence[int],
) -> Geometry:
    parameters = definition.signature.parameters
    kept_axes = [axis for axis in range(len(shape)) if axis not in axes]
    kept = tuple(shape[axis] for axis in kept_axes)
    reduced = tuple(shape[axis] for axis in axes)
    operands = []
    for parameter, array in zip(parameters, arrays, strict=True):
        if array is None or parameter.raw:
            continue
        if parameter.is_const:
            steps = broadcast_strides(array.shape, array.strides, shape)
            row = (*(steps[k] for k in kept_axes), *(steps[k] for k in axes))
        else:
            row = (*_without_kept_ones(array, shape, axes), *(0 for _ in axes))
        operands.append(
            Operand(
                array.dtype.itemsize,
                row,
                array.offset,
                alignment_on(backend, array.dtype),
                not parameter.is_const,
            )
        )
    none = tuple(0 for _ in axes), tuple(0 for _ in kept_axes)
    if definition.uses_number:
        operands.append(Operand(1, (*none[1], *c_strides(reduced, 1)), 0, 0))
    if definition.uses_output_number:
        operands.append(Operand(1, (*c_strides(kept, 1), *none[0]), 0, 0))
    return Geometry(kept, reduced, tuple(operands))


def _without_kept_ones(
    array: ArraySpec, shape: tuple[int, ...], axes: Sequence[int]
) -> tuple[int, ...]:
    """Return an output's strides (bytes) along the kept axes."""
    if array.ndim == len(shape):  # also where keepdims left extents of one
        return tuple(step for axis, step in enumerate(array.strides) if axis not in axes)
    return array.strides


def specialize_reduction(
    definition: ReductionDefinition,
    backend: Capabilities,
    binding: Binding,
    arrays: Sequence[ArraySpec | None],
    shape: tuple[int, ...],
    axes: Sequence[int],
    units: int = DEFAULT_UNITS,
) -> Lowered:
    """Choose a specialization for arrays of these layouts.

    Parameters
    ----------
    definition : ReductionDefinition
    backend : Capabilities
    binding : Binding
    arrays : sequence of ArraySpec or None
        One a parameter, outputs included; None for scalars.
    shape : tuple of int
        The inputs' broadcast shape.
    axes : sequence of int
        The reduced axes, in ascending order; no other extent is zero.
    units : int
        Multiprocessors of the GPU.
    """
    geometry = _geometry(definition, backend, arrays, shape, axes)
    size = definition.accumulator.size(binding)
    if not definition.identity:  # a total says whether there is a value
        size += min(size, 16)
    if not backend.walks_chunks:
        layout = plan_reduction_cuda(geometry, size, units)
    else:
        layout = plan_reduction_host(geometry, size)
    parameters = definition.signature.parameters
    raw, raw_geometry = raw_views(parameters, arrays)
    in_space = _in_space(definition, geometry)
    out_space = _out_space(definition, geometry)
    views, view_numbers = _views(definition, arrays, in_space, out_space)
    in_shape = in_space[0] if definition.uses_in_index else None
    out_shape = out_space[0] if definition.uses_out_index else None
    specialization = ReductionSpecialization(
        definition,
        backend,
        binding,
        tuple(array is not None for array in arrays),
        raw,
        views,
        layout.strategy,
        layout.width,
        layout.unroll,
        layout.lanes,
        layout.block,
        layout.peeled,
        layout.spread,
        layout.exact,
        layout.wide_index,
        layout.rows,
        layout.length,
        layout.accesses,
        layout.split > 1,
        len(layout.kept.shape),
        len(layout.reduced.shape),
        None if in_shape is None else len(in_shape),
        None if out_shape is None else len(out_shape),
        geometry.outputs * max(geometry.length, 1) > 2**31 - 1,
    )
    values = _numbers(specialization, geometry, layout)
    for extents, total in (
        (in_shape, geometry.outputs * geometry.length),
        (out_shape, geometry.outputs),
    ):
        if extents is not None:
            values += [total, *extents, *(0 for _ in extents)]
    values += view_numbers
    constants = specialization.arguments.constant.pack(*values)
    if not backend.walks_chunks:
        grid, grain = layout.tiles, layout.split
    else:
        grid = layout.tiles * layout.split
        grain = max(1, 16384 // max(1, layout.chunk * layout.work))
    scratch = 0
    if layout.split > 1:
        room = -(-size // 16) * 16
        slots = geometry.outputs if backend.walks_chunks else layout.shared_slots
        partial = slots * layout.split * room
        counters = layout.tiles * 4 + MOST_BYTES if backend.walks_chunks else COUNTERS * 4
        scratch = counters + partial
    lasting = backend.is_interruptible and may_last(geometry.outputs * geometry.length, definition)
    return Lowered(specialization, constants, raw_geometry, grid, grain, scratch, lasting)


_Space = tuple[tuple[int, ...], tuple[tuple[int, ...], ...]]


def _in_space(definition: ReductionDefinition, geometry: Geometry) -> _Space:
    """Return the index space of the inputs, reduced axes first, and each input's steps in it."""
    count = len(geometry.kept)
    rows = [
        (*o.strides[count:], *o.strides[:count])
        for o in geometry.operands
        if not (o.is_index or o.written)
    ]
    return merged_index_shape((*geometry.reduced, *geometry.kept), rows, definition.reduce_dims)


def _out_space(definition: ReductionDefinition, geometry: Geometry) -> _Space:
    """Return the index space of the outputs, and each output's steps in it."""
    rows = [o.strides[: len(geometry.kept)] for o in geometry.operands if o.written]
    return merged_index_shape(geometry.kept, rows, definition.reduce_dims)


def _views(
    definition: ReductionDefinition,
    arrays: Sequence[ArraySpec | None],
    in_space: _Space,
    out_space: _Space,
) -> tuple[tuple[tuple[str, RawView], ...], list[int]]:
    """Return the views that the texts index by ``_raw_`` names, and their numbers."""
    loop_arrays = [
        (p, a)
        for p, a in zip(definition.signature.parameters, arrays, strict=True)
        if a is not None and not p.raw
    ]
    (in_shape, in_rows), (out_shape, out_rows) = in_space, out_space
    views: list[tuple[str, RawView]] = []
    numbers: list[int] = []
    ins, outs = iter(in_rows), iter(out_rows)
    for parameter, array in loop_arrays:
        own, steps = (in_shape, next(ins)) if parameter.is_const else (out_shape, next(outs))
        if definition.views(parameter):
            seen = replace(array, shape=own, strides=steps)
            views.append((parameter.name, RawView.of(seen)))
            numbers += [math.prod(own), *own, *steps]
    return tuple(views), numbers


def _numbers(
    specialization: ReductionSpecialization, geometry: Geometry, layout: ReductionLayout
) -> list[int]:
    values = [
        geometry.outputs,
        geometry.length,
        layout.packs,
        layout.work,
        layout.split,
        layout.chunk,
        *layout.kept.shape,
        *layout.reduced.shape,
    ]
    if not specialization.backend.walks_chunks:
        bits = 64 if layout.wide_index else 32
        kept = list(reversed(layout.kept.shape[1:]))
        reduced = list(reversed(layout.reduced.shape[1:]))
        if layout.strategy == "columns" and kept:
            kept[0] //= 1 if layout.spread else layout.width
        if layout.strategy == "rows" and reduced:
            reduced[0] = layout.packs
        for divisor in (*kept, *reduced):
            multiplier, shift = multiplier_and_shift(divisor, bits)
            values += [divisor, multiplier, shift]
    for kept_row, reduced_row in zip(layout.kept.strides, layout.reduced.strides, strict=True):
        values += [*kept_row, *reduced_row]
    return values

"""A call's types and layouts -> the specialization that its text depends on, and its geometry."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from kerneltk.codegen.argument_block import ArgumentBlock, Field, build_block
from kerneltk.codegen.body_addresses import defined_macros, takes_address
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
from kerneltk.core.arrays import ArraySpec, Loop, broadcast_strides, c_strides, merge_in_order
from kerneltk.core.capabilities import Capabilities
from kerneltk.core.dtypes import alignment_on
from kerneltk.core.lexer import always_assigns, uses_thread_state
from kerneltk.schedule.elementwise import (
    TILE,
    Access,
    Layout,
    Operand,
    Variant,
    plan_cuda,
    plan_host,
)
from kerneltk.signature.parameters import Parameter
from kerneltk.signature.type_binding import Binding

__all__ = [
    "DEFAULT_BLOCK",
    "ElementwiseDefinition",
    "ElementwiseSpecialization",
    "specialize_elementwise",
]

DEFAULT_BLOCK = 256
"""Threads of a block where the user names none: the fastest measured for copies on an H200."""


@dataclass(frozen=True)
class ElementwiseDefinition(KernelDefinition):
    """What the user wrote: an elementwise kernel before any types.

    Parameters
    ----------
    signature, name, preamble, options : see `KernelDefinition`
    operation, loop_prep, after_loop : str
        C++ text.
    reduce_dims : bool
    """

    operation: str
    reduce_dims: bool = True
    loop_prep: str = ""
    after_loop: str = ""

    @property
    def texts(self) -> tuple[tuple[str, str], ...]:
        """The texts inside of the kernel's function, by the names that messages give them."""
        return (
            ("operation", self.operation),
            ("loop_prep", self.loop_prep),
            ("after_loop", self.after_loop),
        )

    @property
    def uses_index(self) -> bool:
        """Whether the body reads the element's index."""
        return "i" in self.inner_names or self.uses_index_space or self.includes_others

    @property
    def uses_index_space(self) -> bool:
        """Whether the body reads ``_ind``."""
        return "_ind" in self.inner_names

    @cached_property
    def overwrites(self) -> bool:
        """Whether every array that the body writes is plainly overwritten, never read."""
        written = [p.name for p in self.signature.parameters if not (p.raw or p.is_const)]
        return not self.opaque and all(always_assigns(self.operation, name) for name in written)

    @cached_property
    def stays_in_place(self) -> bool:
        """Whether the operation can stand where it is called, instead of in a function.

        A return would leave the thread, and a macro may hide one.
        """
        return not self.opaque and not self.names & {"return", "goto"}

    @cached_property
    def direct(self) -> bool:
        """Whether the body must work on the arrays themselves, one thread an element."""
        if self.includes_others or uses_thread_state(self.names):
            return True
        macros = defined_macros((self.operation, self.preamble), self.options)
        types = {p.type_variable for p in self.signature.parameters if p.type_variable is not None}
        values = [parameter.name for parameter in self.signature.parameters]
        return takes_address(self.operation, values, types, macros) or any(
            takes_address(text, types=types, macros=macros)
            for text in (self.preamble, *self.options)
        )

    def works_on_arrays(self, arrays: Sequence[ArraySpec | None], shape: tuple[int, ...]) -> bool:
        """Return whether a call works on the arrays themselves: the body must, or elements that
        it writes lie on one another.
        """
        return self.direct or any(
            array is not None
            and not parameter.raw
            and not parameter.is_const
            and any(
                step == 0 and extent > 1
                for step, extent in zip(
                    broadcast_strides(array.shape, array.strides, shape), shape, strict=True
                )
            )
            for parameter, array in zip(self.signature.parameters, arrays, strict=True)
        )


@dataclass(frozen=True)
class ElementwiseSpecialization:
    """Everything that the text of one translation unit depends on.

    Parameters
    ----------
    definition : ElementwiseDefinition
    backend : Capabilities
    binding : Binding
    is_array : tuple of bool
        One a parameter: whether its argument is an array.
    raw : tuple of RawView or None
        One a parameter.
    variant, width, wide_index, ndim : see `Layout`
    shifted : bool
        Whether the first pack lacks some elements, so that the others are aligned.
    streams : bool
        Whether results may bypass the caches on the host: they are dense and plainly overwritten.
    exact : bool
        Whether every thread has all of its elements: the text then has no part for the rest,
        which a compiler would spend a third of its time on.
    accesses : tuple of Access
        One a non-raw array in the parameters' order; the index last if the body reads it.
    index_ndim : int or None
        Dimensions of ``_ind``, if the body reads it.
    block : int
        Threads of a block; 1 on the host.
    """

    definition: ElementwiseDefinition
    backend: Capabilities
    binding: Binding
    is_array: tuple[bool, ...]
    raw: tuple[RawView | None, ...]
    variant: Variant
    width: int
    wide_index: bool
    shifted: bool
    exact: bool
    streams: bool
    ndim: int
    accesses: tuple[Access, ...]
    index_ndim: int | None
    block: int

    @cached_property
    def loop_arrays(self) -> tuple[Parameter, ...]:
        """The parameters whose elements the loop visits, in order."""
        return visited(self.definition.signature.parameters, self.is_array)

    @cached_property
    def per_element(self) -> bool:
        """Whether every element's coordinates are computed, not every pack's."""
        return any(access.kind in ("element", "staged") for access in self.accesses)

    @cached_property
    def divisor_count(self) -> int:
        """How many divisors the decomposition of an element's or a tile's number needs."""
        return 0 if self.backend.walks_chunks else self.ndim - 1

    @cached_property
    def strided(self) -> tuple[bool, ...]:
        """Which accesses need run-time steps."""
        if self.backend.walks_chunks:
            return tuple(True for _ in self.accesses)
        return tuple(access.kind not in ("flat", "uniform") for access in self.accesses)

    @cached_property
    def arguments(self) -> ArgumentBlock:
        """The argument block of the entry point."""
        dynamic = dynamic_fields(
            self.definition.signature.parameters, self.is_array, self.raw, self.binding
        )
        constant = [Field("long long _kt_n", "q")]
        if self.streams:
            constant.append(Field("long long _kt_stream", "q"))
        if self.shifted:
            constant.append(Field("long long _kt_shift", "q"))
        constant.append(Field(f"long long _kt_shape[{self.ndim}]", "q" * self.ndim))
        if self.divisor_count:
            kind, row = ("64", "QQQ") if self.wide_index else ("32", "III")
            constant.append(
                Field(
                    f"kerneltk::fast_divisor{kind} _kt_divisors[{self.divisor_count}]",
                    row * self.divisor_count,
                )
            )
        names = [parameter.name for parameter in self.loop_arrays] + ["i"]
        for name, strided in zip(names, self.strided, strict=False):
            if strided:
                constant.append(Field(f"long long _kt_s_{name}[{self.ndim}]", "q" * self.ndim))
        if self.index_ndim is not None:
            index = "long long" if self.wide_index else "int"
            constant.append(
                Field(
                    f"kerneltk::index_space<{self.index_ndim}, {index}> _kt_index_space",
                    "q" * (1 + 2 * self.index_ndim),
                )
            )
        return build_block(dynamic, constant)

    @property
    def template(self) -> str:
        """The stem of the template's name."""
        return "elementwise"

    @property
    def quick(self) -> bool:
        """Never: operations are what a compiler works on."""
        return False


def _operands(
    definition: ElementwiseDefinition,
    backend: Capabilities,
    arrays: Sequence[ArraySpec | None],
    shape: tuple[int, ...],
) -> list[Operand]:
    operands = []
    for parameter, array in zip(definition.signature.parameters, arrays, strict=True):
        if array is None or parameter.raw:
            continue
        operands.append(
            Operand(
                array.dtype.itemsize,
                broadcast_strides(array.shape, array.strides, shape),
                array.offset,
                alignment_on(backend, array.dtype),
                not parameter.is_const,
            )
        )
    if definition.uses_index:
        operands.append(Operand(1, c_strides(shape, 1), 0, 0))
    return operands


def _index_shape(
    definition: ElementwiseDefinition, operands: Sequence[Operand], shape: tuple[int, ...]
) -> tuple[int, ...]:
    """Return the shape that ``_ind`` shows: the broadcast shape, merged if `reduce_dims`."""
    if not definition.reduce_dims:
        return shape
    merged = merge_in_order(shape, [operand.strides for operand in operands])
    return merged.shape


def specialize_elementwise(
    definition: ElementwiseDefinition,
    backend: Capabilities,
    binding: Binding,
    arrays: Sequence[ArraySpec | None],
    shape: tuple[int, ...],
    block_size: int | None = None,
) -> Lowered:
    """Choose a specialization for arrays of these layouts.

    Parameters
    ----------
    definition : ElementwiseDefinition
    backend : Capabilities
    binding : Binding
    arrays : sequence of ArraySpec or None
        One a parameter, outputs included; None for scalars.
    shape : tuple of int
        The broadcast shape, or ``(size,)``; no extent is zero.
    block_size : int, optional
        Threads of a block; chosen if None.
    """
    parameters = definition.signature.parameters
    operands = _operands(definition, backend, arrays, shape)
    total = math.prod(shape)
    direct = definition.works_on_arrays(arrays, shape)
    if all(operand.is_index for operand in operands):
        # Only scalars and raw arrays: the body works on the arrays itself.
        direct = True
    if not operands:
        layout = Layout("direct", 1, total > 2**31 - 2**21, (), Loop((total,), ()))
    elif not backend.walks_chunks:
        layout = plan_cuda(shape, operands, direct=direct)
        if layout.variant == "tile" and block_size is not None:
            layout = plan_cuda(shape, operands, direct=False, tiles=False)
    else:
        layout = plan_host(shape, operands, direct=direct)
    raw, raw_geometry = raw_views(parameters, arrays)
    index_shape: tuple[int, ...] | None = None
    if definition.uses_index_space:
        index_shape = _index_shape(definition, operands, shape)
    block = 1 if backend.walks_chunks else block_size or DEFAULT_BLOCK
    specialization = ElementwiseSpecialization(
        definition,
        backend,
        binding,
        tuple(array is not None for array in arrays),
        raw,
        layout.variant,
        layout.width,
        layout.wide_index,
        layout.shift > 0,
        _is_exact(layout, block),
        backend.streaming_stores and definition.overwrites and _has_dense_results(layout, operands),
        layout.ndim,
        layout.accesses,
        None if index_shape is None else len(index_shape),
        block,
    )
    constants = _pack_constants(
        specialization, layout, total, total * sum(o.itemsize for o in operands), index_shape
    )
    grid, grain = _launch_size(specialization, layout, total)
    lasting = backend.is_interruptible and may_last(total, definition)
    return Lowered(specialization, constants, raw_geometry, grid, grain, may_last=lasting)


def _has_dense_results(layout: Layout, operands: Sequence[Operand]) -> bool:
    written = [
        access.kind == "row" and access.chunk >= operand.alignment
        for access, operand in zip(layout.accesses, operands, strict=True)
        if operand.written
    ]
    moved = sum(operand.itemsize for operand in operands if operand.written)
    return layout.variant == "pack" and all(written) and 0 < moved <= _STREAMED_ITEM


def _is_exact(layout: Layout, block: int) -> bool:
    extents = layout.loop.shape
    if layout.variant == "pack":
        return layout.shift == 0 and layout.loop.size % layout.width == 0
    if layout.variant == "interleave":
        return layout.loop.size % (layout.width * block) == 0
    if layout.variant == "tile":
        return extents[-1] % TILE == 0 and extents[-2] % TILE == 0
    return False


def _tiles(shape: Sequence[int], side: int) -> tuple[int, int]:
    """Return how many tiles of `side` elements cover the last and the next-to-last dimension."""
    return -(-shape[-1] // side), -(-shape[-2] // side)


def _divisors(specialization: ElementwiseSpecialization, layout: Layout) -> list[int]:
    """Return the divisors, innermost first; the outermost dimension is what remains."""
    shape = layout.loop.shape
    if not specialization.divisor_count:
        return []
    if specialization.variant == "tile":
        inner = list(reversed(shape[1:-2]))
        return [*_tiles(shape, TILE)[: specialization.divisor_count], *inner]
    inner = list(reversed(shape[1:]))
    if specialization.variant == "pack" and not specialization.per_element:
        inner[0] //= layout.width
    return inner


def _pack_constants(
    specialization: ElementwiseSpecialization,
    layout: Layout,
    total: int,
    moved: int,
    index_shape: tuple[int, ...] | None,
) -> bytes:
    streamed = [int(moved >= STREAM_BYTES)] if specialization.streams else []
    values = [
        total,
        *streamed,
        *([layout.shift] if specialization.shifted else []),
        *layout.loop.shape,
    ]
    bits = 64 if specialization.wide_index else 32
    for divisor in _divisors(specialization, layout):
        multiplier, shift = multiplier_and_shift(divisor, bits)
        values += [divisor, multiplier, shift]
    for strided, row in zip(specialization.strided, layout.loop.strides, strict=True):
        if strided:
            values += row
    if index_shape is not None:
        values += [total, *index_shape, *([0] * len(index_shape))]
    return specialization.arguments.constant.pack(*values)


def _launch_size(
    specialization: ElementwiseSpecialization, layout: Layout, total: int
) -> tuple[int, int]:
    shape = layout.loop.shape
    if specialization.backend.walks_chunks:
        if layout.variant == "tile":
            across, down = _tiles(shape, HOST_TILE)
            return math.prod(shape[:-2]) * across * down, max(1, HOST_GRAIN // HOST_TILE**2)
        return total, HOST_GRAIN
    if layout.variant == "tile":
        across, down = _tiles(shape, TILE)
        return math.prod(shape[:-2]) * across * down, 1
    return -(-(total + layout.shift) // (layout.width * specialization.block)), 1


HOST_TILE = 64
"""Elements along one side of a block of the host's transposing loop: 64 x 64 float64 fit L1."""

STREAM_BYTES = 32 << 20
"""Bytes of all operands from which results bypass the caches: they would not stay there."""

_STREAMED_ITEM = 64  # bytes of all results for one element: they pass through a stack buffer

HOST_GRAIN = 16384
"""Elements below which a loop is not shared among threads: waking them costs about as much."""

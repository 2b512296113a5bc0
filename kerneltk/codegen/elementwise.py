"""Elementwise definitions; a call's types and layouts -> what its source and launch depend on."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

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
    dynamic_fields,
    may_last,
    raw_views,
    visited,
)
from kerneltk.codegen.template_context import Array, arrays_of, ended
from kerneltk.core.arrays import ArraySpec, Loop, broadcast_strides, c_strides, merge_in_order
from kerneltk.core.capabilities import Capabilities
from kerneltk.core.dtypes import alignment_on
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
from kerneltk.signature.resolve import Resolved, resolve_elementwise
from kerneltk.signature.type_binding import Binding

__all__ = [
    "DEFAULT_BLOCK",
    "ElementwiseDefinition",
    "ElementwiseSpecialization",
]

DEFAULT_BLOCK = 256
"""Threads of a block where the user names none: the fastest measured for copies on an H200."""

_Options = tuple[int | None, int | None] | None


@dataclass(frozen=True)
class ElementwiseDefinition(KernelDefinition):
    """What the user wrote: an elementwise kernel before any types.

    Parameters
    ----------
    signature, name, preamble, options : see `KernelDefinition`
    operation, loop_prep, after_loop : str
        C++ source.
    reduce_dims : bool
    no_return, return_tuple : bool
        Whether a call returns None; whether it returns a tuple even for one output.
    """

    operation: str
    reduce_dims: bool = True
    loop_prep: str = ""
    after_loop: str = ""
    no_return: bool = False
    return_tuple: bool = False

    in_place = True
    has_scratch = False
    expression_paths = (
        ("operation", "operation"),
        ("loop_prep", "loop_prep"),
        ("after_loop", "after_loop"),
    )
    assigning = 0
    implicit = ("i",)
    addressable = True
    override_method = "__cupy_override_elementwise_kernel__"

    @property
    def returns(self) -> Literal["none", "one", "tuple"]:
        """What a call returns."""
        if self.no_return:
            return "none"
        return "one" if len(self.signature.outputs) == 1 and not self.return_tuple else "tuple"

    def resolve(
        self, specs: Sequence[ArraySpec | None], values: Sequence[Any], options: _Options
    ) -> Resolved:
        """Bind types and shapes; options are the size and the block size."""
        size, _ = options or (None, None)
        return resolve_elementwise(self.name, self.signature, specs, values, size)

    def schedule(
        self,
        resolved: Resolved,
        backend: Capabilities,
        multiprocessors: int | None,
        options: _Options,
    ) -> LaunchGeometry | None:
        """Choose the loop of a launch; None where it has no elements."""
        if 0 in resolved.shape:
            return None
        return _scheduled(self, resolved, backend, options[1] if options else None)

    def by_reference(self, resolved: Resolved) -> tuple[bool, ...]:
        """Return, one a parameter, whether the body reads the array itself."""
        every = self.works_on_arrays(resolved.specs, resolved.shape)
        return tuple(every or p.raw for p in self.signature.parameters)

    @property
    def uses_index(self) -> bool:
        """Whether the body reads the element's index."""
        return not self.facts.observed.isdisjoint(("i", "_ind"))

    @property
    def uses_index_space(self) -> bool:
        """Whether the body reads ``_ind``."""
        return "_ind" in self.facts.observed

    @property
    def overwrites(self) -> bool:
        """Whether every array that the body writes is plainly overwritten, never read."""
        parameters = self.signature.parameters
        written = (p.name for p in parameters if not (p.raw or p.is_const))
        return self.facts.overwritten.issuperset(written)

    def works_on_arrays(self, arrays: Sequence[ArraySpec | None], shape: tuple[int, ...]) -> bool:
        """Return whether a call works on the arrays themselves: the body must, or elements that
        it writes lie on one another.
        """
        return self.facts.by_reference or any(
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
    """Everything that the source of one translation unit depends on.

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
    peeled : bool
        Whether a peeled prologue of fewer elements aligns all other vectors.
    streams : bool
        Whether results may bypass the caches on the host: they are dense and plainly overwritten.
    no_remainder : bool
        Whether every thread has all of its elements: the source then has no part for the rest,
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
    peeled: bool
    no_remainder: bool
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
        """Whether every element's coordinates are computed, not every vector's."""
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
        if self.peeled:
            constant.append(Field("long long _kt_shift", "q"))
        constant.append(Field(f"long long _kt_shape[{self.ndim}]", "q" * self.ndim))
        if self.divisor_count:
            constant.append(divisor_field("_kt_divisors", self.divisor_count, wide=self.wide_index))
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
    def fast_compile(self) -> bool:
        """Never: operations are what a compiler works on."""
        return False

    def headers(self) -> set[str]:
        """Return the package's headers that the kind of loop needs."""
        wanted = {"memory.hpp"}
        if any(self.raw) or self.index_ndim is not None:
            wanted.add("array_view.hpp")
        if self.streams:
            wanted.add("stream.hpp")
        if self.divisor_count:
            wanted.add("divide.hpp")
        return wanted

    def context(self) -> dict[str, Any]:
        """Return what the elementwise templates use beyond what all templates do."""
        definition = self.definition
        arrays = arrays_of(self, self.loop_arrays, self.accesses)
        index: Array | None = None
        if definition.uses_index and len(self.accesses) > len(arrays):
            access = self.accesses[-1]
            index = Array("i", "ptrdiff_t", True, access.kind, 1, True, 1, "")
        walked = [*arrays, *([index] if index is not None else [])]
        return {
            "loop_prep": ended(definition.loop_prep),
            "after_loop": ended(definition.after_loop),
            "operation": ended(definition.operation),
            "arrays": arrays,
            "written": [a for a in arrays if not a.is_const],
            "index": index,
            "walked": walked,
            "uses_index": definition.uses_index,
            "declares_n": all(p.name != "n" for p in definition.signature.parameters),
            "index_space": self.index_ndim is not None,
            "variant": self.variant,
            "width": self.width,
            "peeled": self.peeled,
            "no_remainder": self.no_remainder,
            "streams": self.streams,
            # Written once and never left by a return, the operation needs no function of its own.
            "inline": not self.backend.walks_chunks
            and (self.no_remainder or self.variant != "vector")
            and not definition.facts.exits_early,
            "unstaged_inputs": [a for a in arrays if a.is_const and a.kind == "element"],
            "ndim": self.ndim,
            "block": self.block,
            "tile": HOST_TILE if self.backend.walks_chunks else TILE,
            "per_element": self.per_element,
            "needs_coordinates": any(a.kind not in ("flat", "uniform") for a in walked),
            "index_type": "long long" if self.wide_index else "int",
        }


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


def _scheduled(
    definition: ElementwiseDefinition,
    resolved: Resolved,
    backend: Capabilities,
    block_size: int | None,
) -> LaunchGeometry:
    arrays, shape = resolved.specs, resolved.shape
    operands = _operands(definition, backend, arrays, shape)
    total = math.prod(shape)
    by_reference = definition.works_on_arrays(arrays, shape)
    if all(operand.is_index for operand in operands):
        # Only scalars and raw arrays: the body works on the arrays itself.
        by_reference = True
    if not operands:
        layout = Layout("by_reference", 1, total > 2**31 - 2**21, (), Loop((total,), ()))
    elif not backend.walks_chunks:
        layout = plan_cuda(shape, operands, by_reference=by_reference)
        if layout.variant == "tile" and block_size is not None:
            layout = plan_cuda(shape, operands, by_reference=False, tiles=False)
    else:
        layout = plan_host(shape, operands, by_reference=by_reference)
    raw, raw_geometry = raw_views(definition.signature.parameters, arrays)
    index_shape: tuple[int, ...] | None = None
    if definition.uses_index_space:
        index_shape = _index_shape(definition, operands, shape)
    block = 1 if backend.walks_chunks else block_size or DEFAULT_BLOCK
    specialization = ElementwiseSpecialization(
        definition,
        backend,
        resolved.binding,
        tuple(array is not None for array in arrays),
        raw,
        layout.variant,
        layout.width,
        layout.wide_index,
        layout.shift > 0,
        _has_no_remainder(layout, block),
        backend.streaming_stores and definition.overwrites and _has_dense_results(layout, operands),
        layout.ndim,
        layout.accesses,
        None if index_shape is None else len(index_shape),
        block,
    )
    constants = _pack_constants(
        specialization, layout, total, total * sum(o.itemsize for o in operands), index_shape
    )
    grid, chunk_size = _launch_size(specialization, layout, total)
    lasting = backend.is_interruptible and may_last(total, definition)
    return LaunchGeometry(
        specialization, constants, raw_geometry, grid, chunk_size, may_last=lasting
    )


def _has_dense_results(layout: Layout, operands: Sequence[Operand]) -> bool:
    written = [
        access.kind == "row" and access.chunk >= operand.alignment
        for access, operand in zip(layout.accesses, operands, strict=True)
        if operand.written
    ]
    moved = sum(operand.itemsize for operand in operands if operand.written)
    return layout.variant == "vector" and all(written) and 0 < moved <= _STREAMED_ITEM


def _has_no_remainder(layout: Layout, block: int) -> bool:
    extents = layout.loop.shape
    if layout.variant == "vector":
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
    if specialization.variant == "vector" and not specialization.per_element:
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
        *([layout.shift] if specialization.peeled else []),
        *layout.loop.shape,
    ]
    values += divisor_numbers(_divisors(specialization, layout), wide=specialization.wide_index)
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
            return math.prod(shape[:-2]) * across * down, max(1, HOST_CHUNK // HOST_TILE**2)
        return total, HOST_CHUNK
    if layout.variant == "tile":
        across, down = _tiles(shape, TILE)
        return math.prod(shape[:-2]) * across * down, 1
    return -(-(total + layout.shift) // (layout.width * specialization.block)), 1


HOST_TILE = 64
"""Elements along one side of a block of the host's transposing loop: 64 x 64 float64 fit L1."""

STREAM_BYTES = 32 << 20
"""Bytes of all operands from which results bypass the caches: they would not stay there."""

_STREAMED_ITEM = 64  # bytes of all results for one element: they pass through a stack buffer

HOST_CHUNK = 16384
"""Elements below which a loop is not shared among threads: waking them costs about as much."""

"""Elementwise definitions; a call's types and layouts -> what its source and launch depend on."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal

from kerneltk.codegen.argument_block import (
    ArgumentBlock,
    Field,
    build_block,
    divisor_field,
    divisor_numbers,
)
from kerneltk.codegen.body_addresses import addressed
from kerneltk.codegen.definition import KernelDefinition
from kerneltk.codegen.scope_variables import declared_variables
from kerneltk.codegen.specialization import (
    Array,
    LaunchGeometry,
    RawView,
    Specialization,
    common_parts,
    ended,
)
from kerneltk.core.arrays import ArraySpec, Loop, broadcast_strides, c_strides, merge_in_order
from kerneltk.core.artifacts import COUNTERS, Capabilities
from kerneltk.core.dtypes import alignment_on
from kerneltk.core.lexer import lex
from kerneltk.core.records import cached_property, record
from kerneltk.schedule.elementwise import Layout, Operand, plan_cuda, plan_host
from kerneltk.signature.resolve import Resolved, overlapping_output, resolve_elementwise

DEFAULT_BLOCK = 256
"""Threads of a block where the user names none: the fastest measured for copies on an H200."""

HOST_TILE = 64
"""Elements along one side of a block of the host's transposing loop: 64 x 64 float64 fit L1."""

STREAM_BYTES = 32 << 20
"""Bytes of all operands from which results bypass the caches: they would not stay there."""

_STREAMED_ITEM = 64  # bytes of all results for one element: they pass through a stack buffer

HOST_CHUNK = 16384
"""Elements below which a loop is not shared among threads: waking them costs about as much."""

_Options = tuple[int | None, int | None] | None


@record(slots=False)
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
    work : int
        How much work one element is, in elements: more than one where the body has a loop of its
        own.
    resident : int
        How many blocks a multiprocessor must have room for, by their registers; 0: as many as there
        are.
    cluster : int
        How many blocks in a row are a cluster, whose grid has a multiple of that.
    windows : tuple of (int, tuple of int)
        For each input the first one that is a view of the same array, and how far this one begins
        from there along its own axes (elements); empty where no two inputs are.
    backwards : bool
        Whether a GPU begins with the last elements.
    """

    operation: str
    reduce_dims: bool = True
    loop_prep: str = ""
    after_loop: str = ""
    no_return: bool = False
    return_tuple: bool = False
    work: int = 1
    resident: int = 0
    cluster: int = 1
    windows: tuple[tuple[int, tuple[int, ...]], ...] = ()
    backwards: bool = False

    has_scratch = False
    expression_paths = tuple((name, name) for name in ("operation", "loop_prep", "after_loop"))
    assigning = 0
    implicit = ("i",)
    addressable = True
    override_method = "__cupy_override_elementwise_kernel__"

    @cached_property
    def in_place(self) -> bool:
        """Whether an output may be an input: the body sees no element but its own."""
        # The sources are asked first: most kernels need no facts for their launchers.
        if not any("_raw_" in source for _, source in self.origins):
            return True
        return not any(map(self.views, self.signature.inputs))

    @property
    def returns(self) -> Literal["none", "one", "tuple"]:
        """What a call returns."""
        if self.no_return:
            return "none"
        return "one" if len(self.signature.outputs) == 1 and not self.return_tuple else "tuple"

    @property
    def is_batchable(self) -> bool:
        """Whether a call with stacked arguments gives the stacked results."""
        if any(p.raw or self.views(p) for p in self.signature.parameters):
            return False
        facts = self.facts
        observed = not facts.observed.isdisjoint(("i", "_ind", "n"))
        runs_by_chunk = bool(self.loop_prep or self.after_loop)
        return not (observed or facts.opaque or facts.by_reference or runs_by_chunk)

    def resolve(
        self, specs: Sequence[ArraySpec | None], values: Sequence[Any], options: _Options
    ) -> Resolved:
        """Bind types and shapes; options are the size and the block size."""
        size, _ = options or (None, None)
        resolved = resolve_elementwise(self.name, self.signature, specs, values, size)
        overlapping = overlapping_output(self.signature, specs, resolved.shape, self._only_read)
        if overlapping is not None and not self.has_atomics:
            raise overlapping
        self.check_written(len(specs))
        return resolved

    def schedule(
        self,
        resolved: Resolved,
        backend: Capabilities,
        multiprocessors: int | None,
        options: _Options,
    ) -> LaunchGeometry | None:
        """Choose the loop of a launch; None where it has no elements."""
        shape = resolved.shape
        if 0 in shape:
            return None
        block_size = options[1] if options else None
        operands = self._operands(resolved, backend)
        # With scalars and raw arrays alone, the body works on the arrays itself.
        by_reference = self.works_on_arrays(resolved.specs) or all(
            operand.is_index for operand in operands
        )
        if not operands:
            total = math.prod(shape)
            layout = Layout("by_reference", 1, total > 2**31 - 2**21, (), Loop((total,), ()))
        elif backend.walks_chunks:
            layout = plan_host(shape, operands, by_reference=by_reference)
        else:
            block, tiles = block_size or DEFAULT_BLOCK, block_size is None
            layout = plan_cuda(shape, operands, by_reference=by_reference, tiles=tiles, block=block)
        space = Loop(shape, tuple(operand.strides for operand in operands))
        if self.reduce_dims:
            space = merge_in_order(space.shape, space.strides)
        index_shape = space.shape if "_ind" in self.facts.observed else None
        if index_shape is not None:
            self.check_coordinates("_ind", len(index_shape), self.reduce_dims)
        views = self._views(resolved.specs, space)
        specialization = ElementwiseSpecialization(
            self,
            *common_parts(self, backend, resolved),
            1 if backend.walks_chunks else block_size or DEFAULT_BLOCK,
            layout,
            backend.streaming_stores and self.overwrites and _has_dense_results(layout, operands),
            None if index_shape is None else len(index_shape),
            tuple((name, RawView.of(array)) for name, array in views),
            self.renews_scope(resolved.specs),
        )
        constants = specialization.constants(
            sum(o.itemsize for o in operands), index_shape, [array for _, array in views]
        )
        return LaunchGeometry.of(
            specialization,
            resolved,
            constants,
            layout.loop.size,
            specialization.launch,
            self.scratch(specialization.launch[0]),
        )

    def scratch(self, blocks: int) -> int:
        """Return the scratch memory (bytes) of a launch of so many blocks."""
        return 0

    def _views(
        self, arrays: Sequence[ArraySpec | None], space: Loop
    ) -> list[tuple[str, ArraySpec]]:
        """The arrays that the body indexes by ``_raw_`` names, broadcast to the loop's `space`."""
        walked = [
            (parameter, array)
            for parameter, array in zip(self.signature.parameters, arrays, strict=True)
            if array is not None and not parameter.raw
        ]
        return [
            (parameter.name, replace(array, shape=space.shape, strides=steps))
            for (parameter, array), steps in zip(walked, space.strides, strict=False)
            if self.views(parameter)
        ]

    def _operands(self, resolved: Resolved, backend: Capabilities) -> list[Operand]:
        operands = [
            Operand(
                array.dtype.itemsize,
                broadcast_strides(array.shape, array.strides, resolved.shape),
                array.offset,
                alignment_on(backend, array.dtype),
                not parameter.is_const,
                self._window(k, array),
            )
            for k, (parameter, array) in enumerate(
                zip(self.signature.parameters, resolved.specs, strict=True)
            )
            if array is not None and not parameter.raw
        ]
        if self.uses_index:
            operands.append(Operand(1, c_strides(resolved.shape, 1), 0, 0))
        return operands

    def _window(self, number: int, array: ArraySpec) -> tuple[int, int] | None:
        """See `Operand`. An axis of one element says nothing of its step."""
        if number >= len(self.windows):
            return None
        first, begins = self.windows[number]
        if len(begins) != array.ndim:
            return None
        if any(begin and n < 2 for begin, n in zip(begins, array.shape, strict=True)):
            return None
        return first, sum(b * step for b, step in zip(begins, array.strides, strict=True))

    def by_reference(self, resolved: Resolved) -> tuple[bool, ...]:
        """Whether the body reads the array itself, one a parameter."""
        every = self.works_on_arrays(resolved.specs)
        return tuple(every or p.raw for p in self.signature.parameters)

    @cached_property
    def _only_read(self) -> frozenset[str]:
        """Inputs that are not const, and that the body does not write."""
        inputs = frozenset(p.name for p in self.signature.inputs if not p.is_const)
        if not inputs or self.known_facts is not None:
            return frozenset()
        return inputs - self.facts.changed

    @cached_property
    def uses_index(self) -> bool:
        """Whether the body reads the element's index."""
        return not self.facts.observed.isdisjoint(("i", "_ind"))

    @cached_property
    def overwrites(self) -> bool:
        """Whether every array that the body writes is plainly overwritten, never read."""
        parameters = self.signature.parameters
        written = (p.name for p in parameters if not (p.raw or p.is_const))
        return self.facts.overwritten.issuperset(written)

    def works_on_arrays(self, arrays: Sequence[ArraySpec | None]) -> bool:
        """Return whether a thread of a call has one element, and works on the arrays themselves."""
        return (
            self.facts.by_reference
            or any(map(self.views, self.signature.parameters))
            or self.renews_scope(arrays)
        )

    def renews_scope(self, arrays: Sequence[ArraySpec | None]) -> bool:
        """Return whether the body changes variables of the kernel's scope: those of ``loop_prep``,
        and numbers that are ``_non_const``. Each element has its own, as one thread an element has.
        """
        own = {
            parameter.name
            for parameter, array in zip(self.signature.parameters, arrays, strict=True)
            if array is None and not parameter.is_const
        }
        if self.loop_prep:
            prepared = lex(self.loop_prep)
            own |= prepared.names if self.facts.opaque else declared_variables(prepared).keys()
        return not self.facts.changed.isdisjoint(own)


@record(slots=False)
class WaitingDefinition(ElementwiseDefinition):
    """A body whose blocks wait for each other: all of a launch are resident at once.

    Parameters
    ----------
    shared : int
        Dynamic shared memory of a block (bytes).
    published : int
        Bytes of scratch memory, for each block, behind the counters.
    """

    shared: int = 0
    published: int = 0

    has_scratch = True

    def scratch(self, blocks: int) -> int:
        """Return the scratch memory (bytes) of a launch: counters, then what blocks publish."""
        return 4 * COUNTERS + blocks * self.published


@record(slots=False)
class ElementwiseSpecialization(Specialization):
    """Everything that the source of one translation unit depends on.

    Parameters
    ----------
    definition, backend, binding, is_array, raw, block : see `Specialization`
    layout : Layout
        The last access is the index's if the body reads it. Of `Layout.loop` the number of
        dimensions counts, of `Layout.shift` whether a peeled prologue aligns all other vectors.
    streams : bool
        Whether results may bypass the caches on the host: they are dense and plainly overwritten.
    index_ndim : int or None
        Dimensions of ``_ind``, if the body reads it.
    views : tuple of (str, RawView)
        The arrays that the body indexes by ``_raw_`` names.
    renews_scope : bool
        Whether each element has the kernel's scope for itself.
    """

    definition: ElementwiseDefinition
    layout: Layout
    streams: bool
    index_ndim: int | None
    views: tuple[tuple[str, RawView], ...] = ()
    renews_scope: bool = False

    template = "elementwise"

    @property
    def strategy(self) -> str:
        """The layout class, and how each array is reached."""
        layout = self.layout
        sides = " x ".join(map(str, layout.box))
        arrays = zip(self.loop_arrays, layout.accesses, strict=False)
        kinds = "".join(f", {parameter.name} {access.kind}" for parameter, access in arrays)
        return f"{layout.variant}{f' of {sides}' if sides else ''}, {layout.width} a thread{kinds}"

    @property
    def no_remainder(self) -> bool:
        """Whether every thread has all of its elements: the source then has no part for the rest,
        which a compiler would spend a third of its time on.
        """
        layout = self.layout
        extents = layout.loop.shape
        if layout.variant == "vector":
            whole = layout.shift == 0 and layout.loop.size % layout.width == 0
            return whole and not any(access.in_words for access in layout.accesses)
        if layout.variant == "interleave":
            return layout.loop.size % (layout.width * self.block) == 0
        if layout.box:
            whole = all(n % side == 0 for n, side in zip(extents, layout.box, strict=True))
            patch = layout.patch
            threads = patch.lanes * patch.lines if patch else math.prod(layout.box)
            return whole and threads % self.block == 0
        return layout.side > 0 and extents[-1] % layout.side == 0 and extents[-2] % layout.side == 0

    @cached_property
    def per_element(self) -> bool:
        """Whether every element's coordinates are computed, not every vector's."""
        kinds = ("element", "held", "staged")
        return any(access.kind in kinds for access in self.layout.accesses)

    @cached_property
    def divisor_count(self) -> int:
        """How many divisors the decomposition of an element's or a tile's number needs."""
        return 0 if self.backend.walks_chunks else self.layout.ndim - 1

    @cached_property
    def strided(self) -> tuple[bool, ...]:
        """Which accesses need run-time steps."""
        on_host = self.backend.walks_chunks
        return tuple(on_host or a.kind not in ("flat", "uniform") for a in self.layout.accesses)

    @cached_property
    def arguments(self) -> ArgumentBlock:
        """The argument block of the entry point."""
        ndim = self.layout.ndim
        constant = [Field("long long _kt_n", "q")]
        if self.streams:
            constant.append(Field("long long _kt_stream", "q"))
        if self.layout.shift:
            constant.append(Field("long long _kt_shift", "q"))
        constant.append(Field(f"long long _kt_shape[{ndim}]", "q" * ndim))
        if self.divisor_count:
            wide = self.layout.wide_index
            constant.append(divisor_field("_kt_divisors", self.divisor_count, wide=wide))
        names = [parameter.name for parameter in self.loop_arrays] + ["i"]
        for name, strided in zip(names, self.strided, strict=False):
            if strided:
                constant.append(Field(f"long long _kt_s_{name}[{ndim}]", "q" * ndim))
        if self.index_ndim is not None:
            kind = f"kerneltk::index_space<{self.index_ndim}, {self.index_type}>"
            constant.append(Field(f"{kind} _kt_index_space", "q" * (1 + 2 * self.index_ndim)))
        constant += self.view_fields(self.views)
        dynamic = self.dynamic_fields()
        if self.definition.has_scratch:
            dynamic.insert(0, Field("char* _kt_scratch", "P"))
        return build_block(dynamic, constant)

    @property
    def index_type(self) -> str:
        """The C type of indices."""
        return "long long" if self.layout.wide_index else "int"

    def constants(
        self,
        item_bytes: int,
        index_shape: tuple[int, ...] | None,
        views: Sequence[ArraySpec] = (),
    ) -> bytes:
        """The constant part of the argument block.

        Parameters
        ----------
        item_bytes : int
            Bytes of all operands for one element.
        index_shape : tuple of int or None
            The shape that ``_ind`` shows, if the body reads it.
        views : sequence of ArraySpec
            The arrays that the body indexes by ``_raw_`` names.
        """
        layout = self.layout
        values = [layout.loop.size]
        if self.streams:
            values.append(int(layout.loop.size * item_bytes >= STREAM_BYTES))
        if layout.shift:
            values.append(layout.shift)
        values += layout.loop.shape
        if self.divisor_count:
            values += divisor_numbers(self._divisors(), wide=layout.wide_index)
        for strided, row in zip(self.strided, layout.loop.strides, strict=True):
            if strided:
                values += row
        if index_shape is not None:
            values += [layout.loop.size, *index_shape, *([0] * len(index_shape))]
        for array in views:
            values += [array.size, *array.shape, *array.strides]
        return self.arguments.constant.pack(*values)

    def _divisors(self) -> list[int]:
        """The divisors, innermost first; the outermost dimension is what remains."""
        shape, variant = self.layout.loop.shape, self.layout.variant
        if self.layout.box:
            return list(reversed(self._boxes[1:]))
        if side := self.layout.side:
            return [*_tiles(shape, side)[: self.divisor_count], *reversed(shape[1:-2])]
        inner = list(reversed(shape[1:]))
        if variant == "vector" and not self.per_element:
            inner[0] //= self.layout.width
        return inner

    @property
    def _boxes(self) -> tuple[int, ...]:
        """How many boxes cover each dimension."""
        layout = self.layout
        return tuple(-(-n // side) for n, side in zip(layout.loop.shape, layout.box, strict=True))

    @property
    def launch(self) -> tuple[int, int]:
        """The grid and its chunk size: see `LaunchGeometry`."""
        layout, on_host = self.layout, self.backend.walks_chunks
        if layout.side:
            side = HOST_TILE if on_host else layout.side
            grid = math.prod((*layout.loop.shape[:-2], *_tiles(layout.loop.shape, side)))
            return grid, max(1, HOST_CHUNK // side**2) if on_host else 1
        if on_host:
            return layout.loop.size, max(1, HOST_CHUNK // self.definition.work)
        if layout.box:
            return math.prod(self._boxes), 1
        return -(-(layout.loop.size + layout.shift) // (layout.width * self.block)), 1

    def headers(self) -> set[str]:
        """The package's headers that the kind of loop needs."""
        wanted = {"memory.hpp"}
        if any(self.raw) or self.views or self.index_ndim is not None:
            wanted.add("array_view.hpp")
        if self.streams:
            wanted.add("stream.hpp")
        if self.divisor_count:
            wanted.add("divide.hpp")
        return wanted

    def context(self) -> dict[str, Any]:
        """What the elementwise templates use beyond what all templates do."""
        definition, layout = self.definition, self.layout
        arrays = self.arrays(layout.accesses)
        index: Array | None = None
        if definition.uses_index and len(layout.accesses) > len(arrays):
            index = Array("i", "ptrdiff_t", True, layout.accesses[-1].kind, 1, True, 1, "", False)
        walked = [*arrays, *([index] if index is not None else [])]
        return {
            "loop_prep": ended(definition.loop_prep),
            "after_loop": ended(definition.after_loop),
            "operation": ended(self.widened(definition.operation, {})),
            "settled": self._settled(arrays),
            "arrays": arrays,
            "written": [a for a in arrays if not a.is_const],
            "index": index,
            "walked": walked,
            "uses_index": definition.uses_index,
            "changes_index": "i" in definition.facts.changed,
            "views": self.seen(self.views),
            "renews_scope": self.renews_scope,
            "local_memory": definition.facts.local_memory,
            "declares_n": all(p.name != "n" for p in definition.signature.parameters),
            "index_space": self.index_ndim is not None,
            "variant": layout.variant,
            "width": layout.width,
            "peeled": layout.shift > 0,
            "no_remainder": self.no_remainder,
            "streams": self.streams,
            # Written once and never left by a return, the operation needs no function of its own.
            "inline": not self.backend.walks_chunks
            and (self.no_remainder or layout.variant != "vector")
            and not definition.facts.exits_early,
            "unstaged_inputs": [a for a in arrays if a.is_const and a.kind == "element"],
            "ndim": layout.ndim,
            "block": self.block,
            "resident": definition.resident,
            "cluster": definition.cluster,
            "backwards": definition.backwards,
            "in_words": self._in_words(arrays),
            "guard": self._guard(),
            "patch": layout.patch,
            "taps": self._taps(arrays),
            "loads": {a.name: x.loads for a, x in zip(arrays, layout.accesses, strict=False)},
            "registers": self._registers(arrays),
            "box": layout.box,
            "box_orders": self._box_orders(arrays),
            "tile": HOST_TILE if self.backend.walks_chunks else layout.side,
            "per_element": self.per_element,
            "needs_coordinates": any(a.kind not in ("flat", "uniform") for a in walked),
            "index_type": self.index_type,
        }

    def _in_words(self, arrays: Sequence[Array]) -> dict[str, int]:
        """The step (elements) of neighbours of the arrays whose vectors are made of words."""
        layout = self.layout
        return {
            array.name: row[-1] // array.unit
            for array, access, row in zip(
                arrays, layout.accesses, layout.loop.strides, strict=False
            )
            if access.in_words
        }

    def _guard(self) -> str:
        """How many elements are first and last those around which words may be foreign: three bytes
        beside a dense vector; beside a row of strided ones its whole length.
        """
        layout = self.layout
        words = [access.kind for access in layout.accesses if access.in_words]
        if "strided" in words and layout.ndim > 1:
            return f"static_cast<_kt_index>(_kt_a._kt_shape[{layout.ndim - 1}])"
        return "4" if words else ""

    def _taps(self, arrays: Sequence[Array]) -> dict[str, tuple[str, int | None, int]]:
        """For each array of a patch the one whose registers have it, and by which row and column
        they begin; no row where one serves for all.
        """
        found: dict[str, tuple[str, int | None, int]] = {}
        for access, array in zip(self.layout.accesses, arrays, strict=False):
            if access.tap is not None:
                own, down, along = access.tap
                loads = self.layout.accesses[own].loads
                rows, columns = ([load[part] for load in loads] for part in (0, 1))
                row = None if set(rows) == {0} else down - min(rows)
                found[array.name] = arrays[own].name, row, along - min(columns)
        return found

    def _registers(self, arrays: Sequence[Array]) -> dict[str, tuple[int, int, int, int, int]]:
        """The first and the last row and column of a thread's registers, and how many rows below
        its own the last one is, of the arrays that a patch loads.
        """
        found = {}
        for access, array in zip(self.layout.accesses, arrays, strict=False):
            if access.loads and access.tap is not None:
                rows = [row for row, _, _ in access.loads]
                columns = [
                    c for _, first, count in access.loads for c in (first, first + count - 1)
                ]
                below = max(rows) + 1 - self.layout.width if max(rows) else 0
                found[array.name] = min(rows), max(rows), min(columns), max(columns), below
        return found

    def _box_orders(self, arrays: Sequence[Array]) -> dict[str, list[tuple[int, int, int]]]:
        """How the elements of a box are numbered, by a staged input's name in its own order, and by
        none in the loop's: for each dimension that the box has several elements along, the
        dimension, its elements, and the elements of one step along it.
        """
        box, found = self.layout.box, {}
        if self.layout.variant != "box":
            return {}
        dimensions = [d for d, side in enumerate(box) if side > 1]
        named = {a.name: row for a, row in zip(arrays, self.layout.loop.strides, strict=False)}
        for name in ["", *(a.name for a in arrays if a.kind == "staged")]:
            row = named.get(name, ())
            order = sorted(dimensions, key=lambda d: -abs(row[d])) if row else dimensions
            found[name] = [
                (d, box[d], math.prod(box[inner] for inner in order[k + 1 :]))
                for k, d in enumerate(order)
            ]
        return found

    def _settled(self, arrays: Sequence[Array]) -> list[str]:
        """The bools that are loaded as they lie in memory, with any byte; CPUs' loops load 0 or 1
        where they do not work on the arrays themselves.
        """
        facts, on_arrays = self.definition.facts, self.layout.variant == "by_reference"
        if self.backend.walks_chunks and not on_arrays:
            return []
        constants = {a.name for a in arrays if a.is_const}
        # Whoever asks for an element's address is given it.
        observed = addressed(self.definition.operation, constants) if on_arrays else set()
        skipped = observed | facts.overwritten
        return [a.name for a in arrays if a.is_bool and a.name not in skipped]


def _has_dense_results(layout: Layout, operands: Sequence[Operand]) -> bool:
    written = [
        access.kind == "row" and access.chunk >= operand.alignment
        for access, operand in zip(layout.accesses, operands, strict=True)
        if operand.written
    ]
    moved = sum(operand.itemsize for operand in operands if operand.written)
    return layout.variant == "vector" and all(written) and 0 < moved <= _STREAMED_ITEM


def _tiles(shape: Sequence[int], side: int) -> tuple[int, int]:
    """How many tiles of `side` elements cover the last and the next-to-last dimension."""
    return -(-shape[-1] // side), -(-shape[-2] // side)

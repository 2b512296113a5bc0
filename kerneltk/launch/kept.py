"""Launches in the compile cache: a process whose kernels are known neither schedules loops nor
makes sources.

There is an entry for a definition, the dtypes of a call and a target. It has a few records, each
for arguments of certain shapes, strides and alignments: a launch, and what tells that its object
code would have the same key again.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Sequence
from typing import Any, NamedTuple

from kerneltk import pipeline
from kerneltk.backends.base import QUIET, Backend, Function
from kerneltk.cache.derived import NOT_READ, Records
from kerneltk.cache.fingerprint import Trace
from kerneltk.codegen.definition import KernelDefinition
from kerneltk.codegen.specialization import LaunchGeometry
from kerneltk.core.artifacts import TranslationUnit
from kerneltk.core.capabilities import described_backend
from kerneltk.core.dtypes import described
from kerneltk.signature.resolve import Resolved

_NO_KEY = "0" * 64


class Launch(NamedTuple):
    """What is launched, but for the function.

    Parameters
    ----------
    grid, chunk, block : int
        As `kerneltk.launch.loops.Plan` has them.
    dynamic : str
        The ``struct`` format of what changes from call to call.
    size, constant_offset : int
        Of the argument block (bytes).
    constants : bytes
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
    constants: bytes
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
            geometry.constants,
            geometry.scratch,
            geometry.raw_geometry,
        )

    def as_fields(self) -> tuple[Any, ...]:
        """Its fields as JSON has them."""
        return self._replace(constants=self.constants.hex())  # type: ignore[arg-type]

    @classmethod
    def from_fields(cls, fields: Sequence[Any]) -> Launch:
        """Read what `as_fields` returned. Raises TypeError or ValueError for anything else."""
        grid, chunk, block, dynamic, size, offset, constants, scratch, raws = fields
        raw_geometry = tuple(tuple(map(int, row)) for row in raws)
        numbers = int(grid), int(chunk), int(block)
        return cls(
            *numbers, str(dynamic), int(size), int(offset), bytes.fromhex(constants), int(scratch),
            raw_geometry,
        )  # fmt: skip


def _chunk(geometry: LaunchGeometry) -> int:
    """The chunk size of a launch, as the backend's call takes it."""
    if geometry.may_last:
        return -geometry.chunk_size
    return geometry.chunk_size if geometry.may_trap else geometry.chunk_size | QUIET


class KeptLaunches:
    """The launches of a definition that the cache has."""

    def __init__(self, definition: KernelDefinition) -> None:
        self._definition = definition
        self._entries: dict[tuple[str, ...], Records] = {}

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
            found, launch = _provenance(shared), Launch.from_fields(fields)
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
            launch.as_fields(),
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
        records = self._entries.get(inputs)
        if records is None:
            records = self._entries[inputs] = Records("launch", 5, *inputs)
        return records


def _shared(provenance: pipeline.Provenance) -> str:
    """What a unit's key was found by, but for the key: most units of a process have the same."""
    return json.dumps(provenance._replace(trace=provenance.trace._replace(key=_NO_KEY)))


@functools.lru_cache(maxsize=64)
def _provenance(text: str) -> pipeline.Provenance:
    """Read what `_shared` returned. Raises TypeError or ValueError for anything else."""
    return pipeline.Provenance.from_fields(json.loads(text))


def _case_of(resolved: Resolved, options: Any) -> str:
    """What tells the calls of one entry apart."""
    layouts = [
        None if spec is None else (spec.shape, spec.strides, spec.offset) for spec in resolved.specs
    ]
    return repr((options, resolved.shape, resolved.out_shape, layouts))

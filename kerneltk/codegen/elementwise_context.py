"""An elementwise specialization -> what its templates are given."""

from __future__ import annotations

from typing import Any

from kerneltk.codegen.elementwise import HOST_TILE, ElementwiseSpecialization
from kerneltk.codegen.template_context import Array, arrays_of, ended
from kerneltk.schedule.elementwise import TILE

__all__ = ["elementwise_context", "elementwise_headers"]


def elementwise_headers(specialization: ElementwiseSpecialization) -> set[str]:
    """Return the package's headers that the kind of loop needs."""
    wanted = {"memory.hpp"}
    if any(specialization.raw) or specialization.index_ndim is not None:
        wanted.add("array_view.hpp")
    if specialization.streams:
        wanted.add("stream.hpp")
    if specialization.divisor_count:
        wanted.add("divide.hpp")
    return wanted


def elementwise_context(specialization: ElementwiseSpecialization) -> dict[str, Any]:
    """Return what the elementwise templates use beyond what all templates do."""
    definition = specialization.definition
    arrays = arrays_of(specialization, specialization.loop_arrays, specialization.accesses)
    index: Array | None = None
    if definition.uses_index and len(specialization.accesses) > len(arrays):
        access = specialization.accesses[-1]
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
        "index_space": specialization.index_ndim is not None,
        "variant": specialization.variant,
        "width": specialization.width,
        "shifted": specialization.shifted,
        "exact": specialization.exact,
        "streams": specialization.streams,
        # Written once and never left by a return, the operation needs no function of its own.
        "inline": not specialization.backend.walks_chunks
        and (specialization.exact or specialization.variant != "pack")
        and definition.stays_in_place,
        "direct_inputs": [a for a in arrays if a.is_const and a.kind == "element"],
        "ndim": specialization.ndim,
        "block": specialization.block,
        "tile": HOST_TILE if specialization.backend.walks_chunks else TILE,
        "per_element": specialization.per_element,
        "needs_coordinates": any(a.kind not in ("flat", "uniform") for a in walked),
        "index_type": "long long" if specialization.wide_index else "int",
    }

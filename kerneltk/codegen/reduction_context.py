"""A reduction's specialization -> what its templates are given."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from kerneltk.codegen.accumulator import MOST_BYTES
from kerneltk.codegen.reduction import ReductionSpecialization
from kerneltk.codegen.template_context import arrays_of, ended
from kerneltk.core.lexer import blanked
from kerneltk.schedule.reduction_cuda import COUNTERS

__all__ = ["reduction_context", "reduction_headers"]


@dataclass(frozen=True, slots=True)
class _Number:
    """One of the numbers that expressions read, and how it changes along the inner dimension."""

    name: str
    kind: str


@dataclass(frozen=True, slots=True)
class _View:
    """An array by its ``_raw_`` name."""

    name: str
    ctype: str
    ndim: int
    contiguous: str
    index: str
    is_const: bool


def reduction_headers(specialization: ReductionSpecialization) -> set[str]:
    """Return the package's headers that the kind of loop needs."""
    walks_chunks = specialization.backend.walks_chunks
    wanted = {"memory.hpp", "host_reduce.hpp" if walks_chunks else "reduce.hpp"}
    if any(specialization.raw) or specialization.views:
        wanted.add("array_view.hpp")
    if specialization.in_ndim is not None or specialization.out_ndim is not None:
        wanted.add("array_view.hpp")
    if any(specialization.divisor_counts):
        wanted.add("divide.hpp")
    return wanted


def _braced(text: str, has_fields: bool) -> tuple[str, str, str]:
    """Return what stands before an expression, the expression, and what stands behind it.

    One in braces makes a ``_type_reduce`` of its members.
    """
    seen = blanked(text)
    inner = seen.strip()
    if not (inner.startswith("{") and inner.endswith("}")):
        return "(", text, ")"
    begin = seen.index("{")
    end = seen.rindex("}")
    # A blank for each brace, so that columns stay as they are in messages.
    bare = text[:begin] + " " + text[begin + 1 : end] + " " + text[end + 1 :]
    return ("_type_reduce(", bare, ")") if has_fields else ("_type_reduce{", bare, "}")


def reduction_context(specialization: ReductionSpecialization) -> dict[str, Any]:
    """Return what the reduction templates use beyond what all templates do."""
    definition = specialization.definition
    accumulator = definition.accumulator
    arrays = arrays_of(specialization, specialization.loop_arrays, specialization.accesses)
    has_fields = bool(accumulator.fields)
    numbers = {
        name: _Number(name, access.kind)
        for name, access in zip(
            specialization.walked[len(arrays) :],
            specialization.accesses[len(arrays) :],
            strict=True,
        )
    }
    by_name = {p.name: p for p in definition.signature.parameters}
    index = "long long" if specialization.wide_index else "int"
    on_host = specialization.backend.walks_chunks
    inputs = [a for a in arrays if a.is_const]
    mask = [a for a in inputs if definition.mask and a.name == "_kt_where"]
    return {
        "accumulator": accumulator.declared(specialization.binding),
        # The user's own words where they are a type, so that messages show them.
        "accumulator_text": ended(accumulator.text)
        if accumulator.text.strip() == accumulator.ctype
        else "",
        "reduce_type": bool(accumulator.text),
        "fields": accumulator.fields,
        "most_bytes": MOST_BYTES,
        "map_expr": _texts(definition.map_expr, has_fields),
        "reduce_expr": _texts(definition.reduce_expr, has_fields),
        "identity": _texts(definition.identity, has_fields) if definition.identity else None,
        "post_map_expr": ended(definition.post_map_expr),
        "arrays": arrays,
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
        "in_ndim": specialization.in_ndim,
        "out_ndim": specialization.out_ndim,
        "views": [
            _View(
                name,
                by_name[name].c_type(),
                view.ndim,
                "true" if view.c_contiguous else "false",
                "long long" if view.wide_index else "int",
                by_name[name].is_const,
            )
            for name, view in specialization.views
        ],
        "overwritten": {p.name: definition.overwrites(p) for p in definition.signature.outputs},
        "on_host": on_host,
        "inlined": "__attribute__((always_inline)) " if on_host else "",
        "strategy": specialization.strategy,
        "width": specialization.width,
        # Neighbouring outputs that a thread of a column has in one pack.
        "pack": specialization.width
        if specialization.strategy == "columns" and not specialization.spread
        else 1,
        "spread": specialization.spread,
        "unroll": specialization.unroll,
        "lanes": specialization.lanes,
        "block": specialization.block,
        "peeled": specialization.peeled,
        "exact": specialization.exact,
        "rows": specialization.rows,
        # Packs of 16 bytes that a thread brings in of each input.
        "staged": {a.name: a.chunk for a in inputs if a.kind == "staged"},
        "length": specialization.length,
        "shared": specialization.shared,
        "counters": COUNTERS,
        "kept_ndim": specialization.kept_ndim,
        "reduced_ndim": specialization.reduced_ndim,
        "index_type": index,
    }


def _texts(text: str, has_fields: bool) -> tuple[str, str, str]:
    before, inner, behind = _braced(text, has_fields)
    return before, ended(inner), behind

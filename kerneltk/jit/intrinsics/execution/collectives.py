"""Collectives of blocks and warps: reductions, scans, broadcasts, sorting.

What calls of methods mean and what text they become. The device code is in the headers
``jit_block.hpp``, ``jit_warp.hpp`` and ``jit_sort.hpp``.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from kerneltk.jit import ir
from kerneltk.jit.intrinsics.base import (
    Builder,
    CallSite,
    Methods,
    Operation,
    Static,
    Value,
    method,
)
from kerneltk.jit.intrinsics.execution.combinations import (
    FUNCTORS,
    OPS,
    Combination,
    combination_of,
    combination_text,
)
from kerneltk.jit.intrinsics.execution.threads import barrier
from kerneltk.jit.intrinsics.templates import HEADERS, Collective, Scope, Template, memory_text
from kerneltk.jit.intrinsics.typing_rules import arguments_of, call, emitted, integer, static_value
from kerneltk.jit.intrinsics.values import fits
from kerneltk.jit.ir.types import BOOL, INT32, Array, Number, Opaque, Tuple, Type

_SUM = Static(FUNCTORS["Sum"])
_WAITS = frozenset((ir.Effect.WAITS, ir.Effect.MEMORY, ir.Effect.THREAD))


def _owner(low: Builder, owner: ir.Expression, site: CallSite) -> Collective:
    """Return the collective of a method's owner; one with storage of its own waits first, so that
    its calls may follow each other.
    """
    assert isinstance(owner.type, Opaque)
    details = dict(owner.type.details)
    collective: Collective = details["collective"]
    if details["role"] == "own" and collective.template.scope == "block":
        barrier(low, site.span)
    return collective


def _checked(
    low: Builder, value: Value, span: ir.Span, kind: Type, collective: Collective
) -> ir.Expression:
    """Return an argument as a value of a type."""
    found = low.exchanged(value, span)
    if not fits(found.type, kind):
        hint = f"use {collective.template.__name__} of another dtype."
        if isinstance(kind, Number) and isinstance(found.type, Number):
            hint = f"convert it with 'np.{kind}(x)', or " + hint
        raise low.fail(
            f"'{collective.__name__}' takes '{kind}', not {low.phrase(found)}.", span, hint
        )
    return low.convert(found, kind, span, "the argument")


def _valid(low: Builder, value: Value, span: ir.Span) -> tuple[ir.Expression, ...]:
    if isinstance(value, Static) and value.value is None:
        return ()
    return (low.cast(integer(low, value, span, "'valid'"), INT32),)


def _head(
    emitter: Any, name: str, node: ir.Call, collective: Collective, ctype: str = ""
) -> tuple[str, list[str]]:
    """Return a function with its template arguments, and its first arguments: the storage."""
    ctype = ctype or emitter.ctype(collective.item)
    if collective.template.scope == "warp":
        return f"kerneltk::jit::warp_{name}<{ctype}, {collective.threads[0]}>", []
    facts = ", ".join(collective.extents)
    memory = memory_text(emitter, node.arguments[0])
    return f"kerneltk::jit::block_{name}<{ctype}, {facts}>", [memory]


def _reduce_text(emitter: Any, node: ir.Call, texts: list[str]) -> str:
    collective, combination, has_valid, everywhere = node.static
    _, value, *others = texts
    valid, captured = (others[:1], others[1:]) if has_valid else ([], others)
    name = "reduce_all" if everywhere else "reduce"
    if valid and not everywhere and collective.template.scope == "warp":
        name = "reduce_valid"
    item = collective.item
    if isinstance(item, Number) and item.is_half and combination.text == FUNCTORS["Sum"].text:
        # In float, rounded once, as NumPy and ReductionKernel add numbers of 16 bits.
        head, storage = _head(emitter, name, node, collective, "float")
        arguments = [f"kerneltk::jit::storage_of_floats({memory})" for memory in storage]
        text = ", ".join([*arguments, f"static_cast<float>({value})", combination.text, *valid])
        return f"static_cast<{emitter.ctype(item)}>({head}({text}))"
    head, arguments = _head(emitter, name, node, collective)
    op = combination_text(emitter, item, combination, captured)
    return f"{head}({', '.join([*arguments, value, op, *valid])})"


def _combined(
    low: Builder, site: CallSite, collective: Collective, values: dict[str, Value],
    at: dict[str, ir.Span], operator: str,
) -> tuple[ir.Expression, Combination, tuple[ir.Expression, ...]]:  # fmt: skip
    """Return the input, and how an argument of that name, or a sum, combines two values of it: the
    combination and what it captures.
    """
    value = _checked(low, values["input"], at["input"], collective.item, collective)
    op, span = values.get(operator, _SUM), at.get(operator, site.span)
    return (value, *combination_of(low, site, op, collective.item, span))


_REDUCE = Operation("reduction", _reduce_text, _WAITS, HEADERS)


def _reduction(
    low: Builder, owner: ir.Expression, site: CallSite, *, of_sums: bool, everywhere: bool
) -> Value:
    names = ("input", "valid") if of_sums else ("input", "reduction_op", "valid")
    collective = _owner(low, owner, site)
    values, at = arguments_of(low, site, names, {"valid": None}), site.places(names)
    value, combination, captured = _combined(low, site, collective, values, at, "reduction_op")
    valid = _valid(low, values["valid"], at["valid"])
    arguments = [owner, value, *valid, *captured]
    facts = (collective, combination, bool(valid), everywhere)
    return low.temporary(call(_REDUCE, arguments, collective.item, site, *facts))


def _scan_text(emitter: Any, node: ir.Call, texts: list[str]) -> str:
    collective, combination, exclusive, with_total = node.static
    _, value, *others = texts
    initial, captured = (others[:1], others[1:]) if exclusive else ([], others)
    name = ("exclusive" if exclusive else "inclusive") + "_scan" + "_total" * with_total
    head, arguments = _head(emitter, name, node, collective)
    op = combination_text(emitter, collective.item, combination, captured)
    arguments += [value, op, *initial]
    if not with_total:
        return f"{head}({', '.join(arguments)})"
    ctype = emitter.ctype(collective.item)
    text = f"const {ctype} _kt_value = {head}({', '.join([*arguments, '_kt_total'])});"
    both = f"{emitter.ctype(node.type)}{{_kt_value, _kt_total}}"
    return f"[&] {{ {ctype} _kt_total; {text} return {both}; }}()"


_SCAN = Operation("scan", _scan_text, _WAITS, HEADERS)


def _scan(
    low: Builder, owner: ir.Expression, site: CallSite, *, exclusive: bool, of_sums: bool
) -> Value:
    names = ["input"]
    if not of_sums:
        names += ["initial", "scan_op"] if exclusive else ["scan_op"]
    names += ["total"]
    collective = _owner(low, owner, site)
    values, at = arguments_of(low, site, names, {"total": False}), site.places(names)
    item = collective.item
    value, combination, captured = _combined(low, site, collective, values, at, "scan_op")
    initial: list[ir.Expression] = []
    if exclusive:
        begin = Static(0 if item != BOOL else False) if of_sums else values["initial"]
        place = at.get("initial", site.span)
        initial = [_checked(low, begin, place, item, collective)]
    with_total = bool(static_value(low, values["total"], at["total"], "'total'"))
    kind = Tuple((item, item)) if with_total else item
    arguments = [owner, value, *initial, *captured]
    facts = (collective, combination, exclusive, with_total)
    return low.temporary(call(_SCAN, arguments, kind, site, *facts))


def _broadcast_text(emitter: Any, node: ir.Call, texts: list[str]) -> str:
    head, arguments = _head(emitter, "broadcast", node, node.static[0])
    return f"{head}({', '.join([*arguments, *texts[1:]])})"


_BROADCAST = Operation("broadcast", _broadcast_text, _WAITS, HEADERS)


def _broadcast(low: Builder, owner: ir.Expression, site: CallSite) -> Value:
    collective = _owner(low, owner, site)
    values = arguments_of(low, site, ("input", "source"), {"source": 0})
    at = site.places(("input", "source"))
    value = _checked(low, values["input"], at["input"], collective.item, collective)
    source = low.cast(integer(low, values["source"], at["source"], "A rank"), INT32)
    found = call(_BROADCAST, [owner, value, source], collective.item, site, collective)
    return low.temporary(found)


def _sort_text(emitter: Any, node: ir.Call, texts: list[str]) -> str:
    collective, descending, has_valid, in_place = node.static
    _, *others = texts
    valid = [others.pop()] if has_valid else []
    types = [emitter.ctype(k) for k in (collective.item, collective.value) if k is not None]
    facts = ", ".join([*types, str(collective.count), *collective.extents])
    name = "block_sort_pairs" if collective.value is not None else "block_sort"
    order = f"{OPS}{'descending' if descending else 'ascending'}()"
    memory = memory_text(emitter, node.arguments[0])

    def sorting(places: list[str]) -> str:
        arguments = ", ".join([memory, *places, order, *valid])
        return f"kerneltk::jit::{name}<{facts}>({arguments})"

    if in_place:
        return sorting(others)
    places = ["_kt_key", "_kt_value"][: len(others)]
    declared = "".join(
        f"{ctype} {place}[1] = {{{text}}}; "
        for ctype, place, text in zip(types, places, others, strict=True)
    )
    result = ", ".join(f"{place}[0]" for place in places)
    if len(places) > 1:
        result = f"{emitter.ctype(node.type)}{{{result}}}"
    return f"[&] {{ {declared}{sorting(places)}; return {result}; }}()"


_SORT = Operation("sort", _sort_text, _WAITS, ("jit_sort.hpp", *HEADERS))


def _sort(low: Builder, owner: ir.Expression, site: CallSite) -> Value:
    collective = _owner(low, owner, site)
    names = ("keys", "values") if collective.value is not None else ("keys",)
    parameters = (*names, "descending", "valid")
    given = arguments_of(low, site, parameters, {"descending": False, "valid": None})
    at = site.places(parameters)
    descending = bool(static_value(low, given["descending"], at["descending"], "'descending'"))
    valid = _valid(low, given["valid"], at["valid"])
    kinds = [kind for kind in (collective.item, collective.value) if kind is not None]
    in_place = collective.count > 1 or any(
        isinstance(getattr(v, "type", None), Array) for v in given.values()
    )
    places = []
    for name, kind in zip(names, kinds, strict=True):
        make = _own_array if in_place else _checked
        places.append(make(low, given[name], at[name], kind, collective))
    facts = (collective, descending, bool(valid), in_place)
    arguments = [owner, *places, *valid]
    if in_place:
        return emitted(low, _SORT, arguments, site, *facts)
    result = kinds[0] if len(kinds) == 1 else Tuple(tuple(kinds))
    return low.temporary(call(_SORT, arguments, result, site, *facts))


def _own_array(
    low: Builder, value: Value, span: ir.Span, kind: Type, collective: Collective
) -> ir.Expression:
    """Return a thread's keys or values: an array in local memory."""
    if not isinstance(value, Static) and isinstance(value.type, Array):
        wanted = (kind, "fixed", (collective.count,), "local")
        found = value.type
        own = found.element, found.layout, found.shape, found.space
        if own == wanted and not found.packed:
            return value
    items = "item" if collective.count == 1 else "items"
    raise low.fail(
        f"'{collective.__name__}' needs an array of {collective.count} {items} of '{kind}' in "
        f"local memory, not {low.phrase(value)}.",
        span,
        f"declare it in the same function: local_memory(np.{kind}, {collective.count}).",
    )


# -- the table ------------------------------------------------------------------------------------

_REDUCTIONS = Methods(
    {
        "Sum": method(partial(_reduction, of_sums=True, everywhere=False)),
        "Reduce": method(partial(_reduction, of_sums=False, everywhere=False)),
        "SumAll": method(partial(_reduction, of_sums=True, everywhere=True)),
        "ReduceAll": method(partial(_reduction, of_sums=False, everywhere=True)),
    }
)
_SCANS = Methods(
    {
        "InclusiveSum": method(partial(_scan, exclusive=False, of_sums=True)),
        "ExclusiveSum": method(partial(_scan, exclusive=True, of_sums=True)),
        "InclusiveScan": method(partial(_scan, exclusive=False, of_sums=False)),
        "ExclusiveScan": method(partial(_scan, exclusive=True, of_sums=False)),
    }
)
_BROADCASTS = Methods({"Broadcast": method(_broadcast)})
_SORTS = Methods({"Sort": method(_sort)})

_REDUCE_DOC = """

``Sum(input, valid=None)`` and ``Reduce(input, reduction_op, valid=None)`` return the total of the
values of the first ``valid`` {threads}, of all by default, in the first one; what the others get
means nothing. ``SumAll`` and ``ReduceAll`` return it in all of them. An operation is a functor of
``jit.cub``, a function of NumPy or a Python function of two values. It is associative; values are
combined in the order of {threads}.
"""
_SCAN_DOC = """

``InclusiveSum(input)`` and ``InclusiveScan(input, scan_op)`` return the total of the values up to
and with the thread's own; ``ExclusiveSum(input)`` and ``ExclusiveScan(input, initial, scan_op)``
that of ``initial`` and the values before it. With ``total=True`` they return a tuple of that and
the total of all values, without ``initial``.
"""
_STORAGE_DOC = """
All threads of the block call together, and before storage is used again comes ``syncthreads()``.
Without an argument a collective has storage of its own, for which it waits by itself. Blocks must
have the shape that is named in the brackets.
"""
_BROADCAST_DOC = """

``Broadcast(input, source=0)`` returns the value of the thread whose rank is ``source``.
"""
_SORT_DOC = """

``threads`` is an int or a tuple; ``count``, 1 by default, the keys of a thread, and the last dtype,
which may be missing, that of values that are moved with them.

``Sort(keys, descending=False, valid=None)`` and ``Sort(keys, values, ...)`` sort the keys of the
block, of which the thread of rank ``r`` has those from ``r * count`` on, in place in arrays in
local memory; a single key, or a key and a value, are returned. Equal keys keep their order. Keys
from ``valid`` on stay where they are.
"""
_WARP_DOC = "a warp, or of its parts of ``width`` lanes"

_ROWS: tuple[tuple[str, Scope, str, Methods, str], ...] = (
    (
        "BlockReduce",
        "block",
        "kerneltk::jit::block_reduce_storage<{0}, {threads}>",
        _REDUCTIONS,
        "Totals of a block: ``BlockReduce[dtype, x, y, z](temp)``."
        + _REDUCE_DOC.format(threads="threads")
        + _STORAGE_DOC,
    ),
    (
        "WarpReduce",
        "warp",
        "kerneltk::jit::no_storage",
        _REDUCTIONS,
        f"Totals of {_WARP_DOC}: ``WarpReduce[dtype, width](temp)``."
        + _REDUCE_DOC.format(threads="lanes"),
    ),
    (
        "BlockScan",
        "block",
        "kerneltk::jit::block_scan_storage<{0}, {threads}>",
        _SCANS,
        "Running totals of a block: ``BlockScan[dtype, x, y, z](temp)``."
        + _SCAN_DOC
        + _STORAGE_DOC,
    ),
    (
        "WarpScan",
        "warp",
        "kerneltk::jit::no_storage",
        _SCANS,
        f"Running totals of {_WARP_DOC}: ``WarpScan[dtype, width](temp)``." + _SCAN_DOC,
    ),
    (
        "BlockBroadcast",
        "block",
        "kerneltk::jit::block_broadcast_storage<{0}>",
        _BROADCASTS,
        "A thread's value for its block: ``BlockBroadcast[dtype, x, y, z](temp)``."
        + _BROADCAST_DOC
        + _STORAGE_DOC,
    ),
    (
        "BlockSort",
        "block",
        "kerneltk::jit::block_sort_storage<{0}, {threads}, {count}>",
        _SORTS,
        "Sorting within a block: ``BlockSort[key dtype, threads, count, value dtype](temp)``."
        + _SORT_DOC
        + _STORAGE_DOC,
    ),
)

TEMPLATES: dict[str, Template] = {row[0]: Template(*row) for row in _ROWS}

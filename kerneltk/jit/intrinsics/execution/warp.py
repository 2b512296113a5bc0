"""Collectives of a warp: shuffles, votes, matches."""

from __future__ import annotations

from functools import partial
from typing import Any

from kerneltk.jit import ir
from kerneltk.jit.intrinsics.base import (
    Builder,
    CallSite,
    Intrinsic,
    Operation,
    Rule,
    Static,
    Value,
)
from kerneltk.jit.intrinsics.execution.threads import as_mask, plain
from kerneltk.jit.intrinsics.typing_rules import arguments_of, call, integer, static_value
from kerneltk.jit.ir.types import BOOL, INT32, PY_INT, UINT32, Number, Record, Tuple

_WAITS = frozenset((ir.Effect.WAITS, ir.Effect.MEMORY, ir.Effect.THREAD))
_HEADERS = ("jit_shuffle.hpp",)


def _shuffle(name: str) -> Rule:
    operation, of_variable = (
        Operation(name, f"kerneltk::jit::{name}({{0}}, {{1}}, {{2}}, {width})", _WAITS, _HEADERS)
        for width in ("{static0}", "{3}")
    )

    def rule(low: Builder, site: CallSite) -> Value:
        values = arguments_of(low, site, ("mask", "var", "val_id", "width"), {"width": 32})
        mask = as_mask(low, values["mask"], site)
        var = low.exchanged(values["var"], site.span_of(1))
        if not isinstance(var.type, Number | Tuple | Record):
            raise low.fail(f"{low.describe(var)} cannot be exchanged.", site.span_of(1))
        place = low.cast(integer(low, values["val_id"], site.span_of(2), "A lane"), INT32)
        span = site.places(tuple(values))["width"]
        if not isinstance(values["width"], Static):  # a power of two, as CUDA has it
            parts = low.cast(integer(low, values["width"], span, "'width'"), INT32)
            return low.temporary(call(of_variable, [mask, var, place, parts], var.type, site))
        width = static_value(low, values["width"], span, "'width'")
        if width not in (1, 2, 4, 8, 16, 32):
            raise low.fail(f"'width' must be a power of two up to 32, not {width!r}.", span)
        return low.temporary(call(operation, [mask, var, place], var.type, site, width))

    return rule


def _vote(name: str, kind: Number, text: str) -> Rule:
    operation = Operation(name, text, _WAITS)

    def rule(low: Builder, site: CallSite) -> Value:
        values = arguments_of(low, site, ("mask", "predicate"))
        mask = as_mask(low, values["mask"], site)
        truth = low.as_expression(low.truth(values["predicate"], site.span_of(1)), site.span)
        return low.temporary(call(operation, [mask, truth], kind, site))

    return rule


_EQ, _MATCH_ANY, _MATCH_ALL = (
    Operation(f"{name}_sync", f"kerneltk::jit::{function}({{0}}, {{1}})", _WAITS, _HEADERS)
    for name, function in (
        ("eq", "all_equal"), ("match_any", "match_any"), ("match_all", "match_all"),
    )
)  # fmt: skip


def _match(operation: Operation, kind: Number, low: Builder, site: CallSite) -> Value:
    values = arguments_of(low, site, ("mask", "value"))
    mask = as_mask(low, values["mask"], site)
    value = low.as_number(values["value"], site.span_of(1))
    if ir.number_type(value).dtype.itemsize > 8:
        raise low.fail(f"'{site.name}' cannot compare '{value.type}'.", site.span_of(1))
    found = low.temporary(call(operation, [mask, value], kind, site))
    if operation is not _MATCH_ALL:
        return found
    zero = low.cast(ir.Literal_(0, PY_INT, site.span), UINT32)
    agreed = ir.Compare("!=", found, zero, site.span)
    return low.make_tuple([found, agreed], site.span)


_ACTIVE = Operation("activemask", "__activemask()", _WAITS)
_LESS = Operation(
    "lanemask_lt",
    "((1u << KERNELTK_LANE) - 1u)",
    frozenset((ir.Effect.THREAD,)),
    ("jit_threads.hpp",),
)


_ROWS: dict[str, tuple[Rule, str]] = {
    "shfl_sync": (
        _shuffle("shfl_sync"),
        "Return ``var`` of the lane ``val_id``, within parts of ``width`` lanes.",
    ),
    "shfl_up_sync": (
        _shuffle("shfl_up_sync"),
        "Return ``var`` of the lane that is ``val_id`` lower; the lowest get their own.",
    ),
    "shfl_down_sync": (
        _shuffle("shfl_down_sync"),
        "Return ``var`` of the lane that is ``val_id`` higher; the highest get their own.",
    ),
    "shfl_xor_sync": (
        _shuffle("shfl_xor_sync"),
        "Return ``var`` of the lane whose number differs in the bits of ``val_id``.",
    ),
    "all_sync": (
        _vote("all_sync", BOOL, "(__all_sync({0}, {1}) != 0)"),
        "Return whether ``predicate`` is true for all lanes of ``mask``.",
    ),
    "any_sync": (
        _vote("any_sync", BOOL, "(__any_sync({0}, {1}) != 0)"),
        "Return whether ``predicate`` is true for any lane of ``mask``.",
    ),
    "ballot_sync": (
        _vote("ballot_sync", UINT32, "__ballot_sync({0}, {1})"),
        "Return the lanes of ``mask`` for which ``predicate`` is true, one bit each.",
    ),
    "eq_sync": (
        partial(_match, _EQ, BOOL),
        "Return whether ``value`` is the same in all lanes of ``mask``.",
    ),
    "match_any_sync": (
        partial(_match, _MATCH_ANY, UINT32),
        "Return the lanes of ``mask`` that have the same ``value``.",
    ),
    "match_all_sync": (
        partial(_match, _MATCH_ALL, UINT32),
        "Return ``(mask, True)`` if all lanes have the same ``value``, else ``(0, False)``.",
    ),
    "activemask": (
        partial(plain, _ACTIVE, UINT32),
        "Return the lanes that are here at the same time.",
    ),
    "lanemask_lt": (partial(plain, _LESS, UINT32), "Return the lanes below this one."),
}

INTRINSICS: dict[str, Any] = {
    name: Intrinsic(name, rule, doc) for name, (rule, doc) in _ROWS.items()
}

"""Types that several values join to: variables, results, and values that a condition chooses.

Types are settled twice. First Python's numbers give way to every dtype, which shows what has a
dtype at all. Where a type so found does not hold a value, functions are lowered again, and each
type joins what is assigned to it: Python's numbers that are no constants count with 64 bits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from kerneltk.jit import ir
from kerneltk.jit.ir.joining import hint_for, join, narrow_join, plain
from kerneltk.jit.ir.promotion import clashing, joined_constant
from kerneltk.jit.ir.types import Number, Tuple, Type
from kerneltk.jit.lowering.context import Context


def use_of(low: Context, value: ir.Expression) -> Type:
    """Return the type of a value as it is joined: with what is known of constants."""
    kind = value.type
    if isinstance(value, ir.Construct) and isinstance(kind, Tuple):
        return replace(kind, items=tuple(use_of(low, item) for item in value.items))
    if isinstance(value, ir.Local) and value.name in low.constants:
        low.minds_constants = True
        return low.constants[value.name]
    if not isinstance(kind, Number) or not kind.weak:
        return kind
    if isinstance(value, ir.Literal_):
        return joined_constant(value.value)
    if isinstance(value, ir.Select):
        return join(low.mode, use_of(low, value.then), use_of(low, value.orelse)) or kind
    return kind


def joined(low: Context, first: Type, second: Type) -> Type | None:
    """Return the type that a variable and a value, or two values, join to; None if none."""
    if low.program.widening:
        return join(low.mode, first, second)
    found = narrow_join(low.mode, first, second)
    if found is not None and not all(_is_held(low, found, kind) for kind in (first, second)):
        low.is_cut = True
    return found


def joined_values(low: Context, values: Sequence[ir.Expression], spans: Sequence[ir.Span]) -> Type:
    """Return the type of an expression that is one of several values; raises if they have none."""
    found = use_of(low, values[0])
    origins = {plain(found): spans[0]}
    for value, span in zip(values[1:], spans[1:], strict=True):
        use = use_of(low, value)
        both = joined(low, found, use)
        if both is None:
            first, second = clash_of(low, found, use)
            raise low.clash(
                "The types of the two values do not go together.",
                (origins.get(first, spans[0]), f"'{first}'"),
                (span, f"'{second}'"),
                hint=hint_for(first, second),
            )
        origins.setdefault(plain(use), span)
        found = both
    return plain(found)


def clash_of(low: Context, first: Type, second: Type) -> tuple[Type, Type]:
    """Return the types to name where two have no join: of numbers the two dtypes."""
    if isinstance(first, Number) and isinstance(second, Number):
        return clashing(first, second, low.mode)
    return plain(first), plain(second)


def _is_held(low: Context, kind: Type, value: Type) -> bool:
    if not isinstance(kind, Number | Tuple):
        return True
    whole = join(low.mode, kind, value)
    return whole is not None and plain(whole) == kind

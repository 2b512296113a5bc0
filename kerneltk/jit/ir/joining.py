"""Types that annotations name, and types that values of several types join to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Literal, TypeAlias

import numpy as np

from kerneltk.core.dtypes import as_dtype, is_supported
from kerneltk.jit.ir.promotion import join_numbers, narrow_join_numbers, nothing_joined
from kerneltk.jit.ir.types import (
    OF_PYTHON,
    Array,
    Joined,
    Number,
    Reference,
    Tuple,
    Type,
    value_type,
)

_Numbers: TypeAlias = Callable[[Number, Number, str], Number | None]


def type_of_annotation(value: Any) -> Number | None:
    """Return the type that an annotation names; None if it names none of numbers."""
    if isinstance(value, type) and value in OF_PYTHON:
        return OF_PYTHON[value]
    if isinstance(value, np.dtype | str) or (
        isinstance(value, type) and issubclass(value, np.generic)
    ):
        try:
            dtype = as_dtype(value)
        except (TypeError, ValueError):
            return None
        return Number(dtype) if dtype.names is None and is_supported(dtype) else None
    if getattr(value, "__name__", "") == "bfloat16":
        return Number(as_dtype("bfloat16"))
    return None


def joined_references(first: Type, second: Type) -> Reference | None:
    """Return the type of references to records that lie in memory of two kinds; None if they are no
    references to records of one dtype.
    """
    if not (isinstance(first, Reference) and isinstance(second, Reference)):
        return None
    if first.element != second.element:
        return None
    spaces = {first.space, second.space}
    # What may be a thread's own may not outlive the thread.
    space = first.space if len(spaces) == 1 else "local" if "local" in spaces else "global"
    packed, writable = first.packed or second.packed, first.writable and second.writable
    return replace(first, space=space, writable=writable, packed=packed)


def hint_for(first: Type, second: Type) -> str:
    """Return a hint where numbers have no join, or a record in memory meets one that is a value;
    else nothing.
    """
    if isinstance(first, Number) and isinstance(second, Number):
        if first.is_integer and second.is_integer and not (first.weak or second.weak):
            return (
                "convert one of the values, with 'np.int64(x)' or 'np.uint64(x)': no integer type "
                "holds both."
            )
        kind = first if second.weak else second
        example = "float32" if kind.weak or kind.is_half else kind
        return f"convert one of the values, for example with 'np.{example}(x)'."
    if first == second or value_type(first) != value_type(second):
        return ""
    return "one of them is a record of an array, and the other a copy: use 'x[i].copy()'."


def plain(kind: Type) -> Type:
    """Return a type without what it was joined from."""
    if isinstance(kind, Joined):
        return Number(kind.dtype, kind.weak)
    if isinstance(kind, Tuple) and kind.items:
        return replace(kind, items=tuple(map(plain, kind.items)))
    return kind


def has_weak(kind: Type) -> bool:
    """Return whether one of Python's numbers is in a type."""
    if isinstance(kind, Tuple):
        return any(map(has_weak, kind.items))
    return isinstance(kind, Number) and kind.weak


def without_weak(kind: Type) -> Type:
    """Return a type to which Python's numbers have contributed nothing yet."""
    if isinstance(kind, Number) and kind.weak:
        return nothing_joined(kind)
    if isinstance(kind, Tuple) and kind.items:
        return replace(kind, items=tuple(map(without_weak, kind.items)))
    return kind


def narrow_join(mode: str, first: Type, second: Type) -> Type | None:
    """Return the type that values of both types meet in where Python's numbers give way."""
    return _join(mode, first, second, narrow_join_numbers)


def join(mode: str, first: Type, second: Type) -> Type | None:
    """Return the type of a variable that values of both types are assigned to."""
    return _join(mode, first, second, join_numbers)


def _join(mode: str, first: Type, second: Type, numbers: _Numbers) -> Type | None:
    if first == second:
        return first
    if isinstance(first, Number) and isinstance(second, Number):
        return numbers(first, second, mode)
    if isinstance(first, Tuple) and isinstance(second, Tuple):
        if len(first.items) != len(second.items) or first.maker is not second.maker:
            return None
        items = [_join(mode, a, b, numbers) for a, b in zip(first.items, second.items, strict=True)]
        if None in items:
            return None
        return Tuple(tuple(items), first.names, first.maker)  # type: ignore[arg-type]
    if isinstance(first, Reference) or isinstance(second, Reference):
        return joined_references(first, second)
    if isinstance(first, Array) and isinstance(second, Array):
        general: Literal["C", "strided"] = (
            "strided" if "strided" in (first.layout, second.layout) else "C"
        )
        found = [replace(kind, layout=general, shape=()) for kind in (first, second)]
        return found[0] if found[0] == found[1] else None
    return None

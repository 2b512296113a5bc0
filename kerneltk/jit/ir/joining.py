"""Types that annotations name, and types that values of several types join to."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal

import numpy as np

from kerneltk.core.dtypes import as_dtype, is_supported
from kerneltk.jit.ir.promotion import join_numbers
from kerneltk.jit.ir.types import (
    BOOL,
    PY_COMPLEX,
    PY_FLOAT,
    PY_INT,
    Array,
    Number,
    Reference,
    Tuple,
    Type,
    value_type,
)


def type_of_annotation(value: Any) -> Number | None:
    """Return the type that an annotation names; None if it names none of numbers."""
    if isinstance(value, type) and value in (int, float, complex, bool):
        return {int: PY_INT, float: PY_FLOAT, complex: PY_COMPLEX, bool: BOOL}[value]
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
    # What may be a thread's own may not be kept for longer than that.
    space = first.space if len(spaces) == 1 else "local" if "local" in spaces else "global"
    packed, writable = first.packed or second.packed, first.writable and second.writable
    return replace(first, space=space, writable=writable, packed=packed)


def hint_for(first: Type, second: Type) -> str:
    """Return a hint where a record in memory meets one that is a value; else nothing."""
    if first == second or value_type(first) != value_type(second):
        return ""
    return "one of them is a record of an array, and the other a copy: use 'x[i].copy()'."


def join(mode: str, first: Type, second: Type) -> Type | None:
    """Return the type of a variable that values of both types are assigned to."""
    if first == second:
        return first
    if isinstance(first, Number) and isinstance(second, Number):
        return join_numbers(first, second, mode)
    if isinstance(first, Tuple) and isinstance(second, Tuple):
        if len(first.items) != len(second.items) or first.maker is not second.maker:
            return None
        items = [join(mode, a, b) for a, b in zip(first.items, second.items, strict=True)]
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

"""The words that messages have for values."""

from __future__ import annotations

import types
from typing import Any

import numpy as np

from kerneltk.jit.intrinsics.base import BoundMethod, Static, Value
from kerneltk.jit.ir.types import Number
from kerneltk.jit.lowering.context import LocalFunction


def name_of(value: Any) -> str:
    """Return an object's own name, or that of its class."""
    return str(getattr(value, "__name__", type(value).__name__))


def reason_of(error: Exception) -> str:
    """Return the message of an exception of Python's, as the end of a sentence."""
    return str(error).rstrip(".")


def description_of(value: Value) -> str:
    """Return the words for a value at the beginning of a sentence."""
    if isinstance(value, Static):
        found = value.value
        if found is None:
            return "None"
        if isinstance(found, bool | int | float | complex | str | np.generic):
            return f"The constant {found!r}"
        if isinstance(found, tuple):
            return "A tuple"
        if isinstance(found, BoundMethod | LocalFunction):
            return f"The function '{name_of(found)}'"
        name = getattr(found, "__name__", "")
        if not isinstance(name, str) or not name:
            return f"An object of type '{type(found).__name__}'"
        if isinstance(found, type | types.ModuleType):
            return f"The {'class' if isinstance(found, type) else 'module'} '{name}'"
        return f"The function '{name}'" if callable(found) else f"'{name}'"
    kind = value.type
    if isinstance(kind, Number):
        return f"A number of type '{kind}'"
    return f"A value of type '{kind}'"


def phrase_of(value: Value) -> str:
    """Return the words for a value within a sentence."""
    words = description_of(value)
    return words if words == "None" else words[:1].lower() + words[1:]

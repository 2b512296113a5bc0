"""What a function may return: arrays and numbers, and tuples, lists and dicts of them."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Any


def is_named_tuple(kind: type) -> bool:
    """Whether a class is one of named tuples."""
    return issubclass(kind, tuple) and hasattr(kind, "_fields") and hasattr(kind, "_make")


def with_parts(value: Any, change: Callable[[Any], Any]) -> Any:
    """A result whose arrays, numbers and other objects are changed. What derives from `tuple`,
    `list` or `dict` is an object like any other: its class may compute its items.
    """
    kind = type(value)
    if kind is tuple or kind is list:
        return kind([with_parts(item, change) for item in value])
    if kind is dict or kind is OrderedDict:
        return kind([(change(key), with_parts(item, change)) for key, item in value.items()])
    if is_named_tuple(kind):
        return kind._make([with_parts(item, change) for item in value])
    return change(value)

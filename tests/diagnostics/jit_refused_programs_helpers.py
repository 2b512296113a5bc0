"""Functions that refused programs call: messages point into this file, and at the calls."""

from __future__ import annotations

from typing import Any


def norm(values: Any) -> Any:
    total = 0.0
    for value in values:
        total += value**2
    return total.sqrt()


def inner(value: Any, values: Any) -> Any:
    return value + values


def outer(value: Any, values: Any) -> Any:
    return 2 * inner(value, values)

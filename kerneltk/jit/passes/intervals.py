"""Interval arithmetic: between which integers the result of an operation lies.

The interval domain of abstract interpretation (Cousot and Cousot, POPL 1977). Python's ints are 64
bits wide here and are taken never to overflow; a NumPy integer whose result may leave its dtype can
be anything. Of what a division by zero gives nothing is promised.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from kerneltk.jit.ir.types import Number

Interval: TypeAlias = tuple[int, int]  # both ends belong to it

_LOW, HIGH = -(1 << 63), (1 << 63) - 1
_LIMITS: dict[str, Interval] = {"?": (0, 1)}
for _letter in "bhilqBHILQ":
    _info = np.iinfo(_letter)
    _LIMITS[_letter] = int(_info.min), int(_info.max)


def limits_of(kind: Any) -> Interval:
    """Return the least and the greatest value of an integer type, or of bool."""
    return _LIMITS[kind.dtype.char]


def carried(kind: Number, low: int, high: int) -> Interval:
    """Return the interval of an exact result as it is carried in a type."""
    if kind.weak:
        return (
            (low if low > _LOW else _LOW) if low < HIGH else HIGH,
            (high if high < HIGH else HIGH) if high > _LOW else _LOW,
        )
    whole = _LIMITS[kind.dtype.char]
    return (low, high) if whole[0] <= low and high <= whole[1] else whole


def without(interval: Interval, value: int) -> Interval:
    """Return an interval without one of its ends; may be empty."""
    low, high = interval
    return low + (low == value), high - (high == value)


def _multiply(a: Interval, b: Interval, kind: Number) -> Interval | None:
    if a[0] >= 0 and b[0] >= 0:
        return a[0] * b[0], a[1] * b[1]
    corners = (a[0] * b[0], a[0] * b[1], a[1] * b[0], a[1] * b[1])
    return min(corners), max(corners)


def _divide(a: Interval, b: Interval, kind: Number) -> Interval | None:
    if b[0] <= 0:
        if b[0] < 0 or b[1] == 0:
            return None
        b = 1, b[1]  # division by zero has no result
    return a[0] // b[a[0] >= 0], a[1] // b[a[1] < 0]


def _remainder(a: Interval, b: Interval, kind: Number) -> Interval | None:
    if b[0] <= 0:
        if b[0] < 0 or b[1] == 0:
            return None
        b = 1, b[1]
    if a[0] >= 0:
        return a if a[1] < b[0] else (0, min(a[1], b[1] - 1))
    return 0, b[1] - 1


def _shift_left(a: Interval, b: Interval, kind: Number) -> Interval | None:
    if b[0] < 0:
        return None
    if b[1] >= 8 * kind.dtype.itemsize:
        return (0, HIGH) if kind.weak and a[0] >= 0 else None
    return a[0] << b[a[0] < 0], a[1] << b[a[1] >= 0]


def _shift_right(a: Interval, b: Interval, kind: Number) -> Interval | None:
    if b[0] < 0:
        return None
    if b[1] >= 8 * kind.dtype.itemsize:
        return (0, a[1]) if a[0] >= 0 else None
    return a[0] >> b[a[0] >= 0], a[1] >> b[a[1] < 0]


def _and(a: Interval, b: Interval, kind: Number) -> Interval | None:
    if a[0] >= 0:
        return 0, (min(a[1], b[1]) if b[0] >= 0 else a[1])
    return (0, b[1]) if b[0] >= 0 else None


def _or(a: Interval, b: Interval, kind: Number, *, exclusive: bool = False) -> Interval | None:
    if a[0] < 0 or b[0] < 0:
        return None
    most = (1 << max(a[1].bit_length(), b[1].bit_length())) - 1
    return (0 if exclusive else max(a[0], b[0])), most


def _power(a: Interval, b: Interval, kind: Number) -> Interval | None:
    if not kind.weak or a[0] < 0 or b[0] < 0:
        return None
    return min(a[0], 1), HIGH


OPERATIONS: dict[str, Callable[[Interval, Interval, Number], Interval | None]] = {
    "+": lambda a, b, kind: (a[0] + b[0], a[1] + b[1]),
    "-": lambda a, b, kind: (a[0] - b[1], a[1] - b[0]),
    "*": _multiply,
    "//": _divide,
    "div": lambda a, b, kind: None if a[0] < 0 else _divide(a, b, kind),
    "%": _remainder,
    "rem": lambda a, b, kind: None if a[0] < 0 else _remainder(a, b, kind),
    "<<": _shift_left,
    ">>": _shift_right,
    "&": _and,
    "|": _or,
    "^": partial(_or, exclusive=True),
    "**": _power,
}

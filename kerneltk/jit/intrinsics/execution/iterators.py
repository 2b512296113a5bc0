"""Iterators of arrays in kernels: ``x.begin()``, ``x.end()``, and what `kerneltk.jit.thrust` makes.

The classes and functions are restricted Python, which kernels compile as any function that they
call.
"""

from __future__ import annotations

import dataclasses
from typing import Any


@dataclasses.dataclass(frozen=True)
class ArrayIterator:
    """A position in an array of one dimension: ``it + n``, ``it - n``, ``it[n]``, ``last - first``
    and comparisons, as of C++'s random access iterators.
    """

    array: Any
    position: int

    def __add__(self, count: Any) -> Any:
        return ArrayIterator(self.array, self.position + count)

    def __sub__(self, other: Any) -> Any:
        if isinstance(other, ArrayIterator):
            return self.position - other.position
        return ArrayIterator(self.array, self.position - other)

    def __getitem__(self, index: Any) -> Any:
        return self.array[self.position + index]

    def __eq__(self, other: Any) -> Any:
        return self.position == other.position

    def __ne__(self, other: Any) -> Any:
        return self.position != other.position

    def __lt__(self, other: Any) -> Any:
        return self.position < other.position

    def __le__(self, other: Any) -> Any:
        return self.position <= other.position

    def __gt__(self, other: Any) -> Any:
        return self.position > other.position

    def __ge__(self, other: Any) -> Any:
        return self.position >= other.position


@dataclasses.dataclass(frozen=True)
class ConstantIterator:
    """A range of equal values, which is only read."""

    value: Any
    position: int

    def __add__(self, count: Any) -> Any:
        return ConstantIterator(self.value, self.position + count)

    def __sub__(self, other: Any) -> Any:
        if isinstance(other, ConstantIterator):
            return self.position - other.position
        return ConstantIterator(self.value, self.position - other)

    def __getitem__(self, index: Any) -> Any:
        return self.value


@dataclasses.dataclass(frozen=True)
class CountingIterator:
    """The range ``value``, ``value + 1``, …, which is only read."""

    value: Any

    def __add__(self, count: Any) -> Any:
        return CountingIterator(self.value + count)

    def __sub__(self, other: Any) -> Any:
        if isinstance(other, CountingIterator):
            return self.value - other.value
        return CountingIterator(self.value - other)

    def __getitem__(self, index: Any) -> Any:
        return self.value + index


def begin(array: Any) -> Any:
    """Return an iterator at the first element."""
    return ArrayIterator(array, 0)


def end(array: Any) -> Any:
    """Return an iterator behind the last element."""
    return ArrayIterator(array, array.shape[0])


METHODS: dict[str, Any] = {"begin": begin, "end": end}
"""Methods of arrays of one dimension that give iterators."""

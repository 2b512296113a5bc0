"""Structures: what holds arrays and numbers, and is passed to kernels and returned by its items.

These are tuples, named tuples and dataclasses, also inside of each other, and members of an
``enum.Enum`` that are no numbers, whose item is their value. Lists and dictionaries
are none: a kernel has no type for them.
"""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Iterator
from typing import Any


def field_names(kind: type) -> tuple[str, ...] | None:
    """The names of the fields of a named tuple, a dataclass or a member of an enumeration; none
    for another tuple, None for what is no structure.
    """
    if is_enumeration(kind):
        return ("_value_",)  # 'value' may be a property of the class's own
    if issubclass(kind, tuple):
        return tuple(getattr(kind, "_fields", ()))
    if dataclasses.is_dataclass(kind):
        return tuple(field.name for field in dataclasses.fields(kind))
    return None


def is_enumeration(kind: type) -> bool:
    """Whether a class has members that are compared by what they are: an ``enum.Enum``, and no
    ``enum.Flag`` or class of numbers.
    """
    if not issubclass(kind, enum.Enum) or issubclass(kind, enum.Flag):
        return False
    return getattr(kind, "_member_type_", None) is object


def is_structure(value: Any) -> bool:
    """Whether a value is one; a dataclass itself, as a class, is none."""
    return field_names(type(value)) is not None


def named_items(value: Any, names: tuple[str, ...]) -> Iterator[tuple[int | str, Any]]:
    """The items of a structure by their names or, of a plain tuple, by their indices.

    Parameters
    ----------
    value : tuple or dataclass
    names : tuple of str
        As `field_names` returns them.
    """
    if isinstance(value, tuple):
        items = tuple.__iter__(value)  # not by the methods of a class of the user's
        yield from zip(names or range(tuple.__len__(value)), items, strict=True)
    else:
        for name in names:
            yield name, getattr(value, name)


def items_of(value: Any) -> tuple[Any, ...]:
    """The items of a structure; none for what is no structure."""
    names = field_names(type(value))
    return () if names is None else tuple(item for _, item in named_items(value, names))


def rebuilt(value: Any, items: tuple[Any, ...]) -> Any:
    """A structure of the same class with other items, made without calling the class."""
    kind = type(value)
    is_tuple = isinstance(value, tuple)
    made = tuple.__new__(kind, items) if is_tuple else object.__new__(kind)
    if hasattr(value, "__dict__"):  # what is no field, too
        made.__dict__.update(value.__dict__)
    if not is_tuple:
        for name, item in zip(field_names(kind) or (), items, strict=True):
            object.__setattr__(made, name, item)  # a frozen one, too
    return made

"""What constants of a trace are known by: their type and value, or which object they are."""

from __future__ import annotations

import contextlib
import types
import weakref
from collections.abc import Iterator
from typing import Any

import numpy as np

PLAIN = (bool, int, float, complex, str, bytes, type(None), type(...), np.generic)


def is_plain(value: Any) -> bool:
    """Whether there is nothing to be read of a value, as there may be of a subclass's."""
    kind = type(value)
    return kind in PLAIN or (isinstance(value, np.generic) and kind is not np.void)


def constant_kind(value: Any) -> Any:
    """What a constant is known by. ``(1,) == (1.0,)``, ``0.0 == -0.0`` and ``Decimal("1.0") ==
    Decimal("1.00")``, but they are other constants. Objects that are equal to themselves alone are
    not kept alive by it.
    """
    kind = type(value)
    if isinstance(value, tuple):
        return kind, tuple(map(constant_kind, value))
    if isinstance(value, frozenset):
        return kind, frozenset(map(constant_kind, value))
    if isinstance(value, float):
        return kind, float.__repr__(value)
    if isinstance(value, complex):
        return kind, complex.__repr__(value)
    if isinstance(value, np.generic):
        return kind, value.dtype, repr(value)
    if kind is range:
        return kind, value.start, value.stop, value.step
    if kind is types.MethodType:
        return kind, constant_kind(value.__func__), constant_kind(value.__self__)
    for base in kind.__mro__:
        if base.__module__ in _REPRESENTED:
            represented: Any = base.__repr__
            return kind, value, represented(value)
    if all(getattr(kind, name) is getattr(object, name) for name in ("__hash__", "__eq__")):
        with contextlib.suppress(TypeError):  # some have no weak references
            return kind, weakref.ref(value)
    return kind, value


def objects_in(key: Any) -> Iterator[Any]:
    """The objects whose end is that of a key of constants."""
    if isinstance(key, tuple | frozenset):
        for item in key:
            yield from objects_in(item)
    elif type(key) is weakref.ref:
        yield key()


_REPRESENTED = ("decimal", "datetime")  # equal ones of these may have other digits or zones


def is_same(found: Any, value: Any) -> bool:
    """Whether two numbers, strings or tuples of these are the same constant."""
    return found is value or (
        type(found) is type(value) and bool(constant_kind(found) == constant_kind(value))
    )


def is_value(value: Any) -> bool:
    """Whether a constant is compared by its type and value, and not by which object it is."""
    return is_plain(value) or (type(value) is tuple and all(map(is_value, value)))

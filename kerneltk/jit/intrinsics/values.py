"""Types of the values that collectives exchange."""

from __future__ import annotations

import typing
from typing import Any

import numpy as np

from kerneltk.core.dtypes import as_dtype, describe
from kerneltk.core.structures import field_names, is_enumeration
from kerneltk.errors import ArgumentTypeError
from kerneltk.jit.ir.promotion import common_type
from kerneltk.jit.ir.types import OF_PYTHON, Number, Record, Tuple, Type


def dtype_of(value: Any) -> np.dtype[Any]:
    """Return the dtype that an object names: of Python's ``int`` 64 bits, on all systems. Raises
    TypeError or ValueError for another object.
    """
    if isinstance(value, type) and value in OF_PYTHON:
        return OF_PYTHON[value].dtype
    return as_dtype("bfloat16" if getattr(value, "__name__", "") == "bfloat16" else value)


def item_type(dtype: Any) -> Type:
    """Return the type that a dtype, a tuple of them, a named tuple or a dataclass stands for."""
    if isinstance(dtype, tuple):
        return Tuple(tuple(map(item_type, dtype)))
    if isinstance(dtype, type):
        names = field_names(dtype)
        if names and not is_enumeration(dtype):
            hints = typing.get_type_hints(dtype)
            return Tuple(tuple(item_type(hints[name]) for name in names), names, dtype)
    if isinstance(dtype, str | np.dtype | type) or hasattr(dtype, "dtype"):
        try:
            found = dtype_of(dtype)
            describe(found)
        except TypeError:
            raise ArgumentTypeError(f"{dtype!r} is no dtype of values in kernels.") from None
        return Number(found) if found.names is None else Record(found)
    raise ArgumentTypeError(f"{dtype!r} is no dtype.")


def size_of(kind: Type) -> int:
    """Return the bytes of a value, without those between its items."""
    if isinstance(kind, Tuple):
        return sum(map(size_of, kind.items))
    assert isinstance(kind, Number | Record)
    return kind.dtype.itemsize


def fits(given: Type, wanted: Type) -> bool:
    """Return whether a value can become one of another type without losing anything."""
    if given == wanted:
        return True
    if isinstance(given, Number) and isinstance(wanted, Number):
        return common_type(given, wanted, "numpy") == wanted
    if isinstance(given, Tuple) and isinstance(wanted, Tuple):
        return (
            wanted.maker in (None, given.maker)
            and len(given.items) == len(wanted.items)
            and all(map(fits, given.items, wanted.items))
        )
    return False


# -- other libraries' names that stand for NumPy's: CuPy's functions, numba's types ----------------

_NUMBA_SCALARS = "numba.core.types.scalars"


def as_numpys(value: Any) -> Any:
    """Return NumPy's object for one of CuPy's functions or numba's scalar types (`numba.float32`).

    Anything else is returned as it is. Neither library is imported.
    """
    kind = type(value).__module__
    if kind == _NUMBA_SCALARS:
        return getattr(np, str(value), value)
    places = (kind, getattr(value, "__module__", None))
    if any(isinstance(place, str) and place.startswith("cupy.") for place in places):
        name = str(getattr(value, "__name__", "")).removeprefix("cupy_")
        return getattr(np, name, value)
    return value

"""What values are: constants and what these are known by, arrays, objects of libraries."""

from __future__ import annotations

import contextlib
import functools
import os
import sys
import types
import weakref
from collections import OrderedDict
from collections.abc import Callable, Iterator
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
    if issubclass(kind, float):  # a traced number says that it is one, and has no value
        return kind, float.__repr__(value)
    if issubclass(kind, complex):
        return kind, complex.__repr__(value)
    if issubclass(kind, np.generic):
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


# -- arrays and libraries ------------------------------------------------------------------------

_ABSENT = object()


def attribute_of(value: Any, name: str, default: Any = None) -> Any:
    """An attribute that every object of its kind has, without executing anything of the user's."""
    try:
        return object.__getattribute__(value, name)
    except AttributeError:
        return default


def is_library(module: str | None) -> bool:
    """Whether a module is one whose functions are called as they are."""
    # Classes may have anything of this name, and objects that stand for modules' attributes, too.
    root = module.partition(".")[0] if isinstance(module, str) else ""
    if root in ("numpy", "cupy", "cupyx", "scipy", "kerneltk", "torch", "jax"):
        return True
    return root in sys.stdlib_module_names and not _is_shadowed(root)


@functools.cache
def _is_shadowed(root: str) -> bool:
    """Whether a module of the user's has the name of one of the standard library."""
    path = getattr(sys.modules.get(root), "__file__", None)
    folder = _STANDARD if path is None else os.path.dirname(os.path.abspath(path))
    return not folder.startswith(_STANDARD) or "site-packages" in folder


_STANDARD = os.path.dirname(os.path.abspath(os.__file__))


def is_library_function(function: types.FunctionType) -> bool:
    """Whether a function is one of a library's, which one that was wrapped by its names is not."""
    home = function.__globals__.get("__name__")
    return is_library(home) and is_library(function.__module__)


_NO_ARRAYS = (np.generic, type, int, float, complex, str)


def is_array(value: Any) -> bool:
    """Whether a value from outside of the trace is an array."""
    return isinstance(value, np.ndarray) or (
        not isinstance(value, _NO_ARRAYS)
        and all(
            attribute_of(value, name, _ABSENT) is not _ABSENT
            for name in ("dtype", "strides", "shape")
        )
    )


_LIBRARIES = ("numpy", "cupy", "torch")
_AS_ARRAYS = (np.ndarray, np.memmap, np.recarray, np.ma.MaskedArray)  # of NumPy's own classes
# What says how an object is made, shown, kept and found, and nothing of its elements.
_HARMLESS = frozenset(
    (
        "__array_finalize__", "__class_getitem__", "__del__", "__dict__", "__doc__",
        "__format__", "__init__", "__init_subclass__", "__module__", "__new__", "__reduce__",
        "__reduce_ex__", "__repr__", "__setstate__", "__sizeof__", "__slots__", "__str__",
        "__weakref__", "__annotations__", "__firstlineno__", "__static_attributes__",
    )
)  # fmt: skip


def computes_otherwise(kind: type) -> bool:
    """Whether a class of arrays has operators, methods or attributes of its own in place of those
    of the library's arrays: what is traced are the library's.
    """
    library = next((base for base in kind.__mro__ if _root(base) in _LIBRARIES), None)
    if library is None:
        return False
    if issubclass(library, np.ndarray) and library not in _AS_ARRAYS:
        return True  # such as np.matrix
    for base in kind.__mro__[: kind.__mro__.index(library)]:
        if any(hasattr(library, name) for name in vars(base).keys() - _HARMLESS):
            return True
    return False


def kind_of_results(kind: type | None) -> type | None:
    """The class of what is computed of arrays of a class; None for NumPy's own classes."""
    if kind is None or issubclass(kind, np.ndarray):
        return None
    torch = sys.modules.get("torch")
    return torch.Tensor if torch is not None and issubclass(kind, torch.Tensor) else kind


def _root(kind: type) -> str:
    return kind.__module__.partition(".")[0]


# -- what a function may return: arrays and numbers, and tuples, lists and dicts of them -----------


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

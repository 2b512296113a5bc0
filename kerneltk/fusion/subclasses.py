"""Classes that derive from a library's arrays, and whether they compute as these do."""

from __future__ import annotations

import sys

import numpy as np

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

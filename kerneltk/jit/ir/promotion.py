"""Which type an operation on numbers is computed in: NumPy's promotion (NEP 50), and C++'s order.

Two strong dtypes meet by the mode: ``"numpy"`` asks NumPy; ``"cuda"`` takes the one that stands
later in C++'s order, so that int32 and float32 make float32. A weak number takes the other one's
dtype where that can hold its kind. Bools count as Python's: their sum is an int.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from kerneltk.jit.ir.types import BOOL, PY_FLOAT, PY_INT, Number

_ORDER: tuple[str, ...] = (
    "bool",
    "int8",
    "uint8",
    "int16",
    "uint16",
    "int32",
    "uint32",
    "int64",
    "uint64",
)
_ORDER += ("float16", "bfloat16", "float32", "float64", "complex64", "complex128")
_RANK = {name: rank for rank, name in enumerate(_ORDER)}

BITWISE = frozenset("&|^")
SHIFTS = frozenset(("<<", ">>"))


def _kind(kind: Number) -> int:
    """Return 0 for a bool, 1 for an integer, 2 for a real number, 3 for a complex one."""
    if kind.is_complex:
        return 3
    if kind.is_floating:
        return 2
    return 1 if kind.is_integer else 0


_COMPLEX = {"float16": "complex64", "bfloat16": "complex64", "float32": "complex64"}


@lru_cache(maxsize=4096)
def common_type(left: Number, right: Number, mode: str) -> Number | None:
    """Return the type that two numbers meet in; None if there is none."""
    if left == right:
        return left
    if left.weak and right.weak:
        return left if _kind(left) > _kind(right) else right
    if left.weak:
        left, right = right, left
    if right.weak:
        if left == BOOL or _kind(right) <= _kind(left):
            return right if left == BOOL else left
        if right.is_complex:  # an integer counts as a float64
            return Number(np.dtype(_COMPLEX.get(left.dtype.name, "complex128")))
        return Number(np.dtype(np.float64))
    return _strong(left.dtype, right.dtype, mode)


def _strong(left: np.dtype[Any], right: np.dtype[Any], mode: str) -> Number | None:
    if left == right:
        return Number(left)
    if {left.name, right.name} == {"float16", "bfloat16"}:
        return None  # neither holds the other
    if mode == "cuda":
        later = max(left, right, key=lambda dtype: _RANK[dtype.name])
        if later.name == "complex64" and "float64" in (left.name, right.name):
            later = np.dtype(np.complex128)
        return Number(later)
    if "bfloat16" in (left.name, right.name):
        small, other = (left, right) if left.name == "bfloat16" else (right, left)
        if other.kind not in "iub":
            return Number(other)
        if other.itemsize == 1:  # as ml_dtypes: it holds 8 bits of an integer
            return Number(small)
        return Number(np.dtype(np.float32 if other.itemsize == 2 else np.float64))
    return Number(np.result_type(left, right))


@lru_cache(maxsize=4096)
def operand_type(op: str, left: Number, right: Number, mode: str) -> Number | None:
    """Return the type that a binary operation is computed in; None if there is none."""
    kind = common_type(left, right, mode)
    if kind is None:
        return None
    if op in BITWISE:
        return kind if kind == BOOL or kind.is_integer else None
    if op in SHIFTS:
        if kind == BOOL:
            return PY_INT
        return kind if kind.is_integer else None
    if op in ("<", "<=", ">", ">=", "==", "!="):
        return None if kind.is_complex and op not in ("==", "!=") else kind
    if kind == BOOL:
        kind = PY_INT
    if op in ("//", "%") and kind.is_complex:
        return None
    if op == "/" and kind.is_integer:
        return PY_FLOAT if kind.weak else Number(np.dtype(np.float64))
    return kind


def join_numbers(first: Number, second: Number, mode: str) -> Number | None:
    """Return the type of a variable that both are assigned to; None if there is none."""
    return common_type(first, second, mode)

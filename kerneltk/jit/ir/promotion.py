"""Which type an operation on numbers is computed in: NumPy's promotion (NEP 50), and C++'s order.

Two strong dtypes meet by the mode: ``"numpy"`` asks NumPy; ``"cuda"`` takes the one that stands
later in C++'s order, so that int32 and float32 make float32; in ``"numba"``, operators have widened
integers before (`operators.operate`), and the rest is NumPy's. A weak number takes the other one's
dtype where that can hold its kind. Bools count as Python's: their sum is an int.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import product
from typing import Any

import numpy as np

from kerneltk.jit.ir.types import (
    BOOL,
    FLOAT64,
    PY_COMPLEX,
    PY_FLOAT,
    PY_INT,
    UINT64,
    Joined,
    Number,
)

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
        return FLOAT64
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
        # NumPy orders complex numbers, and Python does not.
        return None if kind == PY_COMPLEX and op not in ("==", "!=") else kind
    if kind == BOOL:
        kind = PY_INT
    if op in ("//", "%") and kind.is_complex:
        return None
    if op == "/" and kind.is_integer:
        return PY_FLOAT if kind.weak else FLOAT64
    return kind


def _holds(name: str, value: Any) -> bool:
    """Return whether a dtype holds one of Python's numbers: an integer exactly, others rounded, but
    not as an infinity or as a zero.
    """
    if name == "bfloat16":  # the first 16 bits of a float32
        if isinstance(value, int):
            return value == 0 or (abs(value) // (value & -value)).bit_length() <= 8
        return _holds("float32", value) and not 3.3895e38 < abs(value) < np.inf
    dtype = np.dtype(name)
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        return isinstance(value, int) and bool(limits.min <= value <= limits.max)
    if isinstance(value, complex):
        part = "float32" if name == "complex64" else "float64"
        return dtype.kind == "c" and _holds(part, value.real) and _holds(part, value.imag)
    with np.errstate(all="ignore"):
        found = complex(np.array(value).astype(dtype)).real
    if isinstance(value, int) or not np.isfinite(value):
        return bool(found == value or value != value)
    return bool(abs(found - value) <= abs(value) / 256)


@lru_cache(maxsize=256)
def _held_by(kind: str, value: Any) -> frozenset[str]:
    return frozenset(name for name in _ORDER[1:] if _holds(name, value))


def joined_constant(value: Any) -> Joined:
    """Return the number of a variable that one of Python's numbers, a constant, is assigned to."""
    kind = PY_INT if isinstance(value, int) else PY_FLOAT
    kind = PY_COMPLEX if isinstance(value, complex) else kind
    held = _held_by(kind.dtype.kind, value)
    signed = kind == PY_INT and "uint64" not in held
    return Joined(kind.dtype, True, constant=kind, held=held, signed=signed)


def nothing_joined(kind: Number) -> Joined:
    """Return the number of a variable that nothing has been assigned to."""
    return Joined(kind.dtype, kind.weak)


def _parts(kind: Number) -> Joined:
    if isinstance(kind, Joined):
        return kind
    if kind.weak:
        return Joined(kind.dtype, True, unknown=kind, signed=kind == PY_INT)
    return Joined(kind.dtype, False, frozenset((kind,)))


def _both(first: Number | None, second: Number | None, mode: str) -> Number | None:
    if first is None or second is None:
        return first or second
    return common_type(first, second, mode)


@lru_cache(maxsize=4096)
def _strong_join(kinds: frozenset[Number], mode: str) -> Number | None:
    """Return the type of a variable that numbers of some dtypes are assigned to; None if none.

    All dtypes join at once, so that their order does not matter. Integers keep their values among
    integers, in both modes: uint64 and a signed integer have no join, whatever else there is (in
    numba a float64). What they join to meets the floats by the mode.
    """
    integers = [kind.dtype for kind in kinds if kind.is_integer]
    found = [Number(np.result_type(*integers))] if integers else []
    halves = {kind.dtype.name for kind in kinds if kind.is_half}
    if (found and not found[0].is_integer and mode != "numba") or len(halves) == 2:
        return None
    found += [kind for kind in kinds if not kind.is_integer]
    kind: Number | None = found[0]
    for other in found[1:]:
        kind = kind and common_type(kind, other, mode)
    return kind


def clashing(first: Number, second: Number, mode: str) -> tuple[Number, Number]:
    """Return the two dtypes, one of each number, that have no join; else the numbers' types."""
    for pair in product(_parts(first).strong, _parts(second).strong):
        if _strong_join(frozenset(pair), mode) is None:
            return pair
    if UINT64 in _parts(first).strong and _parts(second).signed:
        return UINT64, PY_INT
    if UINT64 in _parts(second).strong and _parts(first).signed:
        return PY_INT, UINT64
    return Number(first.dtype, first.weak), Number(second.dtype, second.weak)


def _with_unknown(kind: Number, other: Number) -> Number | None:
    """Return the type that holds a number of a dtype and one of Python's that is not known: NumPy's
    default integer at least, or float64. None if there is none.
    """
    if kind == BOOL:
        return other
    if kind.dtype == np.uint64 and other == PY_INT:
        return None
    return common_type(Number(other.dtype), kind, "numpy")


def narrow_join_numbers(first: Number, second: Number, mode: str) -> Number | None:
    """Return the type that two numbers join to where Python's numbers give way; None if none."""
    strong = _parts(first).strong | _parts(second).strong
    if first.weak or second.weak:
        a, b = (Number(kind.dtype, kind.weak) for kind in (first, second))
        found = common_type(a, b, mode)
        if found not in (a, b) and found is not None:  # a float beside integers
            strong |= {found}
    else:
        found = _strong_join(strong, mode)
    if found is None or found.weak or len(strong) < 2:
        return found
    return Joined(found.dtype, False, strong)


@lru_cache(maxsize=4096)
def join_numbers(first: Number, second: Number, mode: str) -> Number | None:
    """Return the type of a variable that both are assigned to; None if there is none.

    It holds the values of both. A constant that the dtypes hold has no part in it; any other of
    Python's numbers has 64 bits.
    """
    a, b = _parts(first), _parts(second)
    strong = a.strong | b.strong
    signed = a.signed or b.signed
    if mode == "numba" and signed and UINT64 in strong:
        strong, signed = strong | {FLOAT64}, False
    kind = _strong_join(strong, mode) if strong else None
    if (strong and kind is None) or (signed and UINT64 in strong):
        return None
    unknown, constant = _both(a.unknown, b.unknown, mode), _both(a.constant, b.constant, mode)
    held = a.held & b.held if a.constant and b.constant else a.held or b.held
    for other, is_known in ((constant, True), (unknown, False)):
        if kind is None or other is None:
            kind = kind or other
            continue
        met = common_type(kind, other, mode)
        if not kind.weak and met != other and not (is_known and met and met.dtype.name in held):
            met = _with_unknown(kind, other)
        if met is None:
            return None
        kind = met
    if kind is None:
        return first
    is_plain = constant is None and len(strong) < 2 and not (strong and unknown)
    if is_plain and signed == (kind == PY_INT):
        return kind
    return Joined(kind.dtype, kind.weak, strong, unknown, constant, held, signed)

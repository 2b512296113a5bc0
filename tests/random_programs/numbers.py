"""What operations of kernels in Python mean, in plain Python with NumPy's scalars.

The reference of a random program calls these. Each is Python's or NumPy's own operation, with what
the documentation says is different: one bool, which counts as an int; Python's ints of 64 bits;
variables and choices of one type; the promotion of ``mode="cuda"``; casts that convert as in C++.
What the documentation leaves undefined raises `UndefinedError`.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from .exclusions import EXCLUSIONS

__all__ = [
    "EXTREMES",
    "FLOATS",
    "INTEGERS",
    "WEAK",
    "Semantics",
    "UndefinedError",
    "kind_of",
    "sample",
]

INTEGERS = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")
FLOATS = ("float16", "float32", "float64")
COMPLEXES = ("complex64", "complex128")
WEAK = {"int": int, "float": float, "complex": complex}
# C++'s order: of two dtypes, the later one is that of the result where mode is "cuda".
ORDER = (*INTEGERS, *FLOATS, *COMPLEXES)

OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv,
    "//": operator.floordiv, "%": operator.mod, "**": operator.pow,
    "&": operator.and_, "|": operator.or_, "^": operator.xor,
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
    "==": operator.eq, "!=": operator.ne,
}  # fmt: skip
EXTREMES = ("minimum", "maximum", "fmin", "fmax", "clip")


class UndefinedError(Exception):
    """A program does what the documentation says is undefined, for these arguments."""

    def __init__(self, what: str) -> None:
        assert what in EXCLUSIONS, what
        super().__init__(what)


def kind_of(value: Any) -> str:
    """Return a dtype's name; of Python's own numbers ``"int"``, ``"float"`` or ``"complex"``."""
    if isinstance(value, bool | np.bool_):
        return "bool"
    if isinstance(value, np.generic):
        return value.dtype.name
    return type(value).__name__


def sample(kind: str) -> Any:
    """Return a one of a kind."""
    if kind == "bool":
        return True
    return WEAK[kind](1) if kind in WEAK else np.dtype(kind).type(1)


def loaded(value: Any) -> Any:
    """Return an element as kernels see it: there is one bool."""
    return bool(value) if isinstance(value, np.bool_) else value


def in_64_bits(value: int) -> int:
    if not -(2**63) <= value < 2**63:
        raise UndefinedError("a Python int that leaves 64 bits")
    return value


def checked(value: Any) -> Any:
    """Return a result as kernels have it."""
    if type(value) is int:
        return in_64_bits(value)
    return loaded(value)


class Semantics:
    """The operations, by the mode in which two dtypes meet."""

    def __init__(self, mode: Literal["numpy", "cuda"]) -> None:
        self.mode = mode

    @property
    def names(self) -> dict[str, Any]:
        """What the text of a reference calls them."""
        return {
            "_load": loaded, "_to": self.to, "_op": self.binary, "_cmp": self.compare,
            "_neg": self.negative, "_inv": self.inverse, "_abs": self.absolute,
            "_shift": self.shift, "_min": self.least, "_max": self.largest,
            "_round": self.rounded, "_digits": self.digits,
            "_divmod": self.divmod, "_call": self.call, "_store": self.store,
            "_target": self.target, "_update": self.update,
            "_where": self.where,
        }  # fmt: skip

    # -- types ---------------------------------------------------------------------------------

    def common(self, first: str, second: str) -> str:
        """Return the kind that two kinds meet in."""
        if first == second:
            return first
        if "bool" in (first, second):
            return second if first == "bool" else first
        if first in WEAK and second in WEAK:
            return max(first, second, key=list(WEAK).index)
        if first not in WEAK and second not in WEAK and self.mode == "cuda":
            later = max(first, second, key=ORDER.index)
            is_wide = later == "complex64" and "float64" in (first, second)
            return "complex128" if is_wide else later
        return np.result_type(
            *(WEAK[kind](0) if kind in WEAK else np.dtype(kind) for kind in (first, second))
        ).name

    def join(self, *values: tuple[str, bool]) -> str | None:
        """Return the kind that holds numbers, each a kind and whether it is a constant; None if
        there is none. Constants are small: every dtype holds them.
        """
        kinds = [kind for kind, is_known in values if is_known or kind not in WEAK]
        found = kinds[0] if kinds else values[0][0]
        for kind in kinds[1:]:
            if not {"bool", *WEAK} & {found, kind} and all(
                np.dtype(each).kind in "iu" for each in (found, kind)
            ):
                found = np.result_type(found, kind).name
                if found == "float64":
                    return None
            else:
                found = self.common(found, kind)
        for kind in (kind for kind, is_known in values if kind in WEAK and not is_known):
            if found in ("bool", *WEAK):
                found = self.common(found, kind)
            elif (found, kind) == ("uint64", "int"):
                return None
            else:
                found = np.result_type(found, np.dtype(WEAK[kind])).name
        return found

    def to(self, value: Any, kind: str) -> Any:
        """Return a number of another kind, as a cast in C++ gives it."""
        if kind_of(value) == kind:
            return loaded(value)
        if kind == "bool":
            return bool(value)
        dtype = np.dtype(WEAK.get(kind, kind))
        if dtype.kind in "iu":
            return self._to_integer(value, dtype, kind)
        if isinstance(value, int):
            in_64_bits(value)
            value = np.int64(value) if not isinstance(value, bool) else np.int8(value)
        found = np.asarray(value).astype(dtype)[()]
        return found.item() if kind in WEAK else found

    def _to_integer(self, value: Any, dtype: np.dtype[Any], kind: str) -> Any:
        limits = np.iinfo(dtype)
        is_float = isinstance(value, float | np.floating)
        if is_float and not (math.isfinite(value) and limits.min <= int(value) <= limits.max):
            raise UndefinedError("a float beyond the range of the integer that it becomes")
        number = int(value)
        if kind in WEAK:
            return in_64_bits(number)
        bits = 8 * dtype.itemsize
        number &= (1 << bits) - 1
        return dtype.type(number - (1 << bits) if number > limits.max else number)

    def _meeting(self, left: Any, right: Any, op: str = "") -> tuple[Any, Any]:
        """Return two operands of which one has a dtype as they are computed with."""
        kinds = kind_of(left), kind_of(right)
        if self.mode == "cuda" and not {"bool", *WEAK} & set(kinds):
            kind = self.common(*kinds)
            if op == "/" and kind in INTEGERS:
                kind = "float64"
            return self.to(left, kind), self.to(right, kind)
        if op == "/" and "int" in kinds and set(kinds) & set(INTEGERS):
            return np.float64(left), np.float64(right)
        # A Python int wraps around where the dtype does not hold it.
        if kinds[0] == "int" and kinds[1] in INTEGERS:
            left = self.to(left, kinds[1])
        elif kinds[1] == "int" and kinds[0] in INTEGERS:
            right = self.to(right, kinds[0])
        return left, right

    # -- operators -----------------------------------------------------------------------------

    def binary(self, op: str, left: Any, right: Any) -> Any:
        kind = self.common(kind_of(left), kind_of(right))
        if kind == "bool":
            if op in "&|^":
                return bool(OPERATORS[op](left, right))
            left, right, kind = int(left), int(right), "int"
        if op in ("//", "%") and kind in ("int", *INTEGERS) and right == 0:
            raise UndefinedError("an integer divided by zero")
        if op == "**" and kind in ("int", *INTEGERS) and right < 0:
            raise UndefinedError("an integer raised to a negative power")
        if kind == "int":
            if op == "**" and right > 64:
                raise UndefinedError("a Python int that leaves 64 bits")
            if op == "/" and right == 0:
                return (np.float64(left) / np.float64(right)).item()
            return checked(OPERATORS[op](int(left), int(right)))
        if kind in WEAK:  # Python raises where its floats are divided by zero
            dtype = np.dtype(WEAK[kind]).type
            return OPERATORS[op](dtype(left), dtype(right)).item()
        left, right = self._meeting(left, right, op)
        return loaded(OPERATORS[op](left, right))

    def shift(self, op: str, left: Any, right: Any) -> Any:
        """Shift; the number of places does not change the type."""
        places = int(right)
        number = int(left)
        if kind_of(left) in ("bool", "int"):
            return in_64_bits(number << min(places, 64) if op == "<<" else number >> places)
        bits = 8 * left.itemsize
        if not 0 <= places < bits:
            places = bits
        shifted = number << places if op == "<<" else number >> places
        return self.to(shifted, kind_of(left))

    def compare(self, op: str, left: Any, right: Any) -> bool:
        return bool(OPERATORS[op](*self._as_compared(left, right)))

    def _as_compared(self, left: Any, right: Any) -> tuple[Any, Any]:
        """Return two numbers as they are compared: of Python and NumPy, by their values."""
        if self.mode == "cuda" and not {"bool", *WEAK} & {kind_of(left), kind_of(right)}:
            return self._meeting(left, right)
        return left, right

    def negative(self, value: Any) -> Any:
        return checked(-int(value) if isinstance(value, bool) else -value)

    def inverse(self, value: Any) -> Any:
        return not value if isinstance(value, bool) else ~value

    def absolute(self, value: Any) -> Any:
        return checked(abs(value))

    # -- choices -------------------------------------------------------------------------------

    def where(self, condition: Any, then: Any, orelse: Any, kind: str) -> Any:
        return self.to(then if condition else orelse, kind)

    def least(self, left: Any, right: Any, kind: str) -> Any:
        return min(self.to(left, kind), self.to(right, kind))

    def largest(self, left: Any, right: Any, kind: str) -> Any:
        return max(self.to(left, kind), self.to(right, kind))

    # -- functions -----------------------------------------------------------------------------

    def rounded(self, value: Any) -> Any:
        """Return ``round(x)``: a Python int."""
        if kind_of(value) in ("int", *INTEGERS):
            return in_64_bits(int(value))
        if not math.isfinite(value):
            raise UndefinedError("a float beyond the range of the integer that it becomes")
        return in_64_bits(round(float(value)))

    def digits(self, value: Any, digits: int) -> Any:
        """Return ``round(x, digits)``: one that overflows when it is scaled stays."""
        found = round(value, digits)
        if math.isfinite(found) or not math.isfinite(value):
            return found
        raise UndefinedError("round to digits of huge numbers")

    def divmod(self, left: Any, right: Any) -> tuple[Any, Any]:
        return self.binary("//", left, right), self.binary("%", left, right)

    def call(self, name: str, kind: str, *values: Any) -> Any:
        """Call a function of NumPy with numbers of one kind, and return a number of a kind.

        `kind` is what the numbers are converted to before; empty where they are taken as they are.
        """
        if kind:
            values = tuple(self.to(value, kind) for value in values)
        if kind in WEAK:
            values = tuple(np.dtype(WEAK[kind]).type(value) for value in values)
        if name == "fmod" and kind in INTEGERS and values[1] == 0:
            raise UndefinedError("an integer divided by zero")
        if name in ("copysign", "signbit") and np.isnan(values[-1]):
            raise UndefinedError("the sign of a NaN")
        zeros = {bool(np.signbit(v)) for v in values if kind in (*FLOATS, "float") and v == 0}
        if name in EXTREMES and len(zeros) > 1:
            raise UndefinedError("the greater of two zeros")
        found = getattr(np, name)(*values)
        if isinstance(found, tuple):
            return tuple(map(loaded, found))
        found = loaded(found[()] if isinstance(found, np.ndarray) else found)
        return found.item() if kind in WEAK and isinstance(found, np.generic) else found

    # -- memory --------------------------------------------------------------------------------

    def store(self, value: Any, array: Any, index: Any) -> None:
        dtype = array.dtype if array.dtype.names is None else array.dtype[index]
        array[index] = self.to(value, dtype.name)

    def target(self, array: Any, index: Any) -> tuple[Any, Any, Any]:
        """Return the target of an update, with its value before."""
        return array, index, loaded(array[index])

    def update(self, op: str, target: tuple[Any, Any, Any], value: Any) -> None:
        array, index, before = target
        operation = self.shift if op in ("<<", ">>") else self.binary
        self.store(operation(op, before, value), array, index)

"""The types of values in restricted Python. Pure data.

A number that comes from an array or from NumPy is *strong*: its dtype takes part in promotion. A
Python number is *weak*, as in NumPy (NEP 50): it takes the dtype of what it meets.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import lru_cache
from typing import Any, Literal, TypeAlias

import numpy as np

from kerneltk.core.artifacts import Capabilities
from kerneltk.core.dtypes import alignment_on, describe
from kerneltk.core.records import record

Space = Literal["global", "shared", "local", "constant"]
Layout = Literal["C", "strided", "fixed"]


@record
class Number:
    """A number."""

    dtype: np.dtype[Any]  # what it is computed in; of a weak one int64, float64 or complex128
    weak: bool = False  # Python's own

    def __str__(self) -> str:
        return self.python_class.__name__ if self.weak else self.dtype.name

    @property
    def python_class(self) -> type[Any]:
        """Python's own class of such numbers, of which there is none for a bool."""
        return {"i": int, "u": int, "f": float, "c": complex}[self.dtype.kind]

    @property
    def is_integer(self) -> bool:
        """Whether it is an integer; a bool is none."""
        return self.dtype.kind in "iu"

    @property
    def is_floating(self) -> bool:
        """Whether it is a real number with a fraction."""
        return self.dtype.kind == "f" or self.dtype.name == "bfloat16"

    @property
    def is_half(self) -> bool:
        """Whether it has 16 bits and a fraction; C++ has a class for it."""
        return self.dtype.itemsize == 2 and self.dtype.kind in "fV"

    @property
    def part(self) -> Number:
        """The type of a complex number's parts."""
        if self.weak:
            return PY_FLOAT
        return FLOAT32 if self.dtype == np.complex64 else FLOAT64

    @property
    def is_complex(self) -> bool:
        """Whether it has an imaginary part."""
        return self.dtype.kind == "c"


@lru_cache(maxsize=64)
def number(dtype: Any) -> Number:
    """Return the strong number of a dtype."""
    return Number(np.dtype(dtype))


@record
class Joined(Number):
    """The number of a variable, with what its type was joined from: dtypes, Python's numbers that
    are not known, and constants, of which only the dtypes count that hold them all.
    """

    strong: frozenset[Number] = frozenset()
    unknown: Number | None = None
    constant: Number | None = None
    held: frozenset[str] = frozenset()
    signed: bool = False  # whether one is a Python int that uint64 may not hold


@record
class Record:
    """A structured value: one element of an array of records."""

    dtype: np.dtype[Any]

    def __str__(self) -> str:
        return f"record of {', '.join(self.dtype.names or ())}"

    @property
    def is_packed(self) -> bool:
        """Whether it may lie at any byte, and its fields may too."""
        return describe(self.dtype).alignment == 1


@record
class Array:
    """An array, a view of one, shared memory or local memory."""

    element: Number | Record
    ndim: int
    layout: Layout = "C"  # strided: with steps of its own (bytes); fixed: of a shape that is known
    shape: tuple[int, ...] = ()  # of a fixed one (elements)
    space: Space = "global"
    writable: bool = True
    packed: bool = False  # elements may lie at any byte, as fields of packed records do

    def __str__(self) -> str:
        space = {"global": "", "shared": "shared ", "local": "local ", "constant": "constant "}
        kind = f"unaligned {self.element}" if self.packed else f"{self.element}"
        return f"{space[self.space]}{self.ndim}-d array of {kind}"

    def dense_view(self) -> Array:
        """Return the type of a view in C order of as many dimensions."""
        return replace(self, layout="C", shape=())

    @property
    def is_of_copy(self) -> bool:
        """Whether it is part of a record that is a value: it is read-only."""
        return self.space == "local" and not self.writable


@record
class Reference(Array):
    """A record in memory, as variables, tuples, parameters and results have it: a view of no
    dimensions, which stands for the record itself.
    """

    def __str__(self) -> str:
        return str(self.element)

    @classmethod
    def into(cls, memory: Array, record: Record, *, packed: bool) -> Reference:
        """Return the type of a reference to a record that lies in some memory."""
        return cls(record, 0, "C", (), memory.space, memory.writable, packed)


@record
class Tuple:
    """A tuple, a named tuple or a dataclass."""

    items: tuple[Type, ...]
    names: tuple[str, ...] = ()  # of the fields; empty for a plain tuple
    maker: type | None = None  # the class of a named tuple or a dataclass

    def __str__(self) -> str:
        if self.maker is not None:
            return self.maker.__name__
        return f"tuple of ({', '.join(map(str, self.items))})"


@record
class Opaque:
    """A value that only intrinsics know what to do with: a group of threads, a collective's
    memory.
    """

    name: str  # for messages
    ctype: str  # in C++; ``{0}``, ``{1}``, ... stand for those of the detail ``"types"``
    details: tuple[tuple[str, Any], ...] = ()  # what its intrinsics want to know

    def __str__(self) -> str:
        return self.name


@record
class Void:
    """No value."""

    def __str__(self) -> str:
        return "None"


Type: TypeAlias = Number | Record | Array | Tuple | Opaque | Void

VOID = Void()
BOOL = number(np.bool_)
INT32, UINT32, UINT64 = number(np.int32), number(np.uint32), number(np.uint64)
FLOAT32, FLOAT64 = number(np.float32), number(np.float64)
PY_INT = Number(np.dtype(np.int64), True)
PY_FLOAT = Number(np.dtype(np.float64), True)
PY_COMPLEX = Number(np.dtype(np.complex128), True)
OF_PYTHON: dict[Any, Number] = {bool: BOOL, int: PY_INT, float: PY_FLOAT, complex: PY_COMPLEX}
"""The types of Python's own numbers, by their classes."""


def element_type(dtype: np.dtype[Any], *, packed: bool = False) -> Number | Record | Array:
    """Return the type of a value of a dtype; a field with a shape is a fixed array, `packed` as
    the record that it is in.
    """
    if dtype.shape:
        inner = element_type(dtype.base)
        assert isinstance(inner, Number | Record)
        return Array(inner, len(dtype.shape), "fixed", dtype.shape, "local", packed=packed)
    return Record(dtype) if dtype.names is not None else Number(dtype)


def value_type(kind: Type) -> Type:
    """Return the type of what is exchanged between threads: records themselves, no references."""
    if isinstance(kind, Reference):
        return kind.element
    if isinstance(kind, Tuple):
        return replace(kind, items=tuple(map(value_type, kind.items)))
    return kind


def referred_type(kind: Type) -> Type:
    """Return the type of an argument as a kernel is lowered with it: of records, references."""
    if isinstance(kind, Record):
        return Reference(kind, 0)
    if isinstance(kind, Tuple):
        return replace(kind, items=tuple(map(referred_type, kind.items)))
    return kind


@lru_cache(maxsize=1024)
def alignment_of(dtype: np.dtype[Any], backend: Capabilities) -> int:
    """Return at multiples of what (bytes) a backend's code finds elements of `dtype`, records
    included: a struct has the alignment of its members, one that is packed has none.
    """
    if dtype.fields is None:
        return alignment_on(backend, dtype)
    if describe(dtype).alignment == 1:
        return 1
    fields = (field[0].base for field in dtype.fields.values())
    return max(1 if field.kind == "S" else alignment_of(field, backend) for field in fields)


# -- what is assumed of shapes when a kernel is compiled -------------------------------------------

_MOST = 2**31 - 1


def fits_32bit(numbers: Iterable[int]) -> bool:
    """Whether 32 bits hold all of these numbers of elements or threads."""
    return all(number <= _MOST for number in numbers)

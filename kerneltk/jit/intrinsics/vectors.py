"""numba-cuda's vector types: ``cuda.float32x3(a, b, c)``, whose items are ``x``, ``y``, ``z``."""

from __future__ import annotations

import collections
from typing import Any

import numpy as np

from kerneltk.jit import ir
from kerneltk.jit.intrinsics.base import Builder, CallSite, Intrinsic, Value
from kerneltk.jit.ir.types import Tuple, number

_namedtuple: Any = collections.namedtuple  # type checkers want their names as literals


class VectorType(Intrinsic):
    """A vector of numbers of one dtype. It is made of numbers and shorter vectors, which are
    converted; in a kernel it is a named tuple.
    """

    def __init__(self, name: str, dtype: np.dtype[Any], count: int) -> None:
        super().__init__(f"cuda.{name}", self._rule, f"A vector of {count} numbers of {dtype}.")
        self._number = number(dtype)
        self._maker: Any = _namedtuple(name, ("x", "y", "z", "w")[:count])

    def _rule(self, low: Builder, site: CallSite) -> Value:
        given: list[tuple[Value, ir.Span]] = []
        for index, value in enumerate(site.arguments):
            span, kind = site.span_of(index), getattr(value, "type", None)
            is_vector = isinstance(kind, Tuple) and kind.maker in _MAKERS
            given += [(v, span) for v in (low.items_of(value, span) if is_vector else [value])]
        names = self._maker._fields
        if len(given) != len(names) or site.keywords:
            raise low.fail(
                f"'{site.name}' takes {len(names)} numbers, and vectors that have as many.",
                site.span,
            )
        items = tuple(low.cast(low.as_number(value, span), self._number) for value, span in given)
        return ir.Construct(
            items, Tuple((self._number,) * len(names), names, self._maker), site.span
        )


_ALIASES = {
    "char": np.byte, "short": np.short, "int": np.intc, "long": np.int_, "longlong": np.longlong,
    "uchar": np.ubyte, "ushort": np.ushort, "uint": np.uintc, "ulong": np.uint,
    "ulonglong": np.ulonglong, "float": np.float32, "double": np.float64,
}  # fmt: skip
_DTYPES = (
    *("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float32", "float64"),
)

INTRINSICS: dict[str, Any] = {
    f"{name}x{count}": VectorType(f"{name}x{count}", np.dtype(name), count)
    for name in _DTYPES
    for count in (1, 2, 3, 4)
}
_MAKERS = {vector._maker for vector in INTRINSICS.values()}
INTRINSICS |= {
    f"{alias}{count}": INTRINSICS[f"{np.dtype(scalar).name}x{count}"]
    for alias, scalar in _ALIASES.items()
    for count in (1, 2, 3, 4)
}

"""Attributes and items: of objects that are known, of records and tuples, of numbers."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from kerneltk import jit

from ..showing import PACKED, RECORD, refused, value_of

CONFIG = SimpleNamespace(size=7, inner=SimpleNamespace(factor=2.5))
TABLE, NESTED = {"a": 1, 2: 3}, ((1, 2), (3, 4))
SCALAR = np.float32(2)


class Raises:
    @property
    def value(self) -> int:
        raise RuntimeError("no value today.")


RAISES = Raises()

VALUES = [
    # Of objects.
    (lambda: CONFIG.size, "7"),
    (lambda: CONFIG.inner.factor, "2.5"),
    (lambda: TABLE["a"] + TABLE[2], "4"),
    (lambda: NESTED[1][0], "3"),
    (lambda: NESTED[-1][-2], "3"),
    (lambda: NESTED[0:1][0][1], "2"),
    (lambda: np.pi, "3.141592653589793"),
    (lambda: SCALAR.itemsize, "4"),
    (lambda i: NESTED[0][i], "t: int = i; return 1 if ((t == 0) or (t == -2)) else 2"),
    (lambda: jit.threadIdx.x, "threadIdx.x()"),
    # Of tuples.
    (lambda pair: pair.left, "pair[0]"),
    (lambda t: t[0:1][0], "t[0]"),
    (lambda t: t[::-1][0], "t[1]"),
    (
        lambda tt, i: tt[i],
        (
            "t: int = i; return int64(tt[0]) if ((t == 0) or (t == -3)) else (int64(tt[1]) if "
            "((t == 1) or (t == -2)) else int64(tt[2]))"
        ),
    ),
    (
        lambda t, i: t[i],
        "t_2: int = i; return float(t[0]) if ((t_2 == 0) or (t_2 == -2)) else t[1]",
    ),
    # Of arrays and numbers.
    (lambda m: m.shape[1] + m.ndim + m.itemsize, "(m.shape[1] + 2) + 4"),
    (lambda m: m.size, "m.shape[0] * m.shape[1]"),
    (lambda empty: empty.size, "1"),
    (lambda m: m.nbytes, "(m.shape[0] * m.shape[1]) * 4"),
    (lambda s: s.strides[0], "stride<0>(s)"),
    (lambda x: x.dtype.type(2), "2.0:float32"),
    (lambda z: z[0].real + z[0].imag, "real(z[0]) + imag(z[0])"),
    (lambda z: z[0].conjugate(), "conjugate(z[0])"),
    (lambda i: i.real + i.imag, "i + 0"),
    (lambda x: x[0].conjugate(), "x[0]"),
    (lambda x: x[0].imag, "0.0:float32"),
    (lambda x: x[0].dtype.itemsize, "4"),
    (lambda x: x.dtype.alignment + len(x.dtype.char), "5"),
    (lambda rs: rs.dtype.itemsize + len(rs.dtype.names), "34"),
    # Of records.
    (lambda r: r["a"] + r.a, "r.a + r.a"),
    (lambda r: r[0], "r.a"),
    (lambda rs: rs[0].copy().a, "t: {a: int32, v: float64[3]} = rs[0]; return t.a"),
]


@pytest.mark.parametrize(("function", "expected"), VALUES, ids=range(len(VALUES)))
def test_attributes_and_items(function: Any, expected: str) -> None:
    assert value_of(function) == expected


EQUAL = (
    "dtypes that are equal differ in it, and share the kernel. Hint: read it outside of the "
    "kernel, and use its value."
)
REFUSED = [
    (
        lambda: CONFIG.sizes,
        "'SimpleNamespace' has no attribute 'sizes'. Hint: did you mean 'size'?",
    ),
    (lambda: RAISES.value, "'value' cannot be had: no value today."),
    (lambda: TABLE["b"], "There is no item 'b'."),
    (lambda: NESTED[2], "The tuple has 2 items, and no item 2."),
    (lambda: CONFIG[0], "An object of type 'SimpleNamespace' has no items."),
    (lambda: SCALAR[0], "The constant np.float32(2.0) has no items."),
    (
        lambda i: TABLE[i],
        (
            "An object of type 'dict' has no value in a kernel. Hint: use numbers, tuples, "
            "named tuples, instances of dataclasses or NumPy scalars; arrays are passed as "
            "arguments."
        ),
    ),
    (lambda i: i.shape, "A number of type 'int' has no attribute 'shape'."),
    (lambda i: i.dtype, "A number of type 'int' has no attribute 'dtype'."),
    (
        lambda x: x.T,
        (
            "The attribute 'T' of an array cannot be used in a kernel. Hint: arrays have "
            "shape, size, strides, ndim, dtype, itemsize, nbytes here."
        ),
    ),
    (
        lambda x: x.sum(),
        (
            "The method 'sum' of an array cannot be used in a kernel. Hint: arrays have "
            "shape, size, strides, ndim, dtype, itemsize, nbytes here."
        ),
    ),
    (lambda t: t[2], "The tuple has 2 items, and no item 2."),
    (lambda t: t.left, "A value of type 'tuple of (int, float)' has no attribute 'left'."),
    (lambda pair: pair.middle, "'Pair' has no field 'middle'. Hint: its fields are left, right."),
    (
        lambda t, x: (x, 1)[t[0]],
        (
            "An item of this tuple can only be chosen by a constant: its items have different "
            "types. Hint: use a literal, a global, or a variable that is assigned once, to a "
            "constant."
        ),
    ),
    (
        lambda tt, f: tt[f],
        (
            "An index must be an integer, not 'float'. Hint: use '//' instead of '/', or "
            "convert with 'int(x)'."
        ),
    ),
    (
        lambda tt, i: tt[i:],
        (
            "A tuple's bound must be an integer that is known when the kernel is compiled. "
            "Hint: use a literal, a global, or a variable that is assigned once, to a "
            "constant."
        ),
    ),
    (lambda r: r.b, "The record has no field 'b'. Hint: its fields are a, v."),
    (lambda r: r[-3], "The record has no field -3. Hint: it has 2 fields."),
    (lambda rs: rs[0].copy(1), "'rs[0].copy' takes no arguments, and 1 was given."),
    *(
        (function, f"'{name}' of the dtype '{dtype}' cannot be used in a kernel: {EQUAL}")
        for function, name, dtype in (
            (lambda rs: rs.dtype.alignment, "alignment", RECORD),
            (lambda rs: rs.dtype.isalignedstruct, "isalignedstruct", RECORD),
            (lambda ps: ps.dtype.flags, "flags", PACKED),
            (lambda x: x.dtype.metadata, "metadata", "float32"),
            (lambda y: y.dtype.char, "char", "int64"),
            (lambda u: u.dtype.num, "num", "uint64"),
        )
    ),
    (lambda: jit.threadIdx.w, "'threadIdx' has no attribute 'w'."),
    (lambda none: none.size, "None has no attribute 'size'."),
]


@pytest.mark.parametrize(("function", "expected"), REFUSED, ids=range(len(REFUSED)))
def test_what_is_refused(function: Any, expected: str) -> None:
    assert refused(function) == expected

"""Promotion: NumPy's, C++'s order, and Python's numbers, which are weak."""

from __future__ import annotations

import itertools
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from kerneltk.jit.ir.promotion import (
    common_type,
    join_numbers,
    joined_constant,
    narrow_join_numbers,
    operand_type,
)
from kerneltk.jit.ir.types import BOOL, PY_COMPLEX, PY_FLOAT, PY_INT, Number, number

NAMES = (
    "bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float16",
    "float32", "float64", "complex64", "complex128",
)  # fmt: skip
BFLOAT16 = number(ml_dtypes.bfloat16)
WEAK = {PY_INT: 1, PY_FLOAT: 1.0, PY_COMPLEX: 1j}
EVERY = [*(number(name) for name in NAMES), BFLOAT16, *WEAK]


@pytest.mark.parametrize("left", NAMES)
def test_numpys_strong_dtypes(left: str) -> None:
    for right in NAMES:
        found = common_type(number(left), number(right), "numpy")
        assert found == Number(np.result_type(left, right)), right


@pytest.mark.parametrize("name", NAMES[1:])
def test_numpys_weak_numbers(name: str) -> None:
    for weak, value in WEAK.items():
        expected = (np.zeros((), name)[()] + value).dtype
        assert common_type(number(name), weak, "numpy") == Number(expected)


def test_bools_give_way() -> None:
    for weak in WEAK:
        assert common_type(BOOL, weak, "numpy") == weak
    assert common_type(BOOL, BOOL, "cuda") == BOOL


def test_the_order_of_cpp() -> None:
    def cuda(left: str, right: str) -> str:
        return str(common_type(number(left), number(right), "cuda"))

    assert cuda("int8", "uint8") == "uint8"
    assert cuda("int32", "uint32") == cuda("uint32", "int32") == "uint32"
    assert cuda("int64", "uint32") == "int64"
    assert cuda("int64", "uint64") == "uint64"
    assert cuda("int64", "float16") == "float16"
    assert cuda("int32", "float32") == "float32"
    assert cuda("float64", "complex64") == "complex128"
    assert cuda("float32", "complex64") == "complex64"


def test_bfloat16() -> None:
    def numpys(name: str) -> str:
        return str(common_type(BFLOAT16, number(name), "numpy"))

    found = {name: numpys(name) for name in NAMES if name != "float16"}
    assert found == {
        **dict.fromkeys(("bool", "int8", "uint8"), "bfloat16"),
        **dict.fromkeys(("int16", "uint16"), "float32"),
        **dict.fromkeys(("int32", "uint32", "int64", "uint64"), "float64"),
        **{name: name for name in ("float32", "float64", "complex64", "complex128")},
    }
    for mode in ("cuda", "numpy"):
        assert common_type(BFLOAT16, number("float16"), mode) is None
        assert common_type(BFLOAT16, PY_FLOAT, mode) == BFLOAT16
        assert common_type(BFLOAT16, PY_COMPLEX, mode) == number("complex64")


@pytest.mark.parametrize("mode", ["cuda", "numpy"])
def test_the_order_of_operands_does_not_matter(mode: str) -> None:
    for left, right in itertools.combinations(EVERY, 2):
        found = common_type(left, right, mode)
        assert found == common_type(right, left, mode)
        assert join_numbers(left, right, mode) == join_numbers(right, left, mode)
        for op in ("+", "==", "&", "%"):
            assert operand_type(op, left, right, mode) == operand_type(op, right, left, mode)


@pytest.mark.parametrize(
    ("op", "left", "right", "expected"),
    [
        ("+", BOOL, BOOL, PY_INT),
        ("/", BOOL, BOOL, PY_FLOAT),
        ("/", PY_INT, PY_INT, PY_FLOAT),
        ("/", number("int8"), PY_INT, number("float64")),
        ("/", number("float32"), PY_INT, number("float32")),
        ("//", number("int8"), PY_INT, number("int8")),
        ("//", number("complex64"), PY_INT, None),
        ("%", PY_COMPLEX, PY_INT, None),
        ("&", BOOL, BOOL, BOOL),
        ("|", number("uint8"), BOOL, number("uint8")),
        ("^", PY_FLOAT, PY_INT, None),
        ("<<", BOOL, BOOL, PY_INT),
        ("<<", number("uint8"), PY_INT, number("uint8")),
        (">>", number("float32"), PY_INT, None),
        ("==", PY_COMPLEX, PY_INT, PY_COMPLEX),
        ("<", PY_COMPLEX, PY_INT, None),
        ("<", BOOL, BOOL, BOOL),
        ("+", BFLOAT16, number("float16"), None),
    ],
)
def test_what_an_operation_is_computed_in(
    op: str, left: Number, right: Number, expected: Number | None
) -> None:
    assert operand_type(op, left, right, "numpy") == expected


def joined(mode: str, *values: Any) -> Number | None:
    """Join numbers, from left to right; a number of Python's is a constant."""
    found: Number | None = None
    for value in values:
        kind = value if isinstance(value, Number) else joined_constant(value)
        found = kind if found is None else join_numbers(found, kind, mode)
        if found is None:
            return None
    return found


U1, U8, I1, I8 = map(number, ("uint8", "uint64", "int8", "int64"))
F2, F4, F8 = map(number, ("float16", "float32", "float64"))


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ((U1, 255), "uint8"),
        ((U1, 256), "int64"),
        ((U1, -1), "int64"),
        ((0, 255, U1), "uint8"),
        ((U1, PY_INT), "int64"),
        ((I1, 0.5), "float64"),
        ((U1, PY_FLOAT), "float64"),
        ((F4, 0.1), "float32"),
        ((F4, 2**24), "float32"),
        ((F4, 2**24 + 1), "float64"),
        ((F4, 1e300), "float64"),
        ((F4, float("inf"), float("nan")), "float32"),
        ((F4, PY_INT), "float64"),
        ((F4, PY_FLOAT), "float64"),
        ((F2, 65504), "float16"),
        ((F2, 1e5), "float64"),
        ((F2, 1e-9), "float64"),
        ((number("bfloat16"), 0.1), "bfloat16"),
        ((number("bfloat16"), 257), "float64"),
        ((number("complex64"), 1j), "complex64"),
        ((number("complex64"), 1e300j), "complex128"),
        ((number("complex64"), PY_FLOAT), "complex128"),
        ((U8, 5), "uint64"),
        ((U8, -5), None),
        ((U8, PY_INT), None),
        ((PY_INT, U1, U8), None),
        ((PY_INT, F4, U8), None),
        ((PY_INT, 0.5, U8), None),
        ((-1, F8, U8), None),
        ((7, F8, U8), "float64"),
        ((U8, U1), "uint64"),
        ((U8, I8), None),
        ((U8, I1), None),
        ((U1, I1), "int16"),
        ((number("uint32"), I1, 7), "int64"),
        ((U8, F8), "float64"),
        ((BOOL, PY_INT), "int"),
        ((BOOL, PY_INT, U1), "int64"),
        ((1, PY_INT), "int"),
        ((1, 0.5), "float"),
    ],
    ids=str,
)
@pytest.mark.parametrize("mode", ["cuda", "numpy"])
def test_joins_hold_every_value(values: tuple[Any, ...], expected: str | None, mode: str) -> None:
    for order in itertools.permutations(values):
        found = joined(mode, *order)
        assert (None if found is None else str(found)) == expected


@pytest.mark.one_in(4)
@pytest.mark.parametrize("mode", ["cuda", "numpy"])
@pytest.mark.parametrize("join", [join_numbers, narrow_join_numbers])
def test_dtypes_join_in_any_order(join: Any, mode: str) -> None:
    for kinds in itertools.combinations([kind for kind in EVERY if not kind.weak], 3):
        found = set()
        for first, second, third in itertools.permutations(kinds):
            both = join(first, second, mode)
            whole = None if both is None else join(both, third, mode)
            found.add(None if whole is None else str(whole))
        assert len(found) == 1, (kinds, found)
